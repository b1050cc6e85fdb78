// Training one model on the copy task, with the right inputs or with wrong ones.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lessons/07_bottleneck/copy_net.h"

namespace gradus::lesson07 {

// What the decoder reads while it trains. `shift_missing` is the classic mistake: the token that it is to say.
enum class Feeding { teacher, scheduled, shift_missing };

struct Setup {
  std::string name;
  Sizes sizes = {};
  std::int64_t steps = 0;
  std::int64_t all_lengths_from = -1;  // from this step on lengths are 1 to copy_longest, wherever the curriculum is
  Feeding feeding = Feeding::teacher;
  Ends ends = Ends::both;
};

struct Trained {
  Setup setup;
  CopyNet net;
  std::int64_t step = 0;
  double loss = 0;           // running mean over about ten batches
  std::int64_t longest = 0;  // where its curriculum came to
};

// `after` sees every step, and stops the training by returning false.
Trained train(const Setup& setup, std::uint64_t seed,
              const std::function<bool(const Trained&, double accuracy)>& after);

}  // namespace gradus::lesson07
