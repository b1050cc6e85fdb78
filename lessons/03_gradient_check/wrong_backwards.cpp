// Each mistake is one expression: `wrong ? what was written : what is right`.
#include "lessons/03_gradient_check/wrong_backwards.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace gradus::lesson03 {
namespace {

using List = std::vector<Numbers>;
using std::size_t;

// count numbers between 0.2 and 1.7 in no order.
Numbers some(int count, int from = 1) {
  Numbers numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(0.2 + 1.5 * ((i + from) * 37 % 101) / 101.0);
  return numbers;
}

Numbers product(const Numbers& a, const Numbers& b, size_t n) {  // of two n x n matrices
  Numbers c(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t k = 0; k < n; ++k) c[i * n + j] += a[i * n + k] * b[k * n + j];
  return c;
}

Numbers softmax_of(const Numbers& x) {
  Numbers y;
  double total = 0;
  for (double v : x) total += std::exp(v);
  for (double v : x) y.push_back(std::exp(v) / total);
  return y;
}

// f of each number.
std::function<Numbers(const List&)> each(double (*f)(double)) {
  return [f](const List& x) {
    Numbers y;
    for (double v : x[0]) y.push_back(f(v));
    return y;
  };
}

SmallOp& add(std::vector<SmallOp>& ops, const char* en, const char* zh, std::vector<Shape> shapes, List x,
             const Shape& shape) {
  return ops.emplace_back(SmallOp{{en, zh}, std::move(shapes), std::move(x), shape, {}, {}});
}

}  // namespace

std::vector<SmallOp> small_ops() {
  std::vector<SmallOp> ops;
  {
    SmallOp& op = add(ops, "tanh: 1 - |y|, not 1 - y^2", "tanh：1 - |y|，应为 1 - y^2", {Shape{6}},
                      {{-1.5, -0.7, -0.2, 0.3, 0.8, 1.4}}, Shape{6});
    op.forward = each([](double v) { return std::tanh(v); });
    op.backward = [](const List&, const Numbers& y, const Numbers& dy, bool wrong, List& dx) {
      for (size_t i = 0; i < y.size(); ++i) dx[0][i] += dy[i] * (1 - (wrong ? std::fabs(y[i]) : y[i] * y[i]));
    };
  }
  {
    SmallOp& op = add(ops, "a b: gets itself, not the other", "a b：乘了自己，没有乘对方", {Shape{4}, Shape{4}},
                      {some(4), some(4, 9)}, Shape{4});
    op.forward = [](const List& x) {
      Numbers y;
      for (size_t i = 0; i < 4; ++i) y.push_back(x[0][i] * x[1][i]);
      return y;
    };
    op.backward = [](const List& x, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      for (size_t i = 0; i < 4; ++i) {
        dx[0][i] += dy[i] * x[wrong ? 0 : 1][i];
        dx[1][i] += dy[i] * x[wrong ? 1 : 0][i];
      }
    };
  }
  {
    SmallOp& op =
        add(ops, "x x: the second use overwrites", "x x：第二次用，盖掉第一次", {Shape{5}}, {some(5)}, Shape{5});
    op.forward = each([](double v) { return v * v; });
    op.backward = [](const List& x, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      for (size_t i = 0; i < 5; ++i) {
        dx[0][i] += dy[i] * x[0][i];
        if (wrong) dx[0][i] = dy[i] * x[0][i];
        else dx[0][i] += dy[i] * x[0][i];
      }
    };
  }
  {
    SmallOp& op = add(ops, "bias: first row, not the sum", "偏置：只取第一行，没有求和", {Shape{3, 4}, Shape{4}},
                      {some(12), some(4, 5)}, Shape{3, 4});
    op.forward = [](const List& x) {
      Numbers y = x[0];
      for (size_t i = 0; i < 12; ++i) y[i] += x[1][i % 4];
      return y;
    };
    op.backward = [](const List&, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      for (size_t i = 0; i < 12; ++i) {
        dx[0][i] += dy[i];
        if (!wrong || i < 4) dx[1][i % 4] += dy[i];
      }
    };
  }
  {
    SmallOp& op = add(ops, "A B: dA lacks a transpose", "A B：dA 少了转置", {Shape{3, 3}, Shape{3, 3}},
                      {some(9), some(9, 4)}, Shape{3, 3});
    op.forward = [](const List& x) { return product(x[0], x[1], 3); };
    op.backward = [](const List& x, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 3; ++j)
          for (size_t k = 0; k < 3; ++k) {
            dx[0][i * 3 + k] += dy[i * 3 + j] * x[1][wrong ? j * 3 + k : k * 3 + j];
            dx[1][k * 3 + j] += dy[i * 3 + j] * x[0][i * 3 + k];
          }
    };
  }
  {
    SmallOp& op = add(ops, "rows 1 4 1 0: row 1 overwritten", "取行 1 4 1 0：第 1 行被覆盖", {Shape{5, 3}}, {some(15)},
                      Shape{4, 3});
    op.forward = [](const List& x) {
      Numbers y;
      for (size_t row : {1, 4, 1, 0})
        for (size_t j = 0; j < 3; ++j) y.push_back(x[0][row * 3 + j]);
      return y;
    };
    op.backward = [](const List&, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      size_t i = 0;
      for (size_t row : {1, 4, 1, 0})
        for (size_t j = 0; j < 3; ++j, ++i) {
          if (wrong) dx[0][row * 3 + j] = dy[i];
          else dx[0][row * 3 + j] += dy[i];
        }
    };
  }
  {
    SmallOp& op = add(ops, "3 x: the loop ends one early", "3 x：循环少走一步", {Shape{12}}, {some(12)}, Shape{12});
    op.forward = each([](double v) { return 3 * v; });
    op.backward = [](const List&, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      for (size_t i = 0; i < (wrong ? 11U : 12U); ++i) dx[0][i] += 3 * dy[i];
    };
  }
  {
    SmallOp& op = add(ops, "clip: flows through the clipped", "截断：被截断的也传梯度", {Shape{8}},
                      {{-0.9, 0.1, 1.6, 0.7, -0.3, -2.2, 0.5, -0.6}}, Shape{8});
    op.forward = each([](double v) { return std::clamp(v, -1.0, 1.0); });
    op.backward = [](const List& x, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      for (size_t i = 0; i < 8; ++i) dx[0][i] += wrong || std::fabs(x[0][i]) < 1 ? dy[i] : 0;
    };
  }
  {
    SmallOp& op =
        add(ops, "softmax: plain mean of dy", "softmax：dy 没有按 y 加权", {Shape{3}}, {{1, 2, 0.5}}, Shape{3});
    op.forward = [](const List& x) { return softmax_of(x[0]); };
    op.backward = [](const List&, const Numbers& y, const Numbers& dy, bool wrong, List& dx) {
      double inner = 0;
      for (size_t i = 0; i < 3; ++i) inner += wrong ? dy[i] / 3 : dy[i] * y[i];
      for (size_t i = 0; i < 3; ++i) dx[0][i] += y[i] * (dy[i] - inner);
    };
  }
  {
    SmallOp& op = add(ops, "reorder: again, not back", "重排：又排一次，没排回去", {Shape{4}}, {some(4)}, Shape{4});
    op.forward = [](const List& x) {
      Numbers y;
      for (size_t from : {2, 0, 3, 1}) y.push_back(x[0][from]);
      return y;
    };
    op.backward = [](const List&, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      size_t i = 0;
      for (size_t from : {2, 0, 3, 1}) {
        dx[0][wrong ? i : from] += dy[wrong ? from : i];
        ++i;
      }
    };
  }
  {
    SmallOp& op =
        add(ops, "mean of 100: divided by 99", "100 个数的平均：除以 99", {Shape{100}}, {some(100)}, Shape{1});
    op.forward = [](const List& x) {
      double total = 0;
      for (double v : x[0]) total += v / 100;
      return Numbers{total};
    };
    op.backward = [](const List&, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      for (double& d : dx[0]) d += dy[0] / (wrong ? 99 : 100);
    };
  }
  {
    SmallOp& op =
        add(ops, "log(x + .001): .001 forgotten", "log(x + .001)：漏了 .001", {Shape{6}}, {some(6)}, Shape{6});
    op.forward = each([](double v) { return std::log(v + 0.001); });
    op.backward = [](const List& x, const Numbers&, const Numbers& dy, bool wrong, List& dx) {
      for (size_t i = 0; i < 6; ++i) dx[0][i] += dy[i] / (x[0][i] + (wrong ? 0 : 0.001));
    };
  }
  return ops;
}

