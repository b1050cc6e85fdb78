// What lesson 03's exercise must do: differences and errors with known answers, then the exam for checkers.
#include "lessons/common/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "lessons/03_gradient_check/exercise.h"

namespace gradus::lesson03 {
namespace {

using check::first_of;
using check::has_numbers;
using check::holds;
using check::Result;

std::string text(const char* format, double value) {
  char line[64];
  std::snprintf(line, sizeof line, format, value);
  return line;
}

double one_over(const Numbers& x) { return 1 / x[0]; }
double product(const Numbers& x) { return x[0] * x[1] + x[1] * x[1] * x[2]; }
double relu_of(const Numbers& x) { return x[0] > 0 ? x[0] : 0; }

Result difference_is(const Words& what, const Objective& L, const Numbers& x, std::size_t i, double slope) {
  const double got = central_difference(L, x, i), off = std::fabs((got - slope) / slope);
  if (off <= 1e-7) return std::nullopt;
  const Words step{what.en + ": further from the slope than a central difference with a good step",
                   what.zh + "：与斜率的距离，比步长合适的中心差分大"};
  const Words wrong{what.en + ": this is not the slope", what.zh + "：这不是斜率"};
  const bool near = off < 1e-2;
  return holds(false, near ? "GC_BAD_STEP" : check::wrong_numbers, near ? step : wrong, text("%.9g", slope),
               text("%.9g", got) + text("  (off by %.0e of it)", off));
}

Result differences() {
  return first_of({
      {"central_difference",
       [] {
         return holds(central_difference(product, {3, 2, 5}, 0) != 0 || central_difference(one_over, {2}, 0) != 0,
                      check::not_written,
                      {"central_difference still returns 0: this is a place to fill",
                       "central_difference 还是返回 0：这里要由你来写"});
       }},
      {"central_difference",
       [] {
         return difference_is({"1/x at 2", "1/x 在 2 处"}, one_over, {2}, 0, -0.25);
       }},
      {"central_difference",
       [] {
         return difference_is(
             {"x_1 x_2 + x_2^2 x_3 at (3, 2, 5), by x_2", "x_1 x_2 + x_2^2 x_3 在 (3, 2, 5) 处，对 x_2"}, product,
             {3, 2, 5}, 1, 23);
       }},
      {"central_difference",
       [] {
         return difference_is(
             {"x^3 at 2000", "x^3 在 2000 处"}, [](const Numbers& x) { return x[0] * x[0] * x[0]; }, {2000}, 0, 12e6);
       }},
      {"central_difference",
       [] {
         return difference_is(
             {"exp(x) at 0", "exp(x) 在 0 处"}, [](const Numbers& x) { return std::exp(x[0]); }, {0}, 0, 1);
       }},
  });
}

Result errors() {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  return first_of({
      {"relative_error",
       [] {
         return holds(
             relative_error(1, 3) != 0, check::not_written,
             {"relative_error still returns 0: this is a place to fill", "relative_error 还是返回 0：这里要由你来写"});
       }},
      {"relative_error",
       [] {
         return has_numbers({"errors of (1, 3), (2e-7, 1e-7), (3, -3), (0, 5), (-2, -2), (0, 0)",
                             "(1, 3)、(2e-7, 1e-7)、(3, -3)、(0, 5)、(-2, -2)、(0, 0) 的误差"},
                            {relative_error(1, 3), relative_error(2e-7, 1e-7), relative_error(3, -3),
                             relative_error(0, 5), relative_error(-2, -2), relative_error(0, 0)},
                            {0.5, 1.0 / 3, 1, 1, 0, 0});
       }},
      {"relative_error",
       [] {
         return holds(!(relative_error(none, 1) <= 1e-6) && !(relative_error(1, none) <= 1e-6), "GC_NAN_PASSES",
                      {"NaN against 1 has a small error: NaN would pass", "NaN 与 1 的误差很小：NaN 就会通过"}, "NaN",
                      text("%g", relative_error(none, 1)));
       }},
  });
}

// Where L has a kink at x and this is not seen, or the other way round.
Result kink_is(bool there, const Words& what, const Objective& L, double x) {
  const bool got = has_kink(L, {x}, 0);
  const Words unseen{what.en + ": the slopes on both sides differ, and this is not seen",
                     what.zh + "：两侧斜率不同，却没有看出来"};
  const Words invented{what.en + ": there is no kink, and one is reported", what.zh + "：没有折点，却报告有"};
  return holds(got == there, there ? "GC_KINK" : "KINK_EVERYWHERE", there ? unseen : invented, there ? "true" : "false",
               got ? "true" : "false");
}

double absolute(const Numbers& x) { return std::fabs(x[0]); }
double square(const Numbers& x) { return x[0] * x[0]; }
double exponential(const Numbers& x) { return std::exp(x[0]); }
double three(const Numbers&) { return 3; }

Result kinks() {
  auto row = [](bool there, const Words& what, double (*L)(const Numbers&), double x) {
    return check::At{"has_kink", [=] { return kink_is(there, what, L, x); }};
  };
  return first_of({
      row(true, {"relu at 0", "relu 在 0 处"}, relu_of, 0),
      row(false, {"relu at 1", "relu 在 1 处"}, relu_of, 1),
      row(false, {"relu at -1", "relu 在 -1 处"}, relu_of, -1),
      row(true, {"relu at 0.000001, within a step", "relu 在 0.000001 处，一步之内"}, relu_of, 1e-6),
      row(true, {"|x| at 0, whose central difference is 0", "|x| 在 0 处，中心差分为 0"}, absolute, 0),
      row(false, {"x^2 at 1", "x^2 在 1 处"}, square, 1),
      row(false, {"exp(x) at 2", "exp(x) 在 2 处"}, exponential, 2),
      row(false, {"a constant", "常数"}, three, 1),
  });
}

// The exam's verdict; its questions are those that the mistake is named after.
Result exam() {
  return first_of(
      {{"accepts", []() -> Result {
          const checker_exam::Result result = checker_exam::examine(accepts);
          if (result.passed()) return std::nullopt;
          if (std::none_of(result.marks.begin(), result.marks.end(), [](const auto& m) { return m.accepted; }))
            return holds(false, "ACCEPTS_NOTHING",
                         {"it says no to every backward, the right ones too: nothing gets it to say yes",
                          "它对每个反向都说“不”，对的也一样：没有什么能让它说“是”"},
                         {"yes  (y = 3x + 1, right)", "是（y = 3x + 1，正确的）"}, {"no", "否"});
          check::Failure failure;
          failure.code = result.code;
          failure.why = {result.sentence.en, result.sentence.zh};
          failure.fix = {result.fix.en, result.fix.zh};
          for (const checker_exam::Mark& mark : result.marks) {
            if (mark.should_accept == mark.accepted) continue;
            failure.expected = {(mark.should_accept ? "yes  (" : "no  (") + std::string(mark.question.en) + ")",
                                (mark.should_accept ? "是（" : "否（") + std::string(mark.question.zh) + "）"};
            failure.got = mark.accepted ? check::Text("yes", "是") : check::Text("no", "否");
            break;
          }
          return failure;
        }}});
}

}  // namespace
}  // namespace gradus::lesson03

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson03;
  return {.lesson = "03_gradient_check",
          .taught = {"gradus::check_gradient", "gradus::checker_exam::examine"},
          .parts = {{"numbers", {"differences with known answers", "答案已知的差分"}, "difference", differences},
                    {"errors", {"the relative error", "相对误差"}, "difference", errors},
                    {"kinks", {"kinks, and where there is none", "折点，以及没有折点的地方"}, "kink", kinks},
                    {"exam", {"the exam: right and wrong backwards", "考试：正确的和错误的反向"}, "mistakes", exam}}};
}
