// The library of hypotheses against itself: each is named on a generic input, alone and in pairs, and whatever is right
// raises no alarm.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <set>
#include <string>

#include "nn/conventions/diagnosis.h"
#include "nn/conventions/diagnosis_examples.h"
#include "tests/nn/chinese.h"
#include "tests/slower.h"

using namespace gradus;
using namespace gradus::diagnosis;

namespace {

struct Row {
  const char* name;
  Recipe recipe;
  Choices choices;
};

const std::vector<Row>& recipes() {
  static const std::vector<Row> rows = {
      {"Bahdanau", {}, {}},
      {"Bahdanau, maxout, s_0 from the encoder", {.maxout = true, .starts = true}, {}},
      {"Bahdanau on an LSTM", {.gates = 4}, {}},
      {"Bahdanau on two layers", {.layers = 2}, {}},
      {"Bahdanau, equal sizes", {.equal = true}, {}},
      {"Bahdanau on an Elman cell", {.gates = 1, .biases = 1}, {}},
      {"Luong, general", {.attentional = true}, {{"score", "general"}}},
      {"Luong, dot", {.attentional = true}, {{"score", "dot"}}},
      {"Luong, concat, LSTM", {.gates = 4, .attentional = true}, {{"score", "concat"}}},
      {"Luong, equal sizes", {.attentional = true, .equal = true}, {{"score", "general"}}},
      {"GRU", {.kind = TraceKind::recurrent}, {}},
      {"GRU, both directions", {.kind = TraceKind::recurrent, .layers = 2, .directions = 2, .starts = true}, {}},
      {"LSTM", {.kind = TraceKind::recurrent, .gates = 4}, {}},
      {"Elman", {.kind = TraceKind::recurrent, .gates = 1, .biases = 1}, {}},
      {"two heads", {.kind = TraceKind::multi_head, .T_enc = 7}, {}},
  };
  return rows;
}

// SplitMix64.
struct Dice {
  std::uint64_t state;
  std::size_t operator()(std::size_t n) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::size_t>((z ^ (z >> 31)) >> 20) % n;
  }
  std::string of(std::vector<const char*> words) { return words[(*this)(words.size())]; }
};

// How many runs a test makes: more with GRADUS_LONG=1.
std::size_t runs(std::size_t quick, std::size_t full) {
  const char* wish = std::getenv("GRADUS_LONG");
  return wish && std::string(wish) == "1" ? full : quick;
}

bool listed(const Verdict& v, const std::string& choice) {
  return std::find(v.choices.begin(), v.choices.end(), choice) != v.choices.end();
}

}  // namespace

TEST_CASE("diagnosis: no entry says that the formula used is the paper's") {
  for (const Field& field : fields())
    for (const Option& o : field.options) {
      CAPTURE(field.name);
      CAPTURE(o.id);
      CHECK((std::string(o.used.en).empty() || std::string(o.used.en) != o.paper.en));
    }
}

TEST_CASE("diagnosis: every hypothesis is named on a trace that it made, and no class of look-alikes exceeds three") {
  std::set<std::string> codes;
  std::size_t number = 0;
  for (const Row& row : recipes()) {
    if (number++ % 2 == 1 && runs(0, 1) == 0) continue;  // every other recipe; all of them in a long run
    CAPTURE(row.name);
    const Confusion seen = confusion_matrix(row.recipe, row.choices);
    MESSAGE(std::string(row.name) << ": " << seen.picture());
    CHECK(seen.largest_class <= 3);
    for (std::size_t i = 0; i < seen.names.size(); ++i) {
      CAPTURE(seen.names[i]);
      CHECK(seen.agrees[i][i]);
    }
    codes.insert(seen.codes.begin(), seen.codes.end());
  }
  CHECK(codes.size() > 90);
}

