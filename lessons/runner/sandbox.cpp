// Namespaces, Landlock and a filter of system calls.
#include "lessons/runner/sandbox.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>

#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif
#if __has_include(<linux/seccomp.h>)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
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
  ::syscall(SYS_landlock_restrict_self, rules, 0);
  ::close(rules);
}
#else
bool has_landlock() { return false; }
void close_the_files(const std::vector<std::filesystem::path>&) {}
#endif

#if defined(AUDIT_ARCH_X86_64) && (defined(__x86_64__) || defined(__aarch64__))
#ifdef __x86_64__
constexpr std::uint32_t this_machine = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t this_machine = AUDIT_ARCH_AARCH64;
#endif

// What Landlock does not keep from a program, in all versions or in the first: sockets in the file system, the length,
// modes and owners of files that it may not open; and what goes round filters or into other processes.
constexpr std::uint32_t refused[] = {
#ifdef SYS_chmod  // older names, which newer machines do not have
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
    SYS_socket,
    SYS_connect,
    SYS_truncate,
    SYS_fchmodat,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_unshare,
    SYS_setns,
    SYS_chroot,
    SYS_pivot_root,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_keyctl,
    SYS_io_uring_setup,
    SYS_open_by_handle_at};

bool has_filter() { return ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0; }

void refuse_calls() {
  constexpr std::size_t count = std::size(refused);
  constexpr std::uint32_t other_names = 0x40000000;  // x32: the same calls under other numbers
  sock_filter program[2 * count + 17];
  std::size_t n = 0;
  const auto add = [&](sock_filter step) { program[n++] = step; };
  const sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, this_machine, 1, 0));
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const std::uint32_t call : refused) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    add(refuse);
  }
  add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, other_names, 0, 1));
  add(refuse);
  // To open for reading and cut to nothing is not writing for Landlock's first versions.
  const auto refuse_cutting = [&](std::uint32_t call, std::uint32_t flags) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4));
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags));
    add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TRUNC, 0, 1));
    add(refuse);
    add(allow);
  };
  refuse_cutting(SYS_openat, offsetof(seccomp_data, args[2]));
#ifdef SYS_open
  refuse_cutting(SYS_open, offsetof(seccomp_data, args[1]));
#endif
  add(allow);
  const sock_fprog filter = {static_cast<unsigned short>(n), program};
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
}

// A program that starts itself again and again must not stop the machine.
void limit_processes() {
  const rlimit most = {256, 256};
  ::setrlimit(RLIMIT_NPROC, &most);
}
#else
bool has_filter() { return false; }
void refuse_calls() {}
void limit_processes() {}
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
  return {child > 0 && wait_for(child) == 0, has_landlock() && has_filter()};
}

void enter(const Sandbox& sandbox) {
  if (leave_the_network()) {
    // The first process of the namespace: when it goes, everything in there goes.
    const pid_t inner = ::fork();
    if (inner != 0) _exit(inner < 0 ? 127 : wait_for(inner));
  }
  limit_processes();
#ifdef __linux__
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // what the next two ask for
#endif
  close_the_files(sandbox.readable);
  refuse_calls();
}

}  // namespace gradus
