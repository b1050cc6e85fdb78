// The probes: right decoders pass them all, each finds its own mistake, and an input that cannot tell is not a pass.
#include "nn/conventions/probes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "tests/mutants/learner.h"
#include "tests/nn/decoder_cases.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

template <class Model> Model drawn(const Model& model, DType dtype = f64, double bound = 0.7) {
  Model result = clone(model, dtype);
  randomize(parameters(result), bound, 5);
  return result;
}
BahdanauDecoder some_bahdanau(const DecoderOptions& options = {}, const DecoderCase& sizes = different,
                              DType dtype = f64) {
  Generator generator(1);
  return drawn(BahdanauDecoder(sizes.decoder, options, generator), dtype);
}
LuongDecoder some_luong(const DecoderOptions& options = {.score = ScoreKind::general},
                        const DecoderCase& sizes = different, DType dtype = f64) {
  Generator generator(1);
  return drawn(LuongDecoder(sizes.decoder, options, generator), dtype);
}
DecoderInputs some_inputs(const DecoderCase& sizes = different, bool masked = true, DType dtype = f64) {
  return random_inputs(sizes.decoder, sizes.extent, masked, 9, dtype);
}

void expect_all_pass(const DecoderUnderTest& decoder, const DecoderInputs& inputs, const DecoderClaim& claim) {
  for (const Probe& probe : probe_all(decoder, inputs, claim)) {
    INFO(probe.picture());
    CHECK(probe.passed);
    if (probe.name == "padding_content") CHECK(probe.measured.en == "bitwise");
  }
}

// Code points of the longest line.
std::size_t widest(const std::string& text) {
  std::size_t longest = 0, now = 0;
  for (char c : text) {
    if (c == '\n') now = 0;
    else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) longest = std::max(longest, ++now);
  }
  return longest;
}

}  // namespace

TEST_CASE("G3: Bahdanau's decoder passes every probe: scores and cells") {
  for (ScoreKind score : {ScoreKind::dot, ScoreKind::general, ScoreKind::additive, ScoreKind::concat, ScoreKind::cosine,
                          ScoreKind::scaled_dot}) {
    for (CellKind cell : {CellKind::elman, CellKind::gru, CellKind::lstm}) {
      for (const DecoderCase& sizes : {needs_same_states(score) ? same_states : different, equal}) {
        CAPTURE(std::string(to_string(score)));
        CAPTURE(std::string(sizes.name));
        CAPTURE(static_cast<int>(cell));
        expect_all_pass(under_test(some_bahdanau({.score = score, .cell = cell}, sizes)), some_inputs(sizes),
                        claim_bahdanau2014());
      }
    }
  }
}

TEST_CASE("G3: Bahdanau's decoder passes every probe: layers, readouts, masks, f32") {
  for (std::int64_t layers : {1, 2}) {
    for (ReadoutTime time : {ReadoutTime::s_t, ReadoutTime::s_prev}) {
      for (bool maxout : {false, true}) {
        for (DType dtype : {f64, f32}) {
          CAPTURE(layers);
          CAPTURE(maxout);
          CAPTURE(dtype == f32);
          const DecoderOptions options{.layers = layers, .readout_time = time, .maxout = maxout};
          expect_all_pass(under_test(some_bahdanau(options, different, dtype)),
                          some_inputs(different, dtype == f64, dtype), claim_bahdanau2014());
        }
      }
    }
  }
}

TEST_CASE("G3: Luong's decoder passes every probe") {
  for (ScoreKind score : {ScoreKind::dot, ScoreKind::general, ScoreKind::concat}) {
    for (CellKind cell : {CellKind::gru, CellKind::lstm}) {
      for (std::int64_t layers : {1, 2}) {
        for (bool feeding : {true, false}) {
          for (const DecoderCase& sizes : {needs_same_states(score) ? same_states : different, equal}) {
            CAPTURE(std::string(to_string(score)));
            CAPTURE(std::string(sizes.name));
            CAPTURE(static_cast<int>(cell));
            CAPTURE(layers);
            CAPTURE(feeding);
            const DecoderOptions options{.score = score, .cell = cell, .layers = layers, .input_feeding = feeding};
            expect_all_pass(under_test(some_luong(options, sizes)), some_inputs(sizes), claim_luong2015(feeding));
          }
        }
      }
    }
  }
}

