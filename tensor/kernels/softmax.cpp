// A row in three passes over packs: the largest number, the exponentials and their sum, the quotients.
#include "tensor/kernels/softmax.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cmath>
#include <limits>
#include <utility>

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
#ifdef __AVX512F__
  const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  wide = reinterpret_cast<PackMask<T>>(sizeof(T) == 4 ? _mm512_maskz_cvtepu8_epi32(0xffff, narrow)
                                                      : _mm512_maskz_cvtepu8_epi64(0xff, narrow));
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
  if constexpr (Pack<T>::lanes == 16) p = max(p, turned<8>(p, lanes));
  p = max(p, turned<4>(p, lanes));
  p = max(p, turned<2>(p, lanes));
  return max(p, turned<1>(p, lanes)).v[0];
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

template <class T> bool softmax_row(const T* x, const std::uint8_t* allowed, std::int64_t n, T* out) {
  using P = Pack<T>;
  if (plain_kernels()) return softmax_row_plain(x, allowed, n, out);
  P all = P::broadcast(nothing<T>), total{};
  for_each_pack(x, n, nothing<T>, [&](std::int64_t i, P p, int count) {
    if (allowed) p = select(mask_of<T>(allowed + i, count), p, P::broadcast(nothing<T>));
    all = max(all, p);
  });
  const P shift = P::broadcast(largest_lane(all));
  for_each_pack(x, n, nothing<T>, [&](std::int64_t i, P p, int count) {
    P e = exp(p - shift);
    if (allowed) e = select(mask_of<T>(allowed + i, count), e, P{});
    total = total + (count == P::lanes ? e : e.first(count));
    write(e, out + i, count);
  });
  const T sum = total.sum();
  if (sum == 0) return !allowed;  // nothing is allowed: where something is, the largest gives e^0 = 1
  for_each_pack(out, n, T{0}, [&](std::int64_t i, P e, int count) { write(e / sum, out + i, count); });
  return true;
}

template <class T> void softmax_row_gradient(const T* y, const T* dy, std::int64_t n, T* dx, bool add) {
  using P = Pack<T>;
  if (plain_kernels()) return softmax_row_gradient_plain(y, dy, n, dx, add);
  P total{};
  for_each_pack(y, n, T{0}, [&](std::int64_t i, P p, int count) { total = total + p * read(dy + i, count); });
  const P inner = P::broadcast(total.sum());
  for_each_pack(y, n, T{0}, [&](std::int64_t i, P p, int count) {
    const P change = p * (read(dy + i, count) - inner);
    write(add ? read(dx + i, count) + change : change, dx + i, count);
  });
}

template bool softmax_row(const float*, const std::uint8_t*, std::int64_t, float*);
template bool softmax_row(const double*, const std::uint8_t*, std::int64_t, double*);
template float sum_of_exp(const float*, float, std::int64_t);
template double sum_of_exp(const double*, double, std::int64_t);
template float largest(const float*, std::int64_t);
template double largest(const double*, std::int64_t);
template void softmax_row_gradient(const float*, const float*, std::int64_t, float*, bool);
template void softmax_row_gradient(const double*, const double*, std::int64_t, double*, bool);

}  // namespace gradus
