// Softmax and the losses, with the gradients that a composition of exp, sum and log would lose digits on.
#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "autograd/pointwise.h"
#include "tensor/doctor/doctor.h"
#include "tensor/kernels/softmax.h"

namespace gradus {
namespace {

// The rule below along the last axis, in one pass. y and dy are row-major.
void add_row_gradients(const Tensor& y, const Tensor& dy, Node::Target dx) {
  const std::int64_t length = y.shape()[y.rank() - 1], rows = length == 0 ? 0 : y.size() / length;
  Tensor to = dx.grad.contiguous() ? dx.grad : zeros(y.shape(), y.dtype());
  dispatch(y.dtype(), [&]<class T>(T) {
    softmax_rows_gradient(y.data<T>(), dy.data<T>(), length, rows, length, to.mutable_data<T>(), !dx.fresh);
  });
  if (!dx.grad.contiguous()) dx.add(to);
}

// dx = y (dy - sum(y dy)). Where y is 0 because of a mask, dx is exactly 0.
Var record_softmax(const Var& x, Axis axis, Tensor y) {
  return record("softmax", std::move(y), {x}, [axis](const Tensor& dy, Inputs& in) {
    const Tensor& weights = in.result();
    if (axis.index == dy.rank() - 1) return add_row_gradients(weights, contiguous(dy), in.target(0));
    const Tensor inner = pointwise_sum(
        "softmax", [](auto w, auto d) { return w * d; }, axis, weights, dy);
    in.add(0, pointwise(
                  "softmax", [](auto w, auto d, auto s) { return w * (d - s); }, weights, dy,
                  expand_new(inner, axis, dy.shape()[axis])));
  });
}

constexpr Contract targets_alone("", "logits (B, vocab)  targets (B)  mask (B)");
constexpr Contract sequence_targets("", "logits (B, T_dec, vocab)  targets (B, T_dec)  mask (B, T_dec)");

std::int64_t count_targets(const Var& logits, const Ids& targets, const Mask* counts) {
  const Shape& shape = logits.shape();
  const Given given[] = {logits, targets, counts};
  if (!(shape.rank() == 3 ? sequence_targets : targets_alone).fits(given, 3))
    throw ShapeError(examine_nearest({&targets_alone, &sequence_targets}, "cross_entropy", {given, given + 3}));
  const std::int64_t vocab = shape[shape.rank() - 1];
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < targets.size(); ++i) {
    if (counts && !(*counts)[i]) continue;
    if (targets[i] < 0 || targets[i] >= vocab) {
      throw IndexError("cross_entropy: target " + std::to_string(targets[i]) + " at place " + std::to_string(i) +
                       " is outside the vocabulary of " + std::to_string(vocab));
    }
    ++counted;
  }
  if (counted == 0) throw ValueError("cross_entropy: no target counts, so there is no mean; leave such a batch out");
  return counted;
}

Var cross_entropy_of(const Var& logits, const Ids& targets, const Mask* counts) {
  const double n = static_cast<double>(count_targets(logits, targets, counts));
  const std::int64_t vocab = logits.shape()[logits.rank() - 1];
  const Shape as_rows{targets.size(), vocab};
  const Tensor rows = reshape(logits.value(), as_rows), lse = logsumexp(rows, Axis{1});
  Tensor log_p = empty(lse.shape(), lse.dtype());  // of the targets alone
  const auto real = counts ? counts->values() : std::vector<std::uint8_t>(targets.values().size(), 1);
  double total = 0;
  dispatch(rows.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < targets.size(); ++i) {  // a target that does not count may be any number
      const T log_p_i = real.data()[i] ? rows.data<T>()[i * vocab + targets[i]] - lse.data<T>()[i] : 0;
      total -= static_cast<double>(log_p.mutable_data<T>()[i] = log_p_i);
    }
  });
  return record("cross_entropy", full(Shape{}, total / n, rows.dtype()), {logits},
                [=](const Tensor& dy, Inputs& in) {  // dx = (softmax - one-hot) / n
                  const Tensor scale = full(lse.shape(), dy.item() / n, lse.dtype());
                  Tensor dx =
                      reshape(pointwise(
                                  "cross_entropy", [](auto x, auto l, auto factor) { return exp(x - l) * factor; },
                                  reshape(in.value(0), as_rows), expand_new(lse, Axis{1}, vocab),
                                  expand_new(scale, Axis{1}, vocab)),
                              in.shape(0));
                  const Tensor at_target = pointwise(
                      "cross_entropy", [](auto l, auto factor) { return (exp(l) - 1) * factor; }, log_p, scale);
                  dispatch(dx.dtype(), [&]<class T>(T) {
                    T* d = dx.mutable_data<T>();
                    for (std::int64_t i = 0; i < targets.size(); ++i, d += vocab) {
                      if (real.data()[i]) d[targets[i]] = at_target.data<T>()[i];
                      if (!real.data()[i]) std::fill(d, d + vocab, T(0));
                    }
                  });
                  in.add(0, std::move(dx));
                });
}

}  // namespace

Var softmax(const Var& x, Axis axis) { return record_softmax(x, axis, softmax(x.value(), axis)); }

Var softmax(const Var& x, Axis axis, const Mask& mask, EmptyRow empty_row) {
  return record_softmax(x, axis, softmax(x.value(), axis, &mask, empty_row));
}

Var log_softmax(const Var& x, Axis axis) {
  const Tensor y = log_softmax(x.value(), axis);
  return record("log_softmax", y, {x}, [axis](const Tensor& dy, Inputs& in) {  // dx = dy - softmax sum(dy)
    in.add(0, pointwise(
                  "log_softmax", [](auto d, auto lp, auto s) { return d - exp(lp) * s; }, dy, in.result(),
                  expand_new(sum(dy, axis), axis, dy.shape()[axis])));
  });
}

Var cross_entropy(const Var& logits, const Ids& targets) { return cross_entropy_of(logits, targets, nullptr); }
Var cross_entropy(const Var& logits, const Ids& targets, const Mask& counts) {
  return cross_entropy_of(logits, targets, &counts);
}

Var mse(const Var& prediction, const Var& target) {
  if (prediction.shape() != target.shape() && prediction.rank() >= 1 && prediction.rank() <= 3)
    throw ShapeError(examine_same("mse", prediction.shape(), target.shape()));
  return mean(pointwise(
      "mse", [](auto p, auto t) { return (p - t) * (p - t); }, prediction, target));
}

}  // namespace gradus