TEST_CASE("G3: the decoder without attention knows the source by s_0 only") {
  Generator generator(1);
  const DecoderUnderTest decoder = under_test(drawn(PlainDecoder(different.decoder, {}, generator)));
  const DecoderInputs inputs = some_inputs(different, false);
  CHECK(probe_source(decoder, inputs, false).passed);
  CHECK_FALSE(probe_source(decoder, inputs, true).passed);
  CHECK_FALSE(probe_source(under_test(some_bahdanau()), inputs, false).passed);
  CHECK(probe_context_route(decoder, inputs, ContextRoute::output_only).passed);
  CHECK(probe_batch_neighbours(decoder, inputs).passed);
  CHECK(probe_parameters(decoder, inputs).passed);
  CHECK_FALSE(probe_influence(decoder, inputs, QueryTime::s_prev).can_tell);
}

TEST_CASE("G3: the two papers fail each other's probes") {
  const DecoderInputs inputs = some_inputs();
  const DecoderUnderTest bahdanau = under_test(some_bahdanau()), luong = under_test(some_luong());
  const DecoderUnderTest unfed = under_test(some_luong({.score = ScoreKind::general, .input_feeding = false}));
  struct Row {
    const char* what;
    Probe probe;
    bool passes;
  };
  const Row rows[] = {
      {"Bahdanau asks with s_{t-1}", probe_influence(bahdanau, inputs, QueryTime::s_prev), true},
      {"Bahdanau asks with s_t", probe_influence(bahdanau, inputs, QueryTime::s_t), false},
      {"Luong asks with s_t", probe_influence(luong, inputs, QueryTime::s_t), true},
      {"Luong asks with s_{t-1}", probe_influence(luong, inputs, QueryTime::s_prev), false},
      {"Bahdanau: touching s_{t-1}", probe_intervention(bahdanau, inputs, QueryTime::s_prev), true},
      {"Bahdanau: touching s_t", probe_intervention(bahdanau, inputs, QueryTime::s_t), false},
      {"Luong: touching s_t", probe_intervention(luong, inputs, QueryTime::s_t), true},
      {"Luong: touching s_{t-1}", probe_intervention(luong, inputs, QueryTime::s_prev), false},
      {"Bahdanau: c_t", probe_context_route(bahdanau, inputs, ContextRoute::this_step), true},
      {"Bahdanau: c_{t-1}", probe_context_route(bahdanau, inputs, ContextRoute::next_step), false},
      {"Luong: fed", probe_context_route(luong, inputs, ContextRoute::next_step), true},
      {"Luong: c_t", probe_context_route(luong, inputs, ContextRoute::this_step), false},
      {"Luong: not fed", probe_context_route(luong, inputs, ContextRoute::output_only), false},
      {"Luong without feeding", probe_context_route(unfed, inputs, ContextRoute::output_only), true},
      {"feeding is there", probe_feeding(luong, inputs, true), true},
      {"feeding is not wanted", probe_feeding(luong, inputs, false), false},
      {"feeding is missing", probe_feeding(unfed, inputs, true), false},
      {"no feeding wanted", probe_feeding(unfed, inputs, false), true},
      {"nothing to feed", probe_feeding(bahdanau, inputs, true), false},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.what));
    INFO(row.probe.picture());
    CHECK(row.probe.passed == row.passes);
    CHECK(row.probe.can_tell);
  }
}

TEST_CASE("G3: feeding sees when the attentional vector comes too early") {
  // s~_t is made of s_{t-1} and H, and enters its own step, and through the state every later one.
  const DecoderUnderTest early{
      "early",
      [](const DecoderInputs& in) {
        DecoderRun run;
        run.states.push_back(in.s_0);
        for (std::int64_t t = 0; t < in.y_emb.shape()[1]; ++t) {
          run.attentional.push_back(tanh(run.states.back() + narrow(mean(in.H, Axis{1}), Axis{1}, 0, 4)));
          run.states.push_back(tanh(run.attentional.back() * 0.5));
        }
        return run;
      },
      {}};
  const Probe probe = probe_feeding(early, some_inputs(), true);
  INFO(probe.picture());
  CHECK_FALSE(probe.passed);
  CHECK(probe.can_tell);
}

