// The compiler and the linker as child processes, and their complaints.
#include "lessons/runner/exercise_build.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "lessons/common/files.h"
#include "lessons/runner/build.h"
#include "lessons/runner/compiler_errors.h"
#include "lessons/runner/process.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

constexpr double compile_wall_seconds = 60;
constexpr std::int64_t largest_file = 1 << 20;
constexpr std::int64_t compiler_memory_mb = 4096, object_mb = 64;  // a usual exercise: 400 MB and 1 MB

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

// Directories of checks that were killed: their names are the numbers of processes that are gone.
void remove_old(const fs::path& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t owner = 0;
    std::from_chars(name.data(), name.data() + name.size(), owner);
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

// A tool that came to no end of its own, or to one that the learner's text has no part in: said in the report.
bool is_no_verdict(const JobResult& result, Lang lang, CheckReport& report) {
  report.stopped = result.stopped;
  if (result.started && result.exit_code != 0 && says_disk_full(result.output)) report.nothing = disk_full(lang);
  return report.stopped || !report.nothing.empty();
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

// The first line of the names that is, or belongs to, the library: whoever links with it gets this file's version, the
// check included. Functions of the lesson are in a namespace of their own.
std::string replaced_name(const std::string& defined) {
  for (std::size_t at = 0; at < defined.size();) {
    const std::size_t end = std::min(defined.find('\n', at), defined.size());
    const std::string name = defined.substr(at, end - at);
    at = end + 1;
    if (name.starts_with("gradus::") && !name.starts_with("gradus::lesson")) return name.substr(0, name.find('('));
  }
  return "";
}

}  // namespace

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
  const std::string_view mark = std::string_view(text).substr(0, 2);
  if (mark == "\xFF\xFE" || mark == "\xFE\xFF") {
    return say_why("{} is saved as UTF-16: save it as UTF-8 (Notepad: Save as, Encoding)",
                   "{} 保存成了 UTF-16：请另存为 UTF-8（记事本：另存为，编码）");
  }
  if (text.find('\0') != text.npos)
    return say_why("{} is a binary file, no C++ text", "{} 是二进制文件，不是 C++ 源代码");
  if (text.find_first_not_of(" \t\r\n") == text.npos) return say_why("{} is empty", "{} 是空的");
  return text;
}

std::string compile_check(const Course& course, const fs::path& source, const fs::path& object) {
  const Tools tools = read_tools(course.build);
  Job job;
  job.words = joined({tools.compiler, tools.compile, {"-c", source.string(), "-o", object.string()}});
  job.environment = {"CCACHE_DISABLE=1"};
  const JobResult result = run_job(job);
  return result.exit_code == 0 ? "" : result.output;
}

check::Failure make_failure(std::string code, Words why, std::string got) {
  check::Failure f;
  f.code = std::move(code);
  f.why = std::move(why);
  f.got = std::move(got);
  return f;
}

