// What the tests of layers share: fixtures and drawn numbers as Vars, tensors as the plain vectors of the
// transcriptions, distances, and gradients of a transcription by differences.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "nn/module.h"
#include "tests/fixtures/torch_fixtures.h"
#include "tests/reference/plain.h"
#include "tests/tensor/check.h"

namespace gradus::testing {

inline constexpr double exact = 1e-12;  // f64 against f64, relative to the largest number of the lot

// ---- numbers in

inline Tensor tensor_of(const fixtures::Array& array) {
  Extents lengths;
  for (std::int64_t length : array.shape) lengths.insert(lengths.rank(), length);
  return tensor(Shape(lengths), array.data, f64);
}
inline Var leaf(const fixtures::Array& array) { return parameter(tensor_of(array)); }
inline Var leaf(const Shape& shape, Numbers& numbers, double bound = 1) {
  return parameter(tensor(shape, numbers.many(shape.size(), -bound, bound), f64));
}
inline Tensor drawn_tensor(const Shape& shape, Numbers& numbers, double bound = 1) {
  return tensor(shape, numbers.many(shape.size(), -bound, bound), f64);
}

// A clone in f64 with every parameter drawn anew: the biases of fresh layers are zero, and zeros hide mistakes.
template <class Model> Model drawn(const Model& model, std::uint64_t seed, double bound = 0.8) {
  Model result = clone(model, f64);
  Numbers numbers(seed);
  for (const Parameter& p : parameters(result)) {
    copy_(p.var.mutable_value(), drawn_tensor(p.var.shape(), numbers, bound));
  }
  return result;
}

// Writes `values` (row-major) into a parameter, wherever its elements lie.
inline void put(const Var& p, const std::vector<double>& values) {
  copy_(p.mutable_value(), tensor(p.shape(), values, p.dtype()));
}

inline std::vector<std::int64_t> lengths_of(const fixtures::Array& array) {
  return {array.data.begin(), array.data.end()};
}

// ---- numbers out

inline paper::Vec vec(const Var& x) { return x.value().to_vector(); }
inline paper::Mat mat(const Var& x) {  // (m, n)
  paper::Mat rows;
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) rows.push_back(select(x.value(), Axis{0}, i).to_vector());
  return rows;
}
inline paper::Mat rows(const paper::Mat& m, std::size_t first, std::size_t count) {
  return {m.begin() + static_cast<std::ptrdiff_t>(first), m.begin() + static_cast<std::ptrdiff_t>(first + count)};
}
inline paper::Mat columns(const paper::Mat& m, std::size_t first, std::size_t count) {
  paper::Mat out;
  for (const paper::Vec& row : m) out.push_back(paper::part(row, first, count));
  return out;
}
inline paper::Vec flat(const paper::Mat& m) {
  paper::Vec out;
  for (const paper::Vec& row : m) out.insert(out.end(), row.begin(), row.end());
  return out;
}
// Row b of a batch.
inline Var at(const Var& x, std::int64_t b) { return select(x, Axis{0}, b); }

// ---- comparing

// Largest difference, as a part of the largest number of `want`; infinite when sizes differ or a NaN is met.
inline double gap(const std::vector<double>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return infinity;
  double difference = 0, scale = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) || std::isnan(want[i])) return infinity;
    difference = std::fmax(difference, std::fabs(got[i] - want[i]));
    scale = std::fmax(scale, std::fabs(want[i]));
  }
  return difference == 0 ? 0 : difference / scale;
}
inline double gap(const Var& got, const std::vector<double>& want) { return gap(vec(got), want); }
inline double gap(const Var& got, const Var& want) {
  return got.shape() == want.shape() ? gap(vec(got), vec(want)) : infinity;
}
inline double gap(const Var& got, const fixtures::Array& want) { return gap(got, tensor_of(want)); }
inline bool bitwise(const Var& a, const Var& b) { return a.shape() == b.shape() && vec(a) == vec(b); }
inline bool all_zero(const Var& x) {
  for (double value : vec(x)) {
    if (value != 0) return false;
  }
  return true;
}
inline double largest(const Var& x) {
  double result = 0;
  for (double value : vec(x)) result = std::fmax(result, std::fabs(value));
  return result;
}
// Equal to the printed digits: within half a unit of the last decimal.
inline bool prints_as(double value, double printed, int decimals) {
  return std::fabs(value - printed) <= 0.5 * std::pow(10.0, -decimals) + 1e-9;
}
inline bool prints_as(const std::vector<double>& values, const std::vector<double>& printed, int decimals) {
  if (values.size() != printed.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!prints_as(values[i], printed[i], decimals)) return false;
  }
  return true;
}

// ---- gradients

// sum of x times fixed numbers: a loss to which every element matters in its own way.
inline Var weighted(const Var& x, std::uint64_t seed) {
  Numbers numbers(seed);
  return sum(x * Var(drawn_tensor(x.shape(), numbers)));
}

template <class Model> std::vector<CheckedInput> checked(const Model& model) {
  std::vector<CheckedInput> inputs;
  for (const Parameter& p : parameters(model)) inputs.push_back({p.name, p.var});
  return inputs;
}
template <class Model> std::vector<CheckedInput> checked(const Model& model, std::vector<CheckedInput> more) {
  std::vector<CheckedInput> inputs = checked(model);
  inputs.insert(inputs.end(), more.begin(), more.end());
  return inputs;
}

// d f / d p by central differences, extrapolated once. `f` reads the present values of the parameters.
inline std::vector<double> differences(const std::function<double()>& f, const Var& p) {
  const std::vector<double> before = vec(p);
  std::vector<double> result;
  for (std::size_t i = 0; i < before.size(); ++i) {
    auto slope = [&](double h) {
      std::vector<double> moved = before;
      moved[i] = before[i] + h;
      put(p, moved);
      const double right = f();
      moved[i] = before[i] - h;
      put(p, moved);
      return (right - f()) / (2 * h);
    };
    const double coarse = slope(2e-3), fine = slope(1e-3);
    result.push_back((4 * fine - coarse) / 3);
  }
  put(p, before);
  return result;
}

// Lets the gradient of a fixture's sum of cot * output flow into the leaves.
inline void flow_back(const fixtures::Fixture& f, const std::vector<Parameter>& outputs) {
  Var total = zeros(Shape{}, f64);
  for (const Parameter& y : outputs) total = total + sum(y.var * Var(tensor_of(f["cot_" + y.name])));
  backward(total);
}
// Every leaf against the grad_NAME of the fixture.
inline void check_gradients(const fixtures::Fixture& f, const std::vector<Parameter>& leaves) {
  for (const Parameter& p : leaves) {
    CAPTURE(p.name);
    CHECK(gap(p.var.grad(), f["grad_" + p.name]) <= exact);
  }
}

// ---- the tape

// Visits every node that leads to `result`, each once.
inline void for_each_node(const Var& result, const std::function<void(const Node&)>& visit) {
  std::vector<const Node*> open{result.node().get()};
  std::set<const Node*> seen(open.begin(), open.end());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    visit(*node);
    for (const Node::Edge& edge : node->inputs) {
      if (seen.insert(edge.node.get()).second) open.push_back(edge.node.get());
    }
  }
}
inline int count_nodes(const Var& result, const std::function<bool(const Node&)>& wanted) {
  int found = 0;
  for_each_node(result, [&](const Node& node) { found += wanted(node); });
  return found;
}

}  // namespace gradus::testing
