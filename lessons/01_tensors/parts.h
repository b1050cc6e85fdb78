// The parts of tensors that this lesson teaches. The program is linked with the library's (library_parts.cpp) or,
// under ./gradus run 01 --mine, with those that the learner wrote (mine_parts.cpp).
#pragma once

#include <functional>

#include "lessons/01_tensors/exercise.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson01 {

struct Parts {
  Said whose;  // "the library's"
  std::function<View(const Shape& shape)> row_major;
  std::function<std::int64_t(const View& view, const Extents& position)> place;
  std::function<View(const View& view, int a, int b)> transposed;
  std::function<View(const View&, int axis, std::int64_t start, std::int64_t length, std::int64_t step)> narrowed;
  std::function<View(const View& view, int axis, std::int64_t length)> stretched;
  std::function<Var(const Var& X, const Var& w, const Var& y)> least_squares_gradient;
};

const Parts& taught_parts();

}  // namespace gradus::lesson01