TEST_CASE("G3: the influence matrix holds the numbers that differences give") {
  const DecoderUnderTest decoder = under_test(some_luong());
  const DecoderInputs inputs = some_inputs();
  const Matrix matrix = probe_influence(decoder, inputs, QueryTime::s_t).matrix;
  REQUIRE(matrix.values.size() == 9);
  const double h = 1e-5;
  for (std::size_t k = 0; k < 3; ++k) {  // d_emb = 1: one number per example and step, moved for all examples at once
    std::vector<DecoderRun> moved;
    for (double step : {h, -h}) {
      DecoderInputs other = inputs;
      other.y_emb = parameter(copy(inputs.y_emb.value()));
      for (std::int64_t b = 0; b < 2; ++b) {
        const auto t = static_cast<std::int64_t>(k);
        other.y_emb.mutable_value().set({b, t, 0}, inputs.y_emb.value().at({b, t, 0}) + step);
      }
      moved.push_back(decoder.run(other));
    }
    for (std::size_t t = 0; t < 3; ++t) {
      const std::vector<double> right = moved[0].weights[t].value().to_vector(),
                                left = moved[1].weights[t].value().to_vector();
      double squares = 0;
      for (std::size_t i = 0; i < right.size(); ++i) squares += std::pow((right[i] - left[i]) / (2 * h), 2);
      CAPTURE(t);
      CAPTURE(k);
      CHECK(std::fabs(matrix.at(t, k) - std::sqrt(squares)) <= 1e-8);
    }
  }
}

TEST_CASE("G3: an input that cannot tell is not a pass") {
  const BahdanauDecoder right = some_bahdanau();
  const DecoderUnderTest decoder = under_test(right);
  const DecoderInputs one_position = random_inputs(different.decoder, {2, 3, 1}, false, 9);
  const DecoderInputs one_step = random_inputs(different.decoder, {2, 1, 5}, false, 9);
  const DecoderInputs one_example = random_inputs(different.decoder, {1, 3, 5}, false, 9);
  const DecoderInputs unmasked = some_inputs(different, false);
  DecoderInputs alike = unmasked;
  alike.H = parameter(copy(expand_new(select(unmasked.H.value(), Axis{1}, 0), Axis{1}, 5)));
  BahdanauDecoder saturated = some_bahdanau({.gru = keras_reset_before()});
  Tensor b = saturated.cell.gru[0].b.mutable_value();
  Tensor b_z = narrow(b, Axis{0}, 0, 4);
  fill_(b_z, 60);  // z keeps: every state is s_0
  BahdanauDecoder silent = some_bahdanau();
  fill_(silent.score.W_a.mutable_value(), 0);
  const Probe probes[] = {
      probe_influence(decoder, one_position, QueryTime::s_prev),
      probe_influence(decoder, one_step, QueryTime::s_prev),
      probe_influence(under_test(saturated), unmasked, QueryTime::s_prev),
      probe_influence(under_test(silent), unmasked, QueryTime::s_prev),
      probe_intervention(decoder, one_position, QueryTime::s_prev),
      probe_intervention(under_test(silent), unmasked, QueryTime::s_prev),
      probe_context_route(decoder, one_step, ContextRoute::this_step),
      probe_feeding(under_test(some_luong()), one_step, true),
      probe_permutation(decoder, one_position),
      probe_permutation(decoder, alike),
      probe_padding_content(decoder, unmasked),
      probe_batch_neighbours(decoder, one_example),
      probe_scorer(decoder, one_position),
  };
  for (const Probe& probe : probes) {
    INFO(probe.picture());
    CHECK_FALSE(probe.can_tell);
    CHECK_FALSE(probe.passed);
    CHECK(probe.sentence.en.rfind("cannot tell: ", 0) == 0);
  }
}

TEST_CASE("G3: a decoder that throws has failed, with its words") {
  const DecoderUnderTest broken{"broken", [](const DecoderInputs&) -> DecoderRun { throw ShapeError("W_a: no"); }, {}};
  for (const Probe& probe : probe_all(broken, some_inputs(), claim_bahdanau2014())) {
    CAPTURE(probe.name);
    CHECK_FALSE(probe.passed);
    CHECK(probe.sentence.en.find("W_a: no") != std::string::npos);
  }
}

