// The parts of the encoder-decoder that this lesson teaches. The program is linked with the library's
// (library_parts.cpp) or, under ./gradus run 07 --mine, with those that the learner wrote (mine_parts.cpp).
#pragma once

#include <functional>

#include "lessons/07_bottleneck/exercise.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson07 {

// Arguments and results as in exercise.h.
struct Parts {
  Said whose;  // "the library's"
  std::function<Var(const Var& H)> summary;
  std::function<Var(const State& s_0, const Ids& targets, const DecoderParts&)> teach;
  std::function<Ids(const State& s_0, std::int64_t length, const DecoderParts&)> write;
  std::function<Var(const Var& logits, const Ids& targets, const Mask& real)> loss;
};

const Parts& taught_parts();

}  // namespace gradus::lesson07
