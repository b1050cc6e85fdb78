// Lesson 04: softmax and cross-entropy, by hand, and a linear softmax classifier on points whose true probabilities are
// known.
#include <fmt/format.h>

#include <cmath>

#include "lessons/04_softmax/by_hand.h"
#include "lessons/04_softmax/parts.h"
#include "lessons/04_softmax/show.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/lesson.h"
#include "lessons/common/metrics.h"
#include "lessons/common/progress.h"
#include "lessons/common/table.h"
#include "lessons/common/typed.h"
#include "nn/checkpoint.h"

using namespace gradus;
using namespace gradus::lesson04;

namespace {

extern const Lesson lesson;

constexpr std::int64_t training_points = 3000, fresh_points = 20000;

std::int64_t steps_for(const Options& options) {
  return options.steps ? *options.steps : options.quick ? 100 : options.full ? 2000 : 400;
}

std::filesystem::path file_in(const Options& options, const char* name) {
  return output_directory(options, lesson.id) / name;
}

// One model for each loss, on the same points; both take less than a second, so there is nothing to resume.
std::vector<double> train_one(Classifier& model, const Points& points, Loss loss, Progress& progress,
                              std::int64_t steps) {
  std::vector<double> losses;
  train(model, points, loss, steps, [&](std::int64_t step, double value) {
    losses.push_back(value);
    progress.report(loss == Loss::cross_entropy ? 0 : 1, {.step = step, .loss = value});
    return !interrupted();
  });
  return losses;
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  Metrics metrics(lesson.id, options);
  if (options.resume) say(tr(lang, "Training takes seconds, so it starts anew.\n", "训练只要几秒，所以重新开始。\n"));
  const Words once("softmax once", "一次 softmax"), twice("softmax twice", "两次 softmax");
  for (const std::string& part :
       {trace_softmax(two_scores, terminal, lang), alternatives(terminal, lang),
        temperatures(two_scores, terminal, lang), seventy_percent(terminal, lang), overflow(terminal, lang),
        jacobian(terminal, lang), trace_cross_entropy(terminal, lang), pulls(terminal, lang)})
    say("\n" + part);

  Generator data(options.seed, "data"), fresh(options.seed, "fresh");
  const Points points = draw_points(training_points, data), unseen = draw_points(fresh_points, fresh);
  Classifier model, mistaken;
  const std::int64_t steps = steps_for(options);
  say(fmt::format(
      fmt::runtime(tr(lang,
                      "\nA classifier for {} points of 3 clouds; steps: {}; chance 33.3 %, loss {};\ncross-entropy and "
                      "its gradient: {}\n",
                      "\n分类器：3 团共 {} 个点；训练 {} 步；随机水平 33.3 %，损失 {}；\n交叉熵及其梯度：{}\n")),
      training_points, steps, fixed(std::log(3.0)), taught_parts().whose.in(lang)));
  std::vector<double> losses, mistaken_losses;
  {
    Progress progress(terminal, lang, {once.in(lang), twice.in(lang)}, steps);
    losses = train_one(model, points, Loss::cross_entropy, progress, steps);
    mistaken_losses = train_one(mistaken, points, Loss::double_softmax, progress, steps);
  }

  const Tensor log_q = model.log_probabilities(unseen.x);
  const Named bayes{{"Bayes' rule", "贝叶斯公式"}, evaluate(true_log_probabilities(unseen.x), unseen)},
      right{once, evaluate(log_q, unseen)}, wrong{twice, evaluate(mistaken.log_probabilities(unseen.x), unseen)};
  const auto losses_drawn = [&](Lang in) { return loss_chart(losses, mistaken_losses, bayes.result.loss, in); };
  say("\n");
  metrics.show("trained", terminal, [&](const Terminal& on, Lang in) {
    return draw_text(losses_drawn(in), on) + "\n" + verdict(right.result, wrong.result, in) +
           results_table({bayes, right, wrong}, on, in) + "\n" + calibration_table(right.result, wrong.result, on, in);
  });
  say("\n");
  metrics.show("temperature", terminal,
               [&](const Terminal& on, Lang in) { return temperature_table(log_q, unseen, on, in); });
  say("\n");
  metrics.show("weights", terminal, [&](const Terminal& on, Lang in) { return weights_table(model, on, in); });
  say("\n");

  metrics.steps(static_cast<std::int64_t>(losses.size()));
  for (const auto& [name, value] :
       {std::pair("classes", classes), {"training points", training_points}, {"fresh points", fresh_points}})
    metrics.size(name, value);
  report_by_hand(hand_against_tape(points, options.seed), metrics);
  report_trained({bayes, right, wrong}, mistaken_losses.back() - floor_of_two(), metrics);
  metrics.seconds_at_most({"seconds of CPU time", "CPU 时间（秒）"}, 2, metrics.cpu_seconds());
  say(metrics.target_table(terminal, lang));
  save_checkpoint(file_in(options, "classifier.safetensors"), {parameters(model)});
  save_plot(losses_drawn(lang), file_in(options, "loss.svg"));
  save_plot(temperature_chart(lang), file_in(options, "temperature.svg"));
  save_plot(pull_chart(lang), file_in(options, "slopes.svg"));
  save_plot(confidence_map(model, lang), file_in(options, "confidence.svg"));
  say(fmt::format(
      fmt::runtime(tr(lang, "pictures and numbers: {}\nnow type scores of your own: ./gradus try 04 \"2 1 -1\"\n",
                      "图和数据在：{}\n换上你自己的分数：./gradus try 04 \"2 1 -1\"\n")),
      metrics.place().string()));
  return metrics.write();
}

// `try`: "0.05 0.27" traces a softmax of these scores; "point 1.5 -0.3" asks the classifier.
int ask(const Options& options, const std::string& input) {
  const Terminal terminal = find_terminal(options);
  const bool is_point = input.starts_with("point ");
  const std::vector<double> given = numbers_in(is_point ? input.substr(6) : input, 1e6, "0.05 0.27");
  if (!is_point) {
    if (given.size() < 2 || given.size() > most_scores)
      throw InputError(
          {fmt::format("a softmax takes 2 to {} scores here, found {}; or ask the classifier: \"point 1.5 -0.3\"",
                       most_scores, given.size()),
           fmt::format("这里的 softmax 要 2 到 {} 个分数，读到 {} 个；也可以问分类器：\"point 1.5 -0.3\"", most_scores,
                       given.size())});
    say(trace_softmax(given, terminal, options.lang) + "\n" + temperatures(given, terminal, options.lang));
    return 0;
  }
  if (given.size() != 2)
    throw InputError({"a point has two numbers: \"point 1.5 -0.3\"", "一个点有两个数：\"point 1.5 -0.3\""});
  const std::filesystem::path file = file_in(options, "classifier.safetensors");
  if (!std::filesystem::exists(file)) return not_trained_yet(options, lesson);
  Classifier model;
  load_parameters(file, parameters(model));
  say(answer_table(model, given[0], given[1], terminal, options.lang));
  return 0;
}

const Lesson lesson{"04_softmax", "Softmax and cross-entropy", "softmax 与交叉熵", 60, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
