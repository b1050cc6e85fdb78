// Least squares: a line through points, by the gradient X'(X w - y), exactly, and with the stretch that nobody wrote.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/01_tensors/exercise.h"
#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"
#include "tensor/random.h"

namespace gradus::lesson01 {

inline constexpr std::int64_t points = 200;
inline constexpr double true_slope = 2, true_intercept = -1;

struct Line {
  Tensor X;  // (N, 2): x and 1
  Tensor y;  // (N, 1): 2 x - 1 and noise of deviation 0.3
};
Line draw_line(std::uint64_t seed);

// One gradient with a pencil: three points, w = 0.
std::string gradient_by_hand(Lang lang);
// Largest difference between X'(X w - y) computed product by product and the taught gradient.
double hand_against_taught(const Line& line);

struct Fit {
  std::vector<double> losses;  // mean of squares, before each step
  double slope = 0, intercept = 0;
};
// Gradient descent with the taught gradient, its rate 1 / (largest curvature); `after` ends it by returning false.
Fit descend(const Line& line, std::int64_t steps, const std::function<bool(std::int64_t, double)>& after);
// The same on what (N, 1) - (N) is when both are stretched to (N, N).
Fit descend_stretched(const Line& line, std::int64_t steps);
// X'X w = X'y, solved.
Fit solved(const Line& line);

std::string fits_table(const Fit& descended, const Fit& exact, const Fit& stretched, const Terminal& terminal,
                       Lang lang);
LineChart loss_chart(const Fit& descended, const Fit& stretched, Lang lang);

}  // namespace gradus::lesson01
