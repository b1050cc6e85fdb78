// Child processes: run to their end with their output kept, and within limits when what runs is a learner's code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lessons/runner/sandbox.h"

namespace gradus {

struct Job {
  std::vector<std::string> words;  // program (looked for in PATH) and arguments
  double wall_seconds = 0;         // 0: no limit, for this one and the next three
  int cpu_seconds = 0;
  std::int64_t memory_mb = 0;                      // address space
  std::int64_t file_mb = 0;                        // size of a file that is written
  std::size_t most_output = std::size_t{1} << 22;  // bytes kept; the rest is read and dropped
  bool records = false;                            // opens a private pipe; its number becomes the last argument
  std::optional<Sandbox> sandbox = {};             // what else it may not do
  std::vector<std::string> environment;            // "NAME=value", beside what is there
  std::function<void(const std::string& output_so_far)> watch = {};
  std::function<bool()> stop = {};  // asked some twenty times a second; true ends it
};

struct JobResult {
  bool started = true;     // false: `output` says why not
  bool timed_out = false;  // wall or CPU time
  bool stopped = false;    // Job::stop said so
  int exit_code = 0;       // 128 + signal when a signal ended it
  int signal = 0;          // 0: it left by itself
  double seconds = 0;      // wall
  std::string output;      // stdout and stderr together
  std::string records;     // what came through the private pipe
};

// Runs it to its end with nothing on stdin, and ends all that it started when time is up, when `stop` says so, when
// Ctrl-C is pressed (see interrupt.h) or when this program dies.
JobResult run_job(const Job& job);

}  // namespace gradus
