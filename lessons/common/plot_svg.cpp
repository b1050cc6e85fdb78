// Curves and matrices as SVG files that need nothing else: no script, no style sheet, no font of their own.
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

constexpr std::string_view font = "system-ui, 'DejaVu Sans', 'Noto Sans CJK SC', 'Noto Sans', sans-serif";
constexpr std::string_view ink = "#222222";
constexpr std::string_view faint = "#d9d9d9";

// Colours that stay apart under the common kinds of colour blindness (Okabe and Ito 2008), dark ones first.
constexpr std::array<std::string_view, most_series> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                               "#000000", "#56b4e9", "#e69f00", "#7f7f7f"};
constexpr std::array<std::string_view, most_series> dashes = {"",    "7 4",  "2 3", "10 3 2 3",
                                                              "4 2", "12 4", "1 2", "6 2 1 2 1 2"};

// Text for XML: no control characters, no markup.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A coordinate: two digits are a hundredth of a pixel.
std::string at(double value) {
  const std::string text = fmt::format("{:.2f}", value);
  return text == "-0.00" ? "0.00" : text;
}

std::string opening(double width, double height, std::string_view title, std::string_view description) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "font-family=\"{2}\" font-size=\"13\" fill=\"{3}\">\n<title>{4}</title>\n<desc>{5}</desc>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      std::lround(width), std::lround(height), font, ink, xml(title), xml(description));
}

struct TextStyle {
  std::string_view anchor = "start";
  int size = 13;
  std::string_view colour = ink;
  double turned = 0;  // degrees around its own place
  bool bold = false;
};

std::string text_at(double x, double y, std::string_view text, const TextStyle& style = {}) {
  std::string out = fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"{}\"", at(x), at(y),
                                style.anchor, style.size, style.colour);
  if (style.bold) out += " font-weight=\"bold\"";
  if (style.turned != 0) out += fmt::format(" transform=\"rotate({} {} {})\"", style.turned, at(x), at(y));
  return out + ">" + xml(text) + "</text>\n";
}

std::string line_at(double x1, double y1, double x2, double y2, std::string_view colour, double width,
                    std::string_view dash = "") {
  std::string out = fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"",
                                at(x1), at(y1), at(x2), at(y2), colour, width);
  if (!dash.empty()) out += fmt::format(" stroke-dasharray=\"{}\"", dash);
  return out + "/>\n";
}

// The mark of a curve, as a path around its point; odd ones are hollow.
std::string mark_at(double x, double y, std::size_t series) {
  constexpr double r = 4;
  std::string path;
  switch (series / 2) {
    case 0:
      path = fmt::format("M{0} {1}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0z", at(x - r), at(y), r, 2 * r);
      break;
    case 1:
      path = fmt::format("M{} {}l{} {}h-{}z", at(x), at(y - r), r, 2 * r - 1, 2 * r);
      break;
    case 2:
      path = fmt::format("M{} {}h{}v{}h-{}z", at(x - 3.5), at(y - 3.5), 7, 7, 7);
      break;
    default:
      path = fmt::format("M{} {}l{} {}l-{} {}l-{} -{}z", at(x), at(y - 5), 4, 5, 4, 5, 4, 5);
  }
  return fmt::format("<path d=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path,
                     series % 2 == 0 ? colours[series] : "#ffffff", colours[series]);
}

double text_width(std::string_view text, int size = 13) { return display_width(text) * size * 0.56 + 1; }

std::string y_text(const LineChart& chart, double y) {
  return chart.percent ? format_number(std::round(y * 100000) / 1000) + " %" : format_number(y);
}

// Lines to compare with have one colour; the second has longer dashes.
const char* reference_dash(std::size_t line) { return line == 0 ? "3 4" : "12 4"; }

