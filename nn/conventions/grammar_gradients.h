// The grammar of wrong backward passes: the forward is right, and of all the ways that a gradient takes through the
// formulas one is treated wrongly (cut, negated, multiplied by another slope, ...). Every such way is tried.
#pragma once

#include <functional>
#include <vector>

#include "nn/conventions/grammar_formulas.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

struct BackwardCase {
  TraceKind kind = TraceKind::decoder;
  const Model* model = nullptr;
  const reference::Arrays* inputs = nullptr;     // parameters and inputs
  const reference::Arrays* outputs = nullptr;    // what the model computes from them
  const reference::Arrays* seeds = nullptr;      // gradients of outputs
  const reference::Arrays* gradients = nullptr;  // what backward gave
  // The inputs that one of them belongs to: several where one array of the trace has several places, none if it is not
  // to be compared.
  std::function<std::vector<std::string>(const std::string&)> uses;
  double bound = 1e-6;  // of a right gradient, relative to its largest number
  std::function<std::string(const std::string&)> shown = [](const std::string& name) { return name; };  // in the trace
  double as_good_as_0 = 1e-6;  // beside the largest number of all gradients: what theory makes 0 is rounding
};

// The right ones of these gradients, exact to rounding; empty where no trees are written for the model.
reference::Arrays right_gradients(const BackwardCase& given);

// One wrong way that explains all gradients, the right ones among them; or one that is cut before some of the steps; or
// two wrong ways. Empty where nothing does.
std::vector<Finding> explain_backward(const BackwardCase& given);

}  // namespace gradus::diagnosis
