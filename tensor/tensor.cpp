// Making tensors, looking into them, and the views.
#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "tensor/doctor/doctor.h"
#include "tensor/kernels/transpose.h"
#include "tensor/pointwise.h"

namespace gradus {
namespace {

Ref<Buffer> buffer_for(const Shape& shape, DType dtype) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.size(), static_cast<std::int64_t>(bytes_of(dtype)), &bytes)) {
    throw ShapeError("shape " + to_string(shape) + ": too many bytes to address");
  }
  return Buffer::allocate(static_cast<std::size_t>(bytes));
}

// Copies a matrix whose rows are contiguous on one side and its columns on the other; false when it is none.
bool copy_turned(Tensor& target, const Tensor& source) {
  if (target.rank() != 2 || target.dtype() != source.dtype() || plain_kernels()) return false;
  const int inner = target.strides()[1] == 1 ? 1 : 0, outer = 1 - inner;
  const std::int64_t rows = target.shape()[inner], columns = target.shape()[outer];
  const std::int64_t to_row = target.strides()[outer], from_row = source.strides()[inner];
  if (target.strides()[inner] != 1 || source.strides()[outer] != 1 || to_row < rows || from_row < columns) return false;
  dispatch(target.dtype(), [&]<class T>(T) {
    transpose_rows(rows, columns, source.data<T>(), from_row, target.mutable_data<T>(), to_row);
  });
  return true;
}

// Copies one row into every row of a matrix, as a bias is; false when it is none.
bool copy_repeated(Tensor& target, const Tensor& source) {
  if (target.rank() != 2 || target.dtype() != source.dtype() || plain_kernels()) return false;
  if (source.strides()[0] != 0 || source.strides()[1] != 1 || !target.contiguous()) return false;
  dispatch(target.dtype(), [&]<class T>(T) {
    T* to = target.mutable_data<T>();
    const std::int64_t length = target.shape()[1];
    for (std::int64_t row = 0; row < target.shape()[0]; ++row) std::copy_n(source.data<T>(), length, to + row * length);
  });
  return true;
}

}  // namespace

const char* to_string(DType dtype) { return dtype == f32 ? "f32" : "f64"; }

std::int64_t Tensor::size(Axis axis) const {
  check_axis("size", shape_, axis);
  return shape_[axis];
}

bool Tensor::walks_all() const {
  std::int64_t step = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (shape_[axis] == 0) return true;
    if (shape_[axis] == 1) continue;
    if (strides_[axis] != step) return false;
    step *= shape_[axis];
  }
  return true;
}

bool Tensor::repeats() const {
  for (int axis = 0; axis < rank(); ++axis) {
    if (shape_[axis] > 1 && strides_[axis] == 0) return true;
  }
  return false;
}

bool Tensor::packed() const {
  std::int64_t span = 1;  // from the first number to the last one; views never overlap unless they are stretched
  for (int axis = 0; axis < rank(); ++axis) {
    if (shape_[axis] == 0) return true;
    span += (shape_[axis] - 1) * strides_[axis];
  }
  return span == size() && !stretched();
}

void Tensor::refuse_dtype(std::size_t bytes) const {
  if (!buffer_) throw ValueError("this tensor holds nothing yet: make it with zeros, full or tensor first");
  throw DTypeError(std::string("a tensor of ") + to_string(dtype_) + " was read as " + (bytes == 4 ? "f32" : "f64") +
                   "; convert it with .to(...)");
}

std::int64_t Tensor::locate(std::initializer_list<std::int64_t> position) const {
  if (static_cast<int>(position.size()) != rank()) {
    throw IndexError("at: " + std::to_string(position.size()) + " indices for shape " + to_string(shape_) +
                     "; give one per axis");
  }
  std::int64_t place = 0;
  int axis = 0;
  for (std::int64_t index : position) {
    if (index < 0 || index >= shape_[axis]) {
      throw IndexError("at: index " + std::to_string(index) + " on axis " + std::to_string(axis) +
                       " is outside shape " + to_string(shape_));
    }
    place += index * strides_[axis++];
  }
  return place;
}

double Tensor::at(std::initializer_list<std::int64_t> position) const {
  const std::int64_t place = locate(position);
  return dispatch(dtype_, [&](auto t) { return static_cast<double>(data<decltype(t)>()[place]); });
}

void Tensor::set(std::initializer_list<std::int64_t> position, double value) {
  const std::int64_t place = locate(position);
  dispatch(dtype_, [&](auto t) { mutable_data<decltype(t)>()[place] = static_cast<decltype(t)>(value); });
}

