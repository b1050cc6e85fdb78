// The transcriptions of this directory against PyTorch's numbers (values to 1e-12, gradients by differences of the
// transcription) and against values worked out by hand: two sources that share no code have to agree.
#include <doctest/doctest.h>

#include <functional>
#include <map>

#include "tests/fixtures/torch_fixtures.h"
#include "tests/reference/adam2014.h"
#include "tests/reference/adamw2017.h"
#include "tests/reference/bahdanau2014.h"
#include "tests/reference/cho2014.h"
#include "tests/reference/clip.h"
#include "tests/reference/cross_entropy.h"
#include "tests/reference/elman1990.h"
#include "tests/reference/keras_gru.h"
#include "tests/reference/layer_norm.h"
#include "tests/reference/lstm1997.h"
#include "tests/reference/luong2015.h"
#include "tests/reference/onnx_gru.h"
#include "tests/reference/pytorch_gru.h"
#include "tests/reference/safetensors_bytes.h"
#include "tests/reference/scaled_dot2017.h"
#include "tests/reference/sgd.h"
#include "tests/reference/softmax.h"

namespace {

using namespace gradus::paper;
using gradus::fixtures::Array;
using gradus::fixtures::Fixture;
using gradus::fixtures::fixture;

// ---- arrays of a fixture as vectors and matrices
// ---------------------------------------------------------------------

std::size_t size_of(const Array& a, std::size_t axis) { return static_cast<std::size_t>(a.shape.at(axis)); }

// Slice i of the first axis.
Array slice(const Array& a, std::size_t i) {
  const std::size_t each = a.data.size() / size_of(a, 0);
  const auto first = a.data.begin() + static_cast<std::ptrdiff_t>(i * each);
  return {{a.shape.begin() + 1, a.shape.end()}, {first, first + static_cast<std::ptrdiff_t>(each)}};
}

Mat mat(const Array& a) {
  if (a.shape.size() != 2) throw std::invalid_argument("a matrix has two axes");
  Mat rows;
  for (std::size_t i = 0; i < size_of(a, 0); ++i) rows.push_back(slice(a, i).data);
  return rows;
}

// Columns first .. first + count - 1.
Mat columns(const Mat& M, std::size_t first, std::size_t count) {
  Mat out;
  for (const Vec& row : M) out.push_back(part(row, first, count));
  return out;
}

void append(Vec& all, const Vec& more) { all.insert(all.end(), more.begin(), more.end()); }
void append(Vec& all, const Mat& more) {
  for (const Vec& row : more) append(all, row);
}

// ---- comparing
// -------------------------------------------------------------------------------------------------------

// Largest deviation, relative to each entry but to no less than a thousandth of the largest entry.
double deviation(const Vec& got, const Vec& want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.0, worst = 0.0;
  for (double w : want) largest = std::max(largest, std::abs(w));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    if (difference == 0.0) continue;
    const double relative = difference / std::max(std::abs(want[i]), 1e-3 * largest);
    worst = relative <= worst ? worst : relative;  // keeps a NaN
    if (std::isnan(relative)) return relative;
  }
  return worst;
}

double absolute_deviation(const Vec& got, const Vec& want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double worst = 0.0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    if (!(difference <= worst)) worst = difference;
  }
  return worst;
}

void check_close(const std::string& what, const Vec& got, const Array& want, double bound = 1e-12) {
  CAPTURE(what);
  CHECK(deviation(got, want.data) <= bound);
}

using Arrays = std::map<std::string, Array, std::less<>>;
using Outputs = std::map<std::string, Vec>;
using Forward = std::function<Outputs(const Arrays&)>;

// sum over all outputs of cotangent . output
double pulled(const Forward& forward, const Arrays& arrays) {
  double sum = 0.0;
  for (const auto& [name, value] : forward(arrays)) {
    const auto cot = arrays.find("cot_" + name);
    if (cot != arrays.end()) sum += dot(cot->second.data, value);
  }
  return sum;
}

// Value of every output, and every grad_NAME of the fixture against fourth-order central differences of `forward`.
void check_case(const std::string& name, const Forward& forward) {
  CAPTURE(name);
  Arrays arrays = fixture(name).arrays();
  for (const auto& [output, value] : forward(arrays)) check_close(output, value, arrays.at(output));
  int gradients = 0;
  for (const auto& entry : fixture(name).arrays()) {
    const std::string& key = entry.first;
    if (key.rfind("grad_", 0) != 0) continue;
    ++gradients;
    Vec numeric;
    Array& input = arrays.at(key.substr(5));
    const double h = 2e-4;
    for (double& x : input.data) {
      const double kept = x;
      auto at = [&](double step) {
        x = kept + step;
        return pulled(forward, arrays);
      };
      numeric.push_back((8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h));
      x = kept;
    }
    CAPTURE(key);
    CHECK(absolute_deviation(numeric, entry.second.data) <= 1e-9);
  }
  CHECK(gradients > 0);
}

