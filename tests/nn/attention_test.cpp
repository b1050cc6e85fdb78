// Scores and attend: values against the papers, gradients, masks, and what is refused.
#include "nn/attention.h"

#include "nn/layers.h"
#include "tests/nn/check.h"
#include "tests/reference/bahdanau2014.h"
#include "tests/reference/luong2015.h"
#include "tests/reference/scaled_dot2017.h"

using namespace gradus;
using namespace gradus::testing;
using paper::Mat;
using paper::Vec;

namespace {

const ScoreKind all_kinds[] = {ScoreKind::dot,    ScoreKind::general, ScoreKind::additive,
                               ScoreKind::concat, ScoreKind::cosine,  ScoreKind::scaled_dot};
bool plain(ScoreKind kind) {
  return kind == ScoreKind::dot || kind == ScoreKind::cosine || kind == ScoreKind::scaled_dot;
}

struct Size {
  std::int64_t batch, length, d_s, d_h, d_attn;
};
const Size sizes[] = {{2, 5, 3, 4, 6}, {3, 3, 3, 3, 3}, {1, 1, 1, 1, 1}, {1, 7, 2, 5, 1}, {4, 1, 5, 2, 19}};

// The sizes with d_s made equal to d_h where the kind needs it.
Size fitted(Size n, ScoreKind kind) {
  if (plain(kind)) n.d_s = n.d_h;
  return n;
}
Score score_of(ScoreKind kind, const Size& n, std::uint64_t seed = 1) {
  Generator g(seed);
  return drawn(Score(kind, n.d_s, n.d_h, n.d_attn, g), seed);
}

// e_i of one sentence as the papers write it: query (d_s), H (T_enc, d_h).
Vec expected(const Score& score, const Vec& query, const Mat& H) {
  if (score.kind == ScoreKind::additive) {
    return paper::bahdanau2014::energies({mat(score.W_a), mat(score.U_a), vec(score.v_a)}, query, H);
  }
  Vec e;
  for (const Vec& h : H) {
    switch (score.kind) {
      case ScoreKind::general:
        e.push_back(paper::dot(query, paper::mul(mat(score.W_a), h)));
        break;
      case ScoreKind::concat:
        e.push_back(paper::dot(vec(score.v_a), paper::tanh_of(paper::mul(mat(score.W_a), paper::concat(query, h)))));
        break;
      case ScoreKind::cosine:
        e.push_back(paper::dot(query, h) / std::sqrt(paper::dot(query, query)) / std::sqrt(paper::dot(h, h)));
        break;
      case ScoreKind::scaled_dot:
        e.push_back(paper::dot(query, h) / std::sqrt(static_cast<double>(h.size())));
        break;
      default:
        e.push_back(paper::dot(query, h));
    }
  }
  return e;
}

// The inputs that published mistakes about attention are recomputed on.
const std::vector<double> fx_H{1, 0, 0, 1, -1, .5};
Var fx_states() { return tensor(Shape{1, 3, 2}, fx_H, f64); }
Var fx_query() { return tensor(Shape{1, 2}, {.5, -.4}, f64); }
Score fx_additive() {
  Score score;
  score.W_a = parameter(tensor(Shape{2, 2}, {.6, -.2, .1, .7}, f64));
  score.U_a = parameter(tensor(Shape{2, 2}, {.3, .5, -.4, .2}, f64));
  score.v_a = parameter(tensor(Shape{2}, {1, -.8}, f64));
  return score;
}

}  // namespace

