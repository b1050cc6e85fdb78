// How the time of a training step grows with the length and with the batch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/bench/workloads.h"

namespace gradus::bench {

// A model at several sizes, and the law that its time should follow: a first(size) + b second(size).
struct Scaling {
  std::string name, law;
  std::function<double(double)> first, second;
  std::vector<double> sizes;
  std::function<Workload(double)> make;
};
const std::vector<Scaling>& scalings();

struct Fit {
  double a = 0, b = 0;
  double deviation = 0;  // the largest, relative to the law
  double at(const Scaling& scaling, double size) const { return a * scaling.first(size) + b * scaling.second(size); }
};
// Least squares of the relative deviations. `times`: one for each size.
Fit fit(const Scaling& scaling, const std::vector<double>& times);

}  // namespace gradus::bench
