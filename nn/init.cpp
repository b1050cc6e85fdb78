// Initialisers.
#include "nn/init.h"

#include <cmath>

namespace gradus {
namespace {

// Row-major (rows, columns) numbers as a parameter that is stored column by column.
Var stored_by_input(std::int64_t rows, std::int64_t columns, const std::vector<double>& values, DType dtype) {
  Tensor stored = transpose(empty(Shape{columns, rows}, dtype));
  copy_(stored, tensor(Shape{rows, columns}, values, dtype));
  return parameter(stored);
}

void append_orthogonal(std::vector<double>& values, std::int64_t rows, std::int64_t columns, Generator& generator) {
  const bool wide = rows < columns;
  const std::int64_t count = wide ? rows : columns, length = wide ? columns : rows;
  std::vector<std::vector<double>> vectors;
  while (static_cast<std::int64_t>(vectors.size()) < count) {
    std::vector<double> v(static_cast<std::size_t>(length));
    for (double& value : v) value = generator.normal();
    double size = 0;
    for (int pass = 0; pass < 2; ++pass) {  // twice: the first pass leaves rounding errors along the others
      for (const auto& other : vectors) {
        double overlap = 0;
        for (std::size_t i = 0; i < v.size(); ++i) overlap += v[i] * other[i];
        for (std::size_t i = 0; i < v.size(); ++i) v[i] -= overlap * other[i];
      }
      size = 0;
      for (double value : v) size += value * value;
    }
    if (size < 1e-12) continue;
    for (double& value : v) value /= std::sqrt(size);
    vectors.push_back(std::move(v));
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
      values.push_back(wide ? vectors[a][b] : vectors[b][a]);
    }
  }
}

}  // namespace

Var xavier(std::int64_t d_out, std::int64_t d_in, Generator& generator, DType dtype) {
  return xavier_stacked(1, d_out, d_in, generator, dtype);
}

Var xavier_stacked(std::int64_t blocks, std::int64_t d_out, std::int64_t d_in, Generator& generator, DType dtype) {
  const double bound = std::sqrt(6.0 / static_cast<double>(d_in + d_out));
  std::vector<double> values(static_cast<std::size_t>(Shape{blocks * d_out, d_in}.size()));
  for (double& value : values) value = generator.uniform(-bound, bound);
  return stored_by_input(blocks * d_out, d_in, values, dtype);
}

Var orthogonal(std::int64_t d_out, std::int64_t d_in, Generator& generator, DType dtype) {
  std::vector<double> values;
  append_orthogonal(values, d_out, d_in, generator);
  return stored_by_input(d_out, d_in, values, dtype);
}

Var orthogonal_stacked(std::int64_t blocks, std::int64_t d, Generator& generator, DType dtype) {
  std::vector<double> values;
  for (std::int64_t block = 0; block < blocks; ++block) append_orthogonal(values, d, d, generator);
  return stored_by_input(blocks * d, d, values, dtype);
}

Var uniform(const Shape& shape, double bound, Generator& generator, DType dtype) {
  return parameter(random_uniform(shape, -bound, bound, generator, dtype));
}

Var zero_parameter(const Shape& shape, DType dtype) { return parameter(zeros(shape, dtype)); }

}  // namespace gradus