Scratch::Scratch(const fs::path& build) {
  static int number = 0;
  directory_ = build / "exercises" / fmt::format("{}.{}", ::getpid(), ++number);
  make_writable_directory(directory_);
  remove_old(directory_.parent_path());
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

ExerciseBuild::ExerciseBuild(const Course& course, const fs::path& file, std::string source,
                             const ExerciseOptions& options, Lang lang)
    : tools_(read_tools(course.build)),
      scratch_(course.build),
      lessons_(fs::absolute(course.build) / "lessons"),
      source_(std::move(source)),
      absolute_(fs::weakly_canonical(file).string()),
      options_(options),
      lang_(lang) {
  std::error_code error;
  const fs::path relative = fs::relative(absolute_, course.root, error);
  const bool inside = !error && !relative.empty() && *relative.begin() != "..";
  shown_ = inside ? relative.string() : file.string();
}

void ExerciseBuild::point_at(CheckReport& report, int line) const {
  report.where = line > 0 ? fmt::format("{}:{}", shown_, line) : shown_;
  report.excerpt = line_of(source_, line);
  const std::size_t indent = report.excerpt.find_first_not_of(' ');
  report.excerpt.erase(0, std::min(indent, report.excerpt.size()));
}

bool ExerciseBuild::compile(CheckReport& report) {
  Job job;
  // The precompiled headers go with the usual options only.
  const std::vector<std::string> headers = {"-include", (lessons_ / "exercise_headers.h").string()};
  const std::vector<std::string> none;
  job.words =
      joined({tools_.compiler,
              tools_.compile,
              options_.sanitize ? sanitizers : none,
              options_.sanitize ? none : headers,
              // C++ whatever the file is called.
              {"-fdiagnostics-color=never", "-x", "c++", "-c", absolute_, "-o", (scratch_ / "mine.o").string()}});
  job.environment = {"LC_ALL=C", "CCACHE_DISABLE=1"};
  job.wall_seconds = compile_wall_seconds;
  job.memory_mb = compiler_memory_mb;
  job.file_mb = object_mb;
  job.stop = options_.stop;
  const JobResult compiled = run_job(job);
  report.compile_seconds = compiled.seconds;
  if (is_no_verdict(compiled, lang_, report)) return false;
  if (!compiled.started || compiled.timed_out) {
    report.first =
        compiled.timed_out
            ? make_failure("COMPILE_TIME_LIMIT", {"the compiler did not come to an end", "编译器一直没有结束"})
            : make_failure("NO_COMPILER", {"the compiler could not be started", "无法启动编译器"}, compiled.output);
    return false;
  }
  if (compiled.exit_code != 0) {
    const CompilerError first = first_error(compiled.output, absolute_);
    report.first =
        make_failure("COMPILE_ERROR",
                     first.why.empty() ? Words("the compiler does not understand this", "编译器看不懂这里") : first.why,
                     first.message);
    point_at(report, first.line);
    return false;
  }

  // What it calls, and whether it has a main of its own.
  Job nm;
  nm.words = {"nm", "-C", (scratch_ / "mine.o").string()};
  nm.wall_seconds = 10;
  const std::string symbols = run_job(nm).output;
  write_file(scratch_ / "symbols", names_only(symbols, "UVu"));
  const std::string defined = names_only(symbols, "TDBR");
  if (const std::string replaced = replaced_name(defined); !replaced.empty()) {
    report.first = make_failure(
        "REPLACES_LIBRARY",
        {"this defines a name in the library's namespace, which may replace what the library has under that name: "
         "write it into the lesson's namespace, or into namespace { }",
         "这里在库的命名空间里定义了一个名字，可能会替换库中的同名实现：请写进本课的命名空间，或写进 namespace { }"},
        replaced);
    point_at(report, 0);
    return false;
  }
  if (("\n" + defined).find("\nmain\n") != std::string::npos) {
    report.first = make_failure("DEFINES_MAIN", {"there is a main in this file; the check has its own, so remove it",
                                                 "文件里有 main 函数；检查程序自带 main，请删去"});
    point_at(report, 0);
    return false;
  }
  return true;
}

bool ExerciseBuild::link(const std::vector<std::string>& libraries, CheckReport& report) {
  Job job;
  job.words = joined({tools_.compiler,
                      tools_.link,
                      options_.sanitize ? sanitizers : std::vector<std::string>(),
                      {"-no-pie", (scratch_ / "mine.o").string()},
                      libraries,
                      {"-Wl,-rpath," + lessons_.string(), "-o", program().string()}});
  job.environment = {"LC_ALL=C", "CCACHE_DISABLE=1"};
  job.wall_seconds = compile_wall_seconds;
  job.stop = options_.stop;
  const JobResult linked = run_job(job);
  report.compile_seconds += linked.seconds;
  if (is_no_verdict(linked, lang_, report)) return false;
  if (linked.exit_code != 0) {
    const std::string missing = missing_function(linked.output);
    report.first =
        missing.empty()
            ? make_failure("LINK_ERROR", {"the program could not be put together", "程序无法链接"},
                           linked.output.substr(0, 400))
            : make_failure(
                  "MISSING_FUNCTION",
                  {"exercise.h declares this function and your file does not define it, at least not with these "
                   "arguments in this namespace",
                   "exercise.h 声明了这个函数，而你的文件里没有定义它，或者参数类型、命名空间不一致"},
                  missing);
    point_at(report, 0);
    return false;
  }
  return true;
}

}  // namespace gradus
