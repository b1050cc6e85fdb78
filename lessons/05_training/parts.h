// The parts of training that this lesson teaches. The program is linked with the library's (library_parts.cpp) or,
// under ./gradus run 05 --mine, with those that the learner wrote (mine_parts.cpp).
#pragma once

#include <functional>
#include <memory>

#include "lessons/05_training/exercise.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson05 {

// An optimiser, and where its rate is, so that a schedule can set it.
struct Updates {
  std::unique_ptr<Optimizer> optimizer;
  double* rate = nullptr;
};

struct Parts {
  Said whose;  // "the library's"
  std::function<Var(std::int64_t d_out, std::int64_t d_in, Generator& generator)> first_weights;
  std::function<double(const std::vector<Parameter>& parameters, double largest)> clip;
  std::function<Updates(const std::vector<Parameter>& parameters, const AdamOptions& options)> adam;
};

const Parts& taught_parts();

}  // namespace gradus::lesson05
