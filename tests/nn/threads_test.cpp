// Training with several threads ends in the weights of one, bit for bit.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "autograd/ops.h"
#include "autograd/pointwise.h"
#include "nn/attention.h"
#include "nn/layers.h"
#include "nn/optimizer.h"
#include "nn/recurrent.h"
#include "tensor/kernels/threads.h"

using namespace gradus;

namespace gradus::detail {
extern thread_local bool parts_backwards;  // threads.cpp
}

namespace {

struct Threads {
  explicit Threads(int count) { use_threads(count); }
  ~Threads() { use_threads(1); }
};

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) {
    const Tensor x = contiguous(a[i]), y = contiguous(b[i]);
    same = std::memcmp(x.data<float>(), y.data<float>(), static_cast<std::size_t>(x.size()) * sizeof(float)) == 0;
  }
  return same;
}

// Encoder, additive attention, decoder: three steps of Adam at sizes where threads are used.
std::vector<Tensor> trained() {
  constexpr std::int64_t d = 96, batch = 40, length = 6, vocab = 30;
  Generator init(5, "init");
  Embedding embedding(vocab, d, init);
  Recurrent encoder(CellKind::gru, d, d, 1, pytorch(), init), cell(CellKind::gru, 2 * d, d, 1, pytorch(), init);
  Score score(ScoreKind::additive, d, d, d, init);
  Linear readout(2 * d, vocab, init);
  std::vector<Parameter> all = parameters(embedding);
  for (const auto& more : {parameters(encoder), parameters(cell), parameters(score), parameters(readout)})
    all.insert(all.end(), more.begin(), more.end());
  Ids x(Shape{batch, length});
  for (std::int64_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * 7919 % vocab);
  Adam adam(all, {.rate = 1e-2});
  for (int step = 0; step < 3; ++step) {
    const Var words = embedding(x);
    const auto [H, last] = run(encoder, words, encoder.initial(batch, f32));
    const Var keys = score.keys(H);
    State s = last;
    std::vector<Var> features;
    for (std::int64_t t = 0; t < length; ++t) {
      const Attended look = attend(score(s, keys), H);
      s = cell.step(concat({select(words, Axis{1}, t), look.context}, Axis{1}), s);
      features.push_back(concat({s, look.context}, Axis{1}));
    }
    zero_grad(all);
    backward(cross_entropy(readout(stack_along(features, Axis{1})), x));
    clip_gradients(all, 1.0);
    adam.step();
  }
  std::vector<Tensor> weights;
  for (const Parameter& p : all) weights.push_back(copy(p.var.value()));
  return weights;
}

// The gradients of operands that share memory: x and a view of x, gates side by side, a stretched row.
std::vector<Tensor> gradients() {
  Generator init(6, "init");
  const Var x = parameter(random_normal(Shape{300, 300}, 0, 1, init));
  const Var gates = parameter(random_normal(Shape{300, 900}, 0, 1, init));
  const Var row = parameter(random_normal(Shape{300}, 0, 1, init));
  auto f = [](auto a, auto b, auto c, auto d, auto e) { return tanh(a) * b + sigmoid(c) * d * e; };
  auto gate = [&](std::int64_t k) { return seen(gates, [=](const Tensor& t) { return Block(t, 300 * k, 300); }); };
  const Var loss = sum(pointwise("f", f, x, transpose(x), gate(0), gate(2), spread(row, Axis{0}, 300)));
  backward(loss + sum(exp(x)) + sum(exp(gates)));  // three terms: the order in which they are added shows
  return {copy(x.grad()), copy(gates.grad()), copy(row.grad())};
}

template <class F> void check_same(F compute) {
  const std::vector<Tensor> alone = compute();
  for (int threads : {2, 4, 8}) {
    const Threads several(threads);
    for (int time = 0; time < 3; ++time) CHECK(same_bits(alone, compute()));
  }
  const Threads several(8);
  detail::parts_backwards = true;
  CHECK(same_bits(alone, compute()));
  detail::parts_backwards = false;
}

}  // namespace

TEST_CASE("threads: three steps of training with attention") { check_same(trained); }
TEST_CASE("threads: gradients of operands that share memory") { check_same(gradients); }
