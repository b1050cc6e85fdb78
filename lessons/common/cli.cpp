// The command line of the course runner and of every lesson: CLI11 takes it apart, what values mean is decided here.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "lessons/common/kept.h"
#include "lessons/common/near.h"
#include "lessons/common/options.h"
#include "lessons/common/terminal.h"

namespace gradus {

namespace {

// What is wrong with a value, to stand after the option's name; empty: nothing.
using Complaint = std::string;

struct SharedOption {
  std::string name, value;
  OptionSet from;  // the smallest set that has it
  std::string_view help_en, help_zh;
  std::function<Complaint(Options&, const std::string&, Lang)> apply;
};

template <typename Integer> bool read_integer(std::string_view text, Integer& value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && end == text.data() + text.size();
}

// Up to 2^63 - 1, so that a seed is a plain integer in every JSON file.
bool read_seed(std::string_view text, std::uint64_t& seed) {
  return read_integer(text, seed) && std::in_range<std::int64_t>(seed);
}

std::string shown(std::string_view text) { return "'" + cut_to_width(printable(text), 40) + "'"; }

Complaint not_a_count(const std::string& text, std::int64_t highest, Lang lang) {
  return fmt::format(
      fmt::runtime(tr(lang, "needs a whole number from 1 to {}, not {}", "需要 1 到 {} 的整数，而不是 {}")), highest,
      shown(text));
}

Complaint not_a_seed(const std::string& text, Lang lang) {
  return fmt::format(
      fmt::runtime(tr(lang, "needs a whole number from 0 to 2^63 - 1, not {}", "需要 0 到 2^63 - 1 的整数，而不是 {}")),
      shown(text));
}

Complaint apply_seeds(Options& options, const std::string& text, Lang lang) {
  options.seeds.clear();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    std::uint64_t seed = 0;
    if (!read_seed(part, seed)) return not_a_seed(part, lang);
    if (std::find(options.seeds.begin(), options.seeds.end(), seed) != options.seeds.end()) {
      return fmt::format(fmt::runtime(tr(lang, "names the seed {} twice", "两次写了种子 {}")), seed);
    }
    options.seeds.push_back(seed);
    at = comma + 1;
  }
  return "";
}

auto flag(bool Options::*member) {
  return [member](Options& options, const std::string&, Lang) -> Complaint {
    options.*member = true;
    return "";
  };
}

constexpr std::int64_t max_steps = 1'000'000'000;
constexpr int max_threads = 256;

const std::vector<SharedOption>& shared_options() {
  static const std::vector<SharedOption> all = {
      {"--quick", "", OptionSet::training, "a short look at it; its numbers are not the lesson's",
       "快速看一眼；得到的数字不作准", flag(&Options::quick)},
      {"--full", "", OptionSet::training, "the long run, for the best numbers", "完整训练，得到最好的数字",
       flag(&Options::full)},
      {"--steps", "N", OptionSet::training, "train for N steps", "训练 N 步",
       [](Options& o, const std::string& text, Lang lang) -> Complaint {
         std::int64_t steps = 0;
         if (!read_integer(text, steps) || steps < 1 || steps > max_steps) return not_a_count(text, max_steps, lang);
         o.steps = steps;
         return "";
       }},
      {"--seed", "S", OptionSet::asking, "the number that all random numbers follow from (1)",
       "所有随机数由它决定（默认 1）",
       [](Options& o, const std::string& text, Lang lang) -> Complaint {
         return read_seed(text, o.seed) ? "" : not_a_seed(text, lang);
       }},
      {"--seeds", "S,S,...", OptionSet::training, "one run for each seed, and a table of all of them",
       "每个种子训练一次，最后列出全部结果",
       [](Options& o, const std::string& text, Lang lang) { return apply_seeds(o, text, lang); }},
      {"--threads", "N", OptionSet::asking, "threads to use (as many as there are cores); results do not depend on it",
       "线程数（默认等于核数）；结果与它无关",
       [](Options& o, const std::string& text, Lang lang) -> Complaint {
         if (!read_integer(text, o.threads) || o.threads < 1 || o.threads > max_threads) {
           return not_a_count(text, max_threads, lang);
         }
         return "";
       }},
      {"--resume", "", OptionSet::training, "go on where an interrupted run was saved", "从上次中断处继续训练",
       flag(&Options::resume)},
      {"--no-curriculum", "", OptionSet::training,
       "train on all lengths from the first step on (lesson 09); results go to no_curriculum/",
       "从第一步起就用全部长度训练（第 09 课）；结果写入 no_curriculum/", flag(&Options::no_curriculum)},
      {"--strict", "", OptionSet::training, "exit with 1 if a target is missed", "有目标未达到时以 1 退出",
       flag(&Options::strict)},
      {"--out", "DIR", OptionSet::asking, "where results are written (out)", "结果写到哪里（默认 out）",
       [](Options& o, const std::string& text, Lang lang) -> Complaint {
         if (text.empty() || text.front() == '-') {
           return fmt::format(
               fmt::runtime(tr(lang, "needs the name of a directory, not {}", "需要一个目录名，而不是 {}")),
               shown(text));
         }
         o.out = text;
         return "";
       }},
      {"--plain", "", OptionSet::display, "no colour, no moving line, plain characters",
       "不用颜色和动态行，只用普通字符", flag(&Options::plain)},
      {"--lang", "en|zh", OptionSet::display, "language of what is printed", "输出的语言",
       [](Options& o, const std::string& text, Lang lang) -> Complaint {
         if (text != "en" && text != "zh") {
           return fmt::format(fmt::runtime(tr(lang, "is en or zh, not {}", "只能是 en 或 zh，而不是 {}")), shown(text));
         }
         o.lang = text == "zh" ? Lang::zh : Lang::en;
         return "";
       }},
  };
  return all;
}

bool accepts(const CommandSpec& spec, const SharedOption& option) { return option.from <= spec.options; }

// The language has to be known before anything can be said about the other arguments.
Lang language_of(const std::vector<std::string>& arguments, Lang lang) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string value;
    if (arguments[i].starts_with("--lang=")) value = arguments[i].substr(7);
    if (arguments[i] == "--lang" && i + 1 < arguments.size()) value = arguments[i + 1];
    if (value == "zh") lang = Lang::zh;
    if (value == "en") lang = Lang::en;
  }
  return lang;
}

