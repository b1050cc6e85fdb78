// .npy: one array in a file, as numpy.save writes it and numpy.load reads it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace gradus {

// Reads versions 1.0 and 2.0 of the format, little-endian numbers, C or Fortran order (the latter becomes strides, not
// a copy). '<f4' and '<f8' as they are, '<f2' into f32, '|b1' and integers into f64. Throws FileError with path and
// cause: no such file, no regular file, damaged, cut off, bytes left over, Python objects, strings, records, big-endian
// numbers, an integer beyond 2^53, rank above max_rank.
Tensor read_npy(const std::filesystem::path& path);
Tensor parse_npy(std::string_view bytes);  // the same from memory

// Version 1.0, row-major, '<f4' or '<f8'. Replaced at once or not at all, like write_safetensors; throws FileError with
// path and cause, and ValueError for a tensor that holds nothing.
void write_npy(const std::filesystem::path& path, const Tensor& x);
std::string to_npy(const Tensor& x);  // the same into memory

}  // namespace gradus
