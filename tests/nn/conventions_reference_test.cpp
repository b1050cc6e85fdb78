// The reference forwards against numbers that were worked out elsewhere: for each published mistake the right and the
// wrong one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "nn/conventions/reference/bidirectional.h"
#include "nn/conventions/reference/decoder.h"
#include "nn/conventions/reference/finite_difference.h"
#include "nn/conventions/reference/loss.h"
#include "nn/conventions/reference/multi_head.h"
#include "tests/fixtures/torch_fixtures.h"

using namespace gradus::reference;

namespace {

Vec vec(Row row) { return copy(row); }

// Equal to the printed digits: within half a unit of the last of `digits` decimals, and a little for ties.
void check_printed(const std::string& what, const Vec& got, const Vec& printed, int digits) {
  CAPTURE(what);
  REQUIRE(got.size() == printed.size());
  const double bound = 0.5001 * std::pow(10.0, -digits);
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CAPTURE(got[i]);
    CAPTURE(printed[i]);
    CHECK(std::fabs(got[i] - printed[i]) <= bound);
  }
}

Array matrix(std::vector<Vec> rows) {
  Array out({rows.size(), rows[0].size()});
  for (std::size_t r = 0; r < rows.size(); ++r) out.set_row({r}, rows[r]);
  return out;
}

// (rows, d) -> (1, rows, d)
Array batch_of_one(Array a) {
  a.shape.insert(a.shape.begin(), 1);
  return a;
}

const Vec s_prev_att = {.5, -.4}, s_cur_att = {-.3, .8};

Array H_att() { return batch_of_one(matrix({{1, 0}, {0, 1}, {-1, .5}})); }

Arrays additive_parameters() {
  return {
      {"W_a", matrix({{.6, -.2}, {.1, .7}})}, {"U_a", matrix({{.3, .5}, {-.4, .2}})}, {"v_a", Array({2}, {1, -.8})}};
}

Attended attend_att(const AttentionConvention& convention, const Vec& query = s_prev_att, double H_times = 1) {
  Array H = H_att();
  for (double& x : H.data) x *= H_times;
  return attend(convention, additive_parameters(), batch_of_one(matrix({query})), H, nullptr);
}

AttentionConvention with_score(Score score) {
  AttentionConvention convention;
  convention.score.score = score;
  return convention;
}

// Scores (1, 1, T) or (1, T_q, T) straight to weights.
Vec weights_of(const AttentionConvention& convention, std::vector<Vec> e, const Vec& mask = {}) {
  Array m({1, std::max<std::size_t>(mask.size(), 1)}, mask.empty() ? Vec{1} : mask);
  return attention_weights(convention, batch_of_one(matrix(e)), mask.empty() ? nullptr : &m).data;
}

// Additive attention and a GRU without biases on [y; c]; gates in the order r, z, n.
Arrays decoder_fixture(std::size_t steps) {
  Arrays given = additive_parameters();
  given["W"] = matrix({{.4, .2, -.1}, {-.6, .1, .3}, {.7, -.3, .2}, {-.2, .5, .1}, {.5, .4, -.6}, {.8, -.2, .3}});
  given["U"] = matrix({{.2, .1}, {0, .3}, {.1, -.3}, {.2, .4}, {.9, -.7}, {.6, .2}});
  given["H"] = H_att();
  given["s_0"] = matrix({{.2, -.1}});
  const Vec y = {1, -.5, .7};
  given["y_emb"] = Array({1, steps, 1}, Vec(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(steps)));
  return given;
}

DecoderConvention swapped() {
  DecoderConvention convention = bahdanau2014();
  convention.query = {s_t};
  convention.cell_input = {y_emb, c_prev};
  return convention;
}

Vec context_at(const Arrays& out, std::size_t t) { return vec(get(out, "c").row({0, t})); }

// L = (1, -2) . s_2 + (.5, 1) . c_2
double fixture_loss(const Arrays& out) {
  return dot(Vec{1, -2}, get(out, "s").row({0, 2})) + dot(Vec{.5, 1}, get(out, "c").row({0, 1}));
}

Arrays gru_fixture() {
  return {{"W", Array({6, 1}, {.4, -.6, .7, -.2, .5, .8})},
          {"U", matrix({{.2, .1}, {0, .3}, {.1, -.3}, {.2, .4}, {.9, -.7}, {.6, .2}})},
          {"b", Array({6}, {.1, -.1, 0, .2, .05, -.05})},
          {"b_u", Array({6}, {0, 0, 0, 0, 0, 0})}};
}

Vec gru(GruReset reset, GruUpdate update) {
  GruConvention convention;
  convention.reset = reset;
  convention.update = update;
  const Arrays given = gru_fixture();
  return gru_step(convention, cell_weights(given), Vec{1}, Vec{.5, -1});
}

Arrays scalar_elman(double w, double u, double b) {
  Arrays given;
  for (const char* suffix : {"", "_reverse"}) {
    given[std::string("W") + suffix] = Array({1, 1}, {w});
    given[std::string("U") + suffix] = Array({1, 1}, {u});
    given[std::string("b") + suffix] = Array({1}, {b});
  }
  return given;
}

// Numbers in (-1, 1) with a fixed seed.
struct Numbers {
  std::mt19937 engine{7};
  Array operator()(Dims shape) {
    Array out(shape);
    for (double& x : out.data) x = static_cast<double>(engine()) / 2147483648.0 - 1;
    return out;
  }
};

// B 2, T_enc 4, T_dec 3, d_h 4, d_s 3, d_attn 5, d_emb 2, vocab 6; everything any decoder below may ask for.
Arrays random_decoder(std::size_t cell_input, std::size_t gates, std::size_t layers = 1) {
  Numbers numbers;
  Arrays given = {{"H", numbers({2, 4, 4})},      {"y_emb", numbers({2, 3, 2})},
                  {"s_0", numbers({2, 3})},       {"W_a", numbers({5, 3})},
                  {"U_a", numbers({5, 4})},       {"v_a", numbers({5})},
                  {"W_c", numbers({3, 7})},       {"W_s", numbers({3, 2})},
                  {"b_o", numbers({6})},          {"W", numbers({3 * gates, cell_input})},
                  {"U", numbers({3 * gates, 3})}, {"b", numbers({3 * gates})}};
  for (std::size_t l = 1; l < layers; ++l) {
    const std::string suffix = "_l" + std::to_string(l);
    given["W" + suffix] = numbers({3 * gates, 3});
    given["U" + suffix] = numbers({3 * gates, 3});
    given["b" + suffix] = numbers({3 * gates});
    given["s_0" + suffix] = numbers({2, 3});
  }
  given["mask"] = Array({2, 4}, {1, 1, 1, 1, 1, 1, 0, 0});
  return given;
}

double largest_difference(const Array& a, const Array& b) {
  REQUIRE(a.shape == b.shape);
  double most = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) most = std::fmax(most, std::fabs(a.data[i] - b.data[i]));
  return most;
}

// The largest |d out[name][0, t, :] / d y_emb[0, k, :]|, by central differences.
double influence(const DecoderConvention& convention, const Arrays& given, const std::string& name, std::size_t t,
                 std::size_t k) {
  double most = 0;
  const std::size_t width = get(decode(convention, given), name).dim(2);
  for (std::size_t j = 0; j < width; ++j) {
    const Array g = central_difference(
        [&](const Arrays& at) {
          return get(decode(convention, at), name).at({0, t, j});
        },
        given, "y_emb");
    for (double x : g.row({0, k})) most = std::fmax(most, std::fabs(x));
  }
  return most;
}

}  // namespace

TEST_CASE("references: additive attention on the small fixture") {
  const Attended a = attend_att({});
  check_printed("e", a.scores.data, {1.037961, .730412, .107621}, 6);
  check_printed("alpha", a.weights.data, {.469557, .345240, .185202}, 6);
  check_printed("c", a.context.data, {.284355, .437842}, 6);
}

TEST_CASE("references: query before and after the step, right and wrong") {
  const Arrays given = decoder_fixture(2);
  const Arrays right = decode(bahdanau2014(), given), wrong = decode(swapped(), given);
  check_printed("s_prev c_1", context_at(right, 0), {.300089, .437498}, 6);
  check_printed("s_prev c_2", context_at(right, 1), {.287793, .437677}, 6);
  check_printed("s_t c_1", context_at(wrong, 0), {.288893, .435382}, 6);
  check_printed("s_t c_2", context_at(wrong, 1), {.301275, .437798}, 6);
  check_printed("losses", {fixture_loss(right), fixture_loss(wrong)}, {.641574, .732770}, 6);

  const auto gradient = [&](const DecoderConvention& convention) {
    return central_difference([&](const Arrays& at) { return fixture_loss(decode(convention, at)); }, given, "W_a");
  };
  check_printed("dL/dW_a[0,0]", {gradient(bahdanau2014()).at({0, 0}), gradient(swapped()).at({0, 0})},
                {-.013265, -.004997}, 6);
}

TEST_CASE("references: only a query after the step depends on this step's input") {
  const Arrays given = decoder_fixture(3);
  CHECK(influence(bahdanau2014(), given, "c", 2, 2) == 0);
  CHECK(influence(bahdanau2014(), given, "c", 2, 1) > 1e-3);
  CHECK(influence(swapped(), given, "c", 2, 2) > 1e-3);
}

