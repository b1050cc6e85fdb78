// ATTN_QUERY_POST_STEP: the cell runs first, and its new state is the query
#include "lessons/09_bahdanau/exercise.h"

namespace gradus::lesson09 {

Var additive_keys(const Var& H, const Var& U_a) { return affine("U_a h_i", H, U_a, Var()); }

Var additive_score(const Var& query, const Var& keys, const Var& W_a, const Var& v_a) {
  const Var q = expand_new(matmul(query, transpose(W_a)), Axis{1}, keys.size(Axis{1}));
  return dot(tanh(q + keys), v_a, Axis{2});
}

Step decoder_step(const Var& y_emb, const State& s_prev, const Memory& memory, const DecoderParts& parts) {
  const Var c_prev =
      s_prev.context.defined() ? s_prev.context : Var(zeros(memory.values.shape().without(Axis{1}), y_emb.dtype()));
  State s_t = parts.cell.step(concat({y_emb, c_prev}, Axis{1}), s_prev);
  const Var scores = additive_score(s_t, memory.keys, parts.W_a, parts.v_a);
  const auto [context, weights] = attend(scores, memory.values, memory.mask);
  s_t.context = context;
  return {s_t, context, weights};
}

}  // namespace gradus::lesson09
