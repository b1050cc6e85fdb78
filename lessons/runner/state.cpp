// The state file: parsing, printing, and changing it under a lock.
#include "lessons/runner/state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>

#include "lessons/common/files.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_damaged(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(text.substr(at, end - at));
    at = end + 1;
    if (line.find('\0') != line.npos) return true;
    const bool known = line.empty() || line.front() == '#' || (line.front() == '[' && line.back() == ']') ||
                       (line.find('=') != line.npos && line.front() != '=');
    if (!known) return true;
  }
  return false;
}

fs::path state_file(const Course& course) { return course.root / "work" / "state.txt"; }

CourseState load(const Course& course) {
  std::error_code ignored;
  if (!fs::exists(state_file(course), ignored)) return {};
  return parse_state(read_file(state_file(course)));
}

}  // namespace

std::string CourseState::get(const std::string& section, const std::string& key) const {
  const auto found = sections.find(section);
  if (found == sections.end()) return "";
  const auto value = found->second.find(key);
  return value == found->second.end() ? "" : value->second;
}

void CourseState::set(const std::string& section, const std::string& key, const std::string& value) {
  if (value.empty()) sections[section].erase(key);
  else sections[section][key] = value;
}

CourseState parse_state(std::string_view text) {
  CourseState state;
  std::string section;
  while (!text.empty()) {
    const std::string_view line = trimmed(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), text.find('\n') == text.npos ? text.size() : text.find('\n') + 1));
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2);
    } else if (const std::size_t equals = line.find('='); equals != line.npos && equals > 0) {
      state.set(section, std::string(trimmed(line.substr(0, equals))), std::string(trimmed(line.substr(equals + 1))));
    }
  }
  return state;
}

std::string to_text(const CourseState& state) {
  std::string out = "# Where you are in the course. ./gradus reads and writes this file; you may read it too.\n";
  for (const auto& [section, values] : state.sections) {
    if (values.empty()) continue;
    if (!section.empty()) out += "\n[" + section + "]\n";
    for (const auto& [key, value] : values) out += key + " = " + value + "\n";
  }
  return out;
}

CourseState read_state(const Course& course) {
  try {
    return load(course);
  } catch (const FileError&) { return {}; }
}

void update_state(const Course& course, const std::function<void(CourseState&)>& change) {
  std::error_code ignored;  // writing says more
  fs::create_directories(course.root / "work", ignored);
  const fs::path lock_file = course.root / "work" / ".lock";
  const int lock = ::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock >= 0) ::flock(lock, LOCK_EX);
  try {
    CourseState state = load(course);
    change(state);
    write_file(state_file(course), to_text(state));
  } catch (...) {
    if (lock >= 0) ::close(lock);
    throw;
  }
  if (lock >= 0) ::close(lock);
}

void mend_state(const Course& course) {
  const fs::path file = state_file(course), kept = file.string() + ".damaged";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return;
  try {
    const std::string text = read_file(file);
    if (!is_damaged(text)) return;
    update_state(course, [&](CourseState&) { write_file(kept, text); });
  } catch (const FileError&) { return; }  // who writes the state next says why that is not possible
  misuse("./gradus",
         tr(course.defaults.lang,
            "work/state.txt was damaged; it is kept as work/state.txt.damaged, and what could be read of it counts",
            "work/state.txt 已损坏；原文件保存为 work/state.txt.damaged，其中能读出的部分继续有效"),
         course.defaults.lang);
}

void try_update_state(const Course& course, const std::function<void(CourseState&)>& change) {
  try {
    update_state(course, change);
  } catch (const std::exception& error) { misuse("./gradus", error.what(), course.defaults.lang); }
}

std::string text_hash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return fmt::format("{:016x}", hash);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

}  // namespace gradus
