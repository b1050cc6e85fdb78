// The taught parts as the library has them: the names come from the diagnosis, which tries every hypothesis on the run
// and needs no probe.
#include "lessons/11_conventions/exam.h"
#include "lessons/11_conventions/parts.h"

namespace gradus::lesson11 {
namespace {

bool any(const Matrix& matrix, bool (*where)(std::size_t row, std::size_t column)) {
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
      if (where(r, c) && matrix.at(r, c) != 0) return true;
    }
  }
  return false;
}

bool own_input(const Matrix& influence) {
  return any(influence, [](std::size_t r, std::size_t c) { return r == c; });
}

ContextRoute route(const Matrix& states) {
  if (any(states, [](std::size_t r, std::size_t) { return r == 0; })) return ContextRoute::this_step;
  return any(states, [](std::size_t, std::size_t) { return true; }) ? ContextRoute::next_step
                                                                    : ContextRoute::output_only;
}

std::string by_diagnosis(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  const diagnosis::Verdict verdict = diagnose(decoder, inputs, Claim::bahdanau2014);
  for (const diagnosis::Finding& f : verdict.findings) {
    if (f.error) return f.code;
  }
  return verdict.checked ? keeps_its_claim : this_input_cannot_tell;
}

}  // namespace

const Parts& taught_parts() {
  static const Parts parts{{"the library's", "库里的"}, own_input, route, by_diagnosis};
  return parts;
}

}  // namespace gradus::lesson11
