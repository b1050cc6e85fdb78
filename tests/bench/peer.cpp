// Two pipes and a child process.
#include "tests/bench/peer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "nn/formats/json.h"

namespace gradus::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::array allocators{"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4",
                                "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4"};

// What makes PyTorch fastest on small models: an allocator that keeps its pages, all vector instructions of the
// machine, and no leftovers of an environment that pins OpenBLAS to an old kernel.
void set_environment() {
  for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}) ::unsetenv(name);
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) ::setenv(name, "1", 1);
#ifdef __AVX512F__
  ::setenv("ATEN_CPU_CAPABILITY", "avx512", 1);
#endif
  for (const char* file : allocators) {
    if (fs::exists(file)) {
      ::setenv("LD_PRELOAD", file, 1);
      break;
    }
  }
}

}  // namespace

std::optional<std::string> find_torch() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (std::system((std::string(python) + " -c 'import torch' >/dev/null 2>&1").c_str()) == 0) return python;
  }
  return std::nullopt;
}

bool torch_is_fast(const std::string& python) {
  const std::string look = python +
                           " -c 'import torch; text = open(\"/proc/self/maps\").read(); "
                           "raise SystemExit(not (\"openblas\" in text or \"mkl\" in text))'";
  return std::any_of(allocators.begin(), allocators.end(), [](const char* file) { return fs::exists(file); }) &&
         std::system(look.c_str()) == 0;
}

Peer::Peer(const std::string& python, const fs::path& script, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{python, script.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int question[2], answer[2];
  if (::pipe(question) != 0 || ::pipe(answer) != 0) throw std::runtime_error("the peer cannot be started: no pipe");
  process_ = ::fork();
  if (process_ == 0) {
    set_environment();
    ::dup2(question[0], STDIN_FILENO);
    ::dup2(answer[1], STDOUT_FILENO);
    for (int end : {question[0], question[1], answer[0], answer[1]}) ::close(end);
    ::execvp(pointers[0], pointers.data());
    _exit(127);
  }
  ::close(question[0]);
  ::close(answer[1]);
  to_ = question[1];
  from_ = answer[0];
  if (process_ < 0) throw std::runtime_error("the peer cannot be started: no process");
  std::signal(SIGPIPE, SIG_IGN);  // a peer that died is noticed when its answer is missing
}

Peer::~Peer() {
  ::close(to_);  // the end of its questions is the end of the peer
  ::close(from_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

std::vector<double> Peer::ask(const std::string& line) {
  std::string text;
  if (::write(to_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    char part[4096];
    while (text.empty() || text.back() != '\n') {
      const ssize_t got = ::read(from_, part, sizeof part);
      if (got <= 0) break;
      text.append(part, static_cast<std::size_t>(got));
    }
  }
  if (text.empty() || text.back() != '\n') throw std::runtime_error("the peer has died; its last words are above");
  const Json answer = parse_json(text);
  if (answer.is_number()) return {answer.as_double()};
  std::vector<double> numbers;
  for (const Json& number : answer.as_array()) numbers.push_back(number.as_double());
  return numbers;
}

double Peer::loss() { return ask("loss\n").at(0); }
std::vector<double> Peer::run(double seconds) { return ask("run " + std::to_string(seconds) + "\n"); }
std::vector<double> Peer::memory() { return ask("memory\n"); }

}  // namespace gradus::bench
