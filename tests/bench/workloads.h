// The workloads of ./gradus bench: whole training steps of the models that the course builds, and a few single ops.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gradus::bench {

// One workload, ready to run.
struct Workload {
  std::function<void()> run;            // one step, or one round of the measured thing
  std::function<double()> loss;         // of the untrained model; empty where there is none
  std::function<std::int64_t()> nodes;  // of one forward pass, on the tape; empty where nobody asks
  double flops = 0;                     // of one run; multiplications and additions of matrix products count one each
  double per_run = 1;                   // what the reported time is divided by: the ops of a chain
};

struct Case {
  std::string name;    // "bahdanau_d64_T80"
  const char* unit;    // what is measured: "ms a step", "ns an op", "us"
  double unit_second;  // of these units in a second
  std::function<Workload()> make;
  std::vector<std::string> peer;  // arguments of peer_torch.py; empty: it has no peer
};

const std::vector<Case>& cases();

// Whole training steps of the two models at any size.
Workload gru_training(std::int64_t d, std::int64_t batch, std::int64_t length);
Workload bahdanau_training(std::int64_t d, std::int64_t batch, std::int64_t length);

}  // namespace gradus::bench
