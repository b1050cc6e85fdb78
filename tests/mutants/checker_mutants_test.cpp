// Planted gradient checkers: each has one published mistake, and the exam for checkers must name it. The library's own
// self check, and right checkers in other words, must pass.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "nn/conventions/checker_exam.h"

using namespace gradus;
using namespace gradus::checker_exam;

namespace {

// A checker with every decision open to be made wrongly.
struct Plan {
  double h = 6e-6, tolerance = 1e-6, seed_spread = 1, floor = 1e-12;
  bool relative = true, nan_fails = true, central = true, in_float = false, refuses_zero = true, looks_at_kinks = true,
       calls_twice = true;
  enum { every, one, first_ten, sizes, total, presence, majority } elements = every;
};

double value(const Op& op, const Numbers& x, const Numbers& w, bool in_float) {
  const Numbers y = op.forward(x);
  if (!in_float) {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += w[i] * y[i];
    return sum;
  }
  float sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<float>(w[i]) * static_cast<float>(y[i]);
  return sum;
}

bool check(const Op& op, const Plan& plan) {
  const Numbers y = op.forward(op.x);
  if (plan.calls_twice)
    for (int i = 0; i < 3; ++i)
      if (op.forward(op.x) != y) return false;
  Numbers w;
  for (std::size_t i = 0; i < y.size(); ++i)
    w.push_back(1 + plan.seed_spread * std::sin(3.7 * static_cast<double>(i + 1)));
  const Numbers analytic = op.backward(op.x, w);
  Numbers numeric;
  bool kink = false;
  for (std::size_t i = 0; i < op.x.size(); ++i) {
    Numbers up = op.x, down = op.x;
    up[i] += plan.h, down[i] -= plan.h;
    const double above = value(op, up, w, plan.in_float), here = value(op, op.x, w, plan.in_float),
                 below = value(op, down, w, plan.in_float);
    numeric.push_back(plan.central ? (above - below) / (2 * plan.h) : (above - here) / plan.h);
    const double right = (above - here) / plan.h, left = (here - below) / plan.h;
    kink |= plan.looks_at_kinks && std::abs(right - left) > 0.1 * (std::abs(right) + std::abs(left));
  }
  const auto none = [](const Numbers& g) { return std::all_of(g.begin(), g.end(), [](double v) { return v == 0; }); };
  if (plan.refuses_zero && none(numeric)) return false;
  if (kink) return false;
  auto agree = [&](double a, double n) {
    const double error = std::abs(a - n) / (plan.relative ? std::abs(a) + std::abs(n) + plan.floor : 1);
    return plan.nan_fails ? error <= plan.tolerance : !(error > plan.tolerance);
  };
  std::size_t agreed = 0;
  switch (plan.elements) {
    case Plan::presence:
      return std::all_of(analytic.begin(), analytic.end(), [](double v) { return std::isfinite(v) && v != 0; });
    case Plan::one:
      return agree(analytic[0], numeric[0]);
    case Plan::total: {
      double a = 0, n = 0;
      for (double v : analytic) a += v;
      for (double v : numeric) n += v;
      return agree(a, n);
    }
    case Plan::sizes:
      for (std::size_t i = 0; i < numeric.size(); ++i)
        if (!agree(std::abs(analytic[i]), std::abs(numeric[i]))) return false;
      return true;
    case Plan::every:
    case Plan::first_ten:
    case Plan::majority:
      for (std::size_t i = 0; i < numeric.size(); ++i) {
        if (plan.elements == Plan::first_ten && i == 10) return true;
        const bool same = agree(analytic[i], numeric[i]);
        agreed += same;
        if (!same && plan.elements != Plan::majority) return false;
      }
      return 2 * agreed > numeric.size();
  }
  return false;
}

// The library's self check, asked about a plain function through an op made of it.
bool library_accepts(const Op& op) {
  const auto n = static_cast<std::int64_t>(op.x.size());
  const Var x = parameter(tensor(Shape{n}, op.x, f64));
  auto list = [](const Tensor& t) {
    Numbers out;
    for (std::int64_t i = 0; i < t.shape()[0]; ++i) out.push_back(t.at({i}));
    return out;
  };
  auto f = [&] {
    const Numbers at = list(x.value()), y = op.forward(at);
    return record("examined", tensor(Shape{static_cast<std::int64_t>(y.size())}, y, f64), {x},
                  [=](const Tensor& dy, Inputs& inputs) {
                    const Numbers dx = op.backward(at, list(dy));
                    inputs.add(0, tensor(Shape{static_cast<std::int64_t>(dx.size())}, dx, f64));
                  });
  };
  return check_gradient(f, {{"x", x}}).passed;
}

}  // namespace

