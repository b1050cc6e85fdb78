// C = A B in tiles that stay in registers. B is read by rows of whole packs and A number by number (broadcast), with
// any strides: so x W and x' dy need no packing at all, which is worth more than cache blocking at the sizes of
// recurrent nets (k up to some hundreds). Only a B whose rows are not contiguous is first copied into rows.
#include "tensor/kernels/gemm.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tensor/kernels/pack.h"

namespace gradus {
namespace {

// A tile of Rows x (Packs * lanes) sums: each step of k costs Packs loads of B and Rows broadcasts of A.
template <class T, int Rows, int Packs>
void tile(std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_column, const T* b, std::int64_t b_row, T* c,
          std::int64_t c_row, bool accumulate) {
  using Vector = typename Pack<T>::Vector;
  Vector sum[Rows][Packs];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 6
    for (int j = 0; j < Packs; ++j) sum[i][j] = Vector{};
  }
  for (std::int64_t step = 0; step < k; ++step) {
    Vector row[Packs];
#pragma GCC unroll 6
    for (int j = 0; j < Packs; ++j) row[j] = Pack<T>::load(b + j * Pack<T>::lanes).v;
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
      T* to = c + i * c_row + j * Pack<T>::lanes;
      Pack<T> result{sum[i][j]};
      if (accumulate) result = Pack<T>::load(to) + result;
      result.store(to);
    }
  }
}

template <class T>
using Tile = void (*)(std::int64_t, const T*, std::int64_t, std::int64_t, const T*, std::int64_t, T*, std::int64_t,
                      bool);

constexpr int most_rows = 11;  // 11 x 2 sums, 2 packs of B and a factor fit into 32 registers
constexpr int few_rows = 3;    // 3 x 6 sums
constexpr std::int64_t cache_bytes = std::int64_t{1} << 20;

template <class T, int Packs, int... rows>
constexpr std::array<Tile<T>, sizeof...(rows)> tiles(std::integer_sequence<int, rows...>) {
  return {tile<T, rows + 1, Packs>...};
}

// One band of columns: `width` packs wide, all m rows in tiles as even as they come (32 = 11 + 11 + 10).
template <class T, int Packs>
void band(GemmSize size, Strided<const T> a, const T* b, std::int64_t b_row, T* c, std::int64_t c_row,
          bool accumulate) {
  constexpr int most = Packs > 2 ? few_rows : most_rows;
  static constexpr auto by_rows = tiles<T, Packs>(std::make_integer_sequence<int, most>{});
  const std::int64_t count = (size.m + most - 1) / most;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t rows = size.m / count + (i < size.m % count ? 1 : 0);
    by_rows[static_cast<std::size_t>(rows - 1)](size.k, a.data + first * a.row, a.row, a.column, b, b_row,
                                                c + first * c_row, c_row, accumulate);
    first += rows;
  }
}

template <class T> std::vector<T>& scratch(int which) {  // kept per thread: no allocation after the first calls
  thread_local std::vector<T> space[3];
  return space[which];
}

template <class T>
void gemm_rows(GemmSize size, Strided<const T> a, const T* b, std::int64_t b_row, T* c, std::int64_t c_row,
               bool accumulate) {
  constexpr int lanes = Pack<T>::lanes;
  std::int64_t column = 0;
  // With few rows a tile of two packs would wait for its own sums: a wide one has enough of them.
  for (; size.m <= few_rows && column + 6 * lanes <= size.n; column += 6 * lanes)
    band<T, 6>(size, a, b + column, b_row, c + column, c_row, accumulate);
  for (; column + 2 * lanes <= size.n; column += 2 * lanes)
    band<T, 2>(size, a, b + column, b_row, c + column, c_row, accumulate);
  for (; column + lanes <= size.n; column += lanes)
    band<T, 1>(size, a, b + column, b_row, c + column, c_row, accumulate);
  const std::int64_t rest = size.n - column;
  if (rest == 0) return;
  // The last columns do not fill a pack: they are computed in copies that do.
  auto& space = scratch<T>(0);
  space.assign(static_cast<std::size_t>((size.k + size.m) * lanes), T{0});
  T* padded_b = space.data();
  T* padded_c = padded_b + size.k * lanes;
  for (std::int64_t i = 0; i < size.k; ++i) std::copy_n(b + i * b_row + column, rest, padded_b + i * lanes);
  band<T, 1>(size, a, padded_b, lanes, padded_c, lanes, false);
  for (std::int64_t i = 0; i < size.m; ++i) {
    for (std::int64_t j = 0; j < rest; ++j) {
      T& to = c[i * c_row + column + j];
      to = accumulate ? to + padded_c[i * lanes + j] : padded_c[i * lanes + j];
    }
  }
}

