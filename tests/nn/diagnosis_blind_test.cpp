// Inputs that cannot tell: the diagnosis must say so and propose one that can, and never name by guess.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_examples.h"

using namespace gradus;
using namespace gradus::diagnosis;
using reference::Array;
using reference::Arrays;

namespace {

// What a trace holds, to be changed before it is diagnosed again.
Trace with(const Trace& trace, const std::function<void(Arrays&)>& change, const std::string& claim = "") {
  Arrays a = trace.arrays;
  change(a);
  Meta meta = trace.meta;
  meta.claims = claim;
  return make_trace(a, meta, trace.single);
}

void check_open(const std::string& what, const Verdict& v, std::vector<const char*> open) {
  CAPTURE(what);
  INFO(v.text());
  CHECK(v.code() == "");
  for (const char* field : open) {
    CAPTURE(field);
    CHECK(v.leaves_open(field));
  }
  for (const Open& o : v.open) {
    CHECK(!o.tell.en.empty());
    CHECK(!o.tell.zh.empty());
  }
}

}  // namespace

TEST_CASE("blind: the inputs on which published mistakes hide") {
  // One encoder position: every weight is 1.
  check_open("T_enc = 1", diagnose(make_example({.padded = false, .T_enc = 1}, {}, 1)),
             {"query", "energy", "axis", "normaliser", "mask"});
  // All lengths equal.
  check_open("no padding", diagnose(make_example({.padded = false}, {}, 2)), {"mask"});
  // A single step from one state: s_{t-1} and s_0 are one.
  check_open("one step", diagnose(make_example({.T_dec = 1}, {}, 3)), {"query"});
  // z saturated at 0 in the convention where it replaces: s_t = s_{t-1}, whatever the query is.
  {
    const Trace made = make_example({}, {{"update", "replaces"}}, 4);
    Arrays a = made.arrays;
    Array& s = a.at("s");
    for (std::size_t b = 0; b < s.dim(0); ++b)
      for (std::size_t t = 1; t < s.dim(1); ++t) s.set_row({b, t}, s.row({b, 0}));
    Arrays kept = {{"H", a.at("H")},     {"mask", a.at("mask")}, {"s", s},
                   {"W_a", a.at("W_a")}, {"U_a", a.at("U_a")},   {"v_a", a.at("v_a")}};
    Array alpha({s.dim(0), s.dim(1) - 1, a.at("H").dim(1)});
    for (std::size_t b = 0; b < s.dim(0); ++b)
      for (std::size_t t = 0; t + 1 < s.dim(1); ++t) alpha.set_row({b, t}, a.at("alpha").row({b, 0}));
    kept["alpha"] = alpha;
    check_open("latched state", diagnose(make_trace(kept)), {"query"});
    Meta meta;
    meta.claims = "luong2015";
    kept.erase("U_a");
    CHECK(diagnose(make_trace(kept, meta)).findings.size() > 0);  // no longer a scorer that fits: never named by guess
  }
  // A symmetric W_a looks the same both ways.
  {
    const Trace made = make_example({.attentional = true, .equal = true}, {{"score", "general"}}, 5);
    const Array W = made.arrays.at("W_a");
    const Trace symmetric = make_example({.attentional = true, .equal = true}, {{"score", "general"}}, 5);
    Arrays a = symmetric.arrays;
    for (std::size_t i = 0; i < W.dim(0); ++i)
      for (std::size_t j = 0; j < W.dim(1); ++j) a.at("W_a").at({i, j}) = i == j ? 1 : 0;
    // Weights for W_a = identity are dot products.
    const Array &s = a.at("s"), &H = a.at("H"), &mask = a.at("mask");
    Array& alpha = a.at("alpha");
    for (std::size_t b = 0; b < alpha.dim(0); ++b)
      for (std::size_t t = 0; t < alpha.dim(1); ++t) {
        double sum = 0;
        for (std::size_t i = 0; i < alpha.dim(2); ++i) {
          double e = 0;
          for (std::size_t k = 0; k < H.dim(2); ++k) e += s.at({b, t + 1, k}) * H.at({b, i, k});
          sum += alpha.at({b, t, i}) = mask.at({b, i}) != 0 ? std::exp(e) : 0;
        }
        for (std::size_t i = 0; i < alpha.dim(2); ++i) alpha.at({b, t, i}) /= sum;
      }
    Arrays kept = {{"H", H}, {"mask", mask}, {"s", s}, {"W_a", a.at("W_a")}, {"alpha", alpha}};
    check_open("W_a = identity", diagnose(make_trace(kept)), {"W_a"});
  }
  // All annotations equal: any weights give the same context, and scores do not differ.
  {
    const Trace made = make_example({.padded = false}, {}, 6);
    Arrays a = made.arrays;
    Array& H = a.at("H");
    for (std::size_t b = 0; b < H.dim(0); ++b)
      for (std::size_t i = 1; i < H.dim(1); ++i) H.set_row({b, i}, H.row({b, 0}));
    Arrays kept = {{"H", H}, {"s", a.at("s")}, {"W_a", a.at("W_a")}, {"U_a", a.at("U_a")}, {"v_a", a.at("v_a")}};
    Array alpha = a.at("alpha"), c = a.at("c");
    for (double& x : alpha.data) x = 1 / static_cast<double>(H.dim(1));
    for (std::size_t b = 0; b < c.dim(0); ++b)
      for (std::size_t t = 0; t < c.dim(1); ++t) c.set_row({b, t}, H.row({b, 0}));
    kept["alpha"] = alpha, kept["c"] = c;
    check_open("equal annotations", diagnose(make_trace(kept)), {"query", "sees", "scale", "sum", "values"});
  }
  // Batch of one: nothing leaks from row to row.
  CHECK(diagnose(make_example({.padded = false, .B = 1}, {}, 7)).code() == "");
  // h = 0 at the only step of a GRU without biases: the reset gate has nothing to reset.
  {
    Arrays a = make_example({.kind = TraceKind::recurrent, .biases = 0, .padded = false, .T_enc = 1}, {}, 8).arrays;
    a.erase("h0");
    const Array x = a.at("x"), W = a.at("W");
    Array& h = a.at("h");
    const std::size_t d = h.dim(2);
    for (std::size_t b = 0; b < h.dim(0); ++b)
      for (std::size_t k = 0; k < d; ++k) {
        double z = 0, n = 0;
        for (std::size_t j = 0; j < x.dim(2); ++j)
          z += W.at({d + k, j}) * x.at({b, 0, j}), n += W.at({2 * d + k, j}) * x.at({b, 0, j});
        h.at({b, 0, k}) = (1 - 1 / (1 + std::exp(-z))) * std::tanh(n);
      }
    a.erase("h_n");
    check_open("first step of a GRU", diagnose(make_trace(a)), {"reset"});
  }
}

