// One loop over the elements of several tensors of the same shape, whatever their strides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tensor/shape.h"

namespace gradus {

// The shape and strides of N operands, simplified: axes of length 1 dropped, axes ordered by the strides of operand 0
// (the target), neighbours merged where every operand walks through both in one stride. The last axis is the row.
template <int N> class StridedLoop {
 public:
  StridedLoop(const Shape& shape, const std::array<const Extents*, N>& strides) {
    if (one_row(shape, strides)) return;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 0) empty_ = true;
      if (shape[axis] == 1) continue;
      int at = rank_++;
      // Insertion sort by falling stride of the target; stretched axes (0) keep their place among the others.
      const std::int64_t key = (*strides[0])[axis];
      while (at > 0 && key > step_[at - 1][0] && step_[at - 1][0] != 0) {
        length_[at] = length_[at - 1];
        step_[at] = step_[at - 1];
        --at;
      }
      length_[at] = shape[axis];
      for (int k = 0; k < N; ++k) step_[at][k] = (*strides[k])[axis];
    }
    for (int axis = rank_ - 2; axis >= 0; --axis) {
      bool merges = true;
      for (int k = 0; k < N; ++k) merges = merges && step_[axis][k] == step_[axis + 1][k] * length_[axis + 1];
      if (!merges) continue;
      length_[axis] *= length_[axis + 1];
      step_[axis] = step_[axis + 1];
      for (int next = axis + 1; next + 1 < rank_; ++next) {
        length_[next] = length_[next + 1];
        step_[next] = step_[next + 1];
      }
      --rank_;
    }
    if (rank_ == 0) {  // a single element: any stride will do, but 0 would mean a stretched operand
      length_[0] = 1;
      step_[0].fill(1);
      rank_ = 1;
    }
  }

  std::int64_t row_length() const { return length_[rank_ - 1]; }
  const std::array<std::int64_t, N>& row_strides() const { return step_[rank_ - 1]; }

  // The rows come in planes: `rows` of them, row_steps() apart. Calls plane(offsets) for every plane; offsets[k] is
  // where operand k's first row begins.
  std::int64_t rows() const { return rank_ > 1 ? length_[rank_ - 2] : 1; }
  std::array<std::int64_t, N> row_steps() const { return rank_ > 1 ? step_[rank_ - 2] : std::array<std::int64_t, N>{}; }
  template <class Plane> void for_each_plane(Plane plane) const {
    if (empty_) return;
    std::array<std::int64_t, N> offset{};
    std::array<std::int64_t, max_rank> index{};
    while (true) {
      plane(offset);
      int axis = rank_ - 3;
      for (; axis >= 0; --axis) {
        for (int k = 0; k < N; ++k) offset[k] += step_[axis][k];
        if (++index[axis] < length_[axis]) break;
        for (int k = 0; k < N; ++k) offset[k] -= step_[axis][k] * length_[axis];
        index[axis] = 0;
      }
      if (axis < 0) return;
    }
  }

 private:
  // Most operands are row-major and without gaps: then everything is one row, and that is quickly seen.
  bool one_row(const Shape& shape, const std::array<const Extents*, N>& strides) {
    std::int64_t size = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (shape[axis] == 1) continue;
      for (int k = 0; k < N; ++k) {
        if ((*strides[k])[axis] != size) return false;
      }
      size *= shape[axis];
    }
    rank_ = 1;
    length_[0] = size;
    step_[0].fill(1);
    empty_ = size == 0;
    return true;
  }

  int rank_ = 0;
  bool empty_ = false;
  std::array<std::int64_t, max_rank> length_;  // these two are filled as far as rank_ says
  std::array<std::array<std::int64_t, N>, max_rank> step_;
};

}  // namespace gradus
