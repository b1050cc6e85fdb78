// C = A B in tiles that stay in registers. B is read by rows of whole packs and A number by number (broadcast), with
// any strides: so x W and x' dy need no packing at all, which is worth more than cache blocking at the sizes of
// recurrent nets (k up to some hundreds). Only a B whose rows are not contiguous is first copied into rows, and one
// beyond the cache on the way.
//
// Every element is summed along k in one fixed order, which depends on k alone: computing some rows or columns of C by
// themselves gives the same bits.
#include "tensor/kernels/gemm.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tensor/kernels/pack.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/transpose.h"

namespace gradus {
namespace {

// A tile of Rows x (Packs * lanes) sums: each step of k costs Packs loads of B and Rows broadcasts of A. `keep` is for a
// B beyond the cache: what is read of it is copied there, row behind row, for the tiles below, because rows that lie
// 4 KB apart drive each other out of the cache (1.3 times the speed at 1024 x 1024 with AVX2); and B's columns on the
// right, too far apart to be foreseen, are fetched. What is near is found by itself: fetching it again takes a tenth of
// the speed.
template <class T, int Rows, int Packs>
void tile(std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column, const T* b, std::int64_t b_row, T* c,
          std::int64_t c_row, const T* plus, std::int64_t plus_row, T* keep) {
  using Vector = typename Pack<T>::Vector;
  Vector sum[Rows][Packs];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 6
    for (int j = 0; j < Packs; ++j) sum[i][j] = Vector{};
  }
  if (k > 128) {  // where a long sum will go: on its way while the sum is made
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) __builtin_prefetch(c + i * c_row, 1);
  }
  for (std::int64_t step = 0; step < k; ++step) {
    Vector row[Packs];
#pragma GCC unroll 6
    for (int j = 0; j < Packs; ++j) row[j] = Pack<T>::load(b + j * Pack<T>::lanes).v;
    if (keep) {
#pragma GCC unroll 6
      for (int j = 0; j < Packs; ++j) {
        __builtin_prefetch(b + (Packs + j) * Pack<T>::lanes);
        Pack<T>{row[j]}.store(keep + j * Pack<T>::lanes);
      }
      keep += Packs * Pack<T>::lanes;
    }
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vector factor = a[i * a_row] - Vector{};
#pragma GCC unroll 6
      for (int j = 0; j < Packs; ++j) sum[i][j] += factor * row[j];
    }
    a += a_column;
    b += b_row;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 6
    for (int j = 0; j < Packs; ++j) {
      Pack<T> result{sum[i][j]};
      if (plus) result = Pack<T>::load(plus + i * plus_row + j * Pack<T>::lanes) + result;
      result.store(c + i * c_row + j * Pack<T>::lanes);
    }
  }
}

template <class T>
using Tile = void (*)(std::int64_t, const T*, std::int64_t, std::int64_t, const T*, std::int64_t, T*, std::int64_t,
                      const T*, std::int64_t, T*);

// Rows of contiguous numbers that C or what is added to it consists of; `first` null: nothing is added.
template <class T> struct Rows {
  T* first;
  std::int64_t step;
  Rows at(std::int64_t row, std::int64_t column) const { return {first ? first + row * step + column : nullptr, step}; }
};

// Sums of a tile, packs of B and a factor fit into the registers; k of one part of a sum and rows of a block of A into
// the caches.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int most_rows = 11, few_rows = 3;  // 11 x 2 or 3 x 6 sums in 32 registers
constexpr std::int64_t cache_bytes = std::int64_t{1} << 20, deepest = 512, block_rows = 110;
#else
constexpr int most_rows = 6, few_rows = 2;  // 6 x 2 or 2 x 6 sums in 16
constexpr std::int64_t cache_bytes = std::int64_t{1} << 19, deepest = 256, block_rows = 240;
#endif
constexpr int most_packs = 6;
template <class T> constexpr std::int64_t half_cache = cache_bytes / 2 / static_cast<std::int64_t>(sizeof(T));

template <class T> std::vector<T>& scratch(int which) {  // kept per thread: no allocation after the first calls
  thread_local std::vector<T> space[4];
  return space[which];
}

template <class T, int Packs, int... rows>
constexpr std::array<Tile<T>, sizeof...(rows)> tiles(std::integer_sequence<int, rows...>) {
  return {tile<T, rows + 1, Packs>...};
}

// by_packs[packs - 1][rows - 1]: tiles of few rows, up to the widest.
template <class T, int... packs>
constexpr std::array<std::array<Tile<T>, few_rows>, sizeof...(packs)> wide_tiles(std::integer_sequence<int, packs...>) {
  return {tiles<T, packs + 1>(std::make_integer_sequence<int, few_rows>{})...};
}

