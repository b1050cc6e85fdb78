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
  // A term inside that the trace holds, too, and what it should give: an LSTM's memory.
  std::string inside = {};
  reference::Array wanted_inside = {};
};

// An LSTM whose memory is in the trace: one formula from the step before to the new state, or of its two outputs one
// that reads the other.
enum class MemoryAs { inside, output, read };

inline bool is_lstm(const Model& model) {
  return std::holds_alternative<reference::LstmConvention>(model.decoder.cell);
}

// The formula of a decoder's output. Stages whose output is in the trace are read from it, the others are written out.
// Throws std::invalid_argument where the model is not one that trees are written for. Of a large trace some rows and
// steps, unless it is wanted whole.
Formula decoder_formula(const Model& model, const reference::Arrays& given, Stage stage, bool whole = false,
                        MemoryAs memory = MemoryAs::inside);

// A layer alone: h of each direction. Outputs of multi-head attention: "alpha" and "output".
std::vector<Formula> run_formulas(const Model& model, const reference::Arrays& given);
std::vector<Formula> head_formulas(const Model& model, const reference::Arrays& given);

// The formulas of a whole model on one set of arrays: what one of them gives is read by the others, and by itself one
// step later. In the order in which a step computes them. One for each direction of each recurrent layer, from the lowest.
struct WholeModel {
  Scene scene;
  std::vector<std::pair<std::string, Term>> formulas;  // the array that is given, and by what
  std::size_t layer = 0, direction = 0;
};
// `made` is what the model computes from `given`. Throws std::invalid_argument where no trees are written for it.
std::vector<WholeModel> whole_models(TraceKind kind, const Model& model, const reference::Arrays& given,
                                     const reference::Arrays& made);
// The position that a direction reads at step t of n real ones.
inline std::size_t read_at(std::size_t direction, std::size_t t, std::size_t n) {
  return direction && t < n ? n - 1 - t : t;
}
std::vector<std::size_t> lengths_or_full(const reference::Arrays& given, std::size_t B, std::size_t T);

}  // namespace gradus::diagnosis
