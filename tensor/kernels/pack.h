// Pack<T>: the numbers that the machine computes on together, the scalar of every fused loop: 16 floats or 8 doubles
// with AVX-512, half as many with AVX, a quarter elsewhere. Plain compiler vectors, of which g++ and clang turn one line
// here into one instruction. Wider than the machine's registers g++ keeps them in memory: products took 40 times as
// long. Functions of packs stand in pack_math.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace gradus {

#if defined(__AVX512F__)
constexpr int pack_bytes = 64;
#elif defined(__AVX__)
constexpr int pack_bytes = 32;
#else
constexpr int pack_bytes = 16;
#endif

// The sum of all lanes: upper half onto lower half until one is left. Shuffles and no memcpy: a pack that goes through
// memory in two halves stalls the loop that fills it.
template <class V, std::size_t... lane> auto sum_of_lanes(V v, std::index_sequence<lane...>) {
  constexpr std::size_t half = sizeof...(lane);
  if constexpr (half == 1) return v[0] + v[1];
  else if constexpr (half == 2) return (v[0] + v[2]) + (v[1] + v[3]);
  else
    return sum_of_lanes(__builtin_shufflevector(v, v, lane...) + __builtin_shufflevector(v, v, half + lane...),
                        std::make_index_sequence<half / 2>{});
}

// `bytes` is part of the type, and so of every function's name: what was compiled for another machine does not link.
template <class T, int bytes = pack_bytes> struct Pack {
  static constexpr int lanes = bytes / sizeof(T);
  using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef T Vector __attribute__((vector_size(bytes)));
  typedef Int Bits __attribute__((vector_size(bytes)));  // also the type of a comparison: all ones where it holds

  Vector v;

  static Pack broadcast(T value) { return {value - Vector{}}; }  // -Vector{} keeps the sign of zero
  static Pack load(const T* from) {
    Pack pack;
    std::memcpy(&pack.v, from, bytes);
    return pack;
  }
  void store(T* to) const { std::memcpy(to, &v, bytes); }
  // The first n lanes, from or to elements that lie `stride` apart; the other lanes are 0. For the ends of rows and for
  // odd strides: not inline (pack.cpp), so that every formula does not carry copies of these loops.
  static Pack load(const T* from, std::int64_t stride, int n);
  void store(T* to, std::int64_t stride, int n) const;
  static Pack load_first(const T* from, int n);  // the same for stride 1
  void store_first(T* to, int n) const;
  T sum() const { return sum_of_lanes(v, std::make_index_sequence<lanes / 2>{}); }
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
