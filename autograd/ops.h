// The differentiable operations. Four kinds, by how the gradient comes about:
//   pointwise     a formula per element; its derivative comes from dual numbers (autograd/pointwise.h)
//   view          the same numbers looked at differently; the gradient goes back through the same view
//   contraction   products, sums and other reductions; the gradient of the first two is the transposed contraction
//   index         picking and joining; the gradient is added back where the numbers came from
// Softmax and the losses, at the end, are written out for their stability.
// Shapes must agree exactly, nothing is promoted or stretched silently: every op throws ShapeError or DTypeError that
// opens with its name. Each also takes a plain Tensor as a constant operand.
#pragma once

#include <vector>

#include "autograd/var.h"
#include "tensor/ids.h"
#include "tensor/random.h"
#include "tensor/reduce.h"

namespace gradus {

// ---- pointwise: all of one shape, or one of them a plain number. What comes by value may be written over.
Var operator+(Var a, Var b);
Var operator-(const Var& a, const Var& b);
Var operator*(const Var& a, const Var& b);  // element by element; a product with a matrix is matmul
Var operator/(const Var& a, const Var& b);
Var operator-(const Var& a);
Var operator+(const Var& a, double b);
Var operator-(const Var& a, double b);
Var operator*(const Var& a, double b);
Var operator/(const Var& a, double b);
Var operator+(double a, const Var& b);
Var operator-(double a, const Var& b);
Var operator*(double a, const Var& b);
Var operator/(double a, const Var& b);
Var exp(const Var& x);
Var log(const Var& x);
Var sqrt(const Var& x);  // infinite slope at 0
Var square(const Var& x);
Var tanh(const Var& x);
Var sigmoid(const Var& x);
Var relu(Var x);                      // slope 0 at 0
Var abs(const Var& x);                // slope 0 at 0
Var max(const Var& a, const Var& b);  // at a tie half of the gradient to each
Var where(const Mask& condition, const Var& if_true, const Var& if_false);
// Keeps each number with probability 1 - p, scaled by 1 / (1 - p); x itself when not training or p is 0. 0 <= p < 1.
Var dropout(const Var& x, double p, Generator& generator, bool training);

// ---- views (as in tensor/tensor.h)
Var reshape(const Var& x, const Shape& shape);
Var transpose(const Var& x);
Var transpose(const Var& x, Axis a, Axis b);
Var narrow(const Var& x, Axis axis, std::int64_t start, std::int64_t length, std::int64_t step = 1);
Var select(const Var& x, Axis axis, std::int64_t index);
Var expand(const Var& x, Axis axis, std::int64_t length);
Var expand_new(const Var& x, Axis axis, std::int64_t length);
Var expand_scalar(const Var& x, const Shape& shape);  // one number seen as a whole shape

// ---- contractions
Var matmul(const Var& a, const Var& b);  // (..., m, k) x (..., k, n) -> (..., m, n)
// x W' + b for the last axis: x (..., d_in), W (d_out, d_in), b (d_out) or nothing -> (..., d_out). One step on the
// tape for what transpose, matmul, expand_new and + would do in four. Parts of x that lie side by side need no concat:
// linear({y, c}, W, b) multiplies each with its columns of W.
Var linear(const VarList& x, const Var& W, const Var& b);
Var dot(const Var& x, const Var& v, Axis axis);  // sum over `axis` of x times the vector v: (B, T, d) . (d) -> (B, T)
Var sum(const Var& x, Axis axis);                // the axis is dropped
Var sum(const Var& x);                           // of everything: a scalar
Var mean(const Var& x, Axis axis);
Var mean(const Var& x);
Var max(const Var& x, Axis axis);  // the gradient is shared evenly between equal maxima
Var logsumexp(const Var& x, Axis axis);

// ---- index
Var gather(const Var& table, const Ids& ids);  // rows of a (V, d) table: ids (...) -> (..., d)
Var concat(const VarList& parts, Axis axis);   // joined along an axis that they have
// The shape of concat(parts, axis), or of all parts joined along their last axis. `op` opens an error.
Shape joined_shape(const char* op, const VarList& parts, Axis axis);
Shape joined_shape(const char* op, const VarList& parts);
Var stack_along(const VarList& parts, Axis axis);  // joined along a new axis

// ---- softmax and losses
// exp(x) / sum exp(x) along `axis`. With a mask (x's shape, true = may be attended to, last axis only) masked positions
// get weight exactly 0 and gradient exactly 0. A row that allows nothing throws ValueError, or gives zeros on request.
Var softmax(const Var& x, Axis axis);
Var softmax(const Var& x, Axis axis, const Mask& mask, EmptyRow empty_row = EmptyRow::error);
Var log_softmax(const Var& x, Axis axis);
// Mean over the targets that count of -log softmax(logits)[target]: logits (N, V) with targets (N), or (B, T, V) with
// (B, T). `counts`: true = a real target; nothing counted is a ValueError. IndexError names a target outside 0..V-1.
Var cross_entropy(const Var& logits, const Ids& targets);
Var cross_entropy(const Var& logits, const Ids& targets, const Mask& counts);
Var mse(const Var& prediction, const Var& target);  // mean of squared differences

}  // namespace gradus
