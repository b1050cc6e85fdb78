// Charts, tables and targets.
#include "lessons/06_gru/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lessons/06_gru/by_hand.h"
#include "lessons/common/table.h"

namespace gradus::lesson06 {
namespace {

Words name_of(const RecallResult& r) {
  if (r.kind == CellKind::lstm && r.forget_bias != 1)
    return {fmt::format("LSTM, forget bias {}", r.forget_bias), fmt::format("LSTM（遗忘偏置 {}）", r.forget_bias)};
  const char* name = r.kind == CellKind::elman ? "Elman" : r.kind == CellKind::gru ? "GRU" : "LSTM";
  return {name, name};
}
std::string name_of(Lang of, Lang lang) {
  return std::string(of == Lang::en ? tr(lang, "English", "英文") : tr(lang, "Chinese", "中文"));
}
Words grown(bool yes) {
  return yes ? Words(", distances grow", "，距离逐渐变长") : Words(", 50 at once", "，一开始就是 50");
}
Words trained(bool yes) { return yes ? Words(", trained", "，训练后") : Words(", fresh", "，未训练"); }
std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

// How often a kind of character stands in the training text, on average.
double seen_each(const TextResult& t) {
  return static_cast<double>(t.corpus.train.size()) / static_cast<double>(t.corpus.characters.size());
}

}  // namespace

std::string verdict(const Findings& f, Lang lang) {
  const double gru = f.recall[1].accuracy[2], elman = f.recall[0].accuracy[2];
  if (gru < 0.99)
    return std::string(tr(lang, "Too few steps: the GRU does not remember over 50 steps yet.\n",
                          "步数太少：GRU 还记不住 50 步以前的东西。\n"));
  return fmt::format(
      fmt::runtime(
          tr(lang, "Over 50 steps the GRU recalls {} % and Elman's net {} %, if the distance grows while they learn.\n",
             "隔 50 步，GRU 记住 {} %，Elman 网络 {} %，条件是距离随学习逐渐变长。\n")),
      percent(gru), percent(elman));
}

std::string recall_table(const Findings& f, const Terminal& terminal, Lang lang) {
  std::vector<std::string> headings{
      std::string(tr(lang, "which was first? % right at distance", "第一个是什么？各距离的准确率 %"))};
  std::vector<Align> aligns{Align::left};
  for (std::int64_t d : recall_distances) headings.push_back(std::to_string(d)), aligns.push_back(Align::right);
  Table table(headings, aligns);
  for (bool growing : {true, false}) {
    for (const RecallResult& r : f.recall) {
      std::vector<std::string> row{(name_of(r) + grown(growing)).in(lang)};
      for (double share : growing ? r.accuracy : r.direct) row.push_back(percent(share));
      table.add_row(row);
    }
  }
  return table.text(terminal);
}

LineChart reach_chart(const Findings& f, Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "How far a gradient reaches", "梯度能传多远");
  chart.x_label = tr(lang, "steps back", "往回的步数");
  chart.y_label = tr(lang, "norm of the gradient at the state, relative", "状态处梯度的范数（相对）");
  for (const RecallResult& r : f.recall) {
    for (bool after : {false, true}) {
      Series series{(name_of(r) + trained(after)).in(lang), {}, {}};
      const std::vector<double>& reach = after ? r.trained_reach : r.fresh_reach;
      for (std::size_t k = 0; k < reach.size(); k += 5) {
        series.x.push_back(static_cast<double>(k));
        series.y.push_back(std::max(reach[k], 1e-30));
      }
      chart.series.push_back(series);
    }
  }
  chart.y_log = true;
  chart.lang = lang;
  return chart;
}

std::string reach_table(const Findings& f, const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "|dL/ds| so many steps back", "往回若干步的 |dL/ds|")), "1", "5", "10", "20", "50"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (bool after : {false, true}) {
    for (const RecallResult& r : f.recall) {
      std::vector<std::string> row{(name_of(r) + trained(after)).in(lang)};
      for (std::size_t k : {1, 5, 10, 20, 50})
        row.push_back(fmt::format("{:.0e}", (after ? r.trained_reach : r.fresh_reach)[k]));
      table.add_row(row);
    }
  }
  return table.text(terminal);
}

LineChart kept_chart(const Findings& f, Lang lang) {
  LineChart chart;
  chart.title =
      tr(lang, "z of the trained GRU: the share of the old state that is kept", "训练好的 GRU 的 z：旧状态保留的份额");
  chart.x_label = tr(lang, "step", "步");
  chart.y_label = tr(lang, "kept", "保留");
  std::vector<double> step;
  for (std::size_t t = 1; t <= f.kept.all.size(); ++t) step.push_back(static_cast<double>(t));
  chart.series = {{std::string(tr(lang, "mean of all units", "全部分量的平均")), step, f.kept.all},
                  {std::string(tr(lang, "the three that keep most", "保留最多的三个")), step, f.kept.steadiest}};
  chart.y_min = 0;
  chart.y_max = 1;
  chart.percent = true;
  chart.height = 11;
  chart.lang = lang;
  return chart;
}

