// A line by gradient descent.
#include "lessons/01_tensors/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lessons/01_tensors/parts.h"
#include "lessons/common/table.h"
#include "tensor/format.h"

namespace gradus::lesson01 {

namespace {

// X'X of a line: sums of x^2, x and 1; and its larger eigenvalue.
struct Curvature {
  double xx = 0, x = 0, n = 0;
  double largest() const { return (xx + n) / 2 + std::sqrt((xx - n) * (xx - n) / 4 + x * x); }
};
Curvature curvature(const Line& line) {
  Curvature c;
  for (std::int64_t i = 0; i < points; ++i) {
    const double x = line.X.at({i, 0});
    c.xx += x * x;
    c.x += x;
    c.n += 1;
  }
  return c;
}

Fit fit_of(const Tensor& w) { return {{}, w.at({0, 0}), w.at({1, 0})}; }

}  // namespace

Line draw_line(std::uint64_t seed) {
  Generator generator(seed, "points");
  Line line{empty(Shape{points, 2}, f64), empty(Shape{points, 1}, f64)};
  for (std::int64_t i = 0; i < points; ++i) {
    const double x = generator.uniform(-1, 3);
    line.X.set({i, 0}, x);
    line.X.set({i, 1}, 1);
    line.y.set({i, 0}, true_slope * x + true_intercept + 0.3 * generator.normal());
  }
  return line;
}

std::string gradient_by_hand(Lang lang) {
  const Tensor X = tensor(Shape{3, 2}, {0, 1, 1, 1, 2, 1}, f64), y = tensor(Shape{3, 1}, {1, 3, 5}, f64);
  const Tensor w = zeros(Shape{2, 1}, f64), r = (matmul(Var(X), w) - y).value();
  const Tensor g = taught_parts().least_squares_gradient(X, w, y).value();
  const auto flat = [](const Tensor& x) { return numbers(reshape(x, Shape{x.size()})); };
  return fmt::format(fmt::runtime(tr(lang,
                                     "X (3, 2) has the rows 0 1, 1 1, 2 1; y (3, 1) is 1 3 5; w (2, 1) is 0 0.\n"
                                     "  r = X w - y   (3, 1)  {}\n"
                                     "  column x of X . r     0 * -1 + 1 * -3 + 2 * -5 = {}\n"
                                     "  column 1 of X . r     -1 - 3 - 5 = {}\n"
                                     "  X' r          (2, 1)  {}  ({})\n",
                                     "X (3, 2) 的各行是 0 1、1 1、2 1；y (3, 1) 是 1 3 5；w (2, 1) 是 0 0。\n"
                                     "  r = X w - y   (3, 1)  {}\n"
                                     "  X 的 x 列 . r         0 * -1 + 1 * -3 + 2 * -5 = {}\n"
                                     "  X 的 1 列 . r         -1 - 3 - 5 = {}\n"
                                     "  X' r          (2, 1)  {}（{}）\n")),
                     flat(r), 0 * -1 + 1 * -3 + 2 * -5, -1 - 3 - 5, flat(g), taught_parts().whose.in(lang));
}

double hand_against_taught(const Line& line) {
  const Tensor w = tensor(Shape{2, 1}, {0.3, -0.7}, f64);
  double g[2] = {0, 0};
  for (std::int64_t i = 0; i < points; ++i) {
    const double r = line.X.at({i, 0}) * w.at({0, 0}) + w.at({1, 0}) - line.y.at({i, 0});
    for (std::int64_t k = 0; k < 2; ++k) g[k] += line.X.at({i, k}) * r;
  }
  const Tensor taught = taught_parts().least_squares_gradient(line.X, w, line.y).value();
  double worst = 0;
  for (std::int64_t k = 0; k < 2; ++k) worst = std::max(worst, std::fabs(taught.at({k, 0}) / g[k] - 1));
  return worst;
}

Fit descend(const Line& line, std::int64_t steps, const std::function<bool(std::int64_t, double)>& after) {
  const double rate = 1 / curvature(line).largest();
  Var w(zeros(Shape{2, 1}, f64));
  std::vector<double> losses;
  for (std::int64_t step = 1; step <= steps; ++step) {
    losses.push_back(mean(square(matmul(line.X, w) - line.y)).item());
    w = w - taught_parts().least_squares_gradient(line.X, w, line.y) * rate;  // (2, 1)
    if (!after(step, losses.back())) break;
  }
  Fit fit = fit_of(w.value());
  fit.losses = losses;
  return fit;
}

Fit descend_stretched(const Line& line, std::int64_t steps) {
  const double rate = 1 / curvature(line).largest();
  const Var w = parameter(zeros(Shape{2, 1}, f64));
  const Var y = reshape(Var(line.y), Shape{points});  // (N): the axis that was forgotten
  std::vector<double> losses;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Var table = expand(matmul(line.X, w), Axis{1}, points) - expand_new(y, Axis{0}, points);  // (N, N)
    const Var loss = mean(square(table));
    losses.push_back(loss.item());
    w.zero_grad();
    backward(loss * (points / 2.0));
    const NoGrad nothing_is_recorded;
    copy_(w.mutable_value(), (w - Var(w.grad()) * rate).value());
  }
  Fit fit = fit_of(w.value());
  fit.losses = losses;
  return fit;
}

Fit solved(const Line& line) {
  const Curvature c = curvature(line);
  const Tensor b = matmul(transpose(line.X), line.y).value();  // (2, 1)
  const double determinant = c.xx * c.n - c.x * c.x;
  return {{},
          (c.n * b.at({0, 0}) - c.x * b.at({1, 0})) / determinant,
          (c.xx * b.at({1, 0}) - c.x * b.at({0, 0})) / determinant};
}

std::string fits_table(const Fit& descended, const Fit& exact, const Fit& stretched, const Terminal& terminal,
                       Lang lang) {
  Table table({std::string(tr(lang, "y = slope x + intercept", "y = 斜率 x + 截距")),
               std::string(tr(lang, "slope", "斜率")), std::string(tr(lang, "intercept", "截距"))},
              {Align::left, Align::right, Align::right});
  const auto row = [&](std::string_view name, double slope, double intercept) {
    table.add_row({std::string(name), fmt::format("{:.4f}", slope + 0.0), fmt::format("{:.4f}", intercept)});
  };
  row(tr(lang, "the points were drawn around", "生成这些点的直线"), true_slope, true_intercept);
  row(tr(lang, "X'X w = X'y, solved", "解 X'X w = X'y"), exact.slope, exact.intercept);
  row(tr(lang, "descent along X'(X w - y)", "沿 X'(X w - y) 下降"), descended.slope, descended.intercept);
  row(tr(lang, "descent, (N, 1) - (N) stretched", "下降，(N, 1) - (N) 被拉伸"),
      std::fabs(stretched.slope) < 5e-5 ? 0 : stretched.slope, stretched.intercept);
  return table.text(terminal);
}

LineChart loss_chart(const Fit& descended, const Fit& stretched, Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Mean squared error while descending", "下降过程中的均方误差");
  chart.x_label = tr(lang, "steps", "步数");
  chart.y_label = tr(lang, "loss", "损失");
  for (const auto& [name, fit] :
       {std::pair(tr(lang, "right", "正确"), &descended), {tr(lang, "stretched", "被拉伸"), &stretched}}) {
    Series s{std::string(name), {}, fit->losses};
    for (std::size_t i = 1; i <= s.y.size(); ++i) s.x.push_back(static_cast<double>(i));
    chart.series.push_back(s);
  }
  chart.x_log = chart.y_log = true;
  chart.lang = lang;
  return chart;
}

}  // namespace gradus::lesson01
