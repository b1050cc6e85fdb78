// The reference check: every layer of the library agrees with the papers in every convention, and a layer that does not
// is refused, also when it agrees with itself.
#include "nn/conventions/check_reference.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/nn/decoder_cases.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

constexpr ScoreKind all_scores[] = {ScoreKind::dot,    ScoreKind::general, ScoreKind::additive,
                                    ScoreKind::concat, ScoreKind::cosine,  ScoreKind::scaled_dot};

Var leaf(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed, "test leaf");
  return parameter(random_uniform(shape, -1, 1, generator, f64));
}

template <class Model> Model drawn(const Model& model, std::uint64_t seed = 5) {
  Model result = clone(model, f64);
  randomize(parameters(result), 0.7, seed);
  return result;
}

void expect_pass(const ReferenceReport& report) {
  INFO(report.text());
  CHECK(report.passed);
}

// One layer over a sequence: both directions, with and without a mask, different and equal sizes.
void check_cell(const Recurrent& fresh, std::int64_t d_in, std::int64_t d_s) {
  const Recurrent cell = drawn(fresh);
  const Var x = leaf(Shape{2, 3, d_in}, 1);
  State initial = cell.initial(leaf(Shape{2, d_s}, 2));
  for (Var& c : initial.memory) c = leaf(Shape{2, d_s}, 3);
  for (Direction direction : {Direction::forward, Direction::backward}) {
    for (bool masked : {false, true}) {
      CAPTURE(masked);
      const std::optional<Mask> mask = masked ? std::optional<Mask>(mask_from_lengths({3, 2}, 3)) : std::nullopt;
      expect_pass(check_reference(cell, x, initial, mask, direction));
    }
  }
}

std::vector<GruOptions> all_gru_options() {
  std::vector<GruOptions> all;
  for (GruReset reset : {GruReset::before, GruReset::after})
    for (GruUpdate update : {GruUpdate::keeps, GruUpdate::replaces})
      for (GruBias bias : {GruBias::none, GruBias::one, GruBias::two})
        for (GruOrder order : {GruOrder::rzn, GruOrder::zrn}) all.push_back({reset, update, bias, order});
  return all;
}

std::string to_text(const GruOptions& options) {
  return std::string(options.reset == GruReset::before ? "before" : "after") +
         (options.update == GruUpdate::keeps ? ", keeps" : ", replaces") + ", biases " +
         std::to_string(static_cast<int>(options.bias)) + (options.order == GruOrder::rzn ? ", rzn" : ", zrn");
}

template <class Kind>
void check_decoder(const DecoderCase& sizes, const DecoderOptions& options, bool masked, std::uint64_t seed = 7) {
  CAPTURE(std::string(sizes.name));
  CAPTURE(masked);
  CAPTURE(std::string(to_string(options.score)));
  CAPTURE(static_cast<int>(options.cell));
  CAPTURE(options.layers);
  Generator generator(1);
  const Kind decoder = drawn(Kind(sizes.decoder, options, generator), seed);
  const DecoderInputs inputs = random_inputs(sizes.decoder, sizes.extent, masked, seed + 1);
  expect_pass(check_reference(under_test(decoder), inputs, convention_of(decoder)));
}

}  // namespace

TEST_CASE("G2: the GRU in all 24 conventions") {
  for (const GruOptions& options : all_gru_options()) {
    CAPTURE(to_text(options));
    for (std::int64_t d_in : {4, 5}) {
      Generator generator(1);
      check_cell(Recurrent(CellKind::gru, d_in, 4, 1, options, generator), d_in, 4);
    }
  }
}

TEST_CASE("G2: the GRU's presets are the reference's presets") {
  struct Row {
    const char* name;
    GruOptions options;
    reference::GruConvention convention;
  };
  const Row rows[] = {{"cho2014", cho2014(), reference::cho2014()},
                      {"bahdanau2014", bahdanau2014(), reference::bahdanau2014_gru()},
                      {"pytorch", pytorch(), reference::pytorch()},
                      {"keras_reset_after", keras_reset_after(), reference::keras_reset_after()},
                      {"keras_reset_before", keras_reset_before(), reference::keras_reset_before()},
                      {"onnx_lbr0", onnx_lbr0(), reference::onnx_lbr0()},
                      {"onnx_lbr1", onnx_lbr1(), reference::onnx_lbr1()}};
  for (const Row& row : rows) {
    CAPTURE(std::string(row.name));
    Generator generator(1);
    const Recurrent cell = drawn(Recurrent(CellKind::gru, 3, 4, 1, row.options, generator));
    const Var x = leaf(Shape{2, 3}, 1), s_prev = leaf(Shape{2, 4}, 2);
    std::vector<CheckedInput> leaves{{"x", x}, {"s_0", s_prev}};
    for (const Parameter& p : reference_parameters(cell)) leaves.push_back({p.name, p.var});
    expect_pass(check_reference(
        [&]() -> Outputs {
          return {{"s_t", cell.gru[0].step(x, s_prev)}};
        },
        leaves,
        [&](const reference::Arrays& at) -> reference::Arrays {
          reference::Array s_t({2, 4});
          for (std::size_t b = 0; b < 2; ++b) {
            s_t.set_row({b}, gru_step(row.convention, reference::cell_weights(at), get(at, "x").row({b}),
                                      get(at, "s_0").row({b})));
          }
          return {{"s_t", s_t}};
        }));
  }
}

