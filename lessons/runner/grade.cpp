// ./gradus grade: a folder of submissions, each checked within a fence, as a table for the teacher.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/table.h"
#include "lessons/runner/exercise.h"
#include "lessons/runner/exercise_build.h"
#include "lessons/runner/sandbox.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

struct Submission {
  std::string student;
  const CourseLesson* lesson;
  fs::path file;
};

struct Grade {
  Submission submission;
  std::string check;  // "course", or "hidden" for the teacher's own
  CheckReport report;
};

const CourseLesson* lesson_called(const Course& course, const std::string& word) {
  std::vector<std::string> ids;
  for (const CourseLesson& lesson : course.lessons) ids.push_back(lesson.id);
  const Resolution found = resolve_lesson(ids, word);
  if (found.ids.size() != 1) return nullptr;
  for (const CourseLesson& lesson : course.lessons) {
    if (lesson.id == found.ids.front() && has_exercise(course, lesson)) return &lesson;
  }
  return nullptr;
}

std::vector<fs::path> sorted_entries(const fs::path& directory) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// STUDENT/LESSON/exercise.cpp (a copy of work/) and STUDENT/LESSON.cpp; with one lesson for all also STUDENT.cpp and
// STUDENT/exercise.cpp.
std::vector<Submission> find_submissions(const Course& course, const fs::path& directory, const CourseLesson* only) {
  std::vector<Submission> found;
  const auto add = [&](const std::string& student, const CourseLesson* lesson, const fs::path& file) {
    if (lesson != nullptr && (only == nullptr || only == lesson)) found.push_back({student, lesson, file});
  };
  for (const fs::path& entry : sorted_entries(directory)) {
    if (!fs::is_directory(entry)) {
      if (entry.extension() == ".cpp") add(entry.stem().string(), only, entry);
      continue;
    }
    const std::string student = entry.filename().string();
    for (const fs::path& inside : sorted_entries(entry)) {
      if (fs::is_directory(inside)) {
        if (fs::exists(inside / "exercise.cpp"))
          add(student, lesson_called(course, inside.filename().string()), inside / "exercise.cpp");
      } else if (inside.filename() == "exercise.cpp") {
        add(student, only, inside);
      } else if (inside.extension() == ".cpp") {
        add(student, lesson_called(course, inside.stem().string()), inside);
      }
    }
  }
  return found;
}

// The teacher's check of a lesson: CHECKS/09_bahdanau/check.cpp, or CHECKS/09.cpp; empty if there is none.
fs::path hidden_check(const fs::path& checks, const CourseLesson& lesson) {
  for (const fs::path& candidate :
       {checks / lesson.id / "check.cpp", checks / (lesson.id + ".cpp"), checks / (lesson.number() + ".cpp")}) {
    if (fs::exists(candidate)) return candidate;
  }
  return {};
}

// A cell of CSV; quotes and separators in names are names too.
std::string cell(const std::string& text) {
  if (text.find_first_of("\",\n\r") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string verdict_of(const CheckReport& report) {
  if (!report.nothing.empty()) return "NOTHING_TO_CHECK";
  return report.passed ? "PASSED" : report.first->code;
}

std::pair<std::size_t, std::size_t> points(const CheckReport& report) {
  const auto right =
      std::count_if(report.parts.begin(), report.parts.end(), [](const PartReport& p) { return p.run && !p.failure; });
  return {static_cast<std::size_t>(right), report.parts.size()};
}

std::string to_csv(const std::vector<Grade>& grades) {
  std::string out = "student,lesson,variant,check,verdict,parts_passed,parts,failed,file\n";
  for (const Grade& grade : grades) {
    std::string failed;
    for (const PartReport& part : grade.report.parts) {
      if (part.failure) failed += fmt::format("{}{}:{}", failed.empty() ? "" : " ", part.name, part.failure->code);
    }
    const auto [right, all] = points(grade.report);
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", cell(grade.submission.student), grade.submission.lesson->id,
                       grade.report.variant, grade.check, verdict_of(grade.report), right, all, cell(failed),
                       cell(grade.submission.file.string()));
  }
  return out;
}

Json to_json(const std::vector<Grade>& grades, const Fences& fences) {
  Json list = Json::array();
  for (const Grade& grade : grades) {
    Json one = Json::object({{"student", printable(grade.submission.student)}, {"check", grade.check}});
    const Json report = report_json(*grade.submission.lesson, grade.submission.file, grade.report);
    for (const auto& [name, value] : report.as_object()) one.set(name, value);
    list.push_back(std::move(one));
  }
  return Json::object(
      {{"fences", Json::object({{"network", fences.network}, {"files", fences.files}})}, {"grades", std::move(list)}});
}

}  // namespace

