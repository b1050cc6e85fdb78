// metrics.json, the table of targets, whole files, and the frame around a lesson.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

#include "lessons/common/files.h"
#include "lessons/common/interrupt.h"
#include "lessons/common/lesson.h"
#include "lessons/common/metrics.h"
#include "lessons/common/typed.h"

using namespace gradus;
namespace fs = std::filesystem;

namespace {

// An empty directory that goes away with the test.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "gradus_test_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch directory");
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path operator/(const fs::path& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::size_t files_in(const fs::path& directory) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(directory)) ++count;
  return count;
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const FileError& error) { return error.what(); }
  return "(no error)";
}

// Runs something in a child process with its output in files; returns the exit code, minus the signal if one ended it.
int in_child(const Scratch& scratch, const std::function<int()>& act) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int out = open((scratch / "stdout").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err = open((scratch / "stderr").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, 1);
    dup2(err, 2);
    const int code = act();
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int call(const Lesson& lesson, std::vector<std::string> words) {
  words.insert(words.begin(), lesson.id);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return lesson_main(lesson, static_cast<int>(pointers.size()), pointers.data());
}

// A lesson whose accuracy is its seed / 10.
Lesson toy_lesson() {
  Lesson lesson;
  lesson.id = "05_toy";
  lesson.title_en = "A toy";
  lesson.title_zh = "玩具";
  lesson.run = [](const Options& options) {
    Metrics metrics("05_toy", options);
    metrics.size("d_s", 4);
    metrics.steps(options.steps.value_or(10));
    metrics.curve("loss", {1, 2}, {0.5, std::nan("")});
    metrics.at_least({"accuracy", "准确率"}, 0.3, static_cast<double>(options.seed) / 10);
    metrics.across_seeds("skill", {"skill", "本领"}, {"accuracy", "准确率"}, fmt::format("{}0 %", options.seed));
    metrics.across_seeds("skill", {"skill", "本领"}, {"steps", "步数"}, "10");
    metrics.show("greeting", {}, [](const Terminal&, Lang lang) { return std::string(tr(lang, "hello\n", "你好\n")); });
    say(metrics.target_table({}, options.lang));
    return metrics.write();
  };
  lesson.ask = [](const Options& options, const std::string& input) {
    if (input == "?") return not_trained_yet(options, toy_lesson());
    say("<" + input + ">\n");
    return 0;
  };
  return lesson;
}

}  // namespace