TEST_CASE("G2: LSTM with one and two biases, Elman") {
  for (std::int64_t d_in : {4, 3}) {
    Generator generator(1);
    Recurrent lstm(CellKind::lstm, d_in, 4, 1, {}, generator);
    check_cell(lstm, d_in, 4);
    lstm.lstm[0].b_u = zero_parameter(Shape{16});
    check_cell(lstm, d_in, 4);
    check_cell(Recurrent(CellKind::elman, d_in, 4, 1, {}, generator), d_in, 4);
  }
}

TEST_CASE("G2: weights in any layout") {
  Generator generator(1);
  Recurrent cell = drawn(Recurrent(CellKind::gru, 3, 4, 1, pytorch(), generator));
  cell.gru[0].W = parameter(copy(cell.gru[0].W.value()));                            // row-major
  cell.gru[0].U = parameter(transpose(copy(transpose(cell.gru[0].U.value()))));      // column-major
  cell.gru[0].b = parameter(narrow(leaf(Shape{24}, 4).value(), Axis{0}, 1, 12, 2));  // every second number
  const State initial = cell.initial(leaf(Shape{2, 4}, 2));
  const Var x = parameter(transpose(leaf(Shape{3, 2, 3}, 3).value(), Axis{0}, Axis{1}));  // time first in memory
  expect_pass(check_reference(cell, x, initial, std::nullopt, Direction::forward));
}

TEST_CASE("G2: both directions, with lengths") {
  for (CellKind kind : {CellKind::gru, CellKind::lstm, CellKind::elman}) {
    for (std::int64_t d_in : {3, 5}) {
      for (bool masked : {false, true}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(masked);
        Generator generator(1);
        const Bidirectional encoder = drawn(Bidirectional(kind, d_in, 3, pytorch(), generator));
        const Var x = leaf(Shape{3, 4, d_in}, 4);
        const std::optional<Mask> mask = masked ? std::optional<Mask>(mask_from_lengths({4, 1, 3}, 4)) : std::nullopt;
        expect_pass(check_reference(encoder, x, mask));
      }
    }
  }
}

TEST_CASE("G2: six scores, with and without a mask") {
  for (ScoreKind kind : all_scores) {
    for (const DecoderCase& sizes : {needs_same_states(kind) ? same_states : different, equal}) {
      for (bool masked : {false, true}) {
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(std::string(sizes.name));
        CAPTURE(masked);
        Generator generator(1);
        const DecoderSizes& n = sizes.decoder;
        const Score score = drawn(Score(kind, n.d_s, n.d_h, n.d_attn, generator));
        const DecoderInputs inputs = random_inputs(n, sizes.extent, masked, 9);
        expect_pass(check_reference(score, inputs.s_0, inputs.H, inputs.mask));
      }
    }
  }
}

TEST_CASE("G2: Bahdanau's decoder: every score with every cell") {
  for (ScoreKind score : all_scores) {
    for (CellKind cell : {CellKind::elman, CellKind::gru, CellKind::lstm}) {
      for (const DecoderCase& sizes : {needs_same_states(score) ? same_states : different, equal}) {
        check_decoder<BahdanauDecoder>(sizes, {.score = score, .cell = cell}, true);
      }
    }
  }
}

TEST_CASE("G2: Bahdanau's decoder: layers, readout time, maxout, mask") {
  for (std::int64_t layers : {1, 2, 3}) {
    for (ReadoutTime time : {ReadoutTime::s_t, ReadoutTime::s_prev}) {
      for (bool maxout : {false, true}) {
        for (bool masked : {false, true}) {
          CAPTURE(maxout);
          CAPTURE(time == ReadoutTime::s_prev);
          for (const DecoderCase& sizes : {different, equal}) {
            check_decoder<BahdanauDecoder>(sizes, {.layers = layers, .readout_time = time, .maxout = maxout}, masked);
          }
        }
      }
    }
  }
}

