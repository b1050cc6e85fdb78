// Room for a tensor that is made only where one is needed: a copy of rows with gaps, a gradient seen through a view.
//
// Most ops need none, and std::optional would not do: g++ fills an empty one with zeros, at 800 places of a
// training step.
#pragma once

#include <new>
#include <utility>

#include "tensor/tensor.h"

namespace gradus {

class Room {
 public:
  Room() = default;
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() {
    if (made_) made_->~Tensor();
  }
  Tensor& make(Tensor&& tensor) {  // in place of what was made before
    if (made_) made_->~Tensor();
    return *(made_ = ::new (static_cast<void*>(space_)) Tensor(std::move(tensor)));
  }
  Tensor& made() { return *made_; }

 private:
  Tensor* made_ = nullptr;
  alignas(Tensor) std::byte space_[sizeof(Tensor)];
};

}  // namespace gradus
