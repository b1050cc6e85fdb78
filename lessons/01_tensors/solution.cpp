// Lesson 01, one way to write it.
#include "lessons/01_tensors/exercise.h"

#include <utility>

namespace gradus::lesson01 {

View row_major(const Shape& shape) {
  View view{shape, {}, 0};
  std::int64_t behind = 1;  // numbers behind one step of the axis
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    view.strides.insert(0, behind);
    behind *= shape[axis];
  }
  return view;
}

std::int64_t place(const View& view, const Extents& position) {
  std::int64_t at = view.offset;
  for (int axis = 0; axis < position.rank(); ++axis) at += position[axis] * view.strides[axis];
  return at;
}

View transposed(const View& view, int a, int b) {
  View result = view;
  std::swap(result.shape[a], result.shape[b]);
  std::swap(result.strides[a], result.strides[b]);
  return result;
}

View narrowed(const View& view, int axis, std::int64_t start, std::int64_t length, std::int64_t step) {
  View result = view;
  result.offset += start * view.strides[axis];
  result.shape[axis] = length;
  result.strides[axis] = step * view.strides[axis];
  return result;
}

View stretched(const View& view, int axis, std::int64_t length) {
  if (view.shape[axis] != 1)
    throw ShapeError("stretched: axis " + std::to_string(axis) + " of " + to_string(view.shape) +
                     " is not of length 1");
  View result = view;
  result.shape[axis] = length;
  result.strides[axis] = 0;
  return result;
}

Var least_squares_gradient(const Var& X, const Var& w, const Var& y) {
  const Var r = matmul(X, w) - y;  // (N, 1)
  return matmul(transpose(X), r);  // (d, 1)
}

}  // namespace gradus::lesson01
