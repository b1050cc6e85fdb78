// Lesson 05, what you write: first weights, clipping, two optimisers, the loop's one step, and what a checkpoint holds.
// You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include <functional>

#include "autograd/ops.h"
#include "nn/module.h"
#include "nn/optimizer.h"

namespace gradus::lesson05 {

// Uniform numbers in +-sqrt(6 / (d_in + d_out)), a parameter (d_out, d_in) in f32. Every number comes from `generator`.
Var first_weights(std::int64_t d_out, std::int64_t d_in, Generator& generator);

// Scales all gradients together so that the root of the sum of all their squares is at most `largest`; where it is so
// already, nothing changes. Returns that root as it was before.
double clip(const std::vector<Parameter>& parameters, double largest);

// One step of gradient descent with momentum: u becomes momentum * u + g. w, g and u have one shape. Returns the new w.
Var sgd_step(const Var& w, const Var& g, Var& u, const SgdOptions& options);

// What Adam knows of one parameter: means of g and of g squared, which start at 0, and the number of steps taken.
struct Moments {
  Var m, v;            // in the shape of the parameter
  std::int64_t t = 0;  // 0 before the first step
};

// One step of Adam (Kingma & Ba 2014, algorithm 1), with weight decay as in AdamW: past changes, and the new w is
// returned. Of any shape.
Var adam_step(const Var& w, const Var& g, Moments& past, const AdamOptions& options);

// One step of the loop: gradients of `loss` for the parameters, clipped to `largest`, and the update that `step` makes
// from the gradients it finds. Whatever stood in the gradients before is not to matter. Returns the loss.
double train_step(const std::vector<Parameter>& parameters, const std::function<Var()>& loss, double largest,
                  const std::function<void()>& step);

// A run of one parameter, of which everything that comes depends on what is in here.
struct Run {
  Tensor w;        // changed in place by each step
  Tensor m, v;     // Adam's means, changed in place too
  std::int64_t t;  // steps taken
  Generator data;  // draws the batches
};

// The run as it is now, in numbers of its own: however far `run` goes on afterwards, this stays.
Run snapshot(const Run& run);

}  // namespace gradus::lesson05
