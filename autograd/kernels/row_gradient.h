// Where a kernel puts the gradient of an input, row by row.
#pragma once

#include "autograd/var.h"

namespace gradus {

// The gradient's own memory where that has the rows which the kernel writes: row-major, and as wide as `written` says.
// Otherwise a tensor beside it, of which the columns that the input has are added at the end.
class RowGradient {
 public:
  RowGradient(Inputs& in, int k, const Shape& written) {
    if (!in.needs(k)) return;
    grad_ = &in.node(k).place(room_, fresh_);
    beside_ = !grad_->contiguous() || grad_->shape() != written;
    if (beside_) other_.make(empty(written, grad_->dtype()));
  }
  // The first number; null where no gradient is asked for.
  template <class T> T* data() {
    return !grad_ ? nullptr : (beside_ ? other_.made() : *grad_).template mutable_data<T>();
  }
  bool fresh() const { return fresh_ || beside_; }  // there is nothing yet to be added to
  void finish() {
    if (!beside_) return;
    const Axis last{grad_->rank() - 1};
    Node::Target{*grad_, fresh_}.add(narrow(other_.made(), last, 0, grad_->shape()[last]));
  }

 private:
  Tensor* grad_ = nullptr;
  bool fresh_ = false, beside_ = false;
  Room room_, other_;
};

}  // namespace gradus
