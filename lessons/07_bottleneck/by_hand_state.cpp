// How much one number can hold, which end of a run has read everything, and what the logits depend on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lessons/07_bottleneck/by_hand.h"
#include "lessons/common/table.h"
#include "nn/conventions/probes.h"
#include "nn/conventions/to_reference.h"

namespace gradus::lesson07 {
namespace {

std::string spaced(const std::vector<int>& digits) {
  std::string text;
  for (int d : digits) text += fmt::format("{}{}", text.empty() ? "" : " ", d);
  return text;
}

int equal_places(const std::vector<int>& a, const std::vector<int>& b) {
  int equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i];
  return equal;
}

float encode_in_one_number(const std::vector<int>& digits) {
  float s = 0;
  for (int x : digits) s = 10 * s + static_cast<float>(x);
  return s;
}

double largest(const Tensor& x) {
  double most = 0;
  for (double v : x.to_vector()) most = std::max(most, std::fabs(v));
  return most;
}

}  // namespace

std::vector<int> copy_through_one_number(const std::vector<int>& digits) {
  float s = encode_in_one_number(digits);
  std::vector<int> written;
  for (std::size_t t = 1; t <= digits.size(); ++t) {
    const float unit = std::pow(10.0F, static_cast<float>(digits.size() - t));
    const float digit = std::floor(s / unit);
    written.push_back(static_cast<int>(digit));
    s -= digit * unit;
  }
  return written;
}

std::vector<int> copy_through_numbers(const std::vector<int>& digits, std::size_t per_number) {
  std::vector<int> written;
  for (std::size_t start = 0; start < digits.size(); start += per_number) {
    const auto from = digits.begin() + static_cast<std::ptrdiff_t>(start);
    const auto to = digits.begin() + static_cast<std::ptrdiff_t>(std::min(start + per_number, digits.size()));
    for (int d : copy_through_one_number({from, to})) written.push_back(d);
  }
  return written;
}

std::string packing(const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "read", "读入")), std::string(tr(lang, "s after reading", "读完后的 s")),
               std::string(tr(lang, "written", "写出")), std::string(tr(lang, "right", "对"))},
              {Align::left, Align::right, Align::left, Align::right});
  const std::vector<int> pi{3, 1, 4, 1, 5, 9, 2, 7};
  for (std::size_t n : {1, 2, 3, 7, 8}) {
    const std::vector<int> digits(pi.begin(), pi.begin() + static_cast<std::ptrdiff_t>(n));
    const std::vector<int> written = copy_through_one_number(digits);
    table.add_row({spaced(digits), fmt::format("{:.0f}", encode_in_one_number(digits)), spaced(written),
                   fmt::format("{}/{}", equal_places(digits, written), n)});
  }
  std::vector<int> eighty;
  for (int i = 0; i < 80; ++i) eighty.push_back((7 * i + i * i) % 10);
  return std::string(tr(lang, "A state of one f32, s = 10 s + x: reading, then writing its leading digit.\n",
                        "状态只有一个 f32，s = 10 s + x：读入，再逐个写出最高位。\n")) +
         table.text(terminal) +
         fmt::format(fmt::runtime(tr(lang,
                                     "80 digits are 80 log2(10) = {:.0f} bits; 64 numbers of 32 bits are {}.\n"
                                     "80 digits through {} such numbers, 7 in each: {}/80 right.\n",
                                     "80 个数字是 80 log2(10) = {:.0f} 比特；64 个 32 位的数是 {} 比特。\n"
                                     "80 个数字经过 {} 个这样的数，每个装 7 个：对 {}/80。\n")),
                     80 * std::log2(10.0), 64 * 32, (80 + 6) / 7,
                     equal_places(eighty, copy_through_numbers(eighty, 7)));
}

TwoRuns two_runs(const std::vector<double>& x) {
  TwoRuns runs{std::vector<double>(x.size()), std::vector<double>(x.size())};
  double h = 0;
  for (std::size_t i = 0; i < x.size(); ++i) runs.forward[i] = h = std::tanh(0.5 * x[i] + 0.8 * h);
  h = 0;
  for (std::size_t i = x.size(); i-- > 0;) runs.backward[i] = h = std::tanh(0.5 * x[i] + 0.8 * h);
  return runs;
}

std::string two_ends(const Terminal& terminal, Lang lang) {
  Table table({"", "h_1", "h_2", "h_3"}, {Align::left, Align::right, Align::right, Align::right});
  const TwoRuns runs = two_runs({1, 2, 3}), changed = two_runs({-1, 2, 3});
  const auto row = [&](std::string name, const std::vector<double>& h) {
    table.add_row(
        {std::move(name), fmt::format("{:.4f}", h[0]), fmt::format("{:.4f}", h[1]), fmt::format("{:.4f}", h[2])});
  };
  row(std::string(tr(lang, "forward,  x = (1 2 3)", "正向，x = (1 2 3)")), runs.forward);
  row(std::string(tr(lang, "backward, x = (1 2 3)", "反向，x = (1 2 3)")), runs.backward);
  row(std::string(tr(lang, "backward, x = (-1 2 3)", "反向，x = (-1 2 3)")), changed.backward);
  return std::string(tr(lang, "Both runs read everything, but they end at different places:\n",
                        "两个方向都读完了全部，但结束的地方不同：\n")) +
         table.text(terminal) +
         fmt::format(fmt::runtime(tr(lang,
                                     "right: [forward_3; backward_1] = ({:.4f} {:.4f})\n"
                                     "wrong: [forward_3; backward_3] = ({:.4f} {:.4f}), the last slice\n",
                                     "对：[forward_3; backward_1] = ({:.4f} {:.4f})\n"
                                     "错：[forward_3; backward_3] = ({:.4f} {:.4f})，也就是最后一格\n")),
                     runs.forward[2], runs.backward[0], runs.forward[2], runs.backward[2]);
}

SourceGradient source_gradient() {
  const DecoderSizes sizes{.vocab = 7, .d_emb = 3, .d_s = 4, .d_h = 6, .d_attn = 5};
  Generator generator(1, "source");
  const PlainDecoder decoder = clone(PlainDecoder(sizes, {}, generator), f64);
  randomize(parameters(decoder), 0.8, 1);
  const DecoderInputs in = random_inputs(sizes, {.B = 2, .T_dec = 3, .T_enc = 5}, false, 1);
  const Var H = parameter(in.H.value()), s_0 = parameter(in.s_0.value());
  const Var logits = decode_teacher(decoder, in.y_emb, State(s_0), decoder.remember(H, std::nullopt)).logits;
  backward(sum(square(logits)));
  return {H.has_grad() ? largest(H.grad()) : 0, largest(s_0.grad())};
}

std::string what_reaches_the_logits(const Terminal& terminal, Lang lang) {
  const SourceGradient g = source_gradient();
  Table table({std::string(tr(lang, "gradient of the logits, s_0 given", "logits 的梯度（s_0 给定）")),
               std::string(tr(lang, "largest", "最大值"))},
              {Align::left, Align::right});
  table.add_row({std::string(tr(lang, "with respect to the encoder states H", "对编码器状态 H")),
                 g.of_H == 0 ? std::string(tr(lang, "exactly 0", "恰好为 0")) : fmt::format("{:.2f}", g.of_H)});
  table.add_row({std::string(tr(lang, "with respect to s_0", "对 s_0")), fmt::format("{:.2f}", g.of_s_0)});
  return table.text(terminal);
}

}  // namespace gradus::lesson07
