// One step of Adam, of clipping and of weight decay, right and with the mistakes that people make.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lessons/05_training/by_hand.h"
#include "lessons/05_training/parts.h"
#include "lessons/common/table.h"

namespace gradus::lesson05 {

namespace {

constexpr double rate = 0.1, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;

// One weight in the hands of the taught Adam.
struct OneWeight {
  Var w;
  std::unique_ptr<Optimizer> adam;
  OneWeight(double start, AdamOptions options)
      : w(parameter(tensor(Shape{1}, {start}, f64))), adam(taught_parts().adam({{"w", w}}, options).optimizer) {}
  double step(double g) {
    w.zero_grad();
    backward(sum(w * g));
    adam->step();
    return w.item();
  }
};

// The weight after steps of rate 0.1 with these gradients, from `start`.
double after(double start, const std::vector<double>& gradients, double weight_decay = 0) {
  OneWeight one(start, {.rate = rate, .weight_decay = weight_decay});
  for (const double g : gradients) one.step(g);
  return one.w.item();
}

// How m and v are divided before the step: the right way, and three that have been shipped.
enum class Correction { right, none, exponent_2, subtracted_twice };

double length_of_step(double g, std::int64_t t, Correction correction) {
  double m = 0, v = 0;
  for (std::int64_t k = 0; k < t; ++k) {
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
  }
  const double power = correction == Correction::exponent_2 ? 2 : static_cast<double>(t);
  double c1 = 1 - std::pow(beta1, power), c2 = 1 - std::pow(beta2, power);
  if (correction == Correction::none) c1 = c2 = 1;
  if (correction == Correction::subtracted_twice) c2 = 1 - c2;
  return rate * (m / c1) / (std::sqrt(v / c2) + eps);
}

// Between two vectors, in degrees.
double angle(double x, double y, double a, double b) {
  return std::acos((x * a + y * b) / std::hypot(x, y) / std::hypot(a, b)) * 180 / std::acos(-1.0);
}

// How far SGD moves two weights with gradient (3, 4), clipped to 1 before the step or after it.
std::vector<double> moved(bool clip_first) {
  const Var w = parameter(zeros(Shape{2}, f64)), g(tensor(Shape{2}, {3, 4}, f64));
  const std::vector<Parameter> all = {{"w", w}};
  Sgd sgd(all, {.rate = rate});
  backward(sum(w * g));
  if (clip_first) taught_parts().clip(all, 1);
  sgd.step();
  if (!clip_first) taught_parts().clip(all, 1);
  return w.value().to_vector();
}

std::string pair_text(const std::vector<double>& v) { return fmt::format("({} {})", fixed(v[0], 2), fixed(v[1], 2)); }

double coupled(double w, double g, double decay) { return after(w, {g + decay * w}); }

}  // namespace

std::string trace_adam(const std::vector<double>& gradients, const Terminal& terminal, Lang lang) {
  Table table({"t", "g", "m", "v", "m / (1 - 0.9^t)", "v / (1 - 0.999^t)", std::string(tr(lang, "step", "一步")), "w"},
              std::vector<Align>(8, Align::right));
  OneWeight one(0, {.rate = rate});
  double m = 0, v = 0, before = 0;
  for (std::size_t t = 1; t <= gradients.size(); ++t) {
    const double g = gradients[t - 1], w = one.step(g);
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const double power = static_cast<double>(t);
    table.add_row({std::to_string(t), fmt::format("{:.4g}", g), fmt::format("{:.4g}", m), fmt::format("{:.4g}", v),
                   fmt::format("{:.4g}", m / (1 - std::pow(beta1, power))),
                   fmt::format("{:.4g}", v / (1 - std::pow(beta2, power))), fixed(w - before), fixed(w)});
    before = w;
  }
  return std::string(tr(lang, "Adam, rate 0.1, betas 0.9 and 0.999, w from 0:\n",
                        "Adam，学习率 0.1，beta 为 0.9 和 0.999，w 从 0 开始：\n")) +
         table.text(terminal);
}

std::string bias_correction(const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "divided by", "除以")), "t = 1", "2", "10", "100", "1000"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (const auto& [name, correction] :
       {std::pair(tr(lang, "1 - 0.9^t, 1 - 0.999^t (right)", "1 - 0.9^t、1 - 0.999^t（正确）"), Correction::right),
        {tr(lang, "nothing", "什么也不除"), Correction::none},
        {tr(lang, "1 - 0.9^2, 1 - 0.999^2", "1 - 0.9^2、1 - 0.999^2"), Correction::exponent_2},
        {tr(lang, "1 - 0.9^t, 0.999^t", "1 - 0.9^t、0.999^t"), Correction::subtracted_twice}}) {
    std::vector<std::string> cells = {std::string(name)};
    for (const std::int64_t t : {1, 2, 10, 100, 1000}) cells.push_back(fixed(length_of_step(0.5, t, correction)));
    table.add_row(cells);
  }
  std::string sizes;
  for (const double g : {0.005, 0.5, 50.0})
    sizes += fmt::format(fmt::runtime(tr(lang, "first step for g = {:>5}: Adam {}, plain descent {}\n",
                                         "g = {:>5} 时的第一步：Adam {}，普通梯度下降 {}\n")),
                         g, fixed(-after(0, {g})), fixed(rate * g));
  return std::string(tr(lang, "Length of Adam's step t while g = 0.5, by what m and v are divided by:\n",
                        "g 一直是 0.5 时 Adam 第 t 步的步长，取决于 m 和 v 除以什么：\n")) +
         table.text(terminal) + sizes;
}