// One band of columns: `width` packs wide, all m rows in tiles as even as they come (32 = 11 + 11 + 10).
template <class T, int Packs>
void band(const GemmSize& size, const Strided<const T>& a, const T* b, std::int64_t b_row, Rows<T> c,
          Rows<const T> plus) {
  constexpr int most = most_rows;
  static constexpr auto by_rows = tiles<T, Packs>(std::make_integer_sequence<int, most>{});
  constexpr std::int64_t width = Packs * Pack<T>::lanes;
  T* keep = nullptr;
  if (size.k * b_row > half_cache<T> && size.m >= 8) {
    scratch<T>(3).resize(static_cast<std::size_t>(deepest * width));
    keep = scratch<T>(3).data();
  }
  if (size.m <= most) {
    by_rows[static_cast<std::size_t>(size.m - 1)](size.k, a.data, a.row, a.column, b, b_row, c.first, c.step,
                                                  plus.first, plus.step, keep);
    return;
  }
  const std::int64_t count = (size.m + most - 1) / most;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t rows = size.m / count + (i < size.m % count ? 1 : 0);
    const Rows<T> to = c.at(first, 0);
    const Rows<const T> added = plus.at(first, 0);
    by_rows[static_cast<std::size_t>(rows - 1)](size.k, a.data + first * a.row, a.row, a.column, b, b_row, to.first,
                                                to.step, added.first, added.step, keep);
    if (keep) b = std::exchange(keep, nullptr), b_row = width;
    first += rows;
  }
}

// Some columns of an outer product: `Packs` packs of the row stay in registers while the factors pass by.
template <class T, int Packs>
void outer_columns(std::int64_t m, const T* factors, std::int64_t step, const T* b, Rows<T> c, Rows<const T> plus) {
  using P = Pack<T>;
  const bool adds = plus.first;
  const P zero{};
  P row[Packs];
#pragma GCC unroll 6
  for (int j = 0; j < Packs; ++j) row[j] = P::load(b + j * P::lanes);
  for (std::int64_t i = 0; i < m; ++i) {
    const P factor = P::broadcast(factors[i * step]);
    const T* added = adds ? plus.first + i * plus.step : nullptr;
#pragma GCC unroll 6
    for (int j = 0; j < Packs; ++j) {
      const P product = zero + factor * row[j];  // a sum that begins with zero, as in a tile
      (adds ? P::load(added + j * P::lanes) + product : product).store(c.first + i * c.step + j * P::lanes);
    }
  }
}
template <class T, int... packs> constexpr auto outer_by_packs(std::integer_sequence<int, packs...>) {
  return std::array{outer_columns<T, packs + 1>...};
}

// C = P + a column times a row, as the gradient of a weight is at a batch of 1: tiles would be all preparation. Returns
// the column at which less than a pack is left.
template <class T>
[[gnu::noinline]] std::int64_t gemm_outer(const GemmSize& size, const Strided<const T>& a, const T* b, Rows<T> c,
                                          Rows<const T> plus) {
  static constexpr auto by_packs = outer_by_packs<T>(std::make_integer_sequence<int, most_packs>{});
  std::int64_t column = 0;
  for (std::int64_t packs = size.n / Pack<T>::lanes; packs > 0; packs -= most_packs) {
    const std::int64_t now = std::min<std::int64_t>(most_packs, packs);
    by_packs[static_cast<std::size_t>(now - 1)](size.m, a.data, a.row, b + column, c.at(0, column), plus.at(0, column));
    column += now * Pack<T>::lanes;
  }
  return column;
}

// Few rows in tiles as wide as there are columns: one of two packs would wait for its own sums. Returns the column at
// which less than a pack is left.
template <class T>
[[gnu::noinline]] std::int64_t gemm_few(const GemmSize& size, const Strided<const T>& a, const T* b, std::int64_t b_row,
                                        Rows<T> c, Rows<const T> plus) {
  constexpr int lanes = Pack<T>::lanes;
  static constexpr auto by_packs = wide_tiles<T>(std::make_integer_sequence<int, most_packs>{});
  std::int64_t column = 0;
  for (std::int64_t packs = size.n / lanes; packs > 0; packs -= most_packs) {
    const std::int64_t now = std::min<std::int64_t>(most_packs, packs);
    const Rows<T> to = c.at(0, column);
    const Rows<const T> added = plus.at(0, column);
    by_packs[static_cast<std::size_t>(now - 1)][static_cast<std::size_t>(size.m - 1)](
        size.k, a.data, a.row, a.column, b + column, b_row, to.first, to.step, added.first, added.step, nullptr);
    column += now * lanes;
  }
  return column;
}

