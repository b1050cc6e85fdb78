// START_TOKEN_WRONG: the first token read is 0
#include "lessons/07_bottleneck/exercise.h"

namespace gradus::lesson07 {

Ids teacher_inputs(const Ids& targets, std::int32_t start) {
  Ids previous(targets.shape());
  for (std::int64_t row = 0; row < targets.shape()[0]; ++row)
    for (std::int64_t t = 0; t < targets.shape()[1]; ++t) previous.at(row, t) = t == 0 ? start : targets.at(row, t - 1);
  return previous;
}

Var summary(const Var& H) {
  const std::int64_t T = H.size(Axis{1}), d = H.size(Axis{2}) / 2;
  const Var forward_T = narrow(select(H, Axis{1}, T - 1), Axis{1}, 0, d);  // (B, d)
  const Var backward_1 = narrow(select(H, Axis{1}, 0), Axis{1}, d, d);     // (B, d)
  return concat({forward_T, backward_1}, Axis{1});
}

Var teach(const State& s_0, const Ids& targets, const DecoderParts& parts) {
  const Var y_emb = gather(parts.E, teacher_inputs(targets, parts.start));  // (B, T, d_emb)
  std::vector<Var> features;
  State s = s_0;
  for (std::int64_t t = 0; t < targets.shape()[1]; ++t) {
    const Var y_t = select(y_emb, Axis{1}, t);      // (B, d_emb)
    s = parts.cell.step(y_t, s);                    // (B, d_s)
    features.push_back(concat({s, y_t}, Axis{1}));  // (B, d_s + d_emb)
  }
  return affine("readout", stack_along(features, Axis{1}), parts.W_o, parts.b_o);
}

Ids write(const State& s_0, std::int64_t length, const DecoderParts& parts) {
  NoGrad no_grad;
  const std::int64_t B = s_0.shape()[0];
  Ids written(Shape{B, length}), tokens(Shape{B}, 0);
  State s = s_0;
  for (std::int64_t t = 0; t < length; ++t) {
    const Var y_t = gather(parts.E, tokens);
    s = parts.cell.step(y_t, s);
    tokens = argmax(affine("readout", concat({s, y_t}, Axis{1}), parts.W_o, parts.b_o).value(), Axis{1});
    for (std::int64_t row = 0; row < B; ++row) written.at(row, t) = tokens[row];
  }
  return written;
}

Var sequence_loss(const Var& logits, const Ids& targets, const Mask& real) {
  const std::int64_t B = logits.size(Axis{0}), T = logits.size(Axis{1}), vocab = logits.size(Axis{2});
  std::vector<std::int32_t> places;  // of the real targets, in log p as one long column
  for (std::int64_t row = 0; row < B; ++row) {
    for (std::int64_t t = 0; t < T; ++t) {
      if (real.at(row, t)) places.push_back(static_cast<std::int32_t>((row * T + t) * vocab) + targets.at(row, t));
    }
  }
  const Var column = reshape(log_softmax(logits, Axis{2}), Shape{B * T * vocab, 1});
  return -mean(gather(column, Ids(Shape{static_cast<std::int64_t>(places.size())}, places)));
}

}  // namespace gradus::lesson07
