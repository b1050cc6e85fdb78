// A step of a recurrent net at a batch of 1 makes a dozen products that take less time than the tensors that would
// describe their operands. So the operands are pointers with strides here, each part of x with its columns of W, and the
// products are added where they belong. It takes a third off such a training step.
#include "autograd/kernels/linear.h"

#include "tensor/kernels/gemm.h"
#include "tensor/kernels/plain.h"
#include "tensor/matmul.h"
#include "tensor/reduce.h"

namespace gradus {
namespace {

std::int64_t width(const Shape& shape) { return shape[shape.rank() - 1]; }

std::int64_t count_rows(const Shape& shape) {
  std::int64_t n = 1;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) n *= shape[axis];
  return n;
}

// x (..., d) -> (n, d), to be read. Where its rows do not lie evenly they are copied, and `room` keeps the copy.
template <class T> Strided<const T> rows_of(const Tensor& x, Room& room) {
  if (x.rank() == 2) return {x.data<T>(), x.strides()[0], x.strides()[1]};
  const Tensor& dense = x.contiguous() ? x : room.make(copy(x));
  return {dense.data<T>(), width(x.shape()), 1};
}

// dx += a b, or = where dx holds nothing yet; dx (..., size.n) has size.m rows, numbers from column `first` on.
template <class T, class B>
void add_product(Tensor& dx, bool fresh, std::int64_t first, const GemmSize& size, const Strided<const T>& a,
                 const B& b) {
  const Axis last{dx.rank() - 1};
  if (!dx.stretched() && (dx.rank() == 2 || dx.contiguous())) {
    const std::int64_t row = dx.rank() == 2 ? dx.strides()[0] : size.n, column = dx.rank() == 2 ? dx.strides()[1] : 1;
    const Strided<T> to{dx.mutable_data<T>() + first * column, row, column};
    return gemm<T>(size, a, b, to, fresh ? Strided<const T>{} : as_const(to));
  }
  Tensor part = narrow(dx, last, first, size.n), product = empty(part.shape(), dx.dtype());
  gemm<T>(size, a, b, {product.mutable_data<T>(), size.n, 1}, {});
  Node::Target{part, fresh}.add(product);
}

// The bands of a right operand b (k, n), kept with the weight: a recurrent net's products read it at every step, and of
// one beyond the cache gemm would copy bands at every step. Forward reads W as (d_in, d_out), backward as it is.
Tensor bands_of(const Tensor& b) {
  const std::int64_t k = b.shape()[0], n = b.shape()[1];
  Tensor bands = empty(b.shape(), b.dtype());
  dispatch(b.dtype(), [&]<class T>(T) {
    make_bands<T>(k, n, {b.data<T>(), b.strides()[0], b.strides()[1]}, bands.mutable_data<T>());
  });
  return bands;
}
Tensor forward_bands(const Tensor& W) { return bands_of(transpose(W)); }

// db (d_out) += the sum of d (n, d_out) over its rows.
template <class T> void add_rows(Tensor& db, const Strided<const T>& d, std::int64_t n) {
  const std::int64_t d_out = db.size();
  T* to = db.mutable_data<T>();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < d_out; ++j) to[j] += d.data[i * d.row + j];
  }
}

}  // namespace

Tensor linear_forward_plain(const Shape& joined, const VarList& parts, const Tensor& W, const Var& b) {
  Tensor x = empty(joined, W.dtype());
  std::int64_t first = 0;
  for (std::size_t k = 0; k < parts.size(); first += width(parts[k++].shape())) {
    Tensor place = narrow(x, Axis{x.rank() - 1}, first, width(parts[k].shape()));
    copy_(place, parts[k].value());
  }
  Tensor y = matmul(reshape(x, Shape{count_rows(joined), width(joined)}), transpose(W));
  if (b.defined()) add_(y, expand_new(b.value(), Axis{0}, y.shape()[0]));
  return reshape(y, joined.with(Axis{joined.rank() - 1}, W.shape()[0]));
}

