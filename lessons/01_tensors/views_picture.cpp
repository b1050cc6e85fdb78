// The six views as a picture: one row of memory for each, what the view sees of it, and its strides as arcs.
#include "lessons/01_tensors/views_picture.h"

#include <fmt/format.h>

#include "lessons/01_tensors/parts.h"

namespace gradus::lesson01 {

namespace {

constexpr double cell = 58, left = 330, top = 124, height = 128, width = left + 6 * cell + 30;

struct Element {
  std::int64_t i = 0, j = 0, place = 0;
};
// Of a matrix, row after row.
std::vector<Element> elements(const View& view) {
  std::vector<Element> all;
  for (std::int64_t i = 0; i < view.shape[0]; ++i) {
    for (std::int64_t j = 0; j < view.shape[1]; ++j) all.push_back({i, j, taught_parts().place(view, Extents{i, j})});
  }
  return all;
}

double x_of(std::int64_t place) { return left + cell * static_cast<double>(place); }

// From one place in memory to another, over the cells; from a place to itself it is a loop.
std::string arc(std::int64_t from, std::int64_t to, double y, double rise, const char* look, const std::string& label) {
  const double x1 = x_of(from) + cell / 2, x2 = x_of(to) + cell / 2, spread = from == to ? 26 : 0;
  return fmt::format(
      "<path d=\"M{:.1f},{:.1f} C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" fill=\"none\" {}/>"
      "<path d=\"M{:.1f},{:.1f} l-4,-7 h8 z\" fill=\"#222222\"/>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"12\">{}</text>\n",
      x1, y, x1 - spread, y - rise, x2 + spread, y - rise, x2, y - 4, look, x2, y, (x1 + x2) / 2, y - rise * 0.75 - 4,
      label);
}

std::string one_view(const NamedView& named, double y, Lang lang) {
  const View& view = named.view;
  const std::vector<Element> seen = elements(view);
  std::string out = fmt::format(
      "<text x=\"20\" y=\"{:.1f}\" font-weight=\"bold\">{}</text>"
      "<text x=\"20\" y=\"{:.1f}\">{} ({}, {})</text>"
      "<text x=\"20\" y=\"{:.1f}\">{} ({}, {}), {} {}</text>\n",
      y + 10, named.name, y + 30, tr(lang, "shape", "形状"), view.shape[0], view.shape[1], y + 48,
      tr(lang, "strides", "步长"), view.strides[0], view.strides[1], tr(lang, "offset", "偏移"), view.offset);
  for (std::int64_t place = 0; place < 6; ++place) {
    std::string names;  // of the elements that are here
    double below = y + 46;
    for (const Element& e : seen) {
      if (e.place != place) continue;
      names += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#0072b2\">({}, {})</text>",
          x_of(place) + cell / 2, below, e.i, e.j);
      below += 13;
    }
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"30\" fill=\"{}\" stroke=\"#222222\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"15\">{}</text>{}\n",
        x_of(place), y, cell, names.empty() ? "#ffffff" : "#dbe9f6", x_of(place) + cell / 2, y + 20, place + 1, names);
  }
  const std::int64_t first = seen.front().place;
  if (view.shape[1] > 1) {
    out += arc(first, taught_parts().place(view, Extents{0, 1}), y, 26, "stroke=\"#222222\"",
               std::to_string(view.strides[1]));
  }
  if (view.shape[0] > 1) {
    out += arc(first, taught_parts().place(view, Extents{1, 0}), y, 60, "stroke=\"#222222\" stroke-dasharray=\"5 3\"",
               std::to_string(view.strides[0]));
  }
  return out;
}

}  // namespace

std::string views_svg(const std::vector<NamedView>& views, Lang lang) {
  const double bottom = top + height * static_cast<double>(views.size()) - 60;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "font-family=\"system-ui, 'DejaVu Sans', 'Noto Sans CJK SC', 'Noto Sans', sans-serif\" font-size=\"13\" "
      "fill=\"#222222\">\n<title>{2}</title>\n<desc>{3}</desc>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n<text x=\"20\" y=\"28\" font-size=\"16\" font-weight=\"bold\">{2}</text>\n<text x=\"20\" "
      "y=\"50\">{4}</text>\n",
      width, bottom, tr(lang, "Six numbers in memory, and six views of them", "内存里的六个数，和它们的六个视图"),
      tr(lang,
         "For each view the row of memory; what the view sees is shaded, with the elements below. A solid arc is a "
         "step "
         "along the last axis, a dashed arc one along the first.",
         "每个视图一行内存；视图看到的部分有底色，下面写着是哪些元素。实线弧是沿最后一个轴走一步，虚线弧是沿第一个轴走"
         "一步。"),
      tr(lang, "solid arc: a step along the last axis; dashed: along the first; below: which element it is",
         "实线弧：沿最后一个轴走一步；虚线弧：沿第一个轴；下面：这是哪个元素"));
  for (std::size_t k = 0; k < views.size(); ++k) {
    out += one_view(views[k], top + height * static_cast<double>(k), lang);
  }
  return out + "</svg>\n";
}

std::string views_csv(const std::vector<NamedView>& views) {
  std::string out = "view,row,column,place,number\n";
  for (const NamedView& named : views) {
    for (const Element& e : elements(named.view))
      out += fmt::format("\"{}\",{},{},{},{}\n", named.name, e.i, e.j, e.place, e.place + 1);
  }
  return out;
}

}  // namespace gradus::lesson01
