// Arrays of double with a shape, and a bag of named ones: all the data that a reference forward reads and writes.
// Everything in this folder is written with plain loops and standard headers, so that nothing of the library it checks
// is in it.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gradus::reference {

using Vec = std::vector<double>;
using Row = std::span<const double>;
using Dims = std::vector<std::size_t>;

// Row-major and contiguous. Every access is checked; a wrong one throws std::invalid_argument with the shape.
struct Array {
  Dims shape;
  Vec data;

  Array() = default;
  explicit Array(Dims dims);  // zeros
  Array(Dims dims, Vec values);

  std::size_t dim(std::size_t axis) const {
    if (axis >= shape.size()) no_axis(axis);
    return shape[axis];
  }
  double& at(std::initializer_list<std::size_t> index);
  double at(std::initializer_list<std::size_t> index) const;
  // The last axis at the given leading indices: row({b, t}) of (B, T, d) holds d numbers.
  Row row(std::initializer_list<std::size_t> leading) const;
  void set_row(std::initializer_list<std::size_t> leading, Row values);

 private:
  [[noreturn]] void no_axis(std::size_t axis) const;
};

// Parameters and inputs together under the names of the papers, so that finite differences can move any entry of any of
// them.
using Arrays = std::map<std::string, Array>;

// The array of that name; throws std::invalid_argument that lists the names that are there.
const Array& get(const Arrays& arrays, const std::string& name);
// The array of that name or nullptr.
const Array* find(const Arrays& arrays, const std::string& name);

std::string to_string(const Dims& shape);
// (rows, cols) -> (cols, rows)
Array transposed(const Array& matrix);

}  // namespace gradus::reference
