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
  // The first n lanes, from or to elements that lie `stride` apart; the other lanes are 0. For the ends of rows and for
  // odd strides: not inline (pack.cpp), so that every formula does not carry copies of these loops.
  static Pack load(const T* from, std::int64_t stride, int n);
  void store(T* to, std::int64_t stride, int n) const;
  static Pack load_first(const T* from, int n);  // the same for stride 1
  void store_first(T* to, int n) const;
  // The sum of all lanes: upper half onto lower half until one is left, the same order on every machine. Shuffles and
  // no memcpy: a pack that goes through memory in two halves stalls the loop that fills it.
  T sum() const {
    if constexpr (lanes == 16) {
      const auto half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
      const auto quarter =
          __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
      return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
    } else {
      const auto half = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
      return (half[0] + half[2]) + (half[1] + half[3]);
    }
  }
  Pack first(int n, T beyond = 0) const;  // the first n lanes, `beyond` in the others
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
