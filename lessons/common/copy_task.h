// The copy task: read a sequence of digits, write it again. Nothing to understand, all to remember, and as long as one
// likes: that is why it shows what a fixed-size state can hold and what attention changes. Shared by the lessons that
// train on it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "nn/decode.h"

namespace gradus {

inline constexpr std::int64_t copy_vocab = 10;    // digits 0 to 9: chance level 10 %
inline constexpr std::int32_t copy_start = 10;    // what the decoder reads before its first output
inline constexpr std::int64_t copy_longest = 80;  // training lengths are 1 to 80
inline constexpr std::int64_t copy_lengths[] = {5, 10, 20, 40, 60, 80};  // where accuracy is measured

// A batch of one length, so that nothing is padded (lesson 12 mixes lengths).
struct CopyBatch {
  Ids source;    // (B, T): also what must come out
  Ids previous;  // (B, T): the decoder's inputs under teacher forcing: the start token, then source without its last
                 // token
};
CopyBatch copy_batch(std::int64_t batch, std::int64_t length, Generator& generator);

// A curriculum: lengths are drawn from 1 to `longest`, which starts at 5 and grows by one whenever the running accuracy
// is above 95 %. A model that never gets there is never shown the longer lengths; lesson 09 runs with and without it.
struct Curriculum {
  std::int64_t longest = 5;
  double accuracy = 0;  // running mean over about ten batches
  std::int64_t draw(Generator& generator) const { return 1 + generator.below(longest); }
  void saw(double batch_accuracy, std::int64_t step);
};

// Share of tokens where the largest logit (B, T, vocab) is the target's.
double token_accuracy(const Var& logits, const Ids& targets);

// A copy of `source` made by a model on its own outputs, and the weights that it used (B, T, T_enc; undefined without
// attention).
using Copier = std::function<Greedy(const Ids& source)>;

// Share of right tokens over `sequences` fresh sequences of that length, greedy on the model's own outputs.
double greedy_accuracy(const Copier& copier, std::int64_t length, std::int64_t sequences, Generator& generator);

}  // namespace gradus
