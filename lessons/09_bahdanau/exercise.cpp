// Lesson 09: write Bahdanau's attention. Three functions, a few lines each; exercise.h says what they get.
//
//   ./gradus check 09    what is right, and the first thing to mend
//   ./gradus watch 09    the same whenever you save
//   ./gradus hint 09     a nudge
//
// At hand: matmul, transpose, tanh, dot(x, v, Axis{k}), expand_new(x, Axis{k}, length), concat({a, b}, Axis{k}), + and
// * (autograd/ops.h); affine("name", x, W, Var()) multiplies the last axis with W' (nn/layers.h); attend(scores,
// values, mask) is lesson 08's softmax and weighted sum (nn/attention.h).
#include "lessons/09_bahdanau/exercise.h"

namespace gradus::lesson09 {

// 1. Every encoder state gets multiplied with U_a, (d_attn, d_h).
Var additive_keys(const Var& H, const Var& U_a) {
  (void)H, (void)U_a;  // goes away with your first line
  return Var();
}

// 2. One score for every source position. W_a query is one row (B, d_attn); it meets T_enc keys, and nothing here is
//    stretched unless you say so. What turns d_attn numbers into one?
Var additive_score(const Var& query, const Var& keys, const Var& W_a, const Var& v_a) {
  (void)query, (void)keys, (void)W_a, (void)v_a;
  return Var();
}

// 3. A step: scores, weights and context, new state. Which state asks, and what does the cell get to read?
Step decoder_step(const Var& y_emb, const State& s_prev, const Memory& memory, const DecoderParts& parts) {
  (void)y_emb, (void)s_prev, (void)memory, (void)parts;
  return Step();
}

}  // namespace gradus::lesson09
