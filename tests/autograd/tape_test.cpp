// The tape: recording, accumulation, freeing, versions, modes, errors.
#include <cmath>
#include <thread>

#include "autograd/ops.h"
#include "autograd/pointwise.h"
#include "autograd/print_tape.h"
#include "tensor/matmul.h"
#include "tests/tensor/check.h"
#include "tests/tensor/child.h"

namespace gradus::testing {
namespace {

Var number(double value, DType dtype = f64) { return parameter(tensor(Shape{}, {value}, dtype)); }
Var vector_of(std::initializer_list<double> values) {
  return parameter(tensor(Shape{static_cast<std::int64_t>(values.size())}, values, f64));
}

// y = 2 x, with a rule of our own.
template <class Rule> Var doubled(const Var& x, Rule rule) {
  const Tensor value = pointwise(
      "twice", [](auto v) { return v + v; }, x.value());
  return record("twice", value, {x}, rule);
}

}  // namespace

TEST_SUITE_BEGIN("tape");

TEST_CASE("the example of var.h") {
  const Var w = parameter(tensor(Shape{2, 1}, {0.5, -1}, f64));
  const Var x = tensor(Shape{1, 2}, {0.3, 0.7}, f64);
  backward(sum(tanh(matmul(x, w))));
  const double t = std::tanh(0.15 - 0.7), slope = 1 - t * t;
  CHECK(near(elements(w.grad()), {0.3 * slope, 0.7 * slope}, 1e-15));
}
TEST_CASE("x * x at 3 has slope 6") {
  const Var x = number(3);
  backward(x * x);
  CHECK(x.grad().item() == 6);
}
TEST_CASE("a + a with b + b on top has slope 4") {
  const Var a = number(1);
  const Var b = a + a;
  backward(b + b);
  CHECK(a.grad().item() == 4);
}
TEST_CASE("a diamond adds both paths") {
  const Var x = number(2);
  const Var y = x * 1.0;
  backward(y * 3.0 + square(y));
  CHECK(x.grad().item() == 7);
}
TEST_CASE("an inner node is finished before it is passed on") {
  // y is used early and late; a walk in the wrong order would pass its gradient on before the late use arrived.
  const Var x = number(1);
  const Var y = x * 2.0;
  Var late = y;
  for (int i = 0; i < 10; ++i) late = late * 1.0;
  backward(y + late);
  CHECK(x.grad().item() == 4);
}
TEST_CASE("a weight shared over ten steps gets ten shares") {
  const Var w = number(0.9);
  Var h = number(1);
  const Var start = h;
  for (int i = 0; i < 10; ++i) h = h * w;
  backward(h);
  CHECK(near(w.grad().item(), 10 * std::pow(0.9, 9), 1e-14));
  CHECK(near(start.grad().item(), std::pow(0.9, 10), 1e-14));
}
TEST_CASE("a weight used once and squared: 3 w + w w at 2 has slope 7") {
  const Var w = number(2);
  backward(3.0 * w + w * w);
  CHECK(w.grad().item() == 7);
}
TEST_CASE("ids rise along the tape, also where it goes from thread to thread") {
  const Var x = number(2);
  const Var y = x * 1.0;  // this thread has begun its ids before the other one
  Var there;
  std::thread([&] { there = square(y); }).join();
  const Var z = there * 3.0 + y;
  for (const Var& v : {y, there, z}) {
    for (const Node::Edge& edge : v.node()->inputs) CHECK(edge.node->id < v.node()->id);
  }
  backward(z);
  CHECK(x.grad().item() == 3 * 2 * 2 + 1);
}
TEST_CASE("gradients of leaves add up over backward calls until zero_grad") {
  const Var x = number(3);
  backward(x * x);
  backward(x * x);
  CHECK(x.grad().item() == 12);
  x.zero_grad();
  CHECK_FALSE(x.has_grad());
  CHECK(x.grad().item() == 0);
  backward(x * x);
  CHECK(x.grad().item() == 6);
}
TEST_CASE("two kept walks give twice, not three times: nothing stale between the leaves") {
  const Var a = number(3), b = number(2), d = number(1);
  const Var e = (a + b) * d;
  backward(e, Graph::keep);
  CHECK(a.grad().item() == 1);
  backward(e, Graph::keep);
  CHECK(a.grad().item() == 2);
  CHECK(d.grad().item() == 10);
}
TEST_CASE("an inner gradient after a kept walk is that of the last walk") {
  const Var x = number(3);
  const Var y = x * 2.0;
  const Var z = y * y;
  backward(z, Graph::keep);
  CHECK(y.grad().item() == 12);
  backward(z, Graph::keep);
  CHECK(y.grad().item() == 12);
  CHECK(x.grad().item() == 48);
}
TEST_CASE("a kept graph can be used up afterwards") {
  const Var x = number(3);
  const Var z = x * x;
  backward(z, Graph::keep);
  backward(z);
  CHECK(x.grad().item() == 12);
  CHECK_THROWS_AS(backward(z), GraphError);
}
TEST_CASE("two results of one graph, the first kept") {
  const Var x = number(2);
  const Var h = x * x;
  const Var a = h * 3.0, b = h * 5.0;
  backward(a, Graph::keep);
  backward(b);
  CHECK(x.grad().item() == 4 * 3 + 4 * 5);
}
TEST_CASE("a freed node is named with op, number and shape, and what to do") {
  const Var x = vector_of({1, 2});
  const Var h = tanh(x);
  backward(sum(h));
  const std::string text = message_of<GraphError>([&] { backward(sum(h * 2.0)); });
  CHECK(opens_with(text, "backward: 'tanh' (node " + std::to_string(h.node()->id) + ", shape (2))"));
  CHECK(contains(text, "Compute the result again"));
  CHECK(contains(text, "Graph::keep"));
  CHECK(contains(text, "detach()"));
}
TEST_CASE("a refused walk leaves gradients untouched") {
  const Var x = number(2), y = number(5);
  const Var h = x * x;
  backward(h);
  CHECK_THROWS_AS(backward(h + y), GraphError);
  CHECK(x.grad().item() == 4);
  CHECK_FALSE(y.has_grad());
}
TEST_CASE("backward wants one number and says how to get it") {
  const Var x = vector_of({1, 2});
  const std::string text = message_of<GraphError>([&] { backward(x * 2.0); });
  CHECK(opens_with(text, "backward: shape (2) is not a single number"));
  CHECK(contains(text, "take sum(...) or mean(...)"));
}
TEST_CASE("a result of shape (1, 1) counts as one number") {
  const Var x = parameter(tensor(Shape{1, 1}, {3}, f64));
  backward(square(x));
  CHECK(x.grad().item() == 6);
}
TEST_CASE("backward of what nothing leads to is an error with the reason") {
  const Var constant = tensor(Shape{}, {1}, f64);
  CHECK(contains(message_of<GraphError>([&] { backward(constant * 2.0); }), "nothing that takes a gradient"));
  CHECK(contains(message_of<GraphError>([&] { backward(constant); }), "made with parameter(...)"));
}
TEST_CASE("backward of a leaf gives it dy") {
  const Var x = vector_of({1, 2});
  backward(x, tensor(Shape{2}, {3, 4}, f64));
  CHECK(same(elements(x.grad()), {3, 4}));
  backward(x, tensor(Shape{2}, {3, 4}, f64));
  CHECK(same(elements(x.grad()), {6, 8}));
}
TEST_CASE("dy must have the shape and dtype of the result") {
  const Var x = vector_of({1, 2});
  CHECK(opens_with(message_of<ShapeError>([&] { backward(x * 2.0, zeros(Shape{3}, f64)); }),
                   "backward (dy): shapes (2) and (3) differ"));
  CHECK(opens_with(message_of<DTypeError>([&] { backward(x * 2.0, zeros(Shape{2}, f32)); }),
                   "backward (dy): f64 meets f32"));
}
TEST_CASE("a gradient becomes the next one in place, but never that of a Var which somebody holds") {
  const Var x = vector_of({0.25, -0.5});
  for (bool held : {false, true}) {
    x.zero_grad();
    Var y = tanh(x), z = y * y, loss = sum(tanh(z));  // dy goes on in place through tanh, and not through y * y
    const std::vector<double> z_now = elements(z.value());
    if (!held) y = z = Var();
    backward(loss);
    for (std::size_t i = 0; i < 2; ++i) {
      const double v = std::tanh(x.value().to_vector()[i]), dz = 1 - std::pow(std::tanh(z_now[i]), 2);
      CHECK(std::fabs(x.grad().to_vector()[i] - dz * 2 * v * (1 - v * v)) < 1e-12);
      if (held) CHECK(std::fabs(z.grad().to_vector()[i] - dz) < 1e-12);
      if (held) CHECK(std::fabs(y.grad().to_vector()[i] - dz * 2 * v) < 1e-12);
    }
  }
}
TEST_CASE("the gradient of a sum goes on to one operand as it is, and the other one has its own") {
  const Var x = vector_of({1, 2}), y = vector_of({3, 5}), w = vector_of({7, 11});
  Var loss;
  {
    const Var a = x * x, b = y * y;
    loss = sum((a + b) * w) + sum(a * a) + sum(b * b * b);  // da = w + 2 a, db = w + 3 b^2
  }
  backward(loss);
  CHECK(same(elements(x.grad()), {18, 76}));
  CHECK(same(elements(y.grad()), {1500, 18860}));
}
TEST_CASE("a sum of an operand and a view of it, and of one operand with itself") {
  const Var x = parameter(tensor(Shape{2, 2}, {1, 2, 3, 5}, f64));
  Var loss;
  {
    const Var y = square(x);
    const Var with_itself = sum(square(y + y)), with_view = sum(square(y + transpose(y)));  // walked last to first
    loss = with_itself + with_view;                                                         // dy = 8 y + 4 (y + y')
  }
  backward(loss);
  CHECK(same(elements(x.grad()), {32, 336, 744, 4000}));
}
TEST_CASE("what a rule gives is taken over as the gradient only where it keeps no part of it") {
  const Var x = vector_of({1, 2}), y = vector_of({3, 4}), older = sum(square(x));  // is walked last
  Tensor kept;
  const Var z = record("op", tensor(Shape{2}, {0, 0}, f64), {x, y}, [&](const Tensor& dy, Inputs& in) {
    kept = copy(dy);
    in.add(0, kept);
    in.add(1, copy(dy));
  });
  backward(sum(z) + older);
  CHECK(same(elements(kept), {1, 1}));
  CHECK(same(elements(x.grad()), {3, 5}));
  CHECK(same(elements(y.grad()), {1, 1}));
}
TEST_CASE("dy may lie in any layout and is not changed") {
  const Var x = parameter(zeros(Shape{2, 3}, f64));
  const Tensor dy = laid_out(Layout::stepped, Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64);
  const Var y = x * 2.0;
  backward(y, dy);
  CHECK(same(elements(x.grad()), {2, 4, 6, 8, 10, 12}));
  CHECK(same(elements(dy), {1, 2, 3, 4, 5, 6}));
}
TEST_CASE("an empty Var says that it holds nothing") {
  const Var nothing;
  CHECK_FALSE(nothing.defined());
  CHECK_FALSE(nothing.requires_grad());
  CHECK(contains(message_of<ValueError>([&] { nothing.value(); }), "holds nothing yet"));
  CHECK_THROWS_AS(backward(nothing), ValueError);
  CHECK_THROWS_AS(nothing * 2.0, ValueError);
  CHECK_THROWS_AS(concat({vector_of({1}), nothing}, Axis{0}), ValueError);
}
TEST_CASE("a Var of an undefined tensor is refused") {
  CHECK(contains(message_of<ValueError>([] { Var(Tensor{}); }), "holds nothing yet"));
  CHECK_THROWS_AS(parameter(Tensor()), ValueError);
}
TEST_CASE("record with an empty Var among the inputs is an error, not a crash") {
  CHECK(in_child([] {
          const Var x = number(1), nothing;
          try {
            record("op", x.value(), {x, nothing}, [](const Tensor&, Inputs&) {});
          } catch (const Error&) { return true; }
          return false;
        }) == 0);
}
TEST_CASE("grad of a constant is an error, of an untouched leaf zeros") {
  const Var constant = tensor(Shape{2}, {1, 2}, f64);
  CHECK(contains(message_of<GraphError>([&] { constant.grad(); }), "takes no gradient"));
  CHECK_THROWS_AS(constant.mutable_grad(), GraphError);
  CHECK(same(elements(vector_of({1, 2}).grad()), {0, 0}));
}
TEST_CASE("mutable_grad can be scaled, for clipping") {
  const Var x = vector_of({1, 2});
  backward(sum(x * 4.0));
  fill_(x.mutable_grad(), 0.5);
  CHECK(same(elements(x.grad()), {0.5, 0.5}));
  backward(sum(x));
  CHECK(same(elements(x.grad()), {1.5, 1.5}));
}
TEST_CASE("a gradient is never the value's own memory, and no two leaves share one") {
  const Var a = vector_of({1, 2}), b = vector_of({3, 4});
  backward(sum(a + b));
  CHECK(a.grad().buffer().get() != a.value().buffer().get());
  CHECK(a.grad().buffer().get() != b.grad().buffer().get());
  fill_(a.mutable_grad(), 9);
  CHECK(same(elements(b.grad()), {1, 1}));
}
TEST_CASE("a stretched leaf is written out, so that each number has its own gradient") {
  const Var x = parameter(expand_new(tensor(Shape{2}, {1, 2}, f64), Axis{0}, 3));
  CHECK_FALSE(x.value().stretched());
  backward(sum(x * Var(tensor(Shape{3, 2}, {1, 2, 3, 4, 5, 6}, f64))));
  CHECK(same(elements(x.grad()), {1, 2, 3, 4, 5, 6}));
}
TEST_CASE("a leaf that cannot be made leaves no node behind") {
  const std::int64_t nodes = live_nodes();
  CHECK_THROWS_AS(parameter(expand(zeros(Shape{1}), Axis{0}, std::int64_t{1} << 61)), ShapeError);
  CHECK(live_nodes() == nodes);
}

// ---- broadcast, as the mistakes of other engines have it

TEST_CASE("a bias repeated over the batch gets the sum: [2 2 2]") {
  const Var x = tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64), b = vector_of({0, 0, 0});
  backward(sum(x + expand_new(b, Axis{0}, 2)));
  CHECK(same(elements(b.grad()), {2, 2, 2}));
  CHECK(b.grad().shape() == Shape{3});
}
TEST_CASE("one element of an expanded number has slope 1, not its count") {
  const Var x = number(2);
  backward(select(expand_new(x, Axis{0}, 3), Axis{0}, 0));
  CHECK(x.grad().item() == 1);
}
TEST_CASE("one row of an expanded row, one element of it") {
  const Var x = vector_of({1, 2, 3});
  const Var y = expand_new(x, Axis{0}, 4);  // (4, 3)
  backward(select(select(y, Axis{0}, 2), Axis{0}, 1));
  CHECK(same(elements(x.grad()), {0, 1, 0}));
}
TEST_CASE("an expanded axis expanded again") {
  const Var x = number(2);
  const Var y = expand_new(expand_new(x, Axis{0}, 3), Axis{0}, 4);
  backward(sum(y * y));
  CHECK(x.grad().item() == 12 * 4);
}
TEST_CASE("the gradient of an expanded value is stored summed") {
  const Var x = vector_of({1, 2});
  const Var y = expand_new(x, Axis{0}, 3);
  backward(sum(y * 5.0), Graph::keep);
  CHECK(same(elements(x.grad()), {15, 15}));
  CHECK(y.grad().at({0, 0}) == 15);
}
TEST_CASE("views of expanded values: narrow and transpose") {
  const Var x = vector_of({1, 2, 3});
  backward(sum(narrow(expand_new(x, Axis{0}, 4), Axis{0}, 1, 2)));
  CHECK(same(elements(x.grad()), {2, 2, 2}));
  x.zero_grad();
  backward(
      sum(transpose(expand_new(x, Axis{0}, 4)) * Var(tensor(Shape{3, 4}, {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}, f64))));
  CHECK(same(elements(x.grad()), {4, 8, 12}));
}
TEST_CASE("reshape of an expanded value sums back") {
  const Var x = vector_of({1, 2, 3});
  backward(sum(reshape(expand_new(x, Axis{0}, 4), Shape{12}) * 2.0));
  CHECK(same(elements(x.grad()), {8, 8, 8}));
}
TEST_CASE("the root itself may be an expanded value") {
  const Var x = vector_of({1, 2});
  backward(expand_new(x, Axis{0}, 3), tensor(Shape{3, 2}, {1, 2, 3, 4, 5, 6}, f64));
  CHECK(same(elements(x.grad()), {9, 12}));
}
TEST_CASE("the root itself may be any view") {
  const Var x = parameter(tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64));
  backward(transpose(x), tensor(Shape{3, 2}, {1, 2, 3, 4, 5, 6}, f64));
  CHECK(same(elements(x.grad()), {1, 3, 5, 2, 4, 6}));
}

