// The inner loops of the gradient of pointwise: the formula on dual numbers, row by row.
#pragma once

#include <tuple>

#include "autograd/dual.h"
#include "autograd/var.h"
#include "tensor/pointwise.h"

namespace gradus::detail {

// Adds dy * df/dx_k to grad[k] for each k whose tensor is defined, or writes it where that is fresh. Rows as in
// tensor/kernels/pointwise_rows.h.
template <class T, class F, std::size_t... k>
void pointwise_backward_rows(F f, const Tensor& dy, std::array<const Tensor*, sizeof...(k)> x,
                             std::array<Node::Target, sizeof...(k)>& grad, std::index_sequence<k...>) {
  constexpr std::size_t n = sizeof...(k);
  using P = Pack<T>;
  const StridedLoop<2 * n + 1> all(
      dy.shape(), {&dy.strides(), &x[k]->strides()..., &(grad[k].grad.defined() ? grad[k].grad : *x[k]).strides()...});
  const std::array<const T*, n> value{x[k]->template data<T>()...};
  const std::array<T*, n> target{(grad[k].grad.defined() ? grad[k].grad.template mutable_data<T>() : nullptr)...};
  const T* upstream = dy.data<T>();
  const auto run = [&](const StridedLoop<2 * n + 1>& loop) __attribute__((noinline)) {
    const auto& step = loop.row_strides();
    const auto next_row = loop.row_steps();
    const std::int64_t length = loop.row_length(), rows = loop.rows();
    const std::int64_t whole_packs = plain(step) ? length - length % P::lanes : 0;
    loop.for_each_plane([&](const std::array<std::int64_t, 2 * n + 1>& offset) {
      RowReader<T> incoming{upstream + offset[0], step[0], {}};
      std::array<RowReader<T>, n> in{RowReader<T>{value[k] + offset[1 + k], step[1 + k], {}}...};
      std::array<T*, n> to{(target[k] ? target[k] + offset[1 + n + k] : nullptr)...};
      for (std::int64_t row = 0; row < rows; ++row) {
        incoming.begin();
        (in[k].begin(), ...);
        std::array<P, n> total{};  // for operands stretched along the row
        std::int64_t i = 0;
        for (; i < whole_packs; i += P::lanes) {
          const auto y = f(seed<k>(in[k].whole(i))...);
          const P d = incoming.whole(i);
          auto add = [&]<unsigned m>(std::integral_constant<unsigned, m>) {
            if constexpr (std::remove_cvref_t<decltype(y)>::depends_on(m)) {
              if (!to[m]) return;
              const P dx = d * y.of(m);
              if (step[1 + n + m] == 0) total[m].v = total[m].v + dx.v;
              else (grad[m].fresh ? dx : P::load(to[m] + i) + dx).store(to[m] + i);
            }
          };
          (add(std::integral_constant<unsigned, k>{}), ...);
        }
        for (; i < length; i += P::lanes) {
          const int lanes = static_cast<int>(std::min<std::int64_t>(P::lanes, length - i));
          const auto y = f(seed<k>(in[k].part(i, lanes))...);
          const P d = incoming.part(i, lanes);
          auto add = [&]<unsigned m>(std::integral_constant<unsigned, m>) {
            if constexpr (std::remove_cvref_t<decltype(y)>::depends_on(m)) {
              if (!to[m]) return;
              const P dx = d * y.of(m);
              const std::int64_t stride = step[1 + n + m];
              T* place = to[m] + i * stride;
              if (stride == 0) total[m].v = total[m].v + dx.first(lanes).v;
              else (grad[m].fresh ? dx : P::load(place, stride, lanes) + dx).store(place, stride, lanes);
            }
          };
          (add(std::integral_constant<unsigned, k>{}), ...);
        }
        ((to[k] && step[1 + n + k] == 0 ? void(*to[k] += total[k].sum()) : void()), ...);
        incoming.row += next_row[0];
        ((in[k].row += next_row[1 + k]), ...);
        ((to[k] += to[k] ? next_row[1 + n + k] : 0), ...);
      }
    });
  };
  std::array<bool, 2 * n + 1> written{};
  ((written[1 + n + k] = target[k] != nullptr), ...);
  all.template share<T>({upstream, value[k]..., target[k]...}, written, 1.0, run);
}

// The same, one element after the other.
template <class F, std::size_t... k>
void pointwise_backward_plain(F f, const Tensor& dy, std::array<const Tensor*, sizeof...(k)> x,
                              std::array<Node::Target, sizeof...(k)>& grad, std::index_sequence<k...>) {
  constexpr std::size_t n = sizeof...(k);
  for (PlainLoop loop(dy.shape(), {dy, *x[k]..., grad[k].grad...}); loop.more(); loop.next()) {
    const auto y = f(seed<k>(Plain(loop.get(1 + k)))...);
    auto add = [&]<unsigned m>(std::integral_constant<unsigned, m>) {
      if constexpr (std::remove_cvref_t<decltype(y)>::depends_on(m)) {
        if (!loop.has(1 + n + m)) return;
        const double dx = loop.get(0) * y.of(m).v;
        if (grad[m].fresh) loop.put(1 + n + m, dx);
        else loop.add(1 + n + m, dx);
      }
    };
    (add(std::integral_constant<unsigned, k>{}), ...);
  }
}

inline constexpr auto as_it_is = [](const Tensor& x) -> const Tensor& { return x; };
template <class View> inline constexpr bool is_whole = std::is_same_v<View, std::remove_const_t<decltype(as_it_is)>>;

// Which inputs of the node the operands are. A GRU's formula reads three blocks of one tensor: that is three operands
// seen through views, but one input.
template <class... View> struct Sources {
  static constexpr std::size_t n = sizeof...(View);
  std::array<const Var*, n> inputs;
  std::array<std::uint8_t, n> of{};  // operand k is inputs[of[k]]
  std::size_t count = 0;
  explicit Sources(const std::array<const Var*, n>& operands) {
    constexpr std::array whole{is_whole<View>...};
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t at = whole[k] ? count : 0;
      while (at < count && inputs[at]->node().get() != operands[k]->node().get()) ++at;
      if (at == count) inputs[count++] = operands[k];
      of[k] = static_cast<std::uint8_t>(at);
    }
  }
};

