// Lesson 09, what you write: the additive score and the decoder step of Bahdanau, Cho and Bengio (2014).
// You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include "nn/decoders.h"
#include "nn/layers.h"

namespace gradus::lesson09 {

// What a decoder step is made of: the parameters of the score, under the paper's letters, and the recurrent cell.
struct DecoderParts {
  Var W_a;         // (d_attn, d_s)
  Var U_a;         // (d_attn, d_h)
  Var v_a;         // (d_attn)
  Recurrent cell;  // cell.step(input, s_prev) gives the state after it; its input is (B, d_emb + d_h)
};

// U_a h_i for every encoder state h_i, a row of H: (B, T_enc, d_h) -> (B, T_enc, d_attn). It does not depend on the
// decoder, so it is computed once for a whole sequence.
Var additive_keys(const Var& H, const Var& U_a);

// e_i = v_a . tanh(W_a query + U_a h_i), where keys holds the U_a h_i.
// query (B, d_s), keys (B, T_enc, d_attn) -> (B, T_enc): one number for every source position.
Var additive_score(const Var& query, const Var& keys, const Var& W_a, const Var& v_a);

// One step of the decoder, in the order of section 3.1 of the paper.
// y_emb (B, d_emb) is the embedding of the word before, y_{t-1}; s_prev is s_{t-1}. In memory stand
// keys (B, T_enc, d_attn), values (B, T_enc, d_h), and a mask of the real positions where some are padding.
// Returns {s_t (B, d_s), c_t (B, d_h), the weights alpha_t (B, T_enc)}.
Step decoder_step(const Var& y_emb, const State& s_prev, const Memory& memory, const DecoderParts& parts);

}  // namespace gradus::lesson09