TEST_CASE("references: Luong's query taken one step early repeats the context one step late") {
  Arrays given = decoder_fixture(2);
  DecoderConvention right = swapped();
  right.attention.score.score = Score::dot;
  DecoderConvention wrong = right;
  wrong.query = {s_prev};
  const Arrays a = decode(right, given), b = decode(wrong, given);
  check_printed("s_t c_1", context_at(a, 0), {.231480, .463270}, 6);
  check_printed("s_t c_2", context_at(a, 1), {.078076, .480792}, 6);
  check_printed("s_prev c_1", context_at(b, 0), {.152357, .445514}, 6);
  check_printed("s_prev c_2", context_at(b, 1), {.231480, .463270}, 6);

  given["W_c"] = matrix({{.5, -.2, .3, .1}, {.4, .6, -.5, .2}});
  const auto attentional = [&](Parts parts, Activation f) {
    DecoderConvention convention = right;
    convention.attentional = parts;
    convention.attentional_activation = f;
    return vec(get(decode(convention, given), "htilde").row({0, 0}));
  };
  check_printed("fed: htilde", attentional({c_t, s_t}, Activation::tanh), {.1805, .1975}, 4);
  check_printed("fed by mistake: c", context_at(a, 0), {.2315, .4633}, 4);
  check_printed("[h; c]", attentional({s_t, c_t}, Activation::tanh), {.2786, .3011}, 4);
  check_printed("no tanh", attentional({c_t, s_t}, Activation::identity), {.1825, .2001}, 4);

  // With htilde fed, W_c moves the second state; with c fed it does not.
  DecoderConvention feeds_htilde = right, feeds_c = right;
  feeds_htilde.cell_input = {y_emb, htilde_prev};
  feeds_htilde.attentional = feeds_c.attentional = {c_t, s_t};
  for (const DecoderConvention& convention : {feeds_htilde, feeds_c}) {
    const Array g = central_difference(
        [&](const Arrays& at) {
          return get(decode(convention, at), "s").at({0, 2, 0});
        },
        given, "W_c");
    CHECK((norm(g.data) > 1e-4) == (convention.cell_input == feeds_htilde.cell_input));
  }
}

TEST_CASE("references: weights that never look at the encoder") {
  Arrays given = decoder_fixture(1);
  given["s_0"] = matrix({s_prev_att});
  given["y_emb"] = Array({1, 1, 1}, {1});
  DecoderConvention right = bahdanau2014(), wrong = right;
  wrong.attention.score.score = Score::location;
  wrong.query = {y_emb, s_prev};
  Arrays located = given;
  located["W_a"] = matrix({{.2, .5, -.3}, {.1, -.4, .6}, {-.5, .3, .2}});
  for (const bool reversed : {false, true}) {
    if (reversed) given["H"] = located["H"] = batch_of_one(matrix({{-1, .5}, {0, 1}, {1, 0}}));
    Vec alpha = {.4696, .3452, .1852};
    if (reversed) std::swap(alpha[0], alpha[2]);
    check_printed("right", get(decode(right, given), "alpha").data, alpha, 4);
    check_printed("wrong", get(decode(wrong, located), "alpha").data, {.5648, .2274, .2078}, 4);
  }
}

TEST_CASE("references: attention mistakes on the small fixture") {
  AttentionConvention general = with_score(Score::general), general_T = general, swapped_roles;
  general_T.score.transpose_W_a = true;
  swapped_roles.score.energy = Activation::softmax;
  swapped_roles.normaliser = Normaliser::relu;
  AttentionConvention singleton;
  singleton.axis = SoftmaxAxis::singleton;

  const AttentionConvention dotted = with_score(Score::dot);
  const struct {
    const char* what;
    Vec got, printed;
  } rows[] = {
      {"query h", attend_att(dotted, {.5, -.4}).weights.data, {.5856, .2381, .1764}},
      {"query: LSTM memory", attend_att(dotted, {1.2, -.9}).weights.data, {.8472, .1038, .0490}},
      {"general e", attend_att(general).scores.data, {.2600, -.3800, -.4500}},
      {"general alpha", attend_att(general).weights.data, {.4953, .2612, .2435}},
      {"W transposed e", attend_att(general_T).scores.data, {.3800, -.2300, -.4950}},
      {"W transposed alpha", attend_att(general_T).weights.data, {.5101, .2772, .2127}},
      {"softmax inside, relu outside", attend_att(swapped_roles).weights.data, {.6175, .4834, .1270}},
      {"context", attend_att({}).context.data, {.2844, .4378}},
      {"singleton alpha", attend_att(singleton).weights.data, {1, 1, 1}},
      {"score of a padding that a bias filled", {dot(s_prev_att, Vec{.5, -.3})}, {.3700}},
      {"W x", matvec(get(additive_parameters(), "W_a"), Vec{1, 0}), {.6, .1}},
      {"W^T x", matvec_transposed(get(additive_parameters(), "W_a"), Vec{1, 0}), {.6, -.2}},
      {"singleton c", attend_att(singleton).context.data, {0, 1.5}},
  };
  for (const auto& row : rows) check_printed(row.what, row.got, row.printed, 4);
}

TEST_CASE("references: context squashed by tanh") {
  AttentionConvention right, wrong;
  wrong.context_activation = Activation::tanh;
  check_printed("c", attend_att(right, s_prev_att, 3).context.data, {1.6926, .9222}, 4);
  check_printed("tanh(c)", attend_att(wrong, s_prev_att, 3).context.data, {.9345, .7269}, 4);
}

TEST_CASE("references: softmax over the batch") {
  Array H({2, 3, 2});
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t i = 0; i < 3; ++i) H.set_row({b, i}, H_att().row({0, i}));
  const Array queries({2, 1, 2}, join(s_prev_att, s_cur_att));
  AttentionConvention right, wrong;
  wrong.axis = SoftmaxAxis::batch;
  const auto row_0 = [&](const AttentionConvention& convention) {
    return vec(attend(convention, additive_parameters(), queries, H, nullptr).weights.row({0, 0}));
  };
  check_printed("keys", row_0(right), {.4696, .3452, .1852}, 4);
  check_printed("batch", row_0(wrong), {.7652, .7446, .7499}, 4);
}

TEST_CASE("references: masks, right and wrong") {
  const Vec e = {2, 1, .5}, m = {1, 1, 0};
  AttentionConvention fill, ignore, before, after, renormalised;
  ignore.mask_use = MaskUse::ignore;
  before.mask_use = MaskUse::multiply_before;
  after.mask_use = MaskUse::multiply_after;
  renormalised.mask_use = MaskUse::multiply_after_renormalise;
  check_printed("fill", weights_of(fill, {e}, m), {.7311, .2689, 0}, 4);
  check_printed("renormalised", weights_of(renormalised, {e}, m), {.7311, .2689, 0}, 4);
  check_printed("missing", weights_of(ignore, {e}, m), {.6285, .2312, .1402}, 4);
  check_printed("multiplied before", weights_of(before, {e}, m), {.6652, .2447, .0900}, 4);
  check_printed("multiplied after", weights_of(after, {e}, m), {.6285, .2312, 0}, 4);
  CHECK(weights_of(fill, {e}, m)[2] == 0);

  AttentionConvention by_query;
  by_query.mask_read = MaskRead::queries;
  by_query.empty_row = EmptyRow::uniform;
  const Vec first = attend_att({}).scores.data, second = attend_att({}, s_cur_att).scores.data;
  check_printed("key mask", weights_of(fill, {first, second}, m),
                join({.5763, .4237, 0}, vec(Row(weights_of(fill, {second}, m)))), 4);
  const Array keys({1, 3}, m), queries({1, 2}, {1, 0});
  check_printed("query mask", attention_weights(by_query, batch_of_one(matrix({first, second})), &keys, &queries).data,
                {.4696, .3452, .1852, .3333, .3333, .3333}, 4);
}

TEST_CASE("references: a row with nothing to attend to") {
  AttentionConvention c;
  CHECK_THROWS_AS(weights_of(c, {{2, 1}}, {0, 0}), std::invalid_argument);
  c.empty_row = EmptyRow::zeros;
  check_printed("zeros", weights_of(c, {{2, 1}}, {0, 0}), {0, 0}, 12);
  c.empty_row = EmptyRow::nan;
  CHECK(std::isnan(weights_of(c, {{2, 1}}, {0, 0})[0]));
  c.mask_fill = -1e9;
  check_printed("a finite fill", weights_of(c, {{2, 1}}, {0, 0}), {.5, .5}, 12);
}

TEST_CASE("references: which mask is read") {
  const Vec e = {2, 1, .5, 0}, m = {1, 1, 1, 0};
  const struct {
    MaskRead read;
    Vec zeros;  // 1 where a weight must be exactly 0
  } rows[] = {{MaskRead::keys, {0, 0, 0, 1}},
              {MaskRead::inverted, {1, 1, 1, 0}},
              {MaskRead::one_short, {0, 0, 1, 1}},
              {MaskRead::one_long, {0, 0, 0, 0}},
              {MaskRead::causal, {0, 1, 1, 1}}};
  for (const auto& row : rows) {
    CAPTURE(static_cast<int>(row.read));
    AttentionConvention c;
    c.mask_read = row.read;
    const Vec alpha = weights_of(c, {e}, m);
    for (std::size_t i = 0; i < 4; ++i) CHECK((alpha[i] == 0) == (row.zeros[i] == 1));
  }
}

TEST_CASE("references: softmax without its shift overflows, and its substitutes") {
  AttentionConvention right, unshifted;
  unshifted.normaliser = Normaliser::unshifted_softmax;
  check_printed("shifted", weights_of(right, {{1000, 0}}), {1, 0}, 4);
  CHECK(std::isnan(weights_of(unshifted, {{1000, 0}})[0]));
  CHECK(weights_of(unshifted, {{1000, 0}})[1] == 0);
  AttentionConvention hard;
  hard.normaliser = Normaliser::hardmax;
  check_printed("hardmax", weights_of(hard, {{1, 3, 3}}), {0, 1, 0}, 12);
}