// Finds values and gradients of the operands, each looked at through its view, and runs the rows above.
// `summed`: the axis that was summed, along which dy is the same for all.
template <class F, class... View, std::size_t... k>
void pointwise_backward(Tensor dy, const std::optional<Axis>& summed, Inputs& in,
                        const std::array<std::uint8_t, sizeof...(k)>& of, const std::tuple<View...>& view,
                        std::index_sequence<k...> all) {
  const std::tuple<decltype(std::get<k>(view)(dy))...> seen{std::get<k>(view)(in.value(of[k]))...};
  const std::array<const Tensor*, sizeof...(k)> x{&std::get<k>(seen)...};
  if (summed) dy = expand_new(dy, *summed, x[0]->shape()[*summed]);
  std::array<Node::Target, sizeof...(k)> grad{};
  for (std::size_t i = 0; i < grad.size(); ++i) {
    std::size_t same = 0;  // the first operand that is the same input: what it got serves all of them
    while (of[same] != of[i]) ++same;
    if (in.needs(of[i])) grad[i] = same < i ? Node::Target{grad[same].grad, false} : in.target(of[i]);
  }
  // What is written must be written by one operand alone and wholly: not where x and a view of x share a gradient, not
  // where the operand is seen through a view, and not where the formula ignores the operand.
  using Y = decltype(F{}(seed<k>(Pack<float>{})...));
  constexpr std::array whole{is_whole<View>...};
  for (std::size_t i = 0; i < grad.size(); ++i) {
    if (!grad[i].fresh) continue;
    bool alone = whole[i] && Y::depends_on(static_cast<unsigned>(i));
    for (std::size_t j = 0; j < grad.size(); ++j)
      alone = alone && (j == i || grad[j].grad.buffer().get() != grad[i].grad.buffer().get());
    if (alone) continue;
    fill_(grad[i].grad, 0);
    grad[i].fresh = false;
  }
  ((grad[k].grad.defined() && !whole[k] ? void(grad[k].grad = std::get<k>(view)(grad[k].grad)) : void()), ...);
  if (plain_kernels()) return pointwise_backward_plain(F{}, dy, x, grad, all);
  dispatch(dy.dtype(), [&](auto t) { pointwise_backward_rows<decltype(t)>(F{}, dy, x, grad, all); });
}

}  // namespace gradus::detail
