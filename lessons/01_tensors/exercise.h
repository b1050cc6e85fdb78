// Lesson 01, what you write: the arithmetic of views, which is all that a tensor library adds to an array, and the
// gradient of least squares by hand. You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include "autograd/ops.h"
#include "tensor/error.h"

namespace gradus::lesson01 {

// How a tensor sees the numbers in memory. Element (i, j, ...) is at offset + i * strides[0] + j * strides[1] + ...
struct View {
  Shape shape;      // length of each axis
  Extents strides;  // how far apart in memory neighbours along each axis are
  std::int64_t offset = 0;
  bool operator==(const View&) const = default;
};

// A new tensor of that shape: row after row without gaps, from the first number of the memory.
View row_major(const Shape& shape);

// Where in memory the element at `position` is: one index for each axis.
std::int64_t place(const View& view, const Extents& position);

// The axes a and b exchanged. Nothing moves in memory.
View transposed(const View& view, int a, int b);

// Along `axis` only the positions start, start + step, ...: `length` of them. The others stay in memory.
View narrowed(const View& view, int axis, std::int64_t start, std::int64_t length, std::int64_t step);

// An axis of length 1 seen `length` times. Any other axis is refused with a ShapeError.
View stretched(const View& view, int axis, std::int64_t length);

// The gradient of L = |X w - y|^2 / 2 for w. X (N, d), w (d, 1), y (N, 1) -> (d, 1).
Var least_squares_gradient(const Var& X, const Var& w, const Var& y);

}  // namespace gradus::lesson01
