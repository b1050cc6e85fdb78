// Layers without memory: Linear, Embedding, Dropout.
#pragma once

#include "autograd/ops.h"
#include "nn/init.h"
#include "nn/module.h"

namespace gradus {

// y = W x + b for the last axis: (..., d_in) -> (..., d_out).
struct Linear {
  Var W;  // (d_out, d_in)
  Var b;  // (d_out), or nothing
  Linear() = default;
  Linear(std::int64_t d_in, std::int64_t d_out, Generator& generator, bool with_bias = true);
  Var operator()(const Var& x) const;  // throws ShapeError unless the last axis is d_in
  void visit(Visitor& v) {
    v("W", W);
    v("b", b);
  }
};

// x W' + b with the weights given: what Linear and the cells are made of. `b` may hold nothing.
// `where` opens an error: the layer's name.
Var affine(const char* where, const Var& x, const Var& W, const Var& b);

// Rows of a table: ids (...) -> (..., d).
struct Embedding {
  Var E;  // (vocab, d)
  Embedding() = default;
  Embedding(std::int64_t vocab, std::int64_t d, Generator& generator);
  Var operator()(const Ids& ids) const;  // throws IndexError for an id outside the table
  void visit(Visitor& v) { v("E", E); }
};

// Srivastava et al. 2014, scaled while training so that nothing is left to do afterwards. Set training = false to
// evaluate.
struct Dropout {
  double p = 0;
  bool training = true;
  Var operator()(const Var& x, Generator& generator) const { return dropout(x, p, generator, training); }
  void visit(Visitor&) {}
};

}  // namespace gradus
