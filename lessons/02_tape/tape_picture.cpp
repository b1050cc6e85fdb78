// Draws a tape.
#include "lessons/02_tape/tape_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lessons/common/terminal.h"

namespace gradus::lesson02 {
namespace {

std::string six(double value) { return fmt::format("{:.6f}", std::fabs(value) < 5e-7 ? 0.0 : value); }

// Names of steps are letters, digits and operators; only these need care in XML.
std::string xml(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

struct Place {
  double x = 0, y = 0;
};

constexpr double width = 118, height = 58, gap_x = 60, gap_y = 22, margin = 20, top = 72;

std::vector<Place> places(const Tape& tape) {
  std::vector<std::size_t> depth, used;
  std::vector<Place> result;
  for (const Step& step : tape.steps) {
    std::size_t column = 0;
    for (std::size_t input : step.inputs) column = std::max(column, depth[input] + 1);
    depth.push_back(column);
    used.resize(std::max(used.size(), column + 1));
    const double row = static_cast<double>(used[column]++);
    result.push_back({margin + static_cast<double>(column) * (width + gap_x), top + row * (height + gap_y)});
  }
  return result;
}

}  // namespace

std::string tape_text(const Tape& tape, Lang lang) {
  std::string out = pad_left(tr(lang, "step", "步"), 6) + "  " + pad_right("", 6) +
                    pad_left(tr(lang, "value", "值"), 12) + pad_left(tr(lang, "gradient", "梯度"), 12) + "  " +
                    std::string(tr(lang, "from", "来自")) + "\n";
  for (std::size_t i = 0; i < tape.steps.size(); ++i) {
    const Step& step = tape.steps[i];
    std::string line = fmt::format("{:>6}  {:<6}{:>12}{:>12} ", i, step.op, six(step.value), six(step.grad));
    for (std::size_t input : step.inputs) line += fmt::format(" {}", input);
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string tape_svg(const Tape& tape, const std::string& title, Lang lang) {
  const std::vector<Place> place = places(tape);
  double right = 0, bottom = 0;
  for (const Place& p : place) {
    right = std::max(right, p.x + width + margin);
    bottom = std::max(bottom, p.y + height + margin);
  }
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "font-family=\"system-ui, 'DejaVu Sans', 'Noto Sans CJK SC', 'Noto Sans', sans-serif\" font-size=\"13\" "
      "fill=\"#222222\">\n<title>{2}</title>\n<desc>{3}</desc>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n"
      "<text x=\"{4}\" y=\"28\" font-size=\"16\" font-weight=\"bold\">{2}</text>\n",
      right, bottom, xml(title),
      tr(lang, "Each box is a step with its value and its gradient; arrows lead from its inputs.",
         "每个方框是一步，写着值和梯度；箭头来自它的输入。"),
      margin);
  for (std::size_t i = 0; i < place.size(); ++i) {
    const std::vector<std::size_t>& inputs = tape.steps[i].inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Place from = place[inputs[k]], to = place[i];
      const double x1 = from.x + width, y1 = from.y + height / 2, x2 = to.x - 7,
                   y2 = to.y + height * static_cast<double>(k + 1) / static_cast<double>(inputs.size() + 1);
      // An arrow that passes a column goes over the boxes in it.
      const bool passes = to.x - from.x > 1.5 * (width + gap_x);
      const double y3 = passes ? std::min(y1, y2) - height : y1, y4 = passes ? y3 : y2;
      out += fmt::format(
          "<path d=\"M{:.1f},{:.1f} C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" fill=\"none\" stroke=\"#7f7f7f\"/>"
          "<path d=\"M{:.1f},{:.1f} l-7,-4 v8 z\" fill=\"#7f7f7f\"/>\n",
          x1, y1, x1 + gap_x / 2, y3, x2 - gap_x / 2, y4, x2, y2, to.x, y2);
    }
  }
  for (std::size_t i = 0; i < place.size(); ++i) {
    const Step& step = tape.steps[i];
    out += fmt::format(
        "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" rx=\"{4}\" fill=\"#f7f7f7\" stroke=\"#222222\"/>"
        "<text x=\"{5}\" y=\"{6}\" font-weight=\"bold\">{7}  {8}</text>"
        "<text x=\"{5}\" y=\"{9}\">{10}</text><text x=\"{5}\" y=\"{11}\" fill=\"#0072b2\">{12} {13}</text>\n",
        place[i].x, place[i].y, width, height, step.inputs.empty() ? 12 : 2, place[i].x + 8, place[i].y + 18, i,
        xml(step.op), place[i].y + 34, six(step.value), place[i].y + 50, tr(lang, "grad", "梯度"), six(step.grad));
  }
  return out + "</svg>\n";
}

}  // namespace gradus::lesson02
