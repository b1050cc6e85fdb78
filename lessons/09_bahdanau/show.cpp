// Pictures and tables of lesson 09.
#include "lessons/09_bahdanau/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "lessons/09_bahdanau/swapped.h"
#include "lessons/common/table.h"
#include "nn/conventions/probes.h"
#include "nn/conventions/to_reference.h"

namespace gradus::lesson09 {
namespace {

std::vector<double> measure_one(const CopyModel& model, std::int64_t sequences, std::uint64_t seed) {
  Generator fresh(seed, "evaluation");
  std::vector<double> result;
  for (std::int64_t length : copy_lengths) {
    result.push_back(greedy_accuracy([&](const Ids& source) { return model.copy(source); }, length, sequences, fresh));
  }
  return result;
}

std::vector<double> lengths_as_numbers() { return {std::begin(copy_lengths), std::end(copy_lengths)}; }

// A small decoder in f64 whose parameters are all drawn, the way a learner would hand it to the checks.
template <class D> D small_decoder(std::uint64_t seed) {
  Generator generator(seed, "checks");
  const DecoderSizes sizes{.vocab = 7, .d_emb = 3, .d_s = 4, .d_h = 6, .d_attn = 5};
  D decoder = clone(D(sizes, {}, generator), f64);
  randomize(parameters(decoder), 0.8, seed);
  return decoder;
}

GradientReport self_check(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  std::vector<CheckedInput> leaves{{"y_emb", inputs.y_emb}, {"H", inputs.H}, {"s_0", inputs.s_0}};
  for (const Parameter& p : decoder.parameters) leaves.push_back({p.name, p.var});
  return check_gradient(
      [&] {
        const Outputs outputs = outputs_of(decoder.run(inputs));
        std::vector<Var> flat;
        for (const auto& [name, value] : outputs) flat.push_back(reshape(value, Shape{value.value().size()}));
        return concat(flat, Axis{0});
      },
      leaves);
}

double worst_error(const std::vector<GradientEntry>& entries) {
  double worst = 0;
  for (const GradientEntry& entry : entries) worst = std::max(worst, entry.error);
  return worst;
}

}  // namespace

Accuracy measure(const Trainee& attention, const Trainee& plain, std::int64_t sequences, std::uint64_t seed,
                 int threads) {
  Accuracy result;
  std::thread beside;
  auto measure_plain = [&] { result.plain = measure_one(plain.model, sequences, seed); };
  if (threads > 1) beside = std::thread(measure_plain);
  else measure_plain();
  result.attention = measure_one(attention.model, sequences, seed);
  if (beside.joinable()) beside.join();
  return result;
}

std::string header(const Trainee& attention, const Trainee& plain, const Sizes& sizes, const Options& options) {
  const Lang lang = options.lang;
  const std::string lengths = fmt::format(
      fmt::runtime(options.no_curriculum
                       ? tr(lang,
                            "no curriculum: lengths 1 to {1} from the first step on; the accuracy below is theirs\n",
                            "不用课程学习：从第一步起长度就是 1 到 {1}；下面训练时的准确率就是这些长度上的\n")
                       : tr(lang,
                            "curriculum: lengths 1 to {0}, then one longer after every step at which over 95 %\n"
                            "of the latest tokens were right; accuracy while training is at these lengths\n",
                            "课程学习：长度先是 1 到 {0}，每当最近的词有 95 % 以上正确，就加长 1；\n"
                            "训练时显示的准确率，就是当时这些长度上的\n")),
      Curriculum().longest, copy_longest);
  return fmt::format(fmt::runtime(tr(lang,
                                     "copy digits, lengths up to {}; chance level {:.0f} %\n"
                                     "{}"
                                     "seed {}, {} steps of {} sequences for each model\n"
                                     "d_emb {}, d_s {}, d_h {}, d_attn {}\n"
                                     "{} parameters with attention, {} without\n"
                                     "additive_keys, additive_score, decoder_step: {}\n",
                                     "复制数字，最长 {}；随机水平 {:.0f} %\n"
                                     "{}"
                                     "种子 {}，每个模型训练 {} 步，每步 {} 个序列\n"
                                     "d_emb {}，d_s {}，d_h {}，d_attn {}\n"
                                     "有注意力 {} 个参数，无注意力 {} 个\n"
                                     "additive_keys、additive_score、decoder_step：{}\n")),
                     copy_longest, 100.0 / static_cast<double>(copy_vocab), lengths, options.seed, attention.steps,
                     sizes.batch, sizes.d_emb, sizes.d_s, 2 * sizes.d_hidden, sizes.d_attn,
                     count(parameters(attention.model)), count(parameters(plain.model)), taught_parts().whose.in(lang));
}

std::string so_far(const Trainee& attention, const Options& options) {
  const Lang lang = options.lang;
  return fmt::format(
      fmt::runtime(
          tr(lang,
             "\nInterrupted after step {} of {}. What follows is what the models can do so far; both are saved.\n"
             "To go on: ./gradus run 09 --resume{}\n",
             "\n在第 {} 步（共 {} 步）中断。下面是模型到目前为止的表现；两个模型都已保存。\n"
             "继续训练：./gradus run 09 --resume{}\n")),
      attention.step, attention.steps, options.no_curriculum ? " --no-curriculum" : "");
}

void record(const Trainee& attention, const Trainee& plain, const Accuracy& accuracy, const Sizes& sizes,
            Metrics& metrics) {
  metrics.steps(attention.step);
  for (const auto& [name, value] : {std::pair("d_emb", sizes.d_emb),
                                    {"d_s", sizes.d_s},
                                    {"d_h", 2 * sizes.d_hidden},
                                    {"d_attn", sizes.d_attn},
                                    {"batch", sizes.batch}})
    metrics.size(name, value);
  for (std::size_t i = 0; i < std::size(copy_lengths); ++i) {
    const auto length = copy_lengths[i];
    metrics.at_least(
        {fmt::format("accuracy at {}, with attention", length), fmt::format("长度 {} 的准确率，有注意力", length)},
        0.99, accuracy.attention[i]);
  }
  metrics.at_least({"accuracy at 5, without attention", "长度 5 的准确率，无注意力"}, 0.89, accuracy.plain.front());
  metrics.at_most({"accuracy at 80, without attention", "长度 80 的准确率，无注意力"}, 0.25, accuracy.plain.back());
  const auto add_row = [&](const Words& with, std::size_t i, double share) {
    const std::string length = std::to_string(copy_lengths[i]);
    metrics.across_seeds("accuracy", {"% right at length", "各长度的准确率 %"}, Words(length, length) + with,
                         fixed(100 * share, 1));
  };
  for (std::size_t i = 0; i < std::size(copy_lengths); ++i)
    add_row({", with attention", "，有注意力"}, i, accuracy.attention[i]);
  for (std::size_t i = 0; i < std::size(copy_lengths); ++i) add_row({", without", "，无注意力"}, i, accuracy.plain[i]);
  const auto add_longest = [&](const Words& row, const Trainee& trained) {
    metrics.across_seeds("curriculum", {"longest length in training", "训练时的最长长度"}, row,
                         std::to_string(trained.curriculum.longest));
  };
  add_longest({"with attention", "有注意力"}, attention);
  add_longest({"without", "无注意力"}, plain);
  metrics.seconds_at_most({"seconds of CPU time, for two cores", "CPU 时间（秒），两个核合计"}, 120,
                          metrics.cpu_seconds());
  metrics.curve("accuracy against length, with attention", lengths_as_numbers(), accuracy.attention);
  metrics.curve("accuracy against length, without attention", lengths_as_numbers(), accuracy.plain);
  metrics.curve("training loss, with attention", attention.curve.step, attention.curve.loss);
  metrics.curve("training loss, without attention", plain.curve.step, plain.curve.loss);
  metrics.curve("longest length in training, with attention", attention.curve.step, attention.curve.longest);
  metrics.curve("longest length in training, without attention", plain.curve.step, plain.curve.longest);
}

LineChart accuracy_chart(const Accuracy& accuracy, Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Copying: greedy token accuracy against length", "复制任务：贪心解码的逐词准确率随长度的变化");
  chart.x_label = tr(lang, "length of the sequence", "序列长度");
  chart.y_label = tr(lang, "accuracy", "准确率");
  chart.series = {{std::string(tr(lang, "with attention", "有注意力")), lengths_as_numbers(), accuracy.attention},
                  {std::string(tr(lang, "without attention", "无注意力")), lengths_as_numbers(), accuracy.plain}};
  chart.lines = {{std::string(tr(lang, "chance", "随机水平")), 1.0 / static_cast<double>(copy_vocab)}};
  chart.y_min = 0;
  chart.y_max = 1;
  chart.percent = true;
  chart.lang = lang;
  return chart;
}

LineChart curriculum_chart(const Trainee& attention, const Trainee& plain, Lang lang) {
  LineChart chart;
  chart.title = tr(lang, "Longest training length that the curriculum has reached", "课程学习到达的最长训练长度");
  chart.x_label = tr(lang, "training steps", "训练步数");
  chart.y_label = tr(lang, "length", "长度");
  chart.series = {{std::string(tr(lang, "with attention", "有注意力")), attention.curve.step, attention.curve.longest},
                  {std::string(tr(lang, "without attention", "无注意力")), plain.curve.step, plain.curve.longest}};
  chart.lang = lang;
  return chart;
}

int one_to_the_left(const Heatmap& map) {
  const auto size = static_cast<std::ptrdiff_t>(map.rows.size());
  int found = 0;
  for (std::ptrdiff_t t = 1; t < size; ++t) {
    const auto row = map.values.begin() + t * size;
    found += std::max_element(row, row + size) == row + t - 1;
  }
  return found;
}

Ids sample(std::uint64_t seed) {
  Generator generator(seed, "sample");
  return copy_batch(1, 12, generator).source;
}

Heatmap alignment(const CopyModel& model, const Ids& tokens, std::string title, Lang lang) {
  const Greedy copied = model.copy(tokens);
  Heatmap map;
  map.title = std::move(title);
  map.row_label = tr(lang, "written", "写出");
  map.column_label = tr(lang, "read", "读到");
  for (std::int64_t i = 0; i < tokens.shape()[1]; ++i) {
    map.rows.push_back(std::to_string(copied.tokens.at(0, i)));
    map.columns.push_back(std::to_string(tokens.at(0, i)));
  }
  map.values = copied.weights.to_vector();
  map.low = 0;
  map.high = 1;
  map.lang = lang;
  return map;
}

std::string influence(const CopyModel& model, std::uint64_t seed, const Terminal& terminal, Lang lang) {
  const CopyModel exact = clone(model, f64);
  Generator generator(seed, "influence");
  const CopyBatch batch = copy_batch(1, 6, generator);
  const auto [memory, s_0] = exact.encode(batch.source);
  const DecoderInputs inputs{parameter(exact.target(batch.previous).value()), parameter(memory.values.value()),
                             std::nullopt, parameter(s_0.value())};
  const DecoderUnderTest decoder = under_test("trained", exact.bahdanau, reference_parameters(exact.bahdanau));
  const Probe probe = probe_influence(decoder, inputs, QueryTime::s_prev);
  return std::string(tr(lang, "Influence of the decoder's inputs on its attention, in the trained model (the probe):\n",
                        "训练好的模型里，解码器各步输入对注意力权重的影响（探针）：\n")) +
         probe.picture(std::min(terminal.width, 80), lang);
}

std::string three_checks(std::uint64_t seed, const Terminal& terminal, Lang lang, Metrics& metrics) {
  const BahdanauDecoder paper = small_decoder<BahdanauDecoder>(seed);
  const SwappedDecoder swapped = small_decoder<SwappedDecoder>(seed);
  const DecoderInputs inputs = random_inputs({7, 3, 4, 6, 5}, {}, false, seed);
  const std::vector<std::pair<std::string, DecoderUnderTest>> both{
      {std::string(tr(lang, "paper: query s_{t-1}", "论文：查询为 s_{t-1}")), under_test(paper)},
      {std::string(tr(lang, "swapped: query s_t", "对调：查询为 s_t")),
       under_test("swapped", swapped, reference_parameters(swapped))}};
  Table table({std::string(tr(lang, "decoder", "解码器")), std::string(tr(lang, "self check", "自检")),
               std::string(tr(lang, "reference check", "参照检查")), std::string(tr(lang, "probe", "探针"))});
  std::string details;
  std::vector<bool> self, reference, probed;
  for (const auto& [name, decoder] : both) {
    const GradientReport g1 = self_check(decoder, inputs);
    const ReferenceReport g2 = check_reference(decoder, inputs, reference::bahdanau2014());
    const Probe g3 = probe_influence(decoder, inputs, QueryTime::s_prev);
    self.push_back(g1.passed);
    reference.push_back(g2.passed);
    probed.push_back(g3.passed);
    const auto word = [&](bool passed) {
      return std::string(passed ? tr(lang, "passes", "通过") : tr(lang, "FAILS", "不通过"));
    };
    table.add_row({name, fmt::format("{} ({:.0e})", word(g1.passed), worst_error(g1.entries)),
                   fmt::format("{} ({:.0e})", word(g2.passed), worst_error(g2.leaves)), word(g3.passed)});
    if (!g2.passed) {
      const double paper_gradient = g2.numeric.at("W_a").data.at(0), found = g2.analytic.at("W_a").data.at(0);
      details += fmt::format(fmt::runtime(tr(lang, "  dL/dW_a[0,0]: {:.6f} by the paper, {:.6f} found in '{}'\n",
                                             "  dL/dW_a[0,0]：按论文为 {0:.6f}，在“{2}”中为 {1:.6f}\n")),
                             paper_gradient, found, name);
    }
    if (!g3.passed) {
      const std::string wrapped = wrap_to_width(g3.sentence.in(lang), std::min(terminal.width, 80) - 4);
      details += "  ";
      for (char c : wrapped) details += c == '\n' ? std::string("\n    ") : std::string(1, c);
      details += "\n";
    }
  }
  const bool repaired = self[1] && reference[1] && probed[1];  // exercise 3: somebody put the swap right
  if (!repaired) {
    metrics.holds({"the swap passes the self check", "对调的解码器通过自检"}, {"passes", "通过"}, self[1]);
    metrics.holds({"the swap fails the reference check", "对调的解码器通不过参照检查"}, {"fails", "不通过"},
                  !reference[1]);
    metrics.holds({"the swap fails the probe", "对调的解码器通不过探针"}, {"fails", "不通过"}, !probed[1]);
  }
  metrics.holds({"the paper's decoder passes all three", "论文的解码器三项都通过"}, {"passes", "通过"},
                self[0] && reference[0] && probed[0]);
  const bool as_expected = self[0] && reference[0] && probed[0] && self[1] && !reference[1] && !probed[1];
  const std::string_view verdict =
      as_expected ? tr(lang,
                       "Verdict: the swapped decoder takes s_t as its query; Bahdanau et al. 2014 take s_{t-1}. Its "
                       "gradients agree with themselves, so the self check passes it. Only a check that knows the "
                       "paper (reference) or asks what may depend on what (probe) sees the mistake.",
                       "结论：对调的解码器用 s_t 作查询；Bahdanau 等（2014）用的是 "
                       "s_{t-1}。它的梯度与它自己相符，所以自检放行；"
                       "只有知道论文公式的参照检查，或者追问“谁可以依赖谁”的探针，才看得出这个错误。")
      : repaired && self[0] && reference[0] && probed[0]
          ? tr(lang,
               "Verdict: the decoder in swapped.h is the paper's: all three checks pass it. There is no swap left to "
               "find.",
               "结论：swapped.h 里的解码器就是论文的解码器：三项检查全部通过，已经没有对调可找。")
          : tr(lang, "Verdict: the checks did not come out as they should; see the table.",
               "结论：检查结果与预期不符，见下表。");
  return wrap_to_width(verdict, std::min(terminal.width, 80)) + "\n" + table.text(terminal) + details;
}

}  // namespace gradus::lesson09
