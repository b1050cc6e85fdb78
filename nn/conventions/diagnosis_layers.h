// Inside the diagnosis: a recurrent run of several layers or directions of which one goes wrong.
#pragma once

#include <functional>
#include <optional>

#include "nn/conventions/hypotheses.h"
#include "nn/conventions/trace.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// A cell that the library knows and that is not the right one.
struct OtherCell {
  const Option* option;
  reference::CellConvention cell;
};

struct LayerCase {
  const Trace& trace;
  const Model& right;  // all layers alike
  std::vector<OtherCell> cells;
  std::function<bool(const Model&)> agrees;         // with the trace
  std::function<bool(const Model&)> agrees_on_all;  // of models that mix examples
};

// One layer alone with another cell, with parameters of another layer or direction, with other numbers to start from, or
// with something else than h handed to the next layer.
std::optional<Finding> explain_layer(const LayerCase& given);
// The last of these alone, beside the mistakes that `right` has.
std::optional<Finding> explain_between_layers(const LayerCase& given);

}  // namespace gradus::diagnosis
