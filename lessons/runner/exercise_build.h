// Compiling a learner's file and linking it, in a directory of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/runner/exercise.h"

namespace gradus {

// The words of the commands, from build/lessons/exercise.conf, which meson writes.
struct Tools {
  std::vector<std::string> compiler, compile, link;
};

// Compiles a check.cpp that is not part of the course. Returns what the compiler says when it fails.
std::string compile_check(const Course& course, const std::filesystem::path& source,
                          const std::filesystem::path& object);

// The file's text; or why it cannot be checked, in `nothing`.
std::string read_source(const std::filesystem::path& file, Lang lang, std::string& nothing);

check::Failure make_failure(std::string code, Words why, std::string got = "");

// A directory that nobody else uses and that is gone in the end, also those of programs that were killed.
class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& build);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path operator/(const char* name) const { return directory_ / name; }

 private:
  std::filesystem::path directory_;
};

class ExerciseBuild {
 public:
  ExerciseBuild(const Course& course, const std::filesystem::path& file, std::string source,
                const ExerciseOptions& options, Lang lang);

  // One after the other; false: the report says why, in `first`, `nothing` or `stopped`.
  bool compile(CheckReport& report);
  bool link(const std::vector<std::string>& libraries, CheckReport& report);

  std::filesystem::path program() const { return scratch_ / "program"; }
  std::filesystem::path symbols() const { return scratch_ / "symbols"; }  // names that the file calls, a line each
  std::filesystem::path lessons() const { return lessons_; }              // build/lessons
  const std::string& absolute() const { return absolute_; }               // the file as the compiler names it
  bool sanitized_library() const { return !tools_.link.empty(); }
  // Sets report.where and report.excerpt to that line; 0: to the file.
  void point_at(CheckReport& report, int line) const;

 private:
  Tools tools_;
  Scratch scratch_;
  std::filesystem::path lessons_;
  std::string source_, absolute_, shown_;
  ExerciseOptions options_;
  Lang lang_;
};

}  // namespace gradus
