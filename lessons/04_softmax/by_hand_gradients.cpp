// The gradients of softmax and of cross-entropy, taken apart.
#include <fmt/format.h>

#include <cmath>

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "lessons/04_softmax/by_hand.h"
#include "lessons/04_softmax/diagonal.h"
#include "lessons/common/table.h"

namespace gradus::lesson04 {

namespace {

Var leaf(const std::vector<double>& values) {
  return parameter(tensor(Shape{1, static_cast<std::int64_t>(values.size())}, values, f64));
}

const std::vector<double> example_logits = {2, 1, -1};
constexpr std::int32_t example_class = 1;  // counted from 0: the second one is right

struct Example {
  double loss = 0;
  std::vector<double> p, gradient;
};
Example example(const std::vector<double>& logits) {
  const Var z = leaf(logits);
  const Var L = cross_entropy(z, Ids(Shape{1}, example_class));
  backward(L);
  return {L.item(), softmax(z, Axis{1}).value().to_vector(), z.grad().to_vector()};
}

// Slope of a loss at the right score of two, whose lead over the wrong one is `lead`.
double pull_of_cross_entropy(double lead) {
  const Var z = leaf({lead, 0});
  backward(cross_entropy(z, Ids(Shape{1}, 0)));
  return z.grad().at({0, 0});
}
double pull_of_squared_error(double lead) {
  const Var z = leaf({lead, 0});
  backward(mse(softmax(z, Axis{1}), tensor(Shape{1, 2}, {1, 0}, f64)));
  return z.grad().at({0, 0});
}

}  // namespace

std::vector<std::string> jacobian_verdicts() {
  const Var e = leaf({0.9, -0.4, 0.3});
  std::vector<std::string> verdicts;
  for (const auto& f :
       std::vector<std::function<Var()>>{[&] { return softmax(e, Axis{1}); }, [&] { return diagonal_softmax(e); },
                                         [&] { return sum(softmax(e, Axis{1})); }})
    verdicts.emplace_back(to_string(check_gradient(f, {{"e", e}}).verdict));
  return verdicts;
}

std::string jacobian(const Terminal& terminal, Lang lang) {
  std::string out(tr(lang,
                     "Raising a score raises its own weight and lowers the others: rows sum to 0.\n"
                     "d alpha_i / d e_j of softmax(0.90, -0.40, 0.30):\n",
                     "抬高一个分数，它自己的权重升高，其余的都降低：每一行的和为 0。\n"
                     "softmax(0.90, -0.40, 0.30) 的 d alpha_i / d e_j：\n"));
  Table slopes({"", "alpha_i", "e_1", "e_2", "e_3", std::string(tr(lang, "sum", "和"))},
               {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (std::int64_t i = 0; i < 3; ++i) {
    const Var e = leaf({0.9, -0.4, 0.3}), alpha = softmax(e, Axis{1});
    const double weight = alpha.value().at({0, i});
    backward(sum(select(alpha, Axis{1}, i)));
    std::vector<std::string> cells = {fmt::format("alpha_{}", i + 1), fixed(weight)};
    double total = 0;
    for (double slope : e.grad().to_vector()) {
      cells.push_back(fixed(slope));
      total += slope;
    }
    cells.push_back(fixed(total));
    slopes.add_row(cells);
  }
  out += slopes.text(terminal) + "\n";
  const std::vector<std::string> verdicts = jacobian_verdicts();
  Table checks({std::string(tr(lang, "what is checked", "检查什么")), std::string(tr(lang, "self check", "自检"))});
  checks.add_row({std::string(tr(lang, "softmax, dx = alpha (dy - sum of alpha dy)",
                                 "softmax，dx = alpha (dy - sum of alpha dy)")),
                  verdicts[0]});
  checks.add_row(
      {std::string(tr(lang, "diagonal only, dx = alpha (1 - alpha) dy", "只有对角线，dx = alpha (1 - alpha) dy")),
       verdicts[1]});
  checks.add_row({std::string(tr(lang, "the sum of the weights, always 1", "权重之和，永远是 1")), verdicts[2]});
  return out + checks.text(terminal);
}

std::string trace_cross_entropy(const Terminal& terminal, Lang lang) {
  const Example before = example(example_logits);
  Table table({std::string(tr(lang, "class k", "类别 k")), "1", "2", "3"},
              {Align::left, Align::right, Align::right, Align::right});
  const auto add = [&](const std::string& name, const std::vector<double>& v) {
    table.add_row({name, fixed(v[0]), fixed(v[1]), fixed(v[2])});
  };
  const std::vector<double> y = {0, 1, 0};
  std::vector<double> by_hand, after;
  for (std::size_t k = 0; k < 3; ++k) {
    by_hand.push_back(before.p[k] - y[k]);
    after.push_back(example_logits[k] - by_hand[k]);
  }
  const Example next = example(after);
  add("z_k", example_logits);
  add("p_k = softmax(z)", before.p);
  add("y_k", y);
  add("p_k - y_k", by_hand);
  add(std::string(tr(lang, "dL/dz_k by the tape", "计算图给出的 dL/dz_k")), before.gradient);
  add("z_k - dL/dz_k", after);
  add(std::string(tr(lang, "p_k after this step", "走这一步之后的 p_k")), next.p);
  const double lse = logsumexp(leaf(example_logits), Axis{1}).item();
  return fmt::format(
             fmt::runtime(
                 tr(lang, "The right class is 2: L = log-sum-exp(z) - z_2 = {} - {} = {};\nafter one step it is {}.\n",
                    "正确的类别是 2：L = log-sum-exp(z) - z_2 = {} - {} = {}；\n走一步之后是 {}。\n")),
             fixed(lse), fixed(example_logits[1]), fixed(before.loss), fixed(next.loss)) +
         table.text(terminal);
}

std::string pulls(const Terminal& terminal, Lang lang) {
  Table table({"z_right - z_wrong", "p_right", std::string(tr(lang, "cross-entropy", "交叉熵")),
               std::string(tr(lang, "squared error", "平方误差"))},
              {Align::right, Align::right, Align::right, Align::right});
  for (double lead : {5., 2., 0., -2., -5., -10.}) {
    table.add_row({fixed(lead, 0), fixed(softmax(leaf({lead, 0}), Axis{1}).value().at({0, 0}), 5),
                   fixed(pull_of_cross_entropy(lead), 5), fixed(pull_of_squared_error(lead), 5)});
  }
  return std::string(tr(lang, "Slope at the right score: squared error lets go where the model is most wrong.\n",
                        "损失对正确分数的导数。模型错得最厉害的地方，平方误差已经撒手不管。\n")) +
         table.text(terminal);
}

LineChart pull_chart(Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Slope of two losses at the right score", "两种损失对正确分数的导数");
  chart.x_label = tr(lang, "lead of the right score over the wrong one", "正确分数领先错误分数多少");
  chart.y_label = tr(lang, "slope", "导数");
  chart.series = {{std::string(tr(lang, "cross-entropy", "交叉熵")), {}, {}},
                  {std::string(tr(lang, "squared error", "平方误差")), {}, {}}};
  for (int lead = -10; lead <= 10; ++lead) {
    for (Series& s : chart.series) s.x.push_back(lead);
    chart.series[0].y.push_back(pull_of_cross_entropy(lead));
    chart.series[1].y.push_back(pull_of_squared_error(lead));
  }
  chart.lang = lang;
  return chart;
}

}  // namespace gradus::lesson04
