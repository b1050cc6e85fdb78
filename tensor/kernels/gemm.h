// General matrix multiply for matrices with any two strides.
#pragma once

#include <cstdint>

namespace gradus {

struct GemmSize {
  std::int64_t m, n, k;  // C is (m, n), A (m, k), B (k, n)
};
template <class T> struct Strided {  // element (i, j) is at data[i * row + j * column]
  T* data;
  std::int64_t row, column;
};

template <class T> Strided<const T> as_const(const Strided<T>& x) { return {x.data, x.row, x.column}; }

// About what it takes on one thread, for those who divide work.
template <class T> double gemm_nanoseconds(const GemmSize& size) {
  return 0.01 * static_cast<double>(size.m * size.n * size.k) * sizeof(T) / 4;
}

// C = A B, or C = P + A B where `plus` has data: C itself, or a bias with row 0; P's numbers must lie along an axis as
// C's do where that is contiguous. T is float or double. C must not overlap A or B.
template <class T>
void gemm(const GemmSize& size, const Strided<const T>& a, const Strided<const T>& b, const Strided<T>& c,
          const Strided<const T>& plus);

}  // namespace gradus
