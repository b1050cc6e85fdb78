// The grammar of mistakes: its formulas give what the references give, and a mistake in any place of them is named.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_examples.h"
#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/grammar.h"
#include "nn/conventions/grammar_gradients.h"

using namespace gradus;
using namespace gradus::diagnosis;

namespace {

const std::string fixtures = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/grammar/";

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (char c : line) {
    if (c == '\t') cells.emplace_back();
    else cells.back() += c;
  }
  return cells;
}

std::string mistakes(const Verdict& v) {
  std::string codes;
  for (const Finding& f : v.findings)
    if (f.error) codes += (codes.empty() ? "" : "+") + f.code;
  return codes;
}

}  // namespace

TEST_CASE("grammar: mistakes that no table lists are named by the term that is wrong and by what it is instead") {
  std::ifstream table(fixtures + "cases.tsv");
  std::string line;
  std::getline(table, line);
  std::size_t models = 0;
  while (std::getline(table, line)) {
    const std::vector<std::string> row = cells_of(line);
    REQUIRE(row.size() == 6);
    CAPTURE(line);
    Options options;
    options.claim = row[2];
    const Verdict v = diagnose(read_trace(fixtures + row[0] + ".safetensors"), options);
    const std::string said = v.text();
    CHECK_MESSAGE(mistakes(v) == row[5], said);
    ++models;
  }
  CHECK(models >= 60);
}

TEST_CASE("grammar: numbers that are read off a trace of float32 lead to the same names") {
  const std::pair<const char*, const char*> rows[] = {{"gru_factor_seven_tenths", "GRU_STATE_FACTORS_SCALED"},
                                                      {"bahdanau_score_half_query", "ATTN_SCORE_PRODUCT_SCALED"},
                                                      {"bahdanau_cell_context_halved", "GRU_CONTEXT_SCALED"}};
  for (const auto& [name, code] : rows) {
    CAPTURE(name);
    Trace trace = read_trace(fixtures + name + ".safetensors");
    for (auto& [array, a] : trace.arrays)
      for (double& x : a.data) x = static_cast<double>(static_cast<float>(x));
    const Verdict v = diagnose(trace);
    const std::string said = v.text();
    CHECK_MESSAGE(mistakes(v) == code, said);
  }
}

TEST_CASE("grammar: every rule has words in both languages, and what it says is a formula") {
  std::set<std::string> codes;
  for (const Rule& rule : rules()) {
    CAPTURE(rule.code);
    const std::string en = rule.sentence.en, zh = rule.sentence.zh;
    CHECK(en.find('%') != std::string::npos);
    CHECK(zh.find('%') != std::string::npos);
    codes.insert(rule.code);
  }
  CHECK(codes.size() > 20);
  const Verdict v = diagnose(read_trace(fixtures + "gru_candidate_term_half.safetensors"));
  REQUIRE(v.findings.size() > 0);
  const Finding& f = v.findings.front();
  CHECK(f.sentence.en ==
        "in the candidate n, 0.5 * (U_n (r * s_{t-1})) stands where U_n (r * s_{t-1}) belongs: a factor too many");
  CHECK(f.sentence.zh == "在候选状态 n中，U_n (r * s_{t-1}) 的位置上写成了 0.5 * (U_n (r * s_{t-1}))：多了一个系数");
  CHECK(f.used.en == "n = tanh(W_n x_t + 0.5 * (U_n (r * s_{t-1})) + b_n)");
  CHECK(f.paper.en == "n = tanh(W_n x_t + U_n (r * s_{t-1}) + b_n)");
  CHECK(f.kind == Kind::gru);
}

namespace {

double off(const Formula& f, const Grid& g) {
  double most = 0;
  if (g.x.size() != f.wanted.data.size()) return 1e300;
  for (std::size_t k = 0; k < g.x.size(); ++k)
    if (f.counts.empty() || f.counts[k / f.wanted.dim(2)] != 0)
      most = std::max(most, std::fabs(g.x[k] - f.wanted.data[k]));
  return most;
}

Model model_of(const Choices& choices, const reference::Arrays& arrays, std::size_t gates) {
  Model m;
  if (gates == 4) m.decoder.cell = reference::LstmConvention{};
  if (gates == 1) m.decoder.cell = reference::ElmanConvention{};
  Choices all = choices;
  if (arrays.count("U")) all.emplace_back("biases", "usual");  // as many as there are
  for (const Field& field : fields())
    for (const auto& [name, id] : all)
      if (name == field.name) REQUIRE(find_option(field.name, id)->apply(m, arrays));
  return m;
}

}  // namespace

