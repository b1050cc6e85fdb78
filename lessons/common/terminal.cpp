// Terminal properties and the width of text on it.
#include "lessons/common/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace gradus {

namespace {

struct Range {
  std::uint32_t first, last;
};

// Code points that take no column: combining marks, joiners, direction marks, variation selectors.
constexpr std::array<Range, 22> no_columns = {{
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F}, {0x0670, 0x0670},
    {0x06D6, 0x06DC}, {0x0900, 0x0902}, {0x093C, 0x093C}, {0x0941, 0x0948},   {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E},   {0x2060, 0x2064}, {0x20D0, 0x20F0},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
}};

// Code points that take two: Unicode's East Asian Width classes W and F, in coarse blocks, and emoji.
constexpr std::array<Range, 21> two_columns = {{
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC}, {0x2614, 0x2615}, {0x2705, 0x2705},
    {0x274C, 0x274E},   {0x2E80, 0x303E},   {0x3041, 0x4DBF},   {0x4E00, 0xA4CF}, {0xA960, 0xA97C}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
}};

template <std::size_t N> bool in_ranges(const std::array<Range, N>& ranges, std::uint32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](std::uint32_t value, const Range& range) { return value < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

// What stands at the front of a text: a character, a colour sequence, or a byte that is no UTF-8.
struct Piece {
  std::size_t bytes = 0;
  int columns = 0;
  std::uint32_t code = 0;
  bool is_sequence = false;
  bool is_broken = false;
};

Piece first_piece(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(text[i]); };
  if (text.size() >= 2 && text[0] == '\x1b' && text[1] == '[') {
    std::size_t end = 2;
    while (end < text.size() && (byte(end) < 0x40 || byte(end) > 0x7E)) ++end;
    if (end < text.size()) return {.bytes = end + 1, .is_sequence = true};
  }
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {.bytes = 1, .columns = lead < 0x20 || lead == 0x7F ? 0 : 1, .code = lead};
  const std::size_t length = lead >= 0xF0 && lead <= 0xF4  ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  const Piece broken = {.bytes = 1, .columns = 1, .code = 0xFFFD, .is_broken = true};
  if (length == 0 || length > text.size()) return broken;
  std::uint32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return broken;
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  static constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < smallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return broken;
  const int columns = code < 0xA0 || in_ranges(no_columns, code) ? 0 : in_ranges(two_columns, code) ? 2 : 1;
  return {.bytes = length, .columns = columns, .code = code};
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Whether text goes out as UTF-8: yes, unless the locale names another character set.
bool locale_is_utf8() {
  std::string locale = environment("LC_ALL");
  if (locale.empty()) locale = environment("LC_CTYPE");
  if (locale.empty()) locale = environment("LANG");
  if (locale == "C" || locale == "POSIX") return false;
  const std::size_t dot = locale.find('.');
  if (dot == std::string::npos) return true;
  std::string charset = locale.substr(dot + 1);
  for (char& c : charset) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return charset.starts_with("utf-8") || charset.starts_with("utf8");
}

std::string spaces(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

// Front part of the text that takes at most `width` columns, in bytes.
std::size_t bytes_within(std::string_view text, int width) {
  std::size_t at = 0;
  int columns = 0;
  while (at < text.size()) {
    const Piece piece = first_piece(text.substr(at));
    if (columns + piece.columns > width) break;
    columns += piece.columns;
    at += piece.bytes;
  }
  return at;
}

// Chinese may be broken before any character but these, which close something.
bool may_break_before(std::uint32_t code) {
  static constexpr std::u32string_view closing = U"，。、；：？！）》」』】”’…％";
  return in_ranges(two_columns, code) && closing.find(static_cast<char32_t>(code)) == std::u32string_view::npos;
}

}  // namespace

Terminal find_terminal(const Options& options) {
  Terminal terminal;
  terminal.is_tty = isatty(STDOUT_FILENO) == 1;
  terminal.unicode = !options.plain && locale_is_utf8();
  if (!terminal.is_tty) return terminal;
  const bool dumb = environment("TERM") == "dumb" || environment("TERM").empty();
  terminal.colour = !options.plain && !dumb && environment("NO_COLOR").empty();
  terminal.live = !options.plain && !dumb;
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = std::max<int>(size.ws_col, 20);
  return terminal;
}

int display_width(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    columns += piece.columns;
    text.remove_prefix(piece.bytes);
  }
  return columns;
}

std::string cut_to_width(std::string_view text, int width) {
  if (width <= 0) return "";
  if (display_width(text) <= width) return std::string(text);
  const int dots = std::min(3, width);
  const std::size_t kept = bytes_within(text, width - dots);
  std::string out(text.substr(0, kept));
  out.append(static_cast<std::size_t>(dots), '.');
  // A colour that was switched on must not run on behind the cut.
  if (out.find('\x1b') != std::string::npos) out += "\x1b[0m";
  return out;
}

std::string pad_right(std::string_view text, int width) {
  return std::string(text) + spaces(width - display_width(text));
}

std::string pad_left(std::string_view text, int width) {
  return spaces(width - display_width(text)) + std::string(text);
}

std::string pad_centre(std::string_view text, int width) {
  const int missing = std::max(0, width - display_width(text));
  return spaces(missing / 2) + std::string(text) + spaces(missing - missing / 2);
}

std::string wrap_to_width(std::string_view text, int width) {
  width = std::max(width, 2);
  std::string out, line, word;
  int line_columns = 0, word_columns = 0, gap = 0;
  const auto end_line = [&] {
    out += line;
    out += '\n';
    line.clear();
    line_columns = gap = 0;
  };
  const auto place_word = [&] {
    if (word.empty()) return;
    if (line_columns > 0 && line_columns + gap + word_columns > width) end_line();
    while (word_columns > width) {
      const std::size_t part = std::max<std::size_t>(bytes_within(word, width), 1);
      line = word.substr(0, part);
      word.erase(0, part);
      word_columns = display_width(word);
      end_line();
    }
    if (line_columns > 0) {
      line += spaces(gap);
      line_columns += gap;
    }
    line += word;
    line_columns += word_columns;
    word.clear();
    word_columns = gap = 0;
  };
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    if (piece.code == '\n' || piece.code == ' ') {
      place_word();
      if (piece.code == '\n') {
        end_line();
      } else {
        // Spaces at the front of a line indent it; elsewhere they are the gap before the next word.
        if (line_columns == 0) {
          line += ' ';
          ++line_columns;
        } else {
          ++gap;
        }
      }
    } else {
      if (may_break_before(piece.code)) place_word();
      word += text.substr(0, piece.bytes);
      word_columns += piece.columns;
    }
    text.remove_prefix(piece.bytes);
  }
  place_word();
  return out + line;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Piece piece = first_piece(text);
    if (piece.is_sequence || piece.is_broken || piece.code < 0x20 || (piece.code >= 0x7F && piece.code < 0xA0)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
    } else {
      out += text.substr(0, piece.bytes);
      text.remove_prefix(piece.bytes);
    }
  }
  return out;
}

std::string paint(const Terminal& terminal, Colour colour, std::string_view text) {
  if (!terminal.colour || colour == Colour::none || text.empty()) return std::string(text);
  static constexpr int codes[] = {0, 31, 32, 33, 34, 35, 36, 1, 2};
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<int>(colour)], text);
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void complain(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

bool flush_stdout() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace gradus