TEST_CASE("references: GRU conventions and mistakes on one step") {
  check_printed("before, replaces", gru(GruReset::before, GruUpdate::replaces), {.699417, -.273193}, 6);
  check_printed("after, replaces", gru(GruReset::after, GruUpdate::replaces), {.761244, -.297438}, 6);
  check_printed("before, keeps", gru(GruReset::before, GruUpdate::keeps), {.569783, -.018913}, 6);
  check_printed("reset unused", gru(GruReset::unused, GruUpdate::replaces), {.822540, -.280353}, 6);
}

TEST_CASE("references: presets of the GRU differ where they should and nowhere else") {
  Arrays given = gru_fixture();
  given["b_u"] = Array({6}, {.3, -.2, .1, .4, -.5, .6});
  const auto run = [&](const GruConvention& c) { return gru_step(c, cell_weights(given), Vec{1}, Vec{.5, -1}); };
  const Arrays as_rzn = given;
  const Vec torch_step = run(pytorch()), before_step = run([] {
                                           GruConvention c = onnx_lbr0();
                                           c.gate_order = "rzn";
                                           return c;
                                         }());
  // The same blocks in the order z, r, n.
  for (const char* name : {"W", "U", "b", "b_u"}) {
    Array& a = given[name];
    std::swap_ranges(a.data.begin(), a.data.begin() + static_cast<std::ptrdiff_t>(a.data.size() / 3),
                     a.data.begin() + static_cast<std::ptrdiff_t>(a.data.size() / 3));
  }
  check_printed("keras_reset_after", run(keras_reset_after()), torch_step, 14);
  check_printed("onnx_lbr1", run(onnx_lbr1()), torch_step, 14);
  check_printed("onnx_lbr0", run(onnx_lbr0()), before_step, 14);
  given["b"].data = add(given["b"].data, given["b_u"].data);  // one bias holds the sum while the reset gate acts before
  check_printed("keras_reset_before", run(keras_reset_before()), before_step, 14);
  CHECK(std::fabs(torch_step[0] - before_step[0]) > 1e-3);

  // z saturated: Cho et al. keep the old state, Bahdanau et al. take the candidate.
  Arrays saturated = as_rzn;
  for (std::size_t i : {2u, 3u}) saturated["b"].data[i] = 60;
  GruConvention keeps = cho2014(), replaces = bahdanau2014_gru();
  keeps.biases = replaces.biases = Biases::one;
  check_printed("keeps", gru_step(keeps, cell_weights(saturated), Vec{1}, Vec{.5, -1}), {.5, -1}, 12);
  CHECK(gru_step(replaces, cell_weights(saturated), Vec{1}, Vec{.5, -1})[0] > .6);
}

TEST_CASE("references: LSTM output tanh and gate order") {
  const Arrays given = {{"W", Array({4, 1})}, {"U", Array({4, 1})}, {"b", Array({4}, {.5, -.3, .8, .2})}};
  const auto h = [&](LstmConvention c) { return lstm_step(c, cell_weights(given), Vec{1}, {{0}, {.6}}).h; };
  LstmConvention right, no_tanh, order, forget;
  no_tanh.output_activation = Activation::identity;
  order.gate_order = "ifog";
  check_printed("right", h(right), {.3212}, 4);
  check_printed("h = o c", h(no_tanh), {.3677}, 4);
  check_printed("i f o g", h(order), {.2492}, 4);
  forget.forget_bias = 1;  // f = sigmoid(.7)
  const double c = .6 / (1 + std::exp(-.7)) + std::tanh(.8) / (1 + std::exp(-.5));
  check_printed("forget bias", h(forget), {std::tanh(c) / (1 + std::exp(-.2))}, 12);
  forget.biased_gates = "g";  // tanh(1.8), sigmoid(-.3)
  const double of_g = .6 / (1 + std::exp(.3)) + std::tanh(1.8) / (1 + std::exp(-.5));
  check_printed("on the candidate", h(forget), {std::tanh(of_g) / (1 + std::exp(-.2))}, 12);
}

TEST_CASE("references: final states and padding of a bidirectional run") {
  const Array x({1, 3, 1}, {1, 2, 3});
  const CellConvention elman = ElmanConvention{};
  BidirectionalConvention right, wrong_end;
  wrong_end.final_state = FinalState::last_position;
  const Arrays given = scalar_elman(.5, .8, 0);
  check_printed("ends", run_bidirectional(elman, right, given, x, {}).final_h.data, {.9759, .8485}, 4);
  check_printed("last position", run_bidirectional(elman, wrong_end, given, x, {}).final_h.data, {.9759, .9051}, 4);

  BidirectionalConvention first;
  first.final_state = FinalState::first_position;
  check_printed("first position", run_bidirectional(elman, first, given, x, {}).final_h.data, {std::tanh(.5), .8485},
                4);

  BidirectionalConvention continues;
  continues.start = BackwardStart::forward_final;
  check_printed("backward from the forward end", vec(run_bidirectional(elman, continues, given, x, {}).h.row({0, 2})),
                {.9759, std::tanh(1.5 + .8 * .9759)}, 4);

  const Array padded({1, 4, 1}, {1, 2, 0, 0});
  const Arrays biased = scalar_elman(.5, .8, .4);
  BidirectionalConvention through_padding;
  through_padding.backward = Reading::reversed_row;
  check_printed("valid prefix", vec(run_bidirectional(elman, right, biased, padded, {2}).h.row({0, 0}).subspan(1)),
                {.9229}, 4);
  check_printed("through padding",
                vec(run_bidirectional(elman, through_padding, biased, padded, {2}).h.row({0, 0}).subspan(1)), {.9308},
                4);
  CHECK(run_bidirectional(elman, right, biased, padded, {2}).h.at({0, 3, 1}) == 0);
}

