// Checks and batches; the arithmetic is in kernels/gemm.
#include "tensor/matmul.h"

#include "tensor/kernels/gemm.h"
#include "tensor/kernels/matrices.h"
#include "tensor/kernels/threads.h"

namespace gradus {
namespace {

void check(const Tensor& a, const Tensor& b) {
  check_same_dtype("matmul", a, b);
  const auto shapes = [&] { return "matmul: " + to_string(a.shape()) + " x " + to_string(b.shape()) + ": "; };
  if (a.rank() < 2 || b.rank() < 2) {
    throw ShapeError(shapes() +
                     "both must have at least two axes; for a product with a vector use dot(x, v, Axis{...})");
  }
  if (a.rank() != b.rank()) {
    throw ShapeError(shapes() +
                     "ranks differ; reshape (B, T, d) to (B * T, d) for a product with a matrix, or repeat the "
                     "matrix over the batch with expand_new");
  }
  const int rank = a.rank();
  if (a.shape()[rank - 1] != b.shape()[rank - 2]) {
    throw ShapeError(shapes() + "inner sizes " + std::to_string(a.shape()[rank - 1]) + " and " +
                     std::to_string(b.shape()[rank - 2]) + " differ" +
                     (a.shape()[rank - 1] == b.shape()[rank - 1] ? "; the second operand looks transposed" : ""));
  }
  for (int axis = 0; axis + 2 < rank; ++axis) {
    if (a.shape()[axis] != b.shape()[axis]) {
      throw ShapeError(shapes() + "batch axis " + std::to_string(axis) + " has " + std::to_string(a.shape()[axis]) +
                       " and " + std::to_string(b.shape()[axis]) + " entries; they must be equal");
    }
  }
}

// One product for each position of the leading axes, which several threads may share.
void multiply(Tensor& c, const Tensor& a, const Tensor& b, bool accumulate) {
  const int axes = c.rank() - 2;
  const GemmSize size{c.shape()[axes], c.shape()[axes + 1], a.shape()[axes + 1]};
  const std::int64_t entries = count_matrices(c.shape());
  dispatch(c.dtype(), [&]<class T>(T) {
    const T *from_a = a.data<T>(), *from_b = b.data<T>();
    T* to = c.mutable_data<T>();
    const double nanoseconds = gemm_nanoseconds<T>(size) * static_cast<double>(entries);
    parallel(entries, 1, nanoseconds, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t i = first; i < end; ++i) {
        const Strided<T> into = matrix_of(to, c, i);
        gemm<T>(size, matrix_of(from_a, a, i), matrix_of(from_b, b, i), into,
                accumulate ? as_const(into) : Strided<const T>{});
      }
    });
  });
}

Shape product_shape(const Tensor& a, const Tensor& b) {
  return a.shape().with(Axis{a.rank() - 1}, b.shape()[b.rank() - 1]);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check(a, b);
  Tensor c = empty(product_shape(a, b), a.dtype());
  multiply(c, a, b, false);
  return c;
}

void matmul_into(Tensor& c, const Tensor& a, const Tensor& b, bool accumulate) {
  check(a, b);
  const int last = a.rank() - 1;
  bool fits = c.rank() == a.rank() && c.shape()[last] == b.shape()[last];
  for (int axis = 0; axis < last; ++axis) fits = fits && c.shape()[axis] == a.shape()[axis];
  if (!fits) refuse_shapes("matmul_into", c.shape(), product_shape(a, b));
  check_same_dtype("matmul_into", c, a);
  if (c.stretched()) throw ShapeError("matmul_into: the target is stretched; sum the product over that axis instead");
  multiply(c, a, b, accumulate);
}

}  // namespace gradus
