// JSON text to values and back. The tokens come from nlohmann's SAX reader; what is allowed is decided here.
#include "nn/formats/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace gradus {

namespace {

[[noreturn]] void wrong_kind(std::string_view wanted, std::string_view found) {
  throw std::invalid_argument(fmt::format("json: wanted {}, found {}", wanted, found));
}

// Length in bytes of the UTF-8 character at the front of the text, 0 if there is none (overlong, surrogate, cut off).
std::size_t utf8_character(std::string_view text) {
  auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// Text from outside for an error message: at most `limit` bytes, printable ASCII, the rest as \xNN.
std::string for_message(std::string_view text, std::size_t limit) {
  std::string out;
  for (char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return text.size() > limit ? out + "..." : out;
}

// Hands the bytes to nlohmann's reader and counts them, so that our own refusals know where they happen.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  std::size_t* count_;
};

// Builds the value from the reader's events. A member that returns false stops the reader; `error` then says why.
class Builder {
 public:
  Builder(std::size_t max_depth, const std::size_t* bytes_read) : max_depth_(max_depth), bytes_read_(bytes_read) {}

  std::string error;
  std::size_t error_offset = 0;
  Json result;

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) {
    if (!std::in_range<std::int64_t>(value)) return refuse(fmt::format("the integer {} is above 2^63 - 1", value));
    return add(Json(value));
  }
  // An integer that does not fit arrives here as well; numbers outside of double are refused by the reader itself.
  bool number_float(double value, const std::string& token) {
    if (token.find_first_not_of("-0123456789") == std::string::npos) {
      return refuse(fmt::format("the integer {} does not fit into 64 bits", for_message(token, 40)));
    }
    return add(Json(value));
  }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(std::vector<std::uint8_t>&) { return refuse("binary data"); }
  bool start_object(std::size_t) { return open(true); }
  bool key(std::string& name) {
    Open& object = open_.back();
    if (!object.names.insert(name).second) {
      return refuse(fmt::format("two members are named \"{}\"", for_message(name, 40)));
    }
    object.name = std::move(name);
    return true;
  }
  bool end_object() {
    Json value = Json::object(std::move(open_.back().members));
    open_.pop_back();
    return add(std::move(value));
  }
  bool start_array(std::size_t) { return open(false); }
  bool end_array() {
    Json value(std::move(open_.back().elements));
    open_.pop_back();
    return add(std::move(value));
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    std::string_view what = e.what();
    if (const std::size_t at = what.find("syntax error"); at != std::string_view::npos) what.remove_prefix(at);
    if (const std::size_t at = what.find("] "); at != std::string_view::npos && what.front() == '[') {
      what.remove_prefix(at + 2);
    }
    error = for_message(what, 160);
    error_offset = position > 0 ? position - 1 : 0;
    return false;
  }

 private:
  struct Open {
    bool is_object = false;
    Json::Array elements;
    Json::Object members;
    std::set<std::string> names;  // of the members so far: a vector would make many members quadratic
    std::string name;             // of the member whose value comes next
  };

  bool refuse(std::string why) {
    error = std::move(why);
    error_offset = *bytes_read_ > 0 ? *bytes_read_ - 1 : 0;
    return false;
  }

  bool open(bool is_object) {
    if (open_.size() >= max_depth_) return refuse(fmt::format("more than {} nested arrays and objects", max_depth_));
    open_.emplace_back();
    open_.back().is_object = is_object;
    return true;
  }

  bool add(Json value) {
    if (open_.empty()) {
      result = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().members.emplace_back(std::move(open_.back().name), std::move(value));
    } else {
      open_.back().elements.push_back(std::move(value));
    }
    return true;
  }

  std::size_t max_depth_;
  const std::size_t* bytes_read_;
  std::vector<Open> open_;
};

[[noreturn]] void refuse_text(std::string_view text, std::size_t offset, std::string_view why) {
  offset = std::min(offset, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
  throw std::invalid_argument(fmt::format("json: line {}, byte {}: {}", line, offset, why));
}

void append_string(std::string& out, const std::string& whole) {
  out += '"';
  for (std::string_view text = whole; !text.empty();) {
    const std::size_t length = utf8_character(text);
    if (length == 0) {
      throw std::invalid_argument(fmt::format("json: a string to write is not UTF-8: \"{}\"", for_message(whole, 40)));
    }
    const auto byte = static_cast<unsigned char>(text.front());
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text.front();
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    throw std::invalid_argument(fmt::format("json: {} has no JSON form; write null or a string instead", value));
  }
  const std::string digits = fmt::format("{}", value);
  out += digits;
  if (digits.find_first_of(".e") == std::string::npos) out += ".0";
}

void append(std::string& out, const Json& json, int indent, int level);

// One array or object; each element goes on a line of its own unless `flat`.
template <typename List, typename Write>
void append_list(std::string& out, const List& list, std::string_view brackets, bool flat, int indent, int level,
                 Write write) {
  out += brackets[0];
  bool first = true;
  for (const auto& element : list) {
    if (!first) out += flat && indent > 0 ? ", " : ",";
    first = false;
    if (!flat) {
      out += '\n';
      out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level + 1), ' ');
    }
    write(element);
  }
  if (!flat && !first) {
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  }
  out += brackets[1];
}

