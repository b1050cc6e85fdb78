// From a learner's file to a report.
#include "lessons/runner/exercise.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/runner/build.h"
#include "lessons/runner/compiler_errors.h"
#include "lessons/runner/process.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

using diagnosis::Words;

// Limits of a check; that of lesson 09 takes 0.1 s and 40 MB.
constexpr double wall_seconds = 10, compile_wall_seconds = 60;
constexpr int cpu_seconds = 5;
constexpr std::int64_t memory_mb = 1024, file_mb = 16, largest_file = 1 << 20;

// ---- what there is to check

// The file's text, or why it cannot be checked.
std::string read_source(const fs::path& file, Lang lang, std::string& nothing) {
  const auto say_why = [&](std::string_view en, std::string_view zh) {
    nothing = fmt::format(fmt::runtime(tr(lang, en, zh)), printable(file.string()));
    return std::string();
  };
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) return say_why("there is no file {}", "没有文件 {}");
  if (fs::is_directory(status))
    return say_why("{} is a directory; name the file in it", "{} 是目录；请写出其中的文件名");
  if (!fs::is_regular_file(status)) return say_why("{} is no ordinary file", "{} 不是普通文件");
  if (fs::file_size(file, error) > largest_file)
    return say_why("{} is larger than 1 MB: that is no exercise", "{} 超过 1 MB，不像是练习");
  std::string text;
  try {
    text = read_file(file);
  } catch (const FileError& cause) {
    nothing = cause.what();
    return "";
  }
  if (text.find('\0') != text.npos)
    return say_why("{} is a binary file, no C++ text", "{} 是二进制文件，不是 C++ 源代码");
  if (text.find_first_not_of(" \t\r\n") == text.npos) return say_why("{} is empty", "{} 是空的");
  return text;
}

// ---- the words of the compiler

struct Tools {
  std::vector<std::string> compiler, compile, link;
};

// build/lessons/exercise.conf, which meson writes.
Tools read_tools(const fs::path& build) {
  Tools tools;
  std::vector<std::string>* section = nullptr;
  const std::string text = read_file(build / "lessons" / "exercise.conf");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line == "[compiler]") section = &tools.compiler;
    else if (line == "[compile]") section = &tools.compile;
    else if (line == "[link]") section = &tools.link;
    else if (!line.empty() && section != nullptr) section->push_back(line);
  }
  return tools;
}

