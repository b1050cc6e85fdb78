// Charts, tables and targets.
#include "lessons/07_bottleneck/show.h"

#include <fmt/format.h>

#include <algorithm>

#include "lessons/07_bottleneck/by_hand.h"
#include "lessons/common/table.h"

namespace gradus::lesson07 {
namespace {

const std::vector<double> lengths(std::begin(copy_lengths), std::end(copy_lengths));

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

LineChart percent_chart(std::string_view title, std::string_view x_label, Lang lang) {
  LineChart chart;
  chart.title = title;
  chart.x_label = x_label;
  chart.y_label = tr(lang, "accuracy", "准确率");
  chart.lines = {{std::string(tr(lang, "chance", "随机水平")), 1.0 / static_cast<double>(copy_vocab)}};
  chart.y_min = 0;
  chart.y_max = 1;
  chart.percent = true;
  chart.height = 13;
  chart.lang = lang;
  return chart;
}

Table length_table(std::string first) {
  std::vector<std::string> headings{std::move(first)};
  std::vector<Align> aligns{Align::left};
  for (std::int64_t length : copy_lengths) {
    headings.push_back(std::to_string(length));
    aligns.push_back(Align::right);
  }
  return Table(headings, aligns);
}

void add_percents(Table& table, std::string_view name, const std::vector<double>& shares) {
  std::vector<std::string> row{std::string(name)};
  for (double share : shares) row.push_back(percent(share));
  table.add_row(row);
}

// The greatest measured length up to which the accuracy is at least 90 %; 0 if none.
std::int64_t reach(const Accuracy& a) {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < a.greedy.size() && a.greedy[i] >= 0.9; ++i) result = copy_lengths[i];
  return result;
}

std::string text_of(const Ids& tokens) {
  std::string text;
  for (std::int64_t i = 0; i < tokens.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : " ", tokens[i]);
  return text;
}

// What is compared over seeds.
void add_numbers(const Findings& f, Metrics& metrics) {
  const auto same = [](std::int64_t number) { return Words(std::to_string(number), std::to_string(number)); };
  const Words given("right token before given", "给出正确的前一个词"), own("on its own outputs", "用自己的输出"),
      sampled("scheduled sampling: ", "计划采样：");
  constexpr std::size_t at_10 = 1, at_40 = 3;  // of copy_lengths
  for (std::size_t i = 0; i < lengths.size(); ++i)
    metrics.across_seeds("accuracy", {"% right on its own outputs at length", "用自己的输出，各长度的准确率 %"},
                         same(copy_lengths[i]), percent(f.main.accuracy.greedy[i]));
  const Words exposure("% right at length 40", "长度 40 的准确率 %");
  metrics.across_seeds("exposure", exposure, given, percent(f.main.accuracy.forced[at_40]));
  metrics.across_seeds("exposure", exposure, own, percent(f.main.accuracy.greedy[at_40]));
  metrics.across_seeds("exposure", exposure, sampled + given, percent(f.scheduled.accuracy.forced[at_40]));
  metrics.across_seeds("exposure", exposure, sampled + own, percent(f.scheduled.accuracy.greedy[at_40]));
  const Words after("% right after a wrong token, length 20", "前一个错时的准确率 %，长度 20");
  metrics.across_seeds("after", after, given, percent(f.places.forced_after.wrong));
  metrics.across_seeds("after", after, own, percent(f.places.greedy_after.wrong));
  for (const Stored& s : f.stored)
    metrics.across_seeds("stored", {"% right, s_0 searched for, at length", "搜索得到的 s_0，各长度的准确率 %"},
                         same(s.length), percent(s.best));
  for (const Stored& s : f.stored)
    metrics.across_seeds("encoder", {"% right, s_0 of the encoder, at length", "编码器给的 s_0，各长度的准确率 %"},
                         same(s.length), percent(s.encoder));
  for (const Measured& m : f.sweep)
    metrics.across_seeds("sweep", {"% right at length 10, d_s", "长度 10 的准确率 %，d_s"},
                         {m.trained.setup.name, m.trained.setup.name}, percent(m.accuracy.greedy[at_10]));
  const Words mistakes("trained with", "训练时"), at_length_10(": % right at length 10", "：长度 10 的准确率 %"),
      shift("the shift missing", "忘了移位");
  metrics.across_seeds("mistakes", mistakes, Words("nothing wrong", "没有错误") + at_length_10,
                       percent(f.sweep[2].accuracy.greedy[at_10]));
  metrics.across_seeds("mistakes", mistakes,
                       Words("the last slice as final state", "把最后一格当作最终状态") + at_length_10,
                       percent(f.last_slice.accuracy.greedy[at_10]));
  metrics.across_seeds("mistakes", mistakes, shift + at_length_10, percent(f.shift_missing.accuracy.greedy[at_10]));
  metrics.across_seeds("mistakes", mistakes, shift + Words(": training loss", "：训练损失"),
                       fixed(f.shift_missing.trained.loss));
}

}  // namespace

