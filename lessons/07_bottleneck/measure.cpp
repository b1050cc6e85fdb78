// Evaluation of a trained model.
#include "lessons/07_bottleneck/measure.h"

#include <algorithm>
#include <cmath>

#include "nn/optimizer.h"

namespace gradus::lesson07 {
namespace {

constexpr std::int64_t at_once = 125;

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

double greedy_share(const CopyNet& net, const State& s_0, const Ids& source) {
  const Ids written = net.write(s_0, source.shape()[1]);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < written.size(); ++i) right += written[i] == source[i];
  return share(static_cast<double>(right), static_cast<double>(written.size()));
}

}  // namespace

Accuracy measure(const CopyNet& net, std::int64_t sequences, std::uint64_t seed) {
  NoGrad no_grad;
  Accuracy result;
  Generator fresh(seed, "evaluation");
  for (std::int64_t length : copy_lengths) {
    double greedy = 0, forced = 0;
    for (std::int64_t done = 0; done < sequences; done += at_once) {
      const CopyBatch batch = copy_batch(std::min(at_once, sequences - done), length, fresh);
      const State s_0 = net.encode(batch.source);
      const auto weight = static_cast<double>(batch.source.shape()[0]) / static_cast<double>(sequences);
      greedy += weight * greedy_share(net, s_0, batch.source);
      forced += weight * token_accuracy(net.teach(s_0, batch.source), batch.source);
    }
    result.greedy.push_back(greedy);
    result.forced.push_back(forced);
  }
  return result;
}

Places measure_places(const CopyNet& net, std::int64_t sequences, std::uint64_t seed) {
  NoGrad no_grad;
  Generator fresh(seed, "places");
  struct Counts {
    std::vector<double> right = std::vector<double>(places_length, 0);
    double after_right = 0, right_after_right = 0, after_wrong = 0, right_after_wrong = 0;
    void add(const Ids& written, const Ids& source) {
      for (std::int64_t row = 0; row < source.shape()[0]; ++row) {
        for (std::int64_t t = 0; t < places_length; ++t) {
          const bool here = written.at(row, t) == source.at(row, t);
          right[static_cast<std::size_t>(t)] += here;
          if (t == 0) continue;
          const bool before = written.at(row, t - 1) == source.at(row, t - 1);
          (before ? after_right : after_wrong) += 1;
          (before ? right_after_right : right_after_wrong) += here;
        }
      }
    }
    Places::After after() const {
      return {share(right_after_right, after_right), share(right_after_wrong, after_wrong)};
    }
  } greedy, forced;
  for (std::int64_t done = 0; done < sequences; done += at_once) {
    const CopyBatch batch = copy_batch(std::min(at_once, sequences - done), places_length, fresh);
    const State s_0 = net.encode(batch.source);
    greedy.add(net.write(s_0, places_length), batch.source);
    forced.add(argmax(net.teach(s_0, batch.source).value(), Axis{2}), batch.source);
  }
  for (std::vector<double>* counts : {&greedy.right, &forced.right})
    for (double& count : *counts) count /= static_cast<double>(sequences);
  return {greedy.right, forced.right, greedy.after(), forced.after()};
}

Stored search_state(const CopyNet& net, std::int64_t length, std::int64_t steps, std::uint64_t seed) {
  Generator fresh(seed, "search");
  const CopyBatch batch = copy_batch(32, length, fresh);
  Stored result{.length = length};
  Tensor start;
  {
    NoGrad no_grad;
    start = net.encode(batch.source).value();
  }
  result.encoder = greedy_share(net, State(Var(start)), batch.source);
  // s_0 = tanh(z), so that it stays where states can be.
  std::vector<double> z_0 = start.to_vector();
  for (double& z : z_0) z = std::atanh(std::clamp(z, -0.999, 0.999));
  const std::vector<Parameter> all{{"z", parameter(tensor(start.shape(), z_0, start.dtype()))}};
  Adam adam(all, {});
  for (std::int64_t step = 0; step < steps; ++step) {
    const Var loss = cross_entropy(net.teach(State(tanh(all[0].var)), batch.source), batch.source);
    zero_grad(all);
    backward(loss);
    adam.options.rate = 0.1 * cosine_decay(step, steps, 0.01);
    adam.step();
  }
  NoGrad no_grad;
  result.best = greedy_share(net, State(tanh(all[0].var)), batch.source);
  return result;
}

}  // namespace gradus::lesson07
