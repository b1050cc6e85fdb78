// Where a buffer's memory comes from and goes to.
#include "tensor/buffer.h"

#include <new>

#include "tensor/kernels/live_count.h"
#include "tensor/kernels/pool.h"

namespace gradus {

std::int64_t live_buffers() { return live_total(Counting::buffers); }

Ref<Buffer> Buffer::allocate(std::size_t bytes) {
  const std::size_t capacity = bytes + header_bytes;
  if (capacity < bytes) throw std::bad_alloc();
  Buffer* buffer = new (pool_allocate(capacity)) Buffer;
  buffer->capacity_ = capacity;
  count_live(Counting::buffers, 1);
  return Ref<Buffer>(buffer);
}

void Buffer::destroy(Buffer* buffer) {
  count_live(Counting::buffers, -1);
  const std::size_t capacity = buffer->capacity_;
  buffer->~Buffer();
  pool_free(buffer, capacity);
}

}  // namespace gradus
