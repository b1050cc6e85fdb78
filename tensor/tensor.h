// Tensor: numbers with a shape. A handle (cheap to copy) on a buffer that several tensors may share (Ref<Buffer>, a
// counted pointer), with strides that say where each element is.
//
//   Tensor x = tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64);
//   transpose(x).at({2, 0})                    // 3: a view, nothing was copied
//   expand_new(select(x, Axis{0}, 1), Axis{0}, 4)   // (4, 3): row 1 four times, still nothing copied
//
// Shapes must agree exactly: only expand and expand_new stretch an axis. Dtypes are never mixed.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "tensor/buffer.h"
#include "tensor/error.h"
#include "tensor/shape.h"

namespace gradus {

enum class DType : std::uint8_t { f32, f64 };
inline constexpr DType f32 = DType::f32;  // training
inline constexpr DType f64 = DType::f64;  // checking gradients
const char* to_string(DType dtype);
inline std::size_t bytes_of(DType dtype) { return dtype == f32 ? 4 : 8; }

// Calls f(float{}) or f(double{}): the one place where a run-time dtype becomes a type, in f decltype of its argument.
template <class F> decltype(auto) dispatch(DType dtype, F&& f) {
  if (dtype == f32) return f(float{});
  return f(double{});
}

class Tensor {
 public:
  Tensor() = default;  // holds nothing; defined() is false
  // A window on `buffer`: strides and offset in elements. Views are made this way.
  Tensor(Ref<Buffer> buffer, const Shape& shape, const Extents& strides, std::int64_t offset, DType dtype)
      : buffer_(std::move(buffer)), shape_(shape), strides_(strides), offset_(offset), dtype_(dtype) {}

  // Row-major on `buffer`, from `offset` on.
  Tensor(Ref<Buffer> buffer, const Shape& shape, std::int64_t offset, DType dtype)
      : buffer_(std::move(buffer)),
        shape_(shape),
        strides_(shape.dense_strides()),
        offset_(offset),
        dtype_(dtype),
        made_dense_(true) {}

  // What views are made with, on a copy: a shape that is first made elsewhere and then copied costs twice as much, as
  // the copy waits for what was just written. Nothing is checked.
  void insert_axis(int axis, std::int64_t length, std::int64_t stride) {
    made_dense_ = false;
    shape_.insert(axis, length);
    strides_.insert(axis, stride);
  }
  void erase_axis(int axis, std::int64_t further) {
    made_dense_ = false;
    shape_.erase(axis);
    strides_.erase(axis);
    offset_ += further;
  }
  // Walks one axis in another way, from `further` elements on.
  void walk(int axis, std::int64_t length, std::int64_t stride, std::int64_t further = 0) {
    made_dense_ = false;
    shape_[axis] = length;
    strides_[axis] = stride;
    offset_ += further;
  }

  bool defined() const { return static_cast<bool>(buffer_); }
  const Shape& shape() const { return shape_; }
  const Extents& strides() const { return strides_; }
  std::int64_t offset() const { return offset_; }
  std::int64_t size() const { return shape_.size(); }
  std::int64_t size(Axis axis) const;  // throws ShapeError when there is no such axis
  int rank() const { return shape_.rank(); }
  DType dtype() const { return dtype_; }
  const Ref<Buffer>& buffer() const { return buffer_; }
  std::uint32_t version() const { return buffer_ ? buffer_->version : 0; }  // rises when the buffer is written to
  bool contiguous() const { return made_dense_ || walks_all(); }            // row-major without gaps
  bool made_dense() const { return made_dense_; }  // made contiguous and not seen otherwise since: quickly known
  bool packed() const;  // its numbers fill one piece of memory, whatever the order of the axes
  // Some axis longer than 1 has stride 0: several elements share one number.
  bool stretched() const { return !made_dense_ && repeats(); }

