// Tables and pictures of the trained readers.
#include "lessons/08_scores/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lessons/08_scores/by_hand.h"
#include "lessons/common/table.h"

namespace gradus::lesson08 {

std::string verdict(const std::vector<Trained>& all, Lang lang) {
  std::string perfect;
  for (const Trained& t : all) {
    if (t.after.accuracy == 1)
      perfect += std::string(perfect.empty() ? "" : tr(lang, ", ", "、")) + t.reader.variant.name.in(lang);
  }
  if (perfect.empty())
    return std::string(
        tr(lang, "No reader answers every question yet: too few steps.\n", "还没有一个模型答对全部问题：步数太少。\n"));
  return wrap_to_width(
             fmt::format(fmt::runtime(tr(lang, "Every question is answered by: {}.", "答对全部问题的有：{}。")),
                         perfect),
             80) +
         "\n";
}

std::string skill_table(const std::vector<Trained>& all, const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "score", "打分")), std::string(tr(lang, "spread", "标准差")),
               std::string(tr(lang, "accuracy", "准确率")), std::string(tr(lang, "lost", "丢词")),
               std::string(tr(lang, "weight", "权重")), std::string(tr(lang, "4 pairs", "4 对")),
               std::string(tr(lang, "16 pairs", "16 对"))},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (const Trained& t : all)
    table.add_row({t.reader.variant.name.in(lang), fixed(t.before.deviation, 2), percent(t.after.accuracy),
                   std::to_string(t.after.lost), fixed(t.after.weight, 3), percent(t.on_4.accuracy),
                   percent(t.on_16.accuracy)});
  return table.text(terminal);
}

std::string lost_table(const Trained& trained, const Terminal& terminal, Lang lang) {
  constexpr std::size_t shown = 4;
  std::vector<std::size_t> order(words);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return trained.leads_before[a] < trained.leads_before[b]; });
  Table table({std::string(tr(lang, "asked", "问的词")), std::string(tr(lang, "own key", "自己的键")),
               std::string(tr(lang, "lead before training", "训练前的领先")), std::string(tr(lang, "after", "训练后"))},
              {Align::left, Align::left, Align::right, Align::right});
  for (std::size_t i = 0; i < shown; ++i)
    table.add_row({query_words[order[i]], key_words[order[i]], fixed(trained.leads_before[order[i]], 1),
                   fixed(trained.leads_after[order[i]], 1)});
  return fmt::format(
             fmt::runtime(tr(lang, "{}: the four words whose own key starts furthest behind the best other key:\n",
                             "{}：自己的键最初落后于最好的另一个键最多的四个词：\n")),
             trained.reader.variant.name.in(lang)) +
         table.text(terminal);
}

void add_numbers(const std::vector<Trained>& all, Metrics& metrics) {
  for (const Trained& t : all) {
    const Words& name = t.reader.variant.name;
    const Words accuracy = Words("accuracy, ", "准确率，") + name;
    metrics.set(name.en, Json::object({{"parameters", count(parameters(t.reader))},
                                       {"first spread", t.before.deviation},
                                       {"accuracy", t.after.accuracy},
                                       {"lost words", t.after.lost},
                                       {"weight", t.after.weight},
                                       {"accuracy at 4", t.on_4.accuracy},
                                       {"accuracy at 16", t.on_16.accuracy}}));
    if (!t.reader.variant.kind) metrics.at_most(accuracy, 0.5, t.after.accuracy);
    if (name.en.ends_with("small start") || name.en == "scaled dot") metrics.at_least(accuracy, 1, t.after.accuracy);
  }
  const Words answered("lookups answered rightly", "答对的查找");
  for (const Trained& t : all)
    metrics.across_seeds("trained", answered, t.reader.variant.name, percent(t.after.accuracy));
  metrics.across_seeds("trained", answered, {"cosine, among 16 pairs", "cosine，16 对"},
                       percent(all[4].on_16.accuracy));
  metrics.across_seeds("trained", answered, {"words that dot loses, of 16", "16 个词里 dot 丢掉的"},
                       std::to_string(all[1].after.lost));
  metrics.across_seeds("trained", answered, {"words that cosine loses, of 16", "16 个词里 cosine 丢掉的"},
                       std::to_string(all[4].after.lost));
}

