// A compiler's pages, cut to the one line that a learner should mend first.
#pragma once

#include <string>
#include <string_view>

#include "nn/conventions/verdict.h"

namespace gradus {

struct CompilerError {
  int line = 0, column = 0;  // in the learner's file; 0: not known
  std::string message;       // the compiler's own words, without the names of our namespaces
  Words why;                 // what it usually means; empty for an error that is not in the table
};

// The first error in `file` (as it was named to the compiler), or the place in it that led to one elsewhere.
// `output` is what g++ or clang++ printed in English without carets.
CompilerError first_error(std::string_view output, const std::string& file);

// The name of a function that the linker misses, "additive_keys"; "" if it misses none.
std::string missing_function(std::string_view linker_output);

}  // namespace gradus
