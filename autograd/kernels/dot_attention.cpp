// One (batch, head) after the other, so that its scores, 16 KB for 64 positions, stay in the first cache from the product
// that makes them to the last one that reads them. Composed of ops, scores, weights and the gradients of both would each
// go through memory, for all heads at once, before the next op begins. The weights alone are kept for the way back.
#include "autograd/kernels/dot_attention.h"

#include <array>
#include <cmath>

#include "autograd/ops.h"
#include "tensor/kernels/gemm.h"
#include "tensor/kernels/matrices.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/row_packs.h"
#include "tensor/kernels/softmax.h"
#include "tensor/kernels/threads.h"

namespace gradus {
namespace {

void check(const Var& q, const Var& k, const Var& v, const std::optional<Mask>& mask) {
  const int last = q.rank() - 1;
  bool fits = (last == 2 || last == 3) && k.rank() == q.rank() && v.rank() == q.rank();
  for (int axis = 0; fits && axis < last - 1; ++axis)
    fits = k.shape()[axis] == q.shape()[axis] && v.shape()[axis] == q.shape()[axis];
  fits =
      fits && q.shape()[last] > 0 && k.shape()[last] == q.shape()[last] && v.shape()[last - 1] == k.shape()[last - 1];
  if (!fits || (mask && mask->shape() != q.shape().with(Axis{last}, k.shape()[last - 1]))) {
    throw ShapeError("dot attention: q " + to_string(q.shape()) + ", k " + to_string(k.shape()) + ", v " +
                     to_string(v.shape()) + (mask ? ", mask " + to_string(mask->shape()) : "") +
                     "; they must be (..., T_q, d), (..., T_k, d), (..., T_k, d_v)" +
                     (mask ? " and (..., T_q, T_k)" : "") + " with one or two axes in front and d > 0");
  }
  check_same_dtype("dot attention", q.value(), k.value());
  check_same_dtype("dot attention", q.value(), v.value());
}

// A tensor of this shape whose axes lie in memory as those of x: heads that were split off come together again without
// a copy.
Tensor empty_as(const Tensor& x, const Shape& shape) {
  if (x.stretched()) return empty(shape, x.dtype());
  return empty_like(Tensor(Ref<Buffer>(), shape, x.strides(), 0, x.dtype()));
}

// factor x, row-major.
template <class T>
Strided<const T> scaled(const Strided<const T>& x, std::int64_t rows, std::int64_t d, T factor, T* to) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* row = x.data + i * x.row;
    if (x.column == 1)
      for_each_pack(row, d, T{0},
                    [&](std::int64_t j, Pack<T> p, int count) { write(p * factor, to + i * d + j, count); });
    else
      for (std::int64_t j = 0; j < d; ++j) to[i * d + j] = row[j * x.column] * factor;
  }
  return {to, d, 1};
}

template <class T> Strided<const T> turned(const Strided<T>& x) { return {x.data, x.column, x.row}; }

// On its way while something else is computed: a head's rows lie as far apart as all heads together are wide, which no
// processor foresees.
template <class T> void fetch(const Strided<T>& x, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t i = 0; i < rows && x.data; ++i) {
    for (std::int64_t j = 0; j < columns; j += line) __builtin_prefetch(x.data + i * x.row + j * x.column);
  }
}

struct Sizes {
  std::int64_t entries, T_q, T_k, d, d_v;
  Sizes(const Tensor& q, const Tensor& k, const Tensor& v)
      : entries(count_matrices(q.shape())),
        T_q(q.shape()[q.rank() - 2]),
        T_k(k.shape()[k.rank() - 2]),
        d(q.shape()[q.rank() - 1]),
        d_v(v.shape()[v.rank() - 1]) {}
  template <class T> double nanoseconds() const {
    return static_cast<double>(entries) * (gemm_nanoseconds<T>({T_q, T_k, d + d_v}) + static_cast<double>(T_q * T_k));
  }
  template <class T> T factor() const { return static_cast<T>(1 / std::sqrt(static_cast<double>(d))); }
};

Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask* mask, Tensor& weights) {
  const Sizes s(q, k, v);
  Tensor y = empty_as(q, q.shape().with(Axis{q.rank() - 1}, s.d_v));
  dispatch(q.dtype(), [&]<class T>(T) {
    const T *from_q = q.data<T>(), *from_k = k.data<T>(), *from_v = v.data<T>();
    T *first = weights.mutable_data<T>(), *to = y.mutable_data<T>();
    parallel(s.entries, 1, s.nanoseconds<T>(), [&](std::int64_t begin, std::int64_t end) {
      Tensor space = empty(Shape{s.T_q, s.T_k + s.d}, q.dtype());
      const Strided<T> S{space.mutable_data<T>(), s.T_k, 1};
      for (std::int64_t i = begin; i < end; ++i) {
        const Strided<T> P{first + i * s.T_q * s.T_k, s.T_k, 1};
        fetch(matrix_of(from_v, v, i), s.T_k, s.d_v), fetch(P, s.T_q, s.T_k);
        const auto query = scaled(matrix_of(from_q, q, i), s.T_q, s.d, s.factor<T>(), S.data + s.T_q * s.T_k);
        gemm<T>({s.T_q, s.T_k, s.d}, query, turned(matrix_of(from_k, k, i)), S, {});
        const std::uint8_t* allowed = mask ? mask->values().data() + i * s.T_q * s.T_k : nullptr;
        const std::int64_t none = softmax_rows(S.data, allowed, s.T_k, s.T_q, P.data);
        if (none >= 0) refuse_empty_row(i * s.T_q + none);
        gemm<T>({s.T_q, s.d_v, s.T_k}, as_const(P), matrix_of(from_v, v, i), matrix_of(to, y, i), {});
      }
    });
  });
  return y;
}

