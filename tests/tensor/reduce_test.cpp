// Reductions, softmax and their like over every axis and layout, against loops in double.
#include "tensor/reduce.h"

#include "tests/reference/softmax.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

const Shape shapes[] = {{1},    {5},       {17},      {2, 3},       {16, 3},        {3, 40},
                        {1, 1}, {2, 3, 4}, {3, 1, 5}, {2, 3, 4, 5}, {2, 1, 3, 2, 2}};

// The rows of x along `axis`, in row-major order of the other axes.
std::vector<std::vector<double>> rows_of(const Shape& shape, const std::vector<double>& values, int axis) {
  const Shape rest = shape.without(Axis{axis});
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(rest.size()));
  std::size_t next = 0;
  for_each_index(shape, [&](std::vector<std::int64_t> i) {
    i.erase(i.begin() + axis);
    std::int64_t row = 0;
    for (int k = 0; k < rest.rank(); ++k) row = row * rest[k] + i[static_cast<std::size_t>(k)];
    rows[static_cast<std::size_t>(row)].push_back(values[next++]);
  });
  return rows;
}

// The inverse: numbers by row back to row-major order of `shape`.
std::vector<double> from_rows(const Shape& shape, const std::vector<std::vector<double>>& rows, int axis) {
  std::vector<double> values;
  for_each_index(shape, [&](std::vector<std::int64_t> i) {
    const std::int64_t k = i[static_cast<std::size_t>(axis)];
    i.erase(i.begin() + axis);
    const Shape rest = shape.without(Axis{axis});
    std::int64_t row = 0;
    for (int a = 0; a < rest.rank(); ++a) row = row * rest[a] + i[static_cast<std::size_t>(a)];
    values.push_back(rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(k)]);
  });
  return values;
}

template <class F> void for_each_case(double low, double high, F f) {
  for (const Shape& shape : shapes) {
    const std::vector<double> values = Numbers(21).many(shape.size(), low, high);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      for (Layout layout : all_layouts) {
        for (DType dtype : {f32, f64}) {
          INFO(to_string(shape), " axis ", axis, " ", name_of(layout), " ", std::string(to_string(dtype)));
          const Tensor x = laid_out(layout, shape, values, dtype);
          f(x, axis, rows_of(shape, elements(x), axis), dtype == f32 ? 1e-6 : 1e-14);
        }
      }
    }
  }
}

template <class R, class P> void check_reduction(R reduce, P plain, double low = -2, double high = 2) {
  for_each_case(low, high, [&](const Tensor& x, int axis, const std::vector<std::vector<double>>& rows, double bound) {
    const Tensor y = reduce(x, Axis{axis});
    std::vector<double> want;
    for (const auto& row : rows) want.push_back(plain(row));
    CHECK(y.shape() == x.shape().without(Axis{axis}));
    CHECK(y.dtype() == x.dtype());
    CHECK(near(elements(y), want, bound));
  });
}

double plain_sum(const std::vector<double>& row) {
  double total = 0;
  for (double value : row) total += value;
  return total;
}

}  // namespace

TEST_SUITE_BEGIN("tensor reductions");

