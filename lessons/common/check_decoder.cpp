// A learner's decoder as the library's checks want it.
#include "lessons/common/check_decoder.h"

namespace gradus::check {

GradientReport check_self(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  std::vector<CheckedInput> leaves{{"y_emb", inputs.y_emb}, {"H", inputs.H}, {"s_0", inputs.s_0}};
  for (const Parameter& p : decoder.parameters) leaves.push_back({p.name, p.var});
  const auto outputs = [&] {
    std::vector<Var> flat;
    for (const auto& [name, value] : outputs_of(decoder.run(inputs))) {
      flat.push_back(reshape(value, Shape{value.value().size()}));
    }
    return concat(flat, Axis{0});
  };
  const std::vector<double> before = outputs().value().to_vector();
  GradientReport report = check_gradient(outputs, leaves);
  // Two calls in a row do not show what changes later, such as a counter that is kept between calls.
  if (outputs().value().to_vector() != before) {
    report.passed = false;
    report.verdict = GradientVerdict::nondeterministic;
  }
  return report;
}

diagnosis::Trace trace_of(const DecoderUnderTest& decoder, const DecoderInputs& inputs, const std::string& claim) {
  diagnosis::Meta meta;
  meta.claims = claim;
  meta.gate_order = "r,z,n";
  return gradus::trace_of(decoder, inputs, meta);
}

}  // namespace gradus::check
