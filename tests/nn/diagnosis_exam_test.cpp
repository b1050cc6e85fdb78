// The exams: models with planted mistakes, and correct ones, made by people who had not read the library. What is
// planted stands in exam.tsv of tests/fixtures/exam, exam2 to exam18, what was answered at first in first_run.tsv.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_examples.h"
#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/grammar_search.h"
#include "nn/formats/json.h"
#include "tests/nn/chinese.h"

using namespace gradus;
using namespace gradus::diagnosis;
using reference::Array;
using reference::Arrays;

namespace {

const std::string exam = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam/";
const std::string exam2 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam2/";
const std::string exam3 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam3/";
const std::string exam4 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam4/";
const std::string exam5 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam5/";
const std::string exam6 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam6/";
const std::string exam7 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam7/";
const std::string exam8 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam8/";
const std::string exam9 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam9/";
const std::string exam10 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam10/";
const std::string exam11 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam11/";
const std::string exam12 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam12/";
const std::string exam13 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam13/";
const std::string exam14 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam14/";
const std::string exam15 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam15/";
const std::string exam16 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam16/";
const std::string exam17 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam17/";
const std::string exam18 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam18/";
const std::string right = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/right/";
// No exam: one case of every kind of mistake that had no name yet, planted by make_kinds.py.
const std::string kinds = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/kinds/";

std::string file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Verdict of(const std::string& name, const std::string& claim, const std::string& directory = exam) {
  Options options;
  options.claim = claim;
  return diagnose(read_trace(directory + name), options);
}

std::set<std::string> mistakes(const Verdict& v) {
  std::set<std::string> codes;
  for (const Finding& f : v.findings)
    if (f.error) codes.insert(f.code);
  return codes;
}

}  // namespace

TEST_CASE("diagnosis exam: every planted mistake is named, nothing else is, and correct models raise no alarm") {
  const std::pair<std::string, std::size_t> exams[] = {
      {exam, 50},   {exam2, 14},  {exam3, 13},  {exam4, 16},  {exam5, 16},  {exam6, 16},  {exam7, 16},
      {exam8, 16},  {exam9, 16},  {exam10, 16}, {exam11, 16}, {exam12, 17}, {exam13, 39}, {exam14, 65},
      {exam15, 27}, {exam16, 57}, {exam17, 41}, {exam18, 74}, {kinds, 91}};
  for (const auto& [directory, models] : exams) {
    const Json expected = parse_json(file(directory + "expected.json"));
    REQUIRE(expected.as_object().size() == models);
    for (const auto& entry : expected.as_object()) {
      const std::string name = entry.first;
      CAPTURE(name);
      std::set<std::string> wanted;
      for (const Json& code : entry.second.at("codes").as_array()) wanted.insert(code.as_string());
      const Verdict v = of(name, entry.second.at("claims").as_string(), directory);
      const std::string said = v.text();
      CHECK_MESSAGE(mistakes(v) == wanted, said);
      CHECK(v.exit_status() == (wanted.empty() ? 0 : 1));
      testing::check_chinese(v.text(Lang::zh));
      std::size_t errors = 0;
      for (const Finding& f : v.findings) {
        errors += f.error;
        CHECK((f.used.empty() || f.used.en != f.paper.en));  // that says nothing
      }
      CHECK(errors == wanted.size());  // once each, however many arrays show it
      CHECK(v.work < 150'000'000);     // numbers computed, about a nanosecond each when it was limited
    }
  }
  const Finding* halves = nullptr;
  const Verdict renumbered = of("maxout_halves.safetensors", "bahdanau2014", exam2);
  REQUIRE((halves = renumbered.find("MAXOUT_HALVES")));
  CHECK(!halves->error);
  // No paper says what is fed first: without a claim no first vector is a mistake, and its gradients are checked.
  const Verdict fed = of("probe_q04_luong_htilde0_is_s0_grads.safetensors", "", exam18);
  CHECK(fed.code() == "");
  CHECK(fed.text().find("12 gradients agree") != std::string::npos);
  // What is said of a GRU alone is not said of an LSTM; of masks that nobody applies no other input tells more.
  const Verdict lstm = of("02_lstm_keras.safetensors", "keras_reset_after", exam18);
  CHECK(lstm.text().find("the claim (Keras) says otherwise") != std::string::npos);
  CHECK(of("probe_q05_heads_no_mask.safetensors", "vaswani2017", exam18).text().find("cannot tell") ==
        std::string::npos);
}

