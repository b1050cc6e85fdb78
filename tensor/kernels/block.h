// Block: some neighbours of every row of a tensor, read where they lie.
//
// What narrow() makes is a tensor: two lists of numbers and a counted reference, which take longer to write down than a
// loop over 16 numbers takes. A GRU reads six such blocks forward and backward and adds to the gradients of all six.
#pragma once

#include "tensor/tensor.h"

namespace gradus {

class Block {
 public:
  // Numbers first .. first + length - 1 along the last axis of `whole`, which must outlive this. Throws as narrow does.
  Block(const Tensor& whole, std::int64_t first, std::int64_t length)
      : whole_(whole), first_(first), length_(length), last_(whole.rank() - 1) {
    if (last_ < 0 || first < 0 || length < 0 || first > whole.shape()[last_] - length) static_cast<void>(tensor());
  }
  const Tensor& whole() const { return whole_; }
  std::int64_t further() const { return first_ * whole_.strides()[last_]; }  // elements from the beginning of `whole`
  Shape shape() const { return whole_.shape().with(Axis{last_}, length_); }
  bool has_shape(const Shape& shape) const {
    bool same = shape.rank() == last_ + 1 && shape[last_] == length_;
    for (int axis = 0; same && axis < last_; ++axis) same = shape[axis] == whole_.shape()[axis];
    return same;
  }
  DType dtype() const { return whole_.dtype(); }
  const Extents& strides() const { return whole_.strides(); }
  bool made_dense() const { return false; }
  template <class T> const T* data() const { return whole_.data<T>() + further(); }
  Tensor tensor() const { return narrow(whole_, Axis{last_}, first_, length_); }

 private:
  const Tensor& whole_;
  std::int64_t first_, length_;
  int last_;
};

// What a loop can read.
template <class X>
concept Readable = std::is_same_v<X, Tensor> || std::is_same_v<X, Block>;

inline bool has_shape(const Tensor& x, const Shape& shape) { return x.shape() == shape; }
inline bool has_shape(const Block& x, const Shape& shape) { return x.has_shape(shape); }
inline const Tensor& as_tensor(const Tensor& x) { return x; }
inline Tensor as_tensor(const Block& x) { return x.tensor(); }

}  // namespace gradus
