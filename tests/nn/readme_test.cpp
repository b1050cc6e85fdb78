// The numbers and shapes in lesson 09's note: computed here, printed as the note prints them, looked for in both notes.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "lessons/09_bahdanau/swapped.h"
#include "nn/decode.h"
#include "tests/nn/check.h"
#include "tests/reference/bahdanau2014.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

// Returns the notes that lack `block`.
std::string missing_in(const std::string& block) {
  std::string missing;
  for (const char* note : {"README.md", "README.zh.md"}) {
    std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/lessons/09_bahdanau/" + note);
    std::ostringstream text;
    text << in.rdbuf();
    if (text.str().find(block) == std::string::npos) missing += std::string(note) + " ";
  }
  return missing;
}

// "( 0.200000, -0.100000)": six decimals, zero without a sign.
std::string six(double value) {
  char number[32];
  std::snprintf(number, sizeof number, "%9.6f", std::fabs(value) < 5e-7 ? 0.0 : value);
  return number;
}
std::string six(const std::vector<double>& values) {
  std::string text;
  for (double value : values) text += (text.empty() ? "" : ", ") + six(value);
  return "(" + text + ")";
}
std::string line(std::string name, const std::string& numbers) {
  name.resize(std::max<std::size_t>(name.size() + 1, 31), ' ');
  return name + numbers + "\n";
}
std::string line(const std::string& name, const Var& x) { return line(name, six(vec(x))); }

Var row(std::initializer_list<double> values) {
  return tensor(Shape{1, static_cast<std::int64_t>(values.size())}, values, f64);
}

// Two source numbers a state, one number an embedding: small enough for paper and pencil.
struct Small {
  lesson09::SwappedDecoder decoder;  // as BahdanauDecoder it is the paper's
  Var H = tensor(Shape{1, 3, 2}, {1, 0, 0, 1, -1, .5}, f64);
  Var s_0 = row({.2, -.1}), y_0 = row({1}), y_1 = row({-.5});
  Small() {
    Generator generator(1);
    decoder = clone(lesson09::SwappedDecoder({2, 1, 2, 2, 2}, {}, generator), f64);
    put(decoder.score.W_a, {.6, -.2, .1, .7});
    put(decoder.score.U_a, {.3, .5, -.4, .2});
    put(decoder.score.v_a, {1, -.8});
    put(decoder.cell.gru[0].W, {.4, .2, -.1, -.6, .1, .3, .7, -.3, .2, -.2, .5, .1, .5, .4, -.6, .8, -.2, .3});
    put(decoder.cell.gru[0].U, {.2, .1, 0, .3, .1, -.3, .2, .4, .9, -.7, .6, .2});
  }
};

// "W_a = ( 0.6 -0.2;  0.1  0.7)": rows with semicolons between them.
std::string given(const std::string& name, const Tensor& x) {
  const std::vector<double> values = x.to_vector();
  const auto width = static_cast<std::size_t>(x.shape()[x.rank() - 1]);
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%4.1f", values[i]);
    text += (i == 0 ? "" : i % width == 0 ? "; " : " ") + std::string(number);
  }
  return name + " = (" + text + ")\n";
}

// Attention taken apart, every product on its own. `name` is the state that asks.
struct Asked {
  std::string lines;
  Var e, alpha, context;
};
Asked ask(const Small& m, const std::string& name, const Var& query) {
  const Score& score = m.decoder.score;
  const Var Ws = matmul(query, transpose(score.W_a));
  const Var Uh = matmul(m.H, expand_new(transpose(score.U_a), Axis{0}, 1));
  const Var inside = tanh(expand_new(Ws, Axis{1}, 3) + Uh);
  Asked a;
  a.e = dot(inside, score.v_a, Axis{2});
  a.alpha = softmax(a.e, Axis{1});
  a.context = sum(expand_new(a.alpha, Axis{2}, 2) * m.H, Axis{1});
  a.lines = line("W_a " + name, Ws);
  for (std::int64_t i = 0; i < 3; ++i) a.lines += line("U_a h_" + std::to_string(i + 1), select(Uh, Axis{1}, i));
  for (std::int64_t i = 0; i < 3; ++i)
    a.lines += line("tanh(W_a " + name + " + U_a h_" + std::to_string(i + 1) + ")", select(inside, Axis{1}, i));
  a.lines += line("e_1i = v_a . tanh(...)", a.e) + line("alpha_1i = softmax over i", a.alpha) +
             line("c_1 = sum alpha_1i h_i", a.context);
  return a;
}

