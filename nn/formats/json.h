// JSON values and text: strict reading of what comes from outside, exact writing of numbers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gradus {

// A JSON value. Objects keep the order of their members; integers and other numbers are different kinds, so that 2^53 +
// 1 and an offset in a file survive.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;  // null
  Json(std::same_as<bool> auto value) : value_(value) {}
  // Throws std::invalid_argument for an unsigned value above 2^63 - 1.
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) Json(T value) : value_(checked_integer(value)) {}
  Json(std::floating_point auto value) : value_(static_cast<double>(value)) {}
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(Array elements) : value_(std::move(elements)) {}
  Json(const std::vector<double>& numbers) : value_(Array(numbers.begin(), numbers.end())) {}

  static Json array() { return Json(Array{}); }
  static Json object(Object members = {}) {
    Json json;
    json.value_ = std::move(members);
    return json;
  }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  // "null", "bool", "integer", "number", "string", "array" or "object"
  std::string_view kind() const;

  // The value, or std::invalid_argument that names the kind found. as_double accepts an integer.
  bool as_bool() const;
  std::int64_t as_integer() const;
  double as_double() const;
  const std::string& as_string() const;
  const Array& as_array() const;
  const Object& as_object() const;

  // The member of an object: a null pointer (find) or std::invalid_argument that names the key (at) if there is none.
  const Json* find(std::string_view key) const;
  const Json& at(std::string_view key) const;

  // Replaces or appends a member of an object / appends to an array; std::invalid_argument for another kind.
  void set(std::string_view key, Json value);
  void push_back(Json value);

  friend bool operator==(const Json& a, const Json& b);

 private:
  template <std::integral T> static std::int64_t checked_integer(T value) {
    if (!std::in_range<std::int64_t>(value)) throw std::invalid_argument("json: an integer above 2^63 - 1");
    return static_cast<std::int64_t>(value);
  }

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

// The value that the text holds, and nothing besides it. Refused, with line and byte offset in a std::invalid_argument:
// anything that RFC 8259 does not allow, a byte order mark, a byte 0, text that is not UTF-8, two members with one
// name, more than max_depth nested arrays and objects, an integer outside of int64, a number outside of double.
Json parse_json(std::string_view text, std::size_t max_depth = 64);

// JSON text, without a newline at the end. Every double reads back as the same double (and as a double: "1.0").
// indent 0: one line; else that many spaces per level, with arrays of plain values on one line.
// Throws std::invalid_argument for NaN, an infinity and strings that are not UTF-8.
std::string to_text(const Json& json, int indent = 2);

}  // namespace gradus