// Name and description side by side, the description wrapped to 80 columns.
void append_entry(std::string& out, std::string_view name, std::string_view description) {
  constexpr int name_width = 20;
  const std::string text = wrap_to_width(description, 80 - name_width - 3);
  std::string left = "  " + std::string(name);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += pad_right(left, name_width) + " " + text.substr(at, end - at) + "\n";
    left.clear();
    at = end + 1;
  }
}

ParsedCommand misuse(const CommandSpec& spec, Lang lang, std::string_view what) {
  ParsedCommand parsed;
  parsed.options.lang = lang;
  parsed.exit_code = 2;
  parsed.text = fmt::format(fmt::runtime(tr(lang, "{0}: {1}; see {0} --help\n", "{0}：{1}；见 {0} --help\n")),
                            spec.program, what);
  return parsed;
}

// The whole-line problems that single values do not show.
std::string contradiction(const Options& options, bool seed_given, Lang lang) {
  if (options.quick && options.full) {
    return std::string(tr(lang, "--quick and --full exclude each other", "--quick 与 --full 不能同时使用"));
  }
  if (seed_given && !options.seeds.empty()) {
    return std::string(tr(lang, "--seed and --seeds exclude each other", "--seed 与 --seeds 不能同时使用"));
  }
  if (options.steps && (options.quick || options.full)) {
    return std::string(tr(lang, "--steps takes the place of --quick and --full; give one of them",
                          "--steps 与 --quick、--full 只能选一个"));
  }
  if (options.resume && !options.seeds.empty()) {
    return std::string(tr(lang, "--resume goes on with one run; name its seed with --seed instead of --seeds",
                          "--resume 只能继续一次训练；请用 --seed 代替 --seeds"));
  }
  return "";
}

