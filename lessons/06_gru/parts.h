// The cells and the window that this lesson teaches. The program is linked with the library's (library_parts.cpp) or,
// under ./gradus run 06 --mine, with those that the learner wrote (mine_parts.cpp).
#pragma once

#include <functional>

#include "lessons/06_gru/exercise.h"
#include "nn/recurrent.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson06 {

// `cell` holds one layer of any of the three kinds: its weights, and which kind it is.
struct Parts {
  Said whose;  // "the library's"
  // One step: x (B, d_in) and the state before -> the state after.
  std::function<State(const Recurrent& cell, const Var& x, const State& s_prev)> step;
  // All steps of x (B, T, d_in), from a state of zeros: the last h (B, d_s).
  std::function<Var(const Recurrent& cell, const Var& x)> read;
  // One window of a text, with a GRU: x (B, T, d_in), s_0 (B, d_s).
  std::function<Window(const Recurrent& gru, const Var& x, const Var& s_0)> window;
};

const Parts& taught_parts();

}  // namespace gradus::lesson06
