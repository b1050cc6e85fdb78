// Dual numbers: how the derivative of a formula is found by running the formula.
//
// Take f(x) = x * x at x = 2. Instead of 2, run it on the number 2 + e, where e is so small that e * e counts as 0:
//
//     (2 + e) * (2 + e)  =  4 + 2e + 2e + e * e  =  4 + 4e
//
// The part without e is f(2) = 4; the factor of e is f'(2) = 4. Nobody told the computer that the derivative of x^2 is
// 2x: the product rule is hidden in how two such numbers multiply, (a + a'e)(b + b'e) = ab + (a'b + ab')e, the chain
// rule in how a function acts on one, f(a + a'e) = f(a) + f'(a) a'e. Teach each basic operation its own small rule,
// once, and every formula built from them carries its derivative along.
//
// With several inputs each gets an e of its own. A Dual stores its value and one partial derivative per input that it
// depends on. Which inputs those are is part of its type (`Inputs`, a set of bits): in z * n + (1 - z) * h the factor z
// knows nothing of h, and no multiplication by a zero partial is ever carried out. Values are packs of 16 floats or
// 8 doubles, so the derivative of 16 elements is found at a time.
//
// This file is the only place where derivatives of scalar functions are written. They look like the textbook: value
// first, then the derivative. At kinks the subgradient is stated: abs'(0) = 0, relu'(0) = 0, and max(a, a) gives one
// half to each. Background: Revels et al. 2018, "Dynamic automatic differentiation of GPU broadcast kernels".
#pragma once

#include <array>
#include <bit>
#include <utility>

#include "tensor/kernels/pack_math.h"

namespace gradus {

template <class V, unsigned Inputs>  // V: a pack. Inputs: bit k is set when the number depends on input k.
struct Dual {
  static constexpr int count = std::popcount(Inputs);
  V value;
  std::array<V, count> partial;  // in the order of the inputs in the set

  static constexpr bool depends_on(unsigned k) { return (Inputs >> k) & 1u; }
  const V& of(unsigned k) const { return partial[static_cast<std::size_t>(std::popcount(Inputs & ((1u << k) - 1)))]; }
};

// The number e_k was added to: value v, and d/d(input k) = 1.
template <unsigned k, class V> Dual<V, (1u << k)> seed(V v) { return {v, {V::broadcast(1)}}; }

// Chain rule with one operand: the outer derivative times every partial.
template <class V, unsigned A> Dual<V, A> chain(V value, const Dual<V, A>& a, V da) {
  Dual<V, A> result{value, {}};
  for (std::size_t i = 0; i < result.partial.size(); ++i) result.partial[i] = da * a.partial[i];
  return result;
}

// Chain rule with two operands whose sets of inputs may differ or overlap: a loop over the inputs k, unrolled by the
// compiler, as the type decides what is added for each.
template <class V, unsigned A, unsigned B, class DA, class DB>
Dual<V, (A | B)> chain(V value, const Dual<V, A>& a, DA da, const Dual<V, B>& b, DB db) {
  Dual<V, (A | B)> result{value, {}};
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    std::size_t i = 0;
    (
        [&] {
          if constexpr (Dual<V, A>::depends_on(k) && Dual<V, B>::depends_on(k)) {
            result.partial[i++] = da * a.of(k) + db * b.of(k);
          } else if constexpr (Dual<V, A>::depends_on(k)) {
            result.partial[i++] = da * a.of(k);
          } else if constexpr (Dual<V, B>::depends_on(k)) {
            result.partial[i++] = db * b.of(k);
          }
        }(),
        ...);
  }
  (std::make_index_sequence<std::bit_width(A | B)>{});
  return result;
}

// Factors of +1 and -1 that cost nothing.
struct PlusOne {
  template <class V> friend V operator*(PlusOne, V v) { return v; }
};
struct MinusOne {
  template <class V> friend V operator*(MinusOne, V v) { return -v; }
};

template <class V, unsigned A, unsigned B> auto operator+(const Dual<V, A>& a, const Dual<V, B>& b) {
  return chain(a.value + b.value, a, PlusOne{}, b, PlusOne{});
}
template <class V, unsigned A, unsigned B> auto operator-(const Dual<V, A>& a, const Dual<V, B>& b) {
  return chain(a.value - b.value, a, PlusOne{}, b, MinusOne{});
}
template <class V, unsigned A, unsigned B> auto operator*(const Dual<V, A>& a, const Dual<V, B>& b) {
  return chain(a.value * b.value, a, b.value, b, a.value);
}
template <class V, unsigned A, unsigned B> auto operator/(const Dual<V, A>& a, const Dual<V, B>& b) {
  const V quotient = a.value / b.value, inverse = 1 / b.value;
  return chain(quotient, a, inverse, b, -(quotient * inverse));
}
template <class V, unsigned A> Dual<V, A> operator-(const Dual<V, A>& a) {
  Dual<V, A> result{-a.value, {}};
  for (std::size_t i = 0; i < result.partial.size(); ++i) result.partial[i] = -a.partial[i];
  return result;
}

