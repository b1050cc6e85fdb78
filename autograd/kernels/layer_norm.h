// Layer normalisation as one op.
#pragma once

#include "autograd/var.h"

namespace gradus {

// gain (x - mean) / sqrt(variance + epsilon) + shift along the last axis, the variance over d and not d - 1 (Ba et al.
// 2016, equations 3 and 4): x (..., d), gain (d), shift (d) -> (..., d). Throws ShapeError.
Var layer_norm(const Var& x, const Var& gain, const Var& shift, double epsilon = 1e-5);

// The same composed of small ops: what the other is tested against.
Var layer_norm_plain(const Var& x, const Var& gain, const Var& shift, double epsilon = 1e-5);

}  // namespace gradus
