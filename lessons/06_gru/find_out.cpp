// The jobs of a run.
#include "lessons/06_gru/find_out.h"

#include <algorithm>

#include "lessons/common/interrupt.h"
#include "lessons/common/jobs.h"
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
  r.fresh_reach = gradient_reach(RecallNet(r.kind, init, r.forget_bias), seed);
  r.growing = train_recall(r.kind, true, plan.recall_steps, seed, go, r.forget_bias);
  r.at_once = train_recall(r.kind, false, plan.recall_steps, seed, go, r.forget_bias);
  r.accuracy = accuracies(r.growing.net, seed);
  r.direct = accuracies(r.at_once.net, seed);
  r.trained_reach = gradient_reach(r.growing.net, seed);
}

}  // namespace

Findings find_out(const Plan& plan, const Options& options, const Terminal& terminal) {
  const Lang lang = options.lang;
  Findings f;
  f.recall = {{.kind = CellKind::elman},
              {.kind = CellKind::gru},
              {.kind = CellKind::lstm},
              {.kind = CellKind::lstm, .forget_bias = 4}};
  f.texts.resize(2);
  f.texts[0].lang = Lang::en;
  f.texts[1].lang = Lang::zh;
  for (TextResult& t : f.texts) t.corpus = course_text(t.lang);
  Progress progress(terminal, lang, {std::string(tr(lang, "English text", "英文文本"))}, plan.text_steps);
  std::vector<std::function<void()>> jobs;
  for (std::size_t i : {0, 1}) {
    jobs.push_back([&, i] {
      TextResult& t = f.texts[i];
      // As many passes over the Chinese text as over the English one, which has more characters.
      const auto length = [&](std::size_t k) { return static_cast<std::int64_t>(f.texts[k].corpus.train.size()); };
      const std::int64_t steps = std::max<std::int64_t>(1, plan.text_steps * length(i) / length(0));
      t.training = train_text(t.corpus, steps, options.seed, [&](const CharTraining& c) {
        if (i == 0) progress.report(0, {.step = c.step, .loss = c.bits});
        return !interrupted();
      });
      t.frequencies = frequency_bits(t.corpus);
      t.carried = bits_per_character(t.training.net, t.corpus.held_out, 0);
      t.reset = bits_per_character(t.training.net, t.corpus.held_out, 8);
    });
  }
  for (std::size_t i = f.recall.size(); i-- > 0;) {
    jobs.push_back([&, i] {
      recall_job(f.recall[i], plan, options.seed);
      if (i == 1) f.kept = kept_over_time(f.recall[i].growing.net, options.seed);
    });
  }
  for_all(jobs.size(), thread_count(options), [&](std::size_t i) { jobs[i](); });
  progress.finish();
  return f;
}

}  // namespace gradus::lesson06
