// Runs a piece of a test in a process of its own, for what may crash or hang.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>

namespace gradus::testing {

// What became of it: 0 when `work` returned true, 1 when it returned false or threw, 128 + n when signal n ended it
// (14: it took longer than `seconds`).
inline int in_child(const std::function<bool()>& work, unsigned seconds = 20) {
  std::cout.flush();
  std::cerr.flush();
  const pid_t child = fork();
  if (child == 0) {
    for (int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM}) std::signal(number, SIG_DFL);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (!std::freopen("/dev/null", "w", stderr)) _exit(3);
    alarm(seconds);
    bool good = false;
    try {
      good = work();
    } catch (...) {}
    _exit(good ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace gradus::testing
