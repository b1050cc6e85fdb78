// Optimisers, clipping and schedules: values against the papers and PyTorch, resuming, and what is refused.
#include "nn/optimizer.h"

#include <memory>

#include "nn/init.h"
#include "nn/layers.h"
#include "tests/nn/check.h"
#include "tests/reference/adam2014.h"
#include "tests/reference/adamw2017.h"
#include "tests/reference/clip.h"
#include "tests/reference/sgd.h"

using namespace gradus;
using namespace gradus::testing;
using fixtures::Fixture;
using fixtures::fixture;
using paper::Vec;

namespace {

using Make = std::function<std::unique_ptr<Optimizer>(std::vector<Parameter>)>;

template <class Kind, class Options> Make make(Options options) {
  return [options](std::vector<Parameter> list) { return std::make_unique<Kind>(std::move(list), options); };
}

void set_gradient(const Var& p, const std::vector<double>& values) {
  p.zero_grad();
  backward(p, tensor(p.shape(), values, p.dtype()));
}

Parameter named(const std::string& name, std::vector<double> values, DType dtype = f64) {
  return {name, parameter(tensor(Shape{static_cast<std::int64_t>(values.size())}, values, dtype))};
}

// Steps with random gradients: the same for the same seed, some of them zero.
void take_steps(Optimizer& optimizer, int count, std::uint64_t seed) {
  Numbers numbers(seed);
  for (int k = 0; k < count; ++k) {
    for (const Parameter& p : optimizer.parameters()) {
      std::vector<double> g = numbers.many(p.var.value().size(), -1, 1);
      g[0] = k % 3 == 0 ? 0 : g[0];
      set_gradient(p.var, g);
    }
    optimizer.step();
  }
}

struct Kind {
  std::string name;
  Make make;
};
std::vector<Kind> all_kinds() {
  return {{"SGD", make<Sgd>(SgdOptions{.rate = 0.1})},
          {"SGD with momentum and decay", make<Sgd>(SgdOptions{.rate = 0.1, .momentum = 0.9, .weight_decay = 0.1})},
          {"Adam", make<Adam>(AdamOptions{.rate = 0.01})},
          {"AdamW", make<AdamW>(AdamWOptions{.rate = 0.01, .weight_decay = 0.1})}};
}

std::vector<Parameter> two_parameters(DType dtype = f64) {
  Generator g(3);
  return {{"W", xavier(3, 2, g, dtype)}, {"b", uniform(Shape{4}, 1, g, dtype)}};
}

void check_against_fixture(const char* name, const Make& make_optimizer) {
  const Fixture& f = fixture(name);
  const Var W = leaf(f["W_0"]), b = leaf(f["b_0"]);
  const auto optimizer = make_optimizer({{"W", W}, {"b", b}});
  for (int k = 1; k <= 5; ++k) {
    CAPTURE(k);
    const std::string step = "_" + std::to_string(k);
    set_gradient(W, f["grad_W" + step].data);
    set_gradient(b, f["grad_b" + step].data);
    optimizer->step();
    CHECK(gap(W, f["W" + step]) <= exact);
    CHECK(gap(b, f["b" + step]) <= exact);
  }
}

}  // namespace

