// Plain loops over vectors, with every size checked.
#include "nn/conventions/reference/vector.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gradus::reference {

namespace {

[[noreturn]] void misfit(const char* what, const std::string& left, std::size_t right) {
  throw std::invalid_argument(std::string("reference ") + what + ": " + left + " does not go with " +
                              std::to_string(right));
}

void need_equal(const char* what, Row a, Row b) {
  if (a.size() != b.size()) misfit(what, std::to_string(a.size()), b.size());
}

double scalar(Activation f, double x) {
  switch (f) {
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::hard_sigmoid:
      return std::clamp(0.2 * x + 0.5, 0.0, 1.0);
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::identity:
    case Activation::softmax:
      break;
  }
  return x;
}

}  // namespace

Vec activate(Activation f, Vec x) {
  if (f != Activation::softmax) {
    for (double& v : x) v = scalar(f, v);
    return x;
  }
  const double top = x.empty() ? 0 : *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v - top);
  for (double& v : x) v /= sum;
  return x;
}

double dot(Row a, Row b) {
  need_equal("dot", a, b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double norm(Row a) { return std::sqrt(dot(a, a)); }

Vec matvec(const Array& W, Row x) { return matvec(W, x, 0, W.dim(0)); }

Vec matvec(const Array& W, Row x, std::size_t first, std::size_t rows) {
  if (W.shape.size() != 2 || W.dim(1) != x.size() || W.dim(0) < first + rows)
    misfit("W x", to_string(W.shape), x.size());
  Vec y(rows);
  const std::size_t n = x.size();
  const double* w = W.data.data() + first * n;
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4, w += 4 * n) {  // four sums at a time: none waits for the others
    double a = 0, b = 0, c = 0, d = 0;
    for (std::size_t k = 0; k < n; ++k)
      a += w[k] * x[k], b += w[n + k] * x[k], c += w[2 * n + k] * x[k], d += w[3 * n + k] * x[k];
    y[r] = a, y[r + 1] = b, y[r + 2] = c, y[r + 3] = d;
  }
  for (; r < rows; ++r, w += n)
    for (std::size_t k = 0; k < n; ++k) y[r] += w[k] * x[k];
  return y;
}

Vec matvec_transposed(const Array& W, Row x) {
  if (W.shape.size() != 2 || W.dim(0) != x.size()) misfit("W^T x", to_string(W.shape), x.size());
  Vec y(W.dim(1));
  for (std::size_t r = 0; r < x.size(); ++r)
    for (std::size_t c = 0; c < y.size(); ++c) y[c] += W.at({r, c}) * x[r];
  return y;
}

Vec add(Vec a, Row b) {
  need_equal("sum", a, b);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Vec multiply(Vec a, Row b) {
  need_equal("product", a, b);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] *= b[i];
  return a;
}

Vec join(Vec a, Row b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace gradus::reference