// ---- views that nobody holds, and those that somebody does

TEST_CASE("a chain of views passes its gradient to the right places") {
  const Var x = parameter(tensor(Shape{4, 6}, Numbers(1).many(24, -1, 1), f64));
  Var loss;
  { loss = sum(square(select(narrow(transpose(x), Axis{0}, 1, 3, 2), Axis{1}, 2))); }
  backward(loss);
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) {
      const bool used = i == 2 && j % 2 == 1;
      CHECK(near(x.grad().at({i, j}), used ? 2 * x.value().at({i, j}) : 0, 1e-15));
    }
  }
}
TEST_CASE("overlapping views of one leaf add up") {
  const Var x = vector_of({1, 2, 3, 4});
  Var loss;
  { loss = sum(narrow(x, Axis{0}, 0, 3) * narrow(x, Axis{0}, 1, 3)); }
  backward(loss);
  CHECK(same(elements(x.grad()), {2, 1 + 3, 2 + 4, 3}));
}
TEST_CASE("a view that is held has a gradient of its own to read") {
  const Var x = vector_of({1, 2, 3, 4});
  const Var head = narrow(x, Axis{0}, 0, 2);
  backward(sum(square(head)), Graph::keep);
  CHECK(same(elements(head.grad()), {2, 4}));
  CHECK(same(elements(x.grad()), {2, 4, 0, 0}));
}
TEST_CASE("a held and an unheld view of one leaf") {
  const Var x = vector_of({1, 2, 3, 4});
  const Var head = narrow(x, Axis{0}, 0, 2);
  Var loss;
  { loss = sum(head * narrow(x, Axis{0}, 2, 2)); }
  backward(loss);
  CHECK(same(elements(x.grad()), {3, 4, 1, 2}));
}
TEST_CASE("a view used by two consumers, of which one is a view again") {
  const Var x = vector_of({1, 2, 3, 4});
  Var loss;
  {
    const Var head = narrow(x, Axis{0}, 0, 2);
    loss = sum(square(head)) + sum(reshape(head, Shape{2, 1}) * 10.0);
  }
  backward(loss);
  CHECK(same(elements(x.grad()), {12, 14, 0, 0}));
}
TEST_CASE("a view shared by two graphs") {
  const Var x = vector_of({1, 2, 3});
  Var first, second;
  {
    const Var y = reshape(x, Shape{3, 1});
    first = sum(y * 2.0);
    second = sum(y * 5.0);
  }
  backward(first, Graph::keep);
  CHECK(same(elements(x.grad()), {2, 2, 2}));
  backward(second, Graph::keep);
  CHECK(same(elements(x.grad()), {7, 7, 7}));
  backward(first, Graph::keep);
  CHECK(same(elements(x.grad()), {9, 9, 9}));
}
TEST_CASE("an unheld view of an inner node: kept walks do not add up in between") {
  const Var x = vector_of({1, 2, 3});
  Var loss;
  { loss = sum(square(reshape(x * 2.0, Shape{3, 1}))); }
  backward(loss, Graph::keep);
  const std::vector<double> once = elements(x.grad());
  backward(loss, Graph::keep);
  for (std::size_t i = 0; i < 3; ++i) CHECK(x.grad().at({static_cast<std::int64_t>(i)}) == 2 * once[i]);
}
TEST_CASE("an operand and a view of it both get their share") {
  const Var x = parameter(tensor(Shape{3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, f64));
  Var loss;
  { loss = sum(x * transpose(x)); }
  backward(loss);
  CHECK(same(elements(x.grad()), {2, 8, 14, 4, 10, 16, 6, 12, 18}));
}
TEST_CASE("where an operand and a view of it meet, the gradient is not written over what is still to be read") {
  const Var x = parameter(tensor(Shape{2, 2}, {1, 2, 3, 5}, f64));
  Var loss;
  { loss = sum(square(x * transpose(x))); }  // sum x_ij^2 x_ji^2
  backward(loss);
  CHECK(same(elements(x.grad()), {4, 72, 48, 500}));  // 4 x_ij x_ji^2
}
TEST_CASE("matmul of a matrix with its own transpose, held or not") {
  for (bool held : {false, true}) {
    const Var x = parameter(tensor(Shape{2, 3}, Numbers(4).many(6, -1, 1), f64));
    Var keep, loss;
    {
      const Var turned = transpose(x);
      if (held) keep = turned;
      loss = sum(matmul(x, turned));
    }
    backward(loss);
    const std::vector<double> v = elements(x.value());
    std::vector<double> want;
    for (std::size_t i = 0; i < 6; ++i) want.push_back(2 * (v[i % 3] + v[i % 3 + 3]));
    CHECK(near(elements(x.grad()), want, 1e-14));
  }
}
TEST_CASE("matmul backward into a gradient of shape (B, 1, 1) that lies sideways") {
  CHECK(in_child(
            [] {
              const Var w = parameter(tensor(Shape{1, 1, 5}, {1, 2, 3, 4, 5}, f64));
              const Var x = parameter(full(Shape{5, 2, 1}, 2, f64));
              const Var turned = transpose(w, Axis{0}, Axis{2});  // (5, 1, 1)
              backward(sum(matmul(x, turned)));
              return same(elements(w.grad()), std::vector<double>(5, 4.0));
            },
            3) == 0);
}
TEST_CASE("an operand that the formula ignores gets gradient zero") {
  for (int round = 0; round < 3; ++round) {
    { const std::vector<Tensor> dirt{full(Shape{4}, 777, f64), full(Shape{4}, 777, f64), full(Shape{4}, 777, f64)}; }
    const Var x = vector_of({1, 2, 3, 4}), y = vector_of({5, 6, 7, 8});
    {
      std::vector<Tensor> dirt(200, Tensor());
      for (Tensor& t : dirt) t = full(Shape{4}, 777, f64);
    }
    backward(sum(pointwise(
        "first", [](auto a, auto) { return a; }, x, y)));
    CHECK(same(elements(x.grad()), {1, 1, 1, 1}));
    CHECK(same(elements(y.grad()), {0, 0, 0, 0}));
  }
}
TEST_CASE("gradients never show what the memory held before") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}, Shape{3}, Shape{17}, Shape{2, 3}, Shape{2, 1, 5}}) {
    CAPTURE(to_string(shape));
    const Var x = parameter(full(shape, 0.5, f64)), y = parameter(full(shape, 2, f64));
    {
      std::vector<Tensor> dirt(300, Tensor());
      for (Tensor& t : dirt) t = full(shape, 777, f64);
    }
    backward(sum(x * y + tanh(x)));
    const double slope = 2 + 1 - std::tanh(0.5) * std::tanh(0.5);
    CHECK(near(elements(x.grad()), std::vector<double>(static_cast<std::size_t>(shape.size()), slope), 1e-14));
    CHECK(near(elements(y.grad()), std::vector<double>(static_cast<std::size_t>(shape.size()), 0.5), 1e-14));
  }
}

