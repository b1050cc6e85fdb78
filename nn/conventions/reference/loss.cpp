// Cross-entropy from logits and mean squared error.
#include "nn/conventions/reference/loss.h"

#include <cmath>
#include <stdexcept>

namespace gradus::reference {

namespace {

double negative_log_probability(Row logits, std::size_t target) {
  if (target >= logits.size()) {
    throw std::invalid_argument("reference cross-entropy: target " + std::to_string(target) + " of " +
                                std::to_string(logits.size()) + " classes");
  }
  double top = logits[0], sum = 0;
  for (double x : logits) top = std::fmax(top, x);
  for (double x : logits) sum += std::exp(x - top);
  return top + std::log(sum) - logits[target];
}

}  // namespace

double cross_entropy(const CrossEntropyConvention& convention, const Array& logits, const Array& targets,
                     const Array* mask) {
  const std::size_t B = logits.dim(0), T = logits.dim(1);
  double sum = 0, real = 0;
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t t = 0; t < T; ++t) {
      const bool is_real = !mask || mask->at({b, t}) != 0;
      const std::size_t label = t + static_cast<std::size_t>(convention.target_shift);
      real += is_real;
      if ((!is_real && !convention.counts_padding) || label >= T) continue;
      Vec row = copy(logits.row({b, t}));
      if (convention.inputs_are_softmaxed) row = activate(Activation::softmax, row);
      sum += negative_log_probability(row, static_cast<std::size_t>(targets.at({b, label})));
    }
  }
  switch (convention.denominator) {
    case Denominator::real_tokens:
      return sum / real;
    case Denominator::all_positions:
      return sum / static_cast<double>(B * T);
    case Denominator::batch:
      return sum / static_cast<double>(B);
    case Denominator::one:
      break;
  }
  return sum;
}

double mean_squared_error(Pairing pairing, Row prediction, Row target) {
  if (prediction.size() != target.size()) throw std::invalid_argument("reference mse: sizes differ");
  double sum = 0;
  const std::size_t n = prediction.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j && pairing == Pairing::pairs) continue;
      sum += (prediction[i] - target[j]) * (prediction[i] - target[j]);
    }
  }
  return sum / static_cast<double>(pairing == Pairing::pairs ? n : n * n);
}

}  // namespace gradus::reference
