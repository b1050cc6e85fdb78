// Views drawn: which number of the memory each element is.
#pragma once

#include <string>
#include <vector>

#include "lessons/01_tensors/exercise.h"
#include "lessons/common/terminal.h"

namespace gradus::lesson01 {

// Shape, strides and offset, and for a matrix or a vector every element with its place in memory. At most `most`
// elements are drawn.
std::string drawn(const std::string& name, const View& view, Lang lang);

struct NamedView {
  std::string name;
  View view;
};
// x (2, 3) with the numbers 1 to 6, and five views of it.
std::vector<NamedView> views_of_six();
// The same as text, and a reshape that has to copy.
std::string six_views(Lang lang);
// What writing through a view changes, and what writing to a copy does not.
std::string shared_numbers(Lang lang);
// (T, B) -> (B, T) by transpose, and by the reshape that people write instead.
std::string reshape_for_transpose(Lang lang);
// What (N) - (N, 1) is where axes are stretched silently, and here.
std::string silent_stretch(Lang lang);

// "2 3 transpose 0 1 narrow 0 1 2 1": a shape, then views of it, each drawn. Throws InputError for anything else.
std::string views_typed(const std::string& text, Lang lang);

}  // namespace gradus::lesson01
