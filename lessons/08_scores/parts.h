// The parts of the reader that this lesson teaches. The program is linked with the library's (library_parts.cpp) or,
// under ./gradus run 08 --mine, with those that the learner wrote (mine_parts.cpp).
#pragma once

#include <functional>

#include "lessons/08_scores/exercise.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson08 {

struct Parts {
  Said whose;  // "the library's"
  // query (B, d_s), H (B, n, d_h), W_a (d_s, d_h) for the general score, else nothing -> (B, n)
  std::function<Var(ScoreKind kind, const Var& query, const Var& H, const Var& W_a)> scores;
  std::function<Attended(const Var& scores, const Var& values)> mix;
};

const Parts& taught_parts();

}  // namespace gradus::lesson08
