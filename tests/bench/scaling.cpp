// The curves, and the law that fits them best.
#include "tests/bench/scaling.h"

#include <algorithm>
#include <cmath>

namespace gradus::bench {
namespace {

double one(double) { return 1; }
double itself(double x) { return x; }
double squared(double x) { return x * x; }
std::int64_t whole(double x) { return static_cast<std::int64_t>(x); }

}  // namespace

const std::vector<Scaling>& scalings() {
  static const std::vector<Scaling> table{
      {"GRU, against T",
       "a + b T",
       one,
       itself,
       {16, 32, 64, 128},
       [](double T) { return gru_training(64, 32, whole(T)); }},
      {"GRU, against B",
       "a + b B",
       one,
       itself,
       {16, 32, 64, 128},
       [](double B) { return gru_training(64, whole(B), 32); }},
      {"Bahdanau, against B",
       "a + b B",
       one,
       itself,
       {16, 32, 64, 128},
       [](double B) { return bahdanau_training(64, whole(B), 20); }},
      {"Bahdanau, against T",
       "a T + b T T",
       itself,
       squared,
       {20, 40, 80, 160},
       [](double T) { return bahdanau_training(64, 32, whole(T)); }},
  };
  return table;
}

Fit fit(const Scaling& scaling, const std::vector<double>& times) {
  double pp = 0, pq = 0, qq = 0, p1 = 0, q1 = 0;  // p, q: the law's two terms over the time; a p + b q should be 1
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double p = scaling.first(scaling.sizes[i]) / times[i], q = scaling.second(scaling.sizes[i]) / times[i];
    pp += p * p, pq += p * q, qq += q * q, p1 += p, q1 += q;
  }
  const double determinant = pp * qq - pq * pq;
  Fit result{(p1 * qq - q1 * pq) / determinant, (q1 * pp - p1 * pq) / determinant, 0};
  for (std::size_t i = 0; i < times.size(); ++i)
    result.deviation = std::max(result.deviation, std::abs(times[i] / result.at(scaling, scaling.sizes[i]) - 1));
  return result;
}

}  // namespace gradus::bench
