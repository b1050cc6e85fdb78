// The notes' examples, traced. All numbers come from the library's own ops, in f64.
#include "lessons/08_scores/by_hand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lessons/common/table.h"
#include "lessons/common/typed.h"
#include "nn/attention.h"

namespace gradus::lesson08 {

Var row(const Vector& values) { return Var(tensor(Shape{1, static_cast<std::int64_t>(values.size())}, values, f64)); }

namespace {

Var states_of(const Example& example) {  // (1, T, d)
  Vector all;
  for (const Vector& h : example.states) all.insert(all.end(), h.begin(), h.end());
  return Var(tensor(
      Shape{1, static_cast<std::int64_t>(example.states.size()), static_cast<std::int64_t>(example.query.size())}, all,
      f64));
}

struct Result {
  Vector scores, weights, context;
};
Result result_of(const Example& example, ScoreKind kind) {
  Score score;
  score.kind = kind;
  const Var H = states_of(example), e = score(row(example.query), score.keys(H));
  const Attended a = attend(e, H);
  return {e.value().to_vector(), a.weights.value().to_vector(), a.context.value().to_vector()};
}

double length_of(const Vector& v) {
  double squares = 0;
  for (double x : v) squares += x * x;
  return std::sqrt(squares);
}

Example moved(double share) {
  Example example = note_0();
  const Vector last = note_0_moved().query;
  for (std::size_t d = 0; d < last.size(); ++d) example.query[d] = (1 - share) * example.query[d] + share * last[d];
  return example;
}

std::string line(const std::string& name, const std::string& numbers) { return pad_right(name, 24) + numbers + "\n"; }

}  // namespace

Example note_0() { return {{.9, .1, .2}, {{1, 0, .2}, {.5, .5, .1}, {.1, .9, .3}}}; }
Example note_0_moved() { return {{.1, .9, .3}, note_0().states}; }
Example note_1() { return {{.8, -.2, .5}, {{.1, .9, .3}, {.7, .2, -.5}}}; }

std::string vector_text(const Vector& values, int digits, bool room_for_signs) {
  const bool signs =
      room_for_signs || std::any_of(values.begin(), values.end(), [](double value) { return value < 0; });
  std::string out;
  for (double value : values)
    out += fmt::format("{}{:>{}}", out.empty() ? "" : " ", fixed(value, digits), digits + (digits ? 2 : 1) + signs);
  return "(" + out + ")";
}

std::string trace(const Example& example, const Terminal&, Lang lang) {
  const Result r = result_of(example, ScoreKind::dot);
  std::string out = line("s", vector_text(example.query, 2, true));
  for (std::size_t i = 0; i < example.states.size(); ++i)
    out += line(fmt::format("h_{}", i + 1), vector_text(example.states[i], 2, true));
  out += std::string(tr(lang, "1. score: s . h_i, product by product\n", "1. 打分：s . h_i，逐项相乘\n"));
  for (std::size_t i = 0; i < example.states.size(); ++i) {
    Vector products;
    for (std::size_t d = 0; d < example.query.size(); ++d) products.push_back(example.query[d] * example.states[i][d]);
    out += line(fmt::format("   e_{}", i + 1),
                vector_text(products, 2, true) + fmt::format("  {} {:>7}", tr(lang, "sum", "和"), fixed(r.scores[i])));
  }
  out += std::string(tr(lang, "2. softmax over i\n", "2. 对 i 做 softmax\n"));
  out += line("   alpha_i", vector_text(r.weights, 4, true));
  out += std::string(tr(lang, "3. weighted sum: alpha_i h_i\n", "3. 加权和：alpha_i h_i\n"));
  for (std::size_t i = 0; i < example.states.size(); ++i) {
    Vector part;
    for (double x : example.states[i]) part.push_back(r.weights[i] * x);
    out += line(fmt::format("   alpha_{0} h_{0}", i + 1), vector_text(part, 4, true));
  }
  return out + line("   c", vector_text(r.context, 4, true));
}

Example read_example(const std::string& text) {
  const std::string hint = "\"0.8 -0.2 0.5 | 0.1 0.9 0.3 | 0.7 0.2 -0.5\"";
  std::vector<Vector> vectors;
  for (std::size_t at = 0, end = 0; at <= text.size(); at = end + 1) {
    end = std::min(text.find('|', at), text.size());
    vectors.push_back(numbers_in(text.substr(at, end - at), 1000, hint));
  }
  if (vectors.size() < 2 || vectors.size() > 9)
    throw InputError({fmt::format("a query wants 1 to 8 states, found {}; type the query and then states, such as {}",
                                  vectors.size() - 1, hint),
                      fmt::format("一个查询配 1 到 8 个状态，这里有 {} 个；先输入查询，再输入各个状态，例如 {}",
                                  vectors.size() - 1, hint)});
  for (const Vector& v : vectors) {
    if (v.empty() || v.size() > 6 || v.size() != vectors[0].size())
      throw InputError({fmt::format("all vectors must be equally long, 1 to 6 numbers; found {} and {}; such as {}",
                                    vectors[0].size(), v.size(), hint),
                        fmt::format("所有向量都要一样长，1 到 6 个数；这里有 {} 个和 {} 个；例如 {}", vectors[0].size(),
                                    v.size(), hint)});
  }
  return {vectors[0], {vectors.begin() + 1, vectors.end()}};
}

std::string moving_query(const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "way", "进程")), "s", "e_i", "alpha_i", "c"},
              {Align::right, Align::left, Align::left, Align::left, Align::left});
  for (double share : {0., .25, .5, .75, 1.}) {
    const Example example = moved(share);
    const Result r = result_of(example, ScoreKind::dot);
    table.add_row({fmt::format("{:.0f} %", 100 * share), vector_text(example.query, 2), vector_text(r.scores, 2),
                   vector_text(r.weights, 3), vector_text(r.context, 2)});
  }
  return std::string(tr(lang, "The query moves from \"cat\" to \"mat\", and the weights move with it.\n",
                        "查询从 cat 移向 mat，权重跟着移动。\n")) +
         table.text(terminal);
}

