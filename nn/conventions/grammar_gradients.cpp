// Backward through all steps of a model, with one wrong way, and the words for it.
#include "nn/conventions/grammar_gradients.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>

#include "nn/conventions/grammar.h"
#include "nn/conventions/grammar_misread.h"
#include "nn/conventions/sizes.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// The gradient on its way from a term into one of its operands, or all that has reached a term.
struct Way {
  const Plan& plan;
  const Node& term;
  std::size_t place;
  const Grid& dy;
  bool whole() const { return place == Plan::all_uses; }
  const Node& operand() const { return whole() ? term : *term.in[place]; }
  const Grid& value(std::size_t k) const { return plan.value(term.in[k].get()); }
};

// One kind of wrong slope. Changes dx, the right one; false where it has no meaning. In the sentence %p stands for the
// term, %c for its operand.
struct SlopeRule {
  const char* code;
  int plainness;
  Said sentence;
  Said fix;
  std::function<bool(const Way& way, Grid& dx)> change;
};

template <class F> bool each_number(const Way& w, Grid& dx, F f) {  // f(dy, x, y) of an activation
  if (w.whole() || w.term.op != Op::apply || w.term.function->name == std::string("softmax")) return false;
  const Grid &x = w.value(0), &y = w.plan.value(&w.term);
  for (std::size_t k = 0; k < dx.x.size(); ++k) dx.x[k] = f(w.dy.x[k], x.x[k], y.x[k]);
  return true;
}
// weight(b, t) times what flows at a step of an example. Where steps or examples have been added up on the way, as in a
// parameter's gradient, they are added up again.
template <class F> bool weighed(const Way& w, Grid& dx, F weight) {
  const bool apart = w.whole() || (dx.T == w.dy.T && dx.B == w.dy.B);
  Grid g = apart ? dx : w.dy;
  const std::size_t n = g.N * g.D;
  for (std::size_t b = 0; b < g.B; ++b)
    for (std::size_t t = 0; t < g.T; ++t)
      for (std::size_t k = 0; k < n; ++k)
        if (const std::size_t at = (b * g.T + t) * n + k; g.x[at] != 0) g.x[at] *= weight(b, t);
  dx = apart ? std::move(g) : w.plan.flow_into(w.term, w.place, g);
  return true;
}
template <class F> bool at_places(const Way& w, Grid& dx, F kept) {  // kept(b, t)
  return (w.whole() ? dx : w.dy).T > 1 &&
         weighed(w, dx, [&](std::size_t b, std::size_t t) { return kept(b, t) ? 1. : 0.; });
}
// Into what one step hands on to the next.
bool is_carry(const Way& w) {
  const Node& n = w.operand();
  return n.op == Op::leaf && n.lies == Lies::step && n.read.lag == 1 && (n.name == "m" || n.name == "s");
}
bool multiplied_by(Grid& dx, double factor) {
  for (double& x : dx.x) x *= factor;
  return factor != 1;
}
// Of softmax over the keys: f(alpha, d_alpha, sum of alpha d_alpha)
template <class F> bool each_weight(const Way& w, Grid& dx, F f, bool at_padding = false) {
  if (w.whole() || w.term.op != Op::weights) return false;
  const Grid& alpha = w.plan.value(&w.term);
  for (std::size_t p = 0; p < dx.x.size(); p += alpha.N) {
    double sum = 0, plain = 0;
    for (std::size_t i = 0; i < alpha.N; ++i) sum += alpha.x[p + i] * w.dy.x[p + i], plain += w.dy.x[p + i];
    for (std::size_t i = 0; i < alpha.N; ++i)
      dx.x[p + i] = alpha.x[p + i] == 0 && !at_padding
                        ? 0
                        : f(alpha.x[p + i], w.dy.x[p + i], sum, plain / static_cast<double>(alpha.N));
  }
  return true;
}

// The gradient of a matrix with another operand than its own; `other` gives nullptr where there is none.
template <class F> bool of_other_operand(const Way& w, Grid& dx, F other) {
  if (w.whole() || w.term.op != Op::product || w.place != 0) return false;
  const Term operand = other(*w.term.in[1]);
  if (!operand) return false;
  const Grid x = evaluate(operand, w.plan.scene());
  if (x.D != dx.D || x.N > 1 || x.T != w.dy.T || x.B != w.dy.B) return false;
  std::fill(dx.x.begin(), dx.x.end(), 0.0);
  for (std::size_t p = 0; p < x.B * x.T; ++p)
    for (std::size_t r = 0; r < dx.N; ++r)
      for (std::size_t k = 0; k < dx.D; ++k) dx.x[r * dx.D + k] += w.dy.x[p * dx.N + r] * x.x[p * x.D + k];
  return true;
}
Term at_other_step(const Node& x, int lag) {
  if (x.op == Op::leaf && x.lies == Lies::step) return leaf(x.name, x.lies, {.lag = x.read.lag + lag});
  return std::make_shared<const Node>(
      Node{.op = Op::moved, .in = {std::make_shared<const Node>(x)}, .read = {.lag = lag}});
}

// The gradient of one operand of a sum, or of a matrix in it, when the factor or the slope around the sum is left out on
// this way alone.
bool without_the_outer(const Way& w, Grid& dx, Op around) {
  const bool matrix = w.term.op == Op::product && w.place == 0, factors = w.term.op == Op::times && around == Op::apply;
  if (w.whole() || (w.term.op != Op::sum && !matrix && !factors)) return false;
  const Node* top = &w.term;
  const Node* user = nullptr;
  std::size_t place = 0;
  for (bool through_sum = w.term.op == Op::sum;; through_sum = true) {
    if (w.plan.uses(top).size() != 1) return false;
    user = w.plan.uses(top)[0].first, place = w.plan.uses(top)[0].second;
    if (user->op == around && through_sum) break;
    if (user->op != Op::sum) return false;
    top = user;
  }
  Vec factor(w.dy.size(), 1);
  if (around == Op::times) {
    for (std::size_t k = 0; k < user->in.size(); ++k) {
      const Grid& other = w.plan.value(user->in[k].get());
      if (k == place) continue;
      if (other.size() != factor.size()) return false;
      for (std::size_t j = 0; j < factor.size(); ++j) factor[j] *= other.x[j];
    }
  } else {
    const Grid &x = w.plan.value(top), &y = w.plan.value(user);
    const std::string name = user->function->name;
    if ((name != "tanh" && name != "sigmoid") || x.size() != factor.size()) return false;
    user->function->back(x.x.data(), y.x.data(), Vec(factor).data(), factor.data(), factor.size());
  }
  if (std::any_of(factor.begin(), factor.end(), [](double f) { return std::fabs(f) < 1e-6; })) return false;
  if (factors && dx.size() != factor.size()) return false;
  for (std::size_t j = 0; factors && j < factor.size(); ++j) dx.x[j] /= factor[j];
  if (factors) return true;
  Grid dy = w.dy;
  for (std::size_t j = 0; j < factor.size(); ++j) dy.x[j] /= factor[j];
  std::fill(dx.x.begin(), dx.x.end(), 0.0);
  if (!matrix) {
    for (std::size_t b = 0; b < dy.B; ++b)
      for (std::size_t t = 0; t < dy.T; ++t)
        for (std::size_t n = 0; n < dy.N; ++n)
          for (std::size_t k = 0; k < dy.D && dx.D == dy.D; ++k)
            dx.x[dx.place(b, t, n) + k] += dy.x[dy.place(b, t, n) + k];
    return dx.D == dy.D;
  }
  const Grid& x = w.value(1);
  if (x.D != dx.D || dy.D != dx.N || x.size() / x.D != dy.size() / dy.D) return false;
  for (std::size_t p = 0; p < x.size() / x.D; ++p)
    for (std::size_t r = 0; r < dx.N; ++r)
      for (std::size_t k = 0; k < dx.D; ++k) dx.x[r * dx.D + k] += dy.x[p * dx.N + r] * x.x[p * x.D + k];
  return true;
}

// On the way into one factor of a product: with what `other` gives in the place of the other factor.
template <class F> bool with_other_factor(const Way& w, Grid& dx, F other) {
  if (w.whole() || w.term.op != Op::times || w.term.in.size() != 2 || w.dy.size() != dx.size()) return false;
  const Term instead = other(w.term.in[1 - w.place]);
  if (!instead) return false;
  const Grid x = evaluate(instead, w.plan.scene());
  if (x.size() != dx.size()) return false;
  for (std::size_t k = 0; k < dx.x.size(); ++k) dx.x[k] = w.dy.x[k] * x.x[k];
  return true;
}
// The k-th gate of the formula that is not the term itself; nullptr where there is none.
Term other_gate(const Plan& plan, const Term& term, std::size_t k) {
  for (const Term& t : plan.terms())
    if (t->role == "gate" && t != term && k-- == 0) return t;
  return nullptr;
}
template <std::size_t k> bool with_gate(const Way& w, Grid& dx) {
  return with_other_factor(
      w, dx, [&](const Term& other) { return other->role == "gate" ? other_gate(w.plan, other, k) : nullptr; });
}
// What flows back through a matrix, with the k-th gate as a factor that the forward has elsewhere.
template <std::size_t k> bool gate_too_many(const Way& w, Grid& dx) {
  if (w.whole() || w.term.op != Op::product) return false;
  const Term gate = other_gate(w.plan, nullptr, k);
  if (!gate || dx.N * dx.D == 0) return false;
  const Grid& g = w.plan.value(gate.get());
  if (g.size() != w.dy.size()) return false;
  Grid dy = w.dy;
  for (std::size_t j = 0; j < dy.x.size(); ++j) dy.x[j] *= g.x[j];
  const Plan alone(make(Op::product, {w.term.in[0], leaf("x", Lies::step)}), [&] {
    Scene scene = w.plan.scene();
    const Grid& x = w.value(1);
    if (x.N > 1 || x.B != scene.B || x.T != scene.T) throw std::invalid_argument("formula: not one operand a step");
    Arrays arrays = {{w.term.in[0]->name, get(*scene.arrays, w.term.in[0]->name)}, {"x", Array({x.B, x.T, x.D}, x.x)}};
    scene.arrays = std::make_shared<const Arrays>(std::move(arrays));
    return scene;
  }());
  Arrays unused;
  alone.backward(
      dy,
      [&](const Node&, std::size_t place, const Grid&, Grid& flow) {
        if (place == w.place && flow.size() == dx.size()) dx.x = flow.x;
      },
      unused);
  return true;
}
// The slope of a function with the numbers of the step before or after.
bool slope_of_step(const Way& w, Grid& dx, int lag) {
  if (w.whole() || w.term.op != Op::apply || !w.term.function->back || w.term.along != Along::features) return false;
  const Grid x = evaluate(at_other_step(*w.term.in[0], lag), w.plan.scene());
  Grid y = x;
  if (x.size() != dx.size()) return false;
  for (std::size_t p = 0; p < y.x.size(); p += y.D) w.term.function->apply(&y.x[p], y.D);
  if (w.term.label == "s_t" && lag == 1) y = evaluate(leaf("s", Lies::step, {.lag = 1}), w.plan.scene());
  if (y.size() != dx.size()) return false;
  for (std::size_t p = 0; p < y.x.size(); p += y.D) w.term.function->back(&x.x[p], &y.x[p], &w.dy.x[p], &dx.x[p], y.D);
  return true;
}
// A matrix's gradient with one part of its joined operand from another step, or the parts in another order.
template <std::size_t part, int lag> bool part_of_other_step(const Way& w, Grid& dx) {
  return of_other_operand(w, dx, [](const Node& x) -> Term {
    if (x.op != Op::join || part >= x.in.size()) return nullptr;
    std::vector<Term> parts = x.in;
    parts[part] = at_other_step(*parts[part], lag);
    return make(Op::join, parts);
  });
}

const Said keep_edge = {"let the gradient of %p flow into %c as well", "让 %p 的梯度也流入 %c"};
const Said right_slope = {"derive %p again, by hand or with the gradient check",
                          "重新推导 %p 的导数，并用梯度检查核对"};
const Said right_factor = {"what flows into %c is the gradient of %p times %o", "流入 %c 的是 %p 的梯度乘以 %o"};
const Said add_all = {"add up every step, position and example: +=", "对每一步、每个位置、每个样本累加：+="};

