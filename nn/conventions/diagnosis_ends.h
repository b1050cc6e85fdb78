// What was taken where the final states of a recurrent layer belong.
#pragma once

#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// Names what `output` of `given` holds: h_n or c_n (layers * directions, B, d), or start (B, ...), what a decoder takes
// from an encoder of both directions. `right` has h, h_n and c_n of a model whose outputs agree with the trace's. Empty
// where something else stands there, or nothing wrong.
std::vector<Finding> explain_final_states(const reference::Arrays& given, const reference::Arrays& right,
                                          const std::string& output, std::size_t directions, double tolerance);

}  // namespace gradus::diagnosis
