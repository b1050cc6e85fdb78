// Lesson 07: an encoder and a decoder with one state between them, on the copy task: what fits through, what is
// learned.
#include <fmt/format.h>

#include "lessons/07_bottleneck/by_hand.h"
#include "lessons/07_bottleneck/find_out.h"
#include "lessons/07_bottleneck/show.h"
#include "lessons/common/lesson.h"
#include "lessons/common/typed.h"
#include "nn/checkpoint.h"

using namespace gradus;
using namespace gradus::lesson07;

namespace {

extern const Lesson lesson;

Plan plan_for(const Options& options) {
  Plan plan{4500, 1500, 1000, 400};
  if (options.quick) plan = {1500, 400, 125, 100};
  if (options.full) plan = {24000, 6000, 1000, 1000};
  if (options.steps) plan = {*options.steps, std::min(*options.steps, plan.small_steps), plan.sequences, plan.search};
  if (options.steps && *options.steps < 50) plan.sequences = 25, plan.search = *options.steps;
  return plan;
}

std::filesystem::path file_in(const Options& options, const char* name) {
  return output_directory(options, lesson.id) / name;
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  const Plan plan = plan_for(options);
  Metrics metrics(lesson.id, options);
  for (const std::string& part : {packing(terminal, lang), two_ends(terminal, lang), losses(terminal, lang),
                                  what_reaches_the_logits(terminal, lang)})
    say("\n" + part);
  say(fmt::format(
      fmt::runtime(
          tr(lang,
             "\nCopy digits, lengths 1 to {}; chance 10 %; seed {}; {} steps,\nthen small models of {} steps;\n"
             "encoder's summary, decoder's loops, loss: {}\n",
             "\n复制数字，长度 1 到 {}；随机水平 10 %；种子 {}；训练 {} 步，几个小模型各 {} 步\n"
             "编码器的摘要、解码器的循环、损失：{}\n")),
      copy_longest, options.seed, plan.steps, plan.small_steps, taught_parts().whose.in(lang)));
  const Findings f = find_out(plan, options, terminal);
  say("\n" + verdict(f, lang));
  metrics.show("accuracy", terminal, [&](const Terminal& on, Lang in) { return draw_text(accuracy_chart(f, in), on); });
  say("\n");
  metrics.show("exposure", terminal, [&](const Terminal& on, Lang in) { return exposure_table(f, on, in); });
  say("\n");
  metrics.show("places", terminal, [&](const Terminal& on, Lang in) { return draw_text(places_chart(f, in), on); });
  say("\n");
  metrics.show("stored", terminal, [&](const Terminal& on, Lang in) { return stored_table(f, on, in); });
  say("\n");
  metrics.show("sweep", terminal, [&](const Terminal& on, Lang in) { return sweep_table(f, on, in); });
  say("\n");
  metrics.show("mistakes", terminal, [&](const Terminal& on, Lang in) { return mistakes_table(f, on, in); });
  report(f, metrics);
  metrics.seconds_at_most({"seconds of CPU time, for two cores", "CPU 时间（秒），两个核合计"}, 60,
                          metrics.cpu_seconds());
  say("\n" + metrics.target_table(terminal, lang));
  save_checkpoint(file_in(options, "model.safetensors"), {parameters(f.main.trained.net)});
  save_plot(accuracy_chart(f, lang), file_in(options, "accuracy.svg"));
  save_plot(places_chart(f, lang), file_in(options, "places.svg"));
  save_plot(sweep_chart(f, lang), file_in(options, "sweep.svg"));
  say(fmt::format(
      fmt::runtime(tr(lang, "pictures, numbers and the model: {}\nnow ask it: ./gradus try 07 \"3 1 4 1 5 9 2 6\"\n",
                      "图、数据和模型都在：{}\n现在可以问它：./gradus try 07 \"3 1 4 1 5 9 2 6\"\n")),
      metrics.place().string()));
  return metrics.write();
}

// `try`: copies the digits that were typed, on its own and with the right digit before given.
int ask(const Options& options, const std::string& input) {
  const std::filesystem::path file = file_in(options, "model.safetensors");
  if (!std::filesystem::exists(file)) return not_trained_yet(options, lesson);
  const std::vector<std::int32_t> digits = digits_in(input);
  Generator unused(1);
  CopyNet net(Sizes(), Ends::both, unused);
  load_parameters(file, parameters(net));
  say(copies(net, Ids(Shape{1, static_cast<std::int64_t>(digits.size())}, digits), options.lang));
  return 0;
}

const Lesson lesson{"07_bottleneck", "The bottleneck", "瓶颈", 60, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
