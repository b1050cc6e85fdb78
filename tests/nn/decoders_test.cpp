// The decoders: values and gradients against the papers and PyTorch, the time of the query, and what is refused.
#include "nn/decoders.h"

#include <memory>

#include "nn/decode.h"
#include "tests/nn/check.h"
#include "tests/reference/bahdanau2014.h"
#include "tests/reference/lstm1997.h"
#include "tests/reference/luong2015.h"
#include "tests/reference/pytorch_gru.h"

using namespace gradus;
using namespace gradus::testing;
using fixtures::Fixture;
using fixtures::fixture;
using paper::Mat;
using paper::Vec;

namespace {

const DecoderSizes different{9, 3, 4, 6, 5};  // vocab, d_emb, d_s, d_h, d_attn
const DecoderSizes equal_sizes{4, 4, 4, 4, 4};
DecoderSizes fitted(DecoderSizes n, ScoreKind kind) {
  if (kind == ScoreKind::dot || kind == ScoreKind::cosine || kind == ScoreKind::scaled_dot) n.d_s = n.d_h;
  return n;
}

template <class Model> Model model_of(const DecoderSizes& n, const DecoderOptions& options, std::uint64_t seed = 1) {
  Generator g(seed);
  return drawn(Model(n, options, g), seed, 0.6);
}

// One batch of a source and a target: H (B, T_enc, d_h), y_emb (B, T_dec, d_emb), and the first state.
struct Batch {
  Var H, y_emb;
  State s_0;
  std::vector<CheckedInput> inputs;
};
template <class Model>
Batch batch_for(const Model& model, const DecoderSizes& n, std::uint64_t seed, std::int64_t rows = 2,
                std::int64_t T_enc = 5, std::int64_t T_dec = 3) {
  Numbers numbers(seed);
  Batch b;
  b.H = leaf(Shape{rows, T_enc, n.d_h}, numbers);
  b.y_emb = leaf(Shape{rows, T_dec, n.d_emb}, numbers);
  b.s_0 = model.start(zeros(Shape{rows, model.bridge.W.shape()[1]}, f64));
  static_cast<Var&>(b.s_0) = leaf(Shape{rows, n.d_s}, numbers);
  b.inputs = {{"H", b.H}, {"y_emb", b.y_emb}, {"s_0", b.s_0}};
  for (Var& h : b.s_0.below) {
    h = leaf(h.shape(), numbers);
    b.inputs.push_back({"below", h});
  }
  for (Var& c : b.s_0.memory) {
    c = leaf(c.shape(), numbers);
    b.inputs.push_back({"memory", c});
  }
  return b;
}
Decoded decode(const Decoder& model, const Batch& b, const std::optional<Mask>& mask = std::nullopt) {
  return decode_teacher(model, b.y_emb, b.s_0, model.remember(b.H, mask));
}

// All results of a decoding as one vector.
Var everything(const Decoded& d) {
  std::vector<Var> parts;
  for (const Var& x : {d.logits, d.states, d.weights, d.contexts}) {
    if (x.defined()) parts.push_back(reshape(x, Shape{x.value().size()}));
  }
  return concat(parts, Axis{0});
}

// ---- Bahdanau as the transcription takes it

paper::bahdanau2014::Decoder transcribed(const BahdanauDecoder& m) {
  const std::size_t d_s = static_cast<std::size_t>(m.cell.d_s());
  const std::size_t d_h = static_cast<std::size_t>(m.score.U_a.shape()[1]);
  const Mat W = mat(m.cell.gru[0].W), U = mat(m.cell.gru[0].U), all_o = mat(m.maxout.W);
  const std::size_t d_emb = W[0].size() - d_h;
  const Vec b = m.cell.gru[0].b.defined() ? vec(m.cell.gru[0].b) : Vec(3 * d_s, 0.0);
  auto W_of = [&](std::size_t gate) { return columns(rows(W, gate * d_s, d_s), 0, d_emb); };
  auto C_of = [&](std::size_t gate) { return columns(rows(W, gate * d_s, d_s), d_emb, d_h); };
  auto U_of = [&](std::size_t gate) { return rows(U, gate * d_s, d_s); };
  auto b_of = [&](std::size_t gate) { return paper::part(b, gate * d_s, d_s); };
  paper::bahdanau2014::Decoder p;
  p.cell = {W_of(2), W_of(1), W_of(0), U_of(2), U_of(1), U_of(0), C_of(2), C_of(1), C_of(0), b_of(2), b_of(1), b_of(0)};
  p.align = {mat(m.score.W_a), mat(m.score.U_a), vec(m.score.v_a)};
  p.out = {columns(all_o, 0, d_s), columns(all_o, d_s, d_emb), columns(all_o, d_s + d_emb, d_h), mat(m.readout.W),
           vec(m.readout.b)};
  p.readout_time = m.options.readout_time == ReadoutTime::s_t ? paper::bahdanau2014::ReadoutTime::s_t
                                                              : paper::bahdanau2014::ReadoutTime::s_prev;
  return p;
}
BahdanauDecoder paper_model(ReadoutTime time, const DecoderSizes& n = different) {
  return model_of<BahdanauDecoder>(n, {.readout_time = time, .maxout = true});
}

// ---- Luong as the transcription takes it

paper::luong2015::Decoder transcribed(const LuongDecoder& m) {
  paper::luong2015::Decoder p;
  p.score = m.score.kind == ScoreKind::dot       ? paper::luong2015::Score::dot
            : m.score.kind == ScoreKind::general ? paper::luong2015::Score::general
                                                 : paper::luong2015::Score::concat;
  if (m.score.W_a.defined()) p.W_a = mat(m.score.W_a);
  if (m.score.v_a.defined()) p.v_a = vec(m.score.v_a);
  p.W_c = mat(m.W_c);
  p.W_s = mat(m.readout.W);
  p.b_s = vec(m.readout.b);
  p.input_feeding = m.options.input_feeding;
  return p;
}

// The cell of a model as a function; the lower layers start from row b of s_0 and are kept inside.
paper::luong2015::Cell transcribed_cell(const Recurrent& cell, const State& s_0, std::int64_t b) {
  using State2015 = paper::luong2015::State;
  if (cell.kind == CellKind::gru) {
    std::vector<paper::pytorch_gru::Gru> layers;
    for (const Gru& g : cell.gru) layers.push_back({mat(g.W), mat(g.U), vec(g.b), vec(g.b_u)});
    std::vector<Vec> below;
    for (const Var& h : s_0.below) below.push_back(vec(at(h, b)));
    return [layers, below](const Vec& x, const State2015& s) mutable {
      Vec input = x;
      for (std::size_t k = 0; k + 1 < layers.size(); ++k) {
        input = below[k] = paper::pytorch_gru::step(layers[k], input, below[k]);
      }
      return State2015{paper::pytorch_gru::step(layers.back(), input, s.h), {}};
    };
  }
  std::vector<paper::lstm1997::Lstm> layers;
  for (const Lstm& l : cell.lstm) layers.push_back({mat(l.W), mat(l.U), vec(l.b), {}});
  std::vector<paper::lstm1997::State> below;
  for (std::size_t k = 0; k < s_0.below.size(); ++k) {
    below.push_back({vec(at(s_0.below[k], b)), vec(at(s_0.memory[k], b))});
  }
  return [layers, below](const Vec& x, const State2015& s) mutable {
    Vec input = x;
    for (std::size_t k = 0; k + 1 < layers.size(); ++k) {
      below[k] = paper::lstm1997::step(layers[k], input, below[k]);
      input = below[k].h;
    }
    const auto top = paper::lstm1997::step(layers.back(), input, {s.h, s.c});
    return State2015{top.h, top.c};
  };
}
paper::luong2015::Run transcribed_run(const LuongDecoder& m, const Batch& batch, std::int64_t b) {
  const paper::luong2015::State s_0{vec(at(batch.s_0, b)),
                                    batch.s_0.memory.empty() ? Vec{} : vec(at(batch.s_0.memory.back(), b))};
  return paper::luong2015::decode(transcribed(m), transcribed_cell(m.cell, batch.s_0, b), mat(at(batch.H, b)), s_0,
                                  mat(at(batch.y_emb, b)));
}

struct LuongCase {
  ScoreKind score;
  CellKind cell;
  std::int64_t layers;
  bool feeding;
};
std::vector<LuongCase> luong_cases() {
  std::vector<LuongCase> all;
  for (ScoreKind score : {ScoreKind::dot, ScoreKind::general, ScoreKind::concat}) {
    for (CellKind cell : {CellKind::gru, CellKind::lstm}) {
      for (std::int64_t layers : {1, 2}) {
        for (bool feeding : {false, true}) all.push_back({score, cell, layers, feeding});
      }
    }
  }
  return all;
}
std::string name_of(const LuongCase& c) {
  return std::string(to_string(c.score)) + (c.cell == CellKind::gru ? ", GRU, " : ", LSTM, ") +
         std::to_string(c.layers) + " layers" + (c.feeding ? ", feeding" : "");
}
LuongDecoder luong_model(const LuongCase& c, const DecoderSizes& n) {
  return model_of<LuongDecoder>(
      fitted(n, c.score),
      {.score = c.score, .cell = c.cell, .gru = pytorch(), .layers = c.layers, .input_feeding = c.feeding});
}

// ---- PyTorch's numbers

std::vector<Parameter> named_leaves(const Fixture& f, const std::vector<std::string>& names) {
  std::vector<Parameter> leaves;
  for (const std::string& name : names) leaves.push_back({name, leaf(f[name])});
  return leaves;
}
Var take(const std::vector<Parameter>& leaves, const std::string& name) {
  for (const Parameter& p : leaves) {
    if (p.name == name) return p.var;
  }
  throw std::invalid_argument("no leaf " + name);
}

void check_bahdanau_fixture(const std::string& name, ReadoutTime time) {
  CAPTURE(name);
  const Fixture& f = fixture(name);
  const auto leaves = named_leaves(f, {"H",   "y_emb", "s_0", "W_a", "U_a", "v_a", "W_r", "W_z", "W_n", "U_r",
                                       "U_z", "U_n",   "b_r", "b_z", "b_n", "U_o", "V_o", "C_o", "W_o", "b_o"});
  auto stacked = [&](const std::string& letter) {
    return concat({take(leaves, letter + "_r"), take(leaves, letter + "_z"), take(leaves, letter + "_n")}, Axis{0});
  };
  BahdanauDecoder model;
  model.options = {.readout_time = time, .maxout = true};
  model.score.W_a = take(leaves, "W_a");
  model.score.U_a = take(leaves, "U_a");
  model.score.v_a = take(leaves, "v_a");
  Gru cell;
  cell.options = bahdanau2014();
  cell.W = stacked("W");
  cell.U = stacked("U");
  cell.b = stacked("b");
  model.cell.gru.push_back(cell);
  model.maxout.W = concat({take(leaves, "U_o"), take(leaves, "V_o"), take(leaves, "C_o")}, Axis{1});
  model.readout.W = take(leaves, "W_o");
  model.readout.b = take(leaves, "b_o");
  const Mask mask = mask_from_lengths(lengths_of(f["lengths"]), f["H"].shape[1]);
  const Decoded d =
      decode_teacher(model, take(leaves, "y_emb"), take(leaves, "s_0"), model.remember(take(leaves, "H"), mask));
  const std::vector<Parameter> outputs{{"s", d.states}, {"alpha", d.weights}, {"c", d.contexts}, {"logits", d.logits}};
  for (const Parameter& y : outputs) CHECK(gap(y.var, f[y.name]) <= exact);
  flow_back(f, outputs);
  check_gradients(f, leaves);
}

// PyTorch's cases have a bias b_c beside W_c, which the paper has not. A last component of every h_i that is always 1
// stands in for it: its context is 1, so its column of W_c is b_c; the score gives it no weight.
void check_luong_fixture(const std::string& name, ScoreKind kind, CellKind cell_kind, std::int64_t layers) {
  CAPTURE(name);
  const Fixture& f = fixture(name);
  std::vector<std::string> names{"H", "y_emb", "s_0", "W_a", "W_c", "b_c", "W_o", "b_o"};
  if (kind == ScoreKind::concat) names.push_back("v_a");
  std::vector<std::string> ends{""};
  if (layers == 2) {
    ends = {"_l0", "_l1"};
    for (const char* more : {"c_0", "s_0_bottom", "c_0_bottom"}) names.push_back(more);
  }
  for (const std::string& end : ends) {
    for (const char* letter : {"W_ih", "W_hh", "b_ih", "b_hh"}) names.push_back(letter + end);
  }
  const auto leaves = named_leaves(f, names);
  const Var H = take(leaves, "H"), W_a = take(leaves, "W_a"), W_c = take(leaves, "W_c"), b_c = take(leaves, "b_c");
  const std::int64_t d_h = H.shape()[2], d_htilde = W_c.shape()[0], d_s = W_c.shape()[1] - d_h;
  const Var ones = full(Shape{H.shape()[0], H.shape()[1], 1}, 1, f64);
  LuongDecoder model;
  Generator g(1);
  model.score = Score(kind, d_s, d_h + 1, 1, g);
  model.score.W_a = concat({W_a, Var(zeros(Shape{W_a.shape()[0], 1}, f64))}, Axis{1});
  if (kind == ScoreKind::concat) model.score.v_a = take(leaves, "v_a");
  model.W_c =
      concat({narrow(W_c, Axis{1}, 0, d_h), reshape(b_c, Shape{d_htilde, 1}), narrow(W_c, Axis{1}, d_h, d_s)}, Axis{1});
  model.readout.W = take(leaves, "W_o");
  model.readout.b = take(leaves, "b_o");
  model.cell.kind = cell_kind;
  for (const std::string& end : ends) {
    auto fill = [&](auto cell) {
      cell.W = take(leaves, "W_ih" + end);
      cell.U = take(leaves, "W_hh" + end);
      cell.b = take(leaves, "b_ih" + end);
      cell.b_u = take(leaves, "b_hh" + end);
      return cell;
    };
    if (cell_kind == CellKind::gru) {
      model.cell.gru.push_back(fill(Gru{}));
      model.cell.gru.back().options = pytorch();
    } else {
      model.cell.lstm.push_back(fill(Lstm{}));
    }
  }
  State s_0 = take(leaves, "s_0");
  if (layers == 2) {
    s_0.below = {take(leaves, "s_0_bottom")};
    s_0.memory = {take(leaves, "c_0_bottom"), take(leaves, "c_0")};
  }
  s_0.attentional = zeros(Shape{H.shape()[0], d_htilde}, f64);
  const Memory memory =
      model.remember(concat({H, ones}, Axis{2}), mask_from_lengths(lengths_of(f["lengths"]), H.shape()[1]));
  std::vector<Var> states{s_0}, weights, contexts, attentional, logits;
  State s_prev = s_0;
  for (std::int64_t t = 0; t < f["y_emb"].shape[1]; ++t) {
    const Var y = select(take(leaves, "y_emb"), Axis{1}, t);
    const Step step = model.step(y, s_prev, memory);
    states.push_back(step.s_t);
    weights.push_back(step.weights);
    contexts.push_back(narrow(step.context, Axis{1}, 0, d_h));
    attentional.push_back(step.attentional);
    logits.push_back(model.logits(model.features(step, y, s_prev)));
    s_prev = step.s_t;
  }
  const std::vector<Parameter> outputs{{"s", stack_along(states, Axis{1})},
                                       {"alpha", stack_along(weights, Axis{1})},
                                       {"c", stack_along(contexts, Axis{1})},
                                       {"htilde", stack_along(attentional, Axis{1})},
                                       {"logits", stack_along(logits, Axis{1})}};
  for (const Parameter& y : outputs) CHECK(gap(y.var, f[y.name]) <= exact);
  flow_back(f, outputs);
  check_gradients(f, leaves);
}

// ---- the inputs that published mistakes about decoders are recomputed on

Gru fx_cell() {
  Gru cell;
  cell.options = bahdanau2014();
  cell.W = parameter(
      tensor(Shape{6, 3}, {.4, .2, -.1, -.6, .1, .3, .7, -.3, .2, -.2, .5, .1, .5, .4, -.6, .8, -.2, .3}, f64));
  cell.U = parameter(tensor(Shape{6, 2}, {.2, .1, 0, .3, .1, -.3, .2, .4, .9, -.7, .6, .2}, f64));
  return cell;
}
Var fx_H() { return tensor(Shape{1, 3, 2}, {1, 0, 0, 1, -1, .5}, f64); }
State fx_s_0() { return State(Var(tensor(Shape{1, 2}, {.2, -.1}, f64))); }
Var fx_y(double value) { return tensor(Shape{1, 1}, {value}, f64); }
BahdanauDecoder fx_bahdanau() {
  BahdanauDecoder model;
  model.score.W_a = parameter(tensor(Shape{2, 2}, {.6, -.2, .1, .7}, f64));
  model.score.U_a = parameter(tensor(Shape{2, 2}, {.3, .5, -.4, .2}, f64));
  model.score.v_a = parameter(tensor(Shape{2}, {1, -.8}, f64));
  model.cell.gru.push_back(fx_cell());
  return model;
}

// |d weights of step t / d y_emb of step k|, summed.
template <class Model> double influence(const Model& model, const DecoderSizes& n, std::int64_t t, std::int64_t k) {
  const Batch b = batch_for(model, n, 40);
  backward(weighted(select(decode(model, b).weights, Axis{1}, t), 41));
  return largest(select(b.y_emb.grad(), Axis{1}, k));
}

}  // namespace