std::vector<std::string> joined(std::initializer_list<std::vector<std::string>> lists) {
  std::vector<std::string> all;
  for (const std::vector<std::string>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

const std::vector<std::string> sanitizers = {"-fsanitize=address,undefined", "-fno-omit-frame-pointer"};

// ---- a place of its own for each check, so that two terminals do not meet

class Scratch {
 public:
  explicit Scratch(const fs::path& build) : parent_(build / "exercises") {
    fs::create_directories(parent_);
    remove_old();
    directory_ = parent_ / std::to_string(::getpid());
    fs::create_directories(directory_);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path operator/(const char* name) const { return directory_ / name; }

 private:
  // Of checks that were killed: their names are the numbers of processes that are gone.
  void remove_old() {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(parent_, ignored)) {
      const std::string name = entry.path().filename().string();
      pid_t owner = 0;
      std::from_chars(name.data(), name.data() + name.size(), owner);
      if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
    }
  }
  fs::path parent_, directory_;
};

// ---- failures that the runner itself finds

check::Failure failure(std::string code, Words why, std::string got = "") {
  check::Failure f;
  f.code = std::move(code);
  f.why = std::move(why);
  f.got = std::move(got);
  return f;
}

std::string line_of(const std::string& text, int number) {
  std::size_t at = 0;
  for (int i = 1; i < number && at != std::string::npos; ++i) {
    at = text.find('\n', at);
    if (at != std::string::npos) ++at;
  }
  if (number < 1 || at == std::string::npos) return "";
  return printable(text.substr(at, std::min(text.find('\n', at), text.size()) - at));
}

void point_at(CheckReport& report, const std::string& shown, const std::string& text, int line) {
  report.where = line > 0 ? fmt::format("{}:{}", shown, line) : shown;
  report.excerpt = line_of(text, line);
  const std::size_t indent = report.excerpt.find_first_not_of(' ');
  report.excerpt.erase(0, std::min(indent, report.excerpt.size()));
}

// The learner's line that was running, from the addresses of the crash. addr2line knows our own frames by file.
int crashed_line(const fs::path& program, const Json& addresses, const std::string& file) {
  Job job;
  job.words = {"addr2line", "-e", program.string()};
  for (const Json& address : addresses.as_array()) job.words.push_back(fmt::format("{:x}", address.as_integer()));
  job.wall_seconds = 5;
  const std::string output = run_job(job).output;
  const std::size_t at = output.find(file + ":");
  int line = 0;
  if (at != output.npos) std::from_chars(output.data() + at + file.size() + 1, output.data() + output.size(), line);
  return line;
}

// What the sanitizers print: the kind of error, and the first frame in the learner's file.
std::optional<check::Failure> sanitizer_failure(const std::string& output, const std::string& file, int& line) {
  const std::size_t at = std::min(output.find("AddressSanitizer: "), output.find("runtime error: "));
  if (at == output.npos) return std::nullopt;
  std::string what = output.substr(at, output.find('\n', at) - at);
  what = what.substr(0, what.find(" on address"));
  const std::size_t frame = output.find(file + ":");
  if (frame != output.npos)
    std::from_chars(output.data() + frame + file.size() + 1, output.data() + output.size(), line);
  return failure("MEMORY_ERROR",
                 {"the sanitizers have caught an access or an operation that is not allowed",
                  "检测工具发现了不允许的内存访问或运算"},
                 what);
}

// ---- records

Words words_of(const Json& json) { return {json.at("en").as_string(), json.at("zh").as_string()}; }

check::Failure failure_of(const Json& json) {
  check::Failure f;
  f.code = json.at("code").as_string();
  f.place = json.at("place").as_string();
  f.why = words_of(json.at("why"));
  f.expected = json.at("expected").as_string();
  f.got = json.at("got").as_string();
  f.used = json.at("used").as_string();
  f.paper = json.at("paper").as_string();
  f.fix = words_of(json.at("fix"));
  f.test = json.at("test").as_string();
  f.section = json.at("section").as_string();
  return f;
}

struct Records {
  std::vector<PartReport> parts;
  std::vector<std::string> sections;
  std::string running;  // the part that had begun last and has not ended
  std::optional<Json> crash;
  bool out_of_memory = false, finished = false, passed = false;
};

Records read_records(const std::string& text, const std::string& token) {
  Records records;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\x1e', at);
    if (end == text.npos) break;  // cut off in the middle
    Json record;
    try {
      record = parse_json(text.substr(at, end - at));
    } catch (const std::exception&) { break; }
    at = end + 1;
    if (const Json* parts = record.find("parts")) {
      for (const Json& part : parts->as_array()) {
        PartReport report;
        report.name = part.at("name").as_string();
        report.title = words_of(part.at("title"));
        records.parts.push_back(std::move(report));
        records.sections.push_back(part.at("section").as_string());
      }
    } else if (const Json* name = record.find("begin")) {
      records.running = name->as_string();
    } else if (const Json* done = record.find("part")) {
      records.running.clear();
      for (PartReport& part : records.parts) {
        if (part.name != done->as_string()) continue;
        part.run = true;
        part.seconds = record.at("seconds").as_double();
        if (const Json& f = record.at("failure"); !f.is_null()) part.failure = failure_of(f);
      }
    } else if (const Json* addresses = record.find("crash")) {
      records.crash = *addresses;
    } else if (record.find("out_of_memory") != nullptr) {
      records.out_of_memory = true;
    } else if (const Json* verdict = record.find("verdict");
               verdict != nullptr && record.at("token").as_string() == token) {
      records.finished = true;
      records.passed = verdict->as_string() == "passed";
    }
  }
  return records;
}

std::string new_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

std::string names_only(const std::string& nm_output, std::string_view kinds) {
  std::string names;
  for (std::size_t at = 0; at < nm_output.size();) {
    const std::size_t end = std::min(nm_output.find('\n', at), nm_output.size());
    const std::string_view line = std::string_view(nm_output).substr(at, end - at);
    at = end + 1;
    const std::size_t kind = line.find_first_not_of("0123456789abcdef ");
    if (kind == line.npos || kind + 2 > line.size() || kinds.find(line[kind]) == kinds.npos) continue;
    names += std::string(line.substr(kind + 2)) + "\n";
  }
  return names;
}

}  // namespace

ExerciseFiles exercise_files(const Course& course, const CourseLesson& lesson) {
  const fs::path directory = course.root / "lessons" / lesson.id;
  return {directory / "exercise.cpp", directory / "solution.cpp", course.root / "work" / lesson.id / "exercise.cpp"};
}

