// Strict reading and exact writing of .npy.
#include "nn/formats/npy.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "nn/formats/bytes.h"

namespace gradus {

namespace {

using formats::Bytes;
using formats::Stored;

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::uint64_t longest_npy_header = 65536;  // NumPy's own headers of plain arrays take 118 bytes

// Reads the header, one Python dict of a string, a bool and a tuple, piece by piece. Throws FileError with the place.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  bool at_end() {
    skip_spaces();
    return place_ == text_.size();
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(place_).starts_with(token)) return false;
    place_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("'{}'", token));
  }
  std::string_view string() {
    const char quote = accept("'") ? '\'' : '"';
    if (quote == '"') expect("\"");
    const std::size_t end = text_.find(quote, place_);
    const std::string_view content = text_.substr(place_, end - place_);
    if (end == std::string_view::npos || content.find('\\') != std::string_view::npos) fail("a plain string");
    place_ = end + 1;
    return content;
  }
  std::int64_t length() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + place_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail("a length between 0 and 2^63 - 1");
    place_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  [[noreturn]] void fail(std::string_view wanted) const {
    throw FileError(
        fmt::format("its header, at '{}', should have {}", formats::printable(text_.substr(place_), 20), wanted));
  }

 private:
  void skip_spaces() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\n')) ++place_;
  }
  std::string_view text_;
  std::size_t place_ = 0;
};

struct Header {
  const Stored* stored = nullptr;
  bool fortran = false;
  Shape shape;
  std::int64_t size = 0;  // bytes of data
};

const Stored& stored_of(std::string_view descr) {
  for (const Stored& stored : formats::stored_kinds()) {
    if (!stored.npy.empty() && stored.npy == descr) return stored;
  }
  const std::string shown = formats::printable(descr, 20);
  if (descr.starts_with('>')) {
    throw FileError("its numbers are '" + shown + "', high byte first; save it with .astype('<f4') or '<f8'");
  }
  if (descr.starts_with("|O")) throw FileError("it holds Python objects ('|O'), which could run code; save numbers");
  throw FileError("its dtype is '" + shown + "'; Gradus reads <f2 <f4 <f8 |b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8");
}

Extents lengths_of(Scanner& scan) {
  Extents lengths;
  scan.expect("(");
  while (!scan.accept(")")) {
    if (lengths.rank() == max_rank) throw FileError(fmt::format("it has more than {} axes", max_rank));
    lengths.insert(lengths.rank(), scan.length());
    if (scan.accept(",")) continue;
    if (lengths.rank() == 1) scan.fail("',': a tuple of one is written (3,)");
    scan.expect(")");
    break;
  }
  return lengths;
}

Header header_of(std::string_view text) {
  if (!text.ends_with('\n')) throw FileError("its header does not end with a new line");
  Scanner scan(text);
  std::optional<std::string_view> descr;
  std::optional<bool> fortran;
  std::optional<Extents> shape;
  scan.expect("{");
  while (!scan.accept("}")) {
    const std::string_view key = scan.string();
    scan.expect(":");
    const bool again = (key == "descr" && descr) || (key == "fortran_order" && fortran) || (key == "shape" && shape);
    if (again) throw FileError(fmt::format("its header names '{}' twice", key));
    if (key == "descr") {
      if (scan.accept("[")) throw FileError("it holds records; save each of their fields as an array of its own");
      descr = scan.string();
    } else if (key == "fortran_order") {
      fortran = scan.accept("True");
      if (!*fortran) scan.expect("False");
    } else if (key == "shape") {
      shape = lengths_of(scan);
    } else {
      throw FileError("its header has the unknown key '" + formats::printable(key, 20) + "'");
    }
    if (!scan.accept(",")) {
      scan.expect("}");
      break;
    }
  }
  if (!scan.at_end()) scan.fail("nothing but spaces after '}'");
  if (!descr || !fortran || !shape) throw FileError("its header lacks 'descr', 'fortran_order' or 'shape'");
  const Stored& stored = stored_of(*descr);
  const std::int64_t size = formats::checked_bytes("its shape", *shape, stored.width);
  return {&stored, *fortran, Shape(*shape), size};
}

