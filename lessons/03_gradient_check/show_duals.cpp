// What the check cannot see, and how the engine does without most backwards: dual numbers and fused formulas.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/check_gradient.h"
#include "autograd/pointwise.h"
#include "autograd/print_tape.h"
#include "lessons/03_gradient_check/dual_by_hand.h"
#include "lessons/03_gradient_check/formula.h"
#include "lessons/03_gradient_check/show.h"
#include "lessons/03_gradient_check/step_curve.h"
#include "lessons/03_gradient_check/swap.h"
#include "lessons/common/table.h"
#include "lessons/common/typed.h"

namespace gradus::lesson03 {
namespace {

Var number(double value) { return parameter(full(Shape{}, value, f64)); }

template <class F> double central(F f, double x, double h) { return (f(x + h) - f(x - h)) / (2 * h); }

// Without "-0.0" and digits that are rounding.
std::string six(double value) { return fmt::format("{:9.6f}", std::fabs(value) < 5e-7 ? 0.0 : value); }

// The library's swish: a formula, and no word about its slope.
Var swish(const Var& x) {
  return pointwise(
      "swish", [](auto v) { return v * sigmoid(v); }, x);
}

// The last line of a GRU, (1 - z) h + z n, as one formula and as five ops.
Var blend_fused(const Var& z, const Var& h, const Var& n) {
  return pointwise(
      "blend", [](auto zz, auto hh, auto nn) { return (1 - zz) * hh + zz * nn; }, z, h, n);
}
Var blend_composed(const Var& z, const Var& h, const Var& n) {
  const Var kept = (1.0 - z) * h;
  return kept + z * n;
}

// Without blanks at the ends of lines.
std::string trimmed(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\n') out.resize(out.find_last_not_of(' ') + 1);
    out += c;
  }
  return out;
}

std::int64_t count_lines(const std::string& text) {
  std::int64_t lines = 0;
  for (char c : text) lines += c == '\n' ? 1 : 0;
  return lines;
}

}  // namespace

std::string small_swap(const Show& show) {
  constexpr double w = 0.3, u = 0.8, a = -0.6, s_prev = 0.5, x = 1;
  const std::string own_name = show.say("  differences of itself", "  它自己的差分");
  const std::string formula_name = show.say("  differences of the formula", "  公式的差分");
  const std::string verdict_name = show.say("self check", "自检"),
                    reference_name = show.say("reference check", "参照检查");
  auto line = [](const std::string& name) { return pad_right(name, 31); };
  std::string value = line("y"), tape = line(show.say("dy/da by the tape", "dy/da，由计算图"));
  std::string own = line(own_name), formula = line(formula_name), verdict = line(verdict_name),
              reference = line(reference_name);
  const double by_formula = central([&](double v) { return gated_step_by_formula(w, u, v, s_prev, x); }, a, 6e-6);
  bool self[2], agrees[2];
  for (bool swapped : {false, true}) {
    const GatedStep step{number(w), number(u), number(a), swapped};
    const Var s = full(Shape{}, s_prev, f64), in = full(Shape{}, x, f64);
    const Var y = step(s, in);
    backward(y, Graph::keep);
    const double analytic = step.a.grad().item();
    const double by_itself = central(
        [&](double v) {
          return GatedStep{number(w), number(u), number(v), swapped}(s, in).item();
        },
        a, 6e-6);
    self[swapped] =
        check_gradient([&] { return step(s, in); }, {{"w", step.w, ""}, {"u", step.u, ""}, {"a", step.a, ""}}).passed;
    agrees[swapped] = error_between(analytic, by_formula) < 1e-8;
    value += six(y.item()) + "      ";
    tape += six(analytic) + "      ";
    own += six(by_itself) + "      ";
    formula += six(by_formula) + "      ";
    verdict += pad_right(self[swapped] ? show.say(" passes", " 通过") : show.say(" FAILS", " 不通过"), 15);
    reference += pad_right(agrees[swapped] ? show.say(" passes", " 通过") : show.say(" FAILS", " 不通过"), 15);
  }
  show.metrics.holds({"the small swap passes the self check", "小对调能通过自检"}, {"passes", "通过"},
                     self[0] && self[1]);
  show.metrics.holds({"the small swap fails the reference check", "小对调通不过参照检查"}, {"fails", "不通过"},
                     agrees[0] && !agrees[1]);
  std::string out = line("") + show.say(" as written     swapped\n", " 照公式         对调\n");
  for (std::string* row : {&value, &tape, &own, &formula, &verdict, &reference})
    out += row->substr(0, row->find_last_not_of(' ') + 1) + "\n";
  return out;
}

