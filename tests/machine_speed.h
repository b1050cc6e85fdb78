// How fast the core is at the moment that a test measures a time on it: machines are shared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace gradus::testing {

// Processor seconds of a fixed piece of work that is none of the project's own: exponentials, and memory asked for,
// filled, copied and given back.
inline double yardstick() {
  static double numbers[64];
  volatile std::size_t bytes = sizeof numbers;
  const std::clock_t start = std::clock();
  double x = 0.5;
  for (int k = 0; k < 400'000; ++k) {
    x = std::tanh(x + 0.25) + std::exp(-x);
    void* room = std::malloc(bytes);
    std::memset(room, k, bytes);
    std::memcpy(numbers, room, bytes);
    std::free(room);
  }
  volatile double keep = x + numbers[0];
  static_cast<void>(keep);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// What it takes on a core (Zen 3, 2.4 GHz nominal) that has nothing else to do: the least of 40, g++ 12, any -O.
inline constexpr double on_an_idle_core = 0.0205;

// What a bound on a time is to be multiplied with: 1, or how much slower this core is just now.
inline double slowness(double measured) { return std::max(1., measured / on_an_idle_core); }

}  // namespace gradus::testing