const std::vector<SlopeRule>& slope_rules() {
  static const std::vector<SlopeRule> all = {
      {"CUT",
       1,
       {"no gradient flows from %p into %c", "没有梯度从 %p 流入 %c"},
       keep_edge,
       [](const Way&, Grid& dx) { return multiplied_by(dx, 0); }},
      {"NEGATED",
       2,
       {"the gradient that flows from %p into %c has the wrong sign", "从 %p 流入 %c 的梯度符号相反"},
       right_slope,
       [](const Way&, Grid& dx) { return multiplied_by(dx, -1); }},
      {"TWICE",
       2,
       {"the gradient that flows from %p into %c is counted twice", "从 %p 流入 %c 的梯度被算了两次"},
       {"add it once", "只加一次"},
       [](const Way&, Grid& dx) { return multiplied_by(dx, 2); }},
      {"HALVED",
       3,
       {"the gradient that flows from %p into %c is halved", "从 %p 流入 %c 的梯度被减半"},
       right_slope,
       [](const Way&, Grid& dx) { return multiplied_by(dx, .5); }},
      {"OVER_BATCH",
       3,
       {"the gradient that flows from %p into %c is divided by the batch size", "从 %p 流入 %c 的梯度被除以批大小"},
       add_all,
       [](const Way& w, Grid& dx) { return multiplied_by(dx, 1 / static_cast<double>(w.plan.scene().B)); }},
      {"OVER_STEPS",
       3,
       {"the gradient that flows from %p into %c is divided by the number of steps", "从 %p 流入 %c 的梯度被除以步数"},
       add_all,
       [](const Way& w, Grid& dx) { return multiplied_by(dx, 1 / static_cast<double>(w.plan.scene().T)); }},
      {"OVER_LENGTH",
       3,
       {"the gradient that flows from %p into %c is divided by T_enc", "从 %p 流入 %c 的梯度被除以 T_enc"},
       add_all,
       [](const Way& w, Grid& dx) {
         return w.plan.scene().N > 1 && multiplied_by(dx, 1 / static_cast<double>(w.plan.scene().N));
       }},
      {"SLOPE_MISSING",
       1,
       {"the slope of %p is missing: its gradient is handed on as it is", "缺少 %p 的导数：梯度被原样传下去"},
       right_slope,
       [](const Way& w, Grid& dx) { return each_number(w, dx, [](double dy, double, double) { return dy; }); }},
      {"SLOPE_OTHER",
       2,
       {"the slope of %p is y where its own belongs", "%p 的导数误用了 y"},
       right_slope,
       [](const Way& w, Grid& dx) { return each_number(w, dx, [](double dy, double, double y) { return dy * y; }); }},
      {"SLOPE_OTHER",
       2,
       {"the slope of %p is 1 - y where its own belongs", "%p 的导数误用了 1 - y"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double, double y) { return dy * (1 - y); });
       }},
      {"SLOPE_OTHER",
       2,
       {"the slope of %p is y (1 - y), a sigmoid's, where its own belongs", "%p 的导数误用了 sigmoid 的 y (1 - y)"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double, double y) { return dy * y * (1 - y); });
       }},
      {"SLOPE_OTHER",
       2,
       {"the slope of %p is 1 - y^2, a tanh's, where its own belongs", "%p 的导数误用了 tanh 的 1 - y^2"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double, double y) { return dy * (1 - y * y); });
       }},
      {"SLOPE_OTHER",
       2,
       {"the slope of %p is 1 + y^2", "%p 的导数写成了 1 + y^2"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double, double y) { return dy * (1 + y * y); });
       }},
      {"SLOPE_OTHER",
       2,
       {"the slope of %p is y (1 + y)", "%p 的导数写成了 y (1 + y)"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double, double y) { return dy * y * (1 + y); });
       }},
      {"SLOPE_OTHER",
       3,
       {"the slope of %p is y (2 - y)", "%p 的导数写成了 y (2 - y)"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double, double y) { return dy * y * (2 - y); });
       }},
      {"SLOPE_OTHER",
       3,
       {"the slope of %p is 2 - y^2", "%p 的导数写成了 2 - y^2"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double, double y) { return dy * (2 - y * y); });
       }},
      {"SLOPE_OTHER",
       3,
       {"the slope of %p is -y^2: the 1, or the y, that it is taken from is missing",
        "%p 的导数写成了 -y^2：缺少被减的 1（或 y）"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double, double y) { return -dy * y * y; });
       }},
      {"SLOPE_OTHER",
       3,
       {"the slope of %p is y^2", "%p 的导数写成了 y^2"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double, double y) { return dy * y * y; });
       }},
      {"SLOPE_AT_INPUT",
       2,
       {"the slope of %p is taken from its input: 1 - x^2", "%p 的导数用输入计算：1 - x^2"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double x, double) { return dy * (1 - x * x); });
       }},
      {"SLOPE_AT_INPUT",
       2,
       {"the slope of %p is taken from its input: x (1 - x)", "%p 的导数用输入计算：x (1 - x)"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_number(w, dx, [](double dy, double x, double) { return dy * x * (1 - x); });
       }},
      {"SLOPE_AT_OUTPUT",
       2,
       {"the slope of %p is taken at its output instead of its input", "%p 的导数取在输出而不是输入处"},
       right_slope,
       [](const Way& w, Grid& dx) {
         if (w.whole() || w.term.op != Op::apply || !w.term.function->back) return false;
         const Grid& y = w.plan.value(&w.term);
         Vec again = y.x;
         for (std::size_t p = 0; p < again.size(); p += y.D) {
           w.term.function->apply(&again[p], y.D);
           w.term.function->back(&y.x[p], &again[p], &w.dy.x[p], &dx.x[p], y.D);
         }
         return true;
       }},
      {"SLOPE_TWICE",
       2,
       {"the slope of %p is multiplied in twice", "%p 的导数乘了两次"},
       right_slope,
       [](const Way& w, Grid& dx) {
         if (w.whole() || w.term.op != Op::apply || !w.term.function->back) return false;
         const Grid &x = w.value(0), &y = w.plan.value(&w.term);
         const Vec once = dx.x;
         for (std::size_t p = 0; p < once.size(); p += y.D)
           w.term.function->back(&x.x[p], &y.x[p], &once[p], &dx.x[p], y.D);
         return true;
       }},
      {"SOFTMAX",
       1,
       {"the slope of the softmax is alpha (1 - alpha): the share of the other weights is missing",
        "softmax 的导数写成了 alpha (1 - alpha)：缺少其他权重的部分"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_weight(w, dx, [](double a, double d, double, double) { return a * (1 - a) * d; });
       }},
      {"SOFTMAX",
       1,
       {"the slope of the softmax is alpha: the sum is not subtracted", "softmax 的导数写成了 alpha：没有减去求和项"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_weight(w, dx, [](double a, double d, double, double) { return a * d; });
       }},
      {"SOFTMAX",
       1,
       {"the softmax has no slope: d_alpha is handed on as it is", "softmax 没有导数：d_alpha 原样传下去"},
       right_slope,
       [](const Way& w, Grid& dx) { return each_weight(w, dx, [](double, double d, double, double) { return d; }); }},
      {"SOFTMAX",
       1,
       {"of the softmax's slope the factor alpha is missing: d_alpha - sum alpha d_alpha",
        "softmax 的导数缺少因子 alpha：d_alpha - sum alpha d_alpha"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_weight(w, dx, [](double, double d, double s, double) { return d - s; });
       }},
      {"SOFTMAX",
       1,
       {"the softmax's slope adds the sum where it should subtract it", "softmax 的导数应减去求和项，却加上了"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_weight(w, dx, [](double a, double d, double s, double) { return a * (d + s); });
       }},
      {"SOFTMAX",
       1,
       {"the softmax's slope subtracts the mean of d_alpha where the sum of alpha d_alpha belongs",
        "softmax 的导数减去的是 d_alpha 的平均，应为 sum alpha d_alpha"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_weight(w, dx, [](double a, double d, double, double m) { return a * (d - m); });
       }},
      {"SOFTMAX",
       1,
       {"the softmax's slope is alpha times the sum of alpha d_alpha: d_alpha itself is missing",
        "softmax 的导数写成了 alpha 乘以 sum alpha d_alpha：缺少 d_alpha 本身"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_weight(w, dx, [](double a, double, double s, double) { return a * s; });
       }},
      {"FACTOR_MISSING",
       1,
       {"%p is a product: on the way into %c the other factor, %o, is missing",
        "%p 是乘积：流入 %c 时缺少另一个因子 %o"},
       right_factor,
       [](const Way& w, Grid& dx) {
         if (w.whole() || w.term.op != Op::times || w.dy.size() != dx.size()) return false;
         dx.x = w.dy.x;
         return true;
       }},
      {"SCALE_MISSING",
       1,
       {"the scale of %p is missing on the way into %c: %f", "流入 %c 时缺少 %p 的缩放系数：%f"},
       {"what flows into %c is the gradient of the scaled product times %f and the other vector",
        "流入 %c 的是缩放之后乘积的梯度乘以 %f，再乘另一个向量"},
       [](const Way& w, Grid& dx) {
         if (w.whole() || w.term.op != Op::dot || w.plan.uses(&w.term).size() != 1) return false;
         const Node& user = *w.plan.uses(&w.term)[0].first;
         double scale = 1;
         for (const Term& t : user.in)
           if (user.op == Op::times && t->op == Op::number) scale *= t->number;
         return scale != 0 && multiplied_by(dx, 1 / scale);
       }},
      {"OUTER_FACTOR_MISSING",
       2,
       {"the factor %f, which multiplies %p, is missing on the way into %c", "流入 %c 时缺少因子 %f，它要乘到 %p 上"},
       right_slope,
       [](const Way& w, Grid& dx) { return without_the_outer(w, dx, Op::times); }},
      {"OUTER_SLOPE_MISSING",
       2,
       {"the slope of %f, which stands around %p, is missing on the way into %c",
        "流入 %c 时缺少 %p 外面那个 %f 的导数"},
       right_slope,
       [](const Way& w, Grid& dx) { return without_the_outer(w, dx, Op::apply); }},
      {"FACTOR_OTHER",
       2,
       {"%p is a product: on the way into %c it is multiplied by %c itself, not by %o",
        "%p 是乘积：流入 %c 时乘的是 %c 自己，而不是 %o"},
       right_factor,
       [](const Way& w, Grid& dx) {
         if (w.whole() || w.term.op != Op::times || w.dy.size() != dx.size() || w.value(w.place).size() != dx.size())
           return false;
         for (std::size_t k = 0; k < dx.x.size(); ++k) dx.x[k] = w.dy.x[k] * w.value(w.place).x[k];
         return true;
       }},
      {"FACTOR_COMPLEMENT",
       2,
       {"%p is a product: on the way into %c it is multiplied by 1 minus %o, not by %o",
        "%p 是乘积：流入 %c 时乘的是 1 减 %o，而不是 %o"},
       right_factor,
       [](const Way& w, Grid& dx) {
         if (w.whole() || w.term.op != Op::times || w.term.in.size() != 2 || w.dy.size() != dx.size() ||
             w.value(1 - w.place).size() != dx.size())
           return false;
         for (std::size_t k = 0; k < dx.x.size(); ++k) dx.x[k] = w.dy.x[k] * (1 - w.value(1 - w.place).x[k]);
         return true;
       }},
      {"FACTOR_OTHER_STEP",
       2,
       {"%p is a product: on the way into %c the other factor, %o, is read at the step after",
        "%p 是乘积：流入 %c 时另一个因子 %o 取自后一步"},
       right_factor,
       [](const Way& w, Grid& dx) {
         return with_other_factor(w, dx, [](const Term& other) { return at_other_step(*other, -1); });
       }},
      {"FACTOR_OTHER_STEP",
       2,
       {"%p is a product: on the way into %c the other factor, %o, is read at the step before",
        "%p 是乘积：流入 %c 时另一个因子 %o 取自前一步"},
       right_factor,
       [](const Way& w, Grid& dx) {
         return with_other_factor(w, dx, [](const Term& other) { return at_other_step(*other, 1); });
       }},
      {"FACTOR_FUNCTION_MISSING",
       2,
       {"%p is a product: on the way into %c the other factor, %o, lacks its function",
        "%p 是乘积：流入 %c 时另一个因子 %o 少了函数"},
       right_factor,
       [](const Way& w, Grid& dx) {
         return with_other_factor(w, dx,
                                  [](const Term& other) { return other->op == Op::apply ? other->in[0] : nullptr; });
       }},
      {"FACTOR_MATRIX_MISSING",
       2,
       {"%p is a product: on the way into %c what the other factor's matrix multiplies stands in its place",
        "%p 是乘积：流入 %c 时用的是另一个因子的矩阵所乘的量"},
       right_factor,
       [](const Way& w, Grid& dx) {
         return with_other_factor(w, dx, [](const Term& other) -> Term {
           const Term& first = other->op == Op::sum ? other->in[0] : other;
           return first->op == Op::product ? first->in[1] : nullptr;
         });
       }},
      {"FACTOR_OTHER_GATE",
       3,
       {"%p is a product: on the way into %c another gate stands in the place of %o",
        "%p 是乘积：流入 %c 时乘的是另一个门，而不是 %o"},
       right_factor,
       with_gate<0>},
      {"FACTOR_OTHER_GATE",
       3,
       {"%p is a product: on the way into %c another gate stands in the place of %o",
        "%p 是乘积：流入 %c 时乘的是另一个门，而不是 %o"},
       right_factor,
       with_gate<1>},
      {"FACTOR_OTHER_GATE",
       3,
       {"%p is a product: on the way into %c another gate stands in the place of %o",
        "%p 是乘积：流入 %c 时乘的是另一个门，而不是 %o"},
       right_factor,
       with_gate<2>},
      {"FACTOR_TOO_MANY",
       4,
       {"on the way from %p into %c there is a gate too many as a factor", "从 %p 流入 %c 时多乘了一个门"},
       right_slope,
       gate_too_many<0>},
      {"FACTOR_TOO_MANY",
       4,
       {"on the way from %p into %c there is a gate too many as a factor", "从 %p 流入 %c 时多乘了一个门"},
       right_slope,
       gate_too_many<1>},
      {"FACTOR_TOO_MANY",
       4,
       {"on the way from %p into %c there is a gate too many as a factor", "从 %p 流入 %c 时多乘了一个门"},
       right_slope,
       gate_too_many<2>},
      {"SLOPE_OTHER_STEP",
       2,
       {"the slope of %p is taken at the step before", "%p 的导数取自前一步"},
       right_slope,
       [](const Way& w, Grid& dx) { return slope_of_step(w, dx, 1); }},
      {"SLOPE_OTHER_STEP",
       3,
       {"the slope of %p is taken at the step after", "%p 的导数取自后一步"},
       right_slope,
       [](const Way& w, Grid& dx) { return slope_of_step(w, dx, -1); }},
      {"OPERANDS_EXCHANGED",
       2,
       {"the gradient of %c is made with its joined operand in another order", "%c 的梯度所用的拼接操作数顺序不同"},
       {"dW = sum over t of dy_t x_t^T, x joined as in the forward", "dW = sum_t dy_t x_t^T，x 的拼接顺序与前向相同"},
       [](const Way& w, Grid& dx) {
         return of_other_operand(w, dx, [](const Node& x) -> Term {
           return x.op == Op::join ? make(Op::join, {x.in.rbegin(), x.in.rend()}) : nullptr;
         });
       }},
      {"OPERAND_OTHER_STEP",
       3,
       {"the gradient of %c is made with the %1 of the step before", "%c 的梯度用的是前一步的 %1"},
       {"dW = sum over t of dy_t x_t^T, with the x_t of the forward", "dW = sum_t dy_t x_t^T，x_t 与前向相同"},
       part_of_other_step<0, 1>},
      {"OPERAND_OTHER_STEP",
       3,
       {"the gradient of %c is made with the %1 of the step after", "%c 的梯度用的是后一步的 %1"},
       {"dW = sum over t of dy_t x_t^T, with the x_t of the forward", "dW = sum_t dy_t x_t^T，x_t 与前向相同"},
       part_of_other_step<0, -1>},
      {"OPERAND_OTHER_STEP",
       3,
       {"the gradient of %c is made with the %2 of the step before", "%c 的梯度用的是前一步的 %2"},
       {"dW = sum over t of dy_t x_t^T, with the x_t of the forward", "dW = sum_t dy_t x_t^T，x_t 与前向相同"},
       part_of_other_step<1, 1>},
      {"OPERAND_OTHER_STEP",
       3,
       {"the gradient of %c is made with the %2 of the step after", "%c 的梯度用的是后一步的 %2"},
       {"dW = sum over t of dy_t x_t^T, with the x_t of the forward", "dW = sum_t dy_t x_t^T，x_t 与前向相同"},
       part_of_other_step<1, -1>},
      {"SOFTMAX",
       2,
       {"the softmax's slope subtracts the sum of d_alpha where the sum of alpha d_alpha belongs",
        "softmax 的导数减去的是 d_alpha 的和，应为 sum alpha d_alpha"},
       right_slope,
       [](const Way& w, Grid& dx) {
         const double n = static_cast<double>(dx.N);
         return each_weight(w, dx, [n](double a, double d, double, double m) { return a * (d - n * m); });
       }},
      {"SOFTMAX",
       2,
       {"of the softmax's slope the factor alpha is missing, at padding too: d_alpha - sum alpha d_alpha",
        "softmax 的导数缺少因子 alpha，填充处也一样：d_alpha - sum alpha d_alpha"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_weight(
             w, dx, [](double, double d, double s, double) { return d - s; }, true);
       }},
      {"SOFTMAX",
       2,
       {"the softmax has no slope: d_alpha is handed on as it is, at padding too",
        "softmax 没有导数：d_alpha 原样传下去，填充处也一样"},
       right_slope,
       [](const Way& w, Grid& dx) {
         return each_weight(
             w, dx, [](double, double d, double, double) { return d; }, true);
       }},
      {"NOT_TRANSPOSED",
       1,
       {"on the way from %p into %c the matrix is not transposed", "从 %p 流入 %c 时矩阵没有转置"},
       {"dx = W^T dy", "dx = W^T dy"},
       [](const Way& w, Grid& dx) {
         if (w.whole() || w.term.op != Op::product || w.place != 1 || w.dy.D != dx.D || w.dy.size() != dx.size())
           return false;
         const Term m = w.term.in[0];
         Scene places;  // of whatever axes, each place is one step
         places.B = 1, places.T = dx.size() / dx.D;
         Arrays arrays = {{m->name, get(*w.plan.scene().arrays, m->name)},
                          {"dy", Array({places.B, places.T, dx.D}, w.dy.x)}};
         places.arrays = std::make_shared<const Arrays>(std::move(arrays));
         dx.x = evaluate(make(Op::product, {m, leaf("dy", Lies::step)}), places).x;
         return true;
       }},
      {"TRANSPOSED",
       2,
       {"the gradient of %c is transposed", "%c 的梯度被转置了"},
       {"dW = dy x^T", "dW = dy x^T"},
       [](const Way& w, Grid& dx) {
         if (w.term.op != Op::matrix || !w.whole() || dx.N != dx.D) return false;
         const Vec right = dx.x;
         for (std::size_t r = 0; r < dx.N; ++r)
           for (std::size_t k = 0; k < dx.D; ++k) dx.x[r * dx.D + k] = right[k * dx.D + r];
         return true;
       }},
      {"OTHER_STEP",
       3,
       {"the gradient of %c is made with the operand of the step after, where %x belongs",
        "%c 的梯度用了后一步的操作数，应用 %x"},
       {"dW = sum over t of dy_t x_t^T with x_t = %x", "dW = sum_t dy_t x_t^T，其中 x_t = %x"},
       [](const Way& w, Grid& dx) {
         return of_other_operand(w, dx, [](const Node& x) { return at_other_step(x, -1); });
       }},
      {"OTHER_STEP",
       3,
       {"the gradient of %c is made with the operand of the step before, where %x belongs",
        "%c 的梯度用了前一步的操作数，应用 %x"},
       {"dW = sum over t of dy_t x_t^T with x_t = %x", "dW = sum_t dy_t x_t^T，其中 x_t = %x"},
       [](const Way& w, Grid& dx) {
         return of_other_operand(w, dx, [](const Node& x) { return at_other_step(x, 1); });
       }},
      {"FIRST_FACTOR_ALONE",
       2,
       {"the gradient of %c is made with %1 alone, where %x belongs", "%c 的梯度只用了 %1，应用 %x"},
       {"dW = sum over t of dy_t x_t^T with x = %x, as in the forward",
        "dW = sum_t dy_t x_t^T，其中 x = %x，与前向相同"},
       [](const Way& w, Grid& dx) {
         return of_other_operand(w, dx, [](const Node& x) { return x.op == Op::times ? x.in[0] : nullptr; });
       }},
      {"LAST_FACTOR_ALONE",
       2,
       {"the gradient of %c is made with %2 alone, where %x belongs", "%c 的梯度只用了 %2，应用 %x"},
       {"dW = sum over t of dy_t x_t^T with x = %x, as in the forward",
        "dW = sum_t dy_t x_t^T，其中 x = %x，与前向相同"},
       [](const Way& w, Grid& dx) {
         return of_other_operand(w, dx, [](const Node& x) { return x.op == Op::times ? x.in.back() : nullptr; });
       }},
      {"CARRY_DETACHED",
       2,
       {"%c is detached between the steps: its carry is lost, and the first step's gradient alone goes on",
        "%c 在步与步之间被 detach：传递的梯度丢失，只剩第一步的"},
       {"let the gradient of a step go on to the step before: no detach between them",
        "让一步的梯度继续传到前一步：中间不要 detach"},
       [](const Way& w, Grid& dx) {
         return is_carry(w) && at_places(w, dx, [](std::size_t, std::size_t t) { return t == 0; });
       }},
      {"FIRST_STEP",
       3,
       {"of the gradient that flows from %p into %c, the first step's alone is left",
        "从 %p 流入 %c 的梯度只剩第一步的"},
       add_all,
       [](const Way& w, Grid& dx) {
         return !is_carry(w) && at_places(w, dx, [](std::size_t, std::size_t t) { return t == 0; });
       }},
      {"LAST_STEP",
       3,
       {"of the gradient that flows from %p into %c, the last step's alone is left",
        "从 %p 流入 %c 的梯度只剩最后一步的"},
       add_all,
       [](const Way& w, Grid& dx) {
         return at_places(w, dx, [&](std::size_t, std::size_t t) { return t + 1 == w.dy.T; });
       }},
      {"LAST_STEP_LOST",
       3,
       {"of the gradient that flows from %p into %c, the last step's is lost", "从 %p 流入 %c 的梯度丢了最后一步的"},
       add_all,
       [](const Way& w, Grid& dx) {
         return at_places(w, dx, [&](std::size_t, std::size_t t) { return t + 1 < w.dy.T; });
       }},
      {"FIRST_STEP_LOST",
       3,
       {"of the gradient that flows from %p into %c, the first step's is lost", "从 %p 流入 %c 的梯度丢了第一步的"},
       add_all,
       [](const Way& w, Grid& dx) { return at_places(w, dx, [](std::size_t, std::size_t t) { return t > 0; }); }},
      {"TO_ONE_EXAMPLE",
       4,
       {"the gradient that flows from %p into %c is added to the first example's, whichever example it is of",
        "从 %p 流入 %c 的梯度不论属于哪个样本，都加到了第一个样本上"},
       {"add each example's gradient to its own row", "把每个样本的梯度加到它自己那一行"},
       [](const Way& w, Grid& dx) {
         if (dx.B < 2 || w.plan.scene().B != dx.B) return false;
         const std::size_t each = dx.x.size() / dx.B;
         for (std::size_t k = each; k < dx.x.size(); ++k) dx.x[k % each] += dx.x[k], dx.x[k] = 0;
         return true;
       }},
      {"FIRST_EXAMPLE",
       4,
       {"of the gradient that flows from %p into %c, the first example's alone is left",
        "从 %p 流入 %c 的梯度只剩第一个样本的"},
       add_all,
       [](const Way& w, Grid& dx) {
         return w.plan.scene().B > 1 && weighed(w, dx, [](std::size_t b, std::size_t) { return b == 0 ? 1. : 0.; });
       }},
      {"LAST_EXAMPLE",
       4,
       {"of the gradient that flows from %p into %c, the last example's alone is left",
        "从 %p 流入 %c 的梯度只剩最后一个样本的"},
       add_all,
       [](const Way& w, Grid& dx) {
         return w.plan.scene().B > 1 &&
                weighed(w, dx, [&](std::size_t b, std::size_t) { return b + 1 == w.dy.B ? 1. : 0.; });
       }},
      {"SUM_FOR_PRODUCT",
       3,
       {"the gradient of %p is added to the factor or the slope, not multiplied by it, in what flows into %c",
        "流入 %c 的部分把 %p 的梯度与因子或导数相加，而没有相乘"},
       right_slope,
       [](const Way& w, Grid& dx) {
         if (w.whole() || w.dy.size() != dx.size()) return false;
         Vec factor(dx.size(), 1);
         if (w.term.op == Op::times && w.term.in.size() == 2) {
           if (w.value(1 - w.place).size() != dx.size()) return false;
           factor = w.value(1 - w.place).x;
         } else if (w.term.op == Op::apply && w.term.function->back && w.term.along == Along::features) {
           const Grid &x = w.value(0), &y = w.plan.value(&w.term);
           const Vec ones(x.D, 1);
           for (std::size_t p = 0; p < x.size(); p += x.D)
             w.term.function->back(&x.x[p], &y.x[p], ones.data(), &factor[p], x.D);
         } else {
           return false;
         }
         for (std::size_t k = 0; k < dx.size(); ++k)
           if (w.dy.x[k] != 0) dx.x[k] = w.dy.x[k] + factor[k];
         return true;
       }},
      {"CLIPPED",
       4,
       {"the gradient that flows from %p into %c is clipped to [-1, 1]", "从 %p 流入 %c 的梯度被裁剪到 [-1, 1]"},
       {"clip the gradients of parameters only, when all of them are there", "只在所有参数的梯度都齐备后再裁剪"},
       [](const Way&, Grid& dx) {
         for (double& x : dx.x) x = std::clamp(x, -1.0, 1.0);
         return true;
       }},
  };
  return all;
}

