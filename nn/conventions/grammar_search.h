// The search through the grammar (grammar.h): which single mistake, in which place of which formula, gives the numbers
// that no entry of the library gives.
#pragma once

#include <limits>
#include <optional>

#include "nn/conventions/grammar.h"

namespace gradus::diagnosis {

// A model without mistakes of its own that may be what was meant. The least trouble comes first.
struct Meant {
  std::size_t id = 0;
  Model model;
  std::size_t violations = 0, notes = 0;
};

// What was found. findings is empty where nothing explains the numbers.
struct Explained {
  std::size_t id = 0;  // of the model that was meant
  std::vector<Finding> findings;
  double agreement = 0, next = std::numeric_limits<double>::infinity();
  std::size_t tried = 0, work = 0;  // mistakes, and the numbers that were computed for them
  bool nothing_to_explain = false;  // the formulas of some model agree as they are
};

struct Judged {
  double tolerance = 1e-9, apart = 1e-4;  // agreement and difference
  bool deep = false;                      // with the deep rules, and with numbers read off the trace, instead
  bool misread = false;                   // with values that are read wrongly, instead
  std::size_t most = 120'000'000;         // numbers computed in all formulas together, the plainest mistakes first
};

// formulas_of(model, whole) lists the formulas of the outputs that have to be explained, on all numbers or on some; it
// throws std::invalid_argument where the model has none.
Explained explain(const std::vector<Meant>& meant,
                  const std::function<std::vector<Formula>(const Model&, bool whole)>& formulas_of,
                  const Judged& judged);

}  // namespace gradus::diagnosis
