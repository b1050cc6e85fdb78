// Inside the diagnosis: what a layer of a stack may hand to the next one in the place of h.
#pragma once

#include <functional>
#include <vector>

#include "nn/conventions/trace.h"

namespace gradus::diagnosis {

struct Between {
  const char* code;
  Words used;
  // As Model::after_layer, of one layer.
  std::function<void(const reference::Array& in, const reference::Array& memory, reference::Array& h)> change;
  bool whole_batch = false;    // mixes examples, or reads arrays of the trace: asks for all of its rows
  bool of_this_layer = false;  // reads h0 or c0 of the one layer
};

// All ways for what follows a layer, the plainest first.
std::vector<Between> all_between(const Trace& trace, std::size_t layer);

}  // namespace gradus::diagnosis
