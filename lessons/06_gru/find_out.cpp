// The jobs of a run.
#include "lessons/06_gru/find_out.h"

#include <atomic>
#include <thread>

#include "lessons/common/interrupt.h"
#include "lessons/common/progress.h"

namespace gradus::lesson06 {
namespace {

std::vector<double> accuracies(const RecallNet& net, std::uint64_t seed) {
  std::vector<double> result;
  for (std::int64_t distance : recall_distances) result.push_back(recall_accuracy(net, distance, 1000, seed));
  return result;
}

void recall_job(RecallResult& r, const Plan& plan, std::uint64_t seed) {
  const auto go = [](const RecallTraining&) { return !interrupted(); };
  Generator init(seed, "init");
  r.fresh_reach = gradient_reach(RecallNet(r.kind, init), seed);
  r.growing = train_recall(r.kind, true, plan.recall_steps, seed, go);
  r.at_once = train_recall(r.kind, false, plan.recall_steps, seed, go);
  r.accuracy = accuracies(r.growing.net, seed);
  r.direct = accuracies(r.at_once.net, seed);
  r.trained_reach = gradient_reach(r.growing.net, seed);
}

}  // namespace

Findings find_out(const Plan& plan, const Options& options, const Terminal& terminal) {
  const Lang lang = options.lang;
  Findings f;
  f.recall.resize(3);
  f.texts.resize(2);
  Progress progress(
      terminal, lang,
      {std::string(tr(lang, "English text", "英文文本")), std::string(tr(lang, "Chinese text", "中文文本"))},
      plan.text_steps);
  std::vector<std::function<void()>> jobs;
  for (std::size_t i : {1, 0}) {
    jobs.push_back([&, i] {
      TextResult& t = f.texts[i];
      t.lang = i == 0 ? Lang::en : Lang::zh;
      t.corpus = course_text(t.lang);
      t.training = train_text(t.corpus, plan.text_steps, options.seed, [&](const CharTraining& c) {
        progress.report(i, {.step = c.step, .loss = c.bits});
        return !interrupted();
      });
      t.frequencies = frequency_bits(t.corpus);
      t.carried = bits_per_character(t.training.net, t.corpus.held_out, 0);
      t.reset = bits_per_character(t.training.net, t.corpus.held_out, 8);
    });
  }
  for (std::size_t i = 3; i-- > 0;) {
    jobs.push_back([&, i] {
      f.recall[i].kind = i == 0 ? CellKind::elman : i == 1 ? CellKind::gru : CellKind::lstm;
      recall_job(f.recall[i], plan, options.seed);
      if (i == 1) f.kept = kept_over_time(f.recall[i].growing.net, options.seed);
    });
  }
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < jobs.size();) jobs[i]();
  };
  if (thread_count(options) > 1) {
    std::thread beside(work);
    work();
    beside.join();
  } else {
    work();
  }
  progress.finish();
  return f;
}

}  // namespace gradus::lesson06
