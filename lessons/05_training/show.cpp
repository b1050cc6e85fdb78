// Tables and pictures of what was trained.
#include "lessons/05_training/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/05_training/by_hand.h"
#include "lessons/common/table.h"

namespace gradus::lesson05 {

std::string verdict(const std::vector<Trial>& trials, const std::vector<Resumed>& resumed, Lang lang) {
  return fmt::format(
      fmt::runtime(tr(lang, "Adam answers {} of fresh points; resumed half-way, {} of its weights differ.\n",
                      "Adam 答对 {} 的新点；中途续训之后，有 {} 个权重不同。\n")),
      percent(trials[0].accuracy), resumed[1].different);
}

std::string trials_table(const std::vector<Trial>& trials, const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "how", "怎样训练")), std::string(tr(lang, "rate", "学习率")),
               std::string(tr(lang, "loss at the end", "最后的损失")), std::string(tr(lang, "accuracy", "准确率")),
               std::string(tr(lang, "length of all weights", "全部权重的长度"))},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  for (const Trial& t : trials)
    table.add_row({t.plan.name.in(lang), fmt::format("{}", t.plan.rate), fmt::format("{:.2g}", t.loss),
                   percent(t.accuracy), fmt::format("{:.3g}", t.length)});
  return table.text(terminal);
}

std::string resume_table(const std::vector<Resumed>& resumed, const Terminal& terminal, Lang lang) {
  Table table(
      {std::string(tr(lang, "lost at the resume", "续训时丢了什么")),
       std::string(tr(lang, "weights that differ", "不同的权重")), std::string(tr(lang, "at most by", "最多相差")),
       std::string(tr(lang, "loss, next 20 steps", "接下来 20 步的损失"))},
      {Align::left, Align::right, Align::right, Align::right});
  for (const Resumed& r : resumed)
    table.add_row({r.what.in(lang), std::to_string(r.different), fmt::format("{:.2g}", r.largest), fixed(r.loss)});
  return table.text(terminal);
}

void add_numbers(const std::vector<Trial>& trials, const std::vector<Resumed>& resumed, Metrics& metrics) {
  const Words accuracy("accuracy on fresh points", "新点上的准确率"), length("length of all weights", "全部权重的长度"),
      loss("loss at the end", "最后的损失"), lost("lost at the resume", "续训时丢了什么");
  for (const Trial& t : trials) metrics.across_seeds("trials", accuracy, t.plan.name, percent(t.accuracy));
  for (const std::size_t which : {2, 8, 9})
    metrics.across_seeds("length", length, trials[which].plan.name, fmt::format("{:.3g}", trials[which].length));
  for (const std::size_t which : {2, 8, 9})
    metrics.across_seeds("loss", loss, trials[which].plan.name, fmt::format("{:.2g}", trials[which].loss));
  for (const std::size_t which : {1, 2}) {
    const Resumed& r = resumed[which];
    const auto row = [&](const Words& what, const std::string& number) {
      metrics.across_seeds("resume", lost, r.what + Words(": ", "：") + what, number);
    };
    row({"weights that differ", "不同的权重"}, std::to_string(r.different));
    row({"at most by", "最多相差"}, fmt::format("{:.2g}", r.largest));
    row({"loss, next 20 steps", "接下来 20 步的损失"}, fixed(r.loss));
  }
  for (const Trial& t : trials)
    metrics.set(t.plan.name.en, Json::object({{"accuracy", t.accuracy}, {"loss", t.loss}, {"length", t.length}}));
  for (const Resumed& r : resumed)
    metrics.set("lost: " + r.what.en,
                Json::object({{"weights that differ", r.different}, {"largest", r.largest}, {"loss", r.loss}}));
}

LineChart loss_chart(const std::vector<Trial>& trials, Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Loss while training", "训练中的损失");
  chart.x_label = tr(lang, "steps", "步数");
  chart.y_label = tr(lang, "loss", "损失");
  constexpr std::size_t every = 40;  // points of the chart are means of so many steps
  for (const std::size_t which : {0, 1, 3, 9}) {
    if (which >= trials.size()) continue;
    const Trial& t = trials[which];
    Series s{t.plan.name.in(lang), {}, {}};
    if (which == 9) s.name = tr(lang, "no zero_grad, not clipped", "没有 zero_grad，不裁剪");
    for (std::size_t at = 0; at < t.losses.size(); at += every) {
      const std::size_t end = std::min(at + every, t.losses.size());
      s.x.push_back(static_cast<double>(end));
      s.y.push_back(std::accumulate(t.losses.begin() + static_cast<std::ptrdiff_t>(at),
                                    t.losses.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
                    static_cast<double>(end - at));
    }
    chart.series.push_back(s);
  }
  chart.y_log = true;
  chart.lang = lang;
  return chart;
}

Heatmap decision_map(const Mlp& model, Lang lang) {
  const NoGrad nothing_is_recorded;
  Heatmap map;
  map.title = tr(lang, "Probability of the second arm over the plane", "平面上各点属于第二条旋臂的概率");
  map.row_label = "x_2";
  map.column_label = "x_1";
  constexpr int rows_a_unit = 2, columns_a_unit = 4, edge = static_cast<int>(extent);
  for (int row = rows_a_unit * edge; row >= -rows_a_unit * edge; --row) {
    map.rows.push_back(row % rows_a_unit == 0 ? std::to_string(row / rows_a_unit) : "");
    for (int column = -columns_a_unit * edge; column <= columns_a_unit * edge; ++column) {
      if (map.rows.size() == 1)
        map.columns.push_back(column % columns_a_unit == 0 ? std::to_string(column / columns_a_unit) : "");
      const Tensor x = tensor(Shape{1, 2}, {1.0 * column / columns_a_unit, 1.0 * row / rows_a_unit});
      map.values.push_back(softmax(model(x).value(), Axis{1}).at({0, 1}));
    }
  }
  map.low = 0;
  map.high = 1;
  map.lang = lang;
  return map;
}

std::string answer_table(const Mlp& model, double x_1, double x_2, const Terminal& terminal, Lang lang) {
  const NoGrad nothing_is_recorded;
  const Tensor logits = model(tensor(Shape{1, 2}, {x_1, x_2})).value(), p = softmax(logits, Axis{1});
  Table table({std::string(tr(lang, "arm", "旋臂")), "z", "p = softmax(z)"}, {Align::left, Align::right, Align::right});
  for (std::int64_t k = 0; k < arms; ++k)
    table.add_row({std::to_string(k + 1), fixed(logits.at({0, k})), fixed(p.at({0, k}))});
  return table.text(terminal);
}

}  // namespace gradus::lesson05
