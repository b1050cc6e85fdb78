// Linear and Embedding.
#include "nn/layers.h"

#include <algorithm>

namespace gradus {

Linear::Linear(std::int64_t d_in, std::int64_t d_out, Generator& generator, bool with_bias)
    : W(xavier(d_out, d_in, generator)), b(with_bias ? zero_parameter(Shape{d_out}) : Var()) {}

Var Linear::operator()(const Var& x) const { return affine("Linear", x, W, b); }

Var affine(const char* op, const Var& x, const Var& W, const Var& b) {
  const Shape& shape = x.shape();
  const int last = shape.rank() - 1;
  if (last < 1 || shape[last] != W.shape()[1]) {
    throw ShapeError(std::string(op) + ": x is " + to_string(shape) + " and W is " + to_string(W.shape()) +
                     " (d_out, d_in); the last axis of x must be d_in = " + std::to_string(W.shape()[1]));
  }
  const std::int64_t rows = x.value().size() / std::max<std::int64_t>(shape[last], 1);
  Var y = matmul(shape.rank() == 2 ? x : reshape(x, Shape{rows, shape[last]}), transpose(W));  // (rows, d_out)
  if (b.defined()) y = y + expand_new(b, Axis{0}, rows);
  return shape.rank() == 2 ? y : reshape(y, shape.with(Axis{last}, W.shape()[0]));
}

Embedding::Embedding(std::int64_t vocab, std::int64_t d, Generator& generator)
    : E(parameter(random_normal(Shape{vocab, d}, 0, 1, generator))) {}

}  // namespace gradus
