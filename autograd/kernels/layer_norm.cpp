// Row by row in registers. Composed of ops it would be eight passes over x forward and as many backward.
#include "autograd/kernels/layer_norm.h"

#include <cmath>

#include "autograd/ops.h"
#include "autograd/pointwise.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/row_packs.h"

namespace gradus {
namespace {

void check(const Var& x, const Var& gain, const Var& shift) {
  const std::int64_t d = x.rank() > 0 ? x.shape()[x.rank() - 1] : 0;
  if (d == 0 || gain.shape() != Shape{d} || shift.shape() != Shape{d}) {
    throw ShapeError("layer norm: x " + to_string(x.shape()) + ", gain " + to_string(gain.shape()) + ", shift " +
                     to_string(shift.shape()) + "; they must be (..., d), (d) and (d) with d > 0");
  }
  check_same_dtype("layer norm", x.value(), gain.value());
  check_same_dtype("layer norm", x.value(), shift.value());
}

template <class T> struct Moments {
  T mean, inverse;  // 1 / deviation
};

// Some rows side by side: each waits for its mean and then for its deviation, and they wait together.
template <int rows, class T>
void normalise(const T* x, std::int64_t d, T epsilon, const T* gain, const T* shift, T* y, Moments<T>* found) {
  using P = Pack<T>;
  P total[rows], squares[rows];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) total[r] = squares[r] = P{};
  for_each_place<T>(d, rows,
                    [&](std::int64_t i, int r, int count) { total[r] = total[r] + read(x + r * d + i, count); });
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) found[r].mean = total[r].sum() / static_cast<T>(d);
  for_each_place<T>(d, rows, [&](std::int64_t i, int r, int count) {
    P centred = read(x + r * d + i, count) - found[r].mean;
    if (count != P::lanes) centred = centred.first(count);
    squares[r] = squares[r] + centred * centred;
  });
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) found[r].inverse = 1 / std::sqrt(squares[r].sum() / static_cast<T>(d) + epsilon);
  for_each_place<T>(d, rows, [&](std::int64_t i, int r, int count) {
    const P n = (read(x + r * d + i, count) - found[r].mean) * found[r].inverse;
    write(n * read(gain + i, count) + read(shift + i, count), y + r * d + i, count);
  });
}

// With n = (x - mean) / deviation and g = dy gain: dx = (g - mean(g) - n mean(g n)) / deviation, dgain = sum of dy n.
template <int rows, class T>
void backward_rows(std::int64_t d, const T* x, const Moments<T>* m, const T* gain, const T* dy, T* dx, bool fresh,
                   T* dgain, T* dshift) {
  using P = Pack<T>;
  P sum_g[rows], sum_gn[rows];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) sum_g[r] = sum_gn[r] = P{};
  for_each_pack(gain, d, T{0}, [&](std::int64_t i, P weight, int count) {
    P to_gain = read(dgain + i, count), to_shift = read(dshift + i, count);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const P p = read(dy + r * d + i, count), n = (read(x + r * d + i, count) - m[r].mean) * m[r].inverse;
      const P g = p * weight;
      sum_g[r] = sum_g[r] + g;
      sum_gn[r] = sum_gn[r] + g * n;
      to_gain = to_gain + p * n;
      to_shift = to_shift + p;
    }
    write(to_gain, dgain + i, count);
    write(to_shift, dshift + i, count);
  });
  if (!dx) return;
  T mean_g[rows], mean_gn[rows];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    mean_g[r] = sum_g[r].sum() / static_cast<T>(d);
    mean_gn[r] = sum_gn[r].sum() / static_cast<T>(d);
  }
  for_each_place<T>(d, rows, [&](std::int64_t i, int r, int count) {
    T* const to = dx + r * d + i;
    const P n = (read(x + r * d + i, count) - m[r].mean) * m[r].inverse,
            g = read(dy + r * d + i, count) * read(gain + i, count);
    const P change = (g - mean_g[r] - n * mean_gn[r]) * m[r].inverse;
    write(fresh ? change : read(to, count) + change, to, count);
  });
}

}  // namespace

Var layer_norm_plain(const Var& x, const Var& gain, const Var& shift, double epsilon) {
  check(x, gain, shift);
  const Axis last{x.rank() - 1};
  const std::int64_t d = x.shape()[last], rows = x.shape().without(last).size();
  const Var h = reshape(x, Shape{rows, d});
  const Var centred = h - expand_new(mean(h, Axis{1}), Axis{1}, d);
  const Var deviation = sqrt(mean(square(centred), Axis{1}) + epsilon);
  return reshape(
      centred / expand_new(deviation, Axis{1}, d) * expand_new(gain, Axis{0}, rows) + expand_new(shift, Axis{0}, rows),
      x.shape());
}

Var layer_norm(const Var& x, const Var& gain, const Var& shift, double epsilon) {
  if (plain_kernels()) return layer_norm_plain(x, gain, shift, epsilon);
  check(x, gain, shift);
  const Tensor dense = contiguous(x.value()), g = contiguous(gain.value()), s = contiguous(shift.value());
  const std::int64_t d = g.size(), rows = x.value().size() / d;
  Tensor y = empty(x.shape(), x.dtype()), found = empty(Shape{rows, 2}, x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    auto* const kept = reinterpret_cast<Moments<T>*>(found.mutable_data<T>());
    const T* const from = dense.data<T>();
    T* const to = y.mutable_data<T>();
    in_fours(rows, [&]<int count>(std::int64_t row, std::integral_constant<int, count>) {
      normalise<count>(from + row * d, d, static_cast<T>(epsilon), g.data<T>(), s.data<T>(), to + row * d, kept + row);
    });
  });
  return record("layer norm", y, {x, gain, shift}, [found](const Tensor& dy, Inputs& in) {
    const Tensor x_rows = contiguous(in.value(0)), weights = contiguous(in.value(1)), dy_rows = contiguous(dy);
    Tensor dgain = zeros(weights.shape(), dy.dtype()), dshift = zeros(weights.shape(), dy.dtype());
    Node::Target dx = in.needs(0) ? in.target(0) : Node::Target{};
    const bool beside = dx.grad.defined() && !dx.grad.contiguous();
    Tensor to = beside ? empty(dy.shape(), dy.dtype()) : dx.grad;
    dispatch(dy.dtype(), [&]<class T>(T) {
      const auto* const kept = reinterpret_cast<const Moments<T>*>(found.data<T>());
      const T *from_x = x_rows.data<T>(), *from_dy = dy_rows.data<T>(), *gain_of = weights.data<T>();
      T *to_gain = dgain.mutable_data<T>(), *to_shift = dshift.mutable_data<T>();
      T* const first = to.defined() ? to.mutable_data<T>() : nullptr;
      const std::int64_t width = weights.size();
      in_fours(found.shape()[0], [&]<int count>(std::int64_t row, std::integral_constant<int, count>) {
        const std::int64_t at = row * width;
        backward_rows<count>(width, from_x + at, kept + row, gain_of, from_dy + at, first ? first + at : nullptr,
                             beside || dx.fresh, to_gain, to_shift);
      });
    });
    if (beside) dx.add(to);
    in.add(1, dgain);
    in.add(2, dshift);
  });
}

}  // namespace gradus
