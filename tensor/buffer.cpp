// Where a buffer's memory comes from and goes to.
#include "tensor/buffer.h"

#include <new>

#include "tensor/kernels/pool.h"

namespace gradus {
namespace {
std::atomic<std::int64_t> live{0};
}

std::int64_t live_buffers() { return live.load(std::memory_order_relaxed); }

Ref<Buffer> Buffer::allocate(std::size_t bytes) {
  const std::size_t capacity = bytes + header_bytes;
  if (capacity < bytes) throw std::bad_alloc();
  Buffer* buffer = new (pool_allocate(capacity)) Buffer;
  buffer->capacity_ = capacity;
  live.fetch_add(1, std::memory_order_relaxed);
  return Ref<Buffer>(buffer);
}

void Buffer::destroy(Buffer* buffer) {
  live.fetch_sub(1, std::memory_order_relaxed);
  const std::size_t capacity = buffer->capacity_;
  buffer->~Buffer();
  pool_free(buffer, capacity);
}

}  // namespace gradus