LineChart loss_chart(const std::vector<Trained>& all, Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Loss of the answer while training", "训练中答案的损失");
  chart.x_label = tr(lang, "steps", "步数");
  chart.y_label = tr(lang, "loss", "损失");
  constexpr std::size_t every = 20;  // points of the chart are means of so many steps
  for (const Trained& t : all) {
    Series s{t.reader.variant.name.in(lang), {}, {}};
    for (std::size_t at = 0; at + every <= t.losses.size(); at += every) {
      const auto from = t.losses.begin() + static_cast<std::ptrdiff_t>(at);
      s.x.push_back(static_cast<double>(at + every));
      s.y.push_back(std::accumulate(from, from + every, 0.0) / every);
    }
    chart.series.push_back(s);
  }
  chart.y_min = 0;
  chart.lang = lang;
  return chart;
}

Heatmap question_map(const Reader& reader, std::uint64_t seed, Lang lang) {
  const NoGrad nothing_is_recorded;
  Generator generator(seed, "sample");
  Lookups lookup = draw_lookups(1, pairs_in_training, generator);
  Heatmap map;
  map.title = tr(lang, "Weights for eight questions about the same pairs", "对同样八对提出八个问题时的权重");
  map.row_label = tr(lang, "asked", "问的词");
  map.column_label = tr(lang, "key", "键");
  for (std::int64_t i = 0; i < pairs_in_training; ++i) {
    const std::int32_t key = lookup.keys.at(0, i);
    map.rows.emplace_back(query_words[key]);
    map.columns.emplace_back(key_words[key]);
    lookup.query[0] = key;
    const std::vector<double> weights = reader(lookup).weights.value().to_vector();
    map.values.insert(map.values.end(), weights.begin(), weights.end());
  }
  map.low = 0;
  map.high = 1;
  map.lang = lang;
  return map;
}

Heatmap dictionary_map(const Reader& reader, Lang lang) {
  const NoGrad nothing_is_recorded;
  Lookups all{Ids(Shape{1, words}), Ids(Shape{1, words}), Ids(Shape{1}), Ids(Shape{1})};
  for (std::int32_t w = 0; w < words; ++w) all.keys.at(0, w) = w;
  Heatmap map;
  map.title = tr(lang, "Learned scores of every question word with every key", "每个问词与每个键之间学出来的分数");
  map.row_label = tr(lang, "asked", "问的词");
  map.column_label = tr(lang, "key", "键");
  for (std::int32_t w = 0; w < words; ++w) {
    map.rows.emplace_back(query_words[w]);
    map.columns.emplace_back(key_words[w]);
    all.query[0] = w;
    const std::vector<double> scores = reader(all).scores.value().to_vector();
    map.values.insert(map.values.end(), scores.begin(), scores.end());
  }
  map.digits = 0;
  map.lang = lang;
  return map;
}

std::string answer_table(const Reader& reader, const Lookups& lookup, const Terminal& terminal, Lang lang) {
  const NoGrad nothing_is_recorded;
  const Read read = reader(lookup);
  Table table({std::string(tr(lang, "key", "键")), std::string(tr(lang, "value", "值")),
               std::string(tr(lang, "score", "分数")), std::string(tr(lang, "weight", "权重"))},
              {Align::left, Align::right, Align::right, Align::right});
  for (std::int64_t i = 0; i < lookup.keys.size(); ++i)
    table.add_row({key_words[lookup.keys[i]], std::to_string(lookup.values[i]),
                   fixed(read.scores.value().at({0, i}), 2), fixed(read.weights.value().at({0, i}), 3)});
  const std::int32_t asked = lookup.query[0], said = argmax(read.logits.value(), Axis{1})[0];
  return fmt::format(fmt::runtime(tr(lang, "{} ({}): the reader says {}, right is {}\n",
                                     "{}（{}）：模型说 {}，正确答案是 {}\n")),
                     query_words[asked], key_words[asked], said, lookup.answer[0]) +
         table.text(terminal);
}

}  // namespace gradus::lesson08