LineChart moving_chart(Lang lang) {
  LineChart chart;
  chart.title =
      tr(lang, "Weights while the query moves from the first word to the last", "查询从第一个词移向最后一个词时的权重");
  chart.x_label = tr(lang, "way of the query, in percent", "查询走过的百分比");
  chart.y_label = tr(lang, "weight", "权重");
  for (const char* word : {"cat", "sat", "mat"}) chart.series.push_back({word, {}, {}});
  for (int percent = -100; percent <= 200; percent += 10) {
    const Result r = result_of(moved(percent / 100.0), ScoreKind::dot);
    for (std::size_t i = 0; i < 3; ++i) {
      chart.series[i].x.push_back(percent);
      chart.series[i].y.push_back(r.weights[i]);
    }
  }
  chart.y_min = 0;
  chart.y_max = 1;
  chart.lang = lang;
  return chart;
}

std::string three_scores(const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "example", "例子")), std::string(tr(lang, "score", "打分")), "e_i", "alpha_i"});
  const std::pair<std::string, Example> examples[] = {
      {std::string(tr(lang, "note 0, near cat", "讲义 0，接近 cat")), note_0()},
      {std::string(tr(lang, "note 0, near mat", "讲义 0，接近 mat")), note_0_moved()},
      {std::string(tr(lang, "note 1", "讲义 1")), note_1()}};
  for (const auto& [name, example] : examples) {
    for (ScoreKind kind : {ScoreKind::dot, ScoreKind::scaled_dot, ScoreKind::cosine}) {
      const Result r = result_of(example, kind);
      table.add_row(
          {kind == ScoreKind::dot ? name : "", to_string(kind), vector_text(r.scores, 4), vector_text(r.weights, 4)});
    }
  }
  return std::string(tr(lang, "Three scores, the same order, other weights.\n", "三种打分，次序相同，权重不同。\n")) +
         table.text(terminal);
}

