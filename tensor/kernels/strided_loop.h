// One loop over the elements of several tensors of the same shape, whatever their strides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include "tensor/kernels/threads.h"
#include "tensor/shape.h"

namespace gradus {

// The shape and strides of N operands, simplified: axes of length 1 dropped, axes ordered by the strides of operand 0
// (the target), neighbours merged where every operand walks through both in one stride. The last axis is the row.
template <int N> class StridedLoop {
 public:
  StridedLoop(const Shape& shape, const std::array<const Extents*, N>& strides) {
    if ((dense_ = one_row(shape, strides))) return;
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

  // About what a loop over so many elements takes on one thread: most of it is reading and writing the operands.
  static double nanoseconds(double size) { return 0.2 * N * size; }

  bool dense() const { return dense_; }  // all of them are one row, every operand without gaps
  std::int64_t row_length() const { return length_[rank_ - 1]; }
  const std::array<std::int64_t, N>& row_strides() const { return step_[rank_ - 1]; }

  // The rows come in planes: `rows` of them, row_steps() apart. Calls plane(offsets) for every plane; offsets[k] is
  // where operand k's first row begins.
  std::int64_t rows() const { return rank_ > 1 ? length_[rank_ - 2] : 1; }
  const std::array<std::int64_t, N>& row_steps() const { return step_[rank_ > 1 ? rank_ - 2 : 0]; }  // of several rows
  template <class Plane> void for_each_plane(Plane plane) const {
    if (empty_) return;
    if (rank_ <= 2) return plane(origin_);
    std::array<std::int64_t, N> offset = origin_;
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

  // Calls run(loop) with loops over parts of the elements, on several threads where that pays. `memory`: where each
  // operand lies, and `written` whether run writes it. The elements are divided along the outermost axis on which none
  // of those is stretched, so that no number is written by two parts.
  template <class T, class Run>
  void share(const std::array<const T*, N>& memory, const std::array<bool, N>& written, Run run) const {
    double size = 1;
    for (int a = 0; a < rank_; ++a) size *= static_cast<double>(length_[a]);
    const int axis = worth_dividing(nanoseconds(size)) ? axis_to_share(memory, written) : -1;
    if (axis < 0) return run(*this);
    parallel(length_[axis], axis == rank_ - 1 ? pack<T> : 1, nanoseconds(size),
             [&](std::int64_t first, std::int64_t end) {
               StridedLoop part = *this;
               part.length_[axis] = end - first;
               for (int k = 0; k < N; ++k) part.origin_[k] += first * step_[axis][k];
               run(part);
             });
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

  template <class T> static constexpr std::int64_t pack = 64 / sizeof(T);  // a row is divided between packs

  // -1: none. Cold, so compiled small: what several threads share takes longer than this.
  template <class T>
  [[gnu::cold]] int axis_to_share(const std::array<const T*, N>& memory, const std::array<bool, N>& written) const {
    int best = -1;
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      bool apart = length_[axis] > (axis == rank_ - 1 ? pack<T> : 1);
      for (int k = 0; k < N; ++k) apart = apart && !(written[k] && step_[axis][k] == 0);
      best = apart ? axis : best;
    }
    for (int k = 0; k < N && best >= 0; ++k) {
      for (int l = 0; l < N && best >= 0; ++l) {
        if (k != l && written[k] && memory[l] && !parts_apart(best, k, memory[k], l, memory[l])) best = -1;
      }
    }
    return best;
  }

  // Whether no part of operand k touches what another part of operand l touches: they are the same, or lie in different
  // memory, or side by side within each step along the axis, as the gates of a GRU do.
  template <class T> [[gnu::cold]] bool parts_apart(int axis, int k, const T* at_k, int l, const T* at_l) const {
    bool same = at_k == at_l;
    std::int64_t inside[2] = {0, 0}, along[2];
    for (int a = 0; a < rank_; ++a) {
      same = same && step_[a][k] == step_[a][l];
      if (a == axis) continue;
      inside[0] += step_[a][k] * (length_[a] - 1);
      inside[1] += step_[a][l] * (length_[a] - 1);
    }
    const std::int64_t step = step_[axis][k];
    along[0] = inside[0] + step * (length_[axis] - 1);
    along[1] = inside[1] + step_[axis][l] * (length_[axis] - 1);
    if (same || std::less<>()(at_k + along[0], at_l) || std::less<>()(at_l + along[1], at_k)) return true;
    return step == step_[axis][l] && std::max(at_k + inside[0], at_l + inside[1]) - std::min(at_k, at_l) < step;
  }

  int rank_ = 0;
  bool empty_ = false, dense_ = false;
  std::array<std::int64_t, N> origin_{};       // where each operand's first element lies
  std::array<std::int64_t, max_rank> length_;  // these two are filled as far as rank_ says
  std::array<std::array<std::int64_t, N>, max_rank> step_;
};

}  // namespace gradus