TEST_SUITE("nn attention") {
  // ---- scores

  TEST_CASE("every score is that of its paper, for sizes different, equal and 1") {
    for (ScoreKind kind : all_kinds) {
      for (const Size& some : sizes) {
        const Size n = fitted(some, kind);
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(n.length);
        const Score score = score_of(kind, n);
        Numbers numbers(2);
        const Var H = drawn_tensor(Shape{n.batch, n.length, n.d_h}, numbers),
                  query = drawn_tensor(Shape{n.batch, n.d_s}, numbers);
        const Var e = score(query, score.keys(H));
        REQUIRE(e.shape() == Shape{n.batch, n.length});
        for (std::int64_t b = 0; b < n.batch; ++b) {
          CHECK(gap(at(e, b), expected(score, vec(at(query, b)), mat(at(H, b)))) <= exact);
        }
      }
    }
  }

  TEST_CASE("weights of dot, general and concat are those of Luong et al.") {
    for (ScoreKind kind : {ScoreKind::dot, ScoreKind::general, ScoreKind::concat}) {
      CAPTURE(std::string(to_string(kind)));
      const Size n = fitted({1, 5, 3, 4, 6}, kind);
      const Score score = score_of(kind, n);
      Numbers numbers(3);
      const Var H = drawn_tensor(Shape{1, 5, n.d_h}, numbers), query = drawn_tensor(Shape{1, n.d_s}, numbers);
      paper::luong2015::Decoder p;
      p.score = kind == ScoreKind::dot       ? paper::luong2015::Score::dot
                : kind == ScoreKind::general ? paper::luong2015::Score::general
                                             : paper::luong2015::Score::concat;
      if (score.W_a.defined()) p.W_a = mat(score.W_a);
      if (score.v_a.defined()) p.v_a = vec(score.v_a);
      CHECK(gap(attend(score(query, score.keys(H)), H).weights,
                paper::luong2015::align(p, vec(query), mat(at(H, 0)))) <= exact);
    }
  }

  TEST_CASE("every score passes the self check in query, states and parameters, sizes different and equal") {
    for (ScoreKind kind : all_kinds) {
      for (const Size& some : {Size{2, 4, 3, 5, 6}, Size{3, 3, 3, 3, 3}}) {
        const Size n = fitted(some, kind);
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(n.length);
        const Score score = score_of(kind, n);
        Numbers numbers(4);
        const Var H = leaf(Shape{n.batch, n.length, n.d_h}, numbers), query = leaf(Shape{n.batch, n.d_s}, numbers);
        const GradientReport report =
            check_gradient([&] { return score(query, score.keys(H)); }, checked(score, {{"query", query}, {"H", H}}));
        CHECK_MESSAGE(report.passed, report.text());
      }
    }
  }

  TEST_CASE("score, softmax and context together pass the self check, with and without a mask") {
    for (ScoreKind kind : all_kinds) {
      for (bool masked : {false, true}) {
        CAPTURE(std::string(to_string(kind)));
        CAPTURE(masked);
        const Size n = fitted({2, 4, 3, 5, 6}, kind);
        const Score score = score_of(kind, n);
        Numbers numbers(5);
        const Var H = leaf(Shape{2, 4, n.d_h}, numbers), query = leaf(Shape{2, n.d_s}, numbers);
        const std::optional<Mask> mask = masked ? std::optional(mask_from_lengths({4, 2}, 4)) : std::nullopt;
        const GradientReport report = check_gradient(
            [&] {
              const Attended a = attend(score(query, score.keys(H)), H, mask);
              return concat({a.context, a.weights}, Axis{1});
            },
            checked(score, {{"query", query}, {"H", H}}));
        CHECK_MESSAGE(report.passed, report.text());
      }
    }
  }

  TEST_CASE("additive: published scores, weights and context") {
    const Score score = fx_additive();
    const Var e = score(fx_query(), score.keys(fx_states()));
    const Attended a = attend(e, fx_states());
    CHECK(prints_as(vec(e), {1.037961, .730412, .107621}, 6));
    CHECK(prints_as(vec(a.weights), {.469557, .345240, .185202}, 6));
    CHECK(prints_as(vec(a.context), {.284355, .437842}, 6));
  }

  TEST_CASE("general: s . W_a h, not its transpose, also when W_a is square") {
    Score score;
    score.kind = ScoreKind::general;
    score.W_a = parameter(tensor(Shape{2, 2}, {.6, -.2, .1, .7}, f64));
    const Var e = score(fx_query(), score.keys(fx_states()));
    CHECK(prints_as(vec(e), {.26, -.38, -.45}, 4));
    CHECK(prints_as(vec(attend(e, fx_states()).weights), {.4953, .2612, .2435}, 4));
  }

  TEST_CASE("dot: published weights") {
    Score score;
    score.kind = ScoreKind::dot;
    CHECK(prints_as(vec(attend(score(fx_query(), fx_states()), fx_states()).weights), {.5856, .2381, .1764}, 4));
  }

  TEST_CASE("general takes a W_a that is not square: (d_s, d_h)") {
    const Score score = score_of(ScoreKind::general, {1, 5, 3, 7, 0});
    CHECK(score.W_a.shape() == Shape{3, 7});
    CHECK(score(zeros(Shape{2, 3}, f64), score.keys(zeros(Shape{2, 5, 7}, f64))).shape() == Shape{2, 5});
  }

  TEST_CASE("additive is concat with W_a = [W_a U_a], in value and gradient") {
    const Size n{2, 5, 3, 4, 6};
    const Score additive = score_of(ScoreKind::additive, n);
    Score joined = score_of(ScoreKind::concat, n);
    joined.W_a = parameter(concat({additive.W_a, additive.U_a}, Axis{1}).value());
    joined.v_a = parameter(copy(additive.v_a.value()));
    Numbers numbers(6);
    const Tensor H_values = drawn_tensor(Shape{2, 5, 4}, numbers), query_values = drawn_tensor(Shape{2, 3}, numbers);
    const Var H1 = parameter(copy(H_values)), H2 = parameter(copy(H_values));
    const Var q1 = parameter(copy(query_values)), q2 = parameter(copy(query_values));
    const Var e1 = additive(q1, additive.keys(H1)), e2 = joined(q2, joined.keys(H2));
    CHECK(gap(e1, e2) <= exact);
    backward(weighted(e1, 7));
    backward(weighted(e2, 7));
    CHECK(gap(joined.W_a.grad(), concat({additive.W_a.grad(), additive.U_a.grad()}, Axis{1})) <= exact);
    CHECK(gap(joined.v_a.grad(), additive.v_a.grad()) <= exact);
    CHECK(gap(H2.grad(), H1.grad()) <= exact);
    CHECK(gap(q2.grad(), q1.grad()) <= exact);
  }

  TEST_CASE("the fused additive score is the composition of primitives, in value and gradient") {
    for (const Size& n : sizes) {
      CAPTURE(n.length);
      CAPTURE(n.d_attn);
      const Score score = score_of(ScoreKind::additive, n), other = clone(score, f64);
      Numbers numbers(8);
      const Tensor H = drawn_tensor(Shape{n.batch, n.length, n.d_h}, numbers);
      const Var query = leaf(Shape{n.batch, n.d_s}, numbers), same_query = parameter(copy(query.value()));
      const Var fused = score(query, score.keys(H));
      const Var Wq = expand_new(affine("W_a", same_query, other.W_a, Var()), Axis{1}, n.length);
      const Var composed = dot(tanh(Wq + affine("U_a", H, other.U_a, Var())), other.v_a, Axis{2});
      CHECK(gap(fused, composed) <= exact);
      backward(weighted(fused, 9));
      backward(weighted(composed, 9));
      CHECK(gap(query.grad(), same_query.grad()) <= exact);
      CHECK(gap(score.W_a.grad(), other.W_a.grad()) <= exact);
      CHECK(gap(score.U_a.grad(), other.U_a.grad()) <= exact);
      CHECK(gap(score.v_a.grad(), other.v_a.grad()) <= exact);
    }
  }

  TEST_CASE("the fused context is the product of weights and values, in value and gradient") {
    Numbers numbers(10);
    const Var e1 = leaf(Shape{2, 5}, numbers), H1 = leaf(Shape{2, 5, 3}, numbers);
    const Var e2 = parameter(copy(e1.value())), H2 = parameter(copy(H1.value()));
    const Var fused = attend(e1, H1).context;
    const Var composed = reshape(matmul(reshape(softmax(e2, Axis{1}), Shape{2, 1, 5}), H2), Shape{2, 3});
    CHECK(gap(fused, composed) <= exact);
    backward(weighted(fused, 11));
    backward(weighted(composed, 11));
    CHECK(gap(e1.grad(), e2.grad()) <= exact);
    CHECK(gap(H1.grad(), H2.grad()) <= exact);
  }

  TEST_CASE("scaled dot is dot divided by the root of d") {
    Numbers numbers(12);
    const Var H = drawn_tensor(Shape{2, 5, 9}, numbers), query = drawn_tensor(Shape{2, 9}, numbers);
    Score dot_score, scaled;
    dot_score.kind = ScoreKind::dot;
    scaled.kind = ScoreKind::scaled_dot;
    CHECK(gap(scaled(query, H) * 3, dot_score(query, H)) <= exact);
  }

  TEST_CASE("scaled dot agrees with PyTorch query by query, gradients included") {
    const fixtures::Fixture& f = fixtures::fixture("scaled_dot");
    const Var Q = leaf(f["Q"]), K = leaf(f["K"]), V = leaf(f["V"]);
    Score score;
    score.kind = ScoreKind::scaled_dot;
    std::vector<Var> outputs, weights;
    for (std::int64_t t = 0; t < Q.shape()[1]; ++t) {
      const Attended a = attend(score(select(Q, Axis{1}, t), score.keys(K)), V);
      outputs.push_back(a.context);
      weights.push_back(a.weights);
    }
    const Var output = stack_along(outputs, Axis{1}), alpha = stack_along(weights, Axis{1});
    CHECK(gap(output, f["output"]) <= exact);
    CHECK(gap(alpha, f["alpha"]) <= exact);
    flow_back(f, {{"output", output}, {"alpha", alpha}});
    check_gradients(f, {{"Q", Q}, {"K", K}, {"V", V}});
  }

  TEST_CASE("scaled dot is equation 1 of Vaswani et al., masks included") {
    Numbers numbers(13);
    const Var K = drawn_tensor(Shape{1, 4, 3}, numbers), V = drawn_tensor(Shape{1, 4, 5}, numbers),
              query = drawn_tensor(Shape{1, 3}, numbers);
    Score score;
    score.kind = ScoreKind::scaled_dot;
    const Attended a = attend(score(query, K), V, Mask(Shape{1, 4}, {1, 0, 1, 0}));
    const auto want =
        paper::scaled_dot2017::attention({vec(query)}, mat(at(K, 0)), mat(at(V, 0)), {{true, false, true, false}});
    CHECK(gap(a.context, want.output[0]) <= exact);
    CHECK(gap(a.weights, want.weights[0]) <= exact);
  }

  TEST_CASE("cosine does not see lengths, and lies between -1 and 1; dot grows with them") {
    Numbers numbers(14);
    const Var H = drawn_tensor(Shape{2, 5, 4}, numbers), query = drawn_tensor(Shape{2, 4}, numbers);
    Score cosine, dot_score;
    cosine.kind = ScoreKind::cosine;
    dot_score.kind = ScoreKind::dot;
    const Var e = cosine(query, cosine.keys(H));
    CHECK(largest(e) <= 1 + 1e-15);
    CHECK(gap(cosine(query * 1000, cosine.keys(H * 0.001)), e) <= exact);
    CHECK(gap(dot_score(query * 10, H), dot_score(query, H) * 10) <= exact);
    CHECK(gap(cosine(query, cosine.keys(expand_new(query, Axis{1}, 2))), std::vector<double>(4, 1)) <= exact);
  }

  TEST_CASE("without v_a the additive scores would be rows: v_a projects them to one number each") {
    const Score score = score_of(ScoreKind::additive, {2, 5, 3, 4, 6});
    CHECK(score.keys(zeros(Shape{2, 5, 4}, f64)).shape() == Shape{2, 5, 6});
    CHECK(score(zeros(Shape{2, 3}, f64), zeros(Shape{2, 5, 6}, f64)).shape() == Shape{2, 5});
  }

  TEST_CASE("scores in f32 agree with f64") {
    for (ScoreKind kind : all_kinds) {
      CAPTURE(std::string(to_string(kind)));
      const Size n = fitted({3, 6, 20, 24, 28}, kind);
      const Score twice = score_of(kind, n), single = clone(twice, f32);
      Numbers numbers(15);
      const Tensor H = drawn_tensor(Shape{3, 6, n.d_h}, numbers), query = drawn_tensor(Shape{3, n.d_s}, numbers);
      const Var narrow_e = single(query.to(f32), single.keys(H.to(f32)));
      CHECK(gap(narrow_e.value().to(f64), twice(query, twice.keys(H))) < 1e-4);
      CHECK(gap(attend(narrow_e, H.to(f32)).context.value().to(f64), attend(twice(query, twice.keys(H)), H).context) <
            1e-4);
    }
  }

  TEST_CASE("keys may be made once and asked many times: the same numbers as made anew") {
    for (ScoreKind kind : all_kinds) {
      CAPTURE(std::string(to_string(kind)));
      const Size n = fitted({2, 4, 3, 5, 6}, kind);
      const Score score = score_of(kind, n);
      Numbers numbers(16);
      const Var H = drawn_tensor(Shape{2, 4, n.d_h}, numbers);
      const Var keys = score.keys(H);
      for (int k = 0; k < 3; ++k) {
        const Var query = drawn_tensor(Shape{2, n.d_s}, numbers);
        CHECK(bitwise(score(query, keys), score(query, score.keys(H))));
      }
    }
  }

  // ---- what scores refuse: the shape doctor's own tests are in shape_doctor_test.cpp

  std::string doctor_on(ScoreKind kind) {
    const std::string name = kind == ScoreKind::scaled_dot ? "scaled dot" : to_string(kind);
    return "shape error in " + name + " attention: ";
  }

  TEST_CASE("dot, cosine and scaled dot refuse d_s that is not d_h when they are made, and say the way out") {
    for (ScoreKind kind : {ScoreKind::dot, ScoreKind::cosine, ScoreKind::scaled_dot}) {
      Generator g(1);
      const std::string text = message_of<ShapeError>([&] { Score(kind, 3, 4, 5, g); });
      CHECK(opens_with(text, doctor_on(kind)));
      CHECK(contains(text, "d_s\n  has      3\n"));
      CHECK(contains(text, "d_h = 4"));
      CHECK(contains(text, "general score"));
      CHECK(contains(text, "2 d_hidden"));
    }
  }

  TEST_CASE("dot, cosine and scaled dot refuse d_s that is not d_h when they are asked, and say the way out") {
    for (ScoreKind kind : {ScoreKind::dot, ScoreKind::cosine, ScoreKind::scaled_dot}) {
      Score score;
      score.kind = kind;
      const std::string text = message_of<ShapeError>([&] {
        score(zeros(Shape{2, 3}, f64), score.keys(full(Shape{2, 5, 4}, 1, f64)));
      });
      CHECK(opens_with(text, doctor_on(kind)));
      CHECK(contains(text, "(2, 3)"));
      CHECK(contains(text, "(2, 5, 4)"));
      CHECK(contains(text, "d_s = d_h"));
      CHECK(contains(text, "general score"));
    }
  }

  TEST_CASE("general, additive and concat accept d_s that is not d_h") {
    for (ScoreKind kind : {ScoreKind::general, ScoreKind::additive, ScoreKind::concat}) {
      Generator g(1);
      CHECK_NOTHROW(Score(kind, 3, 4, 5, g));
    }
  }

  TEST_CASE("a query or keys of the wrong rank or batch are refused for every kind") {
    for (ScoreKind kind : all_kinds) {
      CAPTURE(std::string(to_string(kind)));
      const Score score = score_of(kind, {2, 5, 4, 4, 4});
      const Tensor query = zeros(Shape{2, 4}, f64), keys = full(Shape{2, 5, 4}, 1, f64);
      for (const Shape& shape : {Shape{3, 4}, Shape{4}, Shape{2, 1, 4}}) {
        CAPTURE(to_string(shape));
        const std::string text = message_of<ShapeError>([&] { score(zeros(shape, f64), keys); });
        CHECK(opens_with(text, doctor_on(kind)));
        CHECK(contains(text, kind == ScoreKind::additive ? ": s_prev\n" : ": query\n"));
        CHECK(contains(text, to_string(shape) + "\n  needs    (B, d_"));
      }
      const std::string text = message_of<ShapeError>([&] { score(query, zeros(Shape{2, 4}, f64)); });
      CHECK(contains(text, ": keys\n"));
      CHECK(contains(text, "(B, T_enc, d_"));
    }
  }

  TEST_CASE("a query of the wrong width is refused for every kind that has a W_a") {
    for (ScoreKind kind : {ScoreKind::general, ScoreKind::additive}) {
      CAPTURE(std::string(to_string(kind)));
      const Score score = score_of(kind, {2, 5, 3, 4, 6});
      CHECK(contains(message_of<ShapeError>([&] {
                       score(zeros(Shape{2, 2}, f64), score.keys(zeros(Shape{2, 5, 4}, f64)));
                     }),
                     "(2, 2)"));
    }
  }

  TEST_CASE("concat refuses a query that is not d_s wide instead of reading other columns of W_a") {
    const Score score = score_of(ScoreKind::concat, {2, 5, 3, 4, 6});
    for (std::int64_t width : {2, 4, 7, 8}) {
      CAPTURE(width);
      const std::string text = message_of<ShapeError>([&] {
        score(zeros(Shape{2, width}, f64), score.keys(zeros(Shape{2, 5, 4}, f64)));
      });
      CHECK(contains(text, "(2, " + std::to_string(width) + ")"));
    }
  }

  TEST_CASE("concat refuses states that are not d_h wide instead of reading other columns of W_a") {
    const Score score = score_of(ScoreKind::concat, {2, 5, 3, 4, 6});
    for (std::int64_t width : {3, 5, 7, 8}) {
      CAPTURE(width);
      const std::string text = message_of<ShapeError>([&] {
        score(zeros(Shape{2, 3}, f64), score.keys(zeros(Shape{2, 5, width}, f64)));
      });
      CHECK(contains(text, "(2, 5, " + std::to_string(width) + ")"));
    }
  }

  TEST_CASE("states of the wrong width are refused by the scores that project them") {
    CHECK(contains(message_of<ShapeError>([] {
                     score_of(ScoreKind::additive, {2, 5, 3, 4, 6}).keys(zeros(Shape{2, 5, 3}, f64));
                   }),
                   "shape error in additive attention: H\n"));
    CHECK(contains(message_of<ShapeError>([] {
                     const Score score = score_of(ScoreKind::general, {2, 5, 3, 4, 6});
                     score(zeros(Shape{2, 3}, f64), score.keys(zeros(Shape{2, 5, 3}, f64)));
                   }),
                   "(2, 5"));
  }

  // ---- attend

  TEST_CASE("weights sum to 1, none is negative, and the context stays within the values") {
    Numbers numbers(17);
    const Var H = drawn_tensor(Shape{4, 7, 3}, numbers);
    const Attended a = attend(drawn_tensor(Shape{4, 7}, numbers, 5), H);
    for (double total : vec(sum(a.weights, Axis{1}))) CHECK(near(total, 1, exact));
    for (double weight : vec(a.weights)) CHECK(weight >= 0);
    const auto high = vec(max(H, Axis{1})), low = vec(-max(-H, Axis{1})), context = vec(a.context);
    for (std::size_t i = 0; i < context.size(); ++i) {
      CHECK(context[i] <= high[i]);
      CHECK(context[i] >= low[i]);
    }
  }

  TEST_CASE("attend is softmax and weighted sum as the papers write them") {
    for (const Size& n : sizes) {
      Numbers numbers(18);
      const Var e = drawn_tensor(Shape{n.batch, n.length}, numbers, 4),
                H = drawn_tensor(Shape{n.batch, n.length, n.d_h}, numbers);
      const Attended a = attend(e, H);
      for (std::int64_t b = 0; b < n.batch; ++b) {
        const Vec alpha = paper::normalised_exp(vec(at(e, b)));
        CHECK(gap(at(a.weights, b), alpha) <= exact);
        CHECK(gap(at(a.context, b), paper::weighted_sum(alpha, mat(at(H, b)))) <= exact);
      }
    }
  }

  TEST_CASE("when all values are equal the context is that value: it is not squashed") {
    Numbers numbers(19);
    const Tensor h = tensor(Shape{1, 2}, {30, -40}, f64);
    const Attended a = attend(drawn_tensor(Shape{1, 6}, numbers), expand_new(h, Axis{1}, 6));
    CHECK(gap(a.context, Var(h)) <= exact);
  }

  TEST_CASE("one position gets the weight 1 exactly, whatever its score") {
    for (double score : {-1e300, -3.0, 0.0, 1e300}) {
      CAPTURE(score);
      const Attended a = attend(full(Shape{2, 1}, score, f64), full(Shape{2, 1, 3}, 0.1, f64));
      CHECK(vec(a.weights) == Vec{1, 1});
      CHECK(vec(a.context) == Vec(6, 0.1));
    }
  }

  TEST_CASE("huge scores neither overflow nor lose the sum") {
    const Attended a = attend(tensor(Shape{1, 3}, {1000, 1000, -1000}, f64), full(Shape{1, 3, 1}, 2, f64));
    CHECK(vec(a.weights) == Vec{0.5, 0.5, 0});
    CHECK(a.context.item() == 2);
  }

  TEST_CASE("the same number added to all scores changes no weight") {
    Numbers numbers(20);
    const Var e = drawn_tensor(Shape{3, 5}, numbers), H = drawn_tensor(Shape{3, 5, 2}, numbers);
    CHECK(gap(attend(e + 100, H).weights, attend(e, H).weights) <= exact);
  }

  TEST_CASE("permuting the source permutes the weights and leaves the context") {
    Numbers numbers(21);
    const Score score = score_of(ScoreKind::additive, {1, 4, 3, 2, 5});
    const Var H = drawn_tensor(Shape{1, 4, 2}, numbers), query = drawn_tensor(Shape{1, 3}, numbers);
    const std::int64_t order[] = {2, 0, 3, 1};
    std::vector<Var> moved;
    for (std::int64_t i : order) moved.push_back(select(H, Axis{1}, i));
    const Var H2 = stack_along(moved, Axis{1});
    const Attended a = attend(score(query, score.keys(H)), H), b = attend(score(query, score.keys(H2)), H2);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(near(vec(b.weights)[i], vec(a.weights)[static_cast<std::size_t>(order[i])], exact));
    }
    CHECK(gap(b.context, a.context) <= exact);
  }

  TEST_CASE("the softmax runs over the source, not over the batch: rows do not touch each other") {
    Numbers numbers(22);
    const Tensor e = drawn_tensor(Shape{3, 3}, numbers), H = drawn_tensor(Shape{3, 3, 2}, numbers);
    Tensor other = copy(e);
    other.set({1, 0}, 30);
    const Attended a = attend(e, H), b = attend(other, H);
    CHECK(bitwise(at(a.weights, 0), at(b.weights, 0)));
    CHECK(bitwise(at(a.weights, 2), at(b.weights, 2)));
    CHECK(bitwise(at(a.context, 2), at(b.context, 2)));
    CHECK(!bitwise(at(a.weights, 1), at(b.weights, 1)));
  }

  // ---- masks

  TEST_CASE("the weights of (2, 1, .5) with the last position masked are .7311 .2689 0") {
    const Attended a =
        attend(tensor(Shape{1, 3}, {2, 1, .5}, f64), full(Shape{1, 3, 1}, 1, f64), mask_from_lengths({2}, 3));
    CHECK(prints_as(vec(a.weights), {.7311, .2689, 0}, 4));
    CHECK(vec(a.weights)[2] == 0);
  }

  TEST_CASE("masked positions get weight exactly 0, and the others sum to 1") {
    Numbers numbers(23);
    const Mask mask(Shape{2, 5}, {1, 0, 1, 1, 0, 0, 0, 0, 1, 0});
    const Attended a = attend(drawn_tensor(Shape{2, 5}, numbers, 9), drawn_tensor(Shape{2, 5, 3}, numbers), mask);
    for (std::int64_t i = 0; i < 10; ++i) {
      if (mask[i] == 0) CHECK(vec(a.weights)[static_cast<std::size_t>(i)] == 0);
    }
    for (double total : vec(sum(a.weights, Axis{1}))) CHECK(near(total, 1, exact));
    CHECK(a.weights.value().at({1, 3}) == 1);
  }

  TEST_CASE("masked positions get gradient exactly 0, in scores and in values") {
    Numbers numbers(24);
    const Var e = leaf(Shape{2, 4}, numbers), H = leaf(Shape{2, 4, 3}, numbers);
    const Attended a = attend(e, H, mask_from_lengths({2, 3}, 4));
    backward(weighted(a.context, 1) + weighted(a.weights, 2));
    for (const auto& place : {std::pair(0, 2), std::pair(0, 3), std::pair(1, 3)}) {
      CHECK(e.grad().at({place.first, place.second}) == 0);
      for (std::int64_t k = 0; k < 3; ++k) CHECK(H.grad().at({place.first, place.second, k}) == 0);
    }
    CHECK(e.grad().at({1, 2}) != 0);
    CHECK(H.grad().at({1, 2, 0}) != 0);
  }

  TEST_CASE("what stands at masked positions has no effect, bit for bit, in value and gradient") {
    for (ScoreKind kind : all_kinds) {
      CAPTURE(std::string(to_string(kind)));
      const Size n = fitted({2, 4, 3, 5, 6}, kind);
      Numbers numbers(25);
      const Tensor H = drawn_tensor(Shape{2, 4, n.d_h}, numbers);
      Tensor other = copy(H);
      for (std::int64_t k = 0; k < n.d_h; ++k) {
        other.set({0, 3, k}, 1e6);
        other.set({1, 2, k}, -7);
        other.set({1, 3, k}, 1e-3);
      }
      const Tensor query_values = drawn_tensor(Shape{2, n.d_s}, numbers);
      std::vector<std::vector<double>> results[2];
      for (int k = 0; k < 2; ++k) {
        const Score score = score_of(kind, n);
        const Var query = parameter(copy(query_values));
        const Attended a =
            attend(score(query, score.keys(k == 0 ? H : other)), k == 0 ? H : other, mask_from_lengths({3, 2}, 4));
        results[k].push_back(vec(a.weights));
        results[k].push_back(vec(a.context));
        backward(weighted(a.context, 3));
        results[k].push_back(vec(query.grad()));
        for (const Parameter& p : parameters(score)) results[k].push_back(vec(p.var.grad()));
      }
      CHECK(results[0] == results[1]);
    }
  }

  TEST_CASE("a mask that allows everything is no mask, bit for bit") {
    Numbers numbers(26);
    const Tensor e = drawn_tensor(Shape{2, 4}, numbers), H = drawn_tensor(Shape{2, 4, 3}, numbers);
    CHECK(bitwise(attend(e, H, mask_from_lengths({4, 4}, 4)).context, attend(e, H).context));
  }

  TEST_CASE("sequences of mixed lengths in one batch give what each gives alone, unpadded") {
    for (ScoreKind kind : all_kinds) {
      CAPTURE(std::string(to_string(kind)));
      const Size n = fitted({3, 5, 3, 4, 6}, kind);
      const Score score = score_of(kind, n);
      Numbers numbers(27);
      const Var H = drawn_tensor(Shape{3, 5, n.d_h}, numbers), query = drawn_tensor(Shape{3, n.d_s}, numbers);
      const std::vector<std::int64_t> lengths{2, 5, 1};
      const Attended all = attend(score(query, score.keys(H)), H, mask_from_lengths(lengths, 5));
      for (std::int64_t b = 0; b < 3; ++b) {
        const std::int64_t length = lengths[static_cast<std::size_t>(b)];
        const Var own = narrow(narrow(H, Axis{0}, b, 1), Axis{1}, 0, length);
        const Attended alone = attend(score(narrow(query, Axis{0}, b, 1), score.keys(own)), own);
        CHECK(gap(at(all.context, b), at(alone.context, 0)) <= exact);
        CHECK(gap(narrow(at(all.weights, b), Axis{0}, 0, length), at(alone.weights, 0)) <= exact);
      }
    }
  }

  TEST_CASE("a row whose mask allows nothing is an error that names the row") {
    const std::string text = message_of<ValueError>([] {
      attend(zeros(Shape{3, 4}, f64), zeros(Shape{3, 4, 2}, f64), mask_from_lengths({4, 0, 2}, 4));
    });
    CHECK(contains(text, "softmax"));
    CHECK(contains(text, "1"));
  }

  TEST_CASE("attend refuses shapes that do not belong together and says what they must be") {
    struct Row {
      Shape scores, values;
      const char* named;
    };
    for (const Row& row : {Row{{2, 5}, {2, 4, 3}, "scores\n"}, Row{{3, 5}, {2, 5, 3}, "scores\n"},
                           Row{{5, 2}, {2, 5, 3}, "values\n"}, Row{{2, 5, 1}, {2, 5, 3}, "scores\n"},
                           Row{{2, 5}, {2, 5}, "values\n"}, Row{{5}, {5, 3}, "scores, values\n"}}) {
      CAPTURE(to_string(row.scores));
      const std::string text = message_of<ShapeError>([&] { attend(zeros(row.scores, f64), zeros(row.values, f64)); });
      CHECK(opens_with(text, std::string("shape error in attend: ") + row.named));
      CHECK(contains(text, "has      " + to_string(*row.named == 's' ? row.scores : row.values)));
    }
  }

  TEST_CASE("attend refuses a mask that is not (B, T_enc)") {
    for (const Shape& shape : {Shape{2, 4}, Shape{5, 2}, Shape{1, 5}}) {
      CAPTURE(to_string(shape));
      const std::string text = message_of<ShapeError>([&] {
        attend(zeros(Shape{2, 5}, f64), zeros(Shape{2, 5, 3}, f64), Mask(shape, 1));
      });
      CHECK(contains(text, to_string(shape)));
    }
  }
}