// ---- recurrent layers
// ------------------------------------------------------------------------------------------------

using States = std::vector<lstm1997::State>;
using Layer =
    std::function<States(const Arrays&, const std::string& suffix, const Mat& x, const lstm1997::State&, bool)>;

States gru_layer(const Arrays& a, const std::string& suffix, const Mat& x, const lstm1997::State& s_0, bool reversed) {
  const pytorch_gru::Gru p{mat(a.at("W_ih" + suffix)), mat(a.at("W_hh" + suffix)), a.at("b_ih" + suffix).data,
                           a.at("b_hh" + suffix).data};
  States out;
  for (const Vec& h : pytorch_gru::run(p, x, s_0.h, reversed)) out.push_back({h, {}});
  return out;
}

States lstm_layer(const Arrays& a, const std::string& suffix, const Mat& x, const lstm1997::State& s_0, bool reversed) {
  return lstm1997::run(
      {mat(a.at("W_ih" + suffix)), mat(a.at("W_hh" + suffix)), a.at("b_ih" + suffix).data, a.at("b_hh" + suffix).data},
      x, s_0, reversed);
}

States rnn_layer(const Arrays& a, const std::string& suffix, const Mat& x, const lstm1997::State& s_0, bool) {
  const elman1990::Rnn p{mat(a.at("W_ih" + suffix)), mat(a.at("W_hh" + suffix)),
                         plus(a.at("b_ih" + suffix).data, a.at("b_hh" + suffix).data)};
  States out;
  for (const Vec& h : elman1990::run(p, x, s_0.h)) out.push_back({h, {}});
  return out;
}

// torch.nn.GRU and its like: layers and directions as rows of h0, each sentence up to its own length, zeros after it.
Outputs stacked(const Arrays& a, const Layer& layer, std::size_t layers, bool bidirectional) {
  const Array& x = a.at("x");
  const std::size_t B = size_of(x, 0), T = size_of(x, 1), d_s = size_of(a.at("h0"), 2);
  const std::size_t directions = bidirectional ? 2 : 1;
  const bool with_c = a.count("c0") > 0;
  Outputs out{{"h", {}}, {"h_n", Vec(a.at("h0").data.size())}};
  if (with_c) out["c_n"] = out["h_n"];
  for (std::size_t b = 0; b < B; ++b) {
    const std::size_t length = a.count("lengths") ? static_cast<std::size_t>(a.at("lengths").data[b]) : T;
    Mat rows = mat(slice(x, b));
    rows.resize(length);
    for (std::size_t l = 0; l < layers; ++l) {
      Mat merged(length);
      for (std::size_t way = 0; way < directions; ++way) {
        const std::size_t k = l * directions + way;
        const lstm1997::State s_0{slice(slice(a.at("h0"), k), b).data,
                                  with_c ? slice(slice(a.at("c0"), k), b).data : Vec{}};
        const States states = layer(a, "_l" + std::to_string(l) + (way ? "_reverse" : ""), rows, s_0, way == 1);
        for (std::size_t t = 0; t < length; ++t) merged[t] = concat(merged[t], states[t].h);
        const lstm1997::State& last = way ? states.front() : states.back();
        const auto place = static_cast<std::ptrdiff_t>((k * B + b) * d_s);
        std::copy(last.h.begin(), last.h.end(), out["h_n"].begin() + place);
        if (with_c) std::copy(last.c.begin(), last.c.end(), out["c_n"].begin() + place);
      }
      rows = merged;
    }
    rows.resize(T, Vec(directions * d_s, 0.0));
    append(out["h"], rows);
  }
  return out;
}

// One step of a batch, x (B, d_x) and h0 (B, d_s), by a layer run over one row.
Outputs one_step(const Arrays& a, const Layer& layer) {
  Outputs out;
  for (std::size_t b = 0; b < size_of(a.at("x"), 0); ++b) {
    const Vec c0 = a.count("c0") ? slice(a.at("c0"), b).data : Vec{};
    const auto state = layer(a, "", {slice(a.at("x"), b).data}, {slice(a.at("h0"), b).data, c0}, false).front();
    append(out["h"], state.h);
    if (!c0.empty()) append(out["c"], state.c);
  }
  return out;
}

cho2014::Gru cho_gru(const Arrays& a) {
  return {mat(a.at("W_r")), mat(a.at("U_r")), mat(a.at("W_z")), mat(a.at("U_z")), mat(a.at("W_n")),
          mat(a.at("U_n")), a.at("b_r").data, a.at("b_z").data, a.at("b_n").data};
}

