// Initialisers: bounds, variance, orthogonality, where the numbers lie, and that no two parameters are alike.
#include "nn/init.h"

#include <algorithm>
#include <map>

#include "nn/decoders.h"
#include "tests/nn/check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

double mean_of(const std::vector<double>& values) {
  double total = 0;
  for (double value : values) total += value;
  return total / static_cast<double>(values.size());
}
double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double total = 0;
  for (double value : values) total += (value - mean) * (value - mean);
  return total / static_cast<double>(values.size());
}

// Largest element of |A A' - I| over the rows of A.
double off_orthonormal(const paper::Mat& rows) {
  double worst = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows.size(); ++j) {
      worst = std::max(worst, std::fabs(paper::dot(rows[i], rows[j]) - (i == j ? 1 : 0)));
    }
  }
  return worst;
}
paper::Mat transposed(const paper::Mat& m) {
  paper::Mat out(m[0].size(), paper::Vec(m.size()));
  for (std::size_t i = 0; i < m.size(); ++i) {
    for (std::size_t j = 0; j < m[i].size(); ++j) out[j][i] = m[i][j];
  }
  return out;
}

struct Sizes {
  std::int64_t d_out, d_in;
};

}  // namespace

TEST_SUITE("nn init") {
  TEST_CASE("xavier stays within sqrt(6 / (d_in + d_out)) and fills that range") {
    for (const Sizes& n : {Sizes{30, 50}, Sizes{50, 30}, Sizes{64, 64}, Sizes{1, 400}, Sizes{400, 1}}) {
      CAPTURE(n.d_out);
      CAPTURE(n.d_in);
      Generator g(3);
      const double bound = std::sqrt(6.0 / static_cast<double>(n.d_in + n.d_out));
      const auto values = vec(xavier(n.d_out, n.d_in, g, f64));
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      CHECK(*low >= -bound);
      CHECK(*high <= bound);
      CHECK(*low < -0.97 * bound);
      CHECK(*high > 0.97 * bound);
    }
  }

  TEST_CASE("xavier has mean 0 and variance 2 / (d_in + d_out)") {
    for (const Sizes& n : {Sizes{100, 200}, Sizes{200, 100}, Sizes{150, 150}}) {
      CAPTURE(n.d_out);
      Generator g(4);
      const double want = 2.0 / static_cast<double>(n.d_in + n.d_out);
      const auto values = vec(xavier(n.d_out, n.d_in, g, f64));
      CHECK(std::fabs(mean_of(values)) < 0.03 * std::sqrt(want));
      CHECK(std::fabs(variance_of(values) / want - 1) < 0.03);
    }
  }

  TEST_CASE("xavier draws row after row of the (d_out, d_in) matrix") {
    Generator g(5), again(5);
    const auto values = vec(xavier(3, 4, g, f64));
    const double bound = std::sqrt(6.0 / 7);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(values[i] == again.uniform(-bound, bound));
  }

  TEST_CASE("stacked gates are drawn for the size of one gate, not of the stack") {
    Generator g(6);
    const std::int64_t d_s = 40, d_in = 20;
    const auto values = vec(xavier_stacked(3, d_s, d_in, g, f64));
    const double one = std::sqrt(6.0 / (d_s + d_in)), stack = std::sqrt(6.0 / (3 * d_s + d_in));
    const double top = *std::max_element(values.begin(), values.end());
    CHECK(top <= one);
    CHECK(top > 0.97 * one);
    CHECK(top > stack);
    CHECK(values.size() == static_cast<std::size_t>(3 * d_s * d_in));
  }

  TEST_CASE("one stacked block is xavier itself") {
    Generator a(6), b(6);
    CHECK(bitwise(xavier(5, 3, a, f64), xavier_stacked(1, 5, 3, b, f64)));
  }

  TEST_CASE("a square orthogonal matrix has U U' = U' U = I") {
    for (std::int64_t d : {1, 2, 3, 8, 33}) {
      CAPTURE(d);
      Generator g(7);
      const paper::Mat U = mat(orthogonal(d, d, g, f64));
      CHECK(off_orthonormal(U) < 1e-12);
      CHECK(off_orthonormal(transposed(U)) < 1e-12);
    }
  }

  TEST_CASE("a tall orthogonal matrix has orthonormal columns, a wide one orthonormal rows") {
    Generator g(8);
    CHECK(off_orthonormal(transposed(mat(orthogonal(9, 4, g, f64)))) < 1e-12);
    CHECK(off_orthonormal(mat(orthogonal(4, 9, g, f64))) < 1e-12);
  }

  TEST_CASE("orthogonal in f32 is orthogonal to f32's precision") {
    Generator g(8);
    CHECK(off_orthonormal(mat(orthogonal(16, 16, g))) < 1e-6);
  }

  TEST_CASE("an orthogonal matrix keeps lengths through a hundred products") {
    Generator g(9);
    const paper::Mat U = mat(orthogonal(6, 6, g, f64));
    paper::Vec x{1, -2, 0.5, 3, -1, 0.25};
    const double before = paper::dot(x, x);
    for (int i = 0; i < 100; ++i) x = paper::mul(U, x);
    CHECK(std::fabs(paper::dot(x, x) / before - 1) < 1e-11);
  }

  TEST_CASE("stacked orthogonal blocks are orthogonal each, and differ") {
    Generator g(10);
    const paper::Mat U = mat(orthogonal_stacked(3, 5, g, f64));
    REQUIRE(U.size() == 15);
    for (std::size_t k = 0; k < 3; ++k) CHECK(off_orthonormal(rows(U, 5 * k, 5)) < 1e-12);
    CHECK(gap(flat(rows(U, 0, 5)), flat(rows(U, 5, 5))) > 0.1);
    CHECK(gap(flat(rows(U, 5, 5)), flat(rows(U, 10, 5))) > 0.1);
  }

  TEST_CASE("uniform stays within its bound and fills it; zero_parameter is zero") {
    Generator g(11);
    const auto values = vec(uniform(Shape{500}, 0.25, g, f64));
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    CHECK(*low >= -0.25);
    CHECK(*high <= 0.25);
    CHECK(*low < -0.24);
    CHECK(*high > 0.24);
    CHECK(all_zero(zero_parameter(Shape{4, 3})));
  }

  TEST_CASE("every initialiser gives a leaf that takes a gradient, in the dtype asked for") {
    Generator g(12);
    for (DType dtype : {f32, f64}) {
      for (const Var& p :
           {xavier(2, 3, g, dtype), xavier_stacked(2, 2, 3, g, dtype), orthogonal(2, 3, g, dtype),
            orthogonal_stacked(2, 3, g, dtype), uniform(Shape{3}, 1, g, dtype), zero_parameter(Shape{3}, dtype)}) {
        CHECK(p.requires_grad());
        CHECK(p.node()->inputs.empty());
        CHECK(p.dtype() == dtype);
      }
    }
  }

  TEST_CASE("the same stream gives f32 the rounded numbers of f64") {
    Generator a(13), b(13);
    CHECK(bitwise(xavier(4, 5, a, f32), xavier(4, 5, b, f64).value().to(f32)));
    Generator c(13), d(13);
    CHECK(bitwise(orthogonal(4, 5, c, f32), orthogonal(4, 5, d, f64).value().to(f32)));
  }

  TEST_CASE("matrices of shape (out, in) lie in memory as (in, out)") {
    Generator g(14);
    CHECK(xavier(3, 5, g).value().strides() == Extents{1, 3});
    CHECK(xavier_stacked(2, 3, 5, g).value().strides() == Extents{1, 6});
    CHECK(orthogonal(3, 5, g).value().strides() == Extents{1, 3});
    CHECK(orthogonal_stacked(3, 5, g).value().strides() == Extents{1, 15});
  }

  TEST_CASE("all weight matrices of all layers lie as (in, out), tables of embeddings as rows") {
    Generator g(14);
    auto check_matrices = [](const std::vector<Parameter>& list) {
      for (const Parameter& p : list) {
        if (p.var.rank() != 2) continue;
        CAPTURE(p.name);
        CHECK(p.var.value().strides() == Extents{1, p.var.shape()[0]});
      }
    };
    const DecoderSizes n{9, 3, 4, 6, 5};
    check_matrices(parameters(BahdanauDecoder(n, {.layers = 2, .maxout = true}, g)));
    check_matrices(parameters(LuongDecoder(n, {.score = ScoreKind::concat, .cell = CellKind::lstm}, g)));
    check_matrices(parameters(Bidirectional(CellKind::elman, 3, 4, {}, g)));
    CHECK(Embedding(9, 3, g).E.value().strides() == Extents{3, 1});
  }

  TEST_CASE("the same seed and stream give the same model, another seed or stream another one") {
    const DecoderSizes n{9, 3, 4, 6, 5};
    auto first = [&](std::uint64_t seed, const char* stream) {
      Generator g(seed, stream);
      return parameters(BahdanauDecoder(n, {}, g));
    };
    const auto a = first(1, "init"), b = first(1, "init"), c = first(2, "init"), d = first(1, "data");
    for (std::size_t i = 0; i < a.size(); ++i) {
      CAPTURE(a[i].name);
      CHECK(bitwise(a[i].var, b[i].var));
      if (all_zero(a[i].var)) continue;
      CHECK(!bitwise(a[i].var, c[i].var));
      CHECK(!bitwise(a[i].var, d[i].var));
    }
  }

  TEST_CASE("no number occurs twice in the matrices of a model: all draws are distinct") {
    Generator g(15);
    const DecoderSizes n{9, 3, 4, 6, 5};
    std::map<double, std::string> seen;
    std::vector<Parameter> all = parameters(BahdanauDecoder(n, {.layers = 2, .maxout = true}, g));
    for (const Parameter& p : parameters(Bidirectional(CellKind::gru, 3, 4, bahdanau2014(), g))) all.push_back(p);
    for (const Parameter& p : parameters(Lstm(3, 4, g))) all.push_back(p);
    for (const Parameter& p : all) {
      CAPTURE(p.name);
      if (p.var.rank() != 2 && p.name.find("v_a") == std::string::npos) continue;
      for (double value : vec(p.var)) {
        CAPTURE(value);
        const auto known = seen.try_emplace(value, p.name);
        CHECK_MESSAGE(known.second, "already in " << known.first->second);
      }
    }
  }

  TEST_CASE("gates of one cell start differently from each other") {
    Generator g(16);
    const Gru gru(3, 4, pytorch(), g);
    const Lstm lstm(3, 4, g);
    for (const auto& [W, gates] :
         {std::pair(gru.W, 3), std::pair(gru.U, 3), std::pair(lstm.W, 4), std::pair(lstm.U, 4)}) {
      for (int i = 0; i < gates; ++i) {
        for (int j = 0; j < i; ++j) { CHECK(gap(narrow(W, Axis{0}, 4 * i, 4), narrow(W, Axis{0}, 4 * j, 4)) > 0.05); }
      }
    }
  }

  TEST_CASE("biases start at 0, except that of the forget gate") {
    Generator g(17);
    CHECK(all_zero(Linear(3, 4, g).b));
    CHECK(all_zero(Elman(3, 4, g).b));
    CHECK(all_zero(Gru(3, 4, pytorch(), g).b));
    CHECK(all_zero(Gru(3, 4, pytorch(), g).b_u));
    CHECK(vec(Lstm(3, 2, g).b) == std::vector<double>{0, 0, 1, 1, 0, 0, 0, 0});
    CHECK(vec(Lstm(3, 2, g, -0.5).b) == std::vector<double>{0, 0, -0.5, -0.5, 0, 0, 0, 0});
  }

  TEST_CASE("recurrent matrices start orthogonal, gate by gate") {
    Generator g(18);
    CHECK(off_orthonormal(mat(Elman(3, 5, g).U)) < 1e-6);
    for (std::size_t k = 0; k < 3; ++k) CHECK(off_orthonormal(rows(mat(Gru(3, 5, cho2014(), g).U), 5 * k, 5)) < 1e-6);
    for (std::size_t k = 0; k < 4; ++k) CHECK(off_orthonormal(rows(mat(Lstm(3, 5, g).U), 5 * k, 5)) < 1e-6);
  }

  TEST_CASE("a table of embeddings starts with mean 0 and variance 1") {
    Generator g(19);
    const auto values = vec(Embedding(200, 50, g).E);
    CHECK(std::fabs(mean_of(values)) < 0.03);
    CHECK(std::fabs(variance_of(values) - 1) < 0.05);
  }

  TEST_CASE("v_a starts within sqrt(3 / d_attn), so that a fresh score has the scale of its tanh") {
    Generator g(20);
    const double bound = std::sqrt(3.0 / 300);
    const Var v_a = Score(ScoreKind::additive, 4, 6, 300, g).v_a;
    CHECK(largest(v_a) <= bound * (1 + 1e-6));
    CHECK(largest(v_a) > 0.97 * bound);
  }

  TEST_CASE("a fresh scorer is not dead: every parameter gets a gradient that is not zero") {
    for (ScoreKind kind : {ScoreKind::general, ScoreKind::additive, ScoreKind::concat}) {
      CAPTURE(std::string(to_string(kind)));
      Generator g(21);
      const Score score = clone(Score(kind, 3, 4, 5, g), f64);
      Numbers numbers(1);
      const Var H = drawn_tensor(Shape{2, 6, 4}, numbers), query = drawn_tensor(Shape{2, 3}, numbers);
      backward(weighted(attend(score(query, score.keys(H)), H).context, 2));
      for (const Parameter& p : parameters(score)) {
        CAPTURE(p.name);
        CHECK(largest(p.var.grad()) > 1e-6);
      }
    }
  }
}
