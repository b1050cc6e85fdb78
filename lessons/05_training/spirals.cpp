// Points on two spiral arms.
#include "lessons/05_training/spirals.h"

#include <cmath>
#include <numbers>

namespace gradus::lesson05 {

Points draw_spirals(std::int64_t n, Generator& generator) {
  Points points{empty(Shape{n, 2}), Ids(Shape{n})};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t arm = generator.below(arms);
    const double radius = generator.uniform(0.1, 1);
    const double angle = 2 * std::numbers::pi * (turns * radius + static_cast<double>(arm) / arms);
    points.labels[i] = static_cast<std::int32_t>(arm);
    points.x.set({i, 0}, extent * radius * std::cos(angle) + extent * noise * generator.normal());
    points.x.set({i, 1}, extent * radius * std::sin(angle) + extent * noise * generator.normal());
  }
  return points;
}

Points draw_batch(const Points& points, std::int64_t count, Generator& generator) {
  Points batch{empty(Shape{count, 2}), Ids(Shape{count})};
  for (std::int64_t b = 0; b < count; ++b) {
    const std::int64_t i = generator.below(points.labels.size());
    batch.labels[b] = points.labels[i];
    for (std::int64_t d = 0; d < 2; ++d) batch.x.set({b, d}, points.x.at({i, d}));
  }
  return batch;
}

}  // namespace gradus::lesson05
