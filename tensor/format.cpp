// Printing tensors with fmt.
#include "tensor/format.h"

#include <fmt/format.h>

#include <algorithm>

namespace gradus {
namespace {

// Two passes over the same walk: the first finds the widest number, the second writes with that width.
void write(const Tensor& x, int digits, int edge, std::size_t& width, bool measuring, int indent, std::string& out) {
  if (x.rank() == 0) {
    const std::string number = fmt::format("{:.{}g}", x.item(), digits);
    if (measuring) width = std::max(width, number.size());
    else out += fmt::format("{:>{}}", number, width);
    return;
  }
  const std::int64_t length = x.shape()[0];
  out += "[";
  for (std::int64_t i = 0; i < length; ++i) {
    if (i > 0) out += x.rank() == 1 ? " " : "\n" + std::string(static_cast<std::size_t>(indent) + 1, ' ');
    if (length > 2 * edge + 1 && i == edge) {
      out += "...";
      i = length - edge - 1;
      continue;
    }
    write(select(x, Axis{0}, i), digits, edge, width, measuring, indent + 1, out);
  }
  out += "]";
}

}  // namespace

std::string numbers(const Tensor& x, int digits, int edge) {
  std::size_t width = 0;
  std::string text;
  write(x, digits, edge, width, true, 0, text);
  text.clear();
  write(x, digits, edge, width, false, 0, text);
  return text;
}

std::string to_string(const Tensor& x, int digits, int edge) {
  if (!x.defined()) return "tensor (nothing)";
  return fmt::format("tensor {} {}\n{}", to_string(x.shape()), to_string(x.dtype()), numbers(x, digits, edge));
}

}  // namespace gradus
