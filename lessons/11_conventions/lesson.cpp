// Lesson 11: twelve decoders of unknown conventions, and how to find out what each of them does.
#include <fmt/format.h>

#include <atomic>

#include "lessons/11_conventions/quiz.h"
#include "lessons/11_conventions/show.h"
#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/jobs.h"
#include "lessons/common/lesson.h"
#include "lessons/common/progress.h"
#include "lessons/common/typed.h"

using namespace gradus;
using namespace gradus::lesson11;

namespace {

extern const Lesson lesson;

struct Plan {
  std::int64_t steps, sequences;  // training steps of each decoder; sequences that its accuracy is measured on
};

Plan plan_for(const Options& options) {
  Plan plan{900, 1000};
  if (options.quick) plan = {100, 100};
  if (options.full) plan = {3000, 1000};
  if (options.steps) plan.steps = *options.steps;
  return plan;
}

std::filesystem::path file_of(const Options& options, std::size_t i) {
  return output_directory(options, lesson.id) / fmt::format("{}.safetensors", static_cast<char>('A' + i));
}

// Each decoder has generators of its own, so it does not matter which thread trains it.
void train_all(std::vector<Trainee>& trainees, const Plan& plan, const Options& options, const Terminal& terminal) {
  const auto total = static_cast<std::int64_t>(trainees.size()) * plan.steps;
  Progress progress(terminal, options.lang, {std::string(tr(options.lang, "twelve decoders", "十二个解码器"))}, total,
                    total / 4);
  std::atomic<std::int64_t> done = 0;
  for_all(trainees.size(), thread_count(options), [&](std::size_t i) {
    trainees[i].train(plan.steps, [&](const Trainee& t) { progress.report(0, {.step = ++done, .loss = t.loss}); });
  });
  progress.finish();
}

std::vector<Trainee> fresh_twelve(std::uint64_t seed) {
  std::vector<Trainee> trainees;
  for (const Choices& choices : draw_twelve(seed)) trainees.emplace_back(choices, seed, trainees.size());
  return trainees;
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  const Plan plan = plan_for(options);
  Metrics metrics(lesson.id, options);
  std::vector<Trainee> trainees = fresh_twelve(options.seed);
  say(fmt::format(
      fmt::runtime(tr(lang,
                      "twelve tiny decoders on the copy task, 3 to 6 digits of 6; chance level {:.0f} %\n"
                      "training steps: {}; their conventions are drawn from the seed, and nothing is labelled\n",
                      "十二个小解码器做复制任务，3 到 6 个数字（共 6 种）；随机水平 {:.0f} %\n"
                      "训练步数：{}；约定由种子抽取，没有标签\n")),
      100.0 / (digits + 1), plan.steps));
  for (std::size_t i = 0; options.resume && i < trainees.size(); ++i) trainees[i].load(file_of(options, i));
  train_all(trainees, plan, options, terminal);
  for (std::size_t i = 0; i < trainees.size(); ++i) trainees[i].save(file_of(options, i));

  std::vector<Exam> exams(trainees.size());
  for_all(trainees.size(), thread_count(options),
          [&](std::size_t i) { exams[i] = examine(trainees[i], options.seed, plan.sequences); });
  say("\n" + influences(trainees, exams, terminal, lang));
  say(verdicts(trainees, exams, terminal, lang) + "\n");
  metrics.show("checks", terminal, [&](const Terminal& on, Lang in) { return checks(trainees, exams, on, in); });
  say("\n");
  say(names(trainees, exams, terminal, lang) + "\n");

  metrics.steps(plan.steps);
  const double cpu_seconds = metrics.cpu_seconds();
  add_targets(metrics, trainees, exams, options.quick || options.full || options.steps ? 0 : cpu_seconds);
  say(metrics.target_table(terminal, lang));
  write_file(output_directory(options, lesson.id) / "influence.svg", influences_svg(trainees, exams, lang));
  say(fmt::format(fmt::runtime(tr(lang,
                                  "pictures, numbers and all decoders: {}\n"
                                  "one of them in detail: ./gradus try 11 C     guess yourself: ./gradus quiz\n",
                                  "图、数据和全部解码器：{}\n"
                                  "细看其中一个：./gradus try 11 C     自己来猜：./gradus quiz\n")),
                  metrics.place().string()));
  return metrics.write();
}

// `try 11 C`: one decoder of the last run in detail. `try 11 quiz`: what ./gradus quiz starts.
int ask(const Options& options, const std::string& input) {
  if (input == "quiz") return quiz(options);
  std::vector<Trainee> trainees = fresh_twelve(options.seed);
  for (char c : input) {
    const auto i = static_cast<std::size_t>((c >= 'a' ? c - 'a' : c - 'A'));
    if (c == ' ' || c == ',') continue;
    if (i >= trainees.size()) {
      throw InputError({fmt::format("'{}' is none of the twelve; type a letter from A to L, or quiz", printable(input)),
                        fmt::format("“{}”不是十二个之一；请输入 A 到 L 的字母，或者 quiz", printable(input))});
    }
    if (!std::filesystem::exists(file_of(options, i))) return not_trained_yet(options, lesson);
    trainees[i].load(file_of(options, i));
    say(in_detail(static_cast<char>('A' + i), trainees[i], examine(trainees[i], options.seed, 1000),
                  find_terminal(options), options.lang));
  }
  return 0;
}

const Lesson lesson{"11_conventions", "Conventions", "约定", 60, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