// W_r, W_z, W_n of the fixture act on [y; c]; the paper has W for y (the first d_emb columns) and C for c.
bahdanau2014::Gru bahdanau_gru(const Arrays& a, std::size_t d_emb, const std::string& suffix = "") {
  bahdanau2014::Gru p;
  const std::size_t d_h = size_of(a.at("W_n" + suffix), 1) - d_emb;
  auto split = [&](const std::string& gate, Mat& W, Mat& C) {
    const Mat both = mat(a.at("W_" + gate + suffix));
    W = columns(both, 0, d_emb);
    if (d_h > 0) C = columns(both, d_emb, d_h);
  };
  split("n", p.W, p.C);
  split("z", p.W_z, p.C_z);
  split("r", p.W_r, p.C_r);
  p.U = mat(a.at("U_n" + suffix));
  p.U_z = mat(a.at("U_z" + suffix));
  p.U_r = mat(a.at("U_r" + suffix));
  p.b = a.at("b_n" + suffix).data;
  p.b_z = a.at("b_z" + suffix).data;
  p.b_r = a.at("b_r" + suffix).data;
  return p;
}

// ---- decoders
// --------------------------------------------------------------------------------------------------------

// Annotations of sentence b without its padding.
Mat real_annotations(const Arrays& a, std::size_t b) {
  Mat H = mat(slice(a.at("H"), b));
  H.resize(static_cast<std::size_t>(a.at("lengths").data[b]));
  return H;
}

Mat padded(Mat rows, std::size_t width) {
  for (Vec& row : rows) row.resize(width, 0.0);
  return rows;
}

Outputs bahdanau_forward(const Arrays& a, bahdanau2014::ReadoutTime readout_time) {
  bahdanau2014::Decoder p;
  p.cell = bahdanau_gru(a, size_of(a.at("y_emb"), 2));
  p.align = {mat(a.at("W_a")), mat(a.at("U_a")), a.at("v_a").data};
  p.out = {mat(a.at("U_o")), mat(a.at("V_o")), mat(a.at("C_o")), mat(a.at("W_o")), a.at("b_o").data};
  p.readout_time = readout_time;
  Outputs out;
  for (std::size_t b = 0; b < size_of(a.at("H"), 0); ++b) {
    const auto run =
        bahdanau2014::decode(p, real_annotations(a, b), slice(a.at("s_0"), b).data, mat(slice(a.at("y_emb"), b)));
    append(out["s"], run.s);
    append(out["alpha"], padded(run.alpha, size_of(a.at("H"), 1)));
    append(out["c"], run.c);
    append(out["logits"], run.logits);
  }
  return out;
}

Outputs luong_forward(const Arrays& a, luong2015::Score score, bool input_feeding) {
  luong2015::Decoder p;
  p.score = score;
  if (a.count("W_a")) p.W_a = mat(a.at("W_a"));
  if (a.count("v_a")) p.v_a = a.at("v_a").data;
  p.W_c = mat(a.at("W_c"));
  p.b_c = a.at("b_c").data;
  p.W_s = mat(a.at("W_o"));
  p.b_s = a.at("b_o").data;
  p.input_feeding = input_feeding;
  const bool two_layers = a.count("W_ih_l1") > 0, lstm = a.count("c_0") > 0;
  auto weights = [&](const std::string& suffix) {
    return lstm1997::Lstm{mat(a.at("W_ih" + suffix)), mat(a.at("W_hh" + suffix)), a.at("b_ih" + suffix).data,
                          a.at("b_hh" + suffix).data};
  };
  const lstm1997::Lstm one = weights(two_layers ? "_l1" : ""), below = two_layers ? weights("_l0") : one;
  lstm1997::State bottom;
  const luong2015::Cell cell = [&](const Vec& x, const luong2015::State& s) -> luong2015::State {
    if (!lstm) return {pytorch_gru::step({one.W_ih, one.W_hh, one.b_ih, one.b_hh}, x, s.h), {}};
    if (two_layers) bottom = lstm1997::step(below, x, bottom);
    const auto next = lstm1997::step(one, two_layers ? bottom.h : x, {s.h, s.c});
    return {next.h, next.c};
  };
  Outputs out;
  for (std::size_t b = 0; b < size_of(a.at("H"), 0); ++b) {
    if (two_layers) bottom = {slice(a.at("s_0_bottom"), b).data, slice(a.at("c_0_bottom"), b).data};
    const luong2015::State s_0{slice(a.at("s_0"), b).data, lstm ? slice(a.at("c_0"), b).data : Vec{}};
    const auto run = luong2015::decode(p, cell, real_annotations(a, b), s_0, mat(slice(a.at("y_emb"), b)));
    append(out["s"], run.s);
    append(out["alpha"], padded(run.alpha, size_of(a.at("H"), 1)));
    append(out["c"], run.c);
    append(out["htilde"], run.htilde);
    append(out["logits"], run.logits);
  }
  return out;
}

// ---- hand values: one attention and one decoder on paper
// -------------------------------------------------------------

