// What the tests of the engine share: plain walks over any layout, numbers that depend on nothing in the engine,
// distances in ulps, and a way to look at both type and text of an error.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "tensor/tensor.h"

namespace gradus::testing {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// splitmix64 written down once more, so that test data do not come from the generator under test.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567u) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double between(double low, double high) { return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53); }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
  std::vector<double> many(std::int64_t count, double low, double high) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& value : values) value = between(low, high);
    return values;
  }

 private:
  std::uint64_t state_;
};

// Calls visit(index) for every position of `shape`, the last axis fastest.
template <class F> void for_each_index(const Shape& shape, F visit) {
  for (std::int64_t length : shape) {
    if (length == 0) return;
  }
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  while (true) {
    visit(index);
    int axis = shape.rank() - 1;
    for (; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < shape[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
    if (axis < 0) return;
  }
}

// The elements row-major, read through buffer, offset and strides alone.
inline std::vector<double> elements(const Tensor& x) {
  std::vector<double> values;
  const auto* bytes = static_cast<const unsigned char*>(x.buffer()->data());
  for_each_index(x.shape(), [&](const std::vector<std::int64_t>& index) {
    std::int64_t place = x.offset();
    for (int axis = 0; axis < x.rank(); ++axis) place += index[static_cast<std::size_t>(axis)] * x.strides()[axis];
    if (x.dtype() == f32) {
      float value;
      std::memcpy(&value, bytes + place * 4, 4);
      values.push_back(static_cast<double>(value));
    } else {
      double value;
      std::memcpy(&value, bytes + place * 8, 8);
      values.push_back(value);
    }
  });
  return values;
}

// The ways in which the same numbers can lie in memory. What lies between them is NaN, so that reading it shows.
enum class Layout { contiguous, transposed, rotated, stepped, offset, padded_rows };
inline constexpr Layout all_layouts[] = {Layout::contiguous, Layout::transposed, Layout::rotated,
                                         Layout::stepped,    Layout::offset,     Layout::padded_rows};
inline std::string name_of(Layout layout) {
  constexpr const char* names[] = {"contiguous", "transposed", "rotated", "sliced with step", "offset", "padded rows"};
  return names[static_cast<int>(layout)];
}

// A tensor with these elements in that layout. Made element by element, without the views under test.
inline Tensor laid_out(Layout layout, const Shape& shape, const std::vector<double>& values, DType dtype) {
  const int rank = shape.rank();
  std::vector<int> order;  // axes from outermost to innermost in memory
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  if (layout == Layout::transposed) std::reverse(order.begin(), order.end());
  if (layout == Layout::rotated && rank > 1) std::rotate(order.begin(), order.begin() + 1, order.end());
  Extents strides = shape;
  std::int64_t step = layout == Layout::stepped ? 3 : 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const int axis = order[i];
    strides[axis] = step;
    step *= shape[axis] > 0 ? shape[axis] : 1;
    if (layout == Layout::stepped) step *= 2;
    if (layout == Layout::padded_rows && i + 1 == order.size()) step += 5;
  }
  const std::int64_t start = layout == Layout::offset ? 7 : 0;
  Tensor x(full(Shape{start + step + 1}, not_a_number, dtype).buffer(), shape, strides, start, dtype);
  std::size_t next = 0;
  auto* bytes = static_cast<unsigned char*>(x.buffer()->data());
  for_each_index(shape, [&](const std::vector<std::int64_t>& index) {
    std::int64_t place = start;
    for (int axis = 0; axis < rank; ++axis) place += index[static_cast<std::size_t>(axis)] * strides[axis];
    const double value = values[next++];
    const auto narrow_value = static_cast<float>(value);
    if (dtype == f32) std::memcpy(bytes + place * 4, &narrow_value, 4);
    else std::memcpy(bytes + place * 8, &value, 8);
  });
  return x;
}

// Equal, or both NaN; +0 and -0 are equal.
inline bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
inline bool same(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i])) return false;
  }
  return true;
}

// |a - b| <= relative * max(|a|, |b|) + absolute; false when one is NaN.
inline bool near(double a, double b, double relative, double absolute = 0) {
  return a == b || std::fabs(a - b) <= relative * std::fmax(std::fabs(a), std::fabs(b)) + absolute;
}
// The same against the largest number of the lot, which is what rounding in sums amounts to.
inline bool near(const std::vector<double>& a, const std::vector<double>& b, double relative, double absolute = 0) {
  if (a.size() != b.size()) return false;
  double scale = 0;
  for (double value : b) scale = std::fmax(scale, std::fabs(value));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i] || std::fabs(a[i] - b[i]) <= relative * scale + absolute)) return false;
  }
  return true;
}

inline std::string text_of(const std::vector<double>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size() && i < 12; ++i) text += (i ? " " : "") + std::to_string(values[i]);
  return text + (values.size() > 12 ? " ...]" : "]");
}

// How many float numbers lie between a and b; huge when just one of them is NaN.
inline std::int64_t ulps(float a, float b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<std::int64_t>::max();
  auto ordered = [](float x) {
    std::int32_t bits;
    std::memcpy(&bits, &x, 4);
    return static_cast<std::int64_t>(bits < 0 ? std::numeric_limits<std::int32_t>::min() - bits : bits);
  };
  const std::int64_t distance = ordered(a) - ordered(b);
  return distance < 0 ? -distance : distance;
}

// The text of the E that f throws; when it throws another type or nothing, a text that says so.
template <class E> std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& error) {
    if (typeid(error) == typeid(E)) return error.what();
    return std::string("(another type of error) ") + typeid(error).name() + ": " + error.what();
  }
  return "(nothing was thrown)";
}

inline bool opens_with(const std::string& text, std::string_view start) { return text.rfind(start, 0) == 0; }
inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace gradus::testing
