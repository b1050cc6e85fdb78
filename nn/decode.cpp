// The two loops over decoder steps.
#include "nn/decode.h"

#include "tensor/doctor/contract.h"

namespace gradus {

constexpr Contract teacher_shapes("",
                                  "y_emb (B, T_dec, d_emb)  s_0 (B, d_s)"
                                  "keys (B, T_enc, d_k)  values (B, T_enc, d_h)  mask (B, T_enc)");

Decoded decode_teacher(const Decoder& decoder, const Var& y_emb, const State& s_0, const Memory& memory) {
  teacher_shapes.check("decode_teacher", {y_emb, s_0, memory.keys, memory.values, memory.mask});
  if (y_emb.shape()[1] == 0) {
    throw ShapeError("decode_teacher: the target is empty, y_emb is " + to_string(y_emb.shape()) +
                     "; leave empty targets out of the batch");
  }
  std::vector<Var> features, states{s_0}, weights, contexts;
  State s_prev = s_0;
  for (std::int64_t t = 0; t < y_emb.shape()[1]; ++t) {
    const Var y_t = select(y_emb, Axis{1}, t);
    const Step step = decoder.step(y_t, s_prev, memory);
    features.push_back(decoder.features(step, y_t, s_prev));
    states.push_back(step.s_t);
    if (step.weights.defined()) weights.push_back(step.weights);
    if (step.context.defined()) contexts.push_back(step.context);
    s_prev = step.s_t;
  }
  Decoded result;
  result.logits = decoder.logits(stack_along(features, Axis{1}));  // one product for all steps
  result.states = stack_along(states, Axis{1});
  if (!weights.empty()) result.weights = stack_along(weights, Axis{1});
  if (!contexts.empty()) result.contexts = stack_along(contexts, Axis{1});
  return result;
}

Greedy decode_greedy(const Decoder& decoder, const Embedding& embedding, const State& s_0, const Memory& memory,
                     std::int32_t start, std::int64_t length) {
  NoGrad no_grad;
  const std::int64_t batch = s_0.shape()[0];
  Greedy result{Ids(Shape{batch, length}), Tensor()};
  std::vector<Var> weights;
  State s_prev = s_0;
  Ids tokens(Shape{batch}, start);
  for (std::int64_t t = 0; t < length; ++t) {
    const Var y_emb = embedding(tokens);
    const Step step = decoder.step(y_emb, s_prev, memory);
    tokens = argmax(decoder.logits(decoder.features(step, y_emb, s_prev)).value(), Axis{1});
    for (std::int64_t row = 0; row < batch; ++row) result.tokens.at(row, t) = tokens[row];
    if (step.weights.defined()) weights.push_back(step.weights);
    s_prev = step.s_t;
  }
  if (!weights.empty()) result.weights = stack_along(weights, Axis{1}).value();
  return result;
}

}  // namespace gradus
