// Lesson 11: find out what a stranger's decoder does. Three functions, a few lines each; exercise.h says what they get.
//
//   ./gradus check 11    what is right, and the first thing to mend
//   ./gradus hint 11     a nudge
//
// At hand: matrix.at(row, column), matrix.rows.size(), matrix.columns.size(); probe_influence, probe_context_route,
// probe_padding_content, each of which returns a Probe with can_tell, passed and matrix (nn/conventions/probes.h).
// Not at hand: the diagnosis and the reference check. Probes are enough.
#include "lessons/11_conventions/exercise.h"

namespace gradus::lesson11 {

// 1. Which entries of the matrix belong to a step and its own input? What is not connected is exactly 0, however small
//    everything else may be.
bool depends_on_own_input(const Matrix& influence) {
  (void)influence;  // goes away with your first line
  return false;
}

// 2. s_0 is held constant. Through what can an encoder state reach s_1, and what has it only reached by s_2?
ContextRoute route_of_context(const Matrix& states) {
  (void)states;
  return ContextRoute::this_step;
}

// 3. Ask the probes, and give what they say a name. Two of the mistakes fail one and the same probe: what tells them
//    apart? And what has a probe said that cannot tell?
std::string name_mistake(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  (void)decoder, (void)inputs;
  return "";
}

}  // namespace gradus::lesson11
