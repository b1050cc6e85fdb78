// Tables and pictures of the trained classifier.
#include "lessons/04_softmax/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/04_softmax/by_hand.h"
#include "lessons/common/table.h"

namespace gradus::lesson04 {

Evaluation evaluate(const Tensor& log_q, const Points& points) {
  Evaluation result;
  for (double edge : {1.0 / 3, 0.5, 0.7, 0.9}) {
    if (!result.bins.empty()) result.bins.back().high = edge;
    result.bins.push_back({edge, 1, 0, 0, 0});
  }
  const Tensor log_p = true_log_probabilities(points.x);
  const Ids answers = argmax(log_q, Axis{1});
  const std::int64_t n = points.labels.size();
  for (std::int64_t i = 0; i < n; ++i) {
    const double confidence = std::exp(log_q.at({i, answers[i]}));
    const bool right = answers[i] == points.labels[i];
    result.loss -= log_q.at({i, points.labels[i]});
    result.accuracy += right;
    result.confidence += confidence;
    for (std::int64_t k = 0; k < classes; ++k)
      result.divergence += std::exp(log_p.at({i, k})) * (log_p.at({i, k}) - log_q.at({i, k}));
    const auto bin =
        std::find_if(result.bins.rbegin(), result.bins.rend() - 1, [&](const Bin& b) { return confidence >= b.low; });
    bin->confidence += confidence;
    bin->right += right;
    ++bin->count;
  }
  const auto all = static_cast<double>(n);
  for (double* total : {&result.loss, &result.accuracy, &result.confidence, &result.divergence}) *total /= all;
  for (Bin& bin : result.bins) {
    if (bin.count == 0) continue;
    const auto count = static_cast<double>(bin.count);
    bin.confidence /= count;
    bin.right /= count;
    result.miscalibration += count / all * std::fabs(bin.confidence - bin.right);
  }
  return result;
}

Json to_json(const Evaluation& result) {
  return Json::object({{"accuracy", result.accuracy},
                       {"confidence", result.confidence},
                       {"loss", result.loss},
                       {"divergence", result.divergence},
                       {"miscalibration", result.miscalibration}});
}

Tensor cooled(const Tensor& log_q, double T) { return log_softmax((Var(log_q) / T).value(), Axis{1}); }

std::string verdict(const Evaluation& once, const Evaluation& twice, Lang lang) {
  constexpr double small = 0.01;  // of the divergence and of the miscalibration
  const auto believable = [](const Evaluation& r) { return r.divergence <= small && r.miscalibration <= 2 * small; };
  if (!believable(once))
    return std::string(tr(lang, "Too few steps: the probabilities are not those of Bayes' rule yet.\n",
                          "步数太少：概率还不是贝叶斯公式的概率。\n"));
  if (believable(twice))
    return std::string(tr(lang, "On this set both give the probabilities of Bayes' rule.\n",
                          "在这组数据上，两者都给出了贝叶斯公式的概率。\n"));
  return std::string(tr(lang, "Softmax once has learned Bayes' probabilities; softmax twice claims too much.\n",
                        "一次 softmax 学到了贝叶斯公式的概率；两次 softmax 过于自信。\n"));
}

std::string results_table(const std::vector<Named>& rows, const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "fresh points", "新的点")), std::string(tr(lang, "accuracy", "准确率")),
               std::string(tr(lang, "confidence", "置信度")), std::string(tr(lang, "loss", "损失")),
               std::string(tr(lang, "divergence", "散度"))},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  for (const auto& [name, r] : rows)
    table.add_row({name.in(lang), percent(r.accuracy), percent(r.confidence), fixed(r.loss), fixed(r.divergence)});
  return table.text(terminal);
}

