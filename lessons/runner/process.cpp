// fork and exec with pipes, limits and a clock.
#include "lessons/runner/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "lessons/common/interrupt.h"

namespace gradus {

namespace {

constexpr int could_not_start = 127, record_descriptor = STDERR_FILENO + 1;

struct Pipe {
  int ends[2] = {-1, -1};
  bool open() { return ::pipe(ends) == 0 && ::fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0; }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
};

void limit(int what, std::int64_t soft, std::int64_t hard) {
  struct rlimit bound {};
  bound.rlim_cur = static_cast<rlim_t>(soft);
  bound.rlim_max = static_cast<rlim_t>(hard);
  ::setrlimit(what, &bound);
}

void close_from(int first) {
#if defined(__linux__) && defined(SYS_close_range)
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0u, 0u) == 0) return;
#endif
  for (int descriptor = first; descriptor < 1024; ++descriptor) ::close(descriptor);
}

// What the child does between fork and exec.
[[noreturn]] void become(const Job& job, const Pipe& output, const Pipe& records, char** words) {
  ::setpgid(0, 0);
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output.ends[1], STDOUT_FILENO);
  ::dup2(output.ends[1], STDERR_FILENO);
  if (job.records) ::dup2(records.ends[1], record_descriptor);
  close_from(job.records ? record_descriptor + 1 : record_descriptor);  // what this program was given stays here
  limit(RLIMIT_CORE, 0, 0);
  if (job.cpu_seconds > 0) limit(RLIMIT_CPU, job.cpu_seconds, job.cpu_seconds + 1);
  if (job.memory_mb > 0) limit(RLIMIT_AS, job.memory_mb << 20, job.memory_mb << 20);
  if (job.file_mb > 0) limit(RLIMIT_FSIZE, job.file_mb << 20, job.file_mb << 20);
  for (const std::string& setting : job.environment) ::putenv(const_cast<char*>(setting.c_str()));
  if (job.sandbox) enter(*job.sandbox);
  ::execvp(words[0], words);
  _exit(could_not_start);
}

// Appends what can be read; false at the end of the stream.
bool take(int descriptor, std::string& into, std::size_t most) {
  char buffer[16384];
  const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  into.append(buffer, std::min(static_cast<std::size_t>(got), most - std::min(most, into.size())));
  return got > 0;
}

}  // namespace

JobResult run_job(const Job& job) {
  using Clock = std::chrono::steady_clock;
  JobResult result;
  const auto failed = [&] {
    result.started = false;
    result.exit_code = could_not_start;
    result.output = std::strerror(errno);
    return result;
  };
  Pipe output, records;
  if (!output.open() || (job.records && !records.open())) return failed();
  std::vector<std::string> texts = job.words;
  if (job.records) texts.push_back(std::to_string(record_descriptor));
  std::vector<char*> words;
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);

  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const pid_t child = ::fork();
  if (child < 0) return failed();
  if (child == 0) become(job, output, records, words.data());
  ::setpgid(child, child);
  output.close_end(1);
  records.close_end(1);

  // Time is up: first a signal that the program may answer with the place where it is, half a second later the end.
  double asked_at = -1;
  bool killed = false;
  const auto look_at_the_clock = [&] {
    const bool late = job.wall_seconds > 0 && elapsed() > job.wall_seconds;
    if (!killed && job.stop && !result.stopped) result.stopped = job.stop();
    const bool at_once = result.stopped || interrupted();
    if (killed || (!late && !at_once)) return;
    if (!at_once && asked_at < 0) {
      result.timed_out = true;
      asked_at = elapsed();
      ::kill(-child, SIGXCPU);
    } else if (at_once || elapsed() > asked_at + 0.5) {
      killed = true;
      ::kill(-child, SIGKILL);
    }
  };
  bool open[2] = {true, job.records};
  bool gone = false;  // the child is, though something that it started may hold the pipes open
  int status = 0;
  while (open[0] || open[1]) {
    look_at_the_clock();
    if (!gone && ::waitpid(child, &status, WNOHANG) == child) {
      gone = true;
      if (job.wall_seconds > 0) ::kill(-child, SIGKILL);
    }
    struct pollfd waiting[2] = {{open[0] ? output.ends[0] : -1, POLLIN, 0},
                                {open[1] ? records.ends[0] : -1, POLLIN, 0}};
    const int ready = ::poll(waiting, 2, 50);
    if (ready == 0 && gone) break;
    if (ready <= 0) continue;
    if (waiting[0].revents != 0) open[0] = take(output.ends[0], result.output, job.most_output);
    if (waiting[1].revents != 0) open[1] = take(records.ends[0], result.records, job.most_output);
    if (job.watch && waiting[0].revents != 0) job.watch(result.output);
  }
  // It may have closed its pipes and run on.
  while (!gone && ::waitpid(child, &status, WNOHANG) == 0) {
    look_at_the_clock();
    ::usleep(2000);
  }
  result.seconds = elapsed();
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  // A sandbox's first process hands on how the program ended.
  if (job.sandbox && result.signal == 0 && WEXITSTATUS(status) > 128) result.signal = WEXITSTATUS(status) - 128;
  result.exit_code = result.signal != 0 ? 128 + result.signal : WEXITSTATUS(status);
  if (result.signal == SIGXCPU ||
      (job.cpu_seconds > 0 && result.signal == SIGKILL && !killed && elapsed() >= job.cpu_seconds))
    result.timed_out = true;
  return result;
}

}  // namespace gradus
