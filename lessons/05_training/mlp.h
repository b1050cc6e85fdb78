// A multilayer perceptron: three linear layers with a tanh between them.
#pragma once

#include "lessons/05_training/spirals.h"
#include "nn/layers.h"

namespace gradus::lesson05 {

inline constexpr std::int64_t d_hidden = 32;

// How the weights start; biases start at 0.
enum class Start { xavier, zero, small, large };  // small and large: Xavier's, divided and multiplied by 10

struct Mlp {
  Linear layer_1, layer_2, layer_3;  // W: (32, 2), (32, 32), (2, 32)
  explicit Mlp(Generator& generator, Start start = Start::xavier);
  Var operator()(const Var& x) const;  // (N, 2) -> logits (N, 2)
  void visit(Visitor& v) {
    v("layer_1", layer_1);
    v("layer_2", layer_2);
    v("layer_3", layer_3);
  }
};

// Share of the points whose larger logit is that of their arm.
double accuracy(const Mlp& model, const Points& points);

}  // namespace gradus::lesson05
