// Cho, van Merrienboer, Gulcehre, Bahdanau, Bougares, Schwenk, Bengio 2014, "Learning Phrase Representations using RNN
// Encoder-Decoder for Statistical Machine Translation": the gated unit of section 2.3, written from its equations.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper::cho2014 {

// Parameters of one unit; the paper leaves the biases out, so each may be empty.
struct Gru {
  Mat W_r, U_r;     // reset gate:  (d_s, d_x), (d_s, d_s)
  Mat W_z, U_z;     // update gate: (d_s, d_x), (d_s, d_s)
  Mat W, U;         // candidate:   (d_s, d_x), (d_s, d_s)
  Vec b_r, b_z, b;  // (d_s) or empty
};

// x (d_x), h (d_s) -> (d_s). The reset gate multiplies h BEFORE U does, and z KEEPS the old state.
//   (5)  r_j  = sigmoid([W_r x]_j + [U_r h<t-1>]_j)
//   (6)  z_j  = sigmoid([W_z x]_j + [U_z h<t-1>]_j)
//   (7)  h_j  = z_j h_j<t-1> + (1 - z_j) h~_j
//   (8)  h~_j = tanh([W x]_j + [U (r * h<t-1>)]_j)
inline Vec step(const Gru& p, const Vec& x, const Vec& h) {
  const Vec r = sigmoid_of(plus(plus(mul(p.W_r, x), mul(p.U_r, h)), p.b_r));
  const Vec z = sigmoid_of(plus(plus(mul(p.W_z, x), mul(p.U_z, h)), p.b_z));
  const Vec candidate = tanh_of(plus(plus(mul(p.W, x), mul(p.U, times(r, h))), p.b));
  return blend(z, h, candidate);
}

}  // namespace gradus::paper::cho2014
