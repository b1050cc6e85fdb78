// Views: reshape, transpose, narrow, select, expand. One rule for all of them: look at the input's gradient through the
// same view and add dy there.
#include "autograd/ops.h"

namespace gradus {
namespace {

// A stretched axis (stride 0) of `dx` belongs to a value whose elements share one number, and `dy` already holds the
// sum along it, stored once: so both are read once along that axis.
void add_through_view(Tensor dx, Tensor dy) {
  for (int axis = 0; axis < dx.rank(); ++axis) {
    if (dx.shape()[axis] > 1 && dx.strides()[axis] == 0) {
      dx = narrow(dx, Axis{axis}, 0, 1);
      dy = narrow(dy, Axis{axis}, 0, 1);
    }
  }
  add_(dx, dy);
}

template <class View> Var record_view(const char* op, const Var& x, View view) {
  if (!detail::recording({x})) return detail::unrecorded(op, view(x.value()));
  return detail::finish(new detail::ViewNode<View>(op, view(x.value()), view), x);
}

}  // namespace

template <class View> void detail::ViewNode<View>::backward(const Tensor& dy, Inputs& in) {
  add_through_view(look(in.grad(0)), dy);
}

Var reshape(const Var& x, const Shape& shape) {
  if (x.value().contiguous()) return record_view("reshape", x, [shape](const Tensor& t) { return reshape(t, shape); });
  // Not contiguous: the numbers are copied, and so is the gradient on its way back.
  return record("reshape", reshape(x.value(), shape), {x},
                [](const Tensor& dy, Inputs& in) { in.add(0, reshape(dy, in.shape(0))); });
}

Var transpose(const Var& x) {
  return record_view("transpose", x, [](const Tensor& t) { return transpose(t); });
}
Var transpose(const Var& x, Axis a, Axis b) {
  return record_view("transpose", x, [a, b](const Tensor& t) { return transpose(t, a, b); });
}
Var narrow(const Var& x, Axis axis, std::int64_t start, std::int64_t length, std::int64_t step) {
  return record_view("narrow", x, [=](const Tensor& t) { return narrow(t, axis, start, length, step); });
}
Var select(const Var& x, Axis axis, std::int64_t index) {
  return record_view("select", x, [=](const Tensor& t) { return select(t, axis, index); });
}
Var expand(const Var& x, Axis axis, std::int64_t length) {
  return record_view("expand", x, [=](const Tensor& t) { return expand(t, axis, length); });
}
Var expand_new(const Var& x, Axis axis, std::int64_t length) {
  return record_view("expand_new", x, [=](const Tensor& t) { return expand_new(t, axis, length); });
}
Var expand_scalar(const Var& x, const Shape& shape) {
  return record_view("expand_scalar", x, [shape](const Tensor& t) { return expand_scalar(t, shape); });
}

}  // namespace gradus
