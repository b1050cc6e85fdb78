// Numbers that are no accident: the sizes of a model and their roots.
#pragma once

#include <string>

#include "nn/conventions/reference/array.h"

namespace gradus::diagnosis {

// "sqrt(d_h)", "1/T_enc", ..., several of them joined by " = " where sizes are equal; empty where x is none of them to
// this relative precision. heads: 0 where there are none.
std::string as_size(double x, const reference::Arrays& arrays, std::size_t heads, double precision);

}  // namespace gradus::diagnosis
