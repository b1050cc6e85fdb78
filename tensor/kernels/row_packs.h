// A row of n numbers as packs; the last one may be a part.
#pragma once

#include <type_traits>

#include "tensor/kernels/pack.h"
#include "tensor/kernels/plain.h"

namespace gradus {

template <class T> Pack<T> read(const T* from, int n) {
  return n == Pack<T>::lanes ? Pack<T>::load(from) : Pack<T>::load(from, 1, n);
}
template <class T> void write(Pack<T> pack, T* to, int n) {
  if (n == Pack<T>::lanes) pack.store(to);
  else pack.store(to, 1, n);
}

// Calls use(place, pack, count) along a row; where count < lanes, `beyond` stands behind the numbers.
// Inlined, and the last part of a row comes by itself: the loop over whole packs calls nothing, so that what `use` needs
// stays in registers.
template <class T, class Use>
[[gnu::always_inline]] inline void for_each_pack(const T* x, std::int64_t n, T beyond, Use use) {
  using P = Pack<T>;
  std::int64_t i = 0;
  for (; i + P::lanes <= n; i += P::lanes) use(i, P::load(x + i), P::lanes);
  const int rest = static_cast<int>(n - i);
  if (rest > 0) use(i, P::load(x + i, 1, rest).first(rest, beyond), rest);
}

// The same for `rows` rows of n numbers: use(place, row, count) for all rows at one place before the next place.
template <class T, class Use> [[gnu::always_inline]] inline void for_each_place(std::int64_t n, int rows, Use use) {
  std::int64_t i = 0;
  for (; i + Pack<T>::lanes <= n; i += Pack<T>::lanes) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) use(i, r, Pack<T>::lanes);
  }
  for (int r = 0; i < n && r < rows; ++r) use(i, r, static_cast<int>(n - i));
}

// Calls use(first row, how many) with four rows at a time, then with the rest one by one.
template <class Use> void in_fours(std::int64_t rows, Use use) {
  std::int64_t i = 0;
  for (; !plain_kernels() && i + 4 <= rows; i += 4) use(i, std::integral_constant<int, 4>{});
  for (; i < rows; ++i) use(i, std::integral_constant<int, 1>{});
}

}  // namespace gradus
