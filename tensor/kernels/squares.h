// The sum of squares of an array.
#pragma once

#include "tensor/kernels/pack.h"
#include "tensor/kernels/plain.h"

namespace gradus {

// Eight sums side by side, in double; the order is that of memory.
template <class T> double squares(const T* x, std::int64_t n) {
  if (plain_kernels()) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return sum;
  }
  constexpr std::int64_t lanes = Pack<double>::lanes;
  Pack<double> total{};
  for (; n >= lanes; n -= lanes, x += lanes) {
    Pack<double> part;
    for (int lane = 0; lane < lanes; ++lane) part.v[lane] = static_cast<double>(x[lane]);
    total = total + part * part;
  }
  double sum = total.sum();
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace gradus
