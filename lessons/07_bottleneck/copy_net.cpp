// Encoder, decoder, and the ways to run them.
#include "lessons/07_bottleneck/copy_net.h"

namespace gradus::lesson07 {

CopyNet::CopyNet(const Sizes& n, Ends which, Generator& generator)
    : ends(which),
      source(copy_vocab, n.d_emb, generator),
      target(copy_vocab + 1, n.d_emb, generator),
      encoder(CellKind::gru, n.d_emb, n.d_s, bahdanau2014(), generator),
      decoder({copy_vocab, n.d_emb, n.d_s, 2 * n.d_s, 0}, {}, generator) {}

State CopyNet::encode(const Ids& tokens) const {
  const Var H = encoder(source(tokens)).H;                   // (B, T_enc, 2 d_s): [forward_i; backward_i]
  const Var last = select(H, Axis{1}, H.size(Axis{1}) - 1);  // [forward_T; backward_T]: the classic mistake
  return decoder.start(ends == Ends::both ? taught_parts().summary(H) : last);
}

DecoderParts CopyNet::parts() const {
  return {target.E, decoder.cell, decoder.readout.W, decoder.readout.b, copy_start};
}

Var CopyNet::teach(const State& s_0, const Ids& targets) const { return taught_parts().teach(s_0, targets, parts()); }

Ids CopyNet::write(const State& s_0, std::int64_t length) const { return taught_parts().write(s_0, length, parts()); }

Var CopyNet::logits(const State& s_0, const Ids& previous) const {
  return decode_teacher(decoder, target(previous), s_0, {}).logits;
}

Var CopyNet::logits_on_own(const State& s_0, const Ids& previous, double own, Generator& generator) const {
  std::vector<Var> logits;  // (B, vocab) each
  State s_prev = s_0;
  Ids said;
  for (std::int64_t t = 0; t < previous.shape()[1]; ++t) {
    Ids tokens(Shape{previous.shape()[0]});
    for (std::int64_t row = 0; row < tokens.size(); ++row)
      tokens[row] = t > 0 && generator.uniform() < own ? said[row] : previous.at(row, t);
    const Var y_emb = target(tokens);  // (B, d_emb)
    const Step step = decoder.step(y_emb, s_prev, {});
    logits.push_back(decoder.logits(decoder.features(step, y_emb, s_prev)));
    said = argmax(logits.back().value(), Axis{1});
    s_prev = step.s_t;
  }
  return stack_along(logits, Axis{1});
}

Ids CopyNet::copy(const Ids& tokens) const {
  NoGrad no_grad;
  return write(encode(tokens), tokens.shape()[1]);
}

void CopyNet::visit(Visitor& v) {
  v("source", source);
  v("target", target);
  v("encoder", encoder);
  v("decoder", decoder);
}

}  // namespace gradus::lesson07