// ---- detach, NoGrad

TEST_CASE("detach cuts the tape and keeps the value") {
  const Var x = number(3);
  const Var cut = (x * x).detach();
  CHECK(cut.item() == 9);
  CHECK_FALSE(cut.requires_grad());
  backward(x * cut);
  CHECK(x.grad().item() == 9);
}
TEST_CASE("a carried state that is detached gives the truncated gradient 0.1090, uncut it gives 0.1196") {
  const Var w = number(0.8);
  auto step = [&](const Var& h) { return tanh(w * h + 1.0); };
  backward(step(step(Var(tensor(Shape{}, {0.5}, f64))).detach()));
  CHECK(std::fabs(w.grad().item() - 0.1090) < 5e-5);
  w.zero_grad();
  backward(step(step(Var(tensor(Shape{}, {0.5}, f64)))));
  CHECK(std::fabs(w.grad().item() - 0.1196) < 5e-5);
}
TEST_CASE("the number of nodes does not grow over windows when the state is detached") {
  const Var w = number(0.8);
  Var h = tensor(Shape{}, {0.5}, f64);
  std::int64_t before = 0;
  for (int window = 0; window < 5; ++window) {
    h = tanh(w * h);
    backward(h);
    h = h.detach();
    if (window == 0) before = live_nodes();
    CHECK(live_nodes() == before);
  }
}
TEST_CASE("NoGrad nests and ends with its scope, also by an exception") {
  const Var x = number(2);
  {
    const NoGrad outer;
    { const NoGrad inner; }
    CHECK_FALSE((x * x).requires_grad());
  }
  CHECK((x * x).requires_grad());
  try {
    const NoGrad guard;
    throw ValueError("out");
  } catch (const ValueError&) {}
  CHECK((x * x).requires_grad());
}
TEST_CASE("NoGrad concerns its own thread") {
  const Var x = number(2);
  const NoGrad guard;
  bool recorded = false;
  std::thread([&] { recorded = (x * x).requires_grad(); }).join();
  CHECK(recorded);
  CHECK_FALSE((x * x).requires_grad());
}
TEST_CASE("a recorded graph can be walked while a NoGrad lives") {
  const Var x = number(3);
  const Var y = x * x;
  const NoGrad guard;
  backward(y);
  CHECK(x.grad().item() == 6);
}

