// Checking a learner's file: compile it, link it with the lesson's check, run that within limits, read its records.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lessons/common/check.h"
#include "lessons/common/terminal.h"
#include "lessons/runner/commands.h"
#include "lessons/runner/state.h"
#include "nn/formats/json.h"

namespace gradus {

// The files of a lesson's exercise.
struct ExerciseFiles {
  std::filesystem::path starter, solution;  // lessons/09_bahdanau/exercise.cpp, solution.cpp
  std::filesystem::path mine;               // work/09_bahdanau/exercise.cpp
};
ExerciseFiles exercise_files(const Course& course, const CourseLesson& lesson);
bool has_exercise(const Course& course, const CourseLesson& lesson);
// Says on stderr that the lesson has none (and which lessons do), for commands that need one. Returns exit code 2.
int no_exercise(const Course& course, const CourseLesson& lesson, Lang lang);

struct PartReport {
  std::string name;
  Words title;
  bool run = false;  // false: the check did not come this far
  double seconds = 0;
  std::optional<check::Failure> failure;
};

struct CheckReport {
  std::string nothing;   // why there was nothing to check, in the language asked for; empty: it was checked
  bool stopped = false;  // by ExerciseOptions::stop: the rest says nothing
  bool passed = false;
  std::string source;                   // the text that was checked; the file may hold another by now
  int variant = 0;                      // which the file says it is
  std::vector<PartReport> parts;        // empty when the file did not come as far as running
  std::optional<check::Failure> first;  // the first thing to mend
  std::string where;                    // "work/09_bahdanau/exercise.cpp:31", where it is known
  std::string excerpt;                  // that line
  std::string printed;                  // what the learner's code has printed
  double compile_seconds = 0, run_seconds = 0;
  double build_seconds = 0;  // before that, for what the check itself is made of
  int exit_code() const { return !nothing.empty() ? 2 : passed ? 0 : 1; }
};

struct ExerciseOptions {
  bool all_parts = false;  // go on after the first failure
  bool sanitize = false;   // under AddressSanitizer and UndefinedBehaviorSanitizer
  bool fenced = false;     // without network, and without other files than it needs, where the system allows it
  std::filesystem::path check = {};  // a check to be linked instead of the lesson's own: an object file
  std::function<bool()> stop = {};   // asked all the time; true breaks the check off
};

// Builds the lesson's check, if that is needed. 0, or the exit code after a message on stderr.
int prepare_check(const Course& course, const CourseLesson& lesson, const Terminal& terminal, Lang lang);

CheckReport check_file(const Course& course, const CourseLesson& lesson, const std::filesystem::path& file,
                       const ExerciseOptions& options, Lang lang);

// Builds the lesson's program with the taught parts from this file; `program` is where it is then. When the report has
// `nothing` or `first`, it was not built.
CheckReport build_mine(const Course& course, const CourseLesson& lesson, const std::filesystem::path& file, Lang lang,
                       std::filesystem::path& program);

// As a learner reads it, at most 80 columns wide; full_report ends with what to do now.
std::string report_text(const CourseLesson& lesson, const CheckReport& report, const Terminal& terminal, Lang lang);
std::string full_report(const Course& course, const CourseLesson& lesson, const CheckReport& report,
                        const Terminal& terminal, Lang lang);
// As a program reads it.
Json report_json(const CourseLesson& lesson, const std::filesystem::path& file, const CheckReport& report);

// ---- what the commands share

// The number in the first line, "// variant 5"; 0 without one.
int variant_of(const std::string& source);

// The lesson that the first word names, or without one the current one; null after a line on stderr.
const CourseLesson* current_lesson(const Course& course, const std::vector<std::string>& words, Lang lang);
// The first exercise after that lesson that has not passed, or the first of all; null when none is left. An empty id:
// from the beginning.
const CourseLesson* next_exercise(const Course& course, const CourseState& state, const std::string& after);
// The last text of the learner that passed; there is none before.
std::filesystem::path passed_copy(const Course& course, const CourseLesson& lesson);
// Puts the outcome of a check of the learner's own file into the state, and keeps what passed.
void remember_check(const Course& course, const CourseLesson& lesson, const CheckReport& report);
// The functions that the lesson has hints for, in the order of its hints.md.
std::vector<std::string> hint_places(const Course& course, const CourseLesson& lesson);
// One more hint for `place`, or where that is empty for what the last check found; counted in the state.
std::string next_hint(const Course& course, const CourseLesson& lesson, const std::string& place, bool all, Lang lang);

}  // namespace gradus