double Tensor::item() const {
  if (size() != 1)
    throw ShapeError("item: shape " + to_string(shape_) + " holds " + std::to_string(size()) + " numbers, not one");
  return dispatch(dtype_, [&](auto t) { return static_cast<double>(*data<decltype(t)>()); });
}

std::vector<double> Tensor::to_vector() const {
  const Tensor dense = gradus::contiguous(*this);
  return dispatch(dtype_, [&](auto t) {
    const auto* first = dense.data<decltype(t)>();
    return std::vector<double>(first, first + size());
  });
}

Tensor Tensor::to(DType dtype) const {
  const Tensor dense = gradus::contiguous(*this);
  Tensor like(Ref<Buffer>(), shape_, strides_, 0, dtype);
  Tensor result = empty_like(like);
  Tensor row_major = empty(shape_, dtype);
  dispatch(dtype_, [&](auto from) {
    dispatch(dtype, [&](auto into) {
      const auto* source = dense.data<decltype(from)>();
      auto* target = row_major.mutable_data<decltype(into)>();
      for (std::int64_t i = 0; i < size(); ++i) target[i] = static_cast<decltype(into)>(source[i]);
    });
  });
  if (result.stretched()) return row_major;
  copy_(result, row_major);
  return result;
}

Tensor empty(const Shape& shape, DType dtype) { return Tensor(buffer_for(shape, dtype), shape, 0, dtype); }

Tensor zeros(const Shape& shape, DType dtype) {
  Tensor x = empty(shape, dtype);
  std::memset(x.buffer()->data(), 0, static_cast<std::size_t>(x.size()) * bytes_of(dtype));
  return x;
}

Tensor full(const Shape& shape, double value, DType dtype) {
  Tensor x = empty(shape, dtype);
  fill_(x, value);
  return x;
}

Tensor tensor(const Shape& shape, std::span<const double> values, DType dtype) {
  if (static_cast<std::int64_t>(values.size()) != shape.size()) {
    throw ShapeError("tensor: shape " + to_string(shape) + " needs " + std::to_string(shape.size()) +
                     " values, found " + std::to_string(values.size()));
  }
  Tensor x = empty(shape, dtype);
  dispatch(dtype, [&](auto t) {
    auto* target = x.mutable_data<decltype(t)>();
    for (double value : values) *target++ = static_cast<decltype(t)>(value);
  });
  return x;
}

Tensor tensor(const Shape& shape, std::initializer_list<double> values, DType dtype) {
  return tensor(shape, std::span<const double>(values.begin(), values.size()), dtype);
}

Tensor empty_like(const Tensor& x) {
  if (x.contiguous()) return empty(x.shape(), x.dtype());
  // Axes by falling stride, outermost first: a transposed tensor gets a transposed relative, so that loops over both
  // walk memory in order.
  std::array<int, max_rank> order{};
  for (int axis = 0; axis < x.rank(); ++axis) {
    int at = axis;
    for (; at > 0 && x.strides()[axis] > x.strides()[order[static_cast<std::size_t>(at - 1)]]; --at)
      order[static_cast<std::size_t>(at)] = order[static_cast<std::size_t>(at - 1)];
    order[static_cast<std::size_t>(at)] = axis;
  }
  Extents strides = x.strides();
  Shape stored = x.shape();
  std::int64_t step = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    const int axis = order[static_cast<std::size_t>(i)];
    const std::int64_t length = x.shape()[axis];
    if (length > 1 && x.strides()[axis] == 0) {
      stored[axis] = 1;
      continue;
    }
    strides[axis] = step;
    if (length > 1) step *= length;
  }
  return Tensor(buffer_for(stored, x.dtype()), x.shape(), strides, 0, x.dtype());
}

Tensor zeros_like(const Tensor& x) {
  Tensor result = empty_like(x);
  fill_(result, 0);
  return result;
}

Tensor transpose(const Tensor& x) {
  if (x.rank() != 2) {
    throw ShapeError("transpose: shape " + to_string(x.shape()) +
                     " is no matrix; name the two axes: transpose(x, Axis{a}, Axis{b})");
  }
  return transpose(x, Axis{0}, Axis{1});
}

Tensor transpose(const Tensor& x, Axis a, Axis b) {
  check_axis("transpose", x.shape(), a);
  check_axis("transpose", x.shape(), b);
  Tensor view = x;
  view.walk(a.index, x.shape()[b], x.strides()[b]);
  view.walk(b.index, x.shape()[a], x.strides()[a]);
  return view;
}

