// Lesson 06: recurrent cells (Elman, every published GRU, LSTM), what they remember, and a model of characters.
#include <fmt/format.h>

#include <algorithm>

#include "lessons/06_gru/by_hand.h"
#include "lessons/06_gru/parts.h"
#include "lessons/06_gru/show.h"
#include "lessons/common/lesson.h"
#include "nn/checkpoint.h"

using namespace gradus;
using namespace gradus::lesson06;

namespace {

extern const Lesson lesson;

Plan plan_for(const Options& options) {
  Plan plan{1200, 2000};
  if (options.quick) plan = {400, 100};
  if (options.full) plan = {3000, 6000};
  if (options.steps) plan = {*options.steps, *options.steps};
  return plan;
}

std::filesystem::path file_in(const Options& options, Lang of) {
  return output_directory(options, lesson.id) / (of == Lang::en ? "english.safetensors" : "chinese.safetensors");
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  const Plan plan = plan_for(options);
  Metrics metrics(lesson.id, options);
  for (const std::string& part : {trace_gru(terminal, lang), forms_of_the_gru(terminal, lang),
                                  trace_lstm(terminal, lang), truncated(terminal, lang)})
    say("\n" + part);
  say(fmt::format(
      fmt::runtime(tr(lang,
                      "\nRecall: which of {} symbols was first; chance {:.1f} %; {} steps.\nText: {} steps; losses in "
                      "bits a character. Cells and windows: {}\n",
                      "\n回忆：{} 个符号中哪个是第一个；随机水平 {:.1f} %；{} 步。文本：{} 步；损失以每字符比特计。\n"
                      "循环单元与窗口：{}\n")),
      symbols, 100.0 / symbols, plan.recall_steps, plan.text_steps, taught_parts().whose.in(lang)));
  const Findings f = find_out(plan, options, terminal);
  say("\n" + verdict(f, lang));
  metrics.show("recall", terminal, [&](const Terminal& on, Lang in) { return recall_table(f, on, in); });
  say("\n");
  metrics.show("reach", terminal, [&](const Terminal& on, Lang in) { return reach_table(f, on, in); });
  say("\n");
  metrics.show("kept", terminal, [&](const Terminal& on, Lang in) { return draw_text(kept_chart(f, in), on); });
  say("\n");
  metrics.show("text", terminal, [&](const Terminal& on, Lang in) { return text_table(f, on, in); });
  say("\n");
  metrics.show("samples", terminal, [&](const Terminal& on, Lang in) { return samples(f, options.seed, on, in); });
  report(f, metrics);
  metrics.seconds_at_most({"seconds of CPU time, for two cores", "CPU 时间（秒），两个核合计"}, 50,
                          metrics.cpu_seconds());
  say("\n" + metrics.target_table(terminal, lang));
  for (const TextResult& t : f.texts) save_checkpoint(file_in(options, t.lang), {parameters(t.training.net)});
  save_plot(reach_chart(f, lang), output_directory(options, lesson.id) / "reach.svg");
  save_plot(kept_chart(f, lang), output_directory(options, lesson.id) / "kept.svg");
  say(fmt::format(
      fmt::runtime(tr(lang, "pictures, numbers and both models: {}\nnow let it write: ./gradus try 06 \"The state\"\n",
                      "图、数据和两个模型都在：{}\n现在可以让它写：./gradus try 06 \"状态\"\n")),
      metrics.place().string()));
  return metrics.write();
}

// `try`: goes on with what was typed, in the language in which it was typed, at three temperatures.
int ask(const Options& options, const std::string& input) {
  const bool chinese =
      std::any_of(input.begin(), input.end(), [](char c) { return static_cast<unsigned char>(c) >= 0xe0; });
  const Lang of = chinese ? Lang::zh : Lang::en;
  if (!std::filesystem::exists(file_in(options, of))) return not_trained_yet(options, lesson);
  const Corpus corpus = course_text(of);
  Generator unused(1);
  CharNet net(static_cast<std::int64_t>(corpus.characters.size()), unused);
  load_parameters(file_in(options, of), parameters(net));
  for (double T : {0.3, 0.7, 1.2}) {
    Generator generator(options.seed, "sample");
    const std::string text = printable(input) + sample(net, corpus, input, chinese ? 80 : 200, T, generator);
    say(fmt::format("T = {}\n{}\n\n", T, wrap_to_width(text, find_terminal(options).width)));
  }
  return 0;
}

const Lesson lesson{"06_gru", "Recurrent cells", "循环单元", 75, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
