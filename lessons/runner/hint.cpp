// ./gradus hint and ./gradus solution.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "lessons/common/files.h"
#include "lessons/common/near.h"
#include "lessons/runner/exercise.h"
#include "lessons/runner/state.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

constexpr int levels = 3;  // a nudge, the place in the note, nearly the answer

struct Hints {
  std::string place;  // the function that they are about
  std::vector<std::string> texts;
};

// Joins the lines of a paragraph; indented lines are code and stay lines.
void add_line(std::string& text, const std::string& line) {
  const bool code = line.starts_with("    ");
  if (line.empty() || code) {
    text += "\n" + line;
  } else {
    const bool goes_on = !text.empty() && text.back() != '\n';
    const bool chinese = goes_on && static_cast<unsigned char>(text.back()) >= 0x80;
    text += (goes_on && !chinese ? " " : "") + line;
  }
}

// A page that a hint names, as a path that exists from the checkout.
std::string with_paths(std::string text, const CourseLesson& lesson) {
  const std::string directory = "lessons/" + lesson.id + "/";
  for (std::size_t at = 0; (at = text.find("README.", at)) != text.npos; at += std::string_view("README.").size()) {
    if (at > 0 && text[at - 1] == '/') continue;
    text.insert(at, directory);
    at += directory.size();
  }
  return text;
}

// hints.md: "## additive_keys", then three numbered items; what follows an item belongs to it.
std::vector<Hints> read_hints(const fs::path& file) {
  std::vector<Hints> all;
  const std::string text = read_file(file);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("## ")) {
      all.push_back({line.substr(3), {}});
    } else if (!all.empty() && line.size() > 3 && line[0] >= '1' && line[0] <= '3' && line.substr(1, 2) == ". ") {
      all.back().texts.push_back(line.substr(3));
    } else if (!all.empty() && !all.back().texts.empty()) {
      add_line(all.back().texts.back(), line.starts_with("   ") ? line.substr(3) : line);
    }
  }
  for (Hints& hints : all) {
    for (std::string& hint : hints.texts) {
      while (hint.ends_with("\n")) hint.pop_back();
    }
  }
  return all;
}

// "decoder_step 2, additive_keys 1"
std::map<std::string, int> shown_levels(const std::string& text) {
  std::map<std::string, int> shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.size());
    const std::string item = text.substr(at, end - at);
    at = end + 2;
    const std::size_t blank = item.find(' ');
    if (blank != item.npos)
      std::from_chars(item.data() + blank + 1, item.data() + item.size(), shown[item.substr(0, blank)]);
  }
  return shown;
}

std::string to_text(const std::map<std::string, int>& shown) {
  std::string out;
  for (const auto& [place, level] : shown) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", place, level);
  return out;
}

}  // namespace

int hint_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {
      .program = "./gradus hint",
      .about_en =
          "A hint for the place that the last check found: a nudge first, then the place in the note, then nearly the "
          "answer. Each call shows one more; those shown stay.",
      .about_zh =
          "为上次检查指出的地方给提示：先点拨一下，再指出讲义中的位置，最后几乎给出答案。每次多显示一条，已显示的不会消"
          "失。",
      .options = OptionSet::display,
      .words = {{"LESSON", "number or name; without it the current one", "编号或名字；省略则为当前这一课", false,
                 false},
                {"PLACE", "the function that you are writing", "正在写的函数", false, false}},
      .extras = {{"--all", "", "all three at once", "一次显示全部三条"}},
      .stop_at_word = false,
      .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  const CourseLesson* lesson = current_lesson(course, parsed.words, lang);
  if (lesson == nullptr) return 2;
  if (!has_exercise(course, *lesson)) return no_exercise(course, *lesson, lang);
  const std::string wanted = parsed.words.size() > 1 ? parsed.words[1] : "";
  const std::vector<std::string> places = hint_places(course, *lesson);
  if (!wanted.empty() && std::find(places.begin(), places.end(), wanted) == places.end()) {
    const std::vector<std::string> near = near_names(wanted, places);
    std::string known;
    for (const std::string& place : places) known += (known.empty() ? "" : ", ") + place;
    return misuse(
        spec.program,
        fmt::format(
            fmt::runtime(near.empty()
                             ? tr(lang, "no hints for '{}'; there are hints for {}", "没有 '{}' 的提示；有提示的是 {}")
                             : tr(lang, "no hints for '{}'; did you mean {}?", "没有 '{}' 的提示；是想写 {} 吗？")),
            printable(wanted), near.empty() ? known : near[0]),
        lang);
  }
  say(next_hint(course, *lesson, wanted, parsed.extras.contains("--all"), lang));
  return 0;
}

