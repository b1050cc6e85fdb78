// exp, log, tanh, sigmoid and friends for packs. f32 is computed branch-free on all lanes at once; f64, which only
// gradient checks use, calls the C library lane by lane.
#pragma once

#include <cmath>
#include <limits>

#include "tensor/kernels/pack.h"

namespace gradus {

template <class T, class F> Pack<T> each_lane(F f, Pack<T> x) {
  Pack<T> y;
  for (int lane = 0; lane < Pack<T>::lanes; ++lane) y.v[lane] = f(x.v[lane]);
  return y;
}

template <class T> Pack<T> sqrt(Pack<T> x) {
  return each_lane([](T a) { return std::sqrt(a); }, x);
}
// NaN from either side stays NaN.
template <class T> Pack<T> max(Pack<T> a, Pack<T> b) { return select<T>((a.v < b.v) | (b.v != b.v), b, a); }
template <class T> Pack<T> min(Pack<T> a, Pack<T> b) { return select<T>((b.v < a.v) | (b.v != b.v), b, a); }
template <class T> Pack<T> abs(Pack<T> x) {
  using Bits = typename Pack<T>::Bits;
  constexpr auto sign = std::numeric_limits<typename Pack<T>::Int>::min();
  return {reinterpret_cast<typename Pack<T>::Vector>(reinterpret_cast<Bits>(x.v) & ~(Bits{} + sign))};
}

// x held below or above a limit; NaN stays NaN. g++ makes three instructions of the comparison, and this is in every
// exponential; the processor's own instruction gives its second operand when one is NaN.
#if defined(__AVX512F__) && !defined(__clang__)
inline Pack<float> at_most(Pack<float> x, float limit) {
  return {__builtin_ia32_minps512_mask(Pack<float>::broadcast(limit).v, x.v, x.v, -1, 4)};
}
inline Pack<float> at_least(Pack<float> x, float limit) {
  return {__builtin_ia32_maxps512_mask(Pack<float>::broadcast(limit).v, x.v, x.v, -1, 4)};
}
#elif defined(__AVX__) && !defined(__clang__)
inline Pack<float> at_most(Pack<float> x, float limit) {
  return {__builtin_ia32_minps256(Pack<float>::broadcast(limit).v, x.v)};
}
inline Pack<float> at_least(Pack<float> x, float limit) {
  return {__builtin_ia32_maxps256(Pack<float>::broadcast(limit).v, x.v)};
}
#else
inline Pack<float> at_most(Pack<float> x, float limit) {
  const Pack<float> all = Pack<float>::broadcast(limit);
  return {all.v < x.v ? all.v : x.v};
}
inline Pack<float> at_least(Pack<float> x, float limit) {
  const Pack<float> all = Pack<float>::broadcast(limit);
  return {all.v > x.v ? all.v : x.v};
}
#endif

// Lane by lane in pack_math.cpp; not inline, because every formula would carry copies of these loops.
Pack<double> exp(Pack<double> x);
Pack<double> log(Pack<double> x);
Pack<double> tanh(Pack<double> x);
Pack<double> sigmoid(Pack<double> x);

// exp(x) = 2^n exp(r) with n = round(x / ln 2) and |r| <= ln(2)/2: a polynomial for exp(r), and n goes into the
// exponent bits in two halves, so that results near the ends of the range stay right.
inline Pack<float> exp(Pack<float> x) {
  using P = Pack<float>;
  const P inside = at_most(at_least(x, -104.0f), 89.0f);
  const P::Vector shifted = inside.v * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const P::Vector n = shifted - 12582912.0f;
  const P::Vector r = (inside.v - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  P::Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;                   // coefficients: Cephes, expf
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const P::Bits exponent = __builtin_convertvector(n, P::Bits);
  const P::Bits half = exponent >> 1;
  const P::Vector low = reinterpret_cast<P::Vector>((half + 127) << 23);
  const P::Vector high = reinterpret_cast<P::Vector>((exponent - half + 127) << 23);
  const P::Vector y = p * low * high;
  return {y};  // NaN stays NaN on the whole way
}

// log(x) = e ln 2 + log(m) with m in [sqrt(1/2), sqrt(2)): a polynomial in m - 1.
inline Pack<float> log(Pack<float> x) {
  using P = Pack<float>;
  const P::Bits tiny = x.v < 1.17549435e-38f;  // subnormal numbers are scaled up by 2^25 first
  const P::Vector scaled = tiny ? x.v * 33554432.0f : x.v;
  const P::Bits bits = reinterpret_cast<P::Bits>(scaled);
  P::Bits exponent = ((bits >> 23) & 0xff) - 126;
  P::Vector m = reinterpret_cast<P::Vector>((bits & 0x007fffff) | 0x3f000000);  // [0.5, 1)
  const P::Bits below = m < 0.707106781f;
  exponent = exponent + below - (tiny & 25);  // `below` is -1 where it holds
  m = (below ? m + m : m) - 1.0f;
  const P::Vector e = __builtin_convertvector(exponent, P::Vector);
  const P::Vector z = m * m;
  P::Vector p = m * 7.0376836292e-2f - 1.1514610310e-1f;  // coefficients: Cephes, logf
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  P::Vector y = p * m * z + e * -2.12194440e-4f - z * 0.5f;
  y = (m + y) + e * 0.693359375f;
  const float infinity = std::numeric_limits<float>::infinity();
  const P::Vector all_infinite = P::broadcast(infinity).v;
  y = x.v == all_infinite ? all_infinite : y;
  y = x.v == 0.0f ? -all_infinite : y;
  const P::Vector nan = P::broadcast(std::numeric_limits<float>::quiet_NaN()).v;
  return {x.v >= 0.0f ? y : nan};
}

// tanh|x| = -E / (2 + E) with E = exp(-2|x|) - 1, and E = 2^n (exp(r) - 1) + (2^n - 1) as in exp: near 0, where n = 0,
// the second part is exactly 0 and no digits are lost.
inline Pack<float> tanh(Pack<float> x) {
  using P = Pack<float>;
  const P::Bits sign = reinterpret_cast<P::Bits>(x.v) & (P::Bits{} + std::numeric_limits<std::int32_t>::min());
  const P::Vector t = -2.0f * at_most(abs(x), 9.02f).v;  // beyond 9.02 tanh rounds to 1
  const P::Vector shifted = t * 1.44269504f + 12582912.0f;
  const P::Vector n = shifted - 12582912.0f;
  const P::Vector r = (t - n * 0.693359375f) + n * 2.12194440e-4f;
  P::Vector q = r * 1.9875691500e-4f + 1.3981999507e-3f;
  q = q * r + 8.3334519073e-3f;
  q = q * r + 4.1665795894e-2f;
  q = q * r + 1.6666665459e-1f;
  q = q * r + 5.0000001201e-1f;
  const P::Vector expm1 = q * (r * r) + r;
  // The integer stands in the low bits of `shifted`; shifted left, it is the exponent of 2^n.
  const P::Vector scale = reinterpret_cast<P::Vector>((reinterpret_cast<P::Bits>(shifted) << 23) + 0x3f800000);
  const P::Vector e = scale * expm1 + (scale - 1.0f);
  const P::Vector size = -e / (2.0f + e);  // NaN stays NaN on the whole way
  return {reinterpret_cast<P::Vector>(reinterpret_cast<P::Bits>(size) | sign)};
}

inline Pack<float> sigmoid(Pack<float> x) { return {1.0f / (exp(-x).v + 1.0f)}; }

}  // namespace gradus
