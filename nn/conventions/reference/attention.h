// From scores to weights to a context: mask, normalisation, weighted sum, each a choice of its own.
#pragma once

#include <limits>

#include "nn/conventions/reference/score.h"

namespace gradus::reference {

// Along which numbers a weight competes. keys is right (over T_enc). singleton: every number alone, so all weights
// are 1. queries: over T_dec. keys_and_queries: jointly. batch_and_keys: all scores of a step. all: over everything.
// With heads, whose rows are those of the batch (row b heads + k is head k of example b): over the heads, or over the
// batch for each head.
enum class SoftmaxAxis { keys, batch, queries, singleton, keys_and_queries, batch_and_keys, all, heads, batch_of_head };
// softmax is right; the others are what people write instead. unshifted overflows; hardmax takes the first largest; exp
// lacks the division; log_softmax keeps the logarithm; softmax_of_tanh squashes the scores first. What is masked gets
// weight from softmax_twice, and none from softmax_twice_masked.
enum class Normaliser {
  softmax,
  unshifted_softmax,
  softmax_twice,
  over_sum,
  over_max,
  sigmoid,
  relu,
  identity,
  hardmax,
  exp,
  log_softmax,
  softmax_of_tanh,
  softmax_twice_masked,
  softmax_plus_one,
  over_absolute_sum,
  exp_shifted,           // exp(e - max e), not divided
  exp_shifted_times_sum  // and multiplied by the sum
};

// Whose mask is read (true = may be attended). Mistakes: the query's own mask, the mask inverted, off by one at the end
// of the row, the next, previous or first example's, the batch's masks sorted by length beside rows that are not, a
// causal mask (position <= step), the mask at the first step only or at the later ones only. causal is right in a
// decoder's self-attention; too long it lets position t see t + 1, reversed it lets it see the future only.
enum class MaskRead {
  keys,
  queries,
  inverted,
  one_short,
  one_long,
  next_example,
  causal,
  previous_example,
  first_example,
  first_step,
  later_steps,
  causal_too_long,
  causal_reversed,
  longest_first,
  shortest_first
};
// fill is right with mask_fill = -inf, and multiply_after_renormalise equals it. Mistakes: ignore (no mask),
// multiply_before (scores times mask), multiply_after (no renormalising), add (scores plus mask), lower (mask_fill, a
// finite number, is added to the scores of padding).
enum class MaskUse { fill, ignore, multiply_before, multiply_after, multiply_after_renormalise, add, lower };
// A group of scores with nothing to attend to. uniform is what a finite fill gives.
enum class EmptyRow { error, zeros, nan, uniform };

// What is summed. uniform, first, last: the weights are not used (Cho et al. 2014 uses one fixed context: last).
// over_length: the weighted sum divided by T_enc again. largest: the value with the largest weight alone.
enum class ContextSum { weighted, uniform, first, last, over_length, largest, all_but_first, all_but_last };
// The rows that keys or values are taken from. Mistakes: another example's, the row backwards in time, or a
// (T, B, d) buffer reshaped to (B, T, d) where it should have been transposed.
enum class MemoryRead { own, next_example, time_reversed, reshaped, previous_example, first_example, last_example };

struct AttentionConvention {
  ScoreConvention score;
  SoftmaxAxis axis = SoftmaxAxis::keys;
  std::size_t heads = 1;  // rows of the batch that belong to one example
  Normaliser normaliser = Normaliser::softmax;
  double temperature = 1;  // scores are divided by it
  MaskRead mask_read = MaskRead::keys;
  MaskUse mask_use = MaskUse::fill;
  double mask_fill =
      -std::numeric_limits<double>::infinity();  // a finite number is a mistake if it is not far below every score
  EmptyRow empty_row = EmptyRow::error;
  MemoryRead keys = MemoryRead::own;
  MemoryRead values = MemoryRead::own;
  bool values_are_projected_keys = false;  // mistake under the papers: the sum runs over U_a h instead of h
  int value_shift = 0;                     // mistake: weight i meets value i + shift; zeros outside the row
  ContextSum context_sum = ContextSum::weighted;
  Activation context_activation = Activation::identity;  // tanh: a mistake, the context leaves the hull of the values
};

struct Attended {
  Array scores;   // (B, T_q, T_enc), before mask and temperature
  Array weights;  // (B, T_q, T_enc)
  Array context;  // (B, T_q, d_v)
};

// The rows of a mask (B, T_enc) in the order of how many positions are real.
Array sorted_by_length(const Array& mask, bool longest_first);

// scores (B, T_q, T_enc) -> weights. mask (B, T_enc) or nullptr for all real, nonzero = real; query_mask (B, T_q_all)
// or nullptr, then the key mask stands in for it; first_query is the decoder step that scores[:, 0] belongs to.
Array attention_weights(const AttentionConvention& convention, const Array& scores, const Array* mask,
                        const Array* query_mask = nullptr, std::size_t first_query = 0);

// Weights whose differences in `scores`, at the still ones, are what a softmax with a wrong backward gives.
Array weights_along(SoftmaxSlope slope, double temperature, const Array& still_weights, const Array& still_scores,
                    const Array& scores);

// (B, T_enc, d_v): what the weights are multiplied with.
Array attention_values(const AttentionConvention& convention, const Arrays& arrays, const Array& H);

// weights (B, T_q, T_enc), values (B, T_enc, d_v) -> (B, T_q, d_v)
Array contexts(const AttentionConvention& convention, const Array& weights, const Array& values, const Array* mask);

// All three, on queries (B, T_q, d_q) and annotations H (B, T_enc, d_h).
Attended attend(const AttentionConvention& convention, const Arrays& arrays, const Array& queries, const Array& H,
                const Array* mask, const Array* query_mask = nullptr, std::size_t first_query = 0);

}  // namespace gradus::reference
