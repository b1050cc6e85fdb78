// The models of a run, one job each.
#include "lessons/07_bottleneck/find_out.h"

#include <algorithm>
#include <optional>

#include "lessons/common/interrupt.h"
#include "lessons/common/jobs.h"
#include "lessons/common/progress.h"

namespace gradus::lesson07 {

Findings find_out(const Plan& plan, const Options& options, const Terminal& terminal) {
  const Lang lang = options.lang;
  const std::uint64_t seed = options.seed;
  Progress progress(
      terminal, lang,
      {std::string(tr(lang, "teacher forcing", "教师强制")), std::string(tr(lang, "scheduled sampling", "计划采样"))},
      plan.steps);
  const auto grow = [&](const Setup& setup, std::optional<std::size_t> row) {
    Measured m;
    m.trained = train(setup, seed, [&](const Trained& t, double accuracy) {
      if (row) progress.report(*row, {.step = t.step, .loss = t.loss, .accuracy = accuracy});
      return !interrupted();
    });
    m.accuracy = measure(m.trained.net, plan.sequences, seed);
    return m;
  };
  const std::int64_t all_lengths_from = 2 * plan.steps / 3;
  Findings f;
  f.stored = {{10}, {20}, {40}, {80}};
  f.sweep.resize(4);
  std::vector<std::function<void()>> jobs{
      [&] {
        f.main = grow({.name = "main", .steps = plan.steps, .all_lengths_from = all_lengths_from}, 0);
        f.places = measure_places(f.main.trained.net, plan.sequences, seed);
        for (Stored& s : f.stored) s = search_state(f.main.trained.net, s.length, plan.search, seed);
      },
      [&] {
        f.scheduled = grow({.name = "scheduled",
                            .steps = plan.steps,
                            .all_lengths_from = all_lengths_from,
                            .feeding = Feeding::scheduled},
                           1);
      }};
  for (std::size_t i = 4; i-- > 0;) {
    const std::int64_t d_s = std::int64_t{16} << i;
    jobs.push_back([&, i, d_s] {
      f.sweep[i] = grow({.name = std::to_string(d_s), .sizes = {.d_s = d_s}, .steps = plan.small_steps}, {});
    });
  }
  jobs.push_back(
      [&] { f.last_slice = grow({.name = "last slice", .steps = plan.small_steps, .ends = Ends::last_slice}, {}); });
  jobs.push_back([&] {
    const std::int64_t few = std::max<std::int64_t>(1, plan.small_steps / 5);
    f.shift_missing = grow({.name = "shift missing", .steps = few, .feeding = Feeding::shift_missing}, {});
  });
  for_all(jobs.size(), thread_count(options), [&](std::size_t i) { jobs[i](); });
  progress.finish();
  return f;
}

}  // namespace gradus::lesson07