std::vector<std::string> hint_places(const Course& course, const CourseLesson& lesson) {
  std::vector<std::string> places;
  for (const Hints& hints : read_hints(course.root / "lessons" / lesson.id / "hints.md")) places.push_back(hints.place);
  return places;
}

std::string next_hint(const Course& course, const CourseLesson& lesson, const std::string& wanted, bool all,
                      Lang lang) {
  const fs::path directory = course.root / "lessons" / lesson.id;
  const std::vector<Hints> hints = read_hints(directory / tr(lang, "hints.md", "hints.zh.md"));
  const CourseState before = read_state(course);
  const auto place_called = [&](const std::string& name) {
    return std::find_if(hints.begin(), hints.end(), [&](const Hints& h) { return h.place == name; });
  };
  const std::string verdict = before.get(lesson.id, "verdict"), seen = before.get(lesson.id, "place");
  if (wanted.empty() && seen.empty() && !verdict.empty() && verdict != "PASSED") {
    std::string out = fmt::format(fmt::runtime(tr(lang, "{} names no function: say which one you are writing\n",
                                                  "{} 没有指明函数：请说明你在写哪一个\n")),
                                  verdict);
    for (const Hints& h : hints) out += fmt::format("  ./gradus hint {} {}\n", lesson.number(), h.place);
    return out;
  }
  auto found = place_called(wanted.empty() ? seen : wanted);
  if (found == hints.end()) found = hints.begin();
  if (found == hints.end()) return std::string(tr(lang, "no hints here\n", "这里没有提示\n"));
  int level = 1;
  try_update_state(course, [&](CourseState& state) {
    std::map<std::string, int> shown = shown_levels(state.get(lesson.id, "hints"));
    int& last = shown[found->place];
    last = all ? levels : std::min(last + 1, levels);
    level = last;
    state.set(lesson.id, "hints", to_text(shown));
  });
  std::string out =
      fmt::format(fmt::runtime(tr(lang, "{}, hints {} of {}\n", "{}，提示 {} / {}\n")), found->place, level, levels);
  for (int i = 0; i < level && i < static_cast<int>(found->texts.size()); ++i) {
    const std::string text = with_paths(found->texts[static_cast<std::size_t>(i)], lesson);
    out += wrap_to_width(fmt::format("\n{}. {}\n", i + 1, text), 80);
  }
  if (level == levels) {
    const bool passed = before.get(lesson.id, "state") == "passed";
    out += fmt::format(fmt::runtime(tr(lang, "\nnext: ./gradus solution {}{}\n", "\n接下来：./gradus solution {}{}\n")),
                       lesson.number(), passed ? "" : " --i-give-up");
  }
  if (hints.size() > 1) out += tr(lang, "\nalso for\n", "\n其他位置的提示\n");
  for (const Hints& h : hints) {
    if (h.place != found->place) out += fmt::format("  ./gradus hint {} {}\n", lesson.number(), h.place);
  }
  return out;
}

int solution_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {.program = "./gradus solution",
                            .about_en = "Shows how the course writes it, once yours has passed.",
                            .about_zh = "在你的练习通过之后，显示课程的写法。",
                            .options = OptionSet::display,
                            .words = {{"LESSON", "number or name; without it the current one",
                                       "编号或名字；省略则为当前这一课", false, false}},
                            .extras = {{"--i-give-up", "", "show it before mine has passed", "还没通过也要看"}},
                            .stop_at_word = false,
                            .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  const CourseLesson* lesson = current_lesson(course, parsed.words, lang);
  if (lesson == nullptr) return 2;
  if (!has_exercise(course, *lesson)) return no_exercise(course, *lesson, lang);
  const bool passed = read_state(course).get(lesson->id, "state") == "passed";
  if (!passed && !parsed.extras.contains("--i-give-up")) {
    misuse(
        "./gradus solution",
        fmt::format(
            fmt::runtime(tr(
                lang,
                "yours has not passed yet; ./gradus hint {0} helps, and ./gradus solution {0} --i-give-up shows it",
                "你的练习还没有通过；可以看提示 ./gradus hint {0}，或用 ./gradus solution {0} --i-give-up 直接看答案")),
            lesson->number()),
        lang);
    return 1;
  }
  if (!passed) try_update_state(course, [&](CourseState& state) { state.set(lesson->id, "solution_seen", today()); });
  say(read_file(exercise_files(course, *lesson).solution));
  return 0;
}

}  // namespace gradus
