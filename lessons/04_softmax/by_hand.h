// What can be followed with a pencil: softmax traced line by line, its alternatives, temperature, overflow, gradients.
#pragma once

#include <string>
#include <vector>

#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson04 {

// The scores of two words in note 1 (lesson 08 says where they come from).
inline const std::vector<double> two_scores = {0.05, 0.27};
inline constexpr std::size_t most_scores = 8;

// ---- softmax (by_hand_softmax.cpp)

// Every line of a softmax with the maximum taken off, and the log-sum-exp. At most `most_scores` finite scores.
std::string trace_softmax(const std::vector<double>& scores, const Terminal& terminal, Lang lang);

// Softmax beside other ways of turning scores into shares, on pairs of scores.
std::string alternatives(const Terminal& terminal, Lang lang);

// softmax(e / T) for falling T, and how strongly the last weight follows its own score.
std::string temperatures(const std::vector<double>& scores, const Terminal& terminal, Lang lang);
LineChart temperature_chart(Lang lang);

// The formula as it is written against the formula with the maximum taken off, in f32.
std::string overflow(const Terminal& terminal, Lang lang);

// Weights of 0.3 and 0.7 on values of different length: a share of the mixture is no share of information.
std::string seventy_percent(const Terminal& terminal, Lang lang);

// Largest difference from what the notes print, in units of their last digit: at most 0.5 when all of it agrees.
double distance_from_notes();

// ---- gradients (by_hand_gradients.cpp)

// d alpha_i / d e_j, and what the self check says of three backward passes through softmax.
std::string jacobian(const Terminal& terminal, Lang lang);
// Codes of the self check: for the whole Jacobian, for its diagonal alone, for a plain sum of the weights.
std::vector<std::string> jacobian_verdicts();

// Loss and gradient p - y of one example, by hand and by the tape, and one step downhill.
std::string trace_cross_entropy(const Terminal& terminal, Lang lang);

// How strongly cross-entropy and squared error pull at a score, against how wrong it is.
std::string pulls(const Terminal& terminal, Lang lang);
LineChart pull_chart(Lang lang);

}  // namespace gradus::lesson04