  double at(std::initializer_list<std::int64_t> position) const;  // one index per axis; throws IndexError
  void set(std::initializer_list<std::int64_t> position, double value);
  double item() const;                    // the only element; throws ShapeError when there are several
  std::vector<double> to_vector() const;  // all elements, row-major
  Tensor to(DType dtype) const;           // a converted copy (also when the dtype is the same), strides kept in order

  // The first element, for kernels; T must be the dtype's type. Writing counts as a new version.
  template <class T> [[gnu::always_inline]] const T* data() const {
    if (!buffer_ || sizeof(T) != bytes_of(dtype_)) refuse_dtype(sizeof(T));
    return static_cast<const T*>(buffer_->data()) + offset_;
  }
  template <class T> [[gnu::always_inline]] T* mutable_data() {
    if (!buffer_ || sizeof(T) != bytes_of(dtype_)) refuse_dtype(sizeof(T));
    ++buffer_->version;
    return static_cast<T*>(buffer_->data()) + offset_;
  }

 private:
  [[noreturn]] void refuse_dtype(std::size_t bytes) const;
  bool walks_all() const;
  bool repeats() const;
  std::int64_t locate(std::initializer_list<std::int64_t> position) const;

  Ref<Buffer> buffer_;
  Shape shape_;
  Extents strides_;
  std::int64_t offset_ = 0;
  DType dtype_ = f32;
  bool made_dense_ = false;
};

// New tensors. All throw ShapeError when the shape is too big to address.
Tensor empty(const Shape& shape, DType dtype = f32);  // contents undefined
Tensor zeros(const Shape& shape, DType dtype = f32);
Tensor full(const Shape& shape, double value, DType dtype = f32);
Tensor tensor(const Shape& shape, std::span<const double> values, DType dtype = f32);  // row-major; sizes must agree
Tensor tensor(const Shape& shape, std::initializer_list<double> values, DType dtype = f32);
Tensor empty_like(const Tensor& x);  // same shape, dtype and order of axes in memory; stretched axes stay stretched
Tensor zeros_like(const Tensor& x);

// Views: share the buffer of x. Each throws ShapeError for an axis or range that x does not have.
Tensor transpose(const Tensor& x);                  // a matrix (m, n) -> (n, m)
Tensor transpose(const Tensor& x, Axis a, Axis b);  // any two axes exchanged
// `length` positions of an axis: start, start + step, start + 2 step, ...
Tensor narrow(const Tensor& x, Axis axis, std::int64_t start, std::int64_t length, std::int64_t step = 1);
Tensor select(const Tensor& x, Axis axis, std::int64_t index);       // one position of an axis; the axis is dropped
Tensor expand(const Tensor& x, Axis axis, std::int64_t length);      // an axis of length 1 stretched, stride 0
Tensor expand_new(const Tensor& x, Axis axis, std::int64_t length);  // a new stretched axis in front of `axis`
Tensor expand_scalar(const Tensor& x, const Shape& shape);           // one number seen as a whole shape
// A contiguous tensor is viewed; any other is copied first. Sizes must agree.
Tensor reshape(const Tensor& x, const Shape& shape);

Tensor contiguous(const Tensor& x);  // x itself when it is contiguous already, otherwise a row-major copy
Tensor copy(const Tensor& x);        // always a fresh row-major copy

// In place. Shapes and dtypes must agree.
void fill_(Tensor& x, double value);
void copy_(Tensor& target, const Tensor& source);
void add_(Tensor& target, const Tensor& source);  // target += source; where target is stretched this sums

// Throws ShapeError / DTypeError, opening with `op`, unless a and b agree.
[[noreturn]] void refuse_shapes(const char* op, const Shape& a, const Shape& b);
[[noreturn]] void refuse_dtypes(const char* op, const Tensor& a, const Tensor& b);
inline void check_same_shape(const char* op, const Shape& a, const Shape& b) {
  if (!(a == b)) refuse_shapes(op, a, b);
}
inline void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) refuse_dtypes(op, a, b);
}

}  // namespace gradus
