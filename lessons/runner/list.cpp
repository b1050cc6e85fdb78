// ./gradus list: the lessons, what each is about, and whether it was run.
#include <fmt/format.h>

#include <system_error>

#include "lessons/common/table.h"
#include "lessons/runner/commands.h"

namespace gradus {

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
  const Lang lang = parsed.options.lang;
  Table table({std::string(tr(lang, "lesson", "课程")), std::string(tr(lang, "about", "内容")),
               std::string(tr(lang, "minutes", "分钟")), std::string(tr(lang, "run", "已运行"))},
              {Align::left, Align::left, Align::right, Align::left});
  for (const CourseLesson& lesson : course.lessons) {
    std::error_code ignored;
    const bool was_run = std::filesystem::exists(output_directory(parsed.options, lesson.id) / "metrics.json", ignored);
    table.add_row({lesson.number() + " " + lesson.slug(), std::string(tr(lang, lesson.title_en, lesson.title_zh)),
                   lesson.minutes ? fmt::format("{}", *lesson.minutes) : "",
                   std::string(was_run ? tr(lang, "yes", "是") : "")});
  }
  say(table.text(find_terminal(parsed.options)));
  return 0;
}

}  // namespace gradus