TEST_CASE("diagnosis: each entry of the library says in both languages what, how and how to keep it fixed") {
  for (const Field& f : fields()) {
    CAPTURE(f.name);
    CHECK(std::string(f.what.en) != "");
    CHECK(std::string(f.what.zh) != "");
    CHECK(std::string(f.tell.en) != "");
    CHECK(std::string(f.tell.zh) != "");
    std::set<std::string> ids;
    for (const Option& o : f.options) {
      CAPTURE(o.id);
      CHECK(ids.insert(o.id).second);
      const bool applies = o.apply != nullptr;
      CHECK(applies);
      if (o.level != Level::error) continue;
      CHECK(std::string(o.code) != "");
      for (const char* text : {o.sentence.en, o.sentence.zh, o.used.en, o.paper.en, o.fix.en, o.fix.zh, o.test.en})
        CHECK(std::string(text) != "");
      for (const char* text : {o.sentence.zh, o.used.zh, o.paper.zh, o.fix.zh, o.test.zh}) {
        CAPTURE(text);
        CHECK(testing::english_word_in(text) == "");
      }
    }
  }
}

TEST_CASE("diagnosis: random correct models raise no alarm and are named as what they are") {
  const std::size_t n = runs(testing::slower > 1 ? 200 : 1000, 10000);
  std::size_t named = 0, left_open = 0;
  for (std::size_t k = 0; k < n; ++k) {
    CAPTURE(k);
    Dice dice{k * 7919 + 1};
    Recipe r;
    Choices c;
    r.B = 1 + dice(4), r.T_dec = 2 + dice(4), r.T_enc = 2 + dice(6);
    r.padded = dice(2) == 0;
    r.equal = dice(4) == 0;
    r.biases = dice(3);
    const std::size_t kind = dice(8);
    r.kind = kind < 5 ? TraceKind::decoder : kind < 7 ? TraceKind::recurrent : TraceKind::multi_head;
    r.gates = r.kind == TraceKind::decoder ? (dice(3) ? 3 : 4) : std::vector<std::size_t>{1, 3, 4}[dice(3)];
    std::string claim;
    if (r.kind != TraceKind::multi_head && r.gates == 3) {
      c = {{"reset", dice.of({"before", "after"})},
           {"update", dice.of({"keeps", "replaces"})},
           {"gate_order", dice.of({"rzn", "zrn", "nzr"})}};
    } else if (r.kind != TraceKind::multi_head && r.gates == 4) {
      c = {{"gate_order", dice.of({"ifgo", "iofg", "igfo", "ogfi"})}};
    }
    if (r.kind == TraceKind::decoder) {
      r.attentional = dice(2) == 0;
      c.emplace_back("score", r.attentional ? dice.of({"general", "dot", "concat", "location"})
                                            : dice.of({"additive", "additive", "dot", "scaled_dot", "cosine", "mlp"}));
      if (r.attentional) {
        c.emplace_back("query", "s_t");
        c.emplace_back("input", dice.of({"feeding", "none"}));
        c.emplace_back("join", dice.of({"usual", "state_first"}));
        claim = dice(2) ? "luong2015" : "";
      } else {
        r.maxout = dice(2) == 0;
        c.emplace_back("query", "s_prev");
        c.emplace_back("input", "c_t");
        c.emplace_back("readout_time", dice.of({"usual", "s_prev"}));
        claim = c[c.size() - 4].second == "additive" && dice(2) ? "bahdanau2014" : "";
      }
      c.emplace_back("input_order", "usual");
    } else if (r.kind == TraceKind::recurrent) {
      r.directions = 1 + dice(2);
      r.layers = 1 + dice(2);
      if (r.padded) c.emplace_back("after_end", dice.of({"zero", "hold"}));
      if (r.directions == 2) c.emplace_back("merge", dice.of({"usual", "sum", "mean", "swapped"}));
    } else {
      r.heads = 1 + dice(3);
    }
    const Trace trace = make_example(r, c, k + 1);
    Options options;
    options.claim = claim;
    options.most = 20000;
    const Verdict v = diagnose(trace, options);
    std::string made;
    for (const auto& [field, id] : c) made += field + "=" + id + " ";
    CAPTURE(made);
    CAPTURE(claim);
    CHECK_MESSAGE(v.code() == "", v.text());
    CHECK(v.checked);
    for (const auto& choice : c) {
      const std::string field = choice.first, id = choice.second;
      const bool open = v.leaves_open(field), right = listed(v, field + "=" + id);
      CHECK_MESSAGE((right || open), field, "=", id, "\n", v.text());
      named += right;
      left_open += open;
    }
  }
  MESSAGE(n << " models, " << named << " choices named, " << left_open << " left open");
}

