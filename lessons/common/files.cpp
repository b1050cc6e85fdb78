// Whole files: atomic replacement, reading, and what the checkout around a program is.
#include "lessons/common/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace gradus {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(std::string_view tried, const fs::path& path, int error) {
  throw std::runtime_error(fmt::format("cannot {} {}: {}", tried, path.string(), std::strerror(error)));
}

// A file descriptor that is closed whatever happens.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close_now(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  int close_now() { return number_ < 0 ? 0 : ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

// The temporary file beside the one to write, removed unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const fs::path& path() const { return path_; }
  void renamed() { path_.clear(); }

 private:
  fs::path path_;
};

// First line of a small text file, without its newline; empty if it cannot be read.
std::string first_line(const fs::path& file) {
  try {
    const std::string text = read_file(file);
    return text.substr(0, text.find_first_of("\r\n"));
  } catch (const std::runtime_error&) { return ""; }
}

bool is_commit(std::string_view text) {
  return text.size() >= 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The commit that a git directory's HEAD names, through a branch file or the list of packed branches.
std::string head_commit(const fs::path& git_directory) {
  const std::string head = first_line(git_directory / "HEAD");
  if (is_commit(head)) return head;
  if (!head.starts_with("ref: ")) return "unknown";
  const std::string branch = head.substr(5);
  fs::path common = git_directory;
  // A linked worktree keeps its branches in the main repository.
  if (const std::string other = first_line(git_directory / "commondir"); !other.empty()) common = git_directory / other;
  if (const std::string commit = first_line(common / branch); is_commit(commit)) return commit;
  std::string packed;
  try {
    packed = read_file(common / "packed-refs");
  } catch (const std::runtime_error&) { return "unknown"; }
  std::string_view rest = packed;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.size() > 41 && line.substr(41) == branch && is_commit(line.substr(0, 40))) {
      return std::string(line.substr(0, 40));
    }
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return "unknown";
}

}  // namespace

void write_file(const fs::path& file, std::string_view bytes) {
  std::error_code ignored;
  // Through a link, the file that it points to is replaced, not the link.
  const fs::path target = fs::is_symlink(file, ignored) ? fs::weakly_canonical(file) : file;
  struct stat old = {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  if (replaces && !S_ISREG(old.st_mode)) fail("write", target, S_ISDIR(old.st_mode) ? EISDIR : EINVAL);

  fs::path beside = target;
  beside += fmt::format(".{}.tmp", ::getpid());
  Descriptor descriptor(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (descriptor.number() < 0) fail("write", beside, errno);
  TemporaryFile temporary(beside);
  if (replaces) ::fchmod(descriptor.number(), old.st_mode & 07777);

  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", target, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor.number()) != 0 && errno != EINVAL && errno != EROFS) fail("write", target, errno);
  if (descriptor.close_now() != 0) fail("write", target, errno);
  if (::rename(temporary.path().c_str(), target.c_str()) != 0) fail("replace", target, errno);
  temporary.renamed();
}

std::string read_file(const fs::path& file) {
  Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.number() < 0) fail("read", file, errno);
  struct stat status = {};
  if (::fstat(descriptor.number(), &status) != 0) fail("read", file, errno);
  if (!S_ISREG(status.st_mode)) fail("read", file, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(descriptor.number(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", file, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

void make_writable_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail("make the directory", directory, error.value());
  if (!fs::is_directory(directory, error)) fail("make the directory", directory, ENOTDIR);
  const fs::path probe = directory / fmt::format(".writable.{}.tmp", ::getpid());
  Descriptor descriptor(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (descriptor.number() < 0) fail("write into", directory, errno);
  ::unlink(probe.c_str());
}

std::string git_revision(const fs::path& start) {
  std::error_code error;
  fs::path directory = fs::weakly_canonical(start, error);
  if (error) return "unknown";
  while (true) {
    const fs::path git = directory / ".git";
    if (fs::is_directory(git, error)) return head_commit(git);
    // In a linked worktree or a submodule .git is a file that says where the directory is.
    if (const std::string line = first_line(git); line.starts_with("gitdir: ")) {
      return head_commit(directory / line.substr(8));
    }
    if (!directory.has_parent_path() || directory == directory.parent_path()) return "unknown";
    directory = directory.parent_path();
  }
}

fs::path executable_path() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : path;
}

}  // namespace gradus