// With weights P = softmax(S): dP = dy V', dS = P (dP - sum of P dP along a row), dV = P' dy, dQ and dK from dS. What
// both of these are to be multiplied with stands in dS already, because dy was.
template <class T>
void backward_entry(const Sizes& s, const Strided<const T>& P, const Strided<const T>& dy,
                    const std::array<Strided<const T>, 3>& in, const std::array<Strided<T>, 3>& to, T* space) {
  const auto& [q, k, v] = in;
  const auto& [dq, dk, dv] = to;
  const Strided<T> dS{space, s.T_k, 1};
  fetch(q, s.T_q, s.d), fetch(k, s.T_k, s.d), fetch(P, s.T_q, s.T_k);
  fetch(dq, s.T_q, s.d), fetch(dk, s.T_k, s.d), fetch(dv, s.T_k, s.d_v);
  const auto scaled_dy = scaled(dy, s.T_q, s.d_v, s.factor<T>(), space + s.T_q * s.T_k);
  gemm<T>({s.T_q, s.T_k, s.d_v}, scaled_dy, turned(v), dS, {});
  softmax_rows_gradient(P.data, dS.data, s.T_k, s.T_q, dS.data, false);
  if (dv.data) gemm<T>({s.T_k, s.d_v, s.T_q}, turned(P), dy, dv, as_const(dv));
  if (dq.data) gemm<T>({s.T_q, s.d, s.T_k}, as_const(dS), k, dq, as_const(dq));
  if (dk.data) gemm<T>({s.T_k, s.d, s.T_q}, turned(dS), q, dk, as_const(dk));
}

void backward_all(const Tensor& weights, const Tensor& dy, Inputs& in) {
  const std::array<Tensor, 3> x{in.value(0), in.value(1), in.value(2)};
  const Sizes s(x[0], x[1], x[2]);
  std::array<Tensor, 3> dx;
  bool apart = true;  // no two entries add to the same number
  for (int k = 0; k < 3; ++k) {
    if (!in.needs(k)) continue;
    dx[k] = in.grad(k);
    if (dx[k].stretched()) dx[k] = zeros(dx[k].shape(), dx[k].dtype());
    for (int j = 0; j < k; ++j) apart = apart && dx[j].buffer().get() != dx[k].buffer().get();
  }
  dispatch(dy.dtype(), [&]<class T>(T) {
    const T *from_dy = dy.data<T>(), *P = weights.data<T>();
    std::array<const T*, 3> from;
    std::array<T*, 3> to{};
    for (std::size_t k = 0; k < 3; ++k) {
      from[k] = x[k].data<T>();
      if (dx[k].defined()) to[k] = dx[k].mutable_data<T>();
    }
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      Tensor space = empty(Shape{s.T_q, s.T_k + s.d_v}, dy.dtype());
      for (std::int64_t i = begin; i < end; ++i) {
        std::array<Strided<const T>, 3> entry;
        std::array<Strided<T>, 3> target{};
        for (std::size_t k = 0; k < 3; ++k) {
          entry[k] = matrix_of(from[k], x[k], i);
          if (to[k]) target[k] = matrix_of(to[k], dx[k], i);
        }
        backward_entry<T>(s, {P + i * s.T_q * s.T_k, s.T_k, 1}, matrix_of(from_dy, dy, i), entry, target,
                          space.mutable_data<T>());
      }
    };
    if (apart) parallel(s.entries, 1, 2 * s.nanoseconds<T>(), some);
    else some(0, s.entries);
  });
  for (int k = 0; k < 3; ++k) {
    if (dx[k].defined() && in.grad(k).stretched()) in.add(k, dx[k]);
  }
}

}  // namespace

Var dot_attention_plain(const Var& q, const Var& k, const Var& v, const std::optional<Mask>& mask) {
  check(q, k, v, mask);
  const Axis last{q.rank() - 1};
  const Var scores = matmul(q / std::sqrt(static_cast<double>(q.size(last))), transpose(k, Axis{last.index - 1}, last));
  return matmul(mask ? softmax(scores, last, *mask) : softmax(scores, last), v);
}

Var dot_attention(const Var& q, const Var& k, const Var& v, const std::optional<Mask>& mask) {
  if (plain_kernels()) return dot_attention_plain(q, k, v, mask);
  check(q, k, v, mask);
  const int last = q.rank() - 1;
  Tensor weights = empty(q.shape().with(Axis{last}, k.shape()[last - 1]), q.dtype());
  const Tensor y = forward(q.value(), k.value(), v.value(), mask ? &*mask : nullptr, weights);
  return record("dot attention", y, {q, k, v},
                [weights](const Tensor& dy, Inputs& in) { backward_all(weights, dy, in); });
}

}  // namespace gradus
