// Layer normalisation in one op against its composition and against the paper.
#include "autograd/kernels/layer_norm.h"

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "tests/reference/layer_norm.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

using Norm = Var (*)(const Var&, const Var&, const Var&, double);

struct Operands {
  Var x, gain, shift;
};

Operands operands(const Shape& shape, DType dtype) {
  const std::int64_t d = shape[shape.rank() - 1];
  return {parameter(tensor(shape, Numbers(1).many(shape.size(), -3, 3), dtype)),
          parameter(tensor(Shape{d}, Numbers(2).many(d, -1, 1), dtype)),
          parameter(tensor(Shape{d}, Numbers(3).many(d, -1, 1), dtype))};
}

// Value and gradients of something that uses x twice, once as it stands and once transposed.
std::vector<std::vector<double>> outcome(Norm norm, const Operands& o) {
  for (const Var& leaf : {o.x, o.gain, o.shift}) leaf.zero_grad();
  Var y = norm(o.x, o.gain, o.shift, 1e-5);
  if (o.x.rank() == 2 && o.x.shape()[0] == o.x.shape()[1]) y = y + norm(transpose(o.x), o.gain, o.shift, 1e-5);
  y = norm(o.x * 2, o.gain, o.shift, 0.5) + y;
  backward(y, tensor(y.shape(), Numbers(4).many(y.value().size(), -1, 1), y.dtype()));
  return {elements(y.value()), elements(o.x.grad()), elements(o.gain.grad()), elements(o.shift.grad())};
}

}  // namespace

TEST_SUITE_BEGIN("layer norm");

TEST_CASE("equals its composition, value and gradients") {
  for (DType dtype : {f32, f64}) {
    for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 16}, Shape{7, 33}, Shape{2, 64}, Shape{4, 1}, Shape{6, 6},
                               Shape{20, 20}, Shape{9}}) {
      const Operands o = operands(shape, dtype);
      const auto fused = outcome(layer_norm, o), plain = outcome(layer_norm_plain, o);
      for (std::size_t i = 0; i < fused.size(); ++i) {
        INFO(to_string(shape), " outcome ", i);
        CHECK(near(fused[i], plain[i], dtype == f32 ? 5e-6 : 1e-13, dtype == f32 ? 5e-6 : 1e-13));
      }
    }
  }
}

TEST_CASE("equals the paper") {
  const Operands o = operands(Shape{1, 7}, f64);
  const std::vector<double> y = elements(layer_norm(o.x, o.gain, o.shift).value());
  CHECK(near(y, paper::layer_norm(elements(o.x.value()), elements(o.gain.value()), elements(o.shift.value())), 1e-14));
}

TEST_CASE("passes the self check") {
  const Operands o = operands(Shape{3, 5}, f64);
  const GradientReport report = check_gradient([&] { return layer_norm(o.x, o.gain, o.shift); },
                                               {{"x", o.x}, {"gain", o.gain}, {"shift", o.shift}});
  CHECK_MESSAGE(report.passed, report.text());
}

TEST_CASE("operands that take no gradient get none") {
  const Operands o = operands(Shape{3, 5}, f64);
  backward(sum(layer_norm(o.x.value(), o.gain, o.shift.value())));
  CHECK(o.gain.has_grad());
  CHECK_FALSE(o.x.has_grad());
}

TEST_CASE("no rows give no rows; a gain of another width is refused") {
  const Var gain = tensor(Shape{4}, {1, 1, 1, 1}), shift = zeros(Shape{4});
  CHECK(layer_norm(zeros(Shape{0, 4}), gain, shift).shape() == Shape{0, 4});
  CHECK_THROWS_WITH_AS(layer_norm(zeros(Shape{2, 3}), gain, shift),
                       "layer norm: x (2, 3), gain (4), shift (4); they must be (..., d), (d) and (d) with d > 0",
                       ShapeError);
}

TEST_SUITE_END();

}  // namespace gradus::testing
