// The memory behind tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "tensor/kernels/live_count.h"
#include "tensor/kernels/pool.h"
#include "tensor/kernels/ref.h"

namespace gradus {

// A block of numbers that several tensors (a tensor and its views) may share. `version` counts the writes after the
// first: the tape compares it to find a value that was changed after it had been saved for the backward pass.
class Buffer : public Counted {
 public:
  // Contents undefined, 64-byte aligned; throws std::bad_alloc.
  static Ref<Buffer> allocate(std::size_t bytes) {
    const std::size_t capacity = bytes + header_bytes;
    if (capacity < bytes) throw std::bad_alloc();
    Buffer* buffer = new (pool_allocate(capacity)) Buffer;
    buffer->capacity_ = capacity;
    count_live(Counting::buffers, 1);
    return Ref<Buffer>(buffer);
  }
  static void destroy(Buffer* buffer);
  void* data() { return reinterpret_cast<std::byte*>(this) + header_bytes; }
  std::uint32_t version = 0;

 private:
  static constexpr std::size_t header_bytes = 64;
  std::size_t capacity_ = 0;
};

std::int64_t live_buffers();  // buffers in use in all threads: the leak tests watch it

}  // namespace gradus
