// The numbers of a run: collected while it goes, printed as a table of targets, written to metrics.json.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/common/options.h"
#include "lessons/common/terminal.h"
#include "nn/formats/json.h"

namespace gradus {

// Something that must come out. The English name is also the one by which programs know it.
struct Target {
  Words name;  // "greedy accuracy at length 80, attention"
  Words want;  // ">= 0.99" in both
  double got = 0;
  bool met = false;
  bool of_time = false;  // depends on the machine
};

// metrics.json: {lesson, seed, mode, sizes {..}, steps, seconds, threads, git_revision, interrupted,
//                targets [{name, name_zh, want, want_zh, got, met}], curves {name: {x: [..], y: [..]}}, and what `set`
//                adds}.
//   Metrics metrics("09_bahdanau", options);
//   metrics.size("d_s", 64);
//   metrics.at_least({"greedy accuracy at length 80", "长度 80 的贪心准确率"}, 0.99, accuracy);
//   say(metrics.target_table(terminal, options.lang));
//   return metrics.write();
class Metrics {
 public:
  // The clock of `seconds` starts here.
  Metrics(std::string lesson_id, const Options& options);

  // A size of the model or the data: "d_s", "batch", "parameters".
  void size(std::string_view name, std::int64_t value);
  // Training steps done.
  void steps(std::int64_t count);
  // Any other number, text or list, under a name of its own; a second call replaces the first.
  void set(std::string_view name, Json value);
  // The points of a curve; x and y of equal length (std::invalid_argument otherwise). A y that is not finite becomes
  // null.
  void curve(std::string_view name, const std::vector<double>& x, const std::vector<double>& y);

  // Targets. A `got` that is not finite is never met.
  void at_least(const Words& name, double bound, double got);
  void at_most(const Words& name, double bound, double got);
  // The same of seconds: where nothing else is missed, the table says that it is the machine and not the code.
  void seconds_at_most(const Words& name, double bound, double got);
  // A mean of -log p, of squares or of distances is never below 0: a `got` that is negative is a mistake and not met.
  void loss_at_most(const Words& name, double bound, double got);
  // A yes-or-no target: `want` in words ({"passes", "通过"}), got as 1 or 0.
  void holds(const Words& name, const Words& want, bool met);

  const std::vector<Target>& targets() const { return targets_; }
  bool all_met() const;
  double seconds() const;      // since construction
  double cpu_seconds() const;  // of all threads, since construction: what else the machine does hardly counts

  // A picture or table that pages quote: says it in the run's language; `write` writes it in both as NAME.txt and
  // NAME.zh.txt into the lesson's output directory, the way it is drawn on a plain terminal. So a full disk takes
  // nothing from what is shown.
  void show(const std::string& name, const Terminal& terminal,
            const std::function<std::string(const Terminal&, Lang)>& draw);
  // A number to compare over several seeds, as it is printed: a row of a table with a column a seed. Rows of one table
  // follow each other.
  void across_seeds(const std::string& table, const Words& heading, const Words& row, const std::string& number);

  // Target against got, one line each, met or missed in words.
  std::string target_table(const Terminal& terminal, Lang lang) const;

  Json to_json() const;

  // Where the results stand once the run has ended: in the lesson's output directory, or beside those of a finished
  // run, where this one is shorter or was interrupted.
  std::filesystem::path place() const;

  // Writes what was shown and metrics.json, each atomically, lets a run that is beside a finished one take its place if
  // it went as far, and returns the exit code: 1 if a target was missed under --strict, else 0. To be called last.
  // Throws FileError with path and cause.
  int write() const;
  std::filesystem::path file() const;

 private:
  std::string lesson_id_;
  Options options_;
  std::chrono::steady_clock::time_point start_;
  std::clock_t cpu_start_;
  std::int64_t steps_ = 0;
  std::vector<std::pair<std::string, Json>> sizes_, extras_, curves_;
  std::vector<Target> targets_;
  std::vector<std::pair<std::string, std::string>> shown_;  // file, text
  Json across_seeds_ = Json::array();
};

// The table over several seeds (one row a target: lowest and highest got, met in how many runs), from the metrics.json
// objects of the runs. Runs that lack a target are counted as missed.
std::string seeds_table(const std::vector<Json>& runs, const Terminal& terminal, Lang lang);

// The tables of Metrics::across_seeds: heading, then a column a seed.
struct SeedsTable {
  std::string name;
  Words text;
};
std::vector<SeedsTable> across_seeds(const std::vector<Json>& runs, const Terminal& terminal);

// One metrics object for several runs: {lesson, seeds, mode and steps (of the shortest), interrupted, targets (worst got, met if all met), runs [..]}.
Json combine_runs(const std::vector<Json>& runs);

}  // namespace gradus
