// What a backward pass reads wrongly although each of its slopes is right: values that the forward saved at another step
// or for another example, two of them exchanged, gradients that were overwritten, blocks stacked in another order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nn/conventions/grammar_formulas.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

struct Misread {
  std::string code;  // the end of a verdict's code
  Words sentence, fix;
  std::vector<Plan::Saved> values = {};  // what is read in the place of terms' values, by formula; empty: nothing
  // Changes what flows along a way of one formula.
  std::function<void(std::size_t formula, const Node& term, std::size_t place, const Grid& dy, Grid& dx)> flow =
      nullptr;
  std::function<void(reference::Arrays& seeds)> seeds = nullptr;       // the given gradients of outputs
  std::function<void(reference::Arrays& gradients)> result = nullptr;  // those of the arrays of the scene
  std::size_t steps_left_out = 0;                                      // of a recurrent run, the last ones
  bool by_step = false;  // what flows at a step depends on what reaches it at that step alone
};

// Calls visit for each of them, the plainest first, until it says that it has found what it looked for.
using Plans = std::vector<std::unique_ptr<Plan>>;
void each_misread(const WholeModel& model, const Plans& plans, const reference::Arrays& seeds,
                  const std::function<std::string(const std::string&)>& shown,  // an array's name in the trace
                  const std::function<bool(const Misread&)>& visit);

}  // namespace gradus::diagnosis
