// Ref<T>: a counted reference to an object that carries its own counter (`refs`) and knows how to go (`destroy`).
// One pointer wide, unlike std::shared_ptr, because every tensor and every node of the tape holds several.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace gradus {

// A locked addition costs as much as twenty plain ones, and an op makes some thirty. While the process has one thread,
// which glibc knows, nobody else can be counting, and a plain one does. Elsewhere every count is locked.
inline bool alone() {
#if __has_include(<sys/single_threaded.h>)
  return __libc_single_threaded;
#else
  return false;
#endif
}

struct Counted {
  std::atomic<std::uint32_t> refs{0};
  std::uint32_t add_to_refs(std::uint32_t change) {  // returns what it was
    if (!alone()) return add_locked(change);
    const std::uint32_t before = refs.load(std::memory_order_relaxed);
    refs.store(before + change, std::memory_order_relaxed);
    return before;
  }

 private:
  // Not inline: there are thousands of places that count, and what they need of the instruction cache counts too.
  [[gnu::cold, gnu::noinline]] std::uint32_t add_locked(std::uint32_t change) {
    return refs.fetch_add(change, std::memory_order_acq_rel);
  }
};

// T derives from Counted and has a static `void destroy(T*)`.
template <class T> class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) { retain(); }
  Ref(const Ref& other) : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && object_->add_to_refs(-1u) == 1) T::destroy(object_);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool unique() const { return object_ && object_->refs.load(std::memory_order_acquire) == 1; }

 private:
  void retain() {
    if (object_) object_->add_to_refs(1);
  }
  T* object_ = nullptr;
};

}  // namespace gradus