std::string verdict(const Findings& f, Lang lang) {
  const std::vector<double>& greedy = f.main.accuracy.greedy;
  if (greedy.front() < 0.89)
    return std::string(
        tr(lang, "Too few steps: not even 5 digits are copied yet.\n", "步数太少：连 5 个数字都还复制不好。\n"));
  return fmt::format(
      fmt::runtime(tr(lang, "One state of {} numbers: {} % of the digits at length 5, {} % at 80; chance 10 %.\n",
                      "只有一个 {} 维的状态：长度 5 时准确率 {} %，长度 80 时 {} %；随机水平 10 %。\n")),
      f.main.trained.setup.sizes.d_s, percent(greedy.front()), percent(greedy.back()));
}

LineChart accuracy_chart(const Findings& f, Lang lang) {
  LineChart chart = percent_chart(
      tr(lang, "Copying through one state: accuracy against length", "只经过一个状态的复制：准确率随长度的变化"),
      tr(lang, "length of the sequence", "序列长度"), lang);
  chart.series = {
      {std::string(tr(lang, "on its own outputs", "用自己的输出")), lengths, f.main.accuracy.greedy},
      {std::string(tr(lang, "right token before given", "给出正确的前一个词")), lengths, f.main.accuracy.forced}};
  return chart;
}

LineChart places_chart(const Findings& f, Lang lang) {
  LineChart chart = percent_chart(
      fmt::format(fmt::runtime(tr(lang, "Accuracy at each place of {} digits", "{} 个数字中每个位置的准确率")),
                  places_length),
      tr(lang, "place in the sequence", "序列中的位置"), lang);
  std::vector<double> at;
  for (std::int64_t t = 1; t <= places_length; ++t) at.push_back(static_cast<double>(t));
  chart.series = {{std::string(tr(lang, "on its own outputs", "用自己的输出")), at, f.places.greedy},
                  {std::string(tr(lang, "right token before given", "给出正确的前一个词")), at, f.places.forced}};
  return chart;
}

LineChart sweep_chart(const Findings& f, Lang lang) {
  LineChart chart = percent_chart(
      tr(lang, "States of 16, 32, 64 and 128 numbers, the same number of steps", "16、32、64、128 维的状态，步数相同"),
      tr(lang, "length of the sequence", "序列长度"), lang);
  for (const Measured& m : f.sweep) chart.series.push_back({m.trained.setup.name, lengths, m.accuracy.greedy});
  return chart;
}

