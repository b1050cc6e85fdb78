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

template <class T> Moments<T> moments(const T* x, std::int64_t d, T epsilon) {
  using P = Pack<T>;
  P total{}, squares{};
  for_each_pack(x, d, T{0}, [&](std::int64_t, P p, int) { total = total + p; });
  const T mean = total.sum() / static_cast<T>(d);
  for_each_pack(x, d, mean, [&](std::int64_t, P p, int) { squares = squares + (p - mean) * (p - mean); });
  return {mean, 1 / std::sqrt(squares.sum() / static_cast<T>(d) + epsilon)};
}

// With n = (x - mean) / deviation and g = dy gain: dx = (g - mean(g) - n mean(g n)) / deviation, dgain = sum of dy n.
template <class T>
void backward_row(std::int64_t d, const T* x, Moments<T> m, const T* gain, const T* dy, T* dx, bool fresh, T* dgain,
                  T* dshift) {
  using P = Pack<T>;
  P sum_g{}, sum_gn{};
  for_each_pack(dy, d, T{0}, [&](std::int64_t i, P p, int count) {
    const P n = (read(x + i, count) - m.mean) * m.inverse, g = p * read(gain + i, count);
    sum_g = sum_g + g;
    sum_gn = sum_gn + g * n;
    write(read(dgain + i, count) + p * n, dgain + i, count);
    write(read(dshift + i, count) + p, dshift + i, count);
  });
  if (!dx) return;
  const T mean_g = sum_g.sum() / static_cast<T>(d), mean_gn = sum_gn.sum() / static_cast<T>(d);
  for_each_pack(dy, d, T{0}, [&](std::int64_t i, P p, int count) {
    const P n = (read(x + i, count) - m.mean) * m.inverse;
    const P change = (p * read(gain + i, count) - mean_g - n * mean_gn) * m.inverse;
    write(fresh ? change : read(dx + i, count) + change, dx + i, count);
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
    T* kept = found.mutable_data<T>();
    const T* from = dense.data<T>();
    T* to = y.mutable_data<T>();
    for (std::int64_t row = 0; row < rows; ++row, from += d, to += d) {
      const Moments<T> m = moments(from, d, static_cast<T>(epsilon));
      kept[2 * row] = m.mean;
      kept[2 * row + 1] = m.inverse;
      for_each_pack(from, d, T{0}, [&](std::int64_t i, Pack<T> p, int count) {
        write((p - m.mean) * m.inverse * read(g.data<T>() + i, count) + read(s.data<T>() + i, count), to + i, count);
      });
    }
  });
  return record("layer norm", y, {x, gain, shift}, [found](const Tensor& dy, Inputs& in) {
    const Tensor x_rows = contiguous(in.value(0)), weights = contiguous(in.value(1)), dy_rows = contiguous(dy);
    Tensor dgain = zeros(weights.shape(), dy.dtype()), dshift = zeros(weights.shape(), dy.dtype());
    Node::Target dx = in.needs(0) ? in.target(0) : Node::Target{};
    const bool beside = dx.grad.defined() && !dx.grad.contiguous();
    Tensor to = beside ? empty(dy.shape(), dy.dtype()) : dx.grad;
    dispatch(dy.dtype(), [&]<class T>(T) {
      const T* kept = found.data<T>();
      T* first = to.defined() ? to.mutable_data<T>() : nullptr;
      const std::int64_t width = weights.size();
      for (std::int64_t row = 0, at = 0; row < found.shape()[0]; ++row, at += width) {
        backward_row(width, x_rows.data<T>() + at, Moments<T>{kept[2 * row], kept[2 * row + 1]}, weights.data<T>(),
                     dy_rows.data<T>() + at, first ? first + at : nullptr, beside || dx.fresh, dgain.mutable_data<T>(),
                     dshift.mutable_data<T>());
      }
    });
    if (beside) dx.add(to);
    in.add(1, dgain);
    in.add(2, dshift);
  });
}

}  // namespace gradus
