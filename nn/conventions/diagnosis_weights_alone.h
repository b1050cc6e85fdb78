// Inside the diagnosis: what attention weights say by themselves.
#pragma once

#include "nn/conventions/diagnosis_report.h"

namespace gradus::diagnosis {

// What the sums of the weights, (B, T, T_enc) or (B, heads, T, T_enc), say without any hypothesis.
std::optional<std::pair<Kind, Words>> seen_in_weights(const Bench& bench);

// A decoder with weights but nothing to compute them from is judged by what the weights must be; what cannot be told
// without states or padding is open.
void look_at_weights(const Bench& bench, Report& report);

}  // namespace gradus::diagnosis
