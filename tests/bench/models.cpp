// Forward passes of the benchmark's models.
#include "tests/bench/models.h"

#include <cmath>

#include "autograd/kernels/dot_attention.h"
#include "autograd/kernels/layer_norm.h"
#include "autograd/ops.h"

namespace gradus::bench {
namespace {

constexpr std::int64_t lm_vocab = 64, copy_vocab = 16;

Generator& any_numbers() {  // overwritten by fill_parameters
  static Generator generator(1, "bench");
  return generator;
}

// (B, T + 1) ids as inputs (all but the last) and targets (all but the first).
Ids window(const Ids& ids, std::int64_t start) {
  const std::int64_t batch = ids.shape()[0], length = ids.shape()[1] - 1;
  Ids part(Shape{batch, length});
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < length; ++t) part.at(b, t) = ids.at(b, t + start);
  }
  return part;
}

// What one step of training costs: forward, and twice as much backward.
double trained(double forward) { return 3 * forward; }

double sequence_flops(std::int64_t batch, std::int64_t length, std::int64_t per_token) {
  return trained(2.0 * static_cast<double>(batch * length * per_token));
}

}  // namespace

void fill_parameters(const std::vector<Parameter>& parameters) {
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    Tensor& value = parameters[k].var.mutable_value();
    std::vector<double> numbers;
    const double scale = 1 / std::sqrt(static_cast<double>(value.shape()[value.rank() - 1]));
    for (std::int64_t i = 0; i < value.size(); ++i)
      numbers.push_back(scale * std::sin(0.37 * static_cast<double>(i) + static_cast<double>(k)));
    copy_(value, tensor(value.shape(), numbers));
  }
}

Ids some_ids(const Shape& shape, std::int64_t vocab) {
  Ids ids(shape);
  for (std::int64_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((i * 7919 + 13) % 104729 % vocab);
  return ids;
}

// ---- multilayer perceptron

Mlp::Mlp(std::int64_t batch)
    : first(784, 256, any_numbers()), second(256, 256, any_numbers()), third(256, 10, any_numbers()) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < batch * 784; ++i) numbers.push_back(std::sin(0.37 * static_cast<double>(i)));
  x = tensor(Shape{batch, 784}, numbers);
  y = some_ids(Shape{batch}, 10);
}

Var Mlp::loss() const { return cross_entropy(third(relu(second(relu(first(x))))), y); }

double Mlp::flops() const {  // the input takes no gradient, so its product has one backward instead of two
  return 2.0 * static_cast<double>(x.shape()[0]) * (2 * 784 * 256 + 3 * (256 * 256 + 256 * 10));
}

void Mlp::visit(Visitor& v) {
  v("first", first);
  v("second", second);
  v("third", third);
}

// ---- GRU language model

GruLanguageModel::GruLanguageModel(std::int64_t width, std::int64_t batch, std::int64_t length)
    : d(width),
      embedding(lm_vocab, 64, any_numbers()),
      gru(CellKind::gru, 64, d, 1, pytorch(), any_numbers()),
      readout(d, lm_vocab, any_numbers()) {
  const Ids all = some_ids(Shape{batch, length + 1}, lm_vocab);
  x = window(all, 0);
  y = window(all, 1);
}

Var GruLanguageModel::loss() const {
  return cross_entropy(readout(run(gru, embedding(x), gru.initial(x.shape()[0], f32)).states), y);
}

double GruLanguageModel::flops() const {
  return sequence_flops(x.shape()[0], x.shape()[1], 3 * d * 64 + 3 * d * d + lm_vocab * d);
}

void GruLanguageModel::visit(Visitor& v) {
  v("embedding", embedding);
  v("gru", gru);
  v("readout", readout);
}

// ---- encoder and decoder

Translator::Translator(std::int64_t width, std::int64_t batch, std::int64_t length)
    : d(width),
      source(copy_vocab, d, any_numbers()),
      target(copy_vocab + 1, d, any_numbers()),
      encoder(CellKind::gru, d, d, 1, pytorch(), any_numbers()),
      x(some_ids(Shape{batch, length}, copy_vocab)),
      previous(Shape{batch, length}, static_cast<std::int32_t>(copy_vocab)) {
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 1; t < length; ++t) previous.at(b, t) = x.at(b, t - 1);
  }
}

