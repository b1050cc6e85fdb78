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
// mostly gaps.
std::vector<Ref<Node>> newest_first(Node* root) {
  static std::atomic<std::uint64_t> next_mark{1};
  const std::uint64_t mark = next_mark.fetch_add(1, std::memory_order_relaxed);
  std::vector<Node*> nodes{root};
  root->mark = mark;
  std::uint64_t oldest = root->id;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Node::Edge& edge : nodes[i]->inputs) {
      Node& input = *edge.node;
      if (input.mark == mark || !input.requires_grad) continue;
      input.mark = mark;
      if (input.inputs.empty() && !input.freed) continue;  // a leaf keeps what it receives
      oldest = std::min(oldest, input.id);
      nodes.push_back(&input);
    }
  }
  std::vector<Ref<Node>> held;  // a node that its consumers have let go must still be there when its turn comes
  held.reserve(nodes.size());
  if ((root->id - oldest) / 8 > nodes.size()) {
    std::sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) { return a->id > b->id; });
    for (Node* node : nodes) held.emplace_back(node);
  } else {
    std::vector<Node*> ordered(root->id - oldest + 1);
    for (Node* node : nodes) ordered[root->id - node->id] = node;
    for (Node* node : ordered) {
      if (node) held.emplace_back(node);
    }
  }
  return held;
}

}  // namespace gradus
