// The table of cases.
#include "tests/bench/workloads.h"

#include <algorithm>
#include <memory>

#include "autograd/check_gradient.h"
#include "nn/optimizer.h"
#include "tensor/matmul.h"
#include "tests/bench/models.h"

namespace gradus::bench {
namespace {

// A whole training step: zero the gradients, forward, loss, backward, clip to a norm of 1, Adam.
template <class Model> Workload training(Model fresh) {
  auto model = std::make_shared<Model>(std::move(fresh));
  const auto all = parameters(*model);
  fill_parameters(all);
  auto adam = std::make_shared<Adam>(all, AdamOptions{.rate = 1e-3});
  Workload workload;
  workload.run = [=] {
    zero_grad(all);
    backward(model->loss());
    clip_gradients(all, 1.0);
    adam->step();
  };
  workload.loss = [=] { return model->loss().item(); };
  workload.nodes = [=] {
    const std::int64_t before = live_nodes();
    const Var loss = model->loss();
    return live_nodes() - before;
  };
  workload.flops = model->flops();
  return workload;
}

constexpr double milliseconds = 1e3, nanoseconds = 1e9;

std::string text(std::int64_t n) { return std::to_string(n); }

Case gru_case(std::int64_t d, std::int64_t batch = 32) {
  return {"gru_d" + text(d) + (batch == 32 ? "" : "_B" + text(batch)),
          "ms",
          milliseconds,
          [=] { return gru_training(d, batch, 32); },
          {"gru", text(d), "32", text(batch)}};
}

template <class Model> Case copy_case(const char* name, std::int64_t d, std::int64_t length, std::int64_t batch = 32) {
  std::string full = std::string(name) + "_d" + text(d) + "_T" + text(length);
  if (batch != 32) full += "_B" + text(batch);
  return {full,
          "ms",
          milliseconds,
          [=] { return training(Model(d, batch, length)); },
          {name, text(d), text(length), text(batch)}};
}

constexpr int chain_length = 1000;

// A chain of ops on n elements, forward and backward: what an op costs beyond its arithmetic.
Case chain_case(const char* name, std::int64_t n) {
  const bool squash = std::string_view(name) == "chain_tanh";
  return {std::string(name) + "_" + text(n),
          "ns",
          nanoseconds,
          [=] {
            const Var x = parameter(full(Shape{n}, 0.5)), a = parameter(full(Shape{n}, 0.999)),
                      b = parameter(full(Shape{n}, 1e-3));
            Workload workload;
            workload.per_run = chain_length;
            workload.run = [=] {
              for (const Var& leaf : {x, a, b}) leaf.zero_grad();
              Var y = x;
              for (int i = 0; squash && i < chain_length; ++i) y = tanh(y);
              for (int i = 0; !squash && i < chain_length / 2; ++i) y = y * a + b;
              backward(sum(y));
            };
            return workload;
          },
          {name, text(n)}};
}

Case matmul_case(std::int64_t m, std::int64_t k, std::int64_t n) {
  return {"matmul_" + text(m) + "x" + text(k) + "x" + text(n),
          "us",
          1e6,
          [=] {
            Generator generator(1, "bench");
            const Tensor a = random_normal(Shape{m, k}, 0, 1, generator);
            const Tensor b = random_normal(Shape{k, n}, 0, 1, generator);
            auto c = std::make_shared<Tensor>(zeros(Shape{m, n}));
            const double once = 2.0 * static_cast<double>(m * n * k);
            const int times = std::max(1, static_cast<int>(1e8 / once));  // reading the clock takes half a microsecond
            Workload workload;
            workload.run = [=] {
              for (int i = 0; i < times; ++i) matmul_into(*c, a, b, false);
            };
            workload.flops = once * times;
            workload.per_run = times;
            return workload;
          },
          {"matmul", text(m), text(k), text(n)}};
}

// The self check of an additive attention layer, as torch.autograd.gradcheck does it.
Case check_case() {
  return {"gradcheck_attention",
          "ms",
          milliseconds,
          [] {
            Generator generator(1, "bench");
            auto parameter_of = [&](const Shape& shape) {
              return parameter(random_normal(shape, 0, 1, generator, f64));
            };
            const Var s = parameter_of(Shape{2, 5}), H = parameter_of(Shape{2, 7, 5});
            Score score = clone(Score(ScoreKind::additive, 5, 5, 4, generator), f64);
            Workload workload;
            workload.run = [=] {
              auto both = [&] {
                const Attended look = attend(score(s, score.keys(H)), H);
                return concat({look.context, look.weights}, Axis{1});
              };
              const std::vector<CheckedInput> inputs{
                  {"s", s}, {"H", H}, {"W_a", score.W_a}, {"U_a", score.U_a}, {"v_a", score.v_a}};
              if (!check_gradient(both, inputs).passed) throw ValueError("gradcheck_attention: the check fails");
            };
            return workload;
          },
          {"gradcheck"}};
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  all.push_back({"mlp", "ms", milliseconds, [] { return training(Mlp(64)); }, {"mlp"}});
  for (std::int64_t d : {16, 64, 128, 256, 512}) all.push_back(gru_case(d));
  for (std::int64_t d : {16, 32, 64, 128, 256}) all.push_back(copy_case<Bahdanau>("bahdanau", d, 20));
  all.push_back(copy_case<Bahdanau>("bahdanau", 64, 80));
  all.push_back(copy_case<Bahdanau>("bahdanau", 16, 20, 1));
  all.push_back(gru_case(256, 64));
  all.push_back(copy_case<Bahdanau>("bahdanau", 256, 20, 64));
  all.push_back(copy_case<LuongFeeding>("luong_feed", 64, 20));
  all.push_back(copy_case<LuongBatched>("luong_batch", 64, 20));
  all.push_back({"transformer", "ms", milliseconds, [] { return training(Transformer(16, 64)); }, {"transformer"}});
  for (std::int64_t n : {1, 64, 4096}) all.push_back(chain_case("chain_tanh", n));
  for (std::int64_t n : {1, 64, 4096}) all.push_back(chain_case("chain_muladd", n));
  all.push_back(check_case());
  for (std::int64_t d : {64, 128, 256, 512, 1024}) all.push_back(matmul_case(d, d, d));
  for (std::int64_t m : {16, 32, 64}) {
    for (std::int64_t d : {64, 128, 256, 512}) all.push_back(matmul_case(m, d, 3 * d));
  }
  return all;
}

}  // namespace

Workload gru_training(std::int64_t d, std::int64_t batch, std::int64_t length) {
  return training(GruLanguageModel(d, batch, length));
}
Workload bahdanau_training(std::int64_t d, std::int64_t batch, std::int64_t length) {
  return training(Bahdanau(d, batch, length));
}

const std::vector<Case>& cases() {
  static const std::vector<Case> table = all_cases();
  return table;
}

}  // namespace gradus::bench
