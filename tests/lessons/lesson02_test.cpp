// Lesson 02: the scalar tape against school and against Var, the two wrong walks, and the two fits.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "autograd/ops.h"
#include "lessons/02_tape/fit.h"
#include "lessons/02_tape/tape_picture.h"
#include "lessons/02_tape/wrong_walks.h"
#include "tests/tensor/check.h"

using namespace gradus;
using namespace gradus::lesson02;
using gradus::testing::contains;

namespace {

// The pages of the lesson that lack `text`.
std::string missing_in(const std::string& text) {
  std::string missing;
  for (const char* page : {"README.md", "README.zh.md"}) {
    std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/lessons/02_tape/" + page);
    std::ostringstream all;
    all << in.rdbuf();
    if (!contains(all.str(), text)) missing += std::string(page) + " lacks '" + text + "' ";
  }
  return missing;
}
std::string six(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", value);
  return text;
}

Var number(double value) { return parameter(full(Shape{}, value, f64)); }

}  // namespace

TEST_SUITE_BEGIN("lesson 02");

TEST_CASE("lesson 02: gradients of shared numbers are exact on both tapes") {
  const struct {
    std::string text;
    double x, exact;
    Scalar (*scalars)(Scalar);
    Var (*vars)(const Var&);
  } rows[] = {
      {"x x x", 3, 27, [](Scalar x) { return x * x * x; }, [](const Var& x) { return x * x * x; }},
      {"a diamond: (x + x)(x x)", 2, 24, [](Scalar x) { return (x + x) * (x * x); },
       [](const Var& x) { return (x + x) * (x * x); }},
      {"a diamond inside: b = x x, (b + b) b", 2, 64,
       [](Scalar x) {
         const Scalar b = x * x;
         return (b + b) * b;
       },
       [](const Var& x) {
         const Var b = x * x;
         return (b + b) * b;
       }},
      {"used early and late: x + (x x)(x x)", 3, 109,
       [](Scalar x) {
         const Scalar b = x * x;
         return x + b * b;
       },
       [](const Var& x) {
         const Var b = x * x;
         return x + b * b;
       }},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    Tape tape;
    const Scalar x = leaf(tape, "x", row.x);
    lesson02::backward(row.scalars(x));
    CHECK(x.grad() == row.exact);
    const Var v = number(row.x);
    gradus::backward(row.vars(v));
    CHECK(v.grad().item() == row.exact);
  }
}

TEST_CASE("lesson 02: the step by hand, as both pages print it") {
  const double w = -1.2, x = 0.5, p = w * x, t = std::tanh(p), dt = p, more = dt * (1 - t * t), dp = t + more;
  for (const std::string& text : {"\\tanh(-0.6) = " + six(t), "y = " + six(p * t), "1 \\cdot t = " + six(t),
                                  "-0.6 \\cdot " + six(1 - t * t) + " = " + six(more), "\\bar p = " + six(dp),
                                  six(std::stod(six(t)) + std::stod(six(more))), "\\bar p \\cdot 0.5 = " + six(dp * x),
                                  "\\bar p \\cdot (-1.2) = " + six(dp * w)}) {
    CHECK(missing_in(text) == "");
  }
}

TEST_CASE("lesson 02: only what leads to the result gets a gradient") {
  Tape tape;
  const Scalar x = leaf(tape, "x", 2), y = leaf(tape, "y", 5);
  const Scalar used = x * x, beside = x * y, later = used * y;
  lesson02::backward(used);
  CHECK(x.grad() == 4);
  CHECK(y.grad() == 0);
  CHECK(beside.grad() == 0);
  CHECK(later.grad() == 0);
}

TEST_CASE("lesson 02: inputs stand before what uses them") {
  Tape tape = tape_with(first_weights(1));
  net(tape, leaf(tape, "x", 0.3));
  for (std::size_t i = 0; i < tape.steps.size(); ++i)
    for (std::size_t input : tape.steps[i].inputs) CHECK(input < i);
}

