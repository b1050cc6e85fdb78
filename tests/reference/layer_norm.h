// Ba, Kiros, Hinton 2016, "Layer Normalization", equations 3 and 4, with the epsilon that every library adds.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper {

// x (d), gain (d), bias (d) -> (d). The variance divides by d, not by d - 1; epsilon stands under the root.
//   mu = 1/d sum_i x_i,   sigma^2 = 1/d sum_i (x_i - mu)^2          (3)
//   y  = gain * (x - mu) / sqrt(sigma^2 + epsilon) + bias          (4)
inline Vec layer_norm(const Vec& x, const Vec& gain, const Vec& bias, double epsilon = 1e-5) {
  need_equal(x.size(), gain.size(), "layer norm");
  need_equal(x.size(), bias.size(), "layer norm");
  const double d = static_cast<double>(x.size());
  double mu = 0.0;
  for (double v : x) mu += v / d;
  double variance = 0.0;
  for (double v : x) variance += (v - mu) * (v - mu) / d;
  Vec y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = gain[i] * (x[i] - mu) / std::sqrt(variance + epsilon) + bias[i];
  return y;
}

}  // namespace gradus::paper
