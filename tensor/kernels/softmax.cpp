// A row in three passes over packs: the largest number, the exponentials and their sum, the quotients. Each pass waits
// for one number out of the pass before it, so four rows go side by side and wait together.
#include "tensor/kernels/softmax.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "tensor/error.h"
#include "tensor/kernels/pack_math.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/row_packs.h"

namespace gradus {
namespace {

template <class T> constexpr T nothing = -std::numeric_limits<T>::infinity();

// All ones where a position is allowed, for the first n lanes. (g++ 12 would widen bytes one by one.)
template <class T> PackMask<T> mask_of(const std::uint8_t* allowed, int n) {
  std::uint8_t bytes[16] = {};
  if (n == Pack<T>::lanes) std::memcpy(bytes, allowed, Pack<T>::lanes);
  else std::memcpy(bytes, allowed, static_cast<std::size_t>(n));
  PackMask<T> wide;
#if defined(__AVX512F__)
  const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  wide = reinterpret_cast<PackMask<T>>(sizeof(T) == 4 ? _mm512_maskz_cvtepu8_epi32(0xffff, narrow)
                                                      : _mm512_maskz_cvtepu8_epi64(0xff, narrow));
#elif defined(__AVX2__)  // eight bytes, as they were written: sixteen would have to wait for the zeros beside them
  const __m128i narrow = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
  wide = reinterpret_cast<PackMask<T>>(sizeof(T) == 4 ? _mm256_cvtepu8_epi32(narrow) : _mm256_cvtepu8_epi64(narrow));
#else
  for (int lane = 0; lane < Pack<T>::lanes; ++lane) wide[lane] = bytes[lane];
#endif
  return wide != 0;
}

template <class T> T largest_plain(const T* x, std::int64_t n) {
  T result = nothing<T>;
  for (std::int64_t i = 0; i < n; ++i) result = x[i] > result || x[i] != x[i] ? x[i] : result;
  return result;
}

template <class T> T sum_of_exp_plain(const T* x, T shift, std::int64_t n) {
  T total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += std::exp(x[i] - shift);
  return total;
}

template <class T> bool softmax_row_plain(const T* x, const std::uint8_t* allowed, std::int64_t n, T* out) {
  T shift = nothing<T>, total = 0;
  bool any = false;
  for (std::int64_t i = 0; i < n; ++i) {
    if (allowed && !allowed[i]) continue;
    any = true;
    shift = x[i] > shift || x[i] != x[i] ? x[i] : shift;
  }
  for (std::int64_t i = 0; i < n; ++i) total += out[i] = allowed && !allowed[i] ? T{0} : std::exp(x[i] - shift);
  for (std::int64_t i = 0; i < n; ++i) out[i] = any ? out[i] / total : T{0};
  return any;
}

template <class T> void softmax_row_gradient_plain(const T* y, const T* dy, std::int64_t n, T* dx, bool add) {
  T inner = 0;
  for (std::int64_t i = 0; i < n; ++i) inner += y[i] * dy[i];
  for (std::int64_t i = 0; i < n; ++i) dx[i] = (add ? dx[i] : T{0}) + y[i] * (dy[i] - inner);
}

template <int by, class T, std::size_t... lane> Pack<T> turned(Pack<T> p, std::index_sequence<lane...>) {
  return {__builtin_shufflevector(p.v, p.v, (lane + by) % Pack<T>::lanes...)};
}

// The largest lane; NaN when there is one.
template <class T> T largest_lane(Pack<T> p) {
  constexpr auto lanes = std::make_index_sequence<Pack<T>::lanes>{};
  if constexpr (Pack<T>::lanes > 8) p = max(p, turned<8>(p, lanes));
  if constexpr (Pack<T>::lanes > 4) p = max(p, turned<4>(p, lanes));
  if constexpr (Pack<T>::lanes > 2) p = max(p, turned<2>(p, lanes));
  return max(p, turned<1>(p, lanes)).v[0];
}

// The softmax of `rows` rows; how many of them come before the first one of which nothing is allowed.
template <int rows, class T>
int softmax_together(const T* x, const std::uint8_t* allowed, std::int64_t n, std::int64_t step, T* out) {
  using P = Pack<T>;
  P all[rows], total[rows], shift[rows];
  T sum[rows];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) all[r] = P::broadcast(nothing<T>), total[r] = P{};
  for_each_place<T>(n, rows, [&](std::int64_t i, int r, int count) {
    P p = read(x + r * step + i, count);
    if (count != P::lanes) p = p.first(count, nothing<T>);
    if (allowed) p = select(mask_of<T>(allowed + r * step + i, count), p, P::broadcast(nothing<T>));
    all[r] = max(all[r], p);
  });
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) shift[r] = P::broadcast(largest_lane(all[r]));
  for_each_place<T>(n, rows, [&](std::int64_t i, int r, int count) {
    P e = exp(read(x + r * step + i, count) - shift[r]);
    if (allowed) e = select(mask_of<T>(allowed + r * step + i, count), e, P{});
    total[r] = total[r] + (count == P::lanes ? e : e.first(count));
    write(e, out + r * step + i, count);
  });
  int found = rows;
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    sum[r] = total[r].sum();
    if (sum[r] == 0 && allowed && found == rows) found = r;  // where something is allowed, the largest gives e^0 = 1
    if (sum[r] == 0) sum[r] = 1;
  }
  for_each_place<T>(n, rows, [&](std::int64_t i, int r, int count) {
    write(read(out + r * step + i, count) / sum[r], out + r * step + i, count);
  });
  return found;
}

