// Inside the diagnosis: numbers that agree with a model as far as half precision lets them, and no further.
#pragma once

#include "nn/conventions/diagnosis_report.h"

namespace gradus::diagnosis {

// Where the trace holds numbers of half precision: judges the hypotheses without mistakes, then `with_one`, as widely as
// these numbers need. A mistake is named only where all that keeps the claim is further off than any rounding. Whether
// something was said.
bool found_in_half_precision(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones,
                             const std::vector<Scored>& with_one);

// UNKNOWN of kind numerics where a hypothesis without mistakes is as near as rounding of some lower precision would leave
// it, and its differences look like noise: everywhere, of both signs, at no step or example alone.
bool differs_by_rounding(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& tried);

}  // namespace gradus::diagnosis
