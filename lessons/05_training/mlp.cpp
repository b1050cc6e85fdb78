// The model, its first weights and its accuracy.
#include "lessons/05_training/mlp.h"

#include "lessons/05_training/parts.h"

namespace gradus::lesson05 {

namespace {

Linear layer(std::int64_t d_in, std::int64_t d_out, Generator& generator, Start start) {
  const double scale = start == Start::zero ? 0 : start == Start::small ? 0.1 : start == Start::large ? 10 : 1;
  Linear linear;
  linear.W = taught_parts().first_weights(d_out, d_in, generator);
  if (scale != 1) copy_(linear.W.mutable_value(), (linear.W * scale).value());
  linear.b = zero_parameter(Shape{d_out});
  return linear;
}

}  // namespace

Mlp::Mlp(Generator& generator, Start start)
    : layer_1(layer(2, d_hidden, generator, start)),
      layer_2(layer(d_hidden, d_hidden, generator, start)),
      layer_3(layer(d_hidden, arms, generator, start)) {}

Var Mlp::operator()(const Var& x) const {
  const Var h_1 = tanh(layer_1(x));    // (N, 32)
  const Var h_2 = tanh(layer_2(h_1));  // (N, 32)
  return layer_3(h_2);                 // (N, 2)
}

double accuracy(const Mlp& model, const Points& points) {
  const NoGrad nothing_is_recorded;
  const Ids answers = argmax(model(points.x).value(), Axis{1});
  double right = 0;
  for (std::int64_t i = 0; i < answers.size(); ++i) right += answers[i] == points.labels[i];
  return right / static_cast<double>(answers.size());
}

}  // namespace gradus::lesson05