// The columns from `column` on.
template <class T>
void gemm_bands(const GemmSize& size, const Strided<const T>& a, const T* b, std::int64_t b_row, Rows<T> c,
                Rows<const T> plus, std::int64_t column) {
  constexpr int lanes = Pack<T>::lanes;
  for (; column + 2 * lanes <= size.n; column += 2 * lanes)
    band<T, 2>(size, a, b + column, b_row, c.at(0, column), plus.at(0, column));
  for (; column + lanes <= size.n; column += lanes)
    band<T, 1>(size, a, b + column, b_row, c.at(0, column), plus.at(0, column));
  const std::int64_t rest = size.n - column;
  if (rest == 0) return;
  // The last columns do not fill a pack: they are computed in copies that do.
  auto& space = scratch<T>(0);
  space.assign(static_cast<std::size_t>((size.k + size.m) * lanes), T{0});
  T* padded_b = space.data();
  T* padded_c = padded_b + size.k * lanes;
  for (std::int64_t i = 0; i < size.k; ++i) std::copy_n(b + i * b_row + column, rest, padded_b + i * lanes);
  band<T, 1>(size, a, padded_b, lanes, {padded_c, lanes}, {});
  for (std::int64_t i = 0; i < size.m; ++i) {
    for (std::int64_t j = 0; j < rest; ++j) {
      const T sum = padded_c[i * lanes + j];
      c.first[i * c.step + column + j] = plus.first ? plus.first[i * plus.step + column + j] + sum : sum;
    }
  }
}

template <class T>
void gemm_rows(const GemmSize& size, const Strided<const T>& a, const T* b, std::int64_t b_row, Rows<T> c,
               Rows<const T> plus) {
  const std::int64_t column = size.k == 1          ? gemm_outer<T>(size, a, b, c, plus)
                              : size.m <= few_rows ? gemm_few<T>(size, a, b, b_row, c, plus)
                                                   : 0;
  if (column < size.n) gemm_bands<T>(size, a, b, b_row, c, plus, column);
}

template <class T> void copy_strided(const T* from, std::int64_t step, std::int64_t n, T* to) {
  if (step == 1) std::copy_n(from, n, to);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * step];
}

// The same for an A beyond the cache, in blocks that stay there. They are copied, so that rows that lie 4 KB apart do
// not all begin at the same place of the cache.
template <class T>
void gemm_blocks(const GemmSize& size, const Strided<const T>& a, const T* b, std::int64_t b_row, Rows<T> c,
                 Rows<const T> plus) {
  constexpr std::int64_t most = block_rows, row = deepest + Pack<T>::lanes;
  auto& space = scratch<T>(2);
  space.resize(static_cast<std::size_t>(most * row));
  for (std::int64_t m = 0; m < size.m; m += most) {
    const std::int64_t rows = std::min(most, size.m - m);
    const T* from = a.data + m * a.row;
    Strided<const T> block{space.data(), row, 1};
    if (a.row == 1) {  // x' of a weight's gradient: stays on its side
      block = {space.data(), 1, most};
      for (std::int64_t j = 0; j < size.k; ++j) copy_strided(from + j * a.column, 1, rows, space.data() + j * most);
    } else {
      for (std::int64_t i = 0; i < rows; ++i) copy_strided(from + i * a.row, a.column, size.k, space.data() + i * row);
    }
    gemm_rows<T>({rows, size.n, size.k}, block, b, b_row, c.at(m, 0), plus.at(m, 0));
  }
}

// Long sums in even parts, so that a band of B stays in cache from one tile to the next.
template <class T>
void gemm_parts(const GemmSize& size, const Strided<const T>& a, const T* b, std::int64_t b_row, Rows<T> c,
                Rows<const T> plus) {
  // Rows of x' lie side by side, so their columns come in whole lines anyway, until they are far away.
  const bool copied = size.n >= 256 && size.m * size.k > (a.row == 1 ? 3 : 1) * half_cache<T>;
  const std::int64_t parts = std::max<std::int64_t>(1, (size.k + deepest - 1) / deepest);
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = size.k * part / parts, end = size.k * (part + 1) / parts;
    (copied ? gemm_blocks<T> : gemm_rows<T>)({size.m, size.n, end - first},
                                             {a.data + first * a.column, a.row, a.column}, b + first * b_row, b_row, c,
                                             part > 0 ? Rows<const T>{c.first, c.step} : plus);
  }
}

template <class T>
void gemm_plain(const GemmSize& size, const Strided<const T>& a, const Strided<const T>& b, const Strided<T>& c,
                const Strided<const T>& plus) {
  for (std::int64_t i = 0; i < size.m; ++i) {
    for (std::int64_t j = 0; j < size.n; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < size.k; ++k)
        sum += a.data[i * a.row + k * a.column] * b.data[k * b.row + j * b.column];
      c.data[i * c.row + j * c.column] = plus.data ? plus.data[i * plus.row + j * plus.column] + sum : sum;
    }
  }
}