Op as_one_list(const SmallOp& op, bool wrong) {
  Numbers all;
  for (const Numbers& x : op.x) all.insert(all.end(), x.begin(), x.end());
  auto parts = [op](const Numbers& x) {  // x cut where one input ends and the next begins
    List list;
    auto at = x.begin();
    for (const Numbers& input : op.x) {
      list.emplace_back(at, at + static_cast<std::ptrdiff_t>(input.size()));
      at += static_cast<std::ptrdiff_t>(input.size());
    }
    return list;
  };
  return {[op, parts](const Numbers& x) { return op.forward(parts(x)); },
          [op, parts, wrong](const Numbers& x, const Numbers& dy) {
            const List inputs = parts(x);
            List dx;
            for (const Numbers& input : inputs) dx.emplace_back(input.size());
            op.backward(inputs, op.forward(inputs), dy, wrong, dx);
            Numbers joined;
            for (const Numbers& part : dx) joined.insert(joined.end(), part.begin(), part.end());
            return joined;
          },
          all};
}

std::vector<Var> leaves_of(const SmallOp& op, DType dtype) {
  std::vector<Var> leaves;
  for (size_t k = 0; k < op.x.size(); ++k) leaves.push_back(parameter(tensor(op.shapes[k], op.x[k], dtype)));
  return leaves;
}

Var apply(const SmallOp& op, const std::vector<Var>& leaves, bool wrong) {
  List x;
  for (const Var& leaf : leaves) x.push_back(leaf.value().to_vector());
  const Numbers y = op.forward(x);
  return record("op", tensor(op.shape, y, leaves[0].dtype()), leaves, [op, x, y, wrong](const Tensor& dy, Inputs& in) {
    List dx;
    for (const Numbers& numbers : x) dx.emplace_back(numbers.size());
    op.backward(x, y, dy.to_vector(), wrong, dx);
    for (size_t k = 0; k < dx.size(); ++k) in.add(static_cast<int>(k), tensor(op.shapes[k], dx[k], dy.dtype()));
  });
}

}  // namespace gradus::lesson03
