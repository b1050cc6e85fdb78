// Central differences, and the conditions under which they mean something.
#include "autograd/check_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tensor/random.h"

namespace gradus {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// sum(w * y), and how big its terms are: that sets the rounding error of a difference of two such sums.
struct Objective {
  std::vector<double> weights;
  double scale = 0;

  double operator()(const std::function<Var()>& f) {
    NoGrad no_grad;
    const std::vector<double> y = f().value().to_vector();
    double total = 0;
    scale = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      total += weights[i] * y[i];
      scale += std::fabs(weights[i] * y[i]);
    }
    return total;
  }
};

// One element of a leaf, moved for a moment.
class Nudge {
 public:
  Nudge(const Var& leaf, std::int64_t place)
      : value_(leaf.mutable_value()), place_(place), before_(value_.data<double>()[place]) {}
  Nudge(const Nudge&) = delete;
  Nudge& operator=(const Nudge&) = delete;
  ~Nudge() { to(before_); }
  double before() const { return before_; }
  void to(double value) { value_.mutable_data<double>()[place_] = value; }  // a new version each time

 private:
  Tensor& value_;
  std::int64_t place_;
  double before_;
};

GradientEntry check_input(const std::function<Var()>& f, const CheckedInput& input, const Tensor& analytic,
                          Objective& objective, double middle, double tolerance) {
  GradientEntry entry;
  entry.name = input.name;
  const Tensor& value = input.leaf.value();
  double largest_numeric = 0, largest_floor = 0;
  entry.error = -1;
  std::vector<std::int64_t> position(static_cast<std::size_t>(value.rank()), 0);
  for (std::int64_t i = 0; i < value.size(); ++i) {
    std::int64_t place = 0, analytic_place = 0;
    for (int axis = 0; axis < value.rank(); ++axis) {
      place += position[static_cast<std::size_t>(axis)] * value.strides()[axis];
      analytic_place += position[static_cast<std::size_t>(axis)] * analytic.strides()[axis];
    }
    Nudge x(input.leaf, place);
    const double h = std::cbrt(epsilon) * std::max(1.0, std::fabs(x.before()));
    auto around = [&](double step) {  // value to the right and to the left
      x.to(x.before() + step);
      const double right = objective(f);
      x.to(x.before() - step);
      return std::pair(right, objective(f));
    };
    const auto [far_right, far_left] = around(h);
    const auto [near_right, near_left] = around(h / 2);
    const double coarse = (far_right - far_left) / (2 * h), fine = (near_right - near_left) / h;
    const double numeric = (4 * fine - coarse) / 3;  // Richardson: the h^2 term cancels
    const double a = analytic.data<double>()[analytic_place];
    const double floor = 16 * epsilon * (objective.scale + std::fabs(middle)) / h;
    const double size = std::fabs(a) + std::fabs(numeric);
    const double gap = std::fabs(a - numeric);
    // Not "error > tolerance": that is false for NaN, and NaN would pass.
    const bool agrees = gap <= tolerance * size + floor;
    const double error = agrees && gap <= floor ? 0 : gap / size;
    // A smooth function bends by |f''| h over a step h, half as much over h / 2; at a kink the slope jumps by the same
    // amount however small the step.
    const double bend = std::fabs(far_right - 2 * middle + far_left) / h;
    const double half_bend = std::fabs(near_right - 2 * middle + near_left) / (h / 2);
    bool kink = bend > 1e-3 * size + 64 * floor && std::fabs(half_bend / bend - 0.5) > 0.2;
    if (!agrees && !kink &&
        bend > 1e-3 * size + 64 * floor) {  // a kink beside the point can halve by chance, but not twice
      const auto [closer_right, closer_left] = around(h / 4);
      const double quarter_bend = std::fabs(closer_right - 2 * middle + closer_left) / (h / 4);
      kink = std::fabs(quarter_bend / half_bend - 0.5) > 0.2;
    }
    GradientVerdict verdict = GradientVerdict::passed;
    if (!std::isfinite(a) || !std::isfinite(numeric)) verdict = GradientVerdict::not_finite;
    else if (kink) verdict = GradientVerdict::kink;
    else if (!agrees) verdict = GradientVerdict::wrong;
    const bool worse = verdict != GradientVerdict::passed
                           ? entry.verdict == GradientVerdict::passed || !(error <= entry.error)
                           : entry.verdict == GradientVerdict::passed && error > entry.error;
    if (worse) {
      entry.verdict = verdict;
      entry.position = position;
      entry.analytic = a;
      entry.numeric = numeric;
      entry.error = error;
    }
    largest_numeric = std::max(largest_numeric, std::fabs(numeric));
    largest_floor = std::max(largest_floor, floor);
    for (int axis = value.rank() - 1; axis >= 0; --axis) {
      if (++position[static_cast<std::size_t>(axis)] < value.shape()[axis]) break;
      position[static_cast<std::size_t>(axis)] = 0;
    }
  }
  entry.error = std::max(entry.error, 0.0);
  if (entry.verdict != GradientVerdict::passed || value.size() == 0) return entry;
  const bool moves = largest_numeric > 4 * largest_floor;
  if (!moves && input.zero_because.empty()) {
    entry.verdict = GradientVerdict::nothing_tested;
    entry.note =
        "no element changes the result, so nothing was tested. Is it used? If zero is right, say why in zero_because";
  } else if (moves && !input.zero_because.empty()) {
    entry.verdict = GradientVerdict::not_zero;
    entry.note = "declared zero (" + input.zero_because + "), but it is not";
  } else if (!moves) {
    entry.note = "zero, as declared: " + input.zero_because;
  }
  return entry;
}

