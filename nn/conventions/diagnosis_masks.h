// Inside the diagnosis: a run whose cell is right and whose mask was read or applied otherwise.
#pragma once

#include <optional>

#include "nn/conventions/hypotheses.h"
#include "nn/conventions/trace.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// The mask (ignored, inverted, moved, another example's, ...) under which a model without mistakes gives the trace's h
// and h_n, or what a masked step must do instead of keeping the state (clear it, start again, read a zero, keep half of
// it); nothing where none does, or where the trace has no mask. Counts what it runs in `tried`.
std::optional<Finding> explain_by_another_mask(const Trace& trace, const Model& right, double tolerance,
                                               std::size_t& tried);

}  // namespace gradus::diagnosis
