// Gradient descent in one and two dimensions: rates, momentum, and gradients that are not set back to 0.
#include <fmt/format.h>

#include <cmath>

#include "lessons/05_training/by_hand.h"
#include "lessons/05_training/parts.h"
#include "lessons/common/table.h"

namespace gradus::lesson05 {

namespace {

constexpr double steep = 25;  // curvature along w_2; along w_1 it is 1

struct Descent {
  double rate, momentum;
};

// L before the first and after each further step.
std::vector<double> valley(const Descent& descent, std::int64_t steps) {
  const Var w = parameter(tensor(Shape{2}, {5, 1}, f64)), curvature(tensor(Shape{2}, {1, steep}, f64));
  Sgd sgd({{"w", w}}, {.rate = descent.rate, .momentum = descent.momentum});
  std::vector<double> losses;
  for (std::int64_t t = 0; t <= steps; ++t) {
    const Var loss = sum(curvature * square(w)) / 2;
    losses.push_back(loss.item());
    zero_grad({{"w", w}});
    backward(loss);
    sgd.step();
  }
  return losses;
}

// The best of both kinds for curvatures 1 and `steep`.
constexpr double best_rate = 2 / (1 + steep);
const Descent best_momentum{4 / ((1 + 5.0) * (1 + 5)), (4.0 / 6) * (4.0 / 6)};  // 5 is the root of `steep`

}  // namespace

std::string rates(const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "rate", "学习率")), std::string(tr(lang, "momentum", "动量")), "1 - rate",
               "1 - 25 rate", std::string(tr(lang, "L, 50 steps", "50 步后的 L")),
               std::string(tr(lang, "steps to L < 1e-6", "L < 1e-6 的步数"))},
              {Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  constexpr std::int64_t most = 1000;
  for (const Descent& d : {Descent{0.01, 0},
                           {0.04, 0},
                           {best_rate, 0},
                           {0.08, 0},
                           {0.081, 0},
                           {0.01, 0.9},
                           {best_rate, 0.9},
                           best_momentum}) {
    const std::vector<double> losses = valley(d, most);
    std::size_t there = 0;
    while (there < losses.size() && !(losses[there] < 1e-6)) ++there;
    const bool plain = d.momentum == 0;
    table.add_row({fixed(d.rate), fixed(d.momentum, 2), plain ? fixed(1 - d.rate) : "",
                   plain ? fixed(1 - steep * d.rate) : "", fmt::format("{:.2g}", losses[50]),
                   there < losses.size() ? std::to_string(there) : std::string(tr(lang, "never", "到不了"))});
  }
  return std::string(tr(lang, "L = (w_1^2 + 25 w_2^2) / 2 from (5, 1): the steep axis limits the rate.\n",
                        "L = (w_1^2 + 25 w_2^2) / 2，从 (5, 1) 出发：陡的方向限制了学习率。\n")) +
         table.text(terminal);
}

LineChart valley_chart(Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Down a valley that is 25 times steeper one way", "下到一个方向陡 25 倍的谷里");
  chart.x_label = tr(lang, "steps", "步数");
  chart.y_label = "L";
  for (const auto& [name, d] : {std::pair(tr(lang, "rate 0.04", "学习率 0.04"), Descent{0.04, 0}),
                                {tr(lang, "rate 0.0769", "学习率 0.0769"), {best_rate, 0}},
                                {tr(lang, "rate 0.081", "学习率 0.081"), {0.081, 0}},
                                {tr(lang, "best momentum", "最好的动量"), best_momentum}}) {
    Series series{std::string(name), {}, {}};
    for (const double loss : valley(d, 60)) {
      series.x.push_back(static_cast<double>(series.x.size()));
      series.y.push_back(loss);
    }
    chart.series.push_back(series);
  }
  chart.y_min = 1e-8;
  chart.y_log = true;
  chart.lang = lang;
  return chart;
}

std::vector<double> descent(std::int64_t steps, bool forget_zero_grad) {
  const Var w = parameter(tensor(Shape{}, {3}, f64));
  Sgd sgd({{"w", w}}, {.rate = 0.1});
  std::vector<double> path = {w.item()};
  for (std::int64_t t = 1; t <= steps; ++t) {
    if (!forget_zero_grad) zero_grad({{"w", w}});
    backward(square(w - 1));
    sgd.step();
    path.push_back(w.item());
  }
  return path;
}

std::string forgotten(const Terminal& terminal, Lang lang) {
  Table table(
      {std::string(tr(lang, "after step", "第几步后")), std::string(tr(lang, "w, with zero_grad", "w，有 zero_grad")),
       std::string(tr(lang, "w, without", "w，没有"))},
      {Align::right, Align::right, Align::right});
  const std::vector<double> right = descent(100, false), wrong = descent(100, true);
  for (const std::size_t t : {0, 1, 2, 3, 5, 10, 20, 50, 100})
    table.add_row({std::to_string(t), fixed(right[t]), fixed(wrong[t])});
  return std::string(tr(lang, "L = (w - 1)^2 from 3, rate 0.1. Without zero_grad it never comes to rest.\n",
                        "L = (w - 1)^2，从 3 出发，学习率 0.1。没有 zero_grad，它永远停不下来。\n")) +
         table.text(terminal);
}

}  // namespace gradus::lesson05
