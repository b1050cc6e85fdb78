// What lesson 02's exercise must do: values and slopes of single steps, the example of the note, shared numbers, a
// random program against differences, and long lists.
#include "lessons/common/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lessons/02_tape/exercise.h"
#include "tensor/random.h"

namespace gradus::lesson02 {
namespace {

using check::first_of;
using check::has_numbers;
using check::holds;
using check::Result;

std::string text(double value) {
  char line[32];
  std::snprintf(line, sizeof line, "%.9g", value);
  return line;
}

List leaves(const std::vector<double>& values) {
  List list;
  for (double value : values) list.push_back({value, 0, {}});
  return list;
}

// One step was added at the end, and its number returned.
Result added_one(const List& list, std::size_t before, std::size_t got) {
  if (Result missing = holds(list.size() != before, check::not_written,
                             {"no step is added yet: this is a place to fill", "还没有加上步骤：这里要由你来写"}))
    return missing;
  return holds(list.size() == before + 1 && got == before, "STEP_NUMBER",
               {"one step goes to the end of the list, and its number is returned", "在末尾加一步，并返回它的编号"},
               "step " + std::to_string(before) + " of " + std::to_string(before + 1),
               {"step " + std::to_string(got) + " of " + std::to_string(list.size()),
                "第 " + std::to_string(got) + " 步，共 " + std::to_string(list.size()) + " 步"});
}

// Value of the last step, and its slope to each input (both added up where the inputs are the same step).
Result step_is(const std::string& what, const List& list, double value, std::size_t a, double slope_a, std::size_t b,
               double slope_b) {
  const Entry& entry = list.back();
  if (Result wrong = has_numbers(what, std::vector<double>{entry.value}, {value})) return wrong;
  double to_a = 0, to_b = 0;
  for (const Way& way : entry.ways) {
    if (way.from >= list.size() - 1)
      return holds(
          false, "STEP_NUMBER", {"a way comes from a step that is not before this one", "来路不在这一步之前"},
          {"a number below " + std::to_string(list.size() - 1), "小于 " + std::to_string(list.size() - 1) + " 的编号"},
          std::to_string(way.from));
    if (way.from == a) to_a += way.slope;
    else if (way.from == b) to_b += way.slope;
  }
  return has_numbers({"slopes of " + what + " for the steps 3 and -0.5", what + " 对 3 和 -0.5 的斜率"}, {to_a, to_b},
                     {slope_a, slope_b});
}

Result steps() {
  static const auto single = [](const std::string& what, auto make, double value, double slope_a, double slope_b) {
    List list = leaves({3, -0.5});
    const std::size_t got = make(list);
    if (Result wrong = added_one(list, 2, got)) return wrong;
    return step_is(what, list, value, 0, slope_a, 1, slope_b);
  };
  const double t = std::tanh(-0.5);
  return first_of({
      {"plus",
       [] {
         return single(
             "3 + -0.5", [](List& l) { return plus(l, 0, 1); }, 2.5, 1, 1);
       }},
      {"plus",
       [] {
         return single(
             "3 + 3, one step twice", [](List& l) { return plus(l, 0, 0); }, 6, 2, 0);
       }},
      {"times",
       [] {
         return single(
             "3 * -0.5", [](List& l) { return times(l, 0, 1); }, -1.5, -0.5, 3);
       }},
      {"times",
       [] {
         return single(
             "3 * 3, one step twice", [](List& l) { return times(l, 0, 0); }, 9, 6, 0);
       }},
      {"tanh_of",
       [t] {
         return single(
             "tanh(-0.5)", [](List& l) { return tanh_of(l, 1); }, t, 0, 1 - t * t);
       }},
  });
}

// Gradients of the note's example, and of a list with a step beside the way and one after the result.
Result by_hand() {
  return first_of({
      {"backward",
       [] {
         List list = leaves({-1.2, 0.5});
         const std::size_t p = times(list, 0, 1), y = times(list, p, tanh_of(list, p));
         List marked = list;
         for (Entry& entry : marked) entry.grad = 7;
         backward(marked, y);
         backward(list, y);
         std::vector<double> got;
         for (const Entry& entry : list) got.push_back(entry.grad);
         if (std::all_of(marked.begin(), marked.end(), [](const Entry& entry) { return entry.grad == 7; }))
           return holds(false, check::not_written,
                        {"no gradient is set yet: this is a place to fill", "还没有设任何梯度：这里要由你来写"});
         if (std::all_of(got.begin(), got.end(), [](double g) { return g == 0; }))
           return holds(
               false, "RESULT_WITHOUT_GRADIENT",
               {"all gradients are 0: a step passes on what it has got, and the result has got none to begin with",
                "所有梯度都是 0：每一步只传递自己得到的梯度，而结果一开始就没有梯度"},
               "d result / d result = 1", "0");
         return has_numbers({"gradients of w, x, p, t, y", "w、x、p、t、y 的梯度"}, got,
                            {-0.481998, 1.156795, -0.963996, -0.6, 1}, 1e-6);
       }},
      {"backward",
       [] {
         List list = leaves({2, 5});
         const std::size_t used = times(list, 0, 0), beside = times(list, 0, 1);
         plus(list, used, beside);
         backward(list, used);
         std::vector<double> got;
         for (const Entry& entry : list) got.push_back(entry.grad);
         return has_numbers({"gradients of x, y, x x, x y, x x + x y, when the result is x x",
                             "结果为 x x 时，x、y、x x、x y、x x + x y 的梯度"},
                            got, {4, 0, 1, 0, 0});
       }},
  });
}

// The gradient of x after one and after two calls; its name when a known mistake explains it.
Result shared_is(const std::string& what, std::size_t (*make)(List& list), double x, double exact, double overwritten,
                 const std::vector<double>& early) {
  List list = leaves({x});
  const std::size_t y = make(list);
  backward(list, y);
  const double first = list[0].grad;
  backward(list, y);
  const double second = list[0].grad;
  if (first == exact && second == exact) return std::nullopt;
  if (first == exact) {
    Result kept = holds(
        false, "GRADIENT_KEPT",
        {what + ": the second call starts with what the first has left", what + "：第二次调用从第一次留下的梯度开始"},
        text(exact), text(second));
    kept->section = "accumulate";
    return kept;
  }
  if (first == overwritten && overwritten != exact) {
    return holds(false, "GRADIENT_OVERWRITTEN",
                 {what + ": a step that is used twice keeps the last payment only; they have to add up",
                  what + "：用了两次的步骤只留下最后一次的梯度；应当累加"},
                 text(exact), text(first));
  }
  if (std::find(early.begin(), early.end(), first) != early.end()) {
    return holds(false, "GRADIENT_PASSED_EARLY",
                 {what + ": a gradient is passed on before all steps that use it have paid in",
                  what + "：用到它的步骤还没有交齐，梯度就被往回传了"},
                 text(exact), text(first));
  }
  return has_numbers({"dy/dx of " + what, what + " 的 dy/dx"}, {first, second}, {exact, exact});
}

std::size_t squared(List& list) { return times(list, 0, 0); }
std::size_t doubled_twice(List& list) {
  const std::size_t b = plus(list, 0, 0);
  return plus(list, b, b);
}
std::size_t squared_twice(List& list) {
  const std::size_t b = times(list, 0, 0);
  return times(list, b, b);
}

Result shared() {
  return first_of({
      {"backward", [] { return shared_is("x x, x = 3", squared, 3, 6, 3, {}); }},
      {"backward",
       [] {
         return shared_is("b = x + x, b + b, x = 1", doubled_twice, 1, 4, 1, {6, 8});
       }},
      {"backward",
       [] {
         return shared_is("b = x x, b b, x = 3", squared_twice, 3, 108, 27, {162, 216});
       }},
  });
}

// A program of forty random steps on three leaves; its value, or its gradients.
std::size_t random_program(List& list, std::uint64_t seed) {
  Generator g(seed, "program");
  for (int i = 0; i < 40; ++i) {
    const auto n = static_cast<std::int64_t>(list.size());
    const auto recent = [&] { return static_cast<std::size_t>(n - 1 - g.below(std::min<std::int64_t>(n, 8))); };
    const std::size_t a = recent(), b = recent();
    const std::int64_t op = g.below(3);
    if (op == 0) plus(list, a, b);
    else if (op == 1) times(list, tanh_of(list, a), b);
    else tanh_of(list, a);
  }
  return plus(list, list.size() - 1, plus(list, 0, plus(list, 1, 2)));
}

Result self_check() {
  return first_of({{"backward", []() -> Result {
                      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
                        const std::vector<double> at{0.7, -0.4, 1.1};
                        List list = leaves(at);
                        backward(list, random_program(list, seed));
                        for (std::size_t k = 0; k < at.size(); ++k) {
                          constexpr double h = 6e-6;
                          auto value = [&](double by) {
                            List other = leaves(at);
                            other[k].value += by;
                            return other[random_program(other, seed)].value;
                          };
                          const double numeric = (value(h) - value(-h)) / (2 * h), analytic = list[k].grad;
                          if (std::fabs(analytic - numeric) <= 1e-7 * (1 + std::fabs(numeric))) continue;
                          return holds(false, "GC_WRONG_GRADIENT",
                                       {"a program of forty steps: the gradient is not what its differences say",
                                        "四十步的程序：梯度与它的差分不符"},
                                       {text(numeric) + "  (differences)", text(numeric) + "（差分）"},
                                       {text(analytic) + "  (backward)", text(analytic) + "（反向）"});
                        }
                      }
                      return std::nullopt;
                    }}});
}

Result long_lists() {
  return first_of({
      {"backward",
       [] {
         List list = leaves({1, 0});
         std::size_t y = 0;
         for (int i = 0; i < 1000000; ++i) y = plus(list, y, 1);
         backward(list, y);
         return has_numbers({"dy/dx of a chain of a million sums", "一百万次相加的链的 dy/dx"},
                            std::vector<double>{list[0].grad}, {1});
       }},
      {"backward",
       [] {
         List list = leaves({1});
         std::size_t y = 0;
         for (int i = 0; i < 60; ++i) y = plus(list, y, y);
         backward(list, y);
         return has_numbers({"dy/dx of sixty doublings, / 2^60", "六十次翻倍的 dy/dx 除以 2^60"},
                            std::vector<double>{list[0].grad * 0x1p-60}, {1});
       }},
  });
}

}  // namespace
}  // namespace gradus::lesson02

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson02;
  return {.lesson = "02_tape",
          .taught = {"gradus::backward", "gradus::record"},
          .parts = {{"steps", {"values and slopes of single steps", "单个步骤的值和斜率"}, "idea", steps},
                    {"numbers", {"the example by hand", "手算的例子"}, "by-hand", by_hand},
                    {"shared", {"numbers that are used twice", "用了两次的数"}, "shared", shared},
                    {"self_check", {"self check: against differences", "自检：与差分比较"}, "idea", self_check},
                    {"long_lists", {"lists that are long", "很长的列表"}, "recursion", long_lists}},
          .diagnose = [](const std::string&) {
            return steps() ? Result() : shared();
          }};  // with wrong slopes its numbers say nothing
}
