// Measured peak, and what Linux tells about processor and memory.
#include "tests/bench/machine.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "tensor/kernels/pack.h"

namespace gradus::bench {
namespace {

// 12 independent sums hide the latency of a multiply-add (4 cycles, two a cycle) and fit into 16 registers. Factors are
// arguments, so that nothing can be computed beforehand, and the sums are returned, so that nothing can be left out.
constexpr int sums = 12;
[[gnu::noinline]] float multiply_add(std::int64_t times, Pack<float> factor, Pack<float> addend) {
  Pack<float>::Vector sum[sums];
#pragma GCC unroll 12
  for (int i = 0; i < sums; ++i) sum[i] = addend.v * static_cast<float>(i);
  for (std::int64_t k = 0; k < times; ++k) {
#pragma GCC unroll 12
    for (int i = 0; i < sums; ++i) sum[i] = sum[i] * factor.v + addend.v;
  }
#pragma GCC unroll 12
  for (int i = 1; i < sums; ++i) sum[0] = sum[0] + sum[i];
  return Pack<float>{sum[0]}.sum();
}

// The number behind `key` in /proc/self/status, from kilobytes to megabytes.
double status_megabytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return std::stod(line.substr(key.size())) / 1024;
  }
  return 0;
}

}  // namespace

double measured_peak() {
  double best = 0;
  for (int round = 0; round < 20; ++round) {
    constexpr std::int64_t times = 200'000;
    const auto start = std::chrono::steady_clock::now();
    volatile float kept = multiply_add(times, Pack<float>::broadcast(0.999f), Pack<float>::broadcast(0.001f));
    (void)kept;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * sums * Pack<float>::lanes * times / seconds);
  }
  return best;
}

std::string machine_name() {
  std::string name = "unknown processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      name = line.substr(line.find(':') + 2);
      break;
    }
  }
#ifdef __clang__
  const std::string compiler = "clang++ " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return name + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " + compiler;
}

double memory_now() { return status_megabytes("VmRSS:"); }
double memory_peak() { return status_megabytes("VmHWM:"); }

}  // namespace gradus::bench
