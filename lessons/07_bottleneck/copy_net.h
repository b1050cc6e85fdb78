// The model of this lesson: an encoder and a decoder, and one state of fixed size between them.
#pragma once

#include "lessons/07_bottleneck/parts.h"
#include "lessons/common/copy_task.h"

namespace gradus::lesson07 {

// Which encoder states become the summary. `last_slice` is the classic mistake: the backward run ENDS at position 1,
// so its state at the last position has read one token.
enum class Ends { both, last_slice };

struct Sizes {
  std::int64_t d_emb = 32, d_s = 64;  // the encoder has d_hidden = d_s in each direction
};

struct CopyNet {
  Ends ends = Ends::both;
  Embedding source, target;  // tokens -> (.., d_emb); the target's has one row more, for the start token
  Bidirectional encoder;     // GRU in both directions
  PlainDecoder decoder;      // knows of the source what s_0 holds, and nothing else
  CopyNet() = default;
  CopyNet(const Sizes& sizes, Ends ends, Generator& generator);

  State encode(const Ids& tokens) const;  // (B, T_enc) -> s_0 (B, d_s)
  // Logits (B, T, vocab) when the decoder is taught: it reads the right token before, by the taught part.
  Var teach(const State& s_0, const Ids& targets) const;
  // The same when it reads `previous` (B, T), whatever that is.
  Var logits(const State& s_0, const Ids& previous) const;
  // The same, but at each step and for each row the token before is the model's own with probability `own`
  // (scheduled sampling, Bengio et al. 2015). `own` 1 is how the model runs after training.
  Var logits_on_own(const State& s_0, const Ids& previous, double own, Generator& generator) const;
  Ids write(const State& s_0, std::int64_t length) const;  // greedy, on its own outputs, by the taught part
  Ids copy(const Ids& tokens) const;
  DecoderParts parts() const;  // what the taught parts get
  void visit(Visitor& v);
};

}  // namespace gradus::lesson07
