// SOFTMAX_AXIS_BATCH: the maximum is that of the row, the sum that of the column
#include "lessons/04_softmax/exercise.h"

namespace gradus::lesson04 {

Var softmax_rows(const Var& scores, double T) {
  const std::int64_t n = scores.size(Axis{1});
  const Var e = scores / T;                                         // (B, n)
  const Var up = exp(e - expand_new(max(e, Axis{1}), Axis{1}, n));  // largest 1: nothing overflows
  return up / expand_new(sum(up, Axis{0}), Axis{0}, scores.size(Axis{0}));
}

Var log_sum_exp(const Var& z) {
  const Var m = max(z, Axis{1});  // (N)
  return m + log(sum(exp(z - expand_new(m, Axis{1}, z.size(Axis{1}))), Axis{1}));
}

Var mean_cross_entropy(const Var& z, const Ids& targets) {
  const Var z_y = sum(z * one_hot(targets, z.size(Axis{1}), z.dtype()), Axis{1});  // (N)
  return mean(log_sum_exp(z) - z_y);
}

Var cross_entropy_gradient(const Var& z, const Ids& targets) {
  const Var y = one_hot(targets, z.size(Axis{1}), z.dtype());
  return (softmax_rows(z, 1) - y) / static_cast<double>(targets.size());
}

Var softmax_backward(const Var& alpha, const Var& dy) {
  return alpha * (dy - expand_new(sum(alpha * dy, Axis{1}), Axis{1}, dy.size(Axis{1})));
}

}  // namespace gradus::lesson04
