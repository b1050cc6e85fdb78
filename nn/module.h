// Layers are plain structs whose parameters are public fields, named as in their paper. Each lists them in one
// function:
//
//   struct Linear {
//     Var W, b;
//     void visit(Visitor& v) { v("W", W); v("b", b); }
//   };
//
// and everything else follows from that list: names, counts, optimisers, checkpoints, clones.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "autograd/var.h"

namespace gradus {

struct Parameter {
  std::string name;  // dotted path: "decoder.score.W_a"
  Var var;
};

// Walks through a layer and the layers in it, and shows each parameter with its full name.
class Visitor {
 public:
  explicit Visitor(std::function<void(const std::string& name, Var& parameter)> show) : show_(std::move(show)) {}
  void operator()(const std::string& name, Var& parameter) {
    if (parameter.defined()) show_(prefix_ + name, parameter);  // an optional one that is not there is skipped
  }
  template <class Layer> void operator()(const std::string& name, Layer& layer) {
    const std::string before = prefix_;
    prefix_ += name + ".";
    layer.visit(*this);
    prefix_ = before;
  }
  template <class Layer> void operator()(const std::string& name, std::vector<Layer>& layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) (*this)(name + "." + std::to_string(i), layers[i]);
  }

 private:
  std::function<void(const std::string&, Var&)> show_;
  std::string prefix_;
};

// All parameters in the order of visit. One that is used in two places (a tied weight) is listed once, under its first
// name.
template <class Model> std::vector<Parameter> parameters(const Model& model) {
  Model handles = model;  // copies handles, not numbers
  std::vector<Parameter> found;
  Visitor visitor([&](const std::string& name, Var& parameter) {
    for (const Parameter& known : found) {
      if (known.var.node().get() == parameter.node().get()) return;
    }
    found.push_back({name, parameter});
  });
  handles.visit(visitor);
  return found;
}

// A model with parameters of its own, converted to `dtype`: train in f32, check clone(model, f64). Tied weights stay
// tied. (A plain copy of a layer shares its parameters.)
template <class Model> Model clone(const Model& model, DType dtype) {
  Model result = model;
  std::map<const Node*, Var> converted;
  Visitor visitor([&](const std::string&, Var& parameter) {
    const Node* original = parameter.node().get();
    auto [place, is_new] = converted.try_emplace(original);
    if (is_new) place->second = gradus::parameter(parameter.value().to(dtype));
    parameter = place->second;
  });
  result.visit(visitor);
  return result;
}

inline std::int64_t count(const std::vector<Parameter>& parameters) {
  std::int64_t total = 0;
  for (const Parameter& p : parameters) total += p.var.value().size();
  return total;
}

inline void zero_grad(const std::vector<Parameter>& parameters) {
  for (const Parameter& p : parameters) p.var.zero_grad();
}

}  // namespace gradus
