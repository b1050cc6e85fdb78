// ninja as a child process, its output read through a pipe; and the start of lessons.
#include "lessons/runner/build.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "lessons/common/interrupt.h"
#include "lessons/runner/commands.h"
#include "lessons/runner/process.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

constexpr int could_not_start = 127;

// Holds a file's lock for as long as it lives. Where there is no lock to be had, building goes on without.
class BuildLock {
 public:
  explicit BuildLock(const fs::path& file) : descriptor_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
  }
  ~BuildLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  BuildLock(const BuildLock&) = delete;
  BuildLock& operator=(const BuildLock&) = delete;

 private:
  int descriptor_;
};

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t start = text.rfind('\n', end);
  return text.substr(start == std::string::npos ? 0 : start + 1, end - (start == std::string::npos ? -1 : start));
}

// The N of the last "[n/N] ..." of a dry run; 0 when there is nothing to do.
int steps_of(const std::string& dry_run) {
  const std::string line = last_line(dry_run);
  const std::size_t slash = line.find('/');
  int steps = 0;
  if (line.starts_with('[') && slash != line.npos)
    std::from_chars(line.data() + slash + 1, line.data() + line.size(), steps);
  return steps;
}
constexpr int many_steps = 10;  // a lesson and its check are fewer, the library is more

}  // namespace

bool says_disk_full(std::string_view output) {
  // ld writes through a mapping, and is ended by a signal where a page of it has no room.
  for (const char* sign : {"No space left on device", "Disk quota exceeded", "ld terminated with signal 7"}) {
    if (output.find(sign) != output.npos) return true;
  }
  return false;
}

std::string disk_full(Lang lang) {
  return std::string(tr(lang,
                        "the disk is full, so nothing could be built: make room (df -h . shows how much there is)",
                        "磁盘已满，无法编译：请腾出空间（df -h . 显示剩余多少）"));
}

fs::path lesson_program(const fs::path& build, const std::string& lesson_id) {
  return build / "lessons" / lesson_id / lesson_id;
}

int build_lesson(const fs::path& build, const std::string& lesson_id, const Terminal& terminal, Lang lang) {
  return build_target(build, fmt::format("lessons/{0}/{0}", lesson_id), terminal, lang);
}

int build_target(const fs::path& build, const std::string& target, const Terminal& terminal, Lang lang) {
  std::error_code error;
  if (!fs::exists(build / "build.ninja", error)) {
    complain(fmt::format(fmt::runtime(tr(lang, "{0} is not set up; start ./gradus, or: meson setup {0}\n",
                                         "{0} 还没有配置好；请运行 ./gradus，或：meson setup {0}\n")),
                         build.string()));
    return 1;
  }
  // The script ./gradus takes the same lock: two terminals must not build at once.
  const BuildLock lock(build / "gradus_lock");
  Job dry;
  dry.words = {"ninja", "-C", build.string(), "-n", target};
  if (steps_of(run_job(dry).output) >= many_steps) {
    complain(tr(lang, "building the library once: takes about a minute, later starts take under a second\n",
                "首次编译库：约需一分钟，以后启动不到一秒\n"));
  }
  bool line_on_screen = false;
  Job job;
  job.words = {"ninja", "-C", build.string(), target};
  job.watch = [&](const std::string& output) {
    const std::string line = last_line(output);
    if (!terminal.live || !line.starts_with('[')) return;
    say("\r\x1b[2K" + cut_to_width(printable(line), terminal.width - 1));
    line_on_screen = true;
  };
  if (terminal.live) {
    say(std::string(tr(lang, "building ...", "正在编译……")));
    line_on_screen = true;
  }
  const JobResult outcome = run_job(job);
  if (line_on_screen) say("\r\x1b[2K");
  if (outcome.exit_code == 0) return 0;
  if (interrupted()) return 130;
  if (outcome.exit_code == could_not_start) {
    complain(tr(lang, "ninja could not be started; ./gradus installs what is missing\n",
                "无法启动 ninja；运行 ./gradus 会安装缺少的程序\n"));
    return 1;
  }
  if (says_disk_full(outcome.output)) return misuse("./gradus", disk_full(lang), lang);
  complain(fmt::format(fmt::runtime(tr(lang, "{0}\n{2} was not built; all of it: ninja -C {1} {2}\n",
                                       "{0}\n{2} 编译失败；完整输出：ninja -C {1} {2}\n")),
                       compiler_words(outcome.output), build.string(), target));
  return 1;
}

std::string compiler_words(const std::string& ninja_output) {
  std::string out;
  bool command_follows = false;
  for (std::size_t at = 0; at < ninja_output.size();) {
    const std::size_t end = std::min(ninja_output.find('\n', at), ninja_output.size());
    const std::string_view line = std::string_view(ninja_output).substr(at, end - at);
    at = end + 1;
    const bool progress = line.size() > 1 && line[0] == '[' && line[1] >= '0' && line[1] <= '9';
    const bool chatter = line.starts_with("ninja: Entering directory") || line.starts_with("ninja: build stopped");
    if (!progress && !chatter && !command_follows && !line.starts_with("FAILED: ")) out += std::string(line) + "\n";
    command_follows = line.starts_with("FAILED: ");
  }
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

int become(const fs::path& program, const std::vector<std::string>& arguments, Lang lang) {
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  ::execv(words[0].c_str(), pointers_to(words).data());
  complain(fmt::format(fmt::runtime(tr(lang, "cannot start {}: {}\n", "无法启动 {}：{}\n")), program.string(),
                       std::strerror(errno)));
  return 1;
}

int run_and_wait(const fs::path& program, const std::vector<std::string>& arguments, Lang lang) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) {
    complain(fmt::format(fmt::runtime(tr(lang, "cannot start {}: {}\n", "无法启动 {}：{}\n")), program.string(),
                         std::strerror(errno)));
    return 1;
  }
  if (child == 0) _exit(become(program, arguments, lang));
  return wait_for(child);
}

}  // namespace gradus
