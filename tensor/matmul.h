// Matrix products. Transposes are views and cost nothing: matmul(x, transpose(W)) reads W where it lies.
#pragma once

#include "tensor/tensor.h"

namespace gradus {

// (..., m, k) x (..., k, n) -> (..., m, n), with equal leading axes: a plain product for matrices, one per batch entry
// for rank 3 and 4. Throws ShapeError (ranks or sizes that do not fit; vectors are refused, see dot) and DTypeError.
Tensor matmul(const Tensor& a, const Tensor& b);

// c += a b, or c = a b. Throws like matmul, and when c is stretched.
void matmul_into(Tensor& c, const Tensor& a, const Tensor& b, bool accumulate);

}  // namespace gradus
