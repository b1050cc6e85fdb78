// Lesson 03: is this gradient right? Differences against backward, what they find, what they miss, and dual numbers.
#include <fmt/format.h>

#include "lessons/03_gradient_check/parts.h"
#include "lessons/03_gradient_check/show.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/lesson.h"
#include "lessons/common/progress.h"

using namespace gradus;
using namespace gradus::lesson03;

namespace {

extern const Lesson lesson;

std::int64_t steps_for(const Options& options) {
  if (options.steps) return *options.steps;
  return options.quick ? 1500 : options.full ? 20000 : 5000;
}

std::vector<Training> train_all(std::int64_t steps, std::uint64_t seed) {
  std::vector<Training> nets;
  for (Backward how : all_backwards) nets.push_back(train(how, steps, seed));
  return nets;
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  Metrics metrics(lesson.id, options);
  const Show show{terminal, lang, metrics};
  const std::filesystem::path out = output_directory(options, lesson.id);
  const std::int64_t steps = steps_for(options);
  metrics.steps(steps);
  metrics.size("parameters of the small net", 25);
  auto heading = [&](std::string_view english, std::string_view chinese) {
    say(paint(terminal, Colour::bold, tr(lang, english, chinese)) + "\n");
  };
  auto section = [&](std::string_view english, std::string_view chinese, const std::string& text) {
    heading(english, chinese);
    say(text + "\n");
  };

  const std::string tapes = fused(show);  // first, so that its steps are numbered from 1
  const std::string twelve = twelve_wrong_backwards(show), swap = small_swap(show);
  say(std::string(metrics.all_met()
                      ? tr(lang,
                           "Verdict: the self check rejects each of the twelve wrong backwards; weaker\n"
                           "checks do not. And no check of this kind sees that a function is not the one\n"
                           "that was asked for.\n",
                           "结论：自检把十二个写错的反向全部拒绝，较弱的检查做不到；\n"
                           "而“函数本身不是所要的那个”，这一类检查谁也看不见。\n")
                      : tr(lang, "Verdict: the checks did not come out as they should; see the targets below.\n",
                           "结论：检查结果与预期不符，见下面的目标表。\n")) +
      fmt::format(
          fmt::runtime(tr(lang, "seed {}, {} training steps, check: {}\n\n", "种子 {}，训练 {} 步，检查：{}\n\n")),
          options.seed, steps, taught_parts().whose.in(lang)));

  const LineChart u_curve = step_chart(lang);
  save_plot(u_curve, out / "step.svg");
  section("1. The step", "一、步长", by_hand(show) + "\n" + draw_text(u_curve, terminal) + step_table(show));
  section("2. Twelve wrong backwards", "二、十二个写错的反向", twelve);
  section("3. float32", "三、float32", float32(show));
  section("4. An objective that tests nothing", "四、什么也没测到的目标", nothing_tested(show));
  section("5. A kink", "五、折点", kink(show));
  section("6. What the library's check refuses", "六、库里的检查拒绝什么", refusals(show));
  const std::vector<Training> nets = train_all(steps, options.seed);
  save_plot(training_chart(nets, lang), out / "training.svg");
  heading("7. One net, three backwards", "七、一个网络，三种反向");
  metrics.show("training", terminal,
               [&](const Terminal& on, Lang in) { return draw_text(training_chart(nets, in), on); });
  say(nets_table(nets, options.seed, show) + "\n");
  section("8. What the check cannot see", "八、这种检查看不见的", swap);
  section("9. Dual numbers", "九、对偶数", duals(show));
  section("10. One formula, one step on the tape", "十、一个公式，计算图上的一步", tapes);

  say(metrics.target_table(terminal, lang));
  say(fmt::format(
      fmt::runtime(
          tr(lang, "pictures and numbers: {}\nnow try a formula of your own: ./gradus try 03 \"x * tanh(x) at 0.5\"\n",
             "图和数据都在：{}\n现在可以试自己的公式：./gradus try 03 \"x * tanh(x) at 0.5\"\n")),
      metrics.place().string()));
  return metrics.write();
}

// `try`: the slope of a typed formula by dual numbers and by differences.
int ask(const Options& options, const std::string& input) {
  say(ask_formula(input, find_terminal(options), options.lang));
  return 0;
}

const Lesson lesson{"03_gradient_check", "The gradient check", "梯度检查", 60, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
