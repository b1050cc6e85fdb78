// JSON from outside: what is refused and with which words, what survives a round trip.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "nn/formats/json.h"

using gradus::Json;
using gradus::parse_json;
using gradus::to_text;

namespace {

std::string error_of(const std::string& text, std::size_t max_depth = 64) {
  try {
    parse_json(text, max_depth);
  } catch (const std::invalid_argument& error) { return error.what(); }
  return "(accepted)";
}

std::string repeat(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

bool same_bits(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }

}  // namespace

TEST_SUITE("json") {
  TEST_CASE("hostile and malformed texts are refused with line, byte and reason") {
    struct Row {
      std::string what;
      std::string text;
      std::string says;
    };
    const Row rows[] = {
        {"empty", "", "unexpected end of input"},
        {"blanks only", " \n ", "line 2, byte 3"},
        {"two values", "{} {}", "expected end of input"},
        {"trailing comma in an array", "[1,]", "byte 3"},
        {"trailing comma in an object", "{\"a\":1,}", "unexpected '}'"},
        {"missing comma", "[1 2]", "byte 3"},
        {"missing colon", "{\"a\" 1}", "expected ':'"},
        {"open array", "[1", "unexpected end of input"},
        {"open string", "\"abc", "missing closing quote"},
        {"name without quotes", "{a:1}", "invalid literal"},
        {"name in single quotes", "{'a':1}", "invalid literal"},
        {"a number as a name", "{1:2}", "expected string literal"},
        {"comment", "[1] // one", "invalid literal"},
        {"block comment", "/* */ 1", "invalid literal"},
        {"byte order mark", "\xEF\xBB\xBF{}", "byte order mark"},
        {"zero byte after the value", std::string("{}\0x", 4), "line 1, byte 2: a byte 0"},
        {"zero byte in a string", std::string("\"a\0b\"", 5), "a byte 0"},
        {"newline in a string", "\"a\nb\"", "control character"},
        {"bad escape", "\"\\x41\"", "forbidden character after backslash"},
        {"short unicode escape", "\"\\u12\"", "'\\u' must be followed by 4 hex digits"},
        {"lone high surrogate", "\"\\ud800\"", "surrogate"},
        {"lone low surrogate", "\"\\udc00\"", "surrogate"},
        {"not UTF-8", "\"\xFF\"", "ill-formed UTF-8"},
        {"overlong UTF-8", "\"\xC0\xAF\"", "ill-formed UTF-8"},
        {"surrogate in UTF-8", "\"\xED\xA0\x80\"", "ill-formed UTF-8"},
        {"cut UTF-8", "\"\xE6\x88\"", "ill-formed UTF-8"},
        {"above U+10FFFF", "\"\xF4\x90\x80\x80\"", "ill-formed UTF-8"},
        {"leading zero", "[01]", "byte 2"},
        {"leading plus", "[+1]", "invalid literal"},
        {"no digit after the point", "[1.]", "expected digit after '.'"},
        {"no digit before the point", "[.5]", "invalid literal"},
        {"empty exponent", "[1e]", "expected '+', '-', or digit"},
        {"hexadecimal", "[0x10]", "byte 2"},
        {"NaN", "[NaN]", "invalid literal"},
        {"infinity", "[-Infinity]", "expected digit after '-'"},
        {"number above double", "[1e999]", "number overflow"},
        {"2^63", "[9223372036854775808]", "the integer 9223372036854775808 is above 2^63 - 1"},
        {"2^64", "[18446744073709551616]", "does not fit into 64 bits"},
        {"below -2^63", "[-9223372036854775809]", "does not fit into 64 bits"},
        {"forty digits", "[" + repeat("9", 50) + "]", "does not fit into 64 bits"},
        {"capital literal", "[True]", "invalid literal"},
        {"duplicate name", "{\n \"a\": 1,\n \"a\": 2}", "line 3, byte 14: two members are named \"a\""},
        {"duplicate name, one escaped", "{\"a\":1,\"\\u0061\":2}", "two members are named \"a\""},
        {"depth 65", repeat("[", 65) + repeat("]", 65), "more than 64 nested"},
        {"depth 100,000", repeat("[", 100'000), "more than 64 nested"},
        {"depth 100,000 of objects", repeat("{\"a\":", 100'000), "more than 64 nested"},
        {"wrong bracket", "[1}", "byte 2"},
        {"only a comma", ",", "byte 0"},
        {"form feed between values", "[1,\f2]", "invalid literal"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.what);
      const std::string error = error_of(row.text);
      CAPTURE(error);
      CHECK((error.starts_with("json: line ") && error.find(row.says) != std::string::npos));
      const bool printable =
          error.find_first_not_of(
              " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") ==
          std::string::npos;
      CHECK(printable);
      CHECK(error.size() < 260);
    }
  }

  TEST_CASE("every front part of a text is refused") {
    const std::string text = "{\"lesson\":\"09\",\"list\":[1,-2.5e3,true,null,\"\\u4e2d\"],\"o\":{\"x\":{}}}";
    CHECK(error_of(text) == "(accepted)");
    for (std::size_t length = 0; length < text.size(); ++length) {
      CAPTURE(length);
      CHECK(error_of(text.substr(0, length)) != "(accepted)");
    }
  }

  TEST_CASE("what is allowed is accepted") {
    const std::string texts[] = {
        "null",    " true ", "-0", "1E+2", "\"\"", "[]", "{}", "[[[]]]", "\t1", "\r\n1", "\"\\/\\b\\f\\u0000\"",
        "{\"\":1}"};
    for (const std::string& text : texts) {
      CAPTURE(text);
      CHECK(error_of(text) == "(accepted)");
    }
    CHECK(error_of(repeat("[", 64) + repeat("]", 64)) == "(accepted)");
    CHECK(error_of("[[1]]", 1) != "(accepted)");
  }

  TEST_CASE("integers stay integers and keep every digit") {
    const std::int64_t values[] = {0, -1, 9007199254740993, std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()};
    for (const std::int64_t value : values) {
      CAPTURE(value);
      const Json back = parse_json(to_text(Json(value)));
      CHECK((back.is_integer() && back.as_integer() == value));
    }
    CHECK_FALSE(parse_json("1.0").is_integer());
    CHECK_FALSE(parse_json("1e3").is_integer());
    CHECK_THROWS_WITH(Json(std::uint64_t{1} << 63), "json: an integer above 2^63 - 1");
  }

  TEST_CASE("every double reads back as the same double") {
    const double values[] = {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             0.1,
                             1.0 / 3,
                             1e22,
                             1e23,
                             123456789012345680.0,
                             5e-324,
                             2.2250738585072014e-308,
                             1.7976931348623157e308,
                             -3.5e-7};
    for (const double value : values) {
      CAPTURE(value);
      const Json back = parse_json(to_text(Json(value)));
      CHECK((!back.is_integer() && same_bits(back.as_double(), value)));
    }
    CHECK(parse_json("1e-400").as_double() == 0.0);
  }

  TEST_CASE("strings keep their characters") {
    const std::string texts[] = {"",
                                 "plain",
                                 "我爱中国",
                                 "quote \" backslash \\ slash /",
                                 "line\nbreak\ttab",
                                 std::string("zero\0byte", 9),
                                 "\xF0\x9F\x98\x80",
                                 "\x7F"};
    for (const std::string& text : texts) {
      CAPTURE(text);
      CHECK(parse_json(to_text(Json(text))).as_string() == text);
    }
    CHECK(parse_json("\"\\ud83d\\ude00\"").as_string() == "\xF0\x9F\x98\x80");
  }

  TEST_CASE("what has no JSON form is not written") {
    CHECK_THROWS_WITH(to_text(Json(std::nan(""))), "json: nan has no JSON form; write null or a string instead");
    CHECK_THROWS_AS(to_text(Json(INFINITY)), std::invalid_argument);
    CHECK_THROWS_WITH(to_text(Json("a\xFF")), "json: a string to write is not UTF-8: \"a\\xff\"");
  }

  TEST_CASE("layout") {
    Json json = Json::object();
    json.set("lesson", "09_bahdanau");
    json.set("curve", std::vector<double>{1, 2.5});
    json.set("empty", Json::object());
    json.set("targets", Json::array());
    Json target = Json::object({{"met", true}, {"got", Json()}});
    json.set("list", Json(Json::Array{target}));
    CHECK(to_text(json, 0) ==
          "{\"lesson\":\"09_bahdanau\",\"curve\":[1.0,2.5],\"empty\":{},\"targets\":[],\"list\":[{\"met\":true,\"got\":"
          "null}]}");
    CHECK(to_text(json) ==
          "{\n  \"lesson\": \"09_bahdanau\",\n  \"curve\": [1.0, 2.5],\n  \"empty\": {},\n  \"targets\": [],\n"
          "  \"list\": [\n    {\n      \"met\": true,\n      \"got\": null\n    }\n  ]\n}");
    CHECK(parse_json(to_text(json)) == json);
  }

  TEST_CASE("members: order, replacement, and errors that name kind and key") {
    Json json = parse_json("{\"b\":1,\"a\":2}");
    json.set("b", 3);
    CHECK(to_text(json, 0) == "{\"b\":3,\"a\":2}");
    CHECK(json.find("c") == nullptr);
    CHECK_THROWS_WITH(json.at("c"), "json: no member named \"c\"");
    CHECK_THROWS_WITH(json.as_array(), "json: wanted array, found object");
    CHECK_THROWS_WITH(json.at("a").as_string(), "json: wanted string, found integer");
    CHECK_THROWS_WITH(parse_json("[0.5]").as_array()[0].as_integer(), "json: wanted integer, found number");
    CHECK(parse_json("7").as_double() == 7.0);
  }
}
