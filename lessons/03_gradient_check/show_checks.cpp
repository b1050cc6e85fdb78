// The laboratory: steps, tolerances, objectives, kinks, and twelve wrong backwards.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "lessons/03_gradient_check/naive_check.h"
#include "lessons/03_gradient_check/parts.h"
#include "lessons/03_gradient_check/show.h"
#include "lessons/03_gradient_check/step_curve.h"
#include "lessons/common/table.h"

namespace gradus::lesson03 {
namespace {

constexpr Quotient quotients[] = {Quotient::one_sided, Quotient::central, Quotient::richardson, Quotient::central32};

std::string name_of(Quotient quotient, Lang lang) {
  switch (quotient) {
    case Quotient::one_sided:
      return std::string(tr(lang, "one-sided", "单侧差分"));
    case Quotient::central:
      return std::string(tr(lang, "central", "中心差分"));
    case Quotient::richardson:
      return std::string(tr(lang, "central, extrapolated", "中心差分，外推"));
    case Quotient::central32:
      return std::string(tr(lang, "central in float32", "中心差分，float32"));
  }
  return {};
}

Var numbers_f64(std::initializer_list<double> values) {
  return parameter(tensor(Shape{static_cast<std::int64_t>(values.size())}, values, f64));
}

}  // namespace

std::string by_hand(const Show& show) {
  constexpr double x = 2, a = -0.25;
  auto line = [&](std::string_view what, Quotient quotient, const char* closed_form) {
    const double n = slope_of_inverse(quotient, x, 0.1);
    return fmt::format("  {}{:>10.6f}{:>11.7f}{}\n", pad_right(what, 37), n, error_between(a, n), closed_form);
  };
  constexpr double tiny = 1e-12;
  const double right = 1 / (x + tiny), left = 1 / (x - tiny);
  return pad_right(show.say("f(x) = 1/x, x = 2, h = 0.1", "f(x) = 1/x，x = 2，h = 0.1"), 39) +
         pad_left(show.say("slope", "斜率"), 10) + pad_left(show.say("error", "误差"), 11) + "\n" +
         fmt::format("  {}{:>10.6f}\n", pad_right("-1/x^2", 37), a) +
         line("(1/2.1 - 1/2) / 0.1", Quotient::one_sided, "  h / (2 x + h)") +
         line("(1/2.1 - 1/1.9) / 0.2", Quotient::central, "  h^2 / (2 x^2 - h^2)") +
         line("(4 central(0.05) - central(0.1)) / 3", Quotient::richardson, "") +
         show.say("h = 1e-12\n", "h = 1e-12\n") +
         fmt::format("  1/(x + h) = {:.17f}\n  1/(x - h) = {:.17f}\n", right, left) +
         fmt::format("  {}{:>10.6f}{:>11.7f}\n", pad_right("(1/(x + h) - 1/(x - h)) / (2 h)", 37),
                     slope_of_inverse(Quotient::central, x, tiny),
                     error_between(a, slope_of_inverse(Quotient::central, x, tiny)));
}

LineChart step_chart(Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Slope of 1/x from differences: relative error against the step",
                   "用差分求 1/x 的斜率：相对误差随步长的变化");
  chart.x_label = tr(lang, "step h", "步长 h");
  chart.y_label = tr(lang, "relative error", "相对误差");
  for (Quotient quotient : quotients) {
    StepCurve curve = step_curve(quotient);
    chart.series.push_back({name_of(quotient, lang), curve.step, curve.error});
  }
  chart.x_log = chart.y_log = true;
  chart.height = 18;
  chart.lang = lang;
  return chart;
}

std::string step_table(const Show& show) {
  Table table({show.say("step h", "步长 h"), name_of(quotients[0], show.lang), name_of(quotients[1], show.lang),
               show.say("extrapolated", "外推"), "float32"},
              {Align::right, Align::right, Align::right, Align::right, Align::right});
  std::vector<StepCurve> curves;
  for (Quotient quotient : quotients) curves.push_back(step_curve(quotient));
  for (std::size_t i = 0; i < curves[0].step.size(); i += 2) {
    std::vector<std::string> row{fmt::format("{:.0e}", curves[0].step[i])};
    for (const StepCurve& curve : curves) row.push_back(fmt::format("{:.1e}", curve.error[i]));
    table.add_row(row);
  }
  std::string best;
  for (std::size_t k = 0; k < curves.size(); ++k) {
    best += fmt::format(
        fmt::runtime(show.say("  {}: at its best {:.1e}, with h = {:.0e}\n", "  {}：最小误差 {:.1e}，h = {:.0e}\n")),
        name_of(quotients[k], show.lang), curves[k].best_error(), curves[k].best_step());
  }
  show.metrics.at_most({"smallest error of central differences in f64", "中心差分在 f64 下的最小误差"}, 1e-9,
                       curves[1].best_error());
  show.metrics.at_most({"smallest error of one-sided differences in f64", "单侧差分在 f64 下的最小误差"}, 1e-7,
                       curves[0].best_error());
  show.metrics.at_least({"smallest error of central differences in f32", "中心差分在 f32 下的最小误差"}, 1e-5,
                        curves[3].best_error());
  for (std::size_t k = 0; k < curves.size(); ++k)
    show.metrics.curve("error against step, " + name_of(quotients[k], Lang::en), curves[k].step, curves[k].error);
  return table.text(show.terminal) + best;
}

