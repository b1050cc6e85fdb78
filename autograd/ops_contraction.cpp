// Products and sums. The gradient of a contraction is the contraction with its operands exchanged.
#include "autograd/kernels/linear.h"
#include "autograd/ops.h"
#include "autograd/pointwise.h"
#include "tensor/matmul.h"

namespace gradus {
namespace {

Tensor transpose_last(const Tensor& x) { return transpose(x, Axis{x.rank() - 2}, Axis{x.rank() - 1}); }

// dx += a b, or = where dx holds nothing yet; summed along an axis where dx is stretched.
void add_product(Node::Target dx, const Tensor& a, const Tensor& b) {
  if (dx.grad.stretched()) add_(dx.grad, matmul(a, b));
  else matmul_into(dx.grad, a, b, !dx.fresh);
}

// x: the shape of all parts joined; `first`: one of them.
void check_linear(const Shape& x, const Tensor& first, const Var& W, const Var& b) {
  if (W.rank() != 2 || W.shape()[1] != x[x.rank() - 1] || (b.defined() && b.shape() != Shape{W.shape()[0]})) {
    throw ShapeError("linear: x " + to_string(x) + ", W " + to_string(W.shape()) + ", b " +
                     (b.defined() ? to_string(b.shape()) : "none") +
                     "; they must be (..., d_in), (d_out, d_in) and (d_out)");
  }
  check_same_dtype("linear", first, W.value());
  if (b.defined()) check_same_dtype("linear", first, b.value());
}

}  // namespace

Var matmul(const Var& a, const Var& b) {
  return record("matmul", matmul(a.value(), b.value()), {a, b}, [](const Tensor& dy, Inputs& in) {
    if (in.needs(0)) add_product(in.target(0), dy, transpose_last(in.value(1)));
    if (in.needs(1)) add_product(in.target(1), transpose_last(in.value(0)), dy);
  });
}

Var linear(const VarList& x, const Var& W, const Var& b) {
  // (..., d_in); one part, as most have, is its own shape.
  const Shape joined = x.size() == 1 && x[0].rank() > 0 ? x[0].shape() : joined_shape("linear", x);
  check_linear(joined, x[0].value(), W, b);
  SmallList<const Var*, 4> inputs;
  for (std::size_t k = 0; k < x.size(); ++k) inputs.emplace_back(&x[k]);
  inputs.emplace_back(&W);
  if (b.defined()) inputs.emplace_back(&b);
  const int parts = static_cast<int>(x.size());
  return record(
      "linear", linear_forward(joined, x, W, b), VarList(inputs.begin(), inputs.size()),
      [parts](const Tensor& dy, Inputs& in) { linear_backward(dy, in, parts); }, ResultIs::unread);
}

Var dot(const Var& x, const Var& v, Axis axis) {
  check_axis("dot", x.shape(), axis);
  if (v.rank() != 1 || v.shape()[0] != x.shape()[axis]) {
    throw ShapeError("dot: axis " + std::to_string(axis.index) + " of " + to_string(x.shape()) +
                     " and a vector of shape " + to_string(v.shape()) + " do not fit; the vector must be (" +
                     std::to_string(x.shape()[axis]) + ")");
  }
  Var weights = v;
  for (int a = 0; a < x.rank(); ++a) {
    if (a != axis.index) weights = expand_new(weights, Axis{a}, x.shape()[a]);
  }
  return pointwise_sum(
      "dot", [](auto value, auto weight) { return value * weight; }, axis, x, weights);
}

Var sum(const Var& x, Axis axis) {
  return record("sum", sum(x.value(), axis), {x},
                [axis](const Tensor& dy, Inputs& in) { in.add(0, expand_new(dy, axis, in.shape(0)[axis])); });
}

Var sum(const Var& x) {
  return record("sum", sum(x.value()), {x},
                [](const Tensor& dy, Inputs& in) { in.add(0, expand_scalar(dy, in.shape(0))); });
}

Var mean(const Var& x, Axis axis) {
  const Tensor value = mean(x.value(), axis);  // refuses an empty axis
  const double count = static_cast<double>(x.shape()[axis]);
  return record("mean", value, {x}, [axis, count](const Tensor& dy, Inputs& in) {
    Tensor share = copy(dy);
    pointwise_into(
        share, [](auto d, auto n) { return d / n; }, dy, expand_scalar(full(Shape{}, count, dy.dtype()), dy.shape()));
    in.add(0, expand_new(share, axis, in.shape(0)[axis]));
  });
}

Var mean(const Var& x) { return mean(reshape(x, Shape{x.value().size()}), Axis{0}); }

Var max(const Var& x, Axis axis) {
  const Tensor largest = max(x.value(), axis);
  return record("max", largest, {x}, [axis](const Tensor& dy, Inputs& in) {
    const Tensor& value = in.value(0);
    const std::int64_t length = value.shape()[axis];
    auto equal = [](auto v, auto m) { return select(v == m, decltype(v){} + 1, decltype(v){}); };
    const Tensor winners = pointwise("max", equal, value, expand_new(in.result(), axis, length));
    const Tensor share = pointwise(
        "max", [](auto d, auto n) { return d / n; }, dy, sum(winners, axis));
    in.add(0, pointwise(
                  "max", [](auto won, auto d) { return won * d; }, winners, expand_new(share, axis, length)));
  });
}

Var logsumexp(const Var& x, Axis axis) {
  const Tensor y = logsumexp(x.value(), axis);
  return record("logsumexp", y, {x}, [axis](const Tensor& dy, Inputs& in) {  // d = softmax(x)
    const Tensor& value = in.value(0);
    const std::int64_t length = value.shape()[axis];
    in.add(0, pointwise(
                  "logsumexp", [](auto v, auto lse, auto d) { return exp(v - lse) * d; }, value,
                  expand_new(in.result(), axis, length), expand_new(dy, axis, length)));
  });
}

}  // namespace gradus