TEST_SUITE("metrics") {
  TEST_CASE("metrics.json holds what was collected") {
    const Scratch scratch;
    Options options;
    options.out = scratch.path();
    options.seed = 3;
    options.threads = 2;
    Metrics metrics("05_toy", options);
    metrics.size("d_s", 4);
    metrics.size("d_s", 5);
    metrics.steps(100);
    metrics.set("note", "text");
    metrics.curve("loss", {1, 2}, {0.5, std::nan("")});
    metrics.at_least({"a", "甲"}, 0.99, 0.995);
    metrics.at_most({"b", "乙"}, 0.25, 0.3);
    metrics.at_least({"c", "丙"}, 0.5, std::nan(""));
    metrics.holds({"d", "丁"}, {"named", "说出名字"}, true);
    make_writable_directory(scratch / "05_toy");
    CHECK(metrics.write() == 0);
    const Json json = parse_json(read_file(scratch / "05_toy/metrics.json"));
    std::string names;
    for (const Json::Member& member : json.as_object()) names += member.first + " ";
    CHECK(names ==
          "lesson seed mode sizes steps seconds threads git_revision interrupted targets curves across_seeds note ");
    CHECK(json.at("seed") == Json(3));
    CHECK(to_text(json.at("sizes"), 0) == "{\"d_s\":5}");
    CHECK(to_text(json.at("curves"), 0) == "{\"loss\":{\"x\":[1.0,2.0],\"y\":[0.5,null]}}");
    CHECK(
        to_text(json.at("targets"), 0) ==
        "[{\"name\":\"a\",\"name_zh\":\"甲\",\"want\":\">= 0.99\",\"want_zh\":\">= 0.99\",\"got\":0.995,\"met\":true},"
        "{\"name\":\"b\",\"name_zh\":\"乙\",\"want\":\"<= 0.25\",\"want_zh\":\"<= 0.25\",\"got\":0.3,\"met\":false},"
        "{\"name\":\"c\",\"name_zh\":\"丙\",\"want\":\">= 0.5\",\"want_zh\":\">= 0.5\",\"got\":null,\"met\":false},"
        "{\"name\":\"d\",\"name_zh\":\"丁\",\"want\":\"named\",\"want_zh\":\"说出名字\",\"got\":1.0,\"met\":true}]");
    CHECK(metrics.target_table({}, Lang::en) ==
          "target  want        got\n"
          "------  -------  ------  ------\n"
          "a       >= 0.99  0.9950  met\n"
          "b       <= 0.25  0.3000  MISSED\n"
          "c       >= 0.5      nan  MISSED\n"
          "d       named     named  met\n");
    CHECK(metrics.target_table({}, Lang::zh) ==
          "目标  要求          得到\n"
          "----  --------  --------  ------\n"
          "甲    >= 0.99     0.9950  达到\n"
          "乙    <= 0.25     0.3000  未达到\n"
          "丙    >= 0.5         nan  未达到\n"
          "丁    说出名字  说出名字  达到\n");
    options.strict = true;
    Metrics strict("05_toy", options);
    CHECK(strict.write() == 0);
    strict.at_least({"a", "甲"}, 1, 0);
    CHECK(strict.write() == 1);
    CHECK_THROWS_AS(strict.set("seed", 1), std::invalid_argument);
    CHECK_THROWS_AS(strict.curve("x", {1}, {}), std::invalid_argument);
  }

  TEST_CASE("an exact bound is met") {
    Metrics metrics("x", {});
    metrics.at_least({"a", "甲"}, 0.99, 0.99);
    metrics.at_most({"b", "乙"}, 0.25, 0.25);
    CHECK(metrics.all_met());
    metrics.at_most({"c", "丙"}, 0.25, std::nextafter(0.25, 1));
    CHECK_FALSE(metrics.all_met());
  }

  TEST_CASE("runs over seeds: the worst counts, a missing target is a missed one") {
    struct Got {
      Words name, want;
      double got;
      bool met;
    };
    const auto run = [](int seed, const std::vector<Got>& targets) {
      Json list = Json::array();
      for (const Got& t : targets) {
        list.push_back(Json::object({{"name", t.name.en},
                                     {"name_zh", t.name.zh},
                                     {"want", t.want.en},
                                     {"want_zh", t.want.zh},
                                     {"got", t.got},
                                     {"met", t.met}}));
      }
      return Json::object({{"lesson", "x"},
                           {"seed", seed},
                           {"mode", "default"},
                           {"steps", 10 - seed},
                           {"interrupted", seed == 2},
                           {"seconds", 2},
                           {"git_revision", "r"},
                           {"targets", list}});
    };
    const Words a{"a", "甲"}, b{"b", "乙"}, c{"c", "丙"}, much{">= 0.9", ">= 0.9"}, little{"<= 0.2", "<= 0.2"},
        yes{"holds", "成立"};
    const std::vector<Json> runs = {run(1, {{a, much, 0.95, true}, {b, little, 0.1, true}}),
                                    run(2, {{a, much, 0.85, false}, {b, little, 0.15, true}, {c, yes, 1, true}})};
    const Json all = combine_runs(runs);
    CHECK(to_text(all.at("targets"), 0) ==
          "[{\"name\":\"a\",\"name_zh\":\"甲\",\"want\":\">= 0.9\",\"want_zh\":\">= 0.9\",\"got\":0.85,\"met\":false},"
          "{\"name\":\"b\",\"name_zh\":\"乙\",\"want\":\"<= 0.2\",\"want_zh\":\"<= 0.2\",\"got\":0.15,\"met\":true},"
          "{\"name\":\"c\",\"name_zh\":\"丙\",\"want\":\"holds\",\"want_zh\":\"成立\",\"got\":null,\"met\":false}]");
    CHECK(to_text(all.at("seeds"), 0) == "[1,2]");
    CHECK(all.at("steps").as_integer() == 8);
    CHECK(all.at("interrupted").as_bool());
    CHECK(seeds_table(runs, {}, Lang::en) ==
          "target  want    lowest  highest  met in\n"
          "------  ------  ------  -------  ------\n"
          "a       >= 0.9  0.8500   0.9500     1/2\n"
          "b       <= 0.2  0.1000   0.1500     2/2\n"
          "c       holds        1        1     1/2\n");
    CHECK(seeds_table(runs, {}, Lang::zh) ==
          "目标  要求      最低    最高  达到次数\n"
          "----  ------  ------  ------  --------\n"
          "甲    >= 0.9  0.8500  0.9500       1/2\n"
          "乙    <= 0.2  0.1000  0.1500       2/2\n"
          "丙    成立         1       1       1/2\n");
  }
}

