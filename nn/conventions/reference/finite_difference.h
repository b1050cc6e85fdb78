// Central differences of any scalar function of named arrays: the gradient that no backward pass had a hand in.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "nn/conventions/reference/array.h"

namespace gradus::reference {

using ScalarFunction = std::function<double(const Arrays&)>;

// df/d(at[name]) with at[name]'s shape. The step is cbrt(machine epsilon) * max(1, |x|), where the truncation error of
// a central difference (h^2) meets the rounding error (1/h); it is divided by the step that was taken after rounding.
inline Array central_difference(const ScalarFunction& f, Arrays at, const std::string& name) {
  Array gradient(get(at, name).shape);
  for (std::size_t i = 0; i < gradient.data.size(); ++i) {
    double& x = at[name].data[i];
    const double kept = x, h = std::cbrt(std::numeric_limits<double>::epsilon()) * std::max(1.0, std::fabs(kept));
    const double above = kept + h, below = kept - h;
    x = above;
    const double f_above = f(at);
    x = below;
    const double f_below = f(at);
    x = kept;
    gradient.data[i] = (f_above - f_below) / (above - below);
  }
  return gradient;
}

}  // namespace gradus::reference
