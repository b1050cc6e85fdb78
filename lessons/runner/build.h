// Building one lesson and starting programs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/common/terminal.h"

namespace gradus {

// Brings a target of the build, or a lesson's program, up to date through ninja. Quiet when there is nothing to do, one
// moving line on a terminal, and the compiler's own words when it fails. Returns an exit code: 0, 1 (not built), 2 (the
// disk is full), 130 (interrupted).
int build_target(const std::filesystem::path& build, const std::string& target, const Terminal& terminal, Lang lang);
int build_lesson(const std::filesystem::path& build, const std::string& lesson_id, const Terminal& terminal, Lang lang);

// What a compiler, a linker or a FileError says when there is no room left for what they write; and what we say then.
bool says_disk_full(std::string_view output);
std::string disk_full(Lang lang);

// Where build_lesson puts it.
std::filesystem::path lesson_program(const std::filesystem::path& build, const std::string& lesson_id);

// Becomes that program; returns only when that fails, after a line on stderr, with exit code 1.
int become(const std::filesystem::path& program, const std::vector<std::string>& arguments, Lang lang);

// Runs the program to its end and returns its exit code (128 + signal if a signal ended it).
int run_and_wait(const std::filesystem::path& program, const std::vector<std::string>& arguments, Lang lang);

// What a failed ninja printed, without its progress lines and the compiler's command lines.
std::string compiler_words(const std::string& ninja_output);

}  // namespace gradus
