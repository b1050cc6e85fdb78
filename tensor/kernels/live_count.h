// How many objects of a kind exist, in all threads together.
//
// One shared counter would be fought over by every thread at every op. So each thread counts in a record of its own,
// by plain loads and stores, and the total is summed when somebody asks: which is hardly ever, and only the leak tests.
// Records stay when their thread ends (an object may die in another thread than it was made in) and are used again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace gradus {

enum class Counting { buffers, nodes };

struct LiveRecord {
  std::array<std::atomic<std::int64_t>, 2> count{};
  std::atomic<bool> taken{false};
  LiveRecord* next = nullptr;
};
LiveRecord* register_live_record();  // for this thread
inline constinit thread_local LiveRecord* live_record = nullptr;

inline void count_live(Counting kind, std::int64_t change) {
  if (!live_record) [[unlikely]]
    live_record = register_live_record();
  auto& count = live_record->count[static_cast<std::size_t>(kind)];
  count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}
std::int64_t live_total(Counting kind);

}  // namespace gradus
