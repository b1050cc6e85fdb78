// The loop: data, gradients, clipping, the update, a schedule, and a checkpoint from which it goes on bit for bit.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lessons/05_training/mlp.h"
#include "nn/checkpoint.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson05 {

enum class Update { sgd, momentum, adam };
enum class Clip { before_the_step, after_the_step, never };

// A run is described by this and its seed. The last two are where mistakes are made on purpose.
struct Plan {
  Words name;
  Update update = Update::adam;
  double rate = 1e-2;
  Start start = Start::xavier;
  Clip clip = Clip::before_the_step;
  bool forget_zero_grad = false;
};

class Trainer {
 public:
  // The points are drawn from the seed's stream "points", the weights from "init", the batches from "data".
  Trainer(Plan plan, std::int64_t steps, std::uint64_t seed);

  void step();  // one step of `steps`
  // Steps until `last` (at most `steps`) is reached, or `after` says to stop by returning false.
  void run_to(std::int64_t last, const std::function<bool(const Trainer&)>& after = {});

  void save(const std::filesystem::path& file);
  // Throws FileError when the file belongs to another seed or number of steps.
  void load(const std::filesystem::path& file);

  // For the mistakes at a resume: what was not saved starts afresh.
  void forget_optimizer();
  void forget_data();

  Plan plan;
  Points points;  // the 1,000 training points
  Mlp model;
  std::int64_t done = 0, steps;
  std::vector<double> losses;  // of the batch, one a step; saved and loaded too

 private:
  Trainer(Plan plan, std::int64_t steps, std::uint64_t seed, Generator init);
  Training all_of_it();

  std::uint64_t seed_;
  Generator data_;
  std::vector<Parameter> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  double* rate_ = nullptr;  // the optimiser's own, which the schedule sets before each step
  std::map<std::string, std::string> notes_;
};

inline constexpr std::int64_t training_points = 1000, batch_size = 64;
inline constexpr double largest_gradient = 1;

}  // namespace gradus::lesson05
