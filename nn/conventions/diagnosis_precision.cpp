#include "nn/conventions/diagnosis_precision.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "nn/conventions/diagnosis_stages.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// A stage rounds each number several times: its own result, and the products and sums on the way there.
constexpr double roundings = 5;

// The bench judges at half precision as long as this lives.
class Wide {
 public:
  explicit Wide(Bench& bench) : bench_(bench), tolerance_(bench.tolerance), apart_(bench.apart) {
    bench.tolerance = roundings * rounding_of(bench.half);
    bench.apart = 5 * bench.tolerance;
  }
  ~Wide() { bench_.tolerance = tolerance_, bench_.apart = apart_; }
  Wide(const Wide&) = delete;
  Wide& operator=(const Wide&) = delete;

 private:
  Bench& bench_;
  double tolerance_, apart_;
};

// Differences of one output, as sums of squares by example and by step.
struct Noise {
  std::size_t numbers = 0, equal = 0, above = 0;
  double squares = 0, along = 0, values = 0;  // along: times the value itself
  std::vector<double> by_row, by_step;
};

Noise noise_of(const Array& got, const Array& wanted) {
  Noise n;
  const std::size_t B = wanted.dim(0), T = wanted.shape.size() > 2 ? wanted.dim(1) : 1;
  n.by_row.assign(B, 0), n.by_step.assign(T, 0);
  double most = 0;
  for (std::size_t k = 0; k < wanted.data.size(); ++k)
    most = std::max(most, std::fabs(got.data[k] - wanted.data[k]) / std::max(std::fabs(wanted.data[k]), 1e-300));
  for (std::size_t k = 0; k < wanted.data.size(); ++k) {
    const double off = got.data[k] - wanted.data[k], x = wanted.data[k];
    if (off == 0 && (x == 0 || x == 1)) continue;  // the weight of padding, or of an only word
    const std::size_t b = k / (wanted.data.size() / B), t = k / (wanted.data.size() / B / T) % T;
    ++n.numbers, n.equal += std::fabs(off)<1e-3 * most * std::fabs(x), n.above += off> 0;
    n.squares += off * off, n.along += off * x, n.values += x * x;
    n.by_row[b] += off * off, n.by_step[t] += off * off;
  }
  return n;
}

bool looks_like_rounding(const Array& got, const Array& wanted) {
  constexpr std::size_t least_numbers = 12;
  const Noise n = noise_of(got, wanted);
  if (n.numbers < least_numbers || !(n.squares > 0)) return false;
  const auto even = [](const std::vector<double>& parts) {
    const double most = *std::max_element(parts.begin(), parts.end());
    return std::all_of(parts.begin(), parts.end(), [&](double part) { return part > 1e-3 * most; });
  };
  const double above = static_cast<double>(n.above) / static_cast<double>(n.numbers);
  return 4 * n.equal < n.numbers && above > .2 && above < .8 && even(n.by_row) && even(n.by_step) &&
         std::fabs(n.along) < .5 * std::sqrt(n.squares * n.values);
}

}  // namespace

bool found_in_half_precision(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones,
                             const std::vector<Scored>& with_one) {
  if (bench.half == Half::none) return false;
  const Wide wide(bench);
  std::vector<Scored> kept, broken = with_one, all = free_ones;
  for (const Scored& s : free_ones) (bench.trouble(group, s.hypothesis).violations ? broken : kept).push_back(s);
  all.insert(all.end(), with_one.begin(), with_one.end());
  std::vector<Scored> hits = bench.matching(group, kept);
  if (hits.empty()) {
    const bool far = std::none_of(kept.begin(), kept.end(), [&](const Scored& s) { return s.residual < bench.apart; });
    if (far) hits = bench.matching(group, broken);
  }
  if (hits.empty()) return false;
  report.settle(group, hits, all);
  double best = infinite;
  for (const Scored& s : hits) best = std::min(best, s.residual);
  report.say_half(group, best);
  return true;
}

bool differs_by_rounding(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& tried) {
  const double most = roundings * rounding_of(Half::bfloat16);
  double best = most;
  for (const Scored& s : tried) {
    if (!(s.residual < most) || bench.trouble(group, s.hypothesis).violations) continue;
    const auto model = bench.build(group, s.hypothesis);
    const double r = model ? bench.residual(group, *model, bench.given) : infinite;
    if (!(r < best)) continue;
    const Arrays made = stage_outputs(*model, bench.given, group.stages);
    const bool noise = std::all_of(group.outputs.begin(), group.outputs.end(), [&](const std::string& name) {
      const Array &got = get(made, name), &wanted = get(bench.given, name);
      return difference(got, wanted) < bench.tolerance || looks_like_rounding(got, wanted);
    });
    if (noise) best = r;
  }
  if (!(best < most)) return false;
  report.agrees_to_few_digits(group, best);
  return true;
}

}  // namespace gradus::diagnosis
