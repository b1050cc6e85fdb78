// What the text and the SVG pictures have in common: checks of the input, axes, labels, ranges.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lessons/common/axis.h"
#include "lessons/common/plot.h"

namespace gradus {

inline constexpr std::size_t most_series = 8;

struct MapSize {
  std::size_t rows = 0, columns = 0;
};

// The values that the lightest and the darkest shade stand for.
struct Range {
  double low = 0, high = 1;
  double share(double value) const;  // 0 at low, 1 at high, clamped; 0 for NaN
};

// Throw std::invalid_argument that says which lengths do not agree.
void check(const LineChart& chart);
MapSize check(const Heatmap& map);

ChartAxis x_axis_of(const LineChart& chart, int max_ticks);
ChartAxis y_axis_of(const LineChart& chart, int max_ticks);

bool is_masked(const Heatmap& map, std::size_t index);
bool all_masked(const Heatmap& map, const MapSize& size, std::size_t row, std::size_t column, std::size_t block);
Range value_range(const Heatmap& map);
std::string row_name(const Heatmap& map, std::size_t row);
std::string column_name(const Heatmap& map, std::size_t column);
bool has_wide(const std::vector<std::string>& labels);  // whether a character takes two columns

}  // namespace gradus
