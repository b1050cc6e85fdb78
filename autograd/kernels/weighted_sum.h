// The context of attention as one op.
#pragma once

#include "autograd/var.h"

namespace gradus {

// c = sum_i w_i h_i (Bahdanau et al. 2014, equation 5): w (B, T), h (B, T, d) -> (B, d). Throws ShapeError and DTypeError.
Var weighted_sum(const Var& w, const Var& h);

// The same as a formula that is summed: what the other is tested against.
Var weighted_sum_plain(const Var& w, const Var& h);

}  // namespace gradus
