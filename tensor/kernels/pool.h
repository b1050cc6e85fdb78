// The pool behind all buffers and nodes.
//
// Freed blocks wait in lists by size, one set per thread, because the first touch of fresh pages from the system costs
// more than most kernels. Under AddressSanitizer nothing is kept, so that a use after free is seen.
#pragma once

#include <cstddef>

namespace gradus {

void* pool_allocate(std::size_t bytes);          // 64-byte aligned; throws std::bad_alloc
void pool_free(void* block, std::size_t bytes);  // `bytes` as given to pool_allocate
void pool_trim();                                // gives this thread's waiting blocks back to the system

}  // namespace gradus