TEST_CASE("G3: names differ, and nothing of the caller's is changed") {
  const BahdanauDecoder right = some_bahdanau();
  const DecoderInputs inputs = some_inputs();
  const std::vector<double> H = inputs.H.value().to_vector(), W_a = right.score.W_a.value().to_vector();
  std::set<std::string> names;
  const std::vector<Probe> probes = probe_all(under_test(right), inputs, claim_bahdanau2014());
  for (const Probe& probe : probes) names.insert(probe.name);
  CHECK(names.size() == probes.size());
  CHECK(inputs.H.value().to_vector() == H);
  CHECK(right.score.W_a.value().to_vector() == W_a);
  CHECK_FALSE(inputs.H.has_grad());
  for (const Parameter& p : parameters(right)) {
    CAPTURE(p.name);
    CHECK_FALSE(p.var.has_grad());
  }
}

TEST_CASE("G3: pictures fit the terminal and open with the verdict") {
  const DecoderUnderTest decoder = under_test(some_bahdanau());
  for (std::int64_t T : {3, 12, 40, 120}) {
    const DecoderInputs inputs = random_inputs(different.decoder, {2, T, 5}, false, 9);
    for (int width : {40, 80}) {
      CAPTURE(T);
      CAPTURE(width);
      const Probe probe = probe_influence(decoder, inputs, QueryTime::s_prev);
      CHECK(probe.passed);
      const std::string picture = probe.picture(width);
      INFO(picture);
      CHECK(widest(picture) <= static_cast<std::size_t>(width));
      CHECK(picture.rfind("influence: PASSED: ", 0) == 0);
      CHECK(std::count(picture.begin(), picture.end(), '\n') >= T + 2);
    }
  }
  CHECK(probe_influence(decoder, some_inputs(), QueryTime::s_t).picture(80, Lang::zh).rfind("influence：不通过：", 0) ==
        0);
  CHECK(probe_influence(decoder, some_inputs(), QueryTime::s_t).picture().rfind("influence: FAILED: ", 0) == 0);
  const DecoderInputs one_position = random_inputs(different.decoder, {2, 3, 1}, false, 9);
  CHECK(probe_scorer(decoder, one_position).picture().rfind("scorer: CANNOT TELL: ", 0) == 0);
}

TEST_CASE("G3: many encoder positions: directions instead of components, zeros still exact") {
  const DecoderInputs inputs = random_inputs(different.decoder, {2, 4, 40}, true, 9);
  const Probe probe = probe_influence(under_test(some_bahdanau()), inputs, QueryTime::s_prev);
  INFO(probe.picture());
  CHECK(probe.passed);
  CHECK_FALSE(probe_influence(under_test(some_luong()), inputs, QueryTime::s_prev).passed);
}

TEST_CASE("G3: weights that are sure of one position, as in a trained model, are no reason to fail") {
  for (DType dtype : {f64, f32}) {
    for (double sharper : {10.0, 100.0, 1e4}) {
      CAPTURE(sharper);
      const DecoderInputs inputs = some_inputs(different, true, dtype);
      const BahdanauDecoder bahdanau = some_bahdanau({}, different, dtype);
      const LuongDecoder luong = some_luong({.score = ScoreKind::additive}, different, dtype);
      for (const Var& v_a : {bahdanau.score.v_a, luong.score.v_a}) {
        copy_(v_a.mutable_value(), (Var(copy(v_a.value())) * sharper).value());
      }
      for (const Probe& probe : {probe_influence(under_test(bahdanau), inputs, QueryTime::s_prev),
                                 probe_intervention(under_test(bahdanau), inputs, QueryTime::s_prev),
                                 probe_influence(under_test(luong), inputs, QueryTime::s_t),
                                 probe_intervention(under_test(luong), inputs, QueryTime::s_t)}) {
        INFO(probe.picture());
        CHECK((probe.passed || !probe.can_tell));
      }
    }
  }
}