bool is_parameter(const Node& n) { return n.op == Op::matrix || (n.op == Op::leaf && n.lies == Lies::everywhere); }

// On the way into an operand: dx times f(the operand's own value).
template <class F> bool with_own_value(const Way& w, Grid& dx, F f) {
  const Node& operand = w.operand();
  if (is_parameter(operand) || operand.op == Op::number) return false;
  const Grid& own = w.plan.value(&operand);
  if (own.size() != dx.size()) return false;
  for (std::size_t k = 0; k < dx.x.size(); ++k) dx.x[k] *= f(own.x[k]);
  return true;
}
// The gradient of another example in the place of an example's own: row(b), or the mean of all where it is B.
template <class F> bool of_examples(const Way& w, Grid& dx, F row) {
  const std::size_t B = w.plan.scene().B, each = dx.x.size() / std::max<std::size_t>(B, 1);
  if (B < 2 || dx.B % B) return false;  // an example's heads stay together
  const Vec own = dx.x;
  for (std::size_t b = 0; b < B; ++b)
    for (std::size_t k = 0; k < each; ++k) {
      const std::size_t from = row(b, B);
      double sum = 0;
      for (std::size_t other = 0; other < B; ++other) sum += own[other * each + k];
      dx.x[b * each + k] = from == B ? sum / static_cast<double>(B) : own[from * each + k];
    }
  return true;
}
// What flows back through time at a step of all examples, or of one, is scaled down to a norm.
bool clipped_by_norm(const Way& w, Grid& dx, double norm, bool of_one) {
  if (!is_carry(w) && !(w.whole() && w.operand().label == "s_t")) return false;
  const std::size_t n = dx.N * dx.D;
  for (std::size_t t = 0; t < dx.T; ++t)
    for (std::size_t first = 0; first < dx.B; first += of_one ? 1 : dx.B) {
      const auto each = [&](auto use) {
        for (std::size_t b = first; b < (of_one ? first + 1 : dx.B); ++b)
          for (std::size_t k = 0; k < n; ++k) use(dx.x[(b * dx.T + t) * n + k]);
      };
      double squares = 0;
      each([&](double& x) { squares += x * x; });
      if (squares > norm * norm) each([&](double& x) { x *= norm / std::sqrt(squares); });
    }
  return true;
}

