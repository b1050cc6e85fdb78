// Whole files: atomic replacement, reading, and what the checkout around a program is.
#include "lessons/common/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nn/formats/bytes.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(std::string_view tried, const fs::path& path, int error) {
  throw FileError(fmt::format("cannot {} {}: {}", tried, path.string(), std::strerror(error)));
}

// First line of a small text file, without its newline; empty if it cannot be read.
std::string first_line(const fs::path& file) {
  try {
    const std::string text = read_file(file);
    return text.substr(0, text.find_first_of("\r\n"));
  } catch (const FileError&) { return ""; }
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
  } catch (const FileError&) { return "unknown"; }
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

void write_file(const fs::path& file, std::string_view bytes) { formats::replace_file(file, {&bytes, 1}); }

std::string read_file(const fs::path& file) {
  return formats::read_with(file, [](const formats::Bytes& bytes) {
    std::string text(bytes.size, '\0');
    bytes.read(0, text.data(), text.size());
    return text;
  });
}

void make_writable_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) fail("make the directory", directory, error.value());
  if (!fs::is_directory(directory, error)) fail("make the directory", directory, ENOTDIR);
  const fs::path probe = directory / fmt::format(".writable.{}.tmp", ::getpid());
  const int descriptor = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) fail("write into", directory, errno);
  ::close(descriptor);
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