TEST_CASE("grammar: formulas give what the references give, read from the trace or written out") {
  const struct {
    Recipe recipe;
    Choices choices;
  } rows[] = {
      {{}, {{"score", "additive"}, {"gate_order", "rzn"}, {"update", "replaces"}, {"readout", "s,y,c"}}},
      {{},
       {{"score", "dot"},
        {"gate_order", "zrn"},
        {"reset", "after"},
        {"query", "s_t"},
        {"input", "c_prev"},
        {"readout", "s"}}},
      {{}, {{"score", "cosine"}, {"gate_order", "rzn"}, {"readout", "s,c"}}},
      {{.gates = 4}, {{"score", "scaled_dot"}, {"gate_order", "ifgo"}, {"readout", "s,y,c"}}},
      {{.gates = 4}, {{"score", "mlp"}, {"gate_order", "iofg"}, {"forget_bias", "one"}, {"readout", "c,s"}}},
      {{.gates = 1, .maxout = true}, {{"score", "concat"}, {"gate_order", "one"}, {"readout", "maxout"}}},
      {{.attentional = true},
       {{"score", "general"}, {"query", "s_t"}, {"gate_order", "rzn"}, {"input", "feeding"}, {"readout", "htilde"}}},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    CAPTURE(i);
    Trace trace = make_example(rows[i].recipe, rows[i].choices, 3 + i);
    const Model m = model_of(rows[i].choices, trace.arrays, rows[i].recipe.gates);
    for (const char* left_out : {"", "e", "alpha", "c"}) {
      CAPTURE(left_out);
      trace.arrays.erase(left_out);  // what is not in the trace is written out
      for (Stage stage :
           {Stage::score, Stage::weights, Stage::context, Stage::cell, Stage::attentional, Stage::readout}) {
        const Said name = name_of(stage);
        CAPTURE(name.en);
        Formula f;
        try {
          f = decoder_formula(m, trace.arrays, stage, true);
        } catch (const std::invalid_argument&) {
          const bool there = trace.arrays.count(stage == Stage::weights ? "alpha" : stage == Stage::context ? "c" : "");
          CHECK(!there);
          continue;
        }
        CHECK(off(f, evaluate(f.term, f.scene)) < 1e-12);
      }
    }
  }
  for (const std::size_t directions : {1, 2})
    for (const std::size_t gates : {1, 3, 4}) {
      CAPTURE(directions);
      CAPTURE(gates);
      const char* order = gates == 1 ? "one" : gates == 3 ? "rzn" : "ifgo";
      const Choices choices = {{"gate_order", order}};
      const Trace trace =
          make_example({.kind = TraceKind::recurrent, .gates = gates, .directions = directions}, choices, 9);
      const std::vector<Formula> formulas = run_formulas(model_of(choices, trace.arrays, gates), trace.arrays);
      CHECK(formulas.size() == directions);
      for (const Formula& f : formulas) CHECK(off(f, evaluate(f.term, f.scene)) < 1e-12);
    }
  Model heads;
  heads.decoder.attention.score.score = reference::Score::scaled_dot;
  heads.heads.heads = 2;
  Trace trace = make_example({.kind = TraceKind::multi_head}, {}, 5);
  for (const bool averaged : {false, true}) {
    if (averaged) trace.arrays.erase("alpha");
    const std::vector<Formula> formulas = head_formulas(heads, trace.arrays);
    CHECK(formulas.size() == (averaged ? 1 : 2));
    for (const Formula& f : formulas) CHECK(off(f, evaluate(f.term, f.scene)) < 1e-12);
  }
}