TEST_SUITE("files") {
  TEST_CASE("a file is replaced whole, keeps its permissions, leaves nothing beside it") {
    const Scratch scratch;
    const fs::path file = scratch / "文件.json";
    const mode_t old_mask = umask(0027);
    write_file(file, "one");
    struct stat status = {};
    REQUIRE(stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0640);
    chmod(file.c_str(), 0604);
    umask(0777);
    write_file(file, std::string(100'000, 'x'));
    umask(old_mask);
    REQUIRE(stat(file.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0604);
    CHECK(read_file(file) == std::string(100'000, 'x'));
    CHECK(files_in(scratch.path()) == 1);
    fs::create_symlink(file, scratch / "link");
    write_file(scratch / "link", "through");
    CHECK(fs::is_symlink(scratch / "link"));
    CHECK(read_file(file) == "through");
  }

  TEST_CASE("errors name path and cause, and nothing is left behind") {
    const Scratch scratch;
    fs::create_directory(scratch / "directory");
    CHECK(error_of([&] { write_file(scratch / "directory", "x"); }).ends_with("directory: Is a directory"));
    CHECK(error_of([&] { write_file(scratch / "no/such/file", "x"); }).find("No such file") != std::string::npos);
    CHECK(error_of([&] { read_file(scratch / "none"); }).ends_with("none: No such file or directory"));
    CHECK(error_of([&] { read_file(scratch / "directory"); }).ends_with("Is a directory"));
    mkfifo((scratch / "pipe").c_str(), 0600);
    CHECK(error_of([&] { read_file(scratch / "pipe"); }).starts_with("cannot read"));
    write_file(scratch / "file", "x");
    CHECK(error_of([&] { make_writable_directory(scratch / "file"); }).starts_with("cannot make the directory"));
    CHECK(error_of([&] { make_writable_directory(scratch / "file/below"); }).starts_with("cannot make the directory"));
    make_writable_directory(scratch / "a/b");
    CHECK(files_in(scratch / "a/b") == 0);
    CHECK(files_in(scratch.path()) == 4);
  }

  TEST_CASE("a full disk leaves the old file as it was") {
    const Scratch scratch;
    write_file(scratch / "file", "old");
    const int code = in_child(scratch, [&] {
      prepare_process();
      struct rlimit limit = {10, 10};
      setrlimit(RLIMIT_FSIZE, &limit);
      const std::string error = error_of([&] { write_file(scratch / "file", std::string(100, 'x')); });
      return error.ends_with("file: File too large") ? 0 : 1;
    });
    CHECK(code == 0);
    CHECK(read_file(scratch / "file") == "old");
    CHECK(files_in(scratch.path()) == 3);
  }

  TEST_CASE("the revision of a checkout, however git stores it") {
    const Scratch scratch;
    const std::string commit = "0123456789abcdef0123456789abcdef01234567";
    CHECK(git_revision("/") == "unknown");  // not the scratch directory: it may lie inside a checkout's build directory
    fs::create_directories(scratch / ".git/refs/heads");
    write_file(scratch / ".git/HEAD", commit + "\n");
    CHECK(git_revision(scratch.path()) == commit);
    write_file(scratch / ".git/HEAD", "ref: refs/heads/main\n");
    CHECK(git_revision(scratch.path()) == "unknown");
    write_file(scratch / ".git/packed-refs", "# pack-refs with: peeled\n" + commit + " refs/heads/main\n");
    CHECK(git_revision(scratch.path()) == commit);
    const std::string newer(40, 'a');
    write_file(scratch / ".git/refs/heads/main", newer + "\n");
    CHECK(git_revision(scratch.path()) == newer);
    fs::create_directories(scratch / "below/deep");
    CHECK(git_revision(scratch / "below/deep") == newer);
    fs::create_directories(scratch / "tree");
    fs::create_directories(scratch / ".git/worktrees/tree");
    write_file(scratch / "tree/.git", "gitdir: " + (scratch / ".git/worktrees/tree").string() + "\n");
    write_file(scratch / ".git/worktrees/tree/HEAD", "ref: refs/heads/main\n");
    write_file(scratch / ".git/worktrees/tree/commondir", "../..\n");
    CHECK(git_revision(scratch / "tree") == newer);
    write_file(scratch / ".git/HEAD", "nonsense");
    CHECK(git_revision(scratch.path()) == "unknown");
  }
}

TEST_SUITE("lesson") {
  TEST_CASE("exit codes and what is printed") {
    const Scratch scratch;
    struct Row {
      std::vector<std::string> arguments;
      int code;
      std::string out, err;  // parts of what is printed
    };
    const std::string out = "--out=" + scratch.path().string();
    const Row rows[] = {
        {{out}, 0, "Lesson 05: A toy   seed 1, threads", ""},
        {{out, "--strict"}, 1, "MISSED", ""},
        {{out, "--strict", "--seed", "3"}, 0, "met", ""},
        {{out, "--lang", "zh"}, 0, "第 05 课：玩具", ""},
        {{out, "--bogus"}, 2, "", "05_toy: no option '--bogus'; see 05_toy --help"},
        {{"--help"}, 0, "usage: 05_toy [options]", ""},
        {{out, "--try", "1 2"}, 0, "<1 2>", ""},
        {{out, "--try", "?"}, 1, "", "train it first: ./gradus run 05"},
        {{"--out=/dev/null"}, 1, "", "error: cannot make the directory /dev/null/05_toy"},
    };
    for (const Row& row : rows) {
      const int code = in_child(scratch, [&] {
        unsetenv("GRADUS_LANG");
        setenv("LC_ALL", "C", 1);
        return call(toy_lesson(), row.arguments);
      });
      const std::string printed = read_file(scratch / "stdout"), complained = read_file(scratch / "stderr");
      CAPTURE(printed);
      CAPTURE(complained);
      CHECK(code == row.code);
      CHECK(printed.find(row.out) != std::string::npos);
      CHECK((row.err.empty() ? complained.empty() : complained.find(row.err) != std::string::npos));
      CHECK(printed.find('\x1b') == std::string::npos);
    }
  }

  TEST_CASE("several seeds: a directory each, and one table") {
    const Scratch scratch;
    const int code = in_child(scratch, [&] {
      return call(toy_lesson(),
                  {"--out=" + scratch.path().string(), "--seeds", "2,3", "--strict", "--plain", "--lang=en"});
    });
    CHECK(code == 1);
    CHECK(fs::exists(scratch / "05_toy/seed_2/metrics.json"));
    CHECK(fs::exists(scratch / "05_toy/seed_3/metrics.json"));
    const Json all = parse_json(read_file(scratch / "05_toy/metrics.json"));
    CHECK(all.at("runs").as_array().size() == 2);
    CHECK(read_file(scratch / "stdout").find("2 of 2 runs finished") != std::string::npos);
    const std::string printed = read_file(scratch / "stdout");
    CHECK(printed.find("accuracy  >= 0.3  0.2000   0.3000     1/2") != std::string::npos);
    const std::string table =
        "skill     seed 2  seed 3\n"
        "--------  ------  ------\n"
        "accuracy    20 %    30 %\n"
        "steps         10      10\n";
    CHECK(printed.find("\n\n" + table) != std::string::npos);
    CHECK(read_file(scratch / "05_toy/skill_seeds.txt") == table);
    CHECK(read_file(scratch / "05_toy/skill_seeds.zh.txt").starts_with("本领    种子 2  种子 3\n"));
    CHECK(printed.find("hello\n") != std::string::npos);
    CHECK(read_file(scratch / "05_toy/seed_3/greeting.txt") == "hello\n");
    CHECK(read_file(scratch / "05_toy/seed_3/greeting.zh.txt") == "你好\n");
  }

  TEST_CASE("a finished run keeps its place: what is shorter or was interrupted stands beside it") {
    const Scratch scratch;
    Lesson lesson = toy_lesson();
    bool interrupt = false;
    lesson.run = [&](const Options& options) {
      const fs::path model = output_directory(options, "05_toy") / "model.safetensors";
      if (options.resume) say("goes on with " + read_file(model) + "\n");
      write_file(model, fmt::format("{}", options.steps.value_or(10)));
      if (interrupt) raise(SIGINT);
      return toy_lesson().run(options);
    };
    const auto run = [&](std::vector<std::string> words, bool stop = false) {
      interrupt = stop;
      words.insert(words.end(), {"--out=" + scratch.path().string(), "--plain", "--lang=en"});
      const int code = in_child(scratch, [&] { return call(lesson, words); });
      CHECK(code == (stop ? 130 : 0));
      return read_file(scratch / "stdout");
    };
    const fs::path place = scratch / "05_toy", beside = place / "short";
    const auto steps_in = [](const fs::path& directory) {
      return parse_json(read_file(directory / "metrics.json")).at("steps").as_integer();
    };
    const std::string stays =
        wrap_to_width(
            fmt::format("The finished run of 10 steps stays in {}, and is the one that ./gradus try asks; this "
                        "one is in {}",
                        place.string(), beside.string()),
            80) +
        "\n";

    CHECK(run({"--steps", "4"}, true).find("stays") == std::string::npos);  // nothing is finished yet
    CHECK(!fs::exists(beside));
    CHECK(run({}).find("stays") == std::string::npos);
    CHECK(!fs::exists(beside));
    const std::string finished = read_file(place / "metrics.json");
    struct Row {
      const char* what;
      std::vector<std::string> words;
      bool stop;
      std::int64_t steps;
    };
    for (const Row& row : {Row{"fewer steps", {"--steps", "5"}, false, 5}, Row{"quick", {"--quick"}, false, 10},
                           Row{"interrupted", {"--steps", "20"}, true, 20}}) {
      CAPTURE(row.what);
      CHECK(run(row.words, row.stop).find(stays) != std::string::npos);
      CHECK(read_file(place / "metrics.json") == finished);
      CHECK(read_file(place / "model.safetensors") == "10");
      CHECK(steps_in(beside) == row.steps);
      CHECK(read_file(beside / "greeting.txt") == "hello\n");
    }
    // --resume goes on with the interrupted one; finished and longer, it takes the place.
    CHECK(run({"--resume", "--steps", "20"}).find("goes on with 20\n") != std::string::npos);
    CHECK(!fs::exists(beside));
    CHECK(steps_in(place) == 20);
    CHECK(read_file(place / "model.safetensors") == "20");
    // Nothing was interrupted since: --resume goes on with the finished one, and keeps it while it is not finished.
    CHECK(run({"--resume", "--steps", "30"}, true).find("goes on with 20\n") != std::string::npos);
    CHECK(steps_in(place) == 20);
    CHECK(steps_in(beside) == 30);
    // Of several seeds each has a place of its own, and so has their table.
    run({"--seeds", "4,5"});
    CHECK(run({"--seeds", "4,5", "--steps", "3"}).find("accuracy  >= 0.3  0.4000   0.5000     2/2") !=
          std::string::npos);
    CHECK(steps_in(place / "seed_4") == 10);
    CHECK(steps_in(place / "seed_4/short") == 3);
    CHECK(steps_in(place / "short") == 3);
    // What is damaged is no finished run.
    write_file(place / "metrics.json", "{");
    CHECK(run({"--steps", "2"}).find("stays") == std::string::npos);
    CHECK(steps_in(place) == 2);
  }

  TEST_CASE("what cannot be written is said after everything has been shown") {
    const Scratch scratch;
    Lesson lesson = toy_lesson();
    lesson.run = [&](const Options& options) {
      Metrics metrics("05_toy", options);
      fs::remove_all(scratch / "05_toy");
      write_file(scratch / "05_toy", "no directory");
      for (const char* name : {"curve", "verdict"})
        metrics.show(name, {}, [&](const Terminal&, Lang) { return fmt::format("the {}\n", name); });
      return metrics.write();
    };
    CHECK(in_child(scratch, [&] { return call(lesson, {"--out=" + scratch.path().string(), "--lang=en"}); }) == 1);
    CHECK(read_file(scratch / "stdout").find("the curve\nthe verdict\n") != std::string::npos);
    CHECK(read_file(scratch / "stderr").find("05_toy/curve.txt") != std::string::npos);
  }

  TEST_CASE("--no-curriculum is for lessons that have one, and has a place of its own") {
    const Scratch scratch;
    const std::string out = "--out=" + scratch.path().string();
    Lesson lesson = toy_lesson();
    CHECK(in_child(scratch, [&] { return call(lesson, {out, "--no-curriculum", "--lang=en"}); }) == 2);
    CHECK(read_file(scratch / "stderr") ==
          "05_toy: --no-curriculum: there is no curriculum to leave out; see 05_toy --help\n");
    lesson.has_curriculum = true;
    CHECK(in_child(scratch, [&] { return call(lesson, {out, "--no-curriculum"}); }) == 0);
    CHECK(fs::exists(scratch / "05_toy/no_curriculum/metrics.json"));
    CHECK(!fs::exists(scratch / "05_toy/metrics.json"));
  }

  TEST_CASE("a loss below 0 or NaN is not met") {
    Metrics metrics("05_toy", {});
    for (double got : {0.0, 1e-3, -0.088, 0.002, std::nan(""), -std::numeric_limits<double>::infinity()})
      metrics.loss_at_most({"last loss", "最后的损失"}, 1e-3, got);
    std::vector<bool> met;
    for (const Target& target : metrics.targets()) met.push_back(target.met);
    CHECK(met == std::vector<bool>{true, true, false, false, false, false});
    CHECK(metrics.target_table({}, Lang::en).find("last loss  <= 0.001, >= 0  -0.0880  MISSED") != std::string::npos);
  }

  TEST_CASE("where only the time is missed, the table says that it is the machine") {
    Options options;
    options.steps = 5;
    for (const bool good : {true, false}) {
      Metrics metrics("05_toy", options);
      metrics.at_least({"accuracy", "准确率"}, 0.9, good ? 0.95 : 0.8);
      metrics.seconds_at_most({"seconds", "秒"}, 2, 3);
      CHECK(metrics.target_table({}, Lang::en).starts_with("Only the time is missed") == good);
      CHECK(metrics.target_table({}, Lang::zh).starts_with("只有时间没有达到") == good);
      CHECK(metrics.target_table({}, Lang::en).starts_with("The targets are those") != good);
      CHECK(metrics.target_table({}, Lang::en).find("     3  MISSED") != std::string::npos);
    }
    Metrics met("05_toy", {});
    met.seconds_at_most({"seconds", "秒"}, 2, 1);
    CHECK(met.target_table({}, Lang::en).starts_with("target"));
  }

  TEST_CASE("what a lesson throws is one line") {
    const Scratch scratch;
    Lesson lesson = toy_lesson();
    const std::string out = "--out=" + scratch.path().string();
    lesson.run = [](const Options&) -> int { throw std::invalid_argument("matmul: (2,3) x (4,5)"); };
    CHECK(in_child(scratch, [&] { return call(lesson, {out, "--lang=en"}); }) == 1);
    CHECK(read_file(scratch / "stderr") == "\nerror: matmul: (2,3) x (4,5)\n");
    lesson.ask = [](const Options&, const std::string& input) -> int {
      digits_in(input);
      return 0;
    };
    CHECK(in_child(scratch, [&] { return call(lesson, {out, "--lang=zh", "--try", "3 x"}); }) == 1);
    CHECK(read_file(scratch / "stderr") == "错误：“3 x”里不全是数字；例如可以输入 \"3 1 4 1 5\"\n");
    lesson.run = [](const Options&) -> int { throw std::bad_alloc(); };
    CHECK(in_child(scratch, [&] { return call(lesson, {out, "--lang=en"}); }) == 1);
    CHECK(read_file(scratch / "stderr").find("out of memory") != std::string::npos);
  }

  TEST_CASE("Ctrl-C once: the lesson ends its step and exits with 130; twice: at once") {
    const Scratch scratch;
    Lesson lesson = toy_lesson();
    const std::string out = "--out=" + scratch.path().string();
    for (const int signal_number : {SIGINT, SIGTERM}) {
      lesson.run = [signal_number](const Options&) {
        raise(signal_number);
        say(interrupted() ? "results so far\n" : "not seen\n");
        return 0;
      };
      CHECK(in_child(scratch, [&] { return call(lesson, {out}); }) == 130);
      CHECK(read_file(scratch / "stdout").find("results so far") != std::string::npos);
    }
    lesson.run = [](const Options&) {
      raise(SIGINT);
      raise(SIGINT);
      say("still here\n");
      return 0;
    };
    CHECK(in_child(scratch, [&] { return call(lesson, {out}); }) == 130);
    CHECK(read_file(scratch / "stdout").find("still here") == std::string::npos);
  }

  TEST_CASE("closed output, broken pipe, full device, no environment") {
    const Scratch scratch;
    const std::string out = "--out=" + scratch.path().string();
    const fs::path metrics = scratch / "05_toy/metrics.json";
    const auto run_closed = [&] {
      for (const int descriptor : {0, 1, 2}) close(descriptor);
      return call(toy_lesson(), {out});
    };
    CHECK(in_child(scratch, run_closed) == 0);
    CHECK(parse_json(read_file(metrics)).at("lesson").as_string() == "05_toy");

    const auto run_broken = [&] {
      int ends[2];
      if (pipe(ends) != 0) return 99;
      dup2(ends[1], 1);
      close(ends[0]);
      close(ends[1]);
      return call(toy_lesson(), {out});
    };
    CHECK(in_child(scratch, run_broken) == 141);
    CHECK(read_file(scratch / "stderr").empty());

    const auto run_full = [&] {
      dup2(open("/dev/full", O_WRONLY), 1);
      return call(toy_lesson(), {out, "--lang=en"});
    };
    CHECK(in_child(scratch, run_full) == 1);
    CHECK(read_file(scratch / "stderr").find("could not be written") != std::string::npos);

    const auto run_bare = [&] {
      clearenv();
      umask(0777);
      return call(toy_lesson(), {out});
    };
    CHECK(in_child(scratch, run_bare) == 0);
  }
}
