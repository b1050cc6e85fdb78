// The parts of the classifier that this lesson teaches. The program is linked with the library's (library_parts.cpp)
// or, under ./gradus run 04 --mine, with those that the learner wrote (mine_parts.cpp).
#pragma once

#include <functional>

#include "lessons/04_softmax/exercise.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson04 {

struct Parts {
  Said whose;                                                                   // "the library's"
  std::function<Var(const Var& z, const Ids& targets)> cross_entropy;           // mean over the rows: ()
  std::function<Var(const Var& z, const Ids& targets)> cross_entropy_gradient;  // of that, for z: (N, K)
};

const Parts& taught_parts();

}  // namespace gradus::lesson04
