// Reverse mode on single numbers, whole: a tape records each step, a walk back over it finds every gradient.
// The engine's Var (autograd/var.h) is this with tensors.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace gradus::lesson02 {

class Tape;

// One recorded step: a number, where it came from, and what to do when the gradient arrives.
struct Step {
  std::string op;
  double value = 0, grad = 0;  // grad: d result / d value, once backward has run
  std::vector<std::size_t> inputs;
  std::function<void(Tape& tape, double dy)> backward;  // adds to the inputs' gradients, given this step's own
};

// The steps in the order in which they were made: whatever a step needs stands before it.
class Tape {
 public:
  std::size_t record(Step step) {
    steps.push_back(std::move(step));
    return steps.size() - 1;
  }
  std::vector<Step> steps;
};

// A number on a tape: a handle, cheap to copy.
struct Scalar {
  Tape* tape;
  std::size_t id;
  double value() const { return tape->steps[id].value; }
  double grad() const { return tape->steps[id].grad; }
};

inline Scalar leaf(Tape& tape, std::string name, double value) {
  return {&tape, tape.record({std::move(name), value, 0, {}, {}})};
}

// y = a + b: a change of either is a change of y.
inline Scalar operator+(Scalar a, Scalar b) {
  auto rule = [a, b](Tape& tape, double dy) {
    tape.steps[a.id].grad += dy;
    tape.steps[b.id].grad += dy;
  };
  return {a.tape, a.tape->record({"+", a.value() + b.value(), 0, {a.id, b.id}, rule})};
}

// y = a b: dy/da = b, dy/db = a.
inline Scalar operator*(Scalar a, Scalar b) {
  auto rule = [a, b](Tape& tape, double dy) {
    tape.steps[a.id].grad += dy * b.value();
    tape.steps[b.id].grad += dy * a.value();
  };
  return {a.tape, a.tape->record({"*", a.value() * b.value(), 0, {a.id, b.id}, rule})};
}

// y = tanh a: dy/da = 1 - y^2.
inline Scalar tanh(Scalar a) {
  const double y = std::tanh(a.value());
  auto rule = [a, y](Tape& tape, double dy) { tape.steps[a.id].grad += dy * (1 - y * y); };
  return {a.tape, a.tape->record({"tanh", y, 0, {a.id}, rule})};
}

// Fills in d result / d step for every step. Newest first: when a step's turn comes, everything that used it has had
// its turn, so its gradient is complete.
inline void backward(Scalar result) {
  std::vector<Step>& steps = result.tape->steps;
  steps[result.id].grad = 1;
  for (std::size_t i = result.id + 1; i-- > 0;) {
    if (steps[i].backward) steps[i].backward(*result.tape, steps[i].grad);
  }
}

}  // namespace gradus::lesson02