std::string duals(const Show& show) {
  Table table({"f", "x", "f(x)", show.say("slope", "斜率"), show.say("central, h = 6e-06", "中心差分，h = 6e-06")},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  for (const auto& [formula, x] :
       {std::pair("x * x", 2.0), {"x * sigmoid(x)", 0.5}, {"tanh(x) / x", 0.5}, {"sqrt(1 + x * x)", 0.75}}) {
    const Dual y = evaluate(formula, {x, 1});
    const double n = central([&f = formula](double v) { return evaluate(f, {v, 0}).value; }, x, 6e-6);
    table.add_row({formula, fmt::format("{}", x), six(y.value), six(y.slope), six(n)});
  }
  const Var x = parameter(tensor(Shape{3}, {-1, 0.5, 2}, f64));
  const GradientReport report = check_gradient([&] { return swish(x); }, {{"x", x, ""}});
  show.metrics.holds({"swish without a written gradient passes the self check", "没有写梯度的 swish 通过自检"},
                     {"passes", "通过"}, report.passed);
  return table.text(show.terminal) +
         show.say("pointwise(\"swish\", [](auto v) { return v * sigmoid(v); }, x):\n",
                  "pointwise(\"swish\", [](auto v) { return v * sigmoid(v); }, x):\n") +
         report.text();
}

std::string fused(const Show& show) {
  std::string out;
  std::vector<std::vector<double>> gradients;
  std::vector<std::int64_t> nodes;
  for (bool one : {false, true}) {
    const Var z = parameter(tensor(Shape{2, 3}, {.1, .5, .9, .3, .7, .2}, f64));
    const Var h = parameter(tensor(Shape{2, 3}, {1, -1, .5, 2, 0, -.5}, f64));
    const Var n = parameter(tensor(Shape{2, 3}, {0, 1, -1, .5, 2, 1}, f64));
    const Var y = one ? blend_fused(z, h, n) : blend_composed(z, h, n);
    backward(y, tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64), Graph::keep);
    const std::string tape = trimmed(print_tape(y));
    nodes.push_back(count_lines(tape) - 4);  // without the heading and the three leaves
    out += (one ? show.say("one formula:\n", "一个公式：\n") : show.say("composed:\n", "逐个运算：\n")) + tape;
    std::vector<double> all;
    for (const Var& leaf : {z, h, n})
      for (double g : leaf.grad().to_vector()) all.push_back(g);
    gradients.push_back(all);
  }
  double gap = 0;
  for (std::size_t i = 0; i < gradients[0].size(); ++i)
    gap = std::max(gap, std::fabs(gradients[0][i] - gradients[1][i]));
  show.metrics.holds({"fused and composed have the same gradient", "融合的与逐个运算的梯度相同"},
                     {"to 1e-14", "1e-14 以内"}, gap < 1e-14);
  return out + fmt::format(fmt::runtime(show.say("Gradients equal to 1e-14: {}. Steps beside the leaves: {} and {}.\n",
                                                 "梯度相等（1e-14 以内）：{}。叶子之外的步数：{} 和 {}。\n")),
                           gap < 1e-14 ? show.say("yes", "是") : show.say("NO", "否"), nodes[0], nodes[1]);
}

std::string ask_formula(const std::string& input, const Terminal& terminal, Lang lang) {
  const std::size_t at = input.rfind(" at ");
  if (at == std::string::npos)
    throw InputError(
        {"'" + printable(input) + "' names no point; type a formula and a point, such as \"x * tanh(x) at 0.5\"",
         "“" + printable(input) + "”没有写明在哪一点；请输入公式和点，例如 \"x * tanh(x) at 0.5\""});
  const std::string formula = printable(input.substr(0, at));
  const Dual point = evaluate(input.substr(at + 4), {0, 0});
  const Dual y = evaluate(formula, {point.value, 1});
  std::string out =
      fmt::format(fmt::runtime(tr(lang, "f(x) = {}\nat x = {}: value {:.10g}, slope {:.10g} by dual numbers\n",
                                  "f(x) = {}\nx = {} 处：值 {:.10g}，对偶数给出的斜率 {:.10g}\n")),
                  formula, point.value, y.value, y.slope);
  Table table({std::string(tr(lang, "step h", "步长 h")), std::string(tr(lang, "central difference", "中心差分")),
               std::string(tr(lang, "relative error", "相对误差"))},
              {Align::right, Align::right, Align::right});
  double best = 1, best_step = 0;
  for (double h : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12}) {
    const double n = central([&](double v) { return evaluate(formula, {v, 0}).value; }, point.value, h);
    const double error = error_between(y.slope, n);
    if (error < best) {
      best = error;
      best_step = h;
    }
    table.add_row({fmt::format("{:.0e}", h), fmt::format("{:.10g}", n), fmt::format("{:.0e}", error)});
  }
  out += table.text(terminal);
  // The slopes on both sides: at a kink they differ however small the step.
  constexpr double close = 1e-9;
  auto f = [&](double v) { return evaluate(formula, {v, 0}).value; };
  const double bend = std::fabs(f(point.value + close) - 2 * y.value + f(point.value - close)) / close;
  if (bend > 1e-3 * std::fabs(y.slope) + 1e-5 * std::fabs(y.value) + 1e-6) {
    out += tr(lang, "the slopes to the left and to the right differ: a kink, a jump or a pole\n",
              "左右两侧的斜率不同：这里是折点、跳跃或极点\n");
  } else if (best < 1e-6) {
    out += fmt::format(fmt::runtime(tr(lang, "they agree: the smallest error is {:.0e}, with h = {:.0e}\n",
                                       "两者相符：最小误差 {:.0e}，h = {:.0e}\n")),
                       best, best_step);
  } else {
    out += tr(lang, "they do not agree for any step\n", "哪个步长都不相符\n");
  }
  return out;
}

}  // namespace gradus::lesson03
