// Softmax, and what else could turn scores into shares. All numbers come from the library's own ops.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "autograd/ops.h"
#include "lessons/04_softmax/by_hand.h"
#include "lessons/common/table.h"

namespace gradus::lesson04 {

namespace {

Var row(const std::vector<double>& values, DType dtype = f64) {
  return Var(tensor(Shape{1, static_cast<std::int64_t>(values.size())}, values, dtype));
}
std::vector<double> list(const Var& x) { return x.value().to_vector(); }
std::vector<double> softmax_of(const std::vector<double>& scores) { return list(softmax(row(scores), Axis{1})); }
Var stretched(const Var& per_row, const Var& like) { return expand_new(per_row, Axis{1}, like.shape()[1]); }

std::string text(const std::vector<double>& values, int digits) {
  std::string out;
  for (double value : values) out += (out.empty() ? "" : " ") + fixed(value, digits);
  return out;
}

// A way to turn scores (1, n) into shares (1, n).
struct Rule {
  std::string en, zh;
  std::function<Var(const Var&)> shares;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"softmax", "softmax", [](const Var& e) { return softmax(e, Axis{1}); }},
      {"e / sum of e", "除以总和", [](const Var& e) { return e / stretched(sum(e, Axis{1}), e); }},
      {"e / largest e", "除以最大值", [](const Var& e) { return e / stretched(max(e, Axis{1}), e); }},
      {"e^2 / sum of e^2", "平方后除以总和",
       [](const Var& e) { return square(e) / stretched(sum(square(e), Axis{1}), e); }},
      {"winner takes all", "全给最大的",
       [](const Var& e) {
         Tensor one = zeros_like(e.value());
         one.set({0, argmax(e.value(), Axis{1})[0]}, 1);
         return Var(one);
       }},
  };
  return all;
}

constexpr double cooling[] = {4, 1, 0.5, 0.25, 0.1, 0.01};

}  // namespace

std::string trace_softmax(const std::vector<double>& scores, const Terminal& terminal, Lang lang) {
  const Var e = row(scores);
  const double largest = max(e, Axis{1}).item(), total = sum(exp(e - largest)).item();
  const bool with_sums = scores.size() < most_scores;
  std::vector<std::string> headings = {std::string(tr(lang, "position i", "位置 i"))};
  std::vector<Align> aligns = {Align::left};
  for (std::size_t i = 0; i < scores.size(); ++i) headings.push_back(std::to_string(i + 1));
  if (with_sums) headings.emplace_back(tr(lang, "sum", "和"));
  aligns.resize(headings.size(), Align::right);
  Table table(headings, aligns);
  const auto add = [&](const std::string& name, const std::vector<double>& values, bool sums) {
    std::vector<std::string> cells = {name};
    double all = 0;
    for (double value : values) {
      cells.push_back(fixed(value));
      all += value;
    }
    if (with_sums) cells.push_back(sums ? fixed(all) : "");
    table.add_row(cells);
  };
  add("e_i", scores, false);
  add("e_i - max", list(e - largest), false);
  add("exp(e_i - max)", list(exp(e - largest)), true);
  add("alpha_i", softmax_of(scores), true);
  add("log alpha_i", list(log_softmax(e, Axis{1})), false);
  return fmt::format(fmt::runtime(tr(lang, "softmax of {}:\n", "{} 的 softmax：\n")), text(scores, 2)) +
         table.text(terminal) +
         fmt::format("log-sum-exp = max + log({}) = {} + {} = {}\n", fixed(total), fixed(largest),
                     fixed(std::log(total)), fixed(logsumexp(e, Axis{1}).item()));
}

std::string alternatives(const Terminal& terminal, Lang lang) {
  struct Pair {
    std::vector<double> scores;
    int digits;
  };
  const Pair pairs[] = {{two_scores, 3}, {{7.05, 7.27}, 3}, {{-1, 1}, 2}, {{-.99, 1}, 2}, {{0, 0}, 2}};
  std::vector<std::string> headings = {std::string(tr(lang, "shares of", "分数"))};
  for (const auto& [scores, digits] : pairs) headings.push_back(text(scores, 2));
  std::vector<Align> aligns(headings.size(), Align::right);
  aligns[0] = Align::left;
  Table table(headings, aligns);
  for (const Rule& rule : rules()) {
    std::vector<std::string> cells = {std::string(tr(lang, rule.en, rule.zh))};
    for (const auto& [scores, digits] : pairs) cells.push_back(text(list(rule.shares(row(scores))), digits));
    table.add_row(cells);
  }
  return std::string(tr(lang, "Only softmax gives positive shares everywhere, and the same in the first two.\n",
                        "只有 softmax 在每一列都给出正的份额，而且前两列的份额相同。\n")) +
         table.text(terminal);
}

