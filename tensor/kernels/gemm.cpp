// C = A B in tiles that stay in registers. B is read by rows of whole packs and A number by number (broadcast), with
// any strides: so x W and x' dy need no packing at all, which is worth more than cache blocking at the sizes of
// recurrent nets (k up to some hundreds). Only a B whose rows are not contiguous is first copied into rows; what
// lies beyond the cache is copied in pieces on the way (gemm_far).
//
// Every element is summed along k in one fixed order, which depends on k alone: computing some rows or columns of C by
// themselves gives the same bits.
#include "tensor/kernels/gemm.h"

#if defined(__FMA__) && !defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "tensor/kernels/pack.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/transpose.h"

namespace gradus {
namespace {

// a b + c, rounded once. Tuned for some processors with AVX2, g++ rounds a lone chain of them twice, as that waits less:
// a row alone would have other bits than among others.
#if defined(__FMA__) && !defined(__AVX512F__)
using Floats = Pack<float>::Vector;
using Doubles = Pack<double>::Vector;
Floats multiply_add(Floats a, Floats b, Floats c) {
  return reinterpret_cast<Floats>(
      _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
}
Doubles multiply_add(Doubles a, Doubles b, Doubles c) {
  return reinterpret_cast<Doubles>(
      _mm256_fmadd_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), reinterpret_cast<__m256d>(c)));
}
#else
template <class Vector> Vector multiply_add(Vector a, Vector b, Vector c) { return a * b + c; }
#endif

// A tile of Rows x (Packs * lanes) sums: each step of k costs Packs loads of B and Rows broadcasts of A.
template <class T, int Rows, int Packs>
void tile(std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column, const T* b, std::int64_t b_row, T* c,
          std::int64_t c_row, const T* plus, std::int64_t plus_row) {
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
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const Vector factor = a[i * a_row] - Vector{};
#pragma GCC unroll 6
      for (int j = 0; j < Packs; ++j) sum[i][j] = multiply_add(factor, row[j], sum[i][j]);
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
                      const T*, std::int64_t);

// Rows of contiguous numbers that C or what is added to it consists of; `first` null: nothing is added.
template <class T> struct Rows {
  T* first;
  std::int64_t step;
  Rows at(std::int64_t row, std::int64_t column) const { return {first ? first + row * step + column : nullptr, step}; }
};

// Sums of a tile, packs of B and a factor fit into the registers; k of one part of a sum, rows of a block of A and bands
// of B into the caches. A copy of B pays for so many rows of A; with AVX-512 these are
// more than a block has, so that few_bands and Bands are for the others.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int most_rows = 11, few_rows = 3;  // 11 x 2 or 3 x 6 sums in 32 registers
constexpr std::int64_t cache_bytes = std::int64_t{1} << 20, deepest = 512, block_rows = 110;
constexpr std::int64_t few_bands = 4, many_bands = 64, rows_worth_a_copy = 512;
#else
constexpr int most_rows = 6, few_rows = 2;  // 6 x 2 or 2 x 6 sums in 16
constexpr std::int64_t cache_bytes = std::int64_t{1} << 19, deepest = 256, block_rows = 120;
constexpr std::int64_t few_bands = 8, many_bands = 64, rows_worth_a_copy = 32;
#endif
constexpr int most_packs = 6;
template <class T> constexpr std::int64_t half_cache = cache_bytes / 2 / static_cast<std::int64_t>(sizeof(T));
// Of B, where C is gone through along its rows: 64 KB, in the second cache with what else is read.
template <class T> constexpr std::int64_t near_numbers = 65536 / static_cast<std::int64_t>(sizeof(T));

// B: rows that lie `row` numbers apart, or, where depth is not 0, bands (gemm.h).
template <class T> struct Right {
  const T* data;
  std::int64_t row, depth = 0;
  Right at(std::int64_t step, std::int64_t column) const {
    return {depth > 0 ? Bands<T>{data, depth}.from(step, column).data : data + step * row + column, row, depth};
  }
};

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

// A band of columns, Packs packs wide: all m rows in tiles as even as they come (32 = 11 + 11 + 10); or `bands` side by
// side, tile by tile.
template <class T, int Packs>
void band(const GemmSize& size, const Strided<const T>& a, const T* b, std::int64_t b_row, Rows<T> c,
          Rows<const T> plus, std::int64_t bands = 1) {
  constexpr int most = most_rows, width = Packs * Pack<T>::lanes;
  static constexpr auto by_rows = tiles<T, Packs>(std::make_integer_sequence<int, most>{});
  if (size.m <= most) {
    by_rows[static_cast<std::size_t>(size.m - 1)](size.k, a.data, a.row, a.column, b, b_row, c.first, c.step,
                                                  plus.first, plus.step);
    return;
  }
  const std::int64_t count = (size.m + most - 1) / most;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t rows = size.m / count + (i < size.m % count ? 1 : 0);
    for (std::int64_t j = 0; j < bands; ++j) {
      const Rows<T> to = c.at(first, j * width);
      const Rows<const T> added = plus.at(first, j * width);
      by_rows[static_cast<std::size_t>(rows - 1)](size.k, a.data + first * a.row, a.row, a.column, b + j * width, b_row,
                                                  to.first, to.step, added.first, added.step);
    }
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
        size.k, a.data, a.row, a.column, b + column, b_row, to.first, to.step, added.first, added.step);
    column += now * lanes;
  }
  return column;
}