std::string text_table(const Findings& f, const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "bits a character", "每字符比特")), std::string(tr(lang, "kinds", "字符种类")),
               std::string(tr(lang, "equal", "等概率")), std::string(tr(lang, "frequencies", "按频率")),
               std::string(tr(lang, "training", "训练时")), "GRU", std::string(tr(lang, "reset", "每 8 个清零")),
               std::string(tr(lang, "seen each", "每种平均出现"))},
              std::vector<Align>{Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
                                 Align::right, Align::right});
  for (const TextResult& t : f.texts) {
    const auto kinds = static_cast<double>(t.corpus.characters.size());
    table.add_row({name_of(t.lang, lang), fmt::format("{}", t.corpus.characters.size()),
                   fmt::format("{:.2f}", std::log2(kinds)), fmt::format("{:.2f}", t.frequencies),
                   fmt::format("{:.2f}", t.training.bits), fmt::format("{:.2f}", t.carried),
                   fmt::format("{:.2f}", t.reset), fmt::format("{:.0f}", seen_each(t))});
  }
  return table.text(terminal);
}

std::string samples(const Findings& f, std::uint64_t seed, const Terminal& terminal, Lang lang) {
  std::string text(tr(lang, "What they write, at three temperatures:\n", "它们写出的东西，三种温度：\n"));
  for (const TextResult& t : f.texts) {
    for (double T : {0.3, 0.7, 1.2}) {
      Generator generator(seed, "sample");
      std::string line = sample(t.training.net, t.corpus, t.lang == Lang::en ? "The gradient" : "梯度",
                                t.lang == Lang::en ? 130 : 60, T, generator);
      std::replace(line.begin(), line.end(), '\n', ' ');
      text += wrap_to_width(fmt::format("T = {}: {}{}", T, t.lang == Lang::en ? "The gradient" : "梯度", line),
                            std::min(terminal.width, 78)) +
              "\n";
    }
  }
  return text;
}

void report(const Findings& f, Metrics& metrics) {
  metrics.at_least({"recall at 50, GRU", "隔 50 步的回忆，GRU"}, 0.99, f.recall[1].accuracy[2]);
  metrics.at_least({"recall at 50 at once, LSTM with forget bias 4", "一开始就是 50 的回忆，遗忘偏置为 4 的 LSTM"},
                   0.95, f.recall[3].direct[2]);
  std::vector<double> distances(std::begin(recall_distances), std::end(recall_distances));
  const Words recall("% right at distance 50", "距离 50 的准确率 %"),
      reach("|dL/ds| 50 steps back", "往回 50 步的 |dL/ds|"), bits("bits a character", "每字符比特");
  for (const RecallResult& r : f.recall)
    metrics.across_seeds("recall", recall, name_of(r) + grown(true), percent(r.accuracy[2]));
  for (const RecallResult& r : f.recall)
    metrics.across_seeds("recall", recall, name_of(r) + grown(false), percent(r.direct[2]));
  for (bool after : {false, true}) {
    for (const RecallResult& r : f.recall)
      metrics.across_seeds("reach", reach, name_of(r) + trained(after),
                           fmt::format("{:.0e}", (after ? r.trained_reach : r.fresh_reach)[50]));
  }
  for (const TextResult& t : f.texts) {
    const Words language(name_of(t.lang, Lang::en), name_of(t.lang, Lang::zh));
    metrics.across_seeds("text", bits, language, fixed(t.carried, 2));
    metrics.across_seeds("text", bits, language + Words(", reset", "，清零"), fixed(t.reset, 2));
  }
  for (const RecallResult& r : f.recall) {
    metrics.curve("recall, distances grow, " + name_of(r).en, distances, r.accuracy);
    metrics.curve("recall, 50 at once, " + name_of(r).en, distances, r.direct);
    std::vector<double> back;
    for (std::size_t k = 0; k < r.fresh_reach.size(); ++k) back.push_back(static_cast<double>(k));
    metrics.curve("gradient, fresh, " + name_of(r).en, back, r.fresh_reach);
    metrics.curve("gradient, trained, " + name_of(r).en, back, r.trained_reach);
  }
  for (const TextResult& t : f.texts) {
    const std::string name = name_of(t.lang, Lang::en);
    metrics.at_least({"bits saved a character, " + name, "每字符省下的比特，" + name_of(t.lang, Lang::zh)}, 1,
                     t.frequencies - t.carried);
    metrics.set(name, Json::object({{"frequencies", t.frequencies}, {"carried", t.carried}, {"reset", t.reset}}));
  }
  const CutGradient cut = cut_gradient();
  metrics.holds({"gradient of the window, cut and whole", "窗口的梯度，切断的和完整的"},
                {"0.1090, 0.1196", "0.1090, 0.1196"},
                std::fabs(cut.cut - 0.1090) < 5e-5 && std::fabs(cut.whole - 0.1196) < 5e-5);
  metrics.steps(f.texts[0].training.step);
}

}  // namespace gradus::lesson06
