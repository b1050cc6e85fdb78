// Scaled dot-product attention as one op.
#pragma once

#include <optional>

#include "autograd/var.h"
#include "tensor/ids.h"

namespace gradus {

// softmax(q k' / sqrt(d)) v (Vaswani et al. 2017, section 3.2.1): q (..., T_q, d), k (..., T_k, d), v (..., T_k, d_v)
// with one or two equal axes in front -> (..., T_q, d_v). `mask` (..., T_q, T_k): where it is false the weight is
// exactly 0. Throws ShapeError and DTypeError, and ValueError for a query that may attend to nothing.
Var dot_attention(const Var& q, const Var& k, const Var& v, const std::optional<Mask>& mask = std::nullopt);

// The same composed of products and a softmax: what the other is tested against.
Var dot_attention_plain(const Var& q, const Var& k, const Var& v, const std::optional<Mask>& mask = std::nullopt);

}  // namespace gradus
