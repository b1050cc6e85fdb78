// Stacks and runs: values and gradients against PyTorch, lengths in both directions, and what is refused.
#include "nn/recurrent.h"

#include "tests/nn/check.h"
#include "tests/reference/bahdanau2014.h"
#include "tests/reference/elman1990.h"
#include "tests/reference/lstm1997.h"
#include "tests/reference/pytorch_gru.h"

using namespace gradus;
using namespace gradus::testing;
using fixtures::Fixture;
using fixtures::fixture;
using paper::Mat;
using paper::Vec;

namespace {

struct Stack {
  std::string name;
  CellKind kind;
  GruOptions gru;
};
const Stack all_stacks[] = {{"Elman", CellKind::elman, {}},
                            {"GRU of Bahdanau et al.", CellKind::gru, bahdanau2014()},
                            {"GRU of PyTorch", CellKind::gru, pytorch()},
                            {"LSTM", CellKind::lstm, {}}};

Recurrent stack_of(const Stack& s, std::int64_t d_in, std::int64_t d_s, std::int64_t layers = 1,
                   std::uint64_t seed = 1) {
  Generator g(seed);
  return drawn(Recurrent(s.kind, d_in, d_s, layers, s.gru, g), seed);
}
Bidirectional both_ways(const Stack& s, std::int64_t d_in, std::int64_t d_s) {
  Generator g(1);
  return drawn(Bidirectional(s.kind, d_in, d_s, s.gru, g), 2);
}

// A state in which everything is drawn.
State drawn_state(const Recurrent& cell, std::int64_t batch, Numbers& numbers) {
  State state = cell.initial(batch, f64);
  static_cast<Var&>(state) = leaf(state.shape(), numbers);
  for (Var& h : state.below) h = leaf(state.shape(), numbers);
  for (Var& c : state.memory) c = leaf(state.shape(), numbers);
  return state;
}
State row_of(const State& state, std::int64_t b) {
  State one(narrow(state, Axis{0}, b, 1));
  for (const Var& h : state.below) one.below.push_back(narrow(h, Axis{0}, b, 1));
  for (const Var& c : state.memory) one.memory.push_back(narrow(c, Axis{0}, b, 1));
  return one;
}
std::vector<Parameter> leaves_of(const State& state) {
  std::vector<Parameter> leaves{{"top", state}};
  for (const Var& h : state.below) leaves.push_back({"below", h});
  for (const Var& c : state.memory) leaves.push_back({"memory", c});
  return leaves;
}

// A stack of PyTorch's, one direction: its weights are leaves named as in the fixture.
struct Loaded {
  Recurrent cell;
  State initial;
  std::vector<Parameter> leaves;
};
Loaded load(const Fixture& f, CellKind kind, std::int64_t layers, const Var& h0, const Var& c0, bool reverse = false,
            std::int64_t first_layer = 0) {
  Loaded loaded;
  loaded.cell.kind = kind;
  for (std::int64_t k = 0; k < layers; ++k) {
    const std::string end = "_l" + std::to_string(first_layer + k) + (reverse ? "_reverse" : "");
    auto take = [&](const std::string& name) {
      loaded.leaves.push_back({name + end, leaf(f[name + end])});
      return loaded.leaves.back().var;
    };
    const Var W = take("W_ih"), U = take("W_hh"), b = take("b_ih"), b_u = take("b_hh");
    if (kind == CellKind::gru) {
      Gru cell;
      cell.options = pytorch();
      cell.W = W;
      cell.U = U;
      cell.b = b;
      cell.b_u = b_u;
      loaded.cell.gru.push_back(cell);
    } else if (kind == CellKind::lstm) {
      Lstm cell;
      cell.W = W;
      cell.U = U;
      cell.b = b;
      cell.b_u = b_u;
      loaded.cell.lstm.push_back(cell);
    } else {
      Elman cell;
      cell.W = W;
      cell.U = U;
      cell.b = b + b_u;
      loaded.cell.elman.push_back(cell);
    }
  }
  // Rows of PyTorch's h0: layer by layer, the backward direction after the forward one.
  const std::int64_t directions = h0.shape()[0] / layers;
  for (std::int64_t k = 0; k < layers; ++k) {
    const std::int64_t row = directions * k + (reverse ? 1 : 0);
    if (k + 1 < layers) loaded.initial.below.push_back(at(h0, row));
    else static_cast<Var&>(loaded.initial) = at(h0, row);
    if (c0.defined()) loaded.initial.memory.push_back(at(c0, row));
  }
  return loaded;
}

CellKind kind_of(const std::string& name) {
  return name.rfind("gru", 0) == 0 ? CellKind::gru : name.rfind("lstm", 0) == 0 ? CellKind::lstm : CellKind::elman;
}

void append(std::vector<Parameter>& all, const std::vector<Parameter>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::optional<Mask> mask_of(const Fixture& f) {
  if (!f.has("lengths")) return std::nullopt;
  return mask_from_lengths(lengths_of(f["lengths"]), f["x"].shape[1]);
}

// One-way runs: h, h_n, c_n and every gradient.
void check_one_way(const std::string& name, std::int64_t layers) {
  CAPTURE(name);
  const Fixture& f = fixture(name);
  const Var x = leaf(f["x"]), h0 = leaf(f["h0"]), c0 = f.has("c0") ? leaf(f["c0"]) : Var();
  Loaded loaded = load(f, kind_of(name), layers, h0, c0);
  const Run result = run(loaded.cell, x, loaded.initial, mask_of(f));
  std::vector<Var> last = result.last.below;
  last.push_back(result.last);
  const Var h_n = stack_along(last, Axis{0});
  CHECK(gap(result.states, f["h"]) <= exact);
  CHECK(gap(h_n, f["h_n"]) <= exact);
  std::vector<Parameter> outputs{{"h", result.states}, {"h_n", h_n}}, leaves = loaded.leaves;
  if (c0.defined()) {
    outputs.push_back({"c_n", stack_along(result.last.memory, Axis{0})});
    CHECK(gap(outputs.back().var, f["c_n"]) <= exact);
    leaves.push_back({"c0", c0});
  }
  append(leaves, {{"x", x}, {"h0", h0}});
  flow_back(f, outputs);
  check_gradients(f, leaves);
}

// Runs in both directions, one or two layers: the second reads [forward; backward] of the first.
void check_both_ways(const std::string& name, std::int64_t layers) {
  CAPTURE(name);
  const Fixture& f = fixture(name);
  const Var x = leaf(f["x"]), h0 = leaf(f["h0"]), c0 = f.has("c0") ? leaf(f["c0"]) : Var();
  std::vector<Parameter> leaves{{"x", x}, {"h0", h0}};
  if (c0.defined()) leaves.push_back({"c0", c0});
  std::vector<Var> h_n, c_n;
  Var input = x;
  for (std::int64_t k = 0; k < layers; ++k) {
    const Var h = narrow(h0, Axis{0}, 2 * k, 2), c = c0.defined() ? narrow(c0, Axis{0}, 2 * k, 2) : Var();
    Loaded ahead = load(f, kind_of(name), 1, h, c, false, k), back = load(f, kind_of(name), 1, h, c, true, k);
    const Run one = run(ahead.cell, input, ahead.initial, mask_of(f), Direction::forward);
    const Run two = run(back.cell, input, back.initial, mask_of(f), Direction::backward);
    input = concat({one.states, two.states}, Axis{2});
    for (const Run* r : {&one, &two}) {
      h_n.push_back(r->last);
      if (c0.defined()) c_n.push_back(r->last.memory[0]);
    }
    append(leaves, ahead.leaves);
    append(leaves, back.leaves);
  }
  std::vector<Parameter> outputs{{"h", input}, {"h_n", stack_along(h_n, Axis{0})}};
  if (c0.defined()) outputs.push_back({"c_n", stack_along(c_n, Axis{0})});
  for (const Parameter& y : outputs) CHECK(gap(y.var, f[y.name]) <= exact);
  flow_back(f, outputs);
  check_gradients(f, leaves);
}

// h = tanh(.5 x + .8 h)
Recurrent tiny() {
  Recurrent cell;
  cell.kind = CellKind::elman;
  cell.elman.emplace_back();
  cell.elman[0].W = parameter(full(Shape{1, 1}, .5, f64));
  cell.elman[0].U = parameter(full(Shape{1, 1}, .8, f64));
  return cell;
}

}  // namespace

TEST_SUITE("nn recurrent") {
  // ---- PyTorch

  TEST_CASE("an Elman run is torch.nn.RNN in value and gradient") {
    const Fixture& f = fixture("rnn");
    const Var x = leaf(f["x"]), h0 = leaf(f["h0"]);
    Loaded loaded = load(f, CellKind::elman, 1, h0, Var());
    const Run result = run(loaded.cell, x, loaded.initial);
    CHECK(gap(result.states, f["h"]) <= exact);
    flow_back(f, {{"h", result.states}, {"h_n", reshape(result.last, Shape{1, 3, 4})}});
    append(loaded.leaves, {{"x", x}, {"h0", h0}});
    check_gradients(f, loaded.leaves);
  }
  TEST_CASE("a GRU run is torch.nn.GRU in value and gradient") { check_one_way("gru", 1); }
  TEST_CASE("a GRU run with lengths is torch.nn.GRU on a packed sequence") { check_one_way("gru_lengths", 1); }
  TEST_CASE("a GRU run with all sizes equal is torch.nn.GRU") { check_one_way("gru_equal_sizes", 1); }
  TEST_CASE("two layers of GRU are torch.nn.GRU with two layers") { check_one_way("gru_2_layers", 2); }
  TEST_CASE("an LSTM run is torch.nn.LSTM in value and gradient") { check_one_way("lstm", 1); }
  TEST_CASE("an LSTM run with lengths is torch.nn.LSTM on a packed sequence") { check_one_way("lstm_lengths", 1); }
  TEST_CASE("an LSTM run with all sizes equal is torch.nn.LSTM") { check_one_way("lstm_equal_sizes", 1); }
  TEST_CASE("two layers of LSTM are torch.nn.LSTM with two layers") { check_one_way("lstm_2_layers", 2); }
  TEST_CASE("a GRU in both directions with lengths is PyTorch's") { check_both_ways("gru_bidirectional_lengths", 1); }
  TEST_CASE("an LSTM in both directions with lengths is PyTorch's") {
    check_both_ways("lstm_bidirectional_lengths", 1);
  }
  TEST_CASE("two layers of GRU in both directions with lengths are PyTorch's") {
    check_both_ways("gru_2_layers_bidirectional_lengths", 2);
  }
  TEST_CASE("two layers of LSTM in both directions with lengths are PyTorch's") {
    check_both_ways("lstm_2_layers_bidirectional_lengths", 2);
  }

  TEST_CASE("Bidirectional gives the annotations of Bahdanau et al., gradients included") {
    const Fixture& f = fixture("bahdanau_encoder");
    std::vector<Parameter> leaves;
    auto stacked = [&](const std::string& letter, const std::string& way) {
      std::vector<Var> parts;
      for (const char* gate : {"r", "z", "n"}) {
        leaves.push_back({letter + "_" + gate + "_" + way, leaf(f[letter + "_" + gate + "_" + way])});
        parts.push_back(leaves.back().var);
      }
      return concat(parts, Axis{0});
    };
    auto cell = [&](const std::string& way) {
      Recurrent result;
      Gru gru;
      gru.options = bahdanau2014();
      gru.W = stacked("W", way);
      gru.U = stacked("U", way);
      gru.b = stacked("b", way);
      result.gru.push_back(gru);
      return result;
    };
    Bidirectional encoder;
    encoder.forward = cell("forward");
    encoder.backward = cell("backward");
    const Var x = leaf(f["x"]), W_s = leaf(f["W_s"]);
    const auto encoded = encoder(reshape(x, Shape{1, 5, 3}));
    const Var H = at(encoded.H, 0), s_0 = tanh(reshape(matmul(encoded.backward_first, transpose(W_s)), Shape{2}));
    CHECK(gap(H, f["H"]) <= exact);
    CHECK(gap(s_0, f["s_0"]) <= exact);
    flow_back(f, {{"H", H}, {"s_0", s_0}});
    append(leaves, {{"x", x}, {"W_s", W_s}});
    check_gradients(f, leaves);
  }

  // ---- the papers

  TEST_CASE("runs in both directions follow the transcriptions from a state that is not zero") {
    Numbers numbers(3);
    const Var x = drawn_tensor(Shape{1, 6, 2}, numbers);
    const Recurrent gru = stack_of(all_stacks[2], 2, 3), lstm = stack_of(all_stacks[3], 2, 3),
                    elman = stack_of(all_stacks[0], 2, 3);
    const State of_gru = drawn_state(gru, 1, numbers), of_lstm = drawn_state(lstm, 1, numbers),
                of_elman = drawn_state(elman, 1, numbers);
    const Gru& g = gru.gru[0];
    const Lstm& l = lstm.lstm[0];
    for (bool reversed : {false, true}) {
      CAPTURE(reversed);
      const Direction direction = reversed ? Direction::backward : Direction::forward;
      const Mat want =
          paper::pytorch_gru::run({mat(g.W), mat(g.U), vec(g.b), vec(g.b_u)}, mat(at(x, 0)), vec(of_gru), reversed);
      CHECK(gap(run(gru, x, of_gru, std::nullopt, direction).states, flat(want)) <= exact);
      Vec h;
      const auto states = paper::lstm1997::run({mat(l.W), mat(l.U), vec(l.b), {}}, mat(at(x, 0)),
                                               {vec(of_lstm), vec(of_lstm.memory[0])}, reversed);
      for (const auto& s : states) h.insert(h.end(), s.h.begin(), s.h.end());
      CHECK(gap(run(lstm, x, of_lstm, std::nullopt, direction).states, h) <= exact);
    }
    const Elman& e = elman.elman[0];
    CHECK(gap(run(elman, x, of_elman).states,
              flat(paper::elman1990::run({mat(e.W), mat(e.U), vec(e.b)}, mat(at(x, 0)), vec(of_elman)))) <= exact);
  }

  TEST_CASE("time is the second axis: the final state of X = (1 2; 3 4) is .8786 in row 0") {
    const Run r = run(tiny(), tensor(Shape{2, 2, 1}, {1, 2, 3, 4}, f64), tiny().initial(2, f64));
    CHECK(prints_as(r.last.value().at({0, 0}), .8786, 4));
  }

  TEST_CASE("the last state of both directions is [forward at the end; backward at position 1]: .9759 .8485") {
    Bidirectional encoder;
    encoder.forward = tiny();
    encoder.backward = tiny();
    const auto encoded = encoder(tensor(Shape{1, 3, 1}, {1, 2, 3}, f64));
    CHECK(prints_as(encoded.forward_last.item(), .9759, 4));
    CHECK(prints_as(encoded.backward_first.item(), .8485, 4));
  }

  // ---- lengths

  TEST_CASE("a batch of mixed lengths is a loop over its rows, each alone and unpadded, in both directions") {
    for (const Stack& s : all_stacks) {
      for (std::int64_t layers : {1, 2}) {
        for (Direction direction : {Direction::forward, Direction::backward}) {
          CAPTURE(s.name);
          CAPTURE(layers);
          const Recurrent cell = stack_of(s, 2, 4, layers);
          Numbers numbers(4);
          const Var x = drawn_tensor(Shape{3, 5, 2}, numbers);
          const State initial = drawn_state(cell, 3, numbers);
          const std::vector<std::int64_t> lengths{3, 5, 1};
          const Run all = run(cell, x, initial, mask_from_lengths(lengths, 5), direction);
          for (std::int64_t b = 0; b < 3; ++b) {
            const std::int64_t n = lengths[static_cast<std::size_t>(b)];
            const Run alone =
                run(cell, narrow(narrow(x, Axis{0}, b, 1), Axis{1}, 0, n), row_of(initial, b), std::nullopt, direction);
            CHECK(gap(narrow(at(all.states, b), Axis{0}, 0, n), at(alone.states, 0)) <= exact);
            const auto whole = leaves_of(row_of(all.last, b)), single = leaves_of(alone.last);
            REQUIRE(whole.size() == single.size());
            for (std::size_t i = 0; i < whole.size(); ++i) CHECK(gap(whole[i].var, single[i].var) <= exact);
          }
        }
      }
    }
  }

  TEST_CASE("what stands at padding has no effect, bit for bit, in states, last state and gradients") {
    for (const Stack& s : all_stacks) {
      for (Direction direction : {Direction::forward, Direction::backward}) {
        CAPTURE(s.name);
        Numbers numbers(5);
        const Tensor x = drawn_tensor(Shape{2, 4, 2}, numbers);
        Tensor other = copy(x);
        for (std::int64_t k = 0; k < 2; ++k) {
          other.set({0, 2, k}, 1e6);
          other.set({0, 3, k}, -3);
          other.set({1, 3, k}, 0.125);
        }
        std::vector<std::vector<double>> results[2];
        for (int k = 0; k < 2; ++k) {
          const Recurrent cell = stack_of(s, 2, 3, 2);
          const Run r = run(cell, k == 0 ? x : other, cell.initial(2, f64), mask_from_lengths({2, 3}, 4), direction);
          results[k] = {vec(r.states), vec(r.last)};
          backward(weighted(r.states, 6) + weighted(r.last, 7));
          for (const Parameter& p : parameters(cell)) results[k].push_back(vec(p.var.grad()));
        }
        CHECK(results[0] == results[1]);
      }
    }
  }

  TEST_CASE("NaN at padding stays there: no state sees it") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      Numbers numbers(5);
      Tensor x = drawn_tensor(Shape{2, 4, 2}, numbers);
      const Recurrent cell = stack_of(s, 2, 3);
      const Run clean = run(cell, x, cell.initial(2, f64), mask_from_lengths({2, 4}, 4), Direction::backward);
      x.set({0, 2, 0}, not_a_number);
      x.set({0, 3, 1}, not_a_number);
      const Run dirty = run(cell, x, cell.initial(2, f64), mask_from_lengths({2, 4}, 4), Direction::backward);
      CHECK(bitwise(dirty.states, clean.states));
      CHECK(bitwise(dirty.last, clean.last));
    }
  }

  TEST_CASE("the input gets gradient exactly 0 at padding, and not 0 elsewhere") {
    for (const Stack& s : all_stacks) {
      for (Direction direction : {Direction::forward, Direction::backward}) {
        CAPTURE(s.name);
        const Recurrent cell = stack_of(s, 2, 3);
        Numbers numbers(6);
        const Var x = leaf(Shape{2, 4, 2}, numbers);
        const Run r = run(cell, x, cell.initial(2, f64), mask_from_lengths({2, 3}, 4), direction);
        backward(weighted(r.states, 6) + weighted(r.last, 7));
        CHECK(all_zero(narrow(at(x.grad(), 0), Axis{0}, 2, 2)));
        CHECK(all_zero(narrow(at(x.grad(), 1), Axis{0}, 3, 1)));
        for (double value : vec(narrow(x.grad(), Axis{1}, 0, 2))) CHECK(value != 0);
      }
    }
  }

  TEST_CASE("states are exactly 0 at padding, and the last state is that of the last real position") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3);
      Numbers numbers(7);
      const Var x = drawn_tensor(Shape{2, 4, 2}, numbers);
      const Run r = run(cell, x, drawn_state(cell, 2, numbers), mask_from_lengths({2, 4}, 4));
      CHECK(all_zero(narrow(at(r.states, 0), Axis{0}, 2, 2)));
      CHECK(bitwise(at(r.last, 0), at(at(r.states, 0), 1)));
      CHECK(bitwise(at(r.last, 1), at(at(r.states, 1), 3)));
    }
  }

  TEST_CASE("the backward direction starts at each row's last real position") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3);
      Numbers numbers(8);
      const Var x = drawn_tensor(Shape{2, 4, 2}, numbers);
      const State initial = drawn_state(cell, 2, numbers);
      const Run r = run(cell, x, initial, mask_from_lengths({2, 4}, 4), Direction::backward);
      const State first = cell.step(narrow(select(x, Axis{1}, 1), Axis{0}, 0, 1), row_of(initial, 0));
      CHECK(gap(at(at(r.states, 0), 1), at(first, 0)) <= exact);
      CHECK(bitwise(at(r.last, 0), at(at(r.states, 0), 0)));
    }
  }

  TEST_CASE("a backward run is a forward run on the reversed sequence, its states put back in place") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3, 2);
      Numbers numbers(9);
      const Var x = drawn_tensor(Shape{2, 4, 2}, numbers);
      const State initial = drawn_state(cell, 2, numbers);
      std::vector<Var> reversed;
      for (std::int64_t t = 3; t >= 0; --t) reversed.push_back(select(x, Axis{1}, t));
      const Run back = run(cell, x, initial, std::nullopt, Direction::backward);
      const Run ahead = run(cell, stack_along(reversed, Axis{1}), initial);
      for (std::int64_t t = 0; t < 4; ++t) {
        CHECK(gap(select(back.states, Axis{1}, t), select(ahead.states, Axis{1}, 3 - t)) <= exact);
      }
      CHECK(gap(back.last, ahead.last) <= exact);
    }
  }

  TEST_CASE("a mask that is all true is no mask, bit for bit") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3);
      Numbers numbers(10);
      const Var x = drawn_tensor(Shape{2, 4, 2}, numbers);
      const State initial = drawn_state(cell, 2, numbers);
      const Run a = run(cell, x, initial, mask_from_lengths({4, 4}, 4)), b = run(cell, x, initial);
      CHECK(bitwise(a.states, b.states));
      CHECK(bitwise(a.last, b.last));
    }
  }

  TEST_CASE("a row of length 0 keeps its initial state, memory included") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3, 2);
      Numbers numbers(11);
      const State initial = drawn_state(cell, 2, numbers);
      const Run r = run(cell, drawn_tensor(Shape{2, 4, 2}, numbers), initial, mask_from_lengths({0, 4}, 4));
      CHECK(all_zero(at(r.states, 0)));
      const auto after = leaves_of(r.last), before = leaves_of(initial);
      for (std::size_t i = 0; i < after.size(); ++i) {
        CHECK(bitwise(at(after[i].var, 0), at(before[i].var, 0)));
        CHECK(!bitwise(at(after[i].var, 1), at(before[i].var, 1)));
      }
    }
  }

  TEST_CASE("more padding changes nothing") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3);
      Numbers numbers(12);
      const Var x = drawn_tensor(Shape{2, 3, 2}, numbers);
      const Var longer = concat({x, Var(drawn_tensor(Shape{2, 4, 2}, numbers))}, Axis{1});
      for (Direction direction : {Direction::forward, Direction::backward}) {
        const Run a = run(cell, x, cell.initial(2, f64), mask_from_lengths({2, 3}, 3), direction);
        const Run b = run(cell, longer, cell.initial(2, f64), mask_from_lengths({2, 3}, 7), direction);
        CHECK(gap(narrow(b.states, Axis{1}, 0, 3), a.states) <= 1e-15);
        CHECK(gap(b.last, a.last) <= 1e-15);
      }
    }
  }

  TEST_CASE("a mask with a hole carries the state through it") {
    const Recurrent cell = stack_of(all_stacks[1], 2, 3);
    Numbers numbers(13);
    const Var x = drawn_tensor(Shape{1, 4, 2}, numbers);
    const Run holed = run(cell, x, cell.initial(1, f64), Mask(Shape{1, 4}, {1, 0, 0, 1}));
    const Run joined =
        run(cell, concat({narrow(x, Axis{1}, 0, 1), narrow(x, Axis{1}, 3, 1)}, Axis{1}), cell.initial(1, f64));
    CHECK(gap(holed.last, joined.last) <= exact);
  }

  // ---- both directions

  TEST_CASE("Bidirectional is a forward and a backward run from zero, side by side") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Bidirectional encoder = both_ways(s, 2, 3);
      Numbers numbers(14);
      const Var x = drawn_tensor(Shape{2, 4, 2}, numbers);
      const Mask mask = mask_from_lengths({2, 4}, 4);
      const auto encoded = encoder(x, mask);
      const Run ahead = run(encoder.forward, x, encoder.forward.initial(2, f64), mask);
      const Run back = run(encoder.backward, x, encoder.backward.initial(2, f64), mask, Direction::backward);
      REQUIRE(encoded.H.shape() == Shape{2, 4, 6});
      CHECK(bitwise(narrow(encoded.H, Axis{2}, 0, 3), ahead.states));
      CHECK(bitwise(narrow(encoded.H, Axis{2}, 3, 3), back.states));
      CHECK(bitwise(encoded.forward_last, ahead.last));
      CHECK(bitwise(encoded.backward_first, back.last));
    }
  }

  TEST_CASE("the two directions have weights of their own") {
    const Bidirectional encoder = both_ways(all_stacks[1], 2, 3);
    CHECK(!bitwise(encoder.forward.gru[0].W, encoder.backward.gru[0].W));
    CHECK(parameters(encoder).size() == 4);
  }

  TEST_CASE("each annotation knows the whole sentence: every input changes every h_i") {
    const Bidirectional encoder = both_ways(all_stacks[1], 2, 3);
    Numbers numbers(15);
    const Tensor x = drawn_tensor(Shape{1, 4, 2}, numbers);
    const Var H = encoder(x).H;
    for (std::int64_t t = 0; t < 4; ++t) {
      Tensor moved = copy(x);
      moved.set({0, t, 0}, 2);
      const Var other = encoder(moved).H;
      for (std::int64_t i = 0; i < 4; ++i) CHECK(!bitwise(at(at(other, 0), i), at(at(H, 0), i)));
    }
  }

  TEST_CASE("Bidirectional passes the self check with mixed lengths") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Bidirectional encoder = both_ways(s, 2, 2);
      Numbers numbers(16);
      const Var x = leaf(Shape{2, 3, 2}, numbers);
      // At padding the gradient is zero, but each leaf has real positions too.
      const GradientReport report = check_gradient(
          [&] {
            return encoder(x, mask_from_lengths({2, 3}, 3)).H;
          },
          checked(encoder, {{"x", x}}));
      CHECK_MESSAGE(report.passed, report.text());
    }
  }

  // ---- stacks

  TEST_CASE("a run of two layers passes the self check in states and last state, with mixed lengths") {
    for (const Stack& s : all_stacks) {
      for (Direction direction : {Direction::forward, Direction::backward}) {
        CAPTURE(s.name);
        const Recurrent cell = stack_of(s, 3, 2, 2);
        Numbers numbers(17);
        const Var x = leaf(Shape{2, 3, 3}, numbers);
        const State initial = drawn_state(cell, 2, numbers);
        std::vector<CheckedInput> inputs = checked(cell, {{"x", x}});
        for (const Parameter& p : leaves_of(initial)) inputs.push_back({p.name, p.var});
        const GradientReport report = check_gradient(
            [&] {
              const Run r = run(cell, x, initial, mask_from_lengths({2, 3}, 3), direction);
              std::vector<Var> all{reshape(r.states, Shape{12})};
              for (const Parameter& p : leaves_of(r.last)) all.push_back(reshape(p.var, Shape{4}));
              return concat(all, Axis{0});
            },
            inputs);
        CHECK_MESSAGE(report.passed, report.text());
      }
    }
  }

  TEST_CASE("the upper layer reads the h of the lower one") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3, 2);
      Recurrent lower = cell, upper = cell;
      for (auto* part : {&lower, &upper}) {
        const std::size_t drop = part == &lower ? 1 : 0;
        auto keep_one = [&](auto& list) {
          if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(drop));
        };
        keep_one(part->elman);
        keep_one(part->gru);
        keep_one(part->lstm);
      }
      Numbers numbers(18);
      const Var x = drawn_tensor(Shape{2, 4, 2}, numbers);
      const Run both = run(cell, x, cell.initial(2, f64));
      const Run first = run(lower, x, lower.initial(2, f64));
      const Run second = run(upper, first.states, upper.initial(2, f64));
      CHECK(gap(both.states, second.states) <= exact);
      CHECK(gap(both.last.below[0], first.last) <= exact);
    }
  }

  TEST_CASE("a stack knows its layers and sizes, and starts from zeros of the right shapes") {
    for (const Stack& s : all_stacks) {
      for (std::int64_t layers : {1, 2, 3}) {
        CAPTURE(s.name);
        CAPTURE(layers);
        const Recurrent cell = stack_of(s, 2, 5, layers);
        CHECK(cell.layers() == layers);
        CHECK(cell.d_s() == 5);
        const State zero = cell.initial(4, f64);
        CHECK(zero.below.size() == static_cast<std::size_t>(layers - 1));
        CHECK(zero.memory.size() == static_cast<std::size_t>(s.kind == CellKind::lstm ? layers : 0));
        for (const Parameter& p : leaves_of(zero)) {
          CHECK(p.var.shape() == Shape{4, 5});
          CHECK(p.var.dtype() == f64);
          CHECK(all_zero(p.var));
        }
        CHECK(cell.initial(4, f32).dtype() == f32);
      }
    }
  }

  TEST_CASE("a given first state is the h of every layer, with empty memories") {
    const Recurrent cell = stack_of(all_stacks[3], 2, 5, 3);
    Numbers numbers(19);
    const Var top = drawn_tensor(Shape{4, 5}, numbers);
    const State state = cell.initial(top);
    CHECK(bitwise(state, top));
    for (const Var& h : state.below) CHECK(bitwise(h, top));
    REQUIRE(state.memory.size() == 3);
    for (const Var& c : state.memory) CHECK(all_zero(c));
  }

  TEST_CASE("step is project and step_projected") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3, 2);
      Numbers numbers(20);
      const Var x = drawn_tensor(Shape{2, 2}, numbers);
      const State before = drawn_state(cell, 2, numbers);
      CHECK(bitwise(cell.step(x, before), cell.step_projected(cell.project(x), before)));
    }
  }

  TEST_CASE("the input part is one product for the whole sequence") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3);
      Numbers numbers(21);
      const Var x = leaf(Shape{4, 6, 2}, numbers);
      const Run r = run(cell, x, cell.initial(4, f64));
      CHECK(count_nodes(r.states, [](const Node& node) {
              const Shape& shape = node.value.shape();
              return std::string(node.op) == "linear" && shape.rank() == 3 && shape[0] * shape[1] == 4 * 6;
            }) == 1);
    }
  }

  TEST_CASE("a run of one step is a step") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3);
      Numbers numbers(22);
      const Var x = drawn_tensor(Shape{3, 1, 2}, numbers);
      const State before = drawn_state(cell, 3, numbers);
      const Run r = run(cell, x, before);
      CHECK(gap(r.last, cell.step(select(x, Axis{1}, 0), before)) <= exact);
      CHECK(bitwise(select(r.states, Axis{1}, 0), r.last));
    }
  }

  TEST_CASE("sizes of 1 everywhere work") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 1, 1);
      CHECK(run(cell, full(Shape{1, 1, 1}, 0.5, f64), cell.initial(1, f64)).states.shape() == Shape{1, 1, 1});
    }
  }

  TEST_CASE("a run in f32 agrees with f64 over forty steps") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      Generator g(23);
      const Recurrent single(s.kind, 6, 8, 2, s.gru, g), twice = clone(single, f64);
      Numbers numbers(23);
      const Tensor x = drawn_tensor(Shape{3, 40, 6}, numbers);
      const Run a = run(single, x.to(f32), single.initial(3, f32), mask_from_lengths({40, 7, 23}, 40));
      const Run b = run(twice, x, twice.initial(3, f64), mask_from_lengths({40, 7, 23}, 40));
      CHECK(gap(a.states.value().to(f64), b.states) < 1e-4);
    }
  }

  // ---- refusals

  TEST_CASE("run refuses an input that is not (B, T, d_in)") {
    const Recurrent cell = stack_of(all_stacks[1], 2, 3);
    for (const Shape& shape : {Shape{4, 2}, Shape{2}, Shape{1, 2, 3, 2}}) {
      CAPTURE(to_string(shape));
      const std::string text = message_of<ShapeError>([&] { run(cell, zeros(shape, f64), cell.initial(4, f64)); });
      CHECK(opens_with(text, "shape error in run over a sequence: "));
      CHECK(contains(text, to_string(shape)));
      CHECK(contains(text, "(B, T, d_in)"));
    }
    CHECK(contains(message_of<ShapeError>([&] {
                     run(cell, zeros(Shape{2, 4, 5}, f64), cell.initial(2, f64));
                   }),
                   "(B, T, d_in) = (2, 4, 2)"));
  }

  TEST_CASE("run refuses a mask that is not (B, T), for example the transposed one") {
    const Recurrent cell = stack_of(all_stacks[1], 2, 3);
    for (const Shape& shape : {Shape{5, 4}, Shape{4, 6}, Shape{1, 5}, Shape{4}}) {
      CAPTURE(to_string(shape));
      const std::string text = message_of<ShapeError>([&] {
        run(cell, zeros(Shape{4, 5, 2}, f64), cell.initial(4, f64), Mask(shape, 1));
      });
      CHECK(opens_with(text, "shape error in run over a sequence: "));
      CHECK(contains(text, to_string(shape)));
      CHECK(contains(text, "(B, T) = (4, 5)"));
    }
  }

  TEST_CASE("run refuses an empty sequence and says what to do") {
    const Recurrent cell = stack_of(all_stacks[1], 2, 3);
    CHECK(contains(message_of<ShapeError>([&] {
                     run(cell, zeros(Shape{4, 0, 2}, f64), cell.initial(4, f64));
                   }),
                   "leave empty sequences out"));
  }

  TEST_CASE("run refuses a state of another batch") {
    for (const Stack& s : all_stacks) {
      CAPTURE(s.name);
      const Recurrent cell = stack_of(s, 2, 3);
      CHECK(contains(message_of<ShapeError>([&] {
                       run(cell, zeros(Shape{4, 5, 2}, f64), cell.initial(3, f64));
                     }),
                     "(3, 3)"));
    }
  }

  TEST_CASE("a stack of no layers is refused") {
    Generator g(1);
    for (std::int64_t layers : {0, -1}) {
      const std::string text = message_of<ValueError>([&] { Recurrent(CellKind::gru, 2, 3, layers, {}, g); });
      CHECK(opens_with(text, "Recurrent: "));
      CHECK(contains(text, std::to_string(layers)));
    }
  }
}