TEST_CASE("blind: single formulas on the inputs where their published mistakes hide") {
  const auto one = [](double x) { return Array({}, {x}); };
  const auto softmax = [](std::vector<double> x) {
    double sum = 0;
    for (double& v : x) sum += v = std::exp(v);
    for (double& v : x) v /= sum;
    return x;
  };
  const double adam = -.1 * .5 / (.5 + 1e-8);  // from w = 0 with a constant gradient .5
  const struct {
    const char* what;
    Arrays arrays;
  } rows[] = {
      {"B39: one row", {{"b", Array({3})}, {"dY", Array({1, 3}, {1, 2, 3})}, {"db", Array({3}, {1, 2, 3})}}},
      {"B41: one prediction", {{"prediction", Array({1}, {2})}, {"target", Array({1}, {1})}, {"loss", one(1)}}},
      {"B44: the sum of all copies",
       {{"x_scalar", Array({1})}, {"dy", Array({3}, {1, 1, 1})}, {"dx", Array({1}, {3})}}},
      {"B45: used once", {{"uses", Array({1, 2}, {2, 5})}, {"grad", Array({2}, {2, 5})}}},
      {"B49: the first step",
       {{"w", one(3)}, {"grad", one(4)}, {"grad_before", one(0)}, {"lr", one(.1)}, {"w_new", one(2.6)}}},
      {"B50: no token twice",
       {{"x", Array({2})}, {"idx", Array({2}, {1, 0})}, {"dy", Array({2}, {1, 3})}, {"dx", Array({2}, {3, 1})}}},
      {"B51: times 1", {{"x", Array({1}, {.5})}, {"k", one(1)}, {"dx", Array({1}, {std::exp(.5)})}}},
      {"B57: used once", {{"w", one(2)}, {"grad_1", one(3)}, {"grad_2", one(0)}, {"lr", one(.1)}, {"w_new", one(1.7)}}},
      {"B64: small numbers", {{"x", Array({3}, {1, 2, .5})}, {"softmax", Array({3}, softmax({1, 2, .5}))}}},
      {"B66: uniform logits", {{"logits", Array({1, 3})}, {"targets", Array({1}, {0})}, {"loss", one(std::log(3.0))}}},
      {"B68: a gradient that is not zero",
       {{"grad", Array({2}, {3, 4})}, {"max_norm", one(1)}, {"clipped", Array({2}, {.6, .8})}}},
      {"B69: no tie", {{"x", Array({3}, {2, 3, 1})}, {"dy_max", one(1)}, {"dx", Array({3}, {0, 1, 0})}}},
      {"B74: a constant seed", {{"x", Array({2}, {1, 2})}, {"dy_softmax", Array({2}, {1, 1})}, {"dx", Array({2})}}},
      {"B85: a late step",
       {{"w", one(0)},
        {"grad", one(.5)},
        {"lr", one(.1)},
        {"t", one(50000)},
        {"m", one(.5)},
        {"v", one(.25)},
        {"w_new", one(adam)}}},
      {"B87: shorter than max_norm",
       {{"w", one(1)}, {"grad", one(.5)}, {"lr", one(.1)}, {"max_norm", one(1)}, {"w_new", one(.95)}}},
      {"B89: no decay", {{"w", one(0)}, {"grad", one(.5)}, {"lr", one(.1)}, {"t", one(1)}, {"w_new", one(adam)}}},
      {"B91: equal tokens", {{"decoder_input", Array({1, 3}, {2, 2, 2})}, {"labels", Array({1, 3}, {2, 2, 2})}}},
      {"B93 and B94: no padding",
       {{"logits", Array({1, 2, 2}, {0, 1, 2, 0})},
        {"targets", Array({1, 2}, {1, 0})},
        {"loss", one((std::log1p(std::exp(-1.0)) + std::log1p(std::exp(-2.0))) / 2)}}},
      {"B96: always forced", {{"forced", Array({2, 2}, {1, 1, 1, 1})}}},
      {"B111: parents that stay",
       {{"states", Array({2, 1}, {3, 4})}, {"parents", Array({2}, {0, 1})}, {"new_states", Array({2, 1}, {3, 4})}}},
      {"B112: equal lengths",
       {{"logp", Array({2}, {-2, -3})}, {"length", Array({2}, {4, 4})}, {"score", Array({2}, {-.5, -.75})}}},
      {"B115: the first step",
       {{"w", one(0)}, {"grad", one(.5)}, {"lr", one(.1)}, {"t", one(1)}, {"w_new", one(adam)}}},
      {"B117: a symmetric matrix",
       {{"W", Array({2, 2}, {1, 2, 2, 3})}, {"x", Array({2}, {1, 0})}, {"Wx", Array({2}, {1, 2})}}},
      {"B118: p = 0",
       {{"x", Array({2}, {1, 2})}, {"keep", Array({2}, {1, 1})}, {"p", one(0)}, {"y", Array({2}, {1, 2})}}},
      {"B119: equal runs, nobody knows why", {{"run_1", Array({3}, {1, 2, 3})}, {"run_2", Array({3}, {1, 2, 3})}}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    const Verdict v = diagnose(make_trace(row.arrays));
    INFO(v.text());
    CHECK(v.code() == "");
    CHECK(v.open.size() == 1);
    for (const Open& o : v.open) CHECK(!o.tell.zh.empty());
  }
  // Dropout with p = 1/2 would have made a dozen numbers equal once in 4,096 times.
  const Array dozen({12}, std::vector<double>(12, 1.0));
  CHECK(diagnose(make_trace({{"run_1", dozen}, {"run_2", dozen}, {"p", one(.5)}})).open.empty());
  CHECK(diagnose(make_trace({{"run_1", dozen}, {"run_2", dozen}, {"p", one(.01)}})).open.size() == 1);
}

TEST_CASE("blind: one step and one operand of any rank raise no alarm") {
  const auto judged = [](Arrays a) { return diagnose(make_trace(std::move(a))); };
  const auto number = [](double x) { return Array({}, {x}); };
  const Verdict step =
      judged({{"w", number(3)}, {"grad", number(4)}, {"lr", number(.1)}, {"w_new", number(2.6)}});  // 3 - .1 * 4
  CHECK_MESSAGE(step.code() == "", step.text());
  const Array dY({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  for (const Array& db : {Array({2}, {36, 42}), Array({3, 1}, {18, 26, 34}), Array({2, 1, 2}, {9, 12, 27, 30})}) {
    Array b = db;
    const Verdict right = judged({{"b", b}, {"dY", dY}, {"db", db}});
    CHECK_MESSAGE(right.code() == "", right.text());
    b.data.back() += 1;
    CHECK(judged({{"b", db}, {"dY", dY}, {"db", b}}).code() == "UNKNOWN");
  }
}

TEST_CASE("blind: several mistakes that give the same numbers are an alias class with all their names") {
  // A score that sees only the query, and one that sees only the keys, both are 0 for a dot product.
  const Verdict v = diagnose(make_example({.attentional = true}, {{"score", "dot"}, {"sees", "no_query"}}, 1));
  INFO(v.text());
  REQUIRE(!v.findings.empty());
  CHECK(v.findings[0].alias.size() == 2);
  CHECK(v.code() == "SCORE_IGNORES_KEYS|SCORE_IGNORES_QUERY");
  CHECK(!v.findings[0].tell.en.empty());
}

TEST_CASE("blind: partial traces give partial answers") {
  const Trace whole = make_example({}, {}, 1);
  const auto without = [&](std::vector<const char*> names) {
    return diagnose(with(
        whole,
        [&](Arrays& a) {
          for (const char* name : names) a.erase(name);
        },
        "bahdanau2014"));
  };
  const auto checks = [](const Verdict& v, const std::string& choice) {
    return std::count(v.choices.begin(), v.choices.end(), choice) == 1;
  };
  struct Row {
    std::vector<const char*> gone;
    std::vector<const char*> known;
    bool query_open;
  };
  const Row rows[] = {
      {{"alpha"}, {"query=s_prev", "axis=usual", "input=c_t"}, false},
      {{"c"}, {"query=s_prev", "input=c_t", "values=usual"}, false},
      {{"alpha", "c"}, {"query=s_prev", "input=c_t"}, false},
      {{"logits"}, {"query=s_prev", "input=c_t"}, false},
      {{"W", "U"}, {"query=s_prev", "sum=usual"}, false},
      {{"y_emb"}, {"query=s_prev", "sum=usual"}, false},
      {{"s", "W", "U", "b", "b_u", "W_o", "b_o", "y_emb", "logits"}, {"sum=usual"}, true},
      {{"W_o", "b_o", "logits", "c", "W", "U", "b", "b_u"}, {"query=s_prev"}, false},
  };
  for (const Row& row : rows) {
    std::string gone;
    for (const char* name : row.gone) gone += std::string(name) + " ";
    CAPTURE(gone);
    const Verdict v = without(row.gone);
    INFO(v.text());
    CHECK(v.code() == "");
    CHECK(v.checked);
    CHECK(v.leaves_open("query") == row.query_open);
    for (const char* choice : row.known) {
      CAPTURE(choice);
      CHECK(checks(v, choice));
    }
  }
  // Only the logits of a whole run: everything is found at once, from s_0 on.
  Arrays a = whole.arrays;
  Array s_0({a.at("s").dim(0), a.at("s").dim(2)});
  for (std::size_t b = 0; b < s_0.dim(0); ++b) s_0.set_row({b}, a.at("s").row({b, 0}));
  for (const char* name : {"s", "alpha", "c"}) a.erase(name);
  a["s_0"] = s_0;
  const Verdict blind = diagnose(make_trace(a));
  INFO(blind.text());
  CHECK(blind.code() == "");
  CHECK(checks(blind, "query=s_prev"));
}

TEST_CASE("blind: what fits no hypothesis is UNKNOWN, with the kind that its sums show") {
  const Trace whole = make_example({}, {}, 1);
  struct Row {
    const char* what;
    std::function<void(Arrays&)> spoil;
    Kind kind;
  };
  const Row rows[] = {
      {"weights that sum to 1 over the batch",
       [](Arrays& a) {
         Array& w = a.at("alpha");
         for (std::size_t t = 0; t < w.dim(1); ++t)
           for (std::size_t i = 0; i < w.dim(2); ++i) {
             double sum = 0;
             for (std::size_t b = 0; b < w.dim(0); ++b)
               sum += w.at({b, t, i}) = .1 + .01 * static_cast<double>((b * 7 + t * 3 + i * 5) % 11);
             for (std::size_t b = 0; b < w.dim(0); ++b) w.at({b, t, i}) /= sum;
           }
       },
       Kind::axis},
      {"weights on padding",
       [](Arrays& a) {
         Array& w = a.at("alpha");
         for (std::size_t b = 0; b < w.dim(0); ++b)
           for (std::size_t t = 0; t < w.dim(1); ++t) {
             double sum = 0;
             for (std::size_t i = 0; i < w.dim(2); ++i)
               sum += w.at({b, t, i}) = .2 + .03 * static_cast<double>((b * 5 + t * 7 + i * 3) % 13);
             for (std::size_t i = 0; i < w.dim(2); ++i) w.at({b, t, i}) /= sum;
           }
       },
       Kind::mask},
      {"weights that sum to nothing in particular",
       [](Arrays& a) {
         for (double& x : a.at("alpha").data) x *= x * x;
       },
       Kind::convention},
      {"a cell of another kind",
       [](Arrays& a) {
         for (double& x : a.at("s").data) x = .9 * x + .01;
       },
       Kind::gru},
      {"NaN in the contexts", [](Arrays& a) { a.at("c").data[3] = std::nan(""); }, Kind::numerics},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Verdict v = diagnose(with(whole, row.spoil));
    INFO(v.text());
    REQUIRE(v.find("UNKNOWN") != nullptr);
    const bool right = std::any_of(v.findings.begin(), v.findings.end(),
                                   [&](const Finding& f) { return f.code == "UNKNOWN" && f.kind == row.kind; });
    CHECK(right);
  }
}

TEST_CASE("blind: weights alone are judged by their sums") {
  const Trace whole = make_example({.padded = false}, {}, 1);
  const auto weights_only = [&](const std::function<void(Array&)>& change) {
    Arrays a = {{"H", whole.arrays.at("H")}, {"alpha", whole.arrays.at("alpha")}};
    change(a.at("alpha"));
    return diagnose(make_trace(a));
  };
  CHECK(weights_only([](Array&) {}).code() == "");
  CHECK(weights_only([](Array& w) {
          for (double& x : w.data) x = 1;
        }).code() == "SOFTMAX_AXIS_SINGLETON");
  CHECK(weights_only([](Array& w) {
          for (std::size_t b = 0; b < w.dim(0); ++b)
            for (std::size_t t = 0; t < w.dim(1); ++t)
              for (std::size_t i = 0; i < w.dim(2); ++i)
                w.at({b, t, i}) = (b + 1.0 + .1 * static_cast<double>(i % 2) * (b == 0) -
                                   .1 * static_cast<double>(i % 2) * (b == 1)) /
                                  6.0;
        }).code() == "SOFTMAX_AXIS_BATCH");
}

TEST_CASE("blind: a trace without attention is recognised as one, and soon") {
  // Weights and contexts are gone, and with them every parameter that they need: what is left reads words and states.
  for (const char* time : {"usual", "s_prev"}) {
    CAPTURE(time);
    const Trace made = make_example({.biases = 1}, {{"input", "none"}, {"readout", "s,y"}, {"readout_time", time}}, 5);
    const Verdict computed = diagnose(with(
        made, [](Arrays&) {}, "bahdanau2014"));
    CHECK(computed.code() == "CONTEXT_UNUSED");
    const Verdict none = diagnose(with(
        made,
        [](Arrays& a) {
          for (const char* name : {"alpha", "c", "W_a", "U_a", "v_a"}) a.erase(name);
        },
        "bahdanau2014"));
    INFO(none.text());
    CHECK(none.code() == "CONTEXT_UNUSED");
    CHECK(none.find("CONTEXT_UNUSED")->sentence.en.find("there is no attention") == 0);
    CHECK(none.tried < 10000);
    CHECK(none.find("CONTEXT_NOT_IN_CELL") == nullptr);
  }
  // Whatever it is, the search ends.
  Trace strange = make_example({.biases = 1}, {{"input", "none"}, {"readout", "s,y"}}, 6);
  strange.arrays["logits"].data[3] += 1;
  const Verdict unknown = diagnose(with(strange, [](Arrays& a) {
    for (const char* name : {"alpha", "c", "W_a", "U_a", "v_a"}) a.erase(name);
  }));
  CHECK(unknown.code() == "UNKNOWN");
  CHECK(unknown.tried < 400000);
  CHECK(unknown.work < 400'000'000);
}

TEST_CASE("blind: what nobody can name costs no more than what can be named") {
  const auto spoil = [](Trace trace, std::initializer_list<const char*> names) {
    for (const char* name : names)
      for (double& x : trace.arrays.at(name).data) x = .5 * x * x - .3 * x;  // of no model
    return diagnose(trace);
  };
  const Trace small = make_example({.gates = 4}, {}, 3);
  const Trace large = make_example({.gates = 4, .B = 8, .T_dec = 10, .T_enc = 12}, {}, 3);
  const Trace run = make_example({.kind = TraceKind::recurrent, .gates = 4, .directions = 2}, {}, 3);
  for (const Verdict& v :
       {spoil(small, {"s", "alpha", "c", "logits"}), spoil(large, {"s", "alpha", "c", "logits"}), spoil(run, {"h"})}) {
    CHECK(v.code() == "UNKNOWN");
    CHECK(v.work < 300'000'000);  // numbers computed
  }
  // Runs and decoders of the mutation exam that have no name; the searches of the first two went on longest.
  for (const std::string name :
       {"067_bilstm_SWAPVAR", "007_bahdanau_USEVAR", "027_luong_USEVAR", "061_bilstm_USEVAR"}) {
    CAPTURE(name);
    const Verdict v = diagnose(read_trace(GRADUS_SOURCE_ROOT "/tests/fixtures/mutation/" + name + ".safetensors"));
    CHECK(v.code() == "UNKNOWN");
    CHECK(v.work < 180'000'000);
  }
}

TEST_CASE("blind: an old context in the readout is named beside a readout of s_{t-1}") {
  const Verdict v = diagnose(make_example({}, {{"readout_time", "s_prev"}, {"readout_parts", "context_late"}}, 7));
  INFO(v.text());
  CHECK(v.code() == "READOUT_CONTEXT_LATE");
  CHECK(std::find(v.choices.begin(), v.choices.end(), "readout_time=s_prev") != v.choices.end());
}
