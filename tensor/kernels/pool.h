// The pool behind all buffers and nodes.
//
// Freed blocks wait in lists by size, one set per thread, because the first touch of fresh pages from the system costs
// more than most kernels. Under AddressSanitizer nothing is kept, so that a use after free is seen.
// What every op does several times stands here, so that it is inlined; where the size is known, so is the list.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>

namespace gradus {
namespace detail {

// A waiting block begins with the address of the next one in its list, so that the lists need no memory of their own.
struct Waiting {
  Waiting* next;
};
// Tensors with static lifetime may be freed after a thread's lists are gone: then blocks go straight to the system.
enum class PoolState { unused, in_use, gone };
struct Pool {
  std::array<Waiting*, std::size_t{4} * 58> lists{};
  PoolState state = PoolState::unused;
};
inline constinit thread_local Pool pool;

// Up to 1024 bytes, where most blocks are, a class for each multiple of 64; beyond, four to each power of two: a block is
// at most a quarter larger than what was asked for.
struct SizeClass {
  std::size_t index, bytes;
};
constexpr SizeClass size_class(std::size_t bytes) {
  if (bytes <= 1024) [[likely]] {
    const std::size_t lines = bytes == 0 ? 1 : (bytes + 63) / 64;
    return {lines, lines * 64};
  }
  const int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log + 1)
  const std::size_t quarter = (std::size_t{1} << log) / 4;
  const std::size_t steps = (bytes - (std::size_t{1} << log) + quarter - 1) >> (log - 2);  // 1..4
  return {static_cast<std::size_t>(4 * (log - 6)) + steps, (std::size_t{1} << log) + steps * quarter};
}

void* allocate_fresh(std::size_t bytes);             // from the system
void free_or_begin(void* block, std::size_t bytes);  // when the lists are not in use, or not yet

}  // namespace detail

// 64-byte aligned; throws std::bad_alloc.
inline void* pool_allocate(std::size_t bytes) {
  if (bytes > std::size_t{1} << 62) throw std::bad_alloc();
  detail::Waiting*& list = detail::pool.lists[detail::size_class(bytes).index];
  if (!list) return detail::allocate_fresh(bytes);
  void* block = std::exchange(list, list->next);
  __builtin_prefetch(list, 1);  // where the next one of this class will be made
  return block;
}

// `bytes` as given to pool_allocate.
inline void pool_free(void* block, std::size_t bytes) {
  if (detail::pool.state != detail::PoolState::in_use) return detail::free_or_begin(block, bytes);
  detail::Waiting*& list = detail::pool.lists[detail::size_class(bytes).index];
  list = ::new (block) detail::Waiting{list};
}

void pool_trim();  // gives this thread's waiting blocks back to the system

}  // namespace gradus
