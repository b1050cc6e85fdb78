// Lesson 04: write softmax, cross-entropy and their gradients. Five functions of a few lines; exercise.h says what they
// get.
//
//   ./gradus check 04         what is right, and the first thing to mend
//   ./gradus watch 04         the same whenever you save
//   ./gradus hint 04          a nudge
//   ./gradus run 04 --mine    when it passes: the lesson, trained with what you wrote
//
// At hand: exp, log, + - * / between two Vars of one shape or a Var and a number; max(x, Axis{1}), sum(x, Axis{1}),
// which drop the axis; expand_new(x, Axis{1}, n), which puts it back; mean(x) of everything (autograd/ops.h);
// one_hot(targets, K, z.dtype()) (exercise.h). x.size(Axis{1}) is the length of an axis.
#include "lessons/04_softmax/exercise.h"

namespace gradus::lesson04 {

// 1. Which number may be taken off each row without changing a weight, and why would you?
Var softmax_rows(const Var& scores, double T) {
  (void)scores, (void)T;  // goes away with your first line
  return Var();
}

// 2. The same number comes off inside, and back on outside.
Var log_sum_exp(const Var& z) {
  (void)z;
  return Var();
}

// 3. -log p_y must not become infinite when p_y is too small for a float. What is it in terms of log_sum_exp?
Var mean_cross_entropy(const Var& z, const Ids& targets) {
  (void)z, (void)targets;
  return Var();
}

// 4. What the model says too much, minus what is so. And it was a mean.
Var cross_entropy_gradient(const Var& z, const Ids& targets) {
  (void)z, (void)targets;
  return Var();
}

// 5. Every weight depends on every score of its row.
Var softmax_backward(const Var& alpha, const Var& dy) {
  (void)alpha, (void)dy;
  return Var();
}

}  // namespace gradus::lesson04
