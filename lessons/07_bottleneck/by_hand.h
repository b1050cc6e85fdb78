// What can be followed with a pencil: a state that is one number, the shift of teacher forcing, padding in a loss, and
// the two ends of a bidirectional encoder.
#pragma once

#include <string>
#include <vector>

#include "lessons/common/terminal.h"

namespace gradus::lesson07 {

// ---- a state by hand (by_hand_state.cpp)

// An encoder-decoder without training whose whole state is one f32: s = 10 s + x while it reads; while it writes, the
// leading digit of s, which is then taken off. What it writes back for these digits.
std::vector<int> copy_through_one_number(const std::vector<int>& digits);
// The same with a state of as many numbers as are needed when each holds `per_number` digits.
std::vector<int> copy_through_numbers(const std::vector<int>& digits, std::size_t per_number);
std::string packing(const Terminal& terminal, Lang lang);

// h = tanh(0.5 x + 0.8 h) over x = (1, 2, 3), from both ends: what forward and backward states are at each position.
struct TwoRuns {
  std::vector<double> forward, backward;  // at positions 1, 2, 3
};
TwoRuns two_runs(const std::vector<double>& x);
std::string two_ends(const Terminal& terminal, Lang lang);

// The largest |d logits / d H| with s_0 held constant, and the largest |d logits / d s_0|, of a small decoder in f64.
struct SourceGradient {
  double of_H = 0, of_s_0 = 0;
};
SourceGradient source_gradient();
std::string what_reaches_the_logits(const Terminal& terminal, Lang lang);

// ---- a loss by hand (by_hand_loss.cpp)

// The loss of a "model" that gives logit 5 to the token that it reads and 0 to the three others, with the inputs
// shifted as they must be, or not.
double loss_of_an_echo(bool shifted);
// One real token and one pad, two classes. `right`: only the real one counts. `denominator`: divided by all positions.
// `counted`: the pad is a target like others, and the model is good at it.
enum class PadLoss { right, denominator, counted };
double loss_with_a_pad(PadLoss kind);
std::string losses(const Terminal& terminal, Lang lang);

}  // namespace gradus::lesson07