// By whole bands of columns, or by rows where there are more of those, over the threads.
template <class T>
void gemm_shared(const GemmSize& size, const Strided<const T>& a, const T* b, std::int64_t b_row, Rows<T> c,
                 Rows<const T> plus) {
  constexpr std::int64_t columns = 4 * Pack<T>::lanes, rows = 2 * most_rows;
  const double nanoseconds = gemm_nanoseconds<T>(size);
  if (size.n / columns >= size.m / rows) {
    parallel(size.n, columns, nanoseconds, [=](std::int64_t first, std::int64_t end) {
      gemm_parts<T>({size.m, end - first, size.k}, a, b + first, b_row, c.at(0, first), plus.at(0, first));
    });
  } else {
    parallel(size.m, rows, nanoseconds, [=](std::int64_t first, std::int64_t end) {
      gemm_parts<T>({end - first, size.n, size.k}, {a.data + first * a.row, a.row, a.column}, b, b_row, c.at(first, 0),
                    plus.at(first, 0));
    });
  }
}

template <class T>
void gemm_upright(const GemmSize& size, const Strided<const T>& a, Strided<const T> b, const Strided<T>& c,
                  const Strided<const T>& plus) {
  if (b.column != 1 && size.n > 1 && size.k > 0) {
    auto& space = scratch<T>(1);
    space.resize(static_cast<std::size_t>(size.k * size.n));
    if (b.row == 1) {
      transpose_rows(size.n, size.k, b.data, b.column, space.data(), size.n);
    } else {
      for (std::int64_t i = 0; i < size.k; ++i)
        copy_strided(b.data + i * b.row, b.column, size.n, space.data() + i * size.n);
    }
    b = {space.data(), size.n, 1};
  }
  if (c.column == 1 || size.n == 1) {
    gemm_shared<T>(size, a, b.data, b.row, {c.data, c.row}, {plus.data, plus.row});
    return;
  }
  // A target without contiguous rows or columns (a slice with steps) is computed beside.
  std::vector<T> beside(static_cast<std::size_t>(size.m * size.n));
  const auto for_all = [&](auto use) {
    for (std::int64_t i = 0, at = 0; i < size.m; ++i) {
      for (std::int64_t j = 0; j < size.n; ++j) use(beside[static_cast<std::size_t>(at++)], i, j);
    }
  };
  if (plus.data) for_all([&](T& x, std::int64_t i, std::int64_t j) { x = plus.data[i * plus.row + j * plus.column]; });
  const Rows<T> rows{beside.data(), size.n};
  gemm_shared<T>(size, a, b.data, b.row, rows, {plus.data ? rows.first : nullptr, rows.step});
  for_all([&](T x, std::int64_t i, std::int64_t j) { c.data[i * c.row + j * c.column] = x; });
}

template <class T>
void gemm_any(const GemmSize& size, const Strided<const T>& a, const Strided<const T>& b, const Strided<T>& c,
              const Strided<const T>& plus) {
  // What stays on one thread and in cache is not divided: the products of a batch of 1 take less time than that.
  const bool small =
      size.k <= deepest && size.m * size.k <= half_cache<T> && !worth_dividing(gemm_nanoseconds<T>(size));
  if (small && b.column == 1 && c.column == 1)
    return gemm_rows<T>(size, a, b.data, b.row, {c.data, c.row}, {plus.data, plus.row});
  gemm_upright<T>(size, a, b, c, plus);
}

template <class T> Strided<T> turned(const Strided<T>& x) { return {x.data, x.column, x.row}; }

}  // namespace

template <class T>
void gemm(const GemmSize& size, const Strided<const T>& a, const Strided<const T>& b, const Strided<T>& c,
          const Strided<const T>& plus) {
  if (plain_kernels()) return gemm_plain(size, a, b, c, plus);
  if (size.m == 0 || size.n == 0) return;
  const bool on_its_side = c.column != 1 && size.n > 1 && (c.row == 1 || size.m == 1);
  if (!on_its_side) return gemm_any<T>(size, a, b, c, plus);
  gemm_any<T>({size.n, size.m, size.k}, turned(b), turned(a), turned(c), turned(plus));  // C' = B' A'
}

template void gemm<float>(const GemmSize&, const Strided<const float>&, const Strided<const float>&,
                          const Strided<float>&, const Strided<const float>&);
template void gemm<double>(const GemmSize&, const Strided<const double>&, const Strided<const double>&,
                           const Strided<double>&, const Strided<const double>&);

}  // namespace gradus
