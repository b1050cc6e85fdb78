// Traces whose forward is right and whose gradients are not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_examples.h"
#include "nn/conventions/diagnosis_stages.h"

using namespace gradus;
using namespace gradus::diagnosis;
using reference::Array;
using reference::Arrays;

namespace {

const std::string traces = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/traces/";
const std::string right = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/right/";

}  // namespace

TEST_CASE("diagnosis: gradients that are right are counted, those that are wrong are named") {
  for (const char* name : {"torch_bahdanau", "torch_luong_general_feed", "torch_gru", "torch_lstm"}) {
    CAPTURE(name);
    const Trace trace = read_trace(traces + name);
    REQUIRE(trace.gradients.size() > 4);
    CHECK(diagnose(trace).code() == "");
    const std::string weight = trace.kind == TraceKind::decoder ? "W_a" : "U";
    const struct {
      const char* code;
      std::function<void(Array&)> spoil;
    } rows[] = {
        {"GRAPH_DROPPED", [](Array& g) { std::fill(g.data.begin(), g.data.end(), 0.0); }},
        {"GRAD_SIGN",
         [](Array& g) {
           for (double& x : g.data) x = -x;
         }},
        {"GRAD_SCALED",
         [](Array& g) {
           for (double& x : g.data) x *= .5;
         }},
        {"GRAD_WRONG",
         [](Array& g) {
           for (std::size_t i = 0; i < g.data.size(); ++i) g.data[i] *= i % 2 ? 1.01 : .99;
         }},
        {"GRAD_NOT_FINITE", [](Array& g) { g.data[0] = std::numeric_limits<double>::quiet_NaN(); }},
        {"UNBROADCAST_MISSING", [](Array& g) { g.shape.insert(g.shape.begin(), 1); }},
    };
    for (const auto& row : rows) {
      CAPTURE(row.code);
      Trace spoiled = trace;
      row.spoil(spoiled.gradients.at(weight));
      const Verdict v = diagnose(spoiled);
      INFO(v.text());
      CHECK(v.code() == row.code);
      const bool says_what_is_right = v.text().find("right are the gradients of") != std::string::npos;
      CHECK(says_what_is_right == (std::string(row.code) == "GRAD_WRONG"));
      CHECK(std::count_if(v.findings.begin(), v.findings.end(), [](const Finding& f) { return f.error; }) == 1);
      Options without;
      without.gradients = false;
      CHECK(diagnose(spoiled, without).code() == "");
    }
  }
}

TEST_CASE("diagnosis: a detached state is seen in all gradients together, one gradient alone leaves two readings") {
  Trace trace = read_trace(traces + "torch_bahdanau");
  Model m;
  m.decoder = reference::bahdanau2014_maxout();
  m.decoder.readout = {reference::s_t, reference::y_emb, reference::c_t};
  // The loss with the states after s_0 held constant, by the stages that follow them.
  const auto loss = [&](Arrays at) {
    for (std::size_t b = 0; b < at.at("s_0").dim(0); ++b) at.at("s").set_row({b, 0}, at.at("s_0").row({b}));
    const Arrays out = stage_outputs(m, at, {Stage::score, Stage::weights, Stage::context, Stage::readout});
    double sum = 0;
    const Array &logits = reference::get(out, "logits"), &g = trace.gradients.at("logits");
    for (std::size_t i = 0; i < g.data.size(); ++i) sum += logits.data[i] * g.data[i];
    return sum;
  };
  Arrays inputs = trace.arrays;
  for (const char* name : {"alpha", "c", "logits"}) inputs.erase(name);
  const auto with_held_states = [&](const std::string& name) {
    Array g = inputs.at(name);
    for (std::size_t i = 0; i < g.data.size(); ++i) {
      Arrays above = inputs, below = inputs;
      above[name].data[i] += 1e-5, below[name].data[i] -= 1e-5;
      g.data[i] = (loss(above) - loss(below)) / 2e-5;
    }
    return g;
  };
  // W_a reaches the states through the context that the cell reads, and in no other way.
  Trace score_alone = trace;
  score_alone.gradients = {{"logits", trace.gradients.at("logits")}, {"W_a", with_held_states("W_a")}};
  CHECK(diagnose(score_alone).code() == "FEED_DETACHED|STATE_DETACHED");
  // Gradients of the cell that are right say that no state was detached.
  Trace contradicted = trace;
  contradicted.gradients["W_a"] = with_held_states("W_a");
  CHECK(diagnose(contradicted).code() == "GRAD_WRONG");
  for (auto& [name, g] : trace.gradients)
    if (name != "logits" && inputs.count(name)) g = with_held_states(name);
  const Verdict v = diagnose(trace);
  INFO(v.text());
  CHECK(v.code() == "STATE_DETACHED");
  CHECK(std::count_if(v.findings.begin(), v.findings.end(), [](const Finding& f) { return f.error; }) == 1);
}

