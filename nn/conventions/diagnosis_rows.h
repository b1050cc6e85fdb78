// Inside the diagnosis: a right model that reads other rows of the batch, or parameters whose blocks stand in another order.
// What is called explained is reported as well.
#pragma once

#include "nn/conventions/diagnosis_report.h"

namespace gradus::diagnosis {

// Whichever rows of the batch are read: for each row b the row whose numbers give what b has.
bool explained_by_rows(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones);

// Stacked parameters whose blocks are in another order of gates than the others'.
bool explained_by_blocks(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones);

}  // namespace gradus::diagnosis
