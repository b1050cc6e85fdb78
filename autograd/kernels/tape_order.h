// The order of the tape: ids that rise along it, and the walk that follows them back.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/var.h"

namespace gradus {

// The next id of this thread; larger than `above`, the largest id among the inputs.
std::uint64_t take_id(std::uint64_t above = 0);

// All nodes between the root and the leaves that a gradient must pass, newest first.
std::vector<Ref<Node>> newest_first(Node* root);

}  // namespace gradus
