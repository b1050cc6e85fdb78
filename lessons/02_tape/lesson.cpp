// Lesson 02: how gradients are found. A tape of single numbers by hand, then the engine's Var, and the same picture.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "lessons/02_tape/parts.h"
#include "lessons/02_tape/show.h"
#include "lessons/02_tape/tape_picture.h"
#include "lessons/common/files.h"
#include "lessons/common/lesson.h"
#include "lessons/common/typed.h"
#include "nn/checkpoint.h"

using namespace gradus;
using namespace gradus::lesson02;

namespace {

extern const Lesson lesson;

std::int64_t steps_for(const Options& options) {
  if (options.steps) return *options.steps;
  return options.quick ? 500 : options.full ? 20000 : 2000;
}

std::filesystem::path file_in(const Options& options, const char* name) {
  return output_directory(options, lesson.id) / name;
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  Metrics metrics(lesson.id, options);
  const Show show{terminal, lang, metrics};
  const std::int64_t steps = steps_for(options);
  metrics.steps(steps);
  metrics.size("weights", 7);
  auto heading = [&](std::string_view english, std::string_view chinese) {
    say(paint(terminal, Colour::bold, tr(lang, english, chinese)) + "\n");
  };
  auto section = [&](std::string_view english, std::string_view chinese, const std::string& text) {
    heading(english, chinese);
    say(text + "\n");
  };

  const std::string vars = on_vars(show);  // first, so that its nodes are numbered from 1
  const std::string shared = shared_numbers(show);
  say(std::string(metrics.all_met()
                      ? tr(lang,
                           "Verdict: a tape of 80 lines and the engine's Var find the same gradients,\n"
                           "exactly, also where a number is used more than once; two common shortcuts\n"
                           "do not.\n",
                           "结论：80 行的计算图和引擎的 Var 求出同样的梯度，一个数用了不止一次也丝毫\n"
                           "不差；两种常见的捷径则会出错。\n")
                      : tr(lang, "Verdict: the gradients did not come out as they should; see the targets below.\n",
                           "结论：梯度与预期不符，见下面的目标表。\n")) +
      fmt::format(fmt::runtime(tr(lang, "seed {}, {} training steps, tape of the fit: {}\n\n",
                                  "种子 {}，训练 {} 步，拟合用的计算图：{}\n\n")),
                  options.seed, steps, taught_parts().whose.in(lang)));

  const Tape tape = worked_example();
  write_file(
      file_in(options, "tape.svg"),
      tape_svg(tape, std::string(tr(lang, "The tape of y = p tanh(p), p = w x", "y = p tanh(p)，p = w x 的计算图")),
               lang));
  section("1. The tape of p tanh(p), p = w x", "一、p tanh(p)，p = w x 的计算图", tape_text(tape, lang));
  section("2. The same with Var", "二、用 Var 再来一遍", vars);
  section("3. Numbers that are used more than once", "三、用了不止一次的数", shared);
  section("4. Why no recursion", "四、为什么不用递归", costs(show));
  section("5. Gradients add up", "五、梯度是累加的", accumulation(show));
  section("6. What the engine refuses", "六、引擎拒绝什么", refusals(show));

  const Weights before = first_weights(options.seed);
  const Fit scalars = fit_tape(before, steps), tensors = fit_vars(before, steps);
  save_plot(fit_chart(before, scalars.weights, lang), file_in(options, "fit.svg"));
  heading("7. Two neurons", "七、两个神经元");
  metrics.show("fit", terminal, [&](const Terminal& on, Lang in) {
    return draw_text(fit_chart(before, scalars.weights, in), on) + fit_table(scalars, tensors, {on, in, metrics});
  });
  say("\n");
  add_fit(scalars, tensors, metrics);
  const std::vector<Parameter> weights = as_parameters(scalars.weights);
  save_checkpoint(file_in(options, "net.safetensors"), {weights});

  say(metrics.target_table(terminal, lang));
  say(fmt::format(fmt::runtime(tr(lang, "pictures and numbers: {}\nnow ask the net: ./gradus try 02 \"0.5\"\n",
                                  "图和数据都在：{}\n现在可以问这个网络：./gradus try 02 \"0.5\"\n")),
                  metrics.place().string()));
  return metrics.write();
}

// `try`: the trained net at one x, with the whole tape.
int ask(const Options& options, const std::string& input) {
  const std::filesystem::path file = file_in(options, "net.safetensors");
  if (!std::filesystem::exists(file)) return not_trained_yet(options, lesson);
  double x = 0;
  const auto [end, error] = std::from_chars(input.data(), input.data() + input.size(), x);
  if (error != std::errc() || end != input.data() + input.size() || !std::isfinite(x))
    throw InputError({fmt::format("'{}' is no number; type one, such as \"0.5\"", printable(input)),
                      fmt::format("“{}”不是数；请输入一个，例如 \"0.5\"", printable(input))});
  const std::vector<Parameter> saved = as_parameters({});
  load_parameters(file, saved);
  Weights weights{};
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = saved[k].var.item();
  Tape tape = tape_with(weights);
  const Scalar at = leaf(tape, "x", x), y = net(tape, at);
  lesson02::backward(y);
  say(tape_text(tape, options.lang) + fmt::format("y = {:.6f}, dy/dx = {:.6f}\n", y.value(), at.grad()));
  return 0;
}

const Lesson lesson{"02_tape", "The tape", "计算图", 60, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