TEST_CASE("references: batch and time exchanged, directions merged by reshape, wrong slices of h_n") {
  const Array x({2, 2, 1}, {1, 2, 3, 4});
  RunConvention right, wrong;
  wrong.over_the_batch = true;
  const Arrays given = scalar_elman(.5, .8, 0);
  const CellConvention elman = ElmanConvention{};
  CHECK(std::fabs(run_sequence(elman, right, cell_weights(given), x, {}).final_h.data[0] - .8786) <= 5e-5);
  CHECK(std::fabs(run_sequence(elman, wrong, cell_weights(given), x, {}).final_h.data[0] - .9536) <= 5e-5);

  const Array wide({2, 3, 1}, {1, 2, 3, 4, 5, 6});  // column 1 is read from row 0 to row 1
  const Array over = run_sequence(elman, wrong, cell_weights(given), wide, {}).h;
  CHECK(over.shape == wide.shape);
  CHECK(std::fabs(over.at({1, 1, 0}) - std::tanh(.5 * 5 + .8 * std::tanh(.5 * 2))) < 1e-14);

  const Array directions({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  check_printed("moved", vec(merge_directions(Merge::concat, directions).row({0})), {1, 2, 5, 6}, 12);
  check_printed("reshaped", vec(merge_directions(Merge::reshaped, directions).row({0})), {1, 2, 3, 4}, 12);

  const Array h_n({4, 1, 1}, {1, 2, 3, 4});
  check_printed("top", stacked_final(StackedFinal::top_layer, h_n).data, {3, 4}, 12);
  check_printed("bottom", stacked_final(StackedFinal::bottom_layer, h_n).data, {1, 2}, 12);
  check_printed("direction major", stacked_final(StackedFinal::top_read_direction_major, h_n).data, {2, 4}, 12);
  check_printed("last slice", stacked_final(StackedFinal::last_slice, h_n).data, {4}, 12);
}

TEST_CASE("references: losses, right and wrong") {
  const Array two({1, 2, 2}), one_real({1, 2}, {1, 0}), zeros({1, 2});
  CrossEntropyConvention right, over_all, scores_pads, twice;
  over_all.denominator = Denominator::all_positions;
  scores_pads.counts_padding = true;
  scores_pads.denominator = Denominator::all_positions;
  twice.inputs_are_softmaxed = true;
  const Array half_and_nine({1, 2, 2}, {0, 0, std::log(9.0), 0});
  const Array confident({1, 1, 3}, {5, 0, 0}), certain({1, 1, 3}, {1000, 0, 0}), first({1, 1});
  // A model that copies its input: logit 5 on the input's class; inputs 0 1 2, labels 1 2 3.
  Array copies({1, 3, 4});
  for (std::size_t t = 0; t < 3; ++t) copies.at({0, t, t}) = 5;
  const Array shifted({1, 3}, {1, 2, 3}), same({1, 3}, {0, 1, 2});
  const Vec p = {1, 2, 3};
  const struct {
    const char* what;
    double got, printed;
  } rows[] = {
      {"mean over real tokens", cross_entropy(right, two, zeros, &one_real), .6931},
      {"padding in the denominator", cross_entropy(over_all, two, zeros, &one_real), .3466},
      {"padding masked", cross_entropy(right, half_and_nine, zeros, &one_real), .6931},
      {"padding scored", cross_entropy(scores_pads, half_and_nine, zeros, &one_real), .3993},
      {"logits", cross_entropy(right, confident, first), .0134},
      {"softmax twice", cross_entropy(twice, confident, first), .5599},
      {"its floor", cross_entropy(twice, certain, first), .5514},
      {"labels are the next inputs", cross_entropy(right, copies, shifted), 5.0200},
      {"labels are the inputs", cross_entropy(right, copies, same), .0200},
      {"mse of an exact fit", mean_squared_error(Pairing::pairs, p, p), 0},
      {"mse over a table", mean_squared_error(Pairing::table, p, p), 1.3333},
  };
  for (const auto& row : rows) check_printed(row.what, {row.got}, {row.printed}, 4);

  CrossEntropyConvention next;  // scores position t against target t + 1, so the last position has none
  next.target_shift = 1;
  next.denominator = Denominator::one;
  const double hit = std::log(1 + 3 * std::exp(-5.0));
  const Array starts({1, 3}, {3, 0, 1});
  check_printed("shifted", {cross_entropy(next, copies, starts)}, {2 * hit}, 12);
}

TEST_CASE("references: a scorer of zeros has no gradient at all, with v_a alone zero it has one") {
  for (const bool all_zero : {true, false}) {
    Arrays given = decoder_fixture(2);
    for (const char* name : {"W_a", "U_a", "v_a"})
      if (all_zero || std::string(name) == "v_a") given[name] = Array(given[name].shape);
    const auto f = [&](const Arrays& at) { return fixture_loss(decode(bahdanau2014(), at)); };
    CHECK((norm(central_difference(f, given, "v_a").data) == 0) == all_zero);
    CHECK(norm(central_difference(f, given, "W_a").data) == 0);
    CHECK(norm(central_difference(f, given, "U_a").data) == 0);
  }
}

TEST_CASE("references: numbers of the course notes") {
  const auto dots = [](const AttentionConvention& c, const Vec& q, const std::vector<Vec>& H) {
    return attend(c, {}, batch_of_one(matrix({q})), batch_of_one(matrix(H)), nullptr);
  };
  const std::vector<Vec> animals = {{1, 0, .2}, {.5, .5, .1}, {.1, .9, .3}};
  const AttentionConvention d = with_score(Score::dot), cosine = with_score(Score::cosine);
  check_printed("toward cat", dots(d, {.9, .1, .2}, animals).weights.data, {.464, .305, .231}, 3);
  check_printed("context", dots(d, {.9, .1, .2}, animals).context.data, {.6399, .3601, .1925}, 4);
  check_printed("toward mat", dots(d, {.1, .9, .3}, animals).weights.data, {.219, .317, .464}, 3);
  check_printed("cosine, cat", dots(cosine, {.9, .1, .2}, animals).weights.data, {.4353, .3533, .2113}, 4);

  const Vec s = {.8, -.2, .5};
  const std::vector<Vec> words = {{.1, .9, .3}, {.7, .2, -.5}};
  check_printed("scores", dots(d, s, words).scores.data, {.05, .27}, 4);
  check_printed("weights", dots(d, s, words).weights.data, {.4452, .5548}, 4);
  check_printed("context", dots(d, s, words).context.data, {.4329, .5117, -.1438}, 4);
  check_printed("cosine", dots(cosine, s, words).weights.data, {.4347, .5653}, 4);
  AttentionConvention by_sum = d;
  by_sum.normaliser = Normaliser::over_sum;
  check_printed("divided by the sum", dots(by_sum, s, words).weights.data, {.156, .844}, 3);
  const std::pair<double, double> temperatures[] = {{.5, .608}, {.25, .707}, {.1, .900}};
  for (const auto& [temperature, weight] : temperatures) {
    AttentionConvention sharp = d;
    sharp.temperature = temperature;
    check_printed("temperature", {dots(sharp, s, words).weights.data[1]}, {weight}, 3);
  }
  check_printed("all scores zero", dots(d, {1, 0, -1}, {{0, 1, 0}, {1, 0, 1}, {-1, 0, -1}}).weights.data,
                {.3333, .3333, .3333}, 4);
}

TEST_CASE("references: scores that must agree do, and each scale is what it says") {
  Numbers numbers;
  const Array q = numbers({2, 3, 4}), h = numbers({2, 5, 4});
  Arrays given = {{"W_a", numbers({6, 4})}, {"U_a", numbers({6, 4})}, {"v_a", numbers({6})}};
  Arrays joined = {{"W_a", Array({6, 8})}, {"v_a", given["v_a"]}, {"b_a", Array({6})}, {"b_v", Array({1}, {2})}};
  for (std::size_t r = 0; r < 6; ++r)
    joined["W_a"].set_row({r}, join(vec(given["W_a"].row({r})), given["U_a"].row({r})));
  const auto e = [&](ScoreConvention c, const Arrays& arrays) { return scores(c, arrays, q, h); };
  ScoreConvention additive, concat{Score::concat}, mlp{Score::mlp}, dotted{Score::dot}, scaled{Score::scaled_dot},
      over_d;
  over_d = dotted;
  over_d.scale = Scale::over_d;
  Arrays without_b_v = joined, given_b_v = given;
  without_b_v.erase("b_v"), given_b_v["b_v"] = joined["b_v"];
  CHECK(largest_difference(e(additive, given), e(concat, without_b_v)) < 1e-14);
  Array raised = e(additive, given);
  for (double& x : raised.data) x += 2;  // by the bias beside v_a, whatever the score
  CHECK(largest_difference(e(additive, given_b_v), raised) < 1e-14);
  CHECK(largest_difference(e(concat, joined), raised) < 1e-14);
  CHECK(largest_difference(e(mlp, joined), raised) < 1e-14);
  Array twice = e(scaled, {}), fourfold = e(over_d, {});
  for (double& x : twice.data) x *= 2;  // d = 4
  for (double& x : fourfold.data) x *= 4;
  CHECK(largest_difference(e(dotted, {}), twice) < 1e-14);
  CHECK(largest_difference(e(dotted, {}), fourfold) < 1e-14);

  ScoreConvention general{Score::general}, general_T = general;
  general_T.exchanged = true;
  Arrays square = {{"W_a", numbers({4, 4})}}, square_T = {{"W_a", transposed(square["W_a"])}};
  CHECK(largest_difference(e(general, square), e(general_T, square_T)) < 1e-14);
  ScoreConvention blind_to_query, blind_to_keys, exchanged;
  blind_to_query.sees = Sees::keys_only;
  blind_to_keys.sees = Sees::query_only;
  exchanged.exchanged = true;
  CHECK(e(blind_to_query, given).at({0, 0, 1}) == e(blind_to_query, given).at({0, 2, 1}));
  CHECK(e(blind_to_keys, given).at({0, 1, 0}) == e(blind_to_keys, given).at({0, 1, 4}));
  Arrays renamed = given;
  std::swap(renamed["W_a"], renamed["U_a"]);
  CHECK(largest_difference(e(additive, renamed), e(exchanged, given)) == 0);
}

TEST_CASE("references: every decoder runs on every cell, one and two layers, and its options change what they say") {
  const std::pair<CellConvention, std::size_t> cells[] = {
      {GruConvention{}, 3}, {LstmConvention{}, 4}, {ElmanConvention{}, 1}};
  for (const auto& entry : cells) {
    const CellConvention& cell = entry.first;
    const std::size_t gates = entry.second;
    for (const std::size_t layers : {1u, 2u}) {
      CAPTURE(gates);
      CAPTURE(layers);
      DecoderConvention luong = luong2015(Score::additive, true);
      luong.cell = cell;
      luong.layers = layers;
      Arrays given = random_decoder(5, gates, layers);
      given["W_o"] = Numbers{}({6, 3});
      const Arrays out = decode(luong, given);
      CHECK(get(out, "s").shape == Dims{2, 4, 3});
      CHECK(get(out, "alpha").shape == Dims{2, 3, 4});
      CHECK(get(out, "c").shape == Dims{2, 3, 4});
      CHECK(get(out, "htilde").shape == Dims{2, 3, 3});
      CHECK(get(out, "logits").shape == Dims{2, 3, 6});
      CHECK(get(out, "alpha").at({1, 2, 2}) == 0);
      CHECK(get(out, "alpha").at({1, 2, 3}) == 0);

      DecoderConvention plain = none();
      plain.cell = cell;
      plain.layers = layers;
      Arrays without = random_decoder(2, gates, layers);
      without["W_o"] = Numbers{}({6, 3});
      without.erase("H");
      CHECK(find(decode(plain, without), "alpha") == nullptr);
      CHECK(get(decode(plain, without), "logits").shape == Dims{2, 3, 6});
    }
  }
}

TEST_CASE("references: every way to get a decoder wrong gives other numbers on a generic input") {
  const Arrays given = [] {
    Arrays bag = random_decoder(6, 3, 2);
    bag["W_o"] = Numbers{}({6, 9});
    return bag;
  }();
  DecoderConvention base = bahdanau2014();
  base.layers = 2;
  std::get<GruConvention>(base.cell).biases = Biases::one;
  const Array right = get(decode(base, given), "logits");
  using Change = void (*)(DecoderConvention&);
  const std::pair<std::string, Change> changes[] = {
      {"query two steps back",
       [](auto& c) {
         c.query = {{What::state, 2}};
       }},
      {"query of layer 0",
       [](auto& c) {
         c.query = {{What::bottom_state, 1}};
       }},
      {"query: mean of the layers",
       [](auto& c) {
         c.query = {{What::mean_state, 1}};
       }},
      {"context one step late in the cell",
       [](auto& c) {
         c.cell_input = {y_emb, c_prev};
       }},
      {"context one step late in the readout",
       [](auto& c) {
         c.readout = {s_t, y_emb, c_prev};
       }},
      {"readout of s_{t-1}",
       [](auto& c) {
         c.readout = {s_prev, y_emb, c_t};
       }},
      {"next input",
       [](auto& c) {
         c.cell_input = {{What::y_emb, -1}, c_t};
       }},
      {"previous input",
       [](auto& c) {
         c.cell_input = {{What::y_emb, 1}, c_t};
       }},
      {"always from s_0", [](auto& c) { c.carry = Carry::initial; }},
      {"zero start", [](auto& c) { c.initial = InitialState::zeros; }},
      {"start from backward_1", [](auto& c) { c.initial = InitialState::backward_first; }},
      {"start from backward_T", [](auto& c) { c.initial = InitialState::backward_last; }},
      {"start from forward_T", [](auto& c) { c.initial = InitialState::forward_last; }},
      {"no tanh in the energy", [](auto& c) { c.attention.score.energy = Activation::identity; }},
      {"v_a dropped", [](auto& c) { c.attention.score.v_dropped = true; }},
      {"score divided", [](auto& c) { c.attention.score.scale = Scale::over_sqrt_d; }},
      {"score divided by length", [](auto& c) { c.attention.score.scale = Scale::over_sqrt_length; }},
      {"keys of another example", [](auto& c) { c.attention.keys = MemoryRead::next_example; }},
      {"keys backwards", [](auto& c) { c.attention.keys = MemoryRead::time_reversed; }},
      {"keys reshaped", [](auto& c) { c.attention.keys = MemoryRead::reshaped; }},
      {"values reshaped", [](auto& c) { c.attention.values = MemoryRead::reshaped; }},
      {"values shifted", [](auto& c) { c.attention.value_shift = 1; }},
      {"values shifted back", [](auto& c) { c.attention.value_shift = -1; }},
      {"uniform context", [](auto& c) { c.attention.context_sum = ContextSum::uniform; }},
      {"context of the last", [](auto& c) { c.attention.context_sum = ContextSum::last; }},
      {"context without the first", [](auto& c) { c.attention.context_sum = ContextSum::all_but_first; }},
      {"context without the last", [](auto& c) { c.attention.context_sum = ContextSum::all_but_last; }},
      {"context over length", [](auto& c) { c.attention.context_sum = ContextSum::over_length; }},
      {"softmax twice", [](auto& c) { c.attention.normaliser = Normaliser::softmax_twice; }},
      {"sigmoid weights", [](auto& c) { c.attention.normaliser = Normaliser::sigmoid; }},
      {"small finite fill", [](auto& c) { c.attention.mask_fill = 1e-9; }},
      {"mask added", [](auto& c) { c.attention.mask_use = MaskUse::add; }},
      {"temperature", [](auto& c) { c.attention.temperature = 3; }},
      {"z keeps", [](auto& c) { std::get<GruConvention>(c.cell).update = GruUpdate::keeps; }},
      {"reset on the input", [](auto& c) { std::get<GruConvention>(c.cell).reset = GruReset::on_input; }},
      {"gate order", [](auto& c) { std::get<GruConvention>(c.cell).gate_order = "znr"; }},
      {"hard sigmoid", [](auto& c) { std::get<GruConvention>(c.cell).gate = Activation::hard_sigmoid; }},
      {"U transposed", [](auto& c) { std::get<GruConvention>(c.cell).transposed = Transposed::recurrent; }},
      {"no bias", [](auto& c) { std::get<GruConvention>(c.cell).biases = Biases::none; }},
  };
  std::vector<Array> seen = {right};
  for (const auto& entry : changes) {
    const std::string& what = entry.first;
    CAPTURE(what);
    DecoderConvention convention = base;
    entry.second(convention);
    const Array got = get(decode(convention, given), "logits");
    for (std::size_t k = 0; k < seen.size(); ++k) {
      const std::string other = k ? changes[k - 1].first : "right";
      CAPTURE(other);
      CHECK(largest_difference(got, seen[k]) > 1e-6);
    }
    seen.push_back(got);
  }
}

TEST_CASE("references: queries from an LSTM's memory or from all layers, values that are projected keys") {
  Arrays given = random_decoder(6, 4, 2);
  DecoderConvention c = bahdanau2014();
  c.cell = LstmConvention{};
  c.layers = 2;
  const Arrays by_state = decode(c, given);
  c.query = {{What::cell_state, 1}};
  const Arrays by_memory = decode(c, given);
  CHECK(largest_difference(get(by_state, "alpha"), get(by_memory, "alpha")) > 1e-6);
  CHECK(get(by_memory, "m").shape == Dims{2, 4, 3});

  // The concatenation of both layers is what two parts in a row are, bottom first.
  given["W_a"] = Numbers{}({5, 6});
  c.query = {{What::all_states, 1}};
  const Arrays by_all = decode(c, given);
  c.query = {{What::bottom_state, 1}, s_prev};
  CHECK(largest_difference(get(by_all, "s"), get(decode(c, given), "s")) == 0);

  given = random_decoder(7, 3);  // c has d_attn = 5 numbers instead of d_h = 4
  DecoderConvention projected = bahdanau2014();
  projected.attention.values_are_projected_keys = true;
  const Arrays out = decode(projected, given);
  Vec c_1(5);
  for (std::size_t i = 0; i < 4; ++i) {
    const Vec key = matvec(get(given, "U_a"), get(given, "H").row({0, i}));
    for (std::size_t k = 0; k < 5; ++k) c_1[k] += get(out, "alpha").at({0, 0, i}) * key[k];
  }
  check_printed("sum over U_a h", context_at(out, 0), c_1, 14);
}

TEST_CASE("references: what stands behind the end, and how a backward run may be read") {
  const Array x({1, 3, 1}, {1, 2, 9});
  const Arrays given = scalar_elman(.5, .8, .4);
  const auto run = [&](RunConvention how) {
    const Run out = run_sequence(ElmanConvention{}, how, cell_weights(given), x, {2});
    return join(out.h.data, out.final_h.data);
  };
  const auto h = [](double input, double before) { return std::tanh(.5 * input + .8 * before + .4); };
  const double f1 = h(1, 0), f2 = h(2, f1), f3 = h(9, f2), b2 = h(2, 0), b1 = h(1, b2);
  const double through = h(1, h(2, h(9, 0)));
  const struct {
    const char* what;
    RunConvention how;
    Vec want;  // h_1, h_2, h_3, final
  } rows[] = {
      {"zero", {}, {f1, f2, 0, f2}},
      {"hold", {AfterEnd::hold}, {f1, f2, f2, f2}},
      {"run on", {AfterEnd::run_on}, {f1, f2, f3, f3}},
      {"backward", {AfterEnd::zero, Reading::reversed_prefix}, {b1, b2, 0, b1}},
      {"backward, not turned round", {AfterEnd::zero, Reading::reversed_prefix, Outputs::as_read}, {b2, b1, 0, b1}},
      {"backward, turned over the row", {AfterEnd::zero, Reading::reversed_prefix, Outputs::over_row}, {0, b1, b2, b1}},
      {"backward through padding, turned within the length",
       {AfterEnd::zero, Reading::reversed_row, Outputs::within_length},
       {h(2, h(9, 0)), h(9, 0), 0, through}},
      {"backward through padding", {AfterEnd::zero, Reading::reversed_row}, {through, h(2, h(9, 0)), 0, through}},
      {"not reversed", {AfterEnd::zero, Reading::backward_unreversed}, {f1, f2, 0, f2}},
  };
  for (const auto& row : rows) check_printed(row.what, run(row.how), row.want, 14);
}

TEST_CASE("references: forget gate and output of the LSTM, wrong ways") {
  const Arrays given = {{"W", Array({4, 1})}, {"U", Array({4, 1})}, {"b", Array({4}, {.5, -.3, .8, .2})}};
  const double i = 1 / (1 + std::exp(-.5)), f = 1 / (1 + std::exp(.3)), g = std::tanh(.8);
  const std::pair<LstmForget, double> kept[] = {
      {LstmForget::own, f}, {LstmForget::coupled, 1 - i}, {LstmForget::unused, 1}, {LstmForget::complement, 1 - f}};
  for (const auto& [forget, keep] : kept) {
    LstmConvention c;
    c.forget = forget;
    check_printed("c", lstm_step(c, cell_weights(given), Vec{1}, {{0}, {.6}}).c, {keep * .6 + i * g}, 14);
  }
  LstmConvention late;
  late.output = LstmOutput::old_cell;
  check_printed("h", lstm_step(late, cell_weights(given), Vec{1}, {{0}, {.6}}).h, {std::tanh(.6) / (1 + std::exp(-.2))},
                14);
}

TEST_CASE("references: softmax over decoder steps needs the states first") {
  DecoderConvention luong = luong2015(Score::additive, false);
  luong.cell = GruConvention{};
  luong.attention.axis = SoftmaxAxis::queries;
  Arrays given = random_decoder(2, 3);
  given.erase("mask");
  const Array alpha = get(decode(luong, given), "alpha");
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::fabs(alpha.at({0, 0, i}) + alpha.at({0, 1, i}) + alpha.at({0, 2, i}) - 1) < 1e-14);
  }
  luong.cell_input = {y_emb, htilde_prev};
  CHECK_THROWS_AS(decode(luong, given), std::invalid_argument);
}

