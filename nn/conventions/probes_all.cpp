// All probes of a decoder in one go.
#include "nn/conventions/probes.h"

namespace gradus {

DecoderClaim claim_bahdanau2014() { return {QueryTime::s_prev, ContextRoute::this_step, false}; }
DecoderClaim claim_luong2015(bool input_feeding) {
  return {QueryTime::s_t, input_feeding ? ContextRoute::next_step : ContextRoute::output_only, input_feeding};
}

std::vector<Probe> probe_all(const DecoderUnderTest& decoder, const DecoderInputs& inputs, const DecoderClaim& claim) {
  std::vector<Probe> probes = {
      probe_influence(decoder, inputs, claim.query),
      probe_intervention(decoder, inputs, claim.query),
      probe_context_route(decoder, inputs, claim.route),
      probe_feeding(decoder, inputs, claim.feeds_attentional),
      probe_source(decoder, inputs, true),
      probe_permutation(decoder, inputs),
  };
  if (inputs.mask) probes.push_back(probe_padding_content(decoder, inputs));
  probes.push_back(probe_padding_length(decoder, inputs));
  if (inputs.H.size(Axis{0}) > 1) probes.push_back(probe_batch_neighbours(decoder, inputs));
  for (auto probe : {probe_determinism, probe_weights_sum, probe_convex_hull, probe_scorer, probe_parameters,
                     probe_linearity, probe_two_backwards}) {
    probes.push_back(probe(decoder, inputs));
  }
  return probes;
}

}  // namespace gradus
