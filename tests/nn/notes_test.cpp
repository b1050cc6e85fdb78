// The numbers that the course notes print, to their printed digits: what follows from arithmetic has to come out of
// the library's own ops.
#include <algorithm>

#include "nn/attention.h"
#include "nn/layers.h"
#include "tests/nn/check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

Var row(std::initializer_list<double> values) {
  return tensor(Shape{1, static_cast<std::int64_t>(values.size())}, values, f64);
}
Score parameterless(ScoreKind kind) {
  Score score;
  score.kind = kind;
  return score;
}
struct Traced {
  std::vector<double> scores, weights, context;
};
Traced trace(ScoreKind kind, const Var& query, const Var& H) {
  const Score score = parameterless(kind);
  const Var e = score(query, score.keys(H));
  const Attended a = attend(e, H);
  return {vec(e), vec(a.weights), vec(a.context)};
}

// Note 0: states that stand for "cat", "sat", "mat".
Var three_words() { return tensor(Shape{1, 3, 3}, {1, 0, .2, .5, .5, .1, .1, .9, .3}, f64); }
// Note 1: s_prev and the states of two words.
Var note1_query() { return row({.8, -.2, .5}); }
Var note1_states() { return tensor(Shape{1, 2, 3}, {.1, .9, .3, .7, .2, -.5}, f64); }

// Normal numbers that are redrawn beyond two deviations.
Tensor truncated_normal(const Shape& shape, double deviation, Generator& g) {
  std::vector<double> values;
  while (static_cast<std::int64_t>(values.size()) < shape.size()) {
    const double value = g.normal();
    if (std::fabs(value) < 2) values.push_back(deviation * value);
  }
  return tensor(shape, values, f64);
}

// Note 3's pooling: a learned query h_t (D, 1) on states H (B, T, D), softmax over the axis that is given.
struct Pooled {
  Var scores, weights, mixed, context;
};
Pooled pool(const Var& H, const Var& W, const Var& h_t, Axis axis) {
  const std::int64_t batch = H.shape()[0], length = H.shape()[1], d = H.shape()[2];
  const Var score = matmul(matmul(reshape(H, Shape{batch * length, d}), W), h_t);  // (B T, 1)
  const Var scores = reshape(score, Shape{batch, length, 1});
  const Var weights = softmax(scores, axis);                            // (B, T, 1)
  const Var mixed = H * expand(weights, Axis{2}, d);                    // (B, T, D)
  const Var context = matmul(transpose(H, Axis{1}, Axis{2}), weights);  // (B, D, 1)
  return {score, weights, mixed, context};
}

}  // namespace

