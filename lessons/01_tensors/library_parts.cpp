// The taught parts as the library has them: asked of real tensors.
#include "lessons/01_tensors/parts.h"

namespace gradus::lesson01 {
namespace {

// A tensor that looks as the view does; its numbers do not matter.
Tensor tensor_of(const View& view) {
  return Tensor(zeros(Shape{1}, f64).buffer(), view.shape, view.strides, view.offset, f64);
}
View view_of(const Tensor& x) { return {x.shape(), x.strides(), x.offset()}; }

View row_major_tensor(const Shape& shape) { return view_of(zeros(shape, f64)); }

std::int64_t place_in_tensor(const View& view, const Extents& position) {
  Tensor x = tensor_of(view);
  for (int axis = 0; axis < position.rank(); ++axis) x = select(x, Axis{0}, position[axis]);
  return x.offset();
}

View transposed_tensor(const View& view, int a, int b) { return view_of(transpose(tensor_of(view), Axis{a}, Axis{b})); }

View narrowed_tensor(const View& view, int axis, std::int64_t start, std::int64_t length, std::int64_t step) {
  return view_of(narrow(tensor_of(view), Axis{axis}, start, length, step));
}

View stretched_tensor(const View& view, int axis, std::int64_t length) {
  return view_of(expand(tensor_of(view), Axis{axis}, length));
}

// By the tape, of which lesson 02 is.
Var gradient(const Var& X, const Var& w, const Var& y) {
  const Var leaf = parameter(w.value());
  backward(sum(square(matmul(X, leaf) - y)) / 2);
  return Var(leaf.grad());
}

}  // namespace

const Parts& taught_parts() {
  static const Parts parts{{"the library's", "库里的"},
                           row_major_tensor,
                           place_in_tensor,
                           transposed_tensor,
                           narrowed_tensor,
                           stretched_tensor,
                           gradient};
  return parts;
}

}  // namespace gradus::lesson01
