// A tensor as matrices, which its last two axes are, one for each position of the axes before them.
#pragma once

#include "tensor/kernels/gemm.h"
#include "tensor/shape.h"

namespace gradus {

inline std::int64_t count_matrices(const Shape& shape) {
  std::int64_t count = 1;
  for (int axis = 0; axis + 2 < shape.rank(); ++axis) count *= shape[axis];
  return count;
}

// Matrix number `entry` of x, whose first element is `first`; entries are counted in row-major order.
template <class T, class X> Strided<T> matrix_of(T* first, const X& x, std::int64_t entry) {
  const int last = x.rank() - 1;
  for (int axis = last - 2; axis >= 0; entry /= x.shape()[axis--]) first += entry % x.shape()[axis] * x.strides()[axis];
  return {first, x.strides()[last - 1], x.strides()[last]};
}

}  // namespace gradus
