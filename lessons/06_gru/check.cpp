// What lesson 06's exercise must do, in the order in which it is mended.
#include "lessons/common/check.h"

#include "lessons/06_gru/exercise.h"
#include "nn/conventions/to_reference.h"

namespace gradus::lesson06 {
namespace {

using check::agree;
using check::first_of;
using check::has_numbers;
using check::has_shape;
using check::holds;
using check::Result;

constexpr std::int64_t d_in = 3, d_s = 4, B = 2, T = 5;

// ---- cells whose parameters are all drawn, and the same numbers as a learner gets them

Gru drawn_gru(GruReset reset, GruUpdate update) {
  Generator generator(2, "exercise");
  Gru gru = clone(Gru(d_in, d_s, {reset, update, GruBias::one, GruOrder::rzn}, generator), f64);
  randomize(parameters(gru), 1.0, 3);
  return gru;
}

GruParts parts_of(const Gru& gru) {
  const auto rows = [](const Var& stacked, int gate) {
    return parameter(narrow(stacked, Axis{0}, gate * stacked.size(Axis{0}) / 3, stacked.size(Axis{0}) / 3).value());
  };
  return {rows(gru.W, 0), rows(gru.U, 0), rows(gru.b, 0), rows(gru.W, 1), rows(gru.U, 1),
          rows(gru.b, 1), rows(gru.W, 2), rows(gru.U, 2), rows(gru.b, 2)};
}

struct Subject {
  Generator generator{4, "exercise"};
  Elman elman = clone(Elman(d_in, d_s, generator), f64);
  Lstm lstm = clone(Lstm(d_in, d_s, generator), f64);
  Gru gru = drawn_gru(GruReset::before, GruUpdate::keeps);
  GruParts parts = parts_of(gru);
  Var x = parameter(random_normal(Shape{B, d_in}, 0, 1, generator, f64));
  Var xs = parameter(random_normal(Shape{B, T, d_in}, 0, 1, generator, f64));
  Var s = parameter(random_uniform(Shape{B, d_s}, -0.9, 0.9, generator, f64));
  Var c = parameter(random_uniform(Shape{B, d_s}, -2, 2, generator, f64));
  Subject() {
    randomize(parameters(elman), 1.0, 5);
    randomize(parameters(lstm), 1.0, 6);
  }
};

// ---- parts

Result shapes() {
  const Subject my;
  return first_of({
      {"elman_step",
       [&] {
         return has_shape("s_t", elman_step(my.x, my.s, my.elman.W, my.elman.U, my.elman.b), {B, d_s}, "(B, d_s)");
       }},
      {"gru_step",
       [&] {
         return has_shape("s_t", gru_step(my.x, my.s, my.parts), {B, d_s}, "(B, d_s)");
       }},
      {"lstm_step",
       [&] {
         return has_shape("h_t", lstm_step(my.x, {my.s, my.c}, my.lstm.W, my.lstm.U, my.lstm.b).h, {B, d_s},
                          "(B, d_s)");
       }},
      {"lstm_step",
       [&] {
         return has_shape("c_t", lstm_step(my.x, {my.s, my.c}, my.lstm.W, my.lstm.U, my.lstm.b).c, {B, d_s},
                          "(B, d_s)");
       }},
      {"read_window",
       [&] {
         return has_shape("states", read_window(my.xs, my.s, my.parts).states, {B, T, d_s}, "(B, T, d_s)");
       }},
      {"read_window",
       [&] {
         return has_shape("carry", read_window(my.xs, my.s, my.parts).carry, {B, d_s}, "(B, d_s)");
       }},
  });
}

Result elman() {
  const Subject my;
  return first_of({{"elman_step", [&] {
                      return has_numbers("s_t", elman_step(my.x, my.s, my.elman.W, my.elman.U, my.elman.b),
                                         my.elman.step(my.x, my.s));
                    }}});
}

Result gru() {
  const Subject my;
  return first_of(
      {{"gru_step", [&]() -> Result {
          const Var got = gru_step(my.x, my.s, my.parts);
          const Result wrong = has_numbers("s_t", got, my.gru.step(my.x, my.s));
          if (!wrong) return std::nullopt;
          if (agree(got, drawn_gru(GruReset::after, GruUpdate::keeps).step(my.x, my.s)))
            return holds(false, "GRU_RESET_AFTER",
                         {"the reset gate acts after the product with U_n, as in PyTorch; in the paper it acts before, "
                          "on s_prev",
                          "重置门在乘 U_n 之后才起作用，那是 PyTorch 的做法；论文里它先作用在 s_prev 上"});
          if (agree(got, drawn_gru(GruReset::after, GruUpdate::replaces).step(my.x, my.s)))
            return holds(
                false, "GRU_RESET_AFTER",
                {"two things differ from the paper: there the reset gate acts on s_prev, before the product with "
                 "U_n, and z = 1 keeps the old state",
                 "有两处与论文不同：论文里重置门在乘 U_n 之前作用在 s_prev 上；z = 1 时保留旧状态"});
          if (agree(got, drawn_gru(GruReset::before, GruUpdate::replaces).step(my.x, my.s)))
            return holds(
                false, "GRU_UPDATE_SWAPPED",
                {"z = 1 takes the candidate, as in Bahdanau et al. 2014; in this paper z = 1 keeps the old state",
                 "z = 1 时取候选状态，那是 Bahdanau 等 2014 的做法；在这篇论文里 z = 1 保留旧状态"});
          // Does anything depend on the reset gate?
          GruParts other = my.parts;
          other.b_r = other.b_r + 1.0;
          if (agree(gru_step(my.x, my.s, other), got))
            return holds(false, "GRU_RESET_UNUSED",
                         {"nothing changes with the bias of the reset gate: it is computed and not used",
                          "改掉重置门的偏置，结果不变：它算了却没有用上"});
          return wrong;
        }}});
}

Result lstm() {
  const Subject my;
  return first_of(
      {{"lstm_step", [&]() -> Result {
          const LstmState got = lstm_step(my.x, {my.s, my.c}, my.lstm.W, my.lstm.U, my.lstm.b);
          const LstmState right = my.lstm.step(my.x, {my.s, my.c});
          const Result wrong_c = has_numbers("c_t", got.c, right.c), wrong_h = has_numbers("h_t", got.h, right.h);
          if (!wrong_c && !wrong_h) return std::nullopt;
          if (agree(got.h, right.c) && agree(got.c, right.h))
            return holds(false, "LSTM_H_C_EXCHANGED",
                         {"h and c are exchanged in what you return: LstmState is {h, c}",
                          "返回值里 h 和 c 的位置反了：LstmState 是 {h, c}"});
          if (!wrong_c && agree(tanh(right.c) * got.h, right.h * right.c))
            return holds(false, "LSTM_NO_OUTPUT_TANH",
                         {"h is o times c itself; it is o times tanh(c), so that it stays below 1 however large c is",
                          "h 成了 o 乘以 c 本身；应当是 o 乘以 tanh(c)，这样 c 再大 h 也小于 1"});
          // The same step with the blocks g and o exchanged.
          const auto exchanged = [](const Var& w) {
            const auto rows = [&](int k) { return narrow(w, Axis{0}, k * d_s, d_s); };
            return concat({rows(0), rows(1), rows(3), rows(2)}, Axis{0});
          };
          Lstm other = my.lstm;
          other.W = exchanged(other.W);
          other.U = exchanged(other.U);
          other.b = exchanged(other.b);
          if (agree(got.h, other.step(my.x, {my.s, my.c}).h))
            return holds(false, "LSTM_GATE_ORDER",
                         {"the rows are stacked as i, f, g, o, and are read as i, f, o, g",
                          "行的次序是 i、f、g、o，却读成了 i、f、o、g"});
          return wrong_c ? wrong_c : wrong_h;
        }}});
}

Result self_checks() {
  const Subject my;
  const GruParts& p = my.parts;
  return first_of({
      {"gru_step",
       [&] {
         return check::passes(check_gradient([&] { return gru_step(my.x, my.s, p); },
                                             {{"s_prev", my.s}, {"W_r", p.W_r}, {"U_n", p.U_n}, {"b_z", p.b_z}}));
       }},
      {"lstm_step",
       [&] {
         return check::passes(check_gradient(
             [&] {
               const LstmState next = lstm_step(my.x, {my.s, my.c}, my.lstm.W, my.lstm.U, my.lstm.b);
               return concat({next.h, next.c}, Axis{1});
             },
             {{"h", my.s}, {"c", my.c}, {"W", my.lstm.W}, {"b", my.lstm.b}}));
       }},
  });
}

Result window() {
  const Subject my;
  return first_of(
      {{"read_window", [&]() -> Result {
          const Window got = read_window(my.xs, my.s, my.parts);
          std::vector<Var> states;
          Var s = my.s;
          for (std::int64_t t = 0; t < T; ++t) states.push_back(s = my.gru.step(select(my.xs, Axis{1}, t), s));
          if (const Result wrong = has_numbers("states", got.states, stack_along(states, Axis{1}))) return wrong;
          if (!agree(got.carry, s))
            return holds(false, "STATE_NOT_CARRIED",
                         {"the next window does not start from the last state of this one",
                          "下一个窗口没有从这个窗口的最后状态出发"});
          if (got.carry.requires_grad())
            return holds(
                false, "STATE_NOT_DETACHED",
                {"the state goes on with its history: the tape grows with every window, and the second backward fails",
                 "状态带着历史传了下去：计算图每个窗口都会变长，第二次反向传播会失败"});
          // Inside the window the gradient must reach the first step.
          const Var s_0 = my.s;
          backward(sum(square(select(got.states, Axis{1}, T - 1))));
          return holds(
              s_0.has_grad() && my.xs.has_grad(), "WINDOW_CUT",
              {"inside the window the gradient of the last state must reach the first step; it is cut on the way",
               "在窗口之内，最后状态的梯度必须能传到第一步；它在半路被切断了"});
        }}});
}

}  // namespace
}  // namespace gradus::lesson06

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson06;
  return {.lesson = "06_gru",
          .taught = {"gradus::Elman::", "gradus::Gru::", "gradus::Lstm::", "gradus::Recurrent::", "gradus::run("},
          .parts = {
              {"shapes", {"every shape", "各个形状"}, "shapes", shapes},
              {"elman", {"Elman's step", "Elman 的一步"}, "idea", elman},
              {"gru", {"the GRU of Cho et al. 2014", "Cho 等 2014 的 GRU"}, "forms", gru},
              {"lstm", {"the LSTM's step", "LSTM 的一步"}, "idea", lstm},
              {"self_check", {"self check: backward against differences", "自检：反向传播与差分"}, "idea", self_checks},
              {"window", {"a window, and what it hands on", "窗口，以及它传下去的东西"}, "truncated", window}}};
}
