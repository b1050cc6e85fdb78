// The inner loops of pointwise: whole packs first, then the rest of the row.
#pragma once

#include <utility>

#include "tensor/kernels/pack_math.h"
#include "tensor/kernels/strided_loop.h"
#include "tensor/tensor.h"

namespace gradus::detail {

// One operand along a row. A stretched one (stride 0) is spread over a pack once per row.
template <class T> struct RowReader {
  const T* row;
  std::int64_t stride;
  Pack<T> spread;
  void begin() { spread = stride == 0 ? Pack<T>::broadcast(*row) : Pack<T>{}; }
  // For strides 0 and 1: nothing here is a call, so the loop keeps its constants in registers.
  Pack<T> whole(std::int64_t i) const { return stride == 0 ? spread : Pack<T>::load(row + i); }
  void fetch(std::int64_t further) const { __builtin_prefetch(row + further); }
  // For any stride and for the end of a row.
  Pack<T> part(std::int64_t i, int lanes) const { return Pack<T>::load(row + i * stride, stride, lanes); }
};

// How a row of packs ends: while its last half kilobyte is computed, the first of the next row is asked for. The processor
// foresees the rest of a row, but not where the next one of a time step's gates lies, a sequence further on: a GRU's
// formulas waited for that half of their time. More than this would push out what is needed before it.
template <class T> std::int64_t end_of_row(std::int64_t length) {
  constexpr std::int64_t end = 512 / sizeof(T);
  return length > end ? length - end : 0;
}

template <std::size_t N> bool plain(const std::array<std::int64_t, N>& strides) {
  bool all = true;
  for (std::int64_t stride : strides) all = all && (stride == 0 || stride == 1);
  return all;
}

// n elements without gaps: to = f(from...), or += when Add. The loop that most ops run: nothing but it in here.
template <class T, bool Add, class F, class... From>
[[gnu::noinline]] void run_dense(std::int64_t n, T* to, From... from) {
  using P = Pack<T>;
  constexpr F f{};
  std::int64_t i = 0;
  for (; i + P::lanes <= n; i += P::lanes) {
    const P value = f(P::load(from + i)...);
    (Add ? P::load(to + i) + value : value).store(to + i);
  }
  if (i == n) return;
  const int rest = static_cast<int>(n - i);
  const P value = f(P::load_first(from + i, rest)...);
  (Add ? P::load_first(to + i, rest) + value : value).store_first(to + i, rest);
}

// Rows of `length` elements, each `next_row` after the one before: to = f(from...), or += when Add. Not inline: compiled
// once, whether it is called for all of a tensor or for a part.
template <class T, bool Add, class F, std::size_t... k>
[[gnu::noinline]] void run_rows(T* to, const std::array<const T*, sizeof...(k)>& from,
                                const std::array<std::int64_t, sizeof...(k) + 1>& step,
                                const std::array<std::int64_t, sizeof...(k) + 1>& next_row, std::int64_t length,
                                std::int64_t rows) {
  using P = Pack<T>;
  constexpr F f{};
  const std::int64_t stride = step[0];
  // A target that is stretched along the row and only written keeps what is written last: that is the slow loop's
  // business.
  const std::int64_t whole_packs = plain(step) && (Add || stride == 1) ? length - length % P::lanes : 0;
  const std::int64_t end = end_of_row<T>(whole_packs);
  std::array<RowReader<T>, sizeof...(k)> in{RowReader<T>{from[k], step[k + 1], {}}...};
  for (std::int64_t row = 0;;) {
    (in[k].begin(), ...);
    P total{};
    std::int64_t i = 0;
    for (; i < whole_packs; i += P::lanes) {
      if (i >= end) (in[k].fetch(next_row[k + 1] + i - end), ...);
      const P value = f(in[k].whole(i)...);
      if (Add && stride == 0) total.v = total.v + value.v;
      else (Add ? P::load(to + i) + value : value).store(to + i);
    }
    for (; i < length; i += P::lanes) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(P::lanes, length - i));
      const P value = f(in[k].part(i, lanes)...);
      T* place = to + i * stride;
      if (Add && stride == 0) total.v = total.v + value.first(lanes).v;
      else (Add ? P::load(place, stride, lanes) + value : value).store(place, stride, lanes);
    }
    if (Add && stride == 0) *to += total.sum();
    if (++row == rows) return;
    to += next_row[0];
    ((in[k].row += next_row[k + 1]), ...);
  }
}

// The loops of a formula of n operands, as functions: what leads to them does not know the formula, and is compiled once
// for all formulas of n operands. With the formula in its type it took a tenth of a build.
template <class T, class Operands> struct RowLoops;
template <class T, std::size_t... k> struct RowLoops<T, std::index_sequence<k...>> {
  static constexpr std::size_t n = sizeof...(k);
  template <std::size_t> using From = const T*;
  using Steps = std::array<std::int64_t, n + 1>;
  void (*dense)(std::int64_t length, T* to, From<k>... from);
  void (*rows)(T* to, const std::array<const T*, n>& from, const Steps& step, const Steps& next_row,
               std::int64_t length, std::int64_t rows);

  // `strides`: of the target and of the operands, which may lie in memory anyhow.
  [[gnu::noinline]] void run(const Shape& shape, const std::array<const Extents*, n + 1>& strides, T* to,
                             const std::array<const T*, n>& from) const {
    const StridedLoop<n + 1> all(shape, strides);
    if (all.dense() && !worth_dividing(all.nanoseconds(static_cast<double>(all.row_length()))))
      return dense(all.row_length(), to, from[k]...);
    all.template share<T>({to, from[k]...}, {true}, [&](const StridedLoop<n + 1>& loop) {
      loop.for_each_plane([&](const Steps& offset) {
        rows(to + offset[0], {from[k] + offset[k + 1]...}, loop.row_strides(), loop.row_steps(), loop.row_length(),
             loop.rows());
      });
    });
  }
};

// Compiled in pointwise_rows.cpp for the numbers of operands that most formulas have.
extern template struct RowLoops<float, std::make_index_sequence<1>>;
extern template struct RowLoops<float, std::make_index_sequence<2>>;
extern template struct RowLoops<float, std::make_index_sequence<3>>;
extern template struct RowLoops<double, std::make_index_sequence<1>>;
extern template struct RowLoops<double, std::make_index_sequence<2>>;
extern template struct RowLoops<double, std::make_index_sequence<3>>;

// target = f(from...), or += when Add; all of one shape. Where an added target is stretched along the row, the row is
// summed in a register first.
template <class T, bool Add, class F, class... From> void pointwise_rows(Tensor& target, F, const From&... from) {
  T* to = target.mutable_data<T>();
  const std::int64_t size = target.size();
  if ((target.made_dense() && ... && from.made_dense()) &&
      !worth_dividing(StridedLoop<sizeof...(From) + 1>::nanoseconds(static_cast<double>(size))))
    return run_dense<T, Add, F>(size, to, from.template data<T>()...);
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    static constexpr RowLoops<T, std::index_sequence<k...>> loops{run_dense<T, Add, F>, run_rows<T, Add, F, k...>};
    loops.run(target.shape(), {&target.strides(), &from.strides()...}, to, {from.template data<T>()...});
  }
  (std::index_sequence_for<From...>{});
}

}  // namespace gradus::detail
