// Softmax along rows, and its gradient.
#pragma once

#include <cstdint>

namespace gradus {

// Each of `rows` rows of n numbers, which begin `step` apart in all operands: out = exp(x - max) / sum of these over what `allowed` allows (nullptr: everything),
// exactly 0 elsewhere. Where nothing is allowed out is 0, and the first such row is returned, otherwise -1. What x holds
// where it is not allowed is not looked at. x and out may be the same.
template <class T>
std::int64_t softmax_rows(const T* x, const std::uint8_t* allowed, std::int64_t n, std::int64_t rows, std::int64_t step,
                          T* out);
[[noreturn]] void refuse_empty_row(std::int64_t row);  // throws ValueError

// The sum of exp(x - shift).
template <class T> T sum_of_exp(const T* x, T shift, std::int64_t n);

// The largest of x; NaN when there is one, minus infinity when there is nothing.
template <class T> T largest(const T* x, std::int64_t n);

// Each of `rows` rows, as above: dx = y (dy - sum of y dy), or added to what is there. dx and dy may be the same.
template <class T>
void softmax_rows_gradient(const T* y, const T* dy, std::int64_t n, std::int64_t rows, std::int64_t step, T* dx,
                           bool add);

}  // namespace gradus