const Mat small_H{{1, 0}, {0, 1}, {-1, 0.5}};
const bahdanau2014::Alignment small_align{{{0.6, -0.2}, {0.1, 0.7}}, {{0.3, 0.5}, {-0.4, 0.2}}, {1, -0.8}};

// Cell on [y; c] with y of size 1, reset before, z replaces, no bias.
bahdanau2014::Gru small_cell() {
  bahdanau2014::Gru p;
  p.W = {{0.5}, {0.8}}, p.C = {{0.4, -0.6}, {-0.2, 0.3}}, p.U = {{0.9, -0.7}, {0.6, 0.2}};
  p.W_z = {{0.7}, {-0.2}}, p.C_z = {{-0.3, 0.2}, {0.5, 0.1}}, p.U_z = {{0.1, -0.3}, {0.2, 0.4}};
  p.W_r = {{0.4}, {-0.6}}, p.C_r = {{0.2, -0.1}, {0.1, 0.3}}, p.U_r = {{0.2, 0.1}, {0, 0.3}};
  return p;
}

// L = (1, -2) . s_2 + (0.5, 1) . c_2 after two steps of Bahdanau's decoder, with W_a[0][0] moved by `change`.
double small_loss(double change, bool query_s_t) {
  bahdanau2014::Decoder p;
  p.align = small_align;
  p.align.W_a[0][0] += change;
  p.cell = small_cell();
  const Mat y{{1}, {-0.5}};
  Vec s{0.2, -0.1}, c{0, 0};
  if (query_s_t) {
    for (const Vec& y_t : y) {
      s = bahdanau2014::gru_step(p.cell, y_t, s, c);
      c = weighted_sum(softmax(bahdanau2014::energies(p.align, s, small_H)), small_H);
    }
  } else {
    const auto run = bahdanau2014::decode(p, small_H, s, y);
    s = run.s.back();
    c = run.c.back();
  }
  return s[0] - 2 * s[1] + 0.5 * c[0] + c[1];
}

}  // namespace

TEST_SUITE_BEGIN("reference");

TEST_CASE("one step of the RNN, GRU and LSTM is PyTorch's") {
  check_case("rnn_cell", [](const Arrays& a) { return one_step(a, rnn_layer); });
  check_case("gru_cell", [](const Arrays& a) { return one_step(a, gru_layer); });
  check_case("lstm_cell", [](const Arrays& a) { return one_step(a, lstm_layer); });
}

TEST_CASE("sequences: layers, directions and lengths are PyTorch's") {
  struct Row {
    const char* name;
    Layer layer;
    std::size_t layers;
    bool bidirectional;
  };
  const Row rows[] = {
      {"rnn", rnn_layer, 1, false},
      {"gru", gru_layer, 1, false},
      {"gru_lengths", gru_layer, 1, false},
      {"gru_2_layers", gru_layer, 2, false},
      {"gru_bidirectional_lengths", gru_layer, 1, true},
      {"gru_2_layers_bidirectional_lengths", gru_layer, 2, true},
      {"gru_equal_sizes", gru_layer, 1, false},
      {"lstm", lstm_layer, 1, false},
      {"lstm_lengths", lstm_layer, 1, false},
      {"lstm_2_layers", lstm_layer, 2, false},
      {"lstm_bidirectional_lengths", lstm_layer, 1, true},
      {"lstm_2_layers_bidirectional_lengths", lstm_layer, 2, true},
      {"lstm_equal_sizes", lstm_layer, 1, false},
  };
  for (const Row& row : rows) {
    check_case(row.name, [&](const Arrays& a) { return stacked(a, row.layer, row.layers, row.bidirectional); });
  }
}

TEST_CASE("the GRUs of the papers agree with the same formulas in PyTorch") {
  check_case("gru_cho2014", [](const Arrays& a) {
    Outputs out;
    for (std::size_t b = 0; b < size_of(a.at("x"), 0); ++b) {
      append(out["h"], cho2014::step(cho_gru(a), slice(a.at("x"), b).data, slice(a.at("h0"), b).data));
    }
    return out;
  });
  check_case("gru_bahdanau2014", [](const Arrays& a) {
    Outputs out;
    const std::size_t d_x = size_of(a.at("x"), 1);
    for (std::size_t b = 0; b < size_of(a.at("x"), 0); ++b) {
      append(out["h"],
             bahdanau2014::gru_step(bahdanau_gru(a, d_x), slice(a.at("x"), b).data, slice(a.at("h0"), b).data, {}));
    }
    return out;
  });
}

