// Elman, GRU in every convention, LSTM: values against transcriptions and PyTorch, gradients, extremes, refusals.
#include "nn/cells.h"

#include "tests/nn/check.h"
#include "tests/reference/bahdanau2014.h"
#include "tests/reference/cho2014.h"
#include "tests/reference/elman1990.h"
#include "tests/reference/keras_gru.h"
#include "tests/reference/lstm1997.h"
#include "tests/reference/onnx_gru.h"
#include "tests/reference/pytorch_gru.h"

using namespace gradus;
using namespace gradus::testing;
using fixtures::Fixture;
using fixtures::fixture;
using paper::Mat;
using paper::Vec;

namespace {

std::vector<GruOptions> all_conventions() {
  std::vector<GruOptions> all;
  for (GruReset reset : {GruReset::before, GruReset::after}) {
    for (GruUpdate update : {GruUpdate::keeps, GruUpdate::replaces}) {
      for (GruBias bias : {GruBias::none, GruBias::one, GruBias::two}) {
        for (GruOrder order : {GruOrder::rzn, GruOrder::zrn}) all.push_back({reset, update, bias, order});
      }
    }
  }
  return all;
}
std::string name_of(const GruOptions& o) {
  return std::string("reset ") + (o.reset == GruReset::before ? "before" : "after") + ", z " +
         (o.update == GruUpdate::keeps ? "keeps" : "replaces") + ", " + std::to_string(static_cast<int>(o.bias)) +
         " biases, order " + (o.order == GruOrder::rzn ? "rzn" : "zrn");
}

Gru gru(std::int64_t d_in, std::int64_t d_s, const GruOptions& options, std::uint64_t seed = 1) {
  Generator g(seed);
  return drawn(Gru(d_in, d_s, options, g), seed);
}
Gru gru_of(const GruOptions& options, const Var& W, const Var& U, const Var& b, const Var& b_u) {
  Gru cell;
  cell.options = options;
  cell.W = W;
  cell.U = U;
  cell.b = b;
  cell.b_u = b_u;
  return cell;
}
Elman elman(std::int64_t d_in, std::int64_t d_s) {
  Generator g(1);
  return drawn(Elman(d_in, d_s, g), 1);
}
Lstm lstm(std::int64_t d_in, std::int64_t d_s, bool two_biases = false) {
  Generator g(1);
  Lstm cell(d_in, d_s, g);
  if (two_biases) cell.b_u = zero_parameter(Shape{4 * d_s});
  return drawn(cell, 1);
}

// What one step of any convention must give, by the transcription that the convention belongs to. Where z replaces and
// the reset comes after the product (no source has it), z is read with its sign turned: 1 - sigmoid(a) = sigmoid(-a).
Vec expected(const Gru& cell, const Vec& x, const Vec& s) {
  const std::size_t d = s.size();
  const bool zrn = cell.options.order == GruOrder::zrn;
  const std::size_t r = zrn ? d : 0, z = zrn ? 0 : d, n = 2 * d;
  const Mat W = mat(cell.W), U = mat(cell.U);
  const Vec b = cell.b.defined() ? vec(cell.b) : Vec(3 * d, 0.0),
            b_u = cell.b_u.defined() ? vec(cell.b_u) : Vec(3 * d, 0.0);
  auto both = [&](std::size_t first) { return paper::plus(paper::part(b, first, d), paper::part(b_u, first, d)); };
  if (cell.options.reset == GruReset::before && cell.options.update == GruUpdate::keeps) {
    return paper::cho2014::step({rows(W, r, d), rows(U, r, d), rows(W, z, d), rows(U, z, d), rows(W, n, d),
                                 rows(U, n, d), both(r), both(z), both(n)},
                                x, s);
  }
  if (cell.options.reset == GruReset::before) {
    return paper::bahdanau2014::gru_step({rows(W, n, d),
                                          rows(W, z, d),
                                          rows(W, r, d),
                                          rows(U, n, d),
                                          rows(U, z, d),
                                          rows(U, r, d),
                                          {},
                                          {},
                                          {},
                                          both(n),
                                          both(z),
                                          both(r)},
                                         x, s, {});
  }
  const double sign = cell.options.update == GruUpdate::keeps ? 1 : -1;
  auto stacked = [&](const Mat& m) {
    Mat out = rows(m, r, d);
    for (Vec row : rows(m, z, d)) {
      for (double& value : row) value *= sign;
      out.push_back(row);
    }
    for (const Vec& row : rows(m, n, d)) out.push_back(row);
    return out;
  };
  auto stacked_bias = [&](const Vec& v) {
    Vec middle = paper::part(v, z, d);
    for (double& value : middle) value *= sign;
    return paper::concat(paper::concat(paper::part(v, r, d), middle), paper::part(v, n, d));
  };
  return paper::pytorch_gru::step({stacked(W), stacked(U), stacked_bias(b), stacked_bias(b_u)}, x, s);
}

struct Size {
  std::int64_t batch, d_in, d_s;
};
const Size sizes[] = {{2, 3, 4}, {3, 3, 3}, {1, 1, 1}, {1, 5, 2}, {4, 1, 17}};

// The small GRU that published mistakes about gates are recomputed on: x = 1, h = (.5, -1).
Gru small_gru(GruReset reset, GruUpdate update) {
  Gru cell;
  cell.options = {reset, update, GruBias::one, GruOrder::rzn};
  cell.W = parameter(tensor(Shape{6, 1}, {.4, -.6, .7, -.2, .5, .8}, f64));
  cell.U = parameter(tensor(Shape{6, 2}, {.2, .1, 0, .3, .1, -.3, .2, .4, .9, -.7, .6, .2}, f64));
  cell.b = parameter(tensor(Shape{6}, {.1, -.1, 0, .2, .05, -.05}, f64));
  return cell;
}
Vec small_step(const Gru& cell) {
  return vec(cell.step(tensor(Shape{1, 1}, {1}, f64), tensor(Shape{1, 2}, {.5, -1}, f64)));
}

}  // namespace

