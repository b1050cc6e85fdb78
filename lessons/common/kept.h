// A finished run keeps its place: what an interrupted or a shorter run finds out is put beside it, into short/.
#pragma once

#include <filesystem>
#include <optional>

#include "nn/formats/json.h"

namespace gradus {

inline constexpr const char* beside_a_finished_run = "short";

// The metrics.json of the finished run in a lesson's output directory. Nothing where there is none, where it was
// interrupted, or where it only sums up several seeds and no model stands beside it.
std::optional<Json> finished_run(const std::filesystem::path& directory);

// Whether a run, by its metrics, went less far than another: of a lesser mode (--quick, default, --full) or of fewer
// steps.
bool is_shorter(const Json& run, const Json& than);

// Makes DIRECTORY/short for a run beside a finished one. A run that goes on with --resume finds in it the checkpoints
// of the interrupted run there, else copies of those of the finished one; any other finds it empty. Throws FileError.
void prepare_beside(const std::filesystem::path& directory, bool resumes);

// The files of DIRECTORY/short take the place of those of the same name in DIRECTORY. Throws FileError.
void take_place(const std::filesystem::path& directory);

}  // namespace gradus
