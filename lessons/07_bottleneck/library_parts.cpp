// The taught parts as the library has them.
#include "lessons/07_bottleneck/parts.h"
#include "nn/decode.h"

namespace gradus::lesson07 {
namespace {

PlainDecoder decoder_of(const DecoderParts& parts) {
  PlainDecoder decoder;
  decoder.cell = parts.cell;
  decoder.readout.W = parts.W_o;
  decoder.readout.b = parts.b_o;
  return decoder;
}

Var both_ends(const Var& H) {
  const std::int64_t T = H.size(Axis{1}), d = H.size(Axis{2}) / 2;
  return concat({narrow(select(H, Axis{1}, T - 1), Axis{1}, 0, d), narrow(select(H, Axis{1}, 0), Axis{1}, d, d)},
                Axis{1});
}

Var teach_with_library(const State& s_0, const Ids& targets, const DecoderParts& parts) {
  Ids previous(targets.shape(), parts.start);
  for (std::int64_t row = 0; row < targets.shape()[0]; ++row)
    for (std::int64_t t = 1; t < targets.shape()[1]; ++t) previous.at(row, t) = targets.at(row, t - 1);
  return decode_teacher(decoder_of(parts), gather(parts.E, previous), s_0, {}).logits;
}

Ids write_with_library(const State& s_0, std::int64_t length, const DecoderParts& parts) {
  Embedding embedding;
  embedding.E = parts.E;
  return decode_greedy(decoder_of(parts), embedding, s_0, {}, parts.start, length).tokens;
}

Var loss_of_library(const Var& logits, const Ids& targets, const Mask& real) {
  return cross_entropy(logits, targets, real);
}

}  // namespace

const Parts& taught_parts() {
  static const Parts parts{
      {"the library's", "库里的"}, both_ends, teach_with_library, write_with_library, loss_of_library};
  return parts;
}

}  // namespace gradus::lesson07
