// Dual numbers, formulas of several operands, and the slopes that are promised at kinks.
#include "autograd/pointwise.h"

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

using P = Pack<double>;

// Value and derivative of a formula of one input at x, through one dual number.
template <class F> std::pair<double, double> dual_at(F f, double x) {
  const auto y = f(seed<0>(P::broadcast(x)));
  return {y.value.v[0], y.of(0).v[0]};
}
template <class F> std::array<double, 3> dual_at(F f, double a, double b) {
  const auto y = f(seed<0>(P::broadcast(a)), seed<1>(P::broadcast(b)));
  return {y.value.v[0], y.of(0).v[0], y.of(1).v[0]};
}

Var number(double value) { return parameter(tensor(Shape{}, {value}, f64)); }
Var vector_of(std::initializer_list<double> values) {
  return parameter(tensor(Shape{static_cast<std::int64_t>(values.size())}, values, f64));
}
double slope(const std::function<Var(const Var&)>& f, double x) {
  const Var leaf = number(x);
  backward(f(leaf));
  return leaf.grad().item();
}

}  // namespace

TEST_SUITE_BEGIN("dual numbers");

TEST_CASE("(2 + e) squared is 4 + 4 e") {
  const auto [value, derivative] = dual_at([](auto x) { return x * x; }, 2);
  CHECK(value == 4);
  CHECK(derivative == 4);
}
TEST_CASE("a seed knows its own input and no other") {
  const auto x = seed<2>(P::broadcast(5));
  CHECK(decltype(x)::count == 1);
  CHECK(decltype(x)::depends_on(2));
  CHECK_FALSE(decltype(x)::depends_on(0));
  CHECK(x.of(2).v[0] == 1);
}
TEST_CASE("a formula depends on the inputs it uses, and no more") {
  const auto a = seed<0>(P::broadcast(1));
  const auto b = seed<1>(P::broadcast(2));
  const auto d = seed<3>(P::broadcast(4));
  const auto y = a * d + a;
  CHECK(decltype(y)::depends_on(0));
  CHECK_FALSE(decltype(y)::depends_on(1));
  CHECK(decltype(y)::depends_on(3));
  CHECK(decltype(y)::count == 2);
  CHECK(decltype(y + b)::count == 3);
  CHECK(y.of(0).v[0] == 5);
  CHECK(y.of(3).v[0] == 1);
}
TEST_CASE("rules of two numbers: + - * /") {
  CHECK(dual_at([](auto a, auto b) { return a + b; }, 3, 4) == std::array<double, 3>{7, 1, 1});
  CHECK(dual_at([](auto a, auto b) { return a - b; }, 3, 4) == std::array<double, 3>{-1, 1, -1});
  CHECK(dual_at([](auto a, auto b) { return a * b; }, 3, 4) == std::array<double, 3>{12, 4, 3});
  CHECK(dual_at([](auto a, auto b) { return a / b; }, 3, 4) == std::array<double, 3>{0.75, 0.25, -0.1875});
}
TEST_CASE("rules with plain numbers on either side") {
  struct Row {
    const char* text;
    std::pair<double, double> got, want;
  };
  for (const Row& row : {Row{"a + 3", dual_at([](auto a) { return a + 3; }, 2), {5, 1}},
                         Row{"3 + a", dual_at([](auto a) { return 3 + a; }, 2), {5, 1}},
                         Row{"a - 3", dual_at([](auto a) { return a - 3; }, 2), {-1, 1}},
                         Row{"3 - a", dual_at([](auto a) { return 3 - a; }, 2), {1, -1}},
                         Row{"a * 3", dual_at([](auto a) { return a * 3; }, 2), {6, 3}},
                         Row{"3 * a", dual_at([](auto a) { return 3 * a; }, 2), {6, 3}},
                         Row{"a / 4", dual_at([](auto a) { return a / 4; }, 2), {0.5, 0.25}},
                         Row{"4 / a", dual_at([](auto a) { return 4 / a; }, 2), {2, -1}},
                         Row{"-a", dual_at([](auto a) { return -a; }, 2), {-2, -1}}}) {
    INFO(std::string(row.text));
    CHECK(row.got == row.want);
  }
}
TEST_CASE("rules of functions against closed forms") {
  for (double x : {0.3, 1.0, 2.5}) {
    CAPTURE(x);
    CHECK(near(dual_at([](auto a) { return exp(a); }, x).second, std::exp(x), 1e-15));
    CHECK(near(dual_at([](auto a) { return log(a); }, x).second, 1 / x, 1e-15));
    CHECK(near(dual_at([](auto a) { return sqrt(a); }, x).second, 0.5 / std::sqrt(x), 1e-15));
    CHECK(near(dual_at([](auto a) { return tanh(a); }, x).second, 1 / (std::cosh(x) * std::cosh(x)), 1e-13));
    const double s = 1 / (1 + std::exp(-x));
    CHECK(near(dual_at([](auto a) { return sigmoid(a); }, x).second, s * (1 - s), 1e-14));
    CHECK(dual_at([](auto a) { return abs(a); }, -x).second == -1);
    CHECK(dual_at([](auto a) { return relu(a); }, x).second == 1);
  }
}
TEST_CASE("a chain of functions follows the chain rule") {
  const auto [value, derivative] = dual_at([](auto x) { return exp(tanh(x * 2) / x); }, 0.7);
  const double t = std::tanh(1.4), inner = t / 0.7;
  CHECK(near(value, std::exp(inner), 1e-15));
  CHECK(near(derivative, std::exp(inner) * (2 * (1 - t * t) / 0.7 - t / 0.49), 1e-14));
}
TEST_CASE("choose passes value and slope of the chosen one only") {
  for (double c : {0.0, 1.0, -2.0}) {
    const auto y = choose(seed<2>(P::broadcast(c)), seed<0>(P::broadcast(5)) * 2, seed<1>(P::broadcast(7)) * 3);
    CHECK(y.value.v[0] == (c == 0 ? 21 : 10));
    CHECK(y.of(0).v[0] == (c == 0 ? 0 : 2));
    CHECK(y.of(1).v[0] == (c == 0 ? 3 : 0));
  }
}
TEST_CASE("an operand may stand on both sides of choose and max") {
  const auto a = seed<0>(P::broadcast(2));
  CHECK(max(a * 3, a * 2).of(0).v[0] == 3);
  CHECK(choose(seed<1>(P::broadcast(1)), a * 3, a * 2).of(0).v[0] == 3);
  CHECK(choose(seed<1>(P::broadcast(0)), a * 3, a * 2).of(0).v[0] == 2);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("pointwise with gradients");

TEST_CASE("one line makes a new op: swish") {
  const auto swish = [](const Var& x) {
    return pointwise(
        "swish", [](auto v) { return v * sigmoid(v); }, x);
  };
  const Var x = vector_of({-1, 0.5, 2});
  CHECK(check_gradient([&] { return swish(x); }, {{"x", x}}).passed);
  CHECK(std::string(swish(x).node()->op) == "swish");
}
TEST_CASE("a GRU gate of five operands equals its composition, value and gradient") {
  const Shape shape{3, 19};
  std::vector<Var> fused, composed;
  for (std::uint64_t k = 0; k < 5; ++k) {
    const std::vector<double> values = Numbers(k).many(57, -1, 1);
    fused.push_back(parameter(tensor(shape, values, f64)));
    composed.push_back(parameter(tensor(shape, values, f64)));
  }
  const Var y = pointwise(
      "gate",
      [](auto xz, auto hz, auto xn, auto hn, auto h) {
        const auto z = sigmoid(xz + hz);
        return z * h + (1 - z) * tanh(xn + hn);
      },
      fused[0], fused[1], fused[2], fused[3], fused[4]);
  const Var z = sigmoid(composed[0] + composed[1]);
  const Var w = z * composed[4] + (1.0 - z) * tanh(composed[2] + composed[3]);
  CHECK(near(elements(y.value()), elements(w.value()), 1e-15));
  const Tensor dy = tensor(shape, Numbers(9).many(57, -1, 1), f64);
  backward(y, dy);
  backward(w, dy);
  for (std::size_t k = 0; k < 5; ++k) CHECK(near(elements(fused[k].grad()), elements(composed[k].grad()), 1e-14));
}
TEST_CASE("seven operands, each with a slope of its own") {
  std::vector<Var> x;
  for (std::uint64_t k = 0; k < 7; ++k) x.push_back(parameter(tensor(Shape{11}, Numbers(k).many(11, 0.5, 1.5), f64)));
  const auto f = [&] {
    return pointwise(
        "seven", [](auto a, auto b, auto c, auto d, auto e, auto g, auto h) { return a * b + c * d * e - g / h; }, x[0],
        x[1], x[2], x[3], x[4], x[5], x[6]);
  };
  std::vector<CheckedInput> inputs;
  for (std::size_t k = 0; k < 7; ++k) inputs.push_back({"x" + std::to_string(k), x[k], ""});
  const GradientReport report = check_gradient(f, inputs);
  CHECK_MESSAGE(report.passed, report.text());
}
TEST_CASE("operands stretched along rows and along columns get their sums") {
  for (std::int64_t columns : {1, 3, 8, 16, 19, 40}) {
    CAPTURE(columns);
    const Var row = parameter(tensor(Shape{columns}, Numbers(1).many(columns, -1, 1), f64));
    const Var column = parameter(tensor(Shape{4}, Numbers(2).many(4, -1, 1), f64));
    const Var x = parameter(tensor(Shape{4, columns}, Numbers(3).many(4 * columns, -1, 1), f64));
    const auto f = [&] {
      return pointwise(
          "f", [](auto a, auto r, auto c) { return tanh(a + r) * c; }, x, expand_new(row, Axis{0}, 4),
          expand_new(column, Axis{1}, columns));
    };
    const GradientReport report = check_gradient(f, {{"x", x}, {"row", row}, {"column", column}});
    CHECK_MESSAGE(report.passed, report.text());
  }
}
TEST_CASE("pointwise_sum equals pointwise and then sum, value and gradient, over every axis") {
  for (const Shape& shape : {Shape{5}, Shape{3, 20}, Shape{20, 3}, Shape{2, 3, 17}}) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      INFO(to_string(shape), " axis ", axis);
      std::vector<Var> a, b;
      for (std::uint64_t k = 0; k < 2; ++k) {
        a.push_back(parameter(tensor(shape, Numbers(k).many(shape.size(), -1, 1), f64)));
        b.push_back(parameter(copy(a.back().value())));
      }
      auto formula = [](auto x, auto y) { return tanh(x) * y; };
      const Var fused = pointwise_sum("score", formula, Axis{axis}, a[0], a[1]);
      const Var plain = sum(pointwise("score", formula, b[0], b[1]), Axis{axis});
      CHECK(near(elements(fused.value()), elements(plain.value()), 1e-14));
      const Tensor dy = tensor(fused.shape(), Numbers(7).many(fused.value().size(), -1, 1), f64);
      backward(fused, dy);
      backward(plain, dy);
      for (std::size_t k = 0; k < 2; ++k) CHECK(near(elements(a[k].grad()), elements(b[k].grad()), 1e-14));
    }
  }
}
TEST_CASE("blocks of rows equal narrowed operands, value and gradient, in any layout") {
  const auto f = [](auto a, auto b, auto c) { return tanh(a) * b + c; };
  for (const DType dtype : {f32, f64}) {
    for (std::int64_t rows : {0, 1, 3}) {
      for (std::int64_t d : {0, 1, 5, 16, 19}) {
        const Shape shape{rows, 3 * d};
        const Tensor numbers = tensor(shape, Numbers(1).many(shape.size(), -1, 1), dtype);
        const Tensor other = tensor(Shape{rows, d}, Numbers(2).many(rows * d, -1, 1), dtype);
        const Tensor layouts[] = {numbers, transpose(copy(transpose(numbers))),
                                  narrow(copy(expand_new(numbers, Axis{2}, 2)), Axis{2}, 1, 1)};
        for (const Tensor& layout : layouts) {
          INFO(to_string(shape), " strides ", layout.strides()[0], " ", layout.strides()[1]);
          const Tensor flat = layout.rank() == 3 ? select(layout, Axis{2}, 0) : layout;
          const Var blocks = parameter(flat), views = parameter(flat), x = parameter(other), y = parameter(other);
          const auto block = [&](std::int64_t k) {
            return seen(blocks, [=](const Tensor& t) { return Block(t, k * d, d); });
          };
          const Var seen_at_once = pointwise("f", f, block(2), block(0), x);
          const Var seen_before = pointwise("f", f, narrow(views, Axis{1}, 2 * d, d), narrow(views, Axis{1}, 0, d), y);
          CHECK(elements(seen_at_once.value()) == elements(seen_before.value()));
          const Tensor dy = tensor(other.shape(), Numbers(3).many(rows * d, -1, 1), dtype);
          backward(seen_at_once, dy);
          backward(seen_before, dy);
          CHECK(elements(blocks.grad()) == elements(views.grad()));
          CHECK(elements(x.grad()) == elements(y.grad()));
        }
      }
    }
  }
}
TEST_CASE("an input and the same input seen transposed in one op, when dy could be taken over") {
  const Var x = parameter(tensor(Shape{20, 20}, Numbers(1).many(400, -1, 1), f64));
  const auto both = [&] {
    const Var y = exp(x);
    return square(pointwise(
        "f", [](auto a, auto b) { return a * a * b; }, y, seen(y, [](const Tensor& t) { return transpose(t); })));
  };
  const GradientReport report = check_gradient(both, {{"x", x}});
  CHECK_MESSAGE(report.passed, report.text());
}
TEST_CASE("a block beyond its row is refused as narrow refuses it") {
  const Tensor x = zeros(Shape{2, 5});
  for (std::int64_t first : {-1, 3, 6}) {
    const std::string text = message_of<ShapeError>([&] { Block(x, first, 3); });
    CAPTURE(text);
    CHECK(opens_with(text, "narrow: 3 positions from " + std::to_string(first)));
  }
  CHECK_THROWS_AS(Block(zeros(Shape{}), 0, 1), ShapeError);
  CHECK(Block(x, 2, 3).shape() == Shape{2, 3});
  CHECK(Block(x, 5, 0).shape() == Shape{2, 0});
}
TEST_CASE("the additive score: v . tanh(q + k) with q and v stretched") {
  const Var query = parameter(tensor(Shape{2, 4}, Numbers(1).many(8, -1, 1), f64));     // (B, d_attn)
  const Var keys = parameter(tensor(Shape{2, 3, 4}, Numbers(2).many(24, -1, 1), f64));  // (B, T_enc, d_attn)
  const Var v_a = parameter(tensor(Shape{4}, Numbers(3).many(4, -1, 1), f64));
  const auto f = [&] {
    return pointwise_sum(
        "additive", [](auto q, auto k, auto v) { return v * tanh(q + k); }, Axis{2}, expand_new(query, Axis{1}, 3),
        keys, expand_new(expand_new(v_a, Axis{0}, 3), Axis{0}, 2));
  };
  const GradientReport report = check_gradient(f, {{"query", query}, {"keys", keys}, {"v_a", v_a}});
  CHECK_MESSAGE(report.passed, report.text());
}
TEST_CASE("refusals open with the name of the op") {
  const Var a = parameter(zeros(Shape{2, 3}, f64)), b = parameter(zeros(Shape{3}, f64));
  auto add = [](auto x, auto y) { return x + y; };
  CHECK(
      opens_with(message_of<ShapeError>([&] { pointwise("gate", add, a, b); }), "gate: shapes (2, 3) and (3) differ"));
  for (int axis : {-1, 2}) {
    const std::string text = message_of<ShapeError>([&] { pointwise_sum("score", add, Axis{axis}, a, a); });
    CAPTURE(text);
    CHECK(opens_with(text, "score: Axis{" + std::to_string(axis) + "}"));
  }
}
TEST_CASE("plain tensors and Vars mix as operands") {
  const Var x = vector_of({1, 2});
  const Tensor c = tensor(Shape{2}, {3, 4}, f64);
  backward(sum(pointwise(
      "f", [](auto a, auto b) { return a * b; }, x, Var(c))));
  CHECK(same(elements(x.grad()), {3, 4}));
  x.zero_grad();
  backward(sum(x * c));
  CHECK(same(elements(x.grad()), {3, 4}));
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("kinks");

TEST_CASE("relu has slope 0 at 0, from both zeros") {
  CHECK(slope([](const Var& x) { return relu(x); }, 0.0) == 0);
  CHECK(slope([](const Var& x) { return relu(x); }, -0.0) == 0);
  CHECK(slope([](const Var& x) { return relu(x); }, 1e-300) == 1);
  CHECK(slope([](const Var& x) { return relu(x); }, -1e-300) == 0);
}
TEST_CASE("abs has slope 0 at 0") {
  CHECK(slope([](const Var& x) { return abs(x); }, 0.0) == 0);
  CHECK(slope([](const Var& x) { return abs(x); }, -0.0) == 0);
  CHECK(slope([](const Var& x) { return abs(x); }, 1e-300) == 1);
  CHECK(slope([](const Var& x) { return abs(x); }, -1e-300) == -1);
}
TEST_CASE("max of two gives half to each at a tie") {
  const Var a = vector_of({1, 2, 3}), b = vector_of({1, 3, 2});
  backward(sum(max(a, b)));
  CHECK(same(elements(a.grad()), {0.5, 0, 1}));
  CHECK(same(elements(b.grad()), {0.5, 1, 0}));
}
TEST_CASE("max over an axis shares evenly between k equal maxima: mass 1") {
  for (std::size_t k = 1; k <= 5; ++k) {
    std::vector<double> values(5, 1.0), want(5, 0.0);
    for (std::size_t i = 0; i < k; ++i) {
      values[i] = 2;
      want[i] = 1.0 / static_cast<double>(k);
    }
    const Var x = parameter(tensor(Shape{5}, values, f64));
    backward(max(x, Axis{0}));
    CHECK(near(elements(x.grad()), want, 1e-15));
  }
}
TEST_CASE("max over an axis at (2 2 1) gives (.5 .5 0)") {
  const Var x = vector_of({2, 2, 1});
  backward(max(x, Axis{0}));
  CHECK(same(elements(x.grad()), {0.5, 0.5, 0}));
}
TEST_CASE("max over an axis knows -infinity") {
  const Var x = vector_of({-infinity, 1});
  backward(max(x, Axis{0}));
  CHECK(same(elements(x.grad()), {0, 1}));
}
TEST_CASE("sqrt has an infinite slope at 0") {
  CHECK(slope([](const Var& x) { return sqrt(x); }, 0.0) == infinity);
}
TEST_CASE("log has an infinite slope at 0, and its value is minus infinity") {
  CHECK(slope([](const Var& x) { return log(x); }, 0.0) == infinity);
  CHECK(log(number(0)).item() == -infinity);
}
TEST_CASE("tanh and sigmoid are flat, not NaN, far out") {
  for (double x : {-1e4, -800.0, 800.0, 1e4}) {
    CHECK(slope([](const Var& v) { return tanh(v); }, x) == 0);
    CHECK(std::fabs(slope([](const Var& v) { return sigmoid(v); }, x)) < 1e-300);
  }
  const Var x = parameter(tensor(Shape{4}, {-1000, -100, 100, 1000}, f32));
  backward(sum(tanh(x) + sigmoid(x)));
  for (double g : elements(x.grad())) CHECK(std::fabs(g) < 1e-30);
}
TEST_CASE("NaN in one operand of max shows in the result, whichever operand it is") {
  for (DType dtype : {f32, f64}) {
    const Var a = tensor(Shape{2}, {not_a_number, 1}, dtype), b = tensor(Shape{2}, {1, not_a_number}, dtype);
    for (double value : elements(max(a, b).value())) CHECK(std::isnan(value));
  }
}
TEST_CASE("where keeps NaN of the side that was not chosen out of value and gradient") {
  const Var a = vector_of({not_a_number, 2}), b = vector_of({3, not_a_number});
  const Mask choose_a(Shape{2}, std::vector<std::uint8_t>{0, 1});
  const Var y = where(choose_a, a, b);
  CHECK(same(elements(y.value()), {3, 2}));
  backward(sum(y));
  CHECK(same(elements(a.grad()), {0, 1}));
  CHECK(same(elements(b.grad()), {1, 0}));
}
TEST_CASE("where accepts any mask value but 0 as true") {
  const Var a = vector_of({1, 2}), b = vector_of({3, 4});
  const Mask mask(Shape{2}, std::vector<std::uint8_t>{255, 0});
  CHECK(same(elements(where(mask, a, b).value()), {1, 4}));
}
TEST_CASE("dropout keeps each number with probability 1 - p and scales it by 1 / (1 - p)") {
  const Var x = parameter(full(Shape{20'000}, 2, f64));
  Generator generator(3);
  const Var y = dropout(x, 0.25, generator, true);
  double kept = 0;
  for (double value : elements(y.value())) {
    CHECK((value == 0 || near(value, 2 / 0.75, 1e-15)));
    kept += value != 0;
  }
  CHECK(std::fabs(kept / 20'000 - 0.75) < 0.015);
  backward(sum(y));
  const std::vector<double> values = elements(y.value()), slopes = elements(x.grad());
  bool agree = true;
  for (std::size_t i = 0; i < values.size(); ++i) agree = agree && near(slopes[i], values[i] / 2, 1e-15);
  CHECK(agree);
}
TEST_CASE("dropout is x itself when not training or at p = 0, and draws nothing") {
  const Var x = vector_of({1, 2});
  Generator generator(4);
  const Generator::State state = generator.state();
  CHECK(dropout(x, 0.5, generator, false).node().get() == x.node().get());
  CHECK(dropout(x, 0, generator, true).node().get() == x.node().get());
  CHECK(generator.state() == state);
}
TEST_CASE("dropout refuses p outside 0 <= p < 1, and NaN") {
  const Var x = vector_of({1, 2});
  Generator generator(5);
  for (double p : {-0.1, 1.0, 1.5, not_a_number}) {
    CAPTURE(p);
    CHECK(opens_with(message_of<ValueError>([&] { dropout(x, p, generator, true); }), "dropout: p is "));
    CHECK(opens_with(message_of<ValueError>([&] { dropout(x, p, generator, false); }), "dropout: p is "));
  }
}

TEST_SUITE_END();

}  // namespace gradus::testing
