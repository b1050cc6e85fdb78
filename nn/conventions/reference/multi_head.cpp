// Heads are treated as further rows of the batch.
#include "nn/conventions/reference/multi_head.h"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace gradus::reference {

namespace {

// x (B, T, d) -> (B, T, out)
Array project(const Arrays& arrays, const std::string& which, const Array& x) {
  const Array& W = get(arrays, "W_" + which);
  const Array* b = find(arrays, "b_" + which);
  Array y({x.dim(0), x.dim(1), W.dim(0)});
  for (std::size_t r = 0; r < x.dim(0); ++r) {
    for (std::size_t t = 0; t < x.dim(1); ++t) {
      const Vec product = matvec(W, x.row({r, t}));
      y.set_row({r, t}, b ? add(product, b->data) : product);
    }
  }
  return y;
}

// Where feature j of head k at step t of one example lies in that example's T * heads * d_k numbers.
std::size_t place(HeadSplit split, std::size_t k, std::size_t t, std::size_t j, std::size_t heads, std::size_t T,
                  std::size_t d_k) {
  if (split == HeadSplit::interleaved) return t * heads * d_k + j * heads + k;
  if (split == HeadSplit::reshaped) return (k * T + t) * d_k + j;
  return t * heads * d_k + k * d_k + j;
}

// Calls visit(index in (B * heads, T, d_k), index in (B, T, heads * d_k)) for every number.
template <class Visit>
void each_feature(HeadSplit split, std::size_t B, std::size_t heads, std::size_t T, std::size_t d_k, Visit visit) {
  std::size_t by_head = 0;
  for (std::size_t b = 0; b < B; ++b)
    for (std::size_t k = 0; k < heads; ++k)
      for (std::size_t t = 0; t < T; ++t)
        for (std::size_t j = 0; j < d_k; ++j)
          visit(by_head++, b * T * heads * d_k + place(split, k, t, j, heads, T, d_k));
}

Array split_heads(HeadSplit split, std::size_t heads, const Array& x) {
  if (heads == 0 || x.dim(2) % heads != 0) {
    throw std::invalid_argument("reference multi-head attention: " + std::to_string(x.dim(2)) +
                                " features cannot be "
                                "shared by " +
                                std::to_string(heads) + " heads");
  }
  const std::size_t d_k = x.dim(2) / heads;
  Array out({x.dim(0) * heads, x.dim(1), d_k});
  each_feature(split, x.dim(0), heads, x.dim(1), d_k,
               [&](std::size_t to, std::size_t from) { out.data[to] = x.data[from]; });
  return out;
}

Array merge_heads(HeadSplit merge, std::size_t heads, const Array& x) {
  const std::size_t B = x.dim(0) / heads, T = x.dim(1), d_k = x.dim(2);
  Array out({B, T, heads * d_k});
  each_feature(merge, B, heads, T, d_k, [&](std::size_t from, std::size_t to) { out.data[to] = x.data[from]; });
  return out;
}

Array mask_of_heads(HeadMask how, std::size_t heads, const Array& mask) {
  const std::size_t B = mask.dim(0);
  Array out({B * heads, mask.dim(1)});
  for (std::size_t r = 0; r < B * heads; ++r) out.set_row({r}, mask.row({how == HeadMask::tiled ? r % B : r / heads}));
  return out;
}

}  // namespace

MultiHead multi_head_attention(const MultiHeadConvention& convention, const Arrays& arrays, const Array& query,
                               const Array& key, const Array& value, const Array* mask, const MultiHead* still,
                               SoftmaxSlope slope) {
  const std::size_t heads = convention.heads;
  Array q = split_heads(convention.split, heads, project(arrays, "Q", query));
  const Array k = split_heads(convention.split, heads, project(arrays, "K", key));
  if (convention.scale_by_model_size)
    for (double& x : q.data) x /= std::sqrt(static_cast<double>(heads));
  AttentionConvention attention = convention.attention;
  attention.heads = heads;
  const Array head_mask = mask ? mask_of_heads(convention.mask, heads, *mask) : Array();

  MultiHead out;
  out.scores = scores(attention.score, arrays, q, k);
  out.weights = attention_weights(attention, out.scores, mask ? &head_mask : nullptr);
  if (still) {
    const Array calm(out.scores.shape, still->weights.data);
    out.weights = weights_along(slope, attention.temperature, calm, still->scores, out.scores);
  }
  if (find(arrays, "W_V")) {
    const Array v = split_heads(convention.split, heads, project(arrays, "V", value));
    out.output = merge_heads(convention.merge, heads, contexts(attention, out.weights, v, mask ? &head_mask : nullptr));
    if (convention.output_projection) out.output = project(arrays, "O", out.output);
  }
  out.weights.shape = {query.dim(0), heads, query.dim(1), key.dim(1)};
  return out;
}

}  // namespace gradus::reference
