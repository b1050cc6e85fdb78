// Points of three clouds, and Bayes' rule for them.
#include "lessons/04_softmax/clouds.h"

#include "tensor/reduce.h"

namespace gradus::lesson04 {

Points draw_points(std::int64_t n, Generator& generator) {
  Points points{empty(Shape{n, 2}), Ids(Shape{n})};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t k = generator.below(classes);
    points.labels[i] = static_cast<std::int32_t>(k);
    for (std::int64_t d = 0; d < 2; ++d) points.x.set({i, d}, centres[k][d] + generator.normal());
  }
  return points;
}

Tensor true_log_probabilities(const Tensor& x) {
  Tensor logits = empty(Shape{x.shape()[0], classes}, f64);
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) {
    for (std::int64_t k = 0; k < classes; ++k) {
      const double *m = centres[k], dot = m[0] * x.at({i, 0}) + m[1] * x.at({i, 1});
      logits.set({i, k}, dot - (m[0] * m[0] + m[1] * m[1]) / 2);
    }
  }
  return log_softmax(logits, Axis{1});
}

}  // namespace gradus::lesson04
