// main of the program that a learner's file is linked into: runs the lesson's parts and reports each on a pipe that
// only ./gradus holds. It prints nothing: what appears on stdout comes from the learner's code.
//
//   GRADUS_TOKEN=TOKEN program UNDEFINED_SYMBOLS first|all VARIANT PIPE
//
// Records are JSON objects, each between two bytes 0x1e, so that whatever else is written into the pipe spoils none of
// them. Each carries TOKEN, and others do not count; only a crash is told without, which never makes a result better.
// Without the last record nothing has passed, however the program ended.
#include <execinfo.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lessons/common/check.h"
#include "lessons/common/terminal.h"
#include "nn/formats/json.h"

namespace gradus::check {

namespace {

// Taken out of the environment while this library is loaded, which is before any code of the learner's file runs.
std::string taken_token() {
  char* given = std::getenv("GRADUS_TOKEN");
  if (given == nullptr) return "";
  std::string token = given;
  std::memset(given, '-', token.size());
  return token;
}
const std::string token = taken_token();

int record_pipe = -1;
int chosen_variant = 0;

void send(const char* text, std::size_t length) {
  while (length > 0) {
    const ssize_t done = ::write(record_pipe, text, length);
    if (done <= 0) return;
    text += done;
    length -= static_cast<std::size_t>(done);
  }
}

void send(Json record) {
  record.set("token", token);
  const std::string line = "\x1e" + to_text(record) + "\x1e";
  send(line.data(), line.size());
}

// Says where the program is. The first `exact` addresses are of instructions, the others of what follows a call. Only
// what is allowed in a signal handler.
[[gnu::noinline]] void send_place(int exact) {
  void* addresses[64];
  const int depth = ::backtrace(addresses, 64);
  char line[64 * 20 + 64] = "\x1e{\"crash\":[";
  char* at = line + std::strlen(line);
  for (int i = 0; i < depth; ++i) {
    if (i > 0) *at++ = ',';
    const auto address = reinterpret_cast<std::uintptr_t>(addresses[i]);
    at = std::to_chars(at, line + sizeof line - 4, i < exact ? address : address - 1).ptr;
  }
  std::memcpy(at, "]}\x1e", 3);
  send(line, static_cast<std::size_t>(at + 3 - line));
}

// A crash, or the end of the allowed time, says where it happened, then happens.
void on_crash(int signal_number) {
  send_place(4);  // this function and the one that it calls, the way into them, and where it broke
  ::signal(signal_number, SIG_DFL);
  ::raise(signal_number);
}

void watch_for_crashes() {
  static char stack[1 << 16];  // of its own: an endless recursion has used the other one up
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  ::sigaltstack(&other, nullptr);
  void* once[1];
  ::backtrace(once, 1);  // loads what it needs now
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) {
    struct sigaction action {};
    action.sa_handler = on_crash;
    action.sa_flags = SA_ONSTACK;
    ::sigaction(number, &action, nullptr);
  }
}

// Nothing may be allocated any more, so this is said at once and ends the program.
[[noreturn]] void on_out_of_memory() {
  send_place(0);
  constexpr char record[] = "\x1e{\"out_of_memory\":true}\x1e";
  send(record, sizeof record - 1);
  _exit(1);
}

Json words(const Words& text) { return Json::object({{"en", text.en}, {"zh", text.zh}}); }

// What comes from the learner's code (the text of an exception, a name that it returned) may be long or no text at all.
std::string tame(const std::string& text) {
  constexpr std::size_t most = 600;
  std::string out;
  for (std::size_t at = 0; at < std::min(text.size(), most);) {
    const std::size_t end = std::min({text.find('\n', at), text.size(), most});
    out += printable(text.substr(at, end - at)) + (end < text.size() && text[end] == '\n' ? "\n" : "");
    at = end + 1;
  }
  return text.size() > most ? out + "..." : out;
}

Json tame(const Text& text) { return words({tame(text.en), tame(text.zh)}); }

Json to_json(const Failure& failure, const Part& part) {
  return Json::object({{"code", failure.code},
                       {"place", failure.place},
                       {"why", words(failure.why)},
                       {"expected", tame(failure.expected)},
                       {"got", tame(failure.got)},
                       {"used", words(failure.used)},
                       {"paper", words(failure.paper)},
                       {"fix", words(failure.fix)},
                       {"test", words(failure.test)},
                       {"section", failure.section.empty() ? part.section : failure.section}});
}

// A general failure gets the name of the mistake, when the diagnosis knows it; expected and got stay.
void give_name(const Check& check, Failure& failure) {
  const bool general =
      failure.code == wrong_numbers || failure.code == reference_differs || failure.code == probe_failed;
  if (!general || !check.diagnose) return;
  const Result named = guarded([&] { return check.diagnose(failure.place); });
  if (!named || named->code.empty() || named->code == "UNKNOWN" || named->why.empty() || named->code == "EXCEPTION" ||
      named->code == "SHAPE_ERROR")
    return;
  failure.code = named->code;
  failure.why = named->why;
  failure.used = named->used;
  failure.paper = named->paper;
  failure.fix = named->fix;
  failure.test = named->test;
  if (!named->place.empty()) failure.place = named->place;
  if (!named->section.empty()) failure.section = named->section;
}

// The learner's object must not call the library's own version of what is to be written.
Result uses_library_part(const Check& check, const std::string& undefined_symbols) {
  for (const std::string& taught : check.taught) {
    const std::size_t at = undefined_symbols.find("\n" + taught);
    if (at == std::string::npos) continue;
    Failure failure;
    failure.code = "USES_LIBRARY_PART";
    failure.got = undefined_symbols.substr(at + 1, undefined_symbols.find('\n', at + 1) - at - 1);
    failure.why = {"this calls the library's own version of what the lesson asks you to write",
                   "这里调用了库里现成的实现，而它正是本课要你自己写的"};
    return failure;
  }
  return std::nullopt;
}

std::string read_all(const char* file) {
  std::string text = "\n";
  if (std::FILE* stream = std::fopen(file, "rb")) {
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, stream)) > 0;) text.append(buffer, got);
    std::fclose(stream);
  }
  return text;
}