std::string exposure_table(const Findings& f, const Terminal& terminal, Lang lang) {
  Table table = length_table(std::string(tr(lang, "% right at length", "各长度的准确率 %")));
  add_percents(table, tr(lang, "right token before given", "给出正确的前一个词"), f.main.accuracy.forced);
  add_percents(table, tr(lang, "on its own outputs", "用自己的输出"), f.main.accuracy.greedy);
  add_percents(table, tr(lang, "scheduled sampling: given", "计划采样：给出"), f.scheduled.accuracy.forced);
  add_percents(table, tr(lang, "scheduled sampling: on its own", "计划采样：用自己的"), f.scheduled.accuracy.greedy);
  Table after({fmt::format(fmt::runtime(tr(lang, "% right at length {}", "长度 {} 时的准确率 %")), places_length),
               std::string(tr(lang, "after a right token", "前一个对")),
               std::string(tr(lang, "after a wrong one", "前一个错"))},
              {Align::left, Align::right, Align::right});
  after.add_row({std::string(tr(lang, "right token before given", "给出正确的前一个词")),
                 percent(f.places.forced_after.right), percent(f.places.forced_after.wrong)});
  after.add_row({std::string(tr(lang, "on its own outputs", "用自己的输出")), percent(f.places.greedy_after.right),
                 percent(f.places.greedy_after.wrong)});
  return table.text(terminal) + "\n" + after.text(terminal);
}

std::string stored_table(const Findings& f, const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "length", "长度")), std::string(tr(lang, "s_0 of the encoder", "编码器给的 s_0")),
               std::string(tr(lang, "s_0 searched for", "搜索得到的 s_0"))},
              {Align::right, Align::right, Align::right});
  for (const Stored& s : f.stored)
    table.add_row({std::to_string(s.length), percent(s.encoder) + " %", percent(s.best) + " %"});
  return std::string(tr(lang, "The same decoder, the same weights, another s_0: is there a better one?\n",
                        "同一个解码器，同样的权重，换一个 s_0：有没有更好的？\n")) +
         table.text(terminal);
}

std::string sweep_table(const Findings& f, const Terminal& terminal, Lang lang) {
  Table table = length_table("d_s");
  for (const Measured& m : f.sweep) add_percents(table, m.trained.setup.name, m.accuracy.greedy);
  return fmt::format(fmt::runtime(tr(lang, "% right against the size of the state, {} steps each:\n",
                                     "状态大小与准确率 %，各训练 {} 步：\n")),
                     f.sweep.front().trained.step) +
         table.text(terminal);
}

std::string mistakes_table(const Findings& f, const Terminal& terminal, Lang lang) {
  const auto& right =
      *std::find_if(f.sweep.begin(), f.sweep.end(), [](const Measured& m) { return m.trained.setup.name == "64"; });
  Table table({std::string(tr(lang, "trained with", "训练时")), std::string(tr(lang, "training loss", "训练损失")), "5",
               "10", "20"},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  const auto row = [&](std::string_view name, const Measured& m) {
    table.add_row({std::string(name), fmt::format("{:.4f}", m.trained.loss), percent(m.accuracy.greedy[0]),
                   percent(m.accuracy.greedy[1]), percent(m.accuracy.greedy[2])});
  };
  row(tr(lang, "nothing wrong", "没有错误"), right);
  row(tr(lang, "the last slice as final state", "把最后一格当作最终状态"), f.last_slice);
  row(tr(lang, "the shift missing", "忘了移位"), f.shift_missing);
  const Ids sample(Shape{1, 8}, std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6});
  return std::string(tr(lang, "Classic mistakes, % right on their own outputs at lengths 5, 10, 20:\n",
                        "经典错误，长度 5、10、20 时用自己的输出的准确率 %：\n")) +
         table.text(terminal) +
         fmt::format(fmt::runtime(tr(lang, "the shift missing: reads {}, writes {}\n", "忘了移位：读入 {}，写出 {}\n")),
                     text_of(sample), text_of(f.shift_missing.trained.net.copy(sample)));
}