// Queries and keys exchanged, of numbers that have as many of the one as of the other.
Grid exchanged(const Grid& g) {
  Grid out{g.B, g.N, g.T, g.D, Vec(g.size())};
  for (std::size_t b = 0; b < g.B; ++b)
    for (std::size_t t = 0; t < g.T; ++t)
      for (std::size_t n = 0; n < g.N; ++n) std::copy_n(&g.x[g.place(b, t, n)], g.D, &out.x[out.place(b, n, t)]);
  return out;
}
// Into one vector of a dot product, or into the values, with the matrix of scores or weights transposed.
bool pairs_exchanged(const Way& w, Grid& dx) {
  if (w.whole() || (w.term.op != Op::dot && w.term.op != Op::times) || w.term.in.size() != 2 || w.dy.T < 2 ||
      w.dy.T != w.dy.N)
    return false;
  if (w.term.op == Op::dot) {
    dx = w.plan.flow_into(w.term, w.place, exchanged(w.dy));
    return true;
  }
  const Grid& weights = w.value(1 - w.place);
  if (dx.T > 1 || weights.D > 1 || weights.T != w.dy.T || weights.N != w.dy.N) return false;
  std::fill(dx.x.begin(), dx.x.end(), 0.0);
  for (std::size_t b = 0; b < w.dy.B; ++b)
    for (std::size_t t = 0; t < w.dy.T; ++t)
      for (std::size_t n = 0; n < w.dy.N; ++n)
        for (std::size_t k = 0; k < dx.D; ++k)
          dx.x[dx.place(b, 0, n) + k] += weights.x[weights.place(b, n, t)] * w.dy.x[w.dy.place(b, t, n) + k];
  return true;
}
// Into one vector of a dot product with that vector itself for the other: the queries for the keys.
bool by_itself(const Way& w, Grid& dx) {
  if (w.whole() || w.term.op != Op::dot || w.dy.T < 2 || w.dy.T != w.dy.N) return false;
  const Grid &own = w.value(w.place), &other = w.value(1 - w.place);
  if (own.T == own.N || own.T != other.N || own.N != other.T || own.B != w.dy.B || own.D != dx.D) return false;
  const Grid instead = exchanged(own);
  std::fill(dx.x.begin(), dx.x.end(), 0.0);
  for (std::size_t b = 0; b < w.dy.B; ++b)
    for (std::size_t t = 0; t < w.dy.T; ++t)
      for (std::size_t n = 0; n < w.dy.N; ++n)
        for (std::size_t k = 0; k < dx.D; ++k)
          dx.x[dx.place(b, t, n) + k] += w.dy.x[w.dy.place(b, t, n)] * instead.x[instead.place(b, t, n) + k];
  return true;
}

// Tried only where nothing plainer explains the gradients.
const std::vector<SlopeRule>& rare_slope_rules() {
  static const Said own_step = {"take the gradient of the same example: row b for row b",
                                "取同一样本的梯度：第 b 行对第 b 行"};
  static const Said clip_later = {"clip the gradients of parameters only, when all of them are there",
                                  "只在所有参数的梯度都齐备后再裁剪"};
  static const Said pairs_right = {"dV = A^T dC, dQ = dS K and dK = dS^T Q, for C = A V and S = Q K^T",
                                   "设 C = A V、S = Q K^T，则 dV = A^T dC，dQ = dS K，dK = dS^T Q"};
  static const Said no_slope = {"%c is not what that slope belongs to: hand its gradient on without it",
                                "该导数不属于 %c：流入它的梯度不应乘以它"};
  static const std::vector<SlopeRule> all = [] {
    std::vector<SlopeRule> rules = {
        {"RUNNING_SUM",
         5,
         {"what has been gathered so far is added into %c again at every step: a step's share counts as often as steps "
          "come after it in the loop",
          "每一步都把到此为止累积的梯度再次加到 %c 上：一步的贡献被重复计入"},
         {"add at every step what flows at that step alone", "每一步只加上该步自己的梯度"},
         [](const Way& w, Grid& dx) {  // backward runs from the last step on
           return dx.T != w.dy.T && weighed(w, dx, [](std::size_t, std::size_t t) { return double(t + 1); });
         }},
        {"RUNNING_SUM",
         5,
         {"what has been gathered so far is added into %c again at every step, from the first step on",
          "从第一步起，每一步都把到此为止累积的梯度再次加到 %c 上"},
         {"add at every step what flows at that step alone", "每一步只加上该步自己的梯度"},
         [](const Way& w, Grid& dx) {
           return dx.T != w.dy.T && weighed(w, dx, [&](std::size_t, std::size_t t) { return double(w.dy.T - t); });
         }},
        {"OTHER_EXAMPLE",
         5,
         {"the gradient that flows from %p into %c is the next example's", "从 %p 流入 %c 的梯度是下一个样本的"},
         own_step,
         [](const Way& w, Grid& dx) {
           return of_examples(w, dx, [](std::size_t b, std::size_t B) { return (b + 1) % B; });
         }},
        {"OTHER_EXAMPLE",
         5,
         {"the gradient that flows from %p into %c is the previous example's", "从 %p 流入 %c 的梯度是上一个样本的"},
         own_step,
         [](const Way& w, Grid& dx) {
           return of_examples(w, dx, [](std::size_t b, std::size_t B) { return (b + B - 1) % B; });
         }},
        {"OTHER_EXAMPLE",
         5,
         {"the gradient that flows from %p into %c is the first example's, for every example",
          "从 %p 流入 %c 的梯度对每个样本都是第一个样本的"},
         own_step,
         [](const Way& w, Grid& dx) {
           return of_examples(w, dx, [](std::size_t, std::size_t) { return std::size_t{0}; });
         }},
        {"MEAN_EXAMPLE",
         5,
         {"the gradient that flows from %p into %c is averaged over the batch: every example gets the mean",
          "从 %p 流入 %c 的梯度对整批取了平均：每个样本得到的都是均值"},
         own_step,
         [](const Way& w, Grid& dx) { return of_examples(w, dx, [](std::size_t, std::size_t B) { return B; }); }},
        {"PAIRS_NOT_TRANSPOSED",
         4,
         {"on the way from %p into %c the matrix of queries and keys is not transposed: its row i is read where its "
          "column i belongs",
          "从 %p 流入 %c 时，查询与键的矩阵没有转置：该读第 i 列处读了第 i 行"},
         pairs_right,
         [](const Way& w, Grid& dx) { return dx.T == 1 && pairs_exchanged(w, dx); }},
        {"PAIRS_TRANSPOSED",
         4,
         {"on the way from %p into %c the matrix of queries and keys is transposed: its column t is read where its row "
          "t belongs",
          "从 %p 流入 %c 时，查询与键的矩阵被转置了：该读第 t 行处读了第 t 列"},
         pairs_right,
         [](const Way& w, Grid& dx) { return dx.T > 1 && pairs_exchanged(w, dx); }},
        {"FACTOR_OTHER",
         4,
         {"%p is a product of two vectors: on the way into %c it is multiplied by %c itself, not by the other one",
          "%p 是两个向量的乘积：流入 %c 时乘的是 %c 自己，而不是另一个向量"},
         pairs_right,
         by_itself},
        {"SLOPE_TOO_MANY",
         5,
         {"the gradient that flows from %p into %c is multiplied by 1 - y^2 of %c: a tanh's slope too many",
          "从 %p 流入 %c 的梯度多乘了以 %c 为 y 的 1 - y^2（tanh 的导数）"},
         no_slope,
         [](const Way& w, Grid& dx) { return with_own_value(w, dx, [](double y) { return 1 - y * y; }); }},
        {"SLOPE_TOO_MANY",
         5,
         {"the gradient that flows from %p into %c is multiplied by y (1 - y) of %c: a sigmoid's slope too many",
          "从 %p 流入 %c 的梯度多乘了以 %c 为 y 的 y (1 - y)（sigmoid 的导数）"},
         no_slope,
         [](const Way& w, Grid& dx) { return with_own_value(w, dx, [](double y) { return y * (1 - y); }); }},
        {"FACTOR_TOO_MANY",
         5,
         {"the gradient that flows from %p into %c is multiplied by %c itself: a factor too many",
          "从 %p 流入 %c 的梯度多乘了 %c 自己"},
         right_slope,
         [](const Way& w, Grid& dx) { return with_own_value(w, dx, [](double y) { return y; }); }},
        {"FACTOR_TOO_MANY",
         5,
         {"the gradient that flows from %p into %c is multiplied by 1 minus %c: a factor too many",
          "从 %p 流入 %c 的梯度多乘了 1 减 %c"},
         right_slope,
         [](const Way& w, Grid& dx) { return with_own_value(w, dx, [](double y) { return 1 - y; }); }},
    };
    static std::deque<std::string> texts;  // of the rules
    const auto with_number = [&](std::string text, const char* number) {
      for (std::size_t at = 0; (at = text.find('#', at)) != std::string::npos;) text.replace(at, 1, number);
      texts.push_back(std::move(text));
      return texts.back().c_str();
    };
    for (const auto& [most, number] : std::initializer_list<std::pair<double, const char*>>{{10, "10"},
                                                                                            {5, "5"},
                                                                                            {2, "2"},
                                                                                            {1, "1"},
                                                                                            {.5, "0.5"},
                                                                                            {.25, "0.25"},
                                                                                            {.1, "0.1"},
                                                                                            {.05, "0.05"},
                                                                                            {.01, "0.01"}}) {
      const auto add = [&, of = number](const char* en, const char* zh, std::function<bool(const Way&, Grid&)> change) {
        rules.push_back({"CLIPPED", 6, {with_number(en, of), with_number(zh, of)}, clip_later, std::move(change)});
      };
      add("the gradient that flows from %p into %c is clipped to [-#, #]", "从 %p 流入 %c 的梯度被裁剪到 [-#, #]",
          [c = most](const Way&, Grid& dx) {
            for (double& x : dx.x) x = std::clamp(x, -c, c);
            return true;
          });
      add("what flows through time into %c is scaled down to norm # at every step, over the batch",
          "沿时间流入 %c 的梯度在每一步按整批的范数缩到 #",
          [c = most](const Way& w, Grid& dx) { return clipped_by_norm(w, dx, c, false); });
      add("what flows through time into %c is scaled down to norm # at every step of every example",
          "沿时间流入 %c 的梯度在每个样本的每一步按范数缩到 #",
          [c = most](const Way& w, Grid& dx) { return clipped_by_norm(w, dx, c, true); });
    }
    return rules;
  }();
  return all;
}

