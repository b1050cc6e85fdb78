// The six views as a picture, and the same data as a table.
#pragma once

#include <string>
#include <vector>

#include "lessons/01_tensors/views.h"

namespace gradus::lesson01 {

// A whole SVG file: matrices that look at the numbers 1 to 6.
std::string views_svg(const std::vector<NamedView>& views, Lang lang);
// view,row,column,place,number: a line for each element.
std::string views_csv(const std::vector<NamedView>& views);

}  // namespace gradus::lesson01