// Drawn at random in PyTorch and NumPy; each was accused, or refused, when it was first seen.
TEST_CASE("diagnosis exam: right models that were accused once are not, and none is refused") {
  std::istringstream lines(file(right + "right.tsv"));
  std::string name, claim, what;
  std::getline(lines, name);  // the head
  std::size_t models = 0;
  while (std::getline(lines, name, '\t') && std::getline(lines, claim, '\t') && std::getline(lines, what)) {
    CAPTURE(name);
    CAPTURE(what);
    const Verdict v = of(name + ".safetensors", claim, right);
    const std::string said = v.text();
    CHECK_MESSAGE(v.code() == "", said);
    testing::check_chinese(v.text(Lang::zh));
    ++models;
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(right)) files += entry.path().extension() != ".tsv";
  CHECK(models == files);
  CHECK(models > 0);
}

TEST_CASE("diagnosis exam: whatever a masked step of an LSTM makes of its state has a name, and keeping it has none") {
  using State = reference::CellState;
  const auto zeros = [](const reference::Vec& v) { return reference::Vec(v.size()); };
  struct Row {
    std::string code, used;
    reference::RunConvention::MaskedStep step;
  };
  const std::vector<Row> rows = {
      {"", "", [](const State& before, const State&, const State&) { return before; }},
      {"MASKED_STEP_CLEARS", "s_t = 0",
       [&](const State& b, const State&, const State&) {
         return State{zeros(b.h), zeros(b.c)};
       }},
      {"MASKED_STEP_RESTARTS", "s_t = s_0", [](const State&, const State&, const State& first) { return first; }},
      {"MASKED_STEP_CLEARS", "h_t = 0, c_t = c_{t-1}",
       [&](const State& b, const State&, const State&) {
         return State{zeros(b.h), b.c};
       }},
      {"MASKED_STEP_CLEARS", "h_t = 0, c_t of the cell",
       [&](const State& b, const State& read, const State&) {
         return State{zeros(b.h), read.c};
       }},
      {"MASKED_STEP_CLEARS", "h_t = h_{t-1}, c_t = 0",
       [&](const State& b, const State&, const State&) {
         return State{b.h, zeros(b.c)};
       }},
      {"MASKED_STEP_KEEPS_HALF", "h_t = h_{t-1}, c_t of the cell",
       [](const State& b, const State& read, const State&) {
         return State{b.h, read.c};
       }},
      {"MASKED_STEP_KEEPS_HALF", "h_t of the cell, c_t = c_{t-1}",
       [](const State& b, const State& read, const State&) {
         return State{read.h, b.c};
       }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.used);
    Arrays a = make_example({.kind = TraceKind::recurrent, .gates = 4, .biases = 1}, {}, 5).arrays;
    Array& mask = a.at("mask");
    for (std::size_t b = 0; b < mask.dim(0); ++b)
      for (std::size_t t = 0; t < mask.dim(1); ++t) mask.at({b, t}) = (b + t) % 3 != 1;  // holes, and both ends
    const auto start = [&](const char* name) {
      const Array& all = a.at(name);
      return Array({all.dim(1), all.dim(2)}, all.data);
    };
    const Array h0 = start("h0"), c0 = start("c0");
    reference::RunConvention run;
    run.real = &mask, run.masked_step = row.step;
    const reference::Run made =
        run_sequence(reference::LstmConvention{}, run, reference::cell_weights(a), a.at("x"), {}, &h0, &c0);
    a.at("h") = made.h;
    for (const auto& [name, state] : {std::pair("h_n", &made.final_h), std::pair("c_n", &made.final_c)})
      a[name] = Array({1, state->dim(0), state->dim(1)}, state->data);
    const Verdict v = diagnose(make_trace(a));
    INFO(v.text());
    CHECK(mistakes(v) == (row.code.empty() ? std::set<std::string>{} : std::set<std::string>{row.code}));
    const Finding* f = v.find(row.code);
    if (!row.code.empty()) CHECK((f && f->used.en.rfind(row.used, 0) == 0));
  }
}

TEST_CASE("diagnosis exam: a number read off a trace is called by the size that it is") {
  const Verdict v = of("04.safetensors", "luong2015", exam4);
  REQUIRE(v.find("SCALE_OTHER"));
  CHECK(v.find("SCALE_OTHER")->sentence.en.find("which is sqrt(d_h)") != std::string::npos);
}

TEST_CASE("diagnosis exam: an activation that a framework once had is a mistake under a claim, and none without one") {
  CHECK(of("11.safetensors", "keras_reset_before", exam4).find("GATE_HARD_SIGMOID")->error);
  CHECK(of("11.safetensors", "onnx_lbr0", exam4).exit_status() == 0);  // where it is an option
}

