// Scanning the lessons' directories, and finding the one that a word names.
#include "lessons/runner/course.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <system_error>

#include "lessons/common/files.h"
#include "lessons/common/near.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string without_zeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return std::string(digits);
}

bool is_lesson_name(std::string_view name) {
  const std::size_t bar = name.find('_');
  return bar != std::string_view::npos && bar + 1 < name.size() && all_digits(name.substr(0, bar));
}

// The file's text, or nothing: a lesson without a note is still a lesson.
std::string text_of(const fs::path& file) {
  try {
    return read_file(file);
  } catch (const FileError&) { return ""; }
}

// The first heading without "Lesson 09:" or "第 09 课：" before it.
std::string title_of(std::string_view readme) {
  std::size_t at = 0;
  while (at < readme.size() && readme.substr(at, 2) != "# ") {
    at = readme.find('\n', at);
    at = at == std::string_view::npos ? readme.size() : at + 1;
  }
  std::string_view title = readme.substr(std::min(at + 2, readme.size()));
  title = title.substr(0, title.find_first_of("\r\n"));
  const auto skip = [&](std::string_view front) {
    if (title.starts_with(front)) title.remove_prefix(front.size());
    while (title.starts_with(' ')) title.remove_prefix(1);
  };
  for (const std::string_view word : {"Lesson", "第"}) skip(word);
  if (!title.empty() && is_digit(title.front())) {
    while (!title.empty() && is_digit(title.front())) title.remove_prefix(1);
    for (const std::string_view mark : {"", "课", ":", "：", ".", "·", "-"}) skip(mark);
  }
  return std::string(title);
}

std::optional<int> minutes_of(std::string_view readme) {
  const std::size_t word = readme.substr(0, 4096).find(" minutes");
  if (word == std::string_view::npos) return std::nullopt;
  std::size_t start = word;
  while (start > 0 && is_digit(readme[start - 1])) --start;
  int minutes = 0;
  const auto [end, status] = std::from_chars(readme.data() + start, readme.data() + word, minutes);
  if (status != std::errc() || end != readme.data() + word) return std::nullopt;
  return minutes;
}

}  // namespace

std::vector<CourseLesson> find_lessons(const fs::path& root) {
  std::vector<CourseLesson> lessons;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root / "lessons", error)) {
    const std::string name = entry.path().filename().string();
    if (!is_lesson_name(name) || !fs::exists(entry.path() / "lesson.cpp", error)) continue;
    const std::string english = text_of(entry.path() / "README.md");
    lessons.push_back({.id = name,
                       .title_en = title_of(english),
                       .title_zh = title_of(text_of(entry.path() / "README.zh.md")),
                       .minutes = minutes_of(english)});
    CourseLesson& lesson = lessons.back();
    if (lesson.title_en.empty()) lesson.title_en = lesson.slug();
    if (lesson.title_zh.empty()) lesson.title_zh = lesson.title_en;
  }
  std::sort(lessons.begin(), lessons.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return lessons;
}

std::optional<ComingLesson> find_coming(const fs::path& root, std::string_view word) {
  const std::string readme = text_of(root / "README.md"), wanted = lower(word);
  for (std::size_t at = 0; at < readme.size();) {
    const std::size_t end = std::min(readme.find('\n', at), readme.size());
    const std::string_view row = std::string_view(readme).substr(at, end - at);
    at = end + 1;
    if (!row.starts_with("| ") || !row.ends_with("| coming |")) continue;
    const std::string_view cell = row.substr(2, row.find(" |") - 2);
    const std::size_t blank = std::min(cell.find(' '), cell.size() - 1);
    const std::string number(cell.substr(0, blank)), name(cell.substr(blank + 1));
    const bool same_number = all_digits(wanted) && all_digits(number) && without_zeros(number) == without_zeros(wanted);
    if (same_number || lower(name) == wanted) return ComingLesson{number, name};
  }
  return std::nullopt;
}

Resolution resolve_lesson(const std::vector<std::string>& ids, std::string_view word) {
  // A path, as the shell completes it: only its last part counts.
  while (word.ends_with('/')) word.remove_suffix(1);
  if (const std::size_t bar = word.rfind('/'); bar != std::string_view::npos) word.remove_prefix(bar + 1);
  const std::string wanted = lower(word);
  Resolution found;
  if (wanted.empty()) return found;
  const auto slug = [](const std::string& id) { return lower(std::string_view(id).substr(id.find('_') + 1)); };

  if (all_digits(wanted)) {
    for (const std::string& id : ids) {
      if (without_zeros(id.substr(0, id.find('_'))) == without_zeros(wanted)) found.ids.push_back(id);
    }
    return found;
  }
  for (const std::string& id : ids) {
    if (lower(id) == wanted || slug(id) == wanted) found.ids.push_back(id);
  }
  if (!found.ids.empty()) return found;
  for (const std::string& id : ids) {
    if (lower(id).starts_with(wanted) || slug(id).starts_with(wanted)) found.ids.push_back(id);
  }
  if (!found.ids.empty()) return found;

  std::vector<std::string> slugs;
  for (const std::string& id : ids) slugs.push_back(slug(id));
  for (const std::string& name : near_names(wanted, slugs)) {
    for (const std::string& id : ids) {
      if (slug(id) == name) found.near.push_back(id);
    }
  }
  // Perhaps the word is from the middle of the name, or its beginning was mistyped: "check", "bahd" for "bah...".
  for (const std::string& id : ids) {
    const bool inside = wanted.size() >= 3 && slug(id).find(wanted) != std::string::npos;
    const bool beginning = wanted.size() >= 4 && edit_distance(wanted, slug(id).substr(0, wanted.size())) <= 1;
    if ((inside || beginning) && std::find(found.near.begin(), found.near.end(), id) == found.near.end()) {
      found.near.push_back(id);
    }
  }
  return found;
}

}  // namespace gradus
