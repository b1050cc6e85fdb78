// What is made of a node's value and kept: a weight's other order, or its bands, which every time step reads.
#include <mutex>

#include "autograd/var.h"

namespace gradus {

// Threads that train on the same weights may ask at once; the lists are short, so that one lock serves all nodes.
const Tensor& Node::made(Make make) {
  static std::mutex lists;
  std::unique_lock lock(lists, std::defer_lock);
  if (!alone()) lock.lock();
  std::unique_ptr<Kept>* place = &kept;
  while (*place && (*place)->make != make) place = &(*place)->next;
  if (!*place) place->reset(new Kept{make, {}, {}, 0, {}});
  Kept& found = **place;
  if (found.from.get() != value.buffer().get() || found.version != value.version()) {
    found.made = make(value);
    found.from = value.buffer();
    found.version = value.version();
  }
  return found.made;
}

}  // namespace gradus
