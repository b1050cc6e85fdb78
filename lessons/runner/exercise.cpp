// From a learner's file to a report.
#include "lessons/runner/exercise.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/runner/build.h"
#include "lessons/runner/exercise_build.h"
#include "lessons/runner/process.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

// Limits of a check; that of lesson 09 takes 0.1 s and 40 MB.
constexpr double wall_seconds = 10;
constexpr int cpu_seconds = 5;
constexpr std::int64_t memory_mb = 1024, file_mb = 16;

// The learner's line that was running, from the addresses of the crash. addr2line knows our own frames by file.
int crashed_line(const fs::path& program, const std::vector<std::int64_t>& addresses, const std::string& file) {
  Job job;
  job.words = {"addr2line", "-e", program.string()};
  for (const std::int64_t address : addresses) job.words.push_back(fmt::format("{:x}", address));
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
  for (const char* other : {"AddressSanitizer: SEGV", "AddressSanitizer: stack-overflow"}) {
    if (output.find(other) != output.npos) return std::nullopt;  // a crash like any other, reported as one
  }
  std::string what = output.substr(at, output.find('\n', at) - at);
  what = what.substr(0, what.find(" on address"));
  const std::size_t frame = output.find(file + ":");
  if (frame != output.npos)
    std::from_chars(output.data() + frame + file.size() + 1, output.data() + output.size(), line);
  return make_failure("MEMORY_ERROR",
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
  f.expected = words_of(json.at("expected"));
  f.got = words_of(json.at("got"));
  f.used = words_of(json.at("used"));
  f.paper = words_of(json.at("paper"));
  f.fix = words_of(json.at("fix"));
  f.test = words_of(json.at("test"));
  f.section = json.at("section").as_string();
  return f;
}

struct Records {
  std::vector<PartReport> parts;
  std::vector<std::string> sections;
  std::string running;                             // the part that had begun last and has not ended
  std::optional<std::vector<std::int64_t>> crash;  // addresses
  bool out_of_memory = false, finished = false, passed = false;
};

void take_record(const Json& record, const std::string& token, Records& records) {
  if (const Json* addresses = record.find("crash")) {
    std::vector<std::int64_t> list;
    for (const Json& address : addresses->as_array()) list.push_back(address.as_integer());
    records.crash = std::move(list);
  } else if (record.find("out_of_memory") != nullptr) {
    records.out_of_memory = true;
  } else if (record.at("token").as_string() != token) {
    return;  // forged
  } else if (const Json* parts = record.find("parts")) {
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
  } else if (const Json* verdict = record.find("verdict")) {
    records.finished = true;
    records.passed = verdict->as_string() == "passed";
  }
}

Records read_records(const std::string& text, const std::string& token) {
  Records records;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\x1e', at), text.size());
    try {
      if (end > at) take_record(parse_json(text.substr(at, end - at)), token, records);
    } catch (const std::exception&) {}  // cut off in the middle, or not written by the check
    at = end + 1;
  }
  return records;
}

std::string new_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

}  // namespace

ExerciseFiles exercise_files(const Course& course, const CourseLesson& lesson) {
  const fs::path directory = course.root / "lessons" / lesson.id;
  return {directory / "exercise.cpp", directory / "solution.cpp", course.root / "work" / lesson.id / "exercise.cpp"};
}

