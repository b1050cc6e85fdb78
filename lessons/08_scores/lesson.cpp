// Lesson 08: scores, and what drives them; queries, keys and values; a lookup that is learned from answers alone.
#include <fmt/format.h>

#include "lessons/08_scores/by_hand.h"
#include "lessons/08_scores/parts.h"
#include "lessons/08_scores/show.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/jobs.h"
#include "lessons/common/lesson.h"
#include "lessons/common/metrics.h"
#include "lessons/common/progress.h"
#include "lessons/common/table.h"
#include "nn/checkpoint.h"

using namespace gradus;
using namespace gradus::lesson08;

namespace {

extern const Lesson lesson;

constexpr std::int64_t measured_lookups = 2000;
constexpr std::size_t asked_later = 6;  // which of variants() is saved for `try`: general

std::int64_t steps_for(const Options& options) {
  return options.steps ? *options.steps : options.quick ? 150 : options.full ? 3000 : 600;
}

std::filesystem::path file_in(const Options& options, const char* name) {
  return output_directory(options, lesson.id) / name;
}

// One reader from start to end. It draws from generators of its own, so nothing depends on what is trained beside it.
Trained train_one(std::size_t which, std::int64_t steps, std::uint64_t seed, Progress& progress) {
  Generator init(seed, "init");
  Trained result;
  result.reader = Reader(variants()[which], init);
  result.leads_before = leads(result.reader);
  result.before = measure(result.reader, pairs_in_training, measured_lookups, seed);
  train(result.reader, steps, seed, [&](std::int64_t step, double loss) {
    result.losses.push_back(loss);
    progress.report(which, {.step = step, .loss = loss});
    return !interrupted();
  });
  result.leads_after = leads(result.reader);
  result.after = measure(result.reader, pairs_in_training, measured_lookups, seed);
  result.on_4 = measure(result.reader, 4, measured_lookups, seed);
  result.on_16 = measure(result.reader, 16, measured_lookups, seed);
  return result;
}

std::vector<Trained> train_all(const Options& options, const Terminal& terminal) {
  const std::int64_t steps = steps_for(options);
  std::vector<std::string> names;
  for (const Variant& v : variants()) names.push_back(v.name.in(options.lang));
  Progress progress(terminal, options.lang, names, steps, steps);
  std::vector<Trained> all(names.size());
  for_all(all.size(), thread_count(options),
          [&](std::size_t i) { all[i] = train_one(i, steps, options.seed, progress); });
  return all;
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  Metrics metrics(lesson.id, options);
  if (options.resume) say(tr(lang, "Training takes seconds, so it starts anew.\n", "训练只要几秒，所以重新开始。\n"));
  const std::vector<Spread> spread = spreads();
  for (const std::string& part :
       {std::string(tr(lang, "Note 1's example, by hand:\n", "手算讲义 1 的例子：\n")) +
            trace(note_1(), terminal, lang),
        moving_query(terminal, lang), three_scores(terminal, lang), norm_and_angle(terminal, lang),
        orientation(terminal, lang), right_angle(terminal, lang), spread_table(spread, terminal, lang),
        parameter_counts(terminal, lang), learning_step(terminal, lang)})
    say("\n" + part);
  say(fmt::format(fmt::runtime(tr(lang, "\nA lookup among {} pairs; steps: {}; chance 10 %; scores: {}\n",
                                  "\n在 {} 对里查找；训练 {} 步；随机水平 10 %；打分：{}\n")),
                  pairs_in_training, steps_for(options), taught_parts().whose.in(lang)));
  const std::vector<Trained> all = train_all(options, terminal);
  const Reader& general = all[asked_later].reader;
  say("\n");
  metrics.show("trained", terminal, [&](const Terminal& on, Lang in) {
    return draw_text(loss_chart(all, in), on) + "\n" + verdict(all, in) + skill_table(all, on, in) + "\n" +
           lost_table(all[1], on, in);
  });
  say("\n");
  metrics.show("questions", terminal,
               [&](const Terminal& on, Lang in) { return draw_text(question_map(general, options.seed, in), on); });
  say("\n");

  metrics.steps(static_cast<std::int64_t>(all[0].losses.size()));
  metrics.size("pairs", pairs_in_training);
  metrics.at_most({"numbers of the notes, in units of their last digit", "讲义里的数，误差以其末位为单位"}, 0.5,
                  distance_from_notes());
  add_numbers(all, metrics);
  metrics.seconds_at_most({"seconds of CPU time", "CPU 时间（秒）"}, 5, metrics.cpu_seconds());
  say(metrics.target_table(terminal, lang));
  save_checkpoint(file_in(options, "general.safetensors"), {parameters(general)});
  save_plot(loss_chart(all, lang), file_in(options, "loss.svg"));
  save_plot(question_map(general, options.seed, lang), file_in(options, "questions.svg"));
  save_plot(dictionary_map(general, lang), file_in(options, "dictionary.svg"));
  save_plot(moving_chart(lang), file_in(options, "moving.svg"));
  save_plot(spread_chart(spread, lang), file_in(options, "spread.svg"));
  say(fmt::format(
      fmt::runtime(tr(lang, "pictures and numbers: {}\nnow ask it: ./gradus try 08 \"cat=3 dog=7 sun=1 ? 狗\"\n",
                      "图和数据在：{}\n现在可以问它：./gradus try 08 \"cat=3 dog=7 sun=1 ? 狗\"\n")),
      metrics.place().string()));
  return metrics.write();
}

// `try`: "cat=3 dog=7 ? 狗" asks the trained reader; "0.8 -0.2 | 0.1 0.9 | 0.7 0.2" traces one query on some states.
int ask(const Options& options, const std::string& input) {
  const Terminal terminal = find_terminal(options);
  if (input.find('|') != std::string::npos) {
    say(trace(read_example(input), terminal, options.lang));
    return 0;
  }
  const Lookups lookup = read_lookup(input);
  const std::filesystem::path file = file_in(options, "general.safetensors");
  if (!std::filesystem::exists(file)) return not_trained_yet(options, lesson);
  Generator unused(1);
  Reader reader(variants()[asked_later], unused);
  load_parameters(file, parameters(reader));
  say(answer_table(reader, lookup, terminal, options.lang));
  return 0;
}

const Lesson lesson{"08_scores", "Scores, queries, keys and values", "打分，查询、键和值", 60, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