TEST_CASE("diagnosis: a softmax with a wrong backward is named from the gradients, in a decoder and in heads") {
  struct Case {
    Trace trace;
    Model model;
    const char* output;
  };
  std::vector<Case> cases(2);
  cases[0].trace = read_trace(traces + "torch_bahdanau");
  cases[0].model.decoder = reference::bahdanau2014_maxout();
  cases[0].model.decoder.readout = {reference::s_t, reference::y_emb, reference::c_t};
  std::get<reference::GruConvention>(cases[0].model.decoder.cell).biases = reference::Biases::one;
  cases[0].output = "logits";
  cases[1].trace = make_example({.kind = TraceKind::multi_head, .T_enc = 7}, {}, 5);
  cases[1].model.heads.heads = 2;
  cases[1].model.decoder.attention.score.score = reference::Score::scaled_dot;
  cases[1].output = "output";
  for (const Case& one : cases) {
    Arrays inputs = one.trace.arrays;
    for (const char* name : {"s", "alpha", "c", "logits", "output"}) inputs.erase(name);
    Array seed = one.trace.arrays.at(one.output);
    for (std::size_t k = 0; k < seed.data.size(); ++k) seed.data[k] = .3 + .1 * static_cast<double>(k * k % 7);
    const auto gradients = [&](reference::SoftmaxSlope slope) {
      reference::Intervention wrong;
      wrong.softmax = slope;
      const auto loss = [&](const Arrays& at) {
        const Arrays made = slope == reference::SoftmaxSlope::right
                                ? whole_forward(one.trace.kind, one.model, at)
                                : whole_forward(one.trace.kind, one.model, at, inputs, wrong);
        double sum = 0;
        for (std::size_t k = 0; k < seed.data.size(); ++k)
          sum += reference::get(made, one.output).data[k] * seed.data[k];
        return sum;
      };
      Arrays all = {{one.output, seed}};
      for (const auto& [name, value] : inputs) {
        if (value.shape.size() > 2 || name == "mask" || name == "s_0") continue;
        Array g = value;
        for (std::size_t k = 0; k < g.data.size(); ++k) {
          Arrays above = inputs, below = inputs;
          above[name].data[k] += 1e-5, below[name].data[k] -= 1e-5;
          g.data[k] = (loss(above) - loss(below)) / 2e-5;
          if (std::fabs(g.data[k]) < 1e-9) g.data[k] = 0;  // a key's bias has no gradient, a difference has noise
        }
        all[name] = g;
      }
      return all;
    };
    CAPTURE(one.output);
    Trace trace = one.trace;
    trace.gradients = gradients(reference::SoftmaxSlope::right);
    CHECK(diagnose(trace).code() == "");
    const std::pair<reference::SoftmaxSlope, const char*> rows[] = {
        {reference::SoftmaxSlope::diagonal, "is alpha (1 - alpha) d_alpha"},
        {reference::SoftmaxSlope::weights, "is alpha d_alpha"},
        {reference::SoftmaxSlope::none, "has no backward"}};
    for (const auto& [slope, said] : rows) {
      CAPTURE(said);
      trace.gradients = gradients(slope);
      const Verdict v = diagnose(trace);
      INFO(v.text());
      CHECK(v.code() == "GRAD_SOFTMAX");
      REQUIRE(v.find("GRAD_SOFTMAX"));
      CHECK(v.find("GRAD_SOFTMAX")->sentence.en.find(said) != std::string::npos);
      CHECK(std::count_if(v.findings.begin(), v.findings.end(), [](const Finding& f) { return f.error; }) == 1);
    }
  }
}

