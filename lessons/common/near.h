// The name that somebody probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradus {

// Fewest insertions, deletions, replacements and swaps of neighbours that turn one into the other, bytes as letters,
// upper case equal to lower case (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b);

// The candidates nearest to the word, best first (ties in the order given), at most three; none that has little in
// common with it (more than a third of its letters, and more than one, would have to change).
std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace gradus