// What a screen reader says: each curve's first, last, lowest and highest point, or all of a few.
std::string describe(const LineChart& chart) {
  std::string out = fmt::format("{}; {}.", chart.y_label, chart.x_label);
  for (const Series& series : chart.series) {
    out += " " + series.name + ":";
    const std::size_t count = series.x.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (count > 24 && i % ((count + 11) / 12) != 0 && i + 1 != count) continue;
      out += fmt::format(" {} {}{}", std::isfinite(series.x[i]) ? format_number(series.x[i]) : "-",
                         std::isfinite(series.y[i]) ? y_text(chart, series.y[i]) : "-", i + 1 < count ? "," : ".");
    }
  }
  for (const ReferenceLine& line : chart.lines) out += fmt::format(" {}: {}.", line.name, y_text(chart, line.y));
  return out;
}

// A shade from nearly white to dark blue; lightness falls evenly, so that it also works in grey.
std::string map_colour(double share) {
  const auto mix = [&](double light, double dark) {
    return static_cast<int>(std::lround(light + share * (dark - light)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(247, 8), mix(251, 48), mix(255, 107));
}

std::string map_number(const Heatmap& map, double value) {
  const std::string text = fmt::format("{:.{}f}", value, map.digits);
  return text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos ? text.substr(1) : text;
}

// Every so many labels are written, so that they do not touch; numbers in steps of 1, 2, 5, 10, ...
std::size_t label_step(double least, bool numbered) {
  std::size_t step = 1;
  while (static_cast<double>(step) < least) {
    const bool two_to_five = numbered && (step == 2 || step == 20 || step == 200);
    step = !numbered ? step + 1 : two_to_five ? step / 2 * 5 : step * 2;
  }
  return step;
}

std::string hatched(double x, double y, double cell) {
  std::string path;
  for (double offset = 0; offset < cell; offset += std::max(4.0, cell / 4)) {
    path += fmt::format("M{} {}L{} {}", at(x), at(y + cell - offset), at(x + cell - offset), at(y));
    if (offset > 0) path += fmt::format("M{} {}L{} {}", at(x + offset), at(y + cell), at(x + cell), at(y + offset));
  }
  return fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f4f4f4\"/><path d=\"{}\" "
      "stroke=\"#999999\" stroke-width=\"1\"/>\n",
      at(x), at(y), at(cell), at(cell), path);
}

}  // namespace