// ---- versions

TEST_CASE("a value overwritten after it was saved is refused, naming op, input and remedy") {
  const Var x = vector_of({1, 2});
  const Var y = square(x);
  fill_(x.mutable_value(), 7);
  const std::string text = message_of<GraphError>([&] { backward(sum(y)); });
  CHECK(
      opens_with(text, "backward of 'square': input 0, 'leaf' (node " + std::to_string(x.node()->id) + ", shape (2))"));
  CHECK(contains(text, "was changed in place after the op had read it"));
  CHECK(contains(text, "write to a copy(...)"));
}
TEST_CASE("a saved result that is overwritten is refused, naming the op") {
  const Var x = vector_of({1, 2});
  const Var y = softmax(x, Axis{0});
  Tensor result = y.value();
  result.set({0}, 5);
  CHECK(contains(message_of<GraphError>([&] { backward(sum(square(y))); }), "changed in place"));
  const Var z = softmax(x, Axis{0});
  Tensor other = z.value();
  other.set({0}, 5);
  CHECK(opens_with(message_of<GraphError>([&] { backward(z, zeros(Shape{2}, f64)); }),
                   "backward of 'softmax': its result"));
}
TEST_CASE(
    "bands of a large weight are kept until it changes, for either direction, and give the bits of products alone") {
  Generator generator(1, "bands");
  const auto random = [&](const Shape& shape) { return random_normal(shape, 0, 1, generator); };
  const Tensor dy = random(Shape{64, 768});
  for (std::int64_t first : {200, 256}) {  // the second part begins between two bands, or with one
    const Var a = parameter(random(Shape{64, first})), b = parameter(random(Shape{64, 512 - first}));
    const Var W = parameter(random(Shape{768, 512}));
    for (int step = 0; step < 2; ++step) {
      for (const Var& leaf : {a, b, W}) leaf.zero_grad();
      const Var out = linear({a, b}, W, Var());
      backward(out, dy);
      const Tensor left = narrow(W.value(), Axis{1}, 0, first), right = narrow(W.value(), Axis{1}, first, 512 - first);
      const NoGrad guard;  // here none are made
      CHECK(same(elements(out.value()), elements(linear({a, b}, W, Var()).value())));
      CHECK(same(elements(a.grad()), elements(matmul(dy, left))));
      CHECK(same(elements(b.grad()), elements(matmul(dy, right))));
      add_(W.mutable_value(), W.grad());
    }
  }
}
TEST_CASE("a write through a view is seen as well") {
  const Var x = parameter(zeros(Shape{2, 3}, f64));
  const Var y = square(x);
  Tensor row = select(x.value(), Axis{0}, 1);
  row.set({2}, 1);
  CHECK(contains(message_of<GraphError>([&] { backward(sum(y)); }), "backward of 'square'"));
}
TEST_CASE("a write to the base is seen by an op on a view") {
  const Var x = parameter(zeros(Shape{2, 3}, f64));
  const Var y = square(transpose(x));
  x.mutable_value().set({0, 0}, 1);
  CHECK(contains(message_of<GraphError>([&] { backward(sum(y)); }), "'transpose'"));
}
TEST_CASE("what only needs its result does not mind a write to its input") {
  const Var x = vector_of({0.5, -1});
  const Var y = tanh(x);
  x.mutable_value().set({0}, 3);
  backward(sum(y));
  CHECK(near(x.grad().at({0}), 1 - std::tanh(0.5) * std::tanh(0.5), 1e-15));
}
TEST_CASE("a write through detach is seen") {
  const Var x = vector_of({1, 2});
  const Var h = x * 1.0;
  const Var y = square(h);
  h.detach().mutable_value().set({0}, 9);
  CHECK_THROWS_AS(backward(sum(y)), GraphError);
}
TEST_CASE("writing before the op reads is fine, and so is writing after backward") {
  const Var x = vector_of({1, 2});
  fill_(x.mutable_value(), 3);
  backward(sum(square(x)));
  fill_(x.mutable_value(), 4);
  CHECK(same(elements(x.grad()), {6, 6}));
}
TEST_CASE("views and sums do not care about values that change") {
  const Var x = vector_of({1, 2});
  const Var y = sum(reshape(x, Shape{2, 1}));
  fill_(x.mutable_value(), 7);
  CHECK_NOTHROW(backward(y));
  CHECK(same(elements(x.grad()), {1, 1}));
}

