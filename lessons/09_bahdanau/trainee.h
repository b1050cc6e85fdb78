// One model being trained on the copy task: what it is, what it draws from, how far it has come.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lessons/09_bahdanau/copy_model.h"
#include "nn/optimizer.h"

namespace gradus::lesson09 {

// Loss and accuracy after every `every` steps, as they are plotted.
struct TrainingCurve {
  static constexpr std::int64_t every = 25;
  std::vector<double> step, loss, accuracy, longest;
};

class Trainee {
 public:
  // Lengths are the curriculum's, or 1 to copy_longest from the first step on.
  Trainee(bool attends, bool by_curriculum, const Sizes& sizes, std::int64_t steps, std::uint64_t seed);
  Trainee(const Trainee&) = delete;
  Trainee& operator=(const Trainee&) = delete;

  // One step of the loop that every lesson has: data, forward, loss, backward, clip, update.
  void train_step();
  // train_step until all steps are done or Ctrl-C was pressed; `after` sees each step.
  void train(const std::function<void(const Trainee&)>& after);

  // Everything that a resumed run needs to go on bit for bit. load throws FileError when the file does not fit.
  void save(const std::filesystem::path& file);
  void load(const std::filesystem::path& file);

  CopyModel model;
  std::int64_t step = 0, steps;
  double loss = 0;
  Curriculum curriculum;
  TrainingCurve curve;

 private:
  Sizes sizes_;
  std::uint64_t seed_;
  Generator data_;
  std::vector<Parameter> parameters_;
  Adam adam_;
};

}  // namespace gradus::lesson09
