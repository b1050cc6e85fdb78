// Clipping by the global norm of all gradients: Pascanu, Mikolov, Bengio 2013, algorithm 1, and PyTorch's variant of
// it.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper {

// sqrt of the sum of squares over all gradients together.
inline double global_norm(const std::vector<Vec>& gradients) {
  double sum = 0.0;
  for (const Vec& g : gradients) sum += dot(g, g);
  return std::sqrt(sum);
}

inline void scale(std::vector<Vec>& gradients, double factor) {
  for (Vec& g : gradients) {
    for (double& v : g) v *= factor;
  }
}

// Pascanu et al. 2013, algorithm 1: if ||g|| >= threshold then g <- threshold / ||g|| g. Returns the norm from before.
// Zero gradients stay zero: their norm is below any threshold, which must be positive.
inline double clip_pascanu2013(std::vector<Vec>& gradients, double threshold) {
  const double norm = global_norm(gradients);
  if (norm >= threshold) scale(gradients, threshold / norm);
  return norm;
}

// torch.nn.utils.clip_grad_norm_: g <- min(1, max_norm / (||g|| + 1e-6)) g. Differs from the paper by 1e-6 / ||g||.
inline double clip_pytorch(std::vector<Vec>& gradients, double max_norm) {
  const double norm = global_norm(gradients);
  scale(gradients, std::min(1.0, max_norm / (norm + 1e-6)));
  return norm;
}

}  // namespace gradus::paper
