// Namespaces and Landlock.
#include "lessons/runner/sandbox.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif
#endif

namespace gradus {

namespace {

#ifdef __linux__
bool leave_the_network() { return ::unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID) == 0; }
#else
bool leave_the_network() { return false; }
#endif

#if defined(LANDLOCK_CREATE_RULESET_VERSION) && defined(SYS_landlock_create_ruleset)
constexpr std::uint64_t reading =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t every_right = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all of the first version

bool has_landlock() { return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1; }

void close_the_files(const std::vector<std::filesystem::path>& readable) {
  struct landlock_ruleset_attr attributes {};
  attributes.handled_access_fs = every_right;
  const int rules = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (rules < 0) return;
  for (const std::filesystem::path& path : readable) {
    struct landlock_path_beneath_attr rule {};
    rule.parent_fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0) continue;
    std::error_code ignored;
    rule.allowed_access = std::filesystem::is_directory(path, ignored)
                              ? reading
                              : reading & ~static_cast<std::uint64_t>(LANDLOCK_ACCESS_FS_READ_DIR);
    ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    ::close(rule.parent_fd);
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::syscall(SYS_landlock_restrict_self, rules, 0);
  ::close(rules);
}
#else
bool has_landlock() { return false; }
void close_the_files(const std::vector<std::filesystem::path>&) {}
#endif

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Fences fences_here() {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!leave_the_network()) _exit(1);
    const pid_t inner = ::fork();  // may be forbidden where the namespace is not
    if (inner == 0) _exit(0);
    _exit(inner < 0 ? 1 : wait_for(inner));
  }
  return {child > 0 && wait_for(child) == 0, has_landlock()};
}

void enter(const Sandbox& sandbox) {
  if (leave_the_network()) {
    // The first process of the namespace: when it goes, everything in there goes.
    const pid_t inner = ::fork();
    if (inner != 0) _exit(inner < 0 ? 127 : wait_for(inner));
  }
  close_the_files(sandbox.readable);
}

}  // namespace gradus
