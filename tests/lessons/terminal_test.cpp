// Text on a terminal: how wide it is, cut, padded, wrapped, and safe to show.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "lessons/common/table.h"
#include "lessons/common/terminal.h"

using namespace gradus;

TEST_SUITE("terminal") {
  TEST_CASE("display width") {
    struct Row {
      std::string text;
      int width;
    };
    const Row rows[] = {
        {"", 0},
        {"abc", 3},
        {"中文", 4},
        {"a中b", 4},
        {"é", 1},
        {"e\u0301", 1},
        {"，。！", 6},
        {"ｆｕｌｌ", 8},
        {"한국", 4},
        {"かな", 4},
        {"😀", 2},
        {"→●│█", 4},
        {"\x1b[31mred\x1b[0m", 3},
        {"\x1b[0m", 0},
        {"\xFF\xFE", 2},
        {"\xE4\xB8", 2},
        {"a\tb", 2},
        {"\u200b", 0},
        {"ü", 1},
        {"𠮷", 2},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      CHECK(display_width(row.text) == row.width);
    }
  }

  TEST_CASE("cutting keeps whole characters and never exceeds the width") {
    struct Row {
      std::string text;
      int width;
      std::string cut;
    };
    const Row rows[] = {
        {"abcdef", 6, "abcdef"},
        {"abcdef", 5, "ab..."},
        {"abcdef", 3, "..."},
        {"abcdef", 2, ".."},
        {"abcdef", 0, ""},
        {"abcdef", -1, ""},
        {"我爱中国", 8, "我爱中国"},
        {"我爱中国", 7, "我爱..."},
        {"我爱中国", 6, "我..."},
        {"我爱中国", 4, "..."},
        {"\x1b[31mabcdef\x1b[0m", 4, "\x1b[31ma...\x1b[0m"},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      CAPTURE(row.width);
      CHECK(cut_to_width(row.text, row.width) == row.cut);
    }
  }

  TEST_CASE("padding counts columns") {
    CHECK(pad_right("中", 4) == "中  ");
    CHECK(pad_left("中a", 5) == "  中a");
    CHECK(pad_centre("中", 5) == " 中  ");
    CHECK(pad_right("long", 2) == "long");
  }

  TEST_CASE("wrapping") {
    struct Row {
      std::string text;
      int width;
      std::string wrapped;
    };
    const Row rows[] = {
        {"one two three", 7, "one two\nthree"}, {"one two", 80, "one two"},
        {"abcdefgh", 3, "abc\ndef\ngh"},        {"a\n\nb", 10, "a\n\nb"},
        {"我爱中国", 4, "我爱\n中国"},          {"我爱中国。", 8, "我爱中\n国。"},
        {"x 中文 y", 4, "x 中\n文 y"},          {"", 5, ""},
    };
    for (const Row& row : rows) {
      CAPTURE(row.text);
      CHECK(wrap_to_width(row.text, row.width) == row.wrapped);
    }
  }

  TEST_CASE("what a user typed cannot control the terminal") {
    CHECK(printable("plain 中文") == "plain 中文");
    CHECK(printable("\x1b[31mred") == "\\x1b[31mred");
    CHECK(printable("a\nb\x7f") == "a\\x0ab\\x7f");
    CHECK(printable("\xFFok") == "\\xffok");
    CHECK(printable("\xC2\x9B") == "\\xc2\\x9b");
  }

  TEST_CASE("colour is added only where the terminal shows it") {
    Terminal terminal;
    CHECK(paint(terminal, Colour::red, "x") == "x");
    terminal.colour = true;
    CHECK(paint(terminal, Colour::red, "x") == "\x1b[31mx\x1b[0m");
    CHECK(paint(terminal, Colour::none, "x") == "x");
  }

  TEST_CASE("tables align wide characters and wrap in narrow terminals") {
    Table table({"target", "got"}, {Align::left, Align::right});
    table.add_row({"accuracy", "0.99"});
    table.add_row({"准确率", "1"});
    CHECK(table.text({}) ==
          "target     got\n"
          "--------  ----\n"
          "accuracy  0.99\n"
          "准确率       1\n");
    table.add_row({"a name that is longer than the terminal is wide", "0.5"});
    CHECK(table.text({.width = 20}) ==
          "target           got\n"
          "--------------  ----\n"
          "accuracy        0.99\n"
          "准确率             1\n"
          "a name that is   0.5\n"
          "longer than\n"
          "the terminal\n"
          "is wide\n");
    CHECK(table.text({.width = 13}) ==
          "accuracy\n"
          "  got 0.99\n"
          "准确率\n"
          "  got 1\n"
          "a name that\n"
          "is longer\n"
          "than the\n"
          "terminal is\n"
          "wide\n"
          "  got 0.5\n");
    CHECK_THROWS_AS(table.add_row({"one"}), std::invalid_argument);
  }
}

TEST_CASE("terminal: line characters where the locale has them, and where nothing is said") {
  const char* given = std::getenv("LC_ALL");
  const std::string before = given == nullptr ? "" : given;
  for (const auto& [locale, unicode] :
       {std::pair("C.UTF-8", true), std::pair("zh_CN.utf8", true), std::pair("C", false), std::pair("POSIX", false),
        std::pair("de_DE.ISO-8859-1", false), std::pair("de_DE", true)}) {
    CAPTURE(locale);
    setenv("LC_ALL", locale, 1);
    CHECK(find_terminal(Options()).unicode == unicode);
  }
  if (given == nullptr) unsetenv("LC_ALL");
  else setenv("LC_ALL", before.c_str(), 1);
}
