// Ref<T>: a counted reference to an object that carries its own counter (`refs`) and knows how to go (`destroy`).
// One pointer wide, unlike std::shared_ptr, because every tensor and every node of the tape holds several.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace gradus {

struct Counted {
  std::atomic<std::uint32_t> refs{0};
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
    if (object_ && object_->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) T::destroy(object_);
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool unique() const { return object_ && object_->refs.load(std::memory_order_acquire) == 1; }

 private:
  void retain() {
    if (object_) object_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  T* object_ = nullptr;
};

}  // namespace gradus