// The GRU of the paper's appendix taken apart.
struct Updated {
  std::string lines;
  Var s_1;
};
Updated update(const Small& m, const Var& x, const Var& s) {
  const Gru& gru = m.decoder.cell.gru[0];
  const Var Wx = matmul(x, transpose(gru.W));
  auto part = [&](std::int64_t gate) { return narrow(Wx, Axis{1}, 2 * gate, 2); };
  auto U = [&](std::int64_t gate) { return transpose(narrow(gru.U, Axis{0}, 2 * gate, 2)); };
  const Var r = sigmoid(part(0) + matmul(s, U(0))), z = sigmoid(part(1) + matmul(s, U(1)));
  const Var n = tanh(part(2) + matmul(r * s, U(2))), s_1 = (1 - z) * s + z * n;
  return {line("r_1", r) + line("z_1", z) + line("n_1", n) + line("s_1 = (1 - z_1) s_0 + z_1 n_1", s_1), s_1};
}

// (1, -2) . s_2 + (.5, 1) . c_2 after two steps.
Var two_steps(const Decoder& decoder, const Small& m) {
  const Memory memory = decoder.remember(m.H, std::nullopt);
  const Step one = decoder.step(m.y_0, m.s_0, memory), two = decoder.step(m.y_1, one.s_t, memory);
  return sum(two.s_t * row({1, -2})) + sum(two.context * row({.5, 1}));
}
// The same from the transcription of the paper.
double two_steps_of_the_paper(const Small& m) {
  const auto split = [](const Var& x, std::int64_t gate) { return mat(narrow(x, Axis{0}, 2 * gate, 2)); };
  const Gru& gru = m.decoder.cell.gru[0];
  paper::bahdanau2014::Decoder p;
  const Var W_y = narrow(gru.W, Axis{1}, 0, 1), C = narrow(gru.W, Axis{1}, 1, 2);
  p.cell = {split(W_y, 2),
            split(W_y, 1),
            split(W_y, 0),
            split(gru.U, 2),
            split(gru.U, 1),
            split(gru.U, 0),
            split(C, 2),
            split(C, 1),
            split(C, 0),
            {},
            {},
            {}};
  p.align = {mat(m.decoder.score.W_a), mat(m.decoder.score.U_a), vec(m.decoder.score.v_a)};
  const auto run = paper::bahdanau2014::decode(p, mat(at(m.H, 0)), vec(m.s_0), {vec(m.y_0), vec(m.y_1)});
  return run.s[2][0] - 2 * run.s[2][1] + .5 * run.c[1][0] + run.c[1][1];
}

}  // namespace

