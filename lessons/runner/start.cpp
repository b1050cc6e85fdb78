// ./gradus start and ./gradus reset: an exercise of one's own.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lessons/common/files.h"
#include "lessons/runner/exercise.h"
#include "lessons/runner/state.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

std::string shown(const Course& course, const fs::path& file) { return fs::relative(file, course.root).string(); }

// Puts the file in its place unless something is there already; false then. Whole or not at all: written beside it and
// linked, which never replaces.
bool place_new(const fs::path& file, const std::string& text) {
  make_writable_directory(file.parent_path());
  const fs::path fresh = file.parent_path() / fmt::format(".new.{}", ::getpid());
  write_file(fresh, text);
  const bool placed = ::link(fresh.c_str(), file.c_str()) == 0;
  const int error = errno;
  ::unlink(fresh.c_str());
  if (!placed && error != EEXIST)
    throw FileError(fmt::format("cannot write {}: {}", file.string(), std::strerror(error)));
  return placed;
}

void remember_start(const Course& course, const CourseLesson& lesson, const std::string& starter) {
  update_state(course, [&](CourseState& state) {
    state.set("", "current", lesson.id);
    state.set(lesson.id, "starter", text_hash(starter));
    if (state.get(lesson.id, "state").empty()) state.set(lesson.id, "state", "in progress");
    if (state.get(lesson.id, "started_on").empty()) state.set(lesson.id, "started_on", today());
  });
}

std::string what_now(const CourseLesson& lesson, Lang lang) {
  return fmt::format(fmt::runtime(tr(lang,
                                     "  edit it, then    ./gradus check {0}    or at every save: ./gradus watch {0}\n"
                                     "  the note         lessons/{1}/README.md\n"
                                     "  stuck            ./gradus hint {0}\n",
                                     "  编辑之后    ./gradus check {0}    每次保存自动检查：./gradus watch {0}\n"
                                     "  讲义        lessons/{1}/README.zh.md\n"
                                     "  卡住了      ./gradus hint {0}\n")),
                     lesson.number(), lesson.id);
}

}  // namespace

int start_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {
      .program = "./gradus start",
      .about_en = "Copies a lesson's exercise to work/, where it is yours. What is there is never overwritten.",
      .about_zh = "把一课的练习复制到 work/，归你修改。已有的文件绝不会被覆盖。",
      .options = OptionSet::display,
      .words = {{"LESSON", "number or name", "编号或名字", true, false}},
      .extras = {},
      .stop_at_word = false,
      .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  const CourseLesson* lesson = find_lesson(course, parsed.words[0], lang);
  if (lesson == nullptr) return 2;
  if (!has_exercise(course, *lesson)) return no_exercise(course, *lesson, lang);
  const ExerciseFiles files = exercise_files(course, *lesson);
  const std::string starter = read_file(files.starter);
  if (place_new(files.mine, starter)) {
    remember_start(course, *lesson, starter);
    say(fmt::format(fmt::runtime(tr(lang, "Your exercise: {}\n", "你的练习：{}\n")), shown(course, files.mine)));
  } else {
    const std::string begun_with = read_state(course).get(lesson->id, "starter");
    update_state(course, [&](CourseState& state) { state.set("", "current", lesson->id); });
    say(fmt::format(fmt::runtime(tr(lang, "{} is there already and stays as it is.\n", "{} 已经存在，保持不变。\n")),
                    shown(course, files.mine)));
    if (!begun_with.empty() && begun_with != text_hash(starter)) {
      say(fmt::format(
          fmt::runtime(tr(lang,
                          "The course's exercise has changed since you began: compare with lessons/{}/exercise.cpp.\n",
                          "你开始之后课程的练习有过改动：请与 lessons/{}/exercise.cpp 对照。\n")),
          lesson->id));
    }
  }
  say(what_now(*lesson, lang));
  return 0;
}

int reset_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {.program = "./gradus reset",
                            .about_en = "Begins an exercise afresh. Your file is kept beside it as a backup.",
                            .about_zh = "重新开始一个练习。你的文件会作为备份保留在旁边。",
                            .options = OptionSet::display,
                            .words = {{"LESSON", "number or name", "编号或名字", true, false}},
                            .extras = {},
                            .stop_at_word = false,
                            .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  const CourseLesson* lesson = find_lesson(course, parsed.words[0], lang);
  if (lesson == nullptr) return 2;
  if (!has_exercise(course, *lesson)) return no_exercise(course, *lesson, lang);
  const ExerciseFiles files = exercise_files(course, *lesson);
  std::error_code ignored;
  if (!fs::exists(files.mine, ignored)) {
    return misuse("./gradus reset",
                  fmt::format(fmt::runtime(tr(lang, "there is nothing to reset; first: ./gradus start {}",
                                              "没有可重置的练习；请先运行：./gradus start {}")),
                              lesson->number()),
                  lang);
  }
  // The backup is a second name of the file before anything is replaced.
  fs::path backup;
  for (int i = 1;; ++i) {
    backup = files.mine.parent_path() / fmt::format("exercise.backup{}.cpp", i);
    if (::link(files.mine.c_str(), backup.c_str()) == 0) break;
    if (errno != EEXIST) throw FileError(fmt::format("cannot write {}: {}", backup.string(), std::strerror(errno)));
  }
  const std::string starter = read_file(files.starter);
  write_file(files.mine, starter);
  remember_start(course, *lesson, starter);
  update_state(course, [&](CourseState& state) {
    for (const char* key : {"checked", "verdict", "place"}) state.set(lesson->id, key, "");
  });
  say(fmt::format(fmt::runtime(tr(lang, "{} is as it was at the start; yours is kept: {}\n",
                                  "{} 已恢复为初始状态；你的文件保留在：{}\n")),
                  shown(course, files.mine), shown(course, backup)));
  return 0;
}

}  // namespace gradus