TEST_CASE("G2: Bahdanau's decoder on a GRU of every convention") {
  for (const GruOptions& options : all_gru_options()) {
    CAPTURE(to_text(options));
    check_decoder<BahdanauDecoder>(equal, {.gru = options}, true);
  }
}

TEST_CASE("G2: Luong's decoder: every score with every cell") {
  for (ScoreKind score : all_scores) {
    for (CellKind cell : {CellKind::elman, CellKind::gru, CellKind::lstm}) {
      for (const DecoderCase& sizes : {needs_same_states(score) ? same_states : different, equal}) {
        check_decoder<LuongDecoder>(sizes, {.score = score, .cell = cell}, true);
      }
    }
  }
}

TEST_CASE("G2: Luong's decoder: layers, feeding, mask") {
  for (std::int64_t layers : {1, 2}) {
    for (bool feeding : {true, false}) {
      for (bool masked : {false, true}) {
        CAPTURE(feeding);
        for (const DecoderCase& sizes : {different, equal}) {
          check_decoder<LuongDecoder>(
              sizes, {.score = ScoreKind::general, .cell = CellKind::lstm, .layers = layers, .input_feeding = feeding},
              masked);
        }
      }
    }
  }
}

TEST_CASE("G2: the decoder without attention") {
  for (std::int64_t layers : {1, 2}) {
    for (CellKind cell : {CellKind::elman, CellKind::gru, CellKind::lstm}) {
      for (const DecoderCase& sizes : {different, equal}) {
        check_decoder<PlainDecoder>(sizes, {.cell = cell, .layers = layers}, false);
      }
    }
  }
}

TEST_CASE("G2: a decoder given as a step function") {
  Generator generator(1);
  const BahdanauDecoder decoder = drawn(BahdanauDecoder(different.decoder, {}, generator));
  std::vector<Parameter> parameters = reference_parameters(decoder.score);
  for (const Parameter& p : reference_parameters(decoder.cell)) parameters.push_back(p);
  const DecoderUnderTest mine = under_test(
      "mine", [&](const Var& y, const State& s_prev, const Memory& memory) { return decoder.step(y, s_prev, memory); },
      parameters, [&](const Var& H, const std::optional<Mask>& mask) { return decoder.remember(H, mask); });
  expect_pass(
      check_reference(mine, random_inputs(different.decoder, different.extent, true, 3), convention_of(decoder)));
}

// Attends after the cell has run: the mistake that the whole project is about.
struct SwappedDecoder : BahdanauDecoder {
  explicit SwappedDecoder(const BahdanauDecoder& right) : BahdanauDecoder(right) {}
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override {
    State s_t = cell.step(concat({y_emb, s_prev.attentional}, Axis{1}), s_prev);  // c_{t-1}; here d_h = d_s
    auto [context, weights] = attend(score(s_t, memory.keys), memory.values, memory.mask);
    s_t.attentional = context;  // handed on to the next step
    return {s_t, context, weights};
  }
};

