// Picking rows and joining tensors. Backward adds each piece of dy where the numbers came from.
#include <algorithm>

#include "autograd/kernels/row_gradient.h"
#include "autograd/ops.h"

namespace gradus {
namespace {

void check_ids(const Shape& table, const Ids& ids) {
  if (table.rank() != 2) throw ShapeError("gather: the table is " + to_string(table) + " and must be (vocab, d)");
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= table[0]) {
      throw IndexError("gather: id " + std::to_string(ids[i]) + " at place " + std::to_string(i) +
                       " is outside the vocabulary of " + std::to_string(table[0]) + " (ids run from 0 to " +
                       std::to_string(table[0] - 1) + ")");
    }
  }
}

// Row i of `rows` (n, d), which is contiguous, = row ids[i] of `table` (V, d).
void copy_rows(Tensor& rows, const Tensor& table, const Ids& ids) {
  dispatch(rows.dtype(), [&](auto t) {
    const auto* from = table.data<decltype(t)>();
    auto* to = rows.mutable_data<decltype(t)>();
    const std::int64_t d = rows.shape()[1], row = table.strides()[0], step = table.strides()[1];
    for (std::int64_t i = 0; i < ids.size(); ++i, to += d) {
      for (std::int64_t j = 0; j < d; ++j) to[j] = from[ids[i] * row + j * step];
    }
  });
}

// And back: row ids[i] of `grad` (V, d) += row i of `dy` (..., d). A token may occur more than once, hence +=.
void add_rows(Tensor grad, const Tensor& dy, const Ids& ids) {
  const Tensor dense = contiguous(dy);
  dispatch(grad.dtype(), [&](auto t) {
    const auto* from = dense.data<decltype(t)>();
    auto* to = grad.mutable_data<decltype(t)>();
    const std::int64_t d = grad.shape()[1], row = grad.strides()[0], step = grad.strides()[1];
    for (std::int64_t i = 0; i < ids.size(); ++i, from += d) {
      for (std::int64_t j = 0; j < d; ++j) to[ids[i] * row + j * step] += from[j];
    }
  });
}

// Where row-major parts lie that are stacked along `axis` of a row-major tensor: each is `count` pieces without gaps, for
// which of(k, ...) calls use(in the whole, in part k).
struct Pieces {
  std::int64_t parts, length = 1, count = 1;
  Pieces(const Shape& whole, Axis axis) : parts(whole[axis]) {
    for (int a = 0; a < whole.rank(); ++a) (a < axis.index ? count : length) *= a == axis.index ? 1 : whole[a];
  }
  template <class Whole, class Part, class Use> void of(std::int64_t k, Whole* whole, Part* part, Use use) const {
    for (std::int64_t i = 0; i < count; ++i) use(whole + (i * parts + k) * length, part + i * length);
  }
};

}  // namespace

Var gather(const Var& table, const Ids& ids) {
  check_ids(table.shape(), ids);
  const std::int64_t d = table.shape()[1];
  Tensor rows = empty(Shape{ids.size(), d}, table.dtype());
  copy_rows(rows, table.value(), ids);
  return record("gather", reshape(rows, ids.shape().inserted(Axis{ids.shape().rank()}, d)), {table},
                [ids](const Tensor& dy, Inputs& in) { add_rows(in.grad(0), dy, ids); });
}

Shape joined_shape(const char* op, const VarList& parts, Axis axis) {
  if (parts.size() == 0) throw ShapeError(std::string(op) + ": no parts were given");
  Shape joined = parts[0].shape();
  check_axis(op, joined, axis);
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const Tensor& part = parts[k].value();
    check_axis(op, part.shape(), axis);
    bool same = part.rank() == joined.rank();
    for (int a = 0; same && a < joined.rank(); ++a) same = a == axis.index || part.shape()[a] == joined[a];
    if (!same)
      refuse_shapes((std::string(op) + " (all axes but the joined one)").c_str(), joined.without(axis),
                    part.shape().without(axis));
    check_same_dtype(op, parts[0].value(), part);
    joined[axis.index] += part.shape()[axis];
  }
  return joined;
}

Shape joined_shape(const char* op, const VarList& parts) {
  return joined_shape(op, parts, Axis{parts.size() == 0 ? 0 : parts[0].rank() - 1});
}

Var concat(const VarList& parts, Axis axis) {
  const Shape shape = joined_shape("concat", parts, axis);  // throws when there are no parts
  Tensor joined = empty(shape, parts[0].dtype());
  std::int64_t start = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    Tensor place = narrow(joined, axis, start, parts[k].shape()[axis]);
    copy_(place, parts[k].value());
    start += parts[k].shape()[axis];
  }
  return record("concat", joined, parts, [axis](const Tensor& dy, Inputs& in) {
    std::int64_t first = 0;
    for (int k = 0; k < in.count(); first += in.shape(k)[axis], ++k)
      in.add(k, narrow(dy, axis, first, in.shape(k)[axis]));
  });
}

Var stack_along(const VarList& parts, Axis axis) {
  if (parts.size() == 0) throw ShapeError("stack_along: no parts were given");
  const Shape& shape = parts[0].shape();
  if (axis.index < 0 || axis.index > shape.rank())
    throw ShapeError("stack_along: parts of shape " + to_string(shape) + " have no place for a new Axis{" +
                     std::to_string(axis.index) + "}");
  const std::int64_t n = static_cast<std::int64_t>(parts.size());
  Tensor stacked = empty(shape.inserted(axis, n), parts[0].dtype());
  const Pieces pieces(stacked.shape(), axis);
  dispatch(stacked.dtype(), [&]<class T>(T) {
    T* to = stacked.mutable_data<T>();
    for (std::int64_t k = 0; k < n; ++k) {
      const Tensor& part = parts[static_cast<std::size_t>(k)].value();
      check_same_shape("stack_along", shape, part.shape());
      check_same_dtype("stack_along", stacked, part);
      Room copied;
      pieces.of(k, to, (part.contiguous() ? part : copied.make(copy(part))).template data<T>(),
                [&](T* whole, const T* piece) { std::copy_n(piece, pieces.length, whole); });
    }
  });
  return record("stack_along", std::move(stacked), parts, [pieces](const Tensor& dy, Inputs& in) {
    const Tensor whole = contiguous(dy);
    dispatch(dy.dtype(), [&]<class T>(T) {
      const T* first = whole.data<T>();
      for (int k = 0; k < in.count(); ++k) {
        RowGradient dx(in, k, in.shape(k));
        T* to = dx.data<T>();
        if (!to) continue;
        pieces.of(k, first, to, [&, fresh = dx.fresh()](const T* from, T* piece) {
          for (std::int64_t i = 0; i < pieces.length; ++i) piece[i] = (fresh ? T{0} : piece[i]) + from[i];
        });
        dx.finish();
      }
    });
  });
}

}  // namespace gradus
