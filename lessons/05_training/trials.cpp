// Trainings side by side, and resumes.
#include "lessons/05_training/trials.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace gradus::lesson05 {

const std::vector<Plan>& plans() {
  static const std::vector<Plan> all = {
      {.name = {"Adam", "Adam"}},
      {.name = {"momentum", "动量"}, .update = Update::momentum, .rate = 0.1},
      {.name = {"plain descent", "普通下降"}, .update = Update::sgd, .rate = 0.5},
      {.name = {"plain, rate 0.1", "普通，学习率 0.1"}, .update = Update::sgd, .rate = 0.1},
      {.name = {"Adam, rate 1", "Adam，学习率 1"}, .rate = 1},
      {.name = {"weights from 0", "权重从 0 开始"}, .start = Start::zero},
      {.name = {"weights / 10", "权重除以 10"}, .start = Start::small},
      {.name = {"weights * 10", "权重乘以 10"}, .start = Start::large},
      {.name = {"plain, no zero_grad", "普通，没有 zero_grad"},
       .update = Update::sgd,
       .rate = 0.5,
       .forget_zero_grad = true},
      {.name = {"the same, not clipped", "同上，不裁剪"},
       .update = Update::sgd,
       .rate = 0.5,
       .clip = Clip::never,
       .forget_zero_grad = true},
      {.name = {"clipped after", "更新之后才裁剪"},
       .update = Update::momentum,
       .rate = 0.3,
       .clip = Clip::after_the_step},
      {.name = {"never clipped", "从不裁剪"}, .update = Update::momentum, .rate = 0.3, .clip = Clip::never},
  };
  return all;
}

Trial outcome(const Trainer& trainer, const Points& fresh) {
  Trial trial{trainer.plan, trainer.losses};
  const std::size_t last = std::min<std::size_t>(100, trial.losses.size());
  for (std::size_t i = trial.losses.size() - last; i < trial.losses.size(); ++i)
    trial.loss += trial.losses[i] / static_cast<double>(last);
  trial.accuracy = accuracy(trainer.model, fresh);
  for (const Parameter& p : parameters(trainer.model)) trial.length += std::pow(norm(p.var.value()), 2);
  trial.length = std::sqrt(trial.length);
  return trial;
}

namespace {

// Calls see(x, y) for each pair of numbers at the same place.
void each_pair(const Mlp& a, const Mlp& b, const std::function<void(double, double)>& see) {
  const std::vector<Parameter> left = parameters(a), right = parameters(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::vector<double> x = left[i].var.value().to_vector(), y = right[i].var.value().to_vector();
    for (std::size_t k = 0; k < x.size(); ++k) see(x[k], y[k]);
  }
}

Resumed compare(Words what, const Trainer& resumed, const Trainer& whole, std::size_t first_loss) {
  constexpr std::size_t shown = 20;
  Resumed result{std::move(what), different_weights(resumed.model, whole.model)};
  each_pair(resumed.model, whole.model,
            [&](double x, double y) { result.largest = std::max(result.largest, std::fabs(x - y)); });
  const std::size_t end = std::min(first_loss + shown, resumed.losses.size());
  for (std::size_t i = first_loss; i < end; ++i)
    result.loss += resumed.losses[i] / static_cast<double>(end - first_loss);
  return result;
}

}  // namespace

std::int64_t different_weights(const Mlp& a, const Mlp& b) {
  std::int64_t different = 0;
  each_pair(a, b, [&](double x, double y) { different += x != y; });
  return different;
}

std::vector<Resumed> resumed_runs(std::int64_t steps, std::uint64_t seed, const std::filesystem::path& file) {
  const std::int64_t half = steps / 2;
  Trainer whole(plans()[0], steps, seed);
  whole.run_to(half);
  whole.save(file);
  whole.run_to(steps);
  std::vector<Resumed> rows = {compare({"no interruption", "没有中断"}, whole, whole, static_cast<std::size_t>(half))};
  const auto resume = [&](const Words& lost, const std::function<void(Trainer&)>& lose) {
    Trainer fresh(plans()[0], steps, seed);
    fresh.load(file);
    lose(fresh);
    const std::int64_t end = fresh.done + steps - half;
    while (fresh.done < end) fresh.step();
    rows.push_back(compare(lost, fresh, whole, static_cast<std::size_t>(half)));
  };
  resume({"nothing", "什么也没丢"}, [](Trainer&) {});
  resume({"m, v and t", "m、v 和 t"}, [](Trainer& t) { t.forget_optimizer(); });
  resume({"the generator", "生成器"}, [](Trainer& t) { t.forget_data(); });
  resume({"the step number", "步数"}, [](Trainer& t) { t.done = 0; });
  return rows;
}

}  // namespace gradus::lesson05
