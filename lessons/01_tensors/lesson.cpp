// Lesson 01: shapes, strides and views, drawn; what silent stretching does; a line by least squares with its gradient
// by hand; and ten programs whose shapes do not fit.
#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "lessons/01_tensors/broken.h"
#include "lessons/01_tensors/line.h"
#include "lessons/01_tensors/parts.h"
#include "lessons/01_tensors/views.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/lesson.h"
#include "lessons/common/metrics.h"
#include "lessons/common/progress.h"

using namespace gradus;
using namespace gradus::lesson01;

namespace {

extern const Lesson lesson;

std::int64_t steps_for(const Options& options) {
  return options.steps ? *options.steps : options.quick ? 50 : options.full ? 1000 : 200;
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  Metrics metrics(lesson.id, options);
  const std::clock_t start = std::clock();
  if (options.resume) say(tr(lang, "Training takes seconds, so it starts anew.\n", "训练只要几秒，所以重新开始。\n"));
  for (const std::string& part : {six_views(lang), shared_numbers(lang), reshape_for_transpose(lang),
                                  silent_stretch(lang), gradient_by_hand(lang)})
    say("\n" + part);

  const std::int64_t steps = steps_for(options), named = named_with_fix();
  const Line line = draw_line(options.seed);
  say(fmt::format(fmt::runtime(tr(lang, "\nThe doctor names {} of 10 broken programs with a fix that mends them:\n",
                                  "\n十个坏程序里，医生指出了 {} 个的毛病，并给出能治好它的改法：\n")),
                  named) +
      all_reports(lang));
  say(fmt::format(fmt::runtime(tr(lang, "\nA line through {} points; steps: {}; views and gradient: {}\n",
                                  "\n过 {} 个点的直线；下降 {} 步；视图与梯度：{}\n")),
                  points, steps, taught_parts().whose.in(lang)));
  Fit descended;
  {
    Progress progress(terminal, lang, {""}, steps, steps);
    descended = descend(line, steps, [&](std::int64_t step, double loss) {
      progress.report(0, {.step = step, .loss = loss});
      return !interrupted();
    });
  }
  const Fit stretched = descend_stretched(line, steps), exact = solved(line);
  const LineChart losses = loss_chart(descended, stretched, lang);
  say("\n" + draw_text(losses, terminal) + "\n" + fits_table(descended, exact, stretched, terminal, lang) + "\n");
  save_plot(losses, output_directory(options, lesson.id) / "loss.svg");

  double mean_y = 0;
  for (const double y : line.y.to_vector()) mean_y += y / points;
  metrics.steps(steps);
  metrics.size("points", points);
  metrics.at_least("broken programs named with a fix, of 10", 10, static_cast<double>(named));
  metrics.at_most("gradient, product by product against the taught one", 1e-12, hand_against_taught(line));
  metrics.at_most("descent against the solution", 1e-6,
                  std::hypot(descended.slope - exact.slope, descended.intercept - exact.intercept));
  metrics.at_most("stretched: |slope|", 1e-6, std::fabs(stretched.slope));
  metrics.at_most("stretched: intercept against the mean of y", 1e-6, std::fabs(stretched.intercept - mean_y));
  metrics.at_most("seconds of CPU time", 2, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  metrics.set("slope", descended.slope);
  metrics.set("intercept", descended.intercept);
  metrics.set("intercept, stretched", stretched.intercept);
  metrics.set("loss, stretched", stretched.losses.back());
  metrics.set("loss", descended.losses.back());
  say(metrics.target_table(terminal, lang));
  say(fmt::format(
      fmt::runtime(tr(lang,
                      "picture and numbers: {}\nnow draw views of your own: ./gradus try 01 \"3 4 transpose 0 1\"\n",
                      "图和数据在：{}\n换上你自己的视图：./gradus try 01 \"3 4 transpose 0 1\"\n")),
      output_directory(options, lesson.id).string()));
  return metrics.write();
}

// `try`: "3 4 transpose 0 1 narrow 1 0 2 2" draws views of a tensor of that shape.
int ask(const Options& options, const std::string& input) {
  say(views_typed(input, options.lang));
  return 0;
}

const Lesson lesson{"01_tensors", "Tensors", "张量", 60, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
