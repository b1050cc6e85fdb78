// The context of attention in one op against the formula, in every layout.
#include "autograd/kernels/weighted_sum.h"

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

using Sum = Var (*)(const Var&, const Var&);

struct Operands {
  Var w, h;
};

// The layouts of h: row-major, rows that lie apart, columns that lie apart, and the first two axes exchanged.
Tensor laid_out(const Tensor& h, int layout) {
  const std::int64_t d = h.shape()[2];
  if (layout == 1) {
    Tensor wider = zeros(h.shape().with(Axis{2}, d + 3), h.dtype());
    Tensor part = narrow(wider, Axis{2}, 1, d);
    copy_(part, h);
    return part;
  }
  if (layout == 2) return transpose(copy(transpose(h, Axis{1}, Axis{2})), Axis{1}, Axis{2});
  if (layout == 3) return transpose(copy(transpose(h, Axis{0}, Axis{1})), Axis{0}, Axis{1});
  return h;
}

Operands operands(const Shape& shape, DType dtype, int layout) {
  const Shape weights = shape.without(Axis{2});
  const Tensor w = tensor(weights, Numbers(1).many(weights.size(), -1, 1), dtype);
  return {parameter(layout == 0 ? w : transpose(copy(transpose(w)))),
          parameter(laid_out(tensor(shape, Numbers(2).many(shape.size(), -1, 1), dtype), layout))};
}

// Values and gradients of two steps over the same h, so that the second adds to what the first has left.
std::vector<std::vector<double>> outcome(Sum sum_of, const Operands& x) {
  x.w.zero_grad();
  x.h.zero_grad();
  const Var first = sum_of(x.w, x.h);
  const Var c = first + sum_of(x.w * 0.5, x.h);
  std::vector<std::vector<double>> result{elements(c.value())};
  backward(c, tensor(c.shape(), Numbers(3).many(c.value().size(), -1, 1), c.dtype()));
  result.push_back(elements(x.w.grad()));
  result.push_back(elements(x.h.grad()));
  return result;
}

}  // namespace

TEST_SUITE_BEGIN("weighted sum");

TEST_CASE("equals the formula, value and gradients, for any size and layout") {
  for (DType dtype : {f32, f64}) {
    for (std::int64_t d : {0, 1, 5, 16, 17, 33, 64, 79, 100}) {
      for (const Shape& shape : {Shape{2, 7, d}, Shape{1, 1, d}, Shape{3, 0, d}, Shape{0, 4, d}}) {
        for (int layout = 0; layout < 4; ++layout) {
          INFO(to_string(shape), " layout ", layout);
          const Operands x = operands(shape, dtype, layout);
          const auto fast = outcome(weighted_sum, x), plain = outcome(weighted_sum_plain, x);
          const double close = dtype == f32 ? 2e-6 : 1e-14;
          for (std::size_t i = 0; i < fast.size(); ++i) CHECK(near(fast[i], plain[i], close, close));
        }
      }
    }
  }
}

TEST_CASE("its gradient is right, also where only one operand takes one") {
  const Operands x = operands(Shape{2, 3, 5}, f64, 0);
  const GradientReport both = check_gradient([&] { return weighted_sum(x.w, x.h); }, {{"w", x.w}, {"h", x.h}});
  CHECK_MESSAGE(both.passed, both.text());
  const GradientReport w = check_gradient([&] { return weighted_sum(x.w, x.h.value()); }, {{"w", x.w}});
  CHECK_MESSAGE(w.passed, w.text());
  const GradientReport h = check_gradient([&] { return weighted_sum(x.w.value(), x.h); }, {{"h", x.h}});
  CHECK_MESSAGE(h.passed, h.text());
}

TEST_CASE("operands that are views of one tensor or stretched get their sums") {
  const Var x = parameter(tensor(Shape{3, 3, 3}, Numbers(4).many(27, -1, 1), f64));
  const auto views = [&] { return weighted_sum(select(x, Axis{1}, 1), transpose(x, Axis{0}, Axis{2})); };
  const GradientReport shared = check_gradient(views, {{"x", x}});
  CHECK_MESSAGE(shared.passed, shared.text());
  const Var row = parameter(tensor(Shape{3}, {1, -2, 3}, f64)),
            table = parameter(tensor(Shape{3, 2}, {1, 2, 3, 4, 5, 6}, f64));
  const auto stretched = [&] { return weighted_sum(expand_new(row, Axis{0}, 4), expand_new(table, Axis{0}, 4)); };
  const GradientReport sums = check_gradient(stretched, {{"row", row}, {"table", table}});
  CHECK_MESSAGE(sums.passed, sums.text());
}

TEST_CASE("shapes and dtypes that do not fit are refused") {
  const Tensor w = zeros(Shape{2, 3}), h = zeros(Shape{2, 3, 4});
  CHECK(opens_with(message_of<ShapeError>([&] {
                     weighted_sum(w, zeros(Shape{2, 4, 4}));
                   }),
                   "weighted sum: shapes (2, 3)"));
  CHECK(opens_with(message_of<ShapeError>([&] { weighted_sum(zeros(Shape{2}), h); }),
                   "weighted sum: w (2), h (2, 3, 4)"));
  CHECK_THROWS_AS(weighted_sum(w, zeros(Shape{2, 3, 4}, f64)), DTypeError);
}

TEST_SUITE_END();

}  // namespace gradus::testing
