// The table of commands, and what they share.
#include "lessons/runner/commands.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "lessons/common/interrupt.h"
#include "lessons/common/near.h"

namespace gradus {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string shown(std::string_view word) { return "'" + cut_to_width(printable(word), 40) + "'"; }

// On a terminal in lines of its width, broken between words; elsewhere a message stays one line.
std::string fitted(std::string text) {
  struct winsize size {};
  if (::isatty(STDERR_FILENO) != 1) return text;
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20;
  while (text.ends_with('\n')) text.pop_back();
  return wrap_to_width(text, known ? size.ws_col : 80) + "\n";
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"run", "LESSON", "train a lesson and show what it learned (all: every lesson)",
       "训练一课并展示结果（all：全部课程）", run_command},
      {"try", "LESSON INPUT", "ask the model that a lesson has trained", "询问某一课训练好的模型", try_command},
      {"quiz", "", "decoders without a label: guess from pictures what they do", "没有标签的解码器：看图猜它做了什么",
       quiz_command},
      {"list", "", "the lessons", "课程列表", list_command},
      {"start", "LESSON", "get a lesson's exercise to work on", "开始一课的练习", start_command},
      {"check", "[LESSON]", "what is right in your exercise, and what to mend first", "检查练习：哪些已对，先改哪里",
       check_command},
      {"watch", "[LESSON]", "check it whenever you save", "每次保存自动检查", watch_command},
      {"hint", "[LESSON]", "a hint; each call tells more", "给提示，每次多说一点", hint_command},
      {"solution", "[LESSON]", "how the course writes it, once yours has passed", "通过之后看课程的写法",
       solution_command},
      {"reset", "LESSON", "begin an exercise afresh; yours is kept as a backup", "重新开始练习，旧文件留作备份",
       reset_command},
      {"byhand", "SCORE ...", "every step of a score, a softmax and a weighted sum", "逐步算出打分、softmax 和加权和",
       byhand_command},
      {"notes", "0|1|3", "a course note, item by item: which lesson, which command",
       "课程讲义逐条对照：哪一课、哪个命令", notes_command},
      {"diagnose", "FILE", "name what a model dumped elsewhere does unlike its paper",
       "指出别处导出的模型与论文不符之处", diagnose_command},
      {"grade", "DIR", "check a directory of submissions, for teachers", "检查一个目录的提交，供教师使用",
       grade_command},
      {"help", "[COMMAND]", "this text, or that of a command", "显示本说明或某个命令的说明", help_command},
      {"doctor", "", "what this machine has and lacks, and how to repair it", "检查本机缺什么、怎样修复", nullptr},
      {"test", "", "build and run all tests", "编译并运行全部测试", nullptr},
      {"bench", "[CASE...]", "time the engine; --against torch: next to PyTorch",
       "测量引擎的速度；--against torch：与 PyTorch 对比", nullptr},
      {"format", "", "lay out the source files as .clang-format says", "按 .clang-format 排版源文件", nullptr},
      {"lint", "", "look for mistakes with clang-tidy", "用 clang-tidy 检查源文件", nullptr},
  };
  return table;
}

std::string course_help(Lang lang) {
  std::string out(tr(lang, "usage: ./gradus COMMAND [options]\n", "用法：./gradus 命令 [选项]\n"));
  out += tr(lang, "Build attention step by step, from tensors to a transformer.\n\ncommands:\n",
            "从张量到 Transformer，一步一步搭建注意力机制。\n\n命令：\n");
  for (const Command& command : commands()) {
    const std::string left = fmt::format("  {} {}", command.name, command.usage);
    out += pad_right(left, 21) + " " + std::string(tr(lang, command.summary_en, command.summary_zh)) + "\n";
  }
  out += tr(lang,
            "\nLESSON is a number, a name or the beginning of a name: 09, 9, bahdanau, bah\n"
            "\noptions:\n"
            "  --lang en|zh         language of what is printed; remembered\n"
            "  --plain              no colour, no moving line, plain characters\n"
            "  --version            the version of Gradus\n"
            "  -h, --help           this text; after a command, that of the command\n",
            "\nLESSON 是编号、名字或名字的开头：09、9、bahdanau、bah\n"
            "\n选项：\n"
            "  --lang en|zh         输出的语言；会记住\n"
            "  --plain              不用颜色和动态行，只用普通字符\n"
            "  --version            Gradus 的版本\n"
            "  -h, --help           显示本说明；写在命令后面则显示该命令的说明\n");
  return out;
}

