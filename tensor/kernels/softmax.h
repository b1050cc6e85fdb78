// Softmax along a row, and its gradient.
#pragma once

#include <cstdint>

namespace gradus {

// out = exp(x - max) / sum of these over what `allowed` allows (nullptr: everything), exactly 0 elsewhere. Returns
// whether anything was allowed; where nothing is, out is 0. What x holds where it is not allowed is not looked at.
template <class T> bool softmax_row(const T* x, const std::uint8_t* allowed, std::int64_t n, T* out);

// The sum of exp(x - shift).
template <class T> T sum_of_exp(const T* x, T shift, std::int64_t n);

// The largest of x; NaN when there is one, minus infinity when there is nothing.
template <class T> T largest(const T* x, std::int64_t n);

// dx = y (dy - sum of y dy), or added to what is there.
template <class T> void softmax_row_gradient(const T* y, const T* dy, std::int64_t n, T* dx, bool add);

}  // namespace gradus
