// The part of the lesson that it teaches: the check. The program is linked with the library's (library_parts.cpp) or,
// under ./gradus run 03 --mine, with the one that the learner wrote (mine_parts.cpp).
#pragma once

#include "lessons/03_gradient_check/exercise.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson03 {

struct Parts {
  Said whose;  // "the library's"
  std::function<bool(const Op& op)> accepts;
};

const Parts& taught_parts();

}  // namespace gradus::lesson03