std::string unknown_option(const CommandSpec& spec, const std::string& option, Lang lang) {
  const std::string name = option.substr(0, option.find('='));
  std::vector<std::string> names = {"--help"};
  for (const SharedOption& shared : shared_options()) {
    if (accepts(spec, shared)) names.push_back(shared.name);
  }
  for (const ExtraOption& extra : spec.extras) names.push_back(extra.name);
  const std::vector<std::string> near = near_names(name, names);
  if (near.empty()) return fmt::format(fmt::runtime(tr(lang, "no option {}", "没有选项 {}")), shown(name));
  return fmt::format(fmt::runtime(tr(lang, "no option {}; did you mean {}?", "没有选项 {}；是不是 {}？")), shown(name),
                     near.front());
}

// Says in our words what CLI11 found: a value is missing, or there is one where none belongs.
std::string parse_error(const CommandSpec& spec, std::string_view what, Lang lang) {
  std::vector<std::pair<std::string, std::string>> names = {{"--help", ""}};  // name, its value
  for (const SharedOption& option : shared_options()) {
    if (accepts(spec, option)) names.emplace_back(option.name, option.value);
  }
  for (const ExtraOption& option : spec.extras) names.emplace_back(option.name, option.value);
  for (const auto& [name, value] : names) {
    const std::size_t at = what.find(name.substr(2));
    if (at != 0 && at != 2) continue;
    const char after = what.substr(at).size() > name.size() - 2 ? what[at + name.size() - 2] : ' ';
    if (after != ' ' && after != ':') continue;
    if (value.empty()) return fmt::format(fmt::runtime(tr(lang, "{} takes no value", "{} 后面不能有值")), name);
    return fmt::format(fmt::runtime(tr(lang, "{0} needs a value: {0} {1}", "{0} 需要一个值：{0} {1}")), name, value);
  }
  return printable(what.substr(0, what.find('\n')));
}

}  // namespace

int thread_count(const Options& options) {
  if (options.threads > 0) return options.threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, max_threads);
}

std::filesystem::path output_directory(const Options& options, std::string_view lesson_id) {
  std::filesystem::path directory = options.out / std::filesystem::path(lesson_id);
  if (options.no_curriculum) directory /= "no_curriculum";
  if (options.one_of_several) directory /= fmt::format("seed_{}", options.seed);
  return options.beside ? directory / beside_a_finished_run : directory;
}

Lang environment_lang() {
  for (const char* name : {"GRADUS_LANG", "LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return std::string_view(value).starts_with("zh") ? Lang::zh : Lang::en;
  }
  return Lang::en;
}

ParsedCommand parse_command(const CommandSpec& spec, const std::vector<std::string>& arguments) {
  const Lang lang = language_of(arguments, spec.defaults.lang);
  CLI::App app;
  app.set_help_flag("");
  app.allow_extras();
  if (spec.stop_at_word) app.prefix_command();
  bool help = false;
  app.add_flag("-h,--help", help);

  // CLI11 keeps references to the strings; a deque never moves its elements.
  std::deque<std::string> values;
  const auto declare = [&](const std::string& name, bool is_flag) {
    CLI::Option* option = is_flag ? app.add_flag(name) : app.add_option(name, values.emplace_back());
    if (is_flag) option->disable_flag_override();
    return option->take_last();
  };
  std::vector<std::pair<CLI::Option*, const SharedOption*>> shared;
  for (const SharedOption& option : shared_options()) {
    if (accepts(spec, option)) shared.emplace_back(declare(option.name, option.value.empty()), &option);
  }
  std::vector<std::pair<CLI::Option*, const ExtraOption*>> extras;
  for (const ExtraOption& option : spec.extras)
    extras.emplace_back(declare(option.name, option.value.empty()), &option);

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) { return misuse(spec, lang, parse_error(spec, error.what(), lang)); }

  ParsedCommand parsed;
  parsed.options = spec.defaults;
  parsed.options.lang = lang;
  if (help) {
    parsed.exit_code = 0;
    parsed.text = help_text(spec, lang);
    return parsed;
  }
  bool only_words = false;
  for (const std::string& rest : app.remaining()) {
    const bool in_tail = spec.stop_at_word && !parsed.words.empty();
    if (rest == "--" && !only_words && !in_tail) {
      only_words = true;
    } else if (rest.size() > 1 && rest.front() == '-' && !only_words && !in_tail &&
               !(rest[1] >= '0' && rest[1] <= '9')) {
      return misuse(spec, lang, unknown_option(spec, rest, lang));
    } else {
      parsed.words.push_back(rest);
    }
  }
  bool seed_given = false;
  for (const auto& [option, meaning] : shared) {
    if (option->count() == 0) continue;
    const Complaint complaint = meaning->apply(parsed.options, option->results().back(), lang);
    if (!complaint.empty()) return misuse(spec, lang, meaning->name + " " + complaint);
    if (meaning->name == "--seed") seed_given = true;
  }
  for (const auto& [option, meaning] : extras) {
    if (option->count() > 0) parsed.extras[meaning->name] = meaning->value.empty() ? "" : option->results().back();
  }
  if (const std::string why = contradiction(parsed.options, seed_given, lang); !why.empty()) {
    return misuse(spec, lang, why);
  }

  if (spec.stop_at_word) return parsed;
  for (std::size_t i = 0; i < spec.words.size(); ++i) {
    if (spec.words[i].required && parsed.words.size() <= i) {
      return misuse(spec, lang, fmt::format(fmt::runtime(tr(lang, "{} is missing", "缺少 {}")), spec.words[i].name));
    }
  }
  const bool open_ended = !spec.words.empty() && spec.words.back().many;
  if (!open_ended && parsed.words.size() > spec.words.size()) {
    return misuse(spec, lang,
                  fmt::format(fmt::runtime(tr(lang, "{} is one word too many", "多出了 {}")),
                              shown(parsed.words[spec.words.size()])));
  }
  return parsed;
}

