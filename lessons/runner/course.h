// Which lessons the course has, and which one somebody means.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradus {

struct CourseLesson {
  std::string id;                  // name of its directory: "09_bahdanau"
  std::string title_en, title_zh;  // first headings of README.md and README.zh.md, without the number
  std::optional<int> minutes;      // the first "N minutes" of README.md

  std::string number() const { return id.substr(0, id.find('_')); }  // "09"
  std::string slug() const { return id.substr(id.find('_') + 1); }   // "bahdanau"
};

// The directories NUMBER_NAME with a lesson.cpp under ROOT/lessons, in the order of their names.
std::vector<CourseLesson> find_lessons(const std::filesystem::path& root);

// A lesson that the table in ROOT/README.md lists as coming ("| 10 Luong | ... | coming |"), by its number or name.
struct ComingLesson {
  std::string number, name;
};
std::optional<ComingLesson> find_coming(const std::filesystem::path& root, std::string_view word);

struct Resolution {
  std::vector<std::string> ids;   // one: that is it; several: the word fits them all; none: unknown
  std::vector<std::string> near;  // of an unknown word: what was perhaps meant, best first
};

// "09", "9", "bahdanau", "09_bahdanau", the beginning of a name, or a path to the directory; upper case as lower case.
Resolution resolve_lesson(const std::vector<std::string>& ids, std::string_view word);

}  // namespace gradus
