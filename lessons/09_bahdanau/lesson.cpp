// Lesson 09: attention as Bahdanau, Cho and Bengio (2014) made it, on the copy task, against the same model without it.
#include <fmt/format.h>

#include <exception>

#include "lessons/09_bahdanau/show.h"
#include "lessons/09_bahdanau/train_both.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/lesson.h"
#include "lessons/common/typed.h"
#include "nn/checkpoint.h"

using namespace gradus;
using namespace gradus::lesson09;

namespace {

extern const Lesson lesson;

struct Plan {
  std::int64_t steps, sequences;  // training steps of each model; sequences per length when accuracy is measured
};

Plan plan_for(const Options& options) {
  Plan plan{6000, 1000};
  if (options.quick) plan = {400, 125};
  if (options.full) plan = {9000, 1000};
  if (options.steps) plan.steps = *options.steps;
  return plan;
}

std::filesystem::path file_in(const Options& options, const char* name) {
  return output_directory(options, lesson.id) / name;
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  const Plan plan = plan_for(options);
  const Sizes sizes;
  Metrics metrics(lesson.id, options);
  const bool by_curriculum = !options.no_curriculum;
  Trainee attention(true, by_curriculum, sizes, plan.steps, options.seed);
  Trainee plain(false, by_curriculum, sizes, plan.steps, options.seed);
  if (options.resume) {
    if (!std::filesystem::exists(file_in(options, "plain.safetensors"))) return not_trained_yet(options, lesson);
    attention.load(file_in(options, "attention.safetensors"));
    plain.load(file_in(options, "plain.safetensors"));
  }
  say(header(attention, plain, sizes, options));
  train_both(attention, plain, options, terminal);
  // Saved before the measuring, which a second Ctrl-C may end. What cannot be saved is said last: curves come first.
  std::exception_ptr unsaved;
  try {
    attention.save(file_in(options, "attention.safetensors"));
    plain.save(file_in(options, "plain.safetensors"));
  } catch (const FileError&) { unsaved = std::current_exception(); }
  if (interrupted() && !unsaved) say(so_far(attention, options));

  const Accuracy accuracy =
      measure(attention, plain, interrupted() ? 125 : plan.sequences, options.seed, thread_count(options));
  const auto final_alignment = [&](Lang in) {
    return alignment(attention.model, sample(options.seed),
                     std::string(tr(in, "attention of the trained model", "训练好的模型的注意力")), in);
  };
  const Heatmap map = final_alignment(lang);
  say("\n");
  metrics.show("accuracy", terminal,
               [&](const Terminal& on, Lang in) { return draw_text(accuracy_chart(accuracy, in), on); });
  if (by_curriculum && !attention.curve.step.empty()) {
    say("\n");
    metrics.show("curriculum", terminal,
                 [&](const Terminal& on, Lang in) { return draw_text(curriculum_chart(attention, plain, in), on); });
  }
  say("\n");
  metrics.show("alignment", terminal, [&](const Terminal& on, Lang in) { return draw_text(final_alignment(in), on); });
  say("\n");
  metrics.show("influence", terminal,
               [&](const Terminal& on, Lang in) { return influence(attention.model, options.seed, on, in); });
  say("\n" + three_checks(options.seed, terminal, lang, metrics) + "\n");
  record(attention, plain, accuracy, sizes, metrics);
  metrics.across_seeds("alignment", {"the alignment of 12 digits", "12 个数字的对齐"},
                       {"rows whose largest weight is one to the left", "最大权重在左边一格的行"},
                       std::to_string(one_to_the_left(map)));
  say(metrics.target_table(terminal, lang));

  if (unsaved) std::rethrow_exception(unsaved);
  save_plot(accuracy_chart(accuracy, lang), file_in(options, "accuracy.svg"));
  save_plot(map, file_in(options, "alignment.svg"));
  if (by_curriculum) save_plot(curriculum_chart(attention, plain, lang), file_in(options, "curriculum.svg"));
  const std::string where = metrics.place().string();
  const int code = metrics.write();
  say(fmt::format(fmt::runtime(tr(lang, "pictures, numbers and both models: {}\n", "图、数据和两个模型都在：{}\n")),
                  where));
  const bool beside = options.beside && where == output_directory(options, lesson.id).string();
  if (by_curriculum && !beside) {  // the models that `try` asks
    say(fmt::format(fmt::runtime(tr(lang, "now ask it: ./gradus try 09 \"3 1 4 1 5 9 2 6\"{}\n",
                                    "现在可以问它：./gradus try 09 \"3 1 4 1 5 9 2 6\"{}\n")),
                    options.out == "out" ? "" : " --out " + options.out.string()));
  }
  return code;
}

// `try`: copies the digits that were typed, and shows where it looked.
int ask(const Options& options, const std::string& input) {
  const std::filesystem::path file = file_in(options, "attention.safetensors");
  if (!std::filesystem::exists(file)) return not_trained_yet(options, lesson);
  const std::vector<std::int32_t> digits = digits_in(input);
  Generator generator(options.seed, "init");
  CopyModel model(true, Sizes(), generator);
  load_parameters(file, parameters(model));
  const auto length = static_cast<std::int64_t>(digits.size());
  say(draw_text(alignment(model, Ids(Shape{1, length}, digits), std::string(tr(options.lang, "the copy", "复制结果")),
                          options.lang),
                find_terminal(options)));
  return 0;
}

const Lesson lesson{"09_bahdanau", "Bahdanau attention", "Bahdanau 注意力", 60, run, ask, true};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
