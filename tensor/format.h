// Tensors as text: numbers in rows with brackets, big tensors shortened.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace gradus {

// "tensor (2, 3) f64" and the numbers, at most `edge` from each end of an axis; `digits` significant digits.
std::string to_string(const Tensor& x, int digits = 5, int edge = 4);

// The numbers alone, on one line for a vector: "[0.464 0.305 0.231]".
std::string numbers(const Tensor& x, int digits = 5, int edge = 4);

}  // namespace gradus
