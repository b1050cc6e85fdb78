// pointwise for Vars: write the formula, and its gradient comes for free.
//
//   Var swish(const Var& x) {
//     return pointwise("swish", [](auto x) { return x * sigmoid(x); }, x);
//   }
//
// Forward runs the formula on numbers. Backward runs the same formula on dual numbers (dual.h) in one loop over all
// elements and adds dy times each partial derivative to the gradient of that operand. An expanded operand has stride 0,
// and so has its gradient: adding at its address is the sum over the stretched axis.
#pragma once

#include "autograd/dual.h"
#include "autograd/var.h"
#include "tensor/pointwise.h"

namespace gradus {
namespace detail {

// Adds dy * df/dx_k to grad[k] for each k whose tensor is defined (or writes it, where that is fresh).
template <class T, class F, std::size_t... k>
void pointwise_backward_rows(F f, const Tensor& dy, std::array<const Tensor*, sizeof...(k)> x,
                             std::array<Node::Target, sizeof...(k)> grad, std::index_sequence<k...>) {
  constexpr std::size_t n = sizeof...(k);
  using P = Pack<T>;
  const StridedLoop<2 * n + 1> loop(
      dy.shape(), {&dy.strides(), &x[k]->strides()..., &(grad[k].grad.defined() ? grad[k].grad : *x[k]).strides()...});
  const auto step = loop.row_strides();
  const std::int64_t length = loop.row_length();
  const std::array<const T*, n> value{x[k]->template data<T>()...};
  const std::array<T*, n> target{(grad[k].grad.defined() ? grad[k].grad.template mutable_data<T>() : nullptr)...};
  const T* upstream = dy.data<T>();
  loop.for_each_row([&](const std::array<std::int64_t, 2 * n + 1>& offset) {
    const T* from = upstream + offset[0];
    const std::array<const T*, n> at{(value[k] + offset[1 + k])...};
    const std::array<T*, n> to{(target[k] ? target[k] + offset[1 + n + k] : nullptr)...};
    std::array<P, n> total{};  // for operands stretched along the row
    for (std::int64_t i = 0; i < length; i += P::lanes) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(P::lanes, length - i));
      auto load = [&](const T* row, std::int64_t stride) {
        return stride == 1 && lanes == P::lanes ? P::load(row + i) : P::load(row + i * stride, stride, lanes);
      };
      const auto y = f(seed<k>(load(at[k], step[1 + k]))...);
      const P incoming = load(from, step[0]);
      auto add = [&]<unsigned j>(std::integral_constant<unsigned, j>) {
        if constexpr (std::remove_cvref_t<decltype(y)>::depends_on(j)) {
          if (!to[j]) return;
          const P dx = incoming * y.of(j);
          const std::int64_t stride = step[1 + n + j];
          if (stride == 0) {
            total[j] = total[j] + (lanes == P::lanes ? dx : dx.first(lanes));
          } else if (stride == 1 && lanes == P::lanes) {
            (grad[j].fresh ? dx : P::load(to[j] + i) + dx).store(to[j] + i);
          } else {
            T* place = to[j] + i * stride;
            (grad[j].fresh ? dx : P::load(place, stride, lanes) + dx).store(place, stride, lanes);
          }
        }
      };
      (add(std::integral_constant<unsigned, k>{}), ...);
    }
    ((to[k] && step[1 + n + k] == 0 ? void(*to[k] += total[k].sum()) : void()), ...);
  });
}

template <class F, std::size_t... k>
void pointwise_backward(const Tensor& dy, Inputs& in, std::index_sequence<k...> all) {
  const std::array<const Tensor*, sizeof...(k)> x{&in.value(k)...};
  std::array<Node::Target, sizeof...(k)> grad{(in.needs(k) ? in.target(k) : Node::Target{})...};
  // What is written must be written by one operand alone: not where x and a view of x share a gradient, and not where
  // the formula ignores the operand.
  using Y = decltype(F{}(seed<k>(Pack<float>{})...));
  for (std::size_t i = 0; i < grad.size(); ++i) {
    bool alone = Y::depends_on(static_cast<unsigned>(i));
    for (std::size_t j = 0; j < grad.size(); ++j)
      alone = alone && (j == i || grad[j].grad.buffer().get() != grad[i].grad.buffer().get());
    if (!grad[i].fresh || alone) continue;
    fill_(grad[i].grad, 0);
    grad[i].fresh = false;
  }
  dispatch(dy.dtype(), [&](auto t) { pointwise_backward_rows<decltype(t)>(F{}, dy, x, grad, all); });
}

}  // namespace detail

// f(first, rest...) element by element; all of one shape and dtype. `op` names the step on the tape and in errors.
template <class F, class... Rest>
requires(std::is_convertible_v<Rest, Var>&&...) Var
    pointwise(const char* op, F f, const Var& first, const Rest&... rest) {
  const std::vector<Var> inputs{first, rest...};
  return [&]<std::size_t... k>(std::index_sequence<k...> all) {
    return record(op, pointwise(op, f, inputs[k].value()...), inputs,
                  [all](const Tensor& dy, Inputs& in) { detail::pointwise_backward<F>(dy, in, all); });
  }
  (std::make_index_sequence<sizeof...(Rest) + 1>{});
}

// The same, summed over `axis`, which is dropped. What is summed is never stored, forward or backward: the additive
// score v . tanh(q + k) over d_attn would otherwise keep (B, T_enc, d_attn) numbers per decoder step.
template <class F, class... Rest>
requires(std::is_convertible_v<Rest, Var>&&...) Var
    pointwise_sum(const char* op, F f, Axis axis, const Var& first, const Rest&... rest) {
  const std::vector<Var> inputs{first, rest...};
  check_axis(op, first.shape(), axis);
  const std::int64_t length = first.shape()[axis];
  return [&]<std::size_t... k>(std::index_sequence<k...> all) {
    return record(op, pointwise_sum(op, f, axis, inputs[k].value()...), inputs,
                  [all, axis, length](const Tensor& dy, Inputs& in) {
                    detail::pointwise_backward<F>(expand_new(dy, axis, length), in, all);
                  });
  }
  (std::make_index_sequence<sizeof...(Rest) + 1>{});
}

}  // namespace gradus