TEST_CASE("lesson 02: the wrong walks are right on trees and wrong as the table says elsewhere") {
  auto slope = [](Scalar (*plus)(Scalar, Scalar), Scalar (*times)(Scalar, Scalar), bool waits, bool tree) {
    Tape tape;
    const Scalar x = leaf(tape, "x", 3);
    const Scalar b = times(x, tree ? leaf(tape, "2", 2) : x);
    const Scalar y = plus(b, tree ? leaf(tape, "1", 1) : b);
    if (waits) lesson02::backward(y);
    else impatient_backward(y);
    return x.grad();
  };
  auto right_plus = [](Scalar a, Scalar b) { return a + b; };
  auto right_times = [](Scalar a, Scalar b) { return a * b; };
  CHECK(slope(right_plus, right_times, true, true) == 2);
  CHECK(slope(overwriting_plus, overwriting_times, true, true) == 2);
  CHECK(slope(right_plus, right_times, false, true) == 2);
  CHECK(slope(right_plus, right_times, true, false) == 12);  // 2 x x
  CHECK(slope(overwriting_plus, overwriting_times, true, false) == 3);
  CHECK(slope(right_plus, right_times, false, false) == 24);
}

TEST_CASE("lesson 02: a recursion visits every way, 2^(n+1) - 1 steps of n + 1") {
  for (int n : {1, 5, 10}) {
    Tape tape;
    Scalar y = leaf(tape, "x", 1);
    for (int i = 0; i < n; ++i) y = y + y;
    CHECK(impatient_backward(y).visits == (std::int64_t{2} << n) - 1);
    CHECK(tape.steps.size() == static_cast<std::size_t>(n) + 1);
  }
}

TEST_CASE("lesson 02: the net is its formula") {
  const Weights w{0.3, -0.2, 1.5, -0.7, 0.4, 0.9, 0.1};
  Tape tape = tape_with(w);
  const double y = w[2] * std::tanh(w[0] * 0.6 + w[1]) + w[5] * std::tanh(w[3] * 0.6 + w[4]) + w[6];
  CHECK(std::fabs(net(tape, leaf(tape, "x", 0.6)).value() - y) < 1e-15);
  const Points points = bump();
  CHECK(points.x.size() == 21);
  CHECK(points.x.front() == -2);
  CHECK(points.x.back() == 2);
  CHECK(std::fabs(points.y[10] - 2 * std::tanh(1.0)) < 1e-15);
}

TEST_CASE("lesson 02: the net's gradients are those of differences") {
  const Weights weights = first_weights(3);
  Tape tape = tape_with(weights);
  const Scalar x = leaf(tape, "x", 0.7);
  lesson02::backward(net(tape, x));
  auto value = [](const Weights& w, double at) {
    Tape other = tape_with(w);
    return net(other, leaf(other, "x", at)).value();
  };
  constexpr double h = 6e-6;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    Weights right = weights, left = weights;
    right[k] += h;
    left[k] -= h;
    CAPTURE(letters[k]);
    CHECK(std::fabs(tape.steps[k].grad - (value(right, 0.7) - value(left, 0.7)) / (2 * h)) < 1e-9);
  }
  CHECK(std::fabs(x.grad() - (value(weights, 0.7 + h) - value(weights, 0.7 - h)) / (2 * h)) < 1e-9);
}

TEST_CASE("lesson 02: scalar tape and Vars train alike, and reach the bump") {
  const Fit scalars = fit_tape(first_weights(2), 300), vars = fit_vars(first_weights(2), 300);
  REQUIRE(scalars.loss.size() == vars.loss.size());
  for (std::size_t i = 0; i < scalars.loss.size(); ++i) CHECK(std::fabs(scalars.loss[i] - vars.loss[i]) < 1e-12);
  CHECK(scalars.loss.back() < 0.01 * scalars.loss.front());
  CHECK(scalars.tape_length == 21 * 15 + 7 + 3);
  CHECK(vars.tape_length < 40);
}

TEST_CASE("lesson 02: two neurons end where the pages say") {
  const double ends[] = {0.000105, 0.000158, 0.000077};
  for (std::size_t seed = 1; seed <= 3; ++seed) {
    const double said = ends[seed - 1], last = fit_tape(first_weights(seed), 2000).loss.back();
    CAPTURE(seed);
    CHECK(std::fabs(last / said - 1) < 0.02);
    CHECK(missing_in(six(said)) == "");
  }
}

TEST_CASE("lesson 02: the picture shows every step with value and gradient") {
  Tape tape;
  const Scalar a = leaf(tape, "a<b", 2);
  lesson02::backward(a * a);
  CHECK(contains(tape_text(tape, Lang::en), "     1  *         4.000000    1.000000  0 0\n"));
  const std::string svg = tape_svg(tape, "A & B", Lang::en);
  CHECK(contains(svg, "<title>A &amp; B</title>"));
  CHECK(contains(svg, "a&lt;b"));
  CHECK(contains(svg, "grad 4.000000"));
}

TEST_SUITE_END();
