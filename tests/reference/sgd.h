// Gradient descent with momentum as torch.optim.SGD documents it: the velocity holds gradients, not steps, so that a
// change of the learning rate acts at once (Sutskever et al. 2013 put the rate inside the velocity).
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper::sgd {

struct Options {
  double lr = 0.01;
  double momentum = 0.0;      // mu
  double dampening = 0.0;     // tau
  double weight_decay = 0.0;  // lambda: L2, added to the gradient
  bool nesterov = false;
};

struct Velocity {
  Vec b;  // (n), empty before the first step
};

// theta (n) is changed in place by the gradient g (n).
//   g     <- g + lambda theta
//   b_1   <- g;  b_t <- mu b_{t-1} + (1 - tau) g     only when mu != 0
//   g     <- g + mu b_t with nesterov, b_t without
//   theta <- theta - lr g
inline void step(Vec& theta, const Vec& gradient, Velocity& s, const Options& o = {}) {
  need_equal(theta.size(), gradient.size(), "SGD");
  const bool first = s.b.empty();
  if (first) s.b.assign(theta.size(), 0.0);
  for (std::size_t i = 0; i < theta.size(); ++i) {
    double g = gradient[i] + o.weight_decay * theta[i];
    if (o.momentum != 0.0) {
      s.b[i] = first ? g : o.momentum * s.b[i] + (1.0 - o.dampening) * g;
      g = o.nesterov ? g + o.momentum * s.b[i] : s.b[i];
    }
    theta[i] -= o.lr * g;
  }
}

}  // namespace gradus::paper::sgd