TEST_CASE("diagnosis exam: one score in two ways of keeping its matrix is one function, noted and no mistake") {
  const Verdict blocks = of("14.safetensors", "luong2015", exam5);
  REQUIRE(blocks.find("SCORE_ADDITIVE"));
  CHECK(!blocks.find("SCORE_ADDITIVE")->error);
  Trace one = read_trace(exam5 + "15.safetensors");  // and the other way round
  one.meta.claims = "bahdanau2014";
  Array &W = one.arrays.at("W_a"), &U = one.arrays.at("U_a");
  Array joined({W.dim(0), W.dim(1) + U.dim(1)});
  for (std::size_t r = 0; r < W.dim(0); ++r)
    joined.set_row({r}, reference::join(reference::copy(W.row({r})), U.row({r})));
  W = joined;
  one.arrays.erase("U_a");
  const Verdict v = diagnose(one);
  INFO(v.text());
  REQUIRE(v.find("SCORE_CONCAT"));
  CHECK(!v.find("SCORE_CONCAT")->error);
  CHECK(mistakes(v) == std::set<std::string>{"MEMORY_OTHER_EXAMPLE"});
}

TEST_CASE("diagnosis exam: whichever row of the batch is read, the row is found") {
  const Verdict beams = of("15.safetensors", "bahdanau2014", exam5);
  REQUIRE(beams.find("MEMORY_OTHER_EXAMPLE"));
  const std::string said = beams.find("MEMORY_OTHER_EXAMPLE")->sentence.en;
  CHECK(said.find("row 0 from 0, 1 from 2, 2 from 4, 3 from 0, 4 from 2, 5 from 5") != std::string::npos);
  CHECK(said.find("repeat for repeat_interleave") != std::string::npos);
  // Sentences that differ, rows 1, 2 and 3 moved on by one.
  Trace right = read_trace(exam + "c1_bahdanau.safetensors");
  const std::size_t B = right.arrays.at("H").dim(0);
  REQUIRE(B >= 3);
  for (const char* name : {"H", "mask"}) {
    Array& a = right.arrays.at(name);
    const std::size_t n = a.data.size() / B;
    std::rotate(a.data.begin(), a.data.begin() + static_cast<std::ptrdiff_t>(n),
                a.data.begin() + static_cast<std::ptrdiff_t>(2 * n));
  }
  const Verdict v = diagnose(right);
  INFO(v.text());
  REQUIRE(v.find("MEMORY_OTHER_EXAMPLE"));
  CHECK(v.find("MEMORY_OTHER_EXAMPLE")->sentence.en.find("row 0 from 1, 1 from 0, 2 from 2") != std::string::npos);
}

TEST_CASE("diagnosis exam: a framework's name is a claim, by what the parameters say") {
  Trace keras = read_trace(exam7 + "case05.safetensors");
  const Verdict two = diagnose(keras, {.claim = "keras"});
  CHECK(two.claim == "keras_reset_after");
  CHECK(std::any_of(two.notes.begin(), two.notes.end(),
                    [](const Words& w) { return w.en == "the claim keras is taken for keras_reset_after"; }));
  keras.arrays.erase("b_u");  // one bias: reset_after=False
  CHECK(diagnose(keras, {.claim = "keras"}).claim == "keras_reset_before");
  CHECK(parse_meta("{\"claim\": \"keras\"}").claims == "keras");
  CHECK(parse_meta("{\"claim\": \"keras\"}").ignored.empty());
  CHECK_THROWS(diagnose(keras, {.claim = "kerras"}));
  // ONNX's attribute is a claim; without it either kind is meant, and the numbers tell which.
  Trace onnx = read_trace(right + "onnx_of_either_kind.safetensors");
  CHECK(diagnose(onnx, {.claim = "onnx"}).claim == "onnx_lbr1");
  onnx.meta.linear_before_reset = false;
  CHECK(diagnose(onnx, {.claim = "onnx"}).code() == "GRU_RESET_AFTER");
  CHECK(diagnose(read_trace(right + "keras_of_either_kind.safetensors"), {.claim = "keras"}).claim ==
        "keras_reset_before");
}