int grade_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {
      .program = "./gradus grade",
      .about_en =
          "Checks every submission in a directory, without network, and writes grades.csv and grades.json. Found are "
          "STUDENT/LESSON/exercise.cpp and STUDENT/LESSON.cpp; with --lesson also STUDENT.cpp and "
          "STUDENT/exercise.cpp.",
      .about_zh =
          "检查一个目录里的全部提交（不联网），写出 grades.csv 和 grades.json。识别 STUDENT/LESSON/exercise.cpp 与 "
          "STUDENT/LESSON.cpp；给出 --lesson 时还有 STUDENT.cpp 与 STUDENT/exercise.cpp。",
      .options = OptionSet::display,
      .words = {{"DIR", "the directory of submissions", "提交所在目录", true, false}},
      .extras = {{"--lesson", "LESSON", "only this lesson", "只检查这一课"},
                 {"--checks", "DIR", "also your own checks: DIR/LESSON/check.cpp or DIR/LESSON.cpp",
                  "同时运行你自己的检查：DIR/LESSON/check.cpp 或 DIR/LESSON.cpp"},
                 {"--out", "DIR", "where the two files go (out/grades)", "两个文件写到哪里（默认 out/grades）"}},
      .stop_at_word = false,
      .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const Lang lang = parsed.options.lang;
  const Terminal terminal = find_terminal(parsed.options);
  const auto extra = [&](const char* name) {
    const auto found = parsed.extras.find(name);
    return found == parsed.extras.end() ? std::string() : found->second;
  };
  const fs::path directory = parsed.words[0];
  for (const std::string& path : {parsed.words[0], extra("--checks")}) {
    if (path.empty() || fs::is_directory(path)) continue;
    return misuse(spec.program,
                  fmt::format(fmt::runtime(tr(lang, "{} is no directory", "{} 不是目录")), printable(path)), lang);
  }
  const CourseLesson* only = nullptr;
  if (!extra("--lesson").empty()) {
    only = find_lesson(course, extra("--lesson"), lang);
    if (only == nullptr) return 2;
    if (!has_exercise(course, *only)) return no_exercise(course, *only, lang);
  }
  const std::vector<Submission> submissions = find_submissions(course, directory, only);
  if (submissions.empty()) {
    return misuse(spec.program,
                  fmt::format(fmt::runtime(tr(
                                  lang, "no submissions in {}; see ./gradus grade --help for where they are looked for",
                                  "{} 里没有提交；查找位置见 ./gradus grade --help")),
                              printable(parsed.words[0])),
                  lang);
  }
  const fs::path out = extra("--out").empty() ? course.defaults.out / "grades" : fs::path(extra("--out"));
  make_writable_directory(out);
  const Fences fences = fences_here();
  if (!fences.network)
    say(std::string(tr(lang, "This system cannot keep programs off the network or from outliving their check.\n",
                       "本系统无法阻止程序联网，也无法确保它随检查一起结束。\n")));
  if (!fences.files)
    say(std::string(tr(lang, "This system cannot keep programs from reading and writing files.\n",
                       "本系统无法阻止程序读写文件。\n")));

  const Scratch scratch(course.build);
  std::map<std::string, fs::path> hidden;  // lesson -> object file of the teacher's check
  std::vector<Grade> grades;
  Table table({std::string(tr(lang, "student", "学生")), std::string(tr(lang, "lesson", "课程")),
               std::string(tr(lang, "check", "检查")), std::string(tr(lang, "parts", "通过")),
               std::string(tr(lang, "verdict", "结论"))},
              {Align::left, Align::left, Align::left, Align::right, Align::left});
  for (const Submission& submission : submissions) {
    if (interrupted()) break;
    const CourseLesson& lesson = *submission.lesson;
    if (!hidden.contains(lesson.id)) {
      if (const int code = prepare_check(course, lesson, terminal, lang); code != 0) return code;
      const fs::path source = extra("--checks").empty() ? fs::path() : hidden_check(extra("--checks"), lesson);
      hidden[lesson.id] = source.empty() ? fs::path() : scratch / ("hidden_" + lesson.id + ".o").c_str();
      if (!source.empty()) {
        const std::string complaint = compile_check(course, source, hidden[lesson.id]);
        if (!complaint.empty()) return misuse(spec.program, printable(source.string()) + ":\n" + complaint, lang);
      }
    }
    for (const bool own : {true, false}) {
      if (!own && hidden[lesson.id].empty()) continue;
      ExerciseOptions options;
      options.all_parts = true;
      options.fenced = true;
      if (!own) options.check = hidden[lesson.id];
      grades.push_back(
          {submission, own ? "course" : "hidden", check_file(course, lesson, submission.file, options, lang)});
      const auto [right, all] = points(grades.back().report);
      table.add_row({printable(submission.student), lesson.number(), grades.back().check,
                     fmt::format("{}/{}", right, all), verdict_of(grades.back().report)});
    }
  }
  write_file(out / "grades.csv", to_csv(grades));
  write_file(out / "grades.json", to_text(to_json(grades, fences)) + "\n");
  say(table.text(terminal));
  say(fmt::format(
      fmt::runtime(tr(lang, "written: {0}/grades.csv, {0}/grades.json\n", "已写入：{0}/grades.csv、{0}/grades.json\n")),
      out.string()));
  return interrupted() ? 130 : 0;
}

}  // namespace gradus