std::string calibration_table(const Evaluation& once, const Evaluation& twice, const Terminal& terminal, Lang lang) {
  const std::string right(tr(lang, "is right", "实际"));
  Table table({std::string(tr(lang, "confidence", "置信度")), std::string(tr(lang, "once: says", "一次：自称")), right,
               std::string(tr(lang, "twice: says", "两次：自称")), right},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  for (std::size_t b = 0; b < once.bins.size(); ++b) {
    std::vector<std::string> cells = {
        fmt::format("{:.0f} - {:.0f} %", 100 * once.bins[b].low, 100 * once.bins[b].high)};
    for (const Evaluation* model : {&once, &twice}) {
      const Bin& bin = model->bins[b];
      cells.push_back(bin.count == 0 ? "-" : percent(bin.confidence));
      cells.push_back(bin.count == 0 ? "-" : percent(bin.right));
    }
    table.add_row(cells);
  }
  return table.text(terminal);
}

std::string temperature_table(const Tensor& log_q, const Points& points, const Terminal& terminal, Lang lang) {
  Table table({"T", std::string(tr(lang, "accuracy", "准确率")), std::string(tr(lang, "confidence", "置信度")),
               std::string(tr(lang, "loss", "损失"))},
              {Align::right, Align::right, Align::right, Align::right});
  for (double T : {0.25, 0.5, 1., 2., 4.}) {
    const Evaluation r = evaluate(cooled(log_q, T), points);
    table.add_row({fmt::format("{}", T), percent(r.accuracy), percent(r.confidence), fixed(r.loss)});
  }
  return std::string(tr(lang, "Temperature on the trained model: the same answers, another confidence.\n",
                        "给训练好的模型加上温度：答案不变，置信度变了。\n")) +
         table.text(terminal);
}

std::string weights_table(const Classifier& model, const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "class", "类别")), "W", "b",
               std::string(tr(lang, "W by Bayes' rule", "贝叶斯公式的 W")), "b"},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  const Tensor &W = model.linear.W.value(), &b = model.linear.b.value();
  const auto less_mean = [](auto value_of, std::int64_t k) {
    double mean = 0;
    for (std::int64_t j = 0; j < classes; ++j) mean += value_of(j) / classes;
    return value_of(k) - mean;
  };
  const auto number = [](double value) { return fmt::format("{:>5}", fixed(value, 2)); };
  const auto m = [](std::int64_t k, int d) { return centres[k][d]; };
  for (std::int64_t k = 0; k < classes; ++k) {
    std::string learned, by_rule;
    for (int d = 0; d < 2; ++d) {
      learned += (d ? " " : "") + number(less_mean([&](std::int64_t j) { return W.at({j, d}); }, k));
      by_rule += (d ? " " : "") + number(less_mean([&](std::int64_t j) { return m(j, d); }, k));
    }
    const auto bias = [&](std::int64_t j) { return -(m(j, 0) * m(j, 0) + m(j, 1) * m(j, 1)) / 2; };
    table.add_row({std::string(1, "ABC"[k]), learned, number(less_mean([&](std::int64_t j) { return b.at({j}); }, k)),
                   by_rule, number(less_mean(bias, k))});
  }
  return std::string(tr(lang, "W and b, the mean over the classes taken off:\n", "W 和 b，减去各类别的平均：\n")) +
         table.text(terminal);
}

std::string answer_table(const Classifier& model, double x_1, double x_2, const Terminal& terminal, Lang lang) {
  const Tensor x = tensor(Shape{1, 2}, {x_1, x_2});
  const std::vector<double> z = model.logits(x).value().to_vector(), log_q = model.log_probabilities(x).to_vector(),
                            log_p = true_log_probabilities(x).to_vector();
  Table table({std::string(tr(lang, "class", "类别")), "z = W x + b", "p = softmax(z)",
               std::string(tr(lang, "p by Bayes' rule", "贝叶斯公式的 p"))},
              {Align::left, Align::right, Align::right, Align::right});
  for (std::size_t k = 0; k < static_cast<std::size_t>(classes); ++k)
    table.add_row({std::string(1, "ABC"[k]), fixed(z[k]), fixed(std::exp(log_q[k])), fixed(std::exp(log_p[k]))});
  return table.text(terminal);
}

