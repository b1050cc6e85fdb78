// The few loops that every transcription of this directory shares: vectors, matrices as rows, elementwise helpers.
// Standard headers only and independent of all other code here, so that the numbers of the papers stay a second
// opinion.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace gradus::paper {

using Vec = std::vector<double>;
using Mat = std::vector<Vec>;  // a vector of rows: M[row][column]

// Throws std::invalid_argument unless the two sizes are equal.
inline void need_equal(std::size_t a, std::size_t b, const char* what) {
  if (a == b) return;
  throw std::invalid_argument(std::string(what) + ": sizes " + std::to_string(a) + " and " + std::to_string(b) +
                              " differ; pass operands of one size");
}

// W x: (m, n), (n) -> (m).
inline Vec mul(const Mat& W, const Vec& x) {
  Vec y(W.size(), 0.0);
  for (std::size_t i = 0; i < W.size(); ++i) {
    need_equal(W[i].size(), x.size(), "matrix times vector");
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += W[i][j] * x[j];
  }
  return y;
}

// x W, which is W transposed times x: (m), (m, n) -> (n).
inline Vec row_mul(const Vec& x, const Mat& W) {
  need_equal(x.size(), W.size(), "row vector times matrix");
  Vec y(W.empty() ? 0 : W[0].size(), 0.0);
  for (std::size_t i = 0; i < W.size(); ++i) {
    need_equal(W[i].size(), y.size(), "row vector times matrix");
    for (std::size_t j = 0; j < y.size(); ++j) y[j] += x[i] * W[i][j];
  }
  return y;
}

// a . b: (n), (n) -> number.
inline double dot(const Vec& a, const Vec& b) {
  need_equal(a.size(), b.size(), "dot product");
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// a + b: (n), (n) -> (n). An empty b is an absent bias and adds nothing.
inline Vec plus(Vec a, const Vec& b) {
  if (b.empty()) return a;
  need_equal(a.size(), b.size(), "sum");
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

// Elementwise product: (n), (n) -> (n).
inline Vec times(Vec a, const Vec& b) {
  need_equal(a.size(), b.size(), "elementwise product");
  for (std::size_t i = 0; i < a.size(); ++i) a[i] *= b[i];
  return a;
}

// z a + (1 - z) b, elementwise: (n), (n), (n) -> (n).
inline Vec blend(const Vec& z, const Vec& a, const Vec& b) {
  need_equal(z.size(), a.size(), "blend");
  need_equal(z.size(), b.size(), "blend");
  Vec y(z.size());
  for (std::size_t i = 0; i < z.size(); ++i) y[i] = z[i] * a[i] + (1.0 - z[i]) * b[i];
  return y;
}

// 1 / (1 + exp(-a)), elementwise.
inline Vec sigmoid_of(Vec a) {
  for (double& v : a) v = 1.0 / (1.0 + std::exp(-v));
  return a;
}

// tanh, elementwise.
inline Vec tanh_of(Vec a) {
  for (double& v : a) v = std::tanh(v);
  return a;
}

// [a; b]: (n), (m) -> (n + m).
inline Vec concat(Vec a, const Vec& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Entries first .. first + count - 1 of a: (n) -> (count).
inline Vec part(const Vec& a, std::size_t first, std::size_t count) {
  if (first + count > a.size()) throw std::invalid_argument("part: reaches past the end of the vector");
  Vec y(count);
  for (std::size_t i = 0; i < count; ++i) y[i] = a[first + i];
  return y;
}

// exp(e_i) / sum_k exp(e_k): (n) -> (n), after subtracting the largest entry, which changes nothing but overflow.
inline Vec normalised_exp(Vec e) {
  if (e.empty()) return e;
  const double largest = *std::max_element(e.begin(), e.end());
  double sum = 0.0;
  for (double& v : e) {
    v = std::exp(v - largest);
    sum += v;
  }
  for (double& v : e) v /= sum;
  return e;
}

// sum_i a_i H_i: (T), (T, d) -> (d).
inline Vec weighted_sum(const Vec& a, const Mat& H) { return row_mul(a, H); }

}  // namespace gradus::paper
