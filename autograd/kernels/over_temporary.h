// Results that are written over a temporary which nobody reads again, as the product in y * a + b is. A long chain of
// large tensors then needs half the memory, and half as much of it is far from the core.
#pragma once

#include <concepts>

#include "autograd/var.h"
#include "tensor/pointwise.h"

namespace gradus::detail {

// The value of x with its memory; undefined where x has another holder, or its rule reads its result. Small values
// (worth_taking) stay, for print_tape.
Tensor take_value(const Var& x);
inline bool worth_taking(const Tensor& value) { return value.size() >= 1024; }

// f(x...) over one of x: for ops whose rules do not read their inputs and whose arguments came by value, so that a Var
// that somebody still holds has two holders.
template <class F> Tensor over_temporary(const char* op, F f, std::same_as<Var> auto&... x) {
  Var* const all[]{&x...};
  if (!worth_taking(all[0]->value())) return pointwise(op, f, x.value()...);
  for (const Var* one : all) {
    check_same_shape(op, all[0]->shape(), one->shape());
    check_same_dtype(op, all[0]->value(), one->value());
  }
  for (const Var* one : all) {
    Tensor y = take_value(*one);
    if (!y.defined()) continue;
    pointwise_into(y, f, (&x == one ? y : x.value())...);
    return y;
  }
  return pointwise(op, f, x.value()...);
}

}  // namespace gradus::detail
