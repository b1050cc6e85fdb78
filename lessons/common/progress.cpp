// The progress line: what it says, when it is drawn, and how several threads share it.
#include "lessons/common/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

namespace gradus {

namespace {

constexpr double seconds_between_draws = 0.1;
constexpr double seconds_until_forecast = 1.0;  // before that, the time left would be a guess

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string format_loss(double loss) {
  if (!std::isfinite(loss)) return fmt::format("{}", loss);
  return std::abs(loss) >= 1000 || (loss != 0 && std::abs(loss) < 0.001) ? fmt::format("{:.2e}", loss)
                                                                         : fmt::format("{:.4f}", loss);
}

}  // namespace

std::string format_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, std::min(seconds, 3.6e8)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string format_progress(const ProgressRow& row, int width, Lang lang) {
  // Parts in reading order, each with its rank: the highest ranks are dropped until the line fits.
  struct Part {
    int rank;
    std::string text;
  };
  const std::string total = fmt::format("{}", row.total_steps);
  std::vector<Part> parts;
  if (!row.name.empty()) parts.push_back({1, row.name});
  parts.push_back({0, fmt::format("{:>{}}/{}", row.point.step, total.size(), total)});
  parts.push_back({2, fmt::format("{} {}", tr(lang, "loss", "损失"), format_loss(row.point.loss))});
  if (row.point.accuracy) {
    parts.push_back({3, fmt::format("{} {:5.1f} %", tr(lang, "accuracy", "准确率"), 100 * *row.point.accuracy)});
  }
  const double rate = row.steps_per_second;
  if (rate > 0) parts.push_back({6, fmt::format("{:.{}f} {}", rate, rate < 10 ? 1 : 0, tr(lang, "steps/s", "步/秒"))});
  parts.push_back({5, format_duration(row.seconds)});
  if (row.seconds_left >= 0 && row.point.step < row.total_steps) {
    parts.push_back({4, fmt::format("{} {}", format_duration(row.seconds_left), tr(lang, "left", "剩余"))});
  }
  while (true) {
    std::string line;
    for (const Part& part : parts) line += (line.empty() ? "" : "  ") + part.text;
    if (parts.size() == 1 || display_width(line) <= width) return cut_to_width(line, width);
    parts.erase(
        std::max_element(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.rank < b.rank; }));
  }
}

Progress::Progress(const Terminal& terminal, Lang lang, std::vector<std::string> names, std::int64_t total_steps,
                   std::int64_t plain_every, std::function<double()> clock, std::function<void(std::string_view)> write)
    : terminal_(terminal),
      lang_(lang),
      plain_every_(plain_every > 0 ? plain_every : std::max<std::int64_t>(1, total_steps / 10)),
      clock_(clock ? std::move(clock) : steady_seconds),
      write_(write ? std::move(write) : say) {
  if (names.empty()) names.emplace_back();
  int name_width = 0;
  for (const std::string& name : names) name_width = std::max(name_width, display_width(name));
  for (const std::string& name : names) {
    ProgressRow row;
    row.name = pad_right(name, name_width);
    row.total_steps = total_steps;
    rows_.push_back(std::move(row));
  }
  printed_.assign(rows_.size(), 0);
  start_ = clock_();
  last_draw_ = start_ - 1;
}

Progress::~Progress() {
  try {
    finish();
  } catch (...) {  // a destructor may run while another error is on its way
  }
}

double Progress::seconds() const { return clock_() - start_; }

void Progress::report(std::size_t row_index, const ProgressPoint& point) {
  const std::lock_guard lock(mutex_);
  if (row_index >= rows_.size()) {
    throw std::out_of_range(fmt::format("progress: row {} of {}", row_index, rows_.size()));
  }
  ProgressRow& row = rows_[row_index];
  const double now = clock_();
  row.point = point;
  row.seconds = std::max(0.0, now - start_);
  const auto steps = static_cast<double>(point.step);
  row.steps_per_second = row.seconds > 0 ? steps / row.seconds : 0;
  const double done = point.work_done       ? *point.work_done
                      : row.total_steps > 0 ? steps / static_cast<double>(row.total_steps)
                                            : 0;
  const bool known = row.seconds >= seconds_until_forecast && done > 0 && done <= 1;
  row.seconds_left = known ? row.seconds / done - row.seconds : -1;
  if (finished_) return;

  const bool last = point.step >= row.total_steps;
  if (terminal_.live) {
    if (!last && now - last_draw_ < seconds_between_draws && now >= last_draw_) return;
    last_draw_ = now;
    erase();
    draw();
  } else if (last ? printed_[row_index] != point.step
                  : point.step / plain_every_ > printed_[row_index] / plain_every_) {
    printed_[row_index] = point.step;
    write_(format_progress(row, terminal_.width, lang_) + "\n");
  }
}

void Progress::print_above(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const bool redraw = rows_on_screen_ > 0;
  erase();
  write_(text);
  if (redraw) draw();
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  if (terminal_.live) {
    if (rows_on_screen_ == 0) return;
    erase();
    draw();
    write_("\n");
    return;
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].point.step > printed_[i]) write_(format_progress(rows_[i], terminal_.width, lang_) + "\n");
  }
}

// The cursor stays at the end of the last row, so that what somebody else prints begins there and loses nothing.
void Progress::draw() {
  std::string out;
  rows_on_screen_ = 0;
  for (const ProgressRow& row : rows_) {
    if (rows_on_screen_ > 0) out += '\n';
    // One column stays free: a full line would wrap on some terminals.
    out += row.point.step > 0 ? format_progress(row, terminal_.width - 1, lang_)
                              : cut_to_width(row.name, terminal_.width - 1);
    ++rows_on_screen_;
  }
  write_(out);
}

void Progress::erase() {
  if (rows_on_screen_ == 0) return;
  std::string out = "\r\x1b[2K";
  for (int i = 1; i < rows_on_screen_; ++i) out += "\x1b[1A\x1b[2K";
  rows_on_screen_ = 0;
  write_(out);
}

}  // namespace gradus
