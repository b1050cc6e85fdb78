// Two neurons fitted to a bump: on the scalar tape and, with the same numbers, on Vars.
#pragma once

#include <array>
#include <vector>

#include "lessons/02_tape/scalar_tape.h"
#include "nn/module.h"

namespace gradus::lesson02 {

// y = v_1 tanh(w_1 x + b_1) + v_2 tanh(w_2 x + b_2) + c, in this order.
inline constexpr std::array<const char*, 7> letters{"w_1", "b_1", "v_1", "w_2", "b_2", "v_2", "c"};
using Weights = std::array<double, 7>;

struct Points {
  std::vector<double> x, y;  // y = tanh(2 x + 1) - tanh(2 x - 1), which two neurons can reach
};
Points bump();

Weights first_weights(std::uint64_t seed);

// The net on a tape that already holds the weights as its first seven steps.
Scalar net(Tape& tape, Scalar x);
// The weights as leaves with their letters.
Tape tape_with(const Weights& weights);

struct Fit {
  Weights weights;
  std::vector<double> step, loss;  // every 10 steps
  std::size_t tape_length = 0;     // steps on the tape in one step of training
};
// weight -= 0.2 * gradient of the mean squared error.
Fit fit_tape(Weights weights, std::int64_t steps);  // by taught_parts()
Fit fit_vars(Weights weights, std::int64_t steps);

// The weights as parameters with names, for saving and loading.
std::vector<Parameter> as_parameters(const Weights& weights);

}  // namespace gradus::lesson02
