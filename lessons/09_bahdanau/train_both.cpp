// Two threads, two live lines.
#include "lessons/09_bahdanau/train_both.h"

#include <fmt/format.h>

#include <thread>

#include "lessons/09_bahdanau/show.h"
#include "lessons/common/progress.h"

namespace gradus::lesson09 {

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

}  // namespace gradus::lesson09
