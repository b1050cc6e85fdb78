// The line of the learner's code in an error. Compiled twice: with debug lines, and without (then the line is left
// out).
#include "nn/attention.h"
#include "tensor/doctor/doctor.h"
#include "tensor/doctor/place.h"
#include "tests/tensor/check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

// The place of what `run` throws, and how it is explained.
template <class F> std::pair<std::string, std::string> place(F run) {
  try {
    run();
  } catch (const Error& error) { return {place_of(error), explain(error, Lang::en)}; }
  return {"nothing was thrown", ""};
}

std::string expected([[maybe_unused]] int line) {
#ifdef WITH_LINES
  return "tests/nn/shape_place_test.cpp:" + std::to_string(line);
#else
  return "";
#endif
}

}  // namespace

TEST_SUITE("the place of an error") {
  TEST_CASE("an operator, which could not take its caller's line as an argument") {
    const Var a = zeros(Shape{8, 16}), b = zeros(Shape{4, 16});
    int line = 0;
    const auto [where, text] = place([&] {
      line = __LINE__ + 1;
      a* b;
    });
    CHECK(where == expected(line));
    CHECK(contains(text, "shape error in left * right"));
    CHECK(contains(text, "\n  place    ") == !where.empty());
    const Var c = zeros(Shape{2, 5, 4}), d = zeros(Shape{2, 5, 3});
    CHECK(contains(place([&] { c* d; }).second, "pass right with Axis{2} = 4\n"));
  }

  TEST_CASE("a layer: the line that called it, not one inside") {
    Generator generator(1, "place");
    const Score score(ScoreKind::additive, 16, 12, 8, generator);
    int line = 0;
    const auto [where, text] = place([&] {
      line = __LINE__ + 1;
      attend(score(zeros(Shape{4, 15}), zeros(Shape{4, 6, 8})), zeros(Shape{4, 6, 12}));
    });
    CHECK(where == expected(line));
    CHECK(contains(text, ": s_prev\n"));
  }

  TEST_CASE("any other error of the library") {
    int line = 0;
    const auto [where, text] = place([&] {
      line = __LINE__ + 1;
      select(Var(zeros(Shape{4, 5})), Axis{1}, 9);
    });
    CHECK(where == expected(line));
    CHECK(text == "select: index 9 on axis 1 is outside shape (4, 5)" +
                      (where.empty() ? "" : "\n  place    " + expected(line)));
  }
}
