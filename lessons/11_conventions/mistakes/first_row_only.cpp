// DIAGONAL_MISREAD: only the first step is looked at
#include "lessons/11_conventions/exercise.h"

namespace gradus::lesson11 {

bool depends_on_own_input(const Matrix& influence) {
  for (std::size_t t = 0; t < 1; ++t) {
    if (influence.at(t, t) != 0) return true;
  }
  return false;
}

ContextRoute route_of_context(const Matrix& states) {
  for (std::size_t t = 0; t < states.rows.size(); ++t) {
    for (std::size_t i = 0; i < states.columns.size(); ++i) {
      if (states.at(t, i) != 0) return t == 0 ? ContextRoute::this_step : ContextRoute::next_step;
    }
  }
  return ContextRoute::output_only;
}

std::string name_mistake(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  const Probe influence = probe_influence(decoder, inputs, QueryTime::s_prev);
  const Probe route = probe_context_route(decoder, inputs, ContextRoute::this_step);
  const Probe padding = probe_padding_content(decoder, inputs);
  if (!influence.can_tell || !route.can_tell || !padding.can_tell) return this_input_cannot_tell;
  if (depends_on_own_input(influence.matrix)) return query_is_s_t;  // first: the swap's context comes late as well
  if (route_of_context(route.matrix) != ContextRoute::this_step) return context_comes_late;
  if (!padding.passed) return padding_has_weight;
  return keeps_its_claim;
}

}  // namespace gradus::lesson11
