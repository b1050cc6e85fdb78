// Where the pool's blocks come from, huge pages, and the end of a thread.
#include "tensor/kernels/pool.h"

#include <cstdlib>

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

struct AtExit {
  ~AtExit() {
    pool_trim();
    detail::pool.state = detail::PoolState::gone;
  }
};

}  // namespace

void* detail::allocate_fresh(std::size_t bytes) {
  return system_allocate(keeps_blocks ? size_class(bytes).bytes : bytes);
}

// From the first block of a thread on, its lists are emptied when the thread ends.
void detail::free_or_begin(void* block, std::size_t bytes) {
  if (!keeps_blocks || pool.state == PoolState::gone) return std::free(block);
  thread_local AtExit at_exit;
  static_cast<void>(&at_exit);
  pool.state = PoolState::in_use;
  pool_free(block, bytes);
}

void pool_trim() {
  for (detail::Waiting*& list : detail::pool.lists) {
    while (list) std::free(std::exchange(list, list->next));
  }
}

}  // namespace gradus
