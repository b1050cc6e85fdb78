// One (batch, head) after the other, so that its scores, 16 KB for 64 positions, stay in the first cache from the product
// that makes them to the last one that reads them. Composed of ops, scores, weights and the gradients of both would each
// go through memory, for all heads at once, before the next op begins. The weights alone are kept for the way back.
//
// Under a mask queries go in blocks, each with the keys up to the last one that it may look at: what a causal mask of 64
// positions hides is three eighths of all products and exponentials, and is not computed.
#include "autograd/kernels/dot_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "tensor/kernels/gemm.h"
#include "tensor/kernels/matrices.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/row_packs.h"
#include "tensor/kernels/softmax.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/transpose.h"

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

// x' of x (rows, d), row-major, once for all blocks.
template <class T> Strided<const T> turned_copy(const Strided<const T>& x, std::int64_t rows, std::int64_t d, T* to) {
  if (x.column == 1) transpose_rows(rows, d, x.data, x.row, to, rows);
  else
    for (std::int64_t j = 0; j < d; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) to[j * rows + i] = x.data[i * x.row + j * x.column];
    }
  return {to, rows, 1};
}

template <class T> Strided<const T> turned(const Strided<T>& x) { return {x.data, x.column, x.row}; }
template <class T> Strided<T> from_row(const Strided<T>& x, std::int64_t row) {
  return {x.data ? x.data + row * x.row : nullptr, x.row, x.column};
}

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
  std::int64_t spare() const { return T_q * T_k + (T_q + T_k) * std::max(d, d_v); }  // scores and two copies
};

// Blocks of so many queries, and of so many keys.
constexpr std::int64_t block = 16;

// For each block of queries of each entry: the keys in front of `reach` are all that it may look at.
class Reach {
 public:
  Reach(const Sizes& s, const Mask* mask)
      : queries_(s.T_q), length_(mask ? block : std::max(s.T_q, s.T_k)), blocks_(count(s.T_q)) {
    reach_.assign(static_cast<std::size_t>(s.entries * blocks_), s.T_k);
    const std::uint8_t* rows = mask ? mask->values().data() : nullptr;
    for (std::size_t i = 0; mask && i < reach_.size(); ++i) {
      const std::int64_t first = static_cast<std::int64_t>(i) % blocks_ * block, n = std::min(block, s.T_q - first);
      for (std::int64_t hidden = (s.T_k - 1) / block * block; hidden > 0; hidden -= block) {
        if (allows(rows, n, s.T_k, hidden, reach_[i])) break;
        reach_[i] = hidden;
      }
      rows += n * s.T_k;
    }
  }
  std::int64_t length() const { return length_; }  // of a block
  std::int64_t of(std::int64_t entry, std::int64_t query) const {
    return reach_[static_cast<std::size_t>(entry * blocks_ + query / length_)];
  }
  // The first query whose block may look at a key; where none may, as many as there are.
  std::int64_t first_query(std::int64_t entry, std::int64_t key) const {
    std::int64_t b = 0;
    while (b < blocks_ && reach_[static_cast<std::size_t>(entry * blocks_ + b)] <= key) ++b;
    return std::min(b * length_, queries_);
  }

 private:
  std::int64_t count(std::int64_t n) const { return (n + length_ - 1) / std::max<std::int64_t>(1, length_); }
  // Whether some of n rows allows a key from `first` to `end`, of which there are at most `block`.
  static bool allows(const std::uint8_t* row, std::int64_t n, std::int64_t T_k, std::int64_t first, std::int64_t end) {
    static constexpr std::uint8_t nothing[block] = {};
    for (std::int64_t i = 0; i < n; ++i, row += T_k) {
      if (std::memcmp(row + first, nothing, static_cast<std::size_t>(end - first)) != 0) return true;
    }
    return false;
  }
  std::int64_t queries_, length_, blocks_;
  std::vector<std::int64_t> reach_;
};

