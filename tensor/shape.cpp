// Checked arithmetic on shapes.
#include "tensor/shape.h"

#include "tensor/error.h"

namespace gradus {

Extents::Extents(std::initializer_list<std::int64_t> values) {
  for (std::int64_t value : values) insert(rank_, value);
}

void Extents::insert(int axis, std::int64_t value) {
  if (rank_ == max_rank) {
    throw ShapeError("a tensor has at most " + std::to_string(max_rank) + " axes; merge some with reshape first");
  }
  for (int i = rank_; i > axis; --i) (*this)[i] = (*this)[i - 1];
  ++rank_;
  (*this)[axis] = value;
}

void Extents::erase(int axis) {
  for (int i = axis; i + 1 < rank_; ++i) (*this)[i] = (*this)[i + 1];
  --rank_;
}

Shape::Shape(std::initializer_list<std::int64_t> lengths) : Shape(Extents(lengths)) {}

std::int64_t Shape::unusual_size() const {
  bool holds_nothing = false;  // (2^40, 2^40, 0) is a fine shape
  for (std::int64_t length : *this) {
    if (length < 0) throw ShapeError("shape " + to_string(*this) + ": a length must not be negative");
    holds_nothing = holds_nothing || length == 0;
  }
  if (holds_nothing) return 0;
  throw ShapeError("shape " + to_string(*this) + ": the number of elements does not fit into 64 bits");
}

Extents Shape::dense_strides() const {
  Extents strides = *this;
  std::int64_t step = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    if ((*this)[axis] > 1) step *= (*this)[axis];
  }
  return strides;
}

Shape Shape::with(Axis axis, std::int64_t length) const {
  Extents lengths = *this;
  lengths[axis.index] = length;
  return Shape(lengths);
}

Shape Shape::inserted(Axis axis, std::int64_t length) const {
  Extents lengths = *this;
  lengths.insert(axis.index, length);
  return Shape(lengths);
}

Shape Shape::without(Axis axis) const {
  Extents lengths = *this;
  lengths.erase(axis.index);
  return Shape(lengths);
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + ")";
}

void refuse_axis(const char* op, const Shape& shape, Axis axis) {
  throw ShapeError(std::string(op) + ": Axis{" + std::to_string(axis.index) + "} is not an axis of shape " +
                   to_string(shape) + "; axes are counted from 0 to " + std::to_string(shape.rank() - 1));
}

}  // namespace gradus