TEST_CASE("diagnosis: two mistakes at once are found as two") {
  const struct {
    const char* name;
    Recipe recipe;
    Choices choices;
    std::vector<const char*> codes;
  } rows[] = {
      // in different stages
      {"query and mask", {}, {{"query", "two_back"}, {"mask", "ignore"}}, {"ATTN_QUERY_TWO_BACK", "MASK_MISSING"}},
      {"axis and tanh", {}, {{"axis", "batch"}, {"squash", "tanh"}}, {"SOFTMAX_AXIS_BATCH", "CONTEXT_TANH"}},
      {"energy and reset", {}, {{"energy", "identity"}, {"reset", "unused"}}, {"ENERGY_NO_TANH", "GRU_RESET_UNUSED"}},
      {"mask and readout",
       {},
       {{"mask", "inverted"}, {"readout_parts", "context_late"}},
       {"MASK_INVERTED", "READOUT_CONTEXT_LATE"}},
      {"LSTM and softmax",
       {.gates = 4},
       {{"opening", "no_tanh"}, {"normaliser", "twice"}},
       {"LSTM_NO_OUTPUT_TANH", "ATTN_SOFTMAX_TWICE"}},
      {"Luong",
       {.attentional = true},
       {{"score", "general"}, {"vector_tanh", "identity"}, {"mask", "multiply_after"}},
       {"ATTN_VECTOR_NO_TANH", "MASK_AFTER_NO_RENORM"}},
      // in one stage
      {"energy and mask",
       {},
       {{"energy", "relu"}, {"mask", "multiply_before"}},
       {"ENERGY_RELU", "MASK_MULT_BEFORE_SOFTMAX"}},
      {"v_a and axis", {}, {{"v_a", "dropped"}, {"axis", "batch"}}, {"ENERGY_V_DROPPED", "SOFTMAX_AXIS_BATCH"}},
      {"values and tanh", {}, {{"values", "shifted_on"}, {"squash", "tanh"}}, {"CONTEXT_SHIFTED", "CONTEXT_TANH"}},
      {"reset and candidate",
       {},
       {{"reset", "unused"}, {"candidate", "identity"}},
       {"GRU_RESET_UNUSED", "CANDIDATE_NO_TANH"}},
      {"input and update",
       {},
       {{"input_time", "next"}, {"update", "sum_new"}},
       {"INPUT_OF_NEXT_STEP", "GRU_UPDATE_NOT_CONVEX"}},
      {"forget and output",
       {.gates = 4},
       {{"forget", "unused"}, {"opening", "no_tanh"}},
       {"LSTM_FORGET_UNUSED", "LSTM_NO_OUTPUT_TANH"}},
      {"GRU alone",
       {.kind = TraceKind::recurrent},
       {{"reset", "on_input"}, {"after_end", "run_on"}},
       {"GRU_RESET_ON_INPUT", "RUN_READS_PADDING"}},
      {"heads",
       {.kind = TraceKind::multi_head, .T_enc = 7},
       {{"split", "interleaved"}, {"mask", "ignore"}},
       {"HEADS_INTERLEAVED", "MASK_MISSING"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const std::clock_t start = std::clock();
    const Verdict v = diagnose(make_example(row.recipe, row.choices, 3));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::size_t errors = 0;
    for (const Finding& f : v.findings) errors += f.error;
    CHECK_MESSAGE(errors == row.codes.size(), v.text());
    for (const char* code : row.codes) {
      CAPTURE(code);
      CHECK(v.find(code) != nullptr);
    }
    CHECK(seconds < 2 * testing::slower);
  }
}
