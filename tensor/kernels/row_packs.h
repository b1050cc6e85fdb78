// A row of n numbers as packs; the last one may be a part.
#pragma once

#include "tensor/kernels/pack.h"

namespace gradus {

template <class T> Pack<T> read(const T* from, int n) {
  return n == Pack<T>::lanes ? Pack<T>::load(from) : Pack<T>::load(from, 1, n);
}
template <class T> void write(Pack<T> pack, T* to, int n) {
  if (n == Pack<T>::lanes) pack.store(to);
  else pack.store(to, 1, n);
}

// Calls use(place, pack, count) along a row; where count < lanes, `beyond` stands behind the numbers.
// Inlined, so that what `use` needs stays in registers.
template <class T, class Use>
[[gnu::always_inline]] inline void for_each_pack(const T* x, std::int64_t n, T beyond, Use use) {
  using P = Pack<T>;
  for (std::int64_t i = 0; i < n; i += P::lanes) {
    const int count = n - i < P::lanes ? static_cast<int>(n - i) : P::lanes;
    use(i, count == P::lanes ? P::load(x + i) : P::load(x + i, 1, count).first(count, beyond), count);
  }
}

}  // namespace gradus
