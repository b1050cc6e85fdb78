// ./gradus alone: where you are, what is next, one line how. And the language, which is remembered.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "lessons/runner/exercise.h"
#include "lessons/runner/state.h"

namespace gradus {

namespace {

std::string line(Lang lang, std::string_view en, std::string_view zh, const std::string& text) {
  return pad_right(tr(lang, en, zh), 10) + text + "\n";
}

// What is known of an exercise that is not passed yet: the last verdict and its place.
std::string standing(const CourseState& state, const CourseLesson& lesson, Lang lang) {
  const std::string verdict = state.get(lesson.id, "verdict"), place = state.get(lesson.id, "place");
  if (verdict.empty() || verdict == "PASSED") return std::string(tr(lang, "not checked yet", "还没有检查过"));
  if (place.empty()) return verdict;
  return fmt::format(fmt::runtime(tr(lang, "{} in {}", "{}（{}）")), verdict, place);
}

}  // namespace

std::string home(const Course& course, Lang lang) {
  const CourseState state = read_state(course);
  const CourseLesson* current = nullptr;
  const CourseLesson* const next = next_exercise(course, state, state.get("", "current"));
  int exercises = 0, passed = 0;
  for (const CourseLesson& lesson : course.lessons) {
    if (!has_exercise(course, lesson)) continue;
    const bool done = state.get(lesson.id, "state") == "passed";
    ++exercises;
    passed += done;
    if (!done && state.get("", "current") == lesson.id) current = &lesson;
  }
  std::string out =
      fmt::format(fmt::runtime(tr(lang, "Gradus: {} of {} exercises passed\n", "Gradus：{} / {} 个练习已通过\n")),
                  passed, exercises);
  if (current != nullptr) {
    out += line(lang, "now", "现在",
                fmt::format(fmt::runtime(tr(lang, "lesson {}, {}: {}", "第 {} 课，{}：{}")), current->number(),
                            tr(lang, current->title_en, current->title_zh), standing(state, *current, lang)));
    out += line(lang, "next", "下一步",
                fmt::format(fmt::runtime(tr(lang, "./gradus watch {} checks work/{}/exercise.cpp at every save",
                                            "./gradus watch {} 在每次保存 work/{}/exercise.cpp 时检查")),
                            current->number(), current->id));
  } else if (next != nullptr) {
    out += line(lang, "next", "下一步",
                fmt::format(fmt::runtime(tr(lang, "./gradus start {0}, {1}; its note: lessons/{2}/README.md",
                                            "./gradus start {0}，{1}；讲义：lessons/{2}/README.zh.md")),
                            next->number(), tr(lang, next->title_en, next->title_zh), next->id));
  } else if (exercises > 0) {
    out += line(lang, "next", "下一步",
                std::string(tr(lang, "nothing is left: all exercises are passed", "全部练习都已通过")));
  }
  return out + line(lang, "more", "更多",
                    std::string(tr(lang, "./gradus list, ./gradus help", "./gradus list、./gradus help")));
}

void choose_language(Course& course, const std::vector<std::string>& arguments) {
  std::string said;
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i].starts_with("--lang=")) said = arguments[i].substr(7);
    if (arguments[i] == "--lang" && i + 1 < arguments.size()) said = arguments[i + 1];
  }
  const bool valid = said == "en" || said == "zh";
  const std::string known = read_state(course).get("", "lang");
  if (valid && said != known) {
    try {
      update_state(course, [&](CourseState& state) { state.set("", "lang", said); });
      const bool watched = isatty(STDERR_FILENO) == 1;  // a pipe gets what was asked for and nothing else
      if (watched && said == "zh") complain("（已记住：中文；--lang en 换回英文）\n");
      if (watched && said == "en" && !known.empty()) complain("(remembered: English; --lang zh changes it)\n");
    } catch (const std::exception&) {}  // a checkout that cannot be written: asked again next time
  }
  if (!valid && !known.empty() && std::getenv("GRADUS_LANG") == nullptr) {
    course.defaults.lang = known == "zh" ? Lang::zh : Lang::en;
  }
}

}  // namespace gradus
