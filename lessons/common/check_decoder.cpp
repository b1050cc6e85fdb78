// A learner's decoder as the library's checks want it.
#include "lessons/common/check_decoder.h"

namespace gradus::check {

GradientReport check_self(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  std::vector<CheckedInput> leaves{{"y_emb", inputs.y_emb}, {"H", inputs.H}, {"s_0", inputs.s_0}};
  for (const Parameter& p : decoder.parameters) leaves.push_back({p.name, p.var});
  return check_gradient(
      [&] {
        std::vector<Var> flat;
        for (const auto& [name, value] : outputs_of(decoder.run(inputs))) {
          flat.push_back(reshape(value, Shape{value.value().size()}));
        }
        return concat(flat, Axis{0});
      },
      leaves);
}

diagnosis::Trace trace_of(const DecoderUnderTest& decoder, const DecoderInputs& inputs, const std::string& claim) {
  NoGrad no_grad;
  reference::Arrays arrays;
  for (const auto& [name, value] : outputs_of(decoder.run(inputs))) arrays[name] = to_reference(value.value());
  arrays["y_emb"] = to_reference(inputs.y_emb.value());
  arrays["H"] = to_reference(inputs.H.value());
  if (inputs.mask) arrays["mask"] = to_reference(*inputs.mask);
  for (const Parameter& p : decoder.parameters) {
    const std::string& name = p.name;
    const std::string read_as = name == "W"     ? "W_ih"
                                : name == "U"   ? "W_hh"
                                : name == "b"   ? "b_ih"
                                : name == "b_u" ? "b_hh"
                                                : name;
    arrays[read_as] = to_reference(p.var.value());
  }
  diagnosis::Meta meta;
  meta.claims = claim;
  meta.gate_order = "r,z,n";
  return diagnosis::make_trace(std::move(arrays), meta);
}

}  // namespace gradus::check
