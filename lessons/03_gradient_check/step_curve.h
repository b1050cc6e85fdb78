// The error of a difference quotient against its step, for f(x) = 1/x, where both of its parts are known on paper.
#pragma once

#include <string>
#include <vector>

namespace gradus::lesson03 {

// Four ways to get f'(x) from values of f:
//   one_sided   (f(x + h) - f(x)) / h
//   central     (f(x + h) - f(x - h)) / (2 h)
//   richardson  (4 central(h / 2) - central(h)) / 3, in which the h^2 terms cancel
//   central32   central, in float
enum class Quotient { one_sided, central, richardson, central32 };

// The quotient for f(x) = 1/x.
double slope_of_inverse(Quotient quotient, double x, double h);

// |a - n| / (|a| + |n|): 0 when equal, 1 when one of them is zero or has the wrong sign.
double error_between(double a, double n);

struct StepCurve {
  std::vector<double> step, error;  // falling steps; the worst relative error over twenty points between 0.5 and 2
  double best_step() const;
  double best_error() const;
};
StepCurve step_curve(Quotient quotient);

}  // namespace gradus::lesson03