TEST_CASE("references: the maxout readout") {
  Arrays given = decoder_fixture(1);
  given["U_o"] = matrix({{1, 0}, {0, 1}, {2, 0}, {0, 2}});
  given["V_o"] = Array({4, 1}, {1, -1, .5, 0});
  given["C_o"] = matrix({{0, 1}, {1, 0}, {-1, 0}, {0, -1}});
  given["W_o"] = matrix({{1, 2}, {3, -4}});
  const auto logits = [&](DecoderConvention c) { return get(decode(c, given), "logits").data; };
  const Arrays out = decode(bahdanau2014_maxout(), given);
  const double s0 = .2, s1 = -.1, c0 = context_at(out, 0)[0], c1 = context_at(out, 0)[1];
  const Vec t = {s0 + 1 + c1, s1 - 1 + c0, 2 * s0 + .5 - c0, 2 * s1 - c1};
  const auto two = [](double a, double b) { return Vec{a + 2 * b, 3 * a - 4 * b}; };
  check_printed("neighbours", logits(bahdanau2014_maxout()), two(std::fmax(t[0], t[1]), std::fmax(t[2], t[3])), 12);
  DecoderConvention halves = bahdanau2014_maxout(), now = halves;
  halves.readout_form = Readout::maxout_halves;
  check_printed("halves", logits(halves), two(std::fmax(t[0], t[2]), std::fmax(t[1], t[3])), 12);
  now.readout = {s_t, y_emb, c_t};
  CHECK(std::fabs(logits(now)[0] - logits(bahdanau2014_maxout())[0]) > 1e-3);
}