TEST_SUITE("nn decoders") {
  // ---- Bahdanau: values

  TEST_CASE("Bahdanau's decoder is that of the paper, with both readout times, sizes different and equal") {
    for (const DecoderSizes& n : {different, equal_sizes}) {
      for (ReadoutTime time : {ReadoutTime::s_t, ReadoutTime::s_prev}) {
        CAPTURE(n.d_s == n.d_h);
        CAPTURE(time == ReadoutTime::s_t);
        const BahdanauDecoder model = paper_model(time, n);
        const Batch batch = batch_for(model, n, 2);
        const Decoded d = decode(model, batch);
        for (std::int64_t b = 0; b < 2; ++b) {
          const auto want = paper::bahdanau2014::decode(transcribed(model), mat(at(batch.H, b)), vec(at(batch.s_0, b)),
                                                        mat(at(batch.y_emb, b)));
          CHECK(gap(at(d.states, b), flat(want.s)) <= exact);
          CHECK(gap(at(d.weights, b), flat(want.alpha)) <= exact);
          CHECK(gap(at(d.contexts, b), flat(want.c)) <= exact);
          CHECK(gap(at(d.logits, b), flat(want.logits)) <= exact);
        }
      }
    }
  }

  TEST_CASE("Bahdanau's gradients are the differences of the paper's formulas, parameter by parameter") {
    for (ReadoutTime time : {ReadoutTime::s_t, ReadoutTime::s_prev}) {
      CAPTURE(time == ReadoutTime::s_t);
      const BahdanauDecoder model = paper_model(time);
      const Batch batch = batch_for(model, different, 33, 1, 4, 3);  // far from maxout's kinks
      Numbers numbers(4);
      const Vec cot = numbers.many(3 * 9, -1, 1), cot_c = numbers.many(3 * 6, -1, 1);
      auto loss = [&] {
        const auto r = paper::bahdanau2014::decode(transcribed(model), mat(at(batch.H, 0)), vec(at(batch.s_0, 0)),
                                                   mat(at(batch.y_emb, 0)));
        return paper::dot(cot, flat(r.logits)) + paper::dot(cot_c, flat(r.c));
      };
      const Decoded d = decode(model, batch);
      const Var total = sum(d.logits * Var(tensor(d.logits.shape(), cot, f64))) +
                        sum(d.contexts * Var(tensor(d.contexts.shape(), cot_c, f64)));
      CHECK(near(total.item(), loss(), exact));
      backward(total);
      std::vector<Parameter> all = parameters(model);
      all.erase(all.begin());  // the bridge, which makes s_0 and is not used here
      for (const CheckedInput& input : batch.inputs) all.push_back({input.name, input.leaf});
      for (const Parameter& p : all) {
        CAPTURE(p.name);
        CHECK(gap(p.var.grad(), differences(loss, p.var)) < 1e-8);
      }
    }
  }

  TEST_CASE("Bahdanau's decoder agrees with PyTorch, mixed lengths, all gradients") {
    check_bahdanau_fixture("bahdanau", ReadoutTime::s_t);
  }
  TEST_CASE("Bahdanau's decoder with the readout of the appendix (s_{t-1}) agrees with PyTorch") {
    check_bahdanau_fixture("bahdanau_readout_s_prev", ReadoutTime::s_prev);
  }
  TEST_CASE("Bahdanau's decoder agrees with PyTorch when all sizes are equal") {
    check_bahdanau_fixture("bahdanau_equal_sizes", ReadoutTime::s_t);
  }

  TEST_CASE("published contexts, loss and gradient of two Bahdanau steps: the query is s_{t-1}") {
    const BahdanauDecoder model = fx_bahdanau();
    const Memory memory = model.remember(fx_H(), std::nullopt);
    const Step one = model.step(fx_y(1), fx_s_0(), memory), two = model.step(fx_y(-.5), one.s_t, memory);
    CHECK(prints_as(vec(one.context), {.300089, .437498}, 6));
    CHECK(prints_as(vec(two.context), {.287793, .437677}, 6));
    const Var loss = sum(two.s_t * Var(tensor(Shape{1, 2}, {1, -2}, f64))) +
                     sum(two.context * Var(tensor(Shape{1, 2}, {.5, 1}, f64)));
    CHECK(prints_as(loss.item(), .641574, 6));
    backward(loss);
    CHECK(prints_as(model.score.W_a.grad().at({0, 0}), -.013265, 6));
  }

  TEST_CASE("the linear readout is W_o [s; y; c] + b_o, with the state of its readout time") {
    for (ReadoutTime time : {ReadoutTime::s_t, ReadoutTime::s_prev}) {
      const BahdanauDecoder model = model_of<BahdanauDecoder>(different, {.readout_time = time});
      const Batch batch = batch_for(model, different, 5);
      const Decoded d = decode(model, batch);
      for (std::int64_t t = 0; t < 3; ++t) {
        const Vec s = vec(at(at(d.states, 0), time == ReadoutTime::s_t ? t + 1 : t));
        const Vec x = paper::concat(paper::concat(s, vec(at(at(batch.y_emb, 0), t))), vec(at(at(d.contexts, 0), t)));
        const Vec want = paper::plus(paper::mul(mat(model.readout.W), x), vec(model.readout.b));
        CHECK(gap(at(at(d.logits, 0), t), want) <= exact);
      }
    }
  }

  TEST_CASE("s_0 is tanh(W_s h_1(backward)), in every layer, memories empty") {
    Numbers numbers(6);
    const Var h_1 = drawn_tensor(Shape{2, 3}, numbers);
    const BahdanauDecoder model = model_of<BahdanauDecoder>(different, {.cell = CellKind::lstm, .layers = 2});
    const State s_0 = model.start(h_1);
    for (std::int64_t b = 0; b < 2; ++b) {
      CHECK(gap(at(s_0, b), paper::bahdanau2014::initial_state(mat(model.bridge.W), vec(at(h_1, b)))) <= exact);
    }
    REQUIRE(s_0.below.size() == 1);
    REQUIRE(s_0.memory.size() == 2);
    CHECK(bitwise(s_0.below[0], s_0));
    CHECK(all_zero(s_0.memory[0]));
    CHECK(all_zero(s_0.memory[1]));
  }

  TEST_CASE("Bahdanau's decoder on an LSTM and on two layers: each step is attend, then the stack") {
    for (CellKind kind : {CellKind::gru, CellKind::lstm, CellKind::elman}) {
      for (std::int64_t layers : {1, 2, 3}) {
        CAPTURE(layers);
        const BahdanauDecoder model = model_of<BahdanauDecoder>(different, {.cell = kind, .layers = layers});
        const Batch batch = batch_for(model, different, 7);
        const Memory memory = model.remember(batch.H, std::nullopt);
        State s_prev = batch.s_0;
        for (std::int64_t t = 0; t < 3; ++t) {
          const Var y = select(batch.y_emb, Axis{1}, t);
          const Attended a = attend(model.score(static_cast<const Var&>(s_prev), memory.keys), batch.H);
          const State s_t = model.cell.step({y, a.context}, s_prev);
          const Step step = model.step(y, s_prev, memory);
          CHECK(bitwise(step.context, a.context));
          CHECK(bitwise(step.weights, a.weights));
          CHECK(bitwise(step.s_t, s_t));
          CHECK(!step.attentional.defined());
          for (std::size_t k = 0; k < s_t.below.size(); ++k) CHECK(bitwise(step.s_t.below[k], s_t.below[k]));
          for (std::size_t k = 0; k < s_t.memory.size(); ++k) CHECK(bitwise(step.s_t.memory[k], s_t.memory[k]));
          s_prev = step.s_t;
        }
      }
    }
  }

  // ---- Luong: values

  TEST_CASE(
      "Luong's decoder is that of the paper: dot, general, concat; GRU, LSTM; one and two layers; feeding or not") {
    for (const LuongCase& c : luong_cases()) {
      for (const DecoderSizes& n : {different, equal_sizes}) {
        CAPTURE(name_of(c));
        const LuongDecoder model = luong_model(c, n);
        const Batch batch = batch_for(model, fitted(n, c.score), 8);
        const Decoded d = decode(model, batch);
        for (std::int64_t b = 0; b < 2; ++b) {
          const auto want = transcribed_run(model, batch, b);
          CHECK(gap(at(d.states, b), flat(want.s)) <= exact);
          CHECK(gap(at(d.weights, b), flat(want.alpha)) <= exact);
          CHECK(gap(at(d.contexts, b), flat(want.c)) <= exact);
          CHECK(gap(at(d.logits, b), flat(want.logits)) <= exact);
        }
      }
    }
  }

  TEST_CASE("Luong's gradients are the differences of the paper's formulas, parameter by parameter") {
    for (const LuongCase& c : luong_cases()) {
      if (c.layers == 2 && c.score != ScoreKind::general) continue;
      CAPTURE(name_of(c));
      const DecoderSizes n = fitted({5, 2, 3, 4, 3}, c.score);
      const LuongDecoder model = luong_model(c, n);
      const Batch batch = batch_for(model, n, 9, 1, 3, 2);
      Numbers numbers(10);
      const Vec cot = numbers.many(2 * 5, -1, 1), cot_a = numbers.many(2 * 3, -1, 1);
      auto loss = [&] {
        const auto r = transcribed_run(model, batch, 0);
        return paper::dot(cot, flat(r.logits)) + paper::dot(cot_a, flat(r.alpha));
      };
      const Decoded d = decode(model, batch);
      const Var total = sum(d.logits * Var(tensor(d.logits.shape(), cot, f64))) +
                        sum(d.weights * Var(tensor(d.weights.shape(), cot_a, f64)));
      CHECK(near(total.item(), loss(), exact));
      backward(total);
      std::vector<Parameter> all = parameters(model);
      all.erase(all.begin());  // the bridge, which makes s_0 and is not used here
      for (const CheckedInput& input : batch.inputs) all.push_back({input.name, input.leaf});
      for (const Parameter& p : all) {
        CAPTURE(p.name);
        CHECK(gap(p.var.grad(), differences(loss, p.var)) < 1e-8);
      }
    }
  }

  TEST_CASE("Luong's decoder, general with feeding, agrees with PyTorch, mixed lengths, all gradients") {
    check_luong_fixture("luong_general_feed", ScoreKind::general, CellKind::gru, 1);
  }
  TEST_CASE("Luong's decoder, concat with feeding, agrees with PyTorch") {
    check_luong_fixture("luong_concat_feed", ScoreKind::concat, CellKind::gru, 1);
  }
  TEST_CASE("Luong's decoder on two layers of LSTM agrees with PyTorch") {
    check_luong_fixture("luong_general_feed_lstm_2_layers", ScoreKind::general, CellKind::lstm, 2);
  }
  TEST_CASE("Luong's decoder agrees with PyTorch when all sizes are equal") {
    check_luong_fixture("luong_general_feed_equal_sizes", ScoreKind::general, CellKind::gru, 1);
  }

  TEST_CASE("Luong's decoder, dot on an LSTM without feeding, has PyTorch's states, weights and contexts") {
    const Fixture& f = fixture("luong_dot_lstm");
    LuongDecoder model;
    model.options = {.score = ScoreKind::dot, .cell = CellKind::lstm, .input_feeding = false};
    model.score.kind = ScoreKind::dot;
    model.cell.kind = CellKind::lstm;
    model.cell.lstm.emplace_back();
    Lstm& cell = model.cell.lstm[0];
    cell.W = leaf(f["W_ih"]);
    cell.U = leaf(f["W_hh"]);
    cell.b = leaf(f["b_ih"]);
    cell.b_u = leaf(f["b_hh"]);
    model.W_c = leaf(f["W_c"]);
    model.readout.W = leaf(f["W_o"]);
    model.readout.b = leaf(f["b_o"]);
    State s_0(leaf(f["s_0"]));
    s_0.memory = {leaf(f["c_0"])};
    const Decoded d = decode_teacher(model, leaf(f["y_emb"]), s_0,
                                     model.remember(leaf(f["H"]), mask_from_lengths(lengths_of(f["lengths"]), 5)));
    CHECK(gap(d.states, f["s"]) <= exact);
    CHECK(gap(d.weights, f["alpha"]) <= exact);
    CHECK(gap(d.contexts, f["c"]) <= exact);
  }

  TEST_CASE("published first step of Luong: context .2315 .4633, attentional vector .1805 .1975") {
    LuongDecoder model;
    model.options.input_feeding = true;
    model.score.kind = ScoreKind::dot;
    model.cell.gru.push_back(fx_cell());
    model.W_c = parameter(tensor(Shape{2, 4}, {.5, -.2, .3, .1, .4, .6, -.5, .2}, f64));
    State s_0 = fx_s_0();
    s_0.attentional = zeros(Shape{1, 2}, f64);
    const Step one = model.step(fx_y(1), s_0, model.remember(fx_H(), std::nullopt));
    CHECK(prints_as(vec(one.context), {.231480, .463270}, 6));
    CHECK(prints_as(vec(one.attentional), {.1805, .1975}, 4));
  }

  TEST_CASE("the attentional vector is tanh(W_c [c; s]) with the context first, and the logits read it alone") {
    const LuongDecoder model = model_of<LuongDecoder>(different, {.score = ScoreKind::general});
    const Batch batch = batch_for(model, different, 11);
    const Step step = model.step(select(batch.y_emb, Axis{1}, 0), batch.s_0, model.remember(batch.H, std::nullopt));
    const Vec both = paper::concat(vec(at(step.context, 1)), vec(at(step.s_t, 1)));
    const Vec want = paper::tanh_of(paper::mul(mat(model.W_c), both));
    CHECK(gap(at(step.attentional, 1), want) <= exact);
    CHECK(bitwise(model.features(step, Var(), State()), step.attentional));
    CHECK(bitwise(step.s_t.attentional, step.attentional));
  }

  TEST_CASE("with input feeding the attentional vector reaches the next state, without it does not") {
    for (bool feeding : {true, false}) {
      CAPTURE(feeding);
      const LuongDecoder model =
          model_of<LuongDecoder>(different, {.score = ScoreKind::general, .input_feeding = feeding});
      const Batch batch = batch_for(model, different, 12);
      const Memory memory = model.remember(batch.H, std::nullopt);
      const Step one = model.step(select(batch.y_emb, Axis{1}, 0), batch.s_0, memory);
      const Step two = model.step(select(batch.y_emb, Axis{1}, 1), one.s_t, memory);
      backward(weighted(two.s_t, 13));
      if (feeding) CHECK(largest(model.W_c.grad()) > 1e-4);
      else CHECK(all_zero(model.W_c.grad()));
    }
  }

  TEST_CASE("Luong starts with an attentional vector of zeros beside tanh(W_s h)") {
    Numbers numbers(14);
    const Var h = drawn_tensor(Shape{2, 3}, numbers);
    const LuongDecoder model = model_of<LuongDecoder>(different, {.score = ScoreKind::general});
    const State s_0 = model.start(h);
    CHECK(gap(at(s_0, 1), paper::bahdanau2014::initial_state(mat(model.bridge.W), vec(at(h, 1)))) <= exact);
    CHECK(s_0.attentional.shape() == Shape{2, 4});
    CHECK(all_zero(s_0.attentional));
  }

  TEST_CASE("the query is the h of the top layer, not a memory and not a lower layer") {
    for (CellKind kind : {CellKind::gru, CellKind::lstm}) {
      const LuongDecoder model =
          model_of<LuongDecoder>(different, {.score = ScoreKind::general, .cell = kind, .layers = 2});
      const Batch batch = batch_for(model, different, 15);
      const Memory memory = model.remember(batch.H, std::nullopt);
      const Step step = model.step(select(batch.y_emb, Axis{1}, 0), batch.s_0, memory);
      const Var top = step.s_t;
      CHECK(bitwise(step.weights, attend(model.score(top, memory.keys), batch.H).weights));
      CHECK(gap(step.weights, attend(model.score(step.s_t.below[0], memory.keys), batch.H).weights) > 1e-3);
      for (const Var& c : step.s_t.memory) {
        CHECK(gap(step.weights, attend(model.score(c, memory.keys), batch.H).weights) > 1e-3);
      }
    }
  }

  // ---- when the query is asked

  TEST_CASE("Bahdanau's weights of step t depend on the inputs before t only, exactly") {
    const BahdanauDecoder model = paper_model(ReadoutTime::s_t);
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t k = 0; k < 3; ++k) {
        CAPTURE(t);
        CAPTURE(k);
        if (k < t) CHECK(influence(model, different, t, k) > 1e-5);
        else CHECK(influence(model, different, t, k) == 0);
      }
    }
  }

  TEST_CASE("Luong's weights of step t depend on the inputs up to t, its own included") {
    const LuongDecoder model = model_of<LuongDecoder>(different, {.score = ScoreKind::general});
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t k = 0; k < 3; ++k) {
        CAPTURE(t);
        CAPTURE(k);
        if (k <= t) CHECK(influence(model, different, t, k) > 1e-5);
        else CHECK(influence(model, different, t, k) == 0);
      }
    }
  }

  TEST_CASE("Bahdanau's first state has read the first context; Luong's first state has not") {
    const BahdanauDecoder bahdanau = paper_model(ReadoutTime::s_t);
    const LuongDecoder luong = model_of<LuongDecoder>(different, {.score = ScoreKind::general});
    auto reads = [](const auto& model) {
      const Batch b = batch_for(model, different, 16);
      backward(weighted(select(decode(model, b).states, Axis{1}, 1), 17));
      return largest(b.H.grad());
    };
    CHECK(reads(bahdanau) > 1e-4);
    CHECK(reads(luong) == 0);
  }

  TEST_CASE("hybrids are allowed: Bahdanau's order with any score, Luong's with the additive one") {
    for (ScoreKind kind : {ScoreKind::dot, ScoreKind::general, ScoreKind::additive, ScoreKind::concat,
                           ScoreKind::cosine, ScoreKind::scaled_dot}) {
      CAPTURE(std::string(to_string(kind)));
      const DecoderSizes n = fitted(different, kind);
      const BahdanauDecoder bahdanau = model_of<BahdanauDecoder>(n, {.score = kind});
      const LuongDecoder luong = model_of<LuongDecoder>(n, {.score = kind});
      CHECK(decode(bahdanau, batch_for(bahdanau, n, 18)).logits.shape() == Shape{2, 3, 9});
      CHECK(decode(luong, batch_for(luong, n, 18)).logits.shape() == Shape{2, 3, 9});
      CHECK(influence(bahdanau, n, 1, 1) == 0);
      CHECK(influence(luong, n, 1, 1) > 1e-5);
    }
  }

  // ---- without attention

  TEST_CASE("the decoder without attention is a cell on y_{t-1} and a readout of [s_t; y]") {
    const PlainDecoder model = model_of<PlainDecoder>(different, {.gru = pytorch()});
    const Batch batch = batch_for(model, different, 19);
    const Decoded d = decode(model, batch);
    const Gru& g = model.cell.gru[0];
    for (std::int64_t b = 0; b < 2; ++b) {
      Vec s = vec(at(batch.s_0, b));
      for (std::int64_t t = 0; t < 3; ++t) {
        const Vec y = vec(at(at(batch.y_emb, b), t));
        s = paper::pytorch_gru::step({mat(g.W), mat(g.U), vec(g.b), vec(g.b_u)}, y, s);
        CHECK(gap(at(at(d.states, b), t + 1), s) <= exact);
        CHECK(gap(at(at(d.logits, b), t),
                  paper::plus(paper::mul(mat(model.readout.W), paper::concat(s, y)), vec(model.readout.b))) <= exact);
      }
    }
    CHECK(!d.weights.defined());
    CHECK(!d.contexts.defined());
  }

  TEST_CASE("without attention nothing but s_0 carries the source: H gets no gradient") {
    const PlainDecoder model = model_of<PlainDecoder>(different, {});
    const Batch batch = batch_for(model, different, 20);
    backward(weighted(decode(model, batch).logits, 21));
    CHECK(!batch.H.has_grad());
    CHECK(largest(batch.s_0.grad()) > 1e-4);
  }

  TEST_CASE("the decoder without attention starts from a summary of d_h numbers") {
    const PlainDecoder model = model_of<PlainDecoder>(different, {});
    CHECK(model.start(zeros(Shape{2, 6}, f64)).shape() == Shape{2, 4});
    CHECK(contains(message_of<ShapeError>([&] { model.start(zeros(Shape{2, 3}, f64)); }), "(2, 6)"));
  }

  // ---- maxout

  TEST_CASE("maxout takes the larger of each neighbouring pair, at any rank") {
    const Var x = parameter(tensor(Shape{2, 4}, {1, 2, -3, -5, 7, 7, 0, -1}, f64));
    const Var y = maxout_pairs(x);
    CHECK(y.shape() == Shape{2, 2});
    CHECK(vec(y) == Vec{2, -3, 7, 0});
    backward(y, tensor(Shape{2, 2}, {1, 10, 100, 1000}, f64));
    CHECK(vec(x.grad()) == Vec{0, 1, 10, 0, 50, 50, 1000, 0});  // at a tie half each
    CHECK(maxout_pairs(zeros(Shape{2, 3, 6}, f64)).shape() == Shape{2, 3, 3});
    CHECK(maxout_pairs(zeros(Shape{2}, f64)).shape() == Shape{1});
  }

  TEST_CASE("maxout of an odd number is refused") {
    CHECK(contains(message_of<ShapeError>([] { maxout_pairs(zeros(Shape{2, 5}, f64)); }), "5"));
  }

  // ---- gradients

  TEST_CASE("Bahdanau's decoder passes the self check: GRU and LSTM, one and two layers, both readouts, masked") {
    for (CellKind kind : {CellKind::gru, CellKind::lstm}) {
      for (std::int64_t layers : {1, 2}) {
        for (bool maxout : {false, true}) {
          CAPTURE(layers);
          CAPTURE(maxout);
          const DecoderSizes n{4, 2, 3, 4, 2};
          const BahdanauDecoder model = model_of<BahdanauDecoder>(
              n, {.cell = kind, .layers = layers, .readout_time = ReadoutTime::s_prev, .maxout = maxout});
          Numbers numbers(22);
          const Var H = leaf(Shape{2, 3, 4}, numbers), y_emb = leaf(Shape{2, 2, 2}, numbers),
                    h_1 = leaf(Shape{2, 2}, numbers);
          const GradientReport report = check_gradient(
              [&] {
                return everything(
                    decode_teacher(model, y_emb, model.start(h_1), model.remember(H, mask_from_lengths({3, 2}, 3))));
              },
              checked(model, {{"H", H}, {"y_emb", y_emb}, {"h_1", h_1}}));
          CHECK_MESSAGE(report.passed, report.text());
        }
      }
    }
  }

  TEST_CASE("Luong's decoder passes the self check: every score, GRU and LSTM, feeding or not, masked") {
    for (const LuongCase& c : luong_cases()) {
      CAPTURE(name_of(c));
      const DecoderSizes n = fitted({4, 2, 2, 4, 2}, c.score);
      const LuongDecoder model = luong_model(c, n);
      Numbers numbers(23);
      const Var H = leaf(Shape{2, 3, n.d_h}, numbers), y_emb = leaf(Shape{2, 2, 2}, numbers),
                h_1 = leaf(Shape{2, n.d_h / 2}, numbers);
      const GradientReport report = check_gradient(
          [&] {
            return everything(
                decode_teacher(model, y_emb, model.start(h_1), model.remember(H, mask_from_lengths({3, 2}, 3))));
          },
          checked(model, {{"H", H}, {"y_emb", y_emb}, {"h_1", h_1}}));
      CHECK_MESSAGE(report.passed, report.text());
    }
  }

  TEST_CASE("the decoder without attention passes the self check") {
    for (CellKind kind : {CellKind::elman, CellKind::gru, CellKind::lstm}) {
      const DecoderSizes n{4, 2, 3, 4, 2};
      const PlainDecoder model = model_of<PlainDecoder>(n, {.cell = kind, .layers = 2});
      Numbers numbers(24);
      const Var y_emb = leaf(Shape{2, 2, 2}, numbers), summary = leaf(Shape{2, 4}, numbers);
      const GradientReport report =
          check_gradient([&] { return everything(decode_teacher(model, y_emb, model.start(summary), Memory{})); },
                         checked(model, {{"y_emb", y_emb}, {"summary", summary}}));
      CHECK_MESSAGE(report.passed, report.text());
    }
  }

  TEST_CASE("every parameter of a fresh decoder gets a gradient from the loss") {
    Numbers numbers(25);
    const Ids targets(Shape{2, 3}, {1, 2, 3, 4, 0, 1});
    auto check_all = [&](const auto& model) {
      const auto twice = clone(model, f64);
      const Var H = drawn_tensor(Shape{2, 5, 6}, numbers), y_emb = drawn_tensor(Shape{2, 3, 3}, numbers);
      const State s_0 = twice.start(drawn_tensor(Shape{2, twice.bridge.W.shape()[1]}, numbers));
      backward(cross_entropy(decode_teacher(twice, y_emb, s_0, twice.remember(H, std::nullopt)).logits, targets));
      for (const Parameter& p : parameters(twice)) {
        CAPTURE(p.name);
        CHECK(largest(p.var.grad()) > 1e-9);
      }
    };
    Generator g(26);
    check_all(BahdanauDecoder(different, {}, g));
    check_all(BahdanauDecoder(different, {.layers = 2, .maxout = true}, g));
    check_all(LuongDecoder(different, {.score = ScoreKind::general, .cell = CellKind::lstm}, g));
    check_all(LuongDecoder(different, {.score = ScoreKind::concat, .layers = 2, .input_feeding = false}, g));
    check_all(PlainDecoder(different, {.gru = pytorch()}, g));
  }

  // ---- masks, batches, dtypes

  TEST_CASE("sources of mixed lengths in one batch give what each gives alone, unpadded") {
    auto check_rows = [](const auto& model) {
      const Batch batch = batch_for(model, different, 27, 3);
      const std::vector<std::int64_t> lengths{2, 5, 1};
      const Decoded all = decode(model, batch, mask_from_lengths(lengths, 5));
      for (std::int64_t b = 0; b < 3; ++b) {
        const std::int64_t n = lengths[static_cast<std::size_t>(b)];
        State s_0(narrow(batch.s_0, Axis{0}, b, 1));
        if (batch.s_0.attentional.defined()) s_0.attentional = narrow(batch.s_0.attentional, Axis{0}, b, 1);
        const Var H = narrow(narrow(batch.H, Axis{0}, b, 1), Axis{1}, 0, n);
        const Decoded alone =
            decode_teacher(model, narrow(batch.y_emb, Axis{0}, b, 1), s_0, model.remember(H, std::nullopt));
        CHECK(gap(at(all.logits, b), at(alone.logits, 0)) <= exact);
        CHECK(gap(at(all.states, b), at(alone.states, 0)) <= exact);
        CHECK(gap(narrow(at(all.weights, b), Axis{1}, 0, n), at(alone.weights, 0)) <= exact);
        if (n < 5) CHECK(all_zero(narrow(at(all.weights, b), Axis{1}, n, 5 - n)));
      }
    };
    check_rows(paper_model(ReadoutTime::s_t));
    check_rows(model_of<LuongDecoder>(different, {.score = ScoreKind::general}));
    check_rows(model_of<LuongDecoder>(different, {.score = ScoreKind::concat, .input_feeding = false}));
  }

  TEST_CASE("decoders in f32 agree with f64 over twenty steps") {
    auto check_dtypes = [](const auto& twice) {
      const auto single = clone(twice, f32);
      Numbers numbers(28);
      const Tensor H = drawn_tensor(Shape{2, 7, 6}, numbers), y_emb = drawn_tensor(Shape{2, 20, 3}, numbers),
                   h_1 = drawn_tensor(Shape{2, twice.bridge.W.shape()[1]}, numbers);
      const Mask mask = mask_from_lengths({7, 3}, 7);
      const Decoded a =
          decode_teacher(single, y_emb.to(f32), single.start(h_1.to(f32)), single.remember(H.to(f32), mask));
      const Decoded b = decode_teacher(twice, y_emb, twice.start(h_1), twice.remember(H, mask));
      CHECK(a.logits.dtype() == f32);
      CHECK(gap(a.logits.value().to(f64), b.logits) < 1e-4);
      CHECK(gap(a.states.value().to(f64), b.states) < 1e-4);
    };
    check_dtypes(paper_model(ReadoutTime::s_t));
    check_dtypes(model_of<BahdanauDecoder>(different, {.cell = CellKind::lstm, .layers = 2}));
    check_dtypes(model_of<LuongDecoder>(different, {.score = ScoreKind::general}));
    check_dtypes(model_of<LuongDecoder>(different, {.score = ScoreKind::concat, .cell = CellKind::lstm}));
  }

  // ---- refusals

  TEST_CASE("decoders with dot, cosine or scaled dot refuse d_s that is not d_h, and say the way out") {
    for (ScoreKind kind : {ScoreKind::dot, ScoreKind::cosine, ScoreKind::scaled_dot}) {
      Generator g(29);
      CHECK(contains(message_of<ShapeError>([&] { BahdanauDecoder(different, {.score = kind}, g); }), "general score"));
      CHECK(contains(message_of<ShapeError>([&] { LuongDecoder(different, {.score = kind}, g); }), "general score"));
    }
  }

  TEST_CASE(
      "decoders refuse an embedding of the wrong width, states of the wrong width, and a start of the wrong width") {
    const BahdanauDecoder model = paper_model(ReadoutTime::s_t);
    const Batch batch = batch_for(model, different, 30);
    const Memory memory = model.remember(batch.H, std::nullopt);
    CHECK(contains(message_of<ShapeError>([&] { model.step(zeros(Shape{2, 4}, f64), batch.s_0, memory); }), "y_emb"));
    CHECK(contains(message_of<ShapeError>([&] { model.remember(zeros(Shape{2, 5, 4}, f64), std::nullopt); }), ": H\n"));
    CHECK(contains(message_of<ShapeError>([&] { model.start(zeros(Shape{2, 6}, f64)); }), "(B, d_1) = (2, 3)"));
  }

  TEST_CASE("a source that is all padding is an error, not a row of NaN") {
    const BahdanauDecoder model = paper_model(ReadoutTime::s_t);
    const Batch batch = batch_for(model, different, 31);
    CHECK(contains(message_of<ValueError>([&] { decode(model, batch, mask_from_lengths({5, 0}, 5)); }), "softmax"));
  }
}
