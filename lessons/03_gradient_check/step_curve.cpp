// f(x) = 1/x needs no product that a compiler could fuse with a sum, so these numbers are the same on every machine.
#include "lessons/03_gradient_check/step_curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gradus::lesson03 {
namespace {

constexpr double steps[] = {1e-1, 3e-2, 1e-2, 3e-3,  1e-3,  3e-4,  1e-4,  3e-5,  1e-5,  3e-6,  1e-6,  3e-7,  1e-7, 3e-8,
                            1e-8, 3e-9, 1e-9, 3e-10, 1e-10, 3e-11, 1e-11, 3e-12, 1e-12, 3e-13, 1e-13, 3e-14, 1e-14};

template <class T> T central(T x, T h) {
  const T right = 1 / (x + h), left = 1 / (x - h);
  return (right - left) / (2 * h);
}

}  // namespace

double slope_of_inverse(Quotient quotient, double x, double h) {
  switch (quotient) {
    case Quotient::one_sided:
      return (1 / (x + h) - 1 / x) / h;
    case Quotient::central:
      return central(x, h);
    case Quotient::richardson:
      return (4 * central(x, h / 2) - central(x, h)) / 3;
    case Quotient::central32:
      return static_cast<double>(central(static_cast<float>(x), static_cast<float>(h)));
  }
  return 0;
}

double error_between(double a, double n) {
  const double size = std::fabs(a) + std::fabs(n);
  return size == 0 ? 0 : std::fabs(a - n) / size;
}

double StepCurve::best_error() const { return *std::min_element(error.begin(), error.end()); }
double StepCurve::best_step() const {
  return step[static_cast<std::size_t>(std::min_element(error.begin(), error.end()) - error.begin())];
}

StepCurve step_curve(Quotient quotient) {
  StepCurve curve;
  for (double h : steps) {
    double worst = 0;
    for (int i = 0; i < 20; ++i) {
      const double x = 0.5 + i / 13.0;
      worst = std::max(worst, error_between(-1 / (x * x), slope_of_inverse(quotient, x, h)));
    }
    curve.step.push_back(h);
    curve.error.push_back(worst);
  }
  return curve;
}

}  // namespace gradus::lesson03
