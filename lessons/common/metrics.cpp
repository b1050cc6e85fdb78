// The numbers of a run: their table and their file.
#include "lessons/common/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/kept.h"
#include "lessons/common/table.h"

namespace gradus {

namespace {

using Members = std::vector<std::pair<std::string, Json>>;

void set_member(Members& members, std::string_view name, Json value) {
  for (auto& [existing, old] : members) {
    if (existing == name) {
      old = std::move(value);
      return;
    }
  }
  members.emplace_back(std::string(name), std::move(value));
}

// JSON has no NaN: a number that is none becomes null.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json target_json(const Words& name, const Words& want, double got, bool met) {
  return Json::object({{"name", name.en},
                       {"name_zh", name.zh},
                       {"want", want.en},
                       {"want_zh", want.zh},
                       {"got", number_or_null(got)},
                       {"met", met}});
}

std::string format_got(double got) {
  if (!std::isfinite(got)) return fmt::format("{}", got);
  if (got == std::floor(got) && std::abs(got) < 1e9) return fmt::format("{:.0f}", got);
  return std::abs(got) >= 1e-3 && std::abs(got) < 1e6 ? fmt::format("{:.4f}", got) : fmt::format("{:.3e}", got);
}

std::string met_word(const Terminal& terminal, Lang lang, bool met) {
  return paint(terminal, met ? Colour::green : Colour::red, tr(lang, met ? "met" : "MISSED", met ? "达到" : "未达到"));
}

// The target of a run with that name; a null pointer if the run has none.
const Json* find_target(const Json& run, const std::string& name) {
  for (const Json& target : run.at("targets").as_array()) {
    if (target.at("name").as_string() == name) return &target;
  }
  return nullptr;
}

double got_of(const Json& target) {
  return target.at("got").is_number() ? target.at("got").as_double() : std::numeric_limits<double>::quiet_NaN();
}

// A target over several runs.
struct Span {
  Words name, want;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();
  std::size_t met = 0, finite = 0;
};

std::vector<Span> target_spans(const std::vector<Json>& runs) {
  std::vector<Span> spans;
  for (const Json& run : runs) {
    for (const Json& target : run.at("targets").as_array()) {
      const std::string& name = target.at("name").as_string();
      if (std::none_of(spans.begin(), spans.end(), [&](const Span& span) { return span.name.en == name; })) {
        spans.push_back({.name = {name, target.at("name_zh").as_string()},
                         .want = {target.at("want").as_string(), target.at("want_zh").as_string()}});
      }
    }
  }
  for (Span& span : spans) {
    for (const Json& run : runs) {
      const Json* target = find_target(run, span.name.en);
      if (target == nullptr) continue;
      if (target->at("met").as_bool()) ++span.met;
      const double got = got_of(*target);
      if (!std::isfinite(got)) continue;
      ++span.finite;
      span.lowest = std::min(span.lowest, got);
      span.highest = std::max(span.highest, got);
    }
  }
  return spans;
}

}  // namespace

Metrics::Metrics(std::string lesson_id, const Options& options)
    : lesson_id_(std::move(lesson_id)),
      options_(options),
      start_(std::chrono::steady_clock::now()),
      cpu_start_(std::clock()) {}

void Metrics::size(std::string_view name, std::int64_t value) { set_member(sizes_, name, value); }

void Metrics::steps(std::int64_t count) { steps_ = count; }

void Metrics::set(std::string_view name, Json value) {
  static constexpr std::string_view taken[] = {"lesson",      "seed",    "mode",    "sizes",
                                               "steps",       "seconds", "threads", "git_revision",
                                               "interrupted", "targets", "curves",  "across_seeds"};
  if (std::find(std::begin(taken), std::end(taken), name) != std::end(taken)) {
    throw std::invalid_argument(fmt::format("metrics: \"{}\" is filled in by Metrics itself; use another name", name));
  }
  set_member(extras_, name, std::move(value));
}

void Metrics::curve(std::string_view name, const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size()) {
    throw std::invalid_argument(
        fmt::format("metrics: curve \"{}\" has {} x and {} y; give one y for each x", name, x.size(), y.size()));
  }
  Json xs = Json::array(), ys = Json::array();
  for (const double value : x) xs.push_back(number_or_null(value));
  for (const double value : y) ys.push_back(number_or_null(value));
  set_member(curves_, name, Json::object({{"x", std::move(xs)}, {"y", std::move(ys)}}));
}

void Metrics::at_least(const Words& name, double bound, double got) {
  const std::string want = fmt::format(">= {}", bound);
  targets_.push_back({name, {want, want}, got, std::isfinite(got) && got >= bound});
}

