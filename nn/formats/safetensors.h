// safetensors: named tensors in one file, which PyTorch, JAX and NumPy users open with the package of that name.
//
//   8 bytes: length n of the header | n bytes of JSON: name, dtype, shape, place of each tensor | the numbers,
//   row-major
//
// Nothing in such a file can run. The reader trusts none of it: it refuses, with a text that says what is wrong, before
// it reserves memory for numbers.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace gradus {

struct TensorFile {
  std::vector<std::pair<std::string, Tensor>> tensors;  // names differ; the order is kept
  std::map<std::string, std::string> metadata;

  const Tensor* find(std::string_view name) const;  // nullptr when there is none
};

// Reads F32 and F64 as they are, F16 and BF16 into f32, BOOL and integers into f64. Throws FileError with path and
// cause: no such file, no regular file, damaged, cut off, or holding what f64 or a Shape cannot (an integer beyond
// 2^53, rank above max_rank, F8).
TensorFile read_safetensors(const std::filesystem::path& path);
TensorFile parse_safetensors(std::string_view bytes);  // the same from memory

// The file is replaced at once or not at all: it is written beside its place, flushed to the disk and renamed. An old
// file's permissions stay. Throws FileError with path and cause (a full disk, a limit, a read-only directory), and then
// the old file is whole and nothing is left beside it. Throws ValueError for names that are no UTF-8, occur twice
// or are "__metadata__", and for tensors that hold nothing.
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);
std::string to_safetensors(const TensorFile& file);  // the same into memory

}  // namespace gradus