// With plain numbers.
template <class V, unsigned A, Number N> Dual<V, A> operator+(const Dual<V, A>& a, N n) {
  return {a.value + n, a.partial};
}
template <class V, unsigned A, Number N> Dual<V, A> operator+(N n, const Dual<V, A>& a) {
  return {n + a.value, a.partial};
}
template <class V, unsigned A, Number N> Dual<V, A> operator-(const Dual<V, A>& a, N n) {
  return {a.value - n, a.partial};
}
template <class V, unsigned A, Number N> Dual<V, A> operator-(N n, const Dual<V, A>& a) { return n + -a; }
template <class V, unsigned A, Number N> Dual<V, A> operator*(const Dual<V, A>& a, N n) {
  Dual<V, A> result{a.value * n, {}};
  for (std::size_t i = 0; i < result.partial.size(); ++i) result.partial[i] = a.partial[i] * n;
  return result;
}
template <class V, unsigned A, Number N> Dual<V, A> operator*(N n, const Dual<V, A>& a) { return a * n; }
template <class V, unsigned A, Number N> Dual<V, A> operator/(const Dual<V, A>& a, N n) {
  Dual<V, A> result{a.value / n, {}};
  for (std::size_t i = 0; i < result.partial.size(); ++i) result.partial[i] = a.partial[i] / n;
  return result;
}
template <class V, unsigned A, Number N> auto operator/(N n, const Dual<V, A>& a) {
  const V quotient = n / a.value;
  return chain(quotient, a, -(quotient / a.value));
}

// Slopes that are known from the result y.
inline constexpr auto slope_of_exp = [](auto y) { return y; };
inline constexpr auto slope_of_tanh = [](auto y) { return 1 - y * y; };
inline constexpr auto slope_of_sigmoid = [](auto y) { return y * (1 - y); };
inline constexpr auto slope_of_relu = []<class V>(V y) { return select(y > V{}, V{} + 1, V{}); };

// d exp = exp
template <class V, unsigned A> auto exp(const Dual<V, A>& a) {
  const V y = exp(a.value);
  return chain(y, a, slope_of_exp(y));
}
// d log x = 1/x
template <class V, unsigned A> auto log(const Dual<V, A>& a) { return chain(log(a.value), a, 1 / a.value); }
// d sqrt x = 1 / (2 sqrt x): infinite at 0
template <class V, unsigned A> auto sqrt(const Dual<V, A>& a) {
  const V y = sqrt(a.value);
  return chain(y, a, 0.5 / y);
}
// d tanh = 1 - tanh^2
template <class V, unsigned A> auto tanh(const Dual<V, A>& a) {
  const V y = tanh(a.value);
  return chain(y, a, slope_of_tanh(y));
}
// d sigmoid = sigmoid (1 - sigmoid)
template <class V, unsigned A> auto sigmoid(const Dual<V, A>& a) {
  const V y = sigmoid(a.value);
  return chain(y, a, slope_of_sigmoid(y));
}
// d |x| = sign x, and 0 at 0
template <class V, unsigned A> auto abs(const Dual<V, A>& a) {
  const V zero{}, one = zero + 1;
  return chain(abs(a.value), a, select(a.value > zero, one, select(a.value < zero, -one, zero)));
}
// d relu = 1 above 0, and 0 at and below it
template <class T> Pack<T> relu(Pack<T> x) { return select<T>(x < Pack<T>{}, Pack<T>{}, x); }  // NaN stays NaN
template <class V, unsigned A> auto relu(const Dual<V, A>& a) {
  return chain(relu(a.value), a, slope_of_relu(a.value));
}
// One of two by a condition (not 0: the first); the gradient goes to the chosen one only, whatever the other holds.
template <class T> Pack<T> choose(Pack<T> condition, Pack<T> a, Pack<T> b) {
  return select<T>(condition == Pack<T>{}, b, a);
}
template <class V, unsigned C, unsigned A, unsigned B>
auto choose(const Dual<V, C>& condition, const Dual<V, A>& a, const Dual<V, B>& b) {
  const V zero{};
  const auto second = condition.value == zero;
  auto result = chain(select(second, b.value, a.value), a, zero, b, zero);
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    auto pick = [&]<unsigned j>(std::integral_constant<unsigned, j>) {
      if constexpr (((A | B) >> j) & 1u) {
        V from_a{}, from_b{};
        if constexpr (Dual<V, A>::depends_on(j)) from_a = a.of(j);
        if constexpr (Dual<V, B>::depends_on(j)) from_b = b.of(j);
        result.partial[static_cast<std::size_t>(std::popcount((A | B) & ((1u << j) - 1)))] =
            select(second, from_b, from_a);
      }
    };
    (pick(std::integral_constant<unsigned, k>{}), ...);
  }
  (std::make_index_sequence<std::bit_width(A | B)>{});
  return result;
}
// The larger one gets the gradient; at a tie each gets half.
template <class V, unsigned A, unsigned B> auto max(const Dual<V, A>& a, const Dual<V, B>& b) {
  const V zero{}, one = zero + 1;
  const V to_a = select(a.value > b.value, one, select(a.value == b.value, zero + 0.5, zero));
  return chain(max(a.value, b.value), a, to_a, b, 1 - to_a);
}

}  // namespace gradus