TEST_SUITE("nn cells") {
  // ---- Elman

  TEST_CASE("Elman's step is that of the paper") {
    for (const Size& n : sizes) {
      CAPTURE(n.d_s);
      const Elman cell = elman(n.d_in, n.d_s);
      Numbers numbers(2);
      const Var x = drawn_tensor(Shape{n.batch, n.d_in}, numbers), s = drawn_tensor(Shape{n.batch, n.d_s}, numbers);
      const Var next = cell.step(x, s);
      for (std::int64_t b = 0; b < n.batch; ++b) {
        CHECK(gap(at(next, b), paper::elman1990::step({mat(cell.W), mat(cell.U), vec(cell.b)}, vec(at(x, b)),
                                                      vec(at(s, b)))) <= exact);
      }
    }
  }

  TEST_CASE("Elman agrees with torch.nn.RNNCell in value and gradient") {
    const Fixture& f = fixture("rnn_cell");
    Elman cell;
    cell.W = leaf(f["W_ih"]);
    cell.U = leaf(f["W_hh"]);
    const Var b_ih = leaf(f["b_ih"]), b_hh = leaf(f["b_hh"]), x = leaf(f["x"]), h0 = leaf(f["h0"]);
    cell.b = b_ih + b_hh;
    const Var h = cell.step(x, h0);
    CHECK(gap(h, f["h"]) <= exact);
    flow_back(f, {{"h", h}});
    CHECK(gap(x.grad(), f["grad_x"]) <= exact);
    CHECK(gap(h0.grad(), f["grad_h0"]) <= exact);
    CHECK(gap(cell.W.grad(), f["grad_W_ih"]) <= exact);
    CHECK(gap(cell.U.grad(), f["grad_W_hh"]) <= exact);
    CHECK(gap(b_ih.grad(), f["grad_b_ih"]) <= exact);
  }

  TEST_CASE("Elman passes the self check at pairwise different and equal sizes") {
    for (const Size& n : {Size{2, 3, 4}, Size{3, 3, 3}, Size{1, 1, 1}}) {
      const Elman cell = elman(n.d_in, n.d_s);
      Numbers numbers(3);
      const Var x = leaf(Shape{n.batch, n.d_in}, numbers), s = leaf(Shape{n.batch, n.d_s}, numbers);
      const GradientReport report =
          check_gradient([&] { return cell.step(x, s); }, checked(cell, {{"x", x}, {"s_prev", s}}));
      CHECK_MESSAGE(report.passed, report.text());
    }
  }

  TEST_CASE("Elman keeps its state within -1 and 1 whatever comes in") {
    const Elman cell = elman(2, 3);
    const Var s = cell.step(full(Shape{1, 2}, 1e6, f64), full(Shape{1, 3}, -1e6, f64));
    CHECK(largest(s) <= 1);
  }

  // ---- GRU: conventions

  TEST_CASE("there are 24 conventions, and no two of them give the same state where they can differ") {
    const auto all = all_conventions();
    REQUIRE(all.size() == 24);
    std::set<std::vector<double>> seen;
    for (const GruOptions& options : all) {
      Gru cell = gru(2, 3, {options.reset, options.update, GruBias::two, options.order});
      if (options.bias != GruBias::two) cell.b_u = Var();
      if (options.bias == GruBias::none) cell.b = Var();
      seen.insert(vec(cell.step(full(Shape{1, 2}, 0.7, f64), tensor(Shape{1, 3}, {0.4, -0.9, 0.6}, f64))));
    }
    CHECK(seen.size() == 24);
  }

  TEST_CASE("a GRU step is that of its source, in all 24 conventions, sizes different, equal and 1") {
    for (const GruOptions& options : all_conventions()) {
      for (const Size& n : sizes) {
        CAPTURE(name_of(options));
        CAPTURE(n.d_s);
        const Gru cell = gru(n.d_in, n.d_s, options, 5);
        Numbers numbers(6);
        const Var x = drawn_tensor(Shape{n.batch, n.d_in}, numbers), s = drawn_tensor(Shape{n.batch, n.d_s}, numbers);
        const Var next = cell.step(x, s);
        REQUIRE(next.shape() == Shape{n.batch, n.d_s});
        for (std::int64_t b = 0; b < n.batch; ++b) {
          CHECK(gap(at(next, b), expected(cell, vec(at(x, b)), vec(at(s, b)))) <= exact);
        }
      }
    }
  }

  TEST_CASE("a GRU passes the self check in all 24 conventions, sizes pairwise different") {
    for (const GruOptions& options : all_conventions()) {
      CAPTURE(name_of(options));
      const Gru cell = gru(2, 3, options, 7);
      Numbers numbers(8);
      const Var x = leaf(Shape{4, 2}, numbers), s = leaf(Shape{4, 3}, numbers);
      const GradientReport report =
          check_gradient([&] { return cell.step(x, s); }, checked(cell, {{"x", x}, {"s_prev", s}}));
      CHECK_MESSAGE(report.passed, report.text());
    }
  }

  TEST_CASE("a GRU passes the self check in all 24 conventions, sizes equal") {
    for (const GruOptions& options : all_conventions()) {
      CAPTURE(name_of(options));
      const Gru cell = gru(3, 3, options, 9);
      Numbers numbers(10);
      const Var x = leaf(Shape{3, 3}, numbers), s = leaf(Shape{3, 3}, numbers);
      const GradientReport report =
          check_gradient([&] { return cell.step(x, s); }, checked(cell, {{"x", x}, {"s_prev", s}}));
      CHECK_MESSAGE(report.passed, report.text());
    }
  }

  TEST_CASE("each preset is the convention of its source") {
    struct Row {
      std::string name;
      GruOptions preset, want;
    };
    const GruReset before = GruReset::before, after = GruReset::after;
    const GruUpdate keeps = GruUpdate::keeps, replaces = GruUpdate::replaces;
    for (const Row& row :
         {Row{"cho2014", cho2014(), {before, keeps, GruBias::none, GruOrder::rzn}},
          Row{"bahdanau2014", bahdanau2014(), {before, replaces, GruBias::none, GruOrder::rzn}},
          Row{"pytorch", pytorch(), {after, keeps, GruBias::two, GruOrder::rzn}},
          Row{"keras_reset_after", keras_reset_after(), {after, keeps, GruBias::two, GruOrder::zrn}},
          Row{"keras_reset_before", keras_reset_before(), {before, keeps, GruBias::one, GruOrder::zrn}},
          Row{"onnx_lbr0", onnx_lbr0(), {before, keeps, GruBias::two, GruOrder::zrn}},
          Row{"onnx_lbr1", onnx_lbr1(), {after, keeps, GruBias::two, GruOrder::zrn}}}) {
      CAPTURE(row.name);
      CHECK(row.preset == row.want);
    }
  }

  TEST_CASE("the preset cho2014 is the unit of Cho et al.: numbers and gradients made with PyTorch") {
    for (const std::string name : {"gru_cho2014", "gru_bahdanau2014"}) {
      CAPTURE(name);
      const Fixture& f = fixture(name);
      const bool cho = name == "gru_cho2014";
      Gru cell;
      cell.options = cho ? cho2014() : bahdanau2014();
      std::vector<Parameter> leaves;
      auto stacked = [&](const std::string& letter) {
        std::vector<Var> parts;
        for (const char* gate : {"r", "z", "n"}) {
          parts.push_back(leaf(f[letter + "_" + gate]));
          leaves.push_back({letter + "_" + gate, parts.back()});
        }
        return concat(parts, Axis{0});
      };
      cell.W = stacked("W");
      cell.U = stacked("U");
      cell.b = stacked("b");
      const Var x = leaf(f["x"]), h0 = leaf(f["h0"]);
      leaves.push_back({"x", x});
      leaves.push_back({"h0", h0});
      const Var h = cell.step(x, h0);
      CHECK(gap(h, f["h"]) <= exact);
      flow_back(f, {{"h", h}});
      check_gradients(f, leaves);
    }
  }

  TEST_CASE("the preset pytorch is torch.nn.GRUCell in value and gradient") {
    const Fixture& f = fixture("gru_cell");
    const Gru cell = gru_of(pytorch(), leaf(f["W_ih"]), leaf(f["W_hh"]), leaf(f["b_ih"]), leaf(f["b_hh"]));
    const Var x = leaf(f["x"]), h0 = leaf(f["h0"]);
    const Var h = cell.step(x, h0);
    CHECK(gap(h, f["h"]) <= exact);
    flow_back(f, {{"h", h}});
    check_gradients(f,
                    {{"x", x}, {"h0", h0}, {"W_ih", cell.W}, {"W_hh", cell.U}, {"b_ih", cell.b}, {"b_hh", cell.b_u}});
  }

  TEST_CASE("the Keras presets take Keras's weights, transposed and nothing else") {
    for (const GruOptions& options : {keras_reset_after(), keras_reset_before()}) {
      CAPTURE(name_of(options));
      Generator g(3);
      const Gru cell = drawn(Gru(2, 4, options, g), 11);
      Numbers numbers(12);
      const Vec x = numbers.many(2, -1, 1), s = numbers.many(4, -1, 1);
      Mat kernel, recurrent, bias{vec(cell.b)};
      for (std::int64_t i = 0; i < 2; ++i) kernel.push_back(vec(select(cell.W, Axis{1}, i)));
      for (std::int64_t i = 0; i < 4; ++i) recurrent.push_back(vec(select(cell.U, Axis{1}, i)));
      if (cell.b_u.defined()) bias.push_back(vec(cell.b_u));
      const paper::keras_gru::Gru p{kernel, recurrent, bias};
      const Vec want = options.reset == GruReset::after ? paper::keras_gru::step_reset_after(p, x, s)
                                                        : paper::keras_gru::step_reset_before(p, x, s);
      CHECK(gap(cell.step(tensor(Shape{1, 2}, x, f64), tensor(Shape{1, 4}, s, f64)), want) <= exact);
    }
  }

  TEST_CASE("the ONNX presets take ONNX's weights, the biases of both kinds one after the other") {
    for (const bool linear_before_reset : {false, true}) {
      CAPTURE(linear_before_reset);
      const GruOptions options = linear_before_reset ? onnx_lbr1() : onnx_lbr0();
      Generator g(3);
      const Gru cell = drawn(Gru(2, 4, options, g), 13);
      Numbers numbers(14);
      const Vec x = numbers.many(2, -1, 1), s = numbers.many(4, -1, 1);
      const paper::onnx_gru::Gru p{mat(cell.W), mat(cell.U), paper::concat(vec(cell.b), vec(cell.b_u))};
      CHECK(gap(cell.step(tensor(Shape{1, 2}, x, f64), tensor(Shape{1, 4}, s, f64)),
                paper::onnx_gru::step(p, x, s, linear_before_reset)) <= exact);
    }
  }

  TEST_CASE("published numbers of the small GRU, each convention with its own") {
    CHECK(prints_as(small_step(small_gru(GruReset::before, GruUpdate::replaces)), {0.699417, -0.273193}, 6));
    CHECK(prints_as(small_step(small_gru(GruReset::after, GruUpdate::replaces)), {0.761244, -0.297438}, 6));
    CHECK(prints_as(small_step(small_gru(GruReset::before, GruUpdate::keeps)), {0.569783, -0.018913}, 6));
  }

  TEST_CASE("with the reset before the product the two biases act as their sum") {
    for (GruUpdate update : {GruUpdate::keeps, GruUpdate::replaces}) {
      Gru two = gru(3, 4, {GruReset::before, update, GruBias::two, GruOrder::rzn}, 15);
      Gru one = two;
      one.options.bias = GruBias::one;
      one.b = parameter((two.b + two.b_u).value());
      one.b_u = Var();
      Numbers numbers(16);
      const Var x = drawn_tensor(Shape{2, 3}, numbers), s = drawn_tensor(Shape{2, 4}, numbers);
      CHECK(gap(two.step(x, s), one.step(x, s)) <= exact);
    }
  }

  TEST_CASE("exchanging the rows of r and z turns one gate order into the other") {
    const Gru a = gru(3, 2, {GruReset::after, GruUpdate::keeps, GruBias::two, GruOrder::rzn}, 17);
    auto exchanged = [](const Var& p) {
      return concat({narrow(p, Axis{0}, 2, 2), narrow(p, Axis{0}, 0, 2), narrow(p, Axis{0}, 4, 2)}, Axis{0});
    };
    const Gru b = gru_of({GruReset::after, GruUpdate::keeps, GruBias::two, GruOrder::zrn}, exchanged(a.W),
                         exchanged(a.U), exchanged(a.b), exchanged(a.b_u));
    Numbers numbers(18);
    const Var x = drawn_tensor(Shape{2, 3}, numbers), s = drawn_tensor(Shape{2, 2}, numbers);
    CHECK(gap(b.step(x, s), a.step(x, s)) <= exact);
  }

  TEST_CASE("a z that is driven to 1 keeps the old state, or replaces it, as the convention says") {
    Numbers numbers(19);
    const Var x = drawn_tensor(Shape{2, 3}, numbers), s = drawn_tensor(Shape{2, 4}, numbers);
    for (GruReset reset : {GruReset::before, GruReset::after}) {
      Gru keeps = gru(3, 4, {reset, GruUpdate::keeps, GruBias::one, GruOrder::rzn}, 20);
      Tensor z = narrow(keeps.b.mutable_value(), Axis{0}, 4, 4);
      fill_(z, 60);
      CHECK(gap(keeps.step(x, s), s) <= exact);
      Gru replaces = keeps;
      replaces.options.update = GruUpdate::replaces;
      const Var candidate = replaces.step(x, s);
      fill_(z, -60);
      CHECK(gap(replaces.step(x, s), s) <= exact);
      CHECK(gap(keeps.step(x, s), candidate) <= exact);
    }
  }

  TEST_CASE("a reset gate that is shut makes the candidate forget the old state") {
    Numbers numbers(21);
    const Var x = drawn_tensor(Shape{1, 3}, numbers);
    for (GruReset reset : {GruReset::before, GruReset::after}) {
      Gru cell = gru(3, 4, {reset, GruUpdate::replaces, GruBias::one, GruOrder::rzn}, 22);
      Tensor r = narrow(cell.b.mutable_value(), Axis{0}, 0, 4), z = narrow(cell.b.mutable_value(), Axis{0}, 4, 4);
      fill_(r, -60);
      fill_(z, 60);
      const Var a = cell.step(x, drawn_tensor(Shape{1, 4}, numbers)),
                b = cell.step(x, drawn_tensor(Shape{1, 4}, numbers));
      CHECK(gap(a, b) <= exact);
      fill_(r, 60);
      CHECK(gap(cell.step(x, drawn_tensor(Shape{1, 4}, numbers)), b) > 1e-3);
    }
  }

  TEST_CASE("every gate of a GRU is used: no block of W, U, b or b_u is without gradient") {
    for (const GruOptions& options : all_conventions()) {
      CAPTURE(name_of(options));
      const Gru cell = gru(3, 4, options, 23);
      Numbers numbers(24);
      backward(weighted(cell.step(drawn_tensor(Shape{2, 3}, numbers), drawn_tensor(Shape{2, 4}, numbers)), 1));
      for (const Parameter& p : parameters(cell)) {
        for (std::int64_t block = 0; block < 3; ++block) {
          CAPTURE(p.name);
          CAPTURE(block);
          CHECK(largest(narrow(p.var.grad(), Axis{0}, 4 * block, 4)) > 1e-6);
        }
      }
    }
  }

  TEST_CASE("a GRU in f32 agrees with f64 in all 24 conventions") {
    for (const GruOptions& options : all_conventions()) {
      CAPTURE(name_of(options));
      const Gru twice = gru(5, 6, options, 25);
      const Gru single = clone(twice, f32);
      Numbers numbers(26);
      const Tensor x = drawn_tensor(Shape{3, 5}, numbers), s = drawn_tensor(Shape{3, 6}, numbers);
      CHECK(gap(single.step(x.to(f32), s.to(f32)).value().to(f64), twice.step(x, s)) < 1e-4);
    }
  }

  TEST_CASE("huge inputs saturate a GRU without NaN") {
    for (const GruOptions& options : all_conventions()) {
      CAPTURE(name_of(options));
      const Gru cell = clone(gru(2, 3, options, 27), f32);
      const Var x = parameter(full(Shape{1, 2}, 1e30));
      const Var s = cell.step(x, full(Shape{1, 3}, 0.5));
      CHECK(all_finite(s.value()));
      backward(sum(s));
      CHECK(all_finite(x.grad()));
    }
  }

  // ---- LSTM

  TEST_CASE("an LSTM step is that of its source, with one bias and with two") {
    for (bool two : {false, true}) {
      for (const Size& n : sizes) {
        CAPTURE(two);
        CAPTURE(n.d_s);
        const Lstm cell = lstm(n.d_in, n.d_s, two);
        Numbers numbers(28);
        const Var x = drawn_tensor(Shape{n.batch, n.d_in}, numbers), h = drawn_tensor(Shape{n.batch, n.d_s}, numbers),
                  c = drawn_tensor(Shape{n.batch, n.d_s}, numbers);
        const LstmState next = cell.step(x, {h, c});
        for (std::int64_t b = 0; b < n.batch; ++b) {
          const auto want = paper::lstm1997::step({mat(cell.W), mat(cell.U), vec(cell.b), two ? vec(cell.b_u) : Vec{}},
                                                  vec(at(x, b)), {vec(at(h, b)), vec(at(c, b))});
          CHECK(gap(at(next.h, b), want.h) <= exact);
          CHECK(gap(at(next.c, b), want.c) <= exact);
        }
      }
    }
  }

  TEST_CASE("the LSTM is torch.nn.LSTMCell in value and gradient") {
    const Fixture& f = fixture("lstm_cell");
    Lstm cell;
    cell.W = leaf(f["W_ih"]);
    cell.U = leaf(f["W_hh"]);
    cell.b = leaf(f["b_ih"]);
    cell.b_u = leaf(f["b_hh"]);
    const Var x = leaf(f["x"]), h0 = leaf(f["h0"]), c0 = leaf(f["c0"]);
    const LstmState next = cell.step(x, {h0, c0});
    CHECK(gap(next.h, f["h"]) <= exact);
    CHECK(gap(next.c, f["c"]) <= exact);
    flow_back(f, {{"h", next.h}, {"c", next.c}});
    check_gradients(
        f,
        {{"x", x}, {"h0", h0}, {"c0", c0}, {"W_ih", cell.W}, {"W_hh", cell.U}, {"b_ih", cell.b}, {"b_hh", cell.b_u}});
  }

  TEST_CASE("the LSTM passes the self check in h and c together, sizes different, equal and 1") {
    for (const Size& n : {Size{4, 2, 3}, Size{3, 3, 3}, Size{1, 1, 1}}) {
      for (bool two : {false, true}) {
        const Lstm cell = lstm(n.d_in, n.d_s, two);
        Numbers numbers(29);
        const Var x = leaf(Shape{n.batch, n.d_in}, numbers), h = leaf(Shape{n.batch, n.d_s}, numbers),
                  c = leaf(Shape{n.batch, n.d_s}, numbers);
        const GradientReport report = check_gradient(
            [&] {
              const LstmState next = cell.step(x, {h, c});
              return concat({next.h, next.c}, Axis{1});
            },
            checked(cell, {{"x", x}, {"h", h}, {"c", c}}));
        CHECK_MESSAGE(report.passed, report.text());
      }
    }
  }

  TEST_CASE("the output of an LSTM is o tanh(c): below 1 whatever the memory holds") {
    Lstm cell;
    cell.W = parameter(zeros(Shape{4, 1}, f64));
    cell.U = parameter(zeros(Shape{4, 1}, f64));
    cell.b = parameter(tensor(Shape{4}, {.5, -.3, .8, .2}, f64));
    const Var zero = zeros(Shape{1, 1}, f64);
    CHECK(prints_as(cell.step(zero, {zero, full(Shape{1, 1}, .6, f64)}).h.item(), 0.3212, 4));
    const LstmState far = cell.step(zero, {zero, full(Shape{1, 1}, 50, f64)});
    CHECK(far.c.item() > 20);
    CHECK(std::fabs(far.h.item()) < 1);
  }

  TEST_CASE("each block of an LSTM plays its own role: i, f, g, o in this order") {
    auto after = [](int block, double bias) {
      Lstm cell;
      cell.W = parameter(zeros(Shape{4, 1}, f64));
      cell.U = parameter(zeros(Shape{4, 1}, f64));
      Tensor b = tensor(Shape{4}, {0.4, 0.3, 0.7, 0.2}, f64);
      if (block >= 0) b.set({block}, bias);
      cell.b = parameter(b);
      const Var zero = zeros(Shape{1, 1}, f64);
      return cell.step(zero, {zero, full(Shape{1, 1}, 0.9, f64)});
    };
    auto sigmoid_at = [](double a) { return 1 / (1 + std::exp(-a)); };
    const double i = sigmoid_at(0.4), f = sigmoid_at(0.3), g = std::tanh(0.7);
    CHECK(near(after(-1, 0).c.item(), f * 0.9 + i * g, exact));
    CHECK(near(after(0, -60).c.item(), f * 0.9, exact));          // nothing comes in
    CHECK(near(after(1, -60).c.item(), i * g, exact));            // everything is forgotten
    CHECK(near(after(2, 60).c.item(), f * 0.9 + i, exact));       // the candidate saturates
    CHECK(std::fabs(after(3, -60).h.item()) < 1e-20);             // nothing is shown
    CHECK(near(after(3, -60).c.item(), f * 0.9 + i * g, exact));  // but the memory is there
  }

  TEST_CASE("a fresh LSTM remembers: the forget bias is what was asked for") {
    Generator g(30);
    const Lstm cell = clone(Lstm(2, 3, g, 60), f64);
    const Tensor c = tensor(Shape{1, 3}, {0.3, -0.8, 0.5}, f64);
    const LstmState next = cell.step(zeros(Shape{1, 2}, f64), {zeros(Shape{1, 3}, f64), c});
    CHECK(gap(next.c, Var(c)) <= exact);
  }

  TEST_CASE("an LSTM in f32 agrees with f64") {
    const Lstm twice = lstm(5, 6);
    const Lstm single = clone(twice, f32);
    Numbers numbers(31);
    const Tensor x = drawn_tensor(Shape{3, 5}, numbers), h = drawn_tensor(Shape{3, 6}, numbers),
                 c = drawn_tensor(Shape{3, 6}, numbers);
    const LstmState a = single.step(x.to(f32), {h.to(f32), c.to(f32)}), b = twice.step(x, {h, c});
    CHECK(gap(a.h.value().to(f64), b.h) < 1e-4);
    CHECK(gap(a.c.value().to(f64), b.c) < 1e-4);
  }

  // ---- all cells

  TEST_CASE("project does the input part of a whole sequence at once, with the same numbers") {
    Numbers numbers(32);
    const Tensor x = drawn_tensor(Shape{2, 4, 3}, numbers);
    auto check_projection = [&](const auto& cell, std::int64_t gates) {
      const Var whole = cell.project(x);
      REQUIRE(whole.shape() == Shape{2, 4, gates});
      for (std::int64_t t = 0; t < 4; ++t) {
        CHECK(gap(select(whole, Axis{1}, t), cell.project(select(x, Axis{1}, t))) <= exact);
      }
    };
    check_projection(elman(3, 5), 5);
    check_projection(gru(3, 5, pytorch()), 15);
    check_projection(gru(3, 5, bahdanau2014()), 15);
    check_projection(lstm(3, 5), 20);
  }

  TEST_CASE("an input of parts is read as if they were joined") {
    Numbers numbers(36);
    const Var y = parameter(drawn_tensor(Shape{2, 3}, numbers)), c = parameter(drawn_tensor(Shape{2, 4}, numbers));
    const Tensor s = drawn_tensor(Shape{2, 5}, numbers), dy = drawn_tensor(Shape{2, 5}, numbers);
    auto check_parts = [&](const auto& cell, const auto& state, auto hidden) {
      std::vector<Tensor> joined_slopes, slopes;
      backward(hidden(cell.step(concat({y, c}, Axis{1}), state)), dy);
      for (const Var& v : {y, c, cell.W}) joined_slopes.push_back(copy(v.grad())), v.zero_grad();
      const Var in_parts = hidden(cell.step({y, c}, state));
      CHECK(gap(in_parts, hidden(cell.step(concat({y, c}, Axis{1}), state))) <= exact);
      backward(in_parts, dy);
      for (const Var& v : {y, c, cell.W}) slopes.push_back(copy(v.grad())), v.zero_grad();
      for (std::size_t k = 0; k < 3; ++k) CHECK(gap(slopes[k], joined_slopes[k]) <= exact);
      CHECK(contains(message_of<ShapeError>([&] { cell.step({y, narrow(c, Axis{0}, 0, 1)}, state); }), "(2)"));
      CHECK_THROWS_AS(cell.step(std::vector<Var>(), state), ShapeError);
    };
    const auto itself = [](const Var& s_t) { return s_t; };
    check_parts(elman(7, 5), Var(s), itself);
    check_parts(gru(7, 5, pytorch()), Var(s), itself);
    check_parts(gru(7, 5, bahdanau2014()), Var(s), itself);
    check_parts(lstm(7, 5), LstmState{s, s}, [](const LstmState& after) { return after.h; });
  }

  TEST_CASE("rows of a batch do not touch each other") {
    Numbers numbers(33);
    const Tensor x = drawn_tensor(Shape{3, 2}, numbers), s = drawn_tensor(Shape{3, 4}, numbers);
    Tensor other_x = copy(x), other_s = copy(s);
    other_x.set({1, 0}, 9);
    other_s.set({1, 3}, -9);
    for (const GruOptions& options : {bahdanau2014(), pytorch(), onnx_lbr0()}) {
      const Gru cell = gru(2, 4, options);
      const Var a = cell.step(x, s), b = cell.step(other_x, other_s);
      CHECK(bitwise(at(a, 0), at(b, 0)));
      CHECK(!bitwise(at(a, 1), at(b, 1)));
      CHECK(bitwise(at(a, 2), at(b, 2)));
    }
  }

  TEST_CASE("cells refuse an input that is not d_in wide, by their name") {
    const Tensor x = zeros(Shape{2, 4}, f64), s = zeros(Shape{2, 5}, f64);
    CHECK(opens_with(message_of<ShapeError>([&] { elman(3, 5).step(x, s); }), "shape error in Elman cell: "));
    CHECK(opens_with(message_of<ShapeError>([&] { gru(3, 5, pytorch()).step(x, s); }), "shape error in GRU: "));
    CHECK(opens_with(message_of<ShapeError>([&] { lstm(3, 5).step(x, {s, s}); }), "shape error in LSTM: "));
    CHECK(contains(message_of<ShapeError>([&] { gru(3, 5, pytorch()).step(x, s); }), "(B, d_in) = (2, 3)"));
  }

  TEST_CASE("cells refuse a state of the wrong width or batch, by their name, and say the width needed") {
    const Tensor x = zeros(Shape{2, 3}, f64);
    for (const Shape& shape : {Shape{2, 4}, Shape{1, 5}, Shape{3, 5}, Shape{2, 5, 1}, Shape{5}}) {
      CAPTURE(to_string(shape));
      const Tensor s = zeros(shape, f64);
      const std::string of_elman = message_of<ShapeError>([&] { elman(3, 5).step(x, s); });
      const std::string of_gru = message_of<ShapeError>([&] { gru(3, 5, bahdanau2014()).step(x, s); });
      const std::string of_lstm = message_of<ShapeError>([&] { lstm(3, 5).step(x, {s, zeros(Shape{2, 5}, f64)}); });
      for (const auto& [name, text] :
           {std::pair("shape error in Elman cell: ", of_elman), std::pair("shape error in GRU: ", of_gru),
            std::pair("shape error in LSTM: ", of_lstm)}) {
        CHECK(opens_with(text, name));
        CHECK(contains(text, to_string(shape) + "\n  needs    (B, d_s) = (2, 5)\n"));
      }
    }
  }

  TEST_CASE("an LSTM refuses a memory of another shape than its h") {
    const Tensor x = zeros(Shape{2, 3}, f64), h = zeros(Shape{2, 5}, f64);
    for (const Shape& shape : {Shape{2, 4}, Shape{1, 5}, Shape{2, 1}}) {
      CAPTURE(to_string(shape));
      const std::string text = message_of<ShapeError>([&] { lstm(3, 5).step(x, {h, zeros(shape, f64)}); });
      CHECK(contains(text, to_string(shape)));
    }
  }

  TEST_CASE("cells refuse to mix f32 and f64") {
    const Tensor x = zeros(Shape{2, 3}, f64);
    CHECK(contains(message_of<DTypeError>([&] { gru(3, 5, pytorch()).step(x, zeros(Shape{2, 5}, f32)); }), "f32"));
    CHECK(contains(message_of<DTypeError>([&] { elman(3, 5).step(x, zeros(Shape{2, 5}, f32)); }), "f32"));
  }
}
