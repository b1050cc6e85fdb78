// Views, each held against an index map written down here, on every layout and rank.
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

const Shape shapes[] = {{4}, {2, 3}, {3, 1}, {2, 3, 4}, {2, 0, 3}, {3, 2, 4, 2}, {2, 3, 1, 2, 4}};

using Index = std::vector<std::int64_t>;

// The elements of a dense row-major array of `from`, picked for each position of `to` by where(position).
template <class F>
std::vector<double> picked(const std::vector<double>& values, const Shape& from, const Shape& to, F where) {
  std::vector<double> result;
  for_each_index(to, [&](const Index& index) {
    const Index source = where(index);
    std::int64_t place = 0;
    for (int axis = 0; axis < from.rank(); ++axis) {
      place = place * from[axis] + source[static_cast<std::size_t>(axis)];
    }
    result.push_back(values[static_cast<std::size_t>(place)]);
  });
  return result;
}

template <class F> void for_each_tensor(F f) {
  for (const Shape& shape : shapes) {
    const std::vector<double> values = Numbers(11).many(shape.size(), -9, 9);
    for (Layout layout : all_layouts) {
      INFO(name_of(layout), " ", to_string(shape));
      f(laid_out(layout, shape, values, f64), values);
    }
  }
}

// A tensor whose axis `axis` is stretched, and the values of it as a whole.
Tensor stretched_tensor(const Shape& shape, Axis axis) {
  const Shape small = shape.with(axis, 1);
  return expand(tensor(small, Numbers(12).many(small.size(), -9, 9), f64), axis, shape[axis]);
}

}  // namespace

TEST_SUITE_BEGIN("tensor views");

TEST_CASE("transpose exchanges any two axes of any layout") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    for (int a = 0; a < x.rank(); ++a) {
      for (int b = 0; b < x.rank(); ++b) {
        CAPTURE(a);
        CAPTURE(b);
        const Tensor y = transpose(x, Axis{a}, Axis{b});
        Shape want = x.shape();
        std::swap(want[a], want[b]);
        CHECK(y.shape() == want);
        CHECK(y.buffer().get() == x.buffer().get());
        CHECK(same(elements(y), picked(values, x.shape(), want, [&](Index i) {
                     std::swap(i[static_cast<std::size_t>(a)], i[static_cast<std::size_t>(b)]);
                     return i;
                   })));
      }
    }
  });
}

TEST_CASE("transpose of a matrix needs no axes, and twice is the matrix again") {
  const Tensor x = tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(same(elements(transpose(x)), {1, 4, 2, 5, 3, 6}));
  CHECK(transpose(transpose(x)).strides() == x.strides());
}

TEST_CASE("transpose without axes refuses what is no matrix and says what to write") {
  CHECK(message_of<ShapeError>([] {
          transpose(zeros(Shape{2, 3, 4}));
        }) == "transpose: shape (2, 3, 4) is no matrix; name the two axes: transpose(x, Axis{a}, Axis{b})");
  CHECK_THROWS_AS(transpose(zeros(Shape{2})), ShapeError);
  CHECK_THROWS_AS(transpose(zeros(Shape{})), ShapeError);
}

TEST_CASE("narrow takes a range of any axis, with steps") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      const std::int64_t n = x.shape()[axis];
      for (std::int64_t start = 0; start <= n; ++start) {
        for (std::int64_t step = 1; step <= 3; ++step) {
          for (std::int64_t length = 0; start + (length - 1) * step < n; ++length) {
            INFO("axis ", axis, " start ", start, " length ", length, " step ", step);
            const Tensor y = narrow(x, Axis{axis}, start, length, step);
            CHECK(y.shape() == x.shape().with(Axis{axis}, length));
            CHECK(same(elements(y), picked(values, x.shape(), y.shape(), [&](Index i) {
                         i[static_cast<std::size_t>(axis)] = start + step * i[static_cast<std::size_t>(axis)];
                         return i;
                       })));
            if (length == 0 && start > 0) break;
          }
        }
      }
    }
  });
}