TEST_SUITE("nn readme") {
  TEST_CASE("lesson 09: the numbers that the step by hand starts from stand in both notes") {
    const Small m;
    const Score& score = m.decoder.score;
    const Gru& gru = m.decoder.cell.gru[0];
    std::string block = "```text\n";
    for (std::int64_t i = 0; i < 3; ++i) block += given("h_" + std::to_string(i + 1), select(m.H.value(), Axis{1}, i));
    block += given("s_0", m.s_0.value()) + given("y_0", m.y_0.value()) + "\n";
    block += given("W_a", score.W_a.value()) + given("U_a", score.U_a.value()) + given("v_a", score.v_a.value()) + "\n";
    for (std::int64_t gate = 0; gate < 3; ++gate)
      block += given(std::string("W_") + "rzn"[gate], narrow(gru.W.value(), Axis{0}, 2 * gate, 2));
    for (std::int64_t gate = 0; gate < 3; ++gate)
      block += given(std::string("U_") + "rzn"[gate], narrow(gru.U.value(), Axis{0}, 2 * gate, 2));
    block += "```\n";
    INFO(block);
    CHECK(missing_in(block) == "");
  }

  TEST_CASE("lesson 09: the step by hand is the library's step, and stands in both notes") {
    const Small m;
    const BahdanauDecoder& d = m.decoder;
    const Asked asked = ask(m, "s_0", m.s_0);
    const Updated updated = update(m, concat({m.y_0, asked.context}, Axis{1}), m.s_0);
    const Step step = d.BahdanauDecoder::step(m.y_0, m.s_0, d.remember(m.H, std::nullopt));
    CHECK(gap(step.context, asked.context) <= exact);
    CHECK(gap(step.s_t, updated.s_1) <= exact);
    const std::string block = "```text\n" + asked.lines + updated.lines + "```\n";
    INFO(block);
    CHECK(missing_in(block) == "");
  }

  TEST_CASE("lesson 09: the same step swapped is that of the swapped decoder, and stands in both notes") {
    const Small m;
    const Updated updated = update(m, concat({m.y_0, Var(zeros(Shape{1, 2}, f64))}, Axis{1}), m.s_0);
    const Asked asked = ask(m, "s_1", updated.s_1);
    const Step step = m.decoder.step(m.y_0, m.s_0, m.decoder.remember(m.H, std::nullopt));
    CHECK(gap(step.context, asked.context) <= exact);
    CHECK(gap(step.s_t, updated.s_1) <= exact);
    const std::string block = "```text\n" + updated.lines +
                              line("W_a s_1", matmul(updated.s_1, transpose(m.decoder.score.W_a))) +
                              line("e_1i = v_a . tanh(...)", asked.e) + line("alpha_1i = softmax over i", asked.alpha) +
                              line("c_1 = sum alpha_1i h_i", asked.context) + "```\n";
    INFO(block);
    CHECK(missing_in(block) == "");
  }

  TEST_CASE("lesson 09: what each of the two checks compares for the paper and for the swap stands in both notes") {
    const Small m;
    struct Right : BahdanauDecoder {
      explicit Right(const BahdanauDecoder& d) : BahdanauDecoder(d) {}
    } right(m.decoder);
    const Var& W_a = m.decoder.score.W_a;
    const double by_paper = differences([&] { return two_steps_of_the_paper(m); }, W_a)[0];
    std::vector<double> loss, tape, own;
    for (const Decoder* decoder : {static_cast<const Decoder*>(&right), static_cast<const Decoder*>(&m.decoder)}) {
      W_a.zero_grad();
      const Var L = two_steps(*decoder, m);
      loss.push_back(L.item());
      backward(L);
      tape.push_back(W_a.grad().at({0, 0}));
      own.push_back(differences([&] { return two_steps(*decoder, m).item(); }, W_a)[0]);
    }
    auto pair = [](double a, double b) { return six(a) + "      " + six(b); };
    const std::string block = "```text\n" + line("", "    paper       swapped") + line("L", pair(loss[0], loss[1])) +
                              line("dL/dW_a[0,0] by the tape", pair(tape[0], tape[1])) +
                              line("  differences of itself", pair(own[0], own[1])) +
                              line("  differences of the paper", pair(by_paper, by_paper)) + "```\n";
    INFO(block);
    CHECK(missing_in(block) == "");
    CHECK(std::fabs(tape[0] - by_paper) <= 1e-9);
    CHECK(std::fabs(tape[1] - own[1]) <= 1e-9);
    CHECK(std::fabs(tape[1] - by_paper) > 1e-3);
  }

  TEST_CASE("lesson 09: the answer of the exercise by hand stands in both notes") {
    const Small m;
    const Asked asked = ask(m, "s", row({.5, -.4}));
    const std::string block = "```text\n" + line("e_1i = v_a . tanh(...)", asked.e) +
                              line("alpha_1i = softmax over i", asked.alpha) +
                              line("c_1 = sum alpha_1i h_i", asked.context) + "```\n";
    INFO(block);
    CHECK(missing_in(block) == "");
  }

  TEST_CASE("lesson 09: with one source position no check can see the swap, since the weight is 1 either way") {
    Small m;
    m.H = tensor(Shape{1, 1, 2}, {1, 0}, f64);
    for (bool swapped : {false, true}) {
      const Memory memory = m.decoder.remember(m.H, std::nullopt);
      const Step step =
          swapped ? m.decoder.step(m.y_0, m.s_0, memory) : m.decoder.BahdanauDecoder::step(m.y_0, m.s_0, memory);
      CHECK(vec(step.weights) == std::vector<double>{1});
      CHECK(vec(step.context) == std::vector<double>{1, 0});
    }
  }

  TEST_CASE("lesson 09: dot needs no unidirectional encoder, only d_s = 2 d_hidden") {
    Generator generator(1);
    const std::int64_t d_hidden = 3;
    const Bidirectional encoder(CellKind::gru, 4, d_hidden, bahdanau2014(), generator);
    const auto encoded = encoder(random_normal(Shape{2, 5, 4}, 0, 1, generator));
    const Score dot_score(ScoreKind::dot, 2 * d_hidden, 2 * d_hidden, 0, generator);
    const Var s = random_normal(Shape{2, 2 * d_hidden}, 0, 1, generator);
    CHECK(attend(dot_score(s, dot_score.keys(encoded.H)), encoded.H).context.shape() == Shape{2, 2 * d_hidden});
  }

  TEST_CASE("lesson 09: every row of the table of shapes holds, sizes different and equal, and stands in both notes") {
    struct Symbols {
      std::int64_t B, T_enc, T_dec, d_emb, d_hidden, d_h, d_s, d_attn, vocab;
    };
    for (const Symbols& n : {Symbols{2, 5, 3, 4, 9, 18, 7, 8, 10}, Symbols{4, 4, 4, 4, 2, 4, 4, 4, 4}}) {
      Generator generator(1);
      const Embedding source(n.vocab, n.d_emb, generator);
      const Bidirectional encoder(CellKind::gru, n.d_emb, n.d_hidden, bahdanau2014(), generator);
      const BahdanauDecoder decoder({n.vocab, n.d_emb, n.d_s, n.d_h, n.d_attn}, {}, generator);
      const auto encoded = encoder(source(Ids(Shape{n.B, n.T_enc}, 1)));
      const Memory memory = decoder.remember(encoded.H, std::nullopt);
      const State s_0 = decoder.start(encoded.backward_first);
      const Var y_emb = source(Ids(Shape{n.B, n.T_dec}, 1)), y_1 = select(y_emb, Axis{1}, 0);
      const Step step = decoder.step(y_1, s_0, memory);
      const Decoded all = decode_teacher(decoder, y_emb, s_0, memory);
      const std::vector<std::pair<std::int64_t, std::string>> letters{{n.B, "B"},
                                                                      {n.T_enc, "T_enc"},
                                                                      {n.T_dec, "T_dec"},
                                                                      {n.d_emb, "d_emb"},
                                                                      {n.d_hidden, "d_hidden"},
                                                                      {n.d_h, "d_h"},
                                                                      {n.d_s, "d_s"},
                                                                      {n.d_attn, "d_attn"},
                                                                      {n.vocab, "vocab"},
                                                                      {3 * n.d_s, "3 d_s"},
                                                                      {n.d_emb + n.d_h, "d_emb + d_h"},
                                                                      {n.d_s + n.d_emb + n.d_h, "d_s + d_emb + d_h"}};
      auto in_numbers = [&](const std::string& symbols) {  // "(B, d_s)" -> "(2, 7)"
        std::string text, word;
        for (char c : symbols) {
          if (c != ',' && c != ')' && c != '(' && !(c == ' ' && word.empty())) {
            word += c;
            continue;
          }
          for (const auto& [size, letter] : letters) {
            if (word == letter) text += std::to_string(size);
          }
          word.clear();
          text += c;
        }
        return text;
      };
      struct Row {
        const char* name;
        const char* symbols;
        Shape shape;
      };
      for (const Row& r : {Row{"memory.values", "(B, T_enc, d_h)", memory.values.shape()},
                           Row{"memory.keys", "(B, T_enc, d_attn)", memory.keys.shape()},
                           Row{"score.W_a", "(d_attn, d_s)", decoder.score.W_a.shape()},
                           Row{"score.U_a", "(d_attn, d_h)", decoder.score.U_a.shape()},
                           Row{"score.v_a", "(d_attn)", decoder.score.v_a.shape()},
                           Row{"bridge.W", "(d_s, d_hidden)", decoder.bridge.W.shape()},
                           Row{"s_0", "(B, d_s)", s_0.shape()}, Row{"y_emb", "(B, d_emb)", y_1.shape()},
                           Row{"score(s_prev, memory.keys)", "(B, T_enc)", decoder.score(s_0, memory.keys).shape()},
                           Row{"step.weights", "(B, T_enc)", step.weights.shape()},
                           Row{"step.context", "(B, d_h)", step.context.shape()},
                           Row{"cell.gru[0].W", "(3 d_s, d_emb + d_h)", decoder.cell.gru[0].W.shape()},
                           Row{"step.s_t", "(B, d_s)", step.s_t.shape()},
                           Row{"features", "(B, d_s + d_emb + d_h)", decoder.features(step, y_1, s_0).shape()},
                           Row{"decoded.weights", "(B, T_dec, T_enc)", all.weights.shape()},
                           Row{"decoded.contexts", "(B, T_dec, d_h)", all.contexts.shape()},
                           Row{"decoded.logits", "(B, T_dec, vocab)", all.logits.shape()}}) {
        CAPTURE(r.name);
        const std::string cell = std::string("`") + r.name + "` | `" + r.symbols + "`";
        CHECK(to_string(r.shape) == in_numbers(r.symbols));
        CHECK_MESSAGE(missing_in(std::string("| ") + cell) == "", cell);
      }
      for (double total : vec(sum(all.weights, Axis{2}))) CHECK(near(total, 1, 1e-6));
    }
  }
}
