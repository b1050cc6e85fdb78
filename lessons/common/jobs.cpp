// Each thread takes the next piece that nobody has.
#include "lessons/common/jobs.h"

#include <atomic>
#include <thread>
#include <vector>

namespace gradus {

void for_all(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> beside;
  for (int t = 1; t < threads; ++t) beside.emplace_back(take);
  take();
  for (std::thread& thread : beside) thread.join();
}

}  // namespace gradus
