// ./gradus check: what is right in an exercise, and the first thing to mend.
#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "lessons/common/files.h"
#include "lessons/runner/exercise.h"
#include "lessons/runner/state.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

// The function that hints are wanted for. A check names it; what breaks off or does not compile names a line, and the
// function is the last one that begins above it; what the linker misses is a function itself.
std::string place_of(const CheckReport& report, const std::string& source, const std::vector<std::string>& places) {
  const check::Failure& first = *report.first;
  if (!first.place.empty()) return first.place;
  std::string place;
  for (const std::string& name : places) {
    if (first.code == "MISSING_FUNCTION" && first.got.en.starts_with(name)) place = name;
  }
  const std::size_t colon = report.where.rfind(':');
  int line = 0;
  if (colon != report.where.npos) {
    std::from_chars(report.where.data() + colon + 1, report.where.data() + report.where.size(), line);
  }
  for (std::size_t at = 0; at < source.size() && line > 0; --line) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string text = source.substr(at, end - at);
    at = end + 1;
    if (text.empty() || text[0] == ' ' || text[0] == '/' || text[0] == '}') continue;  // no function begins here
    for (const std::string& name : places) {
      if (text.find(" " + name + "(") != text.npos) place = name;
    }
  }
  return place;
}

// What to do now, below a report.
std::string next_step(const Course& course, const CourseLesson& lesson, const CheckReport& report, Lang lang) {
  const std::string number = lesson.number();
  if (!report.passed)
    return fmt::format(fmt::runtime(tr(lang, "  hint      ./gradus hint {}\n", "  提示      ./gradus hint {}\n")),
                       number);
  std::string out = fmt::format(
      fmt::runtime(tr(lang, "  ours      ./gradus solution {}\n", "  参考答案  ./gradus solution {}\n")), number);
  std::error_code ignored;
  if (fs::exists(course.root / "lessons" / lesson.id / "mine_parts.cpp", ignored)) {
    out += fmt::format(
        fmt::runtime(tr(lang, "  train     ./gradus run {} --mine\n", "  训练      ./gradus run {} --mine\n")), number);
  }
  if (const CourseLesson* next = next_exercise(course, read_state(course), lesson.id)) {
    out += fmt::format(fmt::runtime(tr(lang, "  next      ./gradus start {}\n", "  下一课    ./gradus start {}\n")),
                       next->number());
  }
  return out;
}

}  // namespace

const CourseLesson* current_lesson(const Course& course, const std::vector<std::string>& words, Lang lang) {
  if (!words.empty()) return find_lesson(course, words[0], lang);
  const std::string id = read_state(course).get("", "current");
  for (const CourseLesson& lesson : course.lessons) {
    if (lesson.id == id) return &lesson;
  }
  misuse("./gradus", tr(lang, "which lesson? For example: ./gradus start 09", "哪一课？例如：./gradus start 09"), lang);
  return nullptr;
}

const CourseLesson* next_exercise(const Course& course, const CourseState& state, const std::string& after) {
  const CourseLesson* first = nullptr;
  for (const CourseLesson& lesson : course.lessons) {
    if (lesson.id == after || !has_exercise(course, lesson) || state.get(lesson.id, "state") == "passed") continue;
    if (lesson.id > after) return &lesson;
    if (first == nullptr) first = &lesson;
  }
  return first;
}

fs::path passed_copy(const Course& course, const CourseLesson& lesson) {
  return exercise_files(course, lesson).mine.parent_path() / "exercise.passed.cpp";
}

void remember_check(const Course& course, const CourseLesson& lesson, const CheckReport& report) {
  if (!report.nothing.empty()) return;
  try_update_state(course, [&](CourseState& state) {
    const std::string hash = text_hash(report.source);
    state.set("", "current", lesson.id);
    state.set(lesson.id, "checked", hash);
    state.set(lesson.id, "verdict", report.passed ? "PASSED" : report.first->code);
    state.set(lesson.id, "place", report.passed ? "" : place_of(report, report.source, hint_places(course, lesson)));
    if (report.passed) {
      if (state.get(lesson.id, "state") != "passed") state.set(lesson.id, "passed_on", today());
      state.set(lesson.id, "state", "passed");
      state.set(lesson.id, "passed_file", hash);
      write_file(passed_copy(course, lesson), report.source);
    } else if (state.get(lesson.id, "state").empty()) {
      state.set(lesson.id, "state", "in progress");
    }
  });
}

std::string full_report(const Course& course, const CourseLesson& lesson, const CheckReport& report,
                        const Terminal& terminal, Lang lang) {
  return report_text(lesson, report, terminal, lang) + next_step(course, lesson, report, lang);
}

int check_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {
      .program = "./gradus check",
      .about_en =
          "Compiles your exercise and says what is right and what to mend first. Exit code: 0 passed, 1 not yet, "
          "2 nothing to check.",
      .about_zh = "编译你的练习，指出哪些已经正确、先改哪一处。退出码：0 通过，1 还没有通过，2 没有可检查的内容。",
      .options = OptionSet::display,
      .words = {{"LESSON", "number or name; without it the one that you checked last",
                 "编号或名字；省略则为上次检查的那一课", false, false}},
      .extras = {{"--file", "FILE", "check this file instead of work/LESSON/exercise.cpp",
                  "检查这个文件，而不是 work/LESSON/exercise.cpp"},
                 {"--solution", "", "check the solution of the course", "检查课程自带的参考答案"},
                 {"--sanitize", "", "also look for memory errors (slower)", "同时查找内存错误（较慢）"},
                 {"--json", "", "run all parts and print the results as JSON", "运行全部检查并以 JSON 输出"}},
      .stop_at_word = false,
      .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  const Terminal terminal = find_terminal(parsed.options);
  const CourseLesson* lesson = current_lesson(course, parsed.words, lang);
  if (lesson == nullptr) return 2;
  if (!has_exercise(course, *lesson)) return no_exercise(course, *lesson, lang);
  const ExerciseFiles files = exercise_files(course, *lesson);
  const auto named = parsed.extras.find("--file");
  const bool own = named == parsed.extras.end() && !parsed.extras.contains("--solution");
  const fs::path file = own ? files.mine : named != parsed.extras.end() ? fs::path(named->second) : files.solution;
  std::error_code ignored;
  if (own && !fs::exists(file, ignored)) {
    return misuse("./gradus check",
                  fmt::format(fmt::runtime(tr(lang, "nothing to check yet; first: ./gradus start {}",
                                              "还没有可检查的文件；请先运行：./gradus start {}")),
                              lesson->number()),
                  lang);
  }
  const auto began = std::chrono::steady_clock::now();
  if (const int code = prepare_check(course, *lesson, terminal, lang); code != 0) return code;
  const double build_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  ExerciseOptions options;
  options.all_parts = parsed.extras.contains("--json");
  options.sanitize = parsed.extras.contains("--sanitize");
  CheckReport report = check_file(course, *lesson, file, options, lang);
  report.build_seconds = build_seconds;
  if (own) remember_check(course, *lesson, report);
  if (options.all_parts) {
    say(to_text(report_json(*lesson, file, report)) + "\n");
  } else if (!report.nothing.empty()) {
    misuse("./gradus check", report.nothing, lang);
  } else {
    say(full_report(course, *lesson, report, terminal, lang));
  }
  return report.exit_code();
}

}  // namespace gradus
