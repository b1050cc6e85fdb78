// Return addresses become lines of code: the module that holds an address, the address inside of it, and addr2line.
#include "tensor/doctor/place.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#if __has_include(<link.h>) && __has_include(<dlfcn.h>)
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace gradus {

#if __has_include(<link.h>) && __has_include(<dlfcn.h>)
namespace {

std::string hex(std::uintptr_t value) {
  std::array<char, 2 + 2 * sizeof value> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

// What `addr2line -i -e MODULE ADDRESS...` prints, line by line; nothing when there is no such program.
std::vector<std::string> addr2line(const std::string& module, const std::vector<std::string>& addresses) {
  std::vector<std::string> words{"addr2line", "-i", "-e", module};
  words.insert(words.end(), addresses.begin(), addresses.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  const bool runs = posix_spawnp(&child, "addr2line", &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t count = 0; runs && (count = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(count));
  close(ends[0]);
  if (runs) waitpid(child, nullptr, 0);
  std::vector<std::string> lines;
  for (std::size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
    lines.push_back(text.substr(start, end - start));
  return lines;
}

// "/a/nn/x.cpp:12 (discriminator 3)" -> "/a/nn/x.cpp" and 12; no file when the line is not known.
struct Line {
  std::filesystem::path file;
  int number = 0;
};
Line parse(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Line line;
  if (colon == std::string::npos || text[0] == '?') return line;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), line.number);
  if (line.number > 0) line.file = std::filesystem::path(text.substr(0, colon)).lexically_normal();
  return line;
}

// Whether a source file is part of the library: tensor/, autograd/ or nn/ and what is below them, but tests/nn/ is not.
// The standard library's own headers are not the learner's code either.
bool ours(const std::filesystem::path& file) {
  if (file.string().rfind("/usr/", 0) == 0) return true;
  std::vector<std::string> folders;
  for (const auto& part : file.parent_path()) folders.push_back(part.string());
  for (std::size_t i = folders.size(); i-- > 0;) {
    const bool named = folders[i] == "tensor" || folders[i] == "autograd" || folders[i] == "nn";
    if (named) return i == 0 || folders[i - 1] != "tests";
  }
  return false;
}

// As short as it can be said from here.
std::string shown(const Line& line) {
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  std::filesystem::path near = failed ? line.file : line.file.lexically_relative(here);
  if (near.empty() || *near.begin() == "..") near = line.file;
  return near.string() + ":" + std::to_string(line.number);
}

}  // namespace

std::string place_of(const Error& error) {
  for (std::size_t i = 0; i < error.calls.size() && error.calls[i];) {
    // Neighbouring calls from one module are asked about together.
    Dl_info first{};
    if (!dladdr(error.calls[i], &first) || !first.dli_fname || !first.dli_fbase) return "";
    const bool fixed = static_cast<const ElfW(Ehdr)*>(first.dli_fbase)->e_type == ET_EXEC;  // not position-independent
    std::vector<std::string> addresses;
    for (Dl_info next{}; i < error.calls.size() && error.calls[i]; ++i) {
      if (!dladdr(error.calls[i], &next) || next.dli_fbase != first.dli_fbase) break;
      const auto address = reinterpret_cast<std::uintptr_t>(error.calls[i]) - 1;  // the call, not what follows it
      addresses.push_back(hex(fixed ? address : address - reinterpret_cast<std::uintptr_t>(first.dli_fbase)));
    }
    std::error_code failed;
    const std::string module = fixed || first.dli_fname[0] != '/'  // the program itself, however it was called
                                   ? std::filesystem::read_symlink("/proc/self/exe", failed).string()
                                   : first.dli_fname;
    for (const std::string& text : addr2line(module, addresses)) {
      const Line line = parse(text);
      std::error_code absent;  // the C library's start-up code has lines as well, but its sources are not here
      if (!line.file.empty() && !ours(line.file) && std::filesystem::exists(line.file, absent)) return shown(line);
    }
  }
  return "";
}

#else

std::string place_of(const Error&) { return ""; }

#endif

}  // namespace gradus
