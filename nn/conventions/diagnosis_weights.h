// Inside the diagnosis: weights that are made from the right scores in another way than a softmax over real positions.
#pragma once

#include "nn/conventions/diagnosis_report.h"

namespace gradus::diagnosis {

// What the trace's weights alpha (B, T, T_enc), or its scores e where these are what disagrees, are beside those of a
// model without mistakes: weights at some positions only (the largest, a window), a mean with other weights, times a
// window, of another function than exp, or scores that read the weights of the steps before (coverage). Reports what gives
// all of them; false where nothing does.
bool explained_by_weights(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones);

}  // namespace gradus::diagnosis
