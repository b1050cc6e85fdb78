// Training with right and with wrong backwards.
#include "lessons/03_gradient_check/three_nets.h"

#include <cmath>

#include "autograd/ops.h"
#include "lessons/common/interrupt.h"
#include "nn/optimizer.h"
#include "tensor/pointwise.h"

namespace gradus::lesson03 {
namespace {

// x W' + b with the bias added by hand: x (N, d_in), W (d_out, d_in), b (d_out).
Var linear(const Var& x, const Linear& layer, bool wrong) {
  const Var product = matmul(x, transpose(layer.W));  // (N, d_out)
  const Tensor y = pointwise(
      "bias", [](auto a, auto b) { return a + b; }, product.value(),
      expand_new(layer.b.value(), Axis{0}, x.size(Axis{0})));
  return record("bias", y, {product, layer.b}, [wrong](const Tensor& dy, Inputs& in) {
    in.add(0, dy);
    in.add(1, wrong ? select(dy, Axis{0}, 0) : sum(dy, Axis{0}));
  });
}

Var tanh_by_hand(const Var& x, bool wrong) {
  const Tensor y = pointwise(
      "tanh", [](auto v) { return tanh(v); }, x.value());
  return record("tanh", y, {x}, [y, wrong](const Tensor& dy, Inputs& in) {
    in.add(0, wrong ? pointwise(
                          "tanh", [](auto d, auto v) { return d * (1 - abs(v)); }, dy, y)
                    : pointwise(
                          "tanh", [](auto d, auto v) { return d * (1 - v * v); }, dy, y));
  });
}

struct Points {
  Tensor x, y;  // (40, 1)
};

Points sine_points(DType dtype, double from = -1.4) {
  constexpr std::int64_t n = 40;
  std::vector<double> x, y;
  for (std::int64_t i = 0; i < n; ++i) {
    x.push_back(from + 3.0 * static_cast<double>(i) / (n - 1));
    y.push_back(std::sin(3 * x.back()));
  }
  return {tensor(Shape{n, 1}, x, dtype), tensor(Shape{n, 1}, y, dtype)};
}

SmallNet fresh_net(Backward how, std::uint64_t seed) {
  Generator init(seed, "init");
  return SmallNet(how, init);
}

std::vector<double> gradient(Backward how, std::uint64_t seed) {
  const SmallNet net = clone(fresh_net(how, seed), f64);
  const Points points = sine_points(f64);
  backward(mse(net(points.x), points.y));
  std::vector<double> all;
  for (const Parameter& p : parameters(net)) {
    for (double g : p.var.grad().to_vector()) all.push_back(g);
  }
  return all;
}

}  // namespace

Var SmallNet::operator()(const Var& x) const {
  const bool wrong_bias = backward == Backward::bias_first_row;
  const Var hidden = tanh_by_hand(linear(x, first, wrong_bias), backward == Backward::tanh_abs);  // (N, 8)
  return linear(hidden, second, wrong_bias);                                                      // (N, 1)
}

Training train(Backward how, std::int64_t steps, std::uint64_t seed) {
  const SmallNet net = fresh_net(how, seed);
  const Points points = sine_points(f32);
  Sgd descent(parameters(net), {.rate = 0.02});
  Training training;
  for (std::int64_t step = 0; step <= steps && (step == 0 || !interrupted()); ++step) {
    const Var loss = mse(net(points.x), points.y);
    training.last_loss = loss.item();
    if (step == 0) training.first_loss = loss.item();
    if (step % 20 == 0) {
      training.step.push_back(static_cast<double>(step));
      training.loss.push_back(loss.item());
    }
    zero_grad(parameters(net));
    gradus::backward(loss);
    descent.step();
  }
  return training;
}

GradientReport check_net(Backward how, std::uint64_t seed, std::int64_t* calls, double from) {
  const SmallNet net = clone(fresh_net(how, seed), f64);
  const Points points = sine_points(f64, from);
  std::vector<CheckedInput> inputs;
  for (const Parameter& p : parameters(net)) inputs.push_back({p.name, p.var, ""});
  *calls = 0;
  return check_gradient(
      [&] {
        ++*calls;
        return mse(net(points.x), points.y);
      },
      inputs);
}

double agreement(Backward how, std::uint64_t seed) {
  const std::vector<double> a = gradient(how, seed), b = gradient(Backward::right, seed);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace gradus::lesson03
