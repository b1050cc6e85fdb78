// Where in the learner's code an error came from.
#pragma once

#include <string>

#include "tensor/error.h"

namespace gradus {

// "lesson.cpp:34": the innermost call outside of tensor/, autograd/ and nn/, found from the return addresses that the
// error kept. Asks addr2line (binutils), so it takes some milliseconds. Empty when the caller was compiled without
// debug lines (-g1 is enough), when there is no addr2line, and on systems whose C library keeps no calls.
std::string place_of(const Error& error);

}  // namespace gradus
