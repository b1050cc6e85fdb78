// What can be asked of a lesson on the command line, and the parser that the course runner and each lesson share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/common/text.h"

namespace gradus {

struct Options {
  bool quick = false;                 // a short look: fewer steps, numbers not to be trusted
  bool full = false;                  // the long run; takes as long as it takes
  bool plain = false;                 // no colour, no live line, ASCII marks only
  bool resume = false;                // go on from the checkpoint in the output directory
  bool no_curriculum = false;         // all lengths from the first step on; only for a Lesson that has_curriculum
  bool strict = false;                // exit 1 when a target is missed
  std::optional<std::int64_t> steps;  // training steps, >= 1, in place of the lesson's own number
  std::uint64_t seed = 1;             // 0 to 2^63 - 1; every random number of the run follows from it
  std::vector<std::uint64_t> seeds;   // --seeds 1,2,3: lesson_main calls the lesson once for each, with `seed` set
  int threads = 0;                    // 0: as many as the machine has cores; see thread_count
  std::filesystem::path out = "out";  // parent of the lesson's own output directory
  Lang lang = Lang::en;               // language of what is printed
  bool beside = false;                // set by lesson_main: a finished run keeps its place (kept.h)
  bool one_of_several = false;        // set by lesson_main while it goes through `seeds`; not on the command line
};

// Number of threads to use, >= 1: what --threads says, or the number of cores.
int thread_count(const Options& options);

// Where the lesson writes: OUT/ID, in it no_curriculum/ under --no-curriculum, in that seed_S/ when the run is one of
// several, and in that short/ where a finished run keeps its place. Nothing is created.
std::filesystem::path output_directory(const Options& options, std::string_view lesson_id);

// The language that the environment asks for: GRADUS_LANG, else LC_ALL, LC_MESSAGES, LANG; English if none says "zh".
Lang environment_lang();

// Options() in the language of the environment.
inline Options environment_options() {
  Options options;
  options.lang = environment_lang();
  return options;
}

// Which of the options above a command accepts.
enum class OptionSet {
  display,   // --lang, --plain, --help
  asking,    // those, --out, --seed, --threads: asking a trained model
  training,  // all
};

// A word that a command takes, such as LESSON.
struct WordSpec {
  std::string name;              // as shown in the usage line, upper case
  std::string help_en, help_zh;  // one sentence
  bool required = true;
  bool many = false;  // takes all remaining words; only for the last one
};

// An option that belongs to one command only.
struct ExtraOption {
  std::string name;   // with its dashes: "--file"
  std::string value;  // name of its value in the help, upper case; empty: a flag
  std::string help_en, help_zh;
};

// A command line to parse: what the usage text says and what is accepted.
struct CommandSpec {
  std::string program;             // as typed: "./gradus run"
  std::string about_en, about_zh;  // one or two sentences
  OptionSet options = OptionSet::display;
  std::vector<WordSpec> words;
  std::vector<ExtraOption> extras;
  bool stop_at_word = false;                 // the first word and all that follow come back unparsed in `words`
  Options defaults = environment_options();  // what holds where nothing is said
};

struct ParsedCommand {
  Options options;
  std::vector<std::string> words;
  std::map<std::string, std::string> extras;  // name with dashes -> value ("" for a flag), only those given
  std::optional<int> exit_code;               // set: print `text` and leave with it (0: help was asked for, 2: misuse)
  std::string text;                           // the help, or one line that says what was wrong; ends in a newline
};

// Parses the arguments after the program's name. Never throws for what a user typed, never prints.
ParsedCommand parse_command(const CommandSpec& spec, const std::vector<std::string>& arguments);

// The help text of a command, at most 80 columns wide.
std::string help_text(const CommandSpec& spec, Lang lang);

// The arguments that parse back to these options (those that differ from the default, and --out and --lang always).
std::vector<std::string> to_arguments(const Options& options);

}  // namespace gradus
