// Lesson 06, what you write: one step of an Elman net, of a GRU and of an LSTM, and a window that hands its state on.
// You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include "nn/cells.h"
#include "nn/layers.h"

namespace gradus::lesson06 {

// s_t = tanh(W x + U s_prev + b): x (B, d_in), s_prev (B, d_s), W (d_s, d_in), U (d_s, d_s), b (d_s) -> (B, d_s).
Var elman_step(const Var& x, const Var& s_prev, const Var& W, const Var& U, const Var& b);

// The gates r, z and the candidate n, each with W (d_s, d_in), U (d_s, d_s), b (d_s).
struct GruParts {
  Var W_r, U_r, b_r;
  Var W_z, U_z, b_z;
  Var W_n, U_n, b_n;
};

// One step of the GRU of Cho et al. 2014, section 2.3 (third version), with biases:
// x (B, d_in), s_prev (B, d_s) -> (B, d_s).
Var gru_step(const Var& x, const Var& s_prev, const GruParts& parts);

// One step of the LSTM. The rows of W (4 d_s, d_in), U (4 d_s, d_s) and b (4 d_s) are stacked as i, f, g, o.
// previous.h and previous.c (B, d_s) -> the new h and c.
LstmState lstm_step(const Var& x, const LstmState& previous, const Var& W, const Var& U, const Var& b);

// A window of truncated backpropagation through time, with your GRU.
struct Window {
  Var states;  // (B, T, d_s): the state after each step
  Var carry;   // (B, d_s): what the next window starts from
};
Window read_window(const Var& x, const Var& s_0, const GruParts& parts);  // x (B, T, d_in), s_0 (B, d_s)

}  // namespace gradus::lesson06
