// The inner loops of the gradient of pointwise: the formula on dual numbers, row by row.
#pragma once

#include <tuple>

#include "autograd/dual.h"
#include "autograd/var.h"
#include "tensor/pointwise.h"

namespace gradus::detail {

// Rows of `length` elements, as in tensor/kernels/pointwise_rows.h: adds dy * df/dx_k to to[k] where that is not null, or
// writes it where fresh[k]. Steps: of dy, of the operands, of their gradients.
template <class T, class F, std::size_t... k>
[[gnu::noinline]] void run_backward_rows(const T* dy, const std::array<const T*, sizeof...(k)>& x,
                                         std::array<T*, sizeof...(k)> to, const std::array<bool, sizeof...(k)>& fresh,
                                         const std::array<std::int64_t, 2 * sizeof...(k) + 1>& step,
                                         const std::array<std::int64_t, 2 * sizeof...(k) + 1>& next_row,
                                         std::int64_t length, std::int64_t rows) {
  constexpr std::size_t n = sizeof...(k);
  constexpr F f{};
  using P = Pack<T>;
  const std::int64_t whole_packs = plain(step) ? length - length % P::lanes : 0;
  const std::int64_t end = end_of_row<T>(whole_packs);
  RowReader<T> incoming{dy, step[0], {}};
  std::array<RowReader<T>, n> in{RowReader<T>{x[k], step[1 + k], {}}...};
  for (std::int64_t row = 0;;) {
    incoming.begin();
    (in[k].begin(), ...);
    std::array<P, n> total{};  // for operands stretched along the row
    std::int64_t i = 0;
    for (; i < whole_packs; i += P::lanes) {
      if (i >= end) {
        incoming.fetch(next_row[0] + i - end);
        (in[k].fetch(next_row[1 + k] + i - end), ...);
        ((to[k] ? __builtin_prefetch(to[k] + next_row[1 + n + k] + i - end, 1) : void()), ...);
      }
      const auto y = f(seed<k>(in[k].whole(i))...);
      const P d = incoming.whole(i);
      auto add = [&]<unsigned m>(std::integral_constant<unsigned, m>) {
        if constexpr (std::remove_cvref_t<decltype(y)>::depends_on(m)) {
          if (!to[m]) return;
          const P dx = d * y.of(m);
          if (step[1 + n + m] == 0) total[m].v = total[m].v + dx.v;
          else (fresh[m] ? dx : P::load(to[m] + i) + dx).store(to[m] + i);
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
          else (fresh[m] ? dx : P::load(place, stride, lanes) + dx).store(place, stride, lanes);
        }
      };
      (add(std::integral_constant<unsigned, k>{}), ...);
    }
    ((to[k] && step[1 + n + k] == 0 ? void(*to[k] += total[k].sum()) : void()), ...);
    if (++row == rows) return;
    incoming.row += next_row[0];
    ((in[k].row += next_row[1 + k]), ...);
    ((to[k] += to[k] ? next_row[1 + n + k] : 0), ...);
  }
}

// n elements without gaps.
template <class T, class F, std::size_t... k>
[[gnu::noinline]] void run_backward_dense(std::int64_t n, const T* dy, const std::array<const T*, sizeof...(k)>& x,
                                          const std::array<T*, sizeof...(k)>& to,
                                          const std::array<bool, sizeof...(k)>& fresh) {
  constexpr F f{};
  using P = Pack<T>;
  std::int64_t i = 0;
  for (; i + P::lanes <= n; i += P::lanes) {
    const auto y = f(seed<k>(P::load(x[k] + i))...);
    const P d = P::load(dy + i);
    auto add = [&]<unsigned m>(std::integral_constant<unsigned, m>) {
      if constexpr (std::remove_cvref_t<decltype(y)>::depends_on(m)) {
        if (!to[m]) return;
        const P dx = d * y.of(m);
        (fresh[m] ? dx : P::load(to[m] + i) + dx).store(to[m] + i);
      }
    };
    (add(std::integral_constant<unsigned, k>{}), ...);
  }
  if (i == n) return;
  const int rest = static_cast<int>(n - i);
  const auto y = f(seed<k>(P::load_first(x[k] + i, rest))...);
  const P d = P::load_first(dy + i, rest);
  auto add = [&]<unsigned m>(std::integral_constant<unsigned, m>) {
    if constexpr (std::remove_cvref_t<decltype(y)>::depends_on(m)) {
      if (!to[m]) return;
      const P dx = d * y.of(m);
      (fresh[m] ? dx : P::load_first(to[m] + i, rest) + dx).store_first(to[m] + i, rest);
    }
  };
  (add(std::integral_constant<unsigned, k>{}), ...);
}

// An operand or its gradient: all of a tensor, or a block of it that begins `further` elements on. X is Tensor, const or
// not.
template <class X> struct Piece {
  X* whole = nullptr;  // none: no gradient is asked for
  std::int64_t further = 0;
  bool dense = false;
  Piece() = default;
  explicit Piece(X& tensor) : whole(&tensor), dense(tensor.made_dense()) {}
  Piece(X& tensor, std::int64_t begin) : whole(&tensor), further(begin) {}
  Tensor tensor(const Shape& shape) const {
    if (!whole) return {};
    return Tensor(whole->buffer(), shape, whole->strides(), whole->offset() + further, whole->dtype());
  }
};

// The gradient of a formula of n operands on numbers of type T, as functions: as in RowLoops, what leads to them is
// compiled once for all formulas of n operands.
template <class T, class Operands> struct BackwardLoops;
template <class T, std::size_t... k> struct BackwardLoops<T, std::index_sequence<k...>> {
  static constexpr std::size_t n = sizeof...(k);
  using Steps = std::array<std::int64_t, 2 * n + 1>;
  void (*dense)(std::int64_t length, const T* dy, const std::array<const T*, n>& x, const std::array<T*, n>& to,
                const std::array<bool, n>& fresh);
  void (*rows)(const T* dy, const std::array<const T*, n>& x, std::array<T*, n> to, const std::array<bool, n>& fresh,
               const Steps& step, const Steps& next_row, std::int64_t length, std::int64_t rows);

  // Adds dy * df/dx_k to dx[k] where there is one, or writes it where fresh[k].
  [[gnu::noinline]] void run(const Tensor& dy, const std::array<Piece<const Tensor>, n>& x,
                             const std::array<Piece<Tensor>, n>& dx, const std::array<bool, n>& fresh) const {
    using Loop = StridedLoop<2 * n + 1>;
    const std::array<const T*, n> value{x[k].whole->template data<T>() + x[k].further...};
    const std::array<T*, n> to{(dx[k].whole ? dx[k].whole->template mutable_data<T>() + dx[k].further : nullptr)...};
    const T* upstream = dy.data<T>();
    const std::int64_t size = dy.size();
    if ((dy.made_dense() && ... && (x[k].dense && (!dx[k].whole || dx[k].dense))) &&
        !worth_dividing(Loop::nanoseconds(static_cast<double>(size))))
      return dense(size, upstream, value, to, fresh);
    const Loop all(dy.shape(), {&dy.strides(), &x[k].whole->strides()...,
                                &(dx[k].whole ? dx[k].whole->strides() : x[k].whole->strides())...});
    if (all.dense() && !worth_dividing(Loop::nanoseconds(static_cast<double>(size))))
      return dense(size, upstream, value, to, fresh);
    all.template share<T>({upstream, value[k]..., to[k]...}, {false, (value[k] == nullptr)..., (to[k] != nullptr)...},
                          [&](const Loop& loop) {
                            loop.for_each_plane([&](const Steps& offset) {
                              rows(upstream + offset[0], {value[k] + offset[1 + k]...},
                                   {(to[k] ? to[k] + offset[1 + n + k] : nullptr)...}, fresh, loop.row_strides(),
                                   loop.row_steps(), loop.row_length(), loop.rows());
                            });
                          });
  }
};
extern template struct BackwardLoops<float, std::make_index_sequence<1>>;
extern template struct BackwardLoops<float, std::make_index_sequence<2>>;
extern template struct BackwardLoops<float, std::make_index_sequence<3>>;
extern template struct BackwardLoops<double, std::make_index_sequence<1>>;
extern template struct BackwardLoops<double, std::make_index_sequence<2>>;
extern template struct BackwardLoops<double, std::make_index_sequence<3>>;

// The same, one element after the other. `gradient` puts df/dx_k at the values x into partial[k], for those operands that
// the formula depends on.
void pointwise_backward_plain(const Tensor& dy, std::size_t n, const Piece<const Tensor>* x, const Piece<Tensor>* dx,
                              const bool* fresh, const bool* depends_on,
                              void (*gradient)(const double* x, double* partial));
template <class F, std::size_t... k> void plain_gradient(const double* x, double* partial) {
  const auto y = F{}(seed<k>(Plain(x[k]))...);
  const auto keep = [&]<unsigned m>(std::integral_constant<unsigned, m>) {
    if constexpr (std::remove_cvref_t<decltype(y)>::depends_on(m)) partial[m] = y.of(m).v;
  };
  (keep(std::integral_constant<unsigned, k>{}), ...);
}

// All of them, and which operands the formula depends on at all.
template <std::size_t n> struct FormulaBackward {
  BackwardLoops<float, std::make_index_sequence<n>> singles;
  BackwardLoops<double, std::make_index_sequence<n>> doubles;
  void (*plain)(const double* x, double* partial);
  std::array<bool, n> depends_on;
};
template <class F, std::size_t... k> constexpr FormulaBackward<sizeof...(k)> backward_of(std::index_sequence<k...>) {
  return {{run_backward_dense<float, F, k...>, run_backward_rows<float, F, k...>},
          {run_backward_dense<double, F, k...>, run_backward_rows<double, F, k...>},
          plain_gradient<F, k...>,
          {decltype(F{}(seed<k>(Pack<float>{})...))::depends_on(k)...}};
}
template <class F, std::size_t n>
inline constexpr FormulaBackward<n> formula_backward = backward_of<F>(std::make_index_sequence<n>{});

inline Piece<const Tensor> piece_of(const Tensor& x) { return Piece<const Tensor>(x); }
inline Piece<const Tensor> piece_of(const Block& x) { return {x.whole(), x.further()}; }

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
    if constexpr ((is_whole<View> && ...)) {  // known before the program runs
      inputs = operands;
      count = n;
      [&]<std::size_t... k>(std::index_sequence<k...>) { of = {std::uint8_t{k}...}; }
      (std::make_index_sequence<n>{});
      return;
    }
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t at = whole[k] ? count : 0;
      while (at < count && inputs[at]->node().get() != operands[k]->node().get()) ++at;
      if (at == count) inputs[count++] = operands[k];
      of[k] = static_cast<std::uint8_t>(at);
    }
  }
};