TEST_CASE("checkers: planted mistakes in a gradient checker are named") {
  const struct {
    std::string name;
    Plan plan;
    std::string code;
  } rows[] = {
      {"GC_TOO_WEAK: asks whether the gradient is there and finite", {.elements = Plan::presence}, "GC_TOO_WEAK"},
      {"GC_TOO_WEAK: a tolerance of one half", {.tolerance = 0.5}, "GC_TOO_WEAK"},
      {"GC_SIGN_BLIND: compares absolute values", {.elements = Plan::sizes}, "GC_SIGN_BLIND"},
      {"GC_SUM_ONLY: compares the sum", {.seed_spread = 0, .elements = Plan::total}, "GC_SUM_ONLY"},
      {"GC_NAN_PASSES: if (error > tolerance) fail", {.nan_fails = false}, "GC_NAN_PASSES"},
      {"GC_ABS_ONLY: an absolute tolerance of 1e-6", {.relative = false}, "GC_ABS_ONLY"},
      {"GC_VACUOUS_SEED: the loss is the plain sum", {.seed_spread = 0}, "GC_VACUOUS_SEED"},
      {"GC_VACUOUS_SEED: the same, with a floor",
       {.seed_spread = 0, .floor = 1e-4, .refuses_zero = false},
       "GC_VACUOUS_SEED"},
      {"GC_ONE_INDEX: looks at the first element", {.elements = Plan::one}, "GC_ONE_INDEX"},
      {"GC_ONE_INDEX: looks at the first ten", {.elements = Plan::first_ten}, "GC_ONE_INDEX"},
      {"GC_ONE_INDEX: most elements are enough", {.elements = Plan::majority}, "GC_ONE_INDEX"},
      {"GC_TOLERANCE: one per cent is called equal", {.tolerance = 1e-2}, "GC_TOLERANCE"},
      {"GC_FLOAT32: sums in float", {.in_float = true}, "GC_BAD_STEP|GC_FLOAT32"},
      {"GC_BAD_STEP: h = 1e-14", {.h = 1e-14}, "GC_BAD_STEP|GC_FLOAT32"},
      {"GC_BAD_STEP: h = 0.1", {.h = 0.1}, "GC_BAD_STEP"},
      {"GC_BAD_STEP: one-sided differences", {.h = 1e-5, .central = false}, "GC_BAD_STEP"},
      {"GC_NOTHING_TESTED: 0 = 0 passes", {.refuses_zero = false}, "GC_NOTHING_TESTED"},
      {"GC_KINK: takes what central differences say", {.looks_at_kinks = false}, "GC_KINK"},
      {"GC_NONDETERMINISTIC: one call is enough", {.calls_twice = false}, "GC_NONDETERMINISTIC"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const Result result = examine([&](const Op& op) { return check(op, row.plan); });
    INFO(result.text());
    CHECK(result.code == row.code);
    CHECK(std::string(result.fix.zh) != "");
  }
  CHECK(examine([](const Op&) { return true; }).code == "GC_TOO_WEAK");
  CHECK(examine([](const Op&) { return false; }).code == "GC_BAD_STEP|GC_FLOAT32");
}

TEST_CASE("checkers: a right checker passes the exam, also with other steps, tolerances and seeds") {
  for (const Plan& plan : {Plan{}, Plan{.h = 1e-5}, Plan{.h = 3e-6}, Plan{.tolerance = 1e-7}, Plan{.tolerance = 1e-5},
                           Plan{.seed_spread = 0.5}}) {
    const Result result = examine([&](const Op& op) { return check(op, plan); });
    INFO(result.text());
    CHECK(result.passed());
  }
}

TEST_CASE("checkers: the library's self check passes the exam for checkers") {
  const Result result = examine(library_accepts);
  INFO(result.text());
  CHECK(result.passed());
}

TEST_CASE("checkers: the report speaks both languages and says the verdict first") {
  const Result result = examine([](const Op& op) { return check(op, {.relative = false}); });
  CHECK(result.text().starts_with("GC_ABS_ONLY: it accepts"));
  CHECK(result.text(Lang::zh).starts_with("GC_ABS_ONLY：梯度很小时"));
  CHECK(result.text().find("WRONG  accepts  y = 1e-7 sin x") != std::string::npos);
}
