// .npy: the bytes that numpy.save writes, both orders of axes, and hostile files.
#include "nn/formats/npy.h"

#include <doctest/doctest.h>

#include <cstdint>

#include "tests/reference/safetensors_bytes.h"
#include "tests/tensor/check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

std::string little(std::uint64_t value, std::size_t width) {
  return paper::safetensors::little_endian_64(value).substr(0, width);
}

// A file of version 1.0 or 2.0 with this dict as it is.
std::string npy(const std::string& dict, const std::string& data = "", int major = 1) {
  return std::string("\x93NUMPY") + static_cast<char>(major) + '\0' + little(dict.size(), major == 1 ? 2 : 4) + dict +
         data;
}
std::string dict(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}
std::string nine_floats() {
  std::string data;
  for (int i = 0; i < 9; ++i) data += paper::safetensors::f32_bytes(static_cast<float>(i));
  return data;
}
std::string f4(int count) { return nine_floats().substr(0, static_cast<std::size_t>(count) * 4); }

std::string refusal(const std::string& file) {
  return message_of<FileError>([&] { parse_npy(file); });
}

}  // namespace

TEST_SUITE("npy") {
  TEST_CASE("the bytes that numpy 1.24 saves") {
    // numpy.save of numpy.array([[1, 2, 3], [4, 5, 6]], '<f4')
    std::string expected = "\x93NUMPY";
    expected += std::string("\1\0v\0", 4) + "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    expected += std::string(127 - expected.size(), ' ') + '\n';
    for (float value : {1.F, 2.F, 3.F, 4.F, 5.F, 6.F}) expected += paper::safetensors::f32_bytes(value);
    const Tensor x = tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f32);
    CHECK(to_npy(x) == expected);
    CHECK(parse_npy(expected).to_vector() == x.to_vector());
    CHECK(contains(to_npy(zeros(Shape{})), "'shape': (), }"));
    CHECK(contains(to_npy(zeros(Shape{3})), "'shape': (3,), }"));
    CHECK(contains(to_npy(zeros(Shape{3}, f64)), "'descr': '<f8'"));
  }

  TEST_CASE("round trip: every rank, layout and dtype") {
    const Shape shapes[] = {{}, {1}, {0}, {7}, {2, 3}, {0, 5}, {2, 3, 4}, {2, 3, 4, 5}, {2, 1, 3, 2, 2}};
    Numbers numbers(5);
    for (const Shape& shape : shapes) {
      const std::vector<double> values = numbers.many(shape.size(), -8, 8);
      for (DType dtype : {f32, f64}) {
        for (Layout layout : all_layouts) {
          CAPTURE(name_of(layout));
          const Tensor x = laid_out(layout, shape, values, dtype);
          const std::string bytes = to_npy(x);
          CHECK((bytes.size() - static_cast<std::size_t>(x.size()) * bytes_of(dtype)) % 64 == 0);
          const Tensor again = parse_npy(bytes);
          CHECK(again.shape() == shape);
          CHECK(again.dtype() == dtype);
          CHECK(elements(again) == elements(x));
        }
      }
    }
  }

  TEST_CASE("Fortran order becomes strides") {
    const Tensor x = parse_npy(npy(dict("<f4", "(2, 3)", "True"), f4(6)));
    CHECK(x.shape() == Shape{2, 3});
    CHECK(x.strides() == Extents{1, 2});
    CHECK(elements(x) == std::vector<double>{0, 2, 4, 1, 3, 5});
    CHECK(elements(parse_npy(npy(dict("<f4", "(1, 2, 3)", "True"), f4(6)))) == std::vector<double>{0, 2, 4, 1, 3, 5});
    CHECK(elements(parse_npy(npy(dict("<f4", "(3,)", "True"), f4(3)))) == std::vector<double>{0, 1, 2});
    CHECK(elements(parse_npy(npy(dict("<f4", "()", "True"), f4(1)))) == std::vector<double>{0});
  }

  TEST_CASE("all forms that are allowed are read") {
    const struct {
      const char* what;
      std::string file;
      Shape shape;
    } rows[] = {
        {"version 2.0", npy(dict("<f4", "(3,)"), f4(3), 2), {3}},
        {"keys in another order", npy("{'shape': (3,), 'fortran_order': False, 'descr': '<f4'}\n", f4(3)), {3}},
        {"double quotes", npy("{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (3,)}\n", f4(3)), {3}},
        {"no spaces", npy("{'descr':'<f4','fortran_order':False,'shape':(3,1)}\n", f4(3)), {3, 1}},
        {"a comma after the last length", npy(dict("<f4", "(3, 1,)"), f4(3)), {3, 1}},
        {"many spaces", npy("{ 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 3 , ) , }    \n", f4(3)), {3}},
        {"scalar", npy(dict("<f4", "()"), f4(1)), {}},
        {"empty", npy(dict("<f4", "(0, 3)")), {0, 3}},
    };
    for (const auto& row : rows) {
      CAPTURE(row.what);
      const Tensor x = parse_npy(row.file);
      CHECK(x.shape() == row.shape);
    }
  }

  TEST_CASE("other dtypes become f32 or f64 without a loss") {
    const struct {
      const char* descr;
      std::uint64_t bits;
      std::size_t width;
      DType becomes;
      double value;
    } rows[] = {
        {"<f2", 0xc100, 2, f32, -2.5},
        {"<i4", 0xfffffffe, 4, f64, -2},
        {"<i8", std::uint64_t{0} - 5, 8, f64, -5},
        {"|b1", 1, 1, f64, 1},
        {"|u1", 200, 1, f64, 200},
        {"|i1", 200, 1, f64, -56},
        {"<i2", 0xffff, 2, f64, -1},
        {"<u2", 0xffff, 2, f64, 65535},
        {"<u4", 0xffffffff, 4, f64, 4294967295.0},
        {"<u8", std::uint64_t{1} << 53, 8, f64, 0x1p53},
        {"<f8", 0x4000000000000000, 8, f64, 2},
    };
    for (const auto& row : rows) {
      CAPTURE(row.descr);
      const Tensor x = parse_npy(npy(dict(row.descr, "()"), little(row.bits, row.width)));
      CHECK(x.dtype() == row.becomes);
      CHECK(x.item() == row.value);
    }
  }

  TEST_CASE("hostile files are refused by name") {
    const std::string good = npy(dict("<f4", "(3,)"), f4(3));
    const struct {
      const char* what;
      std::string file, says;
    } rows[] = {
        {"empty", "", "does not open as an .npy file does"},
        {"magic alone", "\x93NUMPY", "does not open as"},
        {"another magic", "\x92NUMPY" + good.substr(6), "does not open as"},
        {"a zip, as .npz is", std::string("PK\3\4\24\0\0\0\0\0\0\0", 12), "does not open as"},
        {"version 3.0", npy(dict("<f4", "(3,)"), f4(3), 3), "version 3.0"},
        {"version 1.1", std::string("\x93NUMPY\1\1", 8) + good.substr(8), "version 1.1"},
        {"version 0.0", std::string("\x93NUMPY\0\0", 8) + good.substr(8), "version 0.0"},
        {"header longer than the file", std::string("\x93NUMPY\1\0\xff\xff{}", 12), "cut off: its header needs 65545"},
        {"header of 4 GB", std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14), "4294967295 bytes long; the limit"},
        {"no new line", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", f4(3)), "new line"},
        {"no header", npy("", f4(3)), "new line"},
        {"no dict", npy("print('hello')\n", f4(3)), "at 'print('hello')\\x0a', should have '{'"},
        {"descr is missing", npy("{'fortran_order': False, 'shape': (3,), }\n", f4(3)), "lacks 'descr'"},
        {"shape is missing", npy("{'descr': '<f4', 'fortran_order': False, }\n", f4(3)), "lacks 'descr'"},
        {"order is missing", npy("{'descr': '<f4', 'shape': (3,), }\n", f4(3)), "lacks 'descr'"},
        {"an empty dict", npy("{}\n", f4(3)), "lacks 'descr'"},
        {"a key twice", npy("{'shape': (3,), 'shape': (3,), }\n", f4(3)), "names 'shape' twice"},
        {"descr twice", npy("{'descr': '<f4', 'descr': '<f4', }\n", f4(3)), "names 'descr' twice"},
        {"order twice", npy("{'fortran_order': True, 'fortran_order': True, }\n", f4(3)),
         "names 'fortran_order' twice"},
        {"an unknown key", npy("{'descr': '<f4', 'order': False, 'shape': (3,), }\n", f4(3)), "unknown key 'order'"},
        {"text after the dict", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } + 1\n", f4(3)),
         "should have nothing but spaces"},
        {"order as a number", npy(dict("<f4", "(3,)", "0"), f4(3)), "should have 'False'"},
        {"order in small letters", npy(dict("<f4", "(3,)", "false"), f4(3)), "should have 'False'"},
        {"a string without an end", npy("{'descr: \n", f4(3)), "a plain string"},
        {"an escape in a string", npy("{'des\\x63r': '<f4'}\n", f4(3)), "a plain string"},
        {"high byte first", npy(dict(">f4", "(3,)"), f4(3)), "high byte first"},
        {"Python objects", npy(dict("|O", "(3,)"), f4(3)), "could run code"},
        {"strings", npy(dict("<U3", "(1,)"), f4(3)), "its dtype is '<U3'"},
        {"complex numbers", npy(dict("<c8", "(1,)"), f4(2)), "its dtype is '<c8'"},
        {"bare f4", npy(dict("f4", "(3,)"), f4(3)), "its dtype is 'f4'"},
        {"no dtype", npy(dict("", "(3,)"), f4(3)), "its dtype is ''"},
        {"a dtype that rings", npy(dict("\a\x1b[31m", "(3,)"), f4(3)), "'\\x07\\x1b[31m'"},
        {"records", npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,), }\n", f4(3)),
         "holds records"},
        {"shape that is a number", npy(dict("<f4", "3"), f4(3)), "should have '('"},
        {"shape that is a list", npy(dict("<f4", "[3]"), f4(3)), "should have '('"},
        {"(3)", npy(dict("<f4", "(3)"), f4(3)), "a tuple of one is written (3,)"},
        {"(,)", npy(dict("<f4", "(,)"), f4(3)), "a length between"},
        {"(3,,1)", npy(dict("<f4", "(3,,1)"), f4(3)), "a length between"},
        {"(3 1)", npy(dict("<f4", "(3 1)"), f4(3)), "a tuple of one is written"},
        {"(1, 3 1)", npy(dict("<f4", "(1, 3 1)"), f4(3)), "should have ')'"},
        {"a length of -3", npy(dict("<f4", "(-3,)"), f4(3)), "a length between 0"},
        {"lengths -1 and -3", npy(dict("<f4", "(-1, -3)"), f4(3)), "a length between 0"},
        {"a length of 3.0", npy(dict("<f4", "(3.0,)"), f4(3)), "a tuple of one is written"},
        {"a length of 3L", npy(dict("<f4", "(3L,)"), f4(3)), "a tuple of one is written"},
        {"a length of 2^63", npy(dict("<f4", "(9223372036854775808,)"), f4(3)), "a length between 0"},
        {"2^62 floats", npy(dict("<f4", "(4611686018427387904,)"), f4(0)), "does not fit into 63 bits"},
        {"2^32 x 2^32 bytes", npy(dict("|u1", "(4294967296, 4294967296)"), f4(0)), "does not fit into 63 bits"},
        {"6 axes", npy(dict("<f4", "(1, 1, 1, 1, 1, 3)"), f4(3)), "more than 5 axes"},
        {"2^40 floats that are not there", npy(dict("<f4", "(1099511627776,)"), f4(3)),
         "4398046511104 bytes of data, 12"},
        {"one float too few", npy(dict("<f4", "(3,)"), f4(2)), "needs 12 bytes of data, 8 are there"},
        {"one float too many", npy(dict("<f4", "(3,)"), f4(4)), "needs 12 bytes of data, 16 are there"},
        {"one byte left over", good + "x", "needs 12 bytes of data, 13 are there"},
        {"data for an empty array", npy(dict("<f4", "(0,)"), f4(1)), "needs 0 bytes of data, 4 are there"},
        {"a bool of 3", npy(dict("|b1", "(1,)"), "\3"), "a bool with the value 3"},
        {"an integer of 2^53 + 1", npy(dict("<i8", "(1,)"), little((std::uint64_t{1} << 53) + 1, 8)),
         "9007199254740993"},
    };
    for (const auto& row : rows) {
      CAPTURE(row.what);
      const std::string text = refusal(row.file);
      CAPTURE(text);
      CHECK(contains(text, row.says));
      CHECK(text.size() < 400);
    }
  }

  TEST_CASE("every prefix of a good file is refused, every changed byte of its header refused or harmless") {
    const std::string good = to_npy(tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f32));
    for (std::size_t length = 0; length < good.size(); ++length) {
      CAPTURE(length);
      CHECK(refusal(good.substr(0, length)) != "(nothing was thrown)");
    }
    int harmless = 0;
    for (std::size_t place = 0; place < 128; ++place) {
      for (int other = 0; other < 256; ++other) {
        std::string changed = good;
        changed[place] = static_cast<char>(other);
        try {
          harmless += elements(parse_npy(changed)).size() * 4 <= 24;
        } catch (const FileError&) {}
      }
    }
    CHECK(harmless > 128);  // each byte itself, and spaces that become new lines
  }

  TEST_CASE("a tensor that holds nothing is a ValueError") {
    CHECK(contains(message_of<ValueError>([] { to_npy(Tensor()); }), "holds nothing"));
  }
}
