// The tape by hand and the engine's, side by side.
#include "lessons/02_tape/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "autograd/print_tape.h"
#include "lessons/02_tape/wrong_walks.h"
#include "lessons/common/table.h"

namespace gradus::lesson02 {
namespace {

using Op = Scalar (*)(Scalar, Scalar);
Scalar plus(Scalar a, Scalar b) { return a + b; }
Scalar times(Scalar a, Scalar b) { return a * b; }

// An expression of one number x, written once for scalars, whatever `+` and `*` are, and once for Vars.
struct Expression {
  const char* text;
  double x, exact;  // d / dx at x, by the rules of school
  Scalar (*on_tape)(Scalar x, Op plus, Op times);
  Var (*on_vars)(const Var& x);
};

const Expression expressions[] = {
    {"3 x + 2", 5, 3, [](Scalar x, Op p, Op t) { return p(t(leaf(*x.tape, "3", 3), x), leaf(*x.tape, "2", 2)); },
     [](const Var& x) { return 3.0 * x + 2.0; }},
    {"x * x", 3, 6, [](Scalar x, Op, Op t) { return t(x, x); }, [](const Var& x) { return x * x; }},
    {"x + x", 1, 2, [](Scalar x, Op p, Op) { return p(x, x); }, [](const Var& x) { return x + x; }},
    {"b = x + x, b + b", 1, 4,
     [](Scalar x, Op p, Op) {
       const Scalar b = p(x, x);
       return p(b, b);
     },
     [](const Var& x) {
       const Var b = x + x;
       return b + b;
     }},
    {"b = x * x, b * b", 3, 108,
     [](Scalar x, Op, Op t) {
       const Scalar b = t(x, x);
       return t(b, b);
     },
     [](const Var& x) {
       const Var b = x * x;
       return b * b;
     }},
    {"b = 2 x, b * (b + 1)", 3, 26,
     [](Scalar x, Op p, Op t) {
       const Scalar b = t(leaf(*x.tape, "2", 2), x);
       return t(b, p(b, leaf(*x.tape, "1", 1)));
     },
     [](const Var& x) {
       const Var b = 2.0 * x;
       return b * (b + 1.0);
     }},
};

Var number(double value) { return parameter(full(Shape{}, value, f64)); }

std::string trimmed(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\n') out.resize(out.find_last_not_of(' ') + 1);
    out += c;
  }
  return out;
}

// b = x + x, c = b + b, ...: n times.
Scalar doublings(Tape& tape, int n) {
  Scalar y = leaf(tape, "x", 1);
  for (int i = 0; i < n; ++i) y = y + y;
  return y;
}

// The text of the GraphError that f throws.
std::string said(const std::function<void()>& f) {
  try {
    f();
  } catch (const GraphError& error) { return error.what(); }
  return "(nothing)";
}

}  // namespace

Tape worked_example() {
  Tape tape;
  const Scalar w = leaf(tape, "w", -1.2), x = leaf(tape, "x", 0.5);
  const Scalar p = w * x;
  const Scalar t = tanh(p);
  const Scalar y = p * t;
  backward(y);
  return tape;
}

std::string on_vars(const Show& show) {
  const Var w = number(-1.2), x = number(0.5);
  const Var p = w * x;
  const Var t = tanh(p);
  const Var y = p * t;
  backward(y, Graph::keep);
  const Tape tape = worked_example();
  double gap = 0;
  const Var vars[] = {w, x, p, t, y};
  for (std::size_t i = 0; i < 5; ++i) gap = std::max(gap, std::fabs(vars[i].grad().item() - tape.steps[i].grad));
  show.metrics.holds({"Var and the scalar tape have the same gradients", "Var 与标量计算图的梯度相同"},
                     {"to 1e-15", "1e-15 以内"}, gap <= 1e-15);
  return trimmed(print_tape(y)) + fmt::format(fmt::runtime(show.say("Gradients equal to those above, to 1e-15: {}.\n",
                                                                    "梯度与上面的相等（1e-15 以内）：{}。\n")),
                                              gap <= 1e-15 ? show.say("yes", "是") : show.say("NO", "否"));
}

