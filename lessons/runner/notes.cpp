// ./gradus notes: which lesson and which command covers each item of a course note, from docs/notes-map.md.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "lessons/common/files.h"
#include "lessons/runner/commands.h"

namespace gradus {

namespace {

struct Item {
  std::string id, en, zh, lesson, command;
};

// The cells of "| a | b |".
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 1; at < line.size();) {
    const std::size_t end = std::min(line.find(" |", at), line.size());
    const std::size_t start = std::min(line.find_first_not_of(' ', at), end);
    cells.push_back(line.substr(start, end - start));
    at = end + 2;
  }
  return cells;
}

std::vector<Item> items_of(const std::string& page, const std::string& note) {
  std::vector<Item> items;
  const std::string beginning = "| N" + note + "-";
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t end = std::min(page.find('\n', at), page.size());
    const std::string line = page.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(beginning)) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() == 8) items.push_back({cells[0], cells[1], cells[2], cells[3], cells[7]});  // between: links
  }
  return items;
}

}  // namespace

int notes_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {.program = "./gradus notes",
                            .about_en = "Shows, item by item, which lesson and which command covers a course note.",
                            .about_zh = "逐条显示一份课程讲义由哪一课、哪个命令对应。",
                            .options = OptionSet::display,
                            .words = {{"NOTE", "0, 1 or 3", "0、1 或 3", true, false}},
                            .extras = {},
                            .stop_at_word = false,
                            .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  const Terminal terminal = find_terminal(parsed.options);
  const std::vector<Item> items = items_of(read_file(course.root / "docs" / "notes-map.md"), parsed.words[0]);
  if (items.empty()) {
    return misuse(spec.program,
                  fmt::format(fmt::runtime(tr(lang, "no note '{}'; there are 0, 1 and 3", "没有讲义 '{}'；有 0、1、3")),
                              printable(parsed.words[0])),
                  lang);
  }
  std::size_t here = 0;
  for (const Item& item : items) {
    const bool there =
        item.lesson == "-" || std::any_of(course.lessons.begin(), course.lessons.end(),
                                          [&](const CourseLesson& lesson) { return lesson.number() == item.lesson; });
    here += there;
    const std::string what = wrap_to_width(tr(lang, item.en, item.zh), 70);
    std::string left = pad_right(item.id, 8);
    for (std::size_t at = 0; at <= what.size();) {
      const std::size_t end = std::min(what.find('\n', at), what.size());
      say(left + what.substr(at, end - at) + "\n");
      left = std::string(8, ' ');
      at = end + 1;
    }
    const std::string how =
        there ? item.command
              : fmt::format(fmt::runtime(tr(lang, "coming with lesson {}", "随第 {} 课推出")), item.lesson);
    say("        " + paint(terminal, Colour::dim, how) + "\n");
  }
  say(fmt::format(fmt::runtime(tr(lang, "{} of {} items can be tried now\n", "{} / {} 条现在就可以试\n")), here,
                  items.size()));
  return 0;
}

}  // namespace gradus
