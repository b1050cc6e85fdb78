// The taught parts as the learner wrote them in work/11_conventions/exercise.cpp.
#include "lessons/11_conventions/parts.h"

namespace gradus::lesson11 {

const Parts& taught_parts() {
  static const Parts parts{{"yours", "你写的"}, depends_on_own_input, route_of_context, name_mistake};
  return parts;
}

}  // namespace gradus::lesson11
