// What lesson 04's exercise must do, in the order in which it is mended.
#include "lessons/common/check.h"

#include "lessons/04_softmax/exercise.h"

namespace gradus::lesson04 {
namespace {

using check::agree;
using check::drawn;
using check::first_of;
using check::has_numbers;
using check::has_shape;
using check::numbers;
using check::Result;

constexpr const char *in_softmax = "softmax_rows", *in_lse = "log_sum_exp", *in_loss = "mean_cross_entropy",
                     *in_loss_gradient = "cross_entropy_gradient", *in_backward = "softmax_backward";
constexpr double six_digits = 1e-6;

const Ids& some_targets() {
  static const Ids targets(Shape{4}, {2, 0, 0, 1});
  return targets;
}

// ---- shapes, all sizes different

Result shapes() {
  const Var scores = drawn(Shape{4, 3}, 1);
  return first_of({
      {in_softmax,
       [&] {
         return has_shape({"weights", "权重"}, softmax_rows(scores, 2), {4, 3}, "(B, n)");
       }},
      {in_lse, [&] { return has_shape("log-sum-exp", log_sum_exp(scores), {4}, "(N)"); }},
      {in_loss,
       [&] {
         return has_shape({"loss", "损失"}, mean_cross_entropy(scores, some_targets()), Shape{}, "()");
       }},
      {in_loss_gradient,
       [&] {
         return has_shape("dL/dz", cross_entropy_gradient(scores, some_targets()), {4, 3}, "(N, K)");
       }},
      {in_backward,
       [&] {
         return has_shape("dx", softmax_backward(scores, scores), {4, 3}, "(B, n)");
       }},
  });
}

// ---- the numbers of the note

Result by_hand() {
  const Var two = numbers({1, 2}, {0.05, 0.27}), z = numbers({1, 3}, {2, 1, -1});
  const Var twice = numbers({2, 3}, {2, 1, -1, 2, 1, -1});
  const Ids second_and_first(Shape{2}, {1, 0});
  return first_of({
      {in_softmax,
       [&] {
         return has_numbers("alpha", softmax_rows(two, 1), {0.445221, 0.554779}, six_digits);
       }},
      {in_softmax,
       [&] {
         return has_numbers({"alpha at T = 0.25", "T = 0.25 时的 alpha"}, softmax_rows(two, 0.25), {0.293178, 0.706822},
                            six_digits);
       }},
      {in_lse, [&] { return has_numbers("log-sum-exp", log_sum_exp(z), {2.349012}, six_digits); }},
      {in_loss, [&] { return has_numbers("L", mean_cross_entropy(twice, second_and_first), {0.849012}, six_digits); }},
      {in_loss_gradient,
       [&] {
         return has_numbers("dL/dz", cross_entropy_gradient(twice, second_and_first),
                            {0.352692, -0.370252, 0.017560, -0.147308, 0.129748, 0.017560}, six_digits);
       }},
      {in_backward,
       [&] {
         const Var alpha = numbers({1, 3}, {0.5, 0.3, 0.2}), dy = numbers({1, 3}, {1, 0, 2});
         return has_numbers("dx", softmax_backward(alpha, dy), {0.05, -0.27, 0.22});
       }},
  });
}

// ---- what must not matter: a shift, other rows, large numbers

Result invariances() {
  return first_of({
      {in_softmax,
       [] {
         const Var both = softmax_rows(numbers({2, 2}, {0.05, 0.27, 3, -1}), 1);
         const Var alone = softmax_rows(numbers({1, 2}, {0.05, 0.27}), 1);
         return has_numbers({"the weights of row 1, with another row below", "下面还有一行时第 1 行的权重"},
                            narrow(both, Axis{0}, 0, 1), alone);
       }},
      {in_softmax,
       [] {
         const Var e = numbers({2, 2}, {1000.05, 1000.27, -999.95, -999.73}),
                   near = numbers({2, 2}, {.05, .27, .05, .27});
         return has_numbers({"the weights after adding 1000 or -1000", "分数加 1000 或 -1000 之后的权重"},
                            softmax_rows(e, 1), softmax(near, Axis{1}));
       }},
      {in_lse,
       [] {
         return has_numbers({"log-sum-exp after adding 1000 or -1000", "加 1000 或 -1000 之后的 log-sum-exp"},
                            log_sum_exp(numbers({2, 2}, {1000, 1001, -1000, -999})), {1001.313262, -998.686738},
                            six_digits);
       }},
      {in_loss,
       [] {
         const Var z = numbers({2, 2}, {0, 2000, 1000, 0});
         return has_numbers({"the loss of a logit that is 2000 too low", "正确的 logit 低了 2000 时的损失"},
                            mean_cross_entropy(z, Ids(Shape{2}, {0, 0})), {1000});
       }},
      {in_loss_gradient,
       [] {
         const Var z = numbers({2, 2}, {0, 2000, 1000, 0});
         return has_numbers({"dL/dz there", "这时的 dL/dz"}, cross_entropy_gradient(z, Ids(Shape{2}, {0, 0})),
                            {-0.5, 0.5, 0, 0});
       }},
  });
}

// ---- backward against differences

Result self_check() {
  const Var scores = drawn(Shape{4, 3}, 2);
  return first_of({
      {in_softmax,
       [&] {
         return check::passes(check_gradient([&] { return softmax_rows(scores, 0.7); }, {{"scores", scores}}));
       }},
      {in_lse,
       [&] {
         return check::passes(check_gradient([&] { return log_sum_exp(scores); }, {{"z", scores}}));
       }},
      {in_loss,
       [&] {
         return check::passes(
             check_gradient([&] { return mean_cross_entropy(scores, some_targets()); }, {{"z", scores}}));
       }},
  });
}

// ---- random numbers against the library

Var backward_of_library(const Var& scores, const Var& dy) {
  const Var leaf = parameter(scores.value());
  backward(softmax(leaf, Axis{1}), dy.value());
  return Var(leaf.grad());
}
Var loss_gradient_of_library(const Var& z) {
  const Var leaf = parameter(z.value());
  backward(cross_entropy(leaf, some_targets()));
  return Var(leaf.grad());
}

Result against_library() {
  const Var scores = drawn(Shape{4, 3}, 3), dy = drawn(Shape{4, 3}, 4);
  return first_of({
      {in_softmax, [&] { return has_numbers("alpha", softmax_rows(scores, 0.7), softmax(scores / 0.7, Axis{1})); }},
      {in_lse, [&] { return has_numbers("log-sum-exp", log_sum_exp(scores), logsumexp(scores, Axis{1})); }},
      {in_loss,
       [&] {
         return has_numbers("L", mean_cross_entropy(scores, some_targets()), cross_entropy(scores, some_targets()));
       }},
      {in_loss_gradient,
       [&] {
         return has_numbers("dL/dz", cross_entropy_gradient(scores, some_targets()), loss_gradient_of_library(scores));
       }},
      {in_backward,
       [&] {
         return has_numbers("dx", softmax_backward(softmax(scores, Axis{1}), dy), backward_of_library(scores, dy));
       }},
  });
}

// ---- the name of what is wrong

const std::vector<check::Known>& known_mistakes() {
  static const Var scores = drawn(Shape{4, 3}, 3), dy = drawn(Shape{4, 3}, 4), alpha = softmax(scores, Axis{1});
  static const Ids& targets = some_targets();
  static const Var y = one_hot(targets, 3, f64), rows = Var(full(Shape{}, 4.0, f64));
  static const auto spread = [](const Var& row) { return expand_new(row, Axis{1}, 3); };
  static const std::vector<check::Known> all = {
      {"SOFTMAX_AXIS_BATCH",
       in_softmax,
       {"the columns sum to 1 and not the rows: every example changes the weights of the others",
        "和为 1 的是各列而不是各行：每个样本都会改变其他样本的权重"},
       {"softmax over Axis{0}", "沿 Axis{0} 做 softmax"},
       {"softmax over Axis{1}, the positions", "沿 Axis{1}（各个位置）做 softmax"},
       {"sum over Axis{1}, and put that axis back with expand_new", "沿 Axis{1} 求和，再用 expand_new 把这个轴放回去"},
       "by-hand",
       [] {
         const Var columns = sum(softmax_rows(scores, 1), Axis{0});
         return agree(columns, Var(full(columns.shape(), 1.0, f64)));
       }},
      {"TEMPERATURE_MULTIPLIED",
       in_softmax,
       {"a lower temperature must sharpen, and here it flattens", "温度降低时权重应当更尖锐，这里却更平"},
       "softmax(e T)",
       "softmax(e / T)",
       {"divide the scores by T", "用分数除以 T"},
       "temperature",
       [] { return agree(softmax_rows(scores, 0.5), softmax(scores * 0.5, Axis{1})); }},
      {"TEMPERATURE_IGNORED",
       in_softmax,
       {"the weights are the same at every temperature", "不管温度是多少，权重都一样"},
       "softmax(e)",
       "softmax(e / T)",
       {"divide the scores by T", "用分数除以 T"},
       "temperature",
       [] { return agree(softmax_rows(scores, 0.5), alpha); }},
      {"DOUBLE_SOFTMAX",
       in_loss,
       {"the loss is taken of probabilities where logits belong: it can never fall below log(1 + (K - 1) / e)",
        "该用 logits 的地方用了概率：损失永远降不到 log(1 + (K - 1) / e) 以下"},
       {"cross-entropy of softmax(z)", "softmax(z) 的交叉熵"},
       {"cross-entropy of z", "z 的交叉熵"},
       {"work on z itself", "直接用 z"},
       "classifier",
       [] { return agree(mean_cross_entropy(scores, targets), cross_entropy(alpha, targets)); }},
      {"LOSS_SUM_FOR_MEAN",
       in_loss,
       {"the loss is the sum over the rows: twice as many examples, twice the gradient",
        "损失是各行之和：样本多一倍，梯度就大一倍"},
       {"sum of -log p_y", "-log p_y 之和"},
       {"mean of -log p_y", "-log p_y 的平均"},
       {"use mean in place of sum at the end", "最后用 mean 代替 sum"},
       "cross-entropy",
       [] { return agree(mean_cross_entropy(scores, targets), cross_entropy(scores, targets) * rows.item()); }},
      {"GRADIENT_SIGN",
       in_loss_gradient,
       {"the sign is the other way: a step along it makes the loss larger", "符号反了：照它走一步，损失反而变大"},
       "(y - p) / N",
       "(p - y) / N",
       {"what the model says, minus what is so", "模型说的，减去实际的"},
       "cross-entropy",
       [] { return agree(cross_entropy_gradient(scores, targets), (y - alpha) / 4); }},
      {"GRADIENT_SUM_FOR_MEAN",
       in_loss_gradient,
       {"this is the gradient of the sum over the rows, and the loss is a mean", "这是各行之和的梯度，而损失是平均"},
       "p - y",
       "(p - y) / N",
       {"divide by the number of rows", "除以行数"},
       "cross-entropy",
       [] { return agree(cross_entropy_gradient(scores, targets), alpha - y); }},
      {"SOFTMAX_BACKWARD_DIAGONAL",
       in_backward,
       {"each score changes its own weight only: what it takes from the others is left out",
        "只算了每个分数对自己的权重的影响，漏掉了它从别的权重那里拿走的部分"},
       "alpha (1 - alpha) dy",
       {"alpha (dy - sum of alpha dy)", "alpha (dy - 各 alpha dy 之和)"},
       {"take the mean of dy, weighted by alpha, off dy first", "先从 dy 里减去它按 alpha 加权的平均"},
       "gradient",
       [] { return agree(softmax_backward(alpha, dy), alpha * (1 - alpha) * dy); }},
      {"SOFTMAX_BACKWARD_MEAN",
       in_backward,
       {"the plain mean of dy is taken off, and the mean weighted by alpha belongs there",
        "减去的是 dy 的普通平均，应当减去按 alpha 加权的平均"},
       {"alpha (dy - mean of dy)", "alpha (dy - dy 的平均)"},
       {"alpha (dy - sum of alpha dy)", "alpha (dy - 各 alpha dy 之和)"},
       {"weight dy with alpha before the sum", "求和之前用 alpha 给 dy 加权"},
       "gradient",
       [] { return agree(softmax_backward(alpha, dy), alpha * (dy - spread(mean(dy, Axis{1})))); }},
      {"SOFTMAX_BACKWARD_MEAN",
       in_backward,
       {"the plain sum of dy is taken off, and the sum weighted by alpha belongs there",
        "减去的是 dy 的普通总和，应当减去按 alpha 加权的总和"},
       {"alpha (dy - sum of dy)", "alpha (dy - dy 之和)"},
       {"alpha (dy - sum of alpha dy)", "alpha (dy - 各 alpha dy 之和)"},
       {"weight dy with alpha before the sum", "求和之前用 alpha 给 dy 加权"},
       "gradient",
       [] { return agree(softmax_backward(alpha, dy), alpha * (dy - spread(sum(dy, Axis{1})))); }},
      // What shows only in large numbers comes last: the other mistakes fail before it.
      {"SOFTMAX_GLOBAL_MAX",
       in_softmax,
       {"one number is taken off all rows: a row far below it underflows to 0 / 0",
        "所有行减去的是同一个数：远低于它的那一行会下溢成 0 / 0"},
       {"exp(e - largest of all)", "exp(e - 全部里最大的)"},
       {"exp(e - largest of the row)", "exp(e - 本行最大的)"},
       {"take max over Axis{1}, one number a row", "沿 Axis{1} 取最大值，每行一个数"},
       "stable",
       [] {
         const Var far = numbers({2, 2}, {1000, 1001, 1000, 999}), apart = numbers({2, 2}, {1000, 1001, -1000, -1001});
         return all_finite(softmax_rows(far, 1).value()) && !all_finite(softmax_rows(apart, 1).value());
       }},
      {"SOFTMAX_OVERFLOW",
       in_softmax,
       {"exp of a large score is infinite, and infinite by infinite is not a number",
        "大分数的指数是无穷大，无穷大除以无穷大不是数"},
       {"exp(e) / sum of exp(e)", "exp(e) / exp(e) 之和"},
       {"exp(e - m) / sum of exp(e - m), m the largest of the row", "exp(e - m) / exp(e - m) 之和，m 是本行最大的"},
       {"take the largest score of each row off first", "先减去每行最大的分数"},
       "stable",
       [] {
         return agree(softmax_rows(scores, 1), alpha) &&
                !all_finite(softmax_rows(numbers({1, 2}, {1000, 1001}), 1).value());
       }},
      {"LOGSUMEXP_OVERFLOW",
       in_lse,
       {"exp of a large logit is infinite", "大 logit 的指数是无穷大"},
       "log sum exp(z)",
       "m + log sum exp(z - m)",
       {"take the largest logit off inside and put it back outside", "里面减去最大的 logit，外面再加回来"},
       "stable",
       [] {
         return agree(log_sum_exp(scores), logsumexp(scores, Axis{1})) &&
                !all_finite(log_sum_exp(numbers({1, 2}, {1000, 1001})).value());
       }},
      {"LOG_OF_UNDERFLOW",
       in_loss,
       {"the logarithm is taken of a probability that has become 0", "对已经变成 0 的概率取了对数"},
       "-log(softmax(z)_y)",
       "log-sum-exp(z) - z_y",
       {"never divide before the logarithm: use log_sum_exp", "取对数之前不要相除：用 log_sum_exp"},
       "stable",
       [] {
         return agree(mean_cross_entropy(scores, targets), cross_entropy(scores, targets)) &&
                !all_finite(mean_cross_entropy(numbers({1, 2}, {0, 2000}), Ids(Shape{1}, 0)).value());
       }},
  };
  return all;
}

Result diagnose(const std::string& place) { return check::first_known(known_mistakes(), place); }

}  // namespace
}  // namespace gradus::lesson04

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson04;
  return {.lesson = "04_softmax",
          .taught = {"gradus::softmax(", "gradus::log_softmax(", "gradus::logsumexp(", "gradus::cross_entropy("},
          .parts = {{"shapes", {"every shape", "各个形状"}, "by-hand", shapes},
                    {"numbers", {"the numbers of the note", "课文里的数字"}, "by-hand", by_hand},
                    {"invariances",
                     {"what must not matter: shifts, other rows, size", "什么不该有影响：平移、别的行、数的大小"},
                     "stable",
                     invariances},
                    {"self_check",
                     {"self check: backward against differences", "自检：反向传播与差分"},
                     "gradient",
                     self_check},
                    {"reference_check",
                     {"random numbers against the library", "用随机数与库对照"},
                     "gradient",
                     against_library}},
          .diagnose = diagnose};
}
