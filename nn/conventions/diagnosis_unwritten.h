// Inside the diagnosis: outputs that hold nothing but zeros, as an array does that was made and never written.
#pragma once

#include <vector>

#include "nn/conventions/trace.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// The trace without what was not written, and how that is said.
struct Unwritten {
  Trace rest;
  Finding finding;
};
// Decoders whose last step is 0 in every output; then outputs of a decoder or of heads that are 0 everywhere, or at some
// steps as where a step wrote to another's place. Zeros may be right: only a trace that is better explained without them
// tells.
std::vector<Unwritten> without_the_unwritten(const Trace& trace);

}  // namespace gradus::diagnosis
