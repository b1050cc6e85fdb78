// Updates in one pass over each parameter.
#include "nn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tensor/kernels/threads.h"
#include "tensor/reduce.h"

namespace gradus {
namespace {

// Calls update(n, w, g, rest...) with plain arrays. A parameter and its gradient lie in memory in the same order,
// without gaps, because that is how zeros_like makes the gradient.
template <class Update, class... Rest> void in_memory_order(const Parameter& p, Update update, Rest&... rest) {
  Tensor& w = p.var.mutable_value();
  const Tensor g = p.var.grad();
  if (!w.packed()) {
    throw ValueError("optimizer: parameter " + p.name + " is a view with gaps; make it with copy(...)");
  }
  dispatch(w.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto part = [&](T* weights, const T* gradient, auto*... others) {
      parallel(w.size(), 64, 0.7 * static_cast<double>(w.size()), [&](std::int64_t first, std::int64_t end) {
        update(end - first, weights + first, gradient + first, (others + first)...);
      });
    };
    part(w.mutable_data<T>(), g.data<T>(), rest.template mutable_data<T>()...);
  });
}

}  // namespace

std::vector<Tensor> Optimizer::zeros_per_parameter() const {
  std::vector<Tensor> result;
  for (const Parameter& p : parameters_) result.push_back(zeros_like(p.var.value()));
  return result;
}

OptimizerState Optimizer::state() const {
  OptimizerState state;
  state.steps = steps_;
  for (const auto& [name, tensors] : const_cast<Optimizer*>(this)->slots()) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      state.tensors.emplace_back(name + "." + parameters_[i].name, copy((*tensors)[i]));
  }
  return state;
}

void Optimizer::restore(const OptimizerState& state) {
  for (const auto& [name, tensors] : slots()) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const std::string full = name + "." + parameters_[i].name;
      const auto found =
          std::find_if(state.tensors.begin(), state.tensors.end(), [&](const auto& t) { return t.first == full; });
      if (found == state.tensors.end()) throw ValueError("optimizer: the saved state has no tensor '" + full + "'");
      if (found->second.shape() != (*tensors)[i].shape()) {
        throw ValueError("optimizer: '" + full + "' was saved as " + to_string(found->second.shape()) + " and is " +
                         to_string((*tensors)[i].shape()) + " here; the model has other sizes");
      }
      copy_((*tensors)[i], found->second);
    }
  }
  steps_ = state.steps;
}

Sgd::Sgd(std::vector<Parameter> parameters, SgdOptions sgd_options)
    : Optimizer(std::move(parameters)), options(sgd_options), u_(zeros_per_parameter()) {}

void Sgd::step() {
  ++steps_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    in_memory_order(
        parameters_[i],
        [&]<class T>(std::int64_t n, T* w, const T* g, T* u) {
          const T rate = static_cast<T>(options.rate), momentum = static_cast<T>(options.momentum),
                  decay = static_cast<T>(options.weight_decay);
          for (std::int64_t k = 0; k < n; ++k) {
            u[k] = momentum * u[k] + (g[k] + decay * w[k]);
            w[k] -= rate * u[k];
          }
        },
        u_[i]);
  }
}

std::vector<std::pair<std::string, std::vector<Tensor>*>> Sgd::slots() { return {{"u", &u_}}; }

Adam::Adam(std::vector<Parameter> parameters, AdamOptions adam_options)
    : Optimizer(std::move(parameters)), options(adam_options), m_(zeros_per_parameter()), v_(zeros_per_parameter()) {}

void Adam::step() {
  ++steps_;
  const double correction1 = 1 - std::pow(options.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(options.beta2, static_cast<double>(steps_));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    in_memory_order(
        parameters_[i],
        [&]<class T>(std::int64_t n, T* w, const T* g, T* m, T* v) {
          const T beta1 = static_cast<T>(options.beta1), beta2 = static_cast<T>(options.beta2),
                  eps = static_cast<T>(options.eps);
          const T rate = static_cast<T>(options.rate / correction1), root = static_cast<T>(1 / std::sqrt(correction2));
          const T shrink = static_cast<T>(1 - options.rate * options.weight_decay);
          for (std::int64_t k = 0; k < n; ++k) {
            m[k] = beta1 * m[k] + (1 - beta1) * g[k];
            v[k] = beta2 * v[k] + (1 - beta2) * g[k] * g[k];
            w[k] = shrink * w[k] - rate * m[k] / (std::sqrt(v[k]) * root + eps);
          }
        },
        m_[i], v_[i]);
  }
}

std::vector<std::pair<std::string, std::vector<Tensor>*>> Adam::slots() { return {{"m", &m_}, {"v", &v_}}; }

double clip_gradients(const std::vector<Parameter>& parameters, double largest) {
  if (!(largest >= 0)) {
    throw ValueError("clip_gradients: the largest norm is " + std::to_string(largest) + "; it must be 0 or more");
  }
  double squares = 0;
  for (const Parameter& p : parameters) {
    if (!p.var.has_grad()) continue;
    const double size = norm(p.var.mutable_grad());
    squares += size * size;
  }
  const double total = std::sqrt(squares);
  if (!std::isfinite(total)) {
    throw ValueError(
        "clip_gradients: the norm of the gradients is not finite; run one step under DetectAnomaly to find the op");
  }
  if (!(total > largest)) return total;
  for (const Parameter& p : parameters) {
    if (!p.var.has_grad()) continue;
    Tensor& grad = p.var.mutable_grad();
    in_memory_order(
        {p.name, p.var},
        [&]<class T>(std::int64_t n, T*, const T*, T* g) {
          const T factor = static_cast<T>(largest / total);
          for (std::int64_t k = 0; k < n; ++k) g[k] *= factor;
        },
        grad);
  }
  return total;
}

double cosine_decay(std::int64_t step, std::int64_t total, double floor) {
  const double done =
      std::clamp(static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(total, 1)), 0.0, 1.0);
  return floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

double linear_warmup(std::int64_t step, std::int64_t steps) {
  return steps <= 0 ? 1 : std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(steps));
}

double step_decay(std::int64_t step, std::int64_t every, double factor) {
  return std::pow(factor, static_cast<double>(step / std::max<std::int64_t>(every, 1)));
}

}  // namespace gradus