Bahdanau::Bahdanau(std::int64_t width, std::int64_t batch, std::int64_t length)
    : Translator(width, batch, length),
      score(ScoreKind::additive, d, d, d, any_numbers()),
      cell(CellKind::gru, 2 * d, d, 1, pytorch(), any_numbers()),
      readout(2 * d, copy_vocab, any_numbers()) {}

Var Bahdanau::loss() const {
  const auto [H, last] = run(encoder, source(x), encoder.initial(x.shape()[0], f32));  // (B, T, d)
  const Var keys = score.keys(H), y_emb = target(previous);
  State s = last;
  std::vector<Var> states, contexts;
  for (std::int64_t t = 0; t < x.shape()[1]; ++t) {
    const Attended look = gradus::attend(score(s, keys), H);
    s = cell.step({select(y_emb, Axis{1}, t), look.context}, s);
    states.push_back(s);
    contexts.push_back(look.context);
  }
  return cross_entropy(linear({stack_along(states, Axis{1}), stack_along(contexts, Axis{1})}, readout.W, readout.b), x);
}

double Bahdanau::flops() const {
  const std::int64_t encode = 6 * d * d + d * d, decode = d * d + 9 * d * d, attend = 2 * x.shape()[1] * d;
  return sequence_flops(x.shape()[0], x.shape()[1], encode + decode + attend + 2 * d * copy_vocab);
}

void Bahdanau::visit(Visitor& v) {
  v("source", source);
  v("target", target);
  v("encoder", encoder);
  v("score", score);
  v("cell", cell);
  v("readout", readout);
}

LuongFeeding::LuongFeeding(std::int64_t width, std::int64_t batch, std::int64_t length)
    : Translator(width, batch, length),
      W_a(xavier(d, d, any_numbers())),
      W_c(xavier(d, 2 * d, any_numbers())),
      cell(CellKind::gru, 2 * d, d, 1, pytorch(), any_numbers()),
      readout(d, copy_vocab, any_numbers()) {}

Var LuongFeeding::loss() const {
  const auto [H, last] = run(encoder, source(x), encoder.initial(x.shape()[0], f32));
  const Score dot(ScoreKind::dot, d, d, d, any_numbers());
  const Var keys = affine("W_a h", H, W_a, Var()), y_emb = target(previous);  // s . (W_a h_i)
  State s = last;
  Var attentional = zeros(last.shape());
  std::vector<Var> features;
  for (std::int64_t t = 0; t < x.shape()[1]; ++t) {
    s = cell.step({select(y_emb, Axis{1}, t), attentional}, s);
    const Attended look = gradus::attend(dot(s, keys), H);
    attentional = tanh(linear({look.context, s}, W_c, Var()));
    features.push_back(attentional);
  }
  return cross_entropy(readout(stack_along(features, Axis{1})), x);
}

double LuongFeeding::flops() const {
  const std::int64_t encode = 6 * d * d + d * d, decode = 9 * d * d + 2 * d * d, attend = 2 * x.shape()[1] * d;
  return sequence_flops(x.shape()[0], x.shape()[1], encode + decode + attend + d * copy_vocab);
}

void LuongFeeding::visit(Visitor& v) {
  v("source", source);
  v("target", target);
  v("encoder", encoder);
  v("W_a", W_a);
  v("W_c", W_c);
  v("cell", cell);
  v("readout", readout);
}

LuongBatched::LuongBatched(std::int64_t width, std::int64_t batch, std::int64_t length)
    : Translator(width, batch, length),
      W_a(xavier(d, d, any_numbers())),
      W_c(xavier(d, 2 * d, any_numbers())),
      decoder(CellKind::gru, d, d, 1, pytorch(), any_numbers()),
      readout(d, copy_vocab, any_numbers()) {}