// Where the gradient of input k is added, as Node::place. This may be dy itself, to be overwritten in place: where nobody
// will read dy again and the input has no gradient yet. It saves a buffer, and memory that a core does not have at hand.
Tensor& place_over_dy(Inputs& in, int k, Room& room, bool& fresh);

// The rule of f(x) where the slope is known from the result: backward reads that, instead of running f once more.
template <class Slope> struct FromResult {
  void operator()(const Tensor& dy, Inputs& in) const {
    const auto rule = [](auto d, auto y) { return d * Slope{}(y); };
    Room room;
    bool fresh = false;
    Tensor& dx = place_over_dy(in, 0, room, fresh);
    if (fresh) pointwise_into(dx, rule, dy, in.result());
    else pointwise_add_into(dx, rule, dy, in.result());
  }
};

// The rule of a sum: dy is the gradient of every operand, and one of them may have it as it is.
void pass_on(const Tensor& dy, Inputs& in);

// Finds where the gradients of n operands go; operand i is input of[i]. What is fresh must be written by one operand
// alone and wholly: `wholly` says whether operand i would, which it does not where it is seen through a view or where the
// formula ignores it; and x and a view of x share a gradient.
void place_gradients(Inputs& in, std::size_t n, const std::uint8_t* of, const bool* wholly, Room* room, Tensor** dx,
                     bool* fresh);

