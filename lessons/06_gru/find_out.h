// What a run of this lesson trains and measures.
#pragma once

#include <vector>

#include "lessons/06_gru/reach.h"
#include "lessons/06_gru/text_model.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson06 {

struct Plan {
  std::int64_t recall_steps, text_steps;  // of each cell, twice; on the English text
};

inline constexpr std::int64_t recall_distances[] = {5, 20, 50, 100};

// One cell on delayed recall.
struct RecallResult {
  CellKind kind = CellKind::gru;
  double forget_bias = 1;                          // of an LSTM
  RecallTraining growing = {}, at_once = {};       // distances that grow; distance 50 from the first step on
  std::vector<double> accuracy = {}, direct = {};  // at recall_distances
  std::vector<double> fresh_reach = {}, trained_reach = {};
};

// One language.
struct TextResult {
  Lang lang = Lang::en;
  Corpus corpus;
  CharTraining training;
  double frequencies = 0, carried = 0, reset = 0;  // bits a character on the lines held out
};

struct Findings {
  std::vector<RecallResult> recall;  // Elman, GRU, LSTM, and an LSTM whose forget gate starts open
  Kept kept;                         // of the GRU that grew
  std::vector<TextResult> texts;     // English, Chinese
};

// One job a thread; none reads what another writes.
Findings find_out(const Plan& plan, const Options& options, const Terminal& terminal);

}  // namespace gradus::lesson06
