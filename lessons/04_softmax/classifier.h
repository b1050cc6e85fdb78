// A linear softmax classifier: logits z = W x + b, probabilities p = softmax(z), trained by plain gradient descent.
#pragma once

#include <functional>
#include <vector>

#include "lessons/04_softmax/clouds.h"
#include "nn/layers.h"

namespace gradus::lesson04 {

// Which loss is minimised: cross-entropy of the logits, or, by the classic mistake, of what a softmax has made of them.
enum class Loss { cross_entropy, double_softmax };

struct Classifier {
  Linear linear;  // W (3, 2), b (3), both 0 at first: every class gets 1/3 and the loss is log 3
  Classifier();
  Var logits(const Tensor& x) const;                // (N, 2) -> (N, 3)
  Tensor log_probabilities(const Tensor& x) const;  // (N, 3) in f64
  void visit(Visitor& v);
};

Var loss_of(const Classifier& model, const Points& points, Loss loss);

// The gradient of the mean cross-entropy as it is derived on paper: (p - y)' x / N and the mean of p - y.
struct Gradient {
  Tensor W, b;  // (3, 2), (3)
};
Gradient gradient_by_hand(const Classifier& model, const Points& points);
// Largest difference between that and the tape's, in f64, for weights drawn from the seed.
double hand_against_tape(const Points& points, std::uint64_t seed);

// W -= rate * dL/dW and b likewise, `steps` times, on all points at once; `after` sees each step and the loss before
// it, and ends the training by returning false.
void train(Classifier& model, const Points& points, Loss loss, std::int64_t steps,
           const std::function<bool(std::int64_t step, double loss)>& after);

}  // namespace gradus::lesson04