TEST_CASE("references: Luong's preset, step by step") {
  for (const bool feeding : {false, true}) {
    CAPTURE(feeding);
    Arrays given = random_decoder(feeding ? 5 : 2, 4);
    given["W_a"] = Numbers{}({3, 4});
    given["W_o"] = Numbers{}({6, 3});
    const Arrays out = decode(luong2015(Score::general, feeding), given);
    CellState state{copy(get(given, "s_0").row({1})), Vec(3)};
    Vec fed(3);
    for (std::size_t t = 0; t < 3; ++t) {
      const Vec y = copy(get(given, "y_emb").row({1, t}));
      state = lstm_step({}, cell_weights(given), feeding ? join(y, fed) : y, state);
      const Array& H = get(given, "H");
      const double e0 = dot(state.h, matvec(get(given, "W_a"), H.row({1, 0})));
      const double e1 = dot(state.h, matvec(get(given, "W_a"), H.row({1, 1})));
      const double alpha = 1 / (1 + std::exp(e1 - e0));  // row 1 has two real positions
      const Vec c = add(multiply(copy(H.row({1, 0})), Vec(4, alpha)), multiply(copy(H.row({1, 1})), Vec(4, 1 - alpha)));
      fed = activate(Activation::tanh, matvec(get(given, "W_c"), join(c, state.h)));
      check_printed("s", copy(get(out, "s").row({1, t + 1})), state.h, 14);
      check_printed("c", copy(get(out, "c").row({1, t})), c, 14);
      check_printed("htilde", copy(get(out, "htilde").row({1, t})), fed, 14);
      check_printed("logits", copy(get(out, "logits").row({1, t})),
                    add(matvec(get(given, "W_o"), fed), get(given, "b_o").data), 14);
    }
  }
}

TEST_CASE("references: where the first state comes from") {
  const Arrays given = random_decoder(6, 3);
  const Array& H = get(given, "H");
  DecoderConvention c = bahdanau2014();
  const auto s_0 = [&](InitialState initial) {
    c.initial = initial;
    return copy(get(decode(c, given), "s").row({1, 0}));
  };
  const auto start = [&](Row part) { return activate(Activation::tanh, matvec(get(given, "W_s"), part)); };
  check_printed("given", s_0(InitialState::given), copy(get(given, "s_0").row({1})), 14);
  check_printed("zeros", s_0(InitialState::zeros), {0, 0, 0}, 14);
  check_printed("backward_1", s_0(InitialState::backward_first), start(H.row({1, 0}).subspan(2)), 14);
  check_printed("backward_T", s_0(InitialState::backward_last), start(H.row({1, 1}).subspan(2)), 14);
  check_printed("forward_T", s_0(InitialState::forward_last), start(H.row({1, 1}).first(2)), 14);
}

TEST_CASE("references: multi-head attention, one head at a time, and its mistakes") {
  Numbers numbers;
  Arrays given;
  for (const char* name : {"Q", "K", "V", "O"}) {
    given[std::string("W_") + name] = numbers({6, 6});
    given[std::string("b_") + name] = numbers({6});
  }
  const Array query = numbers({2, 3, 6}), key = numbers({2, 4, 6}), mask({2, 4}, {1, 1, 1, 1, 1, 1, 0, 0});
  const auto linear = [&](const std::string& name, Row x) {
    return add(matvec(get(given, "W_" + name), x), get(given, "b_" + name).data);
  };
  MultiHeadConvention right;
  right.heads = 3;
  const MultiHead out = multi_head_attention(right, given, query, key, key, &mask);
  CHECK(out.weights.shape == Dims{2, 3, 3, 4});
  CHECK(out.output.shape == Dims{2, 3, 6});
  Vec joined;
  for (std::size_t head = 0; head < 3; ++head) {  // row 1 has two real positions, query 2 is followed
    const Vec all = linear("Q", query.row({1, 2}));
    const double e0 = dot(Row(all).subspan(2 * head, 2), Row(linear("K", key.row({1, 0}))).subspan(2 * head, 2));
    const double e1 = dot(Row(all).subspan(2 * head, 2), Row(linear("K", key.row({1, 1}))).subspan(2 * head, 2));
    const double alpha = 1 / (1 + std::exp((e1 - e0) / std::sqrt(2.0)));
    CHECK(std::fabs(out.weights.at({1, head, 2, 0}) - alpha) < 1e-14);
    CHECK(out.weights.at({1, head, 2, 2}) == 0);
    for (std::size_t j = 2 * head; j < 2 * head + 2; ++j)
      joined.push_back(alpha * linear("V", key.row({1, 0}))[j] + (1 - alpha) * linear("V", key.row({1, 1}))[j]);
  }
  check_printed("output", copy(out.output.row({1, 2})), linear("O", joined), 14);

  std::vector<MultiHeadConvention> wrong(6, right);
  wrong[0].split = HeadSplit::interleaved;
  wrong[1].split = HeadSplit::reshaped;
  wrong[2].merge = HeadSplit::reshaped;
  wrong[3].mask = HeadMask::tiled;
  wrong[4].scale_by_model_size = true;
  wrong[5].output_projection = false;
  std::vector<Array> seen = {out.output};
  for (const MultiHeadConvention& convention : wrong) {
    const Array got = multi_head_attention(convention, given, query, key, key, &mask).output;
    for (const Array& other : seen) CHECK(largest_difference(got, other) > 1e-3);
    seen.push_back(got);
  }
  right.heads = 4;
  CHECK_THROWS_AS(multi_head_attention(right, given, query, key, key), std::invalid_argument);
}

namespace {

using gradus::fixtures::Fixture;
using gradus::fixtures::fixture;

// PyTorch's names to ours: W_ih_l1_reverse is W_l1_reverse, and layer 0 has no suffix.
std::string our_name(std::string name) {
  const std::pair<std::string, std::string> renamed[] = {{"W_ih", "W"},   {"W_hh", "U"}, {"b_ih", "b"},
                                                         {"b_hh", "b_u"}, {"_l0", ""},   {"c_0", "cell_0"}};
  for (const auto& [theirs, ours] : renamed) {
    const std::size_t at = name.find(theirs);
    if (at != std::string::npos) name.replace(at, theirs.size(), ours);
  }
  return name;
}

// The arrays whose name starts with the prefix, under our names and with the blocks of r, z, n stacked.
Arrays ours(const Fixture& from, const std::string& prefix) {
  Arrays out;
  for (const auto& [name, array] : from.arrays()) {
    if (name.rfind(prefix, 0) != 0 || (prefix.empty() && name.rfind("grad_", 0) == 0)) continue;
    out[our_name(name.substr(prefix.size()))] = Array(Dims(array.shape.begin(), array.shape.end()), array.data);
  }
  for (const std::string kind : {"W", "U", "b"}) {
    if (!find(out, kind + "_r")) continue;
    Array stacked = out[kind + "_r"];
    for (const char* gate : {"_z", "_n"}) stacked.data = join(stacked.data, out[kind + gate].data);
    stacked.shape[0] *= 3;
    out[kind] = stacked;
    for (const char* gate : {"_r", "_z", "_n"}) out.erase(kind + gate);
  }
  if (find(out, "s_0_bottom")) {  // of two layers
    for (const std::string state : {"s_0", "cell_0"}) {
      out[state + "_l1"] = out[state];
      out[state] = out[state + "_bottom"];
      out.erase(state + "_bottom");
    }
  }
  if (const Array* lengths = find(out, "lengths"); lengths && find(out, "H")) {
    Array mask({out["H"].dim(0), out["H"].dim(1)});
    for (std::size_t b = 0; b < mask.dim(0); ++b)
      for (std::size_t i = 0; i < mask.dim(1); ++i) mask.at({b, i}) = static_cast<double>(i) < lengths->data[b];
    out["mask"] = mask;
  }
  return out;
}

// Every output to 1e-12 and every gradient of sum(cot * output), by central differences of the reference, to 1e-7 of
// the tensor's largest entry.
void check_against_torch(const std::string& name, const std::function<Arrays(const Arrays&)>& forward) {
  CAPTURE(name);
  const Arrays given = ours(fixture(name), ""), cotangents = ours(fixture(name), "cot_");
  const Arrays out = forward(given), gradients = ours(fixture(name), "grad_");
  REQUIRE(!cotangents.empty());
  REQUIRE(!gradients.empty());
  const auto objective = [&](const Arrays& at) {
    const Arrays y = forward(at);
    double sum = 0;
    for (const auto& [output, cotangent] : cotangents) sum += dot(get(y, output).data, cotangent.data);
    return sum;
  };
  for (const auto& entry : cotangents) {
    const std::string& output = entry.first;
    CAPTURE(output);
    CHECK(largest_difference(get(out, output), get(given, output)) < 1e-12);
  }
  for (const auto& entry : gradients) {
    const std::string& input = entry.first;
    CAPTURE(input);
    double largest = 0;
    for (double x : entry.second.data) largest = std::fmax(largest, std::fabs(x));
    CHECK(largest_difference(central_difference(objective, given, input), entry.second) < 1e-7 * largest);
  }
}

}  // namespace

