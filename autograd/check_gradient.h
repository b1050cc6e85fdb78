// The self check (G1): the gradient that the tape gives against central differences of the same function.
//
//   GradientReport report = check_gradient([&] { return layer(x); }, {{"W", layer.W}, {"x", x}});
//   CHECK_MESSAGE(report.passed, report.text());
//
// What it finds: a backward that does not belong to its forward. What it cannot find: a forward that is not what the
// paper says, because the gradient of a wrong function is right for that function. For that see the reference check
// (G2) and the probes (G3) in nn/conventions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/var.h"

namespace gradus {

// One leaf whose gradient is checked, element by element. A gradient that is zero by theory (a key bias under softmax,
// say) proves nothing when it is zero, so it must be declared with the reason in `zero_because`.
struct CheckedInput {
  std::string name;
  Var leaf;
  std::string zero_because = "";
};

struct CheckOptions {
  double tolerance = 1e-8;  // of |analytic - numeric| / (|analytic| + |numeric|)
  std::uint64_t seed = 1;   // of the cotangent: the result is weighted with fixed random numbers, never plainly summed
};

enum class GradientVerdict {
  passed,
  wrong,
  float32,           // a leaf or the result is f32: rounding would hide everything
  nondeterministic,  // two calls of f differ
  not_finite,
  kink,            // within a step, so differences say nothing
  nothing_tested,  // the input does not change the result
  not_zero,        // declared with zero_because, and is not
  unusable         // no leaf, or one that takes no gradient
};
const char* to_string(GradientVerdict verdict);  // stable codes: "PASSED", "GC_WRONG_GRADIENT", "GC_FLOAT32", ...

struct GradientEntry {  // the worst place of one input
  std::string name;
  GradientVerdict verdict = GradientVerdict::passed;
  std::vector<std::int64_t> position;
  double analytic = 0, numeric = 0, error = 0;  // error: |a - n| / (|a| + |n|), beyond what rounding explains
  std::string note;
};

struct GradientReport {
  bool passed = false;
  GradientVerdict verdict = GradientVerdict::passed;  // the first thing that is wrong
  std::string note;
  std::vector<GradientEntry> entries;  // one per input, in order
  std::string text() const;            // a small table, verdict first
};

// `f` computes the result anew from the leaves, whose values are nudged one element at a time (and restored). Each leaf
// must be f64 and take a gradient; its gradient is zero afterwards. Refuses, with a verdict, what would make the
// comparison worthless: f32, a function that differs between two calls, NaN, a kink within a step, an input that
// changes nothing. Cost: four evaluations of f per element. Steps: cbrt(machine epsilon) * max(1, |x|), with one
// Richardson extrapolation.
GradientReport check_gradient(const std::function<Var()>& f, const std::vector<CheckedInput>& inputs,
                              CheckOptions options = {});

}  // namespace gradus