std::string help_text(const CommandSpec& spec, Lang lang) {
  std::string usage = std::string(tr(lang, "usage: ", "用法：")) + spec.program;
  for (const WordSpec& word : spec.words) {
    const std::string name = word.name + (word.many ? "..." : "");
    usage += word.required ? " " + name : " [" + name + "]";
  }
  std::string out = usage + std::string(tr(lang, " [options]", " [选项]")) + "\n";
  out += wrap_to_width(tr(lang, spec.about_en, spec.about_zh), 80) + "\n";
  if (!spec.words.empty()) out += "\n";
  for (const WordSpec& word : spec.words) append_entry(out, word.name, tr(lang, word.help_en, word.help_zh));
  out += "\n" + std::string(tr(lang, "options:", "选项：")) + "\n";
  for (const ExtraOption& extra : spec.extras) {
    append_entry(out, extra.value.empty() ? extra.name : extra.name + " " + extra.value,
                 tr(lang, extra.help_en, extra.help_zh));
  }
  for (const SharedOption& option : shared_options()) {
    if (!accepts(spec, option)) continue;
    append_entry(out, option.value.empty() ? option.name : option.name + " " + option.value,
                 tr(lang, option.help_en, option.help_zh));
  }
  append_entry(out, "-h, --help", tr(lang, "this text", "显示本说明"));
  return out;
}

std::vector<std::string> to_arguments(const Options& options) {
  std::vector<std::string> arguments;
  if (options.quick) arguments.push_back("--quick");
  if (options.full) arguments.push_back("--full");
  if (options.plain) arguments.push_back("--plain");
  if (options.resume) arguments.push_back("--resume");
  if (options.no_curriculum) arguments.push_back("--no-curriculum");
  if (options.strict) arguments.push_back("--strict");
  if (options.steps) arguments.push_back(fmt::format("--steps={}", *options.steps));
  if (options.seed != 1) arguments.push_back(fmt::format("--seed={}", options.seed));
  if (!options.seeds.empty()) {
    std::string list;
    for (const std::uint64_t seed : options.seeds) list += fmt::format("{}{}", list.empty() ? "" : ",", seed);
    arguments.push_back("--seeds=" + list);
  }
  if (options.threads > 0) arguments.push_back(fmt::format("--threads={}", options.threads));
  arguments.push_back("--out=" + options.out.string());
  arguments.push_back(options.lang == Lang::zh ? "--lang=zh" : "--lang=en");
  return arguments;
}

}  // namespace gradus
