// A classic mistake: softmax with the backward pass of a pointwise function.
#pragma once

#include "autograd/ops.h"
#include "tensor/reduce.h"

namespace gradus::lesson04 {

// The right values of softmax(e) over the last axis of e (1, n), and a gradient as if each weight depended on its own
// score only: dx = alpha (1 - alpha) dy.
inline Var diagonal_softmax(const Var& e) {
  const Tensor alpha = softmax(e.value(), Axis{1});
  return record("diagonal softmax", alpha, {e}, [alpha](const Tensor& dy, Inputs& in) {
    in.add(0, (Var(alpha) * (1 - Var(alpha)) * Var(dy)).value());
  });
}

}  // namespace gradus::lesson04