GradientReport refuse(GradientVerdict verdict, std::string note) {
  GradientReport report;
  report.verdict = verdict;
  report.note = std::move(note);
  return report;
}

}  // namespace

const char* to_string(GradientVerdict verdict) {
  switch (verdict) {
    case GradientVerdict::passed:
      return "PASSED";
    case GradientVerdict::wrong:
      return "GC_WRONG_GRADIENT";
    case GradientVerdict::float32:
      return "GC_FLOAT32";
    case GradientVerdict::nondeterministic:
      return "GC_NONDETERMINISTIC";
    case GradientVerdict::not_finite:
      return "GC_NOT_FINITE";
    case GradientVerdict::kink:
      return "GC_KINK";
    case GradientVerdict::nothing_tested:
      return "GC_NOTHING_TESTED";
    case GradientVerdict::not_zero:
      return "GC_NOT_ZERO";
    case GradientVerdict::unusable:
      return "GC_UNUSABLE";
  }
  return "";
}

GradientReport check_gradient(const std::function<Var()>& f, const std::vector<CheckedInput>& inputs,
                              CheckOptions options) {
  for (const CheckedInput& input : inputs) {
    if (!input.leaf.requires_grad() || !input.leaf.node()->inputs.empty()) {
      return refuse(GradientVerdict::unusable,
                    input.name + " is not a leaf that takes a gradient: make it with parameter(...)");
    }
    if (input.leaf.dtype() != f64) {
      return refuse(GradientVerdict::float32,
                    input.name +
                        " is f32. Half of its 24 bits are lost in a difference, so right gradients "
                        "fail and wrong ones pass: check clone(model, f64) instead");
    }
    input.leaf.zero_grad();
  }
  const Var result = f();
  const Tensor first = copy(result.value());
  if (first.dtype() != f64) return refuse(GradientVerdict::float32, "the result is f32; compute it in f64");
  const std::vector<double> once = first.to_vector(), twice = f().value().to_vector();
  for (std::size_t i = 0; i < once.size(); ++i) {
    if (!std::isfinite(once[i])) return refuse(GradientVerdict::not_finite, "the result itself holds NaN or infinity");
  }
  if (once != twice) {
    return refuse(GradientVerdict::nondeterministic,
                  "two calls at the same point differ. Fix what is random (a dropout mask, a "
                  "generator that goes on drawing) before comparing gradients");
  }
  if (!result.requires_grad())
    return refuse(GradientVerdict::nothing_tested, "the result does not depend on any checked input: the graph is cut");

  Generator generator(options.seed, "cotangent");
  Objective objective;
  for (std::size_t i = 0; i < once.size(); ++i) {
    objective.weights.push_back(generator.uniform(0.5, 1.5) * (generator.chance(0.5) ? 1 : -1));
  }
  backward(result, tensor(first.shape(), objective.weights, f64));
  std::vector<Tensor> analytic;
  for (const CheckedInput& input : inputs) {
    analytic.push_back(input.leaf.grad());
    input.leaf.zero_grad();
  }
  GradientReport report;
  report.passed = true;
  const double middle = objective(f);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    report.entries.push_back(check_input(f, inputs[k], analytic[k], objective, middle, options.tolerance));
    const GradientEntry& entry = report.entries.back();
    if (entry.verdict == GradientVerdict::passed) continue;
    if (report.passed) report.verdict = entry.verdict;
    report.passed = false;
  }
  return report;
}

std::string GradientReport::text() const {
  std::string out = std::string("self check: ") + to_string(verdict) + (note.empty() ? "" : ": " + note) + "\n";
  if (entries.empty()) return out;
  out += "  tensor         worst at          analytic       numeric        error\n";
  for (const GradientEntry& entry : entries) {
    std::string place = "(";
    for (std::size_t i = 0; i < entry.position.size(); ++i)
      place += (i ? ", " : "") + std::to_string(entry.position[i]);
    place += ")";
    out += fmt::format("  {:<14} {:<12} {:>14.6g} {:>14.6g} {:>12.1e}  {}\n", entry.name, place, entry.analytic,
                       entry.numeric, entry.error, to_string(entry.verdict));
    if (!entry.note.empty()) out += "                 " + entry.note + "\n";
  }
  return out;
}

}  // namespace gradus
