// The self check judged: each verdict provoked once, right gradients of all sizes accepted.
#include "autograd/check_gradient.h"

#include "autograd/ops.h"
#include "autograd/pointwise.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

Var vector_of(std::initializer_list<double> values) {
  return parameter(tensor(Shape{static_cast<std::int64_t>(values.size())}, values, f64));
}

// y = x^2 whose gradient is multiplied by `factor`.
Var square_with(const Var& x, double factor) {
  const Tensor value = pointwise(
      "square", [](auto v) { return v * v; }, x.value());
  return record("square", value, {x}, [factor](const Tensor& dy, Inputs& in) {
    const Tensor slope = expand_scalar(full(Shape{}, 2 * factor, f64), dy.shape());
    in.add(0, pointwise(
                  "square", [](auto d, auto v, auto s) { return d * v * s; }, dy, in.value(0), slope));
  });
}

GradientVerdict verdict_of(const std::function<Var()>& f, const Var& x) {
  return check_gradient(f, {{"x", x}}).verdict;
}

constexpr double step = 6.055454452393343e-06;  // cbrt(2^-52), for numbers up to 1

}  // namespace

TEST_SUITE_BEGIN("check_gradient");

TEST_CASE("a right gradient passes and the report is complete") {
  const Var x = vector_of({0.5, -1, 2}), y = vector_of({1, 2, 3});
  const GradientReport report = check_gradient([&] { return tanh(x) * y; }, {{"x", x}, {"y", y}});
  CHECK(report.passed);
  CHECK(report.verdict == GradientVerdict::passed);
  REQUIRE(report.entries.size() == 2);
  CHECK(report.entries[0].name == "x");
  CHECK(report.entries[1].name == "y");
  for (const GradientEntry& entry : report.entries) {
    CHECK(entry.verdict == GradientVerdict::passed);
    CHECK(entry.error < 1e-9);
    CHECK(entry.position.size() == 1);
  }
}
TEST_CASE("codes are stable") {
  const std::pair<GradientVerdict, const char*> rows[] = {{GradientVerdict::passed, "PASSED"},
                                                          {GradientVerdict::wrong, "GC_WRONG_GRADIENT"},
                                                          {GradientVerdict::float32, "GC_FLOAT32"},
                                                          {GradientVerdict::nondeterministic, "GC_NONDETERMINISTIC"},
                                                          {GradientVerdict::not_finite, "GC_NOT_FINITE"},
                                                          {GradientVerdict::kink, "GC_KINK"},
                                                          {GradientVerdict::nothing_tested, "GC_NOTHING_TESTED"},
                                                          {GradientVerdict::not_zero, "GC_NOT_ZERO"},
                                                          {GradientVerdict::unusable, "GC_UNUSABLE"}};
  for (const auto& [verdict, code] : rows) CHECK(std::string(to_string(verdict)) == code);
}
TEST_CASE("values are restored bit for bit, and gradients are zero afterwards") {
  const Var x = vector_of({0.1, -3, 1e-20, 12345.678});
  const std::vector<double> before = elements(x.value());
  backward(sum(x));
  CHECK(check_gradient([&] { return x * x; }, {{"x", x}}).passed);
  CHECK(elements(x.value()) == before);
  CHECK_FALSE(x.has_grad());
}
TEST_CASE("values are restored even when the function throws in the middle") {
  const Var x = vector_of({0.5, 1});
  int calls = 0;
  CHECK_THROWS_AS(check_gradient(
                      [&] {
                        if (++calls > 5) throw ValueError("enough");
                        return x * x;
                      },
                      {{"x", x}}),
                  ValueError);
  CHECK(elements(x.value()) == std::vector<double>{0.5, 1});
}
TEST_CASE("f32 leaves are refused with the reason") {
  const Var x = parameter(tensor(Shape{2}, {1, 2}, f32));
  const GradientReport report = check_gradient([&] { return x * x; }, {{"W_a", x}});
  CHECK(report.verdict == GradientVerdict::float32);
  CHECK_FALSE(report.passed);
  CHECK(contains(report.note, "W_a is f32"));
  CHECK(contains(report.note, "clone(model, f64)"));
}
TEST_CASE("what is no leaf, or takes no gradient, is refused") {
  const Var x = vector_of({1});
  CHECK(check_gradient([&] { return x * x; }, {{"h", x * 2.0}}).verdict == GradientVerdict::unusable);
  CHECK(check_gradient([&] { return x * x; }, {{"c", Var(tensor(Shape{1}, {1}, f64))}}).verdict ==
        GradientVerdict::unusable);
  CHECK(
      contains(check_gradient([&] { return x * x; }, {{"c", Var(tensor(Shape{1}, {1}, f64))}}).note, "parameter(...)"));
}
TEST_CASE("a dropout mask that changes between calls is refused") {
  const Var x = vector_of({1, 2, 3, 4, 5, 6, 7, 8});
  Generator generator(1);
  CHECK(verdict_of([&] { return dropout(x, 0.5, generator, true); }, x) == GradientVerdict::nondeterministic);
}
TEST_CASE("a dropout mask that is drawn anew from the same seed is fine") {
  const Var x = vector_of({1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(verdict_of(
            [&] {
              Generator generator(1);
              return dropout(x, 0.5, generator, true);
            },
            x) == GradientVerdict::passed);
}
TEST_CASE("a result whose last bit differs between calls is refused") {
  const Var x = vector_of({1, 2});
  int calls = 0;
  CHECK(verdict_of([&] { return x * (1 + 1e-15 * ++calls); }, x) == GradientVerdict::nondeterministic);
}
TEST_CASE("NaN in the result is refused before anything is compared") {
  const Var x = vector_of({-1, 2});
  const GradientReport report = check_gradient([&] { return log(x); }, {{"x", x}});
  CHECK(report.verdict == GradientVerdict::not_finite);
  CHECK(contains(report.note, "NaN or infinity"));
}
TEST_CASE("NaN in the gradient never passes") {
  const Var x = vector_of({1, 2});
  CHECK(verdict_of([&] { return square_with(x, not_a_number); }, x) == GradientVerdict::not_finite);
  CHECK(verdict_of([&] { return square_with(x, infinity); }, x) == GradientVerdict::not_finite);
}
TEST_CASE("an infinite slope is not finite") {
  const Var x = vector_of({0, 1});
  CHECK_FALSE(check_gradient([&] { return sqrt(abs(x)); }, {{"x", x}}).passed);
}
TEST_CASE("a kink at the very point is called a kink") {
  const Var x = vector_of({0, 1});
  CHECK(verdict_of([&] { return relu(x); }, x) == GradientVerdict::kink);
  CHECK(verdict_of([&] { return relu(x) + x; }, x) == GradientVerdict::kink);
}
TEST_CASE("a kink anywhere within a step is called a kink") {
  for (double where : {0.05, 0.1, 0.2, 0.25, 0.3, 1.0 / 3, 0.4, 0.45, 0.5, 0.6, 0.75, 0.9}) {
    for (double sign : {1.0, -1.0}) {
      CAPTURE(where);
      CAPTURE(sign);
      const Var x = vector_of({sign * where * step});
      CHECK(verdict_of([&] { return relu(x); }, x) == GradientVerdict::kink);
      CHECK(verdict_of([&] { return abs(x); }, x) == GradientVerdict::kink);
    }
  }
}
TEST_CASE("a kink beyond a step does not disturb") {
  for (double where : {1.1, 2.0, 10.0}) {
    const Var x = vector_of({where * step, -where * step});
    CHECK(verdict_of([&] { return relu(x); }, x) == GradientVerdict::passed);
  }
}
TEST_CASE("a tie of two maxima is a kink") {
  const Var x = vector_of({1, 1, 0});
  CHECK(verdict_of([&] { return max(x, Axis{0}); }, x) == GradientVerdict::kink);
  const Var a = vector_of({1}), b = vector_of({1});
  CHECK(check_gradient([&] { return max(a, b); }, {{"a", a}, {"b", b}}).verdict == GradientVerdict::kink);
}
TEST_CASE("a strongly bent smooth function is no kink") {
  const Var x = vector_of({0.3, -0.2, 0});
  CHECK(verdict_of([&] { return exp(x * 20.0); }, x) == GradientVerdict::passed);
  CHECK(verdict_of([&] { return square(x) * square(x); }, vector_of({1})) != GradientVerdict::kink);
  CHECK(verdict_of([&] { return tanh(x * 50.0); }, x) == GradientVerdict::passed);
}
TEST_CASE("an extremum of a smooth function passes beside others") {
  const Var x = vector_of({0, 1});
  CHECK(verdict_of([&] { return square(x); }, x) == GradientVerdict::passed);
}
TEST_CASE("an input that changes nothing: nothing was tested") {
  const Var x = vector_of({1, 2}), unused = vector_of({3});
  const GradientReport report = check_gradient([&] { return x * x; }, {{"x", x}, {"W_comb", unused}});
  CHECK(report.verdict == GradientVerdict::nothing_tested);
  CHECK(report.entries[0].verdict == GradientVerdict::passed);
  CHECK(report.entries[1].verdict == GradientVerdict::nothing_tested);
  CHECK(contains(report.entries[1].note, "zero_because"));
}
TEST_CASE("a constant result: the graph is cut") {
  const Var x = vector_of({1, 2});
  const GradientReport report = check_gradient([&] { return (x * x).detach(); }, {{"x", x}});
  CHECK(report.verdict == GradientVerdict::nothing_tested);
  CHECK(contains(report.note, "graph is cut"));
}
TEST_CASE("one input that is cut off although its value counts is wrong") {
  const Var x = vector_of({1, 2}), y = vector_of({3, 4});
  const GradientReport report = check_gradient([&] { return x * y.detach(); }, {{"x", x}, {"y", y}});
  CHECK(report.verdict == GradientVerdict::wrong);
  CHECK(report.entries[0].verdict == GradientVerdict::passed);
  CHECK(report.entries[1].verdict == GradientVerdict::wrong);
  CHECK(report.entries[1].analytic == 0);
}
TEST_CASE("the sum of a softmax alone tests nothing, but softmax itself does: the cotangent is not constant") {
  const Var x = vector_of({1, 2, 0.5});
  CHECK(verdict_of([&] { return sum(softmax(x, Axis{0})); }, x) == GradientVerdict::nothing_tested);
  CHECK(verdict_of([&] { return softmax(x, Axis{0}); }, x) == GradientVerdict::passed);
}
TEST_CASE("zero by theory must be declared, and then passes with the reason in the report") {
  const Var x = vector_of({1, 2, 0.5}), bias = vector_of({0.3});
  const auto f = [&] {
    return softmax(x + reshape(expand(reshape(bias, Shape{1, 1}), Axis{1}, 3), Shape{3}), Axis{0});
  };
  CHECK(check_gradient(f, {{"x", x}, {"b_k", bias}}).verdict == GradientVerdict::nothing_tested);
  const GradientReport report = check_gradient(f, {{"x", x}, {"b_k", bias, "softmax ignores a shift"}});
  CHECK(report.passed);
  CHECK(contains(report.entries[1].note, "softmax ignores a shift"));
}
TEST_CASE("declared zero but moving is refused") {
  const Var x = vector_of({1, 2});
  const GradientReport report = check_gradient([&] { return x * x; }, {{"x", x, "surely zero"}});
  CHECK(report.verdict == GradientVerdict::not_zero);
  CHECK(contains(report.entries[0].note, "declared zero (surely zero), but it is not"));
}
TEST_CASE("a wrong gradient is refused with place, both numbers and error") {
  const Var x = vector_of({1, 2, 3});
  const GradientReport report = check_gradient(
      [&] {
        return record("bad",
                      copy(pointwise(
                          "id", [](auto v) { return v; }, x.value())),
                      {x}, [](const Tensor& dy, Inputs& in) {
                        Tensor dx = copy(dy);
                        dx.set({1}, dx.at({1}) * 3);
                        in.add(0, dx);
                      });
      },
      {{"x", x}});
  CHECK(report.verdict == GradientVerdict::wrong);
  CHECK(report.entries[0].position == std::vector<std::int64_t>{1});
  CHECK(near(report.entries[0].analytic, 3 * report.entries[0].numeric, 1e-8));
  CHECK(near(report.entries[0].error, 0.5, 1e-6));
}
TEST_CASE("the worst of several wrong places is reported, in row-major position") {
  const Var x = parameter(tensor(Shape{2, 3}, {1, 1, 1, 1, 1, 1}, f64));
  const GradientReport report = check_gradient(
      [&] {
        return record("bad", copy(x.value()), {x}, [](const Tensor& dy, Inputs& in) {
          Tensor dx = copy(dy);
          dx.set({0, 1}, dx.at({0, 1}) * 1.1);
          dx.set({1, 2}, -dx.at({1, 2}));
          in.add(0, dx);
        });
      },
      {{"x", x}});
  CHECK(report.entries[0].position == std::vector<std::int64_t>{1, 2});
}
TEST_CASE("a relative error of one in a million is refused, of one in 10^10 accepted") {
  const Var x = vector_of({0.7, 1.3});
  CHECK(verdict_of([&] { return square_with(x, 1 + 1e-6); }, x) == GradientVerdict::wrong);
  CHECK(verdict_of([&] { return square_with(x, 1 + 1e-10); }, x) == GradientVerdict::passed);
}
TEST_CASE("the tolerance can be chosen") {
  const Var x = vector_of({0.7, 1.3});
  CHECK(check_gradient([&] { return square_with(x, 1 + 1e-6); }, {{"x", x}}, {1e-5, 1}).passed);
}
TEST_CASE("a missing factor of 2, a missing sign, a half: all refused") {
  const Var x = vector_of({0.7, 1.3});
  for (double factor : {0.5, -1.0, 2.0, 0.0, 1.01}) {
    CAPTURE(factor);
    CHECK(verdict_of([&] { return square_with(x, factor); }, x) == GradientVerdict::wrong);
  }
}
TEST_CASE("the verdict does not depend on the scale of the result") {
  const Var x = vector_of({0.7, 1.3});
  for (double scale : {1e-6, 1e-3, 1.0, 1e3, 1e6}) {
    CAPTURE(scale);
    CHECK(verdict_of([&] { return square_with(x, 1) * scale; }, x) == GradientVerdict::passed);
    CHECK(verdict_of([&] { return square_with(x, 1.001) * scale; }, x) == GradientVerdict::wrong);
  }
}
TEST_CASE("gradients of 1e-7 that are twice too large are refused") {
  const Var x = vector_of({0.7, 1.3});
  CHECK(verdict_of([&] { return square_with(x, 2) * 1e-7; }, x) == GradientVerdict::wrong);
  CHECK(verdict_of([&] { return square_with(x, 1) * 1e-7; }, x) == GradientVerdict::passed);
}
TEST_CASE("a tiny wrong entry beside large right ones is refused") {
  const Var x = vector_of({1, 1}), scale = Var(tensor(Shape{2}, {1, 1e-5}, f64));
  CHECK(verdict_of(
            [&] {
              return record("bad",
                            pointwise(
                                "m", [](auto a, auto b) { return a * b; }, x.value(), scale.value()),
                            {x}, [](const Tensor& dy, Inputs& in) {
                              Tensor dx = copy(dy);
                              dx.set({1}, dx.at({1}) * 2e-5);
                              in.add(0, dx);
                            });
            },
            x) == GradientVerdict::wrong);
}
TEST_CASE("large and small inputs have steps of their own") {
  const Var x = vector_of({1e4, 1e-4, -300});
  CHECK(verdict_of([&] { return square(x); }, x) == GradientVerdict::passed);
}
TEST_CASE("leaves of any layout are nudged at the right places") {
  for (Layout layout : all_layouts) {
    CAPTURE(name_of(layout));
    const Var x = parameter(laid_out(layout, Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64));
    CHECK(verdict_of([&] { return square(x); }, x) == GradientVerdict::passed);
    CHECK(verdict_of([&] { return square_with(x, 1.5); }, x) == GradientVerdict::wrong);
  }
}
TEST_CASE("scalar leaves and empty leaves") {
  const Var x = parameter(tensor(Shape{}, {0.7}, f64)), none = parameter(zeros(Shape{0}, f64));
  const GradientReport report = check_gradient([&] { return square(x); }, {{"x", x}, {"none", none}});
  CHECK(report.passed);
}
TEST_CASE("another seed gives another cotangent and the same verdict") {
  const Var x = vector_of({0.7, 1.3});
  for (std::uint64_t seed : {1, 2, 3, 4, 5}) {
    CHECK(check_gradient([&] { return tanh(x); }, {{"x", x}}, {1e-8, seed}).passed);
    CHECK_FALSE(check_gradient([&] { return square_with(x, 1.5); }, {{"x", x}}, {1e-8, seed}).passed);
  }
}
TEST_CASE("the first thing that is wrong decides, and every input has its entry") {
  const Var a = vector_of({0.7}), b = vector_of({1.3}), c = vector_of({1});
  const GradientReport report =
      check_gradient([&] { return square_with(a, 1) + square_with(b, 2) + c * 0.0; }, {{"a", a}, {"b", b}, {"c", c}});
  CHECK(report.verdict == GradientVerdict::wrong);
  REQUIRE(report.entries.size() == 3);
  CHECK(report.entries[0].verdict == GradientVerdict::passed);
  CHECK(report.entries[2].verdict == GradientVerdict::nothing_tested);
}
TEST_CASE("the report's text: verdict first, one line an input") {
  const Var x = vector_of({0.5}), y = vector_of({2});
  const GradientReport report =
      check_gradient([&] { return square_with(x, 1) + square_with(y, 2); }, {{"x", x}, {"W_a", y}});
  const std::string text = report.text();
  CAPTURE(text);
  CHECK(opens_with(text, "self check: GC_WRONG_GRADIENT\n"));
  CHECK(contains(text, "tensor         worst at          analytic       numeric        error"));
  CHECK(contains(text, "\n  W_a            (0)"));
  CHECK(contains(text, "3.3e-01  GC_WRONG_GRADIENT"));
  CHECK(contains(text, "0.0e+00  PASSED"));
}
TEST_CASE("a refusal's text has code and reason and no table") {
  const Var x = parameter(tensor(Shape{1}, {1}, f32));
  const std::string text = check_gradient([&] { return x; }, {{"x", x}}).text();
  CHECK(opens_with(text, "self check: GC_FLOAT32: x is f32."));
  CHECK_FALSE(contains(text, "worst at"));
}
TEST_CASE("a model of several layers passes at once") {
  const Var w = parameter(tensor(Shape{3, 4}, Numbers(1).many(12, -0.7, 0.7), f64));
  const Var u = parameter(tensor(Shape{4, 4}, Numbers(2).many(16, -0.7, 0.7), f64));
  const Var v = parameter(tensor(Shape{4}, Numbers(3).many(4, -1, 1), f64));
  const Var x = tensor(Shape{2, 3}, Numbers(4).many(6, -1, 1), f64);
  const auto f = [&] {
    Var h = tanh(matmul(x, w));
    for (int i = 0; i < 5; ++i) h = tanh(matmul(x, w) + matmul(h, u));
    return softmax(dot(h, v, Axis{1}), Axis{0});
  };
  const GradientReport report = check_gradient(f, {{"w", w}, {"u", u}, {"v", v}});
  CHECK_MESSAGE(report.passed, report.text());
}
TEST_CASE("checking leaks nothing") {
  const std::int64_t nodes = live_nodes(), buffers = live_buffers();
  {
    const Var x = vector_of({0.5, 1});
    CHECK(check_gradient([&] { return tanh(x); }, {{"x", x}}).passed);
  }
  CHECK(live_nodes() == nodes);
  CHECK(live_buffers() == buffers);
}

TEST_SUITE_END();

}  // namespace gradus::testing
