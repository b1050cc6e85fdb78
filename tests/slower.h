// What a bound on a time is multiplied with: instrumented code runs many times slower, so its times prove nothing.
#pragma once

namespace gradus::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double slower = 50;
#else
inline constexpr double slower = 1;
#endif

}  // namespace gradus::testing
