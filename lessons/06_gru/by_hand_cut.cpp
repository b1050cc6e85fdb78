// Truncated backpropagation through time: what is cut, and what happens when it is not.
#include <fmt/format.h>

#include <algorithm>

#include "autograd/print_tape.h"
#include "lessons/06_gru/by_hand.h"
#include "lessons/common/table.h"

namespace gradus::lesson06 {

CutGradient cut_gradient() {
  const auto gradient = [](bool cut) {
    const Var w = parameter(tensor(Shape{1}, {0.8}, f64));
    Var h = tensor(Shape{1}, {0.5}, f64);
    h = tanh(w * h + 1.0);
    if (cut) h = h.detach();
    h = tanh(w * h + 1.0);
    backward(sum(h));
    return w.grad().item();
  };
  return {gradient(true), gradient(false)};
}

TapeGrowth tape_growth() {
  constexpr int windows = 4, length = 5;
  Generator generator(1, "tape");
  const Elman cell(2, 3, generator);
  const auto nodes = [&](bool detached) {
    std::vector<int> counts;
    Var s = zeros(Shape{1, 3}, f32);
    for (int window = 0; window < windows; ++window) {
      if (detached) s = s.detach();
      for (int t = 0; t < length; ++t) s = cell.step(random_normal(Shape{1, 2}, 0, 1, generator), s);
      const std::string tape = print_tape(s);
      int steps = 0;
      for (std::size_t at = 0; (at = tape.find(" elman ", at)) != std::string::npos; ++at) ++steps;
      counts.push_back(steps);
    }
    return counts;
  };
  TapeGrowth growth{nodes(true), nodes(false), ""};
  Var s = zeros(Shape{1, 3}, f32);
  try {
    for (int window = 0; window < 2; ++window) {
      s = cell.step(random_normal(Shape{1, 2}, 0, 1, generator), s);
      backward(sum(s));
    }
  } catch (const Error& error) { growth.error = error.what(); }
  return growth;
}

std::string truncated(const Terminal& terminal, Lang lang) {
  const CutGradient g = cut_gradient();
  const TapeGrowth growth = tape_growth();
  Table table({std::string(tr(lang, "state handed on", "传下去的状态")), "dh_2/dw",
               std::string(tr(lang, "steps on the tape of window 1", "计算图上的步数，窗口 1")), "2", "3", "4"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  const auto row = [&](std::string_view name, double gradient, const std::vector<int>& n) {
    std::vector<std::string> cells{std::string(name), fmt::format("{:.4f}", gradient)};
    for (int count : n) cells.push_back(std::to_string(count));
    table.add_row(cells);
  };
  row(tr(lang, "detached", "已切断"), g.cut, growth.detached);
  row(tr(lang, "not detached", "没有切断"), g.whole, growth.attached);
  return table.text(terminal) +
         wrap_to_width(std::string(tr(lang, "second window, not detached: ", "第二个窗口，没有切断：")) + growth.error,
                       std::min(terminal.width, 80)) +
         "\n";
}

}  // namespace gradus::lesson06
