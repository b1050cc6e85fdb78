// The order of the tape: ids that rise along it, and the walk that follows them back.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/var.h"

namespace gradus {

// The next id of this thread; larger than `above`, the largest id among the inputs.
std::uint64_t take_id(std::uint64_t above = 0);

// All nodes between the root and the leaves that a gradient must pass, newest first, with empty places between them. They
// are held: one that its consumers have let go must still be there when its turn comes.
struct Tape {
  std::vector<Ref<Node>> nodes;
  bool untouched = true;  // no node has been used up or has a gradient
};
Tape newest_first(Node* root);

}  // namespace gradus
