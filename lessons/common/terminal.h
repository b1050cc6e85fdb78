// What the output can show (a terminal or not, colour, width), and the width of text on it: a Chinese character takes
// two columns, a combining mark none.
#pragma once

#include <string>
#include <string_view>

#include "lessons/common/options.h"

namespace gradus {

// A plain value: tests build their own.
struct Terminal {
  bool is_tty = false;   // stdout is a terminal
  bool colour = false;   // colour may be added; nothing is told by colour alone
  bool live = false;     // lines may be rewritten in place
  bool unicode = false;  // blocks and line characters may be used, else ASCII
  int width = 80;        // columns, >= 20; 80 when stdout is no terminal
};

// Looks at stdout, NO_COLOR, TERM, the locale's character set and --plain.
Terminal find_terminal(const Options& options);

// Columns that the text takes, one line of UTF-8. Colour sequences take none, a byte that is no UTF-8 takes one.
int display_width(std::string_view text);

// At most `width` columns of the text; what is cut ends in "..." (".." or "." when there is no room for three).
std::string cut_to_width(std::string_view text, int width);

// Padded with spaces to `width` columns; longer text stays as it is.
std::string pad_right(std::string_view text, int width);
std::string pad_left(std::string_view text, int width);
std::string pad_centre(std::string_view text, int width);

// Lines of at most `width` columns, broken at spaces and between Chinese characters; a longer word is cut in pieces.
// Line breaks in the text stay. No newline at the end.
std::string wrap_to_width(std::string_view text, int width);

// The text without control characters or broken UTF-8: those are shown as \x1b and the like. For what a user typed.
std::string printable(std::string_view text);

enum class Colour { none, red, green, yellow, blue, magenta, cyan, bold, dim };

// The text in that colour, or unchanged where the terminal shows none.
std::string paint(const Terminal& terminal, Colour colour, std::string_view text);

// Writes to stdout and flushes, so that a file or pipe sees it at once. Errors are kept for flush_stdout.
void say(std::string_view text);
// The same to stderr, for what went wrong.
void complain(std::string_view text);

// Flushes stdout; false when something written to it was lost (disk full).
bool flush_stdout();

}  // namespace gradus
