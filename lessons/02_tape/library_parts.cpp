// The tape of the note.
#include "lessons/02_tape/parts.h"

namespace gradus::lesson02 {
namespace {

LossAndGradient loss_on_scalars(const Weights& weights, const Points& points) {
  Tape tape = tape_with(weights);  // a new tape for every step of training
  Scalar total = leaf(tape, "0", 0);
  for (std::size_t i = 0; i < points.x.size(); ++i) {
    const Scalar gap = net(tape, leaf(tape, "x", points.x[i])) + leaf(tape, "-y", -points.y[i]);
    total = total + gap * gap;
  }
  const Scalar loss = total * leaf(tape, "1/N", 1 / static_cast<double>(points.x.size()));
  backward(loss);
  LossAndGradient result{loss.value(), {}, tape.steps.size()};
  for (std::size_t k = 0; k < weights.size(); ++k) result.gradient[k] = tape.steps[k].grad;
  return result;
}

}  // namespace

const Parts& taught_parts() {
  static const Parts parts{{"the note's", "讲义里的"}, loss_on_scalars};
  return parts;
}

}  // namespace gradus::lesson02
