// Ids in blocks, and sorting by place.
#include "autograd/kernels/tape_order.h"

#include <algorithm>
#include <atomic>

namespace gradus {

// Ids come in blocks, one block a thread, so that threads do not fight over a counter at every op. A block begins above
// all blocks before it; a thread that meets a newer node of another thread takes a new block.
std::uint64_t take_id(std::uint64_t above) {
  constexpr std::uint64_t block = 4096;
  static std::atomic<std::uint64_t> blocks{1};
  thread_local std::uint64_t next = 0, end = 0;
  if (next == end || next <= above) {
    next = blocks.fetch_add(block, std::memory_order_relaxed);
    end = next + block;
  }
  return next++;
}

// Ids are close to each other, so the nodes are put in order by writing each at its place, unless that would leave
// mostly gaps. A long tape does not fit into the first cache: what is needed of a node is asked for in one visit.
Tape newest_first(Node* root) {
  static std::atomic<std::uint64_t> next_mark{1};
  const std::uint64_t mark = next_mark.fetch_add(1, std::memory_order_relaxed);
  struct Found {
    std::uint64_t id;
    Node* node;  // held by the root, or by what it leads to
  };
  thread_local std::vector<Found> found;  // keeps its memory from one run to the next
  found.clear();
  Tape tape;
  const auto visit = [&](Node& node) {
    tape.untouched = tape.untouched && !node.freed && !node.grad.defined();
    found.push_back({node.id, &node});
  };
  root->mark = mark;
  visit(*root);
  std::uint64_t oldest = root->id;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Node::Edge& edge : found[i].node->inputs) {
      Node& input = *edge.node;
      if (input.mark == mark || !input.requires_grad) continue;
      input.mark = mark;
      if (input.inputs.empty() && !input.freed) continue;  // a leaf keeps what it receives
      oldest = input.id < oldest ? input.id : oldest;
      visit(input);
    }
  }
  if ((root->id - oldest) / 8 > found.size()) {
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.id > b.id; });
    for (const Found& f : found) tape.nodes.emplace_back(f.node);
  } else {
    tape.nodes.resize(root->id - oldest + 1);
    for (const Found& f : found) tape.nodes[root->id - f.id] = Ref<Node>(f.node);
  }
  return tape;
}

}  // namespace gradus
