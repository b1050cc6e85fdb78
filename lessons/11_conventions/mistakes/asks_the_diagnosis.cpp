// USES_LIBRARY_PART: the diagnosis is asked, not the probes
#include "lessons/11_conventions/exercise.h"
#include "nn/conventions/diagnosis.h"
#include "nn/conventions/to_reference.h"

namespace gradus::lesson11 {

bool depends_on_own_input(const Matrix& influence) {
  for (std::size_t t = 0; t < influence.rows.size(); ++t) {
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
  diagnosis::Meta meta;
  meta.claims = "bahdanau2014";
  const std::string code = diagnosis::diagnose(trace_of(decoder, inputs, meta)).code();
  return code.empty() ? keeps_its_claim : code;
}

}  // namespace gradus::lesson11
