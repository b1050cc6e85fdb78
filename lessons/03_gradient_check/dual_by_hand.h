// Dual numbers for reading: a value and a slope that travel together. The engine's own (autograd/dual.h) do the same
// for sixteen numbers at a time and for several inputs at once.
#pragma once

#include <cmath>

namespace gradus::lesson03 {

// value + slope e, where e * e counts as 0.
struct Dual {
  double value = 0, slope = 0;
};

inline Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
inline Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
// (a + a'e)(b + b'e) = ab + (a'b + ab')e + a'b' e e
inline Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
inline Dual operator/(Dual a, Dual b) {
  const double quotient = a.value / b.value;
  return {quotient, (a.slope - quotient * b.slope) / b.value};
}
// f(a + a'e) = f(a) + f'(a) a'e
inline Dual exp(Dual a) { return {std::exp(a.value), std::exp(a.value) * a.slope}; }
inline Dual log(Dual a) { return {std::log(a.value), a.slope / a.value}; }
inline Dual sqrt(Dual a) { return {std::sqrt(a.value), a.slope / (2 * std::sqrt(a.value))}; }
inline Dual tanh(Dual a) {
  const double y = std::tanh(a.value);
  return {y, (1 - y * y) * a.slope};
}
inline Dual sigmoid(Dual a) {
  const double y = 1 / (1 + std::exp(-a.value));
  return {y, y * (1 - y) * a.slope};
}
inline Dual relu(Dual a) { return a.value > 0 ? a : Dual{a.value * 0, 0}; }  // slope 0 at the kink
inline Dual abs(Dual a) { return {std::fabs(a.value), a.value > 0 ? a.slope : a.value < 0 ? -a.slope : 0}; }

}  // namespace gradus::lesson03
