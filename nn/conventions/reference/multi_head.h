// Multi-head attention (Vaswani et al. 2017, section 3.2.2): the same attention, once per slice of the features.
#pragma once

#include "nn/conventions/reference/attention.h"

namespace gradus::reference {

// How (B, T, heads * d_k) becomes one attention a head. by_feature is right: head k takes features k d_k .. (k+1) d_k
// - 1. Mistakes: interleaved takes every heads-th feature; reshaped reads the buffer as (B, heads, T, d_k) without a
// transpose.
enum class HeadSplit { by_feature, interleaved, reshaped };
// repeated is right: all heads of an example use its mask. Mistake: tiled, the masks of the whole batch in turn.
enum class HeadMask { repeated, tiled };

struct MultiHeadConvention {
  std::size_t heads = 1;
  AttentionConvention attention;  // scaled_dot on d_k features; MaskRead::causal is right for a decoder's own words
  HeadSplit split = HeadSplit::by_feature;
  HeadSplit merge = HeadSplit::by_feature;
  HeadMask mask = HeadMask::repeated;
  bool scale_by_model_size = false;  // mistake: 1/sqrt(heads * d_k) instead of 1/sqrt(d_k)
  bool output_projection = true;
  MultiHeadConvention() { attention.score.score = Score::scaled_dot; }
};

struct MultiHead {
  Array output;   // (B, T_q, d_out)
  Array weights;  // (B, heads, T_q, T_k)
  Array scores;   // (B * heads, T_q, T_k)
};

// query (B, T_q, d), key and value (B, T_k, d), mask (B, T_k; nonzero = real) or nullptr. Reads W_Q, W_K, W_V (heads *
// d_k, d) and W_O (d_out, heads * d_k), each with its bias b_Q, b_K, b_V, b_O if that is there. Without W_V there is no
// output. With still, the forward of a wrong backward of the softmax.
MultiHead multi_head_attention(const MultiHeadConvention& convention, const Arrays& arrays, const Array& query,
                               const Array& key, const Array& value, const Array* mask = nullptr,
                               const MultiHead* still = nullptr, SoftmaxSlope slope = SoftmaxSlope::right);

}  // namespace gradus::reference