std::string copies(const CopyNet& net, const Ids& tokens, Lang lang) {
  NoGrad no_grad;
  const std::int64_t length = tokens.shape()[1];
  const Ids own = net.copy(tokens), given = argmax(net.teach(net.encode(tokens), tokens).value(), Axis{2});
  const auto marks = [&](const Ids& written) {
    std::string line;
    for (std::int64_t t = 0; t < length; ++t)
      line += fmt::format("{}{}", t == 0 ? "" : " ", written.at(0, t) == tokens.at(0, t) ? "." : "x");
    return line;
  };
  const auto label = [&](std::string_view english, std::string_view chinese) {
    return pad_right(tr(lang, english, chinese), 22);
  };
  return label("read", "读入") + text_of(tokens) + "\n" + label("written on its own", "用自己的输出写出") +
         text_of(own) + "\n" + label("", "") + marks(own) + "\n" + label("with the right given", "给出正确的前一个词") +
         text_of(given) + "\n" + label("", "") + marks(given) + "\n";
}

void report(const Findings& f, Metrics& metrics) {
  const std::vector<double>& greedy = f.main.accuracy.greedy;
  metrics.steps(f.main.trained.step);
  metrics.size("d_s", f.main.trained.setup.sizes.d_s);
  metrics.size("d_emb", f.main.trained.setup.sizes.d_emb);
  metrics.size("parameters", count(parameters(f.main.trained.net)));
  metrics.at_least({"accuracy at 5", "长度 5 的准确率"}, 0.89, greedy.front());
  metrics.at_most({"accuracy at 80", "长度 80 的准确率"}, 0.25, greedy.back());
  metrics.holds({"accuracy falls with length", "准确率随长度下降"}, {"falls", "下降"},
                std::is_sorted(greedy.rbegin(), greedy.rend()));
  const SourceGradient gradient = source_gradient();
  metrics.holds({"gradient of the logits with respect to H", "logits 对 H 的梯度"}, {"exactly 0", "恰好为 0"},
                gradient.of_H == 0 && gradient.of_s_0 > 0);
  metrics.at_least({"80 digits through 12 numbers", "80 个数字通过 12 个数"}, 1,
                   copy_through_numbers(std::vector<int>(80, 7), 7) == std::vector<int>(80, 7));
  for (const Stored& s : f.stored) {
    if (s.length <= 20)
      metrics.at_least({fmt::format("accuracy at {} when only s_0 is searched for", s.length),
                        fmt::format("长度 {} 的准确率，只搜索 s_0", s.length)},
                       s.length == 10 ? 0.95 : 0.8, s.best);
    metrics.set(fmt::format("s_0 at {}", s.length), Json::object({{"encoder", s.encoder}, {"searched", s.best}}));
  }
  metrics.loss_at_most({"training loss, shift missing", "训练损失，忘了移位"}, 0.05, f.shift_missing.trained.loss);
  metrics.at_most({"accuracy at 10, shift missing", "长度 10 的准确率，忘了移位"}, 0.3,
                  f.shift_missing.accuracy.greedy[1]);
  add_numbers(f, metrics);
  const auto curve = [&](const std::string& name, const Accuracy& a) {
    metrics.curve(name + ", on its own outputs", lengths, a.greedy);
    metrics.curve(name + ", right token given", lengths, a.forced);
  };
  curve("teacher forcing", f.main.accuracy);
  curve("scheduled sampling", f.scheduled.accuracy);
  for (const Measured& m : f.sweep) {
    curve("d_s " + m.trained.setup.name, m.accuracy);
    metrics.set("reach of d_s " + m.trained.setup.name, reach(m.accuracy));
  }
  curve("last slice", f.last_slice.accuracy);
  curve("shift missing", f.shift_missing.accuracy);
  metrics.set("training loss", Json::object({{"nothing wrong", f.sweep[2].trained.loss},
                                             {"last slice", f.last_slice.trained.loss},
                                             {"shift missing", f.shift_missing.trained.loss}}));
  metrics.set("after a mistake", Json::object({{"given, after right", f.places.forced_after.right},
                                               {"given, after wrong", f.places.forced_after.wrong},
                                               {"own, after right", f.places.greedy_after.right},
                                               {"own, after wrong", f.places.greedy_after.wrong}}));
}

}  // namespace gradus::lesson07
