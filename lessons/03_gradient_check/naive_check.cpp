// Central differences of L, one element at a time, against what backward says.
#include "lessons/03_gradient_check/naive_check.h"

#include <algorithm>
#include <cmath>

#include "lessons/03_gradient_check/step_curve.h"
#include "tensor/random.h"

namespace gradus::lesson03 {

NaiveResult naive_check(const SmallOp& op, bool wrong, const NaiveCheck& how) {
  Generator generator(1, "cotangent");
  Numbers w(static_cast<std::size_t>(op.shape.size()), 1.0);
  if (!how.plain_sum) {
    for (double& weight : w) weight = generator.uniform(0.5, 1.5) * (generator.chance(0.5) ? 1 : -1);
  }
  const std::vector<Var> leaves = leaves_of(op, how.dtype);
  backward(apply(op, leaves, wrong), tensor(op.shape, w, how.dtype));
  SmallOp moved = op;
  auto objective = [&] {  // L = w . y, with y in the dtype asked for
    const Numbers y = apply(moved, leaves_of(moved, how.dtype), wrong).value().to_vector();
    double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) total += w[i] * y[i];
    return total;
  };
  NaiveResult result;
  for (std::size_t k = 0; k < op.x.size(); ++k) {
    const Numbers analytic = leaves[k].grad().to_vector();
    for (std::size_t i = 0; i < analytic.size(); ++i) {
      const double x = op.x[k][i];
      moved.x[k][i] = x + how.step;
      const double right = objective();
      moved.x[k][i] = x - how.step;
      const double left = objective();
      moved.x[k][i] = x;
      const double numeric = (right - left) / (2 * how.step);
      const bool rounding = std::fabs(analytic[i] - numeric) < 1e-9;  // two zeros differ by that much
      const double error = rounding ? 0 : error_between(analytic[i], numeric);
      result.worst = std::max(result.worst, error);
      result.wrong += error > how.tolerance ? 1 : 0;
      ++result.checked;
    }
  }
  return result;
}

}  // namespace gradus::lesson03