Var LuongBatched::loss() const {
  const auto [H, last] = run(encoder, source(x), encoder.initial(x.shape()[0], f32));
  const Var S = run(decoder, target(previous), last).states;        // (B, T_dec, d)
  const Var keys = affine("W_a h", H, W_a, Var());                  // (B, T_enc, d)
  const Var scores = matmul(S, transpose(keys, Axis{1}, Axis{2}));  // (B, T_dec, T_enc)
  const Var context = matmul(softmax(scores, Axis{2}), H);          // (B, T_dec, d)
  return cross_entropy(readout(tanh(linear({context, S}, W_c, Var()))), x);
}

double LuongBatched::flops() const {
  const std::int64_t encode = 6 * d * d + d * d, decode = 6 * d * d + 2 * d * d, attend = 2 * x.shape()[1] * d;
  return sequence_flops(x.shape()[0], x.shape()[1], encode + decode + attend + d * copy_vocab);
}

void LuongBatched::visit(Visitor& v) {
  v("source", source);
  v("target", target);
  v("encoder", encoder);
  v("W_a", W_a);
  v("W_c", W_c);
  v("decoder", decoder);
  v("readout", readout);
}

// ---- transformer

Var Transformer::Norm::operator()(const Var& h) const { return layer_norm(h, gain, shift); }

void Transformer::Norm::visit(Visitor& v) {
  v("gain", gain);
  v("shift", shift);
}

void Transformer::Layer::visit(Visitor& v) {
  v("before_attention", before_attention);
  v("before_inner", before_inner);
  v("qkv", qkv);
  v("out", out);
  v("up", up);
  v("down", down);
}

Transformer::Transformer(std::int64_t batch, std::int64_t length)
    : embedding(vocab, width, any_numbers()),
      position(zero_parameter(Shape{length, width})),
      last{zero_parameter(Shape{width}), zero_parameter(Shape{width})},
      readout(width, vocab, any_numbers()),
      causal(Shape{batch, heads, length, length}) {
  for (int k = 0; k < 2; ++k) {
    layers.push_back({{zero_parameter(Shape{width}), zero_parameter(Shape{width})},
                      {zero_parameter(Shape{width}), zero_parameter(Shape{width})},
                      Linear(width, 3 * width, any_numbers()),
                      Linear(width, width, any_numbers()),
                      Linear(width, inner, any_numbers()),
                      Linear(inner, width, any_numbers())});
  }
  const Ids all = some_ids(Shape{batch, length + 1}, vocab);
  x = window(all, 0);
  y = window(all, 1);
  for (std::int64_t i = 0; i < causal.size(); ++i) causal[i] = i % length <= i / length % length;
}

// x (B * T, width) -> (B * T, width).
Var Transformer::attend(const Layer& layer, const Var& normed) const {
  const std::int64_t batch = x.shape()[0], length = x.shape()[1], d = width / heads;
  const Var all = reshape(layer.qkv(normed), Shape{batch, length, 3, heads, d});
  auto part = [&](std::int64_t k) {  // (B, heads, T, d)
    return transpose(select(all, Axis{2}, k), Axis{1}, Axis{2});
  };
  const Var mixed = transpose(dot_attention(part(0), part(1), part(2), causal), Axis{1}, Axis{2});  // (B, T, heads, d)
  return layer.out(reshape(mixed, Shape{batch * length, width}));
}

Var Transformer::loss() const {
  const std::int64_t batch = x.shape()[0], length = x.shape()[1];
  Var h = reshape(embedding(x) + expand_new(position, Axis{0}, batch), Shape{batch * length, width});
  for (const Layer& layer : layers) {
    h = h + attend(layer, layer.before_attention(h));
    h = h + layer.down(relu(layer.up(layer.before_inner(h))));
  }
  return cross_entropy(reshape(readout(last(h)), Shape{batch, length, vocab}), y);
}

double Transformer::flops() const {
  const std::int64_t length = x.shape()[1];
  const std::int64_t layer = 4 * width * width + 2 * width * inner + 2 * length * width;
  return sequence_flops(x.shape()[0], length, 2 * layer + width * vocab);
}

void Transformer::visit(Visitor& v) {
  v("embedding", embedding);
  v("position", position);
  v("layers", layers);
  v("last", last);
  v("readout", readout);
}

}  // namespace gradus::bench
