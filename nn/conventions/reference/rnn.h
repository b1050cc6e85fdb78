// Any recurrent cell, one step or a whole batch of sequences with lengths.
#pragma once

#include <functional>
#include <variant>

#include "nn/conventions/reference/gru.h"
#include "nn/conventions/reference/lstm.h"

namespace gradus::reference {

// Elman (1990): h = tanh(W x + U h + b).
struct ElmanConvention {
  Activation activation = Activation::tanh;
  Biases biases = Biases::one;
  Transposed transposed = Transposed::none;
};

using CellConvention = std::variant<GruConvention, LstmConvention, ElmanConvention>;

CellState cell_step(const CellConvention& cell, const CellWeights& weights, Row x, const CellState& state);

// What stands behind the last real token: zero (PyTorch's packed sequences), the last real state (Keras's masking), or
// the mistake that lengths are ignored and the cell runs on over the padding.
enum class AfterEnd { zero, hold, run_on };

// How a direction reads the row. reversed_prefix is the backward direction; the other two are what it becomes by
// mistake: the padding is read first, or the input is not reversed at all.
enum class Reading { forward, reversed_prefix, reversed_row, backward_unreversed };

// Where the output of a step is put: at the position that was read (a backward run is turned round again). By mistake a
// backward run is not turned round, or with other lengths than its input: over the whole row, within the length.
// over_row_read_on: over the whole row, of a cell that has read on over the padding; its final state is right.
enum class Outputs { in_place, as_read, over_row, over_row_read_on, within_length };

struct RunConvention {
  AfterEnd after_end = AfterEnd::zero;
  Reading reading = Reading::forward;
  Outputs outputs = Outputs::in_place;
  bool over_the_batch = false;  // mistake: the recurrence runs over axis 0 of (B, T, d)
  bool restarts = false;        // mistake: every step starts from h0 and c0 again
  // Mistake: a step where real (B, T) is 0 does not keep the state. before: what it would keep, read: what the cell makes
  // of it and x, first: h0 and c0.
  using MaskedStep = std::function<CellState(const CellState& before, const CellState& read, const CellState& first)>;
  const Array* real = nullptr;
  MaskedStep masked_step = nullptr;
};

// Edges that backward does not follow, as after detach(). carry: the state that a cell continues. The others are a
// decoder's. fed: context or attentional vector in the cell's input. query, context, weights: for all who read them.
// states: what the cell gives, for all who read it but the cell.
enum class Cut { none, carry, fed, query, context, weights, states, keys, values };
// Which uses of a parameter have a gradient. One step alone is what is left where `grad = ` stands for `grad += `.
enum class Uses { all, first_step, last_step };

// A change of backward and of no value: what is cut, and parameters without a gradient, are read from a run that
// stays still while central differences move the other one; the softmax follows its slope at the still one.
struct Intervention {
  Cut cut = Cut::none;
  Uses uses = Uses::all;
  SoftmaxSlope softmax = SoftmaxSlope::right;
  bool anywhere() const { return cut != Cut::none || uses != Uses::all || softmax != SoftmaxSlope::right; }
  bool moves(std::size_t step, std::size_t steps) const {
    return uses == Uses::all || step == (uses == Uses::first_step ? 0 : steps - 1);
  }
};
struct Still {
  const CellWeights* weights = nullptr;
  const Array* x = nullptr;
  const Array* h0 = nullptr;
  const Array* c0 = nullptr;
  Intervention intervention;
};

struct Run {
  Array h;        // (B, T, d), h[b, t] belongs to x[b, t]
  Array final_h;  // (B, d), the state after the last token that was read
  Array final_c;  // (B, d) for an LSTM, otherwise (B, 0)
  Array c;        // (B, T, d) as h, an LSTM's memory; otherwise (B, T, 0)
};

// x (B, T, d_in); lengths (B) or empty for full rows; h0 and c0 (B, d) or nullptr for zeros. With still, the forward of
// a wrong backward (rows of time, read step by step, only).
Run run_sequence(const CellConvention& cell, const RunConvention& run, const CellWeights& weights, const Array& x,
                 const std::vector<std::size_t>& lengths, const Array* h0 = nullptr, const Array* c0 = nullptr,
                 const Still* still = nullptr);

}  // namespace gradus::reference