void linear_backward_plain(const Tensor& dy, Inputs& in, int parts) {
  const std::int64_t n = count_rows(dy.shape()), d_out = width(dy.shape());
  const Tensor d = reshape(dy, Shape{n, d_out}), &W = in.value(parts);
  Tensor dW = zeros(W.shape(), W.dtype());
  std::int64_t first = 0;
  for (int k = 0; k < parts; first += width(in.shape(k++))) {
    const std::int64_t d_in = width(in.shape(k));
    in.add(k, reshape(matmul(d, narrow(W, Axis{1}, first, d_in)), in.shape(k)));
    Tensor columns = narrow(dW, Axis{1}, first, d_in);
    copy_(columns, matmul(transpose(d), reshape(in.value(k), Shape{n, d_in})));
  }
  in.add(parts, dW);
  if (in.count() > parts + 1) in.add(parts + 1, sum(d, Axis{0}));
}

Tensor linear_forward(const Shape& joined, const VarList& parts, const Var& weight, const Var& b) {
  const Tensor& W = weight.value();
  if (plain_kernels()) return linear_forward_plain(joined, parts, W, b);
  const std::int64_t n = count_rows(joined), d_out = W.shape()[0];
  Shape shape = joined;
  shape[shape.rank() - 1] = d_out;
  Tensor y = empty(shape, W.dtype());
  dispatch(W.dtype(), [&]<class T>(T) {
    const Strided<T> rows{y.mutable_data<T>(), d_out, 1};
    Room copied;
    Strided<const T> before{};  // what the next product is added to: the bias, in every row, then the sum so far
    if (b.defined())
      before = {(b.value().contiguous() ? b.value() : copied.make(copy(b.value()))).template data<T>(), 0, 1};
    // A weight's, while it is trained: what is only looked at once is not worth the memory.
    const bool banded =
        worth_bands<T>({n, d_out, W.shape()[1]}) && weight.node()->inputs.empty() && detail::recording(weight);
    const Bands<T> bands{banded ? weight.node()->made(forward_bands).template data<T>() : nullptr, W.shape()[1]};
    std::int64_t first = 0;
    for (std::size_t k = 0; k < parts.size(); first += width(parts[k++].shape())) {
      const Tensor& x = parts[k].value();
      const GemmSize size{n, d_out, width(x.shape())};
      Room room;
      if (banded) {
        gemm<T>(size, rows_of<T>(x, room), bands.from(first, 0), rows, before);
      } else {
        gemm<T>(size, rows_of<T>(x, room), {W.data<T>() + first * W.strides()[1], W.strides()[1], W.strides()[0]}, rows,
                before);
      }
      before = as_const(rows);
    }
  });
  return y;
}

void linear_backward(const Tensor& dy, Inputs& in, int parts) {
  if (plain_kernels()) return linear_backward_plain(dy, in, parts);
  const std::int64_t n = count_rows(dy.shape()), d_out = width(dy.shape()), d_in = in.shape(parts)[1];
  dispatch(dy.dtype(), [&]<class T>(T) {
    Room room;
    const Strided<const T> d = rows_of<T>(dy, room);  // dy lies as y does, row-major
    bool banded = worth_bands<T>({n, d_in, d_out});
    for (int k = 0; k < parts; ++k) banded = banded && width(in.shape(k)) % band_width<T> == 0;
    std::int64_t first = 0;
    for (int k = 0; k < parts; first += width(in.shape(k++))) {
      if (!in.needs(k)) continue;
      const T* rows = in.made(parts, banded ? bands_of : contiguous).template data<T>();
      Room other;
      bool fresh = false;
      Tensor& dx = in.node(k).place(other, fresh);
      const GemmSize size{n, width(in.shape(k)), d_out};
      if (banded) add_product<T>(dx, fresh, 0, size, d, Bands<T>{rows, d_out}.from(0, first));
      else add_product<T>(dx, fresh, 0, size, d, Strided<const T>{rows + first, d_in, 1});
    }
    if (in.needs(parts)) {
      Room other;
      bool fresh = false;
      Tensor& dW = in.node(parts).place(other, fresh);
      first = 0;
      for (int k = 0; k < parts; first += width(in.shape(k++))) {
        Room copied;
        add_product<T>(dW, fresh, first, {d_out, width(in.shape(k)), n}, {d.data, d.column, d.row},
                       rows_of<T>(in.value(k), copied));
      }
    }
    if (in.count() > parts + 1 && in.needs(parts + 1)) {
      Room other;
      bool fresh = false;
      Tensor& db = in.node(parts + 1).place(other, fresh);
      if (fresh) fill_(db, 0);
      if (db.contiguous()) add_rows(db, d, n);
      else add_(db, sum(reshape(dy, Shape{n, d_out}), Axis{0}));
    }
  });
}

}  // namespace gradus