// The columns from `column` on.
template <class T>
void gemm_bands(const GemmSize& size, const Strided<const T>& a, const T* b, std::int64_t b_row, Rows<T> c,
                Rows<const T> plus, std::int64_t column) {
  constexpr int lanes = Pack<T>::lanes;
  // Short sums write as much as they read: rows of a C beyond the cache in pieces as long as B's part stays near.
  const bool row_by_row = size.k > 0 && size.k <= 64 && size.m * size.n > half_cache<T>;
  const std::int64_t most = row_by_row ? near_numbers<T> / (size.k * 2 * lanes) : 1;
  for (std::int64_t bands = (size.n - column) / (2 * lanes); bands > 0; bands -= most) {
    const std::int64_t now = std::min(most, bands);
    band<T, 2>(size, a, b + column, b_row, c.at(0, column), plus.at(0, column), now);
    column += now * 2 * lanes;
  }
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

// Rows of A from `first` on, copied, so that rows that lie 4 KB apart do not all begin at the same place of the cache.
template <class T>
Strided<const T> copied_rows(const Strided<const T>& a, std::int64_t first, std::int64_t rows, std::int64_t k) {
  constexpr std::int64_t row = deepest + Pack<T>::lanes;
  auto& space = scratch<T>(2);
  space.resize(static_cast<std::size_t>(block_rows * row));
  const T* from = a.data + first * a.row;
  if (a.row == 1) {  // x' of a weight's gradient: stays on its side
    for (std::int64_t j = 0; j < k; ++j) copy_strided(from + j * a.column, 1, rows, space.data() + j * block_rows);
    return {space.data(), 1, block_rows};
  }
  for (std::int64_t i = 0; i < rows; ++i) copy_strided(from + i * a.row, a.column, k, space.data() + i * row);
  return {space.data(), row, 1};
}

// `bands` bands of B, each copied into one piece, one after the other; row by row, as B lies.
template <class T> const T* copied_bands(const T* b, std::int64_t b_row, std::int64_t bands, std::int64_t k) {
  constexpr std::int64_t width = band_width<T>;
  auto& space = scratch<T>(3);
  space.resize(static_cast<std::size_t>(bands * width * k));
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < bands; ++j)
      __builtin_prefetch(b + (i + 8) * b_row + j * width);  // rows on other pages are not foreseen
    for (std::int64_t j = 0; j < bands; ++j)
      std::copy_n(b + i * b_row + j * width, width, space.data() + (j * k + i) * width);
  }
  return space.data();
}

