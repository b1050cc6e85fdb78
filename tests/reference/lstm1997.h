// Hochreiter and Schmidhuber 1997, "Long Short-Term Memory", in the form used today: with the forget gate of Gers,
// Schmidhuber and Cummins 2000, without peepholes, as the documentation of torch.nn.LSTM writes it.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper::lstm1997 {

// Rows of all four are stacked in the order i, f, g, o.
struct Lstm {
  Mat W_ih;  // (4 d_s, d_x)
  Mat W_hh;  // (4 d_s, d_s)
  Vec b_ih;  // (4 d_s) or empty
  Vec b_hh;  // (4 d_s) or empty
};

struct State {
  Vec h;  // (d_s)
  Vec c;  // (d_s)
};

// x (d_x), h and c (d_s) -> h' and c' (d_s).
//   i = sigmoid(W_ii x + b_ii + W_hi h + b_hi),  f and o likewise
//   g = tanh(W_ig x + b_ig + W_hg h + b_hg)
//   c' = f * c + i * g
//   h' = o * tanh(c')
inline State step(const Lstm& p, const Vec& x, const State& s) {
  const std::size_t d = s.h.size();
  const Vec a = plus(plus(mul(p.W_ih, x), p.b_ih), plus(mul(p.W_hh, s.h), p.b_hh));
  const Vec i = sigmoid_of(part(a, 0, d));
  const Vec f = sigmoid_of(part(a, d, d));
  const Vec g = tanh_of(part(a, 2 * d, d));
  const Vec o = sigmoid_of(part(a, 3 * d, d));
  State next;
  next.c = plus(times(f, s.c), times(i, g));
  next.h = times(o, tanh_of(next.c));
  return next;
}

// States after each step, x (T, d_x); row t is the state after x[t] was read, also when reversed is set.
inline std::vector<State> run(const Lstm& p, const Mat& x, const State& s_0, bool reversed = false) {
  std::vector<State> out(x.size());
  State s = s_0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::size_t t = reversed ? x.size() - 1 - k : k;
    out[t] = s = step(p, x[t], s);
  }
  return out;
}

}  // namespace gradus::paper::lstm1997
