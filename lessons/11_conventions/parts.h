// The questions that this lesson teaches to ask. The program is linked with the library's (library_parts.cpp) or, under
// ./gradus run 11 --mine, with those that the learner wrote (mine_parts.cpp).
#pragma once

#include <functional>

#include "lessons/11_conventions/exercise.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson11 {

// As in exercise.h.
struct Parts {
  Said whose;  // "the library's"
  std::function<bool(const Matrix& influence)> depends_on_own_input;
  std::function<ContextRoute(const Matrix& states)> route_of_context;
  std::function<std::string(const DecoderUnderTest& decoder, const DecoderInputs& inputs)> name_mistake;
};

const Parts& taught_parts();

}  // namespace gradus::lesson11
