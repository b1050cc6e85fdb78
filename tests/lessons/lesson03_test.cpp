// Lesson 03's laboratory: its closed forms, its twelve mistakes, its dual numbers, and the formulas that people type.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

#include "autograd/check_gradient.h"
#include "lessons/03_gradient_check/formula.h"
#include "lessons/03_gradient_check/naive_check.h"
#include "lessons/03_gradient_check/step_curve.h"
#include "lessons/03_gradient_check/swap.h"
#include "lessons/03_gradient_check/three_nets.h"
#include "tests/tensor/check.h"

using namespace gradus;
using namespace gradus::lesson03;
using gradus::testing::contains;
using gradus::testing::message_of;

namespace {

GradientReport checked(const SmallOp& op, bool wrong) {
  const std::vector<Var> leaves = leaves_of(op, f64);
  std::vector<CheckedInput> inputs;
  for (std::size_t k = 0; k < leaves.size(); ++k) inputs.push_back({"x" + std::to_string(k), leaves[k], ""});
  return check_gradient([&] { return apply(op, leaves, wrong); }, inputs);
}

// The pages of the lesson that lack `text`.
std::string missing_in(const std::string& text) {
  std::string missing;
  for (const char* page : {"README.md", "README.zh.md"}) {
    std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/lessons/03_gradient_check/" + page);
    std::ostringstream all;
    all << in.rdbuf();
    if (!contains(all.str(), text)) missing += std::string(page) + " lacks '" + text + "' ";
  }
  return missing;
}
std::string printed(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

double slope(const char* formula, double x) { return evaluate(formula, {x, 1}).slope; }

}  // namespace

TEST_SUITE_BEGIN("lesson 03");

TEST_CASE("lesson 03: differences of 1/x have the closed forms of the note") {
  for (double x : {0.7, 2.0}) {
    for (double h : {0.1, 0.01, 0.001}) {
      CAPTURE(x);
      CAPTURE(h);
      const double a = -1 / (x * x);
      const double one_sided = error_between(a, slope_of_inverse(Quotient::one_sided, x, h));
      const double central = error_between(a, slope_of_inverse(Quotient::central, x, h));
      CHECK(std::fabs(one_sided - h / (2 * x + h)) < 1e-11);
      CHECK(std::fabs(central - h * h / (2 * x * x - h * h)) < 1e-11);
      CHECK(error_between(a, slope_of_inverse(Quotient::richardson, x, h)) < std::pow(h / x, 4) + 1e-11);
    }
  }
}

TEST_CASE("lesson 03: the bottoms of the curves lie where the note predicts them") {
  const double eps = std::numeric_limits<double>::epsilon(), eps32 = std::numeric_limits<float>::epsilon();
  const struct {
    Quotient quotient;
    double step;
    const char* said;
  } rows[] = {{Quotient::one_sided, std::sqrt(eps), "1.5e-08"},
              {Quotient::central, std::cbrt(eps), "6.1e-06"},
              {Quotient::richardson, std::pow(eps, 0.2), "7.4e-04"},
              {Quotient::central32, std::cbrt(eps32), "4.9e-03"}};
  for (const auto& row : rows) {
    const StepCurve curve = step_curve(row.quotient);
    CAPTURE(row.said);
    CHECK(printed("%.1e", row.step) == row.said);
    CHECK(missing_in(row.said) == "");
    CHECK(std::fabs(std::log10(curve.best_step() / row.step)) < 0.5);
  }
  CHECK(step_curve(Quotient::central).best_error() < 1e-9);
}

TEST_CASE("lesson 03: the self check rejects each wrong backward and accepts its right twin") {
  int ops = 0;
  for (const SmallOp& op : small_ops()) {
    CAPTURE(op.mistake.en);
    CHECK(checked(op, true).verdict == GradientVerdict::wrong);
    CHECK(checked(op, false).passed);
    CHECK_FALSE(naive_check(op, true, {}).passes());
    CHECK(naive_check(op, false, {}).passes());
    ++ops;
  }
  CHECK(ops == 12);
}

TEST_CASE("lesson 03: weaker checks miss what the table says, and nothing else") {
  for (const SmallOp& op : small_ops()) {
    CAPTURE(op.mistake.en);
    const bool places = op.mistake.en.starts_with("softmax") || op.mistake.en.starts_with("reorder");
    const bool small = op.mistake.en.starts_with("mean of 100") || op.mistake.en.starts_with("log");
    CHECK(naive_check(op, true, {.plain_sum = true}).passes() == places);
    CHECK(naive_check(op, true, {.tolerance = 1e-2}).passes() == small);
  }
}

TEST_CASE("lesson 03: the swap passes the self check and differs from the formula") {
  auto number = [](double v) { return parameter(full(Shape{}, v, f64)); };
  for (bool swapped : {false, true}) {
    const GatedStep step{number(0.3), number(0.8), number(-0.6), swapped};
    const Var s = full(Shape{}, 0.5, f64), x = full(Shape{}, 1, f64);
    CHECK(check_gradient([&] { return step(s, x); }, {{"w", step.w, ""}, {"u", step.u, ""}, {"a", step.a, ""}}).passed);
    const double gap = std::fabs(step(s, x).item() - gated_step_by_formula(0.3, 0.8, -0.6, 0.5, 1));
    CHECK((swapped ? gap > 0.01 : gap < 1e-14));
  }
}

TEST_CASE("lesson 03: the self check tells the right net from both wrong ones, for every seed") {
  for (std::uint64_t seed : {1, 2, 3, 4, 5}) {
    std::int64_t calls = 0;
    CHECK(check_net(Backward::right, seed, &calls).passed);
    CHECK(calls == 103);
    CHECK(check_net(Backward::bias_first_row, seed, &calls).verdict == GradientVerdict::wrong);
    CHECK(check_net(Backward::tanh_abs, seed, &calls).verdict == GradientVerdict::wrong);
    CHECK(std::fabs(agreement(Backward::right, seed) - 1) < 1e-12);
    CHECK(agreement(Backward::tanh_abs, seed) > 0);
  }
}

TEST_CASE("lesson 03: on symmetric points the biases' gradients cancel, and nothing is tested") {
  std::int64_t calls = 0;
  CHECK(check_net(Backward::right, 1, &calls, -1.5).verdict == GradientVerdict::nothing_tested);
}

TEST_CASE("lesson 03: dual numbers have the slopes of the textbook") {
  const struct {
    const char* formula;
    double x, slope;
  } rows[] = {
      {"x", 3, 1},
      {"7", 3, 0},
      {"x * x", 2, 4},
      {"x^3 - 2 * x", 2, 10},
      {"x^0", 5, 0},
      {"1 / x", 2, -0.25},
      {"(1 + x) / (1 - x)", 3, 0.5},
      {"-x^2", 3, -6},
      {"2 - x - x", 1, -2},
      {"8 / x / 2", 2, -1},
      {"exp(2 * x)", 0.5, 2 * std::exp(1.0)},
      {"log(x)", 4, 0.25},
      {"sqrt(x)", 4, 0.25},
      {"tanh(x)", 0.3, 1 - std::tanh(0.3) * std::tanh(0.3)},
      {"sigmoid(x)", 0, 0.25},
      {"relu(x) + relu(-x)", -2, -1},
      {"abs(x)", -2, -1},
      {"relu(x)", 0, 0},
  };
  for (const auto& row : rows) {
    CAPTURE(row.formula);
    CHECK(std::fabs(slope(row.formula, row.x) - row.slope) < 1e-14);
  }
  CHECK(std::fabs(evaluate("-x^2", {3, 1}).value + 9) < 1e-15);
}

TEST_CASE("lesson 03: swish by hand, as both pages print it") {
  const double g = 1 / (1 + std::exp(-0.5)), dg = g * (1 - g);
  const std::string six = "%.6f";
  auto n = [&](double value) { return printed(six.c_str(), value); };
  CHECK(missing_in("0.5) = " + n(g)) == "");
  CHECK(missing_in(n(g) + " \\cdot (1 - " + n(g) + ") = " + n(dg)) == "");
  CHECK(missing_in("0.5 \\cdot " + n(g) + " = " + n(0.5 * g)) == "");
  CHECK(missing_in("1 \\cdot " + n(g) + " + 0.5 \\cdot " + n(dg) + " = " + n(g + 0.5 * dg)) == "");
}

TEST_CASE("lesson 03: the answers to the exercises") {
  auto square = [](double x) { return x * x; };
  CHECK(std::fabs((square(3.1) - square(3)) / 0.1 - 6.1) < 1e-12);
  CHECK(std::fabs((square(3.1) - square(2.9)) / 0.2 - 6) < 1e-12);
  CHECK(std::fabs(slope("x / (1 + x)", 1) - 0.25) < 1e-15);
  double best = 1, best_step = 0;
  for (double h : {1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12}) {
    const double error = error_between(-1e10, slope_of_inverse(Quotient::central, 1e-5, h));
    if (error < best) best = error, best_step = h;
  }
  CHECK(best_step == 1e-11);
}

TEST_CASE("lesson 03: the three trainings end where the pages say") {
  const double said[3][3] = {{0.0081, 0.0160, 0.0055}, {0.0074, 0.0198, 0.0052}, {0.0088, 0.0153, 0.0066}};
  for (std::size_t seed = 1; seed <= 3; ++seed) {
    for (std::size_t k = 0; k < 3; ++k) {
      CAPTURE(seed);
      CAPTURE(k);
      const double expected = said[seed - 1][k];
      CHECK(std::fabs(train(all_backwards[k], 5000, seed).last_loss / expected - 1) < 0.05);
      CHECK(missing_in(printed("%.4f", expected)) == "");
    }
  }
}

TEST_CASE("lesson 03: a formula that makes no sense is refused where it stops making sense") {
  const std::pair<const char*, const char*> rows[] = {
      {"x +", "at its end"},
      {"(x", "needs ')' at its end"},
      {"x x", "needs an operator where it says 'x'"},
      {"sin(x)", "says 'sin(x)'"},
      {"tanh x", "needs '('"},
      {"x^1.5", "a whole power"},
      {"x^-1", "a whole power"},
      {"", "at its end"},
      {"1e999", "a number"},
      {"nan", "exp log sqrt tanh"},
      {"x * )", "where it says ')'"},
  };
  for (const auto& row : rows) {
    const std::string message = message_of<ValueError>([&] { evaluate(row.first, {1, 1}); });
    INFO(message);
    CHECK(contains(message, row.second));
  }
  CHECK(contains(message_of<ValueError>([] { evaluate(std::string(100000, '('), {1, 1}); }), "fewer"));
  CHECK(contains(message_of<ValueError>([] { evaluate(std::string(100000, '-'), {1, 1}); }), "fewer"));
}

TEST_SUITE_END();