TEST_CASE("grammar: where few numbers are there, nothing is called by a name that they happen to fit") {
  Trace trace = read_trace(fixtures + "gru_candidate_term_half.safetensors");
  for (const char* name : {"x", "h"}) {  // one step of one example
    reference::Array& a = trace.arrays.at(name);
    a = reference::Array({1, 1, a.dim(2)},
                         reference::Vec(a.data.begin(), a.data.begin() + static_cast<std::ptrdiff_t>(a.dim(2))));
  }
  reference::Array& h0 = trace.arrays.at("h0");
  h0 = reference::Array({1, 1, h0.dim(2)},
                        reference::Vec(h0.data.begin(), h0.data.begin() + static_cast<std::ptrdiff_t>(h0.dim(2))));
  const Verdict v = diagnose(trace);
  INFO(v.text());
  CHECK(v.code() == "UNKNOWN");
}

TEST_CASE("grammar: the right backward through formulas agrees with central differences of the references") {
  const struct {
    Recipe recipe;
    Choices choices;
    std::vector<const char*> outputs;
  } rows[] = {
      {{}, {{"score", "additive"}, {"gate_order", "rzn"}, {"update", "replaces"}, {"readout", "s,y,c"}}, {"logits"}},
      {{}, {{"score", "cosine"}, {"gate_order", "rzn"}, {"reset", "after"}, {"readout", "s"}}, {"logits", "s"}},
      {{.gates = 4}, {{"score", "dot"}, {"gate_order", "ifgo"}, {"readout", "s,c"}}, {"logits", "alpha"}},
      {{.gates = 1, .maxout = true}, {{"score", "concat"}, {"gate_order", "one"}, {"readout", "maxout"}}, {"logits"}},
      {{.attentional = true},
       {{"score", "general"}, {"query", "s_t"}, {"gate_order", "rzn"}, {"input", "feeding"}, {"readout", "htilde"}},
       {"logits"}},
      {{.kind = TraceKind::recurrent, .directions = 2}, {{"gate_order", "rzn"}}, {"h", "h_n"}},
      {{.kind = TraceKind::recurrent, .gates = 4}, {{"gate_order", "ifgo"}}, {"h", "c_n"}},
      {{.kind = TraceKind::multi_head}, {}, {"output", "alpha"}},
  };
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    CAPTURE(i);
    const Trace trace = make_example(rows[i].recipe, rows[i].choices, 20 + i);
    Model m = model_of(rows[i].choices, trace.arrays, rows[i].recipe.gates);
    m.heads.heads = 2;
    if (trace.kind == TraceKind::multi_head) m.decoder.attention.score.score = reference::Score::scaled_dot;
    if (trace.arrays.count("W_c")) m.decoder.attentional = {reference::c_t, reference::s_t};
    reference::Arrays inputs = trace.arrays, seeds;
    if (trace.kind == TraceKind::decoder)
      for (const char* made : {"s", "alpha", "c", "e", "htilde", "logits", "m"}) inputs.erase(made);
    const reference::Arrays out = whole_forward(trace.kind, m, inputs);
    std::mt19937_64 draw(i);
    std::normal_distribution<double> normal;
    for (const char* output : rows[i].outputs) {
      seeds[output] = reference::get(out, output);
      for (double& x : seeds[output].data) x = normal(draw);
    }
    const auto loss = [&](const reference::Arrays& at) {
      const reference::Arrays made = whole_forward(trace.kind, m, at);
      double sum = 0;
      for (const auto& [name, g] : seeds)
        for (std::size_t k = 0; k < g.data.size(); ++k) sum += g.data[k] * reference::get(made, name).data[k];
      return sum;
    };
    const auto as_named = [](const std::string& name) { return std::vector<std::string>{name}; };
    const BackwardCase backward{trace.kind, &m, &inputs, &out, &seeds, &inputs, as_named, 1e-7};
    const reference::Arrays exact = right_gradients(backward);
    REQUIRE(exact.size() > 3);
    for (const auto& [name, g] : exact) {
      if (name == "mask" || name == "y_mask" || seeds.count(name)) continue;
      CAPTURE(name);
      for (std::size_t k = 0; k < g.data.size(); k += 1 + g.data.size() / 6) {
        reference::Arrays at = inputs;
        double& x = at.at(name).data[k];
        const double kept = x, step = 1e-5;
        x = kept + step;
        const double above = loss(at);
        x = kept - step;
        const double difference = (above - loss(at)) / (2 * step);
        CHECK(std::abs(g.data[k] - difference) <= 1e-8 + 1e-6 * std::abs(difference));
      }
    }
  }
}
