// Lesson 04: softmax and cross-entropy, by hand, and a linear softmax classifier on points whose true probabilities are
// known.
#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "lessons/04_softmax/by_hand.h"
#include "lessons/04_softmax/parts.h"
#include "lessons/04_softmax/show.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/lesson.h"
#include "lessons/common/metrics.h"
#include "lessons/common/progress.h"
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
  const std::clock_t start = std::clock();
  if (options.resume) say(tr(lang, "Training takes seconds, so it starts anew.\n", "训练只要几秒，所以重新开始。\n"));
  const std::string once(tr(lang, "softmax once", "一次 softmax")), twice(tr(lang, "softmax twice", "两次 softmax"));
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
    Progress progress(terminal, lang, {once, twice}, steps);
    losses = train_one(model, points, Loss::cross_entropy, progress, steps);
    mistaken_losses = train_one(mistaken, points, Loss::double_softmax, progress, steps);
  }
  save_checkpoint(file_in(options, "classifier.safetensors"), {parameters(model)});

  const Tensor log_q = model.log_probabilities(unseen.x);
  const Named bayes{std::string(tr(lang, "Bayes' rule", "贝叶斯公式")),
                    evaluate(true_log_probabilities(unseen.x), unseen)},
      right{once, evaluate(log_q, unseen)}, wrong{twice, evaluate(mistaken.log_probabilities(unseen.x), unseen)};
  const LineChart losses_drawn = loss_chart(losses, mistaken_losses, bayes.result.loss, lang);
  say("\n" + draw_text(losses_drawn, terminal) + "\n");
  say(verdict(right.result, wrong.result, lang) + results_table({bayes, right, wrong}, terminal, lang) + "\n" +
      calibration_table(right.result, wrong.result, terminal, lang) + "\n");
  say(std::string(tr(lang, "Temperature on the trained model: the same answers, another confidence.\n",
                     "给训练好的模型加上温度：答案不变，置信度变了。\n")) +
      temperature_table(log_q, unseen, terminal, lang) + "\n");
  say(std::string(tr(lang, "W and b, the mean over the classes taken off:\n", "W 和 b，减去各类别的平均：\n")) +
      weights_table(model, terminal, lang) + "\n");
  save_plot(losses_drawn, file_in(options, "loss.svg"));
  save_plot(temperature_chart(lang), file_in(options, "temperature.svg"));
  save_plot(pull_chart(lang), file_in(options, "slopes.svg"));
  save_plot(confidence_map(model, lang), file_in(options, "confidence.svg"));

  metrics.steps(static_cast<std::int64_t>(losses.size()));
  for (const auto& [name, value] :
       {std::pair("classes", classes), {"training points", training_points}, {"fresh points", fresh_points}})
    metrics.size(name, value);
  const std::vector<std::string> verdicts = jacobian_verdicts();
  metrics.at_most("numbers of the notes, in units of their last digit", 0.5, distance_from_notes());
  metrics.at_most("gradient p - y by hand against the tape", 1e-12, hand_against_tape(points, options.seed));
  metrics.holds("self check of softmax", "PASSED", verdicts[0] == "PASSED");
  metrics.holds("self check of the diagonal alone", "GC_WRONG_GRADIENT", verdicts[1] == "GC_WRONG_GRADIENT");
  metrics.holds("self check of the sum of the weights", "GC_NOTHING_TESTED", verdicts[2] == "GC_NOTHING_TESTED");
  metrics.at_least("accuracy minus that of Bayes' rule", -0.01, right.result.accuracy - bayes.result.accuracy);
  metrics.at_most("divergence from Bayes' rule", 0.01, right.result.divergence);
  metrics.at_most("mean of |confidence - share that is right|", 0.02, right.result.miscalibration);
  metrics.at_least("loss with two softmaxes, above its floor", 0, mistaken_losses.back() - floor_of_two());
  metrics.at_most("seconds of CPU time", 2, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  metrics.set("Bayes' rule", to_json(bayes.result));
  metrics.set("softmax once", to_json(right.result));
  metrics.set("softmax twice", to_json(wrong.result));
  say(metrics.target_table(terminal, lang));
  say(fmt::format(
      fmt::runtime(tr(lang, "pictures and numbers: {}\nnow type scores of your own: ./gradus try 04 \"2 1 -1\"\n",
                      "图和数据在：{}\n换上你自己的分数：./gradus try 04 \"2 1 -1\"\n")),
      output_directory(options, lesson.id).string()));
  return metrics.write();
}

// `try`: "0.05 0.27" traces a softmax of these scores; "point 1.5 -0.3" asks the classifier.
int ask(const Options& options, const std::string& input) {
  const Terminal terminal = find_terminal(options);
  const bool is_point = input.starts_with("point ");
  const std::vector<double> given = numbers_in(is_point ? input.substr(6) : input);
  if (!is_point) {
    if (given.size() < 2 || given.size() > most_scores)
      throw ValueError(
          fmt::format("a softmax takes 2 to {} scores here, found {}; or ask the classifier: \"point 1.5 -0.3\"",
                      most_scores, given.size()));
    say(trace_softmax(given, terminal, options.lang) + "\n" + temperatures(given, terminal, options.lang));
    return 0;
  }
  if (given.size() != 2) throw ValueError("a point has two numbers: \"point 1.5 -0.3\"");
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