std::string temperatures(const std::vector<double>& scores, const Terminal& terminal, Lang lang) {
  Table table({"T", std::string(tr(lang, "weights softmax(e / T)", "权重 softmax(e / T)")),
               std::string(tr(lang, "d (last weight) / d (last score)", "最后一个权重对最后一个分数的导数"))},
              {Align::right, Align::left, Align::right});
  for (double T : cooling) {
    const Var e = parameter(row(scores).value());
    const Var alpha = softmax(e / T, Axis{1});
    const auto last = static_cast<std::int64_t>(scores.size()) - 1;
    backward(sum(select(alpha, Axis{1}, last)));
    table.add_row({fmt::format("{}", T), text(list(alpha), 3), fmt::format("{:.3g}", e.grad().at({0, last}))});
  }
  return std::string(tr(lang, "A lower temperature T sharpens, until nothing is left to learn from.\n",
                        "温度 T 越低，权重越尖锐，直到梯度消失、无从学习。\n")) +
         table.text(terminal);
}

LineChart temperature_chart(Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Weights of the scores 0.05, 0.27 and 0.20 against temperature",
                   "分数 0.05、0.27 和 0.20 的权重随温度的变化");
  chart.x_label = tr(lang, "temperature T", "温度 T");
  chart.y_label = tr(lang, "weight", "权重");
  const std::vector<double> scores = {0.05, 0.27, 0.20};
  for (double e : scores) chart.series.push_back({"e = " + fixed(e, 2), {}, {}});
  for (int i = 0; i <= 20; ++i) {
    const double T = std::pow(10, 1 - 0.15 * i);
    const std::vector<double> weights = list(softmax(row(scores) / T, Axis{1}));
    for (std::size_t k = 0; k < scores.size(); ++k) {
      chart.series[k].x.push_back(T);
      chart.series[k].y.push_back(weights[k]);
    }
  }
  chart.lines = {{"1/3", 1.0 / 3}};
  chart.y_min = 0;
  chart.y_max = 1;
  chart.x_log = true;
  chart.lang = lang;
  return chart;
}

std::string overflow(const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "scores, f32", "分数（f32）")), "exp(e) / sum", "softmax(e)", "log(exp(e) / sum)",
               "log_softmax(e)"},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  for (const auto& scores : std::vector<std::vector<double>>{{.05, .27}, {88, 88}, {89, 89}, {0, -200}}) {
    const Var e = row(scores, f32), as_written = exp(e) / stretched(sum(exp(e), Axis{1}), e);
    table.add_row({text(scores, 2), text(list(as_written), 3), text(list(softmax(e, Axis{1})), 3),
                   text(list(log(as_written)), 1), text(list(log_softmax(e, Axis{1})), 1)});
  }
  return std::string(tr(lang, "As it is written, the formula breaks in f32 between the scores 88 and 89.\n",
                        "照公式直接写，在 f32 里分数从 88 到 89 就坏了。\n")) +
         table.text(terminal);
}

std::string seventy_percent(const Terminal& terminal, Lang lang) {
  const double weights[] = {0.3, 0.7};
  Table table({"h_1", "h_2", "c = 0.3 h_1 + 0.7 h_2", std::string(tr(lang, "angle to h_1", "与 h_1 的夹角")),
               std::string(tr(lang, "angle to h_2", "与 h_2 的夹角"))},
              {Align::left, Align::left, Align::left, Align::right, Align::right});
  for (const auto& [h_1, h_2] : std::vector<std::pair<std::vector<double>, std::vector<double>>>{
           {{1, 0}, {0, 1}}, {{10, 0}, {0, 1}}, {{1, 1}, {1, 1}}}) {
    std::vector<double> c;
    for (std::size_t d = 0; d < 2; ++d) c.push_back(weights[0] * h_1[d] + weights[1] * h_2[d]);
    const auto angle = [&](const std::vector<double>& h) {
      const double cosine = (c[0] * h[0] + c[1] * h[1]) / std::hypot(c[0], c[1]) / std::hypot(h[0], h[1]);
      return fixed(std::acos(std::min(1.0, cosine)) * 180 / std::acos(-1.0), 1);
    };
    table.add_row({text(h_1, 0), text(h_2, 0), text(c, 1), angle(h_1), angle(h_2)});
  }
  return std::string(tr(lang, "Weights 0.3 and 0.7 say how much of each value goes in, not what comes out.\n",
                        "权重 0.3 和 0.7 说的是各个值混进多少，不是混合结果里还看得出多少。\n")) +
         table.text(terminal);
}

double distance_from_notes() {
  double worst = 0;
  const auto compare = [&](const std::vector<double>& got, const std::vector<double>& printed, int digits) {
    for (std::size_t i = 0; i < printed.size(); ++i)
      worst = std::max(worst, std::fabs(got[i] - printed[i]) * std::pow(10, digits));
  };
  const auto at = [](double T) { return list(softmax(row(two_scores) / T, Axis{1})); };
  compare(at(1), {.4452, .5548}, 4);
  compare(list(rules()[1].shares(row(two_scores))), {.156, .844}, 3);
  compare({at(.5)[1], at(.25)[1], at(.1)[1]}, {.608, .707, .900}, 3);
  compare(softmax_of({0, 0, 0}), {.3333, .3333, .3333}, 4);
  compare(softmax_of({.94, .52, .24}), {.464, .305, .231}, 3);
  return worst;
}

}  // namespace gradus::lesson04
