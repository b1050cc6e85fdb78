// Linear and Embedding.
#include "nn/layers.h"

#include "tensor/doctor/contract.h"

namespace gradus {

constexpr Contract linear_shapes("layer", "W (d_out, d_in)  b (d_out); x (..., d_in)");
constexpr Contract embedding_shapes("embedding", "E (vocab, d_emb);");

Linear::Linear(std::int64_t d_in, std::int64_t d_out, Generator& generator, bool with_bias)
    : W(xavier(d_out, d_in, generator)), b(with_bias ? zero_parameter(Shape{d_out}) : Var()) {}

Var Linear::operator()(const Var& x) const { return affine("Linear", x, W, b); }

Var affine(const char* where, const Var& x, const Var& W, const Var& b) {
  linear_shapes.check(where, {W, b, x});
  return linear(x, W, b);
}

Embedding::Embedding(std::int64_t vocab, std::int64_t d, Generator& generator)
    : E(parameter(random_normal(Shape{vocab, d}, 0, 1, generator))) {}

Var Embedding::operator()(const Ids& ids) const {
  embedding_shapes.check("Embedding", {E});
  return gather(E, ids);
}

}  // namespace gradus
