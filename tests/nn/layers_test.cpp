// Linear, Embedding and Dropout: values, gradients, what they refuse.
#include "nn/layers.h"

#include "tests/nn/check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

Linear linear(std::int64_t d_in, std::int64_t d_out, bool with_bias = true) {
  Generator g(1);
  return drawn(Linear(d_in, d_out, g, with_bias), 2);
}
Embedding embedding(std::int64_t vocab, std::int64_t d) {
  Generator g(1);
  return drawn(Embedding(vocab, d, g), 3);
}

}  // namespace

TEST_SUITE("nn layers") {
  TEST_CASE("Linear is W x + b, worked out by hand") {
    Linear layer;
    layer.W = parameter(tensor(Shape{2, 3}, {1, 2, 3, -1, 0, 0.5}, f64));
    layer.b = parameter(tensor(Shape{2}, {10, 20}, f64));
    CHECK(vec(layer(tensor(Shape{2, 3}, {1, 1, 1, 2, 0, -4}, f64))) == std::vector<double>{16, 19.5, 0, 16});
  }

  TEST_CASE("a weight is not read transposed, also when it is square") {
    Linear layer;
    layer.W = parameter(tensor(Shape{2, 2}, {0.6, -0.2, 0.1, 0.7}, f64));
    CHECK(vec(layer(tensor(Shape{1, 2}, {1, 0}, f64))) == std::vector<double>{0.6, 0.1});
  }

  TEST_CASE("Linear equals a matrix times each row, for pairwise different and for equal sizes") {
    struct Row {
      std::int64_t batch, d_in, d_out;
    };
    for (const Row& n : {Row{2, 3, 5}, Row{4, 4, 4}, Row{1, 1, 1}, Row{7, 1, 20}, Row{1, 40, 2}}) {
      CAPTURE(n.d_in);
      CAPTURE(n.d_out);
      const Linear layer = linear(n.d_in, n.d_out);
      Numbers numbers(4);
      const Var x = drawn_tensor(Shape{n.batch, n.d_in}, numbers);
      const Var y = layer(x);
      REQUIRE(y.shape() == Shape{n.batch, n.d_out});
      for (std::int64_t b = 0; b < n.batch; ++b) {
        CHECK(gap(at(y, b), paper::plus(paper::mul(mat(layer.W), vec(at(x, b))), vec(layer.b))) <= exact);
      }
    }
  }

  TEST_CASE("Linear acts on the last axis of anything from rank 2 to 4") {
    const Linear layer = linear(3, 5);
    Numbers numbers(5);
    const Tensor x = drawn_tensor(Shape{2, 4, 6, 3}, numbers);
    const Var flat_rows = layer(reshape(x, Shape{48, 3}));
    CHECK(layer(x).shape() == Shape{2, 4, 6, 5});
    CHECK(gap(reshape(layer(x), Shape{48, 5}), flat_rows) <= exact);
    CHECK(gap(reshape(layer(reshape(x, Shape{8, 6, 3})), Shape{48, 5}), flat_rows) <= exact);
  }

  TEST_CASE("Linear without a bias has none") {
    const Linear layer = linear(3, 5, false);
    CHECK(!layer.b.defined());
    CHECK(all_zero(layer(zeros(Shape{2, 3}, f64))));
  }

  TEST_CASE("Linear of zero is its bias") {
    const Linear layer = linear(3, 5);
    const Var y = layer(zeros(Shape{2, 3}, f64));
    CHECK(vec(at(y, 0)) == vec(layer.b));
    CHECK(vec(at(y, 1)) == vec(layer.b));
  }

  TEST_CASE("Linear reads an input that lies in any layout") {
    const Linear layer = linear(4, 3);
    Numbers numbers(6);
    for (const Shape& shape : {Shape{5, 4}, Shape{2, 5, 4}}) {
      const std::vector<double> values = numbers.many(shape.size(), -1, 1);
      const Var want = layer(tensor(shape, values, f64));
      for (Layout layout : all_layouts) {
        CAPTURE(name_of(layout));
        CHECK(gap(layer(laid_out(layout, shape, values, f64)), want) <= exact);
      }
    }
  }

  TEST_CASE("Linear reads weights that lie in any layout") {
    Numbers numbers(7);
    const std::vector<double> values = numbers.many(12, -1, 1);
    const Tensor x = drawn_tensor(Shape{5, 4}, numbers);
    for (Layout layout : all_layouts) {
      CAPTURE(name_of(layout));
      const Linear layer{};
      const Var y = affine("test", x, laid_out(layout, Shape{3, 4}, values, f64), Var());
      CHECK(gap(y, affine("test", x, tensor(Shape{3, 4}, values, f64), Var())) <= exact);
    }
  }

  TEST_CASE("the gradient of Linear passes the self check at rank 2 and 3, different and equal sizes") {
    struct Row {
      Shape shape;
      std::int64_t d_out;
    };
    for (const Row& row : {Row{{2, 3}, 5}, Row{{2, 4, 3}, 5}, Row{{3, 3}, 3}, Row{{3, 3, 3}, 3}, Row{{1, 1}, 1}}) {
      CAPTURE(to_string(row.shape));
      const Linear layer = linear(row.shape[row.shape.rank() - 1], row.d_out);
      Numbers numbers(8);
      const Var x = leaf(row.shape, numbers);
      const GradientReport report = check_gradient([&] { return tanh(layer(x)); }, checked(layer, {{"x", x}}));
      CHECK_MESSAGE(report.passed, report.text());
    }
  }

  TEST_CASE("Linear in f32 agrees with f64") {
    Generator g(9);
    const Linear single(30, 20, g);
    const Linear twice = clone(single, f64);
    Numbers numbers(9);
    const Tensor x = drawn_tensor(Shape{8, 30}, numbers).to(f32);
    CHECK(gap(single(x).value().to(f64), twice(x.to(f64))) < 1e-5);
    CHECK(single(x).dtype() == f32);
    CHECK(twice(x.to(f64)).dtype() == f64);
  }

  TEST_CASE("Linear of no rows has no rows") { CHECK(linear(3, 5)(zeros(Shape{0, 3}, f64)).shape() == Shape{0, 5}); }

  TEST_CASE("Linear refuses a last axis that is not d_in, and says both shapes and the size needed") {
    const Linear layer = linear(3, 5);
    for (const Shape& shape : {Shape{2, 5}, Shape{3, 2}, Shape{2, 3, 4}}) {
      CAPTURE(to_string(shape));
      const std::string text = message_of<ShapeError>([&] { layer(zeros(shape, f64)); });
      CHECK(opens_with(text, "shape error in Linear: x\n"));
      CHECK(contains(text, to_string(shape)));
      CHECK(contains(text, "W (d_out, d_in) = (5, 3)"));
      CHECK(contains(text, "(..., d_in) = (..., 3)"));
    }
  }

  TEST_CASE("Linear refuses a vector: no axis is invented") {
    CHECK(opens_with(message_of<ShapeError>([] { linear(3, 5)(zeros(Shape{3}, f64)); }), "shape error in Linear: x\n"));
    CHECK(opens_with(message_of<ShapeError>([] { linear(3, 5)(zeros(Shape{}, f64)); }), "shape error in Linear: x\n"));
  }

  TEST_CASE("Linear in f64 refuses an input in f32") {
    CHECK(contains(message_of<DTypeError>([] { linear(3, 5)(zeros(Shape{2, 3}, f32)); }), "f32"));
  }

  TEST_CASE("an error in affine opens with the name of the layer that asked") {
    const Linear layer = linear(3, 5);
    CHECK(opens_with(message_of<ShapeError>([&] {
                       affine("my layer", zeros(Shape{2, 4}, f64), layer.W, layer.b);
                     }),
                     "shape error in my layer: x\n"));
  }

  // ---- Embedding

  TEST_CASE("Embedding gives the rows of its table, for ids of rank 1 and 2") {
    const Embedding table = embedding(5, 3);
    const Var one = table(Ids(Shape{3}, {4, 0, 4}));
    REQUIRE(one.shape() == Shape{3, 3});
    CHECK(vec(at(one, 0)) == vec(at(table.E, 4)));
    CHECK(vec(at(one, 1)) == vec(at(table.E, 0)));
    CHECK(vec(at(one, 2)) == vec(at(table.E, 4)));
    const Var two = table(Ids(Shape{2, 3}, {0, 1, 2, 3, 4, 0}));
    REQUIRE(two.shape() == Shape{2, 3, 3});
    CHECK(vec(at(at(two, 1), 1)) == vec(at(table.E, 4)));
  }

  TEST_CASE("a row of the table that is read twice gets the sum of both gradients, one that is not read gets 0") {
    const Embedding table = embedding(4, 2);
    const Var y = table(Ids(Shape{3}, {2, 0, 2}));
    backward(y, tensor(Shape{3, 2}, {1, 2, 3, 4, 10, 20}, f64));
    CHECK(vec(table.E.grad()) == std::vector<double>{3, 4, 0, 0, 11, 22, 0, 0});
  }

  TEST_CASE("the gradient of Embedding passes the self check") {
    const Embedding table = embedding(3, 2);
    const GradientReport report = check_gradient(
        [&] {
          return tanh(table(Ids(Shape{2, 2}, {2, 0, 1, 2})));
        },
        {{"E", table.E}});
    CHECK_MESSAGE(report.passed, report.text());
  }

  TEST_CASE("Embedding refuses an id outside the vocabulary and names it") {
    const Embedding table = embedding(5, 3);
    for (std::int32_t id : {-1, 5, 1000}) {
      CAPTURE(id);
      const std::string text = message_of<IndexError>([&] { table(Ids(Shape{2}, {0, id})); });
      CHECK(contains(text, std::to_string(id)));
      CHECK(contains(text, "5"));
    }
  }

  TEST_CASE("Embedding of no ids has no rows") { CHECK(embedding(5, 3)(Ids(Shape{0})).shape() == Shape{0, 3}); }

  // ---- Dropout

  TEST_CASE("Dropout in evaluation, or with p = 0, changes nothing and draws nothing") {
    Numbers numbers(10);
    const Tensor x = drawn_tensor(Shape{4, 5}, numbers);
    for (const Dropout& layer : {Dropout{0.5, false}, Dropout{0, true}, Dropout{0, false}}) {
      CAPTURE(layer.p);
      Generator g(1);
      const auto before = g.state();
      CHECK(bitwise(layer(x, g), x));
      CHECK(g.state() == before);
    }
  }

  TEST_CASE("two evaluations with Dropout are equal, two training passes are not") {
    Numbers numbers(10);
    const Tensor x = drawn_tensor(Shape{10, 10}, numbers);
    Generator g(1);
    Dropout layer{0.5, true};
    CHECK(!bitwise(layer(x, g), layer(x, g)));
    layer.training = false;
    CHECK(bitwise(layer(x, g), layer(x, g)));
  }

  TEST_CASE("Dropout keeps with probability 1 - p and scales what it keeps by 1 / (1 - p)") {
    for (double p : {0.1, 0.5, 0.8}) {
      CAPTURE(p);
      Generator g(2);
      const Var y = Dropout{p, true}(full(Shape{200, 100}, 3, f64), g);
      double kept = 0;
      for (double value : vec(y)) {
        if (value != 0) CHECK(near(value, 3 / (1 - p), 1e-15));
        kept += value != 0;
      }
      CHECK(std::fabs(kept / 20000 - (1 - p)) < 0.015);
    }
  }

  TEST_CASE("the gradient of Dropout goes where the number went, with the same factor") {
    Numbers numbers(11);
    Generator g(3);
    const Var x = leaf(Shape{6, 7}, numbers);
    const Var y = Dropout{0.4, true}(x, g);
    backward(sum(y));
    CHECK(gap(x.grad() * x, y) <= exact);
  }

  TEST_CASE("the gradient of Dropout passes the self check when the mask is held fixed") {
    Numbers numbers(12);
    const Var x = leaf(Shape{3, 4}, numbers);
    const GradientReport report = check_gradient(
        [&] {
          Generator g(4);
          return Dropout{0.3, true}(tanh(x), g);
        },
        {{"x", x}});
    CHECK_MESSAGE(report.passed, report.text());
  }

  TEST_CASE("Dropout from the same generator state gives the same mask") {
    const Tensor x = full(Shape{5, 5}, 1, f64);
    Generator a(5), b(5);
    CHECK(bitwise(Dropout{0.5, true}(x, a), Dropout{0.5, true}(x, b)));
  }

  TEST_CASE("Dropout refuses a p that is no probability below 1") {
    const Tensor x = full(Shape{2}, 1, f64);
    for (double p : {1.0, 1.5, -0.1, not_a_number}) {
      CAPTURE(p);
      Generator g(6);
      CHECK(contains(message_of<ValueError>([&] { Dropout{p, true}(x, g); }), "dropout"));
    }
  }
}