TEST_CASE("diagnosis exam: TensorFlow's forget bias on the wrong gates") {
  const std::string order = "ifgo";
  for (const std::string gates : {"i", "g", "o", "ifgo"})
    for (const char* claim : {"tensorflow1", "pytorch"}) {
      // The run had b; the file says b - 1 in the blocks of these gates.
      Trace trace = make_example({.kind = TraceKind::recurrent, .gates = 4, .biases = 1}, {}, 3);
      trace.meta.gate_order = order;
      Array& b = trace.arrays.at("b");
      const std::size_t d = b.data.size() / order.size();
      for (const char gate : gates)
        for (std::size_t k = 0; k < d; ++k) b.data[order.find(gate) * d + k] -= 1;
      const Verdict v = diagnose(trace, {.claim = claim});
      INFO(v.text());
      CAPTURE(gates);
      const bool all = gates == order;
      const Finding* f = v.find(all ? "LSTM_FORGET_BIAS_EVERYWHERE" : "LSTM_FORGET_BIAS_OTHER_GATE");
      REQUIRE(f);
      if (!all) CHECK(f->used.en.substr(0, 2) == gates + " ");
    }
}

TEST_CASE("diagnosis exam: an LSTM's own memory in the file explains nothing, and is not called so") {
  // A mistake that no rule makes: the bias of g is another one at each unit. h = o tanh(c) holds all the same.
  const Trace right = make_example({.kind = TraceKind::recurrent, .gates = 4, .biases = 1, .padded = false}, {}, 3);
  Arrays raw = right.arrays;
  const Array x = raw.at("x");
  const std::size_t B = x.dim(0), T = x.dim(1), d = raw.at("U").dim(1);
  Arrays wrong = raw;
  for (std::size_t k = 0; k < d; ++k) wrong.at("b").data[2 * d + k] += std::sin(1.0 + static_cast<double>(k * k));
  const reference::CellWeights weights = reference::cell_weights(wrong);
  Array h({B, T, d}), c({B, T, d});
  for (std::size_t b = 0; b < B; ++b) {
    reference::CellState state{reference::Vec(d, .3), reference::Vec(d, -.2)};
    for (std::size_t t = 0; t < T; ++t) {
      state = reference::lstm_step(reference::keras_lstm(), weights, x.row({b, t}), state);
      h.set_row({b, t}, state.h), c.set_row({b, t}, state.c);
    }
  }
  for (const char* name : {"h_n", "c_n", "mask"}) raw.erase(name);
  raw["h0"] = Array({1, B, d}, reference::Vec(B * d, .3)), raw["c0"] = Array({1, B, d}, reference::Vec(B * d, -.2));
  raw["h"] = h, raw["c"] = c;
  const Verdict v = diagnose(make_trace(raw), {.claim = "keras_reset_after"});
  INFO(v.text());
  CHECK(v.code() == "UNKNOWN");

  // Where the search is given it in spite of that, c_t in the place of c_t is no answer.
  Model model;
  model.decoder.cell = reference::keras_lstm();
  const auto with_memory = [&](const Model& m, bool) {
    std::vector<Formula> formulas = run_formulas(m, raw);
    Arrays arrays = *formulas[0].scene.arrays;
    arrays["c"] = c;
    formulas[0].scene.arrays = std::make_shared<const Arrays>(arrays);
    return formulas;
  };
  for (const Finding& f : explain({{0, model}}, with_memory, {}).findings) {
    CAPTURE(f.sentence.en);
    CHECK(f.used.en != f.paper.en);
    CHECK(f.fix.en.find("write c_t there, not c_t") == std::string::npos);
  }
}

TEST_CASE("diagnosis exam: whatever one number stands behind the ends is a remark") {
  for (const double value : {-7.0, std::nan(""), -HUGE_VAL}) {
    Trace made = make_example({.kind = TraceKind::recurrent, .gates = 4}, {}, 4);
    Arrays raw = made.arrays;
    Array& h = raw.at("h");
    const Array& mask = raw.at("mask");
    const std::size_t d = h.dim(2);
    double* last = nullptr;
    for (std::size_t k = 0; k < h.data.size(); ++k)
      if (mask.data[k / d] == 0) last = &h.data[k], *last = value;
    REQUIRE(last);
    const Verdict v = diagnose(make_trace(raw));
    INFO(v.text());
    CHECK(v.exit_status() == 0);
    CHECK(v.follows.en.find(", a padding value") != std::string::npos);
    CHECK(v.follows.en.find("behind the end are 0") == std::string::npos);
    *last = 3;  // two numbers: nobody reads them, and they are not called 0
    const Verdict two = diagnose(make_trace(raw));
    CHECK(two.exit_status() == 0);
    CHECK(two.follows.en.find("outputs behind the end are not compared") != std::string::npos);
  }
}

