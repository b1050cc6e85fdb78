// Loshchilov and Hutter 2017, "Decoupled Weight Decay Regularization", algorithm 2 (AdamW), for one flat vector, in the
// scaling of torch.optim.AdamW: the decay is lr * lambda * theta, where the paper writes eta_t * lambda * theta.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper::adamw2017 {

struct Options {
  double lr = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // lambda
};

struct Moments {
  Vec m;      // (n), empty before the first step
  Vec v;      // (n), empty before the first step
  int t = 0;  // steps taken
};

// theta (n) is changed in place by the gradient g (n), which the decay never touches: that is the point of the paper.
//   m, v, m^, v^ as in Adam, from g alone
//   theta <- theta - lr (m^ / (sqrt(v^) + epsilon) + lambda theta)
inline void step(Vec& theta, const Vec& g, Moments& s, const Options& o = {}) {
  need_equal(theta.size(), g.size(), "AdamW");
  s.m.resize(theta.size(), 0.0);
  s.v.resize(theta.size(), 0.0);
  ++s.t;
  for (std::size_t i = 0; i < theta.size(); ++i) {
    s.m[i] = o.beta1 * s.m[i] + (1.0 - o.beta1) * g[i];
    s.v[i] = o.beta2 * s.v[i] + (1.0 - o.beta2) * g[i] * g[i];
    const double m_hat = s.m[i] / (1.0 - std::pow(o.beta1, s.t));
    const double v_hat = s.v[i] / (1.0 - std::pow(o.beta2, s.t));
    theta[i] -= o.lr * (m_hat / (std::sqrt(v_hat) + o.epsilon) + o.weight_decay * theta[i]);
  }
}

}  // namespace gradus::paper::adamw2017