LineChart loss_chart(const std::vector<double>& once, const std::vector<double>& twice, double best, Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Loss while training", "训练中的损失");
  chart.x_label = tr(lang, "steps", "步数");
  chart.y_label = tr(lang, "loss", "损失");
  const auto steps = [](const std::vector<double>& losses) {
    std::vector<double> numbers(losses.size());
    std::iota(numbers.begin(), numbers.end(), 1.0);
    return numbers;
  };
  chart.series = {{std::string(tr(lang, "softmax once", "一次 softmax")), steps(once), once},
                  {std::string(tr(lang, "softmax twice", "两次 softmax")), steps(twice), twice}};
  chart.lines = {
      {fmt::format("{}{}", tr(lang, "Bayes' rule: ", "贝叶斯公式："), fixed(best)), best},
      {fmt::format("{}{}", tr(lang, "floor of two: ", "两次的下限："), fixed(floor_of_two())), floor_of_two()}};
  chart.y_min = 0;
  chart.x_log = true;
  chart.lang = lang;
  return chart;
}

Heatmap confidence_map(const Classifier& model, Lang lang) {
  Heatmap map;
  map.title = tr(lang, "Largest probability over the plane: low along the borders of the classes",
                 "平面上各点的最大概率：在类别的交界处低");
  map.row_label = "x_2";
  map.column_label = "x_1";
  for (int row = 4; row >= -4; --row) {
    map.rows.push_back(std::to_string(row));
    for (int column = -5; column <= 5; ++column) {
      if (row == 4) map.columns.push_back(std::to_string(column));
      const Tensor x = tensor(Shape{1, 2}, {static_cast<double>(column), static_cast<double>(row)});
      map.values.push_back(std::exp(max(model.log_probabilities(x), Axis{1}).item()));
    }
  }
  map.low = 1.0 / classes;
  map.high = 1;
  map.lang = lang;
  return map;
}

double floor_of_two() { return std::log(1 + (classes - 1) / std::exp(1.0)); }

void report_by_hand(double hand_against_tape, Metrics& metrics) {
  metrics.at_most({"numbers of the notes, in units of their last digit", "讲义里的数，误差以其末位为单位"}, 0.5,
                  distance_from_notes());
  metrics.at_most({"gradient p - y by hand against the tape", "手算的梯度 p - y 与计算图之差"}, 1e-12,
                  hand_against_tape);
  const std::vector<std::string> verdicts = jacobian_verdicts();
  metrics.holds({"self check of softmax", "对 softmax 的自检"}, {"PASSED", "PASSED"}, verdicts[0] == "PASSED");
  metrics.holds({"self check of the diagonal alone", "对只有对角线者的自检"},
                {"GC_WRONG_GRADIENT", "GC_WRONG_GRADIENT"}, verdicts[1] == "GC_WRONG_GRADIENT");
  metrics.holds({"self check of the sum of the weights", "对权重之和的自检"},
                {"GC_NOTHING_TESTED", "GC_NOTHING_TESTED"}, verdicts[2] == "GC_NOTHING_TESTED");
}

void report_trained(const std::vector<Named>& results, double above_floor, Metrics& metrics) {
  const Words trained("a classifier of 3 clouds", "3 团点的分类器");
  const Evaluation &bayes = results[0].result, &once = results[1].result;
  metrics.at_least({"accuracy minus that of Bayes' rule", "准确率减去贝叶斯公式的准确率"}, -0.01,
                   once.accuracy - bayes.accuracy);
  metrics.at_most({"divergence from Bayes' rule", "与贝叶斯公式的散度"}, 0.01, once.divergence);
  metrics.at_most({"mean of |confidence - share that is right|", "|置信度 - 答对的比例| 的平均"}, 0.02,
                  once.miscalibration);
  metrics.at_least({"loss with two softmaxes, above its floor", "两次 softmax 的损失高出其下限多少"}, 0, above_floor);
  metrics.across_seeds("trained", trained, {"accuracy less that of Bayes' rule", "准确率减去贝叶斯公式的"},
                       fixed(once.accuracy - bayes.accuracy));
  metrics.across_seeds("trained", trained, {"divergence from Bayes' rule", "与贝叶斯公式的散度"},
                       fixed(once.divergence));
  metrics.across_seeds("trained", trained, {"loss with two softmaxes, above its floor", "两次 softmax 的损失高出下限"},
                       fixed(above_floor));
  for (const Named& n : results) metrics.set(n.name.en, to_json(n.result));
}

}  // namespace gradus::lesson04
