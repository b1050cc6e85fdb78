// Token ids and masks: whole tensors of their own, because a position in a vocabulary is no number to differentiate.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tensor/error.h"
#include "tensor/shape.h"

namespace gradus {

// Owns row-major values of one kind. Ids: token ids, usually (B, T). Mask: true = real, may be attended to, counts.
template <class T> class Grid {
 public:
  Grid() = default;
  explicit Grid(const Shape& shape, T value = T{})
      : shape_(shape), values_(static_cast<std::size_t>(shape.size()), value) {}
  Grid(const Shape& shape, std::vector<T> values) : shape_(shape), values_(std::move(values)) {
    if (static_cast<std::int64_t>(values_.size()) != shape.size()) {
      throw ShapeError("shape " + to_string(shape) + " needs " + std::to_string(shape.size()) + " values, found " +
                       std::to_string(values_.size()));
    }
  }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  const T& operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }  // row-major
  T& operator[](std::int64_t i) { return values_[static_cast<std::size_t>(i)]; }
  const T& at(std::int64_t row, std::int64_t column) const {
    return values_[place(row, column)];
  }  // of a (rows, columns)
  T& at(std::int64_t row, std::int64_t column) { return values_[place(row, column)]; }
  const std::vector<T>& values() const { return values_; }
  bool operator==(const Grid&) const = default;

 private:
  std::size_t place(std::int64_t row, std::int64_t column) const {
    if (shape_.rank() != 2 || row < 0 || row >= shape_[0] || column < 0 || column >= shape_[1]) {
      throw IndexError("(" + std::to_string(row) + ", " + std::to_string(column) + ") is outside shape " +
                       to_string(shape_));
    }
    return static_cast<std::size_t>(row * shape_[1] + column);
  }
  Shape shape_;
  std::vector<T> values_;
};

using Ids = Grid<std::int32_t>;
using Mask = Grid<std::uint8_t>;  // 0 or 1; vector<bool> has no plain references

// (B, length): true at the first lengths[b] positions of row b. Throws ValueError for a length outside 0..length.
Mask mask_from_lengths(const std::vector<std::int64_t>& lengths, std::int64_t length);
// Column t of a (B, T) grid: (B).
Ids column(const Ids& ids, std::int64_t t);
Mask column(const Mask& mask, std::int64_t t);

}  // namespace gradus
