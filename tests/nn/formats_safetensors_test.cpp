// safetensors: byte for byte against a file made by hand, round trips of every layout, and hostile files.
#include "nn/formats/safetensors.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "tests/reference/safetensors_bytes.h"
#include "tests/tensor/check.h"

using namespace gradus;
using namespace gradus::testing;
namespace bytes = gradus::paper::safetensors;

namespace {

// header length | header as it is | data
std::string raw(std::uint64_t length, const std::string& header, const std::string& data = "") {
  return bytes::little_endian_64(length) + header + data;
}
std::string raw(const std::string& header, const std::string& data = "") { return raw(header.size(), header, data); }

// A header with one tensor "a" of these members, and `count` bytes of data.
std::string one(const std::string& members, std::size_t count = 0) {
  return raw("{\"a\":{" + members + "}}", std::string(count, '\0'));
}
std::string typed(const std::string& dtype, std::int64_t length, const std::string& data) {
  return raw("{\"a\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + std::to_string(length) + "],\"data_offsets\":[0," +
                 std::to_string(data.size()) + "]}}",
             data);
}
std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}
std::string little(std::uint64_t value, std::size_t width) { return bytes::little_endian_64(value).substr(0, width); }

std::string refusal(const std::string& file) {
  return message_of<FileError>([&] { parse_safetensors(file); });
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  const Tensor x = contiguous(a), y = contiguous(b);
  return dispatch(a.dtype(), [&](auto t) {
    using T = decltype(t);
    return x.size() == 0 || std::memcmp(x.data<T>(), y.data<T>(), static_cast<std::size_t>(x.size()) * sizeof(T)) == 0;
  });
}

struct Hostile {
  std::string what, file, says;
};

