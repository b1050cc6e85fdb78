// Pictures of probes.
#include "nn/conventions/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "nn/conventions/probes_tools.h"

namespace gradus {
namespace {

std::string cell_text(double value) {
  if (value == 0) return ".";
  const double size = std::fabs(value);
  return size >= 0.01 && size < 1000 ? fmt::format("{:.3f}", value) : fmt::format("{:.0e}", value);
}

// How dark: an exact zero is a dot, everything else grows with its size against the largest.
const char* shade(double value, double top) {
  if (value == 0) return "·";
  const double part = std::fabs(value) / top;
  return part < 1e-3 ? "░" : part < 0.03 ? "▒" : part < 0.3 ? "▓" : "█";
}

// Length of the UTF-8 character at the front, and whether it is one of Chinese text, which takes two columns.
struct Letter {
  std::size_t bytes = 1;
  bool wide = false;
};
Letter first_letter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const bool wide = bytes == 3 && ((lead >= 0xe4 && lead <= 0xe9) || text.substr(0, 2) == "\xe3\x80" || lead == 0xef);
  return {std::min(bytes, text.size()), wide};
}

// Lines of at most `width` columns, broken at spaces and between Chinese characters; the second and later ones
// indented.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out, line, word;
  std::size_t line_columns = 0, word_columns = 0, gap = 0;
  const auto place_word = [&] {
    if (line_columns > 0 && line_columns + gap + word_columns > width) {
      out += line + "\n";
      line = "  ", line_columns = 2, gap = 0;
    }
    line += std::string(gap, ' ') + word;
    line_columns += gap + word_columns;
    word.clear(), word_columns = gap = 0;
  };
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = first_letter(std::string_view(text).substr(at));
    const std::string piece = text.substr(at, letter.bytes);
    static const std::string closing = "，。；：？）、”";
    if (piece == " ") {
      place_word();
      gap = 1;
    } else {
      if (letter.wide && closing.find(piece) == std::string::npos) place_word();
      word += piece, word_columns += letter.wide ? 2 : 1;
    }
    at += letter.bytes;
  }
  place_word();
  return out + line + "\n";
}

}  // namespace

std::string Probe::picture(int width, Lang lang) const {
  const Said verdict = passed     ? Said{": PASSED: ", "：通过："}
                       : can_tell ? Said{": FAILED: ", "：不通过："}
                                  : Said{": CANNOT TELL: ", "：无法判断："};
  const std::string head = name + verdict.in(lang);
  std::string out = wrapped(head + sentence.in(lang), static_cast<std::size_t>(std::max(width, 20)));
  if (matrix.values.empty()) return out;
  std::size_t label = 0, column = 6;
  for (const std::string& text : matrix.rows) label = std::max(label, text.size());
  for (const std::string& text : matrix.columns) column = std::max(column, text.size());
  for (double value : matrix.values) column = std::max(column, cell_text(value).size());
  const auto room = static_cast<std::size_t>(std::max(width, 20)) - std::min<std::size_t>(label + 3, 19);
  const double top = probing::largest(matrix);
  if (matrix.columns.size() * (column + 2) <= room) {
    out += std::string(label + 2, ' ');
    for (const std::string& text : matrix.columns) out += fmt::format("  {:>{}}", text, column);
    for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
      out += fmt::format("\n  {:<{}}", matrix.rows[r], label);
      for (std::size_t c = 0; c < matrix.columns.size(); ++c) {
        out += fmt::format("  {:>{}}", cell_text(matrix.at(r, c)), column);
      }
    }
    return out + "\n";
  }
  const std::size_t shown = std::min(matrix.columns.size(), room);
  const bool all = shown == matrix.columns.size();
  const Said legend = {"columns {} to {}{}; · is exactly 0, ░ ▒ ▓ █ up to {}",
                       "第 {} 到 {} 列{}；· 恰好为 0，░ ▒ ▓ █ 直到 {}"};
  out += wrapped(fmt::format(fmt::runtime(legend.in(lang)), matrix.columns.front(), matrix.columns[shown - 1],
                             all ? "" : Said{" (of more)", "（还有更多）"}.in(lang), cell_text(top)),
                 static_cast<std::size_t>(std::max(width, 20)) - 2);
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    out += fmt::format("  {:<{}} ", matrix.rows[r], label);
    for (std::size_t c = 0; c < shown; ++c) out += shade(matrix.at(r, c), top);
    out += "\n";
  }
  return out;
}

}  // namespace gradus