Tensor parse_array(const Bytes& bytes) {
  formats::require_little_endian();
  std::array<unsigned char, 12> start{};
  const std::uint64_t got = bytes.size < start.size() ? bytes.size : start.size();
  bytes.read(0, start.data(), static_cast<std::size_t>(got));
  if (got < 10 || std::string_view(reinterpret_cast<const char*>(start.data()), magic.size()) != magic) {
    throw FileError("it does not open as an .npy file does (0x93, then NUMPY)");
  }
  const int major = start[6], minor = start[7];
  if ((major != 1 && major != 2) || minor != 0) {
    throw FileError(fmt::format("it has version {}.{}; Gradus reads 1.0 and 2.0", major, minor));
  }
  const std::uint64_t prefix = major == 1 ? 10 : 12;
  std::uint64_t length = start[8] | static_cast<std::uint64_t>(start[9]) << 8;
  if (major == 2) length |= static_cast<std::uint64_t>(start[10]) << 16 | static_cast<std::uint64_t>(start[11]) << 24;
  if (length > longest_npy_header) {
    throw FileError(fmt::format("its header would be {} bytes long; the limit is {}", length, longest_npy_header));
  }
  if (bytes.size < prefix + length) {
    throw FileError(
        fmt::format("it was cut off: its header needs {} bytes, {} are there", prefix + length, bytes.size));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  bytes.read(prefix, text.data(), text.size());
  const Header header = header_of(text);

  const std::uint64_t there = bytes.size - prefix - length;
  if (static_cast<std::uint64_t>(header.size) != there) {
    throw FileError(fmt::format("its shape {} in '{}' needs {} bytes of data, {} are there", to_string(header.shape),
                                header.stored->npy, header.size, there));
  }
  if (!header.fortran) return formats::fetch("it", bytes, prefix + length, header.stored->kind, header.shape);
  Extents reversed;
  for (int axis = header.shape.rank(); axis-- > 0;) reversed.insert(reversed.rank(), header.shape[axis]);
  const Tensor stored = formats::fetch("it", bytes, prefix + length, header.stored->kind, Shape(reversed));
  Extents strides = header.shape;
  for (int axis = 0; axis < strides.rank(); ++axis) strides[axis] = stored.strides()[strides.rank() - 1 - axis];
  return Tensor(stored.buffer(), header.shape, strides, 0, stored.dtype());
}

std::string npy_header(const Tensor& x) {
  formats::require_little_endian();
  if (!x.defined()) throw ValueError("npy: this tensor holds nothing");
  std::string shape = to_string(x.shape());
  if (x.rank() == 1) shape.insert(shape.size() - 1, ",");
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", x.dtype() == f32 ? "<f4" : "<f8", shape);
  // The data begin at a multiple of 64; the new line is the header's last byte.
  const std::size_t whole = (magic.size() + 4 + text.size() + 1 + 63) / 64 * 64;
  text.resize(whole - magic.size() - 5, ' ');
  text += '\n';
  std::string header(magic);
  header += {1, 0, static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return header + text;
}

std::string_view data_of(const Tensor& dense) {
  if (dense.size() == 0) return {};
  return dispatch(dense.dtype(), [&](auto t) {
    return std::string_view(reinterpret_cast<const char*>(dense.data<decltype(t)>()),
                            static_cast<std::size_t>(dense.size()) * sizeof t);
  });
}

}  // namespace

Tensor parse_npy(std::string_view bytes) { return parse_array(formats::from_memory(bytes)); }

Tensor read_npy(const std::filesystem::path& path) { return formats::read_with(path, parse_array); }

std::string to_npy(const Tensor& x) {
  std::string bytes = npy_header(x);
  const Tensor dense = contiguous(x);
  return bytes += data_of(dense);
}

void write_npy(const std::filesystem::path& path, const Tensor& x) {
  const std::string header = npy_header(x);
  const Tensor dense = contiguous(x);
  const std::string_view pieces[] = {header, data_of(dense)};
  formats::replace_file(path, pieces);
}

}  // namespace gradus
