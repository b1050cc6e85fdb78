// When a value may be written over.
#include "autograd/kernels/over_temporary.h"

#include "tensor/kernels/plain.h"

namespace gradus::detail {

Tensor take_value(const Var& x) {
  Node& node = *x.node();
  if (!node.result_unread || node.refs.load(std::memory_order_relaxed) != 1) return {};
  if (!node.value.made_dense() || !node.value.buffer().unique() || detects_anomalies() || plain_kernels()) return {};
  Tensor taken = std::move(node.value);
  node.value = Tensor(Ref<Buffer>(), taken.shape(), 0, taken.dtype());  // its gradient still asks for the shape
  return taken;
}

}  // namespace gradus::detail