void Metrics::at_most(const Words& name, double bound, double got) {
  const std::string want = fmt::format("<= {}", bound);
  targets_.push_back({name, {want, want}, got, std::isfinite(got) && got <= bound});
}

void Metrics::seconds_at_most(const Words& name, double bound, double got) {
  at_most(name, bound, got);
  targets_.back().of_time = true;
}

void Metrics::loss_at_most(const Words& name, double bound, double got) {
  const std::string want = fmt::format("<= {}, >= 0", bound);
  targets_.push_back({name, {want, want}, got, std::isfinite(got) && got >= 0 && got <= bound});
}

void Metrics::holds(const Words& name, const Words& want, bool met) {
  targets_.push_back({name, want, met ? 1.0 : 0.0, met});
}

void Metrics::show(const std::string& name, const Terminal& terminal,
                   const std::function<std::string(const Terminal&, Lang)>& draw) {
  say(draw(terminal, options_.lang));
  shown_.emplace_back(name + ".txt", draw({}, Lang::en));
  shown_.emplace_back(name + ".zh.txt", draw({}, Lang::zh));
}

void Metrics::across_seeds(const std::string& table, const Words& heading, const Words& row,
                           const std::string& number) {
  across_seeds_.push_back(Json::object({{"table", table},
                                        {"heading", heading.en},
                                        {"heading_zh", heading.zh},
                                        {"row", row.en},
                                        {"row_zh", row.zh},
                                        {"number", number}}));
}

bool Metrics::all_met() const {
  return std::all_of(targets_.begin(), targets_.end(), [](const Target& target) { return target.met; });
}

double Metrics::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double Metrics::cpu_seconds() const { return static_cast<double>(std::clock() - cpu_start_) / CLOCKS_PER_SEC; }

std::string Metrics::target_table(const Terminal& terminal, Lang lang) const {
  Table table({std::string(tr(lang, "target", "目标")), std::string(tr(lang, "want", "要求")),
               std::string(tr(lang, "got", "得到")), ""},
              {Align::left, Align::left, Align::right, Align::left});
  for (const Target& target : targets_) {
    const std::string& want = target.want.in(lang);
    const bool is_bound = want.starts_with(">=") || want.starts_with("<=");
    const std::string got = is_bound ? format_got(target.got) : target.met ? want : std::string(tr(lang, "no", "否"));
    table.add_row({target.name.in(lang), want, got, met_word(terminal, lang, target.met)});
  }
  std::string note;
  if (!all_met()) {
    const bool slow = std::all_of(targets_.begin(), targets_.end(), [](const Target& t) { return t.met || t.of_time; });
    if (slow)
      note = tr(lang,
                "Only the time is missed: this machine is slower than the one that the limit was set on, or has other "
                "work. All that the lesson shows is there.",
                "只有时间没有达到：这台机器比定下时限的机器慢，或者正忙于别的工作。本课要展示的内容都已得到。");
    else if (options_.steps)
      note = tr(lang,
                "The targets are those of the lesson's own number of steps; this run had what "
                "--steps says, so a miss tells nothing about the code.",
                "这些目标针对本课默认的步数；本次只训练了 --steps 指定的步数，未达到并不说明代码有误。");
  }
  return (note.empty() ? "" : wrap_to_width(note, std::min(terminal.width, 80)) + "\n") + table.text(terminal);
}

Json Metrics::to_json() const {
  Json targets = Json::array();
  for (const Target& target : targets_) {
    targets.push_back(target_json(target.name, target.want, target.got, target.met));
  }
  // The program stands inside the checkout it was built from; if not, perhaps the user does.
  std::string revision = git_revision(executable_path().parent_path());
  if (revision == "unknown") revision = git_revision(".");
  Json json = Json::object({
      {"lesson", lesson_id_},
      {"seed", options_.seed},
      {"mode", options_.quick  ? "quick"
               : options_.full ? "full"
                               : "default"},
      {"sizes", Json::object(sizes_)},
      {"steps", steps_},
      {"seconds", seconds()},
      {"threads", thread_count(options_)},
      {"git_revision", revision},
      {"interrupted", interrupted()},
      {"targets", std::move(targets)},
      {"curves", Json::object(curves_)},
      {"across_seeds", across_seeds_},
  });
  for (const auto& [name, value] : extras_) json.set(name, value);
  return json;
}

std::filesystem::path Metrics::file() const { return output_directory(options_, lesson_id_) / "metrics.json"; }

