// Hypotheses about single formulas: losses, optimiser steps, clipping, softmax, beams, dropout, and the backward of one
// operation. A topic is a few arrays in, a few out; every right and every wrong variant is one entry.
#pragma once

#include <string>
#include <vector>

#include "nn/conventions/trace.h"
#include "nn/conventions/verdict.h"

namespace gradus::diagnosis {

// The verdict about a formula trace: the topic that its names belong to, or meta.json's "topic".
Verdict diagnose_formula(const Trace& trace, const std::string& claim);

// What each topic reads and what it compares, for the help.
struct TopicNames {
  std::string name;
  std::vector<std::string> needs, outputs;
};
std::vector<TopicNames> topic_names();

}  // namespace gradus::diagnosis