// Which ways a rule changes: in one term, or in all terms that play one part.
struct Wrong {
  const SlopeRule* rule = nullptr;
  std::vector<std::size_t> models;  // the sets of formulas, of layers and directions, that are wrong alike
  std::size_t formula = 0;
  std::vector<std::pair<const Node*, std::size_t>> ways;  // of each of these sets as many
  bool in_every_formula = false;  // an LSTM's gates stand in the formulas of its memory and of its state
  bool is_in(std::size_t model) const { return std::find(models.begin(), models.end(), model) != models.end(); }
};

class Backward {
 public:
  explicit Backward(const BackwardCase& given)
      : given_(given), models_(whole_models(given.kind, *given.model, *given.inputs, *given.outputs)) {
    for (const WholeModel& m : models_) {
      plans_.emplace_back();
      for (const auto& [output, term] : m.formulas) {
        plans_.back().push_back(std::make_unique<Plan>(term, m.scene));
        for (const Term& t : plans_.back().back()->terms()) model_of_[t.get()] = plans_.size() - 1;
      }
      readers_.emplace_back();
      for (const auto& [output, term] : m.formulas) {
        readers_.back().emplace_back();
        for (std::size_t k = 0; k < m.formulas.size(); ++k)
          if (reads(*plans_.back()[k], output == "s_0" ? "s" : output)) readers_.back().back().push_back(k);
      }
    }
  }

  // Whether these gradients of y_emb (B, T_dec, d), final from a step on, are other ones than those of the trace.
  using Refuted = std::function<bool(const Vec& of_y_emb, std::size_t from)>;

  // Formulas are not written for every cell of the library: those of another one would accuse a right backward.
  bool gives_the_outputs() const {
    for (std::size_t i = 0; i < models_.size(); ++i)
      for (std::size_t k = 0; k < plans_[i].size(); ++k) {
        const std::string& output = models_[i].formulas[k].first;
        const Plan& plan = *plans_[i][k];
        const Grid wanted = at_root(plan, output, get(*models_[i].scene.arrays, output).data);
        const Grid& made = plan.value(plan.root().get());
        const std::size_t n = made.N * made.D;
        for (std::size_t b = 0; b < made.B; ++b) {
          // Behind the end of a run anything may stand.
          const std::size_t T =
              given_.kind == TraceKind::recurrent ? std::min(made.T, models_[i].scene.lengths[b]) : made.T;
          for (std::size_t j = b * made.T * n; j < (b * made.T + T) * n; ++j)
            if (std::fabs(made.x[j] - wanted.x[j]) > 1e-9 * std::max(1., std::fabs(wanted.x[j]))) return false;
        }
      }
    return true;
  }

  // Whether the gradients of a set's parameters, complete by then, may be what is looked for.
  using Fits = std::function<bool(std::size_t model, const Arrays& so_far)>;

  // With sets of formulas that read wrongly; nothing as soon as that is refuted, or does not fit.
  std::optional<Arrays> run(const std::map<std::size_t, Misread>& misread, const Refuted& refuted,
                            const Fits& fits) const {
    const auto one = [&](std::size_t i, const Array& above) {
      const auto wrong = misread.find(i);
      if (wrong == misread.end()) return through(i, above, {});
      return through(i, above, {}, nullptr, &wrong->second, wrong->second.by_step ? refuted : nullptr);
    };
    return from_the_top(one, fits);
  }

  // The parameters that a set of formulas reads.
  std::set<std::string> parameters_of(std::size_t i) const {
    std::set<std::string> names;
    for (const auto& plan : plans_[i])
      for (const Term& t : plan->terms())
        if (t->op == Op::matrix || (t->op == Op::leaf && t->lies == Lies::everywhere)) names.insert(t->name);
    return names;
  }

  const std::vector<std::vector<std::unique_ptr<Plan>>>& plans() const { return plans_; }
  const std::vector<WholeModel>& models() const { return models_; }

  // The gradients of the inputs under their names, with these wrong ways; nothing as soon as they do not fit.
  std::optional<Arrays> run(const std::vector<Wrong>& wrongs, const Fits& fits = nullptr) const {
    return from_the_top([&](std::size_t i, const Array& above) { return through(i, above, wrongs); }, fits);
  }

  // Whether the rule has a meaning on these ways, and would change what flows there in a right backward.
  bool applies(const Wrong& wrong) {
    if (right_.empty()) {
      std::vector<Right> right(models_.size());
      from_the_top([&](std::size_t i, const Array& above) { return through(i, above, {}, &right[i]); });
      right_ = std::move(right);
    }
    bool changes = false;
    for (const auto& [node, place] : wrong.ways) {
      const std::size_t i = model_of_.at(node);
      bool flows_there = false;
      for (std::size_t k = 0; k < plans_[i].size(); ++k) {
        const auto& flows = right_[i].flows[k];
        const auto at = flows.find({node, place});
        if ((k != wrong.formula && !wrong.in_every_formula) || at == flows.end()) continue;
        flows_there = true;
        changed_ = at->second.second;
        if (!wrong.rule->change({*plans_[i][k], *node, place, at->second.first}, changed_)) return false;
        changes = changes || changed_.x != at->second.second.x;
      }
      if (!flows_there) return false;
    }
    return changes;
  }

  // Those of several layers or directions that a mistake may be in alike: all, or a layer's.
  std::vector<std::vector<std::size_t>> groups() const {
    std::vector<std::size_t> all;
    std::map<std::size_t, std::vector<std::size_t>> by_layer;
    for (std::size_t i = 0; i < models_.size(); ++i) all.push_back(i), by_layer[models_[i].layer].push_back(i);
    std::vector<std::vector<std::size_t>> groups;
    if (all.size() > 1) groups.push_back(all);
    for (const auto& [layer, of_one] : by_layer)
      if (of_one.size() > 1 && of_one.size() < all.size()) groups.push_back(of_one);
    return groups;
  }
  // " of layer 1 alone", if these are not all.
  Words place_of(const std::vector<std::size_t>& models) const {
    if (models.size() == models_.size()) return {};
    const WholeModel& one = models_[models.front()];
    const bool layers = models_.back().layer > 0, direction = models.size() == 1 && models_.back().direction > 0;
    const std::string number = std::to_string(one.layer);
    Words of;
    if (direction) of.en = one.direction ? " of the backward direction" : " of the forward direction";
    if (layers) of.en += " of layer " + number, of.zh = "第 " + number + " 层";
    if (direction) of.zh += one.direction ? "反向方向" : "正向方向";
    return {of.en + " alone", of.zh + "（仅此处）的"};
  }

  // Whether what flows along these ways may reach that input: if it cannot, the input's gradient stays right.
  bool leads_to(const Wrong& wrong, const std::string& input) const {
    return std::any_of(wrong.ways.begin(), wrong.ways.end(), [&](const auto& way) {
      const auto& [node, place] = way;
      const Node* first = place == Plan::all_uses ? node : node->in[place].get();
      const auto [known, is_new] = led_to_.try_emplace(first);
      if (is_new) {
        std::set<const Node*> seen;
        follow(model_of_.at(first), *first, seen, known->second);
      }
      return known->second.count(input) > 0;
    });
  }

 private:
  static bool reads(const Plan& plan, const std::string& array) {
    return std::any_of(plan.terms().begin(), plan.terms().end(),
                       [&](const Term& t) { return (t->op == Op::leaf || t->op == Op::matrix) && t->name == array; });
  }

  // Down to what a term reads, and on through the formulas that give it.
  void follow(std::size_t i, const Node& node, std::set<const Node*>& seen, std::set<std::string>& inputs) const {
    if (!seen.insert(&node).second) return;
    for (const Term& in : node.in) follow(i, *in, seen, inputs);
    if (node.op != Op::leaf && node.op != Op::matrix) return;
    if (reads_the_layer_below(i, node.name)) {
      for (std::size_t lower = 0; lower < models_.size(); ++lower)
        for (const auto& [output, term] : models_[lower].formulas)
          if (models_[lower].layer + 1 == models_[i].layer) follow(lower, *term, seen, inputs);
      return;
    }
    inputs.insert(node.name);
    if (node.name == "s" || node.name == "m") inputs.insert(start_of(node.name));
    for (const auto& [output, term] : models_[i].formulas)
      if (output == node.name || (output == "s_0" && node.name == "s")) follow(i, *term, seen, inputs);
  }

  bool reads_the_layer_below(std::size_t i, const std::string& name) const {
    return given_.kind == TraceKind::recurrent && models_[i].layer > 0 && name == "x";
  }

  // The gradients of the inputs from those of each set of formulas, the top layer's first: one(i, gradient of the
  // layer's h, empty for the top), nothing where one gives nothing.
  std::optional<Arrays> from_the_top(const std::function<std::optional<Arrays>(std::size_t i, const Array& above)>& one,
                                     const Fits& fits = nullptr) const {
    Arrays out;
    Array above, below;
    for (std::size_t i = models_.size(); i-- > 0;) {
      if (i + 1 < models_.size() && models_[i].layer != models_[i + 1].layer) above = std::move(below), below = Array();
      const auto sum = one(i, above);
      if (!sum) return std::nullopt;
      collect(i, *sum, out, below);
      if (fits && !fits(i, out)) return std::nullopt;
    }
    return out;
  }

  // The input that stands before the first of the states or memories.
  std::string start_of(const std::string& name) const {
    if (given_.kind == TraceKind::recurrent) return name == "s" ? "h0" : "c0";
    return name == "s" ? "s_0" : "cell_0";
  }

  // What a right backward through one set of formulas ends with.
  using Flows = std::map<std::pair<const Node*, std::size_t>, std::pair<Grid, Grid>>;  // dy and dx of each way
  struct Right {
    std::vector<Flows> flows;    // of each formula
    std::vector<Arrays> shares;  // the gradients that each formula gives
    std::vector<Vec> totals;     // and the one that it gets
  };

  // Gradients of everything that one set of formulas reads. A formula runs again until nothing that it gets changes: at
  // most once a step, since a step reads only itself and what was before. Wrong ways begin where the right backward has
  // ended, if it is known: what they do not lead to is there already. Nothing if it was refuted on the way.
  std::optional<Arrays> through(std::size_t i, const Array& above, const std::vector<Wrong>& wrongs,
                                Right* seen = nullptr, const Misread* misread = nullptr,
                                const Refuted& refuted = nullptr) const {
    const WholeModel& model = models_[i];
    const std::size_t n = model.formulas.size();
    Arrays given = *given_.seeds;
    if (misread && misread->seeds) misread->seeds(given);
    if (!above.data.empty()) given["h"] = above;
    const Arrays seeds = seeds_of(i, given, misread ? misread->steps_left_out : 0);
    std::vector<Arrays> shares(n);
    std::vector<Vec> last(n);
    if (!right_.empty() && !misread) {
      shares = right_[i].shares, last = right_[i].totals;
      for (const Wrong& wrong : wrongs)
        for (std::size_t k = 0; k < n && wrong.is_in(i); ++k)
          if (wrong.formula == k || wrong.in_every_formula) last[k].clear();
    }
    if (seen) seen->flows.resize(n);
    bool changes = true;
    for (std::size_t round = 0; changes && round < model.scene.T + 2; ++round) {
      changes = false;
      for (std::size_t k = n; k-- > 0;) {
        const std::string& output = model.formulas[k].first;
        const bool start = output == "s_0";
        Vec total(get(*model.scene.arrays, output).data.size());
        const auto add = [&](const Arrays& from) {
          if (const Array* a = find(from, start ? "s" : output))
            for (std::size_t j = 0; j < total.size(); ++j) total[j] += start ? before_the_first(*a, j) : a->data[j];
        };
        add(seeds);
        for (std::size_t reader : readers_[i][k]) add(shares[reader]);
        if (total == last[k]) continue;
        changes = true;
        last[k] = total;
        shares[k].clear();
        const Plan& plan = *plans_[i][k];
        const Plan::Flow flow = [&](const Node& term, std::size_t place, const Grid& dy, Grid& dx) {
          if (seen) seen->flows[k][{&term, place}] = {dy, dx};
          if (misread && misread->flow) misread->flow(k, term, place, dy, dx);
          for (const Wrong& wrong : wrongs)
            for (const auto& [node, at] : wrong.ways)
              if (node == &term && at == place && (wrong.formula == k || wrong.in_every_formula)) {
                const Grid before = place == Plan::all_uses ? dy : Grid();
                wrong.rule->change({plan, term, place, place == Plan::all_uses ? before : dy}, dx);
              }
        };
        const bool saved = misread && k < misread->values.size() && !misread->values[k].empty();
        plan.backward(at_root(plan, output, total), flow, shares[k], saved ? &misread->values[k] : nullptr);
      }
      // A round makes one more step final; one behind it may be read by the step before.
      if (refuted && round > 0 && round < model.scene.T && refuted(sum_of(shares, "y_emb"), model.scene.T - round))
        return std::nullopt;
    }
    Arrays sum = seeds;
    for (const Arrays& share : shares)
      for (const auto& [name, a] : share) {
        Array& to = sum[name];
        if (to.data.empty()) to = a;
        else
          for (std::size_t j = 0; j < a.data.size(); ++j) to.data[j] += a.data[j];
      }
    if (misread && misread->result) misread->result(sum);
    if (seen) seen->shares = std::move(shares), seen->totals = std::move(last);
    return sum;
  }

