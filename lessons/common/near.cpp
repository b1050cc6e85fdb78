// Edit distance, and the names within a short one.
#include "lessons/common/near.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace gradus {

int edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  // Row i holds the distances of a's first i letters to every front part of b.
  std::vector<int> before_last(b.size() + 1), last(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) current[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = last;
    last = current;
    current[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
  }
  return current[b.size()];
}

std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 64) return {};
  std::vector<std::pair<int, std::string>> near;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(word, candidate);
    if (distance <= std::max<int>(1, static_cast<int>(word.size()) / 3)) near.emplace_back(distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [distance, name] : near) {
    if (names.size() < 3 && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace gradus