std::filesystem::path Metrics::place() const {
  const std::filesystem::path directory = output_directory(options_, lesson_id_);
  if (!options_.beside) return directory;
  const std::optional<Json> before = finished_run(directory.parent_path());
  return interrupted() || (before && is_shorter(to_json(), *before)) ? directory : directory.parent_path();
}

int Metrics::write() const {
  const std::filesystem::path directory = output_directory(options_, lesson_id_), last = place();
  for (const auto& [name, text] : shown_) write_file(directory / name, text);
  write_file(file(), to_text(to_json()) + "\n");
  if (last != directory) take_place(last);
  return options_.strict && !all_met() ? 1 : 0;
}

std::string seeds_table(const std::vector<Json>& runs, const Terminal& terminal, Lang lang) {
  Table table({std::string(tr(lang, "target", "目标")), std::string(tr(lang, "want", "要求")),
               std::string(tr(lang, "lowest", "最低")), std::string(tr(lang, "highest", "最高")),
               std::string(tr(lang, "met in", "达到次数"))},
              {Align::left, Align::left, Align::right, Align::right, Align::right});
  for (const Span& span : target_spans(runs)) {
    const bool known = span.finite > 0;
    table.add_row({span.name.in(lang), span.want.in(lang), known ? format_got(span.lowest) : "-",
                   known ? format_got(span.highest) : "-",
                   paint(terminal, span.met == runs.size() ? Colour::green : Colour::red,
                         fmt::format("{}/{}", span.met, runs.size()))});
  }
  return table.text(terminal);
}

std::vector<SeedsTable> across_seeds(const std::vector<Json>& runs, const Terminal& terminal) {
  std::vector<SeedsTable> tables;
  if (runs.empty()) return tables;
  const Json::Array& rows = runs.front().at("across_seeds").as_array();
  // The number of that row in a run; "-" where it was interrupted before.
  const auto number_in = [](const Json& run, const Json& row) -> std::string {
    for (const Json& other : run.at("across_seeds").as_array()) {
      if (other.at("table") == row.at("table") && other.at("row") == row.at("row"))
        return other.at("number").as_string();
    }
    return "-";
  };
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    SeedsTable made{rows[first].at("table").as_string(), {}};
    while (end < rows.size() && rows[end].at("table") == rows[first].at("table")) ++end;
    for (const Lang lang : {Lang::en, Lang::zh}) {
      std::vector<std::string> headings{rows[first].at(tr(lang, "heading", "heading_zh")).as_string()};
      for (const Json& run : runs)
        headings.push_back(fmt::format("{} {}", tr(lang, "seed", "种子"), run.at("seed").as_integer()));
      std::vector<Align> aligns(headings.size(), Align::right);
      aligns[0] = Align::left;
      Table table(headings, aligns);
      for (std::size_t i = first; i < end; ++i) {
        std::vector<std::string> cells{rows[i].at(tr(lang, "row", "row_zh")).as_string()};
        for (const Json& run : runs) cells.push_back(number_in(run, rows[i]));
        table.add_row(cells);
      }
      (lang == Lang::zh ? made.text.zh : made.text.en) = table.text(terminal);
    }
    tables.push_back(std::move(made));
  }
  return tables;
}

Json combine_runs(const std::vector<Json>& runs) {
  Json seeds = Json::array(), targets = Json::array();
  double seconds = 0;
  const Json* least = runs.empty() ? nullptr : &runs.front();
  bool any_interrupted = false;
  for (const Json& run : runs) {
    seeds.push_back(run.at("seed"));
    if (is_shorter(run, *least)) least = &run;
    any_interrupted = any_interrupted || run.at("interrupted").as_bool();
    seconds += run.at("seconds").as_double();
  }
  for (const Span& span : target_spans(runs)) {
    // The worst of an upper bound is the highest; of everything else, the lowest.
    const double worst = span.want.en.starts_with("<=") ? span.highest : span.lowest;
    targets.push_back(
        target_json(span.name, span.want, span.finite == runs.size() ? worst : std::nan(""), span.met == runs.size()));
  }
  return Json::object({{"lesson", runs.empty() ? Json() : runs.front().at("lesson")},
                       {"seeds", std::move(seeds)},
                       {"mode", least ? least->at("mode") : Json()},
                       {"steps", least ? least->at("steps") : Json()},
                       {"interrupted", any_interrupted},
                       {"seconds", seconds},
                       {"git_revision", runs.empty() ? Json() : runs.front().at("git_revision")},
                       {"targets", std::move(targets)},
                       {"runs", runs}});
}

}  // namespace gradus
