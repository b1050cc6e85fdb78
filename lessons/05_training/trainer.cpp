// One step of training, and its checkpoint.
#include "lessons/05_training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <locale>
#include <sstream>

#include "lessons/05_training/parts.h"

namespace gradus::lesson05 {

namespace {

Points points_of(std::uint64_t seed) {
  Generator generator(seed, "points");
  return draw_spirals(training_points, generator);
}

}  // namespace

Trainer::Trainer(Plan chosen, std::int64_t all_steps, std::uint64_t seed)
    : Trainer(std::move(chosen), all_steps, seed, Generator(seed, "init")) {}

Trainer::Trainer(Plan chosen, std::int64_t all_steps, std::uint64_t seed, Generator init)
    : plan(std::move(chosen)),
      points(points_of(seed)),
      model(init, plan.start),
      steps(all_steps),
      seed_(seed),
      data_(seed, "data"),
      parameters_(parameters(model)) {
  forget_optimizer();
}

void Trainer::step() {
  const Points batch = draw_batch(points, batch_size, data_);
  const Var loss = cross_entropy(model(batch.x), batch.labels);
  if (!plan.forget_zero_grad) zero_grad(parameters_);
  backward(loss);
  if (plan.clip == Clip::before_the_step) taught_parts().clip(parameters_, largest_gradient);
  *rate_ = plan.rate * cosine_decay(done, steps);
  optimizer_->step();
  if (plan.clip == Clip::after_the_step) taught_parts().clip(parameters_, largest_gradient);
  losses.push_back(loss.item());
  ++done;
}

void Trainer::run_to(std::int64_t last, const std::function<bool(const Trainer&)>& after) {
  while (done < std::min(last, steps)) {
    step();
    if (after && !after(*this)) return;
  }
}

Training Trainer::all_of_it() { return {parameters_, optimizer_.get(), {{"data", &data_}}, &done, &notes_}; }

void Trainer::save(const std::filesystem::path& file) {
  std::string text;
  for (const double loss : losses) text += fmt::format("{} ", loss);
  notes_ = {{"seed", std::to_string(seed_)}, {"steps", std::to_string(steps)}, {"losses", text}};
  save_checkpoint(file, all_of_it());
}

void Trainer::load(const std::filesystem::path& file) {
  auto notes = checkpoint_notes(file);
  if (notes["seed"] != std::to_string(seed_) || notes["steps"] != std::to_string(steps))
    throw FileError(
        fmt::format("{} belongs to a run with --seed {} --steps {}; resume with these, or start without --resume",
                    file.string(), notes["seed"], notes["steps"]));
  load_checkpoint(file, all_of_it());
  losses.clear();
  std::istringstream text(notes["losses"]);
  text.imbue(std::locale::classic());
  for (double loss = 0; text >> loss;) losses.push_back(loss);
}

void Trainer::forget_optimizer() {
  if (plan.update == Update::adam) {
    Updates adam = taught_parts().adam(parameters_, {.rate = plan.rate});
    rate_ = adam.rate;
    optimizer_ = std::move(adam.optimizer);
  } else {
    auto sgd = std::make_unique<Sgd>(
        parameters_, SgdOptions{.rate = plan.rate, .momentum = plan.update == Update::momentum ? 0.9 : 0});
    rate_ = &sgd->options.rate;
    optimizer_ = std::move(sgd);
  }
}
void Trainer::forget_data() { data_ = Generator(seed_, "data"); }

}  // namespace gradus::lesson05
