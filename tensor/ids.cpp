// Masks from lengths, and columns.
#include "tensor/ids.h"

namespace gradus {
namespace {

template <class T> Grid<T> column_of(const Grid<T>& grid, std::int64_t t) {
  if (grid.shape().rank() != 2) throw ShapeError("column: shape " + to_string(grid.shape()) + " is not (B, T)");
  Grid<T> result(Shape{grid.shape()[0]});
  for (std::int64_t row = 0; row < grid.shape()[0]; ++row) result[row] = grid.at(row, t);
  return result;
}

}  // namespace

Mask mask_from_lengths(const std::vector<std::int64_t>& lengths, std::int64_t length) {
  Mask mask(Shape{static_cast<std::int64_t>(lengths.size()), length});
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    if (lengths[row] < 0 || lengths[row] > length) {
      throw ValueError("mask_from_lengths: length " + std::to_string(lengths[row]) + " of row " + std::to_string(row) +
                       " is not between 0 and " + std::to_string(length));
    }
    for (std::int64_t i = 0; i < lengths[row]; ++i) mask.at(static_cast<std::int64_t>(row), i) = 1;
  }
  return mask;
}

Ids column(const Ids& ids, std::int64_t t) { return column_of(ids, t); }
Mask column(const Mask& mask, std::int64_t t) { return column_of(mask, t); }

}  // namespace gradus
