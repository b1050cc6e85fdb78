// ./gradus list: the lessons, how far you are, and what each has you write.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "lessons/common/table.h"
#include "lessons/runner/commands.h"
#include "lessons/runner/exercise.h"
#include "lessons/runner/state.h"

namespace gradus {

namespace {

std::string exercise_state(const Course& course, const CourseLesson& lesson, const CourseState& state, Lang lang) {
  if (!has_exercise(course, lesson)) return "";
  const std::string is = state.get(lesson.id, "state");
  if (is == "passed")
    return fmt::format(fmt::runtime(tr(lang, "passed {}", "已通过 {}")), state.get(lesson.id, "passed_on"));
  return std::string(is.empty() ? tr(lang, "not started", "未开始") : tr(lang, "in progress", "进行中"));
}

// Wrapped, the second line and those after it below the words and not below the lesson's number.
std::string hanging(const std::string& line, int width) {
  std::string text = wrap_to_width(line, width - 4);
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1))
    text.insert(end + 1, "    ");
  return text;
}

}  // namespace

std::string lesson_table(const Course& course, const Options& options) {
  const Lang lang = options.lang;
  Table table({std::string(tr(lang, "lesson", "课程")), std::string(tr(lang, "about", "内容")),
               std::string(tr(lang, "minutes", "分钟")), std::string(tr(lang, "exercise", "练习")),
               std::string(tr(lang, "run", "已运行"))},
              {Align::left, Align::left, Align::right, Align::left, Align::left});
  const CourseState state = read_state(course);
  for (const CourseLesson& lesson : course.lessons) {
    std::error_code ignored;
    const bool was_run = std::filesystem::exists(output_directory(options, lesson.id) / "metrics.json", ignored);
    table.add_row({lesson.number() + " " + lesson.slug(), std::string(tr(lang, lesson.title_en, lesson.title_zh)),
                   lesson.minutes ? fmt::format("{}", *lesson.minutes) : "",
                   exercise_state(course, lesson, state, lang), std::string(was_run ? tr(lang, "yes", "是") : "")});
  }
  return table.text(find_terminal(options));
}

int list_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {.program = "./gradus list",
                            .about_en = "Shows the lessons.",
                            .about_zh = "列出全部课程。",
                            .options = OptionSet::display,
                            .words = {},
                            .extras = {},
                            .stop_at_word = false,
                            .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  say(lesson_table(course, parsed.options));
  const Lang lang = parsed.options.lang;
  const Terminal terminal = find_terminal(parsed.options);
  say(fmt::format("\n{}\n", tr(lang, "What you write in each exercise:", "每个练习要写的函数：")));
  for (const CourseLesson& lesson : course.lessons) {
    if (!has_exercise(course, lesson)) continue;
    const std::string line = fmt::format("{}  {}", lesson.number(), fmt::join(hint_places(course, lesson), ", "));
    say(hanging(line, std::min(terminal.width, 80)) + "\n");
  }
  return 0;
}

}  // namespace gradus
