// The model of this lesson: a bidirectional encoder and a decoder, with attention or without.
#pragma once

#include "lessons/09_bahdanau/parts.h"
#include "lessons/common/copy_task.h"

namespace gradus::lesson09 {

// Sizes of the default run. Encoder states have d_h = 2 * d_hidden, because two directions stand side by side.
struct Sizes {
  std::int64_t d_emb = 32, d_hidden = 64, d_s = 64, d_attn = 64, batch = 32;
};

struct CopyModel {
  bool attends = true;
  Embedding source, target;  // tokens -> (.., d_emb); the target's has one row more, for the start token
  Bidirectional encoder;     // GRU in both directions
  TaughtDecoder bahdanau;    // used when it attends
  PlainDecoder plain;        // used when it does not: lesson 07's decoder

  CopyModel() = default;
  CopyModel(bool attends, const Sizes& sizes, Generator& generator);
  const Decoder& decoder() const;

  struct Encoded {
    Memory memory;  // what the decoder may look at
    State s_0;      // (B, d_s)
  };
  Encoded encode(const Ids& tokens) const;      // (B, T_enc)
  Decoded teach(const CopyBatch& batch) const;  // with the right tokens given
  Greedy copy(const Ids& tokens) const;         // on its own outputs
  void visit(Visitor& v);
};

}  // namespace gradus::lesson09