TEST_CASE("diagnosis exam: ONNX's names without the axis of directions") {
  const Trace made = make_example({.kind = TraceKind::recurrent, .padded = false}, {}, 6);
  const Arrays& a = made.arrays;
  Array both({2, a.at("b").data.size()});
  both.set_row({0}, a.at("b").data), both.set_row({1}, a.at("b_u").data);
  for (const bool flat : {false, true}) {
    Arrays raw = {{"X", a.at("x")}, {"W", a.at("W")}, {"R", a.at("U")}, {"B", both}, {"Y", a.at("h")}};
    if (a.count("h0")) raw["initial_h"] = a.at("h0");
    if (flat) raw["B"].shape = {both.data.size()};
    const Trace read = make_trace(raw);
    CHECK(read.framework == "ONNX");
    for (const char* name : {"W", "U", "b", "b_u"}) CHECK(read.arrays.at(name).data == a.at(name).data);
    CHECK(diagnose(read).exit_status() == 0);
  }
}

TEST_CASE("diagnosis exam: a masked step anywhere keeps the state") {
  // A right run over the real positions, read from a file whose rows have padding in front and a hole.
  const Trace packed = make_example({.kind = TraceKind::recurrent, .padded = false, .B = 2}, {}, 4);
  const std::size_t T = packed.arrays.at("x").dim(1), d = packed.arrays.at("h").dim(2),
                    d_in = packed.arrays.at("x").dim(2);
  for (const bool held : {true, false}) {
    Arrays raw;
    for (const auto& [name, a] : packed.arrays)
      if (name != "h_n" && name != "mask") raw[name] = a;
    Array x({2, T + 2, d_in}), h({2, T + 2, d}), mask({2, T + 2});
    for (std::size_t b = 0; b < 2; ++b) {
      std::size_t from = 0;
      for (std::size_t t = 0; t < T + 2; ++t) {
        const bool real = b == 0 ? t >= 2 : t != 1 && t != 3;
        mask.at({b, t}) = real;
        for (std::size_t k = 0; k < d_in; ++k) x.at({b, t, k}) = real ? packed.arrays.at("x").at({b, from, k}) : 7;
        for (std::size_t k = 0; k < d; ++k)
          h.at({b, t, k}) = real               ? packed.arrays.at("h").at({b, from, k})
                            : held && from > 0 ? packed.arrays.at("h").at({b, from - 1, k})
                                               : 0;
        from += real;
      }
    }
    raw["x"] = x, raw["h"] = h, raw["mask"] = mask;
    const Verdict v = diagnose(make_trace(raw));
    INFO(v.text());
    CHECK(v.exit_status() == 0);
    raw["h"].at({0, 3, 0}) += .1;
    CHECK(diagnose(make_trace(raw)).exit_status() != 0);
  }
}

TEST_CASE("diagnosis exam: blocks of one parameter in another order of gates than the others") {
  for (const std::size_t gates : {3u, 4u})
    for (const std::vector<const char*>& names : std::vector<std::vector<const char*>>{{"b", "b_u"}, {"U"}, {"W"}}) {
      Trace trace = make_example({.kind = TraceKind::recurrent, .gates = gates}, {}, 5);
      trace.meta.gate_order = gates == 3 ? "r,z,n" : "i,f,g,o";
      for (const char* name : names) {  // the file has the first two gates exchanged
        Array& a = trace.arrays.at(name);
        const auto block = static_cast<std::ptrdiff_t>(a.data.size() / gates);
        std::swap_ranges(a.data.begin(), a.data.begin() + block, a.data.begin() + block);
      }
      const Verdict v = diagnose(trace);
      INFO(v.text());
      CHECK(v.code() == "GATE_ORDER_DIFFERS");
      REQUIRE(v.find("GATE_ORDER_DIFFERS"));
      CHECK(v.find("GATE_ORDER_DIFFERS")->used.en.find(gates == 3 ? "gates z, r, n" : "gates f, i, g, o") !=
            std::string::npos);
    }
}

TEST_CASE("diagnosis exam: a finding about gradients calls them as the file does") {
  const Verdict one = of("a22_gradient.safetensors", "pytorch");
  REQUIRE(one.find("GRAD_OVERWRITE"));
  CHECK(one.find("GRAD_OVERWRITE")->where.en == "the gradients of b_ih, b_hh");
  const Verdict gates = of("b01_carry.safetensors", "bahdanau2014");
  REQUIRE(gates.find("CARRY_DETACHED"));
  CHECK(gates.find("CARRY_DETACHED")->where.en.find("U_r, U_z, U_n") != std::string::npos);
}

