// Which size is which array's which axis.
#include "nn/conventions/sizes.h"

#include <cmath>
#include <utility>
#include <vector>

namespace gradus::diagnosis {

std::string as_size(double x, const reference::Arrays& arrays, std::size_t heads, double precision) {
  const struct {
    const char *size, *array;
    std::size_t axis, of;
  } places[] = {{"d_s", "s", 2, 3},       {"d_s", "s_0", 1, 2},       {"d_h", "H", 2, 3},
                {"d_attn", "v_a", 0, 1},  {"d_emb", "y_emb", 2, 3},   {"T_enc", "H", 1, 3},
                {"T_dec", "y_emb", 1, 3}, {"B", "H", 0, 3},           {"vocab", "logits", 2, 3},
                {"d_c", "htilde", 2, 3},  {"d_in", "x", 2, 3},        {"T", "x", 1, 3},
                {"B", "x", 0, 3},         {"d_model", "query", 2, 3}, {"T_k", "key", 1, 3},
                {"T_q", "query", 1, 3},   {"B", "query", 0, 3},       {"d", "U", 1, 2}};
  std::vector<std::pair<std::string, std::size_t>> sizes;
  const auto add = [&](const std::string& name, std::size_t n) {
    for (const auto& [known, size] : sizes)
      if (known == name) return;
    if (n > 1) sizes.emplace_back(name, n);
  };
  for (const auto& p : places)
    if (const reference::Array* a = reference::find(arrays, p.array); a && a->shape.size() == p.of)
      add(p.size, a->dim(p.axis));
  if (const reference::Array* q = reference::find(arrays, "query"); q && heads > 1 && q->shape.size() == 3) {
    add("d_k", q->dim(2) / heads);
    add("heads", heads);
  }
  std::string text;
  for (const auto& [name, n] : sizes) {
    const double size = static_cast<double>(n), root = std::sqrt(size);
    const std::pair<double, std::string> forms[] = {
        {size, name}, {1 / size, "1/" + name}, {root, "sqrt(" + name + ")"}, {1 / root, "1/sqrt(" + name + ")"}};
    const bool counts = name == "B" || name == "T_dec" || name == "T_q" || name == "vocab";  // nobody takes their roots
    for (std::size_t k = 0; k < (counts ? 2u : 4u); ++k) {
      const auto& [value, form] = forms[k];
      if (std::fabs(x - value) <= precision * value) text += (text.empty() ? "" : " = ") + form;
    }
  }
  return text;
}

}  // namespace gradus::diagnosis
