// Forward, the sums of up to four packs of columns stay in registers while the rows pass by; as a pointwise formula each
// row would read and write them. Backward, a row of h is read once for both gradients.
#include "autograd/kernels/weighted_sum.h"

#include "autograd/kernels/row_gradient.h"
#include "autograd/pointwise.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/row_packs.h"
#include "tensor/kernels/threads.h"

namespace gradus {
namespace {

// h (B, T, d) with numbers of a row side by side.
Tensor with_dense_rows(const Tensor& h) { return h.strides()[2] == 1 ? h : contiguous(h); }

// Columns of one entry of the batch: `width` <= Packs packs of them, of which the last may be a part.
template <class T, int Packs>
void sum_columns(std::int64_t length, const T* w, const T* h, std::int64_t row, std::int64_t width, T* to) {
  constexpr std::int64_t lanes = Pack<T>::lanes;
  Pack<T> total[Packs]{};
  const int rest = static_cast<int>(width - (Packs - 1) * lanes);
  for (std::int64_t i = 0; i < length; ++i, h += row) {
    const Pack<T> weight = Pack<T>::broadcast(w[i]);
    for (int m = 0; m + 1 < Packs; ++m) total[m] = total[m] + weight * Pack<T>::load(h + m * lanes);
    total[Packs - 1] = total[Packs - 1] + weight * read(h + (Packs - 1) * lanes, rest);
  }
  for (int m = 0; m + 1 < Packs; ++m) total[m].store(to + m * lanes);
  write(total[Packs - 1], to + (Packs - 1) * lanes, rest);
}

template <class T> void forward(const Tensor& weights, const Tensor& values, Tensor& c) {
  const std::int64_t length = values.shape()[1], d = values.shape()[2], entry = values.strides()[0];
  const T *w = weights.data<T>(), *h = values.data<T>();
  T* to = c.mutable_data<T>();
  constexpr std::int64_t lanes = Pack<T>::lanes;
  parallel(c.shape()[0], 1, 0.05 * static_cast<double>(values.size()),
           [=, row = values.strides()[1]](auto b, auto end) {
             for (; b < end; ++b) {
               for (std::int64_t j = 0; j < d; j += 4 * lanes) {
                 const std::int64_t width = std::min(d - j, 4 * lanes);
                 const auto columns = width > 3 * lanes   ? sum_columns<T, 4>
                                      : width > 2 * lanes ? sum_columns<T, 3>
                                      : width > lanes     ? sum_columns<T, 2>
                                                          : sum_columns<T, 1>;
                 columns(length, w + b * length, h + b * entry + j, row, width, to + b * d + j);
               }
             }
           });
}

// dw_i = dc . h_i and dh_i = w_i dc for one entry of the batch: added, or written where fresh, and left out where null.
// `Whole`: d is a number of whole packs.
template <class T, bool Whole>
void backward_entry(std::int64_t length, std::int64_t d, const T* w, const T* h, std::int64_t row, const T* dc, T* dw,
                    bool fresh_w, T* dh, bool fresh_h) {
  using P = Pack<T>;
  for (std::int64_t i = 0; i < length; ++i, h += row, dh += dh ? d : 0) {
    const P weight = P::broadcast(w[i]), zero{};
    P total{};
    std::int64_t j = 0;
    for (; j + P::lanes <= d; j += P::lanes) {
      // Products are rounded before they are added, whatever the compiler would fuse.
      const P p = P::load(dc + j), product = zero + p * P::load(h + j), change = zero + p * weight;
      total = total + product;
      if (dh) (fresh_h ? change : P::load(dh + j) + change).store(dh + j);
    }
    if constexpr (!Whole) {
      const int rest = static_cast<int>(d - j);
      const P p = P::load_first(dc + j, rest), change = zero + p * weight;
      total = total + (zero + p * P::load_first(h + j, rest));
      if (dh) (fresh_h ? change : P::load_first(dh + j, rest) + change).store_first(dh + j, rest);
    }
    if (dw) dw[i] = (fresh_w ? T{0} : dw[i]) + total.sum();
  }
}

template <class T>
void backward(const Tensor& weights, const Tensor& values, const Tensor& dc, RowGradient& dw, RowGradient& dh) {
  const std::int64_t length = values.shape()[1], d = values.shape()[2], entry = values.strides()[0];
  const T *w = weights.data<T>(), *h = values.data<T>(), *dy = dc.data<T>();
  T *to_w = dw.data<T>(), *to_h = dh.data<T>();
  const bool fresh_w = dw.fresh(), fresh_h = dh.fresh();
  const auto one = d % Pack<T>::lanes == 0 ? backward_entry<T, true> : backward_entry<T, false>;
  parallel(dc.shape()[0], 1, 0.15 * static_cast<double>(values.size()),
           [=, row = values.strides()[1]](std::int64_t b, std::int64_t end) {
             for (; b < end; ++b) {
               one(length, d, w + b * length, h + b * entry, row, dy + b * d, to_w ? to_w + b * length : nullptr,
                   fresh_w, to_h ? to_h + b * length * d : nullptr, fresh_h);
             }
           });
}

}  // namespace

Var weighted_sum_plain(const Var& w, const Var& h) {
  return pointwise_sum(
      "context", [](auto weight, auto value) { return weight * value; }, Axis{1}, spread(w, Axis{2}, h.shape()[2]), h);
}

Var weighted_sum(const Var& w, const Var& h) {
  if (h.rank() != 3 || w.rank() != 2) {
    throw ShapeError("weighted sum: w " + to_string(w.shape()) + ", h " + to_string(h.shape()) +
                     "; they must be (B, T) and (B, T, d)");
  }
  const Shape &all = h.shape(), &rows = w.shape();
  if (all[0] != rows[0] || all[1] != rows[1]) refuse_shapes("weighted sum", rows, all.without(Axis{2}));
  check_same_dtype("weighted sum", w.value(), h.value());
  if (plain_kernels()) return weighted_sum_plain(w, h);
  Tensor c = empty(all.without(Axis{1}), h.dtype());
  const Tensor weights = contiguous(w.value()), values = with_dense_rows(h.value());
  dispatch(h.dtype(), [&]<class T>(T) { forward<T>(weights, values, c); });
  return record("context", std::move(c), {w, h}, [](const Tensor& dc, Inputs& in) {
    RowGradient dw(in, 0, in.shape(0)), dh(in, 1, in.shape(1));
    const Tensor weight = contiguous(in.value(0)), value = with_dense_rows(in.value(1)), dy = contiguous(dc);
    dispatch(dc.dtype(), [&]<class T>(T) { backward<T>(weight, value, dy, dw, dh); });
    dw.finish();
    dh.finish();
  });
}

}  // namespace gradus