namespace {

std::string noted(const Verdict& v) {
  std::string all;
  for (const gradus::Words& note : v.notes) all += note.en + "\n";
  return all;
}

std::ptrdiff_t errors(const Verdict& v) {
  return std::count_if(v.findings.begin(), v.findings.end(), [](const Finding& f) { return f.error; });
}

// As a file would have it.
Arrays raw(const Trace& trace) {
  Arrays all = trace.arrays;
  for (const auto& [name, g] : trace.gradients) all["grad_" + name] = g;
  return all;
}

// Central differences of the loss in `name`, which may stand in several places.
Array differences(Arrays at, const std::vector<std::string>& places, const std::function<double(const Arrays&)>& loss) {
  Array g = at.at(places[0]);
  for (std::size_t k = 0; k < g.data.size(); ++k) {
    const double kept = g.data[k];
    const auto put = [&](double x) {
      for (const std::string& place : places) at.at(place).data[k] = x;
      return loss(at);
    };
    const double above = put(kept + 1e-5), below = put(kept - 1e-5);
    put(kept);
    g.data[k] = (above - below) / 2e-5;
  }
  return g;
}

double dot_of(const Array& a, const Array& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.data.size(); ++k) sum += a.data[k] * b.data[k];
  return sum;
}

}  // namespace

TEST_CASE("diagnosis: gradients of outputs are the loss's own, or what flows back: the one that fits is said") {
  const struct {
    const char *trace, *agree, *says;
  } rows[] = {
      {"torch_bahdanau_two_cotangents", "10 gradients agree", "what later steps send back: grad_c, grad_s\n"},
      {"torch_bahdanau_states_alone", "10 gradients agree", "what later steps send back: grad_s\n"},
      {"torch_bahdanau_kept_gradients", "12 gradients agree",
       "backward started from grad_logits; not checked, as what flows back: grad_s\n"},
      {"torch_bahdanau_accumulated", "10 gradients agree", ""},
  };
  for (const auto& row : rows) {
    CAPTURE(row.trace);
    Trace trace = read_trace(traces + row.trace);
    const Verdict right = diagnose(trace);
    INFO(right.text());
    CHECK(right.code() == "");
    CHECK(noted(right).find(row.agree) != std::string::npos);
    CHECK(noted(right).find(row.says) != std::string::npos);
    CHECK(right.leaves_open("grad_s") == (std::string(row.trace) == "torch_bahdanau_accumulated"));
    for (double& x : trace.gradients.at("W_a").data) x = -x;
    const Verdict wrong = diagnose(trace);
    INFO(wrong.text());
    CHECK(wrong.code() == "GRAD_SIGN");
    CHECK(errors(wrong) == 1);
  }
}

TEST_CASE("diagnosis: gradients that cannot be checked are not passed over in silence, nor called wrong") {
  const Trace both = read_trace(traces + "torch_bahdanau_two_cotangents");
  const struct {
    const char* says;
    std::function<void(Trace&)> change;
  } rows[] = {
      {"the gradients were not checked: none of the 10 fits grad_c", [](Trace& t) { t.gradients.erase("s"); }},
      {"the gradients were not checked: none belongs to an output",
       [](Trace& t) { t.gradients.erase("s"), t.gradients.erase("c"); }},
      {"grad_s has shape (2, 2, 4), s (2, 4, 4): it was not read",
       [](Trace& t) {
         t.gradients.erase("c"), t.gradients["s"] = Array({2, 2, 4});
       }},
  };
  for (const auto& row : rows) {
    CAPTURE(row.says);
    Trace trace = both;
    row.change(trace);
    const Verdict v = diagnose(trace);
    INFO(v.text());
    CHECK(v.code() == "");
    CHECK(noted(v).find(row.says) != std::string::npos);
  }
}

TEST_CASE("diagnosis: gradients of some gates alone are judged for those gates") {
  const struct {
    const char *file, *gradient, *gates;
  } rows[] = {{"gradient_of_gates_bias_alone", "b", "r, z"},
              {"gradient_of_candidate_kernel_alone", "U", "n"},
              {"gradient_of_gates_kernel_alone", "W", "r, z"},
              {"gradients_of_two_gates", "W", "r, n"}};
  for (const auto& row : rows) {
    const std::string file = row.file;
    CAPTURE(file);
    Trace trace = read_trace(right + file + ".safetensors");
    REQUIRE(trace.absent.count(row.gradient));
    const Verdict as_it_is = diagnose(trace);
    CHECK(as_it_is.code() == "");
    CHECK(as_it_is.text().find("agree with central differences") != std::string::npos);
    for (double& x : trace.gradients.at(row.gradient).data) x *= 3;
    const Verdict v = diagnose(trace);
    INFO(v.text());
    REQUIRE(v.find("GRAD_BLOCK_SCALED"));
    CHECK(v.find("GRAD_BLOCK_SCALED")->sentence.en.find(std::string("the block of ") + row.gates + " is 3 times") !=
          std::string::npos);
  }
}

