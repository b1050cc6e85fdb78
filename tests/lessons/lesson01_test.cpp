// Lesson 01: views against real tensors, what is typed, the line against its solution, the ten programs, and the table
// of NumPy lines.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "lessons/01_tensors/broken.h"
#include "lessons/01_tensors/line.h"
#include "lessons/01_tensors/parts.h"
#include "lessons/01_tensors/views_picture.h"
#include "tensor/reduce.h"

using namespace gradus;
using namespace gradus::lesson01;

namespace {

bool on_both_pages(const std::string& text) {
  for (const char* page : {"README.md", "README.zh.md"}) {
    std::ifstream in(std::string(GRADUS_SOURCE_ROOT) + "/lessons/01_tensors/" + page);
    std::ostringstream all;
    all << in.rdbuf();
    if (all.str().find(text) == std::string::npos) return false;
  }
  return true;
}

Tensor counted(const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(static_cast<double>(i));
  return tensor(shape, values, f64);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE("lesson 01") {
  TEST_CASE("lesson 01: the taught parts agree with strides worked out by hand") {
    const Parts& part = taught_parts();
    const View x = part.row_major(Shape{2, 3, 4});
    CHECK(x == View{Shape{2, 3, 4}, Extents{12, 4, 1}, 0});
    CHECK(part.transposed(x, 0, 2) == View{Shape{4, 3, 2}, Extents{1, 4, 12}, 0});
    CHECK(part.narrowed(x, 2, 1, 2, 2) == View{Shape{2, 3, 2}, Extents{12, 4, 2}, 1});
    const View row = part.narrowed(part.row_major(Shape{2, 3}), 0, 1, 1, 1);
    CHECK(part.stretched(row, 0, 5) == View{Shape{5, 3}, Extents{0, 1}, 3});
    CHECK_THROWS_AS(part.stretched(x, 1, 5), ShapeError);
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t k = 0; k < 4; ++k)
        CHECK(part.place(part.transposed(x, 0, 2), Extents{k, 1, i}) == 12 * i + 4 + k);
    }
  }

  TEST_CASE("lesson 01: the picture of the views has all of them with their strides, the table every element") {
    const std::vector<NamedView> views = views_of_six();
    REQUIRE(views.size() == 6);
    const std::string table = views_csv(views);
    CHECK(std::count(table.begin(), table.end(), '\n') == 1 + 6 + 6 + 4 + 3 + 9 + 6);
    CHECK(table.find("\"transpose(x)\",2,1,5,6\n") != std::string::npos);
    CHECK(table.find("\"expand(that, Axis{0}, 3)\",2,0,3,4\n") != std::string::npos);
    for (const Lang lang : {Lang::en, Lang::zh}) {
      const std::string picture = views_svg(views, lang);
      CHECK(picture.find("<title>") != std::string::npos);
      CHECK(picture.find("<desc>") != std::string::npos);
      for (const NamedView& named : views) {
        CHECK(picture.find(">" + named.name + "<") != std::string::npos);
        CHECK(picture.find(fmt::format("({}, {})", named.view.strides[0], named.view.strides[1])) != std::string::npos);
      }
    }
  }

  TEST_CASE("lesson 01: views that are typed, and what is no view") {
    const std::string shown = views_typed("2 3 transpose 0 1 narrow 0 1 2 1", Lang::en);
    CHECK(contains(shown, "strides (1, 3)"));
    CHECK(contains(shown, "offset 1"));
    for (const char* text : {"", "x", "2 3 turn", "2 3 transpose 0", "2 3 narrow 0 0 1", "2 3 stretch 0", "-1",
                             "1 2 3 4 5 6", "99999 2", "2 3 transpose a b"}) {
      CAPTURE(text);
      CHECK_THROWS_AS(views_typed(text, Lang::en), ValueError);
    }
    CHECK_THROWS_AS(views_typed("2 3 stretch 0 4", Lang::en), ShapeError);
    CHECK_THROWS_AS(views_typed("2 3 narrow 0 1 2 1", Lang::en), ShapeError);
    CHECK_THROWS_AS(views_typed("2 3 transpose 0 2", Lang::en), ShapeError);
  }