// Zeros behind the first `reach` of every row.
template <class T> void hide(const Strided<T>& x, std::int64_t rows, std::int64_t reach, std::int64_t end) {
  for (std::int64_t i = 0; i < rows; ++i) std::fill(x.data + i * x.row + reach, x.data + i * x.row + end, T{0});
}

Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask* mask, const Reach& reaches,
               Tensor& weights) {
  const Sizes s(q, k, v);
  Tensor y = empty_as(q, q.shape().with(Axis{q.rank() - 1}, s.d_v));
  dispatch(q.dtype(), [&]<class T>(T) {
    const T *from_q = q.data<T>(), *from_k = k.data<T>(), *from_v = v.data<T>();
    T *first = weights.mutable_data<T>(), *to = y.mutable_data<T>();
    parallel(s.entries, 1, s.nanoseconds<T>(), [&](std::int64_t begin, std::int64_t end) {
      Tensor space = empty(Shape{s.spare()}, q.dtype());
      T* const scores = space.mutable_data<T>();
      for (std::int64_t i = begin; i < end; ++i) {
        const Strided<T> P{first + i * s.T_q * s.T_k, s.T_k, 1}, Y = matrix_of(to, y, i);
        const auto V = matrix_of(from_v, v, i);
        fetch(V, s.T_k, s.d_v), fetch(P, s.T_q, s.T_k);
        const auto query = scaled(matrix_of(from_q, q, i), s.T_q, s.d, s.factor<T>(), scores + s.T_q * s.T_k);
        const auto keys = turned_copy(matrix_of(from_k, k, i), s.T_k, s.d, scores + s.T_q * (s.T_k + s.d));
        for (std::int64_t row = 0; row < s.T_q; row += reaches.length()) {
          const std::int64_t n = std::min(reaches.length(), s.T_q - row), reach = reaches.of(i, row);
          const Strided<T> S{scores, s.T_k, 1}, weight = from_row(P, row);
          gemm<T>({n, reach, s.d}, from_row(query, row), keys, S, {});
          const std::uint8_t* allowed = mask ? mask->values().data() + (i * s.T_q + row) * s.T_k : nullptr;
          const std::int64_t none = softmax_rows(S.data, allowed, reach, n, s.T_k, weight.data);
          if (none >= 0) refuse_empty_row(i * s.T_q + row + none);
          hide(weight, n, reach, s.T_k);
          gemm<T>({n, s.d_v, reach}, as_const(weight), V, from_row(Y, row), {});
        }
      }
    });
  });
  return y;
}

// With weights P = softmax(S): dP = dy V', dS = P (dP - sum of P dP along a row), dV = P' dy, dQ and dK from dS. What
// both of these are to be multiplied with stands in dS already, because dy was.
template <class T>
void backward_entry(const Sizes& s, const Reach& reaches, std::int64_t entry, const Strided<const T>& P,
                    const Strided<const T>& dy, const std::array<Strided<const T>, 3>& in,
                    const std::array<Strided<T>, 3>& to, T* space) {
  const auto& [q, k, v] = in;
  const auto& [dq, dk, dv] = to;
  const Strided<T> dS{space, s.T_k, 1};
  fetch(q, s.T_q, s.d), fetch(k, s.T_k, s.d), fetch(P, s.T_q, s.T_k);
  fetch(dq, s.T_q, s.d), fetch(dk, s.T_k, s.d), fetch(dv, s.T_k, s.d_v);
  const auto scaled_dy = scaled(dy, s.T_q, s.d_v, s.factor<T>(), space + s.T_q * s.T_k);
  const auto values = turned_copy(v, s.T_k, s.d_v, space + s.T_q * (s.T_k + s.d_v));
  for (std::int64_t row = 0; row < s.T_q; row += reaches.length()) {
    const std::int64_t n = std::min(reaches.length(), s.T_q - row), reach = reaches.of(entry, row);
    const Strided<T> slope = from_row(dS, row), to_q = from_row(dq, row);
    gemm<T>({n, reach, s.d_v}, from_row(scaled_dy, row), values, slope, {});
    softmax_rows_gradient(from_row(P, row).data, slope.data, reach, n, s.T_k, slope.data, false);
    hide(slope, n, reach, s.T_k);
    if (dq.data) gemm<T>({n, s.d, reach}, as_const(slope), k, to_q, as_const(to_q));
  }
  for (std::int64_t key = 0; key < s.T_k; key += reaches.length()) {
    const std::int64_t n = std::min(reaches.length(), s.T_k - key), row = reaches.first_query(entry, key);
    const Strided<T> to_v = from_row(dv, key), to_k = from_row(dk, key);
    const auto some_P = from_row(turned(from_row(P, row)), key), some_dS = from_row(turned(from_row(dS, row)), key);
    if (dv.data) gemm<T>({n, s.d_v, s.T_q - row}, some_P, from_row(dy, row), to_v, as_const(to_v));
    if (dk.data) gemm<T>({n, s.d, s.T_q - row}, some_dS, from_row(q, row), to_k, as_const(to_k));
  }
}

void backward_all(const Tensor& weights, const Reach& reaches, const Tensor& dy, Inputs& in) {
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
      Tensor space = empty(Shape{s.spare()}, dy.dtype());
      for (std::int64_t i = begin; i < end; ++i) {
        std::array<Strided<const T>, 3> entry;
        std::array<Strided<T>, 3> target{};
        for (std::size_t k = 0; k < 3; ++k) {
          entry[k] = matrix_of(from[k], x[k], i);
          if (to[k]) target[k] = matrix_of(to[k], dx[k], i);
        }
        backward_entry<T>(s, reaches, i, {P + i * s.T_q * s.T_k, s.T_k, 1}, matrix_of(from_dy, dy, i), entry, target,
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
  const Mask* const allowed = mask ? &*mask : nullptr;
  Reach reaches(Sizes(q.value(), k.value(), v.value()), allowed);
  const Tensor y = forward(q.value(), k.value(), v.value(), allowed, reaches, weights);
  return record("dot attention", y, {q, k, v}, [weights, reaches = std::move(reaches)](const Tensor& dy, Inputs& in) {
    backward_all(weights, reaches, dy, in);
  });
}

}  // namespace gradus
