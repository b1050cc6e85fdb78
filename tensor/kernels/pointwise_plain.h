// The plain version of pointwise: one element after the other, every function from the C library. It computes in double,
// whatever the tensors hold, so that a formula is compiled once for it and not once for each dtype.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace gradus {

// What a formula is given instead of a Pack.
struct Plain {
  double v;
  Plain(double value = 0) : v(value) {}  // implicit: formulas mix numbers in
  static Plain broadcast(double value) { return value; }
};
inline Plain operator+(Plain a, Plain b) { return a.v + b.v; }
inline Plain operator-(Plain a, Plain b) { return a.v - b.v; }
inline Plain operator*(Plain a, Plain b) { return a.v * b.v; }
inline Plain operator/(Plain a, Plain b) { return a.v / b.v; }
inline Plain operator-(Plain a) { return -a.v; }
inline bool operator<(Plain a, Plain b) { return a.v < b.v; }
inline bool operator>(Plain a, Plain b) { return a.v > b.v; }
inline bool operator==(Plain a, Plain b) { return a.v == b.v; }
inline Plain select(bool condition, Plain a, Plain b) { return condition ? a : b; }
inline Plain exp(Plain x) { return std::exp(x.v); }
inline Plain log(Plain x) { return std::log(x.v); }
inline Plain sqrt(Plain x) { return std::sqrt(x.v); }
inline Plain tanh(Plain x) { return std::tanh(x.v); }
inline Plain sigmoid(Plain x) { return 1 / (1 + std::exp(-x.v)); }
inline Plain abs(Plain x) { return std::fabs(x.v); }
inline Plain max(Plain a, Plain b) { return a.v < b.v || b.v != b.v ? b : a; }  // NaN from either side stays NaN
inline Plain min(Plain a, Plain b) { return b.v < a.v || b.v != b.v ? b : a; }
inline Plain relu(Plain x) { return x.v < 0 ? Plain() : x; }
inline Plain choose(Plain condition, Plain a, Plain b) { return condition.v == 0 ? b : a; }

namespace detail {

// Walks through the elements of tensors of one shape, row-major. Of a tensor that holds nothing there is nothing to see.
class PlainLoop {
 public:
  PlainLoop(const Shape& shape, std::vector<Tensor> tensors);
  bool more() const { return left_ > 0; }
  void next();
  bool has(std::size_t k) const { return tensors_[k].defined(); }
  double get(std::size_t k) const;
  void put(std::size_t k, double value);
  void add(std::size_t k, double value);  // not inline, so that a product is rounded before it is added

 private:
  Shape shape_;
  std::vector<Tensor> tensors_;
  std::vector<std::int64_t> index_, offset_;
  std::int64_t left_;
};

// A formula as a plain function of its operands' values.
template <class F, std::size_t... k> constexpr auto plain_formula(std::index_sequence<k...>) {
  return +[](const double* x) { return F{}(Plain(x[k])...).v; };
}

// target = formula(from...), or += when `add`.
void pointwise_plain(Tensor& target, bool add, double (*formula)(const double* x), std::vector<Tensor> from);

}  // namespace detail
}  // namespace gradus