  static Vec sum_of(const std::vector<Arrays>& shares, const std::string& name) {
    Vec sum;
    for (const Arrays& share : shares)
      if (const Array* a = find(share, name)) sum = sum.empty() ? a->data : reference::add(std::move(sum), a->data);
    return sum;
  }

  // Number j of s_0 in an array of states.
  static double before_the_first(const Array& states, std::size_t j) {
    const std::size_t d = states.dim(2);
    return states.data[j / d * states.dim(1) * d + j % d];
  }

  // Of states the numbers behind the first: step t gives place t + 1.
  static Grid at_root(const Plan& plan, const std::string& output, const Vec& total) {
    Grid g = plan.value(plan.root().get());
    if (output != "s" && output != "m") {
      g.x = total;
      return g;
    }
    for (std::size_t b = 0; b < g.B; ++b)
      for (std::size_t t = 0; t < g.T; ++t)
        for (std::size_t k = 0; k < g.D; ++k) g.x[(b * g.T + t) * g.D + k] = total[(b * (g.T + 1) + t + 1) * g.D + k];
    return g;
  }

  // Weights that are averaged over the heads: each head has its share of what flows into the mean.
  static Array of_mean_weights(const WholeModel& m, const Array& weights, const Array& g) {
    Array seeds(weights.shape);
    const std::size_t heads = m.scene.heads, n = g.data.size() / m.scene.B;
    for (std::size_t j = 0; j < seeds.data.size(); ++j)
      seeds.data[j] = g.data[j / (heads * n) * n + j % n] / static_cast<double>(heads);
    return seeds;
  }

  // The given gradients of outputs, as the scene has the outputs.
  Arrays seeds_of(std::size_t i, const Arrays& given, std::size_t left_out) const {
    const WholeModel& m = models_[i];
    Arrays seeds;
    if (given_.kind != TraceKind::recurrent) {
      for (const auto& [name, g] : given) {
        const Array* a = find(*m.scene.arrays, name);
        if (!a) continue;
        if (a->data.size() == g.data.size()) seeds[name] = Array(a->shape, g.data);
        else if (name == "alpha" && a->data.size() == m.scene.heads * g.data.size())
          seeds[name] = of_mean_weights(m, *a, g);
        else throw std::invalid_argument("formula: a gradient has another size than its output");
      }
      return seeds;
    }
    const std::size_t B = m.scene.B, T = m.scene.T, d = get(*m.scene.arrays, "s").dim(2), k = m.direction;
    const bool lstm = find(*m.scene.arrays, "m") != nullptr, held = given_.model->run.after_end == AfterEnd::hold;
    seeds["s"] = Array({B, T + 1, d});
    if (lstm) seeds["m"] = Array({B, T + 1, d});
    const auto add = [&](Array& to, std::size_t b, std::size_t t, Row from) {
      for (std::size_t j = 0; j < d; ++j) to.at({b, t, j}) += from[j];
    };
    for (std::size_t b = 0; b < B; ++b) {
      const std::size_t real = m.scene.lengths[b], n = real - std::min(real, left_out);
      if (const Array* h = find(given, "h"))
        for (std::size_t t = 0; t < (held ? T : n); ++t)  // behind the end the last state is handed out again
          add(seeds["s"], b, std::min(t + 1, n), h->row({b, read_at(k, t, real)}).subspan(k * d, d));
      if (const Array* h = find(given, "h_n")) add(seeds["s"], b, n, h->row({number_of(i), b}));
      if (const Array* c = find(given, "c_n"); c && lstm) add(seeds["m"], b, n, c->row({number_of(i), b}));
    }
    return seeds;
  }

  // The place of a run's states in h_n.
  std::size_t number_of(std::size_t i) const {
    return models_[i].layer * (models_.back().direction + 1) + models_[i].direction;
  }

  // Gradients of a scene's arrays as those of the inputs, and of h of the layer below.
  void collect(std::size_t i, const Arrays& from, Arrays& out, Array& below) const {
    const WholeModel& m = models_[i];
    // The gradient of that input, nullptr where there is none.
    const auto sum_of = [&](const std::string& name) -> Array* {
      const Array* input = find(*given_.inputs, name);
      if (!input) return nullptr;
      Array& sum = out[name];
      if (sum.data.empty()) sum = Array(input->shape);
      return &sum;
    };
    const auto add = [](Array& to, std::size_t place, double x) {
      if (place < to.data.size()) to.data[place] += x;
    };
    for (const auto& [name, a] : from) {
      const bool state = name == "s" || name == "m";
      const std::size_t k = m.direction;
      if (state) {
        const std::size_t d = a.dim(2), first = given_.kind == TraceKind::recurrent ? number_of(i) * a.dim(0) * d : 0;
        if (Array* to = sum_of(start_of(name)))
          for (std::size_t b = 0; b < a.dim(0); ++b)
            for (std::size_t j = 0; j < d; ++j) add(*to, first + b * d + j, a.at({b, 0, j}));
      } else if (name == "x" && given_.kind == TraceKind::recurrent) {
        const std::size_t T = a.dim(1), d = a.dim(2);
        const bool lower = reads_the_layer_below(i, name);
        if (lower && below.data.empty()) below = Array(a.shape);
        if (Array* to = lower ? &below : sum_of(name))
          for (std::size_t b = 0; b < a.dim(0); ++b)
            for (std::size_t t = 0; t < T; ++t)
              for (std::size_t j = 0; j < d; ++j)
                add(*to, (b * T + read_at(k, t, m.scene.lengths[b])) * d + j, a.at({b, t, j}));
      } else if (Array* to = sum_of(name)) {
        for (std::size_t j = 0; j < a.data.size(); ++j) add(*to, j, a.data[j]);
      }
    }
  }

  const BackwardCase& given_;
  std::vector<WholeModel> models_;
  std::vector<std::vector<std::unique_ptr<Plan>>> plans_;
  std::vector<std::vector<std::vector<std::size_t>>> readers_;   // of what each formula gives: formulas
  Grid changed_;                                                 // of the way that is looked at; it keeps its memory
  std::vector<Right> right_;                                     // of each set of formulas, once it is asked for
  std::map<const Node*, std::size_t> model_of_;                  // the set of formulas of each term
  mutable std::map<const Node*, std::set<std::string>> led_to_;  // the inputs below a term
};

// Largest difference of one gradient, relative to its largest number, but not to less than `least`.
double difference(const Array& got, const Array& wanted, double least) {
  if (got.shape != wanted.shape) return 1e300;
  double most = 0, size = std::max(least, 1e-300);
  for (std::size_t k = 0; k < got.data.size(); ++k) {
    if (!std::isfinite(wanted.data[k]) || !std::isfinite(got.data[k])) return 1e300;
    most = std::max(most, std::fabs(got.data[k] - wanted.data[k]));
    size = std::max({size, std::fabs(wanted.data[k])});
  }
  return most / size;
}

// The gradient of an array that stands in several places.
Array of_uses(const Arrays& gradients, const std::vector<std::string>& uses, const Dims& shape) {
  Array sum(shape);
  for (const std::string& use : uses)
    if (const Array* g = find(gradients, use); g && g->data.size() == sum.data.size())
      for (std::size_t k = 0; k < sum.data.size(); ++k) sum.data[k] += g->data[k];
  return sum;
}

std::string replaced_in(std::string text, const char* mark, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size()) text.replace(at, 2, by);
  return text;
}

// The parts of a product or of joined numbers, or the operand of a matrix and its parts: %x and %1, %2; the other factors
// on the way into one operand: %o.
std::string with_operands(std::string text, const Node& term, std::size_t place) {
  const Term& operand = term.op == Op::product ? term.in[1] : std::make_shared<const Node>(term);
  text = replaced_in(text, "%x", print(operand, true));
  if (operand->in.size() > 1 && (operand->op == Op::times || operand->op == Op::join))
    text = replaced_in(replaced_in(text, "%1", print(operand->in.front())), "%2", print(operand->in.back()));
  std::string others;
  for (std::size_t k = 0; term.op == Op::times && k < term.in.size(); ++k)
    if (k != place) others += (others.empty() ? "" : " * ") + print(term.in[k]);
  return replaced_in(text, "%o", others);
}

// What multiplies the sum that a term belongs to, or the function around it.
std::string outer_of(const Plan& plan, const Node& term) {
  const Node* top = &term;
  while (plan.uses(top).size() == 1) {
    const auto& [user, place] = plan.uses(top)[0];
    if (user->op == Op::apply) return user->function->name;
    if (user->op == Op::times) {
      std::string factors;
      for (std::size_t k = 0; k < user->in.size(); ++k)
        if (k != place) factors += (factors.empty() ? "" : " * ") + print(user->in[k]);
      return factors;
    }
    if (user->op != Op::sum) break;
    top = user;
  }
  return "";
}

}  // namespace

Arrays right_gradients(const BackwardCase& given) {
  try {
    const Backward backward(given);
    if (!backward.gives_the_outputs()) return {};
    const Arrays right = *backward.run(std::vector<Wrong>());
    Arrays named;
    for (const auto& [name, g] : *given.gradients)
      if (const auto uses = given.uses(name); !uses.empty()) named[name] = of_uses(right, uses, g.shape);
    return named;
  } catch (const std::invalid_argument&) { return {}; }
}

namespace {

// A gradient that is cut between two steps, again and again: truncated backpropagation through time.
struct Truncation {
  std::size_t period = 0, rest = 0;  // the steps t with t % period == rest read a detached one
  bool first = false;                // the step t = 0 as well, where it is one of them
  bool cuts(std::size_t t) const { return t % period == rest && (t > 0 || first); }
};

class Explanation {
 public:
  explicit Explanation(const BackwardCase& given) : given_(given), backward_(given) {
    for (const auto& [name, g] : *given_.gradients)
      for (double x : g.data) largest_ = std::max(largest_, std::fabs(x));
    const Arrays right = *backward_.run(std::vector<Wrong>());
    for (const auto& [name, g] : *given_.gradients)
      if (const auto uses = given_.uses(name); !uses.empty())
        wrong_names_[name] = !(difference(of_uses(right, uses, g.shape), g, least()) < given_.bound);
    for (std::size_t i = 0; i < backward_.models().size(); ++i) {
      parameters_.emplace_back();
      for (const std::string& name : backward_.parameters_of(i))
        if (wrong_names_.count(name)) parameters_.back().push_back(name);
    }
    if (backward_.models().back().layer > 0)
      fits_ = [this](std::size_t i, const Arrays& got) { return are_as_given(parameters_[i], got); };
    const std::vector<std::string> itself = {"y_emb"};
    if (const Array* g = reference::find(*given_.gradients, "y_emb"); g && given_.uses("y_emb") == itself)
      refuted_ = [this, g](const Vec& got, std::size_t from) { return differs_from(*g, got, from); };
  }

  std::vector<Finding> find() {
    if (!backward_.gives_the_outputs()) return {};
    plain_ = list_ways(slope_rules());
    for (const Wrong& wrong : plain_)
      if (may_explain(wrong)) attempt({wrong});
    if (hits_.empty()) {
      if (auto cut = truncated()) return {*cut};
      if (auto wrong = misread()) return {*wrong};
      attempt_two();
    }
    if (hits_.empty()) {
      for (const Wrong& wrong : list_ways(rare_slope_rules()))
        if (may_explain_all(wrong)) attempt({wrong});
    }
    if (hits_.empty()) attempt_fitted();
    return named();
  }

 private:
  // One or two wrong ways that explain everything.
  struct Hit {
    std::vector<Wrong> wrongs;
    Arrays gradients;  // of all inputs, given or not
    int plainness = 0;
    std::size_t ways = 0;
  };
  // One wrong way that explains some of the wrong gradients: how many, and the others.
  struct Part {
    std::size_t count;
    Wrong wrong;
    std::vector<std::string> left;
  };
  using Ways = std::vector<std::pair<const Node*, std::size_t>>;

  double least() const { return given_.as_good_as_0 * largest_; }

  // A gradient (B, T, d) that differs at a step from this one on.
  bool differs_from(const Array& given, const Vec& got, std::size_t from) const {
    if (got.size() != given.data.size()) return false;
    double size = std::max(least(), 1e-300);
    for (double x : given.data) size = std::max(size, std::fabs(x));
    const std::size_t T = given.dim(1), d = given.dim(2);
    for (std::size_t k = 0; k < got.size(); ++k)
      if (k / d % T >= from && std::fabs(got[k] - given.data[k]) > given_.bound * size) return true;
    return false;
  }

