// Inside the diagnosis: what stands behind the end of the sequences of a recurrent run. Nobody reads it, so it may be
// anything; the search compares it only where it is 0 or the last state, or where a run that does not stop explains it.
#pragma once

#include <optional>

#include "nn/conventions/hypotheses.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// Whether h has rows behind the end that are neither 0 nor a state of an end of the sequence.
bool holds_other_numbers(const reference::Arrays& given, std::size_t directions);

// h with zeros behind the end.
reference::Array without_padding(const reference::Arrays& given);

// Whether h agrees with `right` wherever the mask is true, relative to its largest number there.
bool agrees_at_real_positions(const reference::Arrays& given, const reference::Array& right, double tolerance);

// What these numbers are. read_on: the cell's own, as if it had read on over some of the padding.
struct BehindTheEnd {
  Words what;
  bool read_on = false;
};
BehindTheEnd behind_the_end(const reference::Arrays& given, const Model& right, std::size_t directions,
                            double tolerance);

}  // namespace gradus::diagnosis
