// Inside the diagnosis: nothing agrees. What kind of mistake it must be is told at least.
#pragma once

#include "nn/conventions/diagnosis_report.h"

namespace gradus::diagnosis {

// `tried`: all hypotheses that were.
void unknown(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& tried);

// No combination of the arrays has the sizes that the parameters of this stage need.
void nothing_fits(const Bench& bench, Report& report, const Group& group);

}  // namespace gradus::diagnosis
