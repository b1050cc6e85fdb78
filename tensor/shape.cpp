// Checked arithmetic on shapes.
#include "tensor/shape.h"

#include "tensor/error.h"

namespace gradus {

void Extents::refuse_rank() {
  throw ShapeError("a tensor has at most " + std::to_string(max_rank) + " axes; merge some with reshape first");
}

std::int64_t Shape::unusual_size() const {
  bool holds_nothing = false;  // (2^40, 2^40, 0) is a fine shape
  for (std::int64_t length : *this) {
    if (length < 0) throw ShapeError("shape " + to_string(*this) + ": a length must not be negative");
    holds_nothing = holds_nothing || length == 0;
  }
  if (holds_nothing) return 0;
  throw ShapeError("shape " + to_string(*this) + ": the number of elements does not fit into 64 bits");
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
