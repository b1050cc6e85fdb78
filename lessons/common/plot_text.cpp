// Curves and matrices as characters.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "lessons/common/axis.h"
#include "lessons/common/plot.h"
#include "lessons/common/plot_parts.h"

namespace gradus {

namespace {

constexpr int widest_picture = 80;
constexpr std::size_t most_rows = 40;  // of a matrix, before rows are put together

// What one column of the terminal shows in a chart.
struct Cell {
  std::string text = " ";
  Colour colour = Colour::none;
  int mark_of = -1;  // the series whose mark it is; -1: none
};

using Grid = std::vector<std::vector<Cell>>;

constexpr std::array<Colour, most_series> series_colours = {Colour::blue,    Colour::red,    Colour::green,
                                                            Colour::magenta, Colour::yellow, Colour::cyan,
                                                            Colour::none,    Colour::bold};

std::string mark(const Terminal& terminal, std::size_t series) {
  static constexpr std::array<const char*, most_series> drawn = {"●", "○", "▲", "△", "■", "□", "◆", "◇"};
  static constexpr std::array<const char*, most_series> ascii = {"o", "x", "+", "*", "#", "@", "%", "="};
  return terminal.unicode ? drawn[series] : ascii[series];
}

std::string trail(const Terminal& terminal, std::size_t series) {
  static constexpr std::array<const char*, 4> drawn = {"·", "-", "~", "="};
  static constexpr std::array<const char*, 4> ascii = {".", "-", "~", "="};
  return terminal.unicode ? drawn[series % 4] : ascii[series % 4];
}

std::string reference_mark(const Terminal& terminal) { return terminal.unicode ? "┄" : "_"; }

int nearest(double share, int cells) { return static_cast<int>(std::lround(share * (cells - 1))); }

// The mean of the points of a curve that fall into each column; NaN where there are none.
std::vector<double> column_means(const Series& series, const ChartAxis& x_axis, int columns) {
  std::vector<double> sums(static_cast<std::size_t>(columns), 0), counts(sums.size(), 0);
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) continue;
    const auto column = static_cast<std::size_t>(nearest(x_axis.place(series.x[i]), columns));
    sums[column] += series.y[i];
    ++counts[column];
  }
  for (std::size_t c = 0; c < sums.size(); ++c) sums[c] = counts[c] > 0 ? sums[c] / counts[c] : std::nan("");
  return sums;
}

