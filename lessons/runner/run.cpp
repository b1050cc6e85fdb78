// ./gradus run and ./gradus try: find the lesson, build it, hand over to its program.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/table.h"
#include "lessons/runner/build.h"
#include "lessons/runner/commands.h"
#include "lessons/runner/exercise.h"
#include "lessons/runner/state.h"
#include "nn/formats/json.h"

namespace gradus {

namespace {

constexpr std::string_view lesson_help_en = "number, name or the beginning of a name";
constexpr std::string_view lesson_help_zh = "编号、名字或名字的开头";

int build_and_become(const Course& course, const CourseLesson& lesson, const Options& options,
                     const std::vector<std::string>& arguments) {
  const int built = build_lesson(course.build, lesson.id, find_terminal(options), options.lang);
  if (built != 0) return built;
  return become(lesson_program(course.build, lesson.id), arguments, options.lang);
}

// How many targets were met, by what a lesson has written since then: "7 of 7"; "-" for a run that did not get that
// far.
std::string targets_met(const Options& options, const std::string& lesson_id, std::filesystem::file_time_type since) {
  Options beside = options;
  beside.beside = true;
  std::filesystem::path file;
  for (const Options& one : {options, beside}) {
    const std::filesystem::path found = output_directory(one, lesson_id) / "metrics.json";
    std::error_code error;
    const auto written = std::filesystem::last_write_time(found, error);
    if (!error && written >= since) file = found;
  }
  if (file.empty()) return "-";
  const Json metrics = parse_json(read_file(file));
  const Json::Array& targets = metrics.at("targets").as_array();
  const auto met = std::count_if(targets.begin(), targets.end(), [](const Json& t) { return t.at("met").as_bool(); });
  return fmt::format(fmt::runtime(tr(options.lang, "{} of {}", "{} / {}")), met, targets.size());
}

// Every lesson in turn; one that fails does not stop the others.
int run_all(const Course& course, const Options& options) {
  Table table(
      {std::string(tr(options.lang, "lesson", "课程")), std::string(tr(options.lang, "seconds", "秒")),
       std::string(tr(options.lang, "targets met", "达到的目标")), std::string(tr(options.lang, "result", "结果"))},
      {Align::left, Align::right, Align::right, Align::left});
  const Terminal terminal = find_terminal(options);
  int worst = 0;
  double all_seconds = 0;
  for (const CourseLesson& lesson : course.lessons) {
    const auto start = std::chrono::steady_clock::now();
    const auto file_start = std::filesystem::file_time_type::clock::now();
    int code = build_lesson(course.build, lesson.id, terminal, options.lang);
    if (code == 0) code = run_and_wait(lesson_program(course.build, lesson.id), to_arguments(options), options.lang);
    say("\n");
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    all_seconds += seconds;
    const std::string result = code == 0
                                   ? std::string(tr(options.lang, "done", "完成"))
                                   : fmt::format(fmt::runtime(tr(options.lang, "exit code {}", "退出码 {}")), code);
    table.add_row({lesson.id, fmt::format("{:.1f}", seconds), targets_met(options, lesson.id, file_start), result});
    if (code != 0) worst = code == 130 || code == 141 ? code : 1;
    if (interrupted() || code == 130 || code == 141) break;
  }
  table.add_row({std::string(tr(options.lang, "all", "合计")), fmt::format("{:.1f}", all_seconds), "", ""});
  say(table.text(terminal));
  return worst;
}

// The lesson's program with the taught parts from the learner's file.
int run_mine(const Course& course, const ParsedCommand& parsed) {
  const Lang lang = parsed.options.lang;
  const Terminal terminal = find_terminal(parsed.options);
  const CourseLesson* lesson = find_lesson(course, parsed.words[0], lang);
  if (lesson == nullptr) return 2;
  std::error_code ignored;
  if (!std::filesystem::exists(course.root / "lessons" / lesson->id / "mine_parts.cpp", ignored)) {
    return misuse(
        "./gradus run",
        fmt::format(fmt::runtime(tr(lang, "lesson {} has no part that can be yours", "第 {} 课没有可以换成你写的部分")),
                    lesson->number()),
        lang);
  }
  if (!std::filesystem::exists(exercise_files(course, *lesson).mine, ignored)) {
    return misuse("./gradus run",
                  fmt::format(fmt::runtime(tr(lang, "nothing is yours yet; first: ./gradus start {}",
                                              "还没有你写的部分；请先运行：./gradus start {}")),
                              lesson->number()),
                  lang);
  }
  int code = build_lesson(course.build, lesson->id, terminal, lang);
  if (code == 0) code = prepare_check(course, *lesson, terminal, lang);
  if (code != 0) return code;
  std::filesystem::path program;
  const CheckReport report = build_mine(course, *lesson, exercise_files(course, *lesson).mine, lang, program);
  if (!report.nothing.empty()) return misuse("./gradus run", report.nothing, lang);
  if (report.first) {
    say(report_text(*lesson, report, terminal, lang));
    return 1;
  }
  Options options = parsed.options;
  if (options.out == course.defaults.out) options.out /= "mine";
  // The last check may have been of another text.
  if (read_state(course).get(lesson->id, "passed_file") != text_hash(read_file(exercise_files(course, *lesson).mine))) {
    say(fmt::format(fmt::runtime(tr(lang, "Your exercise has not passed its check; see ./gradus check {}\n",
                                    "你的练习还没有通过检查；见 ./gradus check {}\n")),
                    lesson->number()));
  }
  return become(program, to_arguments(options), lang);
}

}  // namespace

int run_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {
      .program = "./gradus run",
      .about_en = "Builds a lesson, trains its model, shows what it learned and writes it under out/.",
      .about_zh = "编译一课，训练模型，展示结果，并写入 out/。",
      .options = OptionSet::training,
      .words = {{"LESSON", fmt::format("{}; all: one after the other", lesson_help_en),
                 fmt::format("{}；all：依次运行全部课程", lesson_help_zh), true, false}},
      .extras = {{"--mine", "", "with what you wrote in work/LESSON/exercise.cpp; results go to out/mine/",
                  "用你在 work/LESSON/exercise.cpp 里写的部分；结果写入 out/mine/"}},
      .stop_at_word = false,
      .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  if (parsed.extras.contains("--mine")) return run_mine(course, parsed);
  if (parsed.words[0] == "all") return run_all(course, parsed.options);
  const CourseLesson* lesson = find_lesson(course, parsed.words[0], parsed.options.lang);
  if (lesson == nullptr) return 2;
  return build_and_become(course, *lesson, parsed.options, to_arguments(parsed.options));
}

int try_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {
      .program = "./gradus try",
      .about_en =
          "Asks the model that ./gradus run has trained. Several words of input count as one, with spaces between.",
      .about_zh = "询问 ./gradus run 训练好的模型。多个输入词用空格连成一个。",
      .options = OptionSet::asking,
      .words = {{"LESSON", std::string(lesson_help_en), std::string(lesson_help_zh), true, false},
                {"INPUT", "what the model gets; its lesson says what it understands",
                 "给模型的输入；该课的说明里有格式", true, true}},
      .extras = {},
      .stop_at_word = false,
      .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const CourseLesson* lesson = find_lesson(course, parsed.words[0], parsed.options.lang);
  if (lesson == nullptr) return 2;
  std::string input;
  for (std::size_t i = 1; i < parsed.words.size(); ++i) input += (i > 1 ? " " : "") + parsed.words[i];
  std::vector<std::string> forwarded = {"--try", input};
  for (const std::string& argument : to_arguments(parsed.options)) forwarded.push_back(argument);
  return build_and_become(course, *lesson, parsed.options, forwarded);
}

int quiz_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {
      .program = "./gradus quiz",
      .about_en =
          "Trains decoders without a label, shows what depends on what in them, and lets you guess what each "
          "really does. Reads answers from the terminal, or one a line from a pipe; q ends it. Lesson 11.",
      .about_zh =
          "训练没有标签的解码器，展示其中谁依赖谁，让你猜每个实际上做了什么。答案从终端读取，或从管道每行一个；q "
          "结束。见第 11 课。",
      .options = OptionSet::asking,
      .words = {},
      .extras = {},
      .stop_at_word = false,
      .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const CourseLesson* lesson = find_lesson(course, "conventions", parsed.options.lang);
  if (lesson == nullptr) return 2;
  std::vector<std::string> forwarded = {"--try", "quiz"};
  for (const std::string& argument : to_arguments(parsed.options)) forwarded.push_back(argument);
  return build_and_become(course, *lesson, parsed.options, forwarded);
}

}  // namespace gradus
