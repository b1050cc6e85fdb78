// Reference evaluator: every op once more as plain loops over row-major arrays, for any kind of number. Run on double
// it gives values, run on Jet (value and derivative along one direction) it gives J v, with no line shared with the
// engine.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace gradus::testing {

// Forward mode: a value and how fast it moves along the chosen direction.
struct Jet {
  double v = 0, d = 0;
  Jet() = default;
  Jet(double value, double slope = 0) : v(value), d(slope) {}
};
inline Jet operator+(Jet a, Jet b) { return {a.v + b.v, a.d + b.d}; }
inline Jet operator-(Jet a, Jet b) { return {a.v - b.v, a.d - b.d}; }
inline Jet operator*(Jet a, Jet b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
inline Jet operator/(Jet a, Jet b) { return {a.v / b.v, (a.d * b.v - a.v * b.d) / (b.v * b.v)}; }
inline Jet operator-(Jet a) { return {-a.v, -a.d}; }
inline bool operator<(Jet a, Jet b) { return a.v < b.v; }
inline Jet exp(Jet a) { return {std::exp(a.v), std::exp(a.v) * a.d}; }
inline Jet log(Jet a) { return {std::log(a.v), a.d / a.v}; }
inline Jet sqrt(Jet a) { return {std::sqrt(a.v), a.d / (2 * std::sqrt(a.v))}; }
inline Jet tanh(Jet a) {
  const double c = std::cosh(a.v);
  return {std::tanh(a.v), a.d / (c * c)};
}
inline Jet abs(Jet a) { return a.v < 0 ? -a : a; }
using std::abs;
using std::exp;
using std::log;
using std::sqrt;
using std::tanh;

using Lengths = std::vector<std::int64_t>;

inline std::int64_t count_of(const Lengths& shape) {
  std::int64_t n = 1;
  for (std::int64_t length : shape) n *= length;
  return n;
}

template <class S> struct Plain {
  Lengths shape;
  std::vector<S> data;
};

// Calls visit(index) for every position, the last axis fastest.
template <class F> void each_index(const Lengths& shape, F visit) {
  if (count_of(shape) == 0) return;
  Lengths index(shape.size(), 0);
  while (true) {
    visit(index);
    std::size_t axis = shape.size();
    while (axis > 0) {
      --axis;
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (shape.empty()) return;
  }
}
inline std::size_t place_of(const Lengths& shape, const Lengths& index) {
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) place = place * shape[axis] + index[axis];
  return static_cast<std::size_t>(place);
}

// y[i] = f(x...[i])
template <class S, class F> Plain<S> elementwise(const std::vector<Plain<S>>& x, F f) {
  Plain<S> y{x[0].shape, {}};
  for (std::size_t i = 0; i < x[0].data.size(); ++i) y.data.push_back(f(i));
  return y;
}

// y[index] = x[where(index)] for a result of another shape.
template <class S, class F> Plain<S> looked_at(const Plain<S>& x, const Lengths& shape, F where) {
  Plain<S> y{shape, {}};
  each_index(shape, [&](const Lengths& index) { y.data.push_back(x.data[place_of(x.shape, where(index))]); });
  return y;
}

// The row of x along `axis` that goes through the position `rest` of the other axes.
template <class S> std::vector<S> row_of(const Plain<S>& x, std::size_t axis, const Lengths& rest) {
  std::vector<S> row;
  Lengths index = rest;
  index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), 0);
  for (std::int64_t i = 0; i < x.shape[axis]; ++i) {
    index[axis] = i;
    row.push_back(x.data[place_of(x.shape, index)]);
  }
  return row;
}
inline Lengths dropped(Lengths shape, std::size_t axis) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return shape;
}

// f(row) -> number for each row along `axis`.
template <class S, class F> Plain<S> reduced(const Plain<S>& x, std::size_t axis, F f) {
  Plain<S> y{dropped(x.shape, axis), {}};
  each_index(y.shape, [&](const Lengths& rest) { y.data.push_back(f(row_of(x, axis, rest))); });
  return y;
}
// f(row) -> row, written back in place. f also gets the position of the row.
template <class S, class F> Plain<S> row_by_row(const Plain<S>& x, std::size_t axis, F f) {
  Plain<S> y = x;
  each_index(dropped(x.shape, axis), [&](const Lengths& rest) {
    const std::vector<S> row = f(row_of(x, axis, rest), rest);
    Lengths index = rest;
    index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    for (std::int64_t i = 0; i < x.shape[axis]; ++i) {
      index[axis] = i;
      y.data[place_of(y.shape, index)] = row[static_cast<std::size_t>(i)];
    }
  });
  return y;
}

template <class S> S total_of(const std::vector<S>& row) {
  S total(0.0);
  for (const S& value : row) total = total + value;
  return total;
}
template <class S> S largest_of(const std::vector<S>& row) {
  S largest = row[0];
  for (const S& value : row) largest = largest < value ? value : largest;
  return largest;
}
template <class S> S log_sum_exp_of(const std::vector<S>& row) {  // the test data stay small: no shift is needed
  std::vector<S> e;
  for (const S& value : row) e.push_back(exp(value));
  return log(total_of(e));
}

}  // namespace gradus::testing
