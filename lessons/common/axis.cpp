// Round numbers for axes.
#include "lessons/common/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gradus {

namespace {

constexpr std::size_t few_values = 8;

// The smallest of 1, 2, 5 (of per cents also 2.5) times a power of ten that is at least `least`.
double round_step(double least, bool percent) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= least * (1 - 1e-9) && (percent || factor != 2.5)) return factor * power;
  }
  return 10 * power;
}

std::string tick_text(double value, bool percent) {
  return percent ? format_number(100 * value) + " %" : format_number(value);
}

void add_linear_ticks(ChartAxis& axis, const AxisWish& wish) {
  const auto ticks_inside = [&](double step) {
    return std::floor(axis.high / step + 1e-9) - std::ceil(axis.low / step - 1e-9) + 1;
  };
  double step = round_step((axis.high - axis.low) / std::max(1, wish.max_ticks - 1), wish.percent);
  // Ends that do not move may leave no two round numbers between them at this step.
  while (!wish.round_ends && ticks_inside(step) < 2) step = round_step(step / 2.6, wish.percent);
  if (wish.round_ends) {
    if (!wish.low) axis.low = std::floor(axis.low / step + 1e-9) * step;
    if (!wish.high) axis.high = std::ceil(axis.high / step - 1e-9) * step;
  }
  const double first = std::ceil(axis.low / step - 1e-9), last = std::floor(axis.high / step + 1e-9);
  for (double k = first; k <= last; ++k) axis.ticks.push_back({k * step, tick_text(k * step, wish.percent)});
}

void add_log_ticks(ChartAxis& axis, const AxisWish& wish) {
  const int first = static_cast<int>(std::floor(std::log10(axis.low))),
            last = static_cast<int>(std::ceil(std::log10(axis.high)));
  const int every = std::max(1, (last - first) / std::max(1, wish.max_ticks - 1));
  const bool few = last - first <= 2;
  for (int power = first; power <= last; power += every) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, power);
      const bool inside = value >= axis.low * (1 - 1e-9) && value <= axis.high * (1 + 1e-9);
      if (inside && (factor == 1.0 || few)) axis.ticks.push_back({value, tick_text(value, wish.percent)});
    }
  }
}

}  // namespace

double ChartAxis::place(double value) const {
  const double share =
      log ? (std::log(value) - std::log(low)) / (std::log(high) - std::log(low)) : (value - low) / (high - low);
  return std::clamp(share, 0.0, 1.0);
}

ChartAxis make_axis(const std::vector<double>& values, const AxisWish& wish) {
  std::vector<double> finite;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    if (wish.log && value <= 0) {
      throw std::invalid_argument(
          fmt::format("plot: {} on a logarithmic axis; leave it out or use a linear one", value));
    }
    finite.push_back(value);
  }
  std::sort(finite.begin(), finite.end());
  finite.erase(std::unique(finite.begin(), finite.end()), finite.end());

  ChartAxis axis;
  axis.log = wish.log;
  axis.low = wish.low.value_or(finite.empty() ? (wish.log ? 1 : 0) : finite.front());
  axis.high = wish.high.value_or(finite.empty() ? axis.low + 1 : finite.back());
  if ((wish.low && wish.high && *wish.low >= *wish.high) || (wish.log && axis.low <= 0)) {
    throw std::invalid_argument(fmt::format("plot: no axis from {} to {}", axis.low, axis.high));
  }
  // Beyond these, steps and differences leave the range of a double.
  axis.low = std::clamp(axis.low, -3e307, 3e307);
  axis.high = std::clamp(axis.high, -3e307, 3e307);
  const double largest = std::max(std::abs(axis.low), std::abs(axis.high));
  if (axis.high - axis.low <= std::max(largest * 1e-12, 1e-300)) {
    // One value only, or as good as one: it stands in the middle, unless an end was asked for.
    const double around = largest <= 1e-300 ? 1 : largest / 2;
    if (wish.log || wish.low) {
      axis.high = axis.low + around;
    } else if (wish.high) {
      axis.low = axis.high - around;
    } else {
      axis.low -= around;
      axis.high += around;
    }
  }
  if (wish.ticks_at_values && finite.size() <= few_values) {
    for (const double value : finite) {
      if (value >= axis.low && value <= axis.high) axis.ticks.push_back({value, tick_text(value, wish.percent)});
    }
  } else if (wish.log) {
    add_log_ticks(axis, wish);
  } else {
    add_linear_ticks(axis, wish);
  }
  return axis;
}

std::string format_number(double value) {
  const std::string text = fmt::format("{:.6g}", value);
  return text == "-0" ? "0" : text;
}

}  // namespace gradus
