// The generated set: points of three round clouds in the plane, and the probabilities that are right for each point.
#pragma once

#include <cstdint>

#include "tensor/ids.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace gradus::lesson04 {

inline constexpr std::int64_t classes = 3;                                      // A, B, C, equally frequent
inline constexpr double centres[classes][2] = {{0, 2}, {-1.5, -1}, {1.5, -1}};  // normal around these, deviation 1

struct Points {
  Tensor x;    // (N, 2)
  Ids labels;  // (N): the cloud that each point comes from
};
Points draw_points(std::int64_t n, Generator& generator);

// log p(cloud k | x) by Bayes' rule, (N, 3) in f64. With m_k the centre of cloud k, p(k | x) is proportional to
// exp(-|x - m_k|^2 / 2) = exp(m_k . x - |m_k|^2 / 2) exp(-|x|^2 / 2), and the last factor is the same for all k:
// the softmax of linear logits, and nobody can know more about a point than this.
Tensor true_log_probabilities(const Tensor& x);

}  // namespace gradus::lesson04
