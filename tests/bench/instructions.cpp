// Runs one small case so that callgrind can count its instructions: tests/tools/instructions.sh.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "nn/checkpoint.h"
#include "tests/bench/models.h"
#include "tests/bench/workloads.h"

// What is counted: callgrind's --toggle-collect finds it by this name.
extern "C" [[gnu::noinline]] void gradus_counted(const std::function<void()>& run) { run(); }

namespace gradus::bench {
namespace {

// A model's weights through a safetensors file and back.
Workload checkpoint(const std::filesystem::path& file) {
  auto model = std::make_shared<Bahdanau>(16, 1, 20);
  fill_parameters(parameters(*model));
  Workload workload;
  workload.run = [=] {
    const Training all{parameters(*model)};
    save_checkpoint(file, all);
    load_checkpoint(file, all);
  };
  return workload;
}

Workload find(const std::string& name) {
  if (name == "checkpoint") return checkpoint("instructions.safetensors");
  for (const Case& c : cases()) {
    if (c.name == name) return c.make();
  }
  throw std::invalid_argument("no case " + name);
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  try {
    const auto workload = gradus::bench::find(argc > 1 ? argv[1] : "");
    for (int i = 0; i < 2; ++i) workload.run();  // fills the pool
    gradus_counted(workload.run);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "instructions: %s\n", error.what());
    return 1;
  }
}
