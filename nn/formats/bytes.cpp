// Reading and replacing files with system calls, because only they can say why something failed.
#include "nn/formats/bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace gradus::formats {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const char* tried, const fs::path& path, int error) {
  throw FileError(fmt::format("cannot {} {}: {}", tried, path.string(), std::strerror(error)));
}

// A file descriptor that is closed whatever happens.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// Beyond `ulimit -f` the system sends SIGXFSZ, which ends a program. While one of these lives it only makes write()
// fail.
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    was_pending_ = pending();
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoFileSizeSignal() {
    if (!was_pending_ && pending()) {
      int number = 0;
      ::sigwait(&signal_, &number);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  static bool pending() {
    sigset_t waiting;
    ::sigpending(&waiting);
    return sigismember(&waiting, SIGXFSZ) == 1;
  }
  sigset_t signal_{}, before_{};
  bool was_pending_ = false;
};

// The file beside the one to write. Its name is always the same, so that one left by a killed program is used again; a
// lock keeps two writers apart. Removed unless it was renamed.
class FileBeside {
 public:
  explicit FileBeside(const fs::path& target) : target_(target), path_(target) {
    path_ += ".tmp";
    while (true) {
      file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
      if (file_.number() < 0) fail("write", target_, errno);
      struct stat opened {
      }, there{};
      if (::fstat(file_.number(), &opened) != 0) fail("write", target_, errno);
      if (!S_ISREG(opened.st_mode)) {
        throw FileError("cannot write " + path_.string() + ": something that is no regular file is in the way");
      }
      // A filesystem without locks is no reason to lose an hour of training.
      if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        throw FileError("cannot write " + target.string() + ": another program is writing it at this moment; give it " +
                        "another name, or wait");
      }
      // Between open and lock another writer may have put this file in its place, where it is to be left alone.
      if (::lstat(path_.c_str(), &there) == 0 && there.st_ino == opened.st_ino && there.st_dev == opened.st_dev) break;
    }
    if (::ftruncate(file_.number(), 0) != 0) {
      const int error = errno;
      ::unlink(path_.c_str());
      fail("write", target_, error);
    }
  }
  ~FileBeside() {
    if (owned_) ::unlink(path_.c_str());
  }
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;

  void keep_mode(mode_t mode) { ::fchmod(file_.number(), mode & 07777); }
  void write(std::string_view piece) {
    while (!piece.empty()) {
      const ssize_t written = ::write(file_.number(), piece.data(), piece.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write", target_, errno);
      piece.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void put_in_place() {
    if (::fsync(file_.number()) != 0 && errno != EINVAL) fail("write", target_, errno);
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail("write", target_, errno);
    owned_ = false;
  }

 private:
  fs::path target_, path_;
  Descriptor file_{-1};
  bool owned_ = true;
};

// The bits of a half as those of a float: 1 sign, 5 exponent, 10 fraction bits, subnormal numbers below 2^-14.
float from_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 15) << 31, exponent = (bits >> 10) & 31u;
  const std::uint32_t fraction = bits & 1023u;
  if (exponent == 0) {
    const float size = static_cast<float>(fraction) * 0x1p-24F;
    return sign ? -size : size;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// Calls f with a value of the type in which numbers of that kind lie in a file.
template <class F> void with_raw_type(Kind kind, F f) {
  switch (kind) {
    case Kind::f16:
    case Kind::bf16:
    case Kind::u16:
      return f(std::uint16_t{});
    case Kind::f32:
      return f(float{});
    case Kind::f64:
      return f(double{});
    case Kind::boolean:
    case Kind::u8:
      return f(std::uint8_t{});
    case Kind::i8:
      return f(std::int8_t{});
    case Kind::i16:
      return f(std::int16_t{});
    case Kind::u32:
      return f(std::uint32_t{});
    case Kind::i32:
      return f(std::int32_t{});
    case Kind::u64:
      return f(std::uint64_t{});
    case Kind::i64:
      return f(std::int64_t{});
  }
}

template <class To, class Raw> To converted(std::string_view what, Kind kind, Raw raw) {
  if constexpr (std::is_same_v<Raw, std::uint16_t>) {
    if (kind == Kind::f16) return static_cast<To>(from_half(raw));
    if (kind == Kind::bf16) return static_cast<To>(std::bit_cast<float>(static_cast<std::uint32_t>(raw) << 16));
  }
  if constexpr (std::is_integral_v<Raw>) {
    if (kind == Kind::boolean && raw > 1) {
      throw FileError(fmt::format("{} holds a bool with the value {}; only 0 and 1 are bools", what, raw));
    }
    if constexpr (sizeof(Raw) == 8) {
      constexpr Raw exact = Raw{1} << 53;
      if (raw > exact || (std::is_signed_v<Raw> && raw < Raw{} - exact)) {
        throw FileError(
            fmt::format("{} holds the integer {}, which f64 cannot hold exactly (its limit is 2^53)", what, raw));
      }
    }
  }
  return static_cast<To>(raw);
}

constexpr Stored kinds[] = {
    {Kind::f32, "F32", "<f4", 4},      {Kind::f64, "F64", "<f8", 8}, {Kind::f16, "F16", "<f2", 2},
    {Kind::bf16, "BF16", "", 2},       {Kind::i32, "I32", "<i4", 4}, {Kind::i64, "I64", "<i8", 8},
    {Kind::boolean, "BOOL", "|b1", 1}, {Kind::u8, "U8", "|u1", 1},   {Kind::i8, "I8", "|i1", 1},
    {Kind::i16, "I16", "<i2", 2},      {Kind::u16, "U16", "<u2", 2}, {Kind::u32, "U32", "<u4", 4},
    {Kind::u64, "U64", "<u8", 8},
};

}  // namespace

Bytes from_memory(std::string_view bytes) {
  return {bytes.size(), [bytes](std::uint64_t at, void* to, std::size_t count) {
            std::copy_n(bytes.data() + at, count, static_cast<char*>(to));
          }};
}

Bytes from_file(const fs::path& path) {
  auto file = std::make_shared<Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file->number() < 0) fail("read", path, errno);
  struct stat status {};
  if (::fstat(file->number(), &status) != 0) fail("read", path, errno);
  if (S_ISDIR(status.st_mode)) fail("read", path, EISDIR);
  if (!S_ISREG(status.st_mode)) throw FileError("cannot read " + path.string() + ": it is no regular file");
  return {static_cast<std::uint64_t>(status.st_size), [file, path](std::uint64_t at, void* to, std::size_t count) {
            auto* target = static_cast<char*>(to);
            while (count > 0) {
              const ssize_t got = ::pread(file->number(), target, count, static_cast<off_t>(at));
              if (got < 0 && errno == EINTR) continue;
              if (got < 0) throw FileError(std::strerror(errno));
              if (got == 0) throw FileError("it became shorter while it was read");
              target += got;
              at += static_cast<std::uint64_t>(got);
              count -= static_cast<std::size_t>(got);
            }
          }};
}

void replace_file(const fs::path& path, std::span<const std::string_view> pieces) {
  fs::path target = path;
  std::error_code error;
  if (fs::is_symlink(path, error)) {  // the file that a link points to is replaced, not the link
    error.clear();
    target = fs::weakly_canonical(path, error);
    if (error) fail("write", path, error.value());
  }
  struct stat old {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode)) fail("write", path, EISDIR);
  if (replaces && !S_ISREG(old.st_mode)) throw FileError("cannot write " + path.string() + ": it is no regular file");

  const NoFileSizeSignal quiet;
  FileBeside beside(target);
  if (replaces) beside.keep_mode(old.st_mode);
  for (std::string_view piece : pieces) beside.write(piece);
  beside.put_in_place();
  // The new name survives a power cut once its directory is on the disk; not every filesystem can be asked for that.
  const Descriptor folder(::open(target.has_parent_path() ? target.parent_path().c_str() : ".", O_RDONLY | O_CLOEXEC));
  if (folder.number() >= 0) ::fsync(folder.number());
}

