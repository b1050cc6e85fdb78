// What can be followed with a pencil: descents, momentum, Adam, clipping, weight decay, first weights.
#pragma once

#include <string>
#include <vector>

#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson05 {

// ---- descents (by_hand_descents.cpp)

// L = (w_1^2 + 25 w_2^2) / 2 from (5, 1), by plain gradient descent at several rates and with momentum.
std::string rates(const Terminal& terminal, Lang lang);
LineChart valley_chart(Lang lang);
// L = (w - 1)^2 from 3 at rate 0.1, with and without zero_grad.
std::string forgotten(const Terminal& terminal, Lang lang);
// The weight after each of `steps` such steps.
std::vector<double> descent(std::int64_t steps, bool forget_zero_grad);

// ---- one step in detail (by_hand_steps.cpp)

// Every number of Adam over a series of gradients, at most 8, rate 0.1, default betas.
std::string trace_adam(const std::vector<double>& gradients, const Terminal& terminal, Lang lang);
// Length of the first and later steps, right and with the bias correction gone wrong.
std::string bias_correction(const Terminal& terminal, Lang lang);
// What is lost when Adam's state is not saved between two gradients.
std::string lost_state(Lang lang);
std::string clipping(const Terminal& terminal, Lang lang);
std::string weight_decay(const Terminal& terminal, Lang lang);
// Largest difference from the printed numbers (2.2800, 1.8800, 0.1000, ...), in units of their last digit.
double distance_from_printed();

// ---- first weights (by_hand_start.cpp)

// Deviation of values and gradients through ten layers of 64, by how large the weights start.
std::string ten_layers(const Terminal& terminal, Lang lang);
// How many numbers of each gradient are not 0 when weights start random, all 0 or all alike.
std::string dead_start(const Terminal& terminal, Lang lang);

}  // namespace gradus::lesson05
