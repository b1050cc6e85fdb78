// ./gradus watch: checks the current exercise at every save.
#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <vector>

#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/runner/exercise.h"
#include "lessons/runner/state.h"

namespace gradus {

namespace fs = std::filesystem;

namespace {

// What tells one save from the next. The file may be gone for a moment: editors rename.
struct Stamp {
  fs::file_time_type time{};
  std::uintmax_t size = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const fs::path& file) {
  std::error_code error;
  const Stamp stamp{fs::last_write_time(file, error), fs::file_size(file, error)};
  return error ? Stamp{} : stamp;
}

// While it lives, keys come one by one and are not shown; put back in the end, also after Ctrl-C.
class SingleKeys {
 public:
  SingleKeys() : is_terminal_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!is_terminal_) return;
    struct termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~SingleKeys() {
    if (is_terminal_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  SingleKeys(const SingleKeys&) = delete;
  SingleKeys& operator=(const SingleKeys&) = delete;

  // At the end of an input that is no terminal.
  static constexpr char no_more = '\4';

  // The next key within the time, or 0.
  char wait(int milliseconds) const {
    struct pollfd waiting = {STDIN_FILENO, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) <= 0) return 0;
    char key = 0;
    const ssize_t got = ::read(STDIN_FILENO, &key, 1);
    if (got == 0 && !is_terminal_) return no_more;
    return got == 1 ? key : '\0';
  }

 private:
  struct termios before_ {};
  bool is_terminal_;
};

class Watcher {
 public:
  Watcher(const Course& course, const CourseLesson& lesson, const Options& options)
      : course_(course), lesson_(&lesson), options_(options), terminal_(find_terminal(options)) {}

  int run() {
    if (const int code = take_up(*lesson_); code != 0) return code;
    check(false);
    while (!interrupted()) {
      const char key = pressed_ != 0 ? pressed_ : keys_.wait(30);
      pressed_ = 0;
      if (key == 'q' || key == SingleKeys::no_more) break;
      if (key == 'n') go_on();
      else answer(key);
      look_for_the_file();
      if (is_saved()) check(true);
    }
    return interrupted() ? 130 : 0;
  }

 private:
  void say_checking() const {
    if (terminal_.live) say(std::string(tr(options_.lang, "checking ...", "正在检查……")));
  }

  // Shows what the key asks for, if it asks for anything.
  void answer(char key) {
    if (key == 'h') say(next_hint(course_, *lesson_, "", false, options_.lang));
    else if (key == 'l') say(lesson_table(course_, options_));
    else return;
    say(keys_line());
  }

  // An empty file is one that an editor is about to write.
  bool is_saved() const {
    const Stamp now = stamp_of(file());
    return now != seen_ && now.size > 0;
  }

  // Editors take a file away for a moment when they save. One that stays away is gone, and that is said once; when it
  // is back it counts as saved, whatever its time is.
  void look_for_the_file() {
    std::error_code ignored;
    const auto now = std::chrono::steady_clock::now();
    if (fs::exists(file(), ignored)) {
      there_at_ = now;
    } else if (seen_ != Stamp{} && now - there_at_ > std::chrono::milliseconds(500)) {
      seen_ = Stamp{};
      say_gone();
    }
  }

  void say_gone() {
    const Lang lang = options_.lang;
    std::string text = fmt::format(fmt::runtime(tr(lang, "\n{} is gone: ./gradus start {} puts a new one there",
                                                   "\n{} 不见了：./gradus start {} 会放一份新的")),
                                   shown(file()), lesson_->number());
    std::error_code ignored;
    if (const fs::path kept = passed_copy(course_, *lesson_); fs::exists(kept, ignored)) {
      text += fmt::format(
          fmt::runtime(tr(lang, "; the last text that passed is kept in {}", "；最近一次通过的内容保存在 {}")),
          shown(kept));
    }
    say(wrap_to_width(text, terminal_.width) + "\n" + keys_line());
  }

  std::string shown(const fs::path& path) const { return fs::relative(path, course_.root).string(); }

  fs::path file() const { return exercise_files(course_, *lesson_).mine; }

  std::vector<std::string> display_arguments() const {
    std::vector<std::string> arguments = {options_.lang == Lang::zh ? "--lang=zh" : "--lang=en"};
    if (options_.plain) arguments.push_back("--plain");
    return arguments;
  }

  // Makes the lesson the one that is watched: starts it if need be, and builds its check.
  int take_up(const CourseLesson& lesson) {
    lesson_ = &lesson;
    std::error_code ignored;
    if (!fs::exists(file(), ignored)) {
      std::vector<std::string> arguments = display_arguments();
      arguments.push_back(lesson.number());
      if (const int code = start_command(course_, arguments); code != 0) return code;
    }
    return prepare_check(course_, lesson, terminal_, options_.lang);
  }