void put_mark(Grid& grid, int row, int column, const Terminal& terminal, std::size_t series) {
  Cell& cell = grid[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  if (cell.mark_of >= 0 && cell.mark_of != static_cast<int>(series)) {
    cell = {"&", Colour::bold, static_cast<int>(most_series)};
  } else if (cell.mark_of < 0) {
    cell = {mark(terminal, series), series_colours[series], static_cast<int>(series)};
  }
}

// A trail between the points of a curve: straight in the picture. A gap in the data breaks it.
void draw_trail(Grid& grid, const Series& series, const ChartAxis& x_axis, const ChartAxis& y_axis,
                const Terminal& terminal, std::size_t index) {
  const int rows = static_cast<int>(grid.size()), columns = static_cast<int>(grid.front().size());
  for (std::size_t i = 1; i < series.x.size(); ++i) {
    if (!std::isfinite(series.y[i - 1] + series.y[i] + series.x[i - 1] + series.x[i])) continue;
    const int from = nearest(x_axis.place(series.x[i - 1]), columns), to = nearest(x_axis.place(series.x[i]), columns);
    const double y_from = y_axis.place(series.y[i - 1]), y_to = y_axis.place(series.y[i]);
    const int row_from = nearest(1 - y_from, rows), row_to = nearest(1 - y_to, rows);
    const int pieces = std::max(std::abs(to - from), std::abs(row_to - row_from));
    for (int piece = 1; piece < pieces; ++piece) {
      const double share = static_cast<double>(piece) / pieces;
      const auto row = static_cast<std::size_t>(nearest(1 - (y_from + share * (y_to - y_from)), rows));
      const auto column = static_cast<std::size_t>(std::lround(from + share * (to - from)));
      Cell& cell = grid[row][column];
      if (cell.mark_of < 0) cell = {trail(terminal, index), series_colours[index], -1};
    }
  }
}

void append_row(std::string& out, const std::vector<Cell>& cells, const Terminal& terminal) {
  std::string line;
  std::size_t last = cells.size();
  while (last > 0 && cells[last - 1].text == " ") --last;
  for (std::size_t c = 0; c < last; ++c) line += paint(terminal, cells[c].colour, cells[c].text);
  out += line;
}

// Labels under their columns, as many as do not touch; the first and the last are placed before those between.
std::string label_line(const std::vector<std::pair<int, std::string>>& labels, int width) {
  std::vector<std::size_t> order;
  if (!labels.empty()) order.push_back(0);
  if (labels.size() > 1) order.push_back(labels.size() - 1);
  for (std::size_t i = 1; i + 1 < labels.size(); ++i) order.push_back(i);
  std::vector<std::pair<int, std::size_t>> placed;  // first column, which label
  for (const std::size_t i : order) {
    const int columns = display_width(labels[i].second);
    const int start = std::clamp(labels[i].first - columns / 2, 0, std::max(0, width - columns));
    const bool free = std::all_of(placed.begin(), placed.end(), [&](const auto& other) {
      const int other_columns = display_width(labels[other.second].second);
      return start + columns < other.first || other.first + other_columns < start;
    });
    if (free && columns <= width) placed.emplace_back(start, i);
  }
  std::sort(placed.begin(), placed.end());
  std::string line;
  int at = 0;
  for (const auto& [start, i] : placed) {
    line += std::string(static_cast<std::size_t>(start - at), ' ') + labels[i].second;
    at = start + display_width(labels[i].second);
  }
  return line;
}

// Entries one after the other, as many a line as fit.
std::string legend_lines(const std::vector<std::string>& entries, int width) {
  std::string out, line;
  for (const std::string& entry : entries) {
    if (!line.empty() && display_width(line) + 3 + display_width(entry) > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "   ") + cut_to_width(entry, width);
  }
  return line.empty() ? out : out + line + "\n";
}

std::string title_lines(const std::string& title, int width, const Terminal& terminal) {
  std::string out;
  const std::string wrapped = wrap_to_width(title, width);
  for (std::size_t at = 0; at < wrapped.size();) {
    const std::size_t end = std::min(wrapped.find('\n', at), wrapped.size());
    out += paint(terminal, Colour::bold, std::string_view(wrapped).substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return out;
}

// How a matrix is laid out on the terminal.
struct MapLayout {
  bool numbers = false;
  int cell = 1;           // columns per cell, with the gap before a number
  std::size_t block = 1;  // so many rows and columns of the matrix become one cell
  bool vertical = false;  // column labels stand upright, one character a line
};

std::string format_value(const Heatmap& map, double value) {
  const std::string text = fmt::format("{:.{}f}", value, map.digits);
  return text.find_first_not_of("-0.") == std::string::npos && text.front() == '-' ? text.substr(1) : text;
}

int widest(const std::vector<std::string>& texts) {
  int width = 0;
  for (const std::string& text : texts) width = std::max(width, display_width(text));
  return width;
}

MapLayout choose_layout(const Heatmap& map, const MapSize& size, int room) {
  int value_width = 1;
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    if (!is_masked(map, i)) value_width = std::max(value_width, display_width(format_value(map, map.values[i])));
  }
  const int label_width = widest(map.columns);
  const auto fits = [&](int cell, std::size_t block) {
    return (size.columns + block - 1) / block * static_cast<std::size_t>(cell) <= static_cast<std::size_t>(room);
  };
  MapLayout layout;
  if (size.rows <= most_rows) {
    const int with_labels = std::max(value_width, std::min(label_width, 8)) + 1;
    if (fits(with_labels, 1)) return {.numbers = true, .cell = with_labels};
    if (fits(value_width + 1, 1)) return {.numbers = true, .cell = value_width + 1, .vertical = true};
  }
  while (!fits(1, layout.block) || (size.rows + layout.block - 1) / layout.block > most_rows) ++layout.block;
  layout.cell = fits(2, layout.block) ? 2 : 1;
  layout.vertical = label_width > layout.cell;
  return layout;
}

// The largest value of a block of cells, NaN if all of them are masked. A peak must not vanish in an average.
double block_value(const Heatmap& map, const MapSize& size, std::size_t row, std::size_t column, std::size_t block) {
  double largest = std::nan("");
  for (std::size_t r = row * block; r < std::min(size.rows, (row + 1) * block); ++r) {
    for (std::size_t c = column * block; c < std::min(size.columns, (column + 1) * block); ++c) {
      const std::size_t i = r * size.columns + c;
      if (!is_masked(map, i) && !(map.values[i] <= largest)) largest = map.values[i];
    }
  }
  return largest;
}

std::string shade(double share, const Terminal& terminal) {
  static constexpr std::array<const char*, 6> drawn = {" ", "·", "░", "▒", "▓", "█"};
  static constexpr std::string_view ascii = " .:-=+*#%@";
  const int levels = terminal.unicode ? static_cast<int>(drawn.size()) : static_cast<int>(ascii.size());
  const int level = std::clamp(static_cast<int>(share * levels), 0, levels - 1);
  return terminal.unicode ? drawn[static_cast<std::size_t>(level)]
                          : std::string(1, ascii[static_cast<std::size_t>(level)]);
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// The characters of a label, one for each line of an upright label.
std::vector<std::string> characters(const std::string& label) {
  std::vector<std::string> list;
  for (const char c : label) {
    if ((static_cast<unsigned char>(c) & 0xC0u) == 0x80u && !list.empty()) {
      list.back() += c;
    } else {
      list.emplace_back(1, c);
    }
  }
  return list;
}

// The lines of labels above the matrix.
std::string column_header(const Heatmap& map, const MapSize& size, const MapLayout& layout, int indent) {
  const std::size_t cells = (size.columns + layout.block - 1) / layout.block;
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  if (layout.block > 1 || (layout.vertical && layout.cell == 1 && widest(map.columns) > 1 && has_wide(map.columns)) ||
      (map.columns.empty() && !layout.numbers)) {
    std::vector<std::pair<int, std::string>> labels;
    for (std::size_t c = 0; c < cells; ++c) {
      if (c % 5 == 0) { labels.emplace_back(static_cast<int>(c) * layout.cell, column_name(map, c * layout.block)); }
    }
    return margin + label_line(labels, static_cast<int>(cells) * layout.cell) + "\n";
  }
  std::string out;
  if (layout.vertical) {
    std::vector<std::vector<std::string>> upright;
    std::size_t height = 0;
    for (std::size_t c = 0; c < cells; ++c) {
      upright.push_back(characters(column_name(map, c)));
      if (upright.back().size() > 8) upright.back().resize(8);
      height = std::max(height, upright.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::string text = margin;
      for (const auto& label : upright) {
        // Short labels stand at the bottom, next to their column.
        const std::size_t skip = height - label.size();
        const std::string character = line >= skip ? label[line - skip] : "";
        text += layout.numbers ? pad_left(character, layout.cell) : pad_right(character, layout.cell);
      }
      out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    }
    return out;
  }
  std::string text = margin;
  for (std::size_t c = 0; c < cells; ++c) {
    const std::string name = column_name(map, c);
    text += layout.numbers ? pad_left(cut_to_width(name, layout.cell - 1), layout.cell) : pad_right(name, layout.cell);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string draw_text(const LineChart& chart, const Terminal& terminal) {
  check(chart);
  const int width = std::min(terminal.width, widest_picture);
  const int rows = std::clamp(chart.height, 4, 60);
  const ChartAxis y_axis = y_axis_of(chart, std::clamp(rows * 2 / 5, 2, 6));
  int label_width = 0;
  for (const Tick& tick : y_axis.ticks) label_width = std::max(label_width, display_width(tick.text));
  const int columns = std::max(4, width - label_width - 2);
  const ChartAxis x_axis = x_axis_of(chart, std::max(2, columns / 10));

  Grid grid(static_cast<std::size_t>(rows), std::vector<Cell>(static_cast<std::size_t>(columns)));
  for (const ReferenceLine& line : chart.lines) {
    for (Cell& cell : grid[static_cast<std::size_t>(nearest(1 - y_axis.place(line.y), rows))]) {
      cell = {reference_mark(terminal), Colour::dim, -1};
    }
  }
  bool several = false;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    if (series.x.size() <= static_cast<std::size_t>(columns) / 3) draw_trail(grid, series, x_axis, y_axis, terminal, s);
  }
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const std::vector<double> means = column_means(chart.series[s], x_axis, columns);
    for (int c = 0; c < columns; ++c) {
      const double y = means[static_cast<std::size_t>(c)];
      if (std::isfinite(y)) put_mark(grid, nearest(1 - y_axis.place(y), rows), c, terminal, s);
    }
  }

  std::string out = title_lines(chart.title, width, terminal);
  if (!chart.y_label.empty()) out += cut_to_width(chart.y_label, width) + "\n";
  std::vector<std::string> row_labels(static_cast<std::size_t>(rows));
  for (const Tick& tick : y_axis.ticks) {
    row_labels[static_cast<std::size_t>(nearest(1 - y_axis.place(tick.value), rows))] = tick.text;
  }
  for (int r = 0; r < rows; ++r) {
    const std::string& label = row_labels[static_cast<std::size_t>(r)];
    const char* stem = terminal.unicode ? (label.empty() ? "│" : "┤") : (label.empty() ? "|" : "+");
    out += pad_left(label, label_width) + " " + stem;
    append_row(out, grid[static_cast<std::size_t>(r)], terminal);
    out += "\n";
    for (const Cell& cell : grid[static_cast<std::size_t>(r)]) several |= cell.mark_of == static_cast<int>(most_series);
  }
  std::string base;
  std::vector<std::pair<int, std::string>> x_labels;
  for (const Tick& tick : x_axis.ticks) x_labels.emplace_back(nearest(x_axis.place(tick.value), columns), tick.text);
  for (int c = 0; c < columns; ++c) {
    const bool at_tick = std::any_of(x_labels.begin(), x_labels.end(), [&](const auto& l) { return l.first == c; });
    base += terminal.unicode ? (at_tick ? "┬" : "─") : (at_tick ? "+" : "-");
  }
  const std::string margin(static_cast<std::size_t>(label_width + 1), ' ');
  out += margin + (terminal.unicode ? "└" : "+") + base + "\n";
  out += margin + " " + label_line(x_labels, columns) + "\n";
  if (!chart.x_label.empty()) {
    const std::string label = margin + pad_centre(cut_to_width(chart.x_label, columns), columns);
    out += label.substr(0, label.find_last_not_of(' ') + 1) + "\n";
  }

  std::vector<std::string> legend;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    legend.push_back(paint(terminal, series_colours[s], mark(terminal, s)) + " " + chart.series[s].name);
  }
  for (const ReferenceLine& line : chart.lines)
    legend.push_back(repeated(reference_mark(terminal), 2) + " " + line.name);
  if (several) legend.push_back("& " + std::string(tr(chart.lang, "several at one place", "多条重合")));
  return out + legend_lines(legend, width);
}

std::string draw_text(const Heatmap& map, const Terminal& terminal) {
  const MapSize size = check(map);
  const int width = std::min(terminal.width, widest_picture);
  std::string out = title_lines(map.title, width, terminal);
  const std::string directions =
      terminal.unicode ? fmt::format("{} ↓   {} →", map.row_label, map.column_label)
                       : fmt::format(fmt::runtime(tr(map.lang, "{} (down)   {} (right)", "{}（向下）   {}（向右）")),
                                     map.row_label, map.column_label);
  if (!map.row_label.empty() || !map.column_label.empty()) out += wrap_to_width(directions, width) + "\n";
  if (map.values.empty()) return out + std::string(tr(map.lang, "(empty)", "（空）")) + "\n";

  int label_width = 0;
  for (std::size_t r = 0; r < size.rows; ++r) label_width = std::max(label_width, display_width(row_name(map, r)));
  label_width = std::min({label_width, 16, width / 3});
  const MapLayout layout = choose_layout(map, size, width - label_width - 1);
  const Range range = value_range(map);
  const int indent = layout.numbers ? label_width : label_width + 1;
  out += column_header(map, size, layout, indent);

  const std::size_t rows = (size.rows + layout.block - 1) / layout.block;
  const std::size_t columns = (size.columns + layout.block - 1) / layout.block;
  bool any_masked = false;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::string name = cut_to_width(row_name(map, r * layout.block), label_width);
    std::string line = pad_right(map.rows.empty() ? pad_left(name, label_width) : name, indent);
    for (std::size_t c = 0; c < columns; ++c) {
      const double value = block_value(map, size, r, c, layout.block);
      const bool masked = all_masked(map, size, r, c, layout.block);
      any_masked |= masked;
      const double share = range.share(value);
      const Colour colour = masked || share < 0.1 ? Colour::dim : share >= 0.5 ? Colour::bold : Colour::none;
      std::string text;
      if (layout.numbers) {
        text = " " + pad_left(masked ? repeated("/", layout.cell - 1) : format_value(map, value), layout.cell - 1);
      } else if (masked) {
        text = repeated("/", layout.cell);
      } else {
        text = repeated(std::isfinite(value) ? shade(share, terminal) : "?", layout.cell);
      }
      line += paint(terminal, layout.numbers ? colour : Colour::none, text);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }

  std::vector<std::string> legend;
  if (!layout.numbers) {
    std::string ramp;
    const int levels = terminal.unicode ? 6 : 10;
    for (int level = 0; level < levels; ++level) ramp += shade((level + 0.5) / levels, terminal);
    legend.push_back(fmt::format("{} [{}] {}", format_value(map, range.low), ramp, format_value(map, range.high)));
  }
  if (layout.block > 1) {
    legend.push_back(fmt::format(fmt::runtime(tr(map.lang, "one character: the largest of {0} x {0} values",
                                                 "每个字符：{0} x {0} 个值中的最大值")),
                                 layout.block));
  }
  if (any_masked) legend.push_back("// " + std::string(tr(map.lang, "masked", "被遮蔽")));
  return out + legend_lines(legend, width);
}

}  // namespace gradus