std::string printable(std::string_view text, std::size_t limit) {
  const bool cut = text.size() > limit;
  if (cut) {
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0u) == 0x80u) --limit;
    text = text.substr(0, limit);
  }
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool escape = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F || escape) {
      shown += fmt::format("\\x{:02x}", escape ? static_cast<unsigned char>(text[++i]) : byte);
    } else {
      shown += text[i];
    }
  }
  return cut ? shown + "..." : shown;
}

std::span<const Stored> stored_kinds() { return kinds; }

DType dtype_for(Kind kind) { return kind == Kind::f32 || kind == Kind::f16 || kind == Kind::bf16 ? f32 : f64; }

std::int64_t checked_bytes(std::string_view what, const Extents& lengths, std::int64_t width) {
  std::int64_t bytes = width;
  bool nothing = false;
  for (std::int64_t length : lengths) {
    nothing = nothing || length == 0;
    // Lengths beside a 0 are multiplied too: strides come from them.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(length, 1), &bytes)) {
      throw FileError(std::string(what) + ": the product of its lengths does not fit into 63 bits");
    }
  }
  return nothing ? 0 : bytes;
}

Tensor fetch(std::string_view what, const Bytes& bytes, std::uint64_t at, Kind kind, const Shape& shape) {
  Tensor x = empty(shape, dtype_for(kind));
  if (x.size() == 0) return x;
  with_raw_type(kind, [&](auto raw) {
    using Raw = decltype(raw);
    dispatch(x.dtype(), [&](auto t) {
      using To = decltype(t);
      To* target = x.mutable_data<To>();
      const auto count = static_cast<std::size_t>(x.size());
      if constexpr (std::is_same_v<Raw, To>) {
        bytes.read(at, target, count * sizeof(Raw));
      } else {
        std::vector<Raw> piece(std::min<std::size_t>(count, 4096));
        for (std::size_t done = 0; done < count; done += piece.size()) {
          piece.resize(std::min(piece.size(), count - done));
          bytes.read(at + done * sizeof(Raw), piece.data(), piece.size() * sizeof(Raw));
          for (std::size_t i = 0; i < piece.size(); ++i) target[done + i] = converted<To>(what, kind, piece[i]);
        }
      }
    });
  });
  return x;
}

void require_little_endian() {
  if constexpr (std::endian::native != std::endian::little) {
    throw FileError("this machine stores the high byte first; Gradus reads and writes such files on others only");
  }
}

}  // namespace gradus::formats