int variant_of(const std::string& source) {
  constexpr std::string_view mark = "// variant ";
  int number = 0;
  if (source.starts_with(mark)) std::from_chars(source.data() + mark.size(), source.data() + source.size(), number);
  return std::max(number, 0);
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

namespace {

CheckReport checked(const Course& course, const CourseLesson& lesson, const fs::path& file,
                    const ExerciseOptions& options, Lang lang) {
  CheckReport report;
  const std::string source = read_source(file, lang, report.nothing);
  if (!report.nothing.empty()) return report;
  report.source = source;
  report.variant = variant_of(source);
  ExerciseBuild build(course, file, source, options, lang);
  const fs::path object = options.check.empty() ? build.lessons() / ("libcheck_" + lesson.id + ".a") : options.check;
  const bool ready = build.compile(report) &&
                     build.link({(build.lessons() / "libgradus_exercise.so").string(), object.string()}, report);
  if (!ready) return report;

  // Run.
  const std::string token = new_token();
  Job run;
  run.words = {build.program().string(), build.symbols().string(), options.all_parts ? "all" : "first",
               std::to_string(report.variant)};
  run.records = true;
  const bool sanitized = options.sanitize || build.sanitized_library();
  if (options.fenced) {
    run.sandbox = Sandbox{
        {"/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", build.lessons(), build.program().parent_path()}};
    if (sanitized) run.sandbox->readable.push_back("/proc");  // where AddressSanitizer learns how far the stack goes
  }
  run.wall_seconds = wall_seconds * (sanitized ? 5 : 1);
  run.cpu_seconds = cpu_seconds * (sanitized ? 5 : 1);
  run.file_mb = file_mb;
  run.most_output = 1 << 16;
  if (!sanitized) run.memory_mb = memory_mb;  // AddressSanitizer reserves all addresses there are
  run.environment = {"GRADUS_TOKEN=" + token,
                     "ASAN_OPTIONS=detect_leaks=0:allow_user_segv_handler=0:hard_rss_limit_mb=1024",
                     "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"};
  run.stop = options.stop;
  const JobResult ran = run_job(run);
  report.stopped = ran.stopped;
  if (report.stopped) return report;
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
  int line = records.crash ? crashed_line(build.program(), *records.crash, build.absolute()) : 0;
  std::optional<check::Failure> broke;
  if (interrupted()) {
    broke = make_failure("INTERRUPTED", {"the check was interrupted", "检查被中断"});
  } else if (ran.timed_out) {
    broke = make_failure(
        "TIME_LIMIT",
        {fmt::format("your code was still running after {:.0f} s: look for a loop that does not end", ran.seconds),
         fmt::format("你的代码运行了 {:.0f} 秒还没有结束：检查是否有死循环", ran.seconds)});
  } else if (records.out_of_memory || ran.output.find("rss limit exhausted") != std::string::npos) {
    broke = make_failure(
        "OUT_OF_MEMORY",
        {fmt::format("your code asks for more than {} MB: look for a loop that allocates without end", memory_mb),
         fmt::format("你的代码申请了超过 {} MB 内存：检查是否有不停分配内存的循环", memory_mb)});
  } else if (sanitized && (broke = sanitizer_failure(ran.output, build.absolute(), line))) {
    report.printed.clear();
  } else if (ran.signal != 0 || records.crash || ran.output.find("AddressSanitizer: ") != std::string::npos) {
    const int signal_number = ran.signal;
    if (signal_number == SIGSEGV || signal_number == SIGBUS || signal_number == 0) {
      broke = make_failure("CRASH",
                           {"your code reads or writes memory that is not there (segmentation fault): an index out "
                            "of range, or a recursion without end",
                            "你的代码访问了不存在的内存（段错误）：下标越界，或无限递归"});
    } else if (signal_number == SIGABRT) {
      broke =
          make_failure("CRASH",
                       {"your code was aborted: an assertion failed, or an exception was thrown where none may leave",
                        "程序被中止：断言失败，或在不允许的地方抛出了异常"},
                       ran.output.substr(0, std::min<std::size_t>(300, ran.output.find_last_not_of('\n') + 1)));
      if (ran.output.size() <= 300) report.printed.clear();  // it is told already
    } else if (signal_number == SIGFPE) {
      broke = make_failure("CRASH", {"an integer was divided by zero", "整数除以零"});
    } else {
      broke = make_failure("CRASH", {fmt::format("your code was ended by signal {}", signal_number),
                                     fmt::format("程序被信号 {} 终止", signal_number)});
    }
  } else {
    broke = make_failure(
        "ENDED_EARLY",
        {fmt::format("your code ended the program (exit code {}) before the check was through: return a result instead",
                     ran.exit_code),
         fmt::format("你的代码在检查完成之前结束了程序（退出码 {}）：应当返回结果", ran.exit_code)});
  }
  if (line > 0) build.point_at(report, line);
  if (running != nullptr) {
    const std::size_t index = static_cast<std::size_t>(running - report.parts.data());
    broke->section = records.sections[index];
    report.parts[index].run = true;
    report.parts[index].failure = broke;
  }
  if (!report.first) report.first = broke;
  return report;
}

}  // namespace

CheckReport check_file(const Course& course, const CourseLesson& lesson, const fs::path& file,
                       const ExerciseOptions& options, Lang lang) {
  try {
    return checked(course, lesson, file, options, lang);
  } catch (const FileError& error) {
    if (!says_disk_full(error.what())) throw;
    CheckReport report;
    report.nothing = disk_full(lang);
    return report;
  }
}

CheckReport build_mine(const Course& course, const CourseLesson& lesson, const fs::path& file, Lang lang,
                       fs::path& program) {
  CheckReport report;
  const std::string source = read_source(file, lang, report.nothing);
  if (!report.nothing.empty()) return report;
  ExerciseBuild build(course, file, source, {}, lang);
  if (!build.compile(report) || !build.link({(build.lessons() / ("libmine_" + lesson.id + ".so")).string()}, report)) {
    return report;
  }
  program = build.lessons() / lesson.id / (lesson.id + "_mine");
  fs::rename(build.program(), program);
  return report;
}

}  // namespace gradus
