// ATTN_SOFTMAX_TWICE: attend is given weights
#include "lessons/09_bahdanau/exercise.h"

namespace gradus::lesson09 {

Var additive_keys(const Var& H, const Var& U_a) { return affine("U_a h_i", H, U_a, Var()); }

Var additive_score(const Var& query, const Var& keys, const Var& W_a, const Var& v_a) {
  const Var q = matmul(query, transpose(W_a));                          // (B, d_attn)
  const Var q_everywhere = expand_new(q, Axis{1}, keys.size(Axis{1}));  // (B, T_enc, d_attn)
  return dot(tanh(q_everywhere + keys), v_a, Axis{2});                  // (B, T_enc)
}

Step decoder_step(const Var& y_emb, const State& s_prev, const Memory& memory, const DecoderParts& parts) {
  const Var scores =
      softmax(additive_score(s_prev, memory.keys, parts.W_a, parts.v_a), Axis{1});  // the query is s_{t-1}
  const auto [context, weights] = attend(scores, memory.values, memory.mask);       // c_t (B, d_h), alpha_t (B, T_enc)
  const State s_t = parts.cell.step(concat({y_emb, context}, Axis{1}), s_prev);     // the cell reads [y_{t-1}; c_t]
  return {s_t, context, weights};
}

}  // namespace gradus::lesson09
