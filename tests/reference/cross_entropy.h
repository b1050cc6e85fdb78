// Cross-entropy from logits, averaged over the real tokens, and its gradient p - y.
#pragma once

#include "tests/reference/softmax.h"

namespace gradus::paper {

struct CrossEntropy {
  double loss;        // nats a token
  Mat dlogits;        // (N, vocab): the gradient of loss
  std::size_t count;  // real tokens
};

// logits (N, vocab), targets (N); a row whose target is `ignored` is padding: no loss, gradient exactly 0.
//   loss      = 1/n sum_k -log softmax(logits_k)[target_k]        over the n real rows
//   dlogits_k = (softmax(logits_k) - onehot(target_k)) / n        0 for padding
// Throws std::invalid_argument when every row is padding or a target lies outside [0, vocab).
inline CrossEntropy cross_entropy(const Mat& logits, const std::vector<int>& targets, int ignored = -100) {
  need_equal(logits.size(), targets.size(), "cross-entropy");
  CrossEntropy out{0.0, {}, 0};
  for (int target : targets) out.count += target != ignored;
  if (out.count == 0) throw std::invalid_argument("cross-entropy: every row is padding; pass at least one real token");
  const double n = static_cast<double>(out.count);
  for (std::size_t k = 0; k < logits.size(); ++k) {
    Vec d(logits[k].size(), 0.0);
    if (targets[k] != ignored) {
      if (targets[k] < 0 || static_cast<std::size_t>(targets[k]) >= d.size()) {
        throw std::invalid_argument("cross-entropy: target " + std::to_string(targets[k]) + " is no class of " +
                                    std::to_string(d.size()));
      }
      const std::size_t y = static_cast<std::size_t>(targets[k]);
      out.loss -= log_softmax(logits[k])[y] / n;
      d = softmax(logits[k]);
      d[y] -= 1.0;
      for (double& v : d) v /= n;
    }
    out.dlogits.push_back(d);
  }
  return out;
}

}  // namespace gradus::paper
