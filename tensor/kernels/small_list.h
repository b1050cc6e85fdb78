// A list whose first `Few` elements stand in the object itself: no memory is asked for until there are more.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "tensor/kernels/pool.h"

namespace gradus {

template <class T, std::size_t Few> class SmallList {
 public:
  SmallList() = default;
  SmallList(const SmallList&) = delete;
  SmallList& operator=(const SmallList&) = delete;
  ~SmallList() {
    clear();
    if (capacity_ > Few) pool_free(first_, capacity_ * sizeof(T));
  }

  T* begin() { return first_; }
  T* end() { return first_ + size_; }
  const T* begin() const { return first_; }
  const T* end() const { return first_ + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return first_[i]; }
  const T& operator[](std::size_t i) const { return first_[i]; }

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    T* room = static_cast<T*>(pool_allocate(capacity * sizeof(T)));
    std::uninitialized_move(begin(), end(), room);
    std::destroy(begin(), end());
    if (capacity_ > Few) pool_free(first_, capacity_ * sizeof(T));
    first_ = room;
    capacity_ = capacity;
  }
  template <class... Parts> void emplace_back(Parts&&... parts) {
    if (size_ == capacity_) reserve(2 * capacity_);
    ::new (static_cast<void*>(first_ + size_)) T{std::forward<Parts>(parts)...};
    ++size_;
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }

 private:
  T* first_ = reinterpret_cast<T*>(space_);
  std::size_t size_ = 0, capacity_ = Few;
  alignas(T) std::byte space_[Few * sizeof(T)];
};

}  // namespace gradus
