// What depends on sizes: the general score and its W_a, parameters, and how far scores spread with d.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "lessons/08_scores/by_hand.h"
#include "lessons/common/table.h"
#include "nn/attention.h"
#include "tensor/doctor/doctor.h"

namespace gradus::lesson08 {

namespace {

Score general_with(const Shape& shape, const Vector& W) {
  Score score;
  score.kind = ScoreKind::general;
  score.W_a = Var(tensor(shape, W, f64));
  return score;
}

// The shape doctor's report on the error that `f` throws.
std::string said_by(const std::function<void()>& f, Lang lang) {
  try {
    f();
  } catch (const ShapeError& error) { return error.report ? "\n" + error.report->text(lang) : error.what(); }
  return std::string(tr(lang, "accepted", "接受"));
}

double deviation(const std::vector<double>& values) {
  double squares = 0;
  for (double v : values) squares += v * v;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

std::string orientation(const Terminal& terminal, Lang lang) {
  const Var s = row({.5, -.4}), H = Var(tensor(Shape{1, 3, 2}, {1, 0, 0, 1, -1, .5}, f64));
  Table table({"", "e_i", "alpha_i"});
  const std::pair<std::string, Vector> ways[] = {
      {"s . W_a h_i", {.6, -.2, .1, .7}},
      {std::string(tr(lang, "s . W_a' h_i, transposed", "s . W_a' h_i，转置了")), {.6, .1, -.2, .7}}};
  for (const auto& [name, W] : ways) {
    const Var e = general_with(Shape{2, 2}, W)(s, H);
    table.add_row(
        {name, vector_text(e.value().to_vector(), 4), vector_text(softmax(e, Axis{1}).value().to_vector(), 4)});
  }
  const Var wide = Var(zeros(Shape{1, 3, 3}, f64));
  Generator generator(1);
  const auto answer = [&](const std::string& to, const std::function<void()>& f) {
    return to + said_by(f, lang) + "\n";
  };
  return std::string(tr(lang,
                        "A square W_a lets its transpose pass. s = (0.5 -0.4), W_a = (0.6 -0.2; 0.1 0.7),\n"
                        "h_1 = (1 0), h_2 = (0 1), h_3 = (-1 0.5):\n",
                        "方阵 W_a 转置了也没人发现。这里 s = (0.5 -0.4)，W_a = (0.6 -0.2; 0.1 0.7)，\n"
                        "h_1 = (1 0)，h_2 = (0 1)，h_3 = (-1 0.5)：\n")) +
         table.text(terminal) +
         std::string(tr(lang, "With d_s = 2 and d_h = 3 the library answers:\n", "d_s = 2、d_h = 3 时，库的回答：\n")) +
         answer(std::string(tr(lang, "W_a (2, 3): ", "W_a (2, 3)：")),
                [&] {
                  general_with(Shape{2, 3}, Vector(6, 1))(s, wide);
                }) +
         answer(std::string(tr(lang, "W_a (3, 2):", "W_a (3, 2)：")),
                [&] {
                  general_with(Shape{3, 2}, Vector(6, 1))(s, wide);
                }) +
         answer(std::string(tr(lang, "The dot score:", "点积打分：")),
                [&] { Score(ScoreKind::dot, 2, 3, 0, generator); });
}

std::string right_angle(const Terminal& terminal, Lang lang) {
  const Var s = row({1, 0, -1}), H = Var(tensor(Shape{1, 3, 3}, {0, 1, 0, 1, 0, 1, -1, 0, -1}, f64));
  Table table({"", "e_i", "alpha_i"});
  Score dot;
  dot.kind = ScoreKind::dot;
  const Var by_dot = dot(s, H), by_general = general_with(Shape{3, 3}, {0, 1, 0, -1, 0, 0, 0, 0, 1})(s, H);
  for (const auto& [name, e] : {std::pair(std::string("s . h_i"), by_dot), {"s . W_a h_i", by_general}})
    table.add_row(
        {name, vector_text(e.value().to_vector(), 4), vector_text(softmax(e, Axis{1}).value().to_vector(), 4)});
  return std::string(tr(lang,
                        "At a right angle is not unrelated: s = (1 0 -1), h_1 = (0 1 0), h_2 = (1 0 1),\n"
                        "h_3 = (-1 0 -1), W_a = (0 1 0; -1 0 0; 0 0 1), a quarter turn of two axes:\n",
                        "正交不等于无关：s = (1 0 -1)，h_1 = (0 1 0)，h_2 = (1 0 1)，h_3 = (-1 0 -1)，\n"
                        "W_a = (0 1 0; -1 0 0; 0 0 1)，把前两个轴转四分之一圈：\n")) +
         table.text(terminal);
}

std::string parameter_counts(const Terminal& terminal, Lang lang) {
  struct Kind {
    ScoreKind kind;
    const char* formula;
  };
  Table table(
      {std::string(tr(lang, "score", "打分")), std::string(tr(lang, "parameters", "参数")), "64, 64", "64, 128"},
      {Align::left, Align::left, Align::right, Align::right});
  Generator generator(1);
  for (const Kind& k : {Kind{ScoreKind::dot, "0"},
                        {ScoreKind::scaled_dot, "0"},
                        {ScoreKind::cosine, "0"},
                        {ScoreKind::general, "d_s d_h"},
                        {ScoreKind::additive, "d_attn (d_s + d_h + 1)"}}) {
    std::vector<std::string> cells = {to_string(k.kind), k.formula};
    for (std::int64_t d_h : {64, 128}) {
      const bool fits = d_h == 64 || k.kind == ScoreKind::general || k.kind == ScoreKind::additive;
      cells.push_back(fits ? std::to_string(count(parameters(Score(k.kind, 64, d_h, 64, generator)))) : "-");
    }
    table.add_row(cells);
  }
  return std::string(tr(lang, "Parameters for d_s, d_h as in the heading and d_attn = 64; -: refused\n",
                        "表头是 d_s, d_h，d_attn = 64；-：不接受\n")) +
         table.text(terminal);
}

std::vector<Spread> spreads() {
  constexpr std::int64_t queries = 500, keys = 10;
  std::vector<Spread> rows;
  for (std::int64_t d : {1, 4, 16, 64, 256}) {
    Generator generator(1, "spread");
    const Var s(random_normal(Shape{queries, d}, 0, 1, generator, f64)),
        H(random_normal(Shape{queries, keys, d}, 0, 1, generator, f64));
    Spread spread{d, 0, 0, 0, 0, 0, 0};
    for (ScoreKind kind : {ScoreKind::dot, ScoreKind::scaled_dot}) {
      Score score;
      score.kind = kind;
      const Var e = score(s, H), largest = max(softmax(e, Axis{1}), Axis{1});
      const bool plain = kind == ScoreKind::dot;
      (plain ? spread.dot : spread.scaled) = deviation(e.value().to_vector());
      (plain ? spread.dot_weight : spread.scaled_weight) = mean(largest).item();
      (plain ? spread.dot_slope : spread.scaled_slope) = mean(largest * (1 - largest)).item();
    }
    rows.push_back(spread);
  }
  return rows;
}

std::string spread_table(const std::vector<Spread>& rows, const Terminal& terminal, Lang lang) {
  const std::string weight(tr(lang, "weight", "权重")), slope(tr(lang, "slope", "导数"));
  Table table({"d", std::string(tr(lang, "dot: deviation", "点积：标准差")), "sqrt(d)", weight, slope,
               std::string(tr(lang, "scaled: deviation", "缩放：标准差")), weight, slope},
              std::vector<Align>(8, Align::right));
  for (const Spread& r : rows)
    table.add_row({std::to_string(r.d), fixed(r.dot, 2), fixed(std::sqrt(static_cast<double>(r.d)), 2),
                   fixed(r.dot_weight, 2), fixed(r.dot_slope, 3), fixed(r.scaled, 2), fixed(r.scaled_weight, 2),
                   fixed(r.scaled_slope, 3)});
  return std::string(tr(lang, "Random q and 10 random k: dot spreads as sqrt(d) and saturates its softmax.\n",
                        "随机的 q 和 10 个随机的 k：点积的标准差随 sqrt(d) 增长，使 softmax 饱和。\n")) +
         table.text(terminal);
}

LineChart spread_chart(const std::vector<Spread>& rows, Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Mean largest weight of 10 against d, for random vectors",
                   "随机向量：10 个权重中最大者的平均随 d 的变化");
  chart.x_label = "d";
  chart.y_label = tr(lang, "largest weight", "最大权重");
  chart.series = {{"dot", {}, {}}, {"scaled_dot", {}, {}}};
  for (const Spread& r : rows) {
    for (Series& s : chart.series) s.x.push_back(static_cast<double>(r.d));
    chart.series[0].y.push_back(r.dot_weight);
    chart.series[1].y.push_back(r.scaled_weight);
  }
  chart.lines = {{"1/10", 0.1}};
  chart.y_min = 0;
  chart.y_max = 1;
  chart.x_log = true;
  chart.lang = lang;
  return chart;
}

}  // namespace gradus::lesson08
