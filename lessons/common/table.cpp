// Aligned tables: widths are counted in columns of the terminal, not in bytes.
#include "lessons/common/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gradus {

namespace {

constexpr int column_gap = 2;  // columns between two columns of the table
constexpr int narrowest = 8;   // of a column whose text is wrapped

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void trim_right(std::string& line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
}

}  // namespace

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string shown = fmt::format("{:.{}f}", value, digits);
  return shown.find_first_of("123456789") == std::string::npos ? fmt::format("{:.{}f}", 0.0, digits) : shown;
}

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

Table::Table(std::vector<std::string> headings, std::vector<Align> aligns)
    : headings_(std::move(headings)), aligns_(std::move(aligns)) {
  aligns_.resize(headings_.size(), Align::left);
}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != headings_.size()) {
    throw std::invalid_argument(fmt::format("table: a row with {} cells for {} columns; give one cell a column",
                                            cells.size(), headings_.size()));
  }
  rows_.push_back(std::move(cells));
}

// For terminals without room for columns: the first cell of a row, and below it the others after their headings.
std::string Table::stacked(const Terminal& terminal, int room) const {
  std::string out;
  for (const auto& row : rows_) {
    out += paint(terminal, Colour::bold, wrap_to_width(row[0], room)) + "\n";
    for (std::size_t c = 1; c < row.size(); ++c) {
      const std::string cell = headings_[c].empty() ? row[c] : headings_[c] + " " + row[c];
      for (const std::string& line : split_lines(wrap_to_width(cell, room - column_gap))) {
        if (!line.empty()) out += std::string(column_gap, ' ') + line + "\n";
      }
    }
  }
  return out;
}

std::string Table::text(const Terminal& terminal) const {
  const std::size_t columns = headings_.size();
  if (columns == 0) return "";
  std::vector<int> widths(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    widths[c] = display_width(headings_[c]);
    for (const auto& row : rows_) {
      for (const std::string& line : split_lines(row[c])) widths[c] = std::max(widths[c], display_width(line));
    }
  }
  const int room = std::min(terminal.width, 80);
  int least = column_gap * static_cast<int>(columns - 1);
  for (std::size_t c = 0; c < columns; ++c) {
    least += aligns_[c] == Align::left ? std::min(widths[c], narrowest) : widths[c];
  }
  if (least > room) return stacked(terminal, room);
  // Too wide: take from the widest left column (its text is wrapped), and from any column when the left ones are
  // narrow.
  int total = column_gap * static_cast<int>(columns - 1);
  for (const int width : widths) total += width;
  while (total > room) {
    std::size_t widest = columns;
    for (std::size_t c = 0; c < columns; ++c) {
      if (aligns_[c] == Align::left && widths[c] > narrowest && (widest == columns || widths[c] > widths[widest])) {
        widest = c;
      }
    }
    --widths[widest];
    --total;
  }

  std::string out;
  const auto append_row = [&](const std::vector<std::string>& cells, Colour colour) {
    std::vector<std::vector<std::string>> lines(columns);
    std::size_t height = 1;
    for (std::size_t c = 0; c < columns; ++c) {
      lines[c] = display_width(cells[c]) > widths[c] || cells[c].find('\n') != std::string::npos
                     ? split_lines(wrap_to_width(cells[c], widths[c]))
                     : std::vector<std::string>{cells[c]};
      height = std::max(height, lines[c].size());
    }
    for (std::size_t i = 0; i < height; ++i) {
      std::string line;
      for (std::size_t c = 0; c < columns; ++c) {
        const std::string cell = i < lines[c].size() ? lines[c][i] : "";
        if (c > 0) line += std::string(column_gap, ' ');
        line += aligns_[c] == Align::right ? pad_left(cell, widths[c]) : pad_right(cell, widths[c]);
      }
      trim_right(line);
      out += paint(terminal, colour, line) + "\n";
    }
  };
  append_row(headings_, Colour::bold);
  std::string rule;
  for (std::size_t c = 0; c < columns; ++c) {
    if (c > 0) rule += std::string(column_gap, ' ');
    for (int i = 0; i < widths[c]; ++i) rule += terminal.unicode ? "─" : "-";
  }
  out += paint(terminal, Colour::dim, rule) + "\n";
  for (const auto& row : rows_) append_row(row, Colour::none);
  return out;
}

}  // namespace gradus
