// The frame around a lesson: options, output directory, one run per seed, errors as one line.
#include "lessons/common/lesson.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include <vector>

#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/kept.h"
#include "lessons/common/metrics.h"
#include "lessons/common/terminal.h"
#include "lessons/common/typed.h"
#include "tensor/doctor/doctor.h"

namespace gradus {

namespace {

constexpr int interrupted_code = 130;

// "09" of "09_bahdanau"
std::string lesson_number(const Lesson& lesson) { return lesson.id.substr(0, lesson.id.find('_')); }

CommandSpec command_spec(const Lesson& lesson, const std::string& program) {
  CommandSpec spec;
  spec.program = program;
  spec.about_en = fmt::format("Lesson {}: {}.", lesson_number(lesson), lesson.title_en);
  spec.about_zh = fmt::format("第 {} 课：{}。", lesson_number(lesson), lesson.title_zh);
  spec.options = OptionSet::training;
  if (lesson.ask) {
    spec.extras.push_back(
        {"--try", "INPUT", "ask the trained model instead of training it", "不训练，而是询问已训练的模型"});
  }
  return spec;
}

std::string first_line(const Lesson& lesson, const Options& options) {
  const std::string title = fmt::format(fmt::runtime(tr(options.lang, "Lesson {}: {}", "第 {} 课：{}")),
                                        lesson_number(lesson), tr(options.lang, lesson.title_en, lesson.title_zh));
  const std::string settings = fmt::format(fmt::runtime(tr(options.lang, "seed {}, threads {}", "种子 {}，线程 {}")),
                                           options.seed, thread_count(options));
  const Terminal terminal = find_terminal(options);
  const bool one_line = display_width(title) + display_width(settings) + 3 <= std::min(terminal.width, 80);
  return paint(terminal, Colour::bold, wrap_to_width(title, terminal.width)) + (one_line ? "   " : "\n") + settings +
         "\n";
}

// A finished run of the lesson keeps its place until one that goes as far is finished too.
int run_once(const Lesson& lesson, Options options) {
  const std::filesystem::path directory = output_directory(options, lesson.id);
  make_writable_directory(directory);
  const std::optional<Json> before = finished_run(directory);
  options.beside = before.has_value();
  if (options.beside) prepare_beside(directory, options.resume);
  say(first_line(lesson, options));
  const int code = lesson.run(options);
  std::error_code ignored;
  if (options.beside && std::filesystem::exists(output_directory(options, lesson.id), ignored)) {
    const std::string_view asked =
        lesson.ask ? tr(options.lang, ", and is the one that ./gradus try asks", "，./gradus try 问的是它") : "";
    const std::string line = fmt::format(
        fmt::runtime(tr(options.lang, "The finished run of {} steps stays in {}{}; this one is in {}",
                        "已完成的训练（{} 步）仍在 {}{}；这一次的结果在 {}")),
        before->at("steps").as_integer(), directory.string(), asked, output_directory(options, lesson.id).string());
    say(wrap_to_width(line, std::min(find_terminal(options).width, 80)) + "\n");
  }
  return interrupted() ? interrupted_code : code;
}

// One run after the other, then the targets over all of them.
int run_seeds(const Lesson& lesson, const Options& options) {
  std::vector<Json> runs;
  int worst = 0;
  for (const std::uint64_t seed : options.seeds) {
    Options one = options;
    one.seed = seed;
    one.seeds.clear();
    one.one_of_several = true;
    const int code = run_once(lesson, one);
    say("\n");
    worst = std::max(worst, code);
    if (code == interrupted_code) break;
    std::filesystem::path file = output_directory(one, lesson.id) / "metrics.json";
    const std::filesystem::path beside = output_directory(one, lesson.id) / beside_a_finished_run / "metrics.json";
    std::error_code ignored;
    if (std::filesystem::exists(beside, ignored)) file = beside;
    if (std::filesystem::exists(file, ignored)) runs.push_back(parse_json(read_file(file)));
  }
  if (runs.empty()) return worst;
  const std::string heading =
      fmt::format(fmt::runtime(tr(options.lang, "{} of {} runs finished\n", "{} / {} 次训练已完成\n")), runs.size(),
                  options.seeds.size());
  const Json combined = combine_runs(runs);
  std::filesystem::path directory = output_directory(options, lesson.id);
  const std::optional<Json> before = finished_run(directory);
  if (before && (combined.at("interrupted").as_bool() || is_shorter(combined, *before))) {
    directory /= beside_a_finished_run;
    make_writable_directory(directory);
  }
  const Terminal terminal = find_terminal(options);
  say(heading + seeds_table(runs, terminal, options.lang));
  for (const SeedsTable& table : across_seeds(runs, terminal)) say("\n" + table.text.in(options.lang));
  for (const SeedsTable& table : across_seeds(runs, {})) {
    write_file(directory / (table.name + "_seeds.txt"), table.text.en);
    write_file(directory / (table.name + "_seeds.zh.txt"), table.text.zh);
  }
  write_file(directory / "metrics.json", to_text(combined) + "\n");
  return worst;
}

int run_parsed(const Lesson& lesson, const ParsedCommand& parsed) {
  if (const auto input = parsed.extras.find("--try"); input != parsed.extras.end()) {
    const int code = lesson.ask(parsed.options, input->second);
    return interrupted() ? interrupted_code : code;
  }
  return parsed.options.seeds.empty() ? run_once(lesson, parsed.options) : run_seeds(lesson, parsed.options);
}

}  // namespace

int lesson_main(const Lesson& lesson, int argc, char** argv) {
  prepare_process();
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const ParsedCommand parsed = parse_command(command_spec(lesson, lesson.id), arguments);
  if (parsed.exit_code) {
    if (*parsed.exit_code == 0) {
      say(parsed.text);
    } else {
      complain(parsed.text);
    }
    return *parsed.exit_code;
  }
  if (parsed.options.no_curriculum && !lesson.has_curriculum) {
    complain(fmt::format(fmt::runtime(tr(parsed.options.lang,
                                         "{0}: --no-curriculum: there is no curriculum to leave out; see {0} --help\n",
                                         "{0}：--no-curriculum：本课没有可以去掉的课程学习；见 {0} --help\n")),
                         lesson.id));
    return 2;
  }
  // Training may have left a line half drawn; an answer has not.
  const char* apart = parsed.extras.contains("--try") ? "" : "\n";
  int code = 1;
  try {
    code = run_parsed(lesson, parsed);
  } catch (const std::bad_alloc&) {
    complain(tr(parsed.options.lang, "\nerror: out of memory; close other programs or try --quick\n",
                "\n错误：内存不足；请关闭其他程序或使用 --quick\n"));
  } catch (const InputError& error) {
    complain(fmt::format("{}{}{}\n", apart, tr(parsed.options.lang, "error: ", "错误："),
                         error.words.in(parsed.options.lang)));
  } catch (const std::exception& error) {
    complain(fmt::format("{}{}{}\n", apart, tr(parsed.options.lang, "error: ", "错误："),
                         explain(error, parsed.options.lang)));
  }
  if (!flush_stdout() && code == 0) {
    complain(tr(parsed.options.lang, "error: part of the output could not be written (is the disk full?)\n",
                "错误：部分输出未能写出（磁盘已满？）\n"));
    return 1;
  }
  return code;
}

int not_trained_yet(const Options& options, const Lesson& lesson) {
  complain(fmt::format(fmt::runtime(tr(options.lang, "no trained model in {0}; train it first: ./gradus run {1}\n",
                                       "{0} 里还没有训练好的模型；请先训练：./gradus run {1}\n")),
                       output_directory(options, lesson.id).string(), lesson_number(lesson)));
  return 1;
}

}  // namespace gradus