// The same for matrices beyond the cache: A in blocks that stay there, copied so that their rows do not all begin at
// the same place of the cache (lengths like 1024 would make them).
template <class T>
void gemm_blocks(GemmSize size, Strided<const T> a, const T* b, std::int64_t b_row, T* c, std::int64_t c_row,
                 bool accumulate) {
  constexpr std::int64_t rows = 10 * most_rows, depth = 512, row = depth + Pack<T>::lanes;
  auto& space = scratch<T>(2);
  space.resize(static_cast<std::size_t>(rows * row));
  for (std::int64_t k = 0; k < size.k; k += depth) {
    for (std::int64_t m = 0; m < size.m; m += rows) {
      const GemmSize part{std::min(rows, size.m - m), size.n, std::min(depth, size.k - k)};
      const T* from = a.data + m * a.row + k * a.column;
      for (std::int64_t i = 0; i < part.m; ++i) {
        for (std::int64_t j = 0; j < part.k; ++j)
          space[static_cast<std::size_t>(i * row + j)] = from[i * a.row + j * a.column];
      }
      gemm_rows<T>(part, {space.data(), row, 1}, b + k * b_row, b_row, c + m * c_row, c_row, accumulate || k > 0);
    }
  }
}

// Plain or in blocks.
template <class T>
void gemm_any_size(GemmSize size, Strided<const T> a, const T* b, std::int64_t b_row, T* c, std::int64_t c_row,
                   bool accumulate) {
  constexpr std::int64_t most = cache_bytes / static_cast<std::int64_t>(sizeof(T));
  if (size.m * size.k > most && size.k * size.n > most / 2) gemm_blocks<T>(size, a, b, b_row, c, c_row, accumulate);
  else gemm_rows<T>(size, a, b, b_row, c, c_row, accumulate);
}

}  // namespace

template <class T> void gemm(GemmSize size, Strided<const T> a, Strided<const T> b, Strided<T> c, bool accumulate) {
  if (size.m == 0 || size.n == 0) return;
  if (c.column != 1 && size.n > 1 && (c.row == 1 || size.m == 1)) {  // C stands on its side: C' = B' A'
    gemm<T>({size.n, size.m, size.k}, {b.data, b.column, b.row}, {a.data, a.column, a.row}, {c.data, c.column, c.row},
            accumulate);
    return;
  }
  if (b.column != 1 && size.n > 1 && size.k > 0) {
    auto& space = scratch<T>(1);
    space.resize(static_cast<std::size_t>(size.k * size.n));
    constexpr std::int64_t block = 16;  // squares that stay in cache, whichever way B lies
    for (std::int64_t i0 = 0; i0 < size.k; i0 += block) {
      for (std::int64_t j0 = 0; j0 < size.n; j0 += block) {
        for (std::int64_t i = i0; i < std::min(i0 + block, size.k); ++i) {
          const T* from = b.data + i * b.row;
          T* to = space.data() + i * size.n;
          for (std::int64_t j = j0; j < std::min(j0 + block, size.n); ++j) to[j] = from[j * b.column];
        }
      }
    }
    b = {space.data(), size.n, 1};
  }
  if (c.column == 1 || size.n == 1) {
    gemm_any_size<T>(size, a, b.data, b.row, c.data, c.row, accumulate);
    return;
  }
  // A target without contiguous rows or columns (a slice with steps) is computed beside and added.
  std::vector<T> beside(static_cast<std::size_t>(size.m * size.n));
  gemm_any_size<T>(size, a, b.data, b.row, beside.data(), size.n, false);
  for (std::int64_t i = 0; i < size.m; ++i) {
    for (std::int64_t j = 0; j < size.n; ++j) {
      T& to = c.data[i * c.row + j * c.column];
      to = (accumulate ? to : T{0}) + beside[static_cast<std::size_t>(i * size.n + j)];
    }
  }
}

template void gemm<float>(GemmSize, Strided<const float>, Strided<const float>, Strided<float>, bool);
template void gemm<double>(GemmSize, Strided<const double>, Strided<const double>, Strided<double>, bool);

}  // namespace gradus
