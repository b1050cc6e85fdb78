// Results that are written over a temporary: the same numbers as without it, and nothing that somebody holds changes.
#include "autograd/ops.h"
#include "autograd/print_tape.h"
#include "tensor/kernels/plain.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

constexpr std::int64_t large = 1024;

Var numbers(double step) {
  Tensor x = empty(Shape{large}, f64);
  for (std::int64_t i = 0; i < large; ++i) x.set({i}, std::sin(step * static_cast<double>(i)));
  return parameter(x);
}
const void* memory(const Var& x) { return x.value().buffer().get(); }

struct Operands {
  Var x = numbers(0.3), a = numbers(0.7), b = numbers(1.1);
  bool gradients_are(const std::vector<double>& dx, const std::vector<double>& da,
                     const std::vector<double>& db) const {
    return same(elements(x.grad()), dx) && same(elements(a.grad()), da) && same(elements(b.grad()), db);
  }
};

// relu(x a + b), with every value held, so that nothing is written over.
Var held(const Operands& o, std::vector<Var>& values) {
  values.push_back(o.x * o.a);
  values.push_back(values[0] + o.b);
  values.push_back(relu(values[1]));
  return sum(values[2] * values[2]);
}

}  // namespace

TEST_SUITE_BEGIN("over a temporary");

TEST_CASE("relu(x * a + b): one memory for three values, the same result and gradients, twice") {
  const Operands plain, quick;
  std::vector<Var> values;
  const Var expected = held(plain, values);
  backward(expected);
  const std::int64_t before = live_buffers();
  const Var y = relu(quick.x * quick.a + quick.b);
  if (!plain_kernels()) CHECK(live_buffers() == before + 1);
  CHECK(same(elements(y.value()), elements(values[2].value())));
  const Var loss = sum(y * y);
  backward(loss, Graph::keep);
  CHECK(quick.gradients_are(elements(plain.x.grad()), elements(plain.a.grad()), elements(plain.b.grad())));
  for (const Var& leaf : {quick.x, quick.a, quick.b}) leaf.zero_grad();
  backward(loss);
  CHECK(quick.gradients_are(elements(plain.x.grad()), elements(plain.a.grad()), elements(plain.b.grad())));
}
TEST_CASE("either operand of a sum, and both") {
  const Operands o;
  const std::vector<double> xa = elements((o.x * o.a).value()), ab = elements((o.a * o.b).value());
  std::vector<double> left, right, both;
  for (std::size_t i = 0; i < xa.size(); ++i) {
    left.push_back(xa[i] + o.b.value().to_vector()[i]);
    both.push_back(xa[i] + ab[i]);
  }
  const std::int64_t before = live_buffers();
  const Var first = o.x * o.a + o.b, second = o.b + o.x * o.a, third = o.x * o.a + o.a * o.b;
  if (!plain_kernels()) CHECK(live_buffers() == before + 4);  // of two temporaries one is left
  CHECK(same(elements(first.value()), left));
  CHECK(same(elements(second.value()), left));
  CHECK(same(elements(third.value()), both));
}
TEST_CASE("what somebody holds, as a Var, a view or a Tensor, keeps its numbers") {
  const Operands o;
  Var product = o.x * o.a;
  const std::vector<double> numbers = elements(product.value());
  const Var sum_of_it = product + o.b, relu_of_it = relu(product);
  CHECK(same(elements(product.value()), numbers));
  CHECK(memory(sum_of_it) != memory(product));
  const Var view = reshape(product, Shape{2, large / 2});
  const Var moved = std::move(product) + o.b;
  CHECK(same(elements(view.value()), numbers));
  Var again = o.x * o.a;
  const Tensor value = again.value();
  const Var of_tensor = relu(std::move(again));
  CHECK(same(elements(value), numbers));
}
TEST_CASE("what a rule reads, a leaf and a constant stay as they are") {
  const Operands o;
  const Tensor kept = copy(o.a.value());
  backward(sum(tanh(o.x) + o.a));  // tanh reads its result
  for (std::int64_t i = 0; i < large; ++i) {
    const double y = std::tanh(o.x.value().at({i}));
    CHECK(std::fabs(o.x.grad().at({i}) - (1 - y * y)) < 1e-12);
  }
  const Var y = relu(Var(kept));
  CHECK(same(elements(kept), elements(o.a.value())));
}
TEST_CASE("shapes that do not fit are refused before anything is written") {
  const Operands o;
  Var product = o.x * o.a;
  const std::vector<double> numbers = elements(product.value());
  CHECK_THROWS_AS(std::move(product) + parameter(zeros(Shape{large + 1}, f64)), ShapeError);
  CHECK_THROWS_AS(o.x * o.a + parameter(zeros(Shape{large}, f32)), DTypeError);
}
TEST_CASE("the printed tape has a dash for a value that was written over; small values stay") {
  const Operands o;
  if (!plain_kernels())
    CHECK(print_tape(o.x * o.a + o.b).find("(1024)                  -          -") != std::string::npos);
  const Var one = parameter(tensor(Shape{1}, {3}, f64));
  CHECK(print_tape(one * one + one).find("(1)                     9") != std::string::npos);
}
TEST_CASE("DetectAnomaly sees every value: nothing is written over while one lives") {
  Operands o;
  o.b.mutable_value().set({5}, std::nan(""));
  const DetectAnomaly watch;
  try {
    const Var y = o.x * o.a + o.b;
    FAIL("no error");
  } catch (const ValueError& e) { CHECK(std::string(e.what()).find("'*'") != std::string::npos); }
}

TEST_SUITE_END();

}  // namespace gradus::testing