  bool is_as_given(const std::string& name, const Arrays& got) const {
    const Array& g = given_.gradients->at(name);
    return difference(of_uses(got, given_.uses(name), g.shape), g, least()) < given_.bound;
  }
  // Of the wrong gradients those that are explained; nothing where a right one would not be right.
  std::size_t explained(const Arrays& got, bool all) const {
    std::size_t count = 0;
    for (const auto& [name, is_wrong] : wrong_names_) {
      const bool same = is_as_given(name, got);
      if (!same && (all || !is_wrong)) return 0;
      count += same && is_wrong;
    }
    return count;
  }
  std::size_t wrong_ones() const {
    return static_cast<std::size_t>(
        std::count_if(wrong_names_.begin(), wrong_names_.end(), [](const auto& one) { return one.second; }));
  }

  bool leads_to(const Wrong& wrong, const std::string& gradient) const {
    const std::vector<std::string> uses = given_.uses(gradient);
    return std::any_of(uses.begin(), uses.end(), [&](const auto& use) { return backward_.leads_to(wrong, use); });
  }

  // A way that leads to no wrong gradient explains none, and no backward needs to run to see it.
  bool may_explain(const Wrong& wrong) const {
    return in_the_right_layer(wrong) &&
           std::any_of(wrong_names_.begin(), wrong_names_.end(),
                       [&](const auto& gradient) { return gradient.second && leads_to(wrong, gradient.first); });
  }

  bool may_explain_all(const Wrong& wrong) const {
    return in_the_right_layer(wrong) &&
           std::all_of(wrong_names_.begin(), wrong_names_.end(),
                       [&](const auto& gradient) { return !gradient.second || leads_to(wrong, gradient.first); });
  }

  void attempt(const std::vector<Wrong>& wrongs) {
    try {
      for (const Wrong& wrong : wrongs)
        if (!backward_.applies(wrong)) return;
      std::optional<Arrays> made = backward_.run(wrongs, fits_);
      if (!made) return;
      Arrays& got = *made;
      const std::size_t n = explained(got, wrongs.size() > 1);
      if (!n) return;
      if (wrongs.size() == 1) {
        partly_.push_back({n, wrongs[0], {}});
        for (const auto& [name, is_wrong] : wrong_names_)
          if (!is_as_given(name, got)) partly_.back().left.push_back(name);
      }
      if (n < wrong_ones()) return;
      Hit hit{wrongs, std::move(got), 0, 0};
      for (const Wrong& wrong : wrongs) {
        hit.plainness += wrong.rule->plainness, hit.ways += wrong.ways.size() / wrong.models.size();
        if (!finding_of(wrong)) return;
      }
      hits_.push_back(std::move(hit));
    } catch (const std::invalid_argument&) {
      // sizes or functions that no slope is written for
    }
  }

  // A factor on one way that stands in no table.
  void attempt_fitted() {
    static const std::vector<SlopeRule> some = {
        {"SCALED", 6, {}, {}, [](const Way& w, Grid& dx) {  // of a parameter's own gradient others tell
           return !is_parameter(w.operand()) && multiplied_by(dx, .5);
         }}};
    for (Wrong& wrong : list_ways(some)) {
      if (!may_explain_all(wrong) || !backward_.applies(wrong)) continue;
      const auto factor = fitted_factor(wrong);
      if (!factor) continue;
      char text[40];
      const auto end = std::to_chars(text, text + sizeof text, *factor, std::chars_format::general, 4).ptr;
      std::string number(text, end);
      const std::size_t heads = given_.kind == TraceKind::multi_head ? given_.model->heads.heads : 0;
      if (const std::string size = as_size(*factor, *given_.inputs, heads, 1e-6); !size.empty())
        number += " (" + size + ")";
      fitted_.push_back({"SCALED",
                         6,
                         {lasting("the gradient that flows from %p into %c is multiplied by " + number),
                          lasting("从 %p 流入 %c 的梯度被乘以 " + number)},
                         right_slope,
                         [k = *factor](const Way&, Grid& dx) { return multiplied_by(dx, k); }});
      wrong.rule = &fitted_.back();
      attempt({wrong});
    }
  }
  const char* lasting(std::string text) {
    texts_.push_back(std::move(text));
    return texts_.back().c_str();
  }

  // Newton's method on the sum of squares, with the slope of the last step.
  std::optional<double> fitted_factor(Wrong wrong) {
    double k = 1;
    const SlopeRule rule{"SCALED", 6, {}, {}, [&k](const Way&, Grid& dx) {
                           multiplied_by(dx, k);
                           return true;
                         }};
    wrong.rule = &rule;
    try {
      Vec off = how_far_off(*backward_.run({wrong}));
      double last_k = k, before = square(off);
      k = .9;
      constexpr int rounds = 10;
      for (int round = 0; round < rounds; ++round) {
        Vec next = how_far_off(*backward_.run({wrong}));
        double gg = 0, gr = 0;
        for (std::size_t j = 0; j < next.size(); ++j) {
          const double g = (next[j] - off[j]) / (k - last_k);
          gg += g * g, gr += g * next[j];
        }
        if (!(gg > 0) || !std::isfinite(gr)) return std::nullopt;
        const double step = gr / gg, now = square(next);
        if (std::fabs(step) < 1e-12) return k;
        if (round > 1 && now > before / 4) return now < 1e-16 ? std::optional(k) : std::nullopt;
        off = std::move(next), last_k = k, before = now, k -= step;
        if (std::fabs(k) > 1e3) return std::nullopt;
      }
      return k;
    } catch (const std::invalid_argument&) { return std::nullopt; }
  }
  static double square(const Vec& x) {
    double sum = 0;
    for (double y : x) sum += y * y;
    return sum;
  }
  // All numbers of all gradients, relative to the largest of each.
  Vec how_far_off(const Arrays& got) const {
    Vec all;
    for (const auto& [name, is_wrong] : wrong_names_) {
      const Array& g = given_.gradients->at(name);
      const Array sum = of_uses(got, given_.uses(name), g.shape);
      double size = std::max(least(), 1e-300);
      for (double x : g.data) size = std::max(size, std::fabs(x));
      for (std::size_t k = 0; k < g.data.size(); ++k) all.push_back((sum.data[k] - g.data[k]) / size);
    }
    return all;
  }

  // Of two wrong ways the gradients that one of them alone stands before show the one.
  void attempt_two() {
    constexpr std::size_t most_first = 3, most_pairs = 1500;
    std::stable_sort(partly_.begin(), partly_.end(), [](const Part& a, const Part& b) {
      return std::make_pair(-static_cast<long>(a.count), a.wrong.rule->plainness) <
             std::make_pair(-static_cast<long>(b.count), b.wrong.rule->plainness);
    });
    if (partly_.size() > most_first) partly_.resize(most_first);
    std::size_t pairs = 0;
    for (int plainness = 1; plainness <= 2 && hits_.empty(); ++plainness)
      for (const auto& [count, first, left] : partly_)
        for (const Wrong& second : plain_)
          if (second.rule->plainness == plainness && second.ways != first.ways && pairs++ < most_pairs &&
              std::all_of(left.begin(), left.end(), [&](const auto& name) { return leads_to(second, name); }))
            attempt({first, second});
  }

