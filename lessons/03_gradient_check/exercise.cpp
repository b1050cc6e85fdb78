// Lesson 03: write a gradient check. Four functions, a few lines each; exercise.h says what they get.
//
//   ./gradus check 03    what is right, and the first thing to mend
//   ./gradus watch 03    the same whenever you save
//   ./gradus hint 03     a nudge
//
// At hand: std::fabs, std::cbrt, std::max, std::isfinite; fixed random numbers: Generator g(1); g.uniform(low, high)
// and g.chance(0.5) (tensor/random.h). The machine epsilon is std::numeric_limits<double>::epsilon().
#include "lessons/03_gradient_check/exercise.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradus::lesson03 {

// 1. Move x_i a little to both sides, and look at L.
double central_difference(const Objective& L, const Numbers& x, std::size_t i) {
  (void)L, (void)x, (void)i;  // goes away with your first line
  return 0;
}

// 2. How far two numbers are apart, measured by their own size.
double relative_error(double a, double n) {
  (void)a, (void)n;
  return 0;
}

// 3. On a smooth function the slopes to the left and to the right come together when the step is halved.
bool has_kink(const Objective& L, const Numbers& x, std::size_t i) {
  (void)L, (void)x, (void)i;
  return false;
}

// 4. The check. Which L do you ask about, which elements, with which tolerance, and when is "yes" not deserved?
bool accepts(const Op& op) {
  (void)op;
  return false;
}

}  // namespace gradus::lesson03
