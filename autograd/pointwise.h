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

#include <tuple>

#include "autograd/kernels/pointwise_backward.h"

namespace gradus {

// An operand looked at through a view from tensor/tensor.h or as a Block, for this op alone: no node of its own is made.
//   pointwise("gate", f, seen(gates, [=](const Tensor& t) { return Block(t, 0, d_s); }), h)
template <class View> struct Seen {
  const Var& var;
  View view;
};
template <class View> Seen<View> seen(const Var& x, View view) { return {x, view}; }

// Seen through expand_new: stretched along a new axis.
inline auto spread(const Var& x, Axis axis, std::int64_t length) {
  return seen(x, [=](const Tensor& t) { return expand_new(t, axis, length); });
}

namespace detail {

template <class X> inline constexpr bool is_seen = false;
template <class View> inline constexpr bool is_seen<Seen<View>> = true;
template <class X>
concept Operand = is_seen<X> || std::is_convertible_v<X, Var>;

inline auto as_seen(const Var& x) { return Seen<std::remove_const_t<decltype(as_it_is)>>{x, as_it_is}; }
template <class View> const Seen<View>& as_seen(const Seen<View>& x) { return x; }

template <class... View>
Var record_pointwise(const char* op, Tensor&& value, const FormulaBackward<sizeof...(View)>& formula,
                     std::optional<Axis> summed, const Seen<View>&... x) {
  const Sources<View...> sources({&x.var...});
  return record(
      op, std::move(value), VarList(sources.inputs.data(), sources.count),
      [&formula, summed, of = sources.of, view = std::tuple(x.view...)](const Tensor& dy, Inputs& in) {
        pointwise_backward(formula, dy, summed, in, of, view, std::index_sequence_for<View...>{});
      },
      ResultIs::unread);
}

template <class F, class Forward, class... View>
Var run_and_record(const char* op, Forward forward, std::optional<Axis> summed, const Seen<View>&... x) {
  return record_pointwise(op, forward(x.view(x.var.value())...), formula_backward<F, sizeof...(View)>, summed, x...);
}

}  // namespace detail

// f(x...) element by element; all of one shape and dtype. `op` names the step on the tape and in errors. At least one
// operand is a Var: with Tensors alone it is the pointwise of tensor/pointwise.h.
template <class F, detail::Operand... X>
requires(!(std::is_same_v<X, Tensor> && ...)) Var pointwise(const char* op, F f, const X&... x) {
  const auto forward = [&](const auto&... value) { return pointwise(op, f, value...); };
  return detail::run_and_record<F>(op, forward, std::nullopt, detail::as_seen(x)...);
}

// The same, summed over `axis`, which is dropped. What is summed is never stored, forward or backward: the additive
// score v . tanh(q + k) over d_attn would otherwise keep (B, T_enc, d_attn) numbers per decoder step.
template <class F, detail::Operand... X>
requires(!(std::is_same_v<X, Tensor> && ...)) Var pointwise_sum(const char* op, F f, Axis axis, const X&... x) {
  const auto forward = [&](const auto&... value) { return pointwise_sum(op, f, axis, value...); };
  return detail::run_and_record<F>(op, forward, axis, detail::as_seen(x)...);
}

}  // namespace gradus
