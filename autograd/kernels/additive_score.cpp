// tanh(q + k) without a tanh: with Q = e^2q and K = e^2k it is 1 - 2 r, r = 1 / (Q K + 1), and its slope is 4 (r -
// r^2). K is made once for a sequence and Q once for a step, so that an element of every step costs a product and a
// division, and no exponential. Absolutely this is as exact as tanh of the rounded sum q + k; relatively it is not.
//
// e^2x keeps its digits up to some |x|. A row of Q or K with an element beyond is marked by NaN, and where one is met
// the exponential of the sum is taken, so that the same loops go on with Q = 1 and K = e^2(q + k).
#include "autograd/kernels/additive_score.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "autograd/kernels/row_gradient.h"
#include "autograd/pointwise.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/row_packs.h"
#include "tensor/kernels/threads.h"

namespace gradus {
namespace {

template <class T> constexpr T range = sizeof(T) == 4 ? T{43} : T{350};
template <class T> constexpr std::int64_t lanes = Pack<T>::lanes;

// to[j] = e^2x[j] for one row of d numbers, where x(j, n) gives the n <= lanes numbers from j on. Returns the largest
// |x|.
template <class T, class Row> T exponentials(std::int64_t d, Row x, T* to) {
  Pack<T> largest{};
  for (std::int64_t j = 0; j < d; j += lanes<T>) {
    const Pack<T> p = x(j, static_cast<int>(std::min(lanes<T>, d - j)));
    largest = max(largest, abs(p));  // NaN stays NaN
    exp(p + p).store(to + j);
  }
  T result = 0;
  for (int lane = 0; lane < lanes<T>; ++lane) result = largest.v[lane] <= result ? result : largest.v[lane];
  return result;
}

// d as a number of whole packs, in elements.
std::int64_t whole_packs(const Tensor& x) {
  const std::int64_t d = x.shape()[x.rank() - 1], pack = pack_bytes / static_cast<std::int64_t>(bytes_of(x.dtype()));
  return (d + pack - 1) / pack * pack;
}

// The last axis filled up to whole packs with 0.
Tensor filled_up(const Tensor& x) {
  const Axis last{x.rank() - 1};
  if (whole_packs(x) == x.shape()[last]) return contiguous(x);
  Tensor result = zeros(x.shape().with(last, whole_packs(x)), x.dtype());
  Tensor part = narrow(result, last, 0, x.shape()[last]);
  copy_(part, x);
  return result;
}

// x (..., d) -> e^2x, the last axis filled up to whole packs; the first number of a row out of range is NaN.
Tensor exponentials(const Tensor& x) {
  const Tensor dense = contiguous(x);
  const std::int64_t d = x.shape()[x.rank() - 1], packed = whole_packs(x), rows = d == 0 ? 0 : x.size() / d;
  Tensor result = empty(x.shape().with(Axis{x.rank() - 1}, packed), x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    const T* from = dense.data<T>();
    T* to = result.mutable_data<T>();
    for (std::int64_t i = 0; i < rows; ++i, from += d, to += packed) {
      const T largest = exponentials(
          d, [&](std::int64_t j, int n) { return read(from + j, n); }, to);
      if (!(largest <= range<T>)) *to = std::numeric_limits<T>::quiet_NaN();
    }
  });
  return result;
}

// Where the exponentials Q of q (B, d) and K of k (B, T, d) are found.
template <class T> class Rows {
 public:
  Rows(const Tensor& q, const Tensor& Q, const Tensor& k, const Tensor& K)
      : d(q.shape()[1]), length(k.shape()[1]), packed(K.shape()[2]), q_(q), k_(k), Q_(Q.data<T>()), K_(K.data<T>()) {}

  const std::int64_t d, length, packed;
  struct Row {
    const T *Q, *K;
  };
  // Of entry b of the batch and position i; where that is out of range what stands for it, in `spare` until the next
  // call.
  Row operator()(std::int64_t b, std::int64_t i, std::vector<T>& spare) const {
    const Row row{Q_ + b * packed, K_ + (b * length + i) * packed};
    if (packed == 0 || (*row.Q == *row.Q && *row.K == *row.K)) [[likely]]  // a row of width 0 has no first number
      return row;
    return out_of_range(b, i, spare);
  }

 private:
  [[gnu::noinline]] Row out_of_range(std::int64_t b, std::int64_t i, std::vector<T>& spare) const {
    spare.resize(static_cast<std::size_t>(2 * packed), T{1});  // a row of ones and room for e^2(q + k)
    const T* q = q_.template data<T>() + b * q_.strides()[0];
    const T* k = k_.template data<T>() + b * k_.strides()[0] + i * k_.strides()[1];
    const std::int64_t q_step = q_.strides()[1], k_step = k_.strides()[2];
    exponentials(
        d,
        [&](std::int64_t j, int n) {
          return Pack<T>::load(q + j * q_step, q_step, n) + Pack<T>::load(k + j * k_step, k_step, n);
        },
        spare.data() + packed);
    return {spare.data(), spare.data() + packed};
  }

  const Tensor &q_, &k_;
  const T *Q_, *K_;
};

template <class T> Pack<T> remainder(const T* Q, const T* K) { return 1 / (Pack<T>::load(Q) * Pack<T>::load(K) + 1); }

Tensor forward(const Tensor& q, const Tensor& Q, const Tensor& k, const Tensor& K, const Tensor& v) {
  Tensor e = empty(Shape{k.shape()[0], k.shape()[1]}, q.dtype());
  const Tensor weights = filled_up(v);
  dispatch(q.dtype(), [&]<class T>(T) {
    const Rows<T> rows(q, Q, k, K);
    const T* w = weights.data<T>();
    T* scores = e.mutable_data<T>();
    parallel(q.shape()[0], 1, 0.4 * static_cast<double>(K.size()), [&](std::int64_t first, std::int64_t end) {
      std::vector<T> spare;
      T* to = scores + first * rows.length;
      for (std::int64_t b = first; b < end; ++b) {
        for (std::int64_t i = 0; i < rows.length; ++i) {
          const auto [Q_row, K_row] = rows(b, i, spare);
          Pack<T> total{};
          for (std::int64_t j = 0; j < rows.packed; j += lanes<T>) {
            const Pack<T> r = remainder(Q_row + j, K_row + j);
            total = total + Pack<T>::load(w + j) * (1 - (r + r));
          }
          *to++ = total.sum();
        }
      }
    });
  });
  return e;
}

// What the backward loops write: rows of whole packs, added to or written where fresh. dq (B, packed), dk (B, T, packed);
// either may be null. dv (B, packed) has one row for each entry of the batch.
template <class T> struct Gradients {
  T *dq, *dk, *dv;
  bool fresh_q, fresh_k;
};

// Some columns, `Packs` packs from j on, of one entry of the batch: their sums stay in registers. de (T) is the
// gradient of the entry's scores.
template <class T, int Packs>
void backward_columns(const Rows<T>& rows, std::vector<T>& spare, std::int64_t b, std::int64_t j, const T* de,
                      const T* v, const Gradients<T>& to) {
  using P = Pack<T>;
  P slope[Packs], to_q[Packs], to_v[Packs];  // 4 v and the sums
  for (int m = 0; m < Packs; ++m) {
    slope[m] = 4 * P::load(v + j + m * lanes<T>);
    to_q[m] = to_v[m] = P{};
  }
  for (std::int64_t i = 0; i < rows.length; ++i) {
    const auto [Q_row, K_row] = rows(b, i, spare);
    const P d = P::broadcast(de[i]);
    T* dk_row = to.dk ? to.dk + (b * rows.length + i) * rows.packed + j : nullptr;
    for (int m = 0; m < Packs; ++m) {
      const P r = remainder(Q_row + j + m * lanes<T>, K_row + j + m * lanes<T>);
      const P through = d * (r - r * r);
      to_q[m] = to_q[m] + through;
      to_v[m] = to_v[m] + d * (1 - (r + r));
      if (!dk_row) continue;
      T* place = dk_row + m * lanes<T>;
      (to.fresh_k ? through * slope[m] : P::load(place) + through * slope[m]).store(place);
    }
  }
  for (int m = 0; m < Packs; ++m) {
    const std::int64_t at = b * rows.packed + j + m * lanes<T>;
    to_v[m].store(to.dv + at);
    if (!to.dq) continue;
    (to.fresh_q ? to_q[m] * slope[m] : P::load(to.dq + at) + to_q[m] * slope[m]).store(to.dq + at);
  }
}

template <class T>
void backward(const Rows<T>& rows, std::int64_t batch, const T* de, const T* v, const Gradients<T>& to) {
  const double elements = static_cast<double>(batch * rows.length * rows.packed);
  parallel(batch, 1, 0.8 * elements, [&](std::int64_t first, std::int64_t end) {
    std::vector<T> spare;
    for (std::int64_t b = first; b < end; ++b) {
      for (std::int64_t j = 0; j < rows.packed;) {
        const std::int64_t left = (rows.packed - j) / lanes<T>;
        const auto columns = left >= 4   ? backward_columns<T, 4>
                             : left >= 2 ? backward_columns<T, 2>
                                         : backward_columns<T, 1>;
        columns(rows, spare, b, j, de + b * rows.length, v, to);
        j += (left >= 4 ? 4 : left >= 2 ? 2 : 1) * lanes<T>;
      }
    }
  });
  for (std::int64_t b = 1; b < batch; ++b) {  // not by the threads: one order of summation
    for (std::int64_t j = 0; j < rows.packed; ++j) to.dv[j] += to.dv[b * rows.packed + j];
  }
}

}  // namespace

