// What can be followed with a pencil: the notes' examples, what norm and angle do, the general score, the scale of a
// dot product, and one step of learning.
#pragma once

#include <string>
#include <vector>

#include "autograd/var.h"
#include "lessons/common/plot.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson08 {

using Vector = std::vector<double>;

// One query and the states that are its keys and its values at once.
struct Example {
  Vector query;
  std::vector<Vector> states;
};
Example note_0();        // "cat", "sat", "mat", and a state close to the first
Example note_0_moved();  // the same words, and a state close to the last
Example note_1();        // two words

// ---- traces (by_hand.cpp)

// Every product, the scores, the weights and the context, line by line. At most eight states of at most six numbers.
std::string trace(const Example& example, const Terminal& terminal, Lang lang);
// "0.8 -0.2 0.5 | 0.1 0.9 0.3 | 0.7 0.2 -0.5": the query, then the states. Throws InputError for anything else.
Example read_example(const std::string& text);
// Weights while the query moves from the first word of note 0 to the last.
std::string moving_query(const Terminal& terminal, Lang lang);
LineChart moving_chart(Lang lang);
// Scores and weights of each example by dot, scaled dot and cosine.
std::string three_scores(const Terminal& terminal, Lang lang);
// A key that is long against a key that points the right way.
std::string norm_and_angle(const Terminal& terminal, Lang lang);
// Dot, softmax and mixture, and the gradient that comes back, down to the query after one step.
std::string learning_step(const Terminal& terminal, Lang lang);
// Largest difference from what the notes print, in units of their last digit: at most 0.5 when all of it agrees.
double distance_from_notes();

// ---- W and d (by_hand_sizes.cpp)

// W_a one way and the other, and what the library says where sizes do not fit.
std::string orientation(const Terminal& terminal, Lang lang);
// A key at a right angle to the query: nothing to dot, the best one to a general score.
std::string right_angle(const Terminal& terminal, Lang lang);
// Parameters of each score.
std::string parameter_counts(const Terminal& terminal, Lang lang);
// Deviation of scores of random vectors against d, and what softmax makes of them.
struct Spread {
  std::int64_t d;
  double dot, scaled;                // deviation of the scores
  double dot_weight, scaled_weight;  // mean largest weight of 10
  double dot_slope, scaled_slope;    // mean slope of that weight in its score
};
std::vector<Spread> spreads();
std::string spread_table(const std::vector<Spread>& rows, const Terminal& terminal, Lang lang);
LineChart spread_chart(const std::vector<Spread>& rows, Lang lang);

// ---- shared

Var row(const Vector& values);  // (1, d), f64
// "(0.80 0.20)", and where a sign is needed or wanted "( 0.80 -0.20)".
std::string vector_text(const Vector& values, int digits, bool room_for_signs = false);

}  // namespace gradus::lesson08
