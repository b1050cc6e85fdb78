// ZERO_GRAD_AFTER_STEP: clean for the next step, not for the first
#include "lessons/05_training/exercise.h"

#include <cmath>

namespace gradus::lesson05 {

Var first_weights(std::int64_t d_out, std::int64_t d_in, Generator& generator) {
  const double a = std::sqrt(6.0 / static_cast<double>(d_in + d_out));
  return parameter(random_uniform(Shape{d_out, d_in}, -a, a, generator));
}

double clip(const std::vector<Parameter>& parameters, double largest) {
  double squares = 0;
  for (const Parameter& p : parameters) squares += std::pow(norm(p.var.grad()), 2);
  const double length = std::sqrt(squares);
  if (length <= largest) return length;
  for (const Parameter& p : parameters) {
    if (!p.var.has_grad()) continue;
    copy_(p.var.mutable_grad(), (Var(p.var.grad()) * (largest / length)).value());
  }
  return length;
}

Var sgd_step(const Var& w, const Var& g, Var& u, const SgdOptions& options) {
  u = u * options.momentum + g;
  return w - u * options.rate;
}

Var adam_step(const Var& w, const Var& g, Moments& past, const AdamOptions& options) {
  const double t = static_cast<double>(++past.t);
  past.m = past.m * options.beta1 + g * (1 - options.beta1);
  past.v = past.v * options.beta2 + square(g) * (1 - options.beta2);
  const Var m_hat = past.m / (1 - std::pow(options.beta1, t)), v_hat = past.v / (1 - std::pow(options.beta2, t));
  return w * (1 - options.rate * options.weight_decay) - m_hat / (sqrt(v_hat) + options.eps) * options.rate;
}

double train_step(const std::vector<Parameter>& parameters, const std::function<Var()>& loss, double largest,
                  const std::function<void()>& step) {
  const Var L = loss();
  backward(L);
  clip(parameters, largest);
  step();
  zero_grad(parameters);
  return L.item();
}

Run snapshot(const Run& run) { return {copy(run.w), copy(run.m), copy(run.v), run.t, run.data}; }

}  // namespace gradus::lesson05