void run_parts(const char* symbols_file, bool all) {
  Check check = lesson_check();
  const std::string symbols = read_all(symbols_file);
  check.parts.insert(check.parts.begin(), {"own_work", {"your own work", "自己动手"}, "", [&] {
                                             return uses_library_part(check, symbols);
                                           }});
  Json names = Json::array();
  for (const Part& part : check.parts) {
    names.push_back(Json::object({{"name", part.name}, {"title", words(part.title)}, {"section", part.section}}));
  }
  send(Json::object({{"lesson", check.lesson}, {"parts", names}}));
  bool passed = true;
  for (const Part& part : check.parts) {
    send(Json::object({{"begin", part.name}}));
    const auto start = std::chrono::steady_clock::now();
    Result failure = guarded(part.run);
    if (failure) give_name(check, *failure);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    send(Json::object(
        {{"part", part.name}, {"seconds", seconds}, {"failure", failure ? to_json(*failure, part) : Json()}}));
    passed = passed && !failure;
    if (failure && !all) break;
  }
  send(Json::object({{"verdict", passed ? "passed" : "failed"}}));
}

}  // namespace

int variant() { return chosen_variant; }

}  // namespace gradus::check

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const auto read = [](const char* text, int& number) { std::from_chars(text, text + std::strlen(text), number); };
  read(argv[3], gradus::check::chosen_variant);
  read(argv[4], gradus::check::record_pipe);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what is printed before a crash is seen
  gradus::check::watch_for_crashes();
  std::set_new_handler(gradus::check::on_out_of_memory);
  gradus::check::run_parts(argv[1], std::string(argv[2]) == "all");
  std::fflush(nullptr);
  _exit(0);
}