TEST_CASE("G3: the latch of every GRU, and of a GRU whose z means the opposite") {
  for (GruReset reset : {GruReset::before, GruReset::after}) {
    for (GruUpdate update : {GruUpdate::keeps, GruUpdate::replaces}) {
      for (GruBias bias : {GruBias::none, GruBias::one, GruBias::two}) {
        for (GruOrder order : {GruOrder::rzn, GruOrder::zrn}) {
          for (DType dtype : {f64, f32}) {
            CAPTURE(static_cast<int>(reset));
            CAPTURE(static_cast<int>(update));
            CAPTURE(static_cast<int>(bias));
            CAPTURE(static_cast<int>(order));
            Generator generator(1);
            const Gru gru = drawn(Gru(3, 4, {reset, update, bias, order}, generator), dtype);
            const Var s_prev(random_uniform(Shape{2, 4}, -1, 1, generator, dtype));
            const std::vector<double> W = gru.W.value().to_vector();
            CellUnderTest cell = under_test(gru);
            const Probe right = probe_latch(cell, s_prev);
            INFO(right.picture());
            CHECK(right.passed);
            CHECK(gru.W.value().to_vector() == W);
            cell.update = update == GruUpdate::keeps ? GruUpdate::replaces : GruUpdate::keeps;
            CHECK_FALSE(probe_latch(cell, s_prev).passed);
          }
        }
      }
    }
  }
}

TEST_CASE("G3: cells without a latch, and cells that only hold") {
  Generator generator(1);
  const Gru gru = drawn(Gru(3, 4, bahdanau2014(), generator));
  const Var s_prev(random_uniform(Shape{2, 4}, -1, 1, generator, f64));
  CellUnderTest cell = under_test(gru);
  CHECK(probe_latch(cell, s_prev).passed);
  cell.step = [gru](const Var& x, const Var& s) { return gru.step(x, s) + s * 0.1; };
  CHECK_FALSE(probe_latch(cell, s_prev).passed);
  cell.step = [](const Var&, const Var& s) { return s; };
  CHECK_FALSE(probe_latch(cell, s_prev).passed);
}

TEST_CASE("G3: bidirectional encoders of every cell") {
  for (CellKind kind : {CellKind::elman, CellKind::gru, CellKind::lstm}) {
    for (bool masked : {false, true}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(masked);
      Generator generator(1);
      const EncoderUnderTest encoder = under_test(drawn(Bidirectional(kind, 2, 3, pytorch(), generator)));
      const Var x(random_uniform(Shape{3, 5, 2}, -1, 1, generator, f64));
      const std::optional<Mask> mask = masked ? std::optional<Mask>(mask_from_lengths({4, 5, 2}, 5)) : std::nullopt;
      for (const Probe& probe : {probe_encoder_reach(encoder, x, mask), probe_encoder_padding(encoder, x, mask),
                                 probe_encoder_neighbours(encoder, x, mask)}) {
        INFO(probe.picture());
        CHECK(probe.passed);
      }
    }
  }
}

TEST_CASE("G3: every probe speaks both languages, in lines that fit") {
  // Columns of a line: characters of Chinese text (three bytes, first byte e3 to e9 or ef) take two.
  auto columns = [](const std::string& line) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto byte = static_cast<unsigned char>(line[i]);
      count += (byte & 0xc0) == 0x80 ? 0 : byte == 0xef || (byte >= 0xe3 && byte <= 0xe9) ? 2 : 1;
    }
    return count;
  };
  const DecoderUnderTest decoder = under_test(some_bahdanau());
  for (const DecoderClaim& claim : {claim_bahdanau2014(), claim_luong2015()}) {
    for (const Probe& probe : probe_all(decoder, some_inputs(), claim)) {
      INFO(probe.picture(60, Lang::zh));
      CHECK(!probe.sentence.zh.empty());
      CHECK(columns(probe.sentence.zh) < probe.sentence.zh.size());  // Chinese, not English once more
      CHECK(probe.measured.empty() == probe.measured.zh.empty());
      std::istringstream lines(probe.picture(60, Lang::zh));
      for (std::string line; std::getline(lines, line);) CHECK(columns(line) <= 60);
    }
  }
}

TEST_CASE("G3: a mask that is multiplied in and divided out again passes, to rounding") {
  learner::Learner l = learner::bahdanau(different.decoder);
  l.weights = [](const learner::Learner&, const learner::Now& now) {
    const Mask& mask = *now.mask;
    const Tensor real = tensor(mask.shape(), std::vector<double>(mask.values().begin(), mask.values().end()), f64);
    const Var kept = softmax(now.scores, Axis{1}) * Var(real);
    return kept / expand_new(sum(kept, Axis{1}), Axis{1}, now.T_enc());
  };
  const Probe probe = probe_padding_content(learner::under_test("renormalised", l), some_inputs());
  INFO(probe.picture());
  CHECK(probe.passed);
  CHECK(probe.measured.en == "to rounding");
}
