// Shapes: sizes, strides, checked products, and what is refused.
#include "tensor/shape.h"

#include "tests/tensor/check.h"

namespace gradus::testing {

TEST_SUITE_BEGIN("tensor shape");

TEST_CASE("a shape knows its rank and its number of elements") {
  struct Row {
    Shape shape;
    int rank;
    std::int64_t size;
  };
  for (const Row& row : {Row{{}, 0, 1}, Row{{0}, 1, 0}, Row{{1}, 1, 1}, Row{{7}, 1, 7}, Row{{4, 16}, 2, 64},
                         Row{{2, 0, 3}, 3, 0}, Row{{1, 1, 1, 1, 1}, 5, 1}, Row{{2, 3, 4, 5, 6}, 5, 720}}) {
    CAPTURE(to_string(row.shape));
    CHECK(row.shape.rank() == row.rank);
    CHECK(row.shape.size() == row.size);
  }
}

TEST_CASE("a shape is written like a tuple") {
  CHECK(to_string(Shape{}) == "()");
  CHECK(to_string(Shape{3}) == "(3)");
  CHECK(to_string(Shape{4, 16}) == "(4, 16)");
  CHECK(to_string(Shape{0, 1099511627776}) == "(0, 1099511627776)");
}

TEST_CASE("shapes are equal when all lengths are, whatever they were made from") {
  CHECK(Shape{2, 3} == Shape{2, 3});
  CHECK(Shape{2, 3} != Shape{3, 2});
  CHECK(Shape{2} != Shape{2, 1});
  CHECK(Shape{2, 3, 4}.without(Axis{2}) == Shape{2, 3});
  CHECK(Shape{2, 3}.with(Axis{0}, 5) == Shape{5, 3});
  CHECK(Shape{2, 3}.inserted(Axis{2}, 4) == Shape{2, 3, 4});
  CHECK(Shape{2, 3}.inserted(Axis{0}, 4) == Shape{4, 2, 3});
  CHECK(Shape{2, 3, 4}.without(Axis{0}) == Shape{3, 4});
}

TEST_CASE("dense strides count elements, the last axis 1 apart") {
  struct Row {
    Shape shape;
    Extents strides;
  };
  for (const Row& row : {Row{{}, {}}, Row{{5}, {1}}, Row{{2, 3}, {3, 1}}, Row{{2, 3, 4}, {12, 4, 1}},
                         Row{{2, 3, 4, 5, 6}, {360, 120, 30, 6, 1}}, Row{{2, 1, 4}, {4, 4, 1}}}) {
    CAPTURE(to_string(row.shape));
    CHECK(row.shape.dense_strides() == row.strides);
  }
}

TEST_CASE("a negative length is refused with the shape in the text") {
  const std::string text = message_of<ShapeError>([] { Shape{2, -1}; });
  CHECK(contains(text, "(2, -1)"));
  CHECK(contains(text, "negative"));
}

TEST_CASE("a product beyond 64 bits is refused before anything is allocated") {
  const std::string text = message_of<ShapeError>([] { Shape{std::int64_t{1} << 32, std::int64_t{1} << 32}; });
  CHECK(contains(text, "(4294967296, 4294967296)"));
  CHECK(contains(text, "64 bits"));
  CHECK(contains(message_of<ShapeError>([] { Shape{3037000500, 3037000500}; }), "64 bits"));
  CHECK(contains(message_of<ShapeError>([] { Shape{1 << 20, 1 << 20, 1 << 20, 8}; }), "64 bits"));
}

TEST_CASE("the largest product that fits is accepted") {
  CHECK(Shape{std::int64_t{1} << 31, (std::int64_t{1} << 32) - 1}.size() == 9223372034707292160);
}

TEST_CASE("a zero anywhere makes any other lengths fine") {
  CHECK(Shape{0, std::int64_t{1} << 40, std::int64_t{1} << 40}.size() == 0);
  CHECK(Shape{std::int64_t{1} << 40, std::int64_t{1} << 40, 0}.size() == 0);
}

TEST_CASE("a change that makes the product too big is refused as well") {
  CHECK_THROWS_AS(static_cast<void>(Shape{4, 4}.with(Axis{0}, std::int64_t{1} << 62)), ShapeError);
  CHECK_THROWS_AS(static_cast<void>(Shape{4, 4}.inserted(Axis{0}, std::int64_t{1} << 62)), ShapeError);
  CHECK_THROWS_AS(static_cast<void>(Shape{4, 4}.with(Axis{0}, -1)), ShapeError);
}

TEST_CASE("a sixth axis is refused and the text says what to do") {
  CHECK(contains(message_of<ShapeError>([] { Shape{1, 1, 1, 1, 1, 1}; }), "at most 5 axes; merge some with reshape"));
  CHECK(contains(message_of<ShapeError>([] {
                   static_cast<void>(Shape{1, 1, 1, 1, 1}.inserted(Axis{0}, 1));
                 }),
                 "at most 5 axes"));
}

TEST_CASE("check_axis names op, axis, shape and the range") {
  CHECK_NOTHROW(check_axis("sum", Shape{2, 3}, Axis{0}));
  CHECK_NOTHROW(check_axis("sum", Shape{2, 3}, Axis{1}));
  for (int axis : {-1, 2, 100}) {
    CAPTURE(axis);
    const std::string text = message_of<ShapeError>([&] { check_axis("sum", Shape{2, 3}, Axis{axis}); });
    CHECK(opens_with(text, "sum: Axis{" + std::to_string(axis) + "}"));
    CHECK(contains(text, "(2, 3)"));
    CHECK(contains(text, "from 0 to 1"));
  }
}

TEST_CASE("axes compare by index") {
  CHECK(Axis{1} == Axis{1});
  CHECK(Axis{0} < Axis{1});
  CHECK(Extents{4, 5}[Axis{1}] == 5);
}

TEST_SUITE_END();

}  // namespace gradus::testing
