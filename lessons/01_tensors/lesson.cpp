// Lesson 01: shapes, strides and views, drawn; what silent stretching does; a line by least squares with its gradient
// by hand; and ten programs whose shapes do not fit.
#include <fmt/format.h>

#include <cmath>

#include "lessons/01_tensors/broken.h"
#include "lessons/01_tensors/line.h"
#include "lessons/01_tensors/parts.h"
#include "lessons/01_tensors/views_picture.h"
#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/lesson.h"
#include "lessons/common/metrics.h"
#include "lessons/common/progress.h"
#include "lessons/common/table.h"

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
  say("\n");
  metrics.show("fit", terminal, [&](const Terminal& on, Lang in) {
    return draw_text(loss_chart(descended, stretched, in), on) + "\n" + fits_table(descended, exact, stretched, on, in);
  });
  say("\n");

  double mean_y = 0;
  for (const double y : line.y.to_vector()) mean_y += y / points;
  metrics.steps(steps);
  metrics.size("points", points);
  metrics.at_least({"broken programs named with a fix, of 10", "十个坏程序里说出毛病并给出改法的"}, 10,
                   static_cast<double>(named));
  metrics.at_most({"gradient, product by product against the taught one", "逐个乘积算的梯度与所讲公式之差"}, 1e-12,
                  hand_against_taught(line));
  metrics.at_most({"descent against the solution", "下降的终点与精确解之差"}, 1e-6,
                  std::hypot(descended.slope - exact.slope, descended.intercept - exact.intercept));
  metrics.at_most({"stretched: |slope|", "被拉伸：|斜率|"}, 1e-6, std::fabs(stretched.slope));
  metrics.at_most({"stretched: intercept against the mean of y", "被拉伸：截距与 y 的平均之差"}, 1e-6,
                  std::fabs(stretched.intercept - mean_y));
  metrics.seconds_at_most({"seconds of CPU time", "CPU 时间（秒）"}, 2, metrics.cpu_seconds());
  const Words fit("the line", "直线");
  metrics.across_seeds("fit", fit, {"slope", "斜率"}, fixed(descended.slope));
  metrics.across_seeds("fit", fit, {"slope, solved", "斜率，精确解"}, fixed(exact.slope));
  metrics.across_seeds("fit", fit, {"intercept", "截距"}, fixed(descended.intercept));
  metrics.across_seeds("fit", fit, {"intercept, solved", "截距，精确解"}, fixed(exact.intercept));
  metrics.across_seeds("fit", fit, {"last loss", "最后的损失"}, fixed(descended.losses.back()));
  metrics.across_seeds("fit", fit, {"stretched: slope", "被拉伸：斜率"}, fixed(stretched.slope));
  metrics.across_seeds("fit", fit, {"stretched: intercept", "被拉伸：截距"}, fixed(stretched.intercept));
  metrics.across_seeds("fit", fit, {"stretched: last loss", "被拉伸：最后的损失"}, fixed(stretched.losses.back()));
  metrics.set("slope", descended.slope);
  metrics.set("intercept", descended.intercept);
  metrics.set("intercept, stretched", stretched.intercept);
  metrics.set("loss, stretched", stretched.losses.back());
  metrics.set("loss", descended.losses.back());
  say(metrics.target_table(terminal, lang));
  const std::filesystem::path out = output_directory(options, lesson.id);
  save_plot(loss_chart(descended, stretched, lang), out / "loss.svg");
  write_file(out / "views.svg", views_svg(views_of_six(), lang));
  write_file(out / "views.csv", views_csv(views_of_six()));
  say(fmt::format(
      fmt::runtime(tr(lang,
                      "pictures and numbers: {}\nnow draw views of your own: ./gradus try 01 \"3 4 transpose 0 1\"\n",
                      "图和数据在：{}\n换上你自己的视图：./gradus try 01 \"3 4 transpose 0 1\"\n")),
      metrics.place().string()));
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
