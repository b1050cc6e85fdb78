// Walks the tape and writes it down.
#include "autograd/print_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tensor/reduce.h"

namespace gradus {
namespace {

std::vector<const Node*> oldest_first(const Var& result) {
  result.value();  // throws when it holds nothing
  std::vector<const Node*> nodes{result.node().get()};
  std::set<const Node*> seen{nodes[0]};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const auto& edge : nodes[i]->inputs) {
      if (seen.insert(edge.node.get()).second) nodes.push_back(edge.node.get());
    }
  }
  std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->id < b->id; });
  return nodes;
}

// "-" where nothing has flowed in yet, and for a large value that the next op was written over.
std::string norm_of(const Tensor& x) { return x.defined() ? fmt::format("{:.4g}", norm(x)) : "-"; }

}  // namespace

std::string print_tape(const Var& result) {
  std::string out =
      fmt::format("{:>6}  {:<14} {:<14} {:>10} {:>10}  from\n", "node", "op", "shape", "|value|", "|grad|");
  for (const Node* node : oldest_first(result)) {
    std::string inputs;
    for (const auto& edge : node->inputs) inputs += fmt::format("{}{}", inputs.empty() ? "" : " ", edge.node->id);
    out += fmt::format("{:>6}  {:<14} {:<14} {:>10} {:>10}  {}\n", node->id, node->op, to_string(node->value.shape()),
                       norm_of(node->value), norm_of(node->grad), inputs);
  }
  return out;
}

std::string tape_to_dot(const Var& result) {
  std::string out = "digraph tape {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n";
  for (const Node* node : oldest_first(result)) {
    out += fmt::format("  n{} [label=\"{} {}\\n|value| {}\\n|grad| {}\"{}];\n", node->id, node->op,
                       to_string(node->value.shape()), norm_of(node->value), norm_of(node->grad),
                       node->inputs.empty() ? ", style=rounded" : "");
    for (const auto& edge : node->inputs) out += fmt::format("  n{} -> n{};\n", edge.node->id, node->id);
  }
  return out + "}\n";
}

}  // namespace gradus
