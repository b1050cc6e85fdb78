// The course runner behind ./gradus: gradus-runner --root CHECKOUT --build DIRECTORY COMMAND ...
#include <fmt/format.h>

#include <system_error>

#include "lessons/common/near.h"
#include "lessons/runner/commands.h"
#include "lessons/runner/state.h"

namespace gradus {

namespace {

namespace fs = std::filesystem;

// A path that reads well from where the user is: "out" inside of the checkout's root, absolute elsewhere.
fs::path default_out(const fs::path& root) {
  std::error_code error;
  return fs::equivalent(root, fs::current_path(error), error) ? fs::path("out") : root / "out";
}

int unknown_command(const Course& course, const std::string& word, Lang lang) {
  std::vector<std::string> names, ids;
  for (const Command& command : commands()) names.emplace_back(command.name);
  for (const CourseLesson& lesson : course.lessons) ids.push_back(lesson.id);
  const std::string shown = "'" + cut_to_width(printable(word), 40) + "'";
  const std::vector<std::string> near = near_names(word, names);
  std::string what;
  if (!near.empty()) {
    what = fmt::format(fmt::runtime(tr(lang, "no command {}; did you mean {}?", "没有命令 {}；是不是 {}？")), shown,
                       near[0]);
  } else if (resolve_lesson(ids, word).ids.size() == 1) {
    what = fmt::format(
        fmt::runtime(tr(lang, "{} is a lesson; to train it: ./gradus run {}", "{} 是一课；训练它：./gradus run {}")),
        shown, printable(word));
  } else {
    what = fmt::format(fmt::runtime(tr(lang, "no command {}; ./gradus help shows them all",
                                       "没有命令 {}；./gradus help 列出全部命令")),
                       shown);
  }
  return misuse("./gradus", what, lang);
}

int runner_main(const std::vector<std::string>& arguments) {
  CommandSpec spec;
  spec.program = "./gradus";
  spec.stop_at_word = true;
  spec.extras = {{"--root", "DIR", "the checkout", "代码所在目录"},
                 {"--build", "DIR", "the build directory", "编译目录"},
                 {"--version", "", "the version", "版本"}};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code == 0) {
    const Lang lang = parsed.options.lang;
    say(course_help(lang));
    return 0;
  }
  if (parsed.exit_code) return leave(parsed);
  if (parsed.extras.contains("--version")) {
    say("gradus " GRADUS_VERSION "\n");
    return 0;
  }
  Course course;
  const auto extra = [&](const std::string& name, const fs::path& otherwise) {
    const auto found = parsed.extras.find(name);
    return found == parsed.extras.end() ? otherwise : fs::path(found->second);
  };
  course.root = extra("--root", ".");
  course.build = extra("--build", course.root / "build");
  course.defaults = parsed.options;
  course.defaults.out = default_out(course.root);
  course.lessons = find_lessons(course.root);
  mend_state(course);
  choose_language(course, arguments);
  const Lang lang = course.defaults.lang;

  if (parsed.words.empty()) {
    say(home(course, lang));
    return 0;
  }
  const std::vector<std::string> rest(parsed.words.begin() + 1, parsed.words.end());
  for (const Command& command : commands()) {
    if (command.name != parsed.words[0]) continue;
    if (command.run != nullptr) return command.run(course, rest);
    return misuse("gradus-runner",
                  fmt::format(fmt::runtime(tr(lang, "{0} is done by the script: {1}/gradus {0}",
                                              "{0} 由脚本完成：{1}/gradus {0}")),
                              command.name, course.root.string()),
                  lang);
  }
  return unknown_command(course, parsed.words[0], lang);
}

}  // namespace

}  // namespace gradus

int main(int argc, char** argv) { return gradus::program_main(argc, argv, gradus::runner_main); }
