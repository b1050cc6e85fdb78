// ./gradus bench: times the cases, one after the other or in turn with PyTorch, and prints a table.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>

#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/near.h"
#include "lessons/common/plot.h"
#include "lessons/common/table.h"
#include "nn/formats/json.h"
#include "tensor/kernels/threads.h"
#include "tests/bench/machine.h"
#include "tests/bench/peer.h"
#include "tests/bench/scaling.h"
#include "tests/bench/workloads.h"

namespace gradus::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Seconds of processor time that this process has used: what other processes take from it does not count.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Measured {
  double time = 0;    // median of one run, in seconds
  double memory = 0;  // megabytes above the process's base, at most
};

struct Result {
  Measured own, peer;
  double flop_rate = 0;  // of our own, FLOP a second
  double nodes = 0;      // on the tape of one run
};

struct Row {
  const Case* what;
  Result result;
};

// Seconds on the wall: with several threads only these tell who is quicker.
double wall_seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Runs for so many seconds, at least once, and adds the time of a run: short ones go several at a time, because the
// processor's clock is a system call of a microsecond, after which the caches are somebody else's.
void run_for(const Workload& workload, double seconds, double (*clock)(), std::vector<double>& times) {
  constexpr double worth_a_look = 1e-3;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  int together = 1;
  do {
    const double start = clock();
    for (int i = 0; i < together; ++i) workload.run();
    const double each = (clock() - start) / together;
    times.push_back(each / workload.per_run);
    together = std::max(1, static_cast<int>(worth_a_look / std::max(each, 1e-6)));
  } while (Clock::now() < end);
}

struct Plan {
  std::optional<std::string> python;  // of the peer
  fs::path script;
  double seconds = 1;  // of each side and case
  int threads = 1;     // above 1: one thread in turn with so many, by the wall's clock
  bool busy = false;   // beside a program that never rests
};

// A program that never rests, as long as this lives; it ends with its parent as well.
class Neighbour {
 public:
  explicit Neighbour(bool wanted) {
    const pid_t parent = ::getpid();
    if (wanted && (process_ = ::fork()) == 0) {
      while (::getppid() == parent) {}
      _exit(0);
    }
  }
  ~Neighbour() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

 private:
  pid_t process_ = -1;
};

// Both sides in turn, five rounds each, so that what else the machine does hits both alike.
Result measure(const Case& what, const Plan& plan) {
  constexpr int rounds = 5;
  const double base = memory_now();
  const Workload workload = what.make();
  std::optional<Peer> peer;
  if (plan.python && !what.peer.empty()) peer.emplace(*plan.python, plan.script, what.peer);
  if (peer && workload.loss) {
    const double own = workload.loss(), other = peer->loss();
    if (!(std::abs(own - other) <= 1e-4 * std::abs(other)))
      throw std::runtime_error(fmt::format("the loss is {} here and {} in PyTorch: not the same model", own, other));
  }
  const Neighbour neighbour(plan.busy);
  std::vector<double> own, other, ignored;
  const auto clock = plan.threads > 1 ? wall_seconds : processor_seconds;
  run_for(workload, plan.seconds / rounds, clock, ignored);  // pages are touched, clocks rise
  if (peer) peer->run(plan.seconds / rounds);
  for (int round = 0; round < rounds && !interrupted(); ++round) {
    run_for(workload, plan.seconds / rounds, clock, own);
    if (plan.threads > 1) {
      use_threads(plan.threads);
      run_for(workload, plan.seconds / rounds, clock, other);
      use_threads(1);
    }
    if (!peer) continue;
    const std::vector<double> times = peer->run(plan.seconds / rounds);
    other.insert(other.end(), times.begin(), times.end());
  }
  Result result;
  result.own = {median(own), memory_peak() - base};
  if (plan.threads > 1) result.peer.time = median(other);
  if (workload.nodes) result.nodes = static_cast<double>(workload.nodes());
  if (peer) {
    const std::vector<double> used = peer->memory();
    result.peer = {median(other), used.at(0) - used.at(1)};
  }
  result.flop_rate = workload.flops / workload.per_run / result.own.time;
  return result;
}