std::string twelve_wrong_backwards(const Show& show) {
  Table table({show.say("wrong backward", "写错的反向"), show.say("self check", "自检"), show.say("error", "误差"),
               show.say("wrong", "错的"), "L = sum", show.say("tol .01", "容差 .01")},
              {Align::left, Align::left, Align::right, Align::right, Align::left, Align::left});
  int rejected = 0, accepted = 0, missed_by_sum = 0, missed_by_tolerance = 0;
  double all_by_one = 1, missing = 0;
  const std::vector<SmallOp> ops = small_ops();
  for (const SmallOp& op : ops) {
    const bool passed = taught_parts().accepts(as_one_list(op, true));
    rejected += passed ? 0 : 1;
    accepted += taught_parts().accepts(as_one_list(op, false)) ? 1 : 0;
    const NaiveResult every = naive_check(op, true, {});
    const NaiveResult sum = naive_check(op, true, {.plain_sum = true});
    const NaiveResult loose = naive_check(op, true, {.tolerance = 1e-2});
    const double share = static_cast<double>(every.wrong) / every.checked;
    all_by_one *= share;
    missing += (1 - share) / static_cast<double>(ops.size());
    missed_by_sum += sum.passes() ? 1 : 0;
    missed_by_tolerance += loose.passes() ? 1 : 0;
    auto seen = [&](const NaiveResult& result) {
      return result.passes() ? show.say("MISSES", "漏掉") : show.say("sees", "看见");
    };
    table.add_row({op.mistake.in(show.lang), passed ? show.say("ACCEPTED", "放行") : show.say("rejects", "拒绝"),
                   fmt::format("{:.0e}", every.worst), fmt::format("{}/{}", every.wrong, every.checked), seen(sum),
                   seen(loose)});
  }
  show.metrics.at_least({"wrong backwards that the self check rejects, of 12", "12 个写错的反向里自检拒绝的"}, 12,
                        rejected);
  show.metrics.at_least({"right backwards that the self check accepts, of 12", "12 个正确的反向里自检接受的"}, 12,
                        accepted);
  return table.text(show.terminal) +
         fmt::format(
             fmt::runtime(show.say("The self check rejects {} of 12, and accepts {} of the 12 right ones.\n"
                                   "With L = sum(y) a check misses {}, with a tolerance of 0.01 it misses {}.\n"
                                   "A check of one random element (wrong: how many of all) misses {:.0f} % of them\n"
                                   "on average, and sees all twelve with a probability of {:.2f} %.\n",
                                   "自检拒绝 12 个中的 {} 个，12 个正确的则接受 {} 个。\n"
                                   "取 L = sum(y) 的检查漏掉 {} 个，容差为 0.01 的漏掉 {} 个。\n"
                                   "随机只查一个元素（“错的”一列：全部元素中有几个错）平均漏掉 {:.0f} %，\n"
                                   "12 个全部看见的概率是 {:.2f} %。\n")),
             rejected, accepted, missed_by_sum, missed_by_tolerance, 100 * missing, 100 * all_by_one);
}

