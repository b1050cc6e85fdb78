// Elman 1990, "Finding Structure in Time": the simple recurrent network, with tanh as is usual today.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper::elman1990 {

struct Rnn {
  Mat W;  // (d_s, d_x): input
  Mat U;  // (d_s, d_s): context units, a copy of the hidden layer one step earlier
  Vec b;  // (d_s) or empty
};

// h_t = tanh(W x_t + U h_{t-1} + b): x (d_x), h (d_s) -> (d_s).
inline Vec step(const Rnn& p, const Vec& x, const Vec& h) { return tanh_of(plus(plus(mul(p.W, x), mul(p.U, h)), p.b)); }

// States after each step, x (T, d_x), h_0 (d_s) -> (T, d_s).
inline Mat run(const Rnn& p, const Mat& x, const Vec& h_0) {
  Mat out;
  Vec h = h_0;
  for (const Vec& x_t : x) out.push_back(h = step(p, x_t, h));
  return out;
}

}  // namespace gradus::paper::elman1990
