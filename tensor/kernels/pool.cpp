// Size classes, free lists and huge pages.
#include "tensor/kernels/pool.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace gradus {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool keeps_blocks = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool keeps_blocks = false;
#else
constexpr bool keeps_blocks = true;
#endif
#else
constexpr bool keeps_blocks = true;
#endif

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr int class_count = 4 * 58;

// Four classes to each power of two: a block is at most a quarter larger than what was asked for.
struct SizeClass {
  int index;
  std::size_t bytes;
};
SizeClass size_class(std::size_t bytes) {
  if (bytes <= 64) return {0, 64};
  const int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log + 1)
  const std::size_t quarter = (std::size_t{1} << log) / 4;
  const std::size_t steps = (bytes - (std::size_t{1} << log) + quarter - 1) / quarter;  // 1..4
  return {4 * (log - 6) + static_cast<int>(steps), ((std::size_t{1} << log) + steps * quarter + 63) / 64 * 64};
}

void* system_allocate(std::size_t bytes) {
  const bool large = bytes >= huge_page;
  const std::size_t alignment = large ? huge_page : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, rounded);
  if (!block) throw std::bad_alloc();
#ifdef __linux__
  if (large) madvise(block, rounded, MADV_HUGEPAGE);  // a wish: the call may fail and nothing is lost
#endif
  return block;
}

// A waiting block begins with the address of the next one in its list, so that the lists need no memory of their own.
struct Waiting {
  Waiting* next;
};
constinit thread_local std::array<Waiting*, class_count> lists{};
// Tensors with static lifetime may be freed after a thread's lists are gone: then blocks go straight to the system.
enum class Lists { unused, in_use, gone };
constinit thread_local Lists state = Lists::unused;

void give_back() {
  for (Waiting*& list : lists) {
    while (list) std::free(std::exchange(list, list->next));
  }
}

struct AtExit {
  ~AtExit() {
    give_back();
    state = Lists::gone;
  }
};

// From the first block of a thread on, its lists are emptied when the thread ends.
bool lists_usable() {
  if (state == Lists::unused) {
    thread_local AtExit at_exit;
    static_cast<void>(&at_exit);
    state = Lists::in_use;
  }
  return keeps_blocks && state == Lists::in_use;
}

}  // namespace

void* pool_allocate(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 4) throw std::bad_alloc();
  const SizeClass size = size_class(bytes);
  Waiting*& list = lists[static_cast<std::size_t>(size.index)];
  if (list) return std::exchange(list, list->next);
  return system_allocate(keeps_blocks ? size.bytes : bytes);
}

void pool_free(void* block, std::size_t bytes) {
  if (!lists_usable()) {
    std::free(block);
    return;
  }
  Waiting*& list = lists[static_cast<std::size_t>(size_class(bytes).index)];
  list = ::new (block) Waiting{list};
}

void pool_trim() { give_back(); }

}  // namespace gradus
