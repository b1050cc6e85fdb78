// Encoder, decoder, and the two ways to run them.
#include "lessons/09_bahdanau/copy_model.h"

namespace gradus::lesson09 {

CopyModel::CopyModel(bool with_attention, const Sizes& n, Generator& generator)
    : attends(with_attention),
      source(copy_vocab, n.d_emb, generator),
      target(copy_vocab + 1, n.d_emb, generator),
      encoder(CellKind::gru, n.d_emb, n.d_hidden, bahdanau2014(), generator) {
  const DecoderSizes sizes{copy_vocab, n.d_emb, n.d_s, 2 * n.d_hidden, n.d_attn};
  if (attends) bahdanau = TaughtDecoder(sizes, {}, generator);
  else plain = PlainDecoder(sizes, {}, generator);
}

const Decoder& CopyModel::decoder() const {
  if (attends) return bahdanau;
  return plain;
}

CopyModel::Encoded CopyModel::encode(const Ids& tokens) const {
  const auto [H, forward_last, backward_first] = encoder(source(tokens));  // H (B, T_enc, 2 d_hidden)
  // With attention s_0 sees the backward state at position 1, as in the paper. Without, s_0 is all that the decoder
  // will ever know of the source, so it gets both ends.
  const Var summary = attends ? backward_first : concat({forward_last, backward_first}, Axis{1});
  return {decoder().remember(H, std::nullopt), decoder().start(summary)};
}

Decoded CopyModel::teach(const CopyBatch& batch) const {
  const auto [memory, s_0] = encode(batch.source);
  return decode_teacher(decoder(), target(batch.previous), s_0, memory);
}

Greedy CopyModel::copy(const Ids& tokens) const {
  NoGrad no_grad;
  const auto [memory, s_0] = encode(tokens);
  return decode_greedy(decoder(), target, s_0, memory, copy_start, tokens.shape()[1]);
}

void CopyModel::visit(Visitor& v) {
  v("source", source);
  v("target", target);
  v("encoder", encoder);
  v("bahdanau", bahdanau);
  v("plain", plain);
}

}  // namespace gradus::lesson09