  TEST_CASE("lesson 01: ten of ten broken programs are named, and their fix mends them") {
    CHECK(broken_programs().size() == 10);
    for (const Broken& program : broken_programs()) {
      CAPTURE(program.code);
      const Examined result = examined(program, Lang::en);
      CHECK_MESSAGE(result.named, result.text);
      CHECK_MESSAGE(result.fix, result.text);
      CHECK(contains(result.text, "  fix "));
      CHECK(contains(result.text, "  test "));
      CHECK(contains(examined(program, Lang::zh).text, "修改"));
    }
    CHECK(named_with_fix() == 10);
  }

  TEST_CASE("lesson 01: descent finds the solution, and the stretched loss finds the mean") {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Line line = draw_line(seed);
      CHECK(hand_against_taught(line) <= 1e-12);
      const Fit exact = solved(line), found = descend(line, 200, [](std::int64_t, double) { return true; }),
                stretched = descend_stretched(line, 200);
      CHECK(std::fabs(found.slope - exact.slope) <= 1e-6);
      CHECK(std::fabs(found.intercept - exact.intercept) <= 1e-6);
      CHECK(std::fabs(exact.slope - true_slope) < 0.1);
      CHECK(std::fabs(stretched.slope) <= 1e-6);
      CHECK(std::fabs(stretched.intercept - mean(reshape(line.y, Shape{points}), Axis{0}).item()) <= 1e-6);
      CHECK(stretched.losses.back() > 10 * found.losses.back());
      const Var apart = Var(line.y) - stretched.intercept;  // what is left is the variance of y
      CHECK(std::fabs(stretched.losses.back() - mean(square(apart)).item()) <= 1e-9);
    }
    std::int64_t seen = 0;
    (void)descend(draw_line(1), 100, [&](std::int64_t step, double) { return (seen = step) < 4; });
    CHECK(seen == 4);
  }

  TEST_CASE("lesson 01: every row of the table of lines gives what NumPy's line gives") {
    const Var x(counted(Shape{2, 3})), row(counted(Shape{3})), column(counted(Shape{2, 1}));
    struct Line {
      const char* cells;
      Var got;
      Shape shape;
      std::vector<double> numbers;
    };
    for (const Line& l : {
             Line{"| `x.T` | `transpose(x)` |", transpose(x), {3, 2}, {0, 3, 1, 4, 2, 5}},
             Line{"| `x[1]` | `select(x, Axis{0}, 1)` |", select(x, Axis{0}, 1), {3}, {3, 4, 5}},
             Line{"| `x[:, ::2]` | `narrow(x, Axis{1}, 0, 2, 2)` |", narrow(x, Axis{1}, 0, 2, 2), {2, 2}, {0, 2, 3, 5}},
             Line{"| `x.reshape(3, 2)` | `reshape(x, Shape{3, 2})` |",
                  reshape(x, Shape{3, 2}),
                  {3, 2},
                  {0, 1, 2, 3, 4, 5}},
             Line{"| `x.sum(axis=1)` | `sum(x, Axis{1})` |", sum(x, Axis{1}), {2}, {3, 12}},
             Line{"| `x.mean()` | `mean(x)` |", mean(x), {}, {2.5}},
             Line{"| `x @ x.T` | `matmul(x, transpose(x))` |", matmul(x, transpose(x)), {2, 2}, {5, 14, 14, 50}},
             Line{"| `x * x` | `x * x` |", x * x, {2, 3}, {0, 1, 4, 9, 16, 25}},
             Line{"| `x + row` | `x + expand_new(row, Axis{0}, 2)` |",
                  x + expand_new(row, Axis{0}, 2),
                  {2, 3},
                  {0, 2, 4, 3, 5, 7}},
             Line{"| `x + column` | `x + expand(column, Axis{1}, 3)` |",
                  x + expand(column, Axis{1}, 3),
                  {2, 3},
                  {0, 1, 2, 4, 5, 6}},
             Line{"| `np.concatenate([x, x], axis=1)` | `concat({x, x}, Axis{1})` |",
                  concat({x, x}, Axis{1}),
                  {2, 6},
                  {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
             Line{"| `np.stack([row, row])` | `stack_along({row, row}, Axis{0})` |",
                  stack_along({row, row}, Axis{0}),
                  {2, 3},
                  {0, 1, 2, 0, 1, 2}},
         }) {
      CAPTURE(std::string(l.cells));
      CHECK(l.got.shape() == l.shape);
      CHECK(l.got.value().to_vector() == l.numbers);
      CHECK(on_both_pages(l.cells));
    }
    CHECK_THROWS_AS(x + row, ShapeError);
    CHECK_THROWS_AS(x + column, ShapeError);
  }
}
