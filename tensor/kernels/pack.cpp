// The parts of Pack that work lane by lane.
#include "tensor/kernels/pack.h"

namespace gradus {

template <class T> Pack<T> Pack<T>::load(const T* from, std::int64_t stride, int n) {
  if (stride == 0) return broadcast(*from);
  Pack pack{};
  for (int lane = 0; lane < n; ++lane) pack.v[lane] = from[lane * stride];
  return pack;
}

template <class T> void Pack<T>::store(T* to, std::int64_t stride, int n) const {
  for (int lane = 0; lane < n; ++lane) to[lane * stride] = v[lane];
}

template <class T> Pack<T> Pack<T>::first(int n) const {
  Pack pack = *this;
  for (int lane = n; lane < lanes; ++lane) pack.v[lane] = 0;
  return pack;
}

template struct Pack<float>;
template struct Pack<double>;

}  // namespace gradus
