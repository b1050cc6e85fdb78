// Parameters: their names and order, tied weights, clones against copies, and counts against closed formulas.
#include "nn/module.h"

#include "nn/decoders.h"
#include "tests/nn/check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

std::vector<std::string> names_of(const std::vector<Parameter>& list) {
  std::vector<std::string> names;
  for (const Parameter& p : list) names.push_back(p.name);
  return names;
}
template <class Model> std::vector<std::string> names(const Model& model) { return names_of(parameters(model)); }

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& name : list) text += (text.empty() ? "" : " ") + name;
  return text;
}

// A language model whose output matrix is its table: the usual case of a tied weight.
struct Tied {
  Embedding embedding;
  Linear hidden;
  Linear output;
  void visit(Visitor& v) {
    v("embedding", embedding);
    v("hidden", hidden);
    v("output", output);
  }
};
Tied tied(Generator& generator) {
  Tied model{Embedding(7, 3, generator), Linear(3, 3, generator), Linear(3, 7, generator)};
  model.output.W = model.embedding.E;
  return model;
}

struct Outer {
  Linear first;
  std::vector<Linear> middle;
  Tied last;
  void visit(Visitor& v) {
    v("first", first);
    v("middle", middle);
    v("last", last);
  }
};

DecoderSizes sizes() { return {9, 3, 4, 6, 5}; }

}  // namespace