TEST_CASE("the GRUs of Keras and ONNX agree with NumPy") {
  for (bool after : {true, false}) {
    const Fixture& f = fixture(after ? "keras_gru_reset_after" : "keras_gru_reset_before");
    const keras_gru::Gru p{mat(f["kernel"]), mat(f["recurrent_kernel"]), after ? mat(f["bias"]) : Mat{f["bias"].data}};
    Vec all;
    for (std::size_t b = 0; b < size_of(f["x"], 0); ++b) {
      Vec h = slice(f["h0"], b).data;
      for (const Vec& x : mat(slice(f["x"], b))) {
        append(all, h = after ? keras_gru::step_reset_after(p, x, h) : keras_gru::step_reset_before(p, x, h));
      }
    }
    check_close(after ? "reset_after" : "reset_before", all, f["h"]);
  }
  for (bool linear_before_reset : {false, true}) {
    const Fixture& f = fixture(linear_before_reset ? "onnx_gru_lbr1" : "onnx_gru_lbr0");
    const onnx_gru::Gru p{mat(slice(f["W"], 0)), mat(slice(f["R"], 0)), slice(f["B"], 0).data};
    Vec all;
    for (std::size_t b = 0; b < size_of(f["X"], 0); ++b) {
      Vec h = slice(slice(f["initial_h"], b), 0).data;
      for (const Vec& x : mat(slice(f["X"], b))) append(all, h = onnx_gru::step(p, x, h, linear_before_reset));
    }
    check_close(linear_before_reset ? "linear_before_reset = 1" : "linear_before_reset = 0", all, f["Y"]);
  }
}

