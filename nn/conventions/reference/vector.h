// The few operations on single vectors from which every reference forward is made.
#pragma once

#include "nn/conventions/reference/array.h"

namespace gradus::reference {

// hard_sigmoid(x) = clip(0.2 x + 0.5, 0, 1), the gate of old Keras. softmax runs over the whole vector.
enum class Activation { identity, tanh, sigmoid, hard_sigmoid, relu, softmax };

// What a backward of alpha = softmax(e) makes of d_alpha: alpha (d_alpha - sum of alpha d_alpha). Mistakes: the
// diagonal of the Jacobian alone, alpha (1 - alpha) d_alpha; alpha d_alpha; d_alpha itself.
enum class SoftmaxSlope { right, diagonal, weights, none };

Vec activate(Activation f, Vec x);
double dot(Row a, Row b);
double norm(Row a);
// W x for W (out, in).
Vec matvec(const Array& W, Row x);
// The same with some of its rows alone.
Vec matvec(const Array& W, Row x, std::size_t first, std::size_t rows);
// W^T x for W (out, in), x (out).
Vec matvec_transposed(const Array& W, Row x);
Vec add(Vec a, Row b);
Vec multiply(Vec a, Row b);
// [a; b]
Vec join(Vec a, Row b);
inline Vec copy(Row a) { return Vec(a.begin(), a.end()); }

}  // namespace gradus::reference
