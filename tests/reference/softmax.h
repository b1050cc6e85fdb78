// Softmax, log-softmax and log-sum-exp of one vector from their definitions, with masks and the product J' dy.
#pragma once

#include <limits>

#include "tests/reference/plain.h"

namespace gradus::paper {

// log sum_k exp(x_k) = m + log sum_k exp(x_k - m), m = max_k x_k: (n) -> number; -inf for no entries.
inline double log_sum_exp(const Vec& x) {
  const double minus_infinity = -std::numeric_limits<double>::infinity();
  double largest = minus_infinity;
  for (double v : x) largest = std::max(largest, v);
  if (largest == minus_infinity) return minus_infinity;
  double sum = 0.0;
  for (double v : x) sum += std::exp(v - largest);
  return largest + std::log(sum);
}

// p_i = exp(x_i) / sum_k exp(x_k): (n) -> (n).
inline Vec softmax(const Vec& x) { return normalised_exp(x); }

// log p_i = x_i - log sum_k exp(x_k): (n) -> (n).
inline Vec log_softmax(const Vec& x) {
  const double total = log_sum_exp(x);
  Vec y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] - total;
  return y;
}

// Softmax over the entries with mask true; the others get exactly 0, and so does everything when no mask is true.
// x (n), mask (n) -> (n).
inline Vec masked_softmax(const Vec& x, const std::vector<bool>& mask) {
  need_equal(x.size(), mask.size(), "masked softmax");
  Vec kept;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (mask[i]) kept.push_back(x[i]);
  }
  const Vec p = normalised_exp(kept);
  Vec y(x.size(), 0.0);
  for (std::size_t i = 0, k = 0; i < x.size(); ++i) {
    if (mask[i]) y[i] = p[k++];
  }
  return y;
}

// dx_i = p_i (dy_i - sum_k dy_k p_k): p (n) the softmax, dy (n) -> (n). Entries with p = 0 get 0.
inline Vec softmax_backward(const Vec& p, const Vec& dy) {
  const double mean = dot(dy, p);
  Vec dx(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) dx[i] = p[i] * (dy[i] - mean);
  return dx;
}

// dx_i = dy_i - p_i sum_k dy_k: p (n) the softmax, dy (n) the gradient of its logarithm -> (n).
inline Vec log_softmax_backward(const Vec& p, const Vec& dy) {
  double sum = 0.0;
  for (double v : dy) sum += v;
  Vec dx(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) dx[i] = dy[i] - p[i] * sum;
  return dx;
}

}  // namespace gradus::paper
