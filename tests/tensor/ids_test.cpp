// Token ids and masks.
#include "tensor/ids.h"

#include "tests/tensor/check.h"

namespace gradus::testing {

TEST_SUITE_BEGIN("ids and masks");

TEST_CASE("a grid owns row-major values") {
  Ids ids(Shape{2, 3}, std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
  CHECK(ids.shape() == Shape{2, 3});
  CHECK(ids.size() == 6);
  CHECK(ids[4] == 5);
  CHECK(ids.at(1, 1) == 5);
  ids.at(1, 1) = 9;
  CHECK(ids.values() == std::vector<std::int32_t>{1, 2, 3, 4, 9, 6});
}
TEST_CASE("a grid of one value, and an empty one") {
  CHECK(Ids(Shape{2, 2}, 7).values() == std::vector<std::int32_t>{7, 7, 7, 7});
  CHECK(Mask(Shape{3}).values() == std::vector<std::uint8_t>{0, 0, 0});
  CHECK(Ids(Shape{0, 5}).size() == 0);
  CHECK(Ids().size() == 0);
}
TEST_CASE("a copy of a grid is its own") {
  Ids a(Shape{2}, 1);
  Ids b = a;
  b[0] = 5;
  CHECK(a[0] == 1);
  CHECK(a != b);
  CHECK(a == Ids(Shape{2}, 1));
  CHECK(a != Ids(Shape{1, 2}, 1));
}
TEST_CASE("a wrong count is refused with both numbers") {
  CHECK(message_of<ShapeError>([] {
          Ids(Shape{2, 3}, std::vector<std::int32_t>{1, 2});
        }) == "shape (2, 3) needs 6 values, found 2");
}
TEST_CASE("a place outside is refused with place and shape") {
  const Ids ids(Shape{2, 3});
  for (auto [row, column] : {std::pair{2, 0}, std::pair{0, 3}, std::pair{-1, 0}, std::pair{0, -1}}) {
    const std::string text = message_of<IndexError>([&, r = row, c = column] { ids.at(r, c); });
    CHECK(text == "(" + std::to_string(row) + ", " + std::to_string(column) + ") is outside shape (2, 3)");
  }
  CHECK_THROWS_AS(Ids(Shape{4}).at(0, 0), IndexError);
}
TEST_CASE("mask_from_lengths is true at the first lengths of each row") {
  const Mask mask = mask_from_lengths({2, 0, 3}, 3);
  CHECK(mask.shape() == Shape{3, 3});
  CHECK(mask.values() == std::vector<std::uint8_t>{1, 1, 0, 0, 0, 0, 1, 1, 1});
}
TEST_CASE("mask_from_lengths takes empty batches and empty rows") {
  CHECK(mask_from_lengths({}, 4).shape() == Shape{0, 4});
  CHECK(mask_from_lengths({0, 0}, 0).shape() == Shape{2, 0});
}
TEST_CASE("mask_from_lengths refuses a length outside and names the row") {
  CHECK(message_of<ValueError>([] {
          mask_from_lengths({1, 4}, 3);
        }) == "mask_from_lengths: length 4 of row 1 is not between 0 and 3");
  CHECK_THROWS_AS(mask_from_lengths({-1}, 3), ValueError);
}
TEST_CASE("column picks one time step of ids and of masks") {
  const Ids ids(Shape{2, 3}, std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
  CHECK(column(ids, 0) == Ids(Shape{2}, std::vector<std::int32_t>{1, 4}));
  CHECK(column(ids, 2) == Ids(Shape{2}, std::vector<std::int32_t>{3, 6}));
  CHECK(column(mask_from_lengths({1, 2}, 2), 1) == Mask(Shape{2}, std::vector<std::uint8_t>{0, 1}));
}
TEST_CASE("column refuses what is no (B, T) and a step outside") {
  CHECK(message_of<ShapeError>([] { column(Ids(Shape{4}), 0); }) == "column: shape (4) is not (B, T)");
  CHECK_THROWS_AS(column(Ids(Shape{2, 3}), 3), IndexError);
}

TEST_SUITE_END();

}  // namespace gradus::testing
