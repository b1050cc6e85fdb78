// What is typed for `try`, numbers as tables show them, and pieces of work on several threads.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "lessons/common/jobs.h"
#include "lessons/common/table.h"
#include "lessons/common/typed.h"

using namespace gradus;

TEST_SUITE("typed") {
  TEST_CASE("numbers between blanks or commas; words and huge numbers are refused") {
    const auto read = [](const std::string& text) { return numbers_in(text, 1e6, "0.05 0.27"); };
    CHECK(read("0.05 0.27") == std::vector<double>{0.05, 0.27});
    CHECK(read(" 1,-2 , 3e2 ") == std::vector<double>{1, -2, 300});
    CHECK(read("-1e6 1e6") == std::vector<double>{-1e6, 1e6});
    CHECK(read("").empty());
    for (const char* text : {"a", "1 b", "1e7", "nan", "inf", "1.2.3", "--1", "0.5x"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(read(text), InputError);
    }
    try {
      read("1 b");
    } catch (const InputError& error) {
      CHECK(error.words.en == "'b' is no number from -1000000 to 1000000; type for example \"0.05 0.27\"");
      CHECK(error.words.zh == "“b”不是 -1000000 到 1000000 之间的数；例如可以输入 \"0.05 0.27\"");
      CHECK(error.what() == error.words.en);
    }
  }

  TEST_CASE("digits, with or without something between") {
    CHECK(digits_in("3 1,4") == std::vector<std::int32_t>{3, 1, 4});
    CHECK(digits_in("314") == std::vector<std::int32_t>{3, 1, 4});
    for (const char* text : {"", " ", "3 x", "-1", "三"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(digits_in(text), InputError);
    }
  }
}

TEST_SUITE("fixed") {
  TEST_CASE("so many digits, and never a minus before nothing but zeros") {
    CHECK(fixed(-1e-9) == "0.0000");
    CHECK(fixed(-0.00006) == "-0.0001");
    CHECK(fixed(0) == "0.0000");
    CHECK(fixed(0.44522) == "0.4452");
    CHECK(fixed(2.25, 1) == "2.2");
    CHECK(fixed(std::nan("")) == "nan");
    CHECK(fixed(-std::numeric_limits<double>::infinity()) == "-inf");
    CHECK(percent(0.9964) == "99.6 %");
  }
}

TEST_SUITE("jobs") {
  TEST_CASE("each piece once, whatever the number of threads; in order on one") {
    for (const int threads : {1, 2, 5}) {
      std::vector<std::atomic<int>> done(7);
      for_all(done.size(), threads, [&](std::size_t i) { ++done[i]; });
      for (const std::atomic<int>& count : done) CHECK(count == 1);
    }
    std::vector<std::size_t> order;
    for_all(3, 1, [&](std::size_t i) { order.push_back(i); });
    CHECK(order == std::vector<std::size_t>{0, 1, 2});
    for_all(0, 3, [](std::size_t) { FAIL("there is nothing to do"); });
  }
}