TEST_CASE("diagnosis: where a loss cannot be followed, what it reaches is not judged, and found right where it is") {
  for (const char* file :
       {"loss_on_logits_without_readout", "unseen_readout_in_another_order", "loss_on_unseen_output_of_heads"}) {
    CAPTURE(file);
    const Verdict v = diagnose(read_trace(right + std::string(file) + ".safetensors"));
    CHECK(v.code() == "");
    CHECK(v.text().find("the gradients were not checked: grad_") != std::string::npos);
  }
  Trace trace = read_trace(right + "loss_on_logits_without_readout.safetensors");
  const Array c = trace.gradients.at("c");
  const Array W = trace.gradients.at("W");
  trace.gradients = {{"c", c}, {"W", W}};
  CHECK(diagnose(trace).exit_status() == 1);  // the loss is on c alone: then that of W is another one
}

TEST_CASE("diagnosis: gradients of sequences are turned with them when time comes first") {
  Arrays turned = raw(read_trace(traces + "torch_bahdanau"));
  for (const std::string name : {"H", "y_emb", "s", "alpha", "c", "logits"})
    for (const std::string& one : {name, "grad_" + name}) {
      const auto found = turned.find(one);
      if (found == turned.end()) continue;
      const Array x = found->second;
      Array& out = found->second = Array({x.dim(1), x.dim(0), x.dim(2)});
      for (std::size_t i = 0; i < x.dim(0); ++i)
        for (std::size_t j = 0; j < x.dim(1); ++j) out.set_row({j, i}, x.row({i, j}));
    }
  Meta meta;
  meta.layout = "time_major";
  const Verdict v = diagnose(make_trace(turned, meta));
  INFO(v.text());
  CHECK(v.code() == "");
  CHECK(noted(v).find("gradients agree") != std::string::npos);
}

TEST_CASE("diagnosis: in self-attention the gradient of the query has the ways through keys and values too") {
  Trace made = make_example({.kind = TraceKind::multi_head, .T_dec = 6, .T_enc = 6}, {}, 5);
  Model m;
  m.heads.heads = 2;
  m.decoder.attention.score.score = reference::Score::scaled_dot;
  for (const char* name : {"key", "value"}) made.arrays[name] = made.arrays.at("query");
  const Arrays out = whole_forward(made.kind, m, made.arrays);
  Arrays file = made.arrays;
  for (const char* name : {"alpha", "output"}) file[name] = reference::get(out, name);
  Array seed = file.at("output");
  for (std::size_t k = 0; k < seed.data.size(); ++k) seed.data[k] = .3 + .1 * static_cast<double>(k * k % 7);
  const auto loss = [&](const Arrays& at) {
    return dot_of(reference::get(whole_forward(made.kind, m, at), "output"), seed);
  };
  file["grad_output"] = seed;
  file["grad_W_K"] = differences(made.arrays, {"W_K"}, loss);
  file["grad_query"] = differences(made.arrays, {"query", "key", "value"}, loss);
  file.erase("key"), file.erase("value");
  const Verdict v = diagnose(make_trace(file));
  INFO(v.text());
  CHECK(v.code() == "");
  CHECK(noted(v).find("2 gradients agree") != std::string::npos);
  file["memory"] = file.at("query"), file["grad_memory"] = differences(made.arrays, {"key", "value"}, loss);
  file["grad_query"] = differences(made.arrays, {"query"}, loss);
  const Verdict beside = diagnose(make_trace(file));
  INFO(beside.text());
  CHECK(beside.code() == "");
  CHECK(noted(beside).find("3 gradients agree") != std::string::npos);
}

TEST_CASE("diagnosis: the gradients of a decoder of several layers are checked") {
  const std::string exam17 = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam17/";
  Trace trace = read_trace(exam17 + "14_luong_two_layers.safetensors");
  const Verdict right_model = diagnose(trace);
  INFO(right_model.text());
  CHECK(right_model.code() == "");
  CHECK(noted(right_model).find("16 gradients agree") != std::string::npos);
  for (const char* name : {"U", "U_l1", "s_0_l0"}) {
    CAPTURE(name);
    Trace spoiled = trace;
    for (double& x : spoiled.gradients.at(name).data) x = -x;
    const Verdict v = diagnose(spoiled);
    INFO(v.text());
    CHECK(v.code() == "GRAD_SIGN");
    CHECK(errors(v) == 1);
  }
  CHECK(diagnose(read_trace(exam17 + "probe_E1_two_layers_detached.safetensors")).code() == "CARRY_DETACHED");
}

