// Shapes: how many axes a tensor has and how long each one is. Sizes are 64-bit and every product is checked.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace gradus {

inline constexpr int max_rank = 5;

// The position of an axis, counted from 0. A strong type, so that `sum(x, Axis{1})` cannot be mistaken for a size,
// and no function has a default for it: the axis of a softmax is always written down.
struct Axis {
  int index;
  explicit constexpr Axis(int i) : index(i) {}
  auto operator<=>(const Axis&) const = default;
};

// Up to max_rank numbers, one per axis: the lengths of a Shape, or strides counted in elements.
class Extents {
 public:
  Extents() = default;
  Extents(std::initializer_list<std::int64_t> values) {
    for (std::int64_t value : values) insert(rank_, value);
  }
  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return values_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return values_[static_cast<std::size_t>(axis)]; }
  std::int64_t operator[](Axis axis) const { return (*this)[axis.index]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }
  void insert(int axis, std::int64_t value) {  // throws ShapeError beyond max_rank
    if (rank_ == max_rank) refuse_rank();
    for (int i = rank_; i > axis; --i) (*this)[i] = (*this)[i - 1];
    ++rank_;
    (*this)[axis] = value;
  }
  void erase(int axis) {
    for (int i = axis; i + 1 < rank_; ++i) (*this)[i] = (*this)[i + 1];
    --rank_;
  }
  bool operator==(const Extents& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i) {
      if ((*this)[i] != other[i]) return false;
    }
    return true;
  }

 private:
  [[noreturn]] static void refuse_rank();
  std::array<std::int64_t, max_rank> values_{};
  std::int32_t rank_ = 0;
};

// The lengths of a tensor's axes: Shape{4, 16} has rank 2 and size 64; Shape{} is a scalar of size 1.
class Shape : public Extents {
 public:
  Shape() = default;
  // Throws ShapeError for a negative length or an overflow.
  Shape(std::initializer_list<std::int64_t> lengths) : Shape(Extents(lengths)) {}
  explicit Shape(const Extents& lengths) : Extents(lengths) { size(); }
  std::int64_t size() const {  // number of elements; throws ShapeError when the product overflows 64 bits
    std::int64_t product = 1, smallest = 1;
    bool overflow = false;
    for (std::int64_t length : *this) {
      overflow |= __builtin_mul_overflow(product, length, &product);
      smallest = length < smallest ? length : smallest;
    }
    return overflow || smallest < 0 ? unusual_size() : product;
  }
  Extents dense_strides() const {  // strides of row-major storage: the last axis is 1 apart
    Extents strides = *this;
    std::int64_t step = 1;
    for (int axis = rank() - 1; axis >= 0; --axis) {
      strides[axis] = step;
      if ((*this)[axis] > 1) step *= (*this)[axis];
    }
    return strides;
  }
  Shape with(Axis axis, std::int64_t length) const {  // the same shape with one length replaced
    Shape shape = *this;
    shape[axis.index] = length;
    shape.size();
    return shape;
  }
  Shape inserted(Axis axis, std::int64_t length) const {  // with a new axis in front of `axis`
    Shape shape = *this;
    shape.insert(axis.index, length);
    shape.size();
    return shape;
  }
  Shape without(Axis axis) const {  // with `axis` dropped
    Shape shape = *this;
    shape.erase(axis.index);
    shape.size();
    return shape;
  }

 private:
  std::int64_t unusual_size() const;
};

std::string to_string(const Shape& shape);  // "(4, 16)", "(3)", "()"

// Throws ShapeError, naming `op`, when `axis` is not an axis of `shape`.
[[noreturn]] void refuse_axis(const char* op, const Shape& shape, Axis axis);
inline void check_axis(const char* op, const Shape& shape, Axis axis) {
  if (axis.index < 0 || axis.index >= shape.rank()) refuse_axis(op, shape, axis);
}

}  // namespace gradus