Tensor narrow(const Tensor& x, Axis axis, std::int64_t start, std::int64_t length, std::int64_t step) {
  check_axis("narrow", x.shape(), axis);
  const std::int64_t available = x.shape()[axis];
  std::int64_t last = 0;
  const bool fits = step >= 1 && start >= 0 && length >= 0 && start <= available &&
                    !__builtin_mul_overflow(length > 0 ? length - 1 : 0, step, &last) &&
                    (length == 0 || last < available - start);
  if (!fits) {
    throw ShapeError("narrow: " + std::to_string(length) + " positions from " + std::to_string(start) +
                     " in steps of " + std::to_string(step) + " do not fit on axis " + std::to_string(axis.index) +
                     " of shape " + to_string(x.shape()));
  }
  const std::int64_t stride = x.strides()[axis];
  Tensor view = x;
  view.walk(axis.index, length, stride * step, start * stride);
  return view;
}

Tensor select(const Tensor& x, Axis axis, std::int64_t index) {
  check_axis("select", x.shape(), axis);
  if (index < 0 || index >= x.shape()[axis]) {
    throw IndexError("select: index " + std::to_string(index) + " on axis " + std::to_string(axis.index) +
                     " is outside shape " + to_string(x.shape()));
  }
  Tensor view = x;
  view.erase_axis(axis.index, index * x.strides()[axis]);
  return view;
}

Tensor expand(const Tensor& x, Axis axis, std::int64_t length) {
  check_axis("expand", x.shape(), axis);
  if (x.shape()[axis] != 1) {
    throw ShapeError("expand: axis " + std::to_string(axis.index) + " of shape " + to_string(x.shape()) +
                     " is not of length 1; only such an axis can be stretched (expand_new makes one)");
  }
  Tensor view = x;
  view.walk(axis.index, length, 0);
  view.size();  // refuses a length that is none
  return view;
}

Tensor expand_new(const Tensor& x, Axis axis, std::int64_t length) {
  if (axis.index < 0 || axis.index > x.rank()) {
    throw ShapeError("expand_new: a tensor of shape " + to_string(x.shape()) + " has no place for a new Axis{" +
                     std::to_string(axis.index) + "}");
  }
  Tensor view = x;
  view.insert_axis(axis.index, length, 0);
  view.size();  // refuses a length that is none
  return view;
}

Tensor expand_scalar(const Tensor& x, const Shape& shape) {
  if (x.size() != 1) throw ShapeError("expand_scalar: shape " + to_string(x.shape()) + " holds more than one number");
  Extents strides = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) strides[axis] = 0;
  return Tensor(x.buffer(), shape, strides, x.offset(), x.dtype());
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  if (shape.size() != x.size()) {
    throw ShapeError("reshape: " + to_string(x.shape()) + " holds " + std::to_string(x.size()) + " numbers and " +
                     to_string(shape) + " needs " + std::to_string(shape.size()));
  }
  const Tensor dense = contiguous(x);
  return Tensor(dense.buffer(), shape, dense.offset(), x.dtype());
}

Tensor contiguous(const Tensor& x) { return x.contiguous() ? x : copy(x); }

Tensor copy(const Tensor& x) {
  Tensor result = empty(x.shape(), x.dtype());
  copy_(result, x);
  return result;
}

void fill_(Tensor& x, double value) {
  if (x.made_dense() || x.packed()) {
    dispatch(x.dtype(),
             [&](auto t) { std::fill_n(x.mutable_data<decltype(t)>(), x.size(), static_cast<decltype(t)>(value)); });
    return;
  }
  const Tensor scalar = tensor(Shape{}, {value}, x.dtype());
  copy_(x, expand_scalar(scalar, x.shape()));
}

void copy_(Tensor& target, const Tensor& source) {
  check_same_shape("copy_", target.shape(), source.shape());
  if (copy_turned(target, source) || copy_repeated(target, source)) return;
  pointwise_into(
      target, [](auto value) { return value; }, source);
}

void add_(Tensor& target, const Tensor& source) {
  check_same_shape("add_", target.shape(), source.shape());
  pointwise_add_into(
      target, [](auto value) { return value; }, source);
}

void refuse_shapes(const char* op, const Shape& a, const Shape& b) {
  if (std::string_view(op) == "*") throw ShapeError(examine_product(a, b));
  throw ShapeError(std::string(op) + ": shapes " + to_string(a) + " and " + to_string(b) +
                   " differ. Nothing is stretched silently: use expand or expand_new where an axis is meant to repeat");
}

void refuse_dtypes(const char* op, const Tensor& a, const Tensor& b) {
  throw DTypeError(std::string(op) + ": " + to_string(a.dtype()) + " meets " + to_string(b.dtype()) +
                   "; convert one of them with .to(...)");
}

}  // namespace gradus
