// A trace of a decoder of ours. A file of its own, so that a lesson that uses the reference check alone is built without traces.
#include <utility>

#include "nn/conventions/to_reference.h"

namespace gradus {

diagnosis::Trace trace_of(const DecoderUnderTest& decoder, const DecoderInputs& inputs, const diagnosis::Meta& meta) {
  NoGrad no_grad;
  reference::Arrays arrays{{"H", to_reference(inputs.H.value())}, {"y_emb", to_reference(inputs.y_emb.value())}};
  if (inputs.mask) arrays["mask"] = to_reference(*inputs.mask);
  for (const auto& [name, value] : outputs_of(decoder.run(inputs))) arrays[name] = to_reference(value.value());
  for (const Parameter& p : decoder.parameters) {
    if (p.name != "UVC_o") {
      arrays[p.name] = to_reference(p.var.value());
      continue;
    }
    const std::int64_t widths[] = {inputs.s_0.size(Axis{1}), inputs.y_emb.size(Axis{2}), inputs.H.size(Axis{2})};
    std::int64_t at = 0;
    for (std::size_t k = 0; k < 3; at += widths[k++]) {
      const char* names[] = {"U_o", "V_o", "C_o"};
      arrays[names[k]] = to_reference(narrow(p.var, Axis{1}, at, widths[k]).value());
    }
  }
  return diagnosis::make_trace(std::move(arrays), meta, inputs.H.dtype() == f32);
}

}  // namespace gradus
