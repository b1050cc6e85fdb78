// The additive score from exponentials against the formula as it stands.
#include "autograd/kernels/additive_score.h"

#include <cmath>

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

using Score = Var (*)(const Var&, const Var&, const Var&);

struct Operands {
  Var q, k, v;
  std::vector<Var> all() const { return {q, k, v}; }
};

Operands operands(std::int64_t batch, std::int64_t length, std::int64_t d, DType dtype, double size = 2) {
  return {parameter(tensor(Shape{batch, d}, Numbers(1).many(batch * d, -size, size), dtype)),
          parameter(tensor(Shape{batch, length, d}, Numbers(2).many(batch * length * d, -size, size), dtype)),
          parameter(tensor(Shape{d}, Numbers(3).many(d, -1, 1), dtype))};
}

// Values and gradients of two steps over the same keys.
std::vector<std::vector<double>> outcome(Score score, const Operands& x) {
  const Var e = score(x.q, x.k, x.v) + score(x.q * 0.5, x.k, x.v);
  std::vector<double> dy;
  for (std::int64_t i = 0; i < e.value().size(); ++i) dy.push_back(static_cast<double>(i % 7 + 1) / 4);
  for (const Var& leaf : x.all()) leaf.zero_grad();
  std::vector<std::vector<double>> result{elements(e.value())};
  backward(e, tensor(e.shape(), dy, e.dtype()));
  for (const Var& leaf : x.all()) result.push_back(elements(leaf.grad()));
  return result;
}

void check_equal(const Operands& x) {
  const auto fast = outcome(additive_score, x), plain = outcome(additive_score_plain, x);
  for (std::size_t i = 0; i < fast.size(); ++i) {
    INFO("d ", x.v.shape()[0], ", outcome ", i);
    CHECK(near(fast[i], plain[i], x.q.dtype() == f32 ? 2e-6 : 1e-14, x.q.dtype() == f32 ? 2e-6 : 1e-14));
  }
}

double score_of(double q, double k, DType dtype) {
  const Tensor one = tensor(Shape{1}, {1}, dtype);
  return additive_score(tensor(Shape{1, 1}, {q}, dtype), tensor(Shape{1, 1, 1}, {k}, dtype), one).item();
}

}  // namespace

TEST_SUITE_BEGIN("additive score");

TEST_CASE("equals the formula, value and gradients, for whole packs, parts of them and more than fit into registers") {
  for (DType dtype : {f32, f64}) {
    for (std::int64_t d : {1, 5, 8, 16, 17, 33, 64, 100, 129}) check_equal(operands(3, 5, d, dtype));
    check_equal(operands(1, 1, 1, dtype));
    check_equal(operands(2, 41, 64, dtype));
  }
}

TEST_CASE("empty batches, sequences and widths") {
  for (const Operands& x : {operands(0, 3, 4, f32), operands(2, 0, 4, f32), operands(2, 3, 0, f64)}) check_equal(x);
}

TEST_CASE("operands of any layout, in range and out of it, and gradients that are added to") {
  const Var H = parameter(tensor(Shape{20, 3, 7}, Numbers(4).many(420, -1, 1), f64));
  const Var S = parameter(tensor(Shape{20, 7}, Numbers(5).many(140, -1, 1), f64));
  auto loss = [&](Score score) {
    const Var k = transpose(narrow(H, Axis{0}, 0, 16), Axis{0}, Axis{2});  // (7, 3, 16)
    const Var q = transpose(narrow(S, Axis{0}, 4, 16));                    // (7, 16)
    const Var both = concat({narrow(q, Axis{0}, 0, 3), q, narrow(q, Axis{0}, 0, 1)}, Axis{0});
    const Var e = score(q, k, select(q, Axis{0}, 1));
    return sum(e * score(narrow(both, Axis{0}, 2, 7), k, select(q, Axis{0}, 2)));
  };
  for (double size : {1.0, 400.0}) {
    H.mutable_value().set({5, 1, 2}, size);
    S.mutable_value().set({9, 3}, -size);
    std::vector<std::vector<double>> gradients;
    for (Score score : {additive_score, additive_score_plain}) {
      H.zero_grad();
      S.zero_grad();
      backward(loss(score));
      gradients.push_back(elements(H.grad()));
      gradients.push_back(elements(S.grad()));
    }
    CHECK(near(gradients[0], gradients[2], 1e-13));
    CHECK(near(gradients[1], gradients[3], 1e-13));
  }
}

TEST_CASE("passes the self check, also with rows that are out of range") {
  Operands x = operands(2, 3, 5, f64);
  for (double out : {1.0, 400.0}) {
    x.k.mutable_value().set({0, 1, 2}, out);
    x.q.mutable_value().set({1, 3}, -out);
    const GradientReport report =
        check_gradient([&] { return additive_score(x.q, x.k, x.v); }, {{"q", x.q}, {"k", x.k}, {"v", x.v}});
    CHECK_MESSAGE(report.passed, report.text());
  }
}

TEST_CASE("every tanh is right to 5e-7, or 1e-15 in f64, for sums of any two numbers") {
  const double far[] = {42.9, 43.1, 88, 349, 351, 1e4, 1e30};
  for (DType dtype : {f32, f64}) {
    double worst = 0;
    auto compare = [&](double q, double k) {
      if (dtype == f32) q = static_cast<float>(q), k = static_cast<float>(k);
      worst = std::fmax(worst, std::fabs(score_of(q, k, dtype) - std::tanh(q + k)));
    };
    for (double sum = -6; sum <= 6; sum += 0.37) {
      for (double k = -60; k <= 60; k += 0.61) compare(sum - k, k);
      for (double k : far) {
        compare(sum - k, k);
        compare(k, sum - k);
        compare(k, k);
        compare(-k, -k);
      }
    }
    INFO(worst);
    CHECK(worst < (dtype == f32 ? 5e-7 : 1e-15));
  }
}

TEST_CASE("NaN and infinities do what they do in the formula") {
  for (DType dtype : {f32, f64}) {
    CHECK(score_of(infinity, 5, dtype) == 1);
    CHECK(score_of(-5, -infinity, dtype) == -1);
    CHECK(std::isnan(score_of(infinity, -infinity, dtype)));
    CHECK(std::isnan(score_of(std::nan(""), 0, dtype)));
    CHECK(std::isnan(score_of(0, std::nan(""), dtype)));
  }
}

TEST_CASE("what stands in one row does not touch the bits of another") {
  const Operands x = operands(2, 4, 20, f32);
  const auto before = elements(additive_score(x.q, x.k, x.v).value());
  x.k.mutable_value().set({0, 2, 19}, 1e6);
  auto after = elements(additive_score(x.q, x.k, x.v).value());
  CHECK(after[2] != before[2]);
  after[2] = before[2];
  CHECK(after == before);
}

TEST_CASE("keys that are changed in place are read anew") {
  const Operands x = operands(1, 2, 3, f64);
  additive_score(x.q, x.k, x.v);
  fill_(x.k.mutable_value(), 0.25);
  CHECK(near(elements(additive_score(x.q, x.k, x.v).value()), elements(additive_score_plain(x.q, x.k, x.v).value()),
             1e-14));
}

TEST_SUITE_END();

}  // namespace gradus::testing
