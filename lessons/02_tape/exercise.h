// Lesson 02, what you write: a tape of your own, in another form than the note's. A step does not carry a rule but
// plain numbers: for each input, by how much the step's value changes when that input does.
// You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include <cstddef>
#include <vector>

namespace gradus::lesson02 {

// One way into a step: which step it comes from, and d(value of this step) / d(value of that one).
struct Way {
  std::size_t from;
  double slope;
};

struct Entry {
  double value = 0;
  double grad = 0;        // d result / d value, once `backward` has run
  std::vector<Way> ways;  // empty for a leaf
};

// The steps in the order in which they were made.
using List = std::vector<Entry>;

// Each adds one step to the end of the list and returns its number: list.size() - 1.
std::size_t plus(List& list, std::size_t a, std::size_t b);   // value of a + value of b; a and b may be the same step
std::size_t times(List& list, std::size_t a, std::size_t b);  // value of a * value of b
std::size_t tanh_of(List& list, std::size_t a);               // tanh of the value of a

// Sets the grad of every step in the list: d result / d step, and 0 for what does not lead to the result. Gives the
// same when it is called again. Lists may be a million steps long.
void backward(List& list, std::size_t result);

}  // namespace gradus::lesson02
