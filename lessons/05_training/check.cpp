// Lesson 05, the check: shapes, the numbers of the note, what must not matter, against the library, known mistakes.
#include <cmath>
#include <set>

#include "lessons/05_training/exercise.h"
#include "lessons/common/check.h"
#include "nn/init.h"
#include "nn/layers.h"

namespace gradus::lesson05 {
namespace {

using check::agree;
using check::drawn;
using check::first_of;
using check::has_numbers;
using check::has_shape;
using check::holds;
using check::numbers;
using check::Result;

constexpr const char *in_start = "first_weights", *in_clip = "clip", *in_sgd = "sgd_step", *in_adam = "adam_step",
                     *in_step = "train_step", *in_snapshot = "snapshot";
constexpr double four_digits = 5e-5;

Moments beginning(const Shape& shape) { return {Var(zeros(shape, f64)), Var(zeros(shape, f64)), 0}; }

// Two parameters whose gradients are (3) and (4): together of length 5.
std::vector<Parameter> three_and_four() {
  const std::vector<Parameter> all = {{"a", parameter(zeros(Shape{1}, f64))}, {"b", parameter(zeros(Shape{1}, f64))}};
  backward(sum(all[0].var * 3.0 + all[1].var * 4.0));
  return all;
}
Var gradients_of(const std::vector<Parameter>& all) {
  return numbers({all[0].var.grad().at({0}), all[1].var.grad().at({0})});
}

Var adam_steps(const std::vector<double>& gradients, double w, const AdamOptions& options) {
  Moments past = beginning(Shape{1});
  Var weight = numbers({w});
  for (const double g : gradients) {
    weight = adam_step(weight, numbers({g}), past, options);
    if (!weight.defined()) return weight;
  }
  return weight;
}
Var sgd_steps(const std::vector<double>& gradients, const SgdOptions& options) {
  Var w = numbers({0}), u = numbers({0});
  for (const double g : gradients) {
    w = sgd_step(w, numbers({g}), u, options);
    if (!w.defined()) return w;
  }
  return w;
}

// L = (w - 1)^2 from w = 3 by train_step, plain descent: w after each step, and the losses.
struct Path {
  std::vector<double> w, losses;
  std::int64_t steps = 0;  // how often `step` was called
};
Path walk(std::int64_t steps, double largest, double rate = 0.1) {
  const Var w = parameter(tensor(Shape{1}, {3}, f64));
  const std::vector<Parameter> all = {{"w", w}};
  Path path;
  for (std::int64_t t = 0; t < steps; ++t) {
    path.losses.push_back(train_step(
        all, [&] { return sum(square(w - 1)); }, largest,
        [&] {
          ++path.steps;
          const NoGrad nothing_is_recorded;
          copy_(w.mutable_value(), (w - Var(w.grad()) * rate).value());
        }));
    path.w.push_back(w.value().at({0}));
  }
  return path;
}

// L = (w - 1)^2 at w = 3, which never moves: what `step` finds as the gradient in two calls. 100 stood there before.
Var gradients_that_the_step_finds() {
  const Var w = parameter(tensor(Shape{1}, {3}, f64));
  backward(sum(w * 100.0));
  std::vector<double> found;
  for (int call = 0; call < 2; ++call) {
    train_step(
        {{"w", w}}, [&] { return sum(square(w - 1)); }, 1e9, [&] { found.push_back(w.grad().at({0})); });
  }
  return numbers(found);
}

Run some_run() {
  return {tensor(Shape{2}, {1, 2}, f64), tensor(Shape{2}, {3, 4}, f64), tensor(Shape{2}, {5, 6}, f64), 7,
          Generator(1, "data")};
}
void go_on(Run& run) {
  fill_(run.w, -1);
  fill_(run.m, -2);
  fill_(run.v, -3);
  run.t += 1;
  run.data.next();
}
std::vector<double> inside(const Run& run) {
  std::vector<double> all;
  for (const Tensor* x : {&run.w, &run.m, &run.v}) {
    if (!x->defined()) return {};
    for (const double number : x->to_vector()) all.push_back(number);
  }
  all.push_back(static_cast<double>(run.t));
  Generator data = run.data;
  all.push_back(data.uniform());
  return all;
}

// ---- shapes

Result shapes() {
  Generator init(1, "init");
  Moments past = beginning(Shape{2, 3});
  const Var w = drawn(Shape{2, 3}, 1), g = drawn(Shape{2, 3}, 2);
  Var u(zeros(Shape{2, 3}, f64));
  return first_of({
      {in_start,
       [&] {
         return has_shape("W", first_weights(5, 3, init), {5, 3}, "(d_out, d_in)");
       }},
      {in_sgd,
       [&] {
         return has_shape({"the new w", "新的 w"}, sgd_step(w, g, u, {}), {2, 3}, {"the shape of w", "w 的形状"});
       }},
      {in_adam,
       [&] {
         return has_shape({"the new w", "新的 w"}, adam_step(w, g, past, {}), {2, 3}, {"the shape of w", "w 的形状"});
       }},
      {in_snapshot,
       [&] {
         const Run kept = snapshot(some_run());
         return has_shape("w", kept.w.defined() ? Var(kept.w) : Var(), {2}, {"the shape of w", "w 的形状"});
       }},
  });
}

// ---- the numbers of the note

Result by_hand() {
  const AdamOptions tenth{.rate = 0.1}, decayed{.rate = 0.1, .weight_decay = 0.1};
  return first_of({
      {in_start,
       [] {
         Generator init(1, "init"), other(2, "init");
         const Tensor wide = first_weights(300, 100, init).value(), next = first_weights(300, 100, other).value();
         const double a = std::sqrt(6.0 / 400);
         double largest = 0;
         for (const double x : wide.to_vector()) largest = std::max(largest, std::fabs(x));
         const double deviation = norm(wide) / std::sqrt(30000.0);
         if (Result r = has_numbers({"the deviation of 30,000 weights, in sqrt(2 / (d_in + d_out))",
                                     "30,000 个权重的标准差，以 sqrt(2 / (d_in + d_out)) 为单位"},
                                    numbers({deviation / std::sqrt(2.0 / 400)}), std::vector<double>{1}, 0.02))
           return r;
         if (Result r =
                 check::holds(largest <= a * (1 + 1e-6) && wide.to_vector() != next.to_vector(), check::wrong_numbers,
                              {"no weight lies outside of +-a, and another generator gives others",
                               "没有权重落在 +-a 之外，换一个生成器就得到别的权重"}))
           return r;
         return check::holds(first_weights(2, 2, init).requires_grad(), check::wrong_numbers,
                             {"the weights must be a parameter: they take a gradient", "权重必须是参数：它要接收梯度"});
       }},
      {in_clip,
       [] {
         const auto all = three_and_four();
         const double before = clip(all, 1);
         if (Result r = has_numbers({"the gradients (3 4) clipped to 1", "梯度 (3 4) 裁剪到 1"}, gradients_of(all),
                                    {0.6, 0.8}))
           return r;
         return has_numbers({"the length before", "裁剪之前的长度"}, numbers({before}), std::vector<double>{5});
       }},
      {in_clip,
       [] {
         const auto all = three_and_four();
         clip(all, 10);
         return has_numbers({"the gradients (3 4) clipped to 10", "梯度 (3 4) 裁剪到 10"}, gradients_of(all), {3, 4});
       }},
      {in_sgd,
       [] {
         return has_numbers({"w after g = 4, 3.2", "g 依次为 4、3.2 之后的 w"}, sgd_steps({4, 3.2}, {.rate = 0.1}),
                            {-0.72});
       }},
      {in_sgd,
       [] {
         return has_numbers({"w after g = 1, 1, -2 with momentum 0.9", "动量 0.9，g 依次为 1、1、-2 之后的 w"},
                            sgd_steps({1, 1, -2}, {.rate = 0.1, .momentum = 0.9}), {-0.1 - 0.19 + 0.029});
       }},
      {in_adam,
       [=] {
         return has_numbers({"w after g = 0.5", "g = 0.5 之后的 w"}, adam_steps({0.5}, 0, tenth), {-0.1}, four_digits);
       }},
      {in_adam,
       [=] {
         return has_numbers({"w after g = 0.5, -0.1", "g 依次为 0.5、-0.1 之后的 w"}, adam_steps({0.5, -0.1}, 0, tenth),
                            {-0.1511}, four_digits);
       }},
      {in_adam,
       [=] {
         return has_numbers({"w = 2 after g = 0.5, decay 0.1", "w = 2，衰减 0.1，g = 0.5 之后的 w"},
                            adam_steps({0.5}, 2, decayed), {1.88}, four_digits);
       }},
      {in_step,
       [] {
         const Path path = walk(2, 1e9);
         if (Result uncalled = holds(path.steps == 2, "STEP_NOT_CALLED",
                                     {"each train_step calls step() once, to make the update",
                                      "每个 train_step 都要调用一次 step()，由它来更新"},
                                     "2 calls in two train_steps", std::to_string(path.steps)))
           return uncalled;
         return has_numbers({"w after two steps on (w - 1)^2", "在 (w - 1)^2 上走两步之后的 w"}, numbers(path.w),
                            {2.6, 2.28});
       }},
      {in_step,
       [] {
         return has_numbers({"the losses returned", "返回的损失"}, numbers(walk(2, 1e9).losses), {4, 2.56});
       }},
      {in_step,
       [] {
         return has_numbers({"w, clipped to 1", "裁剪到 1 时的 w"}, numbers(walk(2, 1).w), {2.9, 2.8});
       }},
      {in_snapshot,
       [] {
         Run run = some_run();
         const Run kept = snapshot(run);
         const std::vector<double> then = inside(run);
         if (Result r = has_numbers(
                 {"w, m, v, t and the generator's next number, just saved", "刚保存的 w、m、v、t 和生成器的下一个数"},
                 inside(kept), then))
           return r;
         go_on(run);
         return has_numbers({"the same after the run has gone on", "接着训练之后，保存下来的这些数"}, inside(kept),
                            then);
       }},
  });
}

// ---- what must not matter

Result invariances() {
  return first_of({
      {in_start,
       [] {
         Generator init(1, "init");
         const std::vector<double> W = first_weights(7, 5, init).value().to_vector();
         return check::holds(std::set<double>(W.begin(), W.end()).size() == W.size(), check::wrong_numbers,
                             {"two weights are the same number", "有两个权重是同一个数"});
       }},
      {in_clip,
       [] {
         const std::vector<Parameter> none = {{"a", parameter(zeros(Shape{3}, f64))}};
         return has_numbers({"the length of gradients that are all 0", "全为 0 的梯度的长度"}, numbers({clip(none, 1)}),
                            std::vector<double>{0});
       }},
      {in_adam,
       [] {
         const AdamOptions tenth{.rate = 0.1};
         return has_numbers({"the first step for g = 500", "g = 500 时的第一步"}, adam_steps({500}, 0, tenth), {-0.1},
                            1e-6);
       }},
      {in_step,
       [] {
         return has_numbers({"the gradient that the step finds, where 100 stood before", "梯度，里面原来是 100"},
                            gradients_that_the_step_finds(), {4, 4});
       }},
  });
}

// ---- ten random steps against the library

Result against_library() {
  const Shape shape{3, 2};
  return first_of({
      {in_sgd,
       [&] {
         const Var w = drawn(shape, 3);
         Sgd sgd({{"w", w}}, {.rate = 0.2, .momentum = 0.7});
         Var mine(copy(w.value())), u(zeros(shape, f64));
         for (std::uint64_t t = 0; t < 10; ++t) {
           const Var g(drawn(shape, 10 + t).value());
           w.zero_grad();
           backward(sum(w * g));
           sgd.step();
           mine = sgd_step(mine, g, u, sgd.options);
         }
         return has_numbers({"w after ten random steps", "随机走十步之后的 w"}, mine, w);
       }},
      {in_adam,
       [&] {
         const Var w = drawn(shape, 4);
         Adam adam({{"w", w}}, {.rate = 0.2, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.3});
         Var mine(copy(w.value()));
         Moments past = beginning(shape);
         for (std::uint64_t t = 0; t < 10; ++t) {
           const Var g(drawn(shape, 10 + t).value());
           w.zero_grad();
           backward(sum(w * g));
           adam.step();
           mine = adam_step(mine, g, past, adam.options);
         }
         return has_numbers({"w after ten random steps", "随机走十步之后的 w"}, mine, w);
       }},
  });
}

// ---- the name of what is wrong

bool near(const Var& a, const std::vector<double>& b, double tolerance = four_digits) {
  return agree(a, numbers(b), tolerance);
}

// The first `count` numbers of a snapshot are as they should be, taken at once.
bool snapshot_holds(std::size_t from, std::size_t to) {
  const Run run = some_run();
  const std::vector<double> then = inside(run), kept = inside(snapshot(run));
  if (kept.size() != then.size()) return true;
  for (std::size_t i = from; i < to; ++i) {
    if (kept[i] != then[i]) return false;
  }
  return true;
}

const std::vector<check::Known>& known_mistakes() {
  static const AdamOptions tenth{.rate = 0.1}, decayed{.rate = 0.1, .weight_decay = 0.1};
  static const std::vector<check::Known> all = {
      {"INIT_DEAD",
       in_start,
       {"all weights are the same number: all units of a layer get the same gradient and stay alike",
        "所有权重是同一个数：一层的各单元梯度都相同，永远一样"},
       {"a constant", "常数"},
       {"uniform in +-sqrt(6 / (d_in + d_out))", "在 +-sqrt(6 / (d_in + d_out)) 内均匀分布"},
       {"draw each weight from the generator; if they are all 0: 6 / (d_in + d_out) divides whole numbers, 6.0 does "
        "not",
        "每个权重都从生成器里抽；如果全是 0：6 / (d_in + d_out) 是整数除法，要写 6.0"},
       "start",
       [] {
         Generator init(1, "init");
         const std::vector<double> W = first_weights(5, 4, init).value().to_vector();
         return std::set<double>(W.begin(), W.end()).size() == 1;
       }},
      {"INIT_BOUND_FOR_DEVIATION",
       in_start,
       {"sqrt(2 / (d_in + d_out)) is the deviation; a uniform number in +-a has deviation a / sqrt(3)",
        "sqrt(2 / (d_in + d_out)) 是标准差；在 +-a 内均匀的数，标准差是 a / sqrt(3)"},
       "a = sqrt(2 / (d_in + d_out))",
       "a = sqrt(6 / (d_in + d_out))",
       {"write 6 in place of 2", "把 2 改成 6"},
       "start",
       [] {
         Generator init(1, "init");
         const Tensor W = first_weights(300, 100, init).value();
         return std::fabs(norm(W) / std::sqrt(30000.0) / std::sqrt(2.0 / 3 / 400) - 1) < 0.02;
       }},
      {"CLIP_EACH_BY_ITSELF",
       in_clip,
       {"each gradient is clipped by itself: the direction of the whole turns", "各裁各的：整个梯度的方向变了"},
       {"(1, 1) of (3, 4)", "(3, 4) 变成 (1, 1)"},
       {"(0.6, 0.8) of (3, 4)", "(3, 4) 变成 (0.6, 0.8)"},
       {"one length for all parameters together", "所有参数合在一起，只有一个长度"},
       "clip",
       [] {
         const auto both = three_and_four();
         clip(both, 1);
         return near(gradients_of(both), {1, 1});
       }},
      {"CLIP_ALWAYS_SCALES",
       in_clip,
       {"a gradient that is short enough is stretched to the full length", "已经够短的梯度被拉长到了上限"},
       "g * largest / length",
       "g * min(1, largest / length)",
       {"leave it alone when its length is at most `largest`", "长度不超过 largest 时什么也不做"},
       "clip",
       [] {
         const auto both = three_and_four();
         clip(both, 10);
         return near(gradients_of(both), {6, 8});
       }},
      {"MOMENTUM_LOST",
       in_sgd,
       {"u is not kept for the next step: it is changed in a copy, or not at all",
        "u 没有留到下一步：改的是副本，或者根本没改"},
       "w - rate * g",
       "u = momentum * u + g, w - rate * u",
       {"assign to u itself", "要给 u 本身赋值"},
       "momentum",
       [] {
         return near(sgd_steps({4, 3.2}, {.rate = 0.1}), {-0.72}) &&
                near(sgd_steps({1, 1, -2}, {.rate = 0.1, .momentum = 0.9}), {0});
       }},
      {"MOMENTUM_AS_MEAN",
       in_sgd,
       {"g enters with the factor 1 - momentum: with momentum 0.9 the steps are ten times shorter",
        "g 乘了 1 - momentum：动量 0.9 时步长短了十倍"},
       "u = momentum * u + (1 - momentum) * g",
       "u = momentum * u + g",
       {"add g as it is", "g 原样加进去"},
       "momentum",
       [] {
         return near(sgd_steps({1, 1, -2}, {.rate = 0.1, .momentum = 0.9}), {-0.0261});
       }},
      {"ADAM_BIAS",
       in_adam,
       {"m and v are not divided: the first steps are too long, three times at first",
        "m 和 v 没有除：开头几步太长，第一步长三倍"},
       "m / sqrt(v)",
       "m / (1 - beta1^t) / sqrt(v / (1 - beta2^t))",
       {"divide both, with t counted from 1", "两个都要除，t 从 1 数起"},
       "adam",
       [] { return near(adam_steps({0.5}, 0, tenth), {-0.3162}); }},
      {"ADAM_BIAS",
       in_adam,
       {"the exponent is 2 at every step: right at step 2, and only there", "每一步的指数都是 2：只有第 2 步是对的"},
       "1 - beta^2",
       "1 - beta^t",
       {"use the number of this step as the exponent", "用这一步的序号作指数"},
       "adam",
       [] { return near(adam_steps({0.5}, 0, tenth), {-0.0744}); }},
      {"ADAM_DOUBLE_COMPLEMENT",
       in_adam,
       {"v is divided by beta2^t: the complement was taken twice", "v 除以了 beta2^t：补数取了两次"},
       "v / (1 - (1 - beta2^t))",
       "v / (1 - beta2^t)",
       {"subtract from 1 once", "只用 1 减一次"},
       "adam",
       [] { return near(adam_steps({0.5}, 0, tenth), {-3.1607}); }},
      {"ADAM_STEP_NOT_COUNTED",
       in_adam,
       {"t is the same at every step: past.t does not grow", "每一步的 t 都一样：past.t 没有增加"},
       {"1 - beta^1 at every step", "每一步都用 1 - beta^1"},
       "1 - beta^t",
       {"count the step in past.t itself", "在 past.t 里给步数加一"},
       "adam",
       [] {
         Moments past = beginning(Shape{1});
         const Var w = adam_step(numbers({0}), numbers({0.5}), past, tenth);
         return near(w, {-0.1}) && past.t == 0;
       }},
      {"WD_COUPLED",
       in_adam,
       {"the decay is in the gradient, and Adam divides it by its own size", "衰减加进了梯度，Adam 又把它除掉了"},
       {"g + decay * w in place of g", "用 g + decay * w 代替了 g"},
       "w - rate * decay * w - rate * m / sqrt(v)",
       {"take the decay off the weight itself", "直接从权重里减去衰减"},
       "decay",
       [] { return near(adam_steps({0.5}, 2, decayed), {1.9}) && near(adam_steps({0}, 2, decayed), {1.9}); }},
      {"WD_WITHOUT_RATE",
       in_adam,
       {"the decay takes its whole share of the weight at every step, whatever the rate",
        "不管学习率是多少，每一步都按整个衰减系数缩小权重"},
       "w * decay",
       "rate * decay * w",
       {"multiply the decay by the rate", "衰减要乘上学习率"},
       "decay",
       [] { return near(adam_steps({0.5}, 2, decayed), {1.7}); }},
      {"WD_OF_THE_NEW_WEIGHT",
       in_adam,
       {"the decay is taken of the weight after the step", "衰减按更新后的权重来算"},
       "(w - step) * (1 - rate * decay)",
       "w * (1 - rate * decay) - step",
       {"shrink the weight as it was before the step", "缩小更新之前的权重"},
       "decay",
       [] { return near(adam_steps({0.5}, 2, decayed), {1.881}, 1e-6); }},
      {"ZERO_GRAD_MISSING",
       in_step,
       {"the gradient of the step before is still there when backward adds to it",
        "backward 往里加的时候，上一步的梯度还在里面"},
       "g_1 + g_2",
       "g_2",
       {"set the gradients to 0 before backward", "backward 之前先把梯度清零"},
       "zero-grad",
       [] {
         return near(numbers(walk(2, 1e9).w), {2.6, 1.88});
       }},
      {"ZERO_GRAD_AFTER_BACKWARD",
       in_step,
       {"the gradients are set back to 0 before anybody has used them", "梯度还没用就被清零了"},
       "backward, zero_grad, step",
       "zero_grad, backward, step",
       {"set the gradients to 0 before backward", "backward 之前先把梯度清零"},
       "zero-grad",
       [] {
         return near(numbers(walk(2, 1e9).w), {3, 3});
       }},
      {"ZERO_GRAD_AFTER_STEP",
       in_step,
       {"the gradients are set back to 0 at the end only: what stood there before the first call is in the first step",
        "只在最后才清零：第一次调用之前留下的梯度混进了第一步"},
       "backward, clip, step, zero_grad",
       "zero_grad, backward, clip, step",
       {"set the gradients to 0 before backward", "backward 之前先把梯度清零"},
       "zero-grad",
       [] {
         return near(gradients_that_the_step_finds(), {104, 4});
       }},
      {"CLIP_AFTER_STEP",
       in_step,
       {"clipping comes too late or not at all: the step is as long as without it",
        "裁剪来得太晚，或者根本没有：步长和不裁剪时一样"},
       "backward, step, clip",
       "backward, clip, step",
       {"clip between backward and step", "在 backward 和 step 之间裁剪"},
       "clip",
       [] {
         return near(numbers(walk(2, 1).w), {2.6, 2.28});
       }},
      {"CKPT_OPT_STATE_LOST",
       in_snapshot,
       {"m, v or t is not what it was: the first steps after a resume go another way",
        "m、v 或 t 不是原来的了：续训后的头几步会走到别处去"},
       {"part of Adam's state", "Adam 状态的一部分"},
       {"m, v and t", "m、v 和 t"},
       {"copy m, v and t as well", "m、v 和 t 也要复制"},
       "resume",
       [] { return snapshot_holds(0, 2) && !snapshot_holds(2, 7); }},
      {"CKPT_GENERATOR_LOST",
       in_snapshot,
       {"the generator begins afresh: the resumed run sees other batches", "生成器从头开始：续训看到的批次不一样"},
       {"a new Generator", "一个新的 Generator"},
       "run.data",
       {"copy the generator as it is", "原样复制生成器"},
       "resume",
       [] { return snapshot_holds(0, 7) && !snapshot_holds(7, 8); }},
      {"CKPT_SHARES_NUMBERS",
       in_snapshot,
       {"a copied Tensor is a second handle on the same numbers: what was saved changes as the run goes on",
        "复制 Tensor 得到的是同一批数的另一个句柄：保存的内容会跟着训练一起变"},
       "Tensor kept = run.w",
       "Tensor kept = copy(run.w)",
       {"copy(...) each tensor", "每个张量都用 copy(...)"},
       "resume",
       [] {
         Run run = some_run();
         const Run kept = snapshot(run);
         const std::vector<double> then = inside(run);
         if (inside(kept) != then) return false;
         go_on(run);
         return inside(kept) != then;
       }},
  };
  return all;
}

Result diagnose(const std::string& place) { return check::first_known(known_mistakes(), place); }

}  // namespace
}  // namespace gradus::lesson05

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson05;
  return {
      .lesson = "05_training",
      .taught = {"gradus::xavier", "gradus::Sgd::", "gradus::Adam::", "gradus::clip_gradients("},
      .parts = {{"shapes", {"every shape", "各个形状"}, "shapes", shapes},
                {"numbers", {"the numbers of the note", "课文里的数字"}, "adam", by_hand},
                {"invariances",
                 {"what must not matter: sizes, what stood there before", "什么不该有影响：大小，以及之前留下的东西"},
                 "zero-grad",
                 invariances},
                {"reference_check",
                 {"ten random steps against the library", "随机走十步，与库对照"},
                 "momentum",
                 against_library}},
      .diagnose = diagnose};
}