TEST_CASE("sum over every axis and layout") {
  check_reduction([](const Tensor& x, Axis axis) { return sum(x, axis); }, plain_sum, 0.1, 2);
}
TEST_CASE("mean over every axis and layout") {
  check_reduction([](const Tensor& x, Axis axis) { return mean(x, axis); },
                  [](const std::vector<double>& row) { return plain_sum(row) / static_cast<double>(row.size()); }, 0.1,
                  2);
}
TEST_CASE("max over every axis and layout") {
  check_reduction([](const Tensor& x, Axis axis) { return max(x, axis); },
                  [](const std::vector<double>& row) { return *std::max_element(row.begin(), row.end()); });
}
TEST_CASE("logsumexp over every axis and layout") {
  check_reduction([](const Tensor& x, Axis axis) { return logsumexp(x, axis); },
                  [](const std::vector<double>& row) { return paper::log_sum_exp(row); });
}
TEST_CASE("argmax over every axis and layout") {
  for_each_case(-2, 2, [](const Tensor& x, int axis, const std::vector<std::vector<double>>& rows, double) {
    const Ids best = argmax(x, Axis{axis});
    CHECK(best.shape() == x.shape().without(Axis{axis}));
    bool right = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      right = right &&
              best[static_cast<std::int64_t>(i)] == std::max_element(rows[i].begin(), rows[i].end()) - rows[i].begin();
    }
    CHECK(right);
  });
}
TEST_CASE("sum of everything in every layout") {
  for_each_case(0.1, 2, [](const Tensor& x, int, const std::vector<std::vector<double>>& rows, double bound) {
    double want = 0;
    for (const auto& row : rows) want += plain_sum(row);
    CHECK(sum(x).shape() == Shape{});
    CHECK(near(sum(x).item(), want, bound));
  });
}
TEST_CASE("norm of everything in every layout, accumulated in double") {
  for_each_case(-2, 2, [](const Tensor& x, int, const std::vector<std::vector<double>>& rows, double) {
    double squares = 0;
    for (const auto& row : rows) {
      for (double value : row) squares += value * value;
    }
    CHECK(near(norm(x), std::sqrt(squares), 1e-14));
  });
}

TEST_CASE("reductions of stretched tensors count every repetition") {
  const Tensor x = expand_new(tensor(Shape{3}, {1, 2, 3}, f64), Axis{0}, 4);  // (4, 3)
  CHECK(same(elements(sum(x, Axis{0})), {4, 8, 12}));
  CHECK(same(elements(sum(x, Axis{1})), {6, 6, 6, 6}));
  CHECK(sum(x).item() == 24);
  CHECK(same(elements(mean(x, Axis{0})), {1, 2, 3}));
  CHECK(same(elements(max(x, Axis{1})), {3, 3, 3, 3}));
  CHECK(near(norm(x), std::sqrt(4.0 * 14), 1e-15));
}

TEST_CASE("a scalar sums to itself") {
  CHECK(sum(tensor(Shape{}, {3}, f64)).item() == 3);
  CHECK(norm(tensor(Shape{}, {-3}, f64)) == 3);
}

TEST_CASE("an empty sum is 0") {
  CHECK(same(elements(sum(zeros(Shape{2, 0}), Axis{1})), {0, 0}));
  CHECK(sum(zeros(Shape{0, 3}, f64)).item() == 0);
  CHECK(sum(zeros(Shape{0, 3}), Axis{1}).shape() == Shape{0});
  CHECK(norm(zeros(Shape{0})) == 0);
}

TEST_CASE("mean, max, argmax and logsumexp of an empty axis are refused by name") {
  const Tensor x = zeros(Shape{2, 0});
  CHECK(message_of<ValueError>([&] { mean(x, Axis{1}); }) == "mean: axis 1 of shape (2, 0) is empty and has no mean");
  CHECK(message_of<ValueError>([&] { max(x, Axis{1}); }) == "max: axis 1 of shape (2, 0) is empty and has no max");
  CHECK(opens_with(message_of<ValueError>([&] { argmax(x, Axis{1}); }), "argmax: axis 1 of shape (2, 0) is empty"));
  CHECK(opens_with(message_of<ValueError>([&] { logsumexp(x, Axis{1}); }), "logsumexp: axis 1 of shape (2, 0)"));
}

TEST_CASE("an empty axis elsewhere gives an empty result") {
  const Tensor x = zeros(Shape{0, 3});
  CHECK(mean(x, Axis{1}).shape() == Shape{0});
  CHECK(max(x, Axis{1}).shape() == Shape{0});
  CHECK(argmax(x, Axis{1}).shape() == Shape{0});
  CHECK(logsumexp(x, Axis{1}).shape() == Shape{0});
  CHECK(softmax(x, Axis{1}).shape() == Shape{0, 3});
}