// ---- rules of one's own

TEST_CASE("an op of one's own: record with value and rule") {
  const Var x = vector_of({1, 2});
  const Var y = doubled(x, [](const Tensor& dy, Inputs& in) {
    in.add(0, dy);
    in.add(0, dy);
  });
  backward(sum(y));
  CHECK(same(elements(x.grad()), {2, 2}));
}
TEST_CASE("a rule sees how many inputs there are and which need a gradient") {
  const Var x = number(1), c = tensor(Shape{}, {2}, f64);
  int count = 0;
  bool first = false, second = true;
  const Var y = record("op", tensor(Shape{}, {3}, f64), {x, c}, [&](const Tensor&, Inputs& in) {
    count = in.count();
    first = in.needs(0);
    second = in.needs(1);
  });
  backward(y);
  CHECK(count == 2);
  CHECK(first);
  CHECK_FALSE(second);
}
TEST_CASE("a rule may add to a constant: nothing happens") {
  const Var x = number(1), c = tensor(Shape{}, {2}, f64);
  const Var y = record("op", tensor(Shape{}, {3}, f64), {x, c}, [](const Tensor& dy, Inputs& in) {
    in.add(0, dy);
    in.add(1, dy);
  });
  backward(y);
  CHECK_FALSE(c.has_grad());
}
TEST_CASE("a gradient of another shape is refused, whatever the rule tries") {
  const Var x = vector_of({1, 2});
  const Var y = doubled(x, [](const Tensor& dy, Inputs& in) { in.add(0, sum(dy)); });
  CHECK_THROWS_AS(backward(sum(y)), ShapeError);
  const Var z = doubled(x, [](const Tensor&, Inputs& in) { in.add(0, zeros(Shape{2, 1}, f64)); });
  CHECK_THROWS_AS(backward(sum(z)), ShapeError);
}
TEST_CASE("a rule that puts a gradient of another shape in place is refused, naming op and node") {
  const Var x = vector_of({1, 2});
  const Var y = doubled(x, [x](const Tensor&, Inputs&) { x.mutable_grad() = zeros(Shape{5}, f64); });
  const std::string text = message_of<GraphError>([&] { backward(sum(y)); });
  CHECK(opens_with(text, "backward of 'twice': a gradient of shape (5) reached 'leaf' (node "));
  CHECK(contains(text, "a gradient has its value's shape"));
}
TEST_CASE("a gradient of another dtype is refused") {
  const Var x = vector_of({1, 2});
  const Var y = doubled(x, [](const Tensor& dy, Inputs& in) { in.add(0, dy.to(f32)); });
  CHECK_THROWS_AS(backward(sum(y)), DTypeError);
}
TEST_CASE("an exception in a rule passes through, and nothing leaks") {
  const std::int64_t nodes = live_nodes(), buffers = live_buffers();
  {
    const Var x = vector_of({1, 2});
    Var y = tanh(x);
    y = doubled(y, [](const Tensor&, Inputs&) { throw ValueError("in the middle"); });
    y = sum(tanh(y * 2.0));
    CHECK(message_of<ValueError>([&] { backward(y); }) == "in the middle");
  }
  CHECK(live_nodes() == nodes);
  CHECK(live_buffers() == buffers);
}
TEST_CASE("after a failed walk a new graph works") {
  const Var x = vector_of({1, 2});
  const Var y = doubled(x, [](const Tensor&, Inputs&) { throw ValueError("in the middle"); });
  CHECK_THROWS_AS(backward(sum(y)), ValueError);
  x.zero_grad();
  backward(sum(x * 3.0));
  CHECK(same(elements(x.grad()), {3, 3}));
}
TEST_CASE("an exception while recording leaks nothing") {
  const std::int64_t nodes = live_nodes(), buffers = live_buffers();
  {
    const Var x = vector_of({1, 2});
    CHECK_THROWS_AS(tanh(x) + vector_of({1, 2, 3}), ShapeError);
    CHECK_THROWS_AS(matmul(exp(x), x), ShapeError);
    CHECK_THROWS_AS(concat({exp(x), parameter(zeros(Shape{2}))}, Axis{0}), DTypeError);
  }
  CHECK(live_nodes() == nodes);
  CHECK(live_buffers() == buffers);
}
TEST_CASE("a rule that captures its input keeps no cycle") {
  const std::int64_t nodes = live_nodes();
  {
    const Var x = vector_of({1, 2});
    const Var y = doubled(x, [x](const Tensor& dy, Inputs& in) { in.add(0, dy); });
    static_cast<void>(y);
  }
  CHECK(live_nodes() == nodes);
}
TEST_CASE("what a rule saved is given back when the graph is used up, although the result is still held") {
  const Var x = parameter(zeros(Shape{10, 100}, f64));
  const std::int64_t buffers = live_buffers();
  const Var loss = cross_entropy(square(x), Ids(Shape{10}, 3));  // its rule keeps two numbers a row
  CHECK(live_buffers() == buffers + 4);                          // squares, logsumexp, log p of the targets, loss
  backward(loss);
  CHECK(live_buffers() == buffers + 3);  // the loss's value and gradient, and x's gradient
}