  std::string keys_line() const {
    return std::string(tr(options_.lang, "\n[h] hint  [l] list  [n] next lesson  [q] quit; a save checks again\n",
                          "\n[h] 提示  [l] 列表  [n] 下一课  [q] 退出；保存文件即重新检查\n"));
  }

  void check(bool was_saved) {
    seen_ = stamp_of(file());
    terminal_ = find_terminal(options_);  // its width may have changed
    say_checking();
    ExerciseOptions options;
    bool answered = false;
    options.stop = [&] { return breaks_off(answered); };
    const CheckReport report = check_file(course_, *lesson_, file(), options, options_.lang);
    there_at_ = std::chrono::steady_clock::now();
    if (terminal_.live && (report.stopped || answered)) say("\n");
    if (report.stopped) return;
    // From the file's own time on, so that noticing the save counts too.
    if (was_saved)
      seconds_.push_back(std::chrono::duration<double>(fs::file_time_type::clock::now() - seen_.time).count());
    if (interrupted()) return;
    if (terminal_.live && !answered) say("\x1b[2J\x1b[3J\x1b[H");  // the screen shows one verdict, and it stays
    if (!report.nothing.empty()) {
      say(report.nothing + "\n");
    } else {
      remember_check(course_, *lesson_, report);
      say(full_report(course_, *lesson_, report, terminal_, options_.lang));
      if (was_saved) say(timing());
      say(fmt::format(fmt::runtime(tr(options_.lang, "  file      {}\n", "  文件      {}\n")), shown(file())));
    }
    say(keys_line());
  }

  // While a check is running: keys are answered, and a save or a key that leads elsewhere ends it.
  bool breaks_off(bool& answered) {
    const char key = keys_.wait(0);
    if (key == 'q' || (key == 'n' && has_passed())) {
      pressed_ = key;
    } else if (key == 'h' || key == 'l' || key == 'n') {
      if (terminal_.live) say("\n");
      key == 'n' ? go_on() : answer(key);
      say_checking();
      answered = true;
    }
    return pressed_ != 0 || is_saved();
  }

  // From save to verdict: this one, and over the session.
  std::string timing() const {
    std::vector<double> sorted = seconds_;
    std::sort(sorted.begin(), sorted.end());
    return fmt::format(
        fmt::runtime(tr(options_.lang, "  saved     verdict {:.2f} s later (so far {}: median {:.2f}, worst {:.2f})\n",
                        "  保存后    {:.2f} 秒得到结论（共 {} 次：中位数 {:.2f}，最慢 {:.2f}）\n")),
        seconds_.back(), sorted.size(), sorted[sorted.size() / 2], sorted.back());
  }

  bool has_passed() const { return read_state(course_).get(lesson_->id, "state") == "passed"; }

  // To the next lesson with an exercise, once this one has passed.
  void go_on() {
    const Lang lang = options_.lang;
    if (!has_passed()) {
      say(fmt::format(fmt::runtime(tr(lang, "\nnot passed yet: n goes on once the check of lesson {} finds nothing\n",
                                      "\n还没有通过：第 {} 课的检查全部通过之后，n 才会继续\n")),
                      lesson_->number()) +
          keys_line());
      return;
    }
    if (const CourseLesson* next = next_exercise(course_, read_state(course_), lesson_->id)) {
      if (take_up(*next) == 0) check(false);
      return;
    }
    say(std::string(tr(lang, "nothing is left: all exercises are passed\n", "全部练习都已通过\n")) + keys_line());
  }

  const Course& course_;
  const CourseLesson* lesson_;
  Options options_;
  Terminal terminal_;
  SingleKeys keys_;
  char pressed_ = 0;  // during a check, and still to be done
  Stamp seen_;
  std::chrono::steady_clock::time_point there_at_;
  std::vector<double> seconds_;
};

}  // namespace

int watch_command(const Course& course, const std::vector<std::string>& arguments) {
  const CommandSpec spec = {
      .program = "./gradus watch",
      .about_en = "Checks your exercise whenever you save it. Keys: h hint, l list, n next lesson, q quit.",
      .about_zh = "每次保存都检查你的练习。按键：h 提示，l 列表，n 下一课，q 退出。",
      .options = OptionSet::display,
      .words = {{"LESSON", "number or name; without it the current one", "编号或名字；省略则为当前这一课", false,
                 false}},
      .extras = {},
      .stop_at_word = false,
      .defaults = course.defaults};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) return leave(parsed);
  const CourseLesson* lesson = current_lesson(course, parsed.words, parsed.options.lang);
  if (lesson == nullptr) return 2;
  if (!has_exercise(course, *lesson)) return no_exercise(course, *lesson, parsed.options.lang);
  return Watcher(course, *lesson, parsed.options).run();
}

}  // namespace gradus