int leave(const ParsedCommand& parsed) {
  const int code = parsed.exit_code.value_or(0);
  code == 0 ? say(parsed.text) : complain(fitted(parsed.text));
  return code;
}

int program_main(int argc, char** argv, int (*run)(const std::vector<std::string>& arguments)) {
  prepare_process();
  try {
    const int code = run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
    if (code == 0 && !flush_stdout()) throw std::runtime_error("the output could not be written; is the disk full?");
    return code;
  } catch (const std::exception& error) {
    misuse("./gradus", error.what(), environment_lang());
    return 1;
  }
}

int misuse(std::string_view program, std::string_view what, Lang lang) {
  ParsedCommand parsed;
  parsed.exit_code = 2;
  parsed.text = fmt::format(fmt::runtime(tr(lang, "{}: {}\n", "{}：{}\n")), program, what);
  return leave(parsed);
}

const CourseLesson* find_lesson(const Course& course, std::string_view word, Lang lang) {
  std::vector<std::string> ids;
  for (const CourseLesson& lesson : course.lessons) ids.push_back(lesson.id);
  const Resolution found = resolve_lesson(ids, word);
  if (found.ids.size() == 1) {
    return &*std::find_if(course.lessons.begin(), course.lessons.end(),
                          [&](const CourseLesson& lesson) { return lesson.id == found.ids.front(); });
  }
  std::string what;
  if (!found.ids.empty()) {
    what = fmt::format(fmt::runtime(tr(lang, "{} may be {}; write more of the name", "{} 可能是 {}；请多写几个字母")),
                       shown(word), joined(found.ids));
  } else if (const auto coming = find_coming(course.root, word)) {
    std::vector<std::string> ready;
    for (const CourseLesson& lesson : course.lessons) ready.push_back(lesson.number());
    what = fmt::format(fmt::runtime(tr(lang, "lesson {} ({}) is not written yet; ready are {}",
                                       "第 {} 课（{}）还没有写好；已有的是 {}")),
                       coming->number, coming->name, joined(ready));
  } else if (!found.near.empty()) {
    what = fmt::format(fmt::runtime(tr(lang, "no lesson {}; did you mean {}?", "没有课程 {}；是不是 {}？")),
                       shown(word), joined(found.near));
  } else {
    what = fmt::format(fmt::runtime(tr(lang, "no lesson {}; ./gradus list shows those that are here",
                                       "没有课程 {}；./gradus list 列出已有的课程")),
                       shown(word));
  }
  misuse("./gradus", what, lang);
  return nullptr;
}

int help_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {.program = "./gradus help",
                            .about_en = "Explains how to use the course, or one command of it.",
                            .about_zh = "说明如何使用本课程或其中一个命令。",
                            .options = OptionSet::display,
                            .words = {{"COMMAND", "one of the commands", "某个命令", false, false}},
                            .extras = {},
                            .stop_at_word = false,
                            .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  if (parsed.words.empty()) {
    say(course_help(lang));
    return 0;
  }
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == parsed.words[0] && command.run != nullptr) {
      Course with_options = course;
      with_options.defaults = parsed.options;
      return command.run(with_options, {"--help"});
    }
    if (command.name == parsed.words[0]) {
      say(fmt::format("./gradus {}: {}\n", command.name, tr(lang, command.summary_en, command.summary_zh)));
      return 0;
    }
    names.emplace_back(command.name);
  }
  const std::vector<std::string> near = near_names(parsed.words[0], names);
  const std::string_view known =
      near.empty() ? tr(lang, "no command {}; ./gradus help shows them all", "没有命令 {}；./gradus help 列出全部命令")
                   : tr(lang, "no command {}; did you mean {}?", "没有命令 {}；是不是 {}？");
  return misuse("./gradus help", fmt::format(fmt::runtime(known), shown(parsed.words[0]), joined(near)), lang);
}

}  // namespace gradus
