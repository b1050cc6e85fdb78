// The parts of Pack that work lane by lane. The end of a row is read and written by masked instructions where the
// machine has them: lane by lane it would cost as much as all the whole packs of a short row.
#include "tensor/kernels/pack.h"

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace gradus {
namespace {

#ifdef __AVX512F__
Pack<float> first_lanes(const float* from, int n) {
  return {reinterpret_cast<Pack<float>::Vector>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), from))};
}
Pack<double> first_lanes(const double* from, int n) {
  return {reinterpret_cast<Pack<double>::Vector>(_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), from))};
}
void first_lanes(float* to, int n, Pack<float> pack) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << n) - 1), reinterpret_cast<__m512>(pack.v));
}
void first_lanes(double* to, int n, Pack<double> pack) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1u << n) - 1), reinterpret_cast<__m512d>(pack.v));
}
#elif defined(__AVX__)
// All ones in the first n of eight lanes of 32 bits.
__m256i ones_first(int n) {
  static constexpr std::int32_t ones_and_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_and_zeros + 8 - n));
}
Pack<float> first_lanes(const float* from, int n) {
  return {reinterpret_cast<Pack<float>::Vector>(_mm256_maskload_ps(from, ones_first(n)))};
}
void first_lanes(float* to, int n, Pack<float> pack) {
  _mm256_maskstore_ps(to, ones_first(n), reinterpret_cast<__m256>(pack.v));
}
Pack<double> first_lanes(const double* from, int n) {
  return {reinterpret_cast<Pack<double>::Vector>(_mm256_maskload_pd(from, ones_first(2 * n)))};
}
void first_lanes(double* to, int n, Pack<double> pack) {
  _mm256_maskstore_pd(to, ones_first(2 * n), reinterpret_cast<__m256d>(pack.v));
}
#else
template <class T> Pack<T> first_lanes(const T* from, int n) {
  Pack<T> pack{};
  for (int lane = 0; lane < n; ++lane) pack.v[lane] = from[lane];
  return pack;
}
template <class T> void first_lanes(T* to, int n, Pack<T> pack) {
  for (int lane = 0; lane < n; ++lane) to[lane] = pack.v[lane];
}
#endif

}  // namespace

template <class T, int bytes> Pack<T, bytes> Pack<T, bytes>::load_first(const T* from, int n) {
  return first_lanes(from, n);
}
template <class T, int bytes> void Pack<T, bytes>::store_first(T* to, int n) const { first_lanes(to, n, *this); }

template <class T, int bytes> Pack<T, bytes> Pack<T, bytes>::load(const T* from, std::int64_t stride, int n) {
  if (stride == 0) return broadcast(*from);
  if (stride == 1) return first_lanes(from, n);
  Pack pack{};
  for (int lane = 0; lane < n; ++lane) pack.v[lane] = from[lane * stride];
  return pack;
}

template <class T, int bytes> void Pack<T, bytes>::store(T* to, std::int64_t stride, int n) const {
  if (stride == 1) return first_lanes(to, n, *this);
  for (int lane = 0; lane < n; ++lane) to[lane * stride] = v[lane];
}

template <class T, int bytes> Pack<T, bytes> Pack<T, bytes>::first(int n, T beyond) const {
  Bits number{};
  for (int lane = 0; lane < lanes; ++lane) number[lane] = lane;
  return select(number < static_cast<Int>(n), *this, broadcast(beyond));
}

template struct Pack<float>;
template struct Pack<double>;

}  // namespace gradus
