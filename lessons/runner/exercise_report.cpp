// What a check found, for people and for programs.
#include <fmt/format.h>

#include <algorithm>

#include "lessons/runner/exercise.h"

namespace gradus {

namespace {

// "  label     text", wrapped with the text's lines below each other.
std::string labelled(std::string_view label, const std::string& text, int width) {
  if (text.empty()) return "";
  constexpr int indent = 12;
  std::string out;
  const std::string wrapped = wrap_to_width(text, width - indent);
  std::string left = "  " + std::string(label);
  for (std::size_t at = 0; at <= wrapped.size();) {
    const std::size_t end = std::min(wrapped.find('\n', at), wrapped.size());
    out += pad_right(left, indent) + wrapped.substr(at, end - at) + "\n";
    left.clear();
    at = end + 1;
  }
  return out;
}

std::string first_lines(const std::string& text, std::size_t most) {
  std::string out;
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size() && lines < most; ++lines) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += (lines > 0 ? "\n" : "") + cut_to_width(printable(text.substr(at, end - at)), 66);
    at = end + 1;
    if (lines + 1 == most && at < text.size()) out += "\n...";
  }
  return out;
}

std::string titles(const std::vector<PartReport>& parts, Lang lang, bool passed) {
  std::string out;
  for (const PartReport& part : parts) {
    if (!part.run || part.failure.has_value() == passed) continue;
    out += (out.empty() ? "" : std::string(tr(lang, "; ", "；"))) + part.title.in(lang);
  }
  return out;
}

}  // namespace

std::string report_text(const CourseLesson& lesson, const CheckReport& report, const Terminal& terminal, Lang lang) {
  std::string out;
  if (!report.nothing.empty()) return report.nothing + "\n";
  const auto entry = [width = std::clamp(terminal.width, 40, 80)](std::string_view label, const std::string& text) {
    return labelled(label, text, width);
  };
  if (report.passed) {
    out += paint(terminal, Colour::green,
                 fmt::format(fmt::runtime(tr(lang, "Lesson {} passed", "第 {} 课通过")), lesson.number())) +
           "\n";
  } else {
    const check::Failure& f = *report.first;
    const std::string head = fmt::format(
        fmt::runtime(tr(lang, "Lesson {}, to mend first: {}", "第 {} 课，先改这一处：{}")), lesson.number(), f.code);
    out += paint(terminal, Colour::yellow, head) + "\n";
    out += entry(tr(lang, "what", "问题"), f.why.in(lang));
    out += entry(tr(lang, "where", "位置"),
                 report.where.empty() ? f.place : report.where + (f.place.empty() ? "" : ", " + f.place));
    out += entry("", report.excerpt);
    out += entry(tr(lang, "expected", "应得"), f.expected.in(lang));
    out += entry(tr(lang, "got", "实得"), f.got.in(lang));
    out += entry(tr(lang, "yours", "你的"), f.used.in(lang));
    out += entry(tr(lang, "paper", "应为"), f.paper.in(lang));
    out += entry(tr(lang, "mend", "改法"), f.fix.in(lang));
    out += entry(tr(lang, "test", "测试"), f.test.in(lang));
    if (!f.section.empty()) {
      out += entry(tr(lang, "read", "参阅"),
                   fmt::format("lessons/{}/{}#{}", lesson.id, tr(lang, "README.md", "README.zh.md"), f.section));
    }
  }
  out += entry(tr(lang, "printed", "输出"), first_lines(report.printed, 10));
  out += entry(tr(lang, "passed", "已通过"), titles(report.parts, lang, true));
  out += entry(tr(lang, "failed", "未通过"), titles(report.parts, lang, false));
  const auto later =
      std::count_if(report.parts.begin(), report.parts.end(), [](const PartReport& p) { return !p.run; });
  if (later > 0)
    out += entry(tr(lang, "then", "之后"), fmt::format(fmt::runtime(tr(lang, "{} more", "还有 {} 项")), later));
  out += entry(tr(lang, "took", "用时"),
               fmt::format(fmt::runtime(tr(lang, "{:.1f} s (compiled in {:.1f}, checked in {:.1f})",
                                           "{:.1f} 秒（编译 {:.1f}，检查 {:.1f}）")),
                           report.compile_seconds + report.run_seconds, report.compile_seconds, report.run_seconds));
  if (report.build_seconds >= 1) {
    out +=
        entry("", fmt::format(fmt::runtime(tr(lang, "and before it {:.1f} s to build the library and the check, once",
                                              "在此之前编译库和检查程序用了 {:.1f} 秒，只此一次")),
                              report.build_seconds));
  }
  return out;
}

Json report_json(const CourseLesson& lesson, const std::filesystem::path& file, const CheckReport& report) {
  const auto words = [](const Words& w) { return Json::object({{"en", w.en}, {"zh", w.zh}}); };
  Json parts = Json::array();
  std::int64_t right = 0;
  for (const PartReport& part : report.parts) {
    const bool passed = part.run && !part.failure;
    right += passed;
    parts.push_back(Json::object({{"name", part.name},
                                  {"result", passed     ? "passed"
                                             : part.run ? "failed"
                                                        : "not reached"},
                                  {"verdict", part.failure ? Json(part.failure->code) : Json()},
                                  {"seconds", part.seconds}}));
  }
  Json out = Json::object({{"lesson", lesson.id},
                           {"variant", report.variant},
                           {"file", printable(file.string())},
                           {"result", !report.nothing.empty() ? "nothing to check"
                                      : report.passed         ? "passed"
                                                              : "failed"},
                           {"verdict", report.first    ? Json(report.first->code)
                                       : report.passed ? Json("PASSED")
                                                       : Json("NOTHING_TO_CHECK")},
                           {"parts_passed", right},
                           {"parts", parts}});
  if (report.first) {
    out.set("place", report.first->place);
    out.set("where", report.where);
    out.set("why", words(report.first->why));
    out.set("expected", report.first->expected.en);
    out.set("got", printable(report.first->got.en));
    out.set("fix", words(report.first->fix));
    out.set("section", report.first->section);
  }
  if (!report.nothing.empty()) out.set("why", report.nothing);
  if (!report.printed.empty()) out.set("printed", first_lines(report.printed, 10));
  out.set("seconds", report.compile_seconds + report.run_seconds);
  return out;
}

}  // namespace gradus
