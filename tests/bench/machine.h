// What the machine that runs a benchmark can do.
#pragma once

#include <string>

namespace gradus::bench {

// The fastest that one core multiplies and adds, in f32 FLOP a second: sums that stay in registers, nothing read.
double measured_peak();

std::string machine_name();  // "AMD EPYC, 2 cores, g++ 12.2.0"

// Megabytes that this process holds now, and has held at most (Linux; else 0).
double memory_now();
double memory_peak();

}  // namespace gradus::bench