TEST_CASE("narrow refuses ranges that do not fit and states them") {
  const Tensor x = zeros(Shape{2, 5});
  CHECK(message_of<ShapeError>([&] { narrow(x, Axis{1}, 2, 4); }) ==
        "narrow: 4 positions from 2 in steps of 1 do not fit on axis 1 of shape (2, 5)");
  struct Row {
    std::int64_t start, length, step;
  };
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const Row& row : {Row{-1, 2, 1}, Row{0, 6, 1}, Row{0, 4, 2}, Row{0, -1, 1}, Row{6, 0, 1}, Row{0, 2, 0},
                         Row{0, 2, -1}, Row{5, 1, 1}, Row{0, huge, 1}, Row{0, 3, huge}, Row{huge, 1, 1}}) {
    INFO(row.start, " ", row.length, " ", row.step);
    CHECK_THROWS_AS(narrow(x, Axis{1}, row.start, row.length, row.step), ShapeError);
  }
  CHECK(opens_with(message_of<ShapeError>([&] { narrow(x, Axis{2}, 0, 1); }), "narrow: Axis{2}"));
}

TEST_CASE("select drops the axis") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      for (std::int64_t k = 0; k < x.shape()[axis]; ++k) {
        INFO("axis ", axis, " index ", k);
        const Tensor y = select(x, Axis{axis}, k);
        CHECK(y.shape() == x.shape().without(Axis{axis}));
        CHECK(same(elements(y), picked(values, x.shape(), y.shape(), [&](Index i) {
                     i.insert(i.begin() + axis, k);
                     return i;
                   })));
      }
    }
  });
}

TEST_CASE("select refuses an index outside, naming it, the axis and the shape") {
  const Tensor x = zeros(Shape{2, 3});
  CHECK(message_of<IndexError>([&] { select(x, Axis{1}, 3); }) == "select: index 3 on axis 1 is outside shape (2, 3)");
  CHECK_THROWS_AS(select(x, Axis{0}, -1), IndexError);
  CHECK_THROWS_AS(select(zeros(Shape{0}), Axis{0}, 0), IndexError);
  CHECK(opens_with(message_of<ShapeError>([&] { select(x, Axis{-1}, 0); }), "select: Axis{-1}"));
}

TEST_CASE("expand stretches an axis of length 1 without storing more") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (x.shape()[axis] != 1) continue;
      for (std::int64_t n : {0, 1, 3}) {
        const Tensor y = expand(x, Axis{axis}, n);
        CHECK(y.shape()[axis] == n);
        CHECK(y.buffer().get() == x.buffer().get());
        CHECK(same(elements(y), picked(values, x.shape(), y.shape(), [&](Index i) {
                     i[static_cast<std::size_t>(axis)] = 0;
                     return i;
                   })));
      }
    }
  });
}

TEST_CASE("expand refuses an axis longer than 1, also an empty one") {
  const std::string text = message_of<ShapeError>([] { expand(zeros(Shape{2, 3}), Axis{1}, 6); });
  CHECK(opens_with(text, "expand: axis 1 of shape (2, 3) is not of length 1"));
  CHECK(contains(text, "expand_new makes one"));
  CHECK_THROWS_AS(expand(zeros(Shape{0}), Axis{0}, 2), ShapeError);
  CHECK_THROWS_AS(expand(zeros(Shape{1}), Axis{1}, 2), ShapeError);
}

TEST_CASE("expand_new puts a stretched axis in front of any other") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    if (x.rank() == max_rank) {
      CHECK_THROWS_AS(expand_new(x, Axis{0}, 2), ShapeError);
      return;
    }
    for (int axis = 0; axis <= x.rank(); ++axis) {
      const Tensor y = expand_new(x, Axis{axis}, 3);
      CHECK(y.shape() == x.shape().inserted(Axis{axis}, 3));
      CHECK(same(elements(y), picked(values, x.shape(), y.shape(), [&](Index i) {
                   i.erase(i.begin() + axis);
                   return i;
                 })));
    }
  });
}

TEST_CASE("expand_new refuses a place that does not exist") {
  CHECK(message_of<ShapeError>([] { expand_new(zeros(Shape{2}), Axis{2}, 3); }) ==
        "expand_new: a tensor of shape (2) has no place for a new Axis{2}");
  CHECK_THROWS_AS(expand_new(zeros(Shape{2}), Axis{-1}, 3), ShapeError);
}

