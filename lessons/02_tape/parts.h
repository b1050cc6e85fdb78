// The part of the lesson that it teaches: a loss and its gradient by a tape of single numbers. The program is linked
// with the note's tape (library_parts.cpp) or, under ./gradus run 02 --mine, with the learner's (mine_parts.cpp).
#pragma once

#include <functional>

#include "lessons/02_tape/fit.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson02 {

struct LossAndGradient {
  double loss = 0;
  Weights gradient{};
  std::size_t tape_length = 0;
};

struct Parts {
  Said whose;  // "the note's"
  // Mean squared error of the two neurons at these points, and its gradient.
  std::function<LossAndGradient(const Weights& weights, const Points& points)> loss;
};

const Parts& taught_parts();

}  // namespace gradus::lesson02
