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

// C = A B, or C += A B when `accumulate`. T is float or double. C must not overlap A or B.
template <class T>
void gemm(const GemmSize& size, const Strided<const T>& a, const Strided<const T>& b, const Strided<T>& c,
          bool accumulate);

}  // namespace gradus
