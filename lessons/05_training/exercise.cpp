// Lesson 05: write what trains a network. Six functions of a few lines; exercise.h says what they get.
//
//   ./gradus check 05         what is right, and the first thing to mend
//   ./gradus watch 05         the same whenever you save
//   ./gradus hint 05          a nudge
//   ./gradus run 05 --mine    when it passes: the lesson, trained with what you wrote
//
// At hand: + - * / between two Vars of one shape or a Var and a number, square, sqrt; std::pow, std::sqrt of numbers;
// Var(tensor) makes a Var of a Tensor, to calculate with, and x.value() is the Tensor of a Var;
// random_uniform(shape, low, high, generator) and parameter(tensor); norm(tensor), the root of the sum of squares;
// p.var.value(), p.var.mutable_grad() and p.var.has_grad() of a Parameter p; fill_(x, number), copy_(target, source),
// copy(x), a tensor with numbers of its own; zero_grad(parameters), backward(loss), loss.item().
#include "lessons/05_training/exercise.h"

namespace gradus::lesson05 {

// 1. How wide must a uniform distribution be, so that values and gradients keep their size?
Var first_weights(std::int64_t d_out, std::int64_t d_in, Generator& generator) {
  (void)d_out, (void)d_in, (void)generator;  // goes away with your first line
  return Var();
}

// 2. One number for all of them: the direction of the whole is not to change.
double clip(const std::vector<Parameter>& parameters, double largest) {
  (void)parameters, (void)largest;
  return 0;
}

// 3. Where does the friction go, and where the rate? options.rate and options.momentum; there is no decay here.
Var sgd_step(const Var& w, const Var& g, Var& u, const SgdOptions& options) {
  (void)w, (void)g, (void)u, (void)options;
  return Var();
}

// 4. Which step is this one, counted from 1? And what acts on the weight itself?
Var adam_step(const Var& w, const Var& g, Moments& past, const AdamOptions& options) {
  (void)w, (void)g, (void)past, (void)options;
  return Var();
}

// 5. Four calls. What may stand in the gradients before, and when is it too late to clip?
double train_step(const std::vector<Parameter>& parameters, const std::function<Var()>& loss, double largest,
                  const std::function<void()>& step) {
  (void)parameters, (void)loss, (void)largest, (void)step;
  return 0;
}

// 6. A Tensor is a handle on its numbers.
Run snapshot(const Run& run) { return {Tensor(), Tensor(), Tensor(), 0, run.data}; }

}  // namespace gradus::lesson05