TEST_CASE("diagnosis exam: what one group of stages tells is not called open by another") {
  const Verdict with_scores = of("c1_bahdanau.safetensors", "bahdanau2014");
  for (const char* field : {"energy", "scale", "query"}) {
    CAPTURE(field);
    CHECK(!with_scores.leaves_open(field));
  }
  CHECK(!of("c3_luong.safetensors", "luong2015").leaves_open("values"));
  CHECK(of("a05_score.safetensors", "luong2015").leaves_open("query"));  // it cancels in the softmax there
}

TEST_CASE("diagnosis exam: what fits nowhere is not called open, and how sure speaks of it alone") {
  Trace trace = read_trace(exam2 + "tanh_closes_early.safetensors");
  for (double& e : trace.arrays.at("e").data) e += .3;  // the weights go with these scores still
  const Verdict v = diagnose(trace);
  INFO(v.text());
  REQUIRE(v.find("UNKNOWN"));
  for (const char* field : {"energy", "scale", "query"}) {
    CAPTURE(field);
    CHECK(!v.leaves_open(field));
  }
  CHECK(v.text().find("how sure: no hypothesis gives the scores (e), the nearest differs by") != std::string::npos);
  CHECK(v.text().find("inf") == std::string::npos);
}

TEST_CASE("diagnosis exam: of heads that nothing explains, the axis is read off the weights, or the side that fails") {
  Trace by_heads = read_trace(exam2 + "softmax_over_heads.safetensors");
  Array& alpha = by_heads.arrays.at("alpha");
  for (std::size_t k = 0, n = alpha.data.size() / alpha.dim(0) / 2; k < alpha.data.size(); ++k)
    alpha.data[k] += k / n % 2 ? .01 : -.01;
  const Verdict of_axis = diagnose(by_heads);
  INFO(of_axis.text());
  REQUIRE(of_axis.find("UNKNOWN"));
  CHECK(of_axis.find("UNKNOWN")->kind == Kind::axis);
  CHECK(of_axis.find("UNKNOWN")->sentence.en.find("over the heads") != std::string::npos);
  for (const bool weights : {false, true}) {
    Trace trace = read_trace(exam2 + "right_heads.safetensors");
    if (weights) std::swap(trace.arrays.at("alpha").data[0], trace.arrays.at("alpha").data[1]);
    else trace.arrays.at("output").data[0] += .5;
    const Verdict v = diagnose(trace);
    INFO(v.text());
    REQUIRE(v.find("UNKNOWN"));
    CHECK(v.find("UNKNOWN")->sentence.en.find(weights ? "the weights disagree already" : "the weights agree") !=
          std::string::npos);
  }
}

TEST_CASE("diagnosis exam: unknown weights that sum to 1 over several axes together are a matter of the axis") {
  const struct {
    bool by_step;
    const char* said;
  } rows[] = {{true, "of a step sum to 1 over the whole batch"}, {false, "of an example sum to 1 over all its steps"}};
  for (const auto& row : rows) {
    Trace trace = read_trace(exam3 + "04.safetensors");
    Array& alpha = trace.arrays.at("alpha");
    const std::size_t B = alpha.dim(0), T = alpha.dim(1), n = alpha.dim(2);
    for (std::size_t b = 0; b < B; ++b)
      for (std::size_t t = 0; t < T; ++t)
        for (std::size_t i = 0; i < n; ++i)
          alpha.at({b, t, i}) = i == (b + t) % n ? 1 / static_cast<double>(row.by_step ? B : T) : 0;
    const Verdict v = diagnose(trace);
    INFO(v.text());
    REQUIRE(v.find("UNKNOWN"));
    CHECK(v.find("UNKNOWN")->kind == Kind::axis);
    CHECK(v.find("UNKNOWN")->sentence.en.find(row.said) != std::string::npos);
  }
}

TEST_CASE("diagnosis exam: of the two ways into the annotations, the one that the gradient lacks is named") {
  Trace trace = read_trace(exam3 + "10.safetensors");
  CHECK(diagnose(trace).code() == "KEYS_DETACHED");
  Model m;
  m.decoder = reference::bahdanau2014_maxout();
  m.decoder.readout = {reference::s_t, reference::y_emb, reference::c_t};
  std::get<reference::GruConvention>(m.decoder.cell).biases = reference::Biases::one;
  reference::Arrays at = trace.arrays;
  for (const char* name : {"s", "alpha", "c", "logits"}) at.erase(name);
  const Array seed = trace.gradients.at("logits");
  const auto loss = [&] {
    const Array made = reference::get(whole_forward(trace.kind, m, at), "logits");
    double sum = 0;
    for (std::size_t k = 0; k < seed.data.size(); ++k) sum += made.data[k] * seed.data[k];
    return sum;
  };
  Array& given = trace.gradients.at("H");
  for (std::size_t k = 0; k < given.data.size(); ++k) {
    double& h = at.at("H").data[k];
    const double kept = h;
    h = kept + 1e-5;
    const double above = loss();
    h = kept - 1e-5;
    given.data[k] = (above - loss()) / 2e-5 - given.data[k];  // the other way alone
    h = kept;
  }
  CHECK(diagnose(trace).code() == "VALUES_DETACHED");
}

