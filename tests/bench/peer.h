// The peer of a benchmark: PyTorch in a process of its own, asked line by line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gradus::bench {

// A Python that can import torch, started with one thread and its fastest settings. Empty: there is none.
std::optional<std::string> find_torch();
// Whether it has what makes it fast: a BLAS better than the reference one, and an allocator that keeps its pages.
bool torch_is_fast(const std::string& python);

class Peer {
 public:
  // Starts `python script arguments...`. Throws std::runtime_error when it cannot, or dies later on.
  Peer(const std::string& python, const std::filesystem::path& script, const std::vector<std::string>& arguments);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  double loss();                            // of the untrained model
  std::vector<double> run(double seconds);  // the time of each run, in seconds
  std::vector<double> memory();             // megabytes: peak, and before the model was made

 private:
  std::vector<double> ask(const std::string& line);

  int process_ = -1;
  int to_ = -1, from_ = -1;
};

}  // namespace gradus::bench