std::string lost_state(Lang lang) {
  const double kept = after(0, {0.5, -0.1}) - after(0, {0.5}), lost = after(0, {-0.1});
  return fmt::format(
      fmt::runtime(
          tr(lang,
             "Saved after g = 0.5, resumed with g = -0.1: the second step is {}.\n"
             "With m, v and t lost at the resume it is {}: the other way.\n",
             "g = 0.5 之后保存，续训时 g = -0.1：第二步是 {}。\n续训时丢了 m、v 和 t，它就是 {}：方向反了。\n")),
      fixed(kept), fixed(lost));
}

std::string clipping(const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "clipped to 1", "裁剪到 1")), std::string(tr(lang, "w moves by", "w 的改变")),
               std::string(tr(lang, "length", "长度")), std::string(tr(lang, "angle to -g", "与 -g 的夹角"))},
              {Align::left, Align::right, Align::right, Align::right});
  const std::vector<double> first = moved(true), after_step = moved(false), each = {-rate, -rate};
  for (const auto& [name, v] : {std::pair(tr(lang, "before the step, all together", "在更新之前，一起裁剪"), first),
                                {tr(lang, "before the step, each by itself", "在更新之前，各裁各的"), each},
                                {tr(lang, "after the step", "在更新之后"), after_step}})
    table.add_row(
        {std::string(name), pair_text(v), fixed(std::hypot(v[0], v[1])), fixed(angle(-3, -4, v[0], v[1]), 1)});
  return std::string(tr(lang, "g = (3 4), of length 5; plain descent at rate 0.1:\n",
                        "g = (3 4)，长度为 5；普通梯度下降，学习率 0.1：\n")) +
         table.text(terminal);
}

std::string weight_decay(const Terminal& terminal, Lang lang) {
  Table table(
      {std::string(tr(lang, "decay", "衰减")), std::string(tr(lang, "AdamW: of w itself", "AdamW：直接减 w")),
       std::string(tr(lang, "coupled: into g", "耦合：加进 g")), std::string(tr(lang, "of the new w", "减更新后的 w"))},
      std::vector<Align>(4, Align::right));
  for (const double decay : {0.0, 0.01, 0.1, 1.0})
    table.add_row({fmt::format("{}", decay), fixed(after(2, {0.5}, decay)), fixed(coupled(2, 0.5, decay)),
                   fixed(after(2, {0.5}) * (1 - rate * decay))});
  return std::string(tr(lang, "One step of Adam, w = 2, g = 0.5, rate 0.1. Coupled decay is divided away.\n",
                        "Adam 的一步，w = 2，g = 0.5，学习率 0.1。耦合的衰减被除没了。\n")) +
         table.text(terminal) +
         fmt::format(fmt::runtime(tr(lang, "with g = 0 and decay 0.1: AdamW {}, coupled {}\n",
                                     "g = 0、衰减 0.1 时：AdamW {}，耦合 {}\n")),
                     fixed(after(2, {0}, 0.1)), fixed(coupled(2, 0, 0.1)));
}

double distance_from_printed() {
  double worst = 0;
  for (const auto& [got, printed] : {std::pair(descent(2, false)[2], 2.28),
                                     {descent(2, true)[2], 1.88},
                                     {-after(0, {0.5}), 0.1},
                                     {length_of_step(0.5, 1, Correction::right), 0.1},
                                     {length_of_step(0.5, 1, Correction::none), 0.3162},
                                     {length_of_step(0.5, 1, Correction::exponent_2), 0.0744},
                                     {moved(true)[0], -0.06},
                                     {moved(true)[1], -0.08},
                                     {moved(false)[0], -0.3},
                                     {moved(false)[1], -0.4},
                                     {after(2, {0.5}, 0.1), 1.88},
                                     {coupled(2, 0.5, 0.1), 1.9},
                                     {after(2, {0.5}) * (1 - rate * 0.1), 1.881},
                                     {after(0, {0.5, -0.1}) - after(0, {0.5}), -0.0511},
                                     {after(0, {-0.1}), 0.1}})
    worst = std::max(worst, std::fabs(got - printed) / 1e-4);
  return worst;
}

}  // namespace gradus::lesson05
