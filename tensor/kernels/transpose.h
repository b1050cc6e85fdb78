// Rows become columns, a square of packs at a time.
#pragma once

#include <utility>

#include "tensor/kernels/pack.h"

namespace gradus {

// Of two rows that lie `step` apart in the square: each keeps half of its lanes and gets half of the other's. After
// steps of lanes / 2, ..., 2, 1 every number stands at its mirrored place.
template <int step, class V, std::size_t... lane> void exchange(V& upper, V& lower, std::index_sequence<lane...>) {
  constexpr std::size_t lanes = sizeof...(lane);
  const V first = __builtin_shufflevector(upper, lower, (lane & step ? lanes + lane - step : lane)...);
  lower = __builtin_shufflevector(upper, lower, (lane & step ? lanes + lane : lane + step)...);
  upper = first;
}

template <int step, class V> void exchange_all(V* row) {
  constexpr int lanes = sizeof(row[0]) / sizeof(row[0][0]);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    if ((i & step) == 0) exchange<step>(row[i], row[i + step], std::make_index_sequence<lanes>{});
  }
}

// to[j * to_row + i] = from[i * from_row + j] for a square of as many rows and columns as a pack has lanes.
template <class T> void transpose_square(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  constexpr int lanes = Pack<T>::lanes;
  typename Pack<T>::Vector row[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) row[i] = Pack<T>::load(from + i * from_row).v;
  if constexpr (lanes > 8) exchange_all<8>(row);
  if constexpr (lanes > 4) exchange_all<4>(row);
  if constexpr (lanes > 2) exchange_all<2>(row);
  exchange_all<1>(row);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) Pack<T>{row[i]}.store(to + i * to_row);
}

// to[j * to_row + i] = from[i * from_row + j], `rows` of them with `columns` numbers each.
template <class T>
void transpose_rows(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t from_row, T* to,
                    std::int64_t to_row) {
  constexpr std::int64_t square = Pack<T>::lanes;
  for (std::int64_t j = 0; j < columns; j += square) {
    for (std::int64_t i = 0; i < rows; i += square) {
      if (i + square <= rows && j + square <= columns) {
        transpose_square(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
        continue;
      }
      for (std::int64_t k = i; k < rows && k < i + square; ++k) {
        for (std::int64_t l = j; l < columns && l < j + square; ++l) to[l * to_row + k] = from[k * from_row + l];
      }
    }
  }
}

}  // namespace gradus
