// Lesson 05: first weights, gradient descent, momentum, Adam, clipping, the loop, and a checkpoint from which a run
// goes on bit for bit; what each of them looks like when it is done wrong.
#include <fmt/format.h>

#include "lessons/05_training/by_hand.h"
#include "lessons/05_training/parts.h"
#include "lessons/05_training/show.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/lesson.h"
#include "lessons/common/metrics.h"
#include "lessons/common/progress.h"
#include "lessons/common/typed.h"

using namespace gradus;
using namespace gradus::lesson05;

namespace {

extern const Lesson lesson;

constexpr std::int64_t fresh_points = 5000, save_every = 500;
constexpr std::size_t most_gradients = 8;

std::int64_t steps_for(const Options& options) {
  return options.steps ? *options.steps : options.quick ? 300 : options.full ? 20000 : 2000;
}

std::filesystem::path file_in(const Options& options, const char* name) {
  return output_directory(options, lesson.id) / name;
}

// The model that is kept: saved now and then and when interrupted, and gone on with under --resume.
Trial train_kept(const Options& options, const Points& fresh, Progress& progress, Heatmap& map) {
  const std::filesystem::path file = file_in(options, "mlp.safetensors");
  Trainer trainer(plans()[0], steps_for(options), options.seed);
  if (options.resume) {
    if (std::filesystem::exists(file)) trainer.load(file);
    else say(tr(options.lang, "Nothing to resume yet: starting anew.\n", "还没有可以续的训练：从头开始。\n"));
  }
  trainer.run_to(trainer.steps, [&](const Trainer& t) {
    progress.report(0, {.step = t.done, .loss = t.losses.back()});
    if (t.done % save_every == 0) trainer.save(file);
    return !interrupted();
  });
  trainer.save(file);
  map = decision_map(trainer.model, options.lang);
  return outcome(trainer, fresh);
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  Metrics metrics(lesson.id, options);
  for (const std::string& part :
       {rates(terminal, lang), forgotten(terminal, lang), trace_adam({0.5, -0.1}, terminal, lang),
        bias_correction(terminal, lang), lost_state(lang), clipping(terminal, lang), weight_decay(terminal, lang),
        ten_layers(terminal, lang), dead_start(terminal, lang)})
    say("\n" + part);

  Generator stream(options.seed, "fresh");
  const Points fresh = draw_spirals(fresh_points, stream);
  const std::int64_t steps = steps_for(options);
  say(fmt::format(fmt::runtime(tr(lang,
                                  "\nTwo spiral arms, {} points, batches of {}; steps: {}; chance 50 %;\n"
                                  "first weights, clipping, Adam: {}\n",
                                  "\n两条旋臂，{} 个点，每批 {} 个；训练 {} 步；随机水平 50 %；\n"
                                  "初始权重、裁剪、Adam：{}\n")),
                  training_points, batch_size, steps, taught_parts().whose.in(lang)));
  std::vector<Trial> trials;
  Heatmap map;
  {
    Progress progress(terminal, lang, {""}, steps);
    trials.push_back(train_kept(options, fresh, progress, map));
  }
  bool same_losses = false;
  for (std::size_t i = 1; i < plans().size() && !interrupted(); ++i) {
    Trainer trainer(plans()[i], steps, options.seed);
    trainer.run_to(steps, [](const Trainer&) { return !interrupted(); });
    trials.push_back(outcome(trainer, fresh));
    same_losses = trials[i].losses == trials[i - 1].losses;  // of the last two: clipped after, and never clipped
  }
  if (interrupted()) return 1;
  const std::vector<Resumed> resumed = resumed_runs(steps, options.seed, file_in(options, "half_way.safetensors"));
  say("\n");
  metrics.show("trials", terminal, [&](const Terminal& on, Lang in) {
    return draw_text(loss_chart(trials, in), on) + "\n" + verdict(trials, resumed, in) + trials_table(trials, on, in);
  });
  say("\n");
  metrics.show("resume", terminal, [&](const Terminal& on, Lang in) { return resume_table(resumed, on, in); });
  say("\n" + draw_text(map, terminal) + "\n");
  save_plot(loss_chart(trials, lang), file_in(options, "loss.svg"));
  save_plot(valley_chart(lang), file_in(options, "valley.svg"));
  save_plot(map, file_in(options, "arms.svg"));

  metrics.steps(steps);
  metrics.size("training points", training_points);
  metrics.size("fresh points", fresh_points);
  metrics.at_most({"numbers by hand, in units of their last digit", "手算的数，误差以其末位为单位"}, 0.5,
                  distance_from_printed());
  metrics.at_least({"accuracy, Adam", "准确率，Adam"}, 0.99, trials[0].accuracy);
  metrics.at_most({"weights that differ after a right resume", "正确续训之后不同的权重个数"}, 0,
                  static_cast<double>(resumed[1].different));
  metrics.at_least({"weights that differ, m, v and t lost", "丢了 m、v 和 t 之后不同的权重个数"}, 1,
                   static_cast<double>(resumed[2].different));
  metrics.at_most({"accuracy, weights from 0", "准确率，权重从 0 开始"}, 0.6, trials[5].accuracy);
  metrics.at_most({"accuracy, no zero_grad, not clipped", "准确率，不清零也不裁剪"}, 0.9, trials[9].accuracy);
  metrics.holds({"clipping after the step", "更新之后才裁剪"},
                {"every loss as without clipping", "每步损失都和不裁剪时一样"}, same_losses);
  metrics.seconds_at_most({"seconds of CPU time", "CPU 时间（秒）"}, 5, metrics.cpu_seconds());
  add_numbers(trials, resumed, metrics);
  say(metrics.target_table(terminal, lang));
  say(fmt::format(fmt::runtime(tr(lang, "pictures and numbers: {}\nnow ask it: ./gradus try 05 \"point 1.5 -0.3\"\n",
                                  "图和数据在：{}\n现在可以问它：./gradus try 05 \"point 1.5 -0.3\"\n")),
                  metrics.place().string()));
  return metrics.write();
}

// `try`: "0.5 -0.1" takes Adam through these gradients; "point 1.5 -0.3" asks the trained model.
int ask(const Options& options, const std::string& input) {
  const Terminal terminal = find_terminal(options);
  const bool is_point = input.starts_with("point ");
  const std::vector<double> given = numbers_in(is_point ? input.substr(6) : input, 1e6, "0.5 -0.1");
  if (!is_point) {
    if (given.empty() || given.size() > most_gradients)
      throw InputError({fmt::format("Adam takes 1 to {} gradients here, found {}; or ask the model: \"point 1.5 -0.3\"",
                                    most_gradients, given.size()),
                        fmt::format("这里的 Adam 要 1 到 {} 个梯度，读到 {} 个；也可以问模型：\"point 1.5 -0.3\"",
                                    most_gradients, given.size())});
    say(trace_adam(given, terminal, options.lang));
    return 0;
  }
  if (given.size() != 2)
    throw InputError({"a point has two numbers: \"point 1.5 -0.3\"", "一个点有两个数：\"point 1.5 -0.3\""});
  const std::filesystem::path file = file_in(options, "mlp.safetensors");
  if (!std::filesystem::exists(file)) return not_trained_yet(options, lesson);
  Generator unused(1);
  Mlp model(unused);
  load_parameters(file, parameters(model));
  say(answer_table(model, given[0], given[1], terminal, options.lang));
  return 0;
}

const Lesson lesson{"05_training", "Training", "训练", 75, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
