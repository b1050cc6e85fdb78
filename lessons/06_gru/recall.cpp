// The task, its training, and a look at the gates.
#include "lessons/06_gru/recall.h"

#include <algorithm>

#include "lessons/06_gru/parts.h"
#include "nn/optimizer.h"

namespace gradus::lesson06 {
namespace {

constexpr std::int64_t d_emb = 16, d_s = 32, batch_size = 32;
constexpr double rate = 5e-3;

double share_right(const Var& logits, const Ids& symbols_asked) {
  const Ids answers = argmax(logits.value(), Axis{1});
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < answers.size(); ++i) right += answers[i] == symbols_asked[i];
  return static_cast<double>(right) / static_cast<double>(answers.size());
}

}  // namespace

RecallBatch recall_batch(std::int64_t batch, std::int64_t distance, Generator& generator) {
  RecallBatch result{Ids(Shape{batch, distance + 1}, question), Ids(Shape{batch})};
  for (std::int64_t row = 0; row < batch; ++row) {
    result.symbols[row] = static_cast<std::int32_t>(generator.below(symbols));
    result.tokens.at(row, 0) = result.symbols[row];
    for (std::int64_t t = 1; t < distance; ++t)
      result.tokens.at(row, t) = static_cast<std::int32_t>(generator.below(symbols));
  }
  return result;
}

RecallNet::RecallNet(CellKind kind, Generator& generator, double forget_bias)
    : embedding(symbols + 1, d_emb, generator),
      cell(kind, d_emb, d_s, 1, cho2014(), generator),
      readout(d_s, symbols, generator) {
  if (kind != CellKind::lstm) return;
  Tensor b_f = narrow(cell.lstm[0].b.mutable_value(), Axis{0}, d_s, d_s);  // the gates stand as i, f, g, o
  fill_(b_f, forget_bias);
}

Var RecallNet::logits(const Ids& tokens) const {
  return readout(taught_parts().read(cell, embedding(tokens)));  // embedding(tokens): (B, T, d_emb)
}

void RecallNet::visit(Visitor& v) {
  v("embedding", embedding);
  v("cell", cell);
  v("readout", readout);
}

RecallTraining train_recall(CellKind kind, bool growing, std::int64_t steps, std::uint64_t seed,
                            const std::function<bool(const RecallTraining&)>& after, double forget_bias) {
  Generator init(seed, "init"), data(seed, "data");
  RecallTraining t;
  t.net = RecallNet(kind, init, forget_bias);
  if (!growing) t.longest = farthest;
  const std::vector<Parameter> all = parameters(t.net);
  Adam adam(all, {.rate = rate});
  for (bool go = true; go && t.step < steps;) {
    const RecallBatch batch = recall_batch(batch_size, growing ? 1 + data.below(t.longest) : farthest, data);
    const Var logits = t.net.logits(batch.tokens);  // (B, symbols)
    const Var loss = cross_entropy(logits, batch.symbols);
    zero_grad(all);
    backward(loss);
    clip_gradients(all, 1.0);
    adam.options.rate = rate * cosine_decay(t.step, steps, 0.01);
    adam.step();
    t.loss = t.step == 0 ? loss.item() : 0.9 * t.loss + 0.1 * loss.item();
    t.accuracy = 0.9 * t.accuracy + 0.1 * share_right(logits, batch.symbols);
    if (t.accuracy > 0.95 && t.longest < farthest) ++t.longest;
    t.reached.push_back(static_cast<double>(t.longest));
    ++t.step;
    go = after(t);
  }
  return t;
}

double recall_accuracy(const RecallNet& net, std::int64_t distance, std::int64_t sequences, std::uint64_t seed) {
  NoGrad no_grad;
  Generator fresh(seed, "evaluation");
  const RecallBatch batch = recall_batch(sequences, distance, fresh);
  return share_right(net.logits(batch.tokens), batch.symbols);
}

Kept kept_over_time(const RecallNet& net, std::uint64_t seed) {
  NoGrad no_grad;
  Generator fresh(seed, "gates");
  const RecallBatch batch = recall_batch(32, farthest, fresh);
  const Gru& gru = net.cell.gru[0];           // cho2014: gates r, z, n; z keeps
  const Var x = net.embedding(batch.tokens);  // (B, T, d_emb)
  const Var Wx = gru.project(x);              // (B, T, 3 d_s)
  State s = net.cell.initial(32, Wx.dtype());
  Kept kept;
  for (std::int64_t t = 0; t <= farthest; ++t) {
    const Var Wx_t = select(Wx, Axis{1}, t);
    const Var z = sigmoid(narrow(Wx_t, Axis{1}, d_s, d_s) + narrow(matmul(s, transpose(gru.U)), Axis{1}, d_s, d_s));
    std::vector<double> units = mean(z, Axis{0}).value().to_vector();
    std::sort(units.rbegin(), units.rend());
    double total = 0;
    for (double u : units) total += u;
    kept.all.push_back(total / static_cast<double>(d_s));
    kept.steadiest.push_back((units[0] + units[1] + units[2]) / 3);
    s = taught_parts().step(net.cell, select(x, Axis{1}, t), s);
  }
  return kept;
}

}  // namespace gradus::lesson06
