// The gradients of a trace against central differences of the convention that its forward follows.
#pragma once

#include <set>
#include <string>

#include "nn/conventions/hypotheses.h"
#include "nn/conventions/trace.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// Adds to the verdict what is wrong with the trace's gradients, one finding a mistake however many gradients show it,
// or a note that they agree. single: the numbers are float32. guessed: outputs that were compared with nothing in the
// file, so that the model is a guess there; gradients that depend on theirs are found right or not judged.
void check_gradients(const Trace& trace, const Model& model, bool single, const std::set<std::string>& guessed,
                     Verdict& verdict);

// Whether all of them can be checked on this convention, and are right.
bool gradients_are_right(const Trace& trace, const Model& model, bool single);

}  // namespace gradus::diagnosis
