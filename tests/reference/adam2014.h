// Kingma and Ba 2014, "Adam: A Method for Stochastic Optimization", algorithm 1, for one flat parameter vector.
#pragma once

#include "tests/reference/plain.h"

namespace gradus::paper::adam2014 {

struct Options {
  double alpha = 0.001;  // step size
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

struct Moments {
  Vec m;      // (n), empty before the first step
  Vec v;      // (n), empty before the first step
  int t = 0;  // steps taken
};

// theta (n) is changed in place by the gradient g (n).
//   t     <- t + 1
//   m_t   <- beta1 m_{t-1} + (1 - beta1) g_t
//   v_t   <- beta2 v_{t-1} + (1 - beta2) g_t^2
//   m^_t  <- m_t / (1 - beta1^t)
//   v^_t  <- v_t / (1 - beta2^t)
//   theta <- theta - alpha m^_t / (sqrt(v^_t) + epsilon)
inline void step(Vec& theta, const Vec& g, Moments& s, const Options& o = {}) {
  need_equal(theta.size(), g.size(), "Adam");
  s.m.resize(theta.size(), 0.0);
  s.v.resize(theta.size(), 0.0);
  ++s.t;
  for (std::size_t i = 0; i < theta.size(); ++i) {
    s.m[i] = o.beta1 * s.m[i] + (1.0 - o.beta1) * g[i];
    s.v[i] = o.beta2 * s.v[i] + (1.0 - o.beta2) * g[i] * g[i];
    const double m_hat = s.m[i] / (1.0 - std::pow(o.beta1, s.t));
    const double v_hat = s.v[i] / (1.0 - std::pow(o.beta2, s.t));
    theta[i] -= o.alpha * m_hat / (std::sqrt(v_hat) + o.epsilon);
  }
}

}  // namespace gradus::paper::adam2014
