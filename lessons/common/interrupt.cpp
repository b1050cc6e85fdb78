// Signal handlers of the lessons' programs. Only what is allowed inside a handler happens there.
#include "lessons/common/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <csignal>

namespace gradus {

namespace {

volatile std::sig_atomic_t interrupt_flag = 0;

void on_interrupt(int) {
  if (interrupt_flag != 0) _exit(130);
  interrupt_flag = 1;
}

void on_broken_pipe(int) { _exit(141); }

void handle(int signal_number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void prepare_process() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    // open gives the lowest free number, which is this one.
    const int null_device = open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY);
    if (null_device > 2) close(null_device);
  }
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
  handle(SIGPIPE, on_broken_pipe);
  handle(SIGXFSZ, SIG_IGN);
}

bool interrupted() noexcept { return interrupt_flag != 0; }

void set_interrupted(bool value) noexcept { interrupt_flag = value ? 1 : 0; }

}  // namespace gradus