std::string shared_numbers(const Show& show) {
  Table table({"y", "x", "dy/dx", show.say("tape", "计算图"), "Var", show.say("overwrites", "覆盖"),
               show.say("does not wait", "不等待")},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  bool exact = true;
  for (const Expression& e : expressions) {
    Tape right, overwriting, impatient;
    const Scalar x = leaf(right, "x", e.x), x2 = leaf(overwriting, "x", e.x), x3 = leaf(impatient, "x", e.x);
    backward(e.on_tape(x, plus, times));
    backward(e.on_tape(x2, overwriting_plus, overwriting_times));
    impatient_backward(e.on_tape(x3, plus, times));
    const Var v = number(e.x);
    backward(e.on_vars(v));
    exact = exact && x.grad() == e.exact && v.grad().item() == e.exact;
    std::vector<std::string> row{e.text};
    for (double value : {e.x, e.exact, x.grad(), v.grad().item(), x2.grad(), x3.grad()})
      row.push_back(fmt::format("{:g}", value));
    table.add_row(row);
  }
  show.metrics.holds({"gradients of shared numbers", "用了不止一次的数的梯度"},
                     {"exact, on both tapes", "两种计算图都精确"}, exact);
  return table.text(show.terminal);
}

std::string costs(const Show& show) {
  Table table({show.say("doublings", "翻倍次数"), show.say("steps on the tape", "计算图上的步数"),
               show.say("visits of a recursion", "递归的访问次数")},
              {Align::right, Align::right, Align::right});
  for (int n : {1, 5, 10, 20}) {
    Tape tape;
    const Walk walk = impatient_backward(doublings(tape, n));
    table.add_row({std::to_string(n), std::to_string(tape.steps.size()), std::to_string(walk.visits)});
  }
  // A chain that a recursion can still walk, to see how much stack each of its steps takes.
  constexpr int chain = 10000;
  Tape tape;
  Scalar y = leaf(tape, "x", 1);
  const Scalar zero = leaf(tape, "0", 0);
  for (int i = 0; i < chain; ++i) y = y + zero;
  const char here = 0;
  const Walk walk = impatient_backward(y);
  const double bytes =
      std::round(static_cast<double>(std::abs(&here - walk.deepest)) / chain);  // what lies before: under one

  constexpr std::int64_t length = 200000;
  const std::int64_t before = live_nodes();
  double slope = 0;
  std::int64_t during = 0;
  {
    const Var x = number(1), step = full(Shape{}, 0, f64);
    Var end = x;
    for (std::int64_t i = 0; i < length; ++i) end = end + step;
    during = live_nodes() - before;
    backward(end);
    slope = x.grad().item();
  }
  const bool clean = live_nodes() == before && slope == 1;
  show.metrics.holds(
      {"a chain of 200,000 Vars: gradient 1, and no node left", "20 万步的 Var 链：梯度为 1，没有留下节点"},
      {"holds", "成立"}, clean);
  const double most = 8.0 * 1024 * 1024 / bytes;
  show.metrics.set("stack bytes per step of a recursion", bytes);
  const Words recursion("a recursion, on this machine", "递归，在这台机器上");
  show.metrics.across_seeds("stack", recursion, {"bytes of stack a step", "每步占的栈，字节"},
                            fmt::format("{:.0f}", bytes));
  show.metrics.across_seeds("stack", recursion, {"steps that 8 MiB last", "8 MiB 够走的步数"},
                            fmt::format("{:.0f}", most));
  return table.text(show.terminal) +
         fmt::format(
             fmt::runtime(show.say("A chain of {} Vars: gradient {}, {} nodes alive before backward, {} after.\n",
                                   "{} 步的 Var 链：梯度 {}，反向之前有 {} 个节点，之后剩 {} 个。\n")),
             length, slope, during, live_nodes() - before) +
         fmt::format(fmt::runtime(
                         show.say("Here a recursion takes {:.0f} bytes of stack a step: 8 MiB last for {:.0f} steps.\n",
                                  "这里递归每一步占 {:.0f} 字节的栈：8 MiB 只够走 {:.0f} 步。\n")),
                     bytes, most);
}

std::string accumulation(const Show& show) {
  Table table({show.say("loss (w - 1)^2, rate 0.1", "损失 (w - 1)^2，学习率 0.1"), "w_0", show.say("gradient", "梯度"),
               "w_1", show.say("gradient", "梯度"), "w_2"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (bool cleared : {true, false}) {
    const Var w = number(3);
    std::vector<std::string> row{
        cleared ? show.say("zero_grad before each backward", "每次反向之前 zero_grad") : show.say("without", "不清零"),
        "3"};
    for (int step = 0; step < 2; ++step) {
      if (cleared) w.zero_grad();
      backward(square(w - 1.0));
      row.push_back(fmt::format("{:.2f}", w.grad().item()));
      w.mutable_value().set({}, w.item() - 0.1 * w.grad().item());
      row.push_back(fmt::format("{:.2f}", w.item()));
    }
    table.add_row(row);
  }
  return table.text(show.terminal);
}

std::string refusals(const Show& show) {
  std::string out;
  auto add = [&](std::string_view what, const std::string& message) {
    // Node numbers go on rising through a run; here they would only distract.
    std::string text = message;
    for (std::size_t at = text.find("(node "); at != std::string::npos; at = text.find("(node ", at)) {
      const std::size_t end = text.find_first_of(",)", at);
      text.erase(at + 1, end - at - (text[end] == ',' ? -1 : 1));
    }
    out += std::string(what) + "\n  ";
    for (char c : wrap_to_width(text, show.terminal.width - 2))
      out += c == '\n' ? std::string("\n  ") : std::string(1, c);
    out += "\n";
  };
  const Var x = number(0.5);
  add(show.say("backward twice through the same steps:", "沿同样的步骤反向两次："), said([&] {
        const Var y = tanh(x) * x;
        backward(y);
        backward(y);
      }));
  add(show.say("a value that is needed was overwritten:", "需要用到的值被改写了："), said([&] {
        const Var y = x * x;
        x.mutable_value().set({}, 7);
        backward(y);
      }));
  add(show.say("nothing to differentiate:", "没有可求导的东西："),
      said([] { backward(Var(full(Shape{}, 1, f64)) * 2.0); }));
  add(show.say("a result that is not one number:", "结果不是一个数："), said([] {
        backward(parameter(tensor(Shape{3}, {1, 2, 3}, f64)) * 2.0);
      }));
  return out;
}

LineChart fit_chart(const Weights& before, const Weights& after, Lang lang) {
  const Points points = bump();
  auto curve = [&](const Weights& weights) {
    std::vector<double> y;
    for (double x : points.x) {
      Tape tape = tape_with(weights);
      y.push_back(net(tape, leaf(tape, "x", x)).value());
    }
    return y;
  };
  LineChart chart;
  chart.title = tr(lang, "Two neurons, before and after training", "两个神经元，训练之前和之后");
  chart.x_label = "x";
  chart.y_label = "y";
  chart.series = {{std::string(tr(lang, "target", "目标")), points.x, points.y},
                  {std::string(tr(lang, "before", "训练前")), points.x, curve(before)},
                  {std::string(tr(lang, "after", "训练后")), points.x, curve(after)}};
  chart.height = 12;
  chart.lang = lang;
  return chart;
}

void add_fit(const Fit& scalars, const Fit& vars, Metrics& metrics) {
  double gap = 0;
  const std::size_t both = std::min(scalars.loss.size(), vars.loss.size());  // Ctrl-C may have cut one short
  for (std::size_t i = 0; i < both; ++i) gap = std::max(gap, std::fabs(scalars.loss[i] - vars.loss[i]));
  metrics.loss_at_most({"last loss", "最后的损失"}, 1e-3, scalars.loss.back());
  metrics.at_most({"largest difference between the two losses", "两种损失的最大差"}, 1e-10, gap);
  metrics.curve("loss", scalars.step, scalars.loss);
  const Words fit("two neurons", "两个神经元");
  metrics.across_seeds("fit", fit, {"last loss", "最后的损失"}, fixed(scalars.loss.back(), 6));
  metrics.across_seeds("fit", fit, {"largest difference between the two tapes' losses", "两种计算图损失的最大差"},
                       fmt::format("{:.1e}", gap));
}

std::string fit_table(const Fit& scalars, const Fit& vars, const Show& show) {
  Table table({show.say("training step", "训练步"), show.say("loss, scalar tape", "损失，标量计算图"),
               show.say("loss, Var", "损失，Var")},
              {Align::right, Align::right, Align::right});
  const std::size_t both = std::min(scalars.loss.size(), vars.loss.size());
  for (std::size_t i = 0; i < both; i += std::max<std::size_t>(1, (both - 1) / 5))
    table.add_row({fmt::format("{}", scalars.step[i]), fmt::format("{:.6f}", scalars.loss[i]),
                   fmt::format("{:.6f}", vars.loss[i])});
  return table.text(show.terminal) +
         fmt::format(
             fmt::runtime(show.say("One step of training records {} steps on the scalar tape and {} on Var's.\n",
                                   "训练一步，标量计算图记录 {} 步，Var 的计算图记录 {} 步。\n")),
             scalars.tape_length, vars.tape_length);
}

}  // namespace gradus::lesson02
