// The formulas of a model's stages as trees (expression.h), for a hypothesis without mistakes.
#pragma once

#include "nn/conventions/expression.h"
#include "nn/conventions/hypotheses.h"
#include "nn/conventions/trace.h"

namespace gradus::diagnosis {

// One output of a trace, and what should give it.
struct Formula {
  Stage stage = Stage::cell;
  std::string output;  // of the trace
  Term term;
  Scene scene;
  reference::Array wanted;  // (B, T, d) or (B, T, T_enc) of the scene's part
  reference::Vec counts;    // 1 a row (B, T) that is compared; empty: all
  Words part = {};          // "the backward direction"
};

// The formula of a decoder's output. Stages whose output is in the trace are read from it, the others are written out.
// Throws std::invalid_argument where the model is not one that trees are written for. Of a large trace some rows and
// steps, unless it is wanted whole.
Formula decoder_formula(const Model& model, const reference::Arrays& given, Stage stage, bool whole = false);

// A layer alone: h of each direction. Outputs of multi-head attention: "alpha" and "output".
std::vector<Formula> run_formulas(const Model& model, const reference::Arrays& given);
std::vector<Formula> head_formulas(const Model& model, const reference::Arrays& given);

}  // namespace gradus::diagnosis
