// The same training loop twice: numbers on a scalar tape, tensors on the engine's.
#include "lessons/02_tape/fit.h"

#include "autograd/ops.h"
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

Fit fit_scalars(Weights weights, std::int64_t steps) {
  const Points points = bump();
  Fit fit{};
  for (std::int64_t step = 0; step <= steps && !interrupted(); ++step) {
    Tape tape = tape_with(weights);  // a new tape for every step of training
    Scalar total = leaf(tape, "0", 0);
    for (std::size_t i = 0; i < points.x.size(); ++i) {
      const Scalar gap = net(tape, leaf(tape, "x", points.x[i])) + leaf(tape, "-y", -points.y[i]);
      total = total + gap * gap;
    }
    const Scalar loss = total * leaf(tape, "1/N", 1 / static_cast<double>(points.x.size()));
    backward(loss);
    note(fit, step, loss.value());
    fit.tape_length = tape.steps.size();
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] -= rate * tape.steps[k].grad;
  }
  fit.weights = weights;
  return fit;
}

Fit fit_vars(Weights weights, std::int64_t steps) {
  const Points points = bump();
  const auto n = static_cast<std::int64_t>(points.x.size());
  const Tensor x = tensor(Shape{n}, points.x, f64), y = tensor(Shape{n}, points.y, f64);
  Fit fit{};
  for (std::int64_t step = 0; step <= steps && !interrupted(); ++step) {
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
