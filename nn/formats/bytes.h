// What the file formats share: bytes from a file or from memory, whole-file replacement, and numbers as others store
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace gradus::formats {

// Bytes of known number that are fetched piece by piece, so that a header is judged before the rest is read.
struct Bytes {
  std::uint64_t size = 0;
  std::function<void(std::uint64_t at, void* to, std::size_t count)> read;  // at + count <= size
};
Bytes from_memory(std::string_view bytes);
Bytes from_file(const std::filesystem::path& path);  // throws FileError; FIFOs and devices are not waited for

// Writes the pieces one after the other beside `path`, flushes them to the disk and renames. Throws FileError.
void replace_file(const std::filesystem::path& path, std::span<const std::string_view> pieces);

// parse(bytes of the file), with the path and what to do put around a FileError's text.
template <class F> auto read_with(const std::filesystem::path& path, F parse) {
  const Bytes bytes = from_file(path);
  try {
    return parse(bytes);
  } catch (const FileError& error) {
    throw FileError("cannot read " + path.string() + ": " + error.what() +
                    ". The file is damaged or of another kind: make it again, or name another one");
  } catch (const std::bad_alloc&) {
    throw FileError("cannot read " + path.string() + ": not enough memory for its " + std::to_string(bytes.size) +
                    " bytes");
  }
}

// Text from a file as it may be shown in a message: control characters as \xNN, at most `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 60);

// A kind of number in a file: its names and how wide it is.
enum class Kind { f16, bf16, f32, f64, boolean, u8, i8, u16, i16, u32, i32, u64, i64 };
struct Stored {
  Kind kind;
  std::string_view safetensors;  // "F32"
  std::string_view npy;          // "<f4"; empty: NumPy has none
  std::int64_t width;            // bytes
};
std::span<const Stored> stored_kinds();
DType dtype_for(Kind kind);  // f32 for the narrow floating ones, f64 for f64, bool and integers

// The number of bytes of a row-major array. Throws FileError, naming `what`, when it does not fit into 63 bits.
std::int64_t checked_bytes(std::string_view what, const Extents& lengths, std::int64_t width);

// Fetches shape.size() numbers from `at` into a new row-major tensor. Throws FileError, naming `what`, for a number
// that f64 cannot hold and for a bool other than 0 and 1.
Tensor fetch(std::string_view what, const Bytes& bytes, std::uint64_t at, Kind kind, const Shape& shape);

void require_little_endian();  // throws FileError elsewhere: bytes are copied as they are

}  // namespace gradus::formats
