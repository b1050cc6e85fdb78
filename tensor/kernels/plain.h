// The switch between the kernels and their plain versions.
#pragma once

#include <cstdlib>
#include <string_view>

namespace gradus {

// GRADUS_PLAIN_KERNELS=1 in the environment: every kernel runs the plain version that stands beside it. The tests run
// both ways; whoever suspects a kernel can do the same. Read once.
inline const bool plain_kernels_wanted = [] {
  const char* value = std::getenv("GRADUS_PLAIN_KERNELS");
  return value && std::string_view(value) == "1";
}();
inline bool plain_kernels() { return plain_kernels_wanted; }

}  // namespace gradus