TEST_CASE("refusals of an axis open with the name of the reduction") {
  struct Row {
    const char* name;
    std::function<void(const Tensor&, Axis)> act;
  };
  for (const Row& row :
       {Row{"sum", [](const Tensor&x, Axis a) { sum(x, a); }}, Row{"mean", [](const Tensor&x, Axis a) { mean(x, a); }},
        Row{"max", [](const Tensor&x, Axis a) { max(x, a); }},
        Row{"argmax", [](const Tensor&x, Axis a) { argmax(x, a); }},
        Row{"logsumexp", [](const Tensor&x, Axis a) { logsumexp(x, a); }},
        Row{"softmax", [](const Tensor&x, Axis a) { softmax(x, a); }},
        Row{"log_softmax", [](const Tensor&x, Axis a) { log_softmax(x, a); }}}) {
    for (int axis : {-1, 2}) {
      CAPTURE(std::string(row.name));
      CAPTURE(axis);
      const std::string text = message_of<ShapeError>([&] { row.act(zeros(Shape{2, 3}), Axis{axis}); });
      CAPTURE(text);
      CHECK(opens_with(text, std::string(row.name) + ": Axis{" + std::to_string(axis) + "}"));
    }
  }
}

TEST_CASE("argmax takes the first of equal maxima") {
  CHECK(argmax(tensor(Shape{5}, {1, 3, 2, 3, 3}), Axis{0})[0] == 1);
  CHECK(argmax(full(Shape{2, 3}, 7, f64), Axis{1}).values() == std::vector<std::int32_t>{0, 0});
  CHECK(argmax(tensor(Shape{3}, {-infinity, -infinity, -infinity}), Axis{0})[0] == 0);
}

TEST_CASE("max passes NaN on and knows infinities") {
  CHECK(std::isnan(max(tensor(Shape{3}, {1, not_a_number, 2}), Axis{0}).item()));
  CHECK(std::isnan(max(tensor(Shape{3}, {not_a_number, 1, 2}), Axis{0}).item()));
  CHECK(std::isnan(max(tensor(Shape{3}, {1, 2, not_a_number}), Axis{0}).item()));
  CHECK(max(tensor(Shape{2}, {-infinity, -infinity}), Axis{0}).item() == -infinity);
  CHECK(max(tensor(Shape{2}, {-infinity, -3}), Axis{0}).item() == -3);
}

TEST_CASE("logsumexp neither overflows nor underflows") {
  for (DType dtype : {f32, f64}) {
    CHECK(near(logsumexp(tensor(Shape{2}, {1000, 1000}, dtype), Axis{0}).item(), 1000 + std::log(2.0), 1e-7));
    CHECK(near(logsumexp(tensor(Shape{2}, {-1000, -1000}, dtype), Axis{0}).item(), -1000 + std::log(2.0), 1e-7));
    CHECK(logsumexp(tensor(Shape{2}, {-infinity, 5}, dtype), Axis{0}).item() == 5);
    CHECK(logsumexp(tensor(Shape{2}, {-infinity, -infinity}, dtype), Axis{0}).item() == -infinity);
    CHECK(logsumexp(tensor(Shape{2}, {infinity, 5}, dtype), Axis{0}).item() == infinity);
    CHECK(std::isnan(logsumexp(tensor(Shape{2}, {not_a_number, 5}, dtype), Axis{0}).item()));
  }
}

