// Where gradients arrive, and that they behave like derivatives.
#include <algorithm>
#include <cmath>
#include <set>

#include "nn/conventions/probes_tools.h"

namespace gradus {

using namespace probing;

namespace {

// Leaves that take a gradient and lead to `result`.
std::vector<Var> leaves_of(const Var& result) {
  std::vector<Var> leaves;
  std::set<const Node*> seen{result.node().get()};
  std::vector<Ref<Node>> waiting{result.node()};
  while (!waiting.empty()) {
    const Ref<Node> node = waiting.back();
    waiting.pop_back();
    if (node->inputs.empty() && node->requires_grad) leaves.push_back(Var(node));
    for (const Node::Edge& edge : node->inputs) {
      if (seen.insert(edge.node.get()).second) waiting.push_back(edge.node);
    }
  }
  return leaves;
}

// W, U, b, b_u of a cell: each row belongs to one unit of one gate.
bool belongs_to_cell(const std::string& name) {
  const std::string stem = name.substr(0, name.find("_l"));
  return stem == "W" || stem == "U" || stem == "b" || stem == "b_u";
}

// Rows (entries of a vector) that received nothing.
std::int64_t silent_rows(const Var& parameter) {
  std::int64_t silent = 0;
  for (std::int64_t r = 0; r < parameter.shape()[0]; ++r) silent += squares_at(parameter, Axis{0}, r) == 0 ? 1 : 0;
  return silent;
}

using Gradients = std::vector<std::vector<double>>;
Gradients gradients_of(const DecoderUnderTest& decoder, const DecoderInputs& in) {
  Gradients all;
  for (const Parameter& p : decoder.parameters) all.push_back(p.var.grad().to_vector());
  for (const Var& leaf : {in.y_emb, in.H, in.s_0}) all.push_back(leaf.grad().to_vector());
  return all;
}

std::vector<std::string> names_of(const DecoderUnderTest& decoder) {
  std::vector<std::string> names;
  for (const Parameter& p : decoder.parameters) names.push_back(p.name);
  names.insert(names.end(), {"y_emb", "H", "s_0"});
  return names;
}

}  // namespace

Probe probe_parameters(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("parameters", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    clear(decoder, in);
    const Var all = flat(decoder.run(in));
    std::string unregistered, dead;
    for (const Var& leaf : leaves_of(all)) {
      auto same = [&](const Var& known) { return known.node().get() == leaf.node().get(); };
      const bool known = std::any_of(decoder.parameters.begin(), decoder.parameters.end(),
                                     [&](const Parameter& p) { return same(p.var); }) ||
                         same(in.y_emb) || same(in.H) || same(in.s_0);
      if (!known) unregistered += (unregistered.empty() ? "" : ", ") + to_string(leaf.shape());
    }
    if (all.requires_grad()) backward(all, random_like(all, 31));
    probe.matrix.columns = {"|grad|"};
    for (const Parameter& p : decoder.parameters) {
      const double total = squares(p.var);
      probe.matrix.rows.push_back(p.name);
      probe.matrix.values.push_back(std::sqrt(total));
      const std::int64_t silent = belongs_to_cell(p.name) ? silent_rows(p.var) : 0;
      if (total == 0) {
        dead += (dead.empty() ? "" : ", ") + p.name;
      } else if (silent > 0) {
        dead += (dead.empty() ? "" : ", ") + std::to_string(silent) + " of " + std::to_string(p.var.shape()[0]) +
                " rows of " + p.name;
      }
    }
    clear(decoder, in);
    probe.passed = unregistered.empty() && dead.empty();
    if (probe.passed)
      probe.sentence = {"every parameter has a gradient, and every leaf of the tape is registered",
                        "每个参数都有梯度，计算图的每个叶子都已登记"};
    if (!dead.empty())
      probe.sentence = {"no gradient reaches " + dead + ": computed and not used, or not used at all",
                        "没有梯度到达 " + dead + "：算了没用上，或者根本没用"};
    if (!unregistered.empty()) {
      probe.sentence += {std::string(dead.empty() ? "" : "; ") + "a leaf of shape " + unregistered +
                             " takes part but is in no list: it would never be trained or saved; add it to visit",
                         std::string(dead.empty() ? "" : "；") + "形状为 " + unregistered +
                             " 的叶子参与了计算却不在任何列表里：它永远不会被训练或保存；请加进 visit"};
    }
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_linearity(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("linearity", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    auto gradients = [&](double of_u, double of_v) {
      clear(decoder, in);
      const Var all = flat(decoder.run(in));
      const Tensor u = random_like(all, 41), v = random_like(all, 42);
      backward(all, (Var(u) * of_u + Var(v) * of_v).value());
      return gradients_of(decoder, in);
    };
    const Gradients u = gradients(1, 0), v = gradients(0, 1), both = gradients(2, -3);
    clear(decoder, in);
    probe.matrix = {names_of(decoder), {"deviation"}, {}};
    const double bound = in.H.dtype() == f32 ? 1e-4 : 1e-11;
    std::string wrong;
    for (std::size_t k = 0; k < both.size(); ++k) {
      double worst = 0, size = 1e-30;
      for (std::size_t i = 0; i < both[k].size(); ++i) {
        size = std::max({size, std::fabs(2 * u[k][i]), std::fabs(3 * v[k][i])});
        const double gap = std::fabs(both[k][i] - (2 * u[k][i] - 3 * v[k][i]));
        worst = gap <= worst ? worst : gap;
      }
      probe.matrix.values.push_back(worst / size);
      if (!(worst / size <= bound)) wrong += (wrong.empty() ? "" : ", ") + probe.matrix.rows[k];
    }
    probe.passed = wrong.empty();
    probe.sentence = wrong.empty()
                         ? Words("gradients are linear in the output gradient", "梯度对输出梯度是线性的")
                         : Words("gradients of " + wrong +
                                     " are not linear in the output gradient: a backward rule forgets dy, clips it "
                                     "or adds something of its own",
                                 wrong + " 的梯度对输出梯度不是线性的：某条反向规则忘了 dy、截断了它，或自己加了东西");
    probe.measured = probe.sentence;
    return probe;
  });
}

Probe probe_two_backwards(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  return guarded("two_backwards", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    clear(decoder, in);
    const Var all = flat(decoder.run(in));
    const Tensor dy = random_like(all, 51);
    backward(all, dy, Graph::keep);
    const Gradients once = gradients_of(decoder, in);
    backward(all, dy);
    const Gradients same_graph = gradients_of(decoder, in);
    clear(decoder, in);
    for (int pass = 0; pass < 2; ++pass) backward(flat(decoder.run(in)), dy);
    const Gradients two_graphs = gradients_of(decoder, in);
    clear(decoder, in);
    probe.matrix = {names_of(decoder), {"same graph", "new graph"}, {}};
    const double bound = in.H.dtype() == f32 ? 1e-4 : 1e-12;
    std::string wrong;
    for (std::size_t k = 0; k < once.size(); ++k) {
      for (const Gradients& twice : {same_graph, two_graphs}) {
        double now = 0, before = 0, gap = 0, size = 1e-30;
        for (std::size_t i = 0; i < once[k].size(); ++i) {
          now += std::fabs(twice[k][i]);
          before += std::fabs(once[k][i]);
          size = std::max(size, std::fabs(once[k][i]));
          const double off = std::fabs(twice[k][i] - 2 * once[k][i]);
          gap = off <= gap ? gap : off;
        }
        probe.matrix.values.push_back(before == 0 ? 0 : now / before);
        if (!(gap / size <= bound) && (wrong.empty() || wrong.rfind(probe.matrix.rows[k]) == std::string::npos)) {
          wrong += (wrong.empty() ? "" : ", ") + probe.matrix.rows[k];
        }
      }
    }
    probe.passed = wrong.empty();
    probe.sentence = wrong.empty()
                         ? Words("a second backward doubles every gradient", "再做一次反向传播，每个梯度都加倍")
                         : Words("a second backward does not double the gradient of " + wrong +
                                     ": something is kept between two passes, or overwritten",
                                 "再做一次反向传播， " + wrong + " 的梯度没有加倍：两次之间留下了什么，或者覆盖了什么");
    probe.measured = probe.sentence;
    return probe;
  });
}

}  // namespace gradus
