// Lesson 09: attention as Bahdanau, Cho and Bengio (2014) made it, on the copy task, against the same model without it.
#include <fmt/format.h>

#include <thread>

#include "lessons/09_bahdanau/show.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/lesson.h"
#include "lessons/common/progress.h"
#include "nn/checkpoint.h"

using namespace gradus;
using namespace gradus::lesson09;

namespace {

extern const Lesson lesson;

struct Plan {
  std::int64_t steps, sequences;  // training steps of each model; sequences per length when accuracy is measured
};

Plan plan_for(const Options& options) {
  Plan plan{3600, 1000};
  if (options.quick) plan = {400, 125};
  if (options.full) plan = {6000, 1000};
  if (options.steps) plan.steps = *options.steps;
  return plan;
}

std::filesystem::path file_in(const Options& options, const char* name) {
  return output_directory(options, lesson.id) / name;
}

// Both models at the same time, one thread each; neither reads what the other writes, so the numbers do not depend on
// it.
void train_both(Trainee& attention, Trainee& plain, const Options& options, const Terminal& terminal) {
  const Lang lang = options.lang;
  Progress progress(terminal, lang,
                    {std::string(tr(lang, "attention", "有注意力")), std::string(tr(lang, "without", "无注意力"))},
                    attention.steps);
  const Ids tokens = sample(options.seed);
  auto report = [&](std::size_t row, const Trainee& t) {
    progress.report(row, {.step = t.step, .loss = t.loss, .accuracy = t.curriculum.accuracy});
  };
  auto train_attention = [&] {
    attention.train([&](const Trainee& t) {
      report(0, t);
      if (t.step == 50 || t.step == 250) {  // the alignment sharpens while one watches
        progress.print_above(draw_text(
            alignment(t.model, tokens,
                      fmt::format(fmt::runtime(tr(lang, "attention after {} steps", "训练 {} 步之后的注意力")), t.step),
                      lang),
            terminal));
      }
    });
  };
  auto train_plain = [&] { plain.train([&](const Trainee& t) { report(1, t); }); };
  if (thread_count(options) > 1) {
    std::thread beside(train_plain);
    train_attention();
    beside.join();
  } else {
    train_attention();
    train_plain();
  }
  progress.finish();
}

void say_header(const Plan& plan, const Trainee& attention, const Trainee& plain, const Options& options,
                const Sizes& sizes) {
  const Lang lang = options.lang;
  say(fmt::format(
      fmt::runtime(
          tr(lang,
             "copy digits, lengths 1 to {}; chance level {:.0f} %; seed {}, {} steps of {} sequences for each model\n"
             "d_emb {}, d_s {}, d_h {}, d_attn {}; {} parameters with attention, {} without\n",
             "复制数字,长度 1 到 {};随机水平 {:.0f} %;种子 {},每个模型训练 {} 步,每步 {} 个序列\n"
             "d_emb {},d_s {},d_h {},d_attn {};有注意力 {} 个参数,无注意力 {} 个\n")),
      copy_longest, 100.0 / static_cast<double>(copy_vocab), options.seed, plan.steps, sizes.batch, sizes.d_emb,
      sizes.d_s, 2 * sizes.d_hidden, sizes.d_attn, count(parameters(attention.model)), count(parameters(plain.model))));
}

int run(const Options& options) {
  const Lang lang = options.lang;
  const Terminal terminal = find_terminal(options);
  const Plan plan = plan_for(options);
  const Sizes sizes;
  Metrics metrics(lesson.id, options);
  Trainee attention(true, sizes, plan.steps, options.seed), plain(false, sizes, plan.steps, options.seed);
  if (options.resume) {
    attention.load(file_in(options, "attention.safetensors"));
    plain.load(file_in(options, "plain.safetensors"));
  }
  say_header(plan, attention, plain, options, sizes);
  train_both(attention, plain, options, terminal);
  attention.save(file_in(options, "attention.safetensors"));
  plain.save(file_in(options, "plain.safetensors"));

  const Accuracy accuracy =
      measure(attention, plain, interrupted() ? 125 : plan.sequences, options.seed, thread_count(options));
  const double seconds = metrics.seconds();
  const LineChart chart = accuracy_chart(accuracy, lang);
  const Heatmap map = alignment(attention.model, sample(options.seed),
                                std::string(tr(lang, "attention of the trained model", "训练好的模型的注意力")), lang);
  say("\n" + draw_text(chart, terminal) + "\n" + draw_text(map, terminal) + "\n");
  say(influence(attention.model, options.seed, terminal, lang) + "\n" +
      three_checks(options.seed, terminal, lang, metrics) + "\n");
  save_plot(chart, file_in(options, "accuracy.svg"));
  save_plot(map, file_in(options, "alignment.svg"));
  save_plot(loss_chart(attention, plain, lang), file_in(options, "curriculum.svg"));

  metrics.steps(attention.step);
  for (const auto& [name, value] : {std::pair("d_emb", sizes.d_emb),
                                    {"d_s", sizes.d_s},
                                    {"d_h", 2 * sizes.d_hidden},
                                    {"d_attn", sizes.d_attn},
                                    {"batch", sizes.batch}})
    metrics.size(name, value);
  for (std::size_t i = 0; i < std::size(copy_lengths); ++i) {
    metrics.at_least(fmt::format("accuracy at {}, with attention", copy_lengths[i]), 0.99, accuracy.attention[i]);
  }
  metrics.at_least("accuracy at 5, without attention", 0.89, accuracy.plain.front());
  metrics.at_most("accuracy at 80, without attention", 0.25, accuracy.plain.back());
  metrics.at_most("seconds for training and measuring", 60, seconds);
  const std::vector<double> lengths(std::begin(copy_lengths), std::end(copy_lengths));
  metrics.curve("accuracy against length, with attention", lengths, accuracy.attention);
  metrics.curve("accuracy against length, without attention", lengths, accuracy.plain);
  metrics.curve("training loss, with attention", attention.curve.step, attention.curve.loss);
  metrics.curve("training loss, without attention", plain.curve.step, plain.curve.loss);
  say(metrics.target_table(terminal, lang));
  say(fmt::format(
      fmt::runtime(tr(lang, "pictures, numbers and both models: {}\nnow ask it: ./gradus try 09 \"3 1 4 1 5 9 2 6\"\n",
                      "图、数据和两个模型都在:{}\n现在可以问它:./gradus try 09 \"3 1 4 1 5 9 2 6\"\n")),
      output_directory(options, lesson.id).string()));
  return metrics.write();
}

// `try`: copies the digits that were typed, and shows where it looked.
int ask(const Options& options, const std::string& input) {
  const std::filesystem::path file = file_in(options, "attention.safetensors");
  if (!std::filesystem::exists(file)) return not_trained_yet(options, lesson);
  std::vector<std::int32_t> digits;
  for (char c : input) {
    if (c >= '0' && c <= '9') digits.push_back(c - '0');
    else if (c != ' ' && c != ',')
      throw ValueError(fmt::format("'{}' is no digit; type digits, such as \"3 1 4 1 5\"", c));
  }
  if (digits.empty()) throw ValueError("nothing to copy; type digits, such as \"3 1 4 1 5\"");
  Generator generator(options.seed, "init");
  CopyModel model(true, Sizes(), generator);
  load_parameters(file, parameters(model));
  const auto length = static_cast<std::int64_t>(digits.size());
  say(draw_text(alignment(model, Ids(Shape{1, length}, digits), std::string(tr(options.lang, "the copy", "复制结果")),
                          options.lang),
                find_terminal(options)));
  return 0;
}

const Lesson lesson{"09_bahdanau", "Bahdanau attention", "Bahdanau 注意力", 60, run, ask};

}  // namespace

int main(int argc, char** argv) { return lesson_main(lesson, argc, argv); }
