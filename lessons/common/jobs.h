// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace gradus {

// work(0), work(1), .. work(count - 1), each once, begun in this order, at most `threads` at a time. What each gives
// must not depend on the others: then it does not depend on `threads` either.
void for_all(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace gradus
