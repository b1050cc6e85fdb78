// What can be followed with a pencil: one step of every published GRU, one of an LSTM, and a gradient that is cut.
#pragma once

#include <string>
#include <vector>

#include "lessons/common/terminal.h"
#include "nn/cells.h"

namespace gradus::lesson06 {

// The small GRU: x = 1, s_{t-1} = (0.5, -1), weights as in the note, the same for every form, stacked in its order.
Gru small_gru(const GruOptions& options, bool z_negated = false);
std::vector<double> small_step(const Gru& gru);
struct NamedGru {
  const char* name;
  GruOptions options;
};
std::vector<NamedGru> published_grus();
std::string trace_gru(const Terminal& terminal, Lang lang);
std::string forms_of_the_gru(const Terminal& terminal, Lang lang);

// One LSTM step on the sums 0.5, -0.3, 0.8, 0.2 of its gates i, f, g, o and the memory 0.6, right and in three wrong
// ways.
struct LstmByHand {
  double right = 0, no_tanh = 0, o_and_g_exchanged = 0, c = 0;
};
LstmByHand lstm_by_hand();
std::string trace_lstm(const Terminal& terminal, Lang lang);

// h = tanh(w h + 1), w = 0.8, h_0 = 0.5, two windows of one step: d h_2 / d w with the state cut between them, and not.
struct CutGradient {
  double cut = 0, whole = 0;
};
CutGradient cut_gradient();
// Steps on the tape of window 1, 2, .. of a small Elman net that goes five steps in each, when the state is detached
// between windows and when it is not; and what backward says at the second window that is not.
struct TapeGrowth {
  std::vector<int> detached, attached;
  std::string error;
};
TapeGrowth tape_growth();
std::string truncated(const Terminal& terminal, Lang lang);

}  // namespace gradus::lesson06
