// Attention in one op against its composition.
#include "autograd/kernels/dot_attention.h"

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "tensor/kernels/plain.h"
#include "tensor/kernels/threads.h"
#include "tests/tensor/check.h"
#include "tests/tensor/child.h"

namespace gradus::testing {
namespace {

using Attention = Var (*)(const Var&, const Var&, const Var&, const std::optional<Mask>&);

struct Case {
  Shape q, k, v;
};

// Value and gradients, where q, k and v are given as they lie or with their two inner axes exchanged in memory.
std::vector<std::vector<double>> outcome(Attention attention, const Case& c, DType dtype, bool exchanged,
                                         const std::optional<Mask>& mask) {
  const auto leaf = [&](const Shape& shape, int seed) {
    Shape stored = shape;
    if (exchanged) std::swap(stored[shape.rank() - 3], stored[shape.rank() - 2]);
    return parameter(tensor(stored, Numbers(seed).many(shape.size(), -2, 2), dtype));
  };
  const auto seen = [&](const Var& x) { return exchanged ? transpose(x, Axis{x.rank() - 3}, Axis{x.rank() - 2}) : x; };
  const Var q = leaf(c.q, 1), k = leaf(c.k, 2), v = leaf(c.v, 3);
  const Var y = attention(seen(q), seen(k), seen(v), mask);
  const Tensor dy = tensor(y.shape(), Numbers(4).many(y.value().size(), -1, 1), dtype);
  backward(y, dy);
  return {elements(y.value()), elements(q.grad()), elements(k.grad()), elements(v.grad())};
}

// Scattered keys; those behind a query hidden; those before it; all behind the first third, but for one query.
std::vector<std::optional<Mask>> some_masks(const Case& c) {
  const int last = c.q.rank() - 1;
  const std::int64_t T_q = c.q[last - 1], T_k = c.k[last - 1];
  std::vector<std::optional<Mask>> masks{std::nullopt};
  for (int kind = 0; kind < 4; ++kind) {
    Mask mask(c.q.with(Axis{last}, T_k));
    for (std::int64_t at = 0; at < mask.size(); ++at) {
      const std::int64_t i = at / T_k % T_q, j = at % T_k;
      const bool seen[] = {at % 5 < 2, j <= i, j >= i, j <= T_k / 3 || i == 2};
      mask[at] = seen[kind] || j == (kind == 2 ? T_k - 1 : 0);
    }
    masks.emplace_back(mask);
  }
  return masks;
}

const Case cases[] = {{Shape{2, 3, 4}, Shape{2, 5, 4}, Shape{2, 5, 7}},
                      {Shape{2, 3, 5, 16}, Shape{2, 3, 9, 16}, Shape{2, 3, 9, 6}},
                      {Shape{3, 2, 21, 3}, Shape{3, 2, 40, 3}, Shape{3, 2, 40, 17}},
                      {Shape{2, 50, 16}, Shape{2, 37, 16}, Shape{2, 37, 8}},
                      {Shape{4, 4, 4}, Shape{4, 4, 4}, Shape{4, 4, 4}},
                      {Shape{1, 1, 1}, Shape{1, 1, 1}, Shape{1, 1, 1}}};

}  // namespace

TEST_SUITE_BEGIN("dot attention");

TEST_CASE("equals its composition, value and gradients") {
  for (DType dtype : {f32, f64}) {
    for (const Case& c : cases) {
      int kind = 0;
      for (const std::optional<Mask>& mask : some_masks(c)) {
        for (bool exchanged : {false, true}) {
          const auto fused = outcome(dot_attention, c, dtype, exchanged, mask);
          const auto plain = outcome(dot_attention_plain, c, dtype, exchanged, mask);
          for (std::size_t i = 0; i < fused.size(); ++i) {
            INFO(to_string(c.q), " ", to_string(c.k), " mask ", kind, exchanged ? " exchanged" : "", " ", i);
            CHECK(near(fused[i], plain[i], dtype == f32 ? 5e-6 : 1e-13, dtype == f32 ? 5e-6 : 1e-13));
          }
        }
        ++kind;
      }
    }
  }
}

TEST_CASE("one tensor as queries, keys and values, and parts of one tensor") {
  const Var x = parameter(tensor(Shape{2, 4, 4}, Numbers(1).many(32, -2, 2), f64));
  const Var both = parameter(tensor(Shape{3, 4, 4}, Numbers(2).many(48, -2, 2), f64));
  const auto gradients = [&](Attention attention) {
    x.zero_grad(), both.zero_grad();
    const Var first = narrow(both, Axis{0}, 0, 2), later = narrow(both, Axis{0}, 1, 2);  // these overlap
    const Var y = attention(x, x, x, std::nullopt) + attention(first, later, x, std::nullopt);
    const Var repeated = attention(x, x, expand_new(select(both, Axis{0}, 0), Axis{0}, 2), std::nullopt);
    backward(y + repeated, tensor(y.shape(), Numbers(3).many(32, -1, 1), f64));
    std::vector<double> all = elements(x.grad()), rest = elements(both.grad());
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  CHECK(near(gradients(dot_attention), gradients(dot_attention_plain), 1e-13, 1e-13));
}

TEST_CASE("passes the self check") {
  const auto some = [](int seed) { return parameter(tensor(Shape{2, 3, 4}, Numbers(seed).many(24, -1, 1), f64)); };
  const Var q = some(1), k = some(2), v = some(3);
  const GradientReport report = check_gradient([&] { return dot_attention(q, k, v); }, {{"q", q}, {"k", k}, {"v", v}});
  CHECK_MESSAGE(report.passed, report.text());
}

TEST_CASE("what is not allowed has no influence, not even as NaN, and a query without keys is refused") {
  const Case c = cases[0];
  Mask mask(Shape{2, 3, 5}, std::uint8_t{1});
  for (std::int64_t i = 0; i < 30; i += 5) mask[i + 4] = 0;
  const Var q = tensor(c.q, Numbers(1).many(24, -1, 1)), k = tensor(c.k, Numbers(2).many(40, -1, 1)),
            v = tensor(c.v, Numbers(3).many(70, -1, 1));
  Tensor changed = copy(k.value());
  for (std::int64_t b = 0; b < 2; ++b) changed.set({b, 4, 0}, not_a_number);
  CHECK(same(elements(dot_attention(q, k, v, mask).value()), elements(dot_attention(q, changed, v, mask).value())));
  for (std::int64_t j = 0; j < 5; ++j) mask[5 * 4 + j] = 0;
  CHECK_THROWS_WITH_AS(dot_attention(q, k, v, mask),
                       "softmax: row 4 of the mask allows nothing, so no weights exist; drop that row, or ask for "
                       "EmptyRow::zeros",
                       ValueError);
}

TEST_CASE("an operand that takes no gradient gets none; the order of axes in memory is that of the queries") {
  const Var q = parameter(tensor(Shape{2, 3, 2, 4}, Numbers(1).many(48, -1, 1))), k = q.value(), v = q.value();
  const Var y = dot_attention(transpose(q, Axis{1}, Axis{2}), transpose(k, Axis{1}, Axis{2}),
                              transpose(v, Axis{1}, Axis{2}));  // (2, 2, 3, 4)
  if (!plain_kernels()) CHECK(transpose(y.value(), Axis{1}, Axis{2}).contiguous());
  backward(sum(square(y)));
  CHECK(q.has_grad());
  CHECK_FALSE(k.has_grad());
}

TEST_CASE("the same bits for any number of threads") {
  const Case c{Shape{8, 4, 30, 16}, Shape{8, 4, 40, 16}, Shape{8, 4, 40, 16}};
  const std::optional<Mask> mask = some_masks(c)[2];
  const auto alone = outcome(dot_attention, c, f32, true, mask);
  CHECK(in_child(  // no other test here finds threads in its process
            [&] {
              bool same = true;
              for (int threads : {2, 4, 8}) {
                use_threads(threads);
                same = same && outcome(dot_attention, c, f32, true, mask) == alone;
              }
              return same;
            },
            60) == 0);
}

TEST_CASE("shapes that do not fit are refused") {
  const Var q = zeros(Shape{2, 3, 4}), k = zeros(Shape{2, 5, 4}), v = zeros(Shape{2, 5, 7});
  CHECK_THROWS_WITH_AS(
      dot_attention(q, v, k),
      "dot attention: q (2, 3, 4), k (2, 5, 7), v (2, 5, 4); they must be (..., T_q, d), (..., T_k, d), "
      "(..., T_k, d_v) with one or two axes in front and d > 0",
      ShapeError);
  CHECK_THROWS_AS(dot_attention(q, k, v, Mask(Shape{2, 5, 3}, std::uint8_t{1})), ShapeError);
  CHECK_THROWS_AS(dot_attention(q, k, zeros(Shape{2, 5, 7}, f64)), DTypeError);
  CHECK(dot_attention(zeros(Shape{0, 3, 4}), zeros(Shape{0, 5, 4}), zeros(Shape{0, 5, 7})).shape() == Shape{0, 3, 7});
}

TEST_SUITE_END();

}  // namespace gradus::testing