TEST_CASE("G2: the worked example of the swap: both gradients of the additive attention, to the printed digits") {
  Generator generator(1);
  DecoderSizes n{2, 1, 2, 2, 2};
  BahdanauDecoder right = clone(BahdanauDecoder(n, {}, generator), f64);
  auto put = [](const Var& p, std::initializer_list<double> values) {
    copy_(p.mutable_value(), tensor(p.shape(), values, f64));
  };
  put(right.score.W_a, {.6, -.2, .1, .7});
  put(right.score.U_a, {.3, .5, -.4, .2});
  put(right.score.v_a, {1, -.8});
  put(right.cell.gru[0].W, {.4, .2, -.1, -.6, .1, .3, .7, -.3, .2, -.2, .5, .1, .5, .4, -.6, .8, -.2, .3});
  put(right.cell.gru[0].U, {.2, .1, 0, .3, .1, -.3, .2, .4, .9, -.7, .6, .2});
  const SwappedDecoder swapped(right);
  const DecoderInputs in{tensor(Shape{1, 2, 1}, {1, -.5}, f64),
                         tensor(Shape{1, 3, 2}, {1, 0, 0, 1, -1, .5}, f64),
                         {},
                         tensor(Shape{1, 2}, {.2, -.1}, f64)};
  const reference::Arrays constants = [&] {
    reference::Arrays all{{"y_emb", to_reference(in.y_emb.value())},
                          {"H", to_reference(in.H.value())},
                          {"s_0", to_reference(in.s_0.value())}};
    for (const Parameter& p : reference_parameters(right)) all[p.name] = to_reference(p.var.value());
    return all;
  }();
  auto loss_of = [](const DecoderRun& run) {  // (1, -2) . s_2 + (.5, 1) . c_2
    return sum(run.states[2] * Var(tensor(Shape{1, 2}, {1, -2}, f64))) +
           sum(run.contexts[1] * Var(tensor(Shape{1, 2}, {.5, 1}, f64)));
  };
  auto reference_loss = [&](const reference::Arrays& moved) -> reference::Arrays {
    reference::Arrays all = constants;
    all["W_a"] = get(moved, "W_a");
    const reference::Arrays out = reference::decode(reference::bahdanau2014(), all);
    const reference::Row s = get(out, "s").row({0, 2}), c = get(out, "c").row({0, 1});
    return {{"L", reference::Array({}, {s[0] - 2 * s[1] + .5 * c[0] + c[1]})}};
  };
  struct Row {
    const Decoder* decoder;
    double analytic;
    bool passed;
  };
  for (const Row& row : {Row{&right, -0.013265, true}, Row{&swapped, -0.004997, false}}) {
    const DecoderUnderTest tested = under_test("decoder", *row.decoder, {});
    const auto loss = [&] { return loss_of(tested.run(in)); };
    CHECK(check_gradient(loss, {{"W_a", right.score.W_a}}).passed);  // both agree with themselves
    const ReferenceReport report = check_reference(
        [&]() -> Outputs {
          return {{"L", loss()}};
        },
        {{"W_a", right.score.W_a}}, reference_loss);
    INFO(report.text());
    CHECK(report.passed == row.passed);
    const double sign = report.numeric.at("W_a").data[0] / -0.013265 > 0 ? 1 : -1;
    const double weight = sign * std::fabs(report.numeric.at("W_a").data[0] / -0.013265);  // the cotangent of L
    CHECK(std::fabs(report.analytic.at("W_a").data[0] / weight - row.analytic) <= 1e-6);
  }
}

TEST_CASE("G2: what the check refuses, and with which verdict") {
  const Var w = leaf(Shape{2, 3}, 1);
  auto reference_square = [](const reference::Arrays& at) -> reference::Arrays {
    reference::Array y = get(at, "w");
    for (double& v : y.data) v *= v;
    return {{"x", y}, {"y", y}};
  };
  auto outputs = [&](const std::function<Var()>& f) { return [f]() -> Outputs { return {{"y", f()}}; }; };
  struct Row {
    const char* what;
    std::function<Outputs()> tested;
    std::vector<CheckedInput> leaves;
    ReferenceVerdict verdict;
    ReferenceOptions options = {};
  };
  const Var f32_leaf = parameter(full(Shape{2, 3}, 0.5, f32)), constant(full(Shape{2, 3}, 0.5, f64));
  const Var unused = leaf(Shape{2}, 2);
  const Row rows[] = {
      {"right", outputs([&] { return square(w); }), {{"w", w}}, ReferenceVerdict::passed},
      {"f32", outputs([&] { return square(f32_leaf); }), {{"w", f32_leaf}}, ReferenceVerdict::unusable},
      {"a constant", outputs([&] { return square(constant); }), {{"w", constant}}, ReferenceVerdict::unusable},
      {"not a leaf", outputs([&] { return square(w); }), {{"w", square(w)}}, ReferenceVerdict::unusable},
      {"no output", []() -> Outputs { return {}; }, {{"w", w}}, ReferenceVerdict::missing_output},
      {"another name",
       [&]() -> Outputs {
         return {{"z", square(w)}};
       },
       {{"w", w}},
       ReferenceVerdict::missing_output},
      {"another shape", outputs([&] { return transpose(square(w)); }), {{"w", w}}, ReferenceVerdict::wrong_shape},
      {"NaN", outputs([&] { return square(w) + std::nan(""); }), {{"w", w}}, ReferenceVerdict::not_finite},
      {"another value", outputs([&] { return square(w) * 1.0001; }), {{"w", w}}, ReferenceVerdict::wrong_value},
      {"a constant added: right gradient",
       outputs([&] { return square(w) + 1e-6; }),
       {{"w", w}},
       ReferenceVerdict::wrong_value},
      {"one output wrong before one that is right",
       [&]() -> Outputs {
         return {{"x", square(w) + 1e-6}, {"y", square(w)}};
       },
       {{"w", w}},
       ReferenceVerdict::wrong_value},
      {"right value, half the gradient",
       outputs([&] { return w * w.detach(); }),
       {{"w", w}},
       ReferenceVerdict::wrong_gradient},
      {"right value, no gradient",
       outputs([&] { return square(w.detach()); }),
       {{"w", w}},
       ReferenceVerdict::wrong_gradient},
      {"a leaf that takes no part",
       outputs([&] { return square(w); }),
       {{"w", w}, {"unused", unused}},
       ReferenceVerdict::wrong_gradient},
      {"the same, declared",
       outputs([&] { return square(w); }),
       {{"w", w}, {"unused", unused, "not in the formula"}},
       ReferenceVerdict::passed},
      {"the same, declared by name",
       outputs([&] { return square(w); }),
       {{"w", w}, {"unused", unused}},
       ReferenceVerdict::passed,
       {.zero_because = {{"unused", "not in the formula"}}}},
      {"declared zero, but it is not",
       outputs([&] { return square(w); }),
       {{"w", w, "because"}},
       ReferenceVerdict::wrong_gradient},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.what));
    const ReferenceReport report = check_reference(row.tested, row.leaves, reference_square, row.options);
    INFO(report.text());
    CHECK(to_string(report.verdict) == std::string(to_string(row.verdict)));
    CHECK(report.passed == (row.verdict == ReferenceVerdict::passed));
    CHECK(report.text().rfind(std::string("reference check: ") + to_string(row.verdict), 0) == 0);
  }
}

