// The data: points on two spiral arms, which no straight line separates.
#pragma once

#include "tensor/ids.h"
#include "tensor/random.h"

namespace gradus::lesson05 {

inline constexpr std::int64_t arms = 2;
inline constexpr double turns = 1.5;   // of each arm, from the centre to radius 1
inline constexpr double extent = 4;    // radius of an arm's end
inline constexpr double noise = 0.02;  // deviation of each coordinate, in extents

struct Points {
  Tensor x;    // (N, 2)
  Ids labels;  // (N): which arm, 0 or 1
};

// N points: the arm, how far along it, and the noise are drawn for each.
Points draw_spirals(std::int64_t n, Generator& generator);

// `count` of these points, drawn with replacement.
Points draw_batch(const Points& points, std::int64_t count, Generator& generator);

}  // namespace gradus::lesson05