TEST_CASE("references: single cells are PyTorch's, Cho's and Bahdanau's") {
  ElmanConvention elman;
  elman.biases = Biases::two;
  GruConvention cho = cho2014(), bahdanau = bahdanau2014_gru();
  cho.biases = bahdanau.biases = Biases::one;
  const std::pair<const char*, CellConvention> cells[] = {{"rnn_cell", elman},
                                                          {"gru_cell", pytorch()},
                                                          {"lstm_cell", pytorch_lstm()},
                                                          {"gru_cho2014", cho},
                                                          {"gru_bahdanau2014", bahdanau}};
  for (const auto& entry : cells) {
    check_against_torch(entry.first, [&](const Arrays& at) {
      const Array *h0 = &get(at, "h0"), *c0 = find(at, "c0");
      Arrays out = {{"h", *h0}, {"c", *h0}};
      for (std::size_t b = 0; b < h0->dim(0); ++b) {
        const CellState before{copy(h0->row({b})), c0 ? copy(c0->row({b})) : Vec()};
        const CellState after = cell_step(entry.second, cell_weights(at), get(at, "x").row({b}), before);
        out["h"].set_row({b}, after.h);
        if (c0) out["c"].set_row({b}, after.c);
      }
      return out;
    });
  }
}

TEST_CASE("references: sequences with lengths, layers and directions are PyTorch's") {
  ElmanConvention elman;
  elman.biases = Biases::two;
  for (const std::string name :
       {"rnn", "gru", "gru_lengths", "gru_2_layers", "gru_bidirectional_lengths", "gru_2_layers_bidirectional_lengths",
        "gru_equal_sizes", "lstm", "lstm_lengths", "lstm_2_layers", "lstm_2_layers_bidirectional_lengths"}) {
    CellConvention cell = elman;
    if (name[0] == 'g') cell = pytorch();
    if (name[0] == 'l') cell = pytorch_lstm();
    check_against_torch(name, [&](const Arrays& at) {
      std::vector<std::size_t> lengths;
      if (const Array* n = find(at, "lengths"))
        for (double x : n->data) lengths.push_back(static_cast<std::size_t>(x));
      const bool both = find(at, "W_reverse");
      Arrays out = {{"h_n", Array(get(at, "h0").shape)}, {"c_n", Array(get(at, "h0").shape)}, {"h", get(at, "x")}};
      const std::size_t slices = get(at, "h0").dim(0), B = get(at, "h0").dim(1), d = get(at, "h0").dim(2);
      Array pair;
      for (std::size_t k = 0; k < slices; ++k) {
        const bool backward = both && k % 2;
        const std::size_t layer = both ? k / 2 : k;
        const auto start = [&](const Array* a) {
          Array slice({B, d});
          for (std::size_t b = 0; a && b < B; ++b) slice.set_row({b}, a->row({k, b}));
          return slice;
        };
        const Array h0 = start(find(at, "h0")), c0 = start(find(at, "c0"));
        const RunConvention how{AfterEnd::zero, backward ? Reading::reversed_prefix : Reading::forward};
        const std::string suffix = (layer ? "_l" + std::to_string(layer) : "") + (backward ? "_reverse" : "");
        const Run run = run_sequence(cell, how, cell_weights(at, suffix), out["h"], lengths, &h0,
                                     std::holds_alternative<LstmConvention>(cell) ? &c0 : nullptr);
        for (std::size_t b = 0; b < B; ++b) {
          out["h_n"].set_row({k, b}, run.final_h.row({b}));
          if (find(at, "c0")) out["c_n"].set_row({k, b}, run.final_c.row({b}));
        }
        pair.data.insert(pair.data.end(), run.h.data.begin(), run.h.data.end());
        pair.shape = {2, B, run.h.dim(1), d};
        if (both && !backward) continue;
        out["h"] = both ? merge_directions(Merge::concat, pair) : run.h;
        pair = Array();
      }
      return out;
    });
  }
}

TEST_CASE("references: decoders of both papers are PyTorch's, in value and gradient") {
  DecoderConvention bahdanau = bahdanau2014_maxout();
  std::get<GruConvention>(bahdanau.cell).biases = Biases::one;
  DecoderConvention reads_s_t = bahdanau;
  reads_s_t.readout = {s_t, y_emb, c_t};
  const auto luong = [](Score score, bool feeding, const CellConvention& cell, std::size_t layers = 1) {
    DecoderConvention convention = luong2015(score, feeding);
    convention.cell = cell;
    convention.layers = layers;
    return convention;
  };
  const std::pair<const char*, DecoderConvention> decoders[] = {
      {"bahdanau", reads_s_t},
      {"bahdanau_equal_sizes", reads_s_t},
      {"bahdanau_readout_s_prev", bahdanau},
      {"luong_general_feed", luong(Score::general, true, pytorch())},
      {"luong_general_feed_equal_sizes", luong(Score::general, true, pytorch())},
      {"luong_dot_lstm", luong(Score::dot, false, pytorch_lstm())},
      {"luong_concat_feed", luong(Score::concat, true, pytorch())},
      {"luong_location_feed", luong(Score::location, true, pytorch())},
      {"luong_general_feed_lstm_2_layers", luong(Score::general, true, pytorch_lstm(), 2)}};
  for (const auto& entry : decoders) {
    check_against_torch(entry.first, [&](const Arrays& at) { return decode(entry.second, at); });
  }
}

TEST_CASE("references: GRU weights as Keras and ONNX store them") {
  const auto run = [](const GruConvention& c, const Arrays& at, const Array& x, const Array& h0) {
    return run_sequence(c, {}, cell_weights(at), x, {}, &h0).h;
  };
  for (const bool after : {true, false}) {
    const Arrays keras = ours(fixture(after ? "keras_gru_reset_after" : "keras_gru_reset_before"), "");
    Arrays at = {{"W", transposed(get(keras, "kernel"))}, {"U", transposed(get(keras, "recurrent_kernel"))}};
    at["b"] = Array({15}, Vec(get(keras, "bias").data.begin(), get(keras, "bias").data.begin() + 15));
    if (after) at["b_u"] = Array({15}, Vec(get(keras, "bias").data.begin() + 15, get(keras, "bias").data.end()));
    CHECK(largest_difference(
              run(after ? keras_reset_after() : keras_reset_before(), at, get(keras, "x"), get(keras, "h0")),
              get(keras, "h")) < 1e-12);

    const Arrays onnx = ours(fixture(after ? "onnx_gru_lbr1" : "onnx_gru_lbr0"), "");
    at = {{"W", Array({15, 2}, get(onnx, "W").data)}, {"U", Array({15, 5}, get(onnx, "R").data)}};
    const Vec& B = get(onnx, "B").data;
    at["b"] = Array({15}, Vec(B.begin(), B.begin() + 15));
    at["b_u"] = Array({15}, Vec(B.begin() + 15, B.end()));
    const Array y =
        run(after ? onnx_lbr1() : onnx_lbr0(), at, get(onnx, "X"), Array({3, 5}, get(onnx, "initial_h").data));
    CHECK(largest_difference(y, Array(y.shape, get(onnx, "Y").data)) < 1e-12);
  }
}

TEST_CASE("references: multi-head attention is PyTorch's") {
  check_against_torch("multi_head", [](const Arrays& at) {
    Arrays split = {{"W_O", get(at, "out_proj.weight")}, {"b_O", get(at, "out_proj.bias")}};
    std::size_t block = 0;
    for (const std::string name : {"Q", "K", "V"}) {
      const auto rows = get(at, "in_proj_weight").data.begin() + static_cast<std::ptrdiff_t>(36 * block);
      const auto biases = get(at, "in_proj_bias").data.begin() + static_cast<std::ptrdiff_t>(6 * block++);
      split["W_" + name] = Array({6, 6}, Vec(rows, rows + 36));
      split["b_" + name] = Array({6}, Vec(biases, biases + 6));
    }
    Array mask({2, 5});
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t i = 0; i < 5; ++i) mask.at({b, i}) = static_cast<double>(i) < get(at, "lengths").data[b];
    MultiHeadConvention convention;
    convention.heads = 2;
    const Array& memory = get(at, "memory");
    const MultiHead out = multi_head_attention(convention, split, get(at, "query"), memory, memory, &mask);
    return Arrays{{"output", out.output}, {"alpha", out.weights}};
  });
}

TEST_CASE("references: mistakes of the caller say what to do") {
  Arrays given = decoder_fixture(2);
  DecoderConvention circle = bahdanau2014();
  circle.query = {s_t};
  CHECK_THROWS_WITH_AS(decode(circle, given), doctest::Contains("circle"), std::invalid_argument);
  given.erase("v_a");
  CHECK_THROWS_WITH_AS(decode(bahdanau2014(), given), doctest::Contains("no array named 'v_a'"), std::invalid_argument);
  GruConvention order;
  order.gate_order = "rz";
  const Arrays gru_given = gru_fixture();
  CHECK_THROWS_AS(gru_step(order, cell_weights(gru_given), Vec{1}, Vec{0, 0}), std::invalid_argument);
  CHECK_THROWS_AS(Array({2, 2}, Vec{1, 2, 3}), std::invalid_argument);
  CHECK_THROWS_AS(Array({2, 2}).at({2, 0}), std::invalid_argument);
  CHECK_THROWS_AS(Array({2, 2}).at({0}), std::invalid_argument);
}

