// Lesson 07, what you write: the shift of teacher forcing, the encoder's summary, the two loops of a decoder, the loss.
// You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include "nn/layers.h"
#include "nn/recurrent.h"

namespace gradus::lesson07 {

// What a decoder without attention is made of.
struct DecoderParts {
  Var E;               // (vocab + 1, d_emb): a row for each token, the last one for `start`
  Recurrent cell;      // cell.step(y_emb, s_prev) gives the state after it; a State is a Var (B, d_s)
  Var W_o;             // (vocab, d_s + d_emb): logits = W_o [s_t; y_{t-1}] + b_o
  Var b_o;             // (vocab)
  std::int32_t start;  // what the decoder reads before it has written anything
};

// What the decoder reads while it is taught: targets (B, T) -> (B, T).
Ids teacher_inputs(const Ids& targets, std::int32_t start);

// What is left when both runs of the encoder are over. H (B, T, 2 d) holds [forward_i; backward_i], each at the
// position of its input -> (B, 2 d), the forward half first.
Var summary(const Var& H);

// Logits of all steps with the right tokens given: s_0 (B, d_s), targets (B, T) -> (B, T, vocab).
Var teach(const State& s_0, const Ids& targets, const DecoderParts& parts);

// Greedy decoding: the tokens (B, length) that the decoder writes on its own.
Ids write(const State& s_0, std::int64_t length, const DecoderParts& parts);

// Mean of -log p(target) over the real targets: logits (B, T, vocab), targets (B, T), real (B, T; 1 = real, 0 = pad)
// -> one number.
Var sequence_loss(const Var& logits, const Ids& targets, const Mask& real);

}  // namespace gradus::lesson07
