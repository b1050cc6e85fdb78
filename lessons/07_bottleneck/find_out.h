// What a run of this lesson trains and measures.
#pragma once

#include <vector>

#include "lessons/07_bottleneck/measure.h"
#include "lessons/07_bottleneck/train.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson07 {

struct Plan {
  std::int64_t steps, small_steps;  // of the two large models; of each of the small ones
  std::int64_t sequences, search;   // sequences per length when accuracy is measured; steps that look for a state
};

// A model, trained and measured.
struct Measured {
  Trained trained;
  Accuracy accuracy;
};

// Everything that a run finds out.
struct Findings {
  Measured main, scheduled;
  Places places;                // of main
  std::vector<Stored> stored;   // with main's decoder
  std::vector<Measured> sweep;  // d_s = 16, 32, 64, 128
  Measured last_slice, shift_missing;
};

// Trains and measures all models, two at a time where there are two threads. None reads what another writes, so the
// numbers do not depend on it.
Findings find_out(const Plan& plan, const Options& options, const Terminal& terminal);

}  // namespace gradus::lesson07
