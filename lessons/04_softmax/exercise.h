// Lesson 04, what you write: softmax with a temperature, log-sum-exp, cross-entropy, and the two gradients by hand.
// You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include "autograd/ops.h"

namespace gradus::lesson04 {

// softmax(e / T) of each row: scores (B, n) -> weights (B, n), each row with the sum 1. T > 0. Whatever numbers the
// scores are, as long as they are finite, the weights must be so too.
Var softmax_rows(const Var& scores, double T);

// log of the sum of exp(z_k) in each row: (N, K) -> (N). Finite for finite logits.
Var log_sum_exp(const Var& z);

// Mean over the rows of -log p_y, where p is the softmax of z. z (N, K), targets (N), counted from 0 -> one number ().
Var mean_cross_entropy(const Var& z, const Ids& targets);

// By hand: the gradient of mean_cross_entropy for z, (N, K).
Var cross_entropy_gradient(const Var& z, const Ids& targets);

// By hand: backward through softmax at temperature 1. alpha (B, n) are the weights, dy (B, n) the gradient of the loss
// for them; returns the gradient for the scores, (B, n).
Var softmax_backward(const Var& alpha, const Var& dy);

// y: 1 at the target of each row, 0 elsewhere. targets (N) -> (N, K), in the dtype of z.
inline Var one_hot(const Ids& targets, std::int64_t K, DType dtype) {
  Tensor y = zeros(Shape{targets.size(), K}, dtype);
  for (std::int64_t i = 0; i < targets.size(); ++i) y.set({i, targets[i]}, 1);
  return Var(y);
}

}  // namespace gradus::lesson04
