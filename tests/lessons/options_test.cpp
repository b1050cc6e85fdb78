// The command line: what options become, what misuse is told, what the help shows.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lessons/common/options.h"
#include "lessons/common/terminal.h"

using namespace gradus;

namespace {

CommandSpec training_spec() {
  CommandSpec spec;
  spec.program = "./gradus run";
  spec.about_en = "Trains a lesson.";
  spec.about_zh = "训练一课。";
  spec.options = OptionSet::training;
  spec.words = {{"LESSON", "number or name", "编号或名字"}};
  spec.extras = {{"--try", "INPUT", "ask", "询问"}, {"--json", "", "for programs", "给程序用"}};
  spec.defaults = Options();  // whatever the environment says
  return spec;
}

using Line = std::vector<std::string>;

}  // namespace

TEST_SUITE("options") {
  TEST_CASE("misuse exits with 2 and one line that says what to do") {
    struct Row {
      Line arguments;
      const char* says;
    };
    const Row rows[] = {
        {{}, "LESSON is missing"},
        {{"09", "10"}, "'10' is one word too many"},
        {{"09", "--steps"}, "--steps needs a value: --steps N"},
        {{"09", "--steps", "0"}, "--steps needs a whole number from 1 to 1000000000, not '0'"},
        {{"09", "--steps", "-5"}, "not '-5'"},
        {{"09", "--steps", "1e3"}, "not '1e3'"},
        {{"09", "--steps", "99999999999999999999"}, "--steps needs a whole number"},
        {{"09", "--steps="}, "--steps needs"},
        {{"09", "--steps", "5 "}, "not '5 '"},
        {{"09", "--seed", "x"}, "--seed needs a whole number from 0 to 2^63 - 1, not 'x'"},
        {{"09", "--seed", "9223372036854775808"}, "--seed needs"},
        {{"09", "--seeds", "1,,2"}, "not ''"},
        {{"09", "--seeds", "1,2,"}, "not ''"},
        {{"09", "--seeds", "1,2,1"}, "names the seed 1 twice"},
        {{"09", "--threads", "0"}, "--threads needs a whole number from 1 to 256, not '0'"},
        {{"09", "--threads", "257"}, "not '257'"},
        {{"09", "--lang", "fr"}, "--lang is en or zh, not 'fr'"},
        {{"09", "--out", ""}, "--out needs the name of a directory, not ''"},
        {{"09", "--out", "--quick"}, "not '--quick'"},
        {{"09", "--step", "3"}, "no option '--step'; did you mean --steps?"},
        {{"09", "--frobnicate"}, "no option '--frobnicate'; see"},
        {{"09", "-q"}, "no option '-q'"},
        {{"09", "--quick=1"}, "--quick takes no value"},
        {{"09", "--json=x"}, "--json takes no value"},
        {{"09", "--quick", "--full"}, "--quick and --full exclude each other"},
        {{"09", "--quick", "--steps", "5"}, "--steps takes the place of --quick and --full"},
        {{"09", "--seed", "1", "--seeds", "2,3"}, "--seed and --seeds exclude each other"},
        {{"09", "--resume", "--seeds", "2,3"}, "--resume goes on with one run"},
        {{"09", "--\x1b[31m"}, "no option '--\\x1b[31m'"},
    };
    for (const Row& row : rows) {
      const ParsedCommand parsed = parse_command(training_spec(), row.arguments);
      CAPTURE(parsed.text);
      CHECK(parsed.exit_code == 2);
      CHECK(parsed.text.find(row.says) != std::string::npos);
      CHECK(parsed.text.starts_with("./gradus run: "));
      CHECK(parsed.text.ends_with("; see ./gradus run --help\n"));
      CHECK(parsed.text.find('\n') == parsed.text.size() - 1);
    }
  }

  TEST_CASE("values arrive, wherever the word stands") {
    const ParsedCommand parsed =
        parse_command(training_spec(), {"--steps", "7", "09", "--seed=5", "--threads", "3", "--out", "somewhere",
                                        "--plain", "--strict", "--resume", "--lang", "zh", "--json"});
    REQUIRE_FALSE(parsed.exit_code);
    CHECK(parsed.words == Line{"09"});
    CHECK(parsed.options.steps == 7);
    CHECK(parsed.options.seed == 5);
    CHECK(parsed.options.threads == 3);
    CHECK(parsed.options.out == "somewhere");
    CHECK((parsed.options.plain && parsed.options.strict && parsed.options.resume));
    CHECK((!parsed.options.quick && !parsed.options.full));
    CHECK(parsed.options.lang == Lang::zh);
    CHECK(parsed.extras.contains("--json"));
    CHECK_FALSE(parsed.extras.contains("--try"));
  }

  TEST_CASE("the last of two values counts") {
    CHECK(parse_command(training_spec(), {"9", "--steps", "1", "--steps", "2"}).options.steps == 2);
  }

  TEST_CASE("inputs reach a lesson as they were typed") {
    const std::string inputs[] = {"3 1 4", "", "[1,2]", "-3", "--plain", "{}", "我爱中国", "a=b", "/x", "'"};
    for (const std::string& input : inputs) {
      CAPTURE(input);
      const ParsedCommand parsed = parse_command(training_spec(), {"--try", input, "09", "--plain"});
      CHECK_FALSE(parsed.exit_code);
      CHECK(parsed.extras.at("--try") == input);
      CHECK(parsed.options.plain);
    }
    const ParsedCommand words = parse_command(training_spec(), {"--", "-x"});
    CHECK(words.words == Line{"-x"});
  }

  TEST_CASE("options survive the way to a lesson's program") {
    Options options;
    options.quick = options.plain = options.strict = true;
    options.seeds = {4, 9223372036854775807u};
    options.threads = 2;
    options.out = "a dir/=x";
    options.lang = Lang::zh;
    Options other;
    other.full = other.resume = true;
    other.seed = 0;
    Options third;
    third.steps = 12;
    third.no_curriculum = true;
    for (const Options& given : {options, other, third}) {
      Line arguments = to_arguments(given);
      arguments.push_back("09");
      const ParsedCommand parsed = parse_command(training_spec(), arguments);
      CAPTURE(parsed.text);
      REQUIRE_FALSE(parsed.exit_code);
      CHECK(to_arguments(parsed.options) == to_arguments(given));
      CHECK(parsed.options.seeds == given.seeds);
      CHECK(parsed.options.no_curriculum == given.no_curriculum);
      CHECK(parsed.options.seed == given.seed);
      CHECK(parsed.options.out == given.out);
      CHECK(parsed.options.steps == given.steps);
    }
  }

  TEST_CASE("a command takes only its own options") {
    CommandSpec spec = training_spec();
    spec.options = OptionSet::display;
    CHECK(parse_command(spec, {"09", "--plain"}).options.plain);
    CHECK(parse_command(spec, {"09", "--steps", "3"}).exit_code == 2);
    spec.options = OptionSet::asking;
    CHECK(parse_command(spec, {"09", "--out", "x"}).options.out == "x");
    CHECK(parse_command(spec, {"09", "--quick"}).exit_code == 2);
  }

  TEST_CASE("a command line is cut at its first word where that is asked for") {
    CommandSpec spec;
    spec.program = "./gradus";
    spec.stop_at_word = true;
    spec.extras = {{"--root", "DIR", "", ""}};
    const ParsedCommand parsed = parse_command(spec, {"--root", "/r", "--plain", "run", "--steps", "5", "--", "x"});
    REQUIRE_FALSE(parsed.exit_code);
    CHECK(parsed.words == Line{"run", "--steps", "5", "--", "x"});
    CHECK(parsed.extras.at("--root") == "/r");
    CHECK(parse_command(spec, {"--bogus", "run"}).exit_code == 2);
    CHECK(parse_command(spec, {"run", "--help"}).words == Line{"run", "--help"});
  }

  TEST_CASE("help fits into 80 columns, in both languages, and names every option") {
    for (const Lang lang : {Lang::en, Lang::zh}) {
      const ParsedCommand parsed =
          parse_command(training_spec(), {"--help", "--lang", lang == Lang::zh ? "zh" : "en", "--nonsense"});
      CHECK(parsed.exit_code == 0);
      for (const char* name :
           {"--quick", "--full", "--steps N", "--seed S", "--seeds S,S,...", "--threads N", "--resume",
            "--no-curriculum", "--strict", "--out DIR", "--plain", "--lang en|zh", "--help", "--try INPUT", "LESSON"}) {
        CAPTURE(name);
        CHECK(parsed.text.find(name) != std::string::npos);
      }
      for (std::size_t at = 0; at < parsed.text.size();) {
        const std::size_t end = parsed.text.find('\n', at);
        CHECK(display_width(parsed.text.substr(at, end - at)) <= 80);
        at = end + 1;
      }
    }
    CHECK(help_text(training_spec(), Lang::zh).find("用法") != std::string::npos);
  }

  TEST_CASE("where a lesson writes") {
    Options options;
    CHECK(output_directory(options, "09_bahdanau") == "out/09_bahdanau");
    options.out = "/tmp/x";
    options.seed = 7;
    options.one_of_several = true;
    CHECK(output_directory(options, "09_bahdanau") == "/tmp/x/09_bahdanau/seed_7");
    CHECK(thread_count(options) >= 1);
    options.threads = 5;
    CHECK(thread_count(options) == 5);
  }
}