std::string draw_svg(const LineChart& chart) {
  check(chart);
  constexpr double width = 720, height = 420, right = 24, bottom_axis = 56;
  const ChartAxis y_axis = y_axis_of(chart, 6);
  const ChartAxis x_axis = x_axis_of(chart, 9);
  double labels = 0;
  for (const Tick& tick : y_axis.ticks) labels = std::max(labels, text_width(tick.text));
  const double left = labels + 44, top = 48;

  // The legend stands below the axis, in as many rows as it needs.
  struct Entry {
    double x, row;
  };
  std::vector<Entry> places;
  std::vector<std::string> names;
  for (const Series& series : chart.series) names.push_back(series.name);
  for (const ReferenceLine& line : chart.lines) names.push_back(line.name);
  double legend_x = left, legend_row = 0;
  for (const std::string& name : names) {
    const double need = 44 + text_width(name) + 18;
    if (legend_x > left && legend_x + need > width - right) {
      legend_x = left;
      ++legend_row;
    }
    places.push_back({legend_x, legend_row});
    legend_x += need;
  }
  const double legend_height = names.empty() ? 0 : 22 * (legend_row + 1);
  const double plot_bottom = height - bottom_axis - legend_height;
  const auto x_of = [&](double x) { return left + x_axis.place(x) * (width - right - left); };
  const auto y_of = [&](double y) { return plot_bottom - y_axis.place(y) * (plot_bottom - top); };

  std::string out = opening(width, height, chart.title, describe(chart));
  out += text_at(left, 26, chart.title, {.size = 16, .bold = true});
  for (const Tick& tick : y_axis.ticks) {
    out += line_at(left, y_of(tick.value), width - right, y_of(tick.value), faint, 1);
    out += text_at(left - 8, y_of(tick.value) + 4.5, tick.text, {.anchor = "end"});
  }
  double last_end = -1;
  for (const Tick& tick : x_axis.ticks) {
    const double x = x_of(tick.value), half = text_width(tick.text) / 2;
    out += line_at(x, plot_bottom, x, plot_bottom + 5, ink, 1);
    if (x - half < last_end + 4) continue;
    out += text_at(x, plot_bottom + 20, tick.text, {.anchor = "middle"});
    last_end = x + half;
  }
  out += line_at(left, plot_bottom, width - right, plot_bottom, ink, 1.2);
  out += line_at(left, top, left, plot_bottom, ink, 1.2);
  out += text_at((left + width - right) / 2, plot_bottom + 42, chart.x_label, {.anchor = "middle"});
  out += text_at(18, (top + plot_bottom) / 2, chart.y_label, {.anchor = "middle", .turned = -90});

  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    const double y = y_of(chart.lines[i].y);
    out += line_at(left, y, width - right, y, "#555555", 1.5, reference_dash(i));
  }
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    std::string path;
    bool pen_down = false;
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) {
        pen_down = false;
        continue;
      }
      path += fmt::format("{}{} {}", pen_down ? "L" : "M", at(x_of(series.x[i])), at(y_of(series.y[i])));
      pen_down = true;
    }
    if (path.empty()) continue;
    out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-linejoin=\"round\"{}/>\n",
                       path, colours[s], dashes[s].empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dashes[s]));
    // Marks on about a dozen points, shifted from curve to curve, so that they do not cover each other.
    const std::size_t every = std::max<std::size_t>(1, series.x.size() / 12);
    const std::size_t shift = every > 1 ? s * every / most_series : 0;
    for (std::size_t i = shift; i < series.x.size(); i += every) {
      if (std::isfinite(series.x[i]) && std::isfinite(series.y[i]))
        out += mark_at(x_of(series.x[i]), y_of(series.y[i]), s);
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double x = places[i].x, y = height - legend_height + 22 * places[i].row + 6;
    const bool is_series = i < chart.series.size();
    out += line_at(x, y, x + 34, y, is_series ? colours[i] : "#555555", 2,
                   is_series ? dashes[i] : reference_dash(i - chart.series.size()));
    if (is_series) out += mark_at(x + 17, y, i);
    out += text_at(x + 42, y + 4.5, names[i]);
  }
  return out + "</svg>\n";
}