TEST_CASE("references: central differences of a cubic") {
  const auto cube = [](const Arrays& a) { return std::pow(get(a, "x").at({0}), 3); };
  for (const double x : {1.0, -2.0, 100.0}) {
    CAPTURE(x);
    const Array g = central_difference(cube, {{"x", Array({1}, {x})}}, "x");
    CHECK(std::fabs(g.data[0] / (3 * x * x) - 1) < 1e-9);
  }
}

TEST_CASE("references: further ways to get a gate, an energy, a weight or an example wrong") {
  // GRU on the fixture: x = 1, h = (.5, -1).
  const auto sigmoid = [](double a) { return 1 / (1 + std::exp(-a)); };
  const double r1 = sigmoid(.4 + .1 - .1 + .1), r2 = sigmoid(-.6 - .3 - .1), z1 = sigmoid(.7 + .05 + .3),
               z2 = sigmoid(-.2 + .1 - .4 + .2);
  const double by_z = std::tanh(.5 + .9 * z1 * .5 + .7 * z2 + .05), n1 = std::tanh(.5 + .9 * r1 * .5 + .7 * r2 + .05);
  check_printed("reset by z", {gru(GruReset::by_update_gate, GruUpdate::keeps)[0]}, {z1 * .5 + (1 - z1) * by_z}, 12);
  const double after_by_z = std::tanh(.5 + z1 * (.9 * .5 + .7) + .05);
  check_printed("reset by z, after the product", {gru(GruReset::after_by_update_gate, GruUpdate::keeps)[0]},
                {z1 * .5 + (1 - z1) * after_by_z}, 12);
  check_printed("update by r", {gru(GruReset::before, GruUpdate::by_reset_gate)[0]}, {r1 * .5 + (1 - r1) * n1}, 12);
  Arrays biased = gru_fixture();
  biased["b_u"] = Array({6}, {0, 0, 0, 0, .3, .3});
  GruConvention outside;
  outside.reset = GruReset::after_bias_outside, outside.biases = Biases::two;
  const double n_outside = std::tanh(.5 + r1 * (.45 + .7) + .05 + .3);
  check_printed("b_u outside", {gru_step(outside, cell_weights(biased), Vec{1}, Vec{.5, -1})[0]},
                {z1 * .5 + (1 - z1) * n_outside}, 12);

  const Arrays one_unit = {{"W", Array({4, 1})}, {"U", Array({4, 1}, {1, 1, 1, 1})}, {"b", Array({4})}};
  LstmConvention by_memory;
  by_memory.reads_memory = true;
  const double i = sigmoid(.6), c = i * .6 + i * std::tanh(.6);
  LstmConvention squashed_memory;
  squashed_memory.memory = Activation::tanh, squashed_memory.output_activation = Activation::identity;
  const CellState kept = lstm_step(squashed_memory, cell_weights(one_unit), Vec{1}, {{.6}, {.6}});
  check_printed("memory through tanh", kept.c, {std::tanh(c)}, 12);
  check_printed("its output", kept.h, {i * std::tanh(c)}, 12);
  check_printed("gates read c", lstm_step(by_memory, cell_weights(one_unit), Vec{1}, {{0}, {.6}}).h, {i * std::tanh(c)},
                12);

  Arrays dec = decoder_fixture(2);
  dec["W_c"] = Array({2, 4}, {.5, -.2, .3, .1, .4, .6, -.5, .2});
  for (const auto& [carry, handed_on] : {std::pair{Carry::context, "c"}, std::pair{Carry::attentional, "htilde"}}) {
    DecoderConvention convention = bahdanau2014();
    convention.attentional = {c_t, s_prev};
    convention.carry = carry;
    const Arrays run = decode(convention, dec);
    const Vec x = join(vec(get(dec, "y_emb").row({0, 1})), get(run, "c").row({0, 1}));
    const CellState old = {vec(get(run, handed_on).row({0, 0})), {}};
    check_printed(handed_on, vec(get(run, "s").row({0, 2})), cell_step(convention.cell, cell_weights(dec), x, old).h,
                  12);
  }

  // Two weights and a masked one, scores that have moved by .1, .2 and .5, temperature 2.
  const Array still_alpha({1, 1, 3}, {.25, .75, 0}), still_e({1, 1, 3}, {0, 1, 2}), moved_e({1, 1, 3}, {.1, 1.2, 2.5});
  const std::pair<SoftmaxSlope, Vec> slopes[] = {{SoftmaxSlope::diagonal, {.25 + .05 * .1875, .75 + .1 * .1875, 0}},
                                                 {SoftmaxSlope::weights, {.25 + .05 * .25, .75 + .1 * .75, 0}},
                                                 {SoftmaxSlope::none, {.3, .85, 0}}};
  for (const auto& [slope, weights] : slopes)
    check_printed("along a wrong slope", weights_along(slope, 2, still_alpha, still_e, moved_e).data, weights, 12);

  RunConvention restarts;
  restarts.restarts = true;
  const Arrays given = scalar_elman(.5, .8, 0);
  check_printed("each step from h0",
                run_sequence(ElmanConvention{}, restarts, cell_weights(given), Array({1, 3, 1}, {1, 2, 3}), {}).h.data,
                {std::tanh(.5), std::tanh(1.0), std::tanh(1.5)}, 12);

  AttentionConvention product, separate;
  product.score.product = true;
  separate.score.bracket = Bracket::each;
  const Vec q = matvec(get(additive_parameters(), "W_a"), s_prev_att),
            k = matvec(get(additive_parameters(), "U_a"), Vec{1, 0});
  check_printed("product", {attend_att(product).scores.data[0]}, {std::tanh(q[0] * k[0]) - .8 * std::tanh(q[1] * k[1])},
                12);
  check_printed("separate", {attend_att(separate).scores.data[0]},
                {std::tanh(q[0]) + std::tanh(k[0]) - .8 * (std::tanh(q[1]) + std::tanh(k[1]))}, 12);
  separate.score.bracket = Bracket::query_only;
  check_printed("tanh of the query's term", {attend_att(separate).scores.data[0]},
                {std::tanh(q[0]) + k[0] - .8 * (std::tanh(q[1]) + k[1])}, 12);
  separate.score.bracket = Bracket::keys_only;
  check_printed("tanh of the keys' term", {attend_att(separate).scores.data[0]},
                {q[0] + std::tanh(k[0]) - .8 * (q[1] + std::tanh(k[1]))}, 12);

  AttentionConvention by_heads;
  by_heads.axis = SoftmaxAxis::heads, by_heads.heads = 2;
  const Array four({4, 1, 1}, {1, 2, 4, 8});  // two examples of two heads
  check_printed("over the heads", attention_weights(by_heads, four, nullptr).data,
                {sigmoid(-1), sigmoid(1), sigmoid(-4), sigmoid(4)}, 12);
  by_heads.axis = SoftmaxAxis::batch_of_head;
  check_printed("over the batch, head by head", attention_weights(by_heads, four, nullptr).data,
                {sigmoid(-3), sigmoid(-6), sigmoid(3), sigmoid(6)}, 12);

  AttentionConvention exp, logarithm, squashed, hard;
  exp.normaliser = Normaliser::exp, logarithm.normaliser = Normaliser::log_softmax;
  squashed.normaliser = Normaliser::softmax_of_tanh, hard.context_sum = ContextSum::largest;
  const Vec e = {1, 0}, right = weights_of({}, {e});
  check_printed("exp", weights_of(exp, {e}), {std::exp(1.0), 1}, 12);
  check_printed("log", weights_of(logarithm, {e}), {std::log(right[0]), std::log(right[1])}, 12);
  check_printed("softmax of tanh", weights_of(squashed, {e}, {1, 1}), weights_of({}, {{std::tanh(1.0), 0}}), 12);
  check_printed("the largest alone", attend_att(hard).context.data, {1, 0}, 12);

  // Three examples with one number each as value, and masks of lengths 3, 2, 1.
  const Array H({3, 3, 1}, {1, 1, 1, 2, 2, 2, 3, 3, 3}), mask({3, 3}, {1, 1, 1, 1, 1, 0, 1, 0, 0}), zero({3, 1, 3});
  const std::pair<MemoryRead, Vec> rows[] = {{MemoryRead::next_example, {2, 3, 1}},
                                             {MemoryRead::previous_example, {3, 1, 2}},
                                             {MemoryRead::first_example, {1, 1, 1}}};
  for (const auto& [read, values] : rows) {
    AttentionConvention other;
    other.values = read;
    check_printed(
        "values",
        contexts(other, attention_weights(other, zero, nullptr), attention_values(other, {}, H), nullptr).data, values,
        12);
  }
  const std::pair<MaskRead, Vec> masks[] = {{MaskRead::next_example, {2, 1, 3}},
                                            {MaskRead::previous_example, {1, 3, 2}},
                                            {MaskRead::first_example, {3, 3, 3}}};
  for (const auto& [read, lengths] : masks) {
    AttentionConvention other;
    other.mask_read = read;
    const Array alpha = attention_weights(other, zero, &mask);
    for (std::size_t b = 0; b < 3; ++b) check_printed("mask", {alpha.at({b, 0, 0})}, {1 / lengths[b]}, 12);
  }
}
