// Inside the diagnosis: NaN and infinities in what a model has computed. Nothing that reads them can be checked.
#pragma once

#include <optional>

#include "nn/conventions/trace.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

struct Holes {
  Finding first;  // the number that was made first, as UNKNOWN of kind numerics
  Words aside;    // what `rest` leaves out
  Trace rest;     // the examples without any, or else the steps before the first, or else the arrays without any
};

// Whether some number is not finite that somebody reads: of what stands at padding nobody does.
bool has_holes(const Trace& trace);

// Nothing where all numbers are finite, and of formulas, which may be about such numbers.
std::optional<Holes> find_holes(const Trace& trace);

}  // namespace gradus::diagnosis
