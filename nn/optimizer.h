// Optimisers: they change parameters in place, by their gradients, between two backward runs.
//
//   Adam adam(parameters(model), {.rate = 3e-3});
//   loop: zero_grad(...); backward(loss); clip_gradients(..., 1.0); adam.step();
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nn/module.h"

namespace gradus {

// What must be saved so that a run can be resumed bit for bit.
struct OptimizerState {
  std::vector<std::pair<std::string, Tensor>> tensors;  // "m.decoder.W", "v.decoder.W", ...
  std::int64_t steps = 0;
};

class Optimizer {
 public:
  explicit Optimizer(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}
  virtual ~Optimizer() = default;
  // One update from the gradients as they are; a parameter that received none counts as having gradient 0.
  virtual void step() = 0;
  virtual OptimizerState state() const;
  // Throws ValueError, naming it, when a tensor is missing or has another shape.
  virtual void restore(const OptimizerState& state);
  const std::vector<Parameter>& parameters() const { return parameters_; }

 protected:
  // Named lists of tensors, one per parameter, that belong to the state: state() reads them, restore() writes them.
  virtual std::vector<std::pair<std::string, std::vector<Tensor>*>> slots() = 0;
  std::vector<Tensor> zeros_per_parameter() const;
  std::vector<Parameter> parameters_;
  std::int64_t steps_ = 0;
};

// w -= rate * u with u = momentum * u + (g + weight_decay * w), as PyTorch documents it.
struct SgdOptions {
  double rate = 0.1, momentum = 0, weight_decay = 0;
};
class Sgd : public Optimizer {
 public:
  explicit Sgd(std::vector<Parameter> parameters, SgdOptions options = {});
  void step() override;
  SgdOptions options;

 private:
  std::vector<std::pair<std::string, std::vector<Tensor>*>> slots() override;
  std::vector<Tensor> u_;
};

// Kingma & Ba 2014, algorithm 1. With weight_decay > 0 it is AdamW (Loshchilov & Hutter 2017): the decay acts on the
// weight itself, w -= rate * weight_decay * w, and is not divided by the root of v.
struct AdamOptions {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Parameter> parameters, AdamOptions options = {});
  void step() override;
  AdamOptions options;

 private:
  std::vector<std::pair<std::string, std::vector<Tensor>*>> slots() override;
  std::vector<Tensor> m_, v_;
};
struct AdamWOptions {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};
class AdamW : public Adam {
 public:
  explicit AdamW(std::vector<Parameter> parameters, AdamWOptions o = {})
      : Adam(std::move(parameters), {o.rate, o.beta1, o.beta2, o.eps, o.weight_decay}) {}
};

// Scales all gradients together so that their global norm is at most `largest` (Pascanu et al. 2013); a norm of 0 is
// left alone. Returns the norm before. Call it after backward and before step. Throws ValueError when the norm is not
// finite.
double clip_gradients(const std::vector<Parameter>& parameters, double largest);

// Learning-rate schedules: what the rate is multiplied with at step `step`, counted from 0.
//   cosine_decay    from 1 to `floor` over `total` steps, along half a cosine (Loshchilov & Hutter 2016)
//   linear_warmup   from 1/steps to 1 over the first `steps`
//   step_decay      times `factor` after every `every` steps
double cosine_decay(std::int64_t step, std::int64_t total, double floor = 0);
double linear_warmup(std::int64_t step, std::int64_t steps);
double step_decay(std::int64_t step, std::int64_t every, double factor);

}  // namespace gradus
