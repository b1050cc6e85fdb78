// Which lesson a word means, and what is offered when it means none.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lessons/common/near.h"
#include "lessons/runner/build.h"
#include "lessons/runner/course.h"

using namespace gradus;

namespace {

const std::vector<std::string> ids = {"01_tensors",     "03_gradient_check", "04_softmax",
                                      "08_scores",      "09_bahdanau",       "10_luong",
                                      "11_conventions", "16_transformer",    "17_translation"};

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace

TEST_SUITE("runner") {
  TEST_CASE("words that name lessons") {
    struct Row {
      std::string word;
      const char* found;
      const char* near;
    };
    const Row rows[] = {
        {"09", "09_bahdanau", ""},
        {"9", "09_bahdanau", ""},
        {"009", "09_bahdanau", ""},
        {"bahdanau", "09_bahdanau", ""},
        {"Bahdanau", "09_bahdanau", ""},
        {"bah", "09_bahdanau", ""},
        {"09_bah", "09_bahdanau", ""},
        {"09_bahdanau", "09_bahdanau", ""},
        {"lessons/09_bahdanau/", "09_bahdanau", ""},
        {"gradient", "03_gradient_check", ""},
        {"1", "01_tensors", ""},
        {"10", "10_luong", ""},
        {"s", "04_softmax 08_scores", ""},
        {"t", "01_tensors 16_transformer 17_translation", ""},
        {"tran", "16_transformer 17_translation", ""},
        {"bahdanu", "", "09_bahdanau"},
        {"bahadnau", "", "09_bahdanau"},
        {"loung", "", "10_luong"},
        {"check", "", "03_gradient_check"},
        {"bhada", "", "09_bahdanau"},
        {"23", "", ""},
        {"zzz", "", ""},
        {"", "", ""},
        {"/", "", ""},
        {"-1", "", ""},
        {"99999999999999999999999", "", ""},
        {"../../etc/passwd", "", ""},
    };
    for (const Row& row : rows) {
      CAPTURE(row.word);
      const Resolution resolution = resolve_lesson(ids, row.word);
      CHECK(joined(resolution.ids) == row.found);
      CHECK(joined(resolution.near) == row.near);
    }
  }

  TEST_CASE("a whole name wins over names that begin with it") {
    CHECK(joined(resolve_lesson({"04_score", "08_scores"}, "score").ids) == "04_score");
  }

  TEST_CASE("edit distance") {
    struct Row {
      std::string a, b;
      int distance;
    };
    const Row rows[] = {{"", "", 0},       {"", "abc", 3},           {"abc", "abc", 0},
                        {"abc", "abd", 1}, {"abc", "acb", 1},        {"abc", "ab", 1},
                        {"ABC", "abc", 0}, {"kitten", "sitting", 3}, {"run", "rnu", 1}};
    for (const Row& row : rows) {
      CAPTURE(row.a);
      CHECK(edit_distance(row.a, row.b) == row.distance);
      CHECK(edit_distance(row.b, row.a) == row.distance);
    }
  }

  TEST_CASE("near names: the best first, none that is far") {
    const std::vector<std::string> commands = {"run", "try", "list", "help", "test"};
    CHECK(joined(near_names("rnu", commands)) == "run");
    CHECK(joined(near_names("lst", commands)) == "list");
    CHECK(joined(near_names("tets", commands)) == "test");
    CHECK(joined(near_names("frobnicate", commands)) == "");
    CHECK(joined(near_names(std::string(100'000, 'a'), commands)) == "");
  }

  TEST_CASE("of a failed build, the compiler's words are shown") {
    CHECK(
        compiler_words(
            "ninja: Entering directory `build'\n[1/3] Compiling C++ object a.o\n"
            "FAILED: lessons/x.p/lesson.cpp.o \nc++ -Ilong -c lesson.cpp\n"
            "lesson.cpp:3:1: error: expected ';'\n    3 | }\n      | ^\nninja: build stopped: subcommand failed.\n") ==
        "lesson.cpp:3:1: error: expected ';'\n    3 | }\n      | ^");
    CHECK(compiler_words("ninja: error: unknown target 'lessons/x/x'\n") ==
          "ninja: error: unknown target 'lessons/x/x'");
    CHECK(compiler_words("") == "");
  }
}
