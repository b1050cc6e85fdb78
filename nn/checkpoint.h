// Checkpoints: everything that a run needs to go on bit for bit, in one safetensors file.
//
//   Training training{parameters(model), &adam, {{"data", &data}}, &step};
//   save_checkpoint("out/model.safetensors", training);
//   load_checkpoint("out/model.safetensors", training);   // into a model that was built with the same sizes
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nn/optimizer.h"
#include "tensor/random.h"

namespace gradus {

// What is saved, and what loading writes into. What stays nullptr or empty is not part of it.
struct Training {
  std::vector<Parameter> parameters;  // saved under their names, so that others can read them too
  Optimizer* optimizer = nullptr;     // its state; rates and other options are the program's own
  std::vector<std::pair<std::string, Generator*>> generators = {};  // by name; the order of the data comes from these
  std::int64_t* step = nullptr;
  std::map<std::string, std::string>* notes = nullptr;  // anything else: sizes, the seed, a vocabulary
};

// Replaces the file at once or not at all (see write_safetensors). Throws FileError with path and cause, ValueError for
// a parameter whose name occurs twice or opens with "optimizer.".
void save_checkpoint(const std::filesystem::path& path, const Training& training);

// Throws FileError when the file cannot be read, is no checkpoint or does not fit: the text lists each parameter,
// state, or generator that is missing, unexpected or of another shape or dtype. Then nothing has been changed.
// Parameters keep their own strides.
void load_checkpoint(const std::filesystem::path& path, const Training& training);

// The weights alone, of a checkpoint or of any safetensors file with these names. Throws like load_checkpoint.
void load_parameters(const std::filesystem::path& path, const std::vector<Parameter>& parameters);

// The notes alone: what the model must be built with before its weights can be loaded.
std::map<std::string, std::string> checkpoint_notes(const std::filesystem::path& path);

}  // namespace gradus
