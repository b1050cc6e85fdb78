// The questions, each with the mistake that a checker has which misses it: a table, the first missed row gives the
// name.
#include "nn/conventions/checker_exam.h"

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

namespace gradus::checker_exam {
namespace {

// y_i = f(x_i) with the claimed derivative d(x_i).
Op each(double (*f)(double), std::function<double(double)> d, Numbers x) {
  return {[f](const Numbers& at) {
            Numbers y;
            for (double v : at) y.push_back(f(v));
            return y;
          },
          [d](const Numbers& at, const Numbers& dy) {
            Numbers dx;
            for (std::size_t i = 0; i < at.size(); ++i) dx.push_back(d(at[i]) * dy[i]);
            return dx;
          },
          std::move(x)};
}

// n numbers of order 1 without a pattern: fractions of multiples of the golden ratio.
Numbers some(std::size_t n) {
  Numbers x;
  for (std::size_t i = 1; i <= n; ++i) x.push_back(std::fmod(0.6180339887498949 * static_cast<double>(i), 1.0) + 0.3);
  return x;
}

double square(double x) { return x * x; }
double cube(double x) { return x * x * x; }
double line(double x) { return 3 * x + 1; }
double tiny(double x) { return 1e-7 * std::sin(x); }
double relu(double x) { return x > 0 ? x : 0; }
double tanh_of(double x) { return std::tanh(x); }
double tanh_slope(double x) { return 1 - square(std::tanh(x)); }

Numbers softmax(const Numbers& x) {
  Numbers y;
  for (double v : x) y.push_back(std::exp(v));
  const double sum = std::accumulate(y.begin(), y.end(), 0.0);
  for (double& v : y) v /= sum;
  return y;
}

// dx_i = y_i (dy_i - the mean of dy weighted with y). With the plain mean it is wrong, and right for every constant dy.
Op softmax_op(bool weighted) {
  return {softmax,
          [weighted](const Numbers& x, const Numbers& dy) {
            const Numbers y = softmax(x);
            double mean = 0;
            for (std::size_t i = 0; i < y.size(); ++i)
              mean += dy[i] * (weighted ? y[i] : 1.0 / static_cast<double>(y.size()));
            Numbers dx;
            for (std::size_t i = 0; i < y.size(); ++i) dx.push_back(y[i] * (dy[i] - mean));
            return dx;
          },
          {1, 2, 0.5}};
}

// Right, except for one element of forty.
Op wrong_at(std::size_t place) {
  Op op = each(tanh_of, tanh_slope, some(40));
  op.backward = [right = op.backward, place](const Numbers& x, const Numbers& dy) {
    Numbers dx = right(x, dy);
    dx[place] *= 1.5;
    return dx;
  };
  return op;
}

// A right backward whose elements come back in the wrong order.
Op reversed() {
  Op op = each(tanh_of, tanh_slope, some(5));
  op.backward = [right = op.backward](const Numbers& x, const Numbers& dy) {
    const Numbers dx = right(x, dy);
    return Numbers(dx.rbegin(), dx.rend());
  };
  return op;
}

// A result that moves by 1e-14 from call to call, as a sum over threads in changing order would.
Op restless() {
  Op op = each(tanh_of, tanh_slope, some(3));
  op.forward = [right = op.forward, calls = std::make_shared<int>(0)](const Numbers& x) {
    Numbers y = right(x);
    y[0] += 1e-14 * (++*calls % 7);
    return y;
  };
  return op;
}

struct Question {
  Said text;
  bool right;  // whether the backward is to be accepted
  std::function<Op()> op;
  const char* code;  // of a checker that misses it, when it missed none before
  Said sentence, fix;
};

const std::vector<Question>& questions() {
  static const Said loose{
      "it accepts a gradient that is off by a factor of two: asking whether a gradient is there, finite or not zero is "
      "no check",
      "它接受差了一倍的梯度：只问梯度在不在、是否有限、是否非零，不算检查"};
  static const Said compare{"compare every element with (f(x + h) - f(x - h)) / 2h",
                            "逐个元素与 (f(x + h) - f(x - h)) / 2h 比较"};
  static const Said sampled{"it accepts a gradient with one wrong element of forty: it looks at some elements only",
                            "它接受四十个元素中错了一个的梯度：它只看了其中几个"};
  static const Said all{"check every element; on large tensors, make the tensor smaller",
                        "检查每一个元素；张量太大就把它改小"};
  static const std::vector<Question> table = {
      {{"y = x^2, whose backward says x", "y = x^2，反向写成 x"},
       false,
       [] {
         return each(
             square, [](double x) { return x; }, some(4));
       },
       "GC_TOO_WEAK",
       loose,
       compare},
      {{"y = tanh x, whose backward has the wrong sign", "y = tanh x，反向符号写反"},
       false,
       [] {
         return each(
             tanh_of, [](double x) { return -tanh_slope(x); }, some(4));
       },
       "GC_SIGN_BLIND",
       {"it accepts a gradient with the wrong sign: it compares sizes, not numbers",
        "它接受符号相反的梯度：它比较的是大小，不是数值"},
       {"take the norm of the difference, not the difference of the norms", "取差的范数，而不是范数的差"}},
      {{"y = tanh x, whose backward returns its elements in reverse order", "y = tanh x，反向把各元素倒序返回"},
       false,
       reversed,
       "GC_SUM_ONLY",
       {"it accepts a gradient whose elements have changed places: it compares a sum, not the elements",
        "它接受元素换了位置的梯度：它比较的是总和，不是各个元素"},
       compare},
      {{"y = tanh x, whose backward is NaN", "y = tanh x，反向得到 NaN"},
       false,
       [] {
         return each(
             tanh_of, [](double) { return std::numeric_limits<double>::quiet_NaN(); }, some(4));
       },
       "GC_NAN_PASSES",
       {"it accepts NaN: every comparison with NaN is false, so `if (error > tolerance) fail` never fails",
        "它接受 NaN：与 NaN 的任何比较都为假，所以 `if (error > tolerance) fail` 永远不会报错"},
       {"write it the other way round: if (!(error <= tolerance)) fail", "反过来写：if (!(error <= tolerance)) fail"}},
      {{"y = 1e-7 sin x, whose backward is twice too large", "y = 1e-7 sin x，反向大了一倍"},
       false,
       [] {
         return each(
             tiny, [](double x) { return 2e-7 * std::cos(x); }, some(4));
       },
       "GC_ABS_ONLY",
       {"it accepts a gradient twice too large where gradients are small: its tolerance is absolute",
        "梯度很小时，它接受大了一倍的梯度：它的容差是绝对的"},
       {"divide by |analytic| + |numeric|; the floor is what rounding explains, not a round number",
        "除以 |analytic| + |numeric|；下限取舍入误差能解释的大小，而不是随手写的数"}},
      {{"y = softmax x, whose backward takes the plain mean of dy", "y = softmax x，反向用了 dy 的普通平均"},
       false,
       [] { return softmax_op(false); },
       "GC_VACUOUS_SEED",
       {"it accepts a wrong backward of softmax: it asks with the same dy everywhere, as L = sum(y) does",
        "它接受 softmax 的错误反向：它处处用同一个 dy 来问，L = sum(y) 就是这样"},
       {"take L = sum of w_i y_i with fixed random w", "取 L = 各 w_i y_i 之和，w 随机而固定"}},
      {{"y = tanh x, the first element's gradient wrong", "y = tanh x，第一个元素的梯度错"},
       false,
       [] { return wrong_at(0); },
       "GC_ONE_INDEX",
       sampled,
       all},
      {{"y = tanh x, one element's gradient in the middle wrong", "y = tanh x，中间一个元素的梯度错"},
       false,
       [] { return wrong_at(17); },
       "GC_ONE_INDEX",
       sampled,
       all},
      {{"y = tanh x, the last element's gradient wrong", "y = tanh x，最后一个元素的梯度错"},
       false,
       [] { return wrong_at(39); },
       "GC_ONE_INDEX",
       sampled,
       all},
      {{"y = tanh x, whose backward is 0.1 % too large", "y = tanh x，反向大了 0.1 %"},
       false,
       [] {
         return each(
             tanh_of, [](double x) { return 1.001 * tanh_slope(x); }, some(4));
       },
       "GC_TOLERANCE",
       {"it accepts a gradient that is off by a thousandth: its tolerance is too wide",
        "它接受差了千分之一的梯度：它的容差太宽"},
       {"in double precision 1e-6 is wide already", "双精度下 1e-6 已经很宽"}},
      {{"y = 3x + 1, right", "y = 3x + 1，正确"},
       true,
       [] {
         return each(
             line, [](double) { return 3.0; }, some(4));
       },
       "GC_BAD_STEP|GC_FLOAT32",
       {"it refuses the gradient of a straight line, where every step is right: its step is so small that rounding is "
        "all it sees, or it calculates in float",
        "它拒绝一条直线的梯度，而直线上任何步长都对：步长太小，只看得见舍入误差，或者用 float 计算"},
       {"calculate in double, with h near 6e-6 times max(1, |x|)", "用 double 计算，h 取约 6e-6 乘 max(1, |x|)"}},
      {{"y = x^3, right", "y = x^3，正确"},
       true,
       [] {
         return each(
             cube, [](double x) { return 3 * x * x; }, some(4));
       },
       "GC_BAD_STEP",
       {"it refuses a right gradient where the function is bent: its step is too large, or its differences are "
        "one-sided",
        "函数弯曲处它拒绝正确的梯度：步长太大，或者用了单侧差分"},
       {"take (f(x + h) - f(x - h)) / 2h with h near 6e-6 times max(1, |x|)",
        "用 (f(x + h) - f(x - h)) / 2h，h 取约 6e-6 乘 max(1, |x|)"}},
      {{"y = softmax x, right", "y = softmax x，正确"},
       true,
       [] { return softmax_op(true); },
       "GC_VACUOUS_SEED",
       {"it refuses the right gradient of softmax: with the same dy everywhere that gradient is zero, and only "
        "rounding is left to compare",
        "它拒绝 softmax 的正确梯度：处处用同一个 dy 时这个梯度为零，能比较的只剩舍入误差"},
       {"take L = sum of w_i y_i with fixed random w", "取 L = 各 w_i y_i 之和，w 随机而固定"}},
      {{"y = 2, which x does not change, with dx = 0", "y = 2，与 x 无关，dx = 0"},
       false,
       [] { return each([](double) { return 2.0; }, [](double) { return 0.0; }, some(3)); },
       "GC_NOTHING_TESTED",
       {"it accepts 0 = 0: a function that x does not change passes, and so does a graph that was cut off",
        "它接受 0 = 0：与 x 无关的函数能通过，断开的计算图也就能通过"},
       {"refuse when all numeric gradients of a tensor are zero", "一个张量的数值梯度全为零时就拒绝"}},
      {{"y = relu x at 0, whose backward says 1/2", "y = relu x 在 0 处，反向写成 1/2"},
       false,
       [] {
         return each(relu, [](double x) { return x == 0 ? 0.5 : x > 0 ? 1.0 : 0.0; }, {0.7, 0, -0.4});
       },
       "GC_KINK",
       {"it accepts any number at a kink that central differences happen to give",
        "在折点处，中心差分碰巧给出什么，它就接受什么"},
       {"compare the slopes on both sides; where they differ, refuse and move x",
        "比较两侧的斜率；不相等就拒绝，并换一个 x"}},
      {{"y = tanh x, which moves by 1e-14 from call to call", "y = tanh x，每次调用变动 1e-14"},
       false,
       restless,
       "GC_NONDETERMINISTIC",
       {"it accepts a function that gives another result at every call", "它接受每次调用结果都不同的函数"},
       {"call the function twice at the same x and refuse unless all bits agree",
        "在同一个 x 处调用两次，有一位不同就拒绝"}},
  };
  return table;
}

}  // namespace

Result examine(const Checker& checker) {
  Result result;
  for (const Question& question : questions()) {
    bool accepted = false;
    try {
      accepted = checker(question.op());
    } catch (const std::exception&) { accepted = false; }
    result.marks.push_back({question.text, question.right, accepted});
    if (accepted == question.right || !result.code.empty()) continue;
    result.code = question.code, result.sentence = question.sentence, result.fix = question.fix;
  }
  return result;
}

std::string Result::text(Lang lang) const {
  const bool zh = lang == Lang::zh;
  std::string out = passed() ? (zh ? "全部回答正确\n" : "every answer was right\n")
                             : code + (zh ? "：" : ": ") + sentence.in(lang) + "\n" + (zh ? "  修正  " : "  fix  ") +
                                   fix.in(lang) + "\n";
  for (const Mark& mark : marks) {
    const bool right = mark.should_accept == mark.accepted;
    out += std::string("  ") + (right ? (zh ? "对  " : "right  ") : (zh ? "错  " : "WRONG  "));
    out += mark.accepted ? (zh ? "接受  " : "accepts  ") : (zh ? "拒绝  " : "refuses  ");
    out += mark.question.in(lang);
    out += "\n";
  }
  return out;
}

}  // namespace gradus::checker_exam
