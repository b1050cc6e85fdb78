// The taught parts as the library has them.
#include "lessons/09_bahdanau/parts.h"

namespace gradus::lesson09 {
namespace {

// The score of the library, whose tanh and sum over d_attn are one fused operation.
Score score_of(const DecoderParts& parts) {
  Score score;
  score.W_a = parts.W_a;
  score.U_a = parts.U_a;
  score.v_a = parts.v_a;
  return score;
}

Var keys(const Var& H, const Var& U_a) { return score_of({{}, U_a, {}, {}}).keys(H); }

Step step(const Var& y_emb, const State& s_prev, const Memory& memory, const DecoderParts& parts) {
  auto [context, weights] = attend(score_of(parts)(s_prev, memory.keys), memory.values, memory.mask);
  return {parts.cell.step(concat({y_emb, context}, Axis{1}), s_prev), context, weights};
}

}  // namespace

const Parts& taught_parts() {
  static const Parts parts{{"the library's", "库里的"}, keys, step};
  return parts;
}

}  // namespace gradus::lesson09
