// Reductions over one named axis, which is dropped: (B, T, d) over Axis{1} gives (B, d). And softmax, which keeps it.
// Throw ShapeError for an axis that is not there and ValueError where an empty axis has no answer (mean, max).
#pragma once

#include "tensor/ids.h"
#include "tensor/tensor.h"

namespace gradus {

Tensor sum(const Tensor& x, Axis axis);
Tensor sum(const Tensor& x);  // of all elements: a scalar ()
Tensor mean(const Tensor& x, Axis axis);
Tensor max(const Tensor& x, Axis axis);
Ids argmax(const Tensor& x, Axis axis);        // the first of equal maxima
Tensor logsumexp(const Tensor& x, Axis axis);  // log sum exp x, shifted by the maximum so that nothing overflows
double norm(const Tensor& x);                  // square root of the sum of squares, accumulated in double

// What softmax does with a row that has nothing to attend to.
enum class EmptyRow { error, zeros };

// exp(x - max) / sum over `axis`, kept: sums to 1. `mask` (nullptr: none) has x's shape; where it is false the weight
// is exactly 0. A row without any true throws ValueError, or gives zeros on request.
Tensor softmax(const Tensor& x, Axis axis, const Mask* mask = nullptr, EmptyRow empty_row = EmptyRow::error);
Tensor log_softmax(const Tensor& x, Axis axis);
bool all_finite(const Tensor& x);  // no NaN, no Inf

}  // namespace gradus
