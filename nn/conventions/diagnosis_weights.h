// Inside the diagnosis: weights that are made from the right scores in another way than a softmax over real positions.
#pragma once

#include <optional>

#include "nn/conventions/hypotheses.h"
#include "nn/conventions/trace.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// What the trace's weights alpha (B, T, T_enc), or its scores e where these are what disagrees, are beside those of a
// model without mistakes: weights at some positions only (the largest, a window), a mean with other weights, times a
// window, of another function than exp, or scores that read the weights of the steps before (coverage). Nothing where none
// of these gives all of them.
std::optional<Finding> explain_weights(const Trace& trace, const Model& right, const reference::Arrays& given,
                                       bool scores, double tolerance);

}  // namespace gradus::diagnosis
