// pointwise: one formula applied to every element of tensors of the same shape, in one loop.
//
//   Tensor y = pointwise("gate", [](auto a, auto b) { return a * tanh(b); }, x, w);
//
// The formula is written once, for a number; the loop hands it packs of 16 floats or 8 doubles. Operands may have any
// strides: an expanded one has stride 0 and costs nothing. Constants are operands too, so the formula captures nothing.
#pragma once

#include <type_traits>

#include "tensor/kernels/block.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/pointwise_plain.h"
#include "tensor/kernels/pointwise_rows.h"

namespace gradus {
namespace detail {

inline void check_operand(const char* op, const Tensor& target, const Readable auto& x) {
  if (!has_shape(x, target.shape())) refuse_shapes(op, target.shape(), x.shape());
  if (x.dtype() != target.dtype()) refuse_dtypes(op, target, as_tensor(x));
}

// The target has the shape and dtype of the first operand.
template <bool Add, class F, class First, class... Rest>
void pointwise_checked([[maybe_unused]] const char* op, Tensor& target, F f, const First& first, const Rest&... rest) {
  static_assert(std::is_empty_v<F>, "a pointwise formula must capture nothing: pass constants as operands");
  (check_operand(op, target, rest), ...);
  if (plain_kernels()) {
    constexpr auto formula = plain_formula<F>(std::index_sequence_for<First, Rest...>{});
    return pointwise_plain(target, Add, formula, {as_tensor(first), as_tensor(rest)...});
  }
  dispatch(target.dtype(), [&](auto t) { pointwise_rows<decltype(t), Add>(target, f, first, rest...); });
}

}  // namespace detail

// target = f(from...), element by element.
template <class F, class... From> void pointwise_into(Tensor& target, F f, const Tensor& first, const From&... rest) {
  check_same_shape("pointwise_into", target.shape(), first.shape());
  check_same_dtype("pointwise_into", target, first);
  detail::pointwise_checked<false>("pointwise_into", target, f, first, rest...);
}

// target += f(from...). A target with a stretched axis receives the sum over that axis.
template <class F, class... From>
void pointwise_add_into(Tensor& target, F f, const Tensor& first, const From&... rest) {
  check_same_shape("pointwise_add_into", target.shape(), first.shape());
  check_same_dtype("pointwise_add_into", target, first);
  detail::pointwise_checked<true>("pointwise_add_into", target, f, first, rest...);
}

// A new row-major tensor f(first, rest...). Throws ShapeError / DTypeError, opening with `op`, when operands differ.
template <class F, Readable First, Readable... Rest>
Tensor pointwise(const char* op, F f, const First& first, const Rest&... rest) {
  Tensor result = empty(first.shape(), first.dtype());
  detail::pointwise_checked<false>(op, result, f, first, rest...);
  return result;
}

// The same, summed over one axis, which is dropped; nothing of the full shape is stored.
template <class F, Readable First, Readable... Rest>
Tensor pointwise_sum(const char* op, F f, Axis axis, const First& first, const Rest&... rest) {
  check_axis(op, first.shape(), axis);
  Tensor result = zeros(first.shape().without(axis), first.dtype());
  Tensor stretched = expand_new(result, axis, first.shape()[axis]);
  detail::pointwise_checked<true>(op, stretched, f, first, rest...);
  return result;
}

}  // namespace gradus