// Finds values and gradients of the operands, each looked at through its view, and runs the rows above.
// `summed`: the axis that was summed, along which dy is the same for all.
template <class... View, std::size_t... k>
void pointwise_backward(const FormulaBackward<sizeof...(k)>& formula, const Tensor& incoming,
                        const std::optional<Axis>& summed, Inputs& in, const std::array<std::uint8_t, sizeof...(k)>& of,
                        const std::tuple<View...>& view, std::index_sequence<k...>) {
  constexpr std::size_t n = sizeof...(k);
  const std::array<bool, n> wholly{(is_whole<View> && formula.depends_on[k])...};
  const std::tuple<decltype(std::get<k>(view)(incoming))...> seen{std::get<k>(view)(in.value(of[k]))...};
  const std::array<Piece<const Tensor>, n> x{piece_of(std::get<k>(seen))...};
  std::array<Room, n> room, made;
  std::array<Tensor*, n> whole_dx{};
  std::array<bool, n> fresh{};
  place_gradients(in, n, of.data(), wholly.data(), room.data(), whole_dx.data(), fresh.data());
  std::array<Piece<Tensor>, n> dx;
  const auto look = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
    if (!whole_dx[i]) return;
    if constexpr (is_whole<std::tuple_element_t<i, std::tuple<View...>>>) {
      dx[i] = Piece<Tensor>(*whole_dx[i]);
    } else if constexpr (std::is_same_v<decltype(std::get<i>(view)(incoming)), Block>) {
      dx[i] = Piece<Tensor>(*whole_dx[i], std::get<i>(view)(*whole_dx[i]).further());
    } else {
      dx[i] = Piece<Tensor>(made[i].make(std::get<i>(view)(*whole_dx[i])));
    }
  };
  (look(std::integral_constant<std::size_t, k>{}), ...);
  Room spread;
  if (summed) spread.make(expand_new(incoming, *summed, std::get<0>(seen).shape()[*summed]));
  const Tensor& dy = summed ? spread.made() : incoming;
  if (plain_kernels()) {
    return pointwise_backward_plain(dy, n, x.data(), dx.data(), fresh.data(), formula.depends_on.data(), formula.plain);
  }
  if (dy.dtype() == f32) formula.singles.run(dy, x, dx, fresh);
  else formula.doubles.run(dy, x, dx, fresh);
}

}  // namespace gradus::detail
