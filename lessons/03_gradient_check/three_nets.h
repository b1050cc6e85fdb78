// One small net trained three times from the same numbers: with right backwards, and with one that is subtly wrong.
#pragma once

#include <vector>

#include "autograd/check_gradient.h"
#include "nn/layers.h"

namespace gradus::lesson03 {

enum class Backward {
  right,
  bias_first_row,  // the gradient of a bias is the first row of dy, not the sum of its rows
  tanh_abs,        // tanh' is written 1 - |y|, not 1 - y^2
};
inline constexpr Backward all_backwards[] = {Backward::right, Backward::bias_first_row, Backward::tanh_abs};

// y = W_2 tanh(W_1 x + b_1) + b_2 with x and y (N, 1), W_1 (8, 1), W_2 (1, 8).
struct SmallNet {
  Linear first, second;
  Backward backward = Backward::right;
  SmallNet(Backward how, Generator& generator) : first(1, 8, generator), second(8, 1, generator), backward(how) {}
  Var operator()(const Var& x) const;
  void visit(Visitor& v) {
    v("1", first);
    v("2", second);
  }
};

struct Training {
  std::vector<double> step, loss;  // every 20 steps
  double first_loss = 0, last_loss = 0;
};
// Plain gradient descent on the mean squared error against y = sin(3 x) at 40 points from -1.4 to 1.6: w -= 0.05 *
// gradient.
Training train(Backward how, std::int64_t steps, std::uint64_t seed);

// The self check of that loss on the untrained net, in f64, at points from `from` to `from` + 3. `calls` counts how
// often the loss was computed for it.
GradientReport check_net(Backward how, std::uint64_t seed, std::int64_t* calls, double from = -1.4);

// Cosine of the angle between the gradient that `how` gives for the untrained net and the right one.
double agreement(Backward how, std::uint64_t seed);

}  // namespace gradus::lesson03