  bool are_as_given(const std::vector<std::string>& names, const Arrays& got) const {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return is_as_given(name, got); });
  }
  bool are_wrong(const std::vector<std::string>& names) const {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return wrong_names_.at(name); });
  }

  // Of several layers: what a way leads to tells where it can be. It stands before all that is wrong, and in front of
  // parameters of its own that are wrong, if it is in front of any.
  bool in_the_right_layer(const Wrong& wrong) const {
    if (!fits_) return true;
    for (const auto& [name, is_wrong] : wrong_names_)
      if (is_wrong && !leads_to(wrong, name)) return false;
    return std::all_of(wrong.models.begin(), wrong.models.end(), [&](std::size_t i) {
      std::vector<std::string> behind;
      for (const std::string& name : parameters_[i])
        if (leads_to(wrong, name)) behind.push_back(name);
      return behind.empty() || are_wrong(behind);
    });
  }
  // A misreading changes parameters of its own layer, and none of a layer above.
  bool may_be_misread(std::size_t i) const {
    for (std::size_t k = 0; fits_ && k < parameters_.size(); ++k) {
      const bool above = backward_.models()[k].layer > backward_.models()[i].layer;
      if (above ? are_wrong(parameters_[k]) : k == i && !parameters_[k].empty() && !are_wrong(parameters_[k]))
        return false;
    }
    return true;
  }

  // Whether the same misreading in all of these layers or directions explains everything; so far in those behind `next`.
  bool is_misread_in(const std::vector<std::size_t>& group, std::size_t next,
                     std::map<std::size_t, Misread>& misread) const {
    if (next == 0) {
      const auto got = backward_.run(misread, nullptr, fits_);
      return got && explained(*got, true) == wrong_ones();
    }
    bool is_it = false;
    const std::size_t i = group[next - 1];
    const Misread& first = misread.begin()->second;
    each_misread(backward_.models()[i], backward_.plans()[i], *given_.seeds, given_.shown, [&](const Misread& m) {
      if (m.code != first.code || m.sentence.en != first.sentence.en) return false;
      std::map<std::size_t, Misread> more = misread;
      more.emplace(i, m);
      is_it = is_misread_in(group, next - 1, more);
      return true;
    });
    return is_it;
  }

  // Backward in which every slope is right, and that reads other numbers.
  std::optional<Finding> misread() {
    std::vector<Misread> found;
    Words place;
    for (std::size_t i = 0; i < backward_.models().size() && found.empty(); ++i) {
      if (!may_be_misread(i)) continue;
      std::vector<std::vector<std::size_t>> groups;
      for (const auto& group : backward_.groups())
        if (group.back() == i) groups.push_back(group);
      bool fits_here = false;  // the parameters of this one
      const Backward::Fits fits = [&](std::size_t k, const Arrays& got) {
        const bool is = !fits_ || fits_(k, got);
        if (k == i) fits_here = is && are_as_given(parameters_[i], got);
        return is;
      };
      each_misread(backward_.models()[i], backward_.plans()[i], *given_.seeds, given_.shown, [&](const Misread& m) {
        try {
          fits_here = false;
          const auto alone = backward_.run({{i, m}}, refuted_, fits);
          if (alone && explained(*alone, true) == wrong_ones()) found.push_back(m), place = backward_.place_of({i});
          for (const auto& group : groups) {
            std::map<std::size_t, Misread> misread = {{i, m}};
            if (found.empty() && fits_here && is_misread_in(group, group.size() - 1, misread))
              found.push_back(m), place = backward_.place_of(group);
          }
        } catch (const std::invalid_argument&) {
          // no slope is written for this model
        }
        return !found.empty();
      });
    }
    if (found.empty()) return std::nullopt;
    Finding f;
    f.code = found[0].code, f.kind = Kind::graph;
    f.where = {"the backward pass" + place.en, place.zh + "反向传播"};
    f.sentence = found[0].sentence, f.fix = found[0].fix;
    f.used = as_given();
    f.paper = {"those of the forward that the trace shows", "按文件所示前向应得的梯度"};
    f.test = "CHECK(check_gradient(f, parameters).passed);";
    return f;
  }

  // The gradient of what one step hands on to the next, cut before some of the steps.
  std::optional<Finding> truncated() {
    struct Carries {
      std::vector<const char*> arrays;
      bool of_the_cell;  // not where a query reads the state
      Said what;
    };
    static const std::vector<Carries> carried = {
        {{"s", "m", "htilde", "c"}, false, {"all that a step hands on to the next", "一步交给下一步的所有量"}},
        {{"s", "m"}, false, {"the state", "状态"}},
        {{"s", "m"}, true, {"the state that the cell continues", "循环单元延续的状态"}},
        {{"s"}, false, {"h, and not an LSTM's memory,", "h（不含 LSTM 的记忆）"}},
        {{"m"}, false, {"the LSTM's memory, and not h,", "LSTM 的记忆（不含 h）"}}};
    std::size_t T = 0;
    for (const WholeModel& m : backward_.models()) T = std::max(T, m.scene.T);
    constexpr std::size_t longest = 8;
    for (std::size_t period = 1; period < std::min(T, longest + 1); ++period)
      for (std::size_t rest = 0; rest < period; ++rest)
        for (const bool first : {false, true})
          for (const Carries& carries : carried) {
            const Truncation cut{period, rest, first};
            if (rest >= T || (rest > 0 && first)) continue;
            SlopeRule rule{"TRUNCATED", 1, {}, {}, [cut](const Way& w, Grid& dx) {
                             return at_places(w, dx, [&](std::size_t, std::size_t t) { return !cut.cuts(t); });
                           }};
            std::vector<Wrong> wrongs;
            for (std::size_t i = 0; i < backward_.plans().size(); ++i)
              for (std::size_t k = 0; k < backward_.plans()[i].size(); ++k) {
                const std::string& output = backward_.models()[i].formulas[k].first;
                if (carries.of_the_cell && output != "s" && output != "m") continue;
                for (const Term& t : backward_.plans()[i][k]->terms())
                  if (t->op == Op::leaf && t->lies == Lies::step && t->read.lag > 0 &&
                      std::find(carries.arrays.begin(), carries.arrays.end(), t->name) != carries.arrays.end())
                    wrongs.push_back({&rule, {i}, k, {{t.get(), Plan::all_uses}}});
              }
            if (wrongs.empty()) continue;
            try {
              const auto got = backward_.run(wrongs, fits_);
              if (got && explained(*got, true) == wrong_ones()) return of_truncation(cut, carries.what, T);
            } catch (const std::invalid_argument&) {
              return std::nullopt;  // no slope is written for this model
            }
          }
    return std::nullopt;
  }

  Finding of_truncation(const Truncation& cut, const Said& what, std::size_t T) const {
    std::string steps;
    std::size_t n = 0;
    for (std::size_t t = 0; t < T; ++t)
      if (cut.cuts(t)) steps += (steps.empty() ? "" : ", ") + std::to_string(t + 1), ++n;
    const std::string every = std::to_string(cut.period);
    Finding f;
    f.code = "GRAD_TRUNCATED", f.kind = Kind::graph;
    f.where = {"the backward through time", "沿时间的反向"};
    f.sentence = {std::string("the gradient through time is truncated: ") + what.en + " is detached before " +
                      (cut.period == 1 ? "every step"
                       : n == 1        ? "step " + steps
                                       : "steps " + steps + ", every " + every + " steps") +
                      ", and no gradient flows back from there",
                  std::string("沿时间的梯度被截断：") + what.zh + "在第 " + steps + " 步之前被 detach" +
                      (n == 1 ? "" : "（每 " + every + " 步一次）") + "，梯度不再往前传"};
    f.used = as_given();
    f.paper = {"the gradient of the whole sequence", "整个序列的梯度"};
    f.fix = {"detach between sequences or windows only, not within the sequence that the loss is of",
             "只在序列或窗口之间 detach，损失所属的序列内部不要"};
    f.test = "CHECK(check_gradient(f, parameters).passed);";
    return f;
  }

  // What a verdict says of one wrong way; nothing where the rule says nothing of it.
  std::optional<Finding> finding_of(const Wrong& wrong) const {
    const Plan& plan = *backward_.plans()[wrong.models.front()][wrong.formula];
    const auto& [node, place] = wrong.ways.front();
    const bool whole = place == Plan::all_uses;
    const Node& operand = whole ? *node : *node->in[place];
    std::string owner =
        part_code(plan, whole && !plan.uses(node).empty() && node->label.empty() ? plan.uses(node)[0].first : node);
    bool several = wrong.ways.size() > wrong.models.size() || wrong.in_every_formula;
    if (whole && node->op == Op::leaf)  // what several gates read, as an input, is no one gate's
      for (const auto& [user, at] : plan.uses(node)) several = several || part_code(plan, user) != owner;
    several = several || plan.owners(node).size() > 1;  // as the joined input is no one gate's
    if (several) owner = owner.substr(0, owner.find('_'));
    Finding f;
    // A slope is the term's own, and a named term needs no second name.
    const bool own = std::string(wrong.rule->code).rfind("SLOPE", 0) == 0 || (whole && !node->label.empty());
    f.code = "GRAD_" + owner + "_" + (own ? "" : slot_code(operand, owner) + "_") + wrong.rule->code;
    if (wrong.rule->code == std::string("SOFTMAX")) f.code = "GRAD_SOFTMAX";
    f.kind = Kind::graph;
    const auto of_role = [&](const Node& n, std::string text) {
      const std::string letter = several ? n.shown : "";
      if (const std::size_t at = letter.empty() ? text.npos : text.find(letter); at != text.npos)
        text.replace(at, letter.size(), n.role);
      return text;
    };
    const std::string parent =
        whole ? "what reads it" : print(std::make_shared<const Node>(*node), node->label.empty());
    const std::string parent_zh = whole ? "读取它的地方" : parent,
                      child = of_role(operand, print(std::make_shared<const Node>(operand)));
    for (auto* side : {&f.sentence, &f.fix}) {
      const Said& said = side == &f.sentence ? wrong.rule->sentence : wrong.rule->fix;
      *side = {replaced_in(replaced_in(said.en, "%p", parent), "%c", child),
               replaced_in(replaced_in(said.zh, "%p", parent_zh), "%c", child)};
    }
    const std::string factor = outer_of(plan, *node);
    for (std::string* side : {&f.sentence.en, &f.sentence.zh, &f.fix.en, &f.fix.zh})
      *side = with_operands(replaced_in(*side, "%f", factor), *node, place);
    const Words part = part_words(plan, node);
    const Words whose = backward_.place_of(wrong.models);
    const std::string gates = (several ? "every gate" : part.en) + whose.en,
                      gates_zh = whose.zh + (several ? "每个门" : part.zh);
    f.sentence.en = "in the backward of " + gates + ", " + f.sentence.en;
    f.sentence.zh = "在" + gates_zh + "的反向中，" + f.sentence.zh;
    f.where = {"the backward of " + gates, gates_zh + "的反向"};
    f.used = as_given();
    f.paper = {"those of the forward that the trace shows", "按文件所示前向应得的梯度"};
    f.test = "CHECK(check_gradient(f, parameters).passed);";
    if (whole && operand.op == Op::leaf && operand.lies == Lies::step && wrong.in_every_formula &&
        given_.kind == TraceKind::decoder && wrong.rule->code == std::string("CUT")) {
      if (operand.name == "s") {
        f.code = "STATE_DETACHED";
        f.sentence = {
            "the states were detached, s_0 among them: no gradient flows from a step into the state before it",
            "状态被 detach 了，s_0 也在内：没有梯度从一步流入它之前的状态"};
      } else if (operand.name == "htilde" && operand.read.lag > 0) {
        f.code = "FEED_DETACHED";
        f.sentence = {"the attentional vector that is fed was detached: no gradient flows from the cell into it",
                      "送入循环单元的注意力向量被 detach 了：没有梯度从循环单元流入它"};
      }
    }
    return f;
  }

  // With each of these rules.
  std::vector<Wrong> list_ways(const std::vector<SlopeRule>& rules) const {
    std::vector<Wrong> found;
    const auto& plans = backward_.plans();
    std::vector<std::vector<Wrong>> wrongs(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      std::map<std::string, std::map<std::size_t, Ways>> everywhere;  // by formula
      for (std::size_t k = 0; k < plans[i].size(); ++k) {
        const Plan& plan = *plans[i][k];
        std::map<std::string, Ways> alike;
        std::vector<Ways> ways;
        for (std::size_t at = plan.terms().size(); at-- > 0;) {
          const Node* node = plan.terms()[at].get();
          const auto& uses = plan.uses(node);
          if (uses.size() != 1 || node->op == Op::matrix || node->op == Op::leaf)
            ways.push_back({{node, Plan::all_uses}});
          if (node->op == Op::leaf && node->lies == Lies::step)
            everywhere["leaf " + print(plan.terms()[at])][k] = {{node, Plan::all_uses}};
          for (std::size_t place = 0; place < node->in.size(); ++place) {
            ways.push_back({{node, place}});
            std::string role = node->in[place]->role.empty() ? node->role : node->in[place]->role;
            if (node->op == Op::product) role = node->in[0]->role;
            if (role.empty()) continue;
            role += std::to_string(place);
            alike[role].emplace_back(node, place);
            if (node->op == Op::product && place == 1)  // those that read the same
              alike[role + print(node->in[1])].emplace_back(node, place);
          }
        }
        for (const auto& [role, list] : alike)
          if (list.size() > 1 && std::find(ways.begin(), ways.end(), list) == ways.end()) ways.push_back(list);
        for (const SlopeRule& rule : rules)
          for (const auto& list : ways) wrongs[i].push_back({&rule, {i}, k, list});
        for (const auto& [role, list] : alike) everywhere[role][k] = list;
      }
      for (const auto& [role, by_formula] : everywhere) {
        if (by_formula.size() < 2) continue;
        Ways all;
        for (const auto& [k, list] : by_formula)
          for (const auto& way : list)
            if (std::find(all.begin(), all.end(), way) == all.end()) all.push_back(way);
        for (const SlopeRule& rule : rules) wrongs[i].push_back({&rule, {i}, by_formula.begin()->first, all, true});
      }
    }
    for (const auto& group : backward_.groups()) list_alike(wrongs, group, found);
    for (auto& of_one : wrongs) found.insert(found.end(), of_one.begin(), of_one.end());
    return found;
  }

  // The same way in several layers or directions: their formulas have the same terms, in the same order.
  static void list_alike(const std::vector<std::vector<Wrong>>& wrongs, const std::vector<std::size_t>& group,
                         std::vector<Wrong>& all) {
    for (std::size_t j = 0; j < wrongs[group.front()].size(); ++j) {
      Wrong together = wrongs[group.front()][j];
      for (std::size_t i : group) {
        if (wrongs[i].size() != wrongs[group.front()].size()) return;
        if (i == group.front()) continue;
        together.models.push_back(i);
        together.ways.insert(together.ways.end(), wrongs[i][j].ways.begin(), wrongs[i][j].ways.end());
      }
      all.push_back(std::move(together));
    }
  }

  // Which of the gradients are wrong, and which are not.
  Text as_given() const {
    std::string wrong, right;
    for (const auto& [name, is_wrong] : wrong_names_) {
      std::string& list = is_wrong ? wrong : right;
      list += (list.empty() ? "grad_" : ", grad_") + given_.shown(name);
    }
    return {wrong + " as given" + (right.empty() ? "" : " (" + right + " agree)"),
            "所给的 " + wrong + (right.empty() ? "" : "（" + right + " 相符）")};
  }

  // The plainest of what agrees, with the names of those that differ in a gradient that is not in the trace.
  std::vector<Finding> named() {
    if (hits_.empty()) return {};
    std::stable_sort(hits_.begin(), hits_.end(), [](const Hit& a, const Hit& b) {
      return std::make_pair(a.plainness, a.ways) < std::make_pair(b.plainness, b.ways);
    });
    std::vector<const Hit*> different;
    for (const Hit& hit : hits_)
      if (std::none_of(different.begin(), different.end(), [&](const Hit* other) {
            return std::all_of(hit.gradients.begin(), hit.gradients.end(), [&](const auto& named) {
              const Array* same = reference::find(other->gradients, named.first);
              return same && difference(named.second, *same, least()) < given_.bound;
            });
          }))
        different.push_back(&hit);
    std::vector<Finding> findings;
    for (std::size_t k = 0; k < hits_.front().wrongs.size(); ++k) {
      Finding f = *finding_of(hits_.front().wrongs[k]);
      std::vector<std::string> names;
      for (const Hit* hit : different)
        if (const std::string code = finding_of(hit->wrongs[k])->code;
            std::find(names.begin(), names.end(), code) == names.end())
          names.push_back(code);
      constexpr std::size_t most_names = 3;
      if (names.size() > most_names) return {};
      if (names.size() > 1) {
        f.alias = names;
        f.code.clear();
        for (const std::string& name : names) f.code += (f.code.empty() ? "" : "|") + name;
        f.sentence.en = "several mistakes of backward give these same gradients; the plainest: " + f.sentence.en;
        f.sentence.zh = "有几种反向错误会得到同样的梯度；最简单的一种：" + f.sentence.zh;
        f.tell = {"the gradients of every parameter and of every input", "每个参数与每个输入的梯度"};
      }
      findings.push_back(f);
    }
    return findings;
  }

  const BackwardCase& given_;
  Backward backward_;
  double largest_ = 0;
  std::vector<std::vector<std::string>> parameters_;  // of each set of formulas, those whose gradients are given
  Backward::Fits fits_;                               // of several layers
  Backward::Refuted refuted_;                         // by the last steps' gradients of y_emb, where they are given
  std::map<std::string, bool> wrong_names_;           // of the gradients that are compared; true where one is wrong
  std::vector<Wrong> plain_;
  std::deque<SlopeRule> fitted_;
  std::deque<std::string> texts_;  // of those
  std::vector<Part> partly_;
  std::vector<Hit> hits_;
};

}  // namespace

std::vector<Finding> explain_backward(const BackwardCase& given) {
  try {
    std::vector<Finding> found = Explanation(given).find();
    for (Finding& f : found) printed_in_chinese(f);
    return found;
  } catch (const std::invalid_argument&) { return {}; }
}

}  // namespace gradus::diagnosis