// In a process of its own, so that no case finds the memory of the one before it.
Result measure_apart(const Case& what, const Plan& plan) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe for another process");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no other process can be started");
  if (child == 0) {
    int code = 0;
    try {
      const Result result = measure(what, plan);
      code = ::write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", what.name, error.what());
      code = 1;
    }
    _exit(code);
  }
  ::close(ends[1]);
  Result result;
  const bool whole = ::read(ends[0], &result, sizeof result) == sizeof result;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (!whole) throw std::runtime_error(what.name + " could not be measured");
  return result;
}

// Seconds that an op on one number takes, forward and backward: what a node costs. In a process of its own as well.
double smallest_op() {
  for (const Case& c : cases()) {
    if (c.name == "chain_tanh_1") return measure_apart(c, Plan{}).own.time;
  }
  return 0;
}

std::string number(double value) {
  return fmt::format("{:.{}f}", value, value < 0.1 ? 4 : value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

// What the times are compared with.
struct Scale {
  double peak = 0;  // FLOP a second of one core
  double node = 0;  // seconds that the smallest op takes, forward and backward
};

std::string table_of(const std::vector<Row>& rows, const Scale& scale, const Plan& plan, const Terminal& terminal) {
  const bool against = plan.python.has_value(), threads = plan.threads > 1;
  std::vector<std::string> headings{"case", "gradus"};
  if (against) headings.insert(headings.end(), {"torch", "ratio"});
  if (threads) headings = {"case", "1 thread", fmt::format("{} threads", plan.threads), "ratio"};
  if (!against) headings.push_back("GFLOP/s");  // beside the peer's columns there is no room for it
  headings.insert(headings.end(), {"peak", "nodes", "MB"});
  if (against) headings.push_back("torch MB");
  std::vector<Align> aligns(headings.size(), Align::right);
  aligns[0] = Align::left;
  Table table(headings, aligns);
  for (const Row& row : rows) {
    const Result& result = row.result;
    const double unit = row.what->unit_second;
    std::vector<std::string> cells{row.what->name, number(result.own.time * unit) + " " + row.what->unit};
    if (against || threads) {
      const bool known = result.peer.time > 0;
      const double ratio = threads ? result.own.time / result.peer.time : result.peer.time / result.own.time;
      cells.push_back(known ? number(result.peer.time * unit) + " " + row.what->unit : "");
      cells.push_back(known ? number(ratio) : "");
    }
    const bool counted = result.flop_rate > 0;
    if (!against) cells.push_back(counted ? fmt::format("{:.0f}", result.flop_rate / 1e9) : "");
    cells.push_back(counted ? fmt::format("{:.0f} %", 100 * result.flop_rate / scale.peak) : "");
    cells.push_back(result.nodes > 0 ? fmt::format("{:.0f} %", 100 * result.nodes * scale.node / result.own.time) : "");
    cells.push_back(fmt::format("{:.1f}", result.own.memory));
    if (against) cells.push_back(result.peer.time > 0 ? fmt::format("{:.1f}", result.peer.memory) : "");
    table.add_row(cells);
  }
  return table.text(terminal);
}

Json json_of(const std::vector<Row>& rows, const Scale& scale, const Plan& plan) {
  Json list = Json::array();
  for (const Row& row : rows) {
    Json entry = Json::object();
    entry.set("case", row.what->name);
    entry.set("seconds", row.result.own.time);
    entry.set("flop_rate", row.result.flop_rate);
    entry.set("megabytes", row.result.own.memory);
    if (row.result.nodes > 0) entry.set("nodes", row.result.nodes);
    if (plan.threads > 1) {
      entry.set("threads", static_cast<std::int64_t>(plan.threads));
      entry.set("seconds_with_threads", row.result.peer.time);
    } else if (row.result.peer.time > 0) {
      entry.set("torch_seconds", row.result.peer.time);
      entry.set("torch_megabytes", row.result.peer.memory);
      entry.set("ratio", row.result.peer.time / row.result.own.time);
    }
    list.push_back(entry);
  }
  Json all = Json::object();
  all.set("machine", machine_name());
  all.set("peak_flop_rate", scale.peak);
  all.set("node_seconds", scale.node);
  all.set("cases", list);
  return all;
}

// The quickest of many steps at every size, the sizes in turn: what other programs do to one of them would bend the
// curve, and a minimum is what they did not touch.
std::vector<double> quickest(const Scaling& scaling, double seconds) {
  std::vector<Workload> workloads;
  for (const double size : scaling.sizes) workloads.push_back(scaling.make(size));
  std::vector<double> result(workloads.size(), std::numeric_limits<double>::infinity());
  constexpr int rounds = 8;
  for (int round = 0; round < rounds && !interrupted(); ++round) {
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      std::vector<double> times;
      run_for(workloads[i], seconds / rounds, processor_seconds, times);
      for (const double t : times) result[i] = std::min(result[i], t);
    }
  }
  return result;
}

// The curves as a table, and in `picture` where that is wanted.
std::string scaling_table(const Plan& plan, const std::optional<fs::path>& picture, const Terminal& terminal) {
  Table table({"d = 64", "law", "ms at four sizes", "off by"}, {Align::left, Align::left, Align::left, Align::right});
  LineChart chart;
  chart.title = "Time of a training step over what its law says, d = 64";
  chart.x_label = "size, as a multiple of the smallest";
  chart.y_label = "time / law";
  chart.x_log = true;
  chart.y_min = 0.8, chart.y_max = 1.2;
  chart.lines = {{"law", 1}};
  for (const Scaling& scaling : scalings()) {
    fmt::print(stderr, "{}\n", scaling.name);
    const std::vector<double> times = quickest(scaling, plan.seconds);
    const Fit law = fit(scaling, times);
    Series& series = chart.series.emplace_back();
    series.name = scaling.name;
    std::string sizes;
    for (std::size_t i = 0; i < times.size(); ++i) {
      series.x.push_back(scaling.sizes[i] / scaling.sizes[0]);
      series.y.push_back(times[i] / law.at(scaling, scaling.sizes[i]));
      sizes += fmt::format("{}{:.0f}: {}", i ? ", " : "", scaling.sizes[i], number(times[i] * 1e3));
    }
    table.add_row({scaling.name, scaling.law, sizes, fmt::format("{:.1f} %", 100 * law.deviation)});
  }
  if (picture) write_file(*picture, draw_svg(chart));
  return table.text(terminal);
}

// Puts the text into the page, between the line that names this command and the next end mark.
void renew_page(const fs::path& page, const std::string& command, const std::string& text) {
  const std::string old = read_file(page), mark = "<!-- bench: " + command + " -->\n", close = "<!-- end -->";
  const std::size_t begin = old.find(mark), end = begin == std::string::npos ? begin : old.find(close, begin);
  if (end == std::string::npos) throw std::invalid_argument(page.string() + " has no block with the line " + mark);
  write_file(page, old.substr(0, begin) + mark + "```text\n" + text + "```\n" + old.substr(end));
}

// The cases that the words name, whole or by their beginning; all of them without a word.
std::vector<const Case*> chosen(const std::vector<std::string>& words) {
  std::vector<const Case*> result;
  std::vector<std::string> names;
  for (const Case& c : cases()) {
    names.push_back(c.name);
    const bool wanted = std::any_of(words.begin(), words.end(), [&](const auto& w) { return c.name.starts_with(w); });
    if (words.empty() || wanted) result.push_back(&c);
  }
  for (const std::string& word : words) {
    if (std::any_of(names.begin(), names.end(), [&](const auto& n) { return n.starts_with(word); })) continue;
    const std::vector<std::string> near = near_names(word, names);
    std::string known;
    for (const std::string& name : near.empty() ? names : near) known += " " + name;
    throw std::invalid_argument(
        fmt::format("no case '{}'; {}:{}", printable(word), near.empty() ? "the cases are" : "did you mean", known));
  }
  return result;
}

int run(const std::vector<std::string>& arguments) {
  CommandSpec spec;
  spec.program = "./gradus bench";
  spec.about_en =
      "Times training steps, single ops and matrix products on one thread. With --against torch PyTorch runs the same "
      "in "
      "turn.";
  spec.about_zh = "在单线程上测量训练步、单个运算和矩阵乘积的时间。加 --against torch 则与 PyTorch 轮流运行。";
  spec.words = {{"CASE", "a case, or the beginning of its name: bahdanau, gru_d64",
                 "测试项或其名字开头：bahdanau、gru_d64", false, true}};
  spec.extras = {
      {"--against", "PEER", "torch: compare with PyTorch, needs python3-torch",
       "torch：与 PyTorch 比较，需要 python3-torch"},
      {"--seconds", "S", "seconds for each side of a case (1)", "每项每一方的秒数（1）"},
      {"--threads", "N", "one thread in turn with N, timed by the wall's clock",
       "单线程与 N 个线程轮流运行，按实际时间计"},
      {"--busy", "", "beside a program that never rests", "旁边有一个从不停歇的程序"},
      {"--linear", "", "how time grows with length and batch, instead of cases",
       "不测各项，而测时间随长度和批量的增长"},
      {"--page", "", "renew the block of docs/performance.md that shows this", "更新 docs/performance.md 中对应的部分"},
      {"--json", "", "print JSON", "以 JSON 输出"},
      {"--root", "DIR", "the checkout", "代码所在目录"}};
  const ParsedCommand parsed = parse_command(spec, arguments);
  if (parsed.exit_code) {
    std::fwrite(parsed.text.data(), 1, parsed.text.size(), *parsed.exit_code == 0 ? stdout : stderr);
    return *parsed.exit_code;
  }
  auto extra = [&](const char* name, const std::string& otherwise) {
    const auto found = parsed.extras.find(name);
    return found == parsed.extras.end() ? otherwise : found->second;
  };
  auto positive = [&](const char* name) {
    const std::string text = extra(name, "1");
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 3600))
      throw std::invalid_argument(fmt::format("{} {}: a number above 0 is needed", name, printable(text)));
    return value;
  };
  Plan plan;
  plan.seconds = positive("--seconds");
  plan.threads = static_cast<int>(std::min(positive("--threads"), 64.0));
  plan.busy = parsed.extras.contains("--busy");
  plan.script = fs::path(extra("--root", ".")) / "tests/bench/peer_torch.py";
  const std::string against = extra("--against", "");
  if (!against.empty() && against != "torch") throw std::invalid_argument("--against knows torch only");
  if (!against.empty()) {
    plan.python = find_torch();
    if (plan.python && !torch_is_fast(*plan.python)) {
      fmt::print(
          stderr,
          "PyTorch is slower here than it could be: apt-get install libopenblas0-pthread libtcmalloc-minimal4\n");
    }
    if (!plan.python) throw std::invalid_argument("there is no PyTorch here; on Debian: apt-get install python3-torch");
  }
  if (plan.threads > 1 && plan.python)
    throw std::invalid_argument("PyTorch is compared with one thread: leave out one of --threads and --against");
  const fs::path docs = fs::path(extra("--root", ".")) / "docs";
  const bool page = parsed.extras.contains("--page");
  Terminal terminal = find_terminal(parsed.options);
  if (page) terminal = {.unicode = true, .width = 120};
  std::string command = "./gradus bench";
  for (const std::string& argument : arguments) {
    if (argument != "--root" && argument != extra("--root", ".")) command += " " + argument;
  }
  if (parsed.extras.contains("--linear")) {
    const auto picture = page ? std::optional(docs / "performance_linear.svg") : std::nullopt;
    const std::string text = machine_name() + "\n\n" + scaling_table(plan, picture, terminal);
    say(text);
    if (page) renew_page(docs / "performance.md", command, text);
    return interrupted() ? 130 : 0;
  }
  const std::vector<const Case*> list = chosen(parsed.words);
  const Scale scale{measured_peak(), smallest_op()};
  std::vector<Row> rows;
  for (const Case* c : list) {
    if (interrupted()) break;
    fmt::print(stderr, "{}\n", c->name);
    rows.push_back({c, measure_apart(*c, plan)});
  }
  if (parsed.extras.contains("--json")) {
    say(to_text(json_of(rows, scale, plan)) + "\n");
    return interrupted() ? 130 : 0;
  }
  const std::string text = fmt::format(
      "{}\none core multiplies and adds at most {:.0f} GFLOP/s in f32, the smallest op takes {:.0f} ns; medians of "
      "{}{}\n\n{}",
      machine_name(), scale.peak / 1e9, scale.node * 1e9, plan.threads > 1 ? "the wall's clock" : "processor time",
      plan.busy ? ", beside a program that never rests" : "", table_of(rows, scale, plan, terminal));
  say(text);
  if (page && !interrupted()) renew_page(docs / "performance.md", command, text);
  return interrupted() ? 130 : 0;
}

}  // namespace
}  // namespace gradus::bench

int main(int argc, char** argv) {
  gradus::prepare_process();
  try {
    return gradus::bench::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "./gradus bench: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "./gradus bench: {}\n", error.what());
    return 1;
  }
}
