// A zero is added to every state; its gradient is the state's.
#include "lessons/06_gru/reach.h"

#include <cmath>

#include "lessons/06_gru/parts.h"

namespace gradus::lesson06 {

std::vector<double> gradient_reach(const RecallNet& trained, std::uint64_t seed) {
  const RecallNet net = clone(trained, f64);
  Generator fresh(seed, "reach");
  const RecallBatch batch = recall_batch(16, farthest, fresh);
  const Var x = net.embedding(batch.tokens).detach();  // (B, T, d_emb)
  State s = net.cell.initial(16, f64);
  std::vector<std::vector<Var>> touched;  // per step: the zeros added to h, and to c
  for (std::int64_t t = 0; t <= farthest; ++t) {
    const State next = taught_parts().step(net.cell, select(x, Axis{1}, t), s);
    touched.push_back({parameter(zeros(next.shape(), f64))});
    s = State(next + touched.back()[0]);
    for (const Var& c : next.memory) {
      touched.back().push_back(parameter(zeros(c.shape(), f64)));
      s.memory.push_back(c + touched.back()[1]);
    }
  }
  backward(sum(s * Var(random_normal(s.shape(), 0, 1, fresh, f64))));
  std::vector<double> norms;
  for (std::size_t k = touched.size(); k-- > 0;) {
    double squares = 0;
    for (const Var& zero : touched[k]) {
      if (!zero.has_grad()) continue;
      for (double g : zero.grad().to_vector()) squares += g * g;
    }
    norms.push_back(std::sqrt(squares));
  }
  const double first = norms.front();
  for (double& norm : norms) norm /= first;
  return norms;
}

}  // namespace gradus::lesson06
