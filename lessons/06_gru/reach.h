// How far back a gradient reaches: |d L / d s_{T-k}| against the distance k.
#pragma once

#include <vector>

#include "lessons/06_gru/recall.h"

namespace gradus::lesson06 {

// Norms for k = 0, 1, .. farthest, of a loss that asks for a random direction of the last h, relative to k = 0. The
// state of an LSTM is (h, c). In f64.
std::vector<double> gradient_reach(const RecallNet& net, std::uint64_t seed);

}  // namespace gradus::lesson06
