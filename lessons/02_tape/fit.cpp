// The same training loop twice: numbers on a tape of single numbers, tensors on the engine's.
#include "lessons/02_tape/fit.h"

#include "autograd/ops.h"
#include "lessons/02_tape/parts.h"
#include "lessons/common/interrupt.h"
#include "tensor/random.h"

namespace gradus::lesson02 {
namespace {

constexpr double rate = 0.2;

void note(Fit& fit, std::int64_t step, double loss) {
  if (step % 10 != 0) return;
  fit.step.push_back(static_cast<double>(step));
  fit.loss.push_back(loss);
}

}  // namespace

Points bump() {
  Points points;
  for (int i = 0; i < 21; ++i) {
    const double x = -2 + i / 5.0;
    points.x.push_back(x);
    points.y.push_back(std::tanh(2 * x + 1) - std::tanh(2 * x - 1));
  }
  return points;
}

Weights first_weights(std::uint64_t seed) {
  Generator init(seed, "init");
  Weights weights{};
  for (double& weight : weights) weight = init.uniform(-1, 1);
  return weights;
}

Tape tape_with(const Weights& weights) {
  Tape tape;
  for (std::size_t k = 0; k < weights.size(); ++k) leaf(tape, letters[k], weights[k]);
  return tape;
}

Scalar net(Tape& tape, Scalar x) {
  auto weight = [&](std::size_t k) { return Scalar{&tape, k}; };
  const Scalar first = tanh(weight(0) * x + weight(1));
  const Scalar second = tanh(weight(3) * x + weight(4));
  const Scalar both = weight(2) * first + weight(5) * second;
  return both + weight(6);
}

Fit fit_tape(Weights weights, std::int64_t steps) {
  const Points points = bump();
  Fit fit{};
  for (std::int64_t step = 0; step <= steps && (step == 0 || !interrupted()); ++step) {
    const LossAndGradient now = taught_parts().loss(weights, points);
    note(fit, step, now.loss);
    fit.tape_length = now.tape_length;
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] -= rate * now.gradient[k];
  }
  fit.weights = weights;
  return fit;
}

Fit fit_vars(Weights weights, std::int64_t steps) {
  const Points points = bump();
  const auto n = static_cast<std::int64_t>(points.x.size());
  const Tensor x = tensor(Shape{n}, points.x, f64), y = tensor(Shape{n}, points.y, f64);
  Fit fit{};
  for (std::int64_t step = 0; step <= steps && (step == 0 || !interrupted()); ++step) {
    const std::vector<Parameter> p = as_parameters(weights);
    const std::int64_t before = live_nodes();
    auto weight = [&](std::size_t k) { return expand_scalar(p[k].var, x.shape()); };  // (N), one number seen N times
    const Var first = tanh(weight(0) * x + weight(1));                                // (N)
    const Var second = tanh(weight(3) * x + weight(4));
    const Var loss = mse(weight(2) * first + weight(5) * second + weight(6), y);
    fit.tape_length = static_cast<std::size_t>(live_nodes() - before) + weights.size();
    gradus::backward(loss);
    note(fit, step, loss.item());
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] -= rate * p[k].var.grad().item();
  }
  fit.weights = weights;
  return fit;
}

std::vector<Parameter> as_parameters(const Weights& weights) {
  std::vector<Parameter> p;
  for (std::size_t k = 0; k < weights.size(); ++k) p.push_back({letters[k], parameter(full(Shape{}, weights[k], f64))});
  return p;
}

}  // namespace gradus::lesson02
