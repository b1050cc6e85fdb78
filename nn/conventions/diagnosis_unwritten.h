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
// A decoder's outputs that are 0 everywhere, and decoders whose last step is 0 in every output. Zeros may be right: only a
// trace that is better explained without them tells.
std::vector<Unwritten> without_the_unwritten(const Trace& trace);

}  // namespace gradus::diagnosis
