// Two directions over one batch, and how their outputs and final states are put together (Schuster and Paliwal 1997).
#pragma once

#include "nn/conventions/reference/rnn.h"

namespace gradus::reference {

// Joins (2, ..., d) to (..., 2 d). concat is [forward; backward]; swapped [backward; forward]; sum and mean give (...,
// d). Mistakes: reshaped reads the same buffer as (..., 2 d) without moving the direction axis first, reshaped_example
// does so within each example; interleaved gives forward and backward features in turn; product and largest give (...,
// d), where one direction hides the other.
enum class Merge { concat, swapped, sum, mean, reshaped, reshaped_example, interleaved, product, largest };

// Which final states are joined: the right ends of both directions [forward_T; backward_1]. Mistakes: the output at the
// last position (backward_T has read one token), at the first position (forward_1 likewise).
enum class FinalState { both_ends, last_position, first_position };

// What the backward direction starts from: its own initial state. Mistakes: the forward direction's last state, its
// initial state, or of an LSTM's states the last memory alone.
enum class BackwardStart { own, forward_final, forward_start, forward_memory };

struct BidirectionalConvention {
  AfterEnd after_end = AfterEnd::zero;
  Reading backward = Reading::reversed_prefix;
  Outputs backward_outputs = Outputs::in_place;
  BackwardStart start = BackwardStart::own;
  Merge merge = Merge::concat;
  FinalState final_state = FinalState::both_ends;
};

struct Bidirectional {
  Array h;        // (B, T, 2 d), or d for sum and mean
  Array final_h;  // (B, 2 d), or d
};

// Weights with the suffixes "" and "_reverse"; x (B, T, d_in); lengths (B) or empty.
Bidirectional run_bidirectional(const CellConvention& cell, const BidirectionalConvention& convention,
                                const Arrays& arrays, const Array& x, const std::vector<std::size_t>& lengths);

Array merge_directions(Merge merge, const Array& stacked);

// Which slices of the stacked final states h_n (layers * 2, B, d) become the decoder's start (B, 2 d). PyTorch's order
// is layer 0 forward, layer 0 backward, layer 1 forward, and so on. Mistakes: bottom_layer; last_slice, which is (B,
// d); top_read_direction_major, which takes all forward layers to come first and so joins two wrong slices.
enum class StackedFinal { top_layer, bottom_layer, last_slice, top_read_direction_major };
Array stacked_final(StackedFinal which, const Array& h_n);

}  // namespace gradus::reference