std::string float32(const Show& show) {
  Table table({show.say("numbers", "数"), show.say("step h", "步长 h"), show.say("tolerance", "容差"),
               show.say("right ones rejected", "误拒正确的"), show.say("wrong ones accepted", "误放错误的")},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  struct Row {
    DType dtype;
    double step, tolerance;
  };
  for (const Row& row : {Row{f64, 6e-6, 1e-8},
                         {f64, 6e-6, 1e-3},
                         {f32, 6e-6, 1e-8},
                         {f32, 6e-6, 1e-3},
                         {f32, 6e-6, 1e-2},
                         {f32, 6e-6, 1e-1},
                         {f32, 5e-3, 1e-8},
                         {f32, 5e-3, 1e-4},
                         {f32, 5e-3, 1e-3},
                         {f32, 5e-3, 1e-2}}) {
    int right_rejected = 0, wrong_accepted = 0;
    for (const SmallOp& op : small_ops()) {
      const NaiveCheck how{.tolerance = row.tolerance, .step = row.step, .dtype = row.dtype};
      right_rejected += naive_check(op, false, how).passes() ? 0 : 1;
      wrong_accepted += naive_check(op, true, how).passes() ? 1 : 0;
    }
    table.add_row({row.dtype == f64 ? "float64" : "float32", fmt::format("{:.0e}", row.step),
                   fmt::format("{:.0e}", row.tolerance), fmt::format("{}/12", right_rejected),
                   fmt::format("{}/12", wrong_accepted)});
  }
  const Var x = parameter(tensor(Shape{3}, {0.5, 1, 2}, f32));
  return table.text(show.terminal) +
         wrap_to_width(check_gradient([&] { return tanh(x); }, {{"x", x, ""}}).text(), show.terminal.width);
}

std::string nothing_tested(const Show& show) {
  const SmallOp op = small_ops()[8];  // the softmax of (1, 2, 0.5)
  std::string text = show.say("dL/dx for y = softmax(1, 2, 0.5):\n", "y = softmax(1, 2, 0.5) 时的 dL/dx：\n");
  Table table({"L", show.say("right backward", "正确的反向"), show.say("wrong backward", "错误的反向")});
  for (const Numbers& w : {Numbers{1, 1, 1}, Numbers{1, 2, 4}}) {
    std::vector<std::string> row{fmt::format("{} y_1 + {} y_2 + {} y_3", w[0], w[1], w[2])};
    for (bool wrong : {false, true}) {
      const std::vector<Var> leaves = leaves_of(op, f64);
      backward(apply(op, leaves, wrong), tensor(op.shape, w, f64));
      std::string numbers;
      for (double g : leaves[0].grad().to_vector()) numbers += fmt::format("{:>8.4f}", std::fabs(g) < 1e-12 ? 0.0 : g);
      row.push_back(numbers);
    }
    table.add_row(row);
  }
  const Var x = numbers_f64({1, 2, 0.5});
  const GradientReport report = check_gradient([&] { return sum(softmax(x, Axis{0})); }, {{"x", x, ""}});
  show.metrics.holds({"sum(softmax(x)) is refused", "sum(softmax(x)) 被拒绝"},
                     {"GC_NOTHING_TESTED", "GC_NOTHING_TESTED"}, report.verdict == GradientVerdict::nothing_tested);
  return text + table.text(show.terminal) +
         show.say("The library's check, asked about sum(softmax(x)): ", "拿 sum(softmax(x)) 去问库里的检查：") +
         to_string(report.verdict) + "\n";
}

std::string kink(const Show& show) {
  Table table({show.say("x", "x"), show.say("backward of relu", "relu 的反向"),
               show.say("difference, h = 1e-05", "差分，h = 1e-05"), show.say("the library's check", "库里的检查")},
              {Align::right, Align::right, Align::right, Align::left});
  constexpr double h = 1e-5;
  bool named = true;
  for (double at : {-2e-5, -3e-6, 0.0, 3e-6, 2e-5}) {
    const Var x = numbers_f64({at});
    const GradientVerdict verdict = check_gradient([&] { return relu(x) + 0.5 * x; }, {{"x", x, ""}}).verdict;
    named = named && (verdict == GradientVerdict::kink) == (std::fabs(at) < 6e-6);
    auto relu_of = [](double v) { return std::max(v, 0.0); };
    table.add_row({fmt::format("{:g}", at), at > 0 ? "1" : "0",
                   fmt::format("{:.2f}", (relu_of(at + h) - relu_of(at - h)) / (2 * h)), to_string(verdict)});
  }
  show.metrics.holds({"a kink within a step is named", "一步之内的折点被指出"},
                     {"GC_KINK, and only there", "GC_KINK，且只在那里"}, named);
  return table.text(show.terminal);
}

std::string refusals(const Show& show) {
  const Var x = numbers_f64({0.5, -1, 2}), unused = numbers_f64({1});
  const Var small = parameter(tensor(Shape{3}, {0.5, -1, 2}, f32));
  Generator generator(1, "dropout");
  Table table({show.say("asked to check", "要检查的"), show.say("says", "回答")});
  auto row = [&](const std::string& what, const GradientReport& report) {
    table.add_row({what, to_string(report.verdict)});
  };
  row(show.say("float32", "float32"), check_gradient([&] { return tanh(small); }, {{"x", small, ""}}));
  row(show.say("dropout with a fresh mask in each call", "每次调用都换掩码的 dropout"),
      check_gradient([&] { return dropout(x, 0.5, generator, true); }, {{"x", x, ""}}));
  row(show.say("log(x) where x = -1: NaN", "x = -1 处的 log(x)：NaN"),
      check_gradient([&] { return log(x); }, {{"x", x, ""}}));
  row(show.say("relu(x) at 0", "0 处的 relu(x)"), check_gradient([&] { return relu(x - 0.5); }, {{"x", x, ""}}));
  row(show.say("sum(softmax(x))", "sum(softmax(x))"),
      check_gradient([&] { return sum(softmax(x, Axis{0})); }, {{"x", x, ""}}));
  row(show.say("a parameter that the function does not use", "函数没有用到的参数"),
      check_gradient([&] { return tanh(x); }, {{"x", x, ""}, {"b", unused, ""}}));
  row(show.say("the same, declared zero with a reason", "同上，但写明了为什么是零"),
      check_gradient([&] { return tanh(x); }, {{"x", x, ""}, {"b", unused, "not used here"}}));
  return table.text(show.terminal);
}

}  // namespace gradus::lesson03
