// General matrix multiply for matrices with any two strides.
#pragma once

#include <cstdint>

#include "tensor/kernels/pack.h"

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

// A B that lies beyond the cache is copied by gemm on the way, its columns in bands, each in one piece. A weight is the B
// of every time step: its bands are made once, and given instead of it.
template <class T> constexpr std::int64_t band_width = 2 * Pack<T>::lanes;
template <class T> struct Bands {
  const T* data;
  std::int64_t depth;                                        // rows of B, in each band
  Bands from(std::int64_t row, std::int64_t column) const {  // column: a multiple of band_width
    return {data + column * depth + row * band_width<T>, depth};
  }
};
template <class T> bool worth_bands(const GemmSize& size);  // where gemm would copy all of B at every call
template <class T> void make_bands(std::int64_t k, std::int64_t n, const Strided<const T>& b, T* bands);  // k n numbers
// The same numbers as those of B itself, bit for bit; n is a multiple of band_width.
template <class T>
void gemm(const GemmSize& size, const Strided<const T>& a, const Bands<T>& b, const Strided<T>& c,
          const Strided<const T>& plus);

}  // namespace gradus
