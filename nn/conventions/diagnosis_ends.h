// What was taken where the final states of a recurrent layer belong.
#pragma once

#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// Names what `output` of `given` holds: h_n or c_n (layers * directions, B, d), or start (B, ...), what a decoder takes
// from an encoder of both directions. `right` is a model whose outputs agree with the trace's, or h and h_n of the trace
// alone. Empty where something else stands there, or nothing wrong.
std::vector<Finding> explain_final_states(const reference::Arrays& given, const RunDetails& right,
                                          const std::string& output, std::size_t directions, double tolerance);

}  // namespace gradus::diagnosis
