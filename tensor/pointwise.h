// pointwise: one formula applied to every element of tensors of the same shape, in one loop.
//
//   Tensor y = pointwise([](auto a, auto b) { return a * tanh(b); }, x, w);
//
// The formula is written once, for a number; the loop hands it packs of 16 floats or 8 doubles. Operands may have any
// strides: an expanded one has stride 0 and costs nothing. Constants are operands too, so the formula captures nothing.
#pragma once

#include <utility>

#include "tensor/kernels/pack_math.h"
#include "tensor/kernels/strided_loop.h"
#include "tensor/tensor.h"

namespace gradus {
namespace detail {

template <class T, bool Add, class F, class... From>
void pointwise_rows(Tensor& target, F f, const From&... from) {
  constexpr int n = sizeof...(From) + 1;
  const StridedLoop<n> loop(target.shape(), {&target.strides(), &from.strides()...});
  const auto step = loop.row_strides();
  const std::int64_t length = loop.row_length();
  T* out = target.mutable_data<T>();
  const std::array<const T*, n> in{nullptr, from.template data<T>()...};
  using P = Pack<T>;
  loop.for_each_row([&](const std::array<std::int64_t, n>& offset) {
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      std::array<const T*, n> at{(k == 0 ? nullptr : in[k] + offset[k])...};
      T* to = out + offset[0];
      P total{};  // of a row whose target is a single stretched number
      std::int64_t i = 0;
      auto put = [&](P value, int lanes) {
        if (Add && step[0] == 0) {
          if (lanes == P::lanes) total = total + value;
          else total.v[0] += value.sum(lanes);
        } else if (step[0] == 1 && lanes == P::lanes) {
          if (Add) value = P::load(to + i) + value;
          value.store(to + i);
        } else {
          if (Add) value = P::load(to + i * step[0], step[0], lanes) + value;
          value.store(to + i * step[0], step[0], lanes);
        }
      };
      for (; i + P::lanes <= length; i += P::lanes) {
        auto whole = [&](std::size_t j) {
          return step[j] == 1 ? P::load(at[j] + i) : P::load(at[j] + i * step[j], step[j], P::lanes);
        };
        put([&]<std::size_t... j>(std::index_sequence<j...>) { return f(whole(j + 1)...); }(
                std::make_index_sequence<n - 1>{}), P::lanes);
      }
      if (i < length) {
        const int rest = static_cast<int>(length - i);
        auto part = [&](std::size_t j) { return P::load(at[j] + i * step[j], step[j], rest); };
        put([&]<std::size_t... j>(std::index_sequence<j...>) { return f(part(j + 1)...); }(
                std::make_index_sequence<n - 1>{}), rest);
      }
      if (Add && step[0] == 0) *to += total.sum();
    }(std::make_index_sequence<n>{});
  });
}

template <bool Add, class F, class First, class... Rest>
void pointwise_checked(const char* op, Tensor& target, F f, const First& first, const Rest&... rest) {
  static_assert(std::is_empty_v<F>, "a pointwise formula must capture nothing: pass constants as operands");
  check_same_shape(op, target.shape(), first.shape());
  check_same_dtype(op, target, first);
  (check_same_shape(op, first.shape(), rest.shape()), ...);
  (check_same_dtype(op, first, rest), ...);
  dispatch(target.dtype(), [&](auto t) { pointwise_rows<decltype(t), Add>(target, f, first, rest...); });
}

}  // namespace detail

// target = f(from...), element by element.
template <class F, class... From>
void pointwise_into(Tensor& target, F f, const From&... from) {
  detail::pointwise_checked<false>("pointwise_into", target, f, from...);
}

// target += f(from...). A target with a stretched axis receives the sum over that axis.
template <class F, class... From>
void pointwise_add_into(Tensor& target, F f, const From&... from) {
  detail::pointwise_checked<true>("pointwise_add_into", target, f, from...);
}

// A new row-major tensor f(first, rest...). Throws ShapeError / DTypeError, opening with `op`, when operands differ.
template <class F, class... Rest>
Tensor pointwise(const char* op, F f, const Tensor& first, const Rest&... rest) {
  Tensor result = empty(first.shape(), first.dtype());
  detail::pointwise_checked<false>(op, result, f, first, rest...);
  return result;
}

// The same, summed over one axis, which is dropped; nothing of the full shape is stored.
template <class F, class... Rest>
Tensor pointwise_sum(const char* op, F f, Axis axis, const Tensor& first, const Rest&... rest) {
  check_axis(op, first.shape(), axis);
  Tensor result = zeros(first.shape().without(axis), first.dtype());
  Tensor stretched = expand_new(result, axis, first.shape()[axis]);
  detail::pointwise_checked<true>(op, stretched, f, first, rest...);
  return result;
}

}  // namespace gradus
