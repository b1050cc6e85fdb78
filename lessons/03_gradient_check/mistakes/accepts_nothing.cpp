// ACCEPTS_NOTHING: it always ends in no
#include "lessons/03_gradient_check/exercise.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradus::lesson03 {
namespace {

double step_for(double x) { return std::cbrt(std::numeric_limits<double>::epsilon()) * std::max(1.0, std::fabs(x)); }

double moved(const Objective& L, Numbers x, std::size_t i, double by) {
  x[i] += by;
  return L(x);
}

}  // namespace

double central_difference(const Objective& L, const Numbers& x, std::size_t i) {
  const double h = step_for(x[i]);
  return (moved(L, x, i, h) - moved(L, x, i, -h)) / (2 * h);
}

double relative_error(double a, double n) {
  const double size = std::fabs(a) + std::fabs(n);
  return size == 0 ? 0 : std::fabs(a - n) / size;
}

bool has_kink(const Objective& L, const Numbers& x, std::size_t i) {
  const double h = step_for(x[i]), here = L(x);
  const double right = (moved(L, x, i, h) - here) / h, left = (here - moved(L, x, i, -h)) / h;
  return std::fabs(right - left) > 0.01 * (std::fabs(right) + std::fabs(left)) + 1e-4 * std::fabs(here);
}

bool accepts(const Op& op) {
  const Numbers y = op.forward(op.x);
  for (int again = 0; again < 3; ++again) {
    if (op.forward(op.x) != y) return false;  // another result at each call
  }
  Generator g(1);
  Numbers w;  // random and fixed: a plain sum tests nothing where the sum is constant
  for (std::size_t i = 0; i < y.size(); ++i) w.push_back(g.uniform(0.5, 1.5) * (g.chance(0.5) ? 1 : -1));
  const Objective L = [&](const Numbers& x) {
    const Numbers values = op.forward(x);
    double total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) total += w[i] * values[i];
    return total;
  };
  const Numbers analytic = op.backward(op.x, w);
  bool tested = false;
  for (std::size_t i = 0; i < op.x.size(); ++i) {
    const double numeric = central_difference(L, op.x, i);
    if (has_kink(L, op.x, i)) return false;
    if (!(relative_error(analytic[i], numeric) <= 1e-6)) return false;  // written so that NaN fails
    tested = tested || numeric != 0;
  }
  return false;
}

}  // namespace gradus::lesson03
