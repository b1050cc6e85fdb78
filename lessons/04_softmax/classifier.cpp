// Logits, losses, the gradient by hand and by the tape, and gradient descent.
#include "lessons/04_softmax/classifier.h"

#include <algorithm>

#include "lessons/04_softmax/parts.h"

namespace gradus::lesson04 {

namespace {
constexpr double rate = 0.5;
}

Classifier::Classifier() {
  linear.W = zero_parameter(Shape{classes, 2});
  linear.b = zero_parameter(Shape{classes});
}

Var Classifier::logits(const Tensor& x) const { return linear(x); }

Tensor Classifier::log_probabilities(const Tensor& x) const {
  const NoGrad nothing_is_recorded;
  return log_softmax(logits(x).value().to(f64), Axis{1});
}

void Classifier::visit(Visitor& v) { v("linear", linear); }

Var loss_of(const Classifier& model, const Points& points, Loss loss) {
  const Var z = model.logits(points.x);  // (N, 3)
  if (loss == Loss::double_softmax) return taught_parts().cross_entropy(softmax(z, Axis{1}), points.labels);
  return taught_parts().cross_entropy(z, points.labels);
}

Gradient gradient_by_hand(const Classifier& model, const Points& points) {
  const NoGrad nothing_is_recorded;
  const Var dz = taught_parts().cross_entropy_gradient(model.logits(points.x), points.labels);  // (p - y) / N, (N, 3)
  return {matmul(transpose(dz), points.x).value(), sum(dz, Axis{0}).value()};
}

double hand_against_tape(const Points& points, std::uint64_t seed) {
  const Points exact{points.x.to(f64), points.labels};
  Classifier model = clone(Classifier(), f64);
  Generator generator(seed, "weights");
  for (const Parameter& p : parameters(model))
    copy_(p.var.mutable_value(), random_normal(p.var.shape(), 0, 1, generator, f64));
  backward(loss_of(model, exact, Loss::cross_entropy));
  const Gradient by_hand = gradient_by_hand(model, exact);
  return std::max(norm((model.linear.W.grad() - Var(by_hand.W)).value()),
                  norm((model.linear.b.grad() - Var(by_hand.b)).value()));
}

void train(Classifier& model, const Points& points, Loss loss, std::int64_t steps,
           const std::function<bool(std::int64_t, double)>& after) {
  const std::vector<Parameter> learned = parameters(model);
  for (std::int64_t step = 1; step <= steps; ++step) {
    const Var L = loss_of(model, points, loss);
    zero_grad(learned);
    backward(L);
    const NoGrad nothing_is_recorded;
    for (const Parameter& p : learned) copy_(p.var.mutable_value(), (p.var - Var(p.var.grad()) * rate).value());
    if (!after(step, L.item())) return;
  }
}

}  // namespace gradus::lesson04
