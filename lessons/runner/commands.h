// The commands of ./gradus, one table row each.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/common/options.h"
#include "lessons/common/terminal.h"
#include "lessons/runner/course.h"

namespace gradus {

// What every command may look at.
struct Course {
  std::filesystem::path root;   // the checkout
  std::filesystem::path build;  // the build directory
  Options defaults;             // language and --plain as given before the command, and where results go
  std::vector<CourseLesson> lessons;
};

struct Command {
  std::string_view name;
  std::string_view usage;                   // the words after the name: "LESSON [options]"
  std::string_view summary_en, summary_zh;  // one short sentence each
  // Gets the arguments after the command's name; returns the exit code (0 done, 1 failed, 2 misuse, 130 interrupted).
  // Null: the script ./gradus does it before the runner is started.
  int (*run)(const Course& course, const std::vector<std::string>& arguments);
};

// In the order in which the help shows them. A new command is a row here and a function in a file of its own.
const std::vector<Command>& commands();

int run_command(const Course& course, const std::vector<std::string>& arguments);
int try_command(const Course& course, const std::vector<std::string>& arguments);
int quiz_command(const Course& course, const std::vector<std::string>& arguments);
int list_command(const Course& course, const std::vector<std::string>& arguments);
int start_command(const Course& course, const std::vector<std::string>& arguments);
int watch_command(const Course& course, const std::vector<std::string>& arguments);
int check_command(const Course& course, const std::vector<std::string>& arguments);
int hint_command(const Course& course, const std::vector<std::string>& arguments);
int solution_command(const Course& course, const std::vector<std::string>& arguments);
int reset_command(const Course& course, const std::vector<std::string>& arguments);
int byhand_command(const Course& course, const std::vector<std::string>& arguments);
int notes_command(const Course& course, const std::vector<std::string>& arguments);

int grade_command(const Course& course, const std::vector<std::string>& arguments);
int diagnose_command(const Course& course, const std::vector<std::string>& arguments);
int help_command(const Course& course, const std::vector<std::string>& arguments);

// A line a lesson: how far the learner is.
std::string lesson_table(const Course& course, const Options& options);

// Where the learner is, what is next, one line how: ./gradus alone.
std::string home(const Course& course, Lang lang);

// Sets the course's language: what --lang says, anywhere in the arguments, which is then remembered; else GRADUS_LANG;
// else what is remembered; else that of the environment.
void choose_language(Course& course, const std::vector<std::string>& arguments);

// The help of ./gradus: how to call it and all commands, at most 80 columns wide.
std::string course_help(Lang lang);

// Prints a parsed command's text where it belongs (help to stdout, misuse to stderr) and returns its exit code.
int leave(const ParsedCommand& parsed);

// The main of a program of ./gradus: what is thrown becomes one line on stderr, and output that got lost is no success.
int program_main(int argc, char** argv, int (*run)(const std::vector<std::string>& arguments));

// One line on stderr, exit code 2.
int misuse(std::string_view program, std::string_view what, Lang lang);

// The lesson that the word names; if there is not exactly one, says so on stderr and returns a null pointer.
const CourseLesson* find_lesson(const Course& course, std::string_view word, Lang lang);

}  // namespace gradus
