// The list of records.
#include "tensor/kernels/live_count.h"

namespace gradus {
namespace {

std::atomic<LiveRecord*> all_records{nullptr};

struct Release {
  LiveRecord* record = nullptr;
  ~Release() {
    if (record) record->taken.store(false, std::memory_order_release);
  }
};

}  // namespace

LiveRecord* register_live_record() {
  thread_local Release release;
  for (LiveRecord* record = all_records.load(); record; record = record->next) {
    bool free = false;
    if (record->taken.compare_exchange_strong(free, true)) return release.record = record;
  }
  auto* record = new LiveRecord;
  record->taken = true;
  record->next = all_records.load();
  while (!all_records.compare_exchange_weak(record->next, record)) {}
  return release.record = record;
}

std::int64_t live_total(Counting kind) {
  std::int64_t total = 0;
  for (const LiveRecord* record = all_records.load(); record; record = record->next)
    total += record->count[static_cast<std::size_t>(kind)].load(std::memory_order_relaxed);
  return total;
}

}  // namespace gradus