void append(std::string& out, const Json& json, int indent, int level) {
  if (json.is_null()) {
    out += "null";
  } else if (json.is_bool()) {
    out += json.as_bool() ? "true" : "false";
  } else if (json.is_integer()) {
    out += fmt::format("{}", json.as_integer());
  } else if (json.is_number()) {
    append_double(out, json.as_double());
  } else if (json.is_string()) {
    append_string(out, json.as_string());
  } else if (json.is_array()) {
    const Json::Array& elements = json.as_array();
    const bool plain =
        std::none_of(elements.begin(), elements.end(), [](const Json& e) { return e.is_array() || e.is_object(); });
    append_list(out, elements, "[]", indent == 0 || plain, indent, level,
                [&](const Json& e) { append(out, e, indent, level + 1); });
  } else {
    append_list(out, json.as_object(), "{}", indent == 0, indent, level, [&](const Json::Member& member) {
      append_string(out, member.first);
      out += indent > 0 ? ": " : ":";
      append(out, member.second, indent, level + 1);
    });
  }
}

}  // namespace

std::string_view Json::kind() const {
  static constexpr std::string_view names[] = {"null", "bool", "integer", "number", "string", "array", "object"};
  return names[value_.index()];
}

bool Json::as_bool() const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  wrong_kind("bool", kind());
}

std::int64_t Json::as_integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  wrong_kind("integer", kind());
}

double Json::as_double() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const double* value = std::get_if<double>(&value_)) return *value;
  wrong_kind("number", kind());
}

const std::string& Json::as_string() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  wrong_kind("string", kind());
}

const Json::Array& Json::as_array() const {
  if (const auto* value = std::get_if<Array>(&value_)) return *value;
  wrong_kind("array", kind());
}

const Json::Object& Json::as_object() const {
  if (const auto* value = std::get_if<Object>(&value_)) return *value;
  wrong_kind("object", kind());
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : as_object()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* value = find(key)) return *value;
  throw std::invalid_argument(fmt::format("json: no member named \"{}\"", for_message(key, 40)));
}

void Json::set(std::string_view key, Json value) {
  auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) wrong_kind("object", kind());
  for (Member& member : *members) {
    if (member.first == key) {
      member.second = std::move(value);
      return;
    }
  }
  members->emplace_back(std::string(key), std::move(value));
}

void Json::push_back(Json value) {
  auto* elements = std::get_if<Array>(&value_);
  if (elements == nullptr) wrong_kind("array", kind());
  elements->push_back(std::move(value));
}

bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

Json parse_json(std::string_view text, std::size_t max_depth) {
  // The reader takes a byte 0 for the end of the text and skips a byte order mark; neither belongs into JSON.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) { refuse_text(text, zero, "a byte 0"); }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") refuse_text(text, 0, "a byte order mark");
  if (text.empty()) refuse_text(text, 0, "unexpected end of input");  // newer readers have other words for it
  std::size_t bytes_read = 0;
  Builder builder(max_depth, &bytes_read);
  std::size_t ignored = 0;
  const bool whole = nlohmann::json::sax_parse(CountingIterator(text.data(), &bytes_read),
                                               CountingIterator(text.data() + text.size(), &ignored), &builder);
  if (!whole) refuse_text(text, builder.error_offset, builder.error);
  return std::move(builder.result);
}

std::string to_text(const Json& json, int indent) {
  std::string out;
  append(out, json, indent, 0);
  return out;
}

}  // namespace gradus