bool has_exercise(const Course& course, const CourseLesson& lesson) {
  std::error_code ignored;
  return fs::exists(exercise_files(course, lesson).starter, ignored);
}

int no_exercise(const Course& course, const CourseLesson& lesson, Lang lang) {
  std::string others;
  for (const CourseLesson& other : course.lessons) {
    if (has_exercise(course, other)) others += (others.empty() ? "" : ", ") + other.number();
  }
  return misuse("./gradus",
                fmt::format(fmt::runtime(tr(lang, "lesson {} has no exercise; those that have one: {}",
                                            "第 {} 课没有练习；有练习的是：{}")),
                            lesson.number(), others),
                lang);
}

int prepare_check(const Course& course, const CourseLesson& lesson, const Terminal& terminal, Lang lang) {
  return build_target(course.build, "exercise_" + lesson.id, terminal, lang);
}

CheckReport check_file(const Course& course, const CourseLesson& lesson, const fs::path& file,
                       const ExerciseOptions& options, Lang lang) {
  CheckReport report;
  const std::string source = read_source(file, lang, report.nothing);
  if (!report.nothing.empty()) return report;
  const Tools tools = read_tools(course.build);
  const Scratch scratch(course.build);
  const fs::path lessons = fs::absolute(course.build) / "lessons";
  const std::string absolute = fs::weakly_canonical(file).string();
  std::error_code error;
  fs::path relative = fs::relative(absolute, course.root, error);
  const std::string shown = error || relative.empty() || *relative.begin() == ".." ? file.string() : relative.string();

  // Compile.
  Job compile;
  compile.words =
      joined({tools.compiler,
              tools.compile,
              options.sanitize ? sanitizers : std::vector<std::string>(),
              {"-fno-diagnostics-show-caret", "-fdiagnostics-color=never", "-include",
               (lessons / "exercise_headers.h").string(), "-c", absolute, "-o", (scratch / "mine.o").string()}});
  compile.environment = {"LC_ALL=C", "CCACHE_DISABLE=1"};
  compile.wall_seconds = compile_wall_seconds;
  const JobResult compiled = run_job(compile);
  report.compile_seconds = compiled.seconds;
  if (!compiled.started || compiled.timed_out) {
    report.first =
        compiled.timed_out
            ? failure("COMPILE_TIME_LIMIT", {"the compiler did not come to an end", "编译器一直没有结束"})
            : failure("NO_COMPILER", {"the compiler could not be started", "无法启动编译器"}, compiled.output);
    return report;
  }
  if (compiled.exit_code != 0) {
    const CompilerError first = first_error(compiled.output, absolute);
    report.first =
        failure("COMPILE_ERROR",
                first.why.empty() ? Words("the compiler does not understand this", "编译器看不懂这里") : first.why,
                first.message);
    point_at(report, shown, source, first.line);
    return report;
  }

  // What it calls, and whether it has a main of its own.
  Job nm;
  nm.words = {"nm", "-C", (scratch / "mine.o").string()};
  nm.wall_seconds = 10;
  const std::string symbols = run_job(nm).output;
  write_file(scratch / "symbols", names_only(symbols, "UVu"));
  if (("\n" + names_only(symbols, "T")).find("\nmain\n") != std::string::npos) {
    report.first = failure("DEFINES_MAIN", {"there is a main in this file; the check has its own, so remove it",
                                            "文件里有 main 函数；检查程序自带 main，请删去"});
    point_at(report, shown, source, 0);
    return report;
  }

  // Link.
  Job link;
  link.words = joined({tools.compiler,
                       tools.link,
                       options.sanitize ? sanitizers : std::vector<std::string>(),
                       {"-no-pie", (scratch / "mine.o").string(), (lessons / "libgradus_exercise.so").string(),
                        (lessons / ("libcheck_" + lesson.id + ".a")).string(), "-Wl,-rpath," + lessons.string(), "-o",
                        (scratch / "program").string()}});
  link.environment = {"LC_ALL=C", "CCACHE_DISABLE=1"};
  link.wall_seconds = compile_wall_seconds;
  const JobResult linked = run_job(link);
  report.compile_seconds += linked.seconds;
  if (linked.exit_code != 0) {
    const std::string missing = missing_function(linked.output);
    report.first =
        missing.empty()
            ? failure("LINK_ERROR", {"the program could not be put together", "程序无法链接"},
                      linked.output.substr(0, 400))
            : failure("MISSING_FUNCTION",
                      {"exercise.h declares this function and your file does not define it, at least not with these "
                       "arguments in this namespace",
                       "exercise.h 声明了这个函数，而你的文件里没有定义它，或者参数类型、命名空间不一致"},
                      missing);
    point_at(report, shown, source, 0);
    return report;
  }

  // Run.
  const std::string token = new_token();
  Job run;
  run.words = {(scratch / "program").string(), (scratch / "symbols").string(), token,
               options.all_parts ? "all" : "first"};
  run.records = true;
  run.offline = options.offline;
  run.wall_seconds = wall_seconds * (options.sanitize ? 5 : 1);
  run.cpu_seconds = cpu_seconds * (options.sanitize ? 5 : 1);
  run.file_mb = file_mb;
  run.most_output = 1 << 16;
  const bool sanitized = options.sanitize || !tools.link.empty();
  if (!sanitized) run.memory_mb = memory_mb;  // AddressSanitizer reserves all addresses there are
  run.environment = {"ASAN_OPTIONS=detect_leaks=0:allow_user_segv_handler=0:hard_rss_limit_mb=1024",
                     "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"};
  const JobResult ran = run_job(run);
  report.run_seconds = ran.seconds;
  report.printed = ran.output;
  const Records records = read_records(ran.records, token);
  report.parts = records.parts;
  report.passed = records.finished && records.passed;
  const PartReport* running = nullptr;
  for (std::size_t i = 0; i < report.parts.size(); ++i) {
    const PartReport& part = report.parts[i];
    if (part.failure && !report.first) report.first = part.failure;
    if (part.name == records.running) running = &part;
  }
  if (records.finished) return report;

  // It broke off.
  report.passed = false;
  int line = records.crash ? crashed_line(scratch / "program", *records.crash, absolute) : 0;
  std::optional<check::Failure> broke;
  if (interrupted()) {
    broke = failure("INTERRUPTED", {"the check was interrupted", "检查被中断"});
  } else if (ran.timed_out) {
    broke = failure(
        "TIME_LIMIT",
        {fmt::format("your code was still running after {:.0f} s: look for a loop that does not end", ran.seconds),
         fmt::format("你的代码运行了 {:.0f} 秒还没有结束：检查是否有死循环", ran.seconds)});
  } else if (records.out_of_memory) {
    broke = failure(
        "OUT_OF_MEMORY",
        {fmt::format("your code asks for more than {} MB: look for a loop that allocates without end", memory_mb),
         fmt::format("你的代码申请了超过 {} MB 内存：检查是否有不停分配内存的循环", memory_mb)});
  } else if (sanitized && (broke = sanitizer_failure(ran.output, absolute, line))) {
    report.printed.clear();
  } else if (ran.signal != 0 || records.crash) {
    const int signal_number = ran.signal;
    if (signal_number == SIGSEGV || signal_number == SIGBUS) {
      broke = failure("CRASH", {"your code reads or writes memory that is not there (segmentation fault): an index out "
                                "of range, or a recursion without end",
                                "你的代码访问了不存在的内存（段错误）：下标越界，或无限递归"});
    } else if (signal_number == SIGABRT) {
      broke = failure("CRASH",
                      {"your code was aborted: an assertion failed, or an exception was thrown where none may leave",
                       "程序被中止：断言失败，或在不允许的地方抛出了异常"},
                      ran.output.substr(0, 300));
    } else if (signal_number == SIGFPE) {
      broke = failure("CRASH", {"an integer was divided by zero", "整数除以零"});
    } else {
      broke = failure("CRASH", {fmt::format("your code was ended by signal {}", signal_number),
                                fmt::format("程序被信号 {} 终止", signal_number)});
    }
  } else {
    broke = failure(
        "ENDED_EARLY",
        {fmt::format("your code ended the program (exit code {}) before the check was through: return a result instead",
                     ran.exit_code),
         fmt::format("你的代码在检查完成之前结束了程序（退出码 {}）：应当返回结果", ran.exit_code)});
  }
  if (line > 0) point_at(report, shown, source, line);
  if (running != nullptr) {
    const std::size_t index = static_cast<std::size_t>(running - report.parts.data());
    broke->section = records.sections[index];
    report.parts[index].run = true;
    report.parts[index].failure = broke;
  }
  if (!report.first) report.first = broke;
  return report;
}

}  // namespace gradus