std::string draw_svg(const Heatmap& map) {
  const MapSize size = check(map);
  const Range range = value_range(map);
  const double cell =
      std::clamp(640.0 / static_cast<double>(std::max<std::size_t>({size.columns, size.rows, 1})), 6.0, 44.0);
  double row_labels = 0, column_labels = 0;
  for (std::size_t r = 0; r < size.rows; ++r) row_labels = std::max(row_labels, text_width(row_name(map, r)));
  for (std::size_t c = 0; c < size.columns; ++c)
    column_labels = std::max(column_labels, text_width(column_name(map, c)));
  // Numbered axes leave out labels that would touch; words are turned upright instead.
  const bool turned = !map.columns.empty() && column_labels + 4 > cell;
  const std::size_t column_step = label_step((turned ? 15 : column_labels + 6) / cell, map.columns.empty());
  const std::size_t row_step = label_step(15 / cell, map.rows.empty());
  const double label_height = turned ? column_labels + 10 : 22;
  const double left = row_labels + 44, top = 44 + 22 + label_height;
  const double map_width = cell * static_cast<double>(size.columns), map_height = cell * static_cast<double>(size.rows);
  const double width = std::max({left + map_width + 24, left + 330.0, text_width(map.title, 16) * 1.1 + left + 10});
  const double height = top + map_height + 62;
  const bool numbers = !map.values.empty() && cell >= 30;

  const std::size_t masked_count = static_cast<std::size_t>(std::count(map.masked.begin(), map.masked.end(), true));
  std::string description = fmt::format("{} x {}: {}, {}.", size.rows, size.columns, map.row_label, map.column_label);
  for (std::size_t r = 0; r < size.rows && size.columns > 0 && map.values.size() <= 1600; ++r) {
    std::size_t best = size.columns;
    for (std::size_t c = 0; c < size.columns; ++c) {
      const std::size_t i = r * size.columns + c;
      if (is_masked(map, i) || !std::isfinite(map.values[i])) continue;
      if (best == size.columns || map.values[i] > map.values[r * size.columns + best]) best = c;
    }
    if (best == size.columns) continue;
    description += fmt::format(" {}: {} {}.", row_name(map, r), column_name(map, best),
                               map_number(map, map.values[r * size.columns + best]));
  }

  std::string out = opening(width, height, map.title, description);
  out += text_at(left, 26, map.title, {.size = 16, .bold = true});
  out += text_at(left + map_width / 2, 56, map.column_label, {.anchor = "middle"});
  out += text_at(18, top + map_height / 2, map.row_label, {.anchor = "middle", .turned = -90});
  for (std::size_t c = 0; c < size.columns; c += column_step) {
    const double x = left + cell * (static_cast<double>(c) + 0.5);
    out += turned ? text_at(x + 4.5, top - 8, column_name(map, c), {.turned = -90})
                  : text_at(x, top - 8, column_name(map, c), {.anchor = "middle"});
  }
  for (std::size_t r = 0; r < size.rows; r += row_step) {
    out += text_at(left - 8, top + cell * (static_cast<double>(r) + 0.5) + 4.5, row_name(map, r), {.anchor = "end"});
  }
  out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#999999\"/>\n", at(left),
                     at(top), at(map_width), at(map_height), map_colour(0));
  for (std::size_t r = 0; r < size.rows; ++r) {
    for (std::size_t c = 0; c < size.columns; ++c) {
      const std::size_t i = r * size.columns + c;
      const double x = left + cell * static_cast<double>(c), y = top + cell * static_cast<double>(r);
      if (is_masked(map, i)) {
        out += hatched(x, y, cell);
        continue;
      }
      const bool finite = std::isfinite(map.values[i]);
      const double share = range.share(map.values[i]);
      const std::string colour = finite ? map_colour(share) : "#ffd0d0";
      // The ground has the lightest shade already; a wide matrix is mostly that.
      if (colour != map_colour(0)) {
        out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", at(x), at(y), at(cell),
                           at(cell), colour);
      }
      if (numbers || !finite) {
        out += text_at(x + cell / 2, y + cell / 2 + 4, finite ? map_number(map, map.values[i]) : "?",
                       {.anchor = "middle", .size = 11, .colour = share > 0.5 ? "#ffffff" : ink});
      }
    }
  }
  const double legend_y = top + map_height + 24;
  constexpr int swatches = 10;
  double x = left;
  out += text_at(x, legend_y + 12, map_number(map, range.low));
  x += text_width(map_number(map, range.low)) + 6;
  for (int i = 0; i < swatches; ++i) {
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"16\" fill=\"{}\"/>\n", at(x + 14 * i),
                       at(legend_y), map_colour(static_cast<double>(i) / (swatches - 1)));
  }
  out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"16\" fill=\"none\" stroke=\"#999999\"/>\n", at(x),
                     at(legend_y), 14 * swatches);
  x += 14 * swatches + 6;
  out += text_at(x, legend_y + 12, map_number(map, range.high));
  if (masked_count > 0) {
    x += text_width(map_number(map, range.high)) + 24;
    out += hatched(x, legend_y, 16);
    out += text_at(x + 24, legend_y + 12, tr(map.lang, "masked", "被遮蔽"));
  }
  return out + "</svg>\n";
}

}  // namespace gradus
