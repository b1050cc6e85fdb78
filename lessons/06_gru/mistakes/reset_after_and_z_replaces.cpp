// GRU_RESET_AFTER: and z replaces: two differences at once
#include "lessons/06_gru/exercise.h"

namespace gradus::lesson06 {

Var elman_step(const Var& x, const Var& s_prev, const Var& W, const Var& U, const Var& b) {
  return tanh(affine("W x", x, W, b) + affine("U s", s_prev, U, Var()));
}

Var gru_step(const Var& x, const Var& s_prev, const GruParts& parts) {
  const Var r = sigmoid(affine("W_r x", x, parts.W_r, parts.b_r) + affine("U_r s", s_prev, parts.U_r, Var()));
  const Var z = sigmoid(affine("W_z x", x, parts.W_z, parts.b_z) + affine("U_z s", s_prev, parts.U_z, Var()));
  const Var n = tanh(affine("W_n x", x, parts.W_n, parts.b_n) + r * affine("U_n (r s)", s_prev, parts.U_n, Var()));
  return (1.0 - z) * s_prev + z * n;
}

LstmState lstm_step(const Var& x, const LstmState& previous, const Var& W, const Var& U, const Var& b) {
  const Var sums = affine("W x", x, W, b) + affine("U h", previous.h, U, Var());  // (B, 4 d_s)
  const std::int64_t d = previous.h.size(Axis{1});
  const Var i = sigmoid(narrow(sums, Axis{1}, 0, d));
  const Var f = sigmoid(narrow(sums, Axis{1}, d, d));
  const Var g = tanh(narrow(sums, Axis{1}, 2 * d, d));
  const Var o = sigmoid(narrow(sums, Axis{1}, 3 * d, d));
  const Var c = f * previous.c + i * g;
  return {o * tanh(c), c};
}

Window read_window(const Var& x, const Var& s_0, const GruParts& parts) {
  std::vector<Var> states;
  Var s = s_0;
  for (std::int64_t t = 0; t < x.size(Axis{1}); ++t) {
    s = gru_step(select(x, Axis{1}, t), s, parts);
    states.push_back(s);
  }
  return {stack_along(states, Axis{1}), s.detach()};
}

}  // namespace gradus::lesson06