// ---- anomalies

TEST_CASE("DetectAnomaly names the first op whose value is NaN") {
  const Var x = vector_of({1, -1});
  const DetectAnomaly guard;
  const std::string text = message_of<ValueError>([&] { sum(log(x) * 2.0); });
  CHECK(opens_with(text, "anomaly: the first NaN or infinity is in the value of 'log' (node "));
  CHECK(contains(text, "its inputs:"));
  CHECK(contains(text, "'leaf'"));
  CHECK(contains(text, "shape (2)"));
}
TEST_CASE("DetectAnomaly names the first op whose gradient is NaN or infinite") {
  const Var x = vector_of({0, 1});
  const DetectAnomaly guard;
  const Var y = sum(sqrt(x * 1.0) * 3.0);  // the value is finite, the slope at 0 is not
  const std::string text = message_of<ValueError>([&] { backward(y); });
  CHECK(opens_with(text, "anomaly: the first NaN or infinity is in the input gradients of 'sqrt'"));
}
TEST_CASE("DetectAnomaly watches ops that are not recorded, too") {
  const DetectAnomaly guard;
  const Var x = tensor(Shape{1}, {-1}, f64);
  CHECK(contains(message_of<ValueError>([&] { log(x); }), "'log'"));
}
TEST_CASE("DetectAnomaly leaves a clean graph alone, and ends with its scope") {
  const Var x = vector_of({1, 4});
  {
    const DetectAnomaly guard;
    backward(sum(sqrt(x)));
    CHECK(near(elements(x.grad()), {0.5, 0.25}, 1e-15));
  }
  CHECK_NOTHROW(log(vector_of({-1})));
}

