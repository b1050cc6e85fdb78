// The same points learned in several ways, some of them mistakes; and runs that were interrupted and resumed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/05_training/trainer.h"

namespace gradus::lesson05 {

// What is trained beside the model that is kept (the first): other updates, rates, starts, and mistakes.
const std::vector<Plan>& plans();

struct Trial {
  Plan plan;
  std::vector<double> losses;  // of the batch, one a step
  double loss = 0;             // mean of the last 100
  double accuracy = 0;         // on fresh points
  double length = 0;           // of all weights together
};
Trial outcome(const Trainer& trainer, const Points& fresh);

// What was lost when a run was stopped half-way, saved, and resumed in a program that knows nothing of it.
struct Resumed {
  Words what;                  // "nothing", "m, v and t of Adam", ...
  std::int64_t different = 0;  // weights that differ at the end from those of the run without interruption
  double largest = 0;          // the largest difference
  double loss = 0;             // mean of the first 20 steps after the resume
};
// `file` is written and read back. The first row is the run without interruption, the second the right resume.
std::vector<Resumed> resumed_runs(std::int64_t steps, std::uint64_t seed, const std::filesystem::path& file);

// How many weights of two models are not the same number.
std::int64_t different_weights(const Mlp& a, const Mlp& b);

}  // namespace gradus::lesson05