TEST_SUITE("nn module") {
  TEST_CASE("parameters are named by the path of fields that leads to them, in the order of visit") {
    Generator g(1);
    CHECK(joined(names(Linear(2, 3, g))) == "W b");
    CHECK(joined(names(Embedding(5, 2, g))) == "E");
    CHECK(joined(names(Elman(2, 3, g))) == "W U b");
    CHECK(joined(names(Gru(2, 3, pytorch(), g))) == "W U b b_u");
    CHECK(joined(names(Lstm(2, 3, g))) == "W U b");
    CHECK(joined(names(Score(ScoreKind::additive, 2, 3, 4, g))) == "W_a U_a v_a");
    CHECK(joined(names(Bidirectional(CellKind::gru, 2, 3, bahdanau2014(), g))) ==
          "forward.gru.0.W forward.gru.0.U backward.gru.0.W backward.gru.0.U");
  }

  TEST_CASE("decoders list bridge, score, cell and readout with full paths") {
    Generator g(1);
    CHECK(joined(names(BahdanauDecoder(sizes(), {}, g))) ==
          "bridge.W score.W_a score.U_a score.v_a cell.gru.0.W cell.gru.0.U readout.W readout.b");
    CHECK(joined(names(BahdanauDecoder(sizes(), {.maxout = true}, g))) ==
          "bridge.W score.W_a score.U_a score.v_a cell.gru.0.W cell.gru.0.U maxout.W readout.W readout.b");
    CHECK(joined(names(LuongDecoder(sizes(), {.score = ScoreKind::general, .cell = CellKind::lstm, .layers = 2}, g))) ==
          "bridge.W score.W_a cell.lstm.0.W cell.lstm.0.U cell.lstm.0.b cell.lstm.1.W cell.lstm.1.U cell.lstm.1.b W_c "
          "readout.W readout.b");
    CHECK(joined(names(PlainDecoder(sizes(), {.cell = CellKind::elman}, g))) ==
          "bridge.W cell.elman.0.W cell.elman.0.U cell.elman.0.b readout.W readout.b");
  }

  TEST_CASE("a parameter that a layer does not have is not listed") {
    Generator g(1);
    CHECK(joined(names(Linear(2, 3, g, false))) == "W");
    CHECK(joined(names(Gru(2, 3, cho2014(), g))) == "W U");
    CHECK(joined(names(Gru(2, 3, keras_reset_before(), g))) == "W U b");
    CHECK(joined(names(Score(ScoreKind::dot, 3, 3, 4, g))) == "");
    CHECK(joined(names(Score(ScoreKind::general, 2, 3, 4, g))) == "W_a");
    CHECK(joined(names(Score(ScoreKind::concat, 2, 3, 4, g))) == "W_a v_a");
    CHECK(joined(names(Dropout{})) == "");
  }

  TEST_CASE("lists of layers are numbered, and the path is right again after a nested layer") {
    Generator g(1);
    const Outer model{Linear(2, 2, g, false), {Linear(2, 2, g), Linear(2, 2, g, false)}, tied(g)};
    CHECK(joined(names(model)) ==
          "first.W middle.0.W middle.0.b middle.1.W last.embedding.E last.hidden.W last.hidden.b last.output.b");
  }

  TEST_CASE("no two parameters of a model share a name") {
    Generator g(1);
    for (std::int64_t layers : {1, 2, 3}) {
      CAPTURE(layers);
      const auto list = names(BahdanauDecoder(sizes(), {.layers = layers, .maxout = true}, g));
      CHECK(std::set<std::string>(list.begin(), list.end()).size() == list.size());
    }
  }

  TEST_CASE("a tied weight is listed once, under its first name") {
    Generator g(1);
    CHECK(joined(names(tied(g))) == "embedding.E hidden.W hidden.b output.b");
  }

  TEST_CASE("a tied weight is counted once") {
    Generator g(1);
    CHECK(count(parameters(tied(g))) == 7 * 3 + (3 * 3 + 3) + 7);
  }

  TEST_CASE("a clone keeps tied weights tied") {
    Generator g(1);
    const Tied copy_of = clone(tied(g), f64);
    CHECK(copy_of.embedding.E.node().get() == copy_of.output.W.node().get());
    CHECK(joined(names(copy_of)) == "embedding.E hidden.W hidden.b output.b");
  }

  TEST_CASE("a clone does not tie what was not tied, even when the numbers are equal") {
    Generator g(1);
    Tied model = tied(g);
    model.output.W = parameter(copy(model.embedding.E.value()));
    const Tied copy_of = clone(model, f64);
    CHECK(copy_of.embedding.E.node().get() != copy_of.output.W.node().get());
    CHECK(parameters(copy_of).size() == 5);
  }

  TEST_CASE("a tied weight receives the gradients of both places") {
    Generator g(3);
    const Tied model = clone(tied(g), f64);
    const Ids ids(Shape{2}, {4, 1});
    auto loss = [&] { return weighted(model.output(tanh(model.embedding(ids))), 5); };
    const GradientReport report = check_gradient(loss, {{"E", model.embedding.E}, {"b", model.output.b}});
    CHECK_MESSAGE(report.passed, report.text());
  }

  TEST_CASE("a clone has parameters of its own: writing to it does not reach the original") {
    Generator g(2);
    const BahdanauDecoder model(sizes(), {}, g);
    const BahdanauDecoder other = clone(model, f32);
    const auto a = parameters(model), b = parameters(other);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(a[i].name);
      const auto before = vec(a[i].var);
      CHECK(a[i].var.value().buffer().get() != b[i].var.value().buffer().get());
      fill_(b[i].var.mutable_value(), 7);
      CHECK(vec(a[i].var) == before);
    }
  }

  TEST_CASE("a clone holds the same numbers under the same names, in the dtype asked for") {
    Generator g(2);
    const LuongDecoder model(sizes(), {.score = ScoreKind::concat, .layers = 2}, g);
    for (DType dtype : {f32, f64}) {
      const auto a = parameters(model), b = parameters(clone(model, dtype));
      REQUIRE(a.size() == b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        CAPTURE(a[i].name);
        CHECK(b[i].name == a[i].name);
        CHECK(b[i].var.dtype() == dtype);
        CHECK(bitwise(a[i].var, b[i].var));
      }
    }
  }

  TEST_CASE("f32 numbers survive the way to f64 and back bit for bit") {
    Generator g(2);
    const Lstm model(3, 4, g);
    const auto a = parameters(model), b = parameters(clone(clone(model, f64), f32));
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(bitwise(a[i].var, b[i].var));
  }

  TEST_CASE("a clone's parameters lie in memory as the original's do") {
    Generator g(2);
    const Linear model(3, 5, g);
    CHECK(clone(model, f64).W.value().strides() == model.W.value().strides());
  }

  TEST_CASE("a clone's parameters are leaves that take gradients, and start without any") {
    Generator g(2);
    const Linear model(3, 5, g);
    backward(weighted(clone(model, f64).W, 1));
    backward(sum(model.W));
    for (const Parameter& p : parameters(clone(model, f32))) {
      CAPTURE(p.name);
      CHECK(p.var.requires_grad());
      CHECK(p.var.node()->inputs.empty());
      CHECK(!p.var.has_grad());
    }
  }

  TEST_CASE("the gradient of a clone does not flow into the original") {
    Generator g(2);
    const Linear model(3, 5, g);
    const Linear other = clone(model, f32);
    backward(sum(other(full(Shape{2, 3}, 1))));
    CHECK(other.W.has_grad());
    CHECK(!model.W.has_grad());
  }

  TEST_CASE("a plain copy of a layer shares its parameters") {
    Generator g(2);
    const Linear model(3, 5, g);
    const Linear other = model;
    CHECK(other.W.node().get() == model.W.node().get());
    fill_(other.W.mutable_value(), 3);
    CHECK(vec(model.W) == std::vector<double>(15, 3.0));
  }

  TEST_CASE("parameters hands out the model's own parameters, not copies") {
    Generator g(2);
    const Elman model(3, 5, g);
    const auto list = parameters(model);
    CHECK(list[0].var.node().get() == model.W.node().get());
    CHECK(list[1].var.node().get() == model.U.node().get());
    CHECK(list[2].var.node().get() == model.b.node().get());
  }

  TEST_CASE("zero_grad clears every gradient") {
    Generator g(2);
    const Elman model(3, 5, g);
    backward(sum(model.step(full(Shape{2, 3}, 1), full(Shape{2, 5}, 0.5))));
    zero_grad(parameters(model));
    for (const Parameter& p : parameters(model)) {
      CAPTURE(p.name);
      CHECK(all_zero(p.var.grad()));
    }
  }

  TEST_CASE("the counts of simple layers are those of their formulas") {
    Generator g(1);
    struct Row {
      std::int64_t d_in, d_s;
    };
    for (const Row& n : {Row{2, 3}, Row{5, 1}, Row{1, 4}, Row{6, 6}}) {
      CAPTURE(n.d_in);
      CAPTURE(n.d_s);
      CHECK(count(parameters(Linear(n.d_in, n.d_s, g))) == n.d_in * n.d_s + n.d_s);
      CHECK(count(parameters(Linear(n.d_in, n.d_s, g, false))) == n.d_in * n.d_s);
      CHECK(count(parameters(Embedding(n.d_in, n.d_s, g))) == n.d_in * n.d_s);
      CHECK(count(parameters(Elman(n.d_in, n.d_s, g))) == n.d_s * (n.d_in + n.d_s + 1));
      CHECK(count(parameters(Gru(n.d_in, n.d_s, cho2014(), g))) == 3 * n.d_s * (n.d_in + n.d_s));
      CHECK(count(parameters(Gru(n.d_in, n.d_s, keras_reset_before(), g))) == 3 * n.d_s * (n.d_in + n.d_s + 1));
      CHECK(count(parameters(Gru(n.d_in, n.d_s, pytorch(), g))) == 3 * n.d_s * (n.d_in + n.d_s + 2));
      CHECK(count(parameters(Lstm(n.d_in, n.d_s, g))) == 4 * n.d_s * (n.d_in + n.d_s + 1));
    }
  }

  TEST_CASE("the counts of the scores are those of their formulas") {
    Generator g(1);
    const std::int64_t d_s = 4, d_h = 6, d_attn = 5;
    CHECK(count(parameters(Score(ScoreKind::dot, d_s, d_s, d_attn, g))) == 0);
    CHECK(count(parameters(Score(ScoreKind::cosine, d_s, d_s, d_attn, g))) == 0);
    CHECK(count(parameters(Score(ScoreKind::scaled_dot, d_s, d_s, d_attn, g))) == 0);
    CHECK(count(parameters(Score(ScoreKind::general, d_s, d_h, d_attn, g))) == d_s * d_h);
    CHECK(count(parameters(Score(ScoreKind::additive, d_s, d_h, d_attn, g))) == d_attn * (d_s + d_h + 1));
    CHECK(count(parameters(Score(ScoreKind::concat, d_s, d_h, d_attn, g))) == d_attn * (d_s + d_h + 1));
  }

  TEST_CASE("the counts of the decoders are those of their formulas") {
    Generator g(1);
    const auto [vocab, d_emb, d_s, d_h, d_attn] = sizes();
    const std::int64_t bridge = d_s * d_h / 2, additive = d_attn * (d_s + d_h + 1);
    auto gru = [](std::int64_t d_in, std::int64_t d) { return 3 * d * (d_in + d); };
    CHECK(count(parameters(BahdanauDecoder(sizes(), {}, g))) ==
          bridge + additive + gru(d_emb + d_h, d_s) + vocab * (d_s + d_emb + d_h + 1));
    CHECK(count(parameters(BahdanauDecoder(sizes(), {.layers = 2, .maxout = true}, g))) ==
          bridge + additive + gru(d_emb + d_h, d_s) + gru(d_s, d_s) + 2 * d_s * (d_s + d_emb + d_h) +
              vocab * (d_s + 1));
    CHECK(count(parameters(LuongDecoder(sizes(), {.score = ScoreKind::general}, g))) ==
          bridge + d_s * d_h + gru(d_emb + d_s, d_s) + d_s * (d_h + d_s) + vocab * (d_s + 1));
    CHECK(count(parameters(LuongDecoder(sizes(), {.score = ScoreKind::general, .input_feeding = false}, g))) ==
          bridge + d_s * d_h + gru(d_emb, d_s) + d_s * (d_h + d_s) + vocab * (d_s + 1));
    CHECK(count(parameters(PlainDecoder(sizes(), {}, g))) == d_s * d_h + gru(d_emb, d_s) + vocab * (d_s + d_emb + 1));
  }

  TEST_CASE("weights show the paper's shape: (out, in)") {
    Generator g(1);
    const BahdanauDecoder model(sizes(), {.maxout = true}, g);
    CHECK(model.bridge.W.shape() == Shape{4, 3});
    CHECK(model.score.W_a.shape() == Shape{5, 4});
    CHECK(model.score.U_a.shape() == Shape{5, 6});
    CHECK(model.score.v_a.shape() == Shape{5});
    CHECK(model.cell.gru[0].W.shape() == Shape{12, 9});
    CHECK(model.cell.gru[0].U.shape() == Shape{12, 4});
    CHECK(model.maxout.W.shape() == Shape{8, 13});
    CHECK(model.readout.W.shape() == Shape{9, 4});
    const LuongDecoder other(sizes(), {.score = ScoreKind::general}, g);
    CHECK(other.score.W_a.shape() == Shape{4, 6});
    CHECK(other.W_c.shape() == Shape{4, 10});
    CHECK(Score(ScoreKind::concat, 4, 6, 5, g).W_a.shape() == Shape{5, 10});
  }
}