// ---- memory

TEST_CASE("thousand training steps leave as many nodes and buffers as one") {
  const Var w = parameter(tensor(Shape{4, 4}, Numbers(2).many(16, -0.5, 0.5)));
  const Tensor x = tensor(Shape{3, 4}, Numbers(3).many(12, -1, 1));
  std::int64_t nodes = 0, buffers = 0;
  for (int step = 0; step < 1000; ++step) {
    backward(mean(square(tanh(matmul(x, w)))));
    w.zero_grad();
    if (step == 0) {
      nodes = live_nodes();
      buffers = live_buffers();
    }
  }
  CHECK(live_nodes() == nodes);
  CHECK(live_buffers() == buffers);
}
TEST_CASE("backward gives values back while it walks") {
  const Var x = parameter(zeros(Shape{64}, f64));
  Var loss;
  {
    Var y = x;
    for (int i = 0; i < 50; ++i) y = tanh(y);
    loss = sum(y);
  }
  const std::int64_t before = live_buffers();
  backward(loss);
  CHECK(live_buffers() <= before - 48);
}
TEST_CASE("a graph outlives the parameter's handle") {
  Var loss;
  {
    const Var x = vector_of({1, 2});
    loss = sum(square(x));
  }
  CHECK_NOTHROW(backward(loss));
}
TEST_CASE("ids rise with creation, and an input's id is below its node's") {
  const Var x = number(1);
  const Var y = x * x, z = y + x;
  CHECK(x.node()->id < y.node()->id);
  CHECK(y.node()->id < z.node()->id);
}
TEST_CASE("graphs of several threads on leaves of their own do not disturb each other") {
  const std::int64_t nodes = live_nodes();
  std::vector<double> slopes(4, 0.0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&slopes, t] {
      const Var w = number(0.5 + static_cast<double>(t));
      for (int i = 0; i < 200; ++i) {
        w.zero_grad();
        backward(w * w * w);
      }
      slopes[t] = w.grad().item();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < 4; ++t) {
    const double w = 0.5 + static_cast<double>(t);
    CHECK(near(slopes[t], 3 * w * w, 1e-15));
  }
  CHECK(live_nodes() == nodes);
}
TEST_CASE("a Var with static lifetime may outlive the thread's own storage") {
  // Leaves the child through exit(), so that thread-local objects go before static ones.
  CHECK(in_child([] {
          static const Var kept = parameter(zeros(Shape{3}));
          { const Var gone = tanh(kept) * 2.0; }
          std::exit(0);  // what is static is destroyed now
          return false;
        }) == 0);
}

TEST_SUITE_END();

}  // namespace gradus::testing