std::string norm_and_angle(const Terminal& terminal, Lang lang) {
  const Example example{{1, 0}, {{1, 0}, {3, 3}, {0, 5}, {-1, 0}}};
  const Result dot = result_of(example, ScoreKind::dot), cosine = result_of(example, ScoreKind::cosine);
  Table table({"k", std::string(tr(lang, "norm", "模长")), std::string(tr(lang, "angle", "夹角")), "q . k",
               std::string(tr(lang, "weight", "权重")), "cosine", std::string(tr(lang, "weight", "权重"))},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (std::size_t i = 0; i < example.states.size(); ++i) {
    const Vector& k = example.states[i];
    table.add_row({vector_text(k, 0), fixed(length_of(k), 3),
                   fixed(std::acos(std::clamp(cosine.scores[i], -1., 1.)) * 180 / std::acos(-1.0), 0),
                   fixed(dot.scores[i], 3), fixed(dot.weights[i], 3), fixed(cosine.scores[i], 3),
                   fixed(cosine.weights[i], 3)});
  }
  return std::string(tr(lang, "q = (1 0). The longer key wins in dot, the one that points like q in cosine.\n",
                        "q = (1 0)。点积里较长的键胜出，余弦里方向与 q 相同的键胜出。\n")) +
         table.text(terminal);
}

std::string learning_step(const Terminal&, Lang lang) {
  const Example example = note_0();
  const Vector values = {0, 0, 1};
  const Var s = parameter(row(example.query).value()), H = states_of(example);
  Score dot;
  dot.kind = ScoreKind::dot;
  const Var alpha = softmax(dot(s, H), Axis{1}), c = sum(alpha * row(values), Axis{1});
  backward(-sum(log(c)));
  const Vector weights = alpha.value().to_vector(), tape = s.grad().to_vector();
  const double dc = -1 / c.item();
  Vector dalpha, de, ds(tape.size()), after = example.query;
  for (std::size_t i = 0; i < values.size(); ++i) {
    dalpha.push_back(dc * values[i]);
    de.push_back(weights[i] * dc * (values[i] - c.item()));
  }
  for (std::size_t d = 0; d < ds.size(); ++d) {
    for (std::size_t i = 0; i < de.size(); ++i) ds[d] += de[i] * example.states[i][d];
    after[d] -= ds[d];
  }
  const Result next = result_of({after, example.states}, ScoreKind::dot);
  return std::string(tr(lang,
                        "One step of learning: keys h_i of note 0, values 0, 0 and 1, loss L = -log c.\n"
                        "Nobody says where to look, and the query moves towards h_3:\n",
                        "学习的一步：键是讲义 0 的 h_i，值是 0、0 和 1，损失 L = -log c。\n"
                        "没有人说该看哪里，查询却移向了 h_3：\n")) +
         line("s", vector_text(example.query, 4, true)) + line("alpha_i", vector_text(weights, 4, true)) +
         line("c = sum alpha_i v_i", vector_text({c.item()}, 4, true)) +
         line("dL/dc = -1 / c", vector_text({dc}, 4, true)) +
         line("dL/dalpha_i = dL/dc v_i", vector_text(dalpha, 4, true)) +
         line("dL/de_i", vector_text(de, 4, true) + "  = alpha_i dL/dc (v_i - c)") +
         line("dL/ds", vector_text(ds, 4, true) + "  = sum of dL/de_i h_i") +
         line(std::string(tr(lang, "dL/ds by the tape", "计算图给出的 dL/ds")), vector_text(tape, 4, true)) +
         line("s - dL/ds", vector_text(after, 4, true)) +
         line(std::string(tr(lang, "alpha_i after this step", "这一步之后的 alpha_i")),
              vector_text(next.weights, 4, true));
}

double distance_from_notes() {
  double worst = 0;
  const auto compare = [&](const Vector& got, const Vector& printed, int digits) {
    for (std::size_t i = 0; i < printed.size(); ++i)
      worst = std::max(worst, std::fabs(got[i] - printed[i]) * std::pow(10, digits));
  };
  const Result near_cat = result_of(note_0(), ScoreKind::dot), two = result_of(note_1(), ScoreKind::dot);
  compare(near_cat.weights, {.464, .305, .231}, 3);
  compare(near_cat.context, {.6399, .3601, .1925}, 4);
  compare(result_of(note_0_moved(), ScoreKind::dot).weights, {.219, .317, .464}, 3);
  compare(two.scores, {.05, .27}, 4);
  compare(two.weights, {.4452, .5548}, 4);
  compare(two.context, {.4329, .5117, -.1438}, 4);
  compare(result_of(note_1(), ScoreKind::cosine).weights, {.4347, .5653}, 4);
  compare(result_of(note_0(), ScoreKind::cosine).weights, {.4353, .3533, .2113}, 4);
  return worst;
}

}  // namespace gradus::lesson08
