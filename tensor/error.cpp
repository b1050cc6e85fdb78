// An error remembers the calls that led to it.
#include "tensor/error.h"

#if __has_include(<execinfo.h>)  // the C library's own; musl has none, and then no place is known
#include <execinfo.h>
#endif

namespace gradus {

Error::Error(const std::string& text) : std::invalid_argument(text) {
#if __has_include(<execinfo.h>)
  backtrace(calls.data(), static_cast<int>(calls.size()));
#endif
}

}  // namespace gradus