std::vector<Hostile> hostile_files() {
  const std::string good = bytes::small_file();
  const std::string f32_of_2 = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const std::string two_tensors = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[AA]},)"
                                  R"("b":{"dtype":"F32","shape":[1],"data_offsets":[BB]}})";
  const auto places = [&](const std::string& a, const std::string& b, std::size_t count) {
    std::string header = two_tensors;
    header.replace(header.find("AA"), 2, a);
    header.replace(header.find("BB"), 2, b);
    return raw(header, std::string(count, '\0'));
  };
  const std::string max = "9223372036854775807";
  std::vector<Hostile> rows = {
      // the length of the header
      {"empty", "", "it has 0 bytes"},
      {"7 bytes", std::string(7, '\0'), "it has 7 bytes"},
      {"a header of no bytes", raw(""), "does not open with '{'"},
      {"header longer than the file", raw(100, "{}"), "header needs 100 bytes, 2 are there"},
      {"header one byte longer than the file", raw(3, "{}"), "header needs 3 bytes, 2 are there"},
      {"header of 2^63 bytes", raw(std::uint64_t{1} << 63, "{}"), "9223372036854775808 bytes long; the limit is"},
      {"header of 2^64 - 1 bytes", raw(~std::uint64_t{0}, "{}"), "18446744073709551615 bytes long"},
      {"header of 2^64 - 8 bytes, so that 8 + length wraps to 0", raw(~std::uint64_t{7}, "{}"), "the limit is"},
      {"header of 2^31 bytes", raw(std::uint64_t{1} << 31, "{}"), "the limit is"},
      {"header one byte over the limit", raw((std::uint64_t{1} << 24) + 1, "{}"), "the limit is 16777216"},
      {"length with the high byte first", std::string("\0\0\0\0\0\0\0\2{}", 10), "the limit is"},
      {"text of another kind", "import torch; torch.load('model.pt')", "the limit is"},
      {"a zip, as torch.save makes it", std::string("PK\3\4\0\0\10\10\0\0\0\0\0\0", 14), "the limit is"},
      // the header as JSON
      {"no JSON", raw("{hello}"), "its header: json: line 1, byte"},
      {"a space in front", raw(" {}"), "does not open with '{'"},
      {"a byte order mark", raw("\xEF\xBB\xBF{}"), "does not open with '{'"},
      {"an array", raw("[]"), "does not open with '{'"},
      {"no end", raw("{\"a\":"), "its header:"},
      {"text after the end", raw("{} x"), "its header:"},
      {"a byte 0 after the end", raw(std::string("{}\0", 3)), "its header:"},
      {"a comma too much", raw("{\"a\":{" + f32_of_2 + "},}", std::string(8, '\0')), "its header:"},
      {"a comment", raw("{}/**/"), "its header:"},
      {"name that is not UTF-8", raw("{\"\xFF\":{" + f32_of_2 + "}}", std::string(8, '\0')), "UTF-8"},
      {"overlong UTF-8", raw("{\"\xC0\xAF\":{" + f32_of_2 + "}}", std::string(8, '\0')), "UTF-8"},
      {"half of a surrogate pair", raw("{\"\\ud800\":{" + f32_of_2 + "}}", std::string(8, '\0')), "its header:"},
      {"duplicate tensor", raw("{\"a\":{" + f32_of_2 + "},\"a\":{" + f32_of_2 + "}}", std::string(8, '\0')), "two"},
      {"duplicate tensor, spelled with an escape",
       raw("{\"a\":{" + f32_of_2 + "},\"\\u0061\":{" + f32_of_2 + "}}", std::string(8, '\0')), "two"},
      {"duplicate dtype", one(f32_of_2 + ",\"dtype\":\"F32\"", 8), "two"},
      {"duplicate metadata", raw(R"({"__metadata__":{"k":"1","k":"2"}})"), "two"},
      {"two __metadata__", raw(R"({"__metadata__":{},"__metadata__":{}})"), "two"},
      {"4 levels", raw("{\"a\":{\"shape\":[[1]]}}"), "its header:"},
      {"100,000 levels of arrays", raw("{\"a\":" + std::string(100000, '[')), "commas and brackets"},
      {"100,000 levels, with spaces", raw("{\"a\":" + repeated("[    ", 100000)), "nested"},
      {"100,000 levels of objects", raw(repeated("{\"a\":", 100000)), "nested"},
      {"a million small values", raw("{\"a\":[" + repeated("1,", 1000000) + "1]}"), "commas and brackets"},
      // metadata
      {"metadata that is a list", raw(R"({"__metadata__":["a"]})"), "__metadata__ is no object"},
      {"metadata that is null", raw(R"({"__metadata__":null})"), "__metadata__ is no object"},
      {"metadata with a number", raw(R"({"__metadata__":{"step":7}})"), "'step' is no string"},
      // one tensor
      {"a tensor that is a number", raw("{\"a\":1}"), "tensor 'a': json: wanted object, found integer"},
      {"a tensor that is null", raw("{\"a\":null}"), "wanted object"},
      {"a tensor that is a list", raw("{\"a\":[]}"), "wanted object"},
      {"no dtype", one(R"("shape":[2],"data_offsets":[0,8])", 8), "dtype"},
      {"no shape", one(R"("dtype":"F32","data_offsets":[0,8])", 8), "shape"},
      {"no data_offsets", one(R"("dtype":"F32","shape":[2])", 8), "data_offsets"},
      {"an unknown member", one(f32_of_2 + ",\"offset\":3", 8), "tensor 'a' has a member 'offset'"},
      {"unknown dtype", one(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])", 8), "has the dtype 'F33'"},
      {"dtype in small letters", one(R"("dtype":"f32","shape":[2],"data_offsets":[0,8])", 8), "has the dtype 'f32'"},
      {"an 8-bit float", one(R"("dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8])", 8), "has the dtype 'F8_E4M3'"},
      {"empty dtype", one(R"("dtype":"","shape":[2],"data_offsets":[0,8])", 8), "has the dtype ''"},
      {"dtype that is a number", one(R"("dtype":4,"shape":[2],"data_offsets":[0,8])", 8), "wanted string"},
      {"dtype that is long and rings",
       one("\"dtype\":\"\\u0007" + std::string(1000, 'x') + "\"," + R"("shape":[2],"data_offsets":[0,8])", 8),
       "'\\x07xxxxxxxxxxx...'"},
      {"a length of -2", one(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])", 8), "has the length -2"},
      {"lengths of -1 and -2, product 2", one(R"("dtype":"F32","shape":[-1,-2],"data_offsets":[0,8])", 8), "length -1"},
      {"a length of 2.0", one(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])", 8), "wanted integer"},
      {"a length of 2e0", one(R"("dtype":"F32","shape":[2e0],"data_offsets":[0,8])", 8), "wanted integer"},
      {"a length that is text", one(R"("dtype":"F32","shape":["2"],"data_offsets":[0,8])", 8), "wanted integer"},
      {"a length that is true", one(R"("dtype":"F32","shape":[true,2],"data_offsets":[0,8])", 8), "wanted integer"},
      {"a shape that is a number", one(R"("dtype":"F32","shape":2,"data_offsets":[0,8])", 8), "wanted array"},
      {"6 axes", one(R"("dtype":"F32","shape":[1,1,1,1,1,2],"data_offsets":[0,8])", 8), "6 axes; Gradus has at most 5"},
      {"2^62 elements, 4 bytes each: 2^64 wraps to 0",
       one(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"), "does not fit into 63 bits"},
      {"2^62 + 1 elements: wraps to 4", one(R"("dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4])", 4),
       "does not fit into 63 bits"},
      {"2^32 x 2^32 elements: wraps to 0", one(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"),
       "does not fit into 63 bits"},
      {"the same beside a length of 0", one(R"("dtype":"U8","shape":[4294967296,0,4294967296],"data_offsets":[0,0])"),
       "does not fit into 63 bits"},
      {"2^63 - 1 elements", one("\"dtype\":\"F64\",\"shape\":[" + max + "],\"data_offsets\":[0,8]", 8), "63 bits"},
      {"a length of 2^63", one(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,0])"), "its header:"},
      {"a length of 2^64", one(R"("dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0])"), "its header:"},
      {"a length of 10^400", one("\"dtype\":\"U8\",\"shape\":[1" + std::string(400, '0') + "],\"data_offsets\":[0,0]"),
       "its header:"},
      {"8 terabytes that are not there",
       one(R"("dtype":"F64","shape":[1099511627776],"data_offsets":[0,8796093022208])"),
       "its tensors need 8796093022208 bytes of data, 0 are there"},
      // places
      {"no offsets", one(R"("dtype":"F32","shape":[2],"data_offsets":[])", 8), "has 0 data_offsets"},
      {"one offset", one(R"("dtype":"F32","shape":[2],"data_offsets":[0])", 8), "has 1 data_offsets"},
      {"three offsets", one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])", 8), "has 3 data_offsets"},
      {"reversed", one(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])", 8), "data_offsets are 8 and 0"},
      {"from -8", one(R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])", 8), "data_offsets are -8 and 0"},
      {"offset 0.0", one(R"("dtype":"F32","shape":[2],"data_offsets":[0.0,8])", 8), "wanted integer"},
      {"4 bytes for 8", one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", 4), "needs 8 bytes"},
      {"16 bytes for 8", one(R"("dtype":"F32","shape":[2],"data_offsets":[0,16])", 16), "needs 8 bytes"},
      {"4 bytes for none", one(R"("dtype":"F32","shape":[0],"data_offsets":[0,4])", 4), "needs 0 bytes"},
      {"none for a scalar", one(R"("dtype":"F32","shape":[],"data_offsets":[0,0])"), "needs 4 bytes"},
      {"past the end", one(f32_of_2, 7), "8 bytes of data, 7 are there"},
      {"far past the end", one("\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[9223372036854775806," + max + "]", 1),
       "belong to no tensor"},
      {"a hole in front", one(R"("dtype":"F32","shape":[2],"data_offsets":[8,16])", 16),
       "the 8 bytes before it belong"},
      {"a hole between", places("0,4", "8,12", 12), "the 4 bytes before it belong to no tensor"},
      {"a hole between, listed in reverse", places("8,12", "0,4", 12), "the 4 bytes before it belong to no tensor"},
      {"bytes left over", one(f32_of_2, 9), "1 bytes follow the last tensor"},
      {"data without a tensor", raw("{}", "x"), "1 bytes follow the last tensor"},
      {"the same place twice", places("0,4", "0,4", 4), "inside the tensor before it"},
      {"overlap by one byte", places("0,4", "3,7", 7), "begins at byte 3 of the data, inside"},
      {"an empty tensor beyond the end", one(R"("dtype":"F32","shape":[0],"data_offsets":[4,4])"),
       "belong to no tensor"},
      // numbers that f64 cannot hold
      {"2^53 + 1", typed("I64", 1, little((std::uint64_t{1} << 53) + 1, 8)), "holds the integer 9007199254740993"},
      {"-2^53 - 1", typed("I64", 1, little(~(std::uint64_t{1} << 53), 8)), "holds the integer -9007199254740993"},
      {"-2^63", typed("I64", 1, little(std::uint64_t{1} << 63, 8)), "holds the integer -9223372036854775808"},
      {"2^64 - 1", typed("U64", 1, little(~std::uint64_t{0}, 8)), "holds the integer 18446744073709551615"},
      {"a bool of 2", typed("BOOL", 3, std::string("\0\1\2", 3)), "holds a bool with the value 2"},
      {"a good file and one byte", good + "x", "1 bytes follow the last tensor"},
      {"a good file twice", good + good, "bytes follow the last tensor"},
  };
  return rows;
}

}  // namespace

