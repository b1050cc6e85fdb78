// Several threads for one computation whose parts do not depend on each other.
//
// Every part computes what it would compute alone, and nothing is summed across parts, so results are the same bit for
// bit whatever the number of threads. Parts are taken by whoever is free: where another program keeps the second core
// busy, the caller computes all of them and waits for nobody.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gradus {

// How many threads the work of the calling thread may use, itself included; 1 until set. Threads that a program starts
// itself begin with 1 as well. Throws ValueError below 1.
void use_threads(int count);

namespace detail {

inline constinit thread_local int thread_limit = 1;

using Part = void (*)(void* work, std::int64_t first, std::int64_t end);
// Calls part(work, i * length, min(n, (i + 1) * length)) for all i. Of exceptions the one of the first part is rethrown.
void run_parts(std::int64_t n, std::int64_t length, Part part, void* work);

// Below this, in nanoseconds, handing out parts costs more than it gains; and what one part should take at least.
inline constexpr double worth_sharing = 20'000, worth_a_part = 5'000;

}  // namespace detail

inline int threads_in_use() { return detail::thread_limit; }

// Whether work that takes about so long on one thread is given to several. Where not, whoever has a quicker way to do it
// alone takes that.
inline bool worth_dividing(double nanoseconds) { return threads_in_use() > 1 && nanoseconds >= detail::worth_sharing; }

// Calls f(first, end) for ranges that cover [0, n) once, each but the last a multiple of `grain` long. `nanoseconds`:
// about what all of it takes on one thread; where that is little, f(0, n) is called.
template <class F> void parallel(std::int64_t n, std::int64_t grain, double nanoseconds, F f) {
  if (!worth_dividing(nanoseconds) || n <= grain) return f(std::int64_t{0}, n);
  const std::int64_t grains = (n + grain - 1) / grain;
  const std::int64_t parts =
      std::min({grains, static_cast<std::int64_t>(nanoseconds / detail::worth_a_part), std::int64_t{64}});
  const std::int64_t length = (grains + parts - 1) / parts * grain;
  detail::run_parts(
      n, length, [](void* work, std::int64_t first, std::int64_t end) { (*static_cast<F*>(work))(first, end); }, &f);
}

}  // namespace gradus