// The same for what lies beyond the cache: an A in blocks that stay there, copied; and of a B whose rows lie so far apart
// that each is on a page of its own, some bands at a time, copied: few where they are used at once, many where each block
// of A uses them again. Or all of them, where they were made before.
template <class T>
void gemm_far(const GemmSize& size, const Strided<const T>& a, const Right<T>& b, Rows<T> c, Rows<const T> plus,
              bool copies_a, bool copies_b) {
  constexpr std::int64_t width = band_width<T>;
  const std::int64_t most = b.depth > 0            ? size.n / width
                            : !copies_b            ? 0
                            : size.m <= block_rows ? few_bands
                                                   : many_bands;
  const std::int64_t step = width * (b.depth > 0 ? b.depth : size.k);  // from one band to the next
  for (std::int64_t column = 0, end; column < size.n; column = end) {
    const std::int64_t bands = std::min(most, (size.n - column) / width);
    end = bands > 0 ? column + bands * width : size.n;
    const T* from = b.at(0, column).data;
    const T* piece = b.depth > 0 || bands == 0 ? from : copied_bands<T>(from, b.row, bands, size.k);
    for (std::int64_t m = 0; m < size.m; m += block_rows) {
      const std::int64_t rows = std::min(block_rows, size.m - m);
      const Strided<const T> block =
          copies_a ? copied_rows<T>(a, m, rows, size.k) : Strided<const T>{a.data + m * a.row, a.row, a.column};
      for (std::int64_t j = 0; j < bands; ++j)
        band<T, 2>({rows, width, size.k}, block, piece + j * step, width, c.at(m, column + j * width),
                   plus.at(m, column + j * width));
      if (bands == 0)
        gemm_rows<T>({rows, end - column, size.k}, block, from, b.row, c.at(m, column), plus.at(m, column));
    }
  }
}

std::int64_t parts_of(std::int64_t k) { return std::max<std::int64_t>(1, (k + deepest - 1) / deepest); }

// Whether B, whose rows lie so far apart, is copied: where one part of it lies beyond the cache and enough rows use it.
template <class T> bool worth_copying(const GemmSize& size, std::int64_t row) {
  return size.m >= rows_worth_a_copy && size.k / parts_of(size.k) * row >= half_cache<T>;
}

// Long sums in even parts, so that a band of B stays in cache from one tile to the next.
template <class T>
void gemm_parts(const GemmSize& size, const Strided<const T>& a, const Right<T>& b, Rows<T> c, Rows<const T> plus) {
  // Rows of x' lie side by side, so their columns come in whole lines anyway, until they are far away.
  const bool copies_a = size.n >= 256 && size.m * size.k > (a.row == 1 ? 3 : 1) * half_cache<T>;
  const bool copies_b = worth_copying<T>(size, b.row);
  const std::int64_t parts = parts_of(size.k);
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = size.k * part / parts, end = size.k * (part + 1) / parts;
    const GemmSize now{size.m, size.n, end - first};
    const Strided<const T> columns{a.data + first * a.column, a.row, a.column};
    const Rows<const T> added = part > 0 ? Rows<const T>{c.first, c.step} : plus;
    const Right<T> rows = b.at(first, 0);
    if (copies_a || copies_b || b.depth > 0) gemm_far<T>(now, columns, rows, c, added, copies_a, copies_b);
    else gemm_rows<T>(now, columns, rows.data, rows.row, c, added);
  }
}

// Rounded once where that is quick, whatever the strides: g++ would round a loop twice that it turns into packs.
template <class T> T plain_multiply_add(T a, T b, T c) {
#ifdef FP_FAST_FMA
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

template <class T>
void gemm_plain(const GemmSize& size, const Strided<const T>& a, const Strided<const T>& b, const Strided<T>& c,
                const Strided<const T>& plus) {
  for (std::int64_t i = 0; i < size.m; ++i) {
    for (std::int64_t j = 0; j < size.n; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < size.k; ++k)
        sum = plain_multiply_add(a.data[i * a.row + k * a.column], b.data[k * b.row + j * b.column], sum);
      c.data[i * c.row + j * c.column] = plus.data ? plus.data[i * plus.row + j * plus.column] + sum : sum;
    }
  }
}

