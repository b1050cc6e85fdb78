// What lesson 08's exercise must do, in the order in which it is mended.
#include "lessons/common/check.h"

#include <cmath>

#include "lessons/08_scores/exercise.h"

namespace gradus::lesson08 {
namespace {

using check::agree;
using check::drawn;
using check::first_of;
using check::has_numbers;
using check::has_shape;
using check::numbers;
using check::Result;

constexpr const char *in_dot = "dot_scores", *in_scaled = "scaled_scores", *in_cosine = "cosine_scores",
                     *in_general = "general_scores", *in_mix = "mix";
constexpr double six_digits = 1e-6;

constexpr std::int64_t B = 2, n = 5, d = 3, d_s = 4, d_v = 6;

// ---- shapes, all sizes different

Result shapes() {
  const Var query = drawn({B, d}, 1), keys = drawn({B, n, d}, 2), wide = drawn({B, d_s}, 3), W_a = drawn({d_s, d}, 4),
            values = drawn({B, n, d_v}, 5), scores = drawn({B, n}, 6);
  return first_of({
      {in_dot,
       [&] {
         return has_shape({"scores", "分数"}, dot_scores(query, keys), {B, n}, "(B, n)");
       }},
      {in_dot,
       [&] {
         return check::refuses({"a query of 4 numbers for keys of 3", "查询有 4 个数，键有 3 个"},
                               [&] { dot_scores(wide, keys); });
       }},
      {in_scaled,
       [&] {
         return has_shape({"scores", "分数"}, scaled_scores(query, keys), {B, n}, "(B, n)");
       }},
      {in_cosine,
       [&] {
         return has_shape({"scores", "分数"}, cosine_scores(query, keys), {B, n}, "(B, n)");
       }},
      {in_general,
       [&] {
         return has_shape({"scores", "分数"}, general_scores(wide, keys, W_a), {B, n}, "(B, n)");
       }},
      {in_mix,
       [&] {
         return has_shape({"weights", "权重"}, mix(scores, values).weights, {B, n}, "(B, n)");
       }},
      {in_mix,
       [&] {
         return has_shape({"context", "上下文向量"}, mix(scores, values).context, {B, d_v}, "(B, d_v)");
       }},
  });
}

// ---- the numbers of the note

Result by_hand() {
  const Var s = numbers({1, 3}, {0.8, -0.2, 0.5}), H = numbers({1, 2, 3}, {0.1, 0.9, 0.3, 0.7, 0.2, -0.5});
  return first_of({
      {in_dot,
       [&] {
         return has_numbers("e", dot_scores(s, H), {0.05, 0.27});
       }},
      {in_scaled,
       [&] {
         return has_numbers("e", scaled_scores(s, H), {0.028868, 0.155885}, six_digits);
       }},
      {in_cosine,
       [&] {
         return has_numbers("e", cosine_scores(s, H), {0.054351, 0.317011}, six_digits);
       }},
      {in_general,
       [&] {
         const Var two = numbers({1, 2}, {0.5, -0.4}), W_a = numbers({2, 2}, {0.6, -0.2, 0.1, 0.7});
         return has_numbers("e", general_scores(two, numbers({1, 3, 2}, {1, 0, 0, 1, -1, 0.5}), W_a),
                            {0.26, -0.38, -0.45});
       }},
      {in_mix,
       [&] {
         return has_numbers("alpha", mix(numbers({1, 2}, {0.05, 0.27}), H).weights, {0.445221, 0.554779}, six_digits);
       }},
      {in_mix,
       [&] {
         return has_numbers("c", mix(numbers({1, 2}, {0.05, 0.27}), H).context, {0.432868, 0.511655, -0.143823},
                            six_digits);
       }},
  });
}

// ---- what must not matter, and what must

Result invariances() {
  const Var query = drawn({B, d}, 7), keys = drawn({B, n, d}, 8), values = drawn({B, n, d_v}, 9),
            scores = drawn({B, n}, 10);
  const auto sums = [](const Var& x) { return sum(x, Axis{1}); };
  return first_of({
      {in_cosine,
       [&] {
         return has_numbers({"the cosines of keys that are 7 times as long", "键长 7 倍时的余弦"},
                            cosine_scores(query, keys * 7), cosine_scores(query, keys));
       }},
      {in_cosine,
       [&] {
         return has_numbers({"the cosines of a query that is 7 times as long", "查询长 7 倍时的余弦"},
                            cosine_scores(query * 7, keys), cosine_scores(query, keys));
       }},
      {in_mix,
       [&] {
         return has_numbers({"the sums of the weights", "各行权重之和"}, sums(mix(scores, values).weights), {1, 1});
       }},
      {in_mix,
       [&] {
         return has_numbers({"the weights after adding 1 to all scores", "所有分数加 1 之后的权重"},
                            mix(scores + 1, values).weights, mix(scores, values).weights);
       }},
      {in_mix,
       [&] {
         const Var alone = mix(narrow(scores, Axis{0}, 0, 1), narrow(values, Axis{0}, 0, 1)).context;
         return has_numbers({"the context of row 1, with another row below", "下面还有一行时第 1 行的上下文向量"},
                            narrow(mix(scores, values).context, Axis{0}, 0, 1), alone);
       }},
  });
}

// ---- backward against differences

Result self_check() {
  const Var query = drawn({B, d}, 11), keys = drawn({B, n, d}, 12), wide = drawn({B, d_s}, 13),
            W_a = drawn({d_s, d}, 14), values = drawn({B, n, d_v}, 15), scores = drawn({B, n}, 16);
  const auto own = [](const std::function<Var()>& f, const std::vector<CheckedInput>& inputs) {
    return check::passes(check_gradient(f, inputs));
  };
  return first_of({
      {in_dot,
       [&] {
         return own([&] { return dot_scores(query, keys); }, {{"query", query}, {"keys", keys}});
       }},
      {in_scaled,
       [&] {
         return own([&] { return scaled_scores(query, keys); }, {{"query", query}, {"keys", keys}});
       }},
      {in_cosine,
       [&] {
         return own([&] { return cosine_scores(query, keys); }, {{"query", query}, {"keys", keys}});
       }},
      {in_general,
       [&] {
         return own([&] { return general_scores(wide, keys, W_a); }, {{"query", wide}, {"H", keys}, {"W_a", W_a}});
       }},
      {in_mix,
       [&] {
         return own([&] { return mix(scores, values).context; }, {{"scores", scores}, {"values", values}});
       }},
  });
}

// ---- random numbers against the library, at a d that is not n

Var by_library(ScoreKind kind, const Var& query, const Var& H, const Var& W_a = Var()) {
  Score score;
  score.kind = kind;
  score.d_s = query.size(Axis{1});
  score.W_a = W_a;
  return score(query, score.keys(H));
}

struct Drawn {
  Var query = drawn({3, 16}, 17), H = drawn({3, 5, 16}, 18), W_a = drawn({16, 16}, 19), values = drawn({3, 5, 2}, 20),
      scores = drawn({3, 5}, 21);
};
const Drawn& random_case() {
  static const Drawn all;
  return all;
}

Result against_library() {
  const Drawn& r = random_case();
  return first_of({
      {in_dot, [&] { return has_numbers("e", dot_scores(r.query, r.H), by_library(ScoreKind::dot, r.query, r.H)); }},
      {in_scaled,
       [&] { return has_numbers("e", scaled_scores(r.query, r.H), by_library(ScoreKind::scaled_dot, r.query, r.H)); }},
      {in_cosine,
       [&] { return has_numbers("e", cosine_scores(r.query, r.H), by_library(ScoreKind::cosine, r.query, r.H)); }},
      {in_general,
       [&] {
         return has_numbers("e", general_scores(r.query, r.H, r.W_a),
                            by_library(ScoreKind::general, r.query, r.H, r.W_a));
       }},
      {in_mix, [&] { return has_numbers("c", mix(r.scores, r.values).context, attend(r.scores, r.values).context); }},
  });
}

// ---- the name of what is wrong

const std::vector<check::Known>& known_mistakes() {
  static const Drawn& r = random_case();
  static const Var dot = by_library(ScoreKind::dot, r.query, r.H), cosine = by_library(ScoreKind::cosine, r.query, r.H);
  static const Var query_norm = expand_new(sqrt(sum(square(r.query), Axis{1})), Axis{1}, 5),
                   key_norms = sqrt(sum(square(r.H), Axis{2}));
  static const std::vector<check::Known> all = {
      {"SCALE_BY_D",
       in_scaled,
       {"divided by d: the deviation is then 1 / sqrt(d), and long vectors see no difference any more",
        "除以的是 d：标准差就成了 1 / sqrt(d)，向量一长就分不出差别"},
       "q . k / d",
       "q . k / sqrt(d)",
       {"divide by the square root of d", "除以 d 的平方根"},
       "scale",
       [] { return agree(scaled_scores(r.query, r.H), dot / 16); }},
      {"SCALE_BY_LENGTH",
       in_scaled,
       {"divided by the root of the number of keys: that has nothing to do with how far a score spreads",
        "除以的是键的个数的平方根：它与分数散得多开没有关系"},
       "q . k / sqrt(n)",
       "q . k / sqrt(d)",
       {"take the width of the vectors, not their number", "取向量的宽度，而不是个数"},
       "scale",
       [] { return agree(scaled_scores(r.query, r.H), dot / std::sqrt(5.0)); }},
      {"SCALE_MISSING",
       in_scaled,
       {"nothing is divided: this is the dot product", "什么也没有除：这就是点积"},
       "q . k",
       "q . k / sqrt(d)",
       {"divide by the square root of d", "除以 d 的平方根"},
       "scale",
       [] { return agree(scaled_scores(r.query, r.H), dot); }},
      {"SCALE_MULTIPLIED",
       in_scaled,
       {"multiplied with the root of d: the scores spread even further", "乘了 d 的平方根：分数散得更开"},
       "q . k sqrt(d)",
       "q . k / sqrt(d)",
       {"divide", "改成除"},
       "scale",
       [] { return agree(scaled_scores(r.query, r.H), dot * 4); }},
      {"COSINE_KEY_NORM_MISSING",
       in_cosine,
       {"only the query is made as long as 1: a longer key still gets a larger score",
        "只把查询化成了单位长度：键越长，分数仍然越大"},
       "q . k / |q|",
       "q . k / (|q| |k|)",
       {"divide by the norm of each key too", "再除以每个键的模长"},
       "norm",
       [] { return agree(cosine_scores(r.query, r.H), dot / query_norm); }},
      {"COSINE_QUERY_NORM_MISSING",
       in_cosine,
       {"only the keys are made as long as 1: a longer query still sharpens the weights",
        "只把键化成了单位长度：查询越长，权重仍然越尖锐"},
       "q . k / |k|",
       "q . k / (|q| |k|)",
       {"divide by the norm of the query too", "再除以查询的模长"},
       "norm",
       [] { return agree(cosine_scores(r.query, r.H), dot / key_norms); }},
      {"COSINE_SQUARED_NORMS",
       in_cosine,
       {"the squares of the norms are divided by, their roots were left out", "除以的是模长的平方，忘了开方"},
       "q . k / (|q|^2 |k|^2)",
       "q . k / (|q| |k|)",
       {"take the square root of each sum of squares", "给平方和开方"},
       "norm",
       [] { return agree(cosine_scores(r.query, r.H), dot / (square(query_norm) * square(key_norms))); }},
      {"LUONG_W_TRANSPOSED",
       in_general,
       {"W_a lies the other way round: square matrices let it pass, and the scores are others",
        "W_a 放反了：方阵看不出来，但分数不同"},
       "s . W_a' h_i",
       "s . W_a h_i",
       {"multiply s with W_a from the right: matmul(query, W_a)", "从右边用 W_a 乘 s：matmul(query, W_a)"},
       "general",
       [] {
         return agree(general_scores(r.query, r.H, r.W_a),
                      by_library(ScoreKind::general, r.query, r.H, transpose(r.W_a)));
       }},
      {"SOFTMAX_AXIS_BATCH",
       in_mix,
       {"the weights sum to 1 over the batch: sequences compete that have nothing to do with each other",
        "权重沿批次求和为 1：互不相干的序列在互相竞争"},
       {"softmax over Axis{0}", "沿 Axis{0} 做 softmax"},
       {"softmax over Axis{1}, the keys", "沿 Axis{1}（各个键）做 softmax"},
       {"softmax over Axis{1}", "沿 Axis{1} 做 softmax"},
       "shapes",
       [] { return agree(mix(r.scores, r.values).weights, softmax(r.scores, Axis{0})); }},
      {"SOFTMAX_MISSING",
       in_mix,
       {"the scores themselves are the weights: they need not sum to 1, nor be positive",
        "直接拿分数当权重：和未必是 1，也未必是正的"},
       {"c = sum of e_i v_i", "c = 各 e_i v_i 之和"},
       {"c = sum of alpha_i v_i", "c = 各 alpha_i v_i 之和"},
       {"put a softmax between", "中间加上 softmax"},
       "idea",
       [] { return agree(mix(r.scores, r.values).weights, r.scores); }},
      {"CONTEXT_MEAN",
       in_mix,
       {"the weighted values are averaged, and the weights sum to 1 already: the context is n times too small",
        "对加权后的值又取了平均，而权重之和已经是 1：上下文向量小了 n 倍"},
       {"mean of alpha_i v_i", "各 alpha_i v_i 的平均"},
       {"sum of alpha_i v_i", "各 alpha_i v_i 之和"},
       {"use sum", "用 sum"},
       "idea",
       [] { return agree(mix(r.scores, r.values).context, attend(r.scores, r.values).context / 5); }},
      {"CONTEXT_UNWEIGHTED",
       in_mix,
       {"the context is the plain mean of the values: the weights are computed and not used",
        "上下文向量是值的普通平均：权重算出来了却没有用"},
       {"mean of v_i", "各 v_i 的平均"},
       {"sum of alpha_i v_i", "各 alpha_i v_i 之和"},
       {"multiply each value with its weight before the sum", "求和之前每个值先乘自己的权重"},
       "idea",
       [] { return agree(mix(r.scores, r.values).context, mean(r.values, Axis{1})); }},
  };
  return all;
}

Result diagnose(const std::string& place) { return check::first_known(known_mistakes(), place); }

}  // namespace
}  // namespace gradus::lesson08

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson08;
  return {
      .lesson = "08_scores",
      .taught = {"gradus::Score::", "gradus::attend("},
      .parts =
          {{"shapes", {"every shape", "各个形状"}, "shapes", shapes},
           {"numbers", {"the numbers of the notes", "讲义里的数字"}, "by-hand", by_hand},
           {"invariances",
            {"what must not matter: length, shift, other rows", "什么不该有影响：长度、平移、别的行"},
            "norm",
            invariances},
           {"self_check", {"self check: backward against differences", "自检：反向传播与差分"}, "step", self_check},
           {"reference_check", {"random numbers against the library", "用随机数与库对照"}, "scores", against_library}},
      .diagnose = diagnose};
}