TEST_CASE("expand_scalar shows one number as any shape") {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 2}, Shape{1, 2, 3, 4, 5}}) {
    CAPTURE(to_string(shape));
    const Tensor y = expand_scalar(tensor(Shape{1}, {2.5}), shape);
    CHECK(y.shape() == shape);
    CHECK(same(elements(y), std::vector<double>(static_cast<std::size_t>(shape.size()), 2.5)));
  }
  CHECK(message_of<ShapeError>([] { expand_scalar(zeros(Shape{2}), Shape{2}); }) ==
        "expand_scalar: shape (2) holds more than one number");
}

TEST_CASE("a length that cannot be is refused by every stretching view") {
  CHECK_THROWS_AS(expand(zeros(Shape{1}), Axis{0}, -1), ShapeError);
  CHECK_THROWS_AS(expand_new(zeros(Shape{4}), Axis{0}, std::int64_t{1} << 62), ShapeError);
  CHECK_THROWS_AS(expand(zeros(Shape{1, 4}), Axis{0}, std::int64_t{1} << 62), ShapeError);
}

TEST_CASE("reshape keeps the row-major order of every layout") {
  for_each_tensor([](const Tensor& x, const std::vector<double>& values) {
    std::vector<Shape> targets{Shape{x.size()}, x.shape()};
    if (x.size() % 2 == 0 && x.size() > 0) targets.push_back(Shape{2, x.size() / 2});
    if (x.size() == 0) targets.push_back(Shape{7, 0, 3});
    for (const Shape& shape : targets) {
      CAPTURE(to_string(shape));
      const Tensor y = reshape(x, shape);
      CHECK(y.shape() == shape);
      CHECK(y.contiguous());
      CHECK(same(elements(y), values));
    }
  });
}

TEST_CASE("reshape of a contiguous tensor is a view, of any other a copy") {
  const Tensor x = zeros(Shape{2, 3});
  CHECK(reshape(x, Shape{3, 2}).buffer().get() == x.buffer().get());
  CHECK(reshape(transpose(x), Shape{6}).buffer().get() != x.buffer().get());
  CHECK(reshape(select(x, Axis{0}, 1), Shape{3, 1}).offset() == 3);
}

TEST_CASE("reshape refuses another count and states both") {
  CHECK(message_of<ShapeError>([] {
          reshape(zeros(Shape{2, 3}), Shape{4});
        }) == "reshape: (2, 3) holds 6 numbers and (4) needs 4");
  CHECK_THROWS_AS(reshape(zeros(Shape{0}), Shape{}), ShapeError);
}

TEST_CASE("views of stretched tensors see the one stored number") {
  const Shape shape{2, 3, 4};
  for (int axis = 0; axis < 3; ++axis) {
    CAPTURE(axis);
    const Tensor x = stretched_tensor(shape, Axis{axis});
    const std::vector<double> values = elements(x);
    CHECK(same(elements(select(x, Axis{1}, 2)), picked(values, shape, Shape{2, 4}, [](Index i) {
                 return Index{i[0], 2, i[1]};
               })));
    CHECK(same(elements(narrow(x, Axis{2}, 1, 2, 2)), picked(values, shape, Shape{2, 3, 2}, [](Index i) {
                 return Index{i[0], i[1], 1 + 2 * i[2]};
               })));
    CHECK(same(elements(transpose(x, Axis{0}, Axis{2})), picked(values, shape, Shape{4, 3, 2}, [](Index i) {
                 return Index{i[2], i[1], i[0]};
               })));
    CHECK(same(elements(reshape(x, Shape{24})), values));
  }
}

TEST_CASE("views compose: a row of a step of a transpose") {
  const Tensor x = tensor(Shape{3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const Tensor y = select(narrow(transpose(x), Axis{0}, 1, 2, 2), Axis{1}, 2);  // columns 1 and 3 of row 2
  CHECK(same(elements(y), {9, 11}));
}

TEST_CASE("a view keeps the memory alive after the tensor is gone") {
  Tensor row;
  {
    const Tensor x = tensor(Shape{2, 2}, {1, 2, 3, 4});
    row = select(x, Axis{0}, 1);
  }
  CHECK(same(elements(row), {3, 4}));
}

TEST_SUITE_END();

}  // namespace gradus::testing
