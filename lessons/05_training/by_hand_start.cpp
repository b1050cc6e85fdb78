// How large the first weights are, and what comes of it ten layers further on; starts from which nothing is learned.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "lessons/05_training/by_hand.h"
#include "lessons/05_training/mlp.h"
#include "lessons/05_training/parts.h"
#include "lessons/common/table.h"

namespace gradus::lesson05 {

namespace {

constexpr std::int64_t layers = 10, width = 64, rows = 200;

double deviation(const Tensor& x) { return norm(x) / std::sqrt(static_cast<double>(x.size())); }

// Deviations of h_1 ... h_10, and of the gradients of the same, for a random cotangent of deviation 1 at h_10.
struct Flow {
  std::vector<double> values, gradients;
};

Flow flow(double scale) {
  Generator init(1, "init"), data(1, "data");
  std::vector<Var> weights;
  std::vector<Tensor> h = {random_normal(Shape{rows, width}, 0, 1, data, f64)};
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    weights.emplace_back((taught_parts().first_weights(width, width, init) * scale).value().to(f64));
    h.push_back(tanh(matmul(h.back(), transpose(weights.back()))).value());
  }
  Flow result;
  Tensor dy = random_normal(Shape{rows, width}, 0, 1, data, f64);
  for (std::size_t layer = layers; layer >= 1; --layer) {  // one at a time, so that each gradient can be looked at
    result.values.insert(result.values.begin(), deviation(h[layer]));
    result.gradients.insert(result.gradients.begin(), deviation(dy));
    const Var below = parameter(h[layer - 1]);
    backward(tanh(matmul(below, transpose(weights[layer - 1]))), dy);
    dy = below.grad();
  }
  return result;
}

}  // namespace

std::string ten_layers(const Terminal& terminal, Lang lang) {
  Table table(
      {std::string(tr(lang, "weights", "权重")), "h_1", "h_2", "h_5", "h_10", "dL/dh_1", "dL/dh_5", "dL/dh_9"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (const auto& [name, scale] : {std::pair(tr(lang, "a tenth of Xavier's", "Xavier 的十分之一"), 0.1),
                                    {tr(lang, "Xavier's", "Xavier"), 1.0},
                                    {tr(lang, "ten times Xavier's", "Xavier 的十倍"), 10.0}}) {
    const Flow f = flow(scale);
    std::vector<std::string> cells = {std::string(name)};
    for (const std::size_t layer : {1, 2, 5, 10}) cells.push_back(fmt::format("{:.1g}", f.values[layer - 1]));
    for (const std::size_t layer : {1, 5, 9}) cells.push_back(fmt::format("{:.0e}", f.gradients[layer - 1]));
    table.add_row(cells);
  }
  return std::string(tr(lang, "Deviations of values and gradients in ten layers of 64 with tanh:\n",
                        "十层、每层 64、用 tanh 时，值与梯度的标准差：\n")) +
         table.text(terminal);
}

std::string dead_start(const Terminal& terminal, Lang lang) {
  Generator points(1, "points");
  const Points some = draw_spirals(100, points);
  const std::vector<std::pair<std::string, double>> starts = {{std::string(tr(lang, "random", "随机")), NAN},
                                                              {std::string(tr(lang, "all 0", "全为 0")), 0},
                                                              {std::string(tr(lang, "all 0.1", "全为 0.1")), 0.1}};
  std::vector<std::string> headings = {std::string(tr(lang, "gradient of", "谁的梯度")),
                                       std::string(tr(lang, "numbers", "个数"))};
  std::vector<std::vector<std::string>> cells(6);
  for (const auto& [name, value] : starts) {
    headings.push_back(name);
    Generator init(1, "init");
    const Mlp model = clone(Mlp(init), f64);
    std::size_t at = 0;
    for (const Parameter& p : parameters(model)) {
      if (!std::isnan(value) && p.name.ends_with("W")) fill_(p.var.mutable_value(), value);
    }
    backward(cross_entropy(model(some.x.to(f64)), some.labels));
    for (const Parameter& p : parameters(model)) {
      std::set<std::string> different;
      std::int64_t there = 0;
      for (const double g : p.var.grad().to_vector()) {
        if (g != 0) ++there, different.insert(fmt::format("{:.9e}", g));
      }
      if (cells[at].empty()) cells[at] = {p.name, std::to_string(p.var.value().size())};
      cells[at++].push_back(fmt::format("{} / {}", there, different.size()));
    }
  }
  Table table(headings, {Align::left, Align::right, Align::right, Align::right, Align::right});
  for (const auto& row : cells) table.add_row(row);
  return std::string(tr(lang, "How many numbers of each gradient are not 0 / how many of these differ:\n",
                        "各梯度里不为 0 的个数 / 其中互不相同的个数：\n")) +
         table.text(terminal);
}

}  // namespace gradus::lesson05