TEST_CASE("all_finite sees one NaN or infinity anywhere in any layout") {
  for (Layout layout : all_layouts) {
    for (double bad : {not_a_number, infinity, -infinity}) {
      for (std::size_t place = 0; place < 24; ++place) {
        std::vector<double> values(24, 1.0);
        values[place] = bad;
        CHECK_FALSE(all_finite(laid_out(layout, Shape{2, 3, 4}, values, f32)));
      }
    }
    CHECK(all_finite(laid_out(layout, Shape{2, 3, 4}, std::vector<double>(24, 1.0), f64)));
  }
  CHECK(all_finite(zeros(Shape{0})));
}

TEST_CASE("sums repeat bit for bit") {
  const Tensor x = tensor(Shape{1003}, Numbers(2).many(1003, -1, 1));
  const double first = sum(x).item();
  for (int i = 0; i < 5; ++i) CHECK(sum(copy(x)).item() == first);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("tensor softmax");

TEST_CASE("softmax over every axis and layout") {
  for_each_case(-3, 3, [](const Tensor& x, int axis, std::vector<std::vector<double>> rows, double bound) {
    for (auto& row : rows) row = paper::softmax(row);
    const Tensor y = softmax(x, Axis{axis});
    CHECK(y.shape() == x.shape());
    CHECK(near(elements(y), from_rows(x.shape(), rows, axis), bound));
  });
}
TEST_CASE("log_softmax over every axis and layout") {
  for_each_case(-3, 3, [](const Tensor& x, int axis, std::vector<std::vector<double>> rows, double bound) {
    for (auto& row : rows) row = paper::log_softmax(row);
    const Tensor y = log_softmax(x, Axis{axis});
    CHECK(y.shape() == x.shape());
    CHECK(near(elements(y), from_rows(x.shape(), rows, axis), bound));
  });
}
TEST_CASE("softmax sums to 1 along its axis and along no other") {
  const Tensor x = tensor(Shape{3, 4}, Numbers(3).many(12, -2, 2), f64);
  for (int axis : {0, 1}) {
    for (double total : elements(sum(softmax(x, Axis{axis}), Axis{axis}))) CHECK(near(total, 1, 1e-15));
    for (double total : elements(sum(softmax(x, Axis{axis}), Axis{1 - axis}))) CHECK_FALSE(near(total, 1, 1e-3));
  }
}
TEST_CASE("softmax does not change when 1000 is added") {
  for (DType dtype : {f32, f64}) {
    for (double shift : {1000.0, -1000.0}) {
      const Tensor a = softmax(tensor(Shape{3}, {0, 1, 2}, dtype), Axis{0});
      const Tensor b = softmax(tensor(Shape{3}, {shift, shift + 1, shift + 2}, dtype), Axis{0});
      CHECK(same(elements(a), elements(b)));
      const Tensor c = log_softmax(tensor(Shape{3}, {shift, shift + 1, shift + 2}, dtype), Axis{0});
      CHECK(near(elements(c), elements(log_softmax(tensor(Shape{3}, {0, 1, 2}, dtype), Axis{0})),
                 dtype == f32 ? 1e-4 : 1e-12));
    }
  }
}
TEST_CASE("softmax of logits 1000 and 0 is 1 and 0, not NaN") {
  CHECK(same(elements(softmax(tensor(Shape{2}, {1000, 0}, f64), Axis{0})), {1, 0}));
  CHECK(near(softmax(tensor(Shape{2}, {100, 0}), Axis{0}).at({0}), 1, 1e-7));
}
TEST_CASE("the worked example of the first note: scores 1.2 0.78 0.5 give 0.464 0.305 0.231") {
  const std::vector<double> weights = elements(softmax(tensor(Shape{3}, {1.2, 0.78, 0.5}, f64), Axis{0}));
  CHECK(std::fabs(weights[0] - 0.464) < 0.0015);
  CHECK(std::fabs(weights[1] - 0.305) < 0.0015);
  CHECK(std::fabs(weights[2] - 0.231) < 0.0015);
}
TEST_CASE("a single score gets weight exactly 1") {
  for (double score : {-1e30, -3.0, 0.0, 1e30}) { CHECK(softmax(tensor(Shape{1, 1}, {score}), Axis{1}).item() == 1); }
}
TEST_CASE("softmax along an empty axis is empty") {
  CHECK(softmax(zeros(Shape{2, 0}), Axis{1}).shape() == Shape{2, 0});
}
TEST_CASE("log_softmax along an empty axis is empty, like softmax") {
  CHECK(log_softmax(zeros(Shape{0, 2}), Axis{1}).shape() == Shape{0, 2});
  CHECK(log_softmax(zeros(Shape{2, 0}), Axis{1}).shape() == Shape{2, 0});
}
TEST_CASE("NaN poisons its own row only") {
  const std::vector<double> y = elements(softmax(tensor(Shape{2, 3}, {1, not_a_number, 2, 1, 2, 3}, f64), Axis{1}));
  CHECK(std::isnan(y[0]));
  CHECK(std::isnan(y[2]));
  CHECK(near(std::vector<double>{y[3], y[4], y[5]}, paper::softmax({1, 2, 3}), 1e-15));
}
TEST_CASE("a score of minus infinity gets weight exactly 0") {
  CHECK(same(elements(softmax(tensor(Shape{3}, {-infinity, 1, 1}, f64), Axis{0})), {0, 0.5, 0.5}));
}

TEST_CASE("masked positions get weight exactly 0, the others the softmax among themselves") {
  for (Layout layout : all_layouts) {
    for (DType dtype : {f32, f64}) {
      CAPTURE(name_of(layout));
      const Shape shape{4, 19};
      const std::vector<double> values = Numbers(31).many(76, -3, 3);
      Numbers numbers(32);
      Mask mask(shape);
      for (std::int64_t i = 0; i < mask.size(); ++i) mask[i] = numbers.below(3) > 0 || i % 19 == 0;
      const Tensor x = laid_out(layout, shape, values, dtype);
      const std::vector<double> xs = elements(x), y = elements(softmax(x, Axis{1}, &mask));
      for (std::size_t row = 0; row < 4; ++row) {
        std::vector<double> scores(xs.begin() + static_cast<std::ptrdiff_t>(row * 19),
                                   xs.begin() + static_cast<std::ptrdiff_t>(row * 19 + 19));
        std::vector<bool> allowed;
        for (std::size_t i = 0; i < 19; ++i) allowed.push_back(mask[static_cast<std::int64_t>(row * 19 + i)] != 0);
        const paper::Vec want = paper::masked_softmax(scores, allowed);
        for (std::size_t i = 0; i < 19; ++i) {
          if (!allowed[i]) CHECK(y[row * 19 + i] == 0);
          CHECK(near(y[row * 19 + i], want[i], dtype == f32 ? 1e-6 : 1e-14, 1e-12));
        }
      }
    }
  }
}
TEST_CASE("what a masked position holds does not matter, not even NaN or infinity") {
  Mask mask(Shape{1, 4}, std::vector<std::uint8_t>{1, 0, 1, 0});
  const std::vector<double> clean = elements(softmax(tensor(Shape{1, 4}, {1, 0, 2, 0}, f64), Axis{1}, &mask));
  for (double junk : {not_a_number, infinity, -infinity, 1e300}) {
    CAPTURE(junk);
    CHECK(same(elements(softmax(tensor(Shape{1, 4}, {1, junk, 2, junk}, f64), Axis{1}, &mask)), clean));
  }
}
TEST_CASE("a masked row equals the shorter row to the last digits") {
  for (DType dtype : {f32, f64}) {
    for (std::int64_t real : {1, 3, 8, 15}) {
      const std::vector<double> scores = Numbers(33).many(20, -2, 2);
      const Mask mask = mask_from_lengths({real}, 20);
      const std::vector<double> long_row = elements(softmax(tensor(Shape{1, 20}, scores, dtype), Axis{1}, &mask));
      const std::vector<double> short_row = elements(
          softmax(tensor(Shape{1, real}, std::vector<double>(scores.begin(), scores.begin() + real), dtype), Axis{1}));
      for (std::int64_t i = 0; i < real; ++i) {
        CHECK(near(long_row[static_cast<std::size_t>(i)], short_row[static_cast<std::size_t>(i)],
                   dtype == f32 ? 4e-7 : 1e-15));
      }
    }
  }
}
TEST_CASE("a row that allows nothing is an error that names the row and the way out") {
  const Mask mask(Shape{2, 3}, std::vector<std::uint8_t>{1, 1, 0, 0, 0, 0});
  const std::string text = message_of<ValueError>([&] { softmax(zeros(Shape{2, 3}), Axis{1}, &mask); });
  CHECK(opens_with(text, "softmax: row 1 of the mask allows nothing"));
  CHECK(contains(text, "EmptyRow::zeros"));
}
TEST_CASE("a row's softmax has the same bits in company, and the first empty row of several is named") {
  for (std::int64_t n : {1, 5, 16, 37}) {
    const std::int64_t rows = 11;
    const Tensor x = tensor(Shape{rows, n}, Numbers(1).many(rows * n, -3, 3));
    Mask mask(x.shape(), std::uint8_t{1});
    for (std::int64_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 != 1 || i % n == 0;
    const Tensor plain = softmax(x, Axis{1}), masked = softmax(x, Axis{1}, &mask);
    for (std::int64_t i = 0; i < rows; ++i) {
      Mask own(Shape{1, n});
      for (std::int64_t j = 0; j < n; ++j) own[j] = mask.at(i, j);
      CHECK(same(elements(narrow(plain, Axis{0}, i, 1)), elements(softmax(narrow(x, Axis{0}, i, 1), Axis{1}))));
      CHECK(same(elements(narrow(masked, Axis{0}, i, 1)), elements(softmax(narrow(x, Axis{0}, i, 1), Axis{1}, &own))));
    }
    for (std::int64_t empty : {9, 6, 5}) {
      for (std::int64_t j = 0; j < n; ++j) mask.at(empty, j) = 0;
      CHECK(opens_with(message_of<ValueError>([&] { softmax(x, Axis{1}, &mask); }),
                       "softmax: row " + std::to_string(empty) + " of the mask"));
    }
    const Tensor zeroed = softmax(x, Axis{1}, &mask, EmptyRow::zeros);
    CHECK(same(elements(select(zeroed, Axis{0}, 6)), std::vector<double>(static_cast<std::size_t>(n), 0.0)));
    CHECK(same(elements(select(zeroed, Axis{0}, 7)), elements(select(masked, Axis{0}, 7))));
  }
}
TEST_CASE("a row that allows nothing gives zeros on request, and the batch is unharmed") {
  const Mask mask(Shape{2, 3}, std::vector<std::uint8_t>{1, 1, 0, 0, 0, 0});
  const Tensor x = tensor(Shape{2, 3}, {1, 1, 5, not_a_number, 2, 3}, f64);
  CHECK(same(elements(softmax(x, Axis{1}, &mask, EmptyRow::zeros)), {0.5, 0.5, 0, 0, 0, 0}));
}
TEST_CASE("a mask of another shape, or along another axis, is refused with both shapes") {
  const Mask mask(Shape{3, 2}, std::uint8_t{1});
  const std::string text = message_of<ShapeError>([&] { softmax(zeros(Shape{2, 3}), Axis{1}, &mask); });
  CHECK(opens_with(text, "softmax: the mask is (3, 2) and the scores are (2, 3)"));
  const Mask fits(Shape{2, 3}, std::uint8_t{1});
  CHECK(contains(message_of<ShapeError>([&] { softmax(zeros(Shape{2, 3}), Axis{0}, &fits); }), "last axis only"));
}

TEST_SUITE_END();

}  // namespace gradus::testing
