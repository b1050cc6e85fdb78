// Numbers and digits out of a line of text.
#include "lessons/common/typed.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lessons/common/terminal.h"

namespace gradus {

std::vector<double> numbers_in(const std::string& text, double bound, const std::string& example) {
  std::vector<double> found;
  for (std::size_t at = text.find_first_not_of(" ,"); at != std::string::npos; at = text.find_first_not_of(" ,", at)) {
    const std::size_t end = std::min(text.find_first_of(" ,", at), text.size());
    double value = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, value);
    if (error != std::errc() || stop != text.data() + end || !(std::fabs(value) <= bound)) {
      const std::string word = printable(text.substr(at, end - at));
      throw InputError(
          {fmt::format("'{}' is no number from {:.0f} to {:.0f}; type for example \"{}\"", word, -bound, bound,
                       example),
           fmt::format("“{}”不是 {:.0f} 到 {:.0f} 之间的数；例如可以输入 \"{}\"", word, -bound, bound, example)});
    }
    found.push_back(value);
    at = end;
  }
  return found;
}

std::vector<std::int32_t> digits_in(const std::string& text) {
  std::vector<std::int32_t> digits;
  for (char c : text) {
    if (c >= '0' && c <= '9') {
      digits.push_back(c - '0');
    } else if (c != ' ' && c != ',') {
      const std::string shown = printable(text);
      throw InputError({fmt::format("\"{}\" is not digits only; type for example \"3 1 4 1 5\"", shown),
                        fmt::format("“{}”里不全是数字；例如可以输入 \"3 1 4 1 5\"", shown)});
    }
  }
  if (digits.empty())
    throw InputError(
        {"nothing to copy; type digits, such as \"3 1 4 1 5\"", "没有可复制的东西；请输入数字，例如 \"3 1 4 1 5\""});
  return digits;
}

}  // namespace gradus