TEST_CASE("diagnosis exam: an unknown cell is a GRU's trouble only if its first step is") {
  const auto spoiled_later = [](const std::string& name) {  // from the second step on
    Trace trace = read_trace(exam + name);
    Array& s = trace.arrays.at("s");
    for (std::size_t k = 0, d = s.dim(2), T = s.dim(1); k < s.data.size(); ++k)
      if (k / d % T > 1) s.data[k] *= .9;
    for (const char* name_of_attention : {"e", "alpha", "W_a", "U_a", "v_a"}) trace.arrays.erase(name_of_attention);
    return diagnose(trace);
  };
  const Verdict handed_on = spoiled_later("b15_feeding.safetensors");
  INFO(handed_on.text());
  REQUIRE(handed_on.find("UNKNOWN"));
  CHECK(handed_on.find("UNKNOWN")->kind == Kind::convention);
  // A first step from zeros proves nothing about the gates.
  const Verdict from_zeros = spoiled_later("b16_update.safetensors");
  INFO(from_zeros.text());
  REQUIRE(from_zeros.find("UNKNOWN"));
  CHECK(from_zeros.find("UNKNOWN")->kind == Kind::gru);
  // Nor does one from a memory of zeros about an LSTM's.
  Trace lstm = read_trace(exam + "c3_luong.safetensors");
  Array& states = lstm.arrays.at("s");
  for (std::size_t k = 0, d = states.dim(2), T = states.dim(1); k < states.data.size(); ++k)
    if (k / d % T > 1) states.data[k] *= .9;
  for (const char* name : {"alpha", "W_a", "v_a"}) lstm.arrays.erase(name);
  const Verdict of_lstm = diagnose(lstm);
  INFO(of_lstm.text());
  CHECK(std::any_of(of_lstm.findings.begin(), of_lstm.findings.end(), [](const Finding& f) {
    return f.code == "UNKNOWN" && f.kind == Kind::lstm && f.where.en.find("cell") != std::string::npos;
  }));
  // The same cell, with a first state that no GRU gives.
  Trace trace = read_trace(exam + "b15_feeding.safetensors");
  Array& s = trace.arrays.at("s");
  const std::size_t d = s.dim(2);
  for (std::size_t b = 0; b < s.dim(0); ++b)
    for (std::size_t k = 0; k < d; ++k) s.data[(b * s.dim(1) + 1) * d + k] *= .9;
  trace.arrays.erase("e"), trace.arrays.erase("alpha"), trace.arrays.erase("W_a");
  const Verdict in_the_gates = diagnose(trace);
  const auto cell = std::find_if(in_the_gates.findings.begin(), in_the_gates.findings.end(),
                                 [](const Finding& f) { return f.where.en.find("cell") != std::string::npos; });
  REQUIRE(cell != in_the_gates.findings.end());
  CHECK(cell->code == "UNKNOWN");
  CHECK(cell->kind == Kind::gru);
}

TEST_CASE("diagnosis exam: unknown weights that leak at some steps say at which") {
  Trace trace = read_trace(exam + "c1_bahdanau.safetensors");
  Array& alpha = trace.arrays.at("alpha");
  const Array& mask = trace.arrays.at("mask");
  const std::size_t last = alpha.dim(2) - 1;
  for (std::size_t b = 0; b < alpha.dim(0); ++b)
    if (mask.at({b, last}) == 0) alpha.at({b, 2, last}) = .125, alpha.at({b, 2, 0}) -= .125;
  const Verdict v = diagnose(trace);
  REQUIRE(v.find("UNKNOWN"));
  CHECK(v.find("UNKNOWN")->kind == Kind::mask);
  CHECK(v.find("UNKNOWN")->sentence.en.find("at step 3 only") != std::string::npos);
}

