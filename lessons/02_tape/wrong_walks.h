// Two mistakes that engines for learning have really shipped: gradients that overwrite, and a walk that does not wait.
#pragma once

#include "lessons/02_tape/scalar_tape.h"

namespace gradus::lesson02 {

// Steps whose rules write `=` where `+=` belongs.
inline Scalar overwriting_plus(Scalar a, Scalar b) {
  auto rule = [a, b](Tape& tape, double dy) {
    tape.steps[a.id].grad = dy;
    tape.steps[b.id].grad = dy;
  };
  return {a.tape, a.tape->record({"+", a.value() + b.value(), 0, {a.id, b.id}, rule})};
}
inline Scalar overwriting_times(Scalar a, Scalar b) {
  auto rule = [a, b](Tape& tape, double dy) {
    tape.steps[a.id].grad = dy * b.value();
    tape.steps[b.id].grad = dy * a.value();
  };
  return {a.tape, a.tape->record({"*", a.value() * b.value(), 0, {a.id, b.id}, rule})};
}

// What a recursive walk costs.
struct Walk {
  std::int64_t visits = 0;
  const char* deepest = nullptr;  // the lowest place on the stack that it reached
};

// Applies a step's rule and goes on to its inputs at once, without waiting for other steps that use them.
inline void impatient_walk(Tape& tape, std::size_t id, Walk& walk) {
  const char here = 0;
  ++walk.visits;
  if (walk.deepest == nullptr || &here < walk.deepest) walk.deepest = &here;
  const Step& step = tape.steps[id];
  if (!step.backward) return;
  step.backward(tape, step.grad);
  for (std::size_t input : step.inputs) impatient_walk(tape, input, walk);
}

inline Walk impatient_backward(Scalar result) {
  Walk walk;
  result.tape->steps[result.id].grad = 1;
  impatient_walk(*result.tape, result.id, walk);
  return walk;
}

}  // namespace gradus::lesson02
