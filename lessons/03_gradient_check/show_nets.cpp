// The three trainings side by side.
#include <fmt/format.h>

#include <algorithm>

#include "lessons/03_gradient_check/show.h"
#include "lessons/common/table.h"

namespace gradus::lesson03 {
namespace {

std::string name_of(Backward how, Lang lang) {
  switch (how) {
    case Backward::right:
      return std::string(tr(lang, "right", "正确"));
    case Backward::bias_first_row:
      return std::string(tr(lang, "bias: first row", "偏置：只取第一行"));
    case Backward::tanh_abs:
      return std::string(tr(lang, "tanh: 1 - |y|", "tanh：1 - |y|"));
  }
  return {};
}

}  // namespace

LineChart training_chart(const std::vector<Training>& nets, Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Training with a right and with two wrong backwards", "用一个正确和两个错误的反向训练");
  chart.x_label = tr(lang, "training steps", "训练步数");
  chart.y_label = tr(lang, "loss", "损失");
  for (std::size_t i = 0; i < nets.size(); ++i)
    chart.series.push_back({name_of(all_backwards[i], lang), nets[i].step, nets[i].loss});
  chart.y_log = true;
  chart.lang = lang;
  return chart;
}

std::string nets_table(const std::vector<Training>& nets, std::uint64_t seed, const Show& show) {
  Table table({show.say("backward", "反向"), show.say("loss before", "训练前的损失"), show.say("after", "训练后"),
               show.say("cosine", "余弦"), show.say("self check", "自检")},
              {Align::left, Align::right, Align::right, Align::right, Align::left});
  std::int64_t calls = 0;
  std::vector<std::pair<Words, double>> cosines;
  bool as_expected = true;
  for (std::size_t i = 0; i < nets.size(); ++i) {
    const GradientReport report = check_net(all_backwards[i], seed, &calls);
    as_expected = as_expected && report.passed == (all_backwards[i] == Backward::right);
    const double cosine = agreement(all_backwards[i], seed);
    table.add_row({name_of(all_backwards[i], show.lang), fmt::format("{:.3f}", nets[i].first_loss),
                   fmt::format("{:.4f}", nets[i].last_loss), fmt::format("{:.3f}", cosine), to_string(report.verdict)});
    const std::string name = name_of(all_backwards[i], Lang::en);
    const Words row(name, name_of(all_backwards[i], Lang::zh));
    show.metrics.across_seeds("training", {"loss after training", "训练后的损失"}, row, fixed(nets[i].last_loss));
    cosines.emplace_back(row, cosine);
    show.metrics.set("cosine, " + name, cosine);
    show.metrics.set("last loss, " + name, nets[i].last_loss);
    show.metrics.curve("loss, " + name, nets[i].step, nets[i].loss);
  }
  for (const auto& [row, cosine] : cosines)
    show.metrics.across_seeds("cosine", {"cosine with the right gradient", "与正确梯度的余弦"}, row, fixed(cosine, 3));
  show.metrics.holds(
      {"the self check accepts the right net and rejects both others", "自检接受正确的网络，拒绝另外两个"},
      {"as it should", "理应如此"}, as_expected);
  show.metrics.loss_at_most({"last loss, right backward", "最后的损失，正确的反向"}, 0.01, nets[0].last_loss);
  show.metrics.loss_at_most({"wrong bias: last loss over first loss", "偏置写错：最后与最初损失之比"}, 0.2,
                            nets[1].last_loss / nets[1].first_loss);
  show.metrics.loss_at_most({"wrong tanh: last loss over first loss", "tanh 写错：最后与最初损失之比"}, 0.2,
                            nets[2].last_loss / nets[2].first_loss);
  return table.text(show.terminal) +
         fmt::format(
             fmt::runtime(show.say("The check of 25 parameters computed the loss {} times; backward ran once.\n",
                                   "检查 25 个参数时，损失算了 {} 次；反向只走了一次。\n")),
             calls);
}

}  // namespace gradus::lesson03
