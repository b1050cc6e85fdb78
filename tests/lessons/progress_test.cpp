// The progress line: what it says at each width, and what goes to a terminal and to a pipe.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lessons/common/progress.h"

using namespace gradus;

namespace {

// A screen that keeps what is written, and a clock that a test moves.
struct Bench {
  std::string written;
  double now = 100;

  Progress make(const Terminal& terminal, std::vector<std::string> names, std::int64_t steps, std::int64_t every = 0) {
    return Progress(
        terminal, Lang::en, std::move(names), steps, every, [this] { return now; },
        [this](std::string_view text) { written += text; });
  }
};

ProgressRow full_row() {
  ProgressRow row;
  row.name = "attention";
  row.point = {.step = 120, .loss = 1.23456, .accuracy = 0.9876};
  row.total_steps = 4500;
  row.seconds = 65;
  row.steps_per_second = 25.4;
  row.seconds_left = 3725;
  return row;
}

}  // namespace

TEST_SUITE("progress") {
  TEST_CASE("a line gives up what matters least until it fits") {
    struct Row {
      int width;
      std::string line;
    };
    const Row rows[] = {
        {80, "attention   120/4500  loss 1.2346  accuracy  98.8 %  25 steps/s  1:05"},
        {200, "attention   120/4500  loss 1.2346  accuracy  98.8 %  25 steps/s  1:05  1:02:05 left"},
        {70, "attention   120/4500  loss 1.2346  accuracy  98.8 %  1:05  1:02:05 left"},
        {51, "attention   120/4500  loss 1.2346  accuracy  98.8 %"},
        {34, "attention   120/4500  loss 1.2346"},
        {20, "attention   120/4500"},
        {12, " 120/4500"},
        {5, " 1..."},
    };
    for (const Row& row : rows) {
      CAPTURE(row.width);
      const std::string line = format_progress(full_row(), row.width, Lang::en);
      CHECK(display_width(line) <= row.width);
      if (row.width != 80 && row.width != 70) CHECK(line == row.line);
    }
    CHECK(format_progress(full_row(), 200, Lang::zh) ==
          "attention   120/4500  损失 1.2346  准确率  98.8 %  25 步/秒  1:05  1:02:05 剩余");
  }

  TEST_CASE("durations") {
    CHECK(format_duration(0) == "0:00");
    CHECK(format_duration(59.9) == "0:59");
    CHECK(format_duration(3599) == "59:59");
    CHECK(format_duration(3725) == "1:02:05");
    CHECK(format_duration(-5) == "0:00");
    CHECK(format_duration(1e30) == "100000:00:00");
  }

  TEST_CASE("into a pipe: plain lines now and then, no escape sequence") {
    Bench bench;
    {
      Progress progress = bench.make({}, {}, 100, 40);
      for (int step = 1; step <= 100; ++step) {
        bench.now += 0.5;
        progress.report(0, {.step = step, .loss = 2.0 / step});
      }
    }
    CHECK(bench.written ==
          " 40/100  loss 0.0500  2.0 steps/s  0:20  0:30 left\n"
          " 80/100  loss 0.0250  2.0 steps/s  0:40  0:10 left\n"
          "100/100  loss 0.0200  2.0 steps/s  0:50\n");
  }

  TEST_CASE("an interrupted run shows where it stopped, once") {
    Bench bench;
    {
      Progress progress = bench.make({}, {}, 100, 40);
      bench.now += 2;
      progress.report(0, {.step = 7, .loss = 1});
      progress.finish();
    }
    CHECK(bench.written == "  7/100  loss 1.0000  3.5 steps/s  0:02  0:26 left\n");
  }

  TEST_CASE("on a terminal: rows are rewritten in place, at most ten times a second") {
    Bench bench;
    const Terminal terminal = {.is_tty = true, .live = true, .width = 40};
    {
      Progress progress = bench.make(terminal, {"a", "bb"}, 10);
      progress.report(0, {.step = 1, .loss = 1});
      CHECK(bench.written == "a    1/10  loss 1.0000  0:00\nbb");
      bench.written.clear();
      bench.now += 0.05;
      progress.report(1, {.step = 1, .loss = 2});
      CHECK(bench.written.empty());
      bench.now += 0.06;
      progress.report(1, {.step = 2, .loss = 2});
      CHECK(bench.written.starts_with("\r\x1b[2K\x1b[1A\x1b[2Ka    1/10"));
      CHECK(bench.written.find("\nbb   2/10  loss 2.0000") != std::string::npos);
      bench.written.clear();
      progress.print_above("a picture\n");
      CHECK(bench.written.starts_with("\r\x1b[2K\x1b[1A\x1b[2Ka picture\na    1/10"));
      bench.written.clear();
    }
    CHECK(bench.written.ends_with("\n"));
  }

  TEST_CASE("time left follows the work done where it is told") {
    Bench bench;
    Progress progress = bench.make({}, {}, 100, 10);
    bench.now += 10;
    progress.report(0, {.step = 10, .loss = 1, .work_done = 0.5});
    CHECK(bench.written.find("0:10  0:10 left") != std::string::npos);
  }

  TEST_CASE("a clock that jumps back does no harm") {
    Bench bench;
    Progress progress = bench.make({.is_tty = true, .live = true, .width = 60}, {}, 100);
    bench.now -= 1000;
    progress.report(0, {.step = 1, .loss = 1});
    bench.now += 0.2;
    progress.report(0, {.step = 2, .loss = 1});
    CHECK(bench.written.find("2/100  loss 1.0000  0:00") != std::string::npos);
  }

  TEST_CASE("two threads report at once and every line stays whole") {
    Bench bench;
    {
      Progress progress = bench.make({}, {"x", "y"}, 1000, 100);
      const auto train = [&](std::size_t row) {
        for (int step = 1; step <= 1000; ++step) progress.report(row, {.step = step, .loss = 1});
      };
      std::thread other(train, 1);
      train(0);
      other.join();
    }
    std::size_t lines = 0;
    for (std::size_t at = 0; at < bench.written.size(); ++lines) {
      const std::size_t end = bench.written.find('\n', at);
      const std::string line = bench.written.substr(at, end - at);
      CHECK((line.starts_with("x  ") || line.starts_with("y  ")));
      at = end + 1;
    }
    CHECK(lines == 20);
  }

  TEST_CASE("an unknown row is an error") {
    Bench bench;
    Progress progress = bench.make({}, {}, 10);
    CHECK_THROWS_AS(progress.report(1, {}), std::out_of_range);
  }
}
