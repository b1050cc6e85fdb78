// The quiz: decoders without a label, pictures of what depends on what, and a few answers to choose from.
#pragma once

#include "lessons/common/options.h"

namespace gradus::lesson11 {

// Asks on the terminal, or reads one answer a line from a pipe; ends at "q", at the end of the input, or when nothing
// new is left, with the score. Returns the exit code.
int quiz(const Options& options);

}  // namespace gradus::lesson11
