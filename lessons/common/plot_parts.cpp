// Checks, axes and labels of pictures, and their numbers as CSV.
#include "lessons/common/plot_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lessons/common/files.h"

namespace gradus {

namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

template <typename Picture> void save(const Picture& picture, const std::filesystem::path& file) {
  std::filesystem::path numbers = file;
  numbers.replace_extension(".csv");
  if (file.extension() != ".svg") {
    throw std::invalid_argument(fmt::format("plot: {} does not end in .svg", file.string()));
  }
  write_file(file, draw_svg(picture));
  write_file(numbers, to_csv(picture));
}

}  // namespace

double Range::share(double value) const {
  if (!(value > low)) return 0;
  return value >= high ? 1 : (value - low) / (high - low);
}

void check(const LineChart& chart) {
  if (chart.series.size() > most_series) {
    throw std::invalid_argument(fmt::format("plot: {} curves; at most {} can be told apart, draw two charts",
                                            chart.series.size(), most_series));
  }
  for (const Series& series : chart.series) {
    if (series.x.size() != series.y.size()) {
      throw std::invalid_argument(fmt::format("plot: curve \"{}\" has {} x and {} y; give one y for each x",
                                              series.name, series.x.size(), series.y.size()));
    }
  }
}

MapSize check(const Heatmap& map) {
  const MapSize size = {map.rows.empty() ? map.row_count : map.rows.size(),
                        map.columns.empty() ? map.column_count : map.columns.size()};
  if (size.rows * size.columns != map.values.size()) {
    throw std::invalid_argument(
        fmt::format("plot: {} values for {} rows and {} columns", map.values.size(), size.rows, size.columns));
  }
  if (!map.masked.empty() && map.masked.size() != map.values.size()) {
    throw std::invalid_argument(fmt::format("plot: a mask of {} for {} values; give one for each, or none",
                                            map.masked.size(), map.values.size()));
  }
  return size;
}

ChartAxis x_axis_of(const LineChart& chart, int max_ticks) {
  std::vector<double> values;
  for (const Series& series : chart.series) values.insert(values.end(), series.x.begin(), series.x.end());
  return make_axis(values, {.log = chart.x_log, .ticks_at_values = true, .max_ticks = max_ticks});
}

ChartAxis y_axis_of(const LineChart& chart, int max_ticks) {
  std::vector<double> values;
  for (const Series& series : chart.series) values.insert(values.end(), series.y.begin(), series.y.end());
  for (const ReferenceLine& line : chart.lines) values.push_back(line.y);
  return make_axis(values, {.low = chart.y_min,
                            .high = chart.y_max,
                            .log = chart.y_log,
                            .percent = chart.percent,
                            .round_ends = true,
                            .max_ticks = max_ticks});
}

bool is_masked(const Heatmap& map, std::size_t index) { return !map.masked.empty() && map.masked[index]; }

bool all_masked(const Heatmap& map, const MapSize& size, std::size_t row, std::size_t column, std::size_t block) {
  for (std::size_t r = row * block; r < std::min(size.rows, (row + 1) * block); ++r) {
    for (std::size_t c = column * block; c < std::min(size.columns, (column + 1) * block); ++c) {
      if (!is_masked(map, r * size.columns + c)) return false;
    }
  }
  return true;
}

Range value_range(const Heatmap& map) {
  double low = INFINITY, high = -INFINITY;
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    if (is_masked(map, i) || !std::isfinite(map.values[i])) continue;
    low = std::min(low, map.values[i]);
    high = std::max(high, map.values[i]);
  }
  Range range = {map.low.value_or(std::isfinite(low) ? low : 0), map.high.value_or(std::isfinite(high) ? high : 1)};
  if (range.high <= range.low) range.high = range.low + 1;
  return range;
}

std::string row_name(const Heatmap& map, std::size_t row) {
  return map.rows.empty() ? std::to_string(row) : map.rows[row];
}

std::string column_name(const Heatmap& map, std::size_t column) {
  return map.columns.empty() ? std::to_string(column) : map.columns[column];
}

bool has_wide(const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    std::size_t letters = 0;
    for (const char c : label) letters += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
    if (display_width(label) > static_cast<int>(letters)) return true;
  }
  return false;
}

std::string to_csv(const LineChart& chart) {
  check(chart);
  std::string out = "series,x,y\n";
  for (const Series& series : chart.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      out += csv_field(series.name) + "," + csv_number(series.x[i]) + "," + csv_number(series.y[i]) + "\n";
    }
  }
  for (const ReferenceLine& line : chart.lines) out += csv_field(line.name) + ",," + csv_number(line.y) + "\n";
  return out;
}

std::string to_csv(const Heatmap& map) {
  const MapSize size = check(map);
  std::string out = "row,column,row_label,column_label,value\n";
  for (std::size_t r = 0; r < size.rows; ++r) {
    for (std::size_t c = 0; c < size.columns; ++c) {
      const std::size_t i = r * size.columns + c;
      out += fmt::format("{},{},{},{},{}\n", r, c, csv_field(row_name(map, r)), csv_field(column_name(map, c)),
                         is_masked(map, i) ? "" : csv_number(map.values[i]));
    }
  }
  return out;
}

void save_plot(const LineChart& chart, const std::filesystem::path& file) { save(chart, file); }
void save_plot(const Heatmap& map, const std::filesystem::path& file) { save(map, file); }

}  // namespace gradus
