// One element after the other, and where the elements are.
#include "tensor/kernels/pointwise_plain.h"

#include <utility>

namespace gradus::detail {

PlainLoop::PlainLoop(const Shape& shape, std::vector<Tensor> tensors)
    : shape_(shape),
      tensors_(std::move(tensors)),
      index_(static_cast<std::size_t>(shape.rank()), 0),
      offset_(tensors_.size(), 0),
      left_(shape.size()) {}

void PlainLoop::next() {
  --left_;
  for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
    std::int64_t& index = index_[static_cast<std::size_t>(axis)];
    const std::int64_t steps = ++index < shape_[axis] ? 1 : 1 - shape_[axis];
    for (std::size_t k = 0; k < offset_.size(); ++k) {
      if (has(k)) offset_[k] += steps * tensors_[k].strides()[axis];
    }
    if (steps == 1) return;
    index = 0;
  }
}

double PlainLoop::get(std::size_t k) const {
  return dispatch(tensors_[k].dtype(),
                  [&](auto t) { return static_cast<double>(tensors_[k].data<decltype(t)>()[offset_[k]]); });
}

void PlainLoop::put(std::size_t k, double value) {
  dispatch(tensors_[k].dtype(),
           [&](auto t) { tensors_[k].mutable_data<decltype(t)>()[offset_[k]] = static_cast<decltype(t)>(value); });
}

void PlainLoop::add(std::size_t k, double value) { put(k, get(k) + value); }

void pointwise_plain(Tensor& target, bool add, double (*formula)(const double* x), std::vector<Tensor> from) {
  std::vector<double> x(from.size());
  from.push_back(target);
  for (PlainLoop loop(target.shape(), std::move(from)); loop.more(); loop.next()) {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = loop.get(k);
    const double value = formula(x.data());
    if (add) loop.add(x.size(), value);
    else loop.put(x.size(), value);
  }
}

}  // namespace gradus::detail
