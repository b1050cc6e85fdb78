// Curves and matrices, drawn as text for the terminal and as SVG for a page, from the same numbers. The same input
// gives the same bytes everywhere.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lessons/common/terminal.h"

namespace gradus {

// One curve. x and y have the same length; a y that is not finite leaves a gap.
struct Series {
  std::string name;
  std::vector<double> x, y;
};

// A horizontal line to compare with, such as the chance level.
struct ReferenceLine {
  std::string name;
  double y = 0;
};

struct LineChart {
  std::string title;
  std::string x_label, y_label;
  std::vector<Series> series;  // at most 8, each with its own mark, dash and colour
  std::vector<ReferenceLine> lines = {};
  std::optional<double> y_min = {}, y_max = {};  // else from the data
  bool percent = false;                          // y from 0 to 1 is labelled 0 % to 100 %
  bool x_log = false;                            // logarithmic axes: values must be > 0
  bool y_log = false;
  int height = 16;       // rows of the text picture's plotting area
  Lang lang = Lang::en;  // of the words that the picture adds by itself
};

// Rows go down, columns to the right: of an alignment, decoder steps down and encoder positions to the right.
struct Heatmap {
  std::string title;
  std::string row_label, column_label;        // what the rows and the columns are
  std::vector<std::string> rows, columns;     // a label each, any language; empty: 0, 1, 2, ...
  std::vector<double> values;                 // row after row; rows * columns of them
  std::vector<bool> masked = {};              // as long as values, or empty; true: hatched, its value is not looked at
  std::optional<double> low = {}, high = {};  // what the lightest and the darkest shade stand for, else from the data
  int digits = 2;                             // digits after the point where numbers are shown
  std::size_t row_count = 0, column_count = 0;  // needed only where `rows` or `columns` is empty
  Lang lang = Lang::en;                         // of the words that the picture adds by itself
};

// The picture as lines of at most min(terminal.width, 80) columns, newline at the end. A matrix is drawn with its
// numbers where there is room for them, else with shades, else by blocks of cells (and says so).
// Throws std::invalid_argument where lengths do not agree.
std::string draw_text(const LineChart& chart, const Terminal& terminal);
std::string draw_text(const Heatmap& map, const Terminal& terminal);

// A whole SVG file: title and description for screen readers, colours that the colour-blind can tell apart, and marks,
// dashes or numbers beside them.
std::string draw_svg(const LineChart& chart);
std::string draw_svg(const Heatmap& map);

// The numbers behind the picture as CSV: series,x,y or row,column,value (masked cells have an empty value).
std::string to_csv(const LineChart& chart);
std::string to_csv(const Heatmap& map);

// Writes FILE (ending in .svg) and the numbers beside it as .csv, each atomically. Throws FileError with path
// and cause.
void save_plot(const LineChart& chart, const std::filesystem::path& file);
void save_plot(const Heatmap& map, const std::filesystem::path& file);

}  // namespace gradus
