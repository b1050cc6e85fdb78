// What a lesson's program is made of: a description, what it runs, and the one line that its main is.
#pragma once

#include <functional>
#include <string>

#include "lessons/common/options.h"

namespace gradus {

struct Lesson {
  std::string id;                          // name of its directory: "09_bahdanau"
  std::string title_en, title_zh;          // the first heading of README.md and README.zh.md
  int minutes = 0;                         // what a reader needs for note and exercise
  std::function<int(const Options&)> run;  // trains, shows, writes; returns the exit code
  std::function<int(const Options&, const std::string&)> ask =
      {};                       // `try`: one input for the trained model; may be empty
  bool has_curriculum = false;  // takes --no-curriculum; without it that is misuse
};

// main of every lesson: parses the options, makes the output directory, runs once per seed, turns what was thrown into
// one line on stderr. Exit codes: 0 done, 1 failed, a target missed under --strict or nothing trained yet,
// 2 misuse, 130 interrupted (whatever the lesson returned), 141 nobody reads the output.
//
//   int main(int argc, char** argv) { return gradus::lesson_main(lesson, argc, argv); }
int lesson_main(const Lesson& lesson, int argc, char** argv);

// For a `try` that finds no trained model: says which command trains it (to stderr) and returns 1.
int not_trained_yet(const Options& options, const Lesson& lesson);

}  // namespace gradus
