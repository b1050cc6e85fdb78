// Losses over a batch with padding, and the usual wrong means.
#pragma once

#include "nn/conventions/reference/vector.h"

namespace gradus::reference {

// What the sum is divided by: real tokens (right), every position, the number of rows, or nothing.
enum class Denominator { real_tokens, all_positions, batch, one };

struct CrossEntropyConvention {
  Denominator denominator = Denominator::real_tokens;
  bool counts_padding = false;        // mistake: pads are scored too
  bool inputs_are_softmaxed = false;  // mistake: softmax before a loss that takes logits
  int target_shift = 0;               // mistake: position t is scored against target t + shift; none outside the row
};

// logits (B, T, vocab), targets (B, T) of class numbers, mask (B, T; nonzero = real) or nullptr for all real.
double cross_entropy(const CrossEntropyConvention& convention, const Array& logits, const Array& targets,
                     const Array* mask = nullptr);

// pairs: mean of (p_i - t_i)^2. Mistake: table, the mean over all (i, j), which (N, 1) against (N) gives.
enum class Pairing { pairs, table };
double mean_squared_error(Pairing pairing, Row prediction, Row target);

}  // namespace gradus::reference
