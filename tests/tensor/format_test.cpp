// Printed tensors, letter by letter.
#include "tensor/format.h"

#include <clocale>

#include "tests/tensor/check.h"

namespace gradus::testing {

TEST_SUITE_BEGIN("tensor format");

TEST_CASE("a vector stands on one line") {
  CHECK(numbers(tensor(Shape{3}, {0.464, 0.305, 0.231}, f64)) == "[0.464 0.305 0.231]");
}
TEST_CASE("columns are aligned to the right") {
  CHECK(numbers(tensor(Shape{2, 2}, {1, -20, 3.5, 4}, f64)) == "[[  1 -20]\n [3.5   4]]");
}
TEST_CASE("a tensor says shape and dtype first") {
  CHECK(to_string(tensor(Shape{2, 2}, {1, 2, 3, 4})) == "tensor (2, 2) f32\n[[1 2]\n [3 4]]");
}
TEST_CASE("a scalar is a bare number") { CHECK(to_string(tensor(Shape{}, {2.5}, f64)) == "tensor () f64\n2.5"); }
TEST_CASE("nothing is printed as nothing") { CHECK(to_string(Tensor()) == "tensor (nothing)"); }
TEST_CASE("an empty tensor shows its brackets") {
  CHECK(numbers(zeros(Shape{0})) == "[]");
  CHECK(numbers(zeros(Shape{2, 0})) == "[[]\n []]");
  CHECK(to_string(zeros(Shape{0, 3})) == "tensor (0, 3) f32\n[]");
}
TEST_CASE("rank 3 nests its brackets") {
  CHECK(numbers(tensor(Shape{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})) == "[[[1 2]\n  [3 4]]\n [[5 6]\n  [7 8]]]");
}
TEST_CASE("long axes are shortened in the middle") {
  std::vector<double> values(20);
  for (std::size_t i = 0; i < 20; ++i) values[i] = static_cast<double>(i);
  CHECK(numbers(tensor(Shape{20}, values), 5, 2) == "[ 0  1 ... 18 19]");
  CHECK(numbers(tensor(Shape{20, 1}, values), 5, 1) == "[[ 0]\n ...\n [19]]");
}
TEST_CASE("an axis just short enough is shown whole") {
  CHECK(numbers(tensor(Shape{5}, {1, 2, 3, 4, 5}), 5, 2) == "[1 2 3 4 5]");
  CHECK(numbers(tensor(Shape{6}, {1, 2, 3, 4, 5, 6}), 5, 2) == "[1 2 ... 5 6]");
}
TEST_CASE("digits are significant digits") {
  const Tensor x = tensor(Shape{2}, {3.14159265, 100000.4}, f64);
  CHECK(numbers(x, 3) == "[ 3.14 1e+05]");
  CHECK(numbers(x, 8) == "[3.1415927  100000.4]");
}
TEST_CASE("f32 shows no digits that are not there") { CHECK(numbers(tensor(Shape{1}, {0.1})) == "[0.1]"); }
TEST_CASE("NaN, infinities and signs are spelled out") {
  CHECK(numbers(tensor(Shape{4}, {not_a_number, infinity, -infinity, -0.5}, f64)) == "[ nan  inf -inf -0.5]");
}
TEST_CASE("views are printed as what they show") {
  const Tensor x = tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(numbers(transpose(x)) == "[[1 4]\n [2 5]\n [3 6]]");
  CHECK(numbers(expand_new(select(x, Axis{0}, 1), Axis{0}, 2)) == "[[4 5 6]\n [4 5 6]]");
}
TEST_CASE("a big tensor is shortened on every axis") {
  const std::string text = numbers(zeros(Shape{1000, 1000}), 5, 2);
  CHECK(text == "[[0 0 ... 0 0]\n [0 0 ... 0 0]\n ...\n [0 0 ... 0 0]\n [0 0 ... 0 0]]");
}
TEST_CASE("a comma locale changes nothing") {
  const char* before = std::setlocale(LC_ALL, nullptr);
  const std::string kept = before ? before : "C";
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  CHECK(numbers(tensor(Shape{1}, {0.5})) == "[0.5]");
  std::setlocale(LC_ALL, kept.c_str());
}

TEST_SUITE_END();

}  // namespace gradus::testing
