#include "nn/conventions/diagnosis_parts.h"

#include <set>

namespace gradus::diagnosis {

using namespace reference;

Arrays part_of_decoder(const Arrays& given, const std::vector<std::size_t>& rows, std::size_t steps) {
  static const std::set<std::string> by_step = {"e", "alpha", "c", "htilde", "logits", "query", "y_mask"};
  static const std::set<std::string> by_row = {"H", "mask", "s_0", "cell_0", "y_emb"};  // inputs of later steps, too
  Arrays part = given;
  for (auto& [name, a] : part) {
    const bool state = name == "s" || name == "m";
    const bool whole_row = by_row.count(name) || name.rfind("s_0_l", 0) == 0 || name.rfind("cell_0_l", 0) == 0;
    if (!by_step.count(name) && !whole_row && !state) continue;
    Array cut;
    cut.shape = a.shape;
    cut.shape[0] = rows.size();
    const std::size_t per_row = a.data.size() / a.shape[0];
    std::size_t kept = per_row;
    if (!whole_row) {
      cut.shape[1] = steps + (state ? 1 : 0);
      kept = per_row / a.shape[1] * cut.shape[1];
    }
    for (std::size_t b : rows) {
      const auto start = a.data.begin() + static_cast<std::ptrdiff_t>(b * per_row);
      cut.data.insert(cut.data.end(), start, start + static_cast<std::ptrdiff_t>(kept));
    }
    a = cut;
  }
  return part;
}

Arrays part_of_run(const Arrays& given, const std::vector<std::size_t>& rows) {
  const std::size_t B = get(given, "x").dim(0);
  static const std::set<std::string> by_row = {"x", "h", "mask", "start"}, by_layer = {"h0", "c0", "h_n", "c_n"};
  Arrays part = given;
  for (auto& [name, a] : part) {
    const bool layers = by_layer.count(name) != 0;
    if (!by_row.count(name) && !layers) continue;
    const std::size_t outer = layers ? a.dim(0) : 1, n = a.data.size() / (outer * B);
    Array cut;
    cut.shape = a.shape, cut.shape[layers ? 1 : 0] = rows.size();
    for (std::size_t k = 0; k < outer; ++k)
      for (std::size_t row : rows) {
        const auto from = a.data.begin() + static_cast<std::ptrdiff_t>((k * B + row) * n);
        cut.data.insert(cut.data.end(), from, from + static_cast<std::ptrdiff_t>(n));
      }
    a = cut;
  }
  return part;
}

Arrays part_of_heads(const Arrays& given, std::size_t row) {
  Arrays part = given;
  for (const char* name : {"query", "key", "value", "mask", "alpha", "output"}) {
    const auto found = part.find(name);
    if (found == part.end()) continue;
    Array& a = found->second;
    const std::size_t n = a.data.size() / a.dim(0);
    const auto from = a.data.begin() + static_cast<std::ptrdiff_t>(row * n);
    a.data = {from, from + static_cast<std::ptrdiff_t>(n)};
    a.shape[0] = 1;
  }
  return part;
}

std::size_t telling_row(const Arrays& given) {
  std::size_t row = 0, longest = 0;
  const Array* mask = reference::find(given, "mask");
  for (std::size_t b = 0; mask && b < mask->dim(0); ++b) {
    std::size_t n = 0;
    for (double x : mask->row({b})) n += x != 0;
    if (n < mask->dim(1) && n > longest) longest = n, row = b;
  }
  return row;
}

}  // namespace gradus::diagnosis
