// ./gradus start and ./gradus reset: an exercise of one's own.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
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
  try_update_state(course, [&](CourseState& state) {
    state.set("", "current", lesson.id);
    state.set(lesson.id, "starter", text_hash(starter));
    if (state.get(lesson.id, "state").empty()) state.set(lesson.id, "state", "in progress");
    if (state.get(lesson.id, "started_on").empty()) state.set(lesson.id, "started_on", today());
  });
}

// "// variant 5" and what it asks for, as comments above the starter. Lines of variants.md: "- 4: English · 中文",
// chosen when that number is part of the variant.
std::string variant_text(const fs::path& page, int variant, Lang lang) {
  std::string out = fmt::format("// variant {}\n", variant);
  const std::string text = read_file(page);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t colon = line.find(": "), middle = line.find(" · ");
    int bit = 0;
    if (!line.starts_with("- ") || colon == line.npos || middle == line.npos) continue;
    std::from_chars(line.data() + 2, line.data() + colon, bit);
    if ((variant & bit) == 0) continue;
    const std::string wish = lang == Lang::zh ? line.substr(middle + std::string_view(" · ").size())
                                              : line.substr(colon + 2, middle - colon - 2);
    out += "// * " + wish + "\n";
  }
  return out + "\n";
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
      .extras = {{"--variant", "N", "sizes and conventions of your own, so that solutions differ (1 to 999)",
                  "尺寸和约定各不相同的变体，使各人的答案不同（1 到 999）"}},
      .stop_at_word = false,
      .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  const CourseLesson* lesson = find_lesson(course, parsed.words[0], lang);
  if (lesson == nullptr) return 2;
  if (!has_exercise(course, *lesson)) return no_exercise(course, *lesson, lang);
  const ExerciseFiles files = exercise_files(course, *lesson);
  std::string starter = read_file(files.starter);
  if (const auto chosen = parsed.extras.find("--variant"); chosen != parsed.extras.end()) {
    const fs::path page = files.starter.parent_path() / "variants.md";
    const int variant = variant_of("// variant " + chosen->second);
    std::error_code ignored;
    if (!fs::exists(page, ignored)) {
      return misuse(
          spec.program,
          fmt::format(fmt::runtime(tr(lang, "lesson {} has no variants", "第 {} 课没有变体")), lesson->number()), lang);
    }
    if (variant < 1 || variant > 999)
      return misuse(spec.program, tr(lang, "--variant is a number from 1 to 999", "--variant 是 1 到 999 的数"), lang);
    starter = variant_text(page, variant, lang) + starter;
  }
  if (place_new(files.mine, starter)) {
    remember_start(course, *lesson, starter);
    say(fmt::format(fmt::runtime(tr(lang, "Your exercise: {}\n", "你的练习：{}\n")), shown(course, files.mine)));
  } else {
    const std::string begun_with = read_state(course).get(lesson->id, "starter");
    try_update_state(course, [&](CourseState& state) { state.set("", "current", lesson->id); });
    say(fmt::format(fmt::runtime(tr(lang, "{} is there already and stays as it is.\n", "{} 已经存在，保持不变。\n")),
                    shown(course, files.mine)));
    if (!begun_with.empty() && begun_with != text_hash(starter)) {
      say(wrap_to_width(
              fmt::format(
                  fmt::runtime(tr(
                      lang, "The course's exercise has changed since you began: compare with lessons/{}/exercise.cpp.",
                      "你开始之后课程的练习有过改动：请与 lessons/{}/exercise.cpp 对照。")),
                  lesson->id),
              find_terminal(parsed.options).width) +
          "\n");
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
  const int variant = variant_of(read_file(files.mine));
  // The backup is a second name of the file before anything is replaced.
  fs::path backup;
  for (int i = 1;; ++i) {
    backup = files.mine.parent_path() / fmt::format("exercise.backup{}.cpp", i);
    if (::link(files.mine.c_str(), backup.c_str()) == 0) break;
    if (errno != EEXIST) throw FileError(fmt::format("cannot write {}: {}", backup.string(), std::strerror(errno)));
  }
  std::string starter = read_file(files.starter);
  if (variant > 0) starter = variant_text(files.starter.parent_path() / "variants.md", variant, lang) + starter;
  try {
    write_file(files.mine, starter);
  } catch (const FileError&) {
    ::unlink(backup.c_str());
    throw;
  }
  remember_start(course, *lesson, starter);
  try_update_state(course, [&](CourseState& state) {
    for (const char* key : {"checked", "verdict", "place"}) state.set(lesson->id, key, "");
  });
  say(wrap_to_width(fmt::format(fmt::runtime(tr(lang, "{} is as it was at the start; yours is kept: {}",
                                                "{} 已恢复为初始状态；你的文件保留在：{}")),
                                shown(course, files.mine), shown(course, backup)),
                    find_terminal(parsed.options).width) +
      "\n");
  return 0;
}

}  // namespace gradus
