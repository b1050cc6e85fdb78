// The line that shows how training goes: rewritten in place on a terminal, one plain line now and then elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/common/terminal.h"
#include "lessons/common/text.h"

namespace gradus {

// What a training loop reports after a step.
struct ProgressPoint {
  std::int64_t step = 0;  // steps done
  double loss = 0;
  std::optional<double> accuracy = {};   // 0 to 1
  std::optional<double> work_done = {};  // share of the whole work, 0 to 1, where steps do not cost the same
};

// One model's row as it is shown.
struct ProgressRow {
  std::string name;  // empty where only one model trains
  ProgressPoint point;
  std::int64_t total_steps = 0;
  double seconds = 0;  // since the start
  double steps_per_second = 0;
  double seconds_left = 0;  // negative: not known yet
};

// "0:07", "12:34", "1:02:03"
std::string format_duration(double seconds);

// The row in at most `width` columns; what matters least (time left, elapsed, rate) goes first when there is no room.
std::string format_progress(const ProgressRow& row, int width, Lang lang);

// Any number of models may report at once, each from its own thread. Nothing is shown before the first report.
//   Progress progress(terminal, lang, {"attention", "no attention"}, steps);
//   progress.report(0, {.step = i, .loss = loss, .accuracy = accuracy});
class Progress {
 public:
  // plain_every: without a live line, a row is printed every so many steps (0: a tenth of total_steps).
  // clock: seconds since some moment, for tests; the steady clock if empty.
  Progress(const Terminal& terminal, Lang lang, std::vector<std::string> names, std::int64_t total_steps,
           std::int64_t plain_every = 0, std::function<double()> clock = {},
           std::function<void(std::string_view)> write = {});
  // Leaves the last state of the rows on the screen.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Shows the row, at most ten times a second (the last step always). Throws std::out_of_range for an unknown row.
  void report(std::size_t row, const ProgressPoint& point);

  // Prints text above the live rows, for a picture while training goes on.
  void print_above(std::string_view text);

  // Shows the last state of each row and goes to a new line; afterwards nothing is redrawn. May be called twice.
  void finish();

  // Seconds since the object was made.
  double seconds() const;

 private:
  void draw();   // the live rows, at the cursor
  void erase();  // the live rows that are on the screen

  Terminal terminal_;
  Lang lang_;
  std::vector<ProgressRow> rows_;
  std::vector<std::int64_t> printed_;  // step of the last plain line of each row
  std::int64_t plain_every_;
  std::function<double()> clock_;
  std::function<void(std::string_view)> write_;
  double start_ = 0;
  double last_draw_ = 0;
  int rows_on_screen_ = 0;
  bool finished_ = false;
  mutable std::mutex mutex_;
};

}  // namespace gradus