TEST_CASE("one GRU under the layouts of PyTorch, ONNX, Keras and Cho") {
  const Fixture& f = fixture("gru_cell");
  const Mat W = mat(f["W_ih"]), U = mat(f["W_hh"]);
  const Vec b = f["b_ih"].data, b_hh = f["b_hh"].data, x = slice(f["x"], 0).data, h = slice(f["h0"], 0).data;
  const std::size_t d = h.size();
  auto gate = [&](const auto& stack, std::size_t k) {
    const auto first = stack.begin() + static_cast<std::ptrdiff_t>(k * d);
    return std::decay_t<decltype(stack)>(first, first + static_cast<std::ptrdiff_t>(d));
  };
  auto zrn = [&](const auto& stack) {
    auto out = gate(stack, 1);
    for (std::size_t k : {0, 2}) {
      const auto more = gate(stack, k);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  };
  auto transposed = [](const Mat& M) {
    Mat out(M[0].size(), Vec(M.size()));
    for (std::size_t i = 0; i < M.size(); ++i) {
      for (std::size_t j = 0; j < M[i].size(); ++j) out[j][i] = M[i][j];
    }
    return out;
  };
  const Vec pytorch = pytorch_gru::step({W, U, b, b_hh}, x, h);
  const onnx_gru::Gru onnx{zrn(W), zrn(U), concat(zrn(b), zrn(b_hh))};
  CHECK(deviation(onnx_gru::step(onnx, x, h, true), pytorch) <= 1e-15);
  const keras_gru::Gru keras{transposed(zrn(W)), transposed(zrn(U)), {zrn(b), zrn(b_hh)}};
  CHECK(deviation(keras_gru::step_reset_after(keras, x, h), pytorch) <= 1e-15);

  const cho2014::Gru cho{gate(W, 0), gate(U, 0), gate(W, 1), gate(U, 1), gate(W, 2),
                         gate(U, 2), gate(b, 0), gate(b, 1), gate(b, 2)};
  const Vec before = cho2014::step(cho, x, h);
  CHECK(deviation(onnx_gru::step({zrn(W), zrn(U), concat(zrn(b), Vec(3 * d, 0.0))}, x, h, false), before) <= 1e-15);
  CHECK(deviation(keras_gru::step_reset_before({transposed(zrn(W)), transposed(zrn(U)), {zrn(b)}}, x, h), before) <=
        1e-15);
  CHECK(deviation(pytorch, before) > 1e-3);
}

TEST_CASE("Bahdanau's encoder, first state and decoder are PyTorch's") {
  check_case("bahdanau_encoder", [](const Arrays& a) {
    const std::size_t d_emb = size_of(a.at("x"), 1);
    const auto forward = bahdanau_gru(a, d_emb, "_forward"), backward = bahdanau_gru(a, d_emb, "_backward");
    const Mat H = bahdanau2014::annotations(forward, backward, mat(a.at("x")));
    const std::size_t d = backward.U.size();
    Outputs out;
    append(out["H"], H);
    out["s_0"] = bahdanau2014::initial_state(mat(a.at("W_s")), part(H[0], d, d));
    return out;
  });
  using bahdanau2014::ReadoutTime;
  check_case("bahdanau_equal_sizes", [](const Arrays& a) { return bahdanau_forward(a, ReadoutTime::s_t); });
  check_case("bahdanau", [](const Arrays& a) { return bahdanau_forward(a, ReadoutTime::s_t); });
  check_case("bahdanau_readout_s_prev", [](const Arrays& a) { return bahdanau_forward(a, ReadoutTime::s_prev); });
}

TEST_CASE("Luong's decoders are PyTorch's") {
  using luong2015::Score;
  struct Row {
    const char* name;
    Score score;
    bool input_feeding;
  };
  const Row rows[] = {{"luong_general_feed", Score::general, true},
                      {"luong_dot_lstm", Score::dot, false},
                      {"luong_concat_feed", Score::concat, true},
                      {"luong_location_feed", Score::location, true},
                      {"luong_general_feed_lstm_2_layers", Score::general, true},
                      {"luong_general_feed_equal_sizes", Score::general, true}};
  for (const Row& row : rows) {
    check_case(row.name, [&](const Arrays& a) { return luong_forward(a, row.score, row.input_feeding); });
  }
}

TEST_CASE("softmax and its relatives are PyTorch's, forward and backward") {
  struct Row {
    const char* name;
    bool log;
  };
  const Row rows[] = {{"softmax", false},
                      {"log_softmax", true},
                      {"softmax_large", false},
                      {"log_softmax_large", true},
                      {"softmax_masked", false}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Fixture& f = fixture(row.name);
    Vec y, dx;
    for (std::size_t i = 0; i < size_of(f["x"], 0); ++i) {
      const Vec x = slice(f["x"], i).data, dy = slice(f["cot_y"], i).data;
      std::vector<bool> mask(x.size(), true);
      if (f.has("mask")) {
        const Vec numbers = slice(f["mask"], i).data;
        mask.assign(numbers.begin(), numbers.end());
      }
      const Vec p = masked_softmax(x, mask);
      append(y, row.log ? log_softmax(x) : p);
      append(dx, row.log ? log_softmax_backward(p, dy) : softmax_backward(p, dy));
    }
    check_close("y", y, f["y"]);
    check_close("grad_x", dx, f["grad_x"], 1e-11);
  }
}

TEST_CASE("cross-entropy and its gradient p - y are PyTorch's") {
  for (const char* name : {"cross_entropy", "cross_entropy_ignored", "cross_entropy_large"}) {
    CAPTURE(name);
    const Fixture& f = fixture(name);
    const std::vector<int> targets(f["targets"].data.begin(), f["targets"].data.end());
    const CrossEntropy got = cross_entropy(mat(f["logits"]), targets);
    Vec gradient;
    append(gradient, got.dlogits);
    check_close("loss", {got.loss}, f["loss"]);
    check_close("grad_logits", gradient, f["grad_logits"]);
  }
  CHECK_THROWS_AS(cross_entropy({{1, 2}}, {-100}), std::invalid_argument);
  CHECK_THROWS_AS(cross_entropy({{1, 2}}, {2}), std::invalid_argument);
}

TEST_CASE("optimisers: every state of five steps is PyTorch's") {
  // One optimiser's own state for each of the two parameters, hidden in the closures that `make` returns.
  using Update = std::function<void(Vec&, const Vec&)>;
  auto adam = [](adam2014::Options o) {
    return [o]() -> Update {
      return [o, s = adam2014::Moments{}](Vec& p, const Vec& g) mutable { adam2014::step(p, g, s, o); };
    };
  };
  auto adamw = [](adamw2017::Options o) {
    return [o]() -> Update {
      return [o, s = adamw2017::Moments{}](Vec& p, const Vec& g) mutable { adamw2017::step(p, g, s, o); };
    };
  };
  auto sgd = [](sgd::Options o) {
    return
        [o]() -> Update { return [o, s = sgd::Velocity{}](Vec& p, const Vec& g) mutable { sgd::step(p, g, s, o); }; };
  };
  struct Row {
    const char* name;
    std::function<Update()> make;
  };
  const Row rows[] = {
      {"adam", adam({0.01, 0.9, 0.999, 1e-8})},           {"adam_betas", adam({0.05, 0.8, 0.95, 1e-4})},
      {"adamw", adamw({0.01, 0.9, 0.999, 1e-8, 0.1})},    {"sgd", sgd({0.1, 0.0, 0.0, 0.0, false})},
      {"sgd_momentum", sgd({0.1, 0.9, 0.0, 0.0, false})}, {"sgd_nesterov", sgd({0.1, 0.9, 0.0, 0.2, true})},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Fixture& f = fixture(row.name);
    for (const std::string parameter : {"W", "b"}) {
      const Update update = row.make();
      Vec theta = f[parameter + "_0"].data;
      for (int k = 1; k <= 5; ++k) {
        const std::string step = "_" + std::to_string(k);
        update(theta, f["grad_" + parameter + step].data);
        check_close(parameter + step, theta, f[parameter + step]);
      }
    }
  }
}

TEST_CASE("clipping is PyTorch's, and differs from the paper only by its 1e-6") {
  for (const char* name : {"clip_above", "clip_below", "clip_zero"}) {
    CAPTURE(name);
    const Fixture& f = fixture(name);
    std::vector<Vec> g{f["grad_W"].data, f["grad_b"].data}, paper = g;
    check_close("norm", {clip_pytorch(g, f["max_norm"].data[0])}, f["norm"]);
    check_close("W", g[0], f["clipped_W"]);
    check_close("b", g[1], f["clipped_b"]);
    clip_pascanu2013(paper, f["max_norm"].data[0]);
    check_close("W after the paper", paper[0], f["clipped_W"], 1e-6);
    CHECK(global_norm(paper) <= f["max_norm"].data[0] * (1 + 1e-15));
  }
}

TEST_CASE("layer norm, scaled dot product and multi-head attention are PyTorch's") {
  check_case("layer_norm", [](const Arrays& a) {
    Outputs out;
    for (const Vec& x : mat(a.at("x"))) append(out["y"], layer_norm(x, a.at("gain").data, a.at("bias").data));
    return out;
  });
  check_case("scaled_dot", [](const Arrays& a) {
    Outputs out;
    for (std::size_t b = 0; b < size_of(a.at("Q"), 0); ++b) {
      const auto r =
          scaled_dot2017::attention(mat(slice(a.at("Q"), b)), mat(slice(a.at("K"), b)), mat(slice(a.at("V"), b)));
      append(out["alpha"], r.weights);
      append(out["output"], r.output);
    }
    return out;
  });
  check_case("multi_head", [](const Arrays& a) {
    scaled_dot2017::MultiHead p;
    p.heads = 2;
    const Mat W = mat(a.at("in_proj_weight"));
    const Vec& b = a.at("in_proj_bias").data;
    const std::size_t d = W.size() / 3;
    const auto cut = [&](std::size_t k) { return W.begin() + static_cast<std::ptrdiff_t>(k * d); };
    p.W_q = Mat(cut(0), cut(1)), p.W_k = Mat(cut(1), cut(2)), p.W_v = Mat(cut(2), cut(3));
    p.b_q = part(b, 0, d), p.b_k = part(b, d, d), p.b_v = part(b, 2 * d, d);
    p.W_o = mat(a.at("out_proj.weight"));
    p.b_o = a.at("out_proj.bias").data;
    Outputs out;
    for (std::size_t i = 0; i < size_of(a.at("query"), 0); ++i) {
      const Mat query = mat(slice(a.at("query"), i)), memory = mat(slice(a.at("memory"), i));
      std::vector<bool> real(memory.size());
      for (std::size_t k = 0; k < real.size(); ++k) real[k] = static_cast<double>(k) < a.at("lengths").data[i];
      const auto r = scaled_dot2017::multi_head(p, query, memory, {query.size(), real});
      for (const Mat& head : r.weights) append(out["alpha"], head);
      append(out["output"], r.output);
    }
    return out;
  });
}

TEST_CASE("by hand: additive energies, weights and context") {
  const Vec e = bahdanau2014::energies(small_align, {0.5, -0.4}, small_H);
  const Vec alpha = softmax(e);
  CHECK(absolute_deviation(e, {1.037961, 0.730412, 0.107621}) <= 5e-7);
  CHECK(absolute_deviation(alpha, {0.469557, 0.345240, 0.185202}) <= 5e-7);
  CHECK(absolute_deviation(weighted_sum(alpha, small_H), {0.284355, 0.437842}) <= 5e-7);
}

TEST_CASE("by hand: two steps of Bahdanau's decoder, and what s_t as the query changes") {
  bahdanau2014::Decoder p;
  p.align = small_align;
  p.cell = small_cell();
  const auto run = bahdanau2014::decode(p, small_H, {0.2, -0.1}, {{1}, {-0.5}});
  CHECK(absolute_deviation(run.c[0], {0.300089, 0.437498}) <= 5e-7);
  CHECK(absolute_deviation(run.c[1], {0.287793, 0.437677}) <= 5e-7);
  struct Row {
    bool query_s_t;
    double loss, slope;
  };
  for (const Row& row : {Row{false, 0.641574, -0.013265}, Row{true, 0.732770, -0.004997}}) {
    CAPTURE(row.query_s_t);
    const double h = 1e-5;
    const double slope = (small_loss(h, row.query_s_t) - small_loss(-h, row.query_s_t)) / (2 * h);
    CHECK(std::abs(small_loss(0, row.query_s_t) - row.loss) <= 5e-7);
    CHECK(std::abs(slope - row.slope) <= 5e-7);
  }
}

TEST_CASE("by hand: one GRU step under three conventions") {
  const Vec x{1}, h{0.5, -1};
  bahdanau2014::Gru bahdanau = small_cell();
  bahdanau.W_r = {{0.4}, {-0.6}}, bahdanau.W_z = {{0.7}, {-0.2}}, bahdanau.W = {{0.5}, {0.8}};
  bahdanau.C = bahdanau.C_z = bahdanau.C_r = {};
  bahdanau.b_r = {0.1, -0.1}, bahdanau.b_z = {0, 0.2}, bahdanau.b = {0.05, -0.05};
  CHECK(absolute_deviation(bahdanau2014::gru_step(bahdanau, x, h, {}), {0.699417, -0.273193}) <= 5e-7);

  const cho2014::Gru cho{bahdanau.W_r, bahdanau.U_r, bahdanau.W_z, bahdanau.U_z, bahdanau.W,
                         bahdanau.U,   bahdanau.b_r, bahdanau.b_z, bahdanau.b};
  CHECK(absolute_deviation(cho2014::step(cho, x, h), {0.569783, -0.018913}) <= 5e-7);

  // Reset after the product with z replacing: PyTorch's unit with the sign of everything in z turned, since
  // sigmoid(-a) = 1 - sigmoid(a).
  const pytorch_gru::Gru after{{{0.4}, {-0.6}, {-0.7}, {0.2}, {0.5}, {0.8}},
                               {{0.2, 0.1}, {0, 0.3}, {-0.1, 0.3}, {-0.2, -0.4}, {0.9, -0.7}, {0.6, 0.2}},
                               {0.1, -0.1, 0, -0.2, 0.05, -0.05},
                               {}};
  CHECK(absolute_deviation(pytorch_gru::step(after, x, h), {0.761244, -0.297438}) <= 5e-7);
}

TEST_CASE("by hand: one step of Luong's decoder with a dot score") {
  luong2015::Decoder p;
  p.score = luong2015::Score::dot;
  p.W_c = {{0.5, -0.2, 0.3, 0.1}, {0.4, 0.6, -0.5, 0.2}};
  const luong2015::Cell cell = [](const Vec& x, const luong2015::State& s) -> luong2015::State {
    return {bahdanau2014::gru_step(small_cell(), part(x, 0, 1), s.h, part(x, 1, 2)), {}};
  };
  const auto run = luong2015::decode(p, cell, small_H, {{0.2, -0.1}, {}}, {{1}});
  CHECK(absolute_deviation(run.c[0], {0.231480, 0.463270}) <= 5e-7);
  CHECK(absolute_deviation(run.htilde[0], {0.1805, 0.1975}) <= 5e-5);
}

TEST_CASE("by hand: softmax, masks, log-sum-exp, Adam's first step") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(absolute_deviation(masked_softmax({2, 1, 0.5}, {true, true, false}), {0.7311, 0.2689, 0}) <= 5e-5);
  CHECK(masked_softmax({2, 1}, {false, false}) == Vec{0, 0});
  CHECK(softmax({1000, 1000}) == Vec{0.5, 0.5});
  CHECK(log_sum_exp({-1000, -1000}) == -1000 + std::log(2.0));
  CHECK(log_sum_exp({}) == -infinity);
  // m^ = g and v^ = g^2 at t = 1, so the first step is alpha * sign(g) but for epsilon.
  Vec theta{1, 1, 1};
  adam2014::Moments moments;
  adam2014::step(theta, {0.5, -2, 0}, moments);
  CHECK(absolute_deviation(theta, {0.999, 1.001, 1}) <= 1e-10);
}