// By whole bands of columns, or by rows where there are more of those, over the threads.
template <class T>
void gemm_shared(const GemmSize& size, const Strided<const T>& a, const Right<T>& b, Rows<T> c, Rows<const T> plus) {
  constexpr std::int64_t columns = 4 * Pack<T>::lanes, rows = 2 * most_rows;
  const double nanoseconds = gemm_nanoseconds<T>(size);
  if (size.n / columns >= size.m / rows) {
    parallel(size.n, columns, nanoseconds, [=](std::int64_t first, std::int64_t end) {
      gemm_parts<T>({size.m, end - first, size.k}, a, b.at(0, first), c.at(0, first), plus.at(0, first));
    });
  } else {
    parallel(size.m, rows, nanoseconds, [=](std::int64_t first, std::int64_t end) {
      gemm_parts<T>({end - first, size.n, size.k}, {a.data + first * a.row, a.row, a.column}, b, c.at(first, 0),
                    plus.at(first, 0));
    });
  }
}

// A target without contiguous rows or columns (a slice with steps) is computed beside.
template <class T>
void gemm_into(const GemmSize& size, const Strided<const T>& a, const Right<T>& b, const Strided<T>& c,
               const Strided<const T>& plus) {
  if (c.column == 1 || size.n == 1) return gemm_shared<T>(size, a, b, {c.data, c.row}, {plus.data, plus.row});
  std::vector<T> beside(static_cast<std::size_t>(size.m * size.n));
  const auto for_all = [&](auto use) {
    for (std::int64_t i = 0, at = 0; i < size.m; ++i) {
      for (std::int64_t j = 0; j < size.n; ++j) use(beside[static_cast<std::size_t>(at++)], i, j);
    }
  };
  if (plus.data) for_all([&](T& x, std::int64_t i, std::int64_t j) { x = plus.data[i * plus.row + j * plus.column]; });
  const Rows<T> rows{beside.data(), size.n};
  gemm_shared<T>(size, a, b, rows, {plus.data ? rows.first : nullptr, rows.step});
  for_all([&](T x, std::int64_t i, std::int64_t j) { c.data[i * c.row + j * c.column] = x; });
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
  gemm_into<T>(size, a, {b.data, b.row}, c, plus);
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

template <class T> bool worth_bands(const GemmSize& size) {
  // Of many rows the copy is a small part.
  return worth_copying<T>(size, size.n) && size.m <= block_rows && size.n % band_width<T> == 0;
}

template <class T> void make_bands(std::int64_t k, std::int64_t n, const Strided<const T>& b, T* bands) {
  constexpr std::int64_t width = band_width<T>;
  for (std::int64_t j = 0; j < n; j += width) {
    const T* from = b.data + j * b.column;
    T* to = bands + j * k;
    if (b.row == 1) transpose_rows(width, k, from, b.column, to, width);
    else
      for (std::int64_t i = 0; i < k; ++i) copy_strided(from + i * b.row, b.column, width, to + i * width);
  }
}

template <class T>
void gemm(const GemmSize& size, const Strided<const T>& a, const Bands<T>& b, const Strided<T>& c,
          const Strided<const T>& plus) {
  if (!plain_kernels()) return gemm_into<T>(size, a, {b.data, band_width<T>, b.depth}, c, plus);
  for (std::int64_t j = 0; j < size.n; j += band_width<T>) {
    const T* added = plus.data ? plus.data + j * plus.column : nullptr;
    gemm_plain<T>({size.m, band_width<T>, size.k}, a, {b.from(0, j).data, band_width<T>, 1},
                  {c.data + j * c.column, c.row, c.column}, {added, plus.row, plus.column});
  }
}

template void gemm<float>(const GemmSize&, const Strided<const float>&, const Strided<const float>&,
                          const Strided<float>&, const Strided<const float>&);
template void gemm<double>(const GemmSize&, const Strided<const double>&, const Strided<const double>&,
                           const Strided<double>&, const Strided<const double>&);
template void gemm<float>(const GemmSize&, const Strided<const float>&, const Bands<float>&, const Strided<float>&,
                          const Strided<const float>&);
template void gemm<double>(const GemmSize&, const Strided<const double>&, const Bands<double>&, const Strided<double>&,
                           const Strided<const double>&);
template bool worth_bands<float>(const GemmSize&);
template bool worth_bands<double>(const GemmSize&);
template void make_bands<float>(std::int64_t, std::int64_t, const Strided<const float>&, float*);
template void make_bands<double>(std::int64_t, std::int64_t, const Strided<const double>&, double*);

}  // namespace gradus
