// The taught parts as the learner wrote them in work/01_tensors/exercise.cpp.
#include "lessons/01_tensors/parts.h"

namespace gradus::lesson01 {

const Parts& taught_parts() {
  static const Parts parts{{"yours", "你写的"},   row_major, place, transposed, narrowed, stretched,
                           least_squares_gradient};
  return parts;
}

}  // namespace gradus::lesson01
