// Picking rows and joining tensors. Backward adds each piece of dy where the numbers came from.
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

}  // namespace

Var gather(const Var& table, const Ids& ids) {
  check_ids(table.shape(), ids);
  const std::int64_t d = table.shape()[1];
  Tensor rows = empty(Shape{ids.size(), d}, table.dtype());
  dispatch(rows.dtype(), [&](auto t) {
    const auto* from = table.value().data<decltype(t)>();
    auto* to = rows.mutable_data<decltype(t)>();
    const std::int64_t row = table.value().strides()[0], step = table.value().strides()[1];
    for (std::int64_t i = 0; i < ids.size(); ++i, to += d) {
      for (std::int64_t j = 0; j < d; ++j) to[j] = from[ids[i] * row + j * step];
    }
  });
  return record("gather", reshape(rows, ids.shape().inserted(Axis{ids.shape().rank()}, d)), {table},
                [ids, d](const Tensor& dy, Inputs& in) {
                  const Tensor dense = contiguous(dy);
                  Tensor grad = in.grad(0);
                  dispatch(grad.dtype(), [&](auto t) {
                    const auto* from = dense.data<decltype(t)>();
                    auto* to = grad.mutable_data<decltype(t)>();
                    const std::int64_t row = grad.strides()[0], step = grad.strides()[1];
                    for (std::int64_t i = 0; i < ids.size(); ++i, from += d) {  // += : a token may occur more than once
                      for (std::int64_t j = 0; j < d; ++j) to[ids[i] * row + j * step] += from[j];
                    }
                  });
                });
}

Var concat(VarList parts, Axis axis) {
  if (parts.size() == 0) throw ShapeError("concat: no parts were given");
  check_axis("concat", parts[0].shape(), axis);
  std::int64_t total = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Var& part = parts[k];
    check_axis("concat", part.shape(), axis);
    check_same_shape("concat (all axes but the joined one)", parts[0].shape().without(axis),
                     part.shape().without(axis));
    check_same_dtype("concat", parts[0].value(), part.value());
    total += part.shape()[axis];
  }
  Tensor joined = empty(parts[0].shape().with(axis, total), parts[0].dtype());
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

Var stack_along(VarList parts, Axis axis) {
  if (parts.size() == 0) throw ShapeError("stack_along: no parts were given");
  const Shape& shape = parts[0].shape();
  if (axis.index < 0 || axis.index > shape.rank()) {
    throw ShapeError("stack_along: parts of shape " + to_string(shape) + " have no place for a new Axis{" +
                     std::to_string(axis.index) + "}");
  }
  Tensor stacked = empty(shape.inserted(axis, static_cast<std::int64_t>(parts.size())), parts[0].dtype());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    check_same_shape("stack_along", shape, parts[k].shape());
    check_same_dtype("stack_along", parts[0].value(), parts[k].value());
    Tensor place = select(stacked, axis, static_cast<std::int64_t>(k));
    copy_(place, parts[k].value());
  }
  return record("stack_along", stacked, parts, [axis](const Tensor& dy, Inputs& in) {
    for (int k = 0; k < in.count(); ++k) in.add(k, select(dy, axis, k));
  });
}

}  // namespace gradus
