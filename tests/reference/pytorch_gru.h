// The GRU as the documentation of torch.nn.GRU and torch.nn.GRUCell writes it: two biases, reset AFTER the product.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper::pytorch_gru {

// Rows of all four are stacked in the order r, z, n.
struct Gru {
  Mat W_ih;  // (3 d_s, d_x)
  Mat W_hh;  // (3 d_s, d_s)
  Vec b_ih;  // (3 d_s) or empty
  Vec b_hh;  // (3 d_s) or empty
};

// x (d_x), h (d_s) -> (d_s).
//   r  = sigmoid(W_ir x + b_ir + W_hr h + b_hr)
//   z  = sigmoid(W_iz x + b_iz + W_hz h + b_hz)
//   n  = tanh(W_in x + b_in + r * (W_hn h + b_hn))
//   h' = (1 - z) * n + z * h
inline Vec step(const Gru& p, const Vec& x, const Vec& h) {
  const std::size_t d = h.size();
  const Vec from_x = plus(mul(p.W_ih, x), p.b_ih);
  const Vec from_h = plus(mul(p.W_hh, h), p.b_hh);
  const Vec r = sigmoid_of(plus(part(from_x, 0, d), part(from_h, 0, d)));
  const Vec z = sigmoid_of(plus(part(from_x, d, d), part(from_h, d, d)));
  const Vec n = tanh_of(plus(part(from_x, 2 * d, d), times(r, part(from_h, 2 * d, d))));
  return blend(z, h, n);
}

// States after each step, x (T, d_x), h_0 (d_s) -> (T, d_s); from the last row to the first when reversed is set, row t
// being the state after x[t] was read.
inline Mat run(const Gru& p, const Mat& x, const Vec& h_0, bool reversed = false) {
  Mat out(x.size());
  Vec h = h_0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::size_t t = reversed ? x.size() - 1 - k : k;
    out[t] = h = step(p, x[t], h);
  }
  return out;
}

}  // namespace gradus::paper::pytorch_gru