template <int rows, class T>
void gradient_together(const T* y, const T* dy, std::int64_t n, std::int64_t step, T* dx, bool add) {
  using P = Pack<T>;
  P total[rows], inner[rows];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) total[r] = P{};
  for_each_place<T>(n, rows, [&](std::int64_t i, int r, int count) {
    total[r] = total[r] + read(y + r * step + i, count) * read(dy + r * step + i, count);
  });
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) inner[r] = P::broadcast(total[r].sum());
  for_each_place<T>(n, rows, [&](std::int64_t i, int r, int count) {
    T* to = dx + r * step + i;
    const P change = read(y + r * step + i, count) * (read(dy + r * step + i, count) - inner[r]);
    write(add ? read(to, count) + change : change, to, count);
  });
}

}  // namespace

template <class T> T largest(const T* x, std::int64_t n) {
  if (plain_kernels()) return largest_plain(x, n);
  Pack<T> all = Pack<T>::broadcast(nothing<T>);
  for_each_pack(x, n, nothing<T>, [&](std::int64_t, Pack<T> p, int) { all = max(all, p); });
  return largest_lane(all);
}

template <class T> T sum_of_exp(const T* x, T shift, std::int64_t n) {
  if (plain_kernels()) return sum_of_exp_plain(x, shift, n);
  Pack<T> total{};
  for_each_pack(x, n, nothing<T>, [&](std::int64_t, Pack<T> p, int count) {
    total = total + exp(p - Pack<T>::broadcast(shift)).first(count);
  });
  return total.sum();
}

template <class T>
std::int64_t softmax_rows(const T* x, const std::uint8_t* allowed, std::int64_t n, std::int64_t rows, std::int64_t step,
                          T* out) {
  std::int64_t empty = -1;
  in_fours(rows, [&]<int count>(std::int64_t i, std::integral_constant<int, count>) {
    const std::int64_t at = i * step;
    const std::uint8_t* mask = allowed ? allowed + at : nullptr;
    int found = count;
    if (plain_kernels()) found = softmax_row_plain(x + at, mask, n, out + at) ? 1 : 0;
    else found = softmax_together<count>(x + at, mask, n, step, out + at);
    if (found < count && empty < 0) empty = i + found;
  });
  return empty;
}

template <class T>
void softmax_rows_gradient(const T* y, const T* dy, std::int64_t n, std::int64_t rows, std::int64_t step, T* dx,
                           bool add) {
  in_fours(rows, [&]<int count>(std::int64_t i, std::integral_constant<int, count>) {
    const std::int64_t at = i * step;
    if (plain_kernels()) softmax_row_gradient_plain(y + at, dy + at, n, dx + at, add);
    else gradient_together<count>(y + at, dy + at, n, step, dx + at, add);
  });
}

void refuse_empty_row(std::int64_t row) {
  throw ValueError("softmax: row " + std::to_string(row) +
                   " of the mask allows nothing, so no weights exist; drop that row, or ask for EmptyRow::zeros");
}

template std::int64_t softmax_rows(const float*, const std::uint8_t*, std::int64_t, std::int64_t, std::int64_t, float*);
template std::int64_t softmax_rows(const double*, const std::uint8_t*, std::int64_t, std::int64_t, std::int64_t,
                                   double*);
template float sum_of_exp(const float*, float, std::int64_t);
template double sum_of_exp(const double*, double, std::int64_t);
template float largest(const float*, std::int64_t);
template double largest(const double*, std::int64_t);
template void softmax_rows_gradient(const float*, const float*, std::int64_t, std::int64_t, std::int64_t, float*, bool);
template void softmax_rows_gradient(const double*, const double*, std::int64_t, std::int64_t, std::int64_t, double*,
                                    bool);

}  // namespace gradus
