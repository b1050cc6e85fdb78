// Pack<T>: 64 bytes of numbers that are computed on together (16 floats or 8 doubles), the scalar of every fused loop.
// Plain compiler vectors: g++ and clang turn one line here into one instruction where the machine has it, and into a
// few where it has not. Functions of packs stand in pack_math.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gradus {

template <class T> struct Pack {
  static constexpr int lanes = 64 / sizeof(T);
  using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef T Vector __attribute__((vector_size(64)));
  typedef Int Bits __attribute__((vector_size(64)));  // also the type of a comparison: all ones where it holds

  Vector v;

  static Pack broadcast(T value) { return {value - Vector{}}; }  // -Vector{} keeps the sign of zero
  static Pack load(const T* from) {
    Pack pack;
    std::memcpy(&pack.v, from, 64);
    return pack;
  }
  void store(T* to) const { std::memcpy(to, &v, 64); }
  // The first n lanes (n < lanes), or elements that lie `stride` apart; the other lanes are 0.
  static Pack load(const T* from, std::int64_t stride, int n) {
    if (stride == 0) return broadcast(*from);
    Pack pack{};
    for (int lane = 0; lane < n; ++lane) pack.v[lane] = from[lane * stride];
    return pack;
  }
  void store(T* to, std::int64_t stride, int n) const {
    for (int lane = 0; lane < n; ++lane) to[lane * stride] = v[lane];
  }
  // The sum of all lanes: upper half onto lower half until one is left, the same order on every machine.
  T sum() const {
    typedef T Half __attribute__((vector_size(32)));
    typedef T Quarter __attribute__((vector_size(16)));
    Half low, high;
    std::memcpy(&low, &v, 32);
    std::memcpy(&high, reinterpret_cast<const char*>(&v) + 32, 32);
    low += high;
    Quarter first, second;
    std::memcpy(&first, &low, 16);
    std::memcpy(&second, reinterpret_cast<const char*>(&low) + 16, 16);
    first += second;
    if constexpr (lanes == 16) return (first[0] + first[2]) + (first[1] + first[3]);
    else return first[0] + first[1];
  }
  Pack first(int n) const {  // the first n lanes, 0 in the others
    Pack pack = *this;
    for (int lane = n; lane < lanes; ++lane) pack.v[lane] = 0;
    return pack;
  }
};

template <class A>
concept Number = std::is_arithmetic_v<A>;

template <class T> Pack<T> operator+(Pack<T> a, Pack<T> b) { return {a.v + b.v}; }
template <class T> Pack<T> operator-(Pack<T> a, Pack<T> b) { return {a.v - b.v}; }
template <class T> Pack<T> operator*(Pack<T> a, Pack<T> b) { return {a.v * b.v}; }
template <class T> Pack<T> operator/(Pack<T> a, Pack<T> b) { return {a.v / b.v}; }
template <class T> Pack<T> operator-(Pack<T> a) { return {-a.v}; }
template <class T, Number A> Pack<T> operator+(Pack<T> a, A b) { return {a.v + static_cast<T>(b)}; }
template <class T, Number A> Pack<T> operator-(Pack<T> a, A b) { return {a.v - static_cast<T>(b)}; }
template <class T, Number A> Pack<T> operator*(Pack<T> a, A b) { return {a.v * static_cast<T>(b)}; }
template <class T, Number A> Pack<T> operator/(Pack<T> a, A b) { return {a.v / static_cast<T>(b)}; }
template <class T, Number A> Pack<T> operator+(A a, Pack<T> b) { return {static_cast<T>(a) + b.v}; }
template <class T, Number A> Pack<T> operator-(A a, Pack<T> b) { return {static_cast<T>(a) - b.v}; }
template <class T, Number A> Pack<T> operator*(A a, Pack<T> b) { return {static_cast<T>(a) * b.v}; }
template <class T, Number A> Pack<T> operator/(A a, Pack<T> b) { return {static_cast<T>(a) / b.v}; }

// Comparisons give a mask for select(mask, where_true, where_false).
template <class T> using PackMask = typename Pack<T>::Bits;
template <class T> PackMask<T> operator>(Pack<T> a, Pack<T> b) { return a.v > b.v; }
template <class T> PackMask<T> operator<(Pack<T> a, Pack<T> b) { return a.v < b.v; }
template <class T> PackMask<T> operator==(Pack<T> a, Pack<T> b) { return a.v == b.v; }
template <class T, Number A> PackMask<T> operator>(Pack<T> a, A b) { return a > Pack<T>::broadcast(static_cast<T>(b)); }
template <class T, Number A> PackMask<T> operator<(Pack<T> a, A b) { return a < Pack<T>::broadcast(static_cast<T>(b)); }
template <class T, Number A> PackMask<T> operator==(Pack<T> a, A b) {
  return a == Pack<T>::broadcast(static_cast<T>(b));
}
template <class T> Pack<T> select(std::type_identity_t<PackMask<T>> mask, Pack<T> where_true, Pack<T> where_false) {
  return {mask ? where_true.v : where_false.v};
}

}  // namespace gradus
