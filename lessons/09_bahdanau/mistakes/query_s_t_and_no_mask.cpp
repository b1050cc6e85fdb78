// ATTN_QUERY_POST_STEP: and no mask: two at once
#include "lessons/09_bahdanau/exercise.h"

namespace gradus::lesson09 {

Var additive_keys(const Var& H, const Var& U_a) { return affine("U_a h_i", H, U_a, Var()); }

Var additive_score(const Var& query, const Var& keys, const Var& W_a, const Var& v_a) {
  const Var q = matmul(query, transpose(W_a));                          // (B, d_attn)
  const Var q_everywhere = expand_new(q, Axis{1}, keys.size(Axis{1}));  // (B, T_enc, d_attn)
  return dot(tanh(q_everywhere + keys), v_a, Axis{2});                  // (B, T_enc)
}

Step decoder_step(const Var& y_emb, const State& s_prev, const Memory& memory, const DecoderParts& parts) {
  const Var B0 = Var(zeros(Shape{y_emb.size(Axis{0}), memory.values.size(Axis{2})}, y_emb.dtype()));
  const State s_t = parts.cell.step(concat({y_emb, B0}, Axis{1}), s_prev);
  const Var scores = additive_score(s_t, memory.keys, parts.W_a, parts.v_a);
  const auto [context, weights] = attend(scores, memory.values);
  return {s_t, context, weights};
}

}  // namespace gradus::lesson09