TEST_CASE("diagnosis exam: of two directions, the one that agrees is named") {
  const Trace right = read_trace(exam + "c5_bidirectional.safetensors");
  const struct {
    bool first, second;
    Kind kind;
    const char* said;
  } rows[] = {{false, true, Kind::convention, "the first half of h agrees"},
              {true, false, Kind::convention, "the second half of h agrees"},
              {true, true, Kind::lstm, ""}};
  for (const auto& row : rows) {
    Trace spoiled = right;
    Array& h = spoiled.arrays.at("h");
    const std::size_t d = h.dim(2);
    for (std::size_t k = 0; k < h.data.size(); ++k)
      if (k % d < d / 2 ? row.first : row.second) h.data[k] += .1 * static_cast<double>(k % 3);
    const Verdict v = diagnose(spoiled);
    INFO(v.text());
    REQUIRE(v.find("UNKNOWN"));
    CHECK(v.find("UNKNOWN")->kind == row.kind);
    CHECK(v.find("UNKNOWN")->sentence.en.find(row.said) != std::string::npos);
  }
}

TEST_CASE("diagnosis exam: outputs that are changed on their way out are told from states that are wrong inside") {
  Trace trace = read_trace(exam + "c5_bidirectional.safetensors");
  Array& h = trace.arrays.at("h");
  const std::size_t d = h.dim(2);
  for (std::size_t k = 0; k < h.data.size(); ++k)
    if (k % d >= d / 2) h.data[k] *= 1.1;
  const Verdict v = diagnose(trace);
  INFO(v.text());
  CHECK(mistakes(v) == std::set<std::string>{"RUN_OUTPUT_SCALED"});
  CHECK(v.findings.front().sentence.en.find("of the backward direction is 1.1 h_t") != std::string::npos);
}

TEST_CASE("diagnosis exam: a wrong backward of several layers has its name, and the layer where it is one alone") {
  const auto where = [](const char* name) {
    const Verdict v = of(name, "pytorch", kinds);
    REQUIRE(!v.findings.empty());
    return v.findings.front().where.en;
  };
  CHECK(where("stack_output_slope.safetensors") == "the backward pass");
  CHECK(where("stack_output_slope_of_one_layer.safetensors") == "the backward pass of layer 1 alone");
  CHECK(where("layers_forget_gate_detached.safetensors") == "the backward of the memory c_t");
  CHECK(where("layers_forget_gate_detached_in_one.safetensors") ==
        "the backward of the memory c_t of the backward direction of layer 0 alone");

  Trace strange = read_trace(kinds + "stack_output_slope_of_one_layer.safetensors");
  for (auto& [name, g] : strange.gradients)
    if (name != "h" && name.find("_l2") == std::string::npos)
      for (double& x : g.data) x = .5 * x * x - .3 * x;  // of no backward
  const Verdict v = diagnose(strange);
  INFO(v.text());
  CHECK(v.find("GRAD_WRONG"));
  CHECK(v.text().find("the gradients of layer 2 are right, those of layer 1 are the first that are wrong") !=
        std::string::npos);
}

TEST_CASE("diagnosis exam: of a run that nothing explains, what agrees is said, and the cell is not blamed") {
  Trace strange = read_trace(kinds + "bidirectional_turned_over_read_padding.safetensors");
  Array& h = strange.arrays.at("h");
  const Array& mask = reference::get(strange.arrays, "mask");
  for (std::size_t b = 0; b < h.dim(0); ++b)
    for (std::size_t t = 0; t < h.dim(1); ++t)
      for (std::size_t k = h.dim(2) / 2; k < h.dim(2) && mask.at({b, h.dim(1) - 1}) == 0; ++k)
        h.at({b, t, k}) = .5 * h.at({b, t, k}) * h.at({b, t, k}) - .3 * h.at({b, t, k});  // of no model
  const Verdict v = diagnose(strange);
  INFO(v.text());
  CHECK(v.code() == "UNKNOWN");
  CHECK(v.findings.front().kind == Kind::convention);
  for (const char* agrees : {"the first half of h agrees", "examples without padding agree", "h_n agrees"})
    CHECK(v.text().find(agrees) != std::string::npos);
}

TEST_CASE("diagnosis exam: the number of heads is found where averaged weights hide it, or asked for") {
  Trace averaged = read_trace(exam + "b20_averaged.safetensors");
  CHECK(diagnose(averaged).subject.en == "attention, 2 heads");
  Trace scaled = averaged, strange = averaged;
  for (double& x : scaled.arrays.at("output").data) x *= 1.1;
  for (double& x : strange.arrays.at("output").data) x = .5 * x * x - .3 * x;  // of no model
  const Verdict named = diagnose(scaled);
  INFO(named.text());
  CHECK(named.code() == "HEADS_OUTPUT_SCALED");
  CHECK(named.subject.en == "attention, 2 heads");
  const Verdict v = diagnose(strange);
  CHECK(v.code() == "UNKNOWN");
  CHECK(v.text().find("say \"heads\" in meta.json") != std::string::npos);
}
