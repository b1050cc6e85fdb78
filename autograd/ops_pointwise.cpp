// Pointwise ops: each is its formula and nothing else.
#include "autograd/kernels/over_temporary.h"
#include "autograd/ops.h"
#include "autograd/pointwise.h"

namespace gradus {
namespace {

// A plain number as an operand of x's shape; one stored element, seen everywhere.
Var number_like(const Var& x, double value) { return expand_scalar(full(Shape{}, value, x.dtype()), x.shape()); }

Tensor as_numbers(const Mask& mask, DType dtype, double scale) {
  std::vector<double> values(mask.values().begin(), mask.values().end());
  for (double& value : values) value *= scale;
  return tensor(mask.shape(), values, dtype);
}

template <class F, class Slope> Var from_result(const char* op, F f, Slope, const Var& x) {
  return record(op, pointwise(op, f, x.value()), x, detail::FromResult<Slope>{});
}

}  // namespace

Var operator+(Var a, Var b) {
  const auto formula = [](auto x, auto y) { return x + y; };
  return record("+", detail::over_temporary("+", formula, a, b), {a, b}, detail::pass_on, ResultIs::unread);
}
Var operator-(const Var& a, const Var& b) {
  return pointwise(
      "-", [](auto x, auto y) { return x - y; }, a, b);
}
Var operator*(const Var& a, const Var& b) {
  return pointwise(
      "*", [](auto x, auto y) { return x * y; }, a, b);
}
Var operator/(const Var& a, const Var& b) {
  return pointwise(
      "/", [](auto x, auto y) { return x / y; }, a, b);
}
Var operator-(const Var& a) {
  return pointwise(
      "neg", [](auto x) { return -x; }, a);
}
Var operator+(const Var& a, double b) { return a + number_like(a, b); }
Var operator-(const Var& a, double b) { return a - number_like(a, b); }
Var operator*(const Var& a, double b) { return a * number_like(a, b); }
Var operator/(const Var& a, double b) { return a / number_like(a, b); }
Var operator+(double a, const Var& b) { return number_like(b, a) + b; }
Var operator-(double a, const Var& b) { return number_like(b, a) - b; }
Var operator*(double a, const Var& b) { return number_like(b, a) * b; }
Var operator/(double a, const Var& b) { return number_like(b, a) / b; }
Var exp(const Var& x) {
  return from_result(
      "exp", [](auto v) { return exp(v); }, slope_of_exp, x);
}
Var log(const Var& x) {
  return pointwise(
      "log", [](auto v) { return log(v); }, x);
}
Var sqrt(const Var& x) {
  return pointwise(
      "sqrt", [](auto v) { return sqrt(v); }, x);
}
Var square(const Var& x) {
  return pointwise(
      "square", [](auto v) { return v * v; }, x);
}
Var tanh(const Var& x) {
  return from_result(
      "tanh", [](auto v) { return tanh(v); }, slope_of_tanh, x);
}
Var sigmoid(const Var& x) {
  return from_result(
      "sigmoid", [](auto v) { return sigmoid(v); }, slope_of_sigmoid, x);
}
Var relu(Var x) {
  const auto formula = [](auto v) { return relu(v); };
  return record("relu", detail::over_temporary("relu", formula, x), x, detail::FromResult<decltype(slope_of_relu)>{});
}
Var abs(const Var& x) {
  return pointwise(
      "abs", [](auto v) { return abs(v); }, x);
}
Var max(const Var& a, const Var& b) {
  return pointwise(
      "max", [](auto x, auto y) { return max(x, y); }, a, b);
}

Var where(const Mask& condition, const Var& if_true, const Var& if_false) {
  check_same_shape("where", condition.shape(), if_true.shape());
  const Tensor chosen = as_numbers(condition, if_true.dtype(), 1);
  // Selected, not multiplied: a NaN on the side that was not chosen stays there, and so does its gradient.
  return pointwise(
      "where", [](auto c, auto x, auto y) { return choose(c, x, y); }, chosen, if_true, if_false);
}

Var dropout(const Var& x, double p, Generator& generator, bool training) {
  if (!(p >= 0 && p < 1))
    throw ValueError("dropout: p is " + std::to_string(p) + " and must be at least 0 and below 1");
  if (!training || p == 0) return x;
  Mask kept(x.shape());
  for (std::int64_t i = 0; i < kept.size(); ++i) kept[i] = generator.uniform() >= p;
  return pointwise(
      "dropout", [](auto v, auto factor) { return v * factor; }, x, as_numbers(kept, x.dtype(), 1 / (1 - p)));
}

}  // namespace gradus