TEST_CASE("by hand: the bytes of a small safetensors file") {
  const std::string file = safetensors::small_file();
  REQUIRE(file.size() % 8 == 0);
  const std::string numbers = file.substr(file.size() - 32);
  const unsigned char want[32] = {0, 0, 0, 0, 0, 0, 0xe0, 0x3f, 0, 0, 0,    0,    0, 0, 0xf0, 0xbf,
                                  0, 0, 0, 0, 0, 0, 0x08, 0x40, 0, 0, 0x80, 0x3f, 0, 0, 0,    0xc0};
  CHECK(numbers == std::string(want, want + 32));
  CHECK(file.substr(0, 8) == std::string("\xd0\0\0\0\0\0\0\0", 8));
  CHECK(file.size() == 8 + 208 + 32);
  CHECK(file.substr(8, 1) == "{");
  CHECK(safetensors::little_endian_64(0x0102030405060708ULL) == "\x08\x07\x06\x05\x04\x03\x02\x01");
}

TEST_CASE("unknown fixtures and operands of the wrong size are refused by name") {
  CHECK_THROWS_WITH_AS(fixture("no such case"), doctest::Contains("no fixture no such case; there are: adam"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(fixture("adam")["W_9"], doctest::Contains("fixture adam has no array W_9; it has: W_0"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(mul({{1, 2}}, {1}), doctest::Contains("matrix times vector: sizes 2 and 1 differ"),
                       std::invalid_argument);
}

TEST_SUITE_END();
