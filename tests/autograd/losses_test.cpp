// Softmax and the losses with their gradients: against the papers' definitions, PyTorch's numbers, and known traps.
#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "tests/fixtures/torch_fixtures.h"
#include "tests/reference/cross_entropy.h"
#include "tests/reference/softmax.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

Var vector_of(std::initializer_list<double> values, DType dtype = f64) {
  return parameter(tensor(Shape{static_cast<std::int64_t>(values.size())}, values, dtype));
}
Var matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed, DType dtype = f64) {
  return parameter(tensor(Shape{rows, columns}, Numbers(seed).many(rows * columns, -3, 3), dtype));
}
paper::Mat rows_of(const Tensor& x) {
  const std::vector<double> values = elements(x);
  paper::Mat rows;
  const auto width = static_cast<std::size_t>(x.shape()[1]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.shape()[0]); ++i) {
    rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i * width),
                      values.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
  }
  return rows;
}
std::vector<double> flat(const paper::Mat& rows) {
  std::vector<double> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return values;
}
Shape shape_of(const fixtures::Array& array) {
  Extents lengths;
  for (std::int64_t length : array.shape) lengths.insert(lengths.rank(), length);
  return Shape(lengths);
}

}  // namespace

TEST_SUITE_BEGIN("softmax gradient");

