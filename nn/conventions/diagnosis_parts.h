// Inside the diagnosis: some examples and steps of a trace, on which most hypotheses are told to be wrong.
#pragma once

#include "nn/conventions/reference/array.h"

namespace gradus::diagnosis {

// These rows of the batch, and the first steps of what a decoder computes; the inputs of later steps stay.
reference::Arrays part_of_decoder(const reference::Arrays& given, const std::vector<std::size_t>& rows,
                                  std::size_t steps);

// These rows of the batch of a recurrent run.
reference::Arrays part_of_run(const reference::Arrays& given, const std::vector<std::size_t>& rows);

// One example of an attention with heads.
reference::Arrays part_of_heads(const reference::Arrays& given, std::size_t row);

// The example of a run that is longest among those with padding, or else the first.
std::size_t telling_row(const reference::Arrays& given);

}  // namespace gradus::diagnosis
