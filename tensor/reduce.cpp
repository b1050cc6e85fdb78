// Reductions and softmax. Sums are made in a fixed order, so that results repeat bit for bit.
#include "tensor/reduce.h"

#include <cmath>

#include "tensor/kernels/softmax.h"
#include "tensor/kernels/squares.h"
#include "tensor/kernels/threads.h"
#include "tensor/pointwise.h"

namespace gradus {
namespace {

// Rows along `axis` as contiguous memory: calls row(first, length, number) with row numbers in row-major order of the
// other axes. The data is copied only when the axis is not the last one of a contiguous tensor.
Tensor rows_last(const Tensor& x, Axis axis) {
  Tensor y = x;
  for (int a = axis.index; a + 1 < x.rank(); ++a) y = transpose(y, Axis{a}, Axis{a + 1});
  return contiguous(y);
}

// The inverse of the permutation that rows_last made.
Tensor restore_axis(Tensor y, Axis axis) {
  for (int a = y.rank() - 1; a > axis.index; --a) y = transpose(y, Axis{a - 1}, Axis{a});
  return y;
}

template <class F> void for_each_row(const Tensor& rows, F row) {  // `rows` from rows_last
  const std::int64_t length = rows.shape()[rows.rank() - 1];
  const std::int64_t count = length == 0 ? 0 : rows.size() / length;
  dispatch(rows.dtype(), [&](auto t) {
    const auto* first = rows.data<decltype(t)>();
    for (std::int64_t i = 0; i < count; ++i) row(first + i * length, length, i);
  });
}

void refuse_empty(const char* op, const Tensor& x, Axis axis) {
  check_axis(op, x.shape(), axis);
  if (x.shape()[axis] == 0) {
    throw ValueError(std::string(op) + ": axis " + std::to_string(axis.index) + " of shape " + to_string(x.shape()) +
                     " is empty and has no " + op);
  }
}

}  // namespace

Tensor sum(const Tensor& x, Axis axis) {
  return pointwise_sum(
      "sum", [](auto value) { return value; }, axis, x);
}

Tensor sum(const Tensor& x) {
  Tensor total = zeros(Shape{}, x.dtype());
  Tensor stretched = expand_scalar(total, x.shape());
  add_(stretched, x);
  return total;
}

Tensor mean(const Tensor& x, Axis axis) {
  refuse_empty("mean", x, axis);
  Tensor result = sum(x, axis);
  const Tensor count = expand_scalar(full(Shape{}, static_cast<double>(x.shape()[axis]), x.dtype()), result.shape());
  pointwise_into(
      result, [](auto total, auto n) { return total / n; }, result, count);
  return result;
}

Tensor max(const Tensor& x, Axis axis) {
  refuse_empty("max", x, axis);
  const Tensor rows = rows_last(x, axis);
  Tensor result = empty(x.shape().without(axis), x.dtype());
  for_each_row(rows, [&]<class T>(const T* row, std::int64_t length, std::int64_t i) {
    result.mutable_data<T>()[i] = largest(row, length);
  });
  return result;
}

Ids argmax(const Tensor& x, Axis axis) {
  refuse_empty("argmax", x, axis);
  Ids result(x.shape().without(axis));
  for_each_row(rows_last(x, axis), [&]<class T>(const T* row, std::int64_t length, std::int64_t i) {
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < length; ++j) best = row[j] > row[best] ? j : best;
    result[i] = static_cast<std::int32_t>(best);
  });
  return result;
}

Tensor logsumexp(const Tensor& x, Axis axis) {
  refuse_empty("logsumexp", x, axis);
  Tensor result = empty(x.shape().without(axis), x.dtype());
  for_each_row(rows_last(x, axis), [&]<class T>(const T* row, std::int64_t length, std::int64_t i) {
    const T shift = largest(row, length);
    result.mutable_data<T>()[i] = std::isinf(shift) ? shift : shift + std::log(sum_of_exp(row, shift, length));
  });
  return result;
}

double norm(const Tensor& x) {
  const Tensor dense = x.packed() ? x : copy(x);
  return std::sqrt(dispatch(x.dtype(), [&](auto t) { return squares(dense.data<decltype(t)>(), x.size()); }));
}

Tensor softmax(const Tensor& x, Axis axis, const Mask* mask, EmptyRow empty_row) {
  check_axis("softmax", x.shape(), axis);
  if (mask && mask->shape() != x.shape()) {
    throw ShapeError("softmax: the mask is " + to_string(mask->shape()) + " and the scores are " +
                     to_string(x.shape()) + "; a mask has one entry per score");
  }
  if (mask && axis.index != x.rank() - 1) {
    throw ShapeError("softmax: a mask is supported along the last axis only; transpose the scores first");
  }
  const Tensor rows = rows_last(x, axis);
  Tensor result = empty(rows.shape(), x.dtype());
  const std::int64_t length = x.shape()[axis], count = length == 0 ? 0 : x.size() / length;
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* from = rows.data<T>();
    T* to = result.mutable_data<T>();
    parallel(count, 1, 0.7 * static_cast<double>(x.size()), [&](std::int64_t first, std::int64_t end) {
      const std::uint8_t* allowed = mask ? mask->values().data() + first * length : nullptr;
      const std::int64_t none =
          softmax_rows(from + first * length, allowed, length, end - first, length, to + first * length);
      if (none >= 0 && empty_row == EmptyRow::error) refuse_empty_row(first + none);
    });
  });
  return restore_axis(result, axis);
}

Tensor log_softmax(const Tensor& x, Axis axis) {
  check_axis("log_softmax", x.shape(), axis);
  if (x.shape()[axis] == 0) return empty(x.shape(), x.dtype());
  const Tensor total = expand_new(logsumexp(x, axis), axis, x.shape()[axis]);
  return pointwise(
      "log_softmax", [](auto value, auto lse) { return value - lse; }, x, total);
}

bool all_finite(const Tensor& x) {
  bool finite = true;
  for_each_row(reshape(x, Shape{x.size()}), [&](const auto* row, std::int64_t length, std::int64_t) {
    for (std::int64_t i = 0; i < length; ++i) finite = finite && std::isfinite(row[i]);
  });
  return finite;
}

}  // namespace gradus