TEST_SUITE("safetensors") {
  TEST_CASE("a file made by hand is read") {
    const TensorFile file = parse_safetensors(bytes::small_file());
    REQUIRE(file.tensors.size() == 3);
    CHECK(file.tensors[0].first == "W_a");
    CHECK(file.tensors[1].first == "v_a");
    CHECK(file.tensors[2].first == "none");
    CHECK(file.tensors[0].second.shape() == Shape{1, 3});
    CHECK(file.tensors[0].second.dtype() == f64);
    CHECK(file.tensors[0].second.to_vector() == std::vector<double>{0.5, -1, 3});
    CHECK(file.tensors[1].second.dtype() == f32);
    CHECK(file.tensors[1].second.to_vector() == std::vector<double>{1, -2});
    CHECK(file.tensors[2].second.shape() == Shape{0, 5});
    CHECK(file.metadata == std::map<std::string, std::string>{{"step", "7"}});
    CHECK(file.find("v_a")->size() == 2);
    CHECK(file.find("v") == nullptr);
  }

  TEST_CASE("writing gives the bytes made by hand") {
    TensorFile file;
    file.tensors = {{"W_a", tensor(Shape{1, 3}, {0.5, -1, 3}, f64)},
                    {"v_a", tensor(Shape{2}, {1, -2}, f32)},
                    {"none", zeros(Shape{0, 5}, f32)}};
    file.metadata["step"] = "7";
    CHECK(to_safetensors(file) == bytes::small_file());
  }

  TEST_CASE("f32 before f64 in the list: the data lie wide first, the list keeps its order") {
    TensorFile file;
    file.tensors = {{"narrow", tensor(Shape{1}, {2}, f32)}, {"wide", tensor(Shape{1}, {3}, f64)}};
    const std::string text = to_safetensors(file);
    CHECK(contains(text, R"("narrow":{"dtype":"F32","shape":[1],"data_offsets":[8,12]})"));
    CHECK(contains(text, R"("wide":{"dtype":"F64","shape":[1],"data_offsets":[0,8]})"));
    const TensorFile again = parse_safetensors(text);
    CHECK(again.tensors[0].first == "narrow");
    CHECK(again.tensors[0].second.item() == 2);
    CHECK(again.tensors[1].second.item() == 3);
  }

  TEST_CASE("no tensors at all") {
    CHECK(parse_safetensors(to_safetensors({})).tensors.empty());
    CHECK(to_safetensors({}) == raw("{}      "));
  }

  TEST_CASE("round trip: every rank, layout and dtype, bit for bit") {
    const Shape shapes[] = {{}, {1}, {0}, {7}, {2, 3}, {0, 5}, {5, 0}, {2, 3, 4}, {2, 3, 4, 5}, {2, 1, 3, 2, 2}};
    Numbers numbers(3);
    TensorFile file;
    for (const Shape& shape : shapes) {
      const std::vector<double> values = numbers.many(shape.size(), -1e3, 1e3);
      for (DType dtype : {f32, f64}) {
        for (Layout layout : all_layouts) {
          const std::string name = std::string(name_of(layout)) + " " + to_string(shape) + " " + to_string(dtype);
          file.tensors.emplace_back(name, laid_out(layout, shape, values, dtype));
        }
      }
    }
    const TensorFile again = parse_safetensors(to_safetensors(file));
    REQUIRE(again.tensors.size() == file.tensors.size());
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
      CAPTURE(file.tensors[i].first);
      CHECK(again.tensors[i].first == file.tensors[i].first);
      CHECK(same_bits(again.tensors[i].second, file.tensors[i].second));
      CHECK(again.tensors[i].second.contiguous());
    }
  }

  TEST_CASE("round trip: a stretched view is written in full") {
    const Tensor row = tensor(Shape{3}, {1, 2, 3}, f32);
    const TensorFile again = parse_safetensors(to_safetensors({{{"x", expand_new(row, Axis{0}, 4)}}, {}}));
    CHECK(again.tensors[0].second.to_vector() == std::vector<double>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  }

  TEST_CASE("round trip: NaN with its payload, infinities, -0 and the smallest numbers") {
    Tensor x = zeros(Shape{6}, f64);
    const std::uint64_t bits[] = {0x7ff8dead0000beef, 0xfff8000000000001, 0x7ff0000000000000,
                                  0xfff0000000000000, 0x8000000000000000, 1};
    std::memcpy(x.mutable_data<double>(), bits, sizeof bits);
    CHECK(same_bits(parse_safetensors(to_safetensors({{{"x", x}}, {}})).tensors[0].second, x));
    Tensor y = zeros(Shape{4}, f32);
    const std::uint32_t narrow[] = {0x7fc0beef, 0xff800000, 0x80000000, 1};
    std::memcpy(y.mutable_data<float>(), narrow, sizeof narrow);
    CHECK(same_bits(parse_safetensors(to_safetensors({{{"y", y}}, {}})).tensors[0].second, y));
  }

  TEST_CASE("round trip: names and metadata of any UTF-8 text") {
    const std::string texts[] = {"",
                                 "decoder.layers.0.W_a",
                                 "\xE6\xB3\xA8\xE6\x84\x8F\xE5\x8A\x9B",
                                 "\xF0\x9F\x8E\x93",
                                 "\"quoted\"",
                                 "back\\slash/",
                                 "line\nfeed\ttab\x01\x7F",
                                 std::string("zero\0byte", 9),
                                 std::string(5000, 'n')};
    TensorFile file;
    double value = 0;
    for (const std::string& text : texts) {
      file.tensors.emplace_back(text, tensor(Shape{}, {value++}, f32));
      file.metadata[text] = text + "!";
    }
    const TensorFile again = parse_safetensors(to_safetensors(file));
    CHECK(again.metadata == file.metadata);
    REQUIRE(again.tensors.size() == file.tensors.size());
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
      CHECK(again.tensors[i].first == file.tensors[i].first);
      CHECK(again.tensors[i].second.item() == file.tensors[i].second.item());
    }
  }

  TEST_CASE("other dtypes become f32 or f64 without a loss") {
    struct Row {
      const char* dtype;
      std::string data;
      DType becomes;
      std::vector<double> values;
    };
    const auto two = [](std::uint64_t a, std::uint64_t b, std::size_t width) {
      return little(a, width) + little(b, width);
    };
    const Row rows[] = {
        {"F16", two(0x3c00, 0xc000, 2), f32, {1, -2}},
        {"F16", two(0x7bff, 0x0001, 2), f32, {65504, 0x1p-24}},
        {"F16", two(0x03ff, 0x0400, 2), f32, {1023 * 0x1p-24, 0x1p-14}},
        {"F16", two(0x7c00, 0xfc00, 2), f32, {infinity, -infinity}},
        {"F16", two(0x7e01, 0x3555, 2), f32, {not_a_number, 0x1.554p-2}},
        {"F16", two(0x8001, 0x83ff, 2), f32, {-0x1p-24, -1023 * 0x1p-24}},
        {"BF16", two(0x3f80, 0xc040, 2), f32, {1, -3}},
        {"BF16", two(0x7f80, 0x0001, 2), f32, {infinity, 0x1p-133}},
        {"BOOL", two(0, 1, 1), f64, {0, 1}},
        {"U8", two(0, 255, 1), f64, {0, 255}},
        {"I8", two(0x80, 0x7f, 1), f64, {-128, 127}},
        {"U16", two(0xffff, 1, 2), f64, {65535, 1}},
        {"I16", two(0x8000, 0x7fff, 2), f64, {-32768, 32767}},
        {"U32", two(0xffffffff, 1, 4), f64, {4294967295.0, 1}},
        {"I32", two(0x80000000, 0x7fffffff, 4), f64, {-2147483648.0, 2147483647.0}},
        {"U64", two(std::uint64_t{1} << 53, 1, 8), f64, {0x1p53, 1}},
        {"I64", two(std::uint64_t{1} << 53, std::uint64_t{0} - (std::uint64_t{1} << 53), 8), f64, {0x1p53, -0x1p53}},
    };
    for (const Row& row : rows) {
      CAPTURE(row.dtype);
      const Tensor x = parse_safetensors(typed(row.dtype, 2, row.data)).tensors[0].second;
      CHECK(x.dtype() == row.becomes);
      CHECK(same(x.to_vector(), row.values));
    }
    const Tensor minus_zero = parse_safetensors(typed("F16", 1, little(0x8000, 2))).tensors[0].second;
    CHECK(std::signbit(minus_zero.item()));
  }

  TEST_CASE("more numbers than one piece of a conversion holds") {
    std::string data;
    for (int i = 0; i < 10001; ++i) data += little(static_cast<std::uint64_t>(i), 4);
    const Tensor x = parse_safetensors(typed("I32", 10001, data)).tensors[0].second;
    bool right = true;
    for (std::int64_t i = 0; i < x.size(); ++i) right = right && x.at({i}) == static_cast<double>(i);
    CHECK(right);
  }

  TEST_CASE("empty tensors with long axes are fine") {
    const TensorFile file = parse_safetensors(one(R"("dtype":"F32","shape":[0,1099511627776],"data_offsets":[0,0])"));
    CHECK(file.tensors[0].second.shape() == Shape{0, std::int64_t{1} << 40});
  }

  TEST_CASE("hostile files are refused by name") {
    const std::vector<Hostile> rows = hostile_files();
    CHECK(rows.size() >= 80);
    const std::int64_t before = live_buffers();
    for (const Hostile& row : rows) {
      CAPTURE(row.what);
      const std::string text = refusal(row.file);
      CAPTURE(text);
      CHECK(contains(text, row.says));
      CHECK(text.size() < 400);
    }
    CHECK(live_buffers() == before);
  }

  TEST_CASE("every prefix of a good file is refused") {
    const std::string good = bytes::small_file();
    for (std::size_t length = 0; length < good.size(); ++length) {
      CAPTURE(length);
      const std::string text = refusal(good.substr(0, length));
      CAPTURE(text);
      CHECK((contains(text, "cut off") || contains(text, "it has ")));
    }
  }

  TEST_CASE("every changed byte of a header is refused or harmless") {
    const std::string good = bytes::small_file();
    const std::size_t header = 8 + static_cast<unsigned char>(good[0]);
    int refused = 0, harmless = 0;
    for (std::size_t place = 0; place < header; ++place) {
      std::vector<char> others = {'\0', '"', '}', ',', ' ', '9', '\\', '\xff', '-', '['};
      for (int bit = 0; bit < 8; ++bit) others.push_back(static_cast<char>(good[place] ^ (1 << bit)));
      for (char other : others) {
        if (other == good[place]) continue;
        std::string changed = good;
        changed[place] = other;
        try {
          std::int64_t total = 0;
          for (const auto& [name, x] : parse_safetensors(changed).tensors) {
            total += x.size();
            CHECK(elements(x).size() == static_cast<std::size_t>(x.size()));
          }
          CHECK(total <= static_cast<std::int64_t>(good.size() - header));
          ++harmless;
        } catch (const FileError& error) {
          CHECK(std::string(error.what()).size() < 400);
          ++refused;
        }
      }
    }
    CHECK(refused > 3000);
    CHECK(harmless > 100);  // letters of names and metadata, and spaces
  }

  TEST_CASE("random bytes behind a right length are refused") {
    Numbers numbers(11);
    for (int trial = 0; trial < 2000; ++trial) {
      std::string header = "{";
      const std::int64_t length = numbers.below(60);
      constexpr std::string_view letters = "{}[]\",:0123456789 adtypeshFU_-.\\u\xE6";
      for (std::int64_t i = 0; i < length; ++i) {
        header += letters[static_cast<std::size_t>(numbers.below(static_cast<std::int64_t>(letters.size())))];
      }
      const std::string text = refusal(raw(header));
      if (text != "(nothing was thrown)") CHECK_FALSE(contains(text, "another type of error"));
    }
  }

  TEST_CASE("what cannot be written is a ValueError that says so") {
    const Tensor x = zeros(Shape{1});
    const auto text = [](std::vector<std::pair<std::string, Tensor>> tensors,
                         std::map<std::string, std::string> metadata = {}) {
      return message_of<ValueError>([&] { to_safetensors({std::move(tensors), std::move(metadata)}); });
    };
    CHECK(contains(text({{"a", x}, {"b", x}, {"a", x}}), "two tensors have the name 'a'"));
    CHECK(contains(text({{"__metadata__", x}}), "__metadata__"));
    CHECK(contains(text({{"a", Tensor()}}), "'a' holds nothing"));
    CHECK(contains(text({{"\xFF", x}}), "not UTF-8"));
    CHECK(contains(text({{"a", x}}, {{"k", "\xC3"}}), "not UTF-8"));
    CHECK(contains(text({{std::string(17 << 20, 'n'), x}}), "the limit is 16777216"));
  }
}