TEST_CASE("diagnosis: a detached carry says how the gradient of the states was read") {
  Trace trace = read_trace(traces + "torch_gru");
  Model m;
  m.decoder.cell = reference::pytorch();
  Arrays at = trace.arrays;
  at.erase("h");
  reference::Intervention cut;
  cut.cut = reference::Cut::carry;
  const auto loss = [&](const Arrays& moved) {
    return dot_of(reference::get(whole_forward(trace.kind, m, moved, at, cut), "h"), trace.gradients.at("h"));
  };
  for (auto& [name, g] : trace.gradients)
    if (name != "h") g = differences(at, {name}, loss);
  const Verdict v = diagnose(trace);
  INFO(v.text());
  CHECK(v.code() == "CARRY_DETACHED");
  CHECK(noted(v).find("taken as the loss's own gradient: grad_h; if it holds") != std::string::npos);
}

TEST_CASE("diagnosis: where s_0 comes through a bridge, the bridge's gradient is checked and that of s_0 is not") {
  Trace trace = make_example({.biases = 1, .starts = true}, {}, 3);
  Model m;
  m.decoder.cell = reference::GruConvention{};
  m.decoder.initial = reference::InitialState::backward_first;
  Arrays at = trace.arrays;
  const Array s_0 = at.at("s_0");
  for (const char* name : {"s", "alpha", "c", "logits", "s_0"}) at.erase(name);
  const Arrays out = whole_forward(trace.kind, m, at);
  for (std::size_t k = 0; k < trace.arrays.at("s").data.size(); ++k)
    REQUIRE(std::fabs(out.at("s").data.at(k) - trace.arrays.at("s").data[k]) < 1e-12);
  Array seed = reference::get(out, "logits");
  for (std::size_t k = 0; k < seed.data.size(); ++k) seed.data[k] = .3 + .1 * static_cast<double>(k * k % 7);
  const auto loss = [&](const Arrays& moved) {
    return dot_of(reference::get(whole_forward(trace.kind, m, moved), "logits"), seed);
  };
  trace.gradients = {{"logits", seed}, {"s_0", s_0}};  // of s_0 whatever was kept
  for (const char* name : {"W_s", "H", "W_a"}) trace.gradients[name] = differences(at, {name}, loss);
  const Verdict right = diagnose(trace);
  INFO(right.text());
  CHECK(right.code() == "");
  CHECK(noted(right).find("3 gradients agree") != std::string::npos);
  for (double& x : trace.gradients.at("W_s").data) x = -x;
  CHECK(diagnose(trace).code() == "GRAD_SIGN");
}

TEST_CASE("diagnosis: a gradient that is right elsewhere is named by what it is instead") {
  const std::string path = std::string(GRADUS_SOURCE_ROOT) + "/tests/fixtures/exam4/15.safetensors";
  using Change = void (*)(reference::Arrays&);
  const struct {
    Change change;
    const char* code;
  } rows[] = {
      {[](reference::Arrays& g) {
         reference::Array& x = g.at("x");
         const reference::Array right = x;
         for (std::size_t b = 0; b < x.dim(0); ++b)
           for (std::size_t t = 0; t < x.dim(1); ++t) x.set_row({b, t}, right.row({b, x.dim(1) - 1 - t}));
       },
       "GRAD_TIME_REVERSED"},
      {[](reference::Arrays& g) {  // r and z change places
         reference::Vec& U = g.at("U").data;
         const auto third = static_cast<std::ptrdiff_t>(U.size() / 3);
         std::swap_ranges(U.begin(), U.begin() + third, U.begin() + third);
       },
       "GRAD_BLOCKS_EXCHANGED"},
      {[](reference::Arrays& g) {
         g.at("b_u") = g.at("b");
         for (double& x : g.at("b_u").data) x = -x;
       },
       "GRAD_COPIED"},
      {[](reference::Arrays& g) {
         double most = 0;
         for (double x : g.at("W").data) most = std::max(most, std::fabs(x));
         for (double& x : g.at("W").data) x = std::clamp(x, -most / 4, most / 4);
       },
       "GRAD_CLIPPED"},
  };
  for (const auto& row : rows) {
    Trace trace = read_trace(path);
    trace.gradients.erase("b_u");  // the one that is wrong there
    if (std::string(row.code) == "GRAD_COPIED") trace.gradients["b_u"] = reference::Array();
    row.change(trace.gradients);
    const Verdict v = diagnose(trace);
    INFO(v.text());
    CHECK(v.code() == row.code);
  }
}
