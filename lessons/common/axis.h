// Where values fall on an axis, and at which round numbers it is labelled; shared by the text and the SVG pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace gradus {

struct Tick {
  double value = 0;
  std::string text;
};

struct ChartAxis {
  double low = 0, high = 1;  // low < high; both > 0 on a logarithmic axis
  bool log = false;
  std::vector<Tick> ticks;  // rising, inside [low, high]

  // 0 at low, 1 at high; values outside are moved to the nearer end.
  double place(double value) const;
};

struct AxisWish {
  std::optional<double> low = {}, high = {};  // else from the values
  bool log = false;
  bool percent = false;          // 0.5 is labelled "50 %"
  bool round_ends = false;       // move free ends of a linear axis outwards to the next tick
  bool ticks_at_values = false;  // label the values themselves when there are few of them
  int max_ticks = 6;
};

// An axis for the finite ones among the values. Throws std::invalid_argument where a logarithmic axis meets a value
// that is not above zero, or where low >= high is asked for.
ChartAxis make_axis(const std::vector<double>& values, const AxisWish& wish);

// "12", "0.25", "1e-05": at most six significant digits, never "-0".
std::string format_number(double value);

}  // namespace gradus
