// The products of `linear` (autograd/ops.h) and of its gradient.
#pragma once

#include "autograd/var.h"

namespace gradus {

// x W' + b, where x (..., d_in) is given in `parts` that lie side by side: W (d_out, d_in), b (d_out) or undefined.
// All shapes have been checked.
Tensor linear_forward(const Shape& joined, const VarList& parts, const Var& W, const Var& b);
// dy (..., d_out). The inputs of the node are the parts of x, W, and b where there is one.
void linear_backward(const Tensor& dy, Inputs& in, int parts);

// The same with x joined and every product made beside what it is added to: what the others are tested against.
Tensor linear_forward_plain(const Shape& joined, const VarList& parts, const Tensor& W, const Var& b);
void linear_backward_plain(const Tensor& dy, Inputs& in, int parts);

}  // namespace gradus
