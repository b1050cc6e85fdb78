// Inside the diagnosis: what a model computes on a trace, stage by stage, on the trace's own intermediate values.
#pragma once

#include "nn/conventions/hypotheses.h"
#include "nn/conventions/trace.h"

namespace gradus::diagnosis {

// The outputs of the given stages. Where the trace has a stage's output, later stages read it; where it has not, they
// read what the model computes. Without the states s the decoder runs by itself, from s_0. Throws std::invalid_argument
// when the model does not fit the trace.
reference::Arrays stage_outputs(const Model& model, const reference::Arrays& given, const std::vector<Stage>& stages);

// The whole forward from parameters and inputs alone, for gradients: decoder, recurrent run or multi-head attention.
reference::Arrays whole_forward(TraceKind kind, const Model& model, const reference::Arrays& given);

// The same as a wrong backward sees it (reference/decoder.h): central differences in `given` at given = still. Throws
// std::invalid_argument where that is not known, as for multi-head attention.
reference::Arrays whole_forward(TraceKind kind, const Model& model, const reference::Arrays& given,
                                const reference::Arrays& still, const reference::Intervention& intervention);

// A recurrent run with h (B, T, d), and an LSTM's memory, of every layer and direction, in the order of h_n.
struct RunDetails {
  reference::Arrays outputs;
  std::vector<reference::Array> states, memories;
};
RunDetails run_details(const Model& model, const reference::Arrays& given);

// "alpha" for Stage::weights, and so on.
const char* output_of(Stage stage);

}  // namespace gradus::diagnosis