TEST_CASE("softmax: dx = p (dy - sum p dy), by the paper's transcription") {
  const Var x = vector_of({0.3, -1, 2, 0.5});
  const paper::Vec dy{1, 2, -1, 0.5};
  backward(softmax(x, Axis{0}), tensor(Shape{4}, dy, f64));
  CHECK(near(elements(x.grad()), paper::softmax_backward(paper::softmax({0.3, -1, 2, 0.5}), dy), 1e-14));
}
TEST_CASE("log_softmax: dx = dy - p sum dy, by the paper's transcription") {
  const Var x = vector_of({0.3, -1, 2, 0.5});
  const paper::Vec dy{1, 2, -1, 0.5};
  backward(log_softmax(x, Axis{0}), tensor(Shape{4}, dy, f64));
  CHECK(near(elements(x.grad()), paper::log_softmax_backward(paper::softmax({0.3, -1, 2, 0.5}), dy), 1e-14));
}
TEST_CASE("softmax at (1 2 .5) with seeds (1 2 4) gives (-0.2426 -0.0310 0.2736), with equal seeds zero") {
  const Var x = vector_of({1, 2, 0.5});
  backward(softmax(x, Axis{0}), tensor(Shape{3}, {1, 2, 4}, f64));
  const std::vector<double> g = elements(x.grad());
  CHECK(std::fabs(g[0] + 0.2426) < 5e-5);
  CHECK(std::fabs(g[1] + 0.0310) < 5e-5);
  CHECK(std::fabs(g[2] - 0.2736) < 5e-5);
  x.zero_grad();
  backward(softmax(x, Axis{0}), tensor(Shape{3}, {1, 1, 1}, f64));
  for (double value : elements(x.grad())) CHECK(std::fabs(value) < 1e-16);
}
TEST_CASE("the gradient of a softmax sums to zero along its axis") {
  const Var x = matrix(3, 4, 1);
  backward(softmax(x, Axis{1}), tensor(Shape{3, 4}, Numbers(2).many(12, -1, 1), f64));
  for (double total : elements(sum(x.grad(), Axis{1}))) CHECK(std::fabs(total) < 1e-15);
}
TEST_CASE("masked positions get gradient exactly 0, whatever they hold") {
  const Mask mask(Shape{2, 3}, std::vector<std::uint8_t>{1, 0, 1, 0, 1, 1});
  for (double junk : {0.0, 1e300, infinity, -infinity, not_a_number}) {
    CAPTURE(junk);
    const Var x = parameter(tensor(Shape{2, 3}, {1, junk, 2, junk, 3, 4}, f64));
    backward(softmax(x, Axis{1}, mask), tensor(Shape{2, 3}, {1, 2, 3, 4, 5, 6}, f64));
    const std::vector<double> g = elements(x.grad());
    CHECK(g[1] == 0);
    CHECK(g[3] == 0);
    CHECK(std::isfinite(g[0]));
    CHECK(g[0] != 0);
    CHECK(std::isfinite(g[5]));
  }
}
TEST_CASE("a row that allows nothing has weights, gradient and context 0, and the batch is unharmed") {
  const Mask mask(Shape{2, 3}, std::vector<std::uint8_t>{0, 0, 0, 1, 1, 1});
  const Var x = parameter(tensor(Shape{2, 3}, {5, 6, 7, 1, 2, 3}, f64));
  backward(softmax(x, Axis{1}, mask, EmptyRow::zeros), tensor(Shape{2, 3}, {1, 2, 3, 1, 2, 3}, f64));
  const std::vector<double> g = elements(x.grad());
  CHECK(same(std::vector<double>(g.begin(), g.begin() + 3), {0, 0, 0}));
  CHECK(near(std::vector<double>(g.begin() + 3, g.end()), paper::softmax_backward(paper::softmax({1, 2, 3}), {1, 2, 3}),
             1e-14));
  CHECK(opens_with(message_of<ValueError>([&] { softmax(x, Axis{1}, mask); }), "softmax: row 0 of the mask"));
}
TEST_CASE("saturated scores have finite gradients") {
  const Var x = vector_of({1000, 0, -1000});
  backward(softmax(x, Axis{0}), tensor(Shape{3}, {1, 2, 3}, f64));
  for (double g : elements(x.grad())) CHECK(std::isfinite(g));
  const Var y = vector_of({1000, 0, -1000});
  backward(log_softmax(y, Axis{0}), tensor(Shape{3}, {0, 1, 0}, f64));
  CHECK(same(elements(y.grad()), {-1, 1, 0}));
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("losses");

TEST_CASE("cross_entropy and its gradient by the paper's transcription") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Var logits = matrix(4, 6, seed);
    const Ids targets(Shape{4}, std::vector<std::int32_t>{0, 5, 2, 2});
    const paper::CrossEntropy want = paper::cross_entropy(rows_of(logits.value()), {0, 5, 2, 2});
    const Var loss = cross_entropy(logits, targets);
    CHECK(near(loss.item(), want.loss, 1e-14));
    backward(loss);
    CHECK(near(elements(logits.grad()), flat(want.dlogits), 1e-14));
  }
}
TEST_CASE("cross_entropy with a mask counts the real tokens only, in value and divisor") {
  const Var logits = matrix(4, 6, 7);
  const Ids targets(Shape{4}, std::vector<std::int32_t>{0, 5, 2, 2});
  const Mask counts(Shape{4}, std::vector<std::uint8_t>{1, 0, 1, 0});
  const paper::CrossEntropy want = paper::cross_entropy(rows_of(logits.value()), {0, -100, 2, -100});
  const Var loss = cross_entropy(logits, targets, counts);
  CHECK(near(loss.item(), want.loss, 1e-14));
  backward(loss);
  CHECK(near(elements(logits.grad()), flat(want.dlogits), 1e-14));
  for (double g : elements(select(logits.grad(), Axis{0}, 1))) CHECK(g == 0);
}
TEST_CASE("cross_entropy of (B, T, vocab) is that of (B T, vocab)") {
  const Var logits = parameter(tensor(Shape{2, 3, 4}, Numbers(3).many(24, -2, 2), f64));
  const Var flat_logits = parameter(reshape(copy(logits.value()), Shape{6, 4}));
  const std::vector<std::int32_t> targets{0, 1, 2, 3, 0, 1};
  const Var a = cross_entropy(logits, Ids(Shape{2, 3}, targets)),
            b = cross_entropy(flat_logits, Ids(Shape{6}, targets));
  CHECK(a.item() == b.item());
  backward(a);
  backward(b);
  CHECK(same(elements(logits.grad()), elements(flat_logits.grad())));
}
TEST_CASE("cross_entropy equals -mean log_softmax of the targets, composed") {
  const Var logits = matrix(3, 5, 9), again = parameter(copy(logits.value()));
  const Ids targets(Shape{3}, std::vector<std::int32_t>{4, 0, 2});
  const Var fused = cross_entropy(logits, targets);
  const Var p = log_softmax(again, Axis{1});
  Var composed;
  for (std::int64_t i = 0; i < 3; ++i) {
    const Var term = select(select(p, Axis{0}, i), Axis{0}, targets[i]);
    composed = composed.defined() ? composed + term : term;
  }
  composed = composed / -3.0;
  CHECK(near(fused.item(), composed.item(), 1e-14));
  backward(fused);
  backward(composed);
  CHECK(near(elements(logits.grad()), elements(again.grad()), 1e-14));
}
TEST_CASE("uniform logits cost log(vocab)") {
  for (std::int64_t vocab : {2, 10, 1000}) {
    const Var logits = parameter(zeros(Shape{1, vocab}, f64));
    CHECK(near(cross_entropy(logits, Ids(Shape{1}, 1)).item(), std::log(static_cast<double>(vocab)), 1e-14));
  }
}
TEST_CASE("a logit of 1000 costs nothing: softmax is not applied twice") {
  for (DType dtype : {f32, f64}) {
    const Var logits = parameter(tensor(Shape{1, 4}, {1000, 0, 0, 0}, dtype));
    CHECK(cross_entropy(logits, Ids(Shape{1}, 0)).item() == 0);
  }
  const Var logits = parameter(tensor(Shape{1, 3}, {5, 0, 0}, f64));
  CHECK(std::fabs(cross_entropy(logits, Ids(Shape{1}, 0)).item() - 0.0134) < 5e-5);
}
TEST_CASE("a wrong logit of 1000 costs 1000, and its gradient is (1 -1)") {
  for (DType dtype : {f32, f64}) {
    const Var logits = parameter(tensor(Shape{1, 2}, {1000, 0}, dtype));
    const Var loss = cross_entropy(logits, Ids(Shape{1}, 1));
    CHECK(loss.item() == 1000);
    backward(loss);
    CHECK(same(elements(logits.grad()), {1, -1}));
  }
}
TEST_CASE("the gradient of cross_entropy sums to zero in each row") {
  const Var logits = matrix(5, 7, 11);
  backward(cross_entropy(logits, Ids(Shape{5}, 3)));
  for (double total : elements(sum(logits.grad(), Axis{1}))) CHECK(std::fabs(total) < 1e-16);
}
TEST_CASE("what padding holds does not matter, not even NaN or a target outside the vocabulary") {
  Tensor values = tensor(Shape{2, 3}, {1, 2, 3, not_a_number, infinity, 0}, f64);
  const Var logits = parameter(values);
  // So far outside that reading or writing there breaks the program.
  const Ids targets(Shape{2}, std::vector<std::int32_t>{1, std::numeric_limits<std::int32_t>::min()});
  const Mask counts(Shape{2}, std::vector<std::uint8_t>{1, 0});
  const Var loss = cross_entropy(logits, targets, counts);
  CHECK(near(loss.item(), paper::cross_entropy({{1, 2, 3}}, {1}).loss, 1e-14));
  backward(loss);
  CHECK(same(elements(select(logits.grad(), Axis{0}, 1)), {0, 0, 0}));
}
TEST_CASE("cross_entropy passes the scale of dy on") {
  const Var logits = matrix(2, 3, 13), tripled = parameter(copy(logits.value()));
  const Ids targets(Shape{2}, 1);
  backward(cross_entropy(logits, targets));
  backward(cross_entropy(tripled, targets) * 3.0);
  for (std::size_t i = 0; i < 6; ++i) CHECK(near(elements(tripled.grad())[i], 3 * elements(logits.grad())[i], 1e-14));
}
TEST_CASE("refusals of cross_entropy name shapes, token and remedy") {
  const Var logits = parameter(zeros(Shape{2, 3}, f64));
  CHECK(message_of<ShapeError>([&] { cross_entropy(logits, Ids(Shape{4})); }) ==
        "shape error in cross entropy: targets\n"
        "  has      (4)\n"
        "  needs    (B) = (2)\n"
        "  from     logits (B, vocab) = (2, 3)\n"
        "  fix      pass targets with B = 2; or change logits\n"
        "  test     CHECK(targets.shape() == Shape{B});");
  CHECK_THROWS_AS(cross_entropy(logits, Ids(Shape{2, 1})), ShapeError);
  CHECK_THROWS_AS(cross_entropy(parameter(zeros(Shape{3}, f64)), Ids(Shape{})), ShapeError);
  CHECK(contains(message_of<ShapeError>([&] { cross_entropy(logits, Ids(Shape{2}), Mask(Shape{3})); }),
                 ": mask\n  has      (3)\n  needs    (B) = (2)\n"));
  CHECK(message_of<IndexError>([&] {
          cross_entropy(logits, Ids(Shape{2}, std::vector<std::int32_t>{0, 3}));
        }) == "cross_entropy: target 3 at place 1 is outside the vocabulary of 3");
  CHECK_THROWS_AS(cross_entropy(logits, Ids(Shape{2}, -1)), IndexError);
  CHECK(contains(message_of<ValueError>([&] { cross_entropy(logits, Ids(Shape{2}), Mask(Shape{2})); }),
                 "no target counts"));
  CHECK_THROWS_AS(cross_entropy(parameter(zeros(Shape{0, 3}, f64)), Ids(Shape{0})), ValueError);
}
TEST_CASE("mse of an exact fit is 0, of a permuted one it is not") {
  const Var p = vector_of({1, 2, 3}), t = vector_of({1, 2, 3}), turned = vector_of({2, 3, 1});
  CHECK(mse(p, t).item() == 0);
  CHECK(near(mse(p, turned).item(), (1 + 1 + 4) / 3.0, 1e-15));
}
TEST_CASE("mse has the gradient 2 (p - t) / n, and its negative for the target") {
  const Var p = vector_of({1, 2, 4}), t = vector_of({0, 2, 1});
  backward(mse(p, t));
  CHECK(near(elements(p.grad()), {2.0 / 3, 0, 2}, 1e-15));
  CHECK(near(elements(t.grad()), {-2.0 / 3, 0, -2}, 1e-15));
}
TEST_CASE("mse refuses (N, 1) against (N) instead of making a table") {
  CHECK(opens_with(message_of<ShapeError>([] {
                     mse(Var(zeros(Shape{3, 1})), Var(zeros(Shape{3})));
                   }),
                   "shape error in mean squared error: target\n  has      (3)\n  needs    (B, d_out) = (3, 1)\n"));
}
TEST_CASE("every PyTorch case of cross-entropy: value and gradient") {
  int cases = 0;
  for (const std::string& name : fixtures::fixture_names()) {
    if (!contains(name, "cross_entropy")) continue;
    const fixtures::Fixture& f = fixtures::fixture(name);
    if (!f.has("logits") || !f.has("targets") || !f.has("loss")) continue;
    CAPTURE(name);
    const Var logits = parameter(tensor(shape_of(f["logits"]), f["logits"].data, f64));
    Ids targets(shape_of(f["targets"]));
    Mask counts(targets.shape());
    for (std::int64_t i = 0; i < targets.size(); ++i) {
      const double target = f["targets"].data[static_cast<std::size_t>(i)];
      counts[i] = target >= 0;
      targets[i] = static_cast<std::int32_t>(target);
    }
    const Var loss = cross_entropy(logits, targets, counts);
    CHECK(near(loss.item(), f["loss"].data[0], 1e-12));
    const double cotangent = f.has("cot_loss") ? f["cot_loss"].data[0] : 1;
    backward(loss * cotangent);
    if (f.has("grad_logits")) CHECK(near(elements(logits.grad()), f["grad_logits"].data, 1e-12));
    ++cases;
  }
  CHECK(cases > 0);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("refusals of ops");

TEST_CASE("refusals open with the op, name both shapes and say what to do") {
  const Var a = parameter(zeros(Shape{2, 3})), b = parameter(zeros(Shape{3, 2})), v = parameter(zeros(Shape{2}));
  const Mask mask(Shape{3}, std::uint8_t{1});
  struct Row {
    const char* start;
    std::function<void()> act;
  };
  for (const Row& row :
       {Row{"+: shapes (2, 3) and (3, 2) differ", [&] { a + b; }},
        Row{"-: shapes (2, 3) and (3, 2) differ", [&] { a - b; }},
        Row{"shape error in left * right: right\n  has      (3, 2)\n  needs    left = (2, 3)\n", [&] { a* b; }},
        Row{"/: shapes (2, 3) and (3, 2) differ", [&] { a / b; }},
        Row{"max: shapes (2, 3) and (2) differ", [&] { max(a, v); }},
        Row{"where: shapes (3) and (2, 3) differ", [&] { where(mask, a, a); }},
        Row{"where: shapes (3) and (2) differ", [&] { where(mask, v, v); }},
        Row{"shape error in mean squared error: target\n  has      (2)\n  needs    (B, d_out) = (2, 3)\n",
            [&] { mse(a, v); }},
        Row{"matmul: (2, 3) x (2, 3): inner sizes 3 and 2 differ", [&] { matmul(a, a); }},
        Row{"matmul: (2, 3) x (2): both must have at least two axes", [&] { matmul(a, v); }},
        Row{"dot: axis 1 of (2, 3) and a vector of shape (2) do not fit; the vector must be (3)",
            [&] { dot(a, v, Axis{1}); }},
        Row{"dot: axis 0 of (2, 3) and a vector of shape (3, 2)", [&] { dot(a, b, Axis{0}); }},
        Row{"dot: Axis{2} is not an axis", [&] { dot(a, v, Axis{2}); }},
        Row{"sum: Axis{2} is not an axis of shape (2, 3)", [&] { sum(a, Axis{2}); }},
        Row{"mean: Axis{-1}", [&] { mean(a, Axis{-1}); }},
        Row{"max: Axis{5}", [&] { max(a, Axis{5}); }},
        Row{"logsumexp: Axis{2}", [&] { logsumexp(a, Axis{2}); }},
        Row{"softmax: Axis{2}", [&] { softmax(a, Axis{2}); }},
        Row{"log_softmax: Axis{2}", [&] { log_softmax(a, Axis{2}); }},
        Row{"transpose: shape (2) is no matrix", [&] { transpose(v); }},
        Row{"transpose: Axis{2}", [&] { transpose(a, Axis{0}, Axis{2}); }},
        Row{"narrow: 4 positions from 0 in steps of 1 do not fit on axis 1 of shape (2, 3)",
            [&] { narrow(a, Axis{1}, 0, 4); }},
        Row{"reshape: (2, 3) holds 6 numbers and (5) needs 5", [&] { reshape(a, Shape{5}); }},
        Row{"expand: axis 0 of shape (2, 3) is not of length 1", [&] { expand(a, Axis{0}, 4); }},
        Row{"expand_new: a tensor of shape (2, 3) has no place for a new Axis{3}", [&] { expand_new(a, Axis{3}, 4); }},
        Row{"expand_scalar: shape (2) holds more than one number", [&] { expand_scalar(v, Shape{4}); }},
        Row{"gather: the table is (2) and must be (vocab, d)", [&] { gather(v, Ids(Shape{1})); }},
        Row{"concat: no parts were given", [&] { concat({}, Axis{0}); }},
        Row{"concat: Axis{2} is not an axis",
            [&] {
              concat({a, a}, Axis{2});
            }},
        Row{"concat (all axes but the joined one): shapes (3) and (2) differ",
            [&] {
              concat({a, b}, Axis{0});
            }},
        Row{"stack_along: no parts were given", [&] { stack_along({}, Axis{0}); }},
        Row{"stack_along: shapes (2, 3) and (3, 2) differ",
            [&] {
              stack_along({a, b}, Axis{0});
            }},
        Row{"stack_along: parts of shape (2, 3) have no place for a new Axis{3}",
            [&] {
              stack_along({a, a}, Axis{3});
            }},
        Row{"softmax: the mask is (3) and the scores are (2, 3)", [&] { softmax(a, Axis{1}, mask); }}}) {
    const std::string text = message_of<ShapeError>(row.act), start = row.start;
    CAPTURE(start);
    CAPTURE(text);
    CHECK(opens_with(text, start));
  }
}
TEST_CASE("positions and tokens outside are IndexErrors that name them") {
  const Var a = parameter(zeros(Shape{2, 3}));
  CHECK(message_of<IndexError>([&] { select(a, Axis{1}, 3); }) == "select: index 3 on axis 1 is outside shape (2, 3)");
  CHECK(message_of<IndexError>([&] {
          gather(a, Ids(Shape{2}, std::vector<std::int32_t>{1, 2}));
        }) == "gather: id 2 at place 1 is outside the vocabulary of 2 (ids run from 0 to 1)");
  CHECK_THROWS_AS(gather(a, Ids(Shape{1}, -1)), IndexError);
}
TEST_CASE("a gathered row that occurs twice gets both gradients: [2 0]") {
  const Var table = parameter(tensor(Shape{2, 1}, {0, 1}, f64));
  backward(sum(gather(table, Ids(Shape{2}, 0))));
  CHECK(same(elements(table.grad()), {2, 0}));
}
TEST_CASE("gather of no ids and from a transposed table") {
  const Var table = parameter(tensor(Shape{3, 2}, {1, 2, 3, 4, 5, 6}, f64));
  CHECK(gather(table, Ids(Shape{0})).shape() == Shape{0, 2});
  CHECK(same(elements(gather(transpose(table), Ids(Shape{2}, std::vector<std::int32_t>{1, 0})).value()),
             {2, 4, 6, 1, 3, 5}));
}
TEST_CASE("an axis beyond the fifth is refused by every op that adds one") {
  const Var x = parameter(zeros(Shape{1, 1, 1, 1, 1}));
  CHECK(contains(message_of<ShapeError>([&] { expand_new(x, Axis{0}, 2); }), "at most 5 axes"));
  CHECK(contains(message_of<ShapeError>([&] { stack_along({x, x}, Axis{0}); }), "at most 5 axes"));
  CHECK(contains(message_of<ShapeError>([&] {
                   gather(parameter(zeros(Shape{2, 2})), Ids(Shape{1, 1, 1, 1, 1}));
                 }),
                 "at most 5 axes"));
}
TEST_CASE("nothing is promoted: an f64 number beside an f32 tensor takes the tensor's dtype") {
  CHECK((parameter(zeros(Shape{2})) * 0.1).dtype() == f32);
  CHECK((0.1 + parameter(zeros(Shape{2}, f64))).dtype() == f64);
}

TEST_SUITE_END();

}  // namespace gradus::testing
