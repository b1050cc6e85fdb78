// GRAPH_DROPPED: the weights are cut off from the tape
#include "lessons/09_bahdanau/exercise.h"

namespace gradus::lesson09 {

Var additive_keys(const Var& H, const Var& U_a) { return affine("U_a h_i", H, U_a, Var()); }

Var additive_score(const Var& query, const Var& keys, const Var& W_a, const Var& v_a) {
  const Var q = expand_new(matmul(query, transpose(W_a)), Axis{1}, keys.size(Axis{1}));
  return dot(tanh(q + keys), v_a, Axis{2});
}

Step decoder_step(const Var& y_emb, const State& s_prev, const Memory& memory, const DecoderParts& parts) {
  const Var scores = additive_score(s_prev, memory.keys, parts.W_a, parts.v_a);
  const auto [context, weights] = attend(scores.detach(), memory.values, memory.mask);
  const State s_t = parts.cell.step(concat({y_emb, context}, Axis{1}), s_prev);
  return {s_t, context, weights};
}

}  // namespace gradus::lesson09
