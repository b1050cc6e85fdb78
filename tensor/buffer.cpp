// Where a buffer's memory goes.
#include "tensor/buffer.h"

namespace gradus {

std::int64_t live_buffers() { return live_total(Counting::buffers); }

void Buffer::destroy(Buffer* buffer) {
  count_live(Counting::buffers, -1);
  const std::size_t capacity = buffer->capacity_;
  buffer->~Buffer();
  pool_free(buffer, capacity);
}

}  // namespace gradus