TEST_CASE("G2: outputs that always sum to 1 are tested all the same, and no gradient is left behind") {
  const Var w = leaf(Shape{2, 4}, 1);
  const reference::AttentionConvention plain_softmax;
  auto weights_of = [&](const reference::Arrays& at) -> reference::Arrays {
    reference::Array e = get(at, "w");
    e.shape = {2, 1, 4};
    reference::Array alpha = reference::attention_weights(plain_softmax, e, nullptr);
    alpha.shape = {2, 4};
    return {{"alpha", alpha}};
  };
  expect_pass(check_reference([&]() -> Outputs { return {{"alpha", softmax(w, Axis{1})}}; }, {{"w", w}}, weights_of));
  CHECK_FALSE(w.has_grad());
  const auto careless = [&]() -> Outputs {
    const Var alpha = softmax(w, Axis{1});
    return {{"alpha", record("careless", copy(alpha.value()), {w}, [](const Tensor&, Inputs&) {})}};
  };
  CHECK(check_reference(careless, {{"w", w}}, weights_of).verdict == ReferenceVerdict::wrong_gradient);
}

TEST_CASE("G2: small gradients are judged by their own size, kinks by shorter steps") {
  const Var w = leaf(Shape{3}, 1);
  auto forward = [](double factor) {
    return [factor](const reference::Arrays& at) -> reference::Arrays {
      reference::Array y = get(at, "w");
      for (double& v : y.data) v = factor * std::max(v, 0.0);
      return {{"y", y}};
    };
  };
  copy_(w.mutable_value(), tensor(Shape{3}, {0.7, -0.4, 3e-6}, f64));  // the last is nearer to the kink than a step
  auto tested = [&](double factor) { return [&w, factor]() -> Outputs { return {{"y", relu(w) * factor}}; }; };
  expect_pass(check_reference(tested(1), {{"w", w}}, forward(1)));
  expect_pass(check_reference(tested(1e-7), {{"w", w}}, forward(1e-7)));
  CHECK_FALSE(check_reference(tested(2e-7), {{"w", w}}, forward(1e-7), {.value_tolerance = 1}).passed);
}

TEST_CASE("G2: an input that cannot tell is refused, not passed") {
  Generator generator(1);
  const BahdanauDecoder decoder = drawn(BahdanauDecoder(different.decoder, {}, generator));
  const DecoderInputs one_position = random_inputs(different.decoder, {2, 3, 1}, false, 3);
  const ReferenceReport report = check_reference(under_test(decoder), one_position, convention_of(decoder));
  CHECK_FALSE(report.passed);  // with one position its weight is 1 whatever the score says
  for (const GradientEntry& leaf : report.leaves) {
    CAPTURE(leaf.name);
    const bool score = leaf.name == "W_a" || leaf.name == "U_a" || leaf.name == "v_a";
    CHECK((leaf.verdict == GradientVerdict::nothing_tested) == score);
  }
}
