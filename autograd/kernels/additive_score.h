// The additive score of attention as one op.
#pragma once

#include "autograd/var.h"

namespace gradus {

// e = v . tanh(q + k) over the last axis (Bahdanau et al. 2014, appendix A.1.2; q = W_a s_{t-1}, k = U_a h):
// q (B, d), k (B, T, d), v (d) -> e (B, T). The (B, T, d) numbers in between are stored neither forward nor backward.
// Every tanh is right to 5e-7 in f32 and 1e-15 in f64, absolutely (not relatively: near 0 digits are lost).
Var additive_score(const Var& q, const Var& k, const Var& v);

// The same as one formula, with a tanh for each element: what the other is tested against.
Var additive_score_plain(const Var& q, const Var& k, const Var& v);

}  // namespace gradus
