// Running a decoder over a whole target: with the right tokens given (training), or with its own (translation).
#pragma once

#include "nn/decoders.h"

namespace gradus {

struct Decoded {
  Var logits;    // (B, T_dec, vocab)
  Var states;    // (B, T_dec + 1, d_s): s_0 first
  Var weights;   // (B, T_dec, T_enc), undefined without attention
  Var contexts;  // (B, T_dec, d_h), undefined without attention
};

// Teacher forcing (Williams & Zipser 1989): y_emb (B, T_dec, d_emb) holds the embeddings of the tokens before each
// position, the start token's first.
Decoded decode_teacher(const Decoder& decoder, const Var& y_emb, const State& s_0, const Memory& memory);

struct Greedy {
  Ids tokens;      // (B, T_dec): the most probable token at each step, fed back as the next input
  Tensor weights;  // (B, T_dec, T_enc), undefined without attention
};

// Nothing is recorded. `start` is the first input token of every row.
Greedy decode_greedy(const Decoder& decoder, const Embedding& embedding, const State& s_0, const Memory& memory,
                     std::int32_t start, std::int64_t length);

}  // namespace gradus