Var additive_score_plain(const Var& q, const Var& k, const Var& v) {
  const std::int64_t batch = k.shape()[0], length = k.shape()[1];
  return pointwise_sum(
      "additive score", [](auto query, auto key, auto weight) { return weight * tanh(query + key); }, Axis{2},
      spread(q, Axis{1}, length), k,
      seen(v, [=](const Tensor& t) { return expand_new(expand_new(t, Axis{0}, length), Axis{0}, batch); }));
}

Var additive_score(const Var& q, const Var& k, const Var& v) {
  if (plain_kernels()) return additive_score_plain(q, k, v);
  check_same_dtype("additive score", q.value(), k.value());
  check_same_dtype("additive score", q.value(), v.value());
  Tensor Q = exponentials(q.value());
  Tensor e = forward(q.value(), Q, k.value(), k.node()->made(exponentials), v.value());
  return record("additive score", std::move(e), {q, k, v}, [Q = std::move(Q)](const Tensor& de, Inputs& in) {
    const Tensor &queries = in.value(0), &keys = in.value(1), &K = in.made(1, exponentials);
    const std::int64_t batch = queries.shape()[0], d = queries.shape()[1];
    RowGradient dq(in, 0, Q.shape()), dk(in, 1, K.shape());
    Tensor dv = empty(Q.shape(), Q.dtype());
    const Tensor weights = filled_up(in.value(2)), dense = contiguous(de);
    dispatch(de.dtype(), [&]<class T>(T) {
      const Gradients<T> to{dq.data<T>(), dk.data<T>(), dv.mutable_data<T>(), dq.fresh(), dk.fresh()};
      backward(Rows<T>(queries, Q, keys, K), batch, dense.data<T>(), weights.data<T>(), to);
    });
    dq.finish();
    dk.finish();
    if (batch > 0) in.add(2, Tensor(dv.buffer(), Shape{d}, 0, dv.dtype()));  // its first row holds the sum
  });
}

}  // namespace gradus
