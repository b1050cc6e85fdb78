// How a checkpoint and the run that wants to load it differ, in words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nn/formats/safetensors.h"

namespace gradus {

inline const std::string note_prefix = "note.";  // of metadata that may differ

// The whole numbers in "3 14 15"; none when the text is anything else.
std::vector<std::uint64_t> whole_numbers(const std::string& text);

// Throws FileError that lists every tensor and entry of the metadata in which `file` does not fit `here`: names,
// shapes, dtypes, how many numbers an entry holds.
void require_same(const std::filesystem::path& path, const TensorFile& file, const TensorFile& here);

}  // namespace gradus
