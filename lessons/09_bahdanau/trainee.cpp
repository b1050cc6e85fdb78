// The training loop, and saving and resuming it.
#include "lessons/09_bahdanau/trainee.h"

#include <fmt/format.h>

#include <charconv>

#include "lessons/common/interrupt.h"
#include "nn/checkpoint.h"

namespace gradus::lesson09 {
namespace {

constexpr double rate = 3e-3;

CopyModel fresh_model(bool attends, const Sizes& sizes, std::uint64_t seed) {
  Generator init(seed, "init");
  return CopyModel(attends, sizes, init);
}

std::string to_text(const std::vector<double>& numbers) {
  std::string text;
  for (double number : numbers) text += fmt::format("{}{}", text.empty() ? "" : " ", number);
  return text;
}

std::vector<double> to_numbers(const std::string& text) {
  std::vector<double> numbers;
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    double number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) throw FileError("the checkpoint's notes are damaged: '" + text + "' holds no numbers");
    numbers.push_back(number);
    at = next + 1;
  }
  return numbers;
}

}  // namespace

Trainee::Trainee(bool attends, bool by_curriculum, const Sizes& sizes, std::int64_t all_steps, std::uint64_t seed)
    : model(fresh_model(attends, sizes, seed)),
      steps(all_steps),
      sizes_(sizes),
      seed_(seed),
      data_(seed, "data"),
      parameters_(parameters(model)),
      adam_(parameters_, {.rate = rate}) {
  if (!by_curriculum) curriculum.longest = copy_longest;
}

void Trainee::train_step() {
  const CopyBatch batch = copy_batch(sizes_.batch, curriculum.draw(data_), data_);
  const Var logits = model.teach(batch).logits;  // (B, T, vocab)
  const Var mean_loss = cross_entropy(logits, batch.source);
  zero_grad(parameters_);
  backward(mean_loss);
  clip_gradients(parameters_, 1.0);
  adam_.options.rate = rate * cosine_decay(step, steps, 0.01);
  adam_.step();
  loss = mean_loss.item();
  curriculum.saw(token_accuracy(logits, batch.source), step);
  if (++step % TrainingCurve::every == 0) {
    curve.step.push_back(static_cast<double>(step));
    curve.loss.push_back(loss);
    curve.accuracy.push_back(curriculum.accuracy);
    curve.longest.push_back(static_cast<double>(curriculum.longest));
  }
}

void Trainee::train(const std::function<void(const Trainee&)>& after) {
  while (step < steps && !interrupted()) {
    train_step();
    after(*this);
  }
}

void Trainee::save(const std::filesystem::path& file) {
  std::map<std::string, std::string> notes{
      {"seed", std::to_string(seed_)},
      {"steps", std::to_string(steps)},
      {"curriculum", to_text({static_cast<double>(curriculum.longest), curriculum.accuracy, loss})},
      {"curve.step", to_text(curve.step)},
      {"curve.loss", to_text(curve.loss)},
      {"curve.accuracy", to_text(curve.accuracy)},
      {"curve.longest", to_text(curve.longest)},
  };
  save_checkpoint(file, {parameters_, &adam_, {{"data", &data_}}, &step, &notes});
}

void Trainee::load(const std::filesystem::path& file) {
  std::map<std::string, std::string> notes = checkpoint_notes(file);
  if (notes["seed"] != std::to_string(seed_) || notes["steps"] != std::to_string(steps)) {
    throw FileError(
        fmt::format("{} belongs to a run with --seed {} --steps {}; resume with these, or start without --resume",
                    file.string(), notes["seed"], notes["steps"]));
  }
  load_checkpoint(file, {parameters_, &adam_, {{"data", &data_}}, &step, &notes});
  const std::vector<double> state = to_numbers(notes["curriculum"]);
  if (state.size() != 3)
    throw FileError(file.string() + ": the curriculum was not saved whole; start without --resume");
  curriculum.longest = static_cast<std::int64_t>(state[0]);
  curriculum.accuracy = state[1];
  loss = state[2];
  curve = {to_numbers(notes["curve.step"]), to_numbers(notes["curve.loss"]), to_numbers(notes["curve.accuracy"]),
           to_numbers(notes["curve.longest"])};
}

}  // namespace gradus::lesson09