TEST_SUITE("nn notes") {
  TEST_CASE("note 0: s close to the first word gives .464 .305 .231 and context .6399 .3601 .1925") {
    const Traced t = trace(ScoreKind::dot, row({.9, .1, .2}), three_words());
    CHECK(gap(t.scores, {.94, .52, .24}) <= exact);
    CHECK(prints_as(t.weights, {.464, .305, .231}, 3));
    CHECK(prints_as(t.context, {.6399, .3601, .1925}, 4));
  }

  TEST_CASE("note 0: moving the state moves the weight to the last word, .219 .317 .464") {
    const Traced t = trace(ScoreKind::dot, row({.1, .9, .3}), three_words());
    CHECK(prints_as(t.weights, {.219, .317, .464}, 3));
    CHECK(std::max_element(t.weights.begin(), t.weights.end()) - t.weights.begin() == 2);
  }

  TEST_CASE("note 0: with cosine instead of dot the weights are .4353 .3533 .2113") {
    const Traced t = trace(ScoreKind::cosine, row({.9, .1, .2}), three_words());
    CHECK(prints_as(t.weights, {.4353, .3533, .2113}, 4));
  }

  TEST_CASE("note 0: 5 queries on 10 keys of 128 give (2, 5, 128) and weights (2, 5, 10)") {
    Numbers numbers(1);
    const Var queries = drawn_tensor(Shape{2, 5, 128}, numbers), keys = drawn_tensor(Shape{2, 10, 128}, numbers);
    std::vector<Var> outputs, weights;
    for (std::int64_t t = 0; t < 5; ++t) {
      const Attended a = attend(parameterless(ScoreKind::scaled_dot)(select(queries, Axis{1}, t), keys), keys);
      outputs.push_back(a.context);
      weights.push_back(a.weights);
    }
    CHECK(stack_along(outputs, Axis{1}).shape() == Shape{2, 5, 128});
    CHECK(stack_along(weights, Axis{1}).shape() == Shape{2, 5, 10});
    for (double total : vec(sum(stack_along(weights, Axis{1}), Axis{2}))) CHECK(near(total, 1, exact));
  }

  TEST_CASE("note 0: general attention is dot attention with W' s") {
    Numbers numbers(2);
    const Var H = drawn_tensor(Shape{1, 4, 3}, numbers), s = drawn_tensor(Shape{1, 2}, numbers);
    Score general;
    general.kind = ScoreKind::general;
    general.W_a = parameter(drawn_tensor(Shape{2, 3}, numbers));
    const Var projected = tensor(Shape{1, 3}, paper::row_mul(vec(s), mat(general.W_a)), f64);
    CHECK(gap(general(s, general.keys(H)), parameterless(ScoreKind::dot)(projected, H)) <= exact);
  }

  TEST_CASE("note 1: scores .05 .27, weights .4452 .5548, context .4329 .5117 -.1438") {
    const Traced t = trace(ScoreKind::dot, note1_query(), note1_states());
    CHECK(gap(t.scores, {.05, .27}) <= exact);
    CHECK(prints_as(t.weights, {.4452, .5548}, 4));
    CHECK(prints_as(t.context, {.4329, .5117, -.1438}, 4));
  }

  TEST_CASE("note 1: with cosine the weights are .4347 .5653") {
    CHECK(prints_as(trace(ScoreKind::cosine, note1_query(), note1_states()).weights, {.4347, .5653}, 4));
  }

  TEST_CASE("note 1: a longer key wins in dot and loses in cosine") {
    const Var q = row({1, 0}), H = tensor(Shape{1, 2, 2}, {3, 3, 1, 0}, f64);
    const Traced by_dot = trace(ScoreKind::dot, q, H), by_cosine = trace(ScoreKind::cosine, q, H);
    CHECK(gap(by_dot.scores, {3, 1}) <= exact);
    CHECK(gap(by_cosine.scores, {std::sqrt(0.5), 1}) <= exact);
    CHECK(by_dot.weights[0] > by_dot.weights[1]);
    CHECK(by_cosine.weights[0] < by_cosine.weights[1]);
  }

  TEST_CASE("note 1: equal scores give every position the same weight, 1/3 of three") {
    const Attended a = attend(zeros(Shape{1, 3}, f64), three_words());
    for (double weight : vec(a.weights)) CHECK(near(weight, 1.0 / 3, 1e-15));
    CHECK(gap(a.context, {1.6 / 3, 1.4 / 3, .6 / 3}) <= exact);
  }

  TEST_CASE("note 1: orthogonal vectors score 0 and still get a weight") {
    const Traced t = trace(ScoreKind::dot, row({1, 0}), tensor(Shape{1, 2, 2}, {0, 5, 0, -5}, f64));
    CHECK(t.scores == std::vector<double>{0, 0});
    CHECK(t.weights == std::vector<double>{0.5, 0.5});
  }

  TEST_CASE("note 1: dividing by the sum gives .156 .844, sharper than softmax's .445 .555") {
    const Var e = row({.05, .27});
    const Var divided = e / expand_new(sum(e, Axis{1}), Axis{1}, 2);
    CHECK(prints_as(vec(divided), {.156, .844}, 3));
    CHECK(prints_as(vec(softmax(e, Axis{1})), {.445, .555}, 3));
  }

  TEST_CASE("note 1: softmax takes what dividing by the sum cannot: negative scores, zero sums, a shift") {
    const Var mixed = row({-1, 1});
    CHECK(!all_finite((mixed / expand_new(sum(mixed, Axis{1}), Axis{1}, 2)).value()));
    for (double weight : vec(softmax(mixed, Axis{1}))) CHECK((weight > 0 && weight < 1));
    CHECK(gap(softmax(row({.05 + 7, .27 + 7}), Axis{1}), softmax(row({.05, .27}), Axis{1})) <= exact);
  }

  TEST_CASE("note 1: temperature .5 .25 .1 gives the second word .608 .707 .900") {
    struct Row {
      double temperature, weight;
    };
    for (const Row& r : {Row{1, .555}, Row{.5, .608}, Row{.25, .707}, Row{.1, .900}}) {
      CAPTURE(r.temperature);
      CHECK(prints_as(vec(softmax(row({.05, .27}) / r.temperature, Axis{1}))[1], r.weight, 3));
    }
  }

  TEST_CASE("lesson 04: of softmax and division the sharper one is told by the logarithmic mean of the scores") {
    struct Row {
      double low, high;
      bool softmax_is_sharper;
    };
    for (const Row& r : {Row{.05, .27, false}, Row{.5, 2.7, true}, Row{.3, 2, false}, Row{.9, 1.2, true}}) {
      CAPTURE(r.low);
      const Var e = row({r.low, r.high});
      const double by_softmax = vec(softmax(e, Axis{1}))[1], divided = r.high / (r.low + r.high);
      CHECK((by_softmax > divided) == r.softmax_is_sharper);
      CHECK(((r.high - r.low) / (std::log(r.high) - std::log(r.low)) > 1) == r.softmax_is_sharper);
    }
    CHECK(prints_as(vec(softmax(row({.5, 2.7}), Axis{1})), {.0998, .9002}, 4));
    CHECK(prints_as(2.2 / std::log(5.4), 1.305, 3));
  }

  TEST_CASE("lesson 04: a share by division moves 10000 times as far as its score where the scores nearly cancel") {
    const Var e = parameter(row({-.99, 1}).value());
    const Var shares = e / expand_new(sum(e, Axis{1}), Axis{1}, 2);
    CHECK(gap(shares, {-99, 100}) <= 1e-12);
    backward(sum(select(shares, Axis{1}, 0)));
    CHECK(std::fabs(e.grad().at({0, 0}) - 10000) <= 1e-6);
  }

  TEST_CASE(
      "lesson 04: temperature .1001 gives the second word .9; two softmaxes over 10 classes cost at least 1.4612") {
    CHECK(prints_as(.22 / std::log(9.0), .1001, 4));
    CHECK(prints_as(vec(softmax(row({.05, .27}) / .1001, Axis{1}))[1], .9, 3));
    std::vector<double> certain(10, 0);
    certain[0] = 1000;
    const Var twice = softmax(tensor(Shape{1, 10}, certain, f64), Axis{1});
    CHECK(prints_as(cross_entropy(twice, Ids(Shape{1}, 0)).item(), 1.4612, 4));
  }

  TEST_CASE(
      "lesson 04: certain and wrong at logits 20 0 0, cross-entropy pulls with 1 and squared error with 4.1e-09") {
    const Var z = parameter(row({20, 0, 0}).value());
    backward(cross_entropy(z, Ids(Shape{1}, 1)));
    CHECK(prints_as(vec(z.grad()), {1, -1, 0}, 4));
    z.zero_grad();
    backward(mse(softmax(z, Axis{1}), row({0, 1, 0})));
    CHECK(prints_as(z.grad().at({0, 0}) * 1e9, 4.1, 1));
  }

  TEST_CASE("lesson 08: orthogonal keys are told apart by a general score, weights .4683 .0634 .4683") {
    const Var s = row({1, 0, -1}), H = tensor(Shape{1, 3, 3}, {0, 1, 0, 1, 0, 1, -1, 0, -1}, f64);
    CHECK(trace(ScoreKind::dot, s, H).scores == std::vector<double>{0, 0, 0});
    Score general = parameterless(ScoreKind::general);
    general.W_a = Var(tensor(Shape{3, 3}, {0, 1, 0, -1, 0, 0, 0, 0, 1}, f64));
    CHECK(vec(general(s, H)) == std::vector<double>{1, -1, 1});
    CHECK(prints_as(vec(attend(general(s, H), H).weights), {.4683, .0634, .4683}, 4));
  }

  TEST_CASE(
      "lesson 08: no cosine weight is above .7112, .5135 or .3300 for 4, 8 or 16 keys, and opposite keys reach it") {
    struct Row {
      std::int64_t keys;
      double most;
    };
    for (const Row& r : {Row{4, .7112}, Row{8, .5135}, Row{16, .3300}}) {
      CAPTURE(r.keys);
      std::vector<double> opposite(static_cast<std::size_t>(r.keys), -3);
      opposite[0] = 7;
      const Var H = tensor(Shape{1, r.keys, 1}, opposite, f64);
      CHECK(prints_as(trace(ScoreKind::cosine, row({2}), H).weights[0], r.most, 4));
      Numbers numbers(static_cast<std::uint64_t>(r.keys));
      const Traced t =
          trace(ScoreKind::cosine, drawn_tensor(Shape{1, 3}, numbers), drawn_tensor(Shape{1, r.keys, 3}, numbers));
      CHECK(*std::max_element(t.weights.begin(), t.weights.end()) <= r.most + 1e-4);
    }
  }

  TEST_CASE("lesson 08: the deviation of a dot product of random vectors is the root of d, and 1 when it is scaled") {
    for (std::int64_t d : {1, 16, 256}) {
      CAPTURE(d);
      Generator g(1);
      const Var s = random_normal(Shape{400, d}, 0, 1, g, f64), H = random_normal(Shape{400, 10, d}, 0, 1, g, f64);
      const double root = std::sqrt(static_cast<double>(d));
      const double plain = std::sqrt(mean(square(parameterless(ScoreKind::dot)(s, H))).item());
      const double scaled = std::sqrt(mean(square(parameterless(ScoreKind::scaled_dot)(s, H))).item());
      CHECK(std::fabs(plain / root - 1) < 0.06);
      CHECK(std::fabs(scaled - 1) < 0.06);
    }
  }

  TEST_CASE("lesson 08: dL/de_i = alpha_i dc (v_i - c): the query of note 0 moves by -.5399 .5399 .1075 to word 3") {
    const Var s = parameter(row({.9, .1, .2}).value());
    const Var alpha = softmax(parameterless(ScoreKind::dot)(s, three_words()), Axis{1});
    const Var c = sum(alpha * row({0, 0, 1}), Axis{1});
    backward(-sum(log(c)));
    std::vector<double> by_hand(3, 0);
    for (std::size_t i = 0; i < 3; ++i) {
      const double v = i == 2 ? 1 : 0, de = vec(alpha)[i] * (-1 / c.item()) * (v - c.item());
      for (std::size_t d = 0; d < 3; ++d) by_hand[d] += de * vec(three_words())[3 * i + d];
    }
    CHECK(gap(s.grad(), by_hand) <= exact);
    CHECK(prints_as(by_hand, {.5399, -.5399, -.1075}, 4));
  }

  TEST_CASE("lesson 08: for q = (2, 1) the keys (1, 0) and (0, 2) tie by dot, and the first wins by cosine") {
    const Var H = tensor(Shape{1, 2, 2}, {1, 0, 0, 2}, f64);
    const Traced by_dot = trace(ScoreKind::dot, row({2, 1}), H), by_cosine = trace(ScoreKind::cosine, row({2, 1}), H);
    CHECK(by_dot.scores == std::vector<double>{2, 2});
    CHECK(gap(by_dot.context, {.5, 1}) <= exact);
    CHECK(prints_as(by_cosine.scores, {.8944, .4472}, 4));
  }

  TEST_CASE("note 3: shapes (B, T, D) -> (B T, 1) -> (B, T, 1) -> (32, 128, 1)") {
    Generator g(1);
    const Pooled p = pool(truncated_normal(Shape{32, 8, 128}, .5, g), truncated_normal(Shape{128, 128}, .5, g),
                          truncated_normal(Shape{128, 1}, .5, g), Axis{1});
    CHECK(p.scores.shape() == Shape{256, 1});
    CHECK(p.weights.shape() == Shape{32, 8, 1});
    CHECK(p.context.shape() == Shape{32, 128, 1});
    CHECK(tanh(p.context).shape() == Shape{32, 128, 1});
  }

  TEST_CASE("note 3: weighting without summing keeps (32, 8, 128), and its sum is the context") {
    Generator g(2);
    const Pooled p = pool(truncated_normal(Shape{32, 8, 128}, .5, g), truncated_normal(Shape{128, 128}, .5, g),
                          truncated_normal(Shape{128, 1}, .5, g), Axis{1});
    CHECK(p.mixed.shape() == Shape{32, 8, 128});
    CHECK(gap(sum(p.mixed, Axis{1}), reshape(p.context, Shape{32, 128})) <= exact);
  }

  TEST_CASE("note 3: softmax over the last axis makes every weight 1 and the query's gradient exactly 0") {
    Generator g(3);
    const Var H = truncated_normal(Shape{4, 8, 16}, .5, g);
    const Var W = parameter(truncated_normal(Shape{16, 16}, .5, g)),
              h_t = parameter(truncated_normal(Shape{16, 1}, .5, g));
    const Pooled wrong = pool(H, W, h_t, Axis{2});
    for (double weight : vec(wrong.weights)) CHECK(weight == 1);
    CHECK(gap(reshape(wrong.context, Shape{4, 16}), sum(H, Axis{1})) <= exact);
    backward(weighted(tanh(wrong.context), 4));
    CHECK(all_zero(h_t.grad()));
    CHECK(all_zero(W.grad()));
  }

  TEST_CASE("note 3: over the right axis the weights sum to 1 and the query learns") {
    Generator g(3);
    const Var H = truncated_normal(Shape{4, 8, 16}, .5, g);
    const Var W = parameter(truncated_normal(Shape{16, 16}, .5, g)),
              h_t = parameter(truncated_normal(Shape{16, 1}, .5, g));
    const Pooled right = pool(H, W, h_t, Axis{1});
    for (double total : vec(sum(right.weights, Axis{1}))) CHECK(near(total, 1, exact));
    backward(weighted(tanh(right.context), 4));
    CHECK(largest(h_t.grad()) > 1e-3);
    CHECK(largest(W.grad()) > 1e-3);
  }

  TEST_CASE("note 3: a start with deviation .5 gives scores of deviation about 11 at D = 128: softmax is saturated") {
    Generator g(5);
    double squares = 0, weight = 0;
    const int draws = 8;
    for (int k = 0; k < draws; ++k) {
      const Pooled p = pool(truncated_normal(Shape{32, 8, 128}, .5, g), truncated_normal(Shape{128, 128}, .5, g),
                            truncated_normal(Shape{128, 1}, .5, g), Axis{1});
      squares += mean(square(p.scores)).item() / draws;
      weight += mean(max(p.weights, Axis{1})).item() / draws;
    }
    CHECK(std::fabs(std::sqrt(squares) - 11) < 1.5);
    CHECK(weight > 0.85);
  }
}
