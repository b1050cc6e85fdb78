// The parts of Pack that work lane by lane. The end of a row is read and written by masked instructions where the
// machine has them: lane by lane it would cost as much as all the whole packs of a short row.
#include "tensor/kernels/pack.h"

#ifdef __AVX512F__
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

template <class T> Pack<T> Pack<T>::load_first(const T* from, int n) { return first_lanes(from, n); }
template <class T> void Pack<T>::store_first(T* to, int n) const { first_lanes(to, n, *this); }

template <class T> Pack<T> Pack<T>::load(const T* from, std::int64_t stride, int n) {
  if (stride == 0) return broadcast(*from);
  if (stride == 1) return first_lanes(from, n);
  Pack pack{};
  for (int lane = 0; lane < n; ++lane) pack.v[lane] = from[lane * stride];
  return pack;
}

template <class T> void Pack<T>::store(T* to, std::int64_t stride, int n) const {
  if (stride == 1) return first_lanes(to, n, *this);
  for (int lane = 0; lane < n; ++lane) to[lane * stride] = v[lane];
}

template <class T> Pack<T> Pack<T>::first(int n, T beyond) const {
  Bits number{};
  for (int lane = 0; lane < lanes; ++lane) number[lane] = lane;
  return select(number < static_cast<Int>(n), *this, broadcast(beyond));
}

template struct Pack<float>;
template struct Pack<double>;

}  // namespace gradus
