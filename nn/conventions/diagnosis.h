// Diagnosis: every known convention and every known mistake is run on the same input, and the one whose numbers agree
// is named. Each stage is checked alone where the trace allows it (alpha from the given states, c from the given alpha,
// s from the given inputs), so one wrong stage does not hide the others.
//
//   Verdict verdict = diagnose(read_trace("dump/"));      // claims come from meta.json
//   std::puts(verdict.text().c_str());                    // ATTN_QUERY_POST_STEP: the query is s_t, ...
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nn/conventions/trace.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

struct Options {
  std::string claim;         // replaces the trace's own claim unless it is empty
  bool gradients = true;     // compare grad_NAME with central differences where they are there
  std::size_t most = 60000;  // hypotheses tried at most, fewer on large traces
};

// Throws std::invalid_argument for an unknown claim, and for arrays that do not fit together.
Verdict diagnose(const Trace& trace, const Options& options = {});

// What the command line needs: reads, diagnoses, prints. exit_status: 0 no mistake, 1 a mistake, 2 nothing could be
// checked, 3 the file cannot be used (the text says why).
struct Answer {
  std::string text;
  int exit_status = 0;
};
Answer diagnose_file(const std::string& path, const std::string& claim = "", Lang lang = Lang::en, bool json = false);

// How to dump a trace from PyTorch, TensorFlow/Keras and NumPy, the names, and the claims.
std::string diagnosis_help(Lang lang = Lang::en);

// ---- for the tests of the library itself

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