TEST_SUITE("nn optimizer") {
  // ---- against others

  TEST_CASE("SGD is torch.optim.SGD over five steps") {
    check_against_fixture("sgd", make<Sgd>(SgdOptions{.rate = 0.1}));
  }
  TEST_CASE("SGD with momentum is torch.optim.SGD over five steps") {
    check_against_fixture("sgd_momentum", make<Sgd>(SgdOptions{.rate = 0.1, .momentum = 0.9}));
  }
  TEST_CASE("Adam is torch.optim.Adam over five steps") {
    check_against_fixture("adam", make<Adam>(AdamOptions{.rate = 0.01}));
  }
  TEST_CASE("Adam takes betas and eps as torch.optim.Adam does") {
    check_against_fixture("adam_betas",
                          make<Adam>(AdamOptions{.rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-4}));
  }
  TEST_CASE("AdamW is torch.optim.AdamW over five steps") {
    check_against_fixture("adamw", make<AdamW>(AdamWOptions{.rate = 0.01, .weight_decay = 0.1}));
  }

  TEST_CASE("SGD follows the formulas for sixty steps, every momentum with every decay") {
    for (double momentum : {0.0, 0.5, 0.99}) {
      for (double decay : {0.0, 0.3}) {
        CAPTURE(momentum);
        CAPTURE(decay);
        const Parameter p = named("w", {0.5, -1, 2, 0});
        Sgd sgd({p}, {.rate = 0.05, .momentum = momentum, .weight_decay = decay});
        Vec theta = vec(p.var);
        paper::sgd::Velocity velocity;
        Numbers numbers(4);
        for (int k = 0; k < 60; ++k) {
          const Vec g = numbers.many(4, -2, 2);
          set_gradient(p.var, g);
          sgd.step();
          paper::sgd::step(theta, g, velocity, {0.05, momentum, 0, decay, false});
          CHECK(gap(p.var, theta) <= exact);
        }
      }
    }
  }

  TEST_CASE("Adam follows algorithm 1 for sixty steps") {
    const Parameter p = named("w", {0.5, -1, 2, 0});
    Adam adam({p}, {.rate = 0.02});
    Vec theta = vec(p.var);
    paper::adam2014::Moments moments;
    Numbers numbers(5);
    for (int k = 0; k < 60; ++k) {
      const Vec g = numbers.many(4, -2, 2);
      set_gradient(p.var, g);
      adam.step();
      paper::adam2014::step(theta, g, moments, {0.02, 0.9, 0.999, 1e-8});
      CHECK(gap(p.var, theta) <= exact);
    }
  }

  TEST_CASE("AdamW follows the formulas for sixty steps") {
    const Parameter p = named("w", {0.5, -1, 2, 0.1});
    AdamW adam({p}, {.rate = 0.02, .weight_decay = 0.3});
    Vec theta = vec(p.var);
    paper::adamw2017::Moments moments;
    Numbers numbers(6);
    for (int k = 0; k < 60; ++k) {
      const Vec g = numbers.many(4, -2, 2);
      set_gradient(p.var, g);
      adam.step();
      paper::adamw2017::step(theta, g, moments, {0.02, 0.9, 0.999, 1e-8, 0.3});
      CHECK(gap(p.var, theta) <= exact);
    }
  }

  // ---- Adam's own traits

  TEST_CASE("Adam's first step is as long as the rate, for a gradient of any size: the bias is corrected") {
    for (double g : {0.5, -0.5, 1e-3, -1e4}) {
      CAPTURE(g);
      const Parameter p = named("w", {1});
      Adam adam({p}, {.rate = 0.1});
      set_gradient(p.var, {g});
      adam.step();
      CHECK(near(1 - p.var.item(), g > 0 ? 0.1 : -0.1, 1e-4));
    }
  }

  TEST_CASE("Adam's second step after gradients .5 and -.1 goes on in the first direction") {
    const Parameter p = named("w", {0});
    Adam adam({p}, {.rate = 0.1});
    set_gradient(p.var, {0.5});
    adam.step();
    const double first = p.var.item();
    set_gradient(p.var, {-0.1});
    adam.step();
    CHECK(prints_as(first - p.var.item(), 0.0511, 4));
  }

  TEST_CASE("AdamW decays the weight from before the step, beside the gradient") {
    const Parameter p = named("w", {2});
    AdamW adam({p}, {.rate = 0.1, .weight_decay = 0.1});
    set_gradient(p.var, {0.5});
    adam.step();
    CHECK(prints_as(p.var.item(), 1.88, 4));
  }

  TEST_CASE("with a zero gradient AdamW shrinks a weight by exactly 1 - rate decay, and Adam leaves it") {
    for (double decay : {0.0, 0.1}) {
      CAPTURE(decay);
      const Parameter p = named("w", {2, -3});
      AdamW adam({p}, {.rate = 0.1, .weight_decay = decay});
      set_gradient(p.var, {0, 0});
      adam.step();
      CHECK(gap(p.var, Vec{2 * (1 - 0.1 * decay), -3 * (1 - 0.1 * decay)}) <= exact);
    }
  }

  TEST_CASE("AdamW without a word about decay decays by 0.01, also when the rate is given") {
    const Parameter a = named("w", {2}), b = named("w", {2});
    AdamW plain({a});
    AdamW with_rate({b}, {.rate = 1e-3});
    for (const Parameter& p : {a, b}) set_gradient(p.var, {0});
    plain.step();
    with_rate.step();
    CHECK(near(a.var.item(), 2 * (1 - 1e-5), exact));
    CHECK(near(b.var.item(), 2 * (1 - 1e-5), exact));
  }

  TEST_CASE("Adam with decay is AdamW") {
    const Parameter a = named("w", {2, -1}), b = named("w", {2, -1});
    Adam one({a}, {.rate = 0.1, .weight_decay = 0.2});
    AdamW two({b}, {.rate = 0.1, .weight_decay = 0.2});
    take_steps(one, 5, 7);
    take_steps(two, 5, 7);
    CHECK(bitwise(a.var, b.var));
  }

  // ---- all optimisers

  TEST_CASE("a parameter that received no gradient counts as having gradient 0") {
    for (const Kind& kind : all_kinds()) {
      CAPTURE(kind.name);
      const Parameter a = named("w", {1, -2}), b = named("w", {1, -2});
      const auto one = kind.make({a}), two = kind.make({b});
      take_steps(*one, 2, 8);
      take_steps(*two, 2, 8);
      a.var.zero_grad();
      set_gradient(b.var, {0, 0});
      one->step();
      two->step();
      CHECK(bitwise(a.var, b.var));
    }
  }

  TEST_CASE("a step from a parameter that never had a gradient works") {
    for (const Kind& kind : all_kinds()) {
      CAPTURE(kind.name);
      const auto list = two_parameters();
      const auto optimizer = kind.make(list);
      optimizer->step();
      CHECK(all_finite(list[0].var.value()));
    }
  }

  TEST_CASE("a weight that lies as (in, out) is updated element for element like one that lies as rows") {
    for (const Kind& kind : all_kinds()) {
      CAPTURE(kind.name);
      Generator g(9);
      const Var across = xavier(3, 2, g, f64);
      const Var along = parameter(copy(across.value()));
      REQUIRE(across.value().strides() != along.value().strides());
      const auto one = kind.make({{"W", across}}), two = kind.make({{"W", along}});
      take_steps(*one, 4, 10);
      take_steps(*two, 4, 10);
      CHECK(bitwise(across, along));
    }
  }

  TEST_CASE("the gradient is left as it was") {
    for (const Kind& kind : all_kinds()) {
      CAPTURE(kind.name);
      const auto list = two_parameters();
      const auto optimizer = kind.make(list);
      take_steps(*optimizer, 1, 11);
      const Tensor before = copy(list[0].var.grad());
      optimizer->step();
      CHECK(bitwise(list[0].var.grad(), before));
    }
  }

  TEST_CASE("f32 follows f64 through twenty steps") {
    for (const Kind& kind : all_kinds()) {
      CAPTURE(kind.name);
      const auto twice = two_parameters(f64), single = two_parameters(f32);
      const auto one = kind.make(twice), two = kind.make(single);
      take_steps(*one, 20, 12);
      take_steps(*two, 20, 12);
      for (std::size_t i = 0; i < twice.size(); ++i) CHECK(gap(single[i].var, vec(twice[i].var)) < 1e-4);
    }
  }

  TEST_CASE("every optimiser brings a bowl to its bottom") {
    for (const Kind& kind : all_kinds()) {
      if (kind.name.find("decay") != std::string::npos || kind.name == "AdamW") continue;
      CAPTURE(kind.name);
      const Parameter p = named("w", {3, -2});
      const auto optimizer = kind.make({p});
      for (int k = 0; k < 2000; ++k) {
        zero_grad({p});
        backward(sum(square(p.var - Var(tensor(Shape{2}, {1, 0.5}, f64)))));
        optimizer->step();
      }
      CHECK(gap(p.var, Vec{1, 0.5}) < 1e-3);
    }
  }

  TEST_CASE("the rate may be changed between steps") {
    const Parameter p = named("w", {0});
    Sgd sgd({p}, {.rate = 1});
    set_gradient(p.var, {1});
    sgd.step();
    sgd.options.rate = 0.25;
    sgd.step();
    CHECK(p.var.item() == -1.25);
    const Parameter q = named("w", {0});
    Adam adam({q}, {.rate = 1});
    set_gradient(q.var, {1});
    adam.step();
    adam.options.rate = 0;
    const double before = q.var.item();
    adam.step();
    CHECK(q.var.item() == before);
  }

  TEST_CASE("a step between forward and backward is noticed: the saved value is gone") {
    const Parameter p = named("w", {1, 2});
    Sgd sgd({p}, {.rate = 1});
    set_gradient(p.var, {1, 1});
    const Var loss = sum(square(p.var));
    sgd.step();
    CHECK(contains(message_of<GraphError>([&] { backward(loss); }), "changed in place"));
  }

  TEST_CASE("a weight with one row or one column is updated, however its strides of length 1 are written") {
    for (auto [d_in, d_out] : {std::pair(8, 1), {1, 8}, {1, 1}}) {
      Generator generator(5);
      const Linear layer(d_in, d_out, generator);
      const std::vector<double> before = vec(layer.W);
      backward(sum(layer(tensor(Shape{1, d_in}, std::vector<double>(static_cast<std::size_t>(d_in), 0.5)))));
      Sgd(parameters(layer), {.rate = 0.5}).step();
      const std::vector<double> after = vec(layer.W);
      for (std::size_t i = 0; i < before.size(); ++i) {
        CAPTURE(i);
        CHECK(std::fabs(after[i] - (before[i] - 0.25)) < 1e-6);
      }
    }
  }
  TEST_CASE("a parameter with gaps in memory is refused by name") {
    const Tensor wide = zeros(Shape{3, 4}, f64);
    const Parameter p{"layer.W", parameter(narrow(wide, Axis{1}, 0, 2))};
    for (const Kind& kind : all_kinds()) {
      CAPTURE(kind.name);
      const auto optimizer = kind.make({p});
      CHECK(contains(message_of<ValueError>([&] { optimizer->step(); }), "layer.W"));
    }
  }

  // ---- state

  TEST_CASE("k steps, state and restore, k steps more are 2 k steps, bit for bit") {
    for (DType dtype : {f32, f64}) {
      for (const Kind& kind : all_kinds()) {
        CAPTURE(kind.name);
        const auto straight = two_parameters(dtype), before = two_parameters(dtype);
        const auto whole = kind.make(straight), first = kind.make(before);
        take_steps(*whole, 7, 13);
        take_steps(*whole, 7, 14);
        take_steps(*first, 7, 13);
        const auto after = two_parameters(dtype);
        for (std::size_t i = 0; i < after.size(); ++i) copy_(after[i].var.mutable_value(), before[i].var.value());
        const auto second = kind.make(after);
        second->restore(first->state());
        take_steps(*second, 7, 14);
        for (std::size_t i = 0; i < after.size(); ++i) CHECK(bitwise(after[i].var, straight[i].var));
      }
    }
  }

  TEST_CASE("a state that was taken does not change while training goes on") {
    for (const Kind& kind : all_kinds()) {
      CAPTURE(kind.name);
      const auto optimizer = kind.make(two_parameters());
      take_steps(*optimizer, 3, 15);
      const OptimizerState state = optimizer->state();
      std::vector<Vec> before;
      for (const auto& saved : state.tensors) before.push_back(saved.second.to_vector());
      take_steps(*optimizer, 3, 16);
      for (std::size_t i = 0; i < before.size(); ++i) {
        CAPTURE(state.tensors[i].first);
        CHECK(state.tensors[i].second.to_vector() == before[i]);
      }
    }
  }

  TEST_CASE("an optimiser that was restored shares nothing with the one the state came from") {
    for (const Kind& kind : all_kinds()) {
      CAPTURE(kind.name);
      const auto a = two_parameters(), b = two_parameters();
      const auto one = kind.make(a), two = kind.make(b);
      take_steps(*one, 3, 17);
      two->restore(one->state());
      std::vector<Vec> before;
      for (const auto& saved : one->state().tensors) before.push_back(saved.second.to_vector());
      take_steps(*two, 2, 18);
      const OptimizerState after = one->state();
      for (std::size_t i = 0; i < before.size(); ++i) CHECK(after.tensors[i].second.to_vector() == before[i]);
    }
  }

  TEST_CASE("the state lists every slot of every parameter by name, and counts the steps") {
    auto names = [](const OptimizerState& state) {
      std::string text;
      for (const auto& saved : state.tensors) text += (text.empty() ? "" : " ") + saved.first;
      return text;
    };
    Sgd sgd(two_parameters());
    Adam adam(two_parameters());
    take_steps(sgd, 2, 19);
    take_steps(adam, 3, 19);
    CHECK(names(sgd.state()) == "u.W u.b");
    CHECK(names(adam.state()) == "m.W m.b v.W v.b");
    CHECK(sgd.state().steps == 2);
    CHECK(adam.state().steps == 3);
    CHECK(adam.state().tensors[0].second.shape() == Shape{3, 2});
  }

  TEST_CASE("restore refuses a state without one of its tensors and names it") {
    Adam adam(two_parameters());
    OptimizerState state = adam.state();
    state.tensors.erase(state.tensors.begin() + 2);
    CHECK(contains(message_of<ValueError>([&] { adam.restore(state); }), "'v.W'"));
    CHECK(contains(message_of<ValueError>([&] { adam.restore(Sgd(two_parameters()).state()); }), "'m.W'"));
  }

  TEST_CASE("restore refuses a tensor of another shape and says both") {
    Adam adam(two_parameters());
    OptimizerState state = adam.state();
    state.tensors[1].second = zeros(Shape{5}, f64);
    const std::string text = message_of<ValueError>([&] { adam.restore(state); });
    CHECK(contains(text, "'m.b'"));
    CHECK(contains(text, "(5)"));
    CHECK(contains(text, "(4)"));
  }

  TEST_CASE("restore does not depend on the order of the tensors") {
    Adam one(two_parameters()), two(two_parameters());
    take_steps(one, 3, 20);
    OptimizerState state = one.state();
    std::swap(state.tensors[0], state.tensors[3]);
    two.restore(state);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(bitwise(two.state().tensors[i].second, one.state().tensors[i].second));
    }
  }

  // ---- clipping

  TEST_CASE("clipping leaves small gradients bit for bit, and zero gradients zero, as PyTorch does") {
    for (const std::string name : {"clip_below", "clip_zero"}) {
      CAPTURE(name);
      const Fixture& f = fixture(name);
      const Parameter W{"W", parameter(zeros(Shape{3, 2}, f64))}, b{"b", parameter(zeros(Shape{4}, f64))};
      set_gradient(W.var, f["grad_W"].data);
      set_gradient(b.var, f["grad_b"].data);
      CHECK(near(clip_gradients({W, b}, f["max_norm"].data[0]), f["norm"].data[0], exact));
      CHECK(bitwise(W.var.grad(), tensor_of(f["grad_W"])));
      CHECK(bitwise(b.var.grad(), tensor_of(f["grad_b"])));
      CHECK(gap(W.var.grad(), f["clipped_W"]) <= exact);
    }
  }

  TEST_CASE("clipping scales big gradients to the norm asked for, as Pascanu et al. write it") {
    const Fixture& f = fixture("clip_above");
    const Parameter W{"W", parameter(zeros(Shape{3, 2}, f64))}, b{"b", parameter(zeros(Shape{4}, f64))};
    set_gradient(W.var, f["grad_W"].data);
    set_gradient(b.var, f["grad_b"].data);
    std::vector<Vec> gradients{f["grad_W"].data, f["grad_b"].data};
    const double norm_before = paper::clip_pascanu2013(gradients, f["max_norm"].data[0]);
    CHECK(near(clip_gradients({W, b}, f["max_norm"].data[0]), norm_before, exact));
    CHECK(near(norm_before, f["norm"].data[0], exact));
    CHECK(gap(W.var.grad(), gradients[0]) <= exact);
    CHECK(gap(b.var.grad(), gradients[1]) <= exact);
    CHECK(near(paper::global_norm({vec(W.var.grad()), vec(b.var.grad())}), f["max_norm"].data[0], exact));
    CHECK(gap(W.var.grad(), f["clipped_W"]) < 1e-6);  // PyTorch adds 1e-6 to the norm
    CHECK(gap(b.var.grad(), f["clipped_b"]) < 1e-6);
  }

  TEST_CASE("clipping measures all parameters together, so that their directions stay") {
    const Parameter a = named("a", {0}), b = named("b", {0});
    set_gradient(a.var, {3});
    set_gradient(b.var, {4});
    CHECK(clip_gradients({a, b}, 1) == 5);
    CHECK(near(a.var.grad().item(), 0.6, exact));
    CHECK(near(b.var.grad().item(), 0.8, exact));
  }

  TEST_CASE("clipping exactly at the limit changes nothing") {
    const Parameter p = named("w", {0, 0});
    set_gradient(p.var, {3, 4});
    CHECK(clip_gradients({p}, 5) == 5);
    CHECK(vec(p.var.grad()) == Vec{3, 4});
  }

  TEST_CASE("clipping before the step bounds its length; after it, it would not") {
    const Parameter p = named("w", {0, 0});
    Sgd sgd({p}, {.rate = 0.1});
    set_gradient(p.var, {3, 4});
    clip_gradients({p}, 1);
    sgd.step();
    CHECK(gap(p.var, Vec{-0.06, -0.08}) <= exact);
  }

  TEST_CASE("clipping refuses gradients that are not finite, and leaves them as they are") {
    for (double bad : {not_a_number, infinity, -infinity}) {
      CAPTURE(bad);
      const Parameter a = named("a", {0, 0}), b = named("b", {0});
      set_gradient(a.var, {1, 2});
      set_gradient(b.var, {bad});
      const std::string text = message_of<ValueError>([&] { clip_gradients({a, b}, 1); });
      CHECK(opens_with(text, "clip_gradients: "));
      CHECK(contains(text, "DetectAnomaly"));
      CHECK(vec(a.var.grad()) == Vec{1, 2});
    }
  }

  TEST_CASE("clipping refuses a limit that is negative or NaN instead of turning the gradients round") {
    for (double limit : {-1.0, not_a_number}) {
      CAPTURE(limit);
      const Parameter p = named("w", {0, 0});
      set_gradient(p.var, {3, 4});
      CHECK(opens_with(message_of<ValueError>([&] { clip_gradients({p}, limit); }), "clip_gradients: "));
      CHECK(vec(p.var.grad()) == Vec{3, 4});
    }
  }

  TEST_CASE("clipping passes over parameters that received nothing, and an empty list has norm 0") {
    const Parameter a = named("a", {0}), b = named("b", {0, 0});
    set_gradient(a.var, {-8});
    CHECK(clip_gradients({b, a}, 2) == 8);
    CHECK(a.var.grad().item() == -2);
    CHECK(!b.var.has_grad());
    CHECK(clip_gradients({}, 1) == 0);
  }

  TEST_CASE("clipping reaches every element of a weight that lies as (in, out), in f32 and f64") {
    for (DType dtype : {f32, f64}) {
      Generator g(21);
      const Parameter p{"W", xavier(3, 2, g, dtype)};
      Numbers numbers(22);
      const Vec values = tensor(Shape{6}, numbers.many(6, -5, 5), dtype).to_vector();
      set_gradient(p.var, values);
      std::vector<Vec> want{values};
      CHECK(near(clip_gradients({p}, 0.5), paper::clip_pascanu2013(want, 0.5), 1e-6));
      CHECK(gap(p.var.grad(), want[0]) < 1e-6);
    }
  }

  // ---- schedules

  TEST_CASE("cosine decay starts at 1, is half way in the middle and ends at the floor, and stays there") {
    for (double floor : {0.0, 0.01, 0.5}) {
      CAPTURE(floor);
      CHECK(cosine_decay(0, 100, floor) == 1);
      CHECK(near(cosine_decay(50, 100, floor), (1 + floor) / 2, exact));
      CHECK(near(cosine_decay(100, 100, floor), floor, exact, 1e-16));
      CHECK(cosine_decay(170, 100, floor) == cosine_decay(100, 100, floor));
      for (std::int64_t step = 0; step < 100; ++step)
        CHECK(cosine_decay(step + 1, 100, floor) < cosine_decay(step, 100, floor));
    }
    CHECK(near(cosine_decay(25, 100), 0.5 * (1 + std::sqrt(0.5)), exact));
  }

  TEST_CASE("warm-up rises in equal steps from 1/steps to 1 and stays there") {
    CHECK(linear_warmup(0, 4) == 0.25);
    CHECK(linear_warmup(1, 4) == 0.5);
    CHECK(linear_warmup(3, 4) == 1);
    CHECK(linear_warmup(1000, 4) == 1);
    CHECK(linear_warmup(0, 1) == 1);
    CHECK(linear_warmup(0, 0) == 1);
  }

  TEST_CASE("step decay multiplies after every `every` steps, not before") {
    CHECK(step_decay(0, 10, 0.5) == 1);
    CHECK(step_decay(9, 10, 0.5) == 1);
    CHECK(step_decay(10, 10, 0.5) == 0.5);
    CHECK(step_decay(29, 10, 0.5) == 0.25);
    CHECK(step_decay(30, 10, 0.5) == 0.125);
  }

  TEST_CASE("schedules without any steps give a number, not NaN") {
    CHECK(std::isfinite(cosine_decay(0, 0)));
    CHECK(std::isfinite(step_decay(3, 0, 0.5)));
  }
}
