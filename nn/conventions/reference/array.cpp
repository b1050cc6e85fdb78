// Shape checks and indexing of the references' arrays.
#include "nn/conventions/reference/array.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gradus::reference {

namespace {

std::size_t count(const Dims& shape) {
  std::size_t n = 1;
  for (std::size_t d : shape) n *= d;
  return n;
}

std::size_t offset(const Dims& shape, std::initializer_list<std::size_t> index) {
  std::size_t at = 0, axis = 0;
  for (std::size_t i : index) {
    if (axis >= shape.size() || i >= shape[axis]) {
      throw std::invalid_argument("reference array: index " + to_string(Dims(index)) + " outside shape " +
                                  to_string(shape));
    }
    at = at * shape[axis++] + i;
  }
  return at;
}

void need_rank(const Dims& shape, std::size_t rank) {
  if (shape.size() != rank) {
    throw std::invalid_argument("reference array: asked as rank " + std::to_string(rank) + ", has shape " +
                                to_string(shape));
  }
}

}  // namespace

Array::Array(Dims dims) : shape(std::move(dims)), data(count(shape)) {}

Array::Array(Dims dims, Vec values) : shape(std::move(dims)), data(std::move(values)) {
  if (data.size() != count(shape)) {
    throw std::invalid_argument("reference array: shape " + to_string(shape) + " needs " +
                                std::to_string(count(shape)) + " numbers, got " + std::to_string(data.size()));
  }
}

void Array::no_axis(std::size_t axis) const {
  throw std::invalid_argument("reference array: no axis " + std::to_string(axis) + " in shape " + to_string(shape));
}

double& Array::at(std::initializer_list<std::size_t> index) {
  need_rank(shape, index.size());
  return data[offset(shape, index)];
}

double Array::at(std::initializer_list<std::size_t> index) const {
  need_rank(shape, index.size());
  return data[offset(shape, index)];
}

Row Array::row(std::initializer_list<std::size_t> leading) const {
  need_rank(shape, leading.size() + 1);
  return Row(data).subspan(offset(shape, leading) * shape.back(), shape.back());
}

void Array::set_row(std::initializer_list<std::size_t> leading, Row values) {
  need_rank(shape, leading.size() + 1);
  if (values.size() != shape.back()) {
    throw std::invalid_argument("reference array: a row of " + std::to_string(values.size()) +
                                " numbers does not fit shape " + to_string(shape));
  }
  std::copy(values.begin(), values.end(),
            data.begin() + static_cast<std::ptrdiff_t>(offset(shape, leading) * shape.back()));
}

const Array& get(const Arrays& arrays, const std::string& name) {
  if (const Array* array = find(arrays, name)) return *array;
  std::string names;
  for (const auto& [key, value] : arrays) names += (names.empty() ? "" : ", ") + key;
  throw std::invalid_argument("reference: no array named '" + name + "'; there are: " + names);
}

const Array* find(const Arrays& arrays, const std::string& name) {
  auto it = arrays.find(name);
  return it == arrays.end() ? nullptr : &it->second;
}

std::string to_string(const Dims& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

Array transposed(const Array& matrix) {
  need_rank(matrix.shape, 2);
  const std::size_t rows = matrix.dim(0), cols = matrix.dim(1);
  Array out({cols, rows});
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) out.data[c * rows + r] = matrix.data[r * cols + c];
  return out;
}

}  // namespace gradus::reference
