// What no gradient check can see, in its smallest form: one gate that looks at the wrong one of two states.
#pragma once

#include <cmath>

#include "autograd/ops.h"

namespace gradus::lesson03 {

// One step of a small recurrence; each letter is one number.
struct GatedStep {
  Var w, u, a;
  bool swapped = false;

  // s_t = tanh(w s_{t-1} + u x), and the gate that lets it out looks at the state BEFORE the step.
  Var operator()(const Var& s_prev, const Var& x) const {
    const Var s_t = tanh(w * s_prev + u * x);
    const Var gate = sigmoid(a * (swapped ? s_t : s_prev));
    return gate * s_t;
  }
};

// The same from the formula, with plain numbers: o = 1 / (1 + exp(-a s_{t-1})), y = o tanh(w s_{t-1} + u x).
inline double gated_step_by_formula(double w, double u, double a, double s_prev, double x) {
  return std::tanh(w * s_prev + u * x) / (1 + std::exp(-a * s_prev));
}

}  // namespace gradus::lesson03
