// The check as the learner wrote it in work/03_gradient_check/exercise.cpp.
#include "lessons/03_gradient_check/parts.h"

namespace gradus::lesson03 {

const Parts& taught_parts() {
  static const Parts parts{{"yours", "你写的"}, accepts};
  return parts;
}

}  // namespace gradus::lesson03
