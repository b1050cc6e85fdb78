// Two classic mistakes in a loss, small enough for a pencil.
#include <fmt/format.h>

#include <cmath>

#include "autograd/ops.h"
#include "lessons/07_bottleneck/by_hand.h"
#include "lessons/common/table.h"

namespace gradus::lesson07 {

double loss_of_an_echo(bool shifted) {
  const std::vector<std::int32_t> target{1, 2, 3};  // A, B, eos; 0 is sos
  const std::vector<std::int32_t> read = shifted ? std::vector<std::int32_t>{0, 1, 2} : target;
  std::vector<double> logits;  // (3, 4)
  for (std::int32_t token : read)
    for (std::int32_t k = 0; k < 4; ++k) logits.push_back(k == token ? 5 : 0);
  return cross_entropy(tensor(Shape{3, 4}, logits, f64), Ids(Shape{3}, target)).item();
}

double loss_with_a_pad(PadLoss kind) {
  // Logits (0, 0) for the real token. For the pad the model is sure when it is trained to say it: p = 0.9.
  const double sure = std::log(9.0);
  const Var logits = tensor(Shape{2, 2}, {0, 0, 0, kind == PadLoss::counted ? sure : 0}, f64);
  const Ids targets(Shape{2}, std::vector<std::int32_t>{0, 1});
  const Mask real(Shape{2}, std::vector<std::uint8_t>{1, 0});
  switch (kind) {
    case PadLoss::right:
      return cross_entropy(logits, targets, real).item();
    case PadLoss::denominator:
      return cross_entropy(logits, targets, real).item() * 1 / 2;
    case PadLoss::counted:
      return cross_entropy(logits, targets).item();
  }
  throw ValueError("loss_with_a_pad: there is no such kind of loss");
}

std::string losses(const Terminal& terminal, Lang lang) {
  Table echo(
      {std::string(tr(lang, "what the decoder reads", "解码器读入")),
       std::string(tr(lang, "what it is to say", "应说出")), std::string(tr(lang, "loss of an echo", "回声的损失"))},
      {Align::left, Align::left, Align::right});
  echo.add_row({"sos A B", "A B eos", fmt::format("{:.4f}", loss_of_an_echo(true))});
  echo.add_row({std::string(tr(lang, "A B eos  (shift missing)", "A B eos（忘了移位）")), "A B eos",
                fmt::format("{:.4f}", loss_of_an_echo(false))});
  Table pad(
      {std::string(tr(lang, "one real token, one pad", "一个真词、一个填充")), std::string(tr(lang, "loss", "损失"))},
      {Align::left, Align::right});
  pad.add_row({std::string(tr(lang, "sum over real ones / number of real ones", "真词之和 / 真词个数")),
               fmt::format("{:.4f}", loss_with_a_pad(PadLoss::right))});
  pad.add_row({std::string(tr(lang, "sum over real ones / number of all positions", "真词之和 / 全部位置数")),
               fmt::format("{:.4f}", loss_with_a_pad(PadLoss::denominator))});
  pad.add_row({std::string(tr(lang, "the pad counts as a target", "填充也算目标")),
               fmt::format("{:.4f}", loss_with_a_pad(PadLoss::counted))});
  return std::string(tr(lang, "An echo gives logit 5 to the token that it reads, 0 to the three others:\n",
                        "“回声”给读到的词 logit 5，给其余三个词 0：\n")) +
         echo.text(terminal) + "\n" + pad.text(terminal);
}

}  // namespace gradus::lesson07
