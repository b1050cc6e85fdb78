// What ./gradus remembers of a learner: work/state.txt, which people can read.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "lessons/runner/commands.h"

namespace gradus {

// Sections of "key = value" lines; the section "" is the head: lang, current. The others are lessons:
//   state      in progress | passed          passed_on, started_on   dates
//   starter    hash of the exercise.cpp that was copied
//   checked, verdict, place                  of the last check: hash of the file, what it said, where
//   passed_file                              hash of the file that passed
//   hints      highest hint shown, per place: "decoder_step 2, additive_keys 1"
//   variant, solution_seen
struct CourseState {
  std::map<std::string, std::map<std::string, std::string>> sections;

  // The value, or "".
  std::string get(const std::string& section, const std::string& key) const;
  void set(const std::string& section, const std::string& key, const std::string& value);
};

// Lines that make no sense are dropped; a file that is not there, or cannot be read, is an empty state.
CourseState read_state(const Course& course);

// Reads, changes and writes it as one step, under a lock: two terminals do not lose each other's changes, and a program
// that is killed leaves the old file or the new one. Throws FileError.
void update_state(const Course& course, const std::function<void(CourseState&)>& change);
// The same for commands whose answer is worth having without it: where it is not possible (a full disk, say), a line on
// stderr says so.
void try_update_state(const Course& course, const std::function<void(CourseState&)>& change);

// Puts a state file with lines that make no sense aside as work/state.txt.damaged, says so on stderr, and goes on with
// what can be read of it.
void mend_state(const Course& course);

CourseState parse_state(std::string_view text);
std::string to_text(const CourseState& state);

// 16 hexadecimal digits that change when the text does (FNV-1a).
std::string text_hash(std::string_view text);
// "2026-11-30", in UTC.
std::string today();

}  // namespace gradus
