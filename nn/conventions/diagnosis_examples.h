// For the tests of the diagnosis: traces that a model with chosen conventions and mistakes would leave, and which of
// these can be told apart. Nothing here is needed to diagnose a run (nn/conventions/diagnosis.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nn/conventions/trace.h"

namespace gradus::diagnosis {

// What a generic trace is made of. Sizes are pairwise different unless `equal`; numbers are of order 1.
struct Recipe {
  TraceKind kind = TraceKind::decoder;
  std::size_t gates = 3;  // 1 Elman, 3 GRU, 4 LSTM
  std::size_t layers = 1, directions = 1, heads = 2, biases = 2;
  bool attentional = false;  // a decoder with W_c
  bool maxout = false;       // reads out through U_o, V_o, C_o
  bool starts = false;       // s_0 comes from H through W_s
  bool equal = false;        // all sizes equal: where silent mistakes hide
  bool padded = true;        // lengths differ
  std::size_t B = 3, T_dec = 4, T_enc = 6;
};
// Field and option: {"query", "s_t"}.
using Choices = std::vector<std::pair<std::string, std::string>>;

// A trace made by the model that `choices` describe (every other field: its first option that fits). Throws
// std::invalid_argument if they cannot stand together.
Trace make_example(const Recipe& recipe, const Choices& choices, std::uint64_t seed);

// Hypothesis against hypothesis on generic inputs: rows are what the trace was made with, columns what agrees with it.
struct Confusion {
  std::vector<std::string> names;         // "query=s_t"
  std::vector<std::string> codes;         // of each name, empty where nothing deviates
  std::vector<std::vector<bool>> agrees;  // agrees[i][j]: j cannot be told from i
  std::size_t largest_class = 0;          // of different codes
  std::string picture() const;            // the rows that agree with anything but themselves
};
Confusion confusion_matrix(const Recipe& recipe, const Choices& choices, std::uint64_t seed = 1);

}  // namespace gradus::diagnosis
