// Evaluation, change and print of formulas.
#include "nn/conventions/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <iterator>
#include <optional>
#include <span>
#include <stdexcept>

#include "tensor/doctor/said.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

[[noreturn]] void misfit(const char* what) { throw std::invalid_argument(std::string("formula: ") + what); }

template <auto f> void each(double* x, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) x[k] = f(x[k]);
}
void softmax(double* x, std::size_t n) {
  const double top = *std::max_element(x, x + n);
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += x[k] = std::exp(x[k] - top);
  for (std::size_t k = 0; k < n; ++k) x[k] /= sum;
}
void log_softmax(double* x, std::size_t n) {
  softmax(x, n);
  for (std::size_t k = 0; k < n; ++k) x[k] = std::log(x[k]);
}
void unit(double* x, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += x[k] * x[k];
  const double length = std::max(std::sqrt(sum), 1e-8);
  for (std::size_t k = 0; k < n; ++k) x[k] /= length;
}
void layer_norm(double* x, std::size_t n) {
  double mean = 0, variance = 0;
  for (std::size_t k = 0; k < n; ++k) mean += x[k] / static_cast<double>(n);
  for (std::size_t k = 0; k < n; ++k) variance += (x[k] - mean) * (x[k] - mean) / static_cast<double>(n);
  for (std::size_t k = 0; k < n; ++k) x[k] = (x[k] - mean) / std::sqrt(variance + 1e-5);
}
void mean(double* x, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += x[k];
  std::fill(x, x + n, sum / static_cast<double>(n));
}
void centred(double* x, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += x[k];
  for (std::size_t k = 0; k < n; ++k) x[k] -= sum / static_cast<double>(n);
}
void over_sum(double* x, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += x[k];
  for (std::size_t k = 0; k < n; ++k) x[k] /= sum;
}
void running_sum(double* x, std::size_t n) {
  for (std::size_t k = 1; k < n; ++k) x[k] += x[k - 1];
}
void sorted(double* x, std::size_t n) { std::sort(x, x + n); }
void first_half_twice(double* x, std::size_t n) { std::copy_n(x, n / 2, x + n - n / 2); }
void second_half_twice(double* x, std::size_t n) { std::copy_n(x + n - n / 2, n / 2, x); }
void halves(double* x, std::size_t n) { std::rotate(x, x + n / 2, x + n); }
void backwards(double* x, std::size_t n) { std::reverse(x, x + n); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// slope(x, y) = dy/dx
template <auto slope> void each_back(const double* x, const double* y, const double* dy, double* dx, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) dx[k] = dy[k] * slope(x[k], y[k]);
}
void softmax_back(const double*, const double* y, const double* dy, double* dx, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += y[k] * dy[k];
  for (std::size_t k = 0; k < n; ++k) dx[k] = y[k] * (dy[k] - sum);
}
void unit_back(const double* x, const double* y, const double* dy, double* dx, std::size_t n) {
  double along = 0, square = 0;
  for (std::size_t k = 0; k < n; ++k) along += y[k] * dy[k], square += x[k] * x[k];
  for (std::size_t k = 0; k < n; ++k) dx[k] = (dy[k] - along * y[k]) / std::max(std::sqrt(square), 1e-8);
}

}  // namespace

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"tanh", each<[](double x) { return std::tanh(x); }>, each_back<[](double, double y) { return 1 - y * y; }>},
      {"sigmoid", each<sigmoid>, each_back<[](double, double y) { return y * (1 - y); }>},
      {"relu", each<[](double x) { return std::max(x, 0.0); }>,
       each_back<[](double x, double) { return 0 < x ? 1.0 : 0.0; }>},
      {"hard_sigmoid", each<[](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }>},
      {"softmax", softmax, softmax_back},
      {"softsign", each<[](double x) { return x / (1 + std::fabs(x)); }>},
      {"clip(x/6 + 1/2)", each<[](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }>},
      {"hard_tanh", each<[](double x) { return std::clamp(x, -1.0, 1.0); }>},
      {"exp", each<[](double x) { return std::exp(x); }>},
      {"softplus", each<[](double x) { return std::log1p(std::exp(x)); }>},
      {"gelu", each<[](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }>},
      {"silu", each<[](double x) { return x * sigmoid(x); }>},
      {"elu", each<[](double x) { return std::max(x, 0.0) + std::expm1(std::min(x, 0.0)); }>},
      {"leaky_relu", each<[](double x) { return std::max(x, 0.01 * x); }>},
      {"sin", each<[](double x) { return std::sin(x); }>},
      {"abs", each<[](double x) { return std::fabs(x); }>},
      {"atanh", each<[](double x) { return std::atanh(x); }>},
      {"square", each<[](double x) { return x * x; }>},
      {"unit", unit, unit_back},
      {"layer_norm", layer_norm},
      {"log_softmax", log_softmax},
      {"halves_exchanged", halves},
      {"reversed", backwards},
      {"mean", mean},
      {"first_number", [](double* x, std::size_t n) { std::fill(x, x + n, x[0]); }},
      {"centred", centred},
      {"over_sum", over_sum},
      {"first_half_twice", first_half_twice},
      {"second_half_twice", second_half_twice},
      {"log", each<[](double x) { return std::log(x); }>},
      {"sqrt", each<[](double x) { return std::sqrt(x); }>},
      {"running_sum", running_sum},
      {"sorted", sorted},
  };
  return all;
}

const Function& function(const std::string& name) {
  for (const Function& f : functions())
    if (name == f.name) return f;
  misfit("no such function");
}

// ---- spellings

Term leaf(const std::string& name, Lies lies, Read read, Block block) {
  Node n{.op = Op::leaf, .name = name, .lies = lies, .read = read, .block = block};
  return std::make_shared<const Node>(std::move(n));
}
Term matrix(const std::string& name, Block block, const std::string& role) {
  Node n{.op = Op::matrix, .name = name, .role = role, .block = block};
  return std::make_shared<const Node>(std::move(n));
}
Term number(double x) { return std::make_shared<const Node>(Node{.op = Op::number, .number = x}); }
Term make(Op op, std::vector<Term> in) { return std::make_shared<const Node>(Node{.op = op, .in = std::move(in)}); }
Term apply(const Function& f, Term x, const std::string& role) {
  return std::make_shared<const Node>(Node{.op = Op::apply, .in = {std::move(x)}, .role = role, .function = &f});
}
Term labelled(const std::string& label, const Term& x) {
  Node n = *x;
  n.label = label;
  return std::make_shared<const Node>(std::move(n));
}

// ---- numbers

namespace {

std::size_t either(std::size_t a, std::size_t b) {
  if (a != b && a != 1 && b != 1) misfit("sizes differ");
  return std::max(a, b);
}

template <class F> Grid combined(const Grid& a, const Grid& b, F f) {
  Grid out{either(a.B, b.B), either(a.T, b.T), either(a.N, b.N), either(a.D, b.D), {}};
  out.x.resize(out.size());
  const std::size_t step_a = a.D > 1, step_b = b.D > 1;
  double* to = out.x.data();
  for (std::size_t i = 0; i < out.B; ++i)
    for (std::size_t t = 0; t < out.T; ++t)
      for (std::size_t n = 0; n < out.N; ++n) {
        const double *p = &a.x[a.place(i, t, n)], *q = &b.x[b.place(i, t, n)];
        for (std::size_t k = 0; k < out.D; ++k) *to++ = f(p[k * step_a], q[k * step_b]);
      }
  return out;
}

// As g = combined(g, b, f), without a new grid where the sizes are the same.
template <class F> void combine_into(Grid& g, const Grid& b, F f) {
  if (g.B != b.B || g.T != b.T || g.N != b.N || g.D != b.D) {
    g = combined(g, b, f);
    return;
  }
  for (std::size_t k = 0; k < g.x.size(); ++k) g.x[k] = f(g.x[k], b.x[k]);
}

// Which row of `count` is read for row i.
std::size_t row_of(Rows rows, std::size_t i, std::size_t count) {
  switch (rows) {
    case Rows::next:
      return (i + 1) % count;
    case Rows::previous:
      return (i + count - 1) % count;
    case Rows::first:
      return 0;
    case Rows::last:
      return count - 1;
    case Rows::reversed:
      return count - 1 - i;
    default:
      return i;
  }
}

// Where step or position i is read from, of n places of which `real` count; nullopt: zeros.
std::optional<std::size_t> place_of(Order order, long i, std::size_t n, std::size_t real) {
  const long last = static_cast<long>(n) - 1, last_real = static_cast<long>(real) - 1;
  if (order == Order::reversed) i = last - i;
  if (order == Order::reversed_within_length && i <= last_real) i = last_real - i;
  if (order == Order::first) i = 0;
  if (order == Order::last) i = last;
  if (order == Order::last_real) i = last_real;
  if (order == Order::held) i = std::clamp(i, 0L, last);
  if (order == Order::rolled) i = (i % (last + 1) + last + 1) % (last + 1);
  if (i < 0 || i > last) return std::nullopt;
  return static_cast<std::size_t>(i);
}

// Which numbers a Read reads: calls use(to, from, weight) for the vectors of `rows` x `places`, from the offset that
// at(row, place) gives, which is `nowhere` outside.
constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
template <class At, class Use>
void read_along(const Read& read, int by, std::size_t all_rows, std::size_t all_places, std::size_t rows,
                std::size_t places, std::size_t d, const std::vector<std::size_t>& lengths, At at, Use use) {
  const auto add = [&](std::size_t to, std::size_t row, long place, double weight) {
    const std::size_t from = at(row, place);
    if (from != nowhere) use(to, from, weight);
  };
  const std::size_t every_row = read.rows == Rows::mean ? all_rows : 1;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t i = read.order == Order::not_at_first ? 1 : 0; i < places; ++i)
      for (std::size_t m = 0; m < every_row; ++m) {
        std::size_t row = read.rows == Rows::mean ? m : row_of(read.rows, r, all_rows);
        long place = static_cast<long>(i) + by;
        if (read.rows == Rows::relaid) {
          const std::size_t flat = r * all_places + i;
          row = flat % all_rows, place = static_cast<long>(flat / all_rows);
        }
        const std::size_t to = (r * places + i) * d, real = row < lengths.size() ? lengths[row] : all_places;
        const double share = 1 / static_cast<double>(every_row);
        if (read.order == Order::mean || read.order == Order::mean_of_real) {
          const std::size_t n = read.order == Order::mean ? all_places : real;
          for (std::size_t k = 0; k < n; ++k) add(to, row, static_cast<long>(k), share / static_cast<double>(n));
        } else if (read.order == Order::sum_so_far || read.order == Order::mean_so_far) {
          const double w = read.order == Order::sum_so_far ? 1 : 1 / static_cast<double>(i + 1);
          for (long k = by; k <= place; ++k) add(to, row, k, share * w);
        } else if (const auto from = place_of(read.order, place, all_places, real)) {
          add(to, row, static_cast<long>(*from), share);
        } else if (read.order == Order::kept || read.order == Order::not_at_first) {
          add(to, row, place, share);  // states before the first are the first, others are zero: `at` knows
        }
      }
}

// Where a leaf has its numbers, and the numbers that a formula sees: use(place in the grid, place in the array, weight)
// for every number of a step's, position's or example's leaf.
template <class Use> Grid read_leaf_along(const Node& n, const Scene& s, const Array& a, Use use) {
  Grid g;
  std::size_t d = 1, all_places = 1, places = 1, stored = 1;
  int by = 0;
  const bool state = n.lies == Lies::step && (n.name == "s" || n.name == "m");
  if (n.lies == Lies::example) {
    d = a.dim(1);
    g = {s.B, 1, 1, d, {}};
  } else if (n.lies == Lies::pair) {
    d = a.dim(2), all_places = stored = a.dim(1), places = s.T, by = -n.read.lag;
    g = {s.whole ? a.dim(0) : s.B, s.T, d, 1, {}};  // heads are rows, too
  } else {
    const bool by_step = n.lies == Lies::step;
    d = a.shape.size() > 2 ? a.dim(2) : 1, stored = a.dim(1), all_places = stored - (state ? 1 : 0);
    places = by_step ? s.T : all_places, by = by_step ? -n.read.lag : n.read.shift;
    g = {s.B, by_step ? places : 1, by_step ? 1 : places, d, {}};
  }
  const auto at = [&](std::size_t row, long place) {
    if (state) place = std::max(place + 1, 0L);
    if (place < 0 || place >= static_cast<long>(stored)) return nowhere;
    return (row * stored + static_cast<std::size_t>(place)) * d;
  };
  const std::size_t rows = n.lies == Lies::pair ? g.B : s.B;
  const std::vector<std::size_t> none;
  const bool along = n.lies == Lies::step || n.lies == Lies::position;
  const int shift = n.lies == Lies::pair ? n.read.shift : 0;
  read_along(n.read, by, a.dim(0), all_places, rows, places, d, along ? s.lengths : none, at,
             [&](std::size_t to, std::size_t from, double weight) {
               for (std::size_t k = 0; k < d; ++k) {
                 const long other = static_cast<long>(k) + shift;
                 if (other >= 0 && other < static_cast<long>(d))
                   use(to + k, from + static_cast<std::size_t>(other), weight);
               }
             });
  return g;
}

// Some of the features.
Grid part_of(const Block& block, const Grid& x) {
  Grid out{x.B, x.T, x.N, block.rows, {}};
  out.x.reserve(out.size());
  for (std::size_t p = 0; p < x.x.size(); p += x.D) {
    const auto start = x.x.begin() + static_cast<std::ptrdiff_t>(p + block.start);
    out.x.insert(out.x.end(), start, start + static_cast<std::ptrdiff_t>(block.rows));
  }
  return out;
}

Grid read_leaf(const Node& n, const Scene& s) {
  const Array& a = get(*s.arrays, n.name);
  if (n.lies == Lies::everywhere) {
    const std::size_t count = n.block.rows ? n.block.rows : a.data.size();
    if (n.block.start + count > a.data.size()) misfit("a block is beyond the end");
    const auto start = a.data.begin() + static_cast<std::ptrdiff_t>(n.block.start);
    return {1, 1, 1, count, Vec(start, start + static_cast<std::ptrdiff_t>(count))};
  }
  Vec x(s.B * std::max<std::size_t>(s.T, 1) * a.data.size() / std::max<std::size_t>(a.dim(0), 1) + a.data.size());
  Grid g = read_leaf_along(n, s, a, [&](std::size_t to, std::size_t from, double w) { x[to] += w * a.data[from]; });
  x.resize(g.size());
  g.x = std::move(x);
  if (!n.block.rows) return g;
  if (n.block.start + n.block.rows > g.D) misfit("a block is beyond the end");
  return part_of(n.block, g);
}

Grid with_axes(Axes axes, const Grid& in) {
  const bool by_example = axes == Axes::example_for_position, by_step = axes == Axes::step_for_position;
  Grid g = in;
  if (by_example || by_step) g.N = by_example ? in.B : in.T;
  g.x.clear();
  for (std::size_t b = 0; b < g.B; ++b)
    for (std::size_t t = 0; t < g.T; ++t)
      for (std::size_t n = 0; n < g.N; ++n) {
        const std::size_t from = by_example                             ? in.place(n, t, 0)
                                 : by_step                              ? in.place(b, n, 0)
                                 : axes == Axes::examples_and_positions ? in.place(n, t, b)
                                 : axes == Axes::steps_and_positions    ? in.place(b, n, t)
                                                                        : in.place(t, b, n);
        const auto start = in.x.begin() + static_cast<std::ptrdiff_t>(from);
        g.x.insert(g.x.end(), start, start + static_cast<std::ptrdiff_t>(in.D));
      }
  return g;
}

// start (B, 1, 1, d) stands before the first step, if it is there.
Grid read_moved(const Read& read, const Grid& in, const Grid* start, const Scene& scene) {
  if (read.axes != Axes::own) return with_axes(read.axes, in);
  Grid g = in;
  const bool by_head = !read.of_heads && scene.heads > 1 && in.B == scene.B * scene.heads;  // examples, head by head
  const std::size_t d = in.N * in.D, per = in.T, rows = read.of_heads ? scene.heads : by_head ? scene.B : in.B;
  std::fill(g.x.begin(), g.x.end(), 0.0);
  if (in.B % rows || (start && start->D != d)) misfit("heads, or a start of another size");
  Vec all = in.x;
  if (start) all.insert(all.end(), start->x.begin(), start->x.end());
  const std::size_t apart = by_head ? scene.heads : 1;         // from one row to the next
  for (std::size_t batch = 0; batch < in.B / rows; ++batch) {  // of_heads: each example is a batch of its heads
    const std::size_t first = by_head ? batch : batch * rows;
    const auto place = [&](std::size_t row, std::size_t rest) { return (first + row * apart) * per * d + rest; };
    const auto at = [&](std::size_t row, long t) {
      if (t < 0 && start) return in.x.size() + start->place(first + row * apart, 0, 0);
      return t < 0 || t >= static_cast<long>(per) ? nowhere : place(row, static_cast<std::size_t>(t) * d);
    };
    read_along(read, -read.lag, rows, per, rows, per, d, {}, at, [&](std::size_t to, std::size_t from, double w) {
      const std::size_t into = place(to / (per * d), to % (per * d));
      for (std::size_t k = 0; k < d; ++k) g.x[into + k] += w * all[from + k];
    });
  }
  if (read.shift == 0) return g;
  const Vec kept = g.x;
  for (std::size_t r = 0; r < in.B * in.T; ++r)
    for (std::size_t i = 0; i < in.N; ++i)
      for (std::size_t k = 0; k < in.D; ++k) {
        const long from = static_cast<long>(i) + read.shift;
        g.x[(r * in.N + i) * in.D + k] = from < 0 || from >= static_cast<long>(in.N)
                                             ? 0
                                             : kept[(r * in.N + static_cast<std::size_t>(from)) * in.D + k];
      }
  return g;
}

// A parameter as a matrix, where it lies: number (r, k) stands at x[r * to_row + k * to_col].
struct Matrix {
  const double* x;
  std::size_t rows, cols, to_row, to_col;
  double at(std::size_t r, std::size_t k) const { return x[r * to_row + k * to_col]; }
};
Matrix transposed(const Matrix& m) { return {m.x, m.cols, m.rows, m.to_col, m.to_row}; }

Matrix read_matrix(const Node& n, const Scene& s) {
  const Array& a = get(*s.arrays, n.name);
  const bool vector = a.shape.size() == 1;
  const std::size_t cols = vector ? a.data.size() : a.dim(1), all = vector ? 1 : a.dim(0);
  const std::size_t rows = n.block.rows ? n.block.rows : all;
  if (n.block.start + rows > all) misfit("a block is beyond the end");
  const Matrix m{a.data.data() + n.block.start * cols, rows, cols, cols, 1};
  if (n.block.layout == Block::Layout::transposed) return transposed(m);
  if (n.block.layout == Block::Layout::relaid) return {m.x, rows, cols, 1, rows};
  return m;
}

Grid multiplied(const Matrix& m, const Grid& x) {
  const std::size_t places = x.B * x.T * x.N;
  if (x.D != m.cols) misfit("W x");
  Grid out{x.B, x.T, x.N, m.rows, Vec(places * m.rows)};
  for (std::size_t p = 0; p < places; ++p)
    for (std::size_t r = 0; r < m.rows; ++r) {
      double sum = 0;
      for (std::size_t k = 0; k < m.cols; ++k) sum += m.at(r, k) * x.x[p * m.cols + k];
      out.x[p * m.rows + r] = sum;
    }
  return out;
}

using Operands = std::span<const Grid* const>;

Grid joined(Operands parts) {
  Grid out{1, 1, 1, 0, {}};
  for (const Grid* g : parts)
    out.B = either(out.B, g->B), out.T = either(out.T, g->T), out.N = either(out.N, g->N), out.D += g->D;
  out.x.reserve(out.size());
  for (std::size_t b = 0; b < out.B; ++b)
    for (std::size_t t = 0; t < out.T; ++t)
      for (std::size_t n = 0; n < out.N; ++n)
        for (const Grid* g : parts) {
          const double* from = &g->x[g->place(b, t, n)];
          out.x.insert(out.x.end(), from, from + g->D);
        }
  return out;
}

Grid weighed(const Node& n, const Grid& e, const Grid* mask, const Scene& s) {
  if (e.D != 1 || (mask && e.B % mask->B)) misfit("scores have no features, and a mask for every example");
  const std::size_t B = e.B, T = e.T;
  Array scores({B, T, e.N}, e.x), m;
  if (mask) {
    m = Array({B, e.N}, Vec(B * e.N));
    for (std::size_t b = 0; b < B; ++b)
      for (std::size_t i = 0; i < e.N; ++i) m.data[b * e.N + i] = mask->x[mask->place(b / (B / mask->B), 0, i)];
  }
  AttentionConvention c = *n.attention;
  c.heads = s.heads;
  return {B, T, e.N, 1, attention_weights(c, scores, mask ? &m : nullptr, find(*s.arrays, "y_mask")).data};
}

Grid gathered(Gather how, const Grid& x, const Scene& s) {
  Grid out{x.B, x.T, 1, x.D, Vec(x.B * x.T * x.D)};
  for (std::size_t b = 0; b < x.B; ++b) {
    const std::size_t row = b / std::max<std::size_t>(x.B / std::max<std::size_t>(s.B, 1), 1);
    const std::size_t real = row < s.lengths.size() && s.lengths[row] ? s.lengths[row] : x.N;
    for (std::size_t t = 0; t < x.T; ++t)
      for (std::size_t k = 0; k < x.D; ++k) {
        const auto at = [&](std::size_t n) { return x.x[x.place(b, t, n) + k]; };
        double y = 0;
        for (std::size_t n = 0; n < x.N; ++n) {
          if (how == Gather::largest) y = n ? std::max(y, at(n)) : at(n);
          else if (how == Gather::least) y = n ? std::min(y, at(n)) : at(n);
          else y += at(n);
        }
        if (how == Gather::mean) y /= static_cast<double>(x.N);
        if (how == Gather::mean_of_real) y /= static_cast<double>(real);
        if (how == Gather::root) y /= std::sqrt(static_cast<double>(x.N));
        if (how == Gather::first) y = at(0);
        if (how == Gather::last) y = at(x.N - 1);
        out.x[(b * x.T + t) * x.D + k] = y;
      }
  }
  return out;
}

Grid paired(Pairing how, const Grid& x) {
  const std::size_t d = x.D / 2, places = x.B * x.T * x.N;
  Grid out{x.B, x.T, x.N, d, Vec(places * d)};
  for (std::size_t p = 0; p < places; ++p)
    for (std::size_t k = 0; k < d; ++k) {
      const bool halves = how == Pairing::larger_of_halves;
      const double a = x.x[p * x.D + (halves ? k : 2 * k)], b = x.x[p * x.D + (halves ? k + d : 2 * k + 1)];
      out.x[p * d + k] = how == Pairing::mean      ? (a + b) / 2
                         : how == Pairing::smaller ? std::min(a, b)
                         : how == Pairing::first   ? a
                         : how == Pairing::product ? a * b
                         : how == Pairing::sum     ? a + b
                                                   : std::max(a, b);
    }
  return out;
}

// (B, T, N, heads d_k) <-> (B heads, T, N, d_k)
Grid split(const Grid& x, std::size_t heads) {
  if (x.D % heads) misfit("heads");
  const std::size_t d = x.D / heads, places = x.T * x.N;
  Grid out{x.B * heads, x.T, x.N, d, Vec(x.x.size())};
  for (std::size_t b = 0; b < x.B; ++b)
    for (std::size_t p = 0; p < places; ++p)
      for (std::size_t k = 0; k < x.D; ++k)
        out.x[((b * heads + k / d) * places + p) * d + k % d] = x.x[(b * places + p) * x.D + k];
  return out;
}
Grid merge(const Grid& x, std::size_t heads) {
  if (x.B % heads) misfit("heads");
  const std::size_t d = x.D, places = x.T * x.N;
  Grid out{x.B / heads, x.T, x.N, d * heads, Vec(x.x.size())};
  for (std::size_t r = 0; r < x.B; ++r)
    for (std::size_t p = 0; p < places; ++p)
      for (std::size_t k = 0; k < d; ++k)
        out.x[((r / heads) * places + p) * out.D + r % heads * d + k] = x.x[(r * places + p) * d + k];
  return out;
}

// A function of the numbers that lie along another axis than the features.
Grid applied_along(const Node& n, Grid g) {
  const std::size_t of_n = g.D, of_t = g.N * g.D, of_b = g.T * g.N * g.D;
  const std::size_t count = n.along == Along::positions ? g.N : n.along == Along::steps ? g.T : g.B;
  const std::size_t stride = n.along == Along::positions ? of_n : n.along == Along::steps ? of_t : of_b;
  Vec x(count);
  for (std::size_t first = 0; first < g.x.size(); ++first) {
    if (first / stride % count) continue;  // not the first along the axis
    for (std::size_t k = 0; k < count; ++k) x[k] = g.x[first + k * stride];
    n.function->apply(x.data(), count);
    for (std::size_t k = 0; k < count; ++k) g.x[first + k * stride] = x[k];
  }
  return g;
}

// What a term makes of its operands; `matrix` is that of a product, which has no numbers of its own.
Grid computed(const Node& n, const Node* matrix, Operands in, const Scene& s) {
  const auto folded = [&](auto f) {
    if (in.size() < 2) return *in[0];
    Grid g = combined(*in[0], *in[1], f);
    for (const Grid* more : in.subspan(2)) combine_into(g, *more, f);
    return g;
  };
  switch (n.op) {
    case Op::leaf:
      return read_leaf(n, s);
    case Op::number:
      return {1, 1, 1, 1, {n.number}};
    case Op::product:
      return multiplied(read_matrix(*matrix, s), *in[1]);
    case Op::sum:
      return folded([](double a, double b) { return a + b; });
    case Op::times:
      return folded([](double a, double b) { return a * b; });
    case Op::complement: {
      Grid g = *in[0];
      for (double& x : g.x) x = 1 - x;
      return g;
    }
    case Op::apply: {
      Grid g = *in[0];
      if (n.along != Along::features) return applied_along(n, std::move(g));
      for (std::size_t p = 0; p < g.x.size(); p += g.D) n.function->apply(&g.x[p], g.D);
      return g;
    }
    case Op::dot: {
      const Grid g = combined(*in[0], *in[1], [](double a, double b) { return a * b; });
      Grid out{g.B, g.T, g.N, 1, Vec(g.B * g.T * g.N)};
      for (std::size_t k = 0; k < g.x.size(); ++k) out.x[k / g.D] += g.x[k];
      return out;
    }
    case Op::weights:
      return weighed(n, *in[0], in.size() > 1 ? in[1] : nullptr, s);
    case Op::gather:
      return gathered(n.gather, *in[0], s);
    case Op::join:
      return joined(in);
    case Op::maxout:
      return paired(n.pairing, *in[0]);
    case Op::moved:
      return read_moved(n.read, *in[0], in.size() > 1 ? in[1] : nullptr, s);
    case Op::split:
      return split(*in[0], s.heads);
    case Op::merge:
      return merge(*in[0], s.heads);
    case Op::matrix:
    case Op::carried:
    case Op::loop:
      break;
  }
  return {1, 1, 1, 1, {0}};
}

// A sequence one step later, behind its start (B, 1, 1, d).
Grid carried_on(const Grid& body, const Grid& start, std::size_t T) {
  Grid g{start.B, T, 1, start.D, Vec(start.B * T * start.D)};
  if (body.N > 1 || (body.D != g.D && body.D != 1)) misfit("what a loop hands on has another size");
  for (std::size_t b = 0; b < g.B; ++b)
    for (std::size_t t = 0; t < T; ++t)
      for (std::size_t k = 0; k < g.D; ++k)
        g.x[(b * T + t) * g.D + k] =
            t ? body.x[body.place(b, t - 1, 0) + (body.D > 1 ? k : 0)] : start.x[start.place(b, 0, 0) + k];
  return g;
}

}  // namespace

// One evaluation of a plan under a change. Terms of the plan go by their number; what the change brings in is new.
class Evaluation {
 public:
  Evaluation(const Plan& plan, const Change& change) : plan_(plan), change_(change) {
    const std::size_t n = plan.terms_.size();
    touched_.assign(n, false);
    for (std::size_t k = 0; k < n; ++k) {
      const Node* node = plan.terms_[k].get();
      bool hit = node == change.user || replacement(node);
      for (std::size_t in : plan.operands_[k]) hit = hit || touched_[in];
      touched_[k] = hit;
      if (node->op == Op::loop) loops_ = loops_ || hit;
    }
    memo_.assign(2 * n, nullptr);
  }

  Grid run() { return *value(plan_.terms_.size() - 1, true); }
  std::size_t work() const { return work_; }

 private:
  // What stands in the place of a term wherever it is used, nullptr if that is the term itself.
  const Term* replacement(const Node* node) const {
    if (change_.user) return nullptr;
    for (const auto& [from, to] : change_.terms)
      if (from == node) return &to;
    return nullptr;
  }

  const Grid* value(std::size_t k, bool changed) {
    const bool fresh = (changed && touched_[k]) || (loops_ && plan_.looped_[k] && carried_);
    if (!fresh) return &plan_.values_[k];
    const std::size_t place = k * 2 + changed;
    if (!memo_[place]) memo_[place] = made_of(k, changed);
    return memo_[place];
  }
  const Grid* made_of(std::size_t k, bool changed) {
    const Node& node = *plan_.terms_[k];
    if (const Term* other = changed ? replacement(&node) : nullptr) return value_of(*other);
    if (node.op == Op::carried) return carried_;
    if (node.op == Op::loop) return looped(k);
    const bool here = changed && change_.user == &node;
    const Node* matrix = node.op == Op::product ? node.in[0].get() : nullptr;
    if (const Term* other = changed && matrix && !here ? replacement(matrix) : nullptr) matrix = other->get();
    const std::size_t first = operands_.size();
    for (std::size_t j = 0; j < node.in.size(); ++j) {
      const bool exchanged = here && j == change_.place;
      const Term& operand = exchanged ? change_.terms[0].second : node.in[j];
      if (exchanged && j == 0 && matrix) matrix = operand.get();
      operands_.push_back(operand->op == Op::matrix ? nullptr
                          : exchanged               ? value_of(operand)
                                                    : value(plan_.operands_[k][j], changed));
    }
    return kept(node, matrix, first);
  }
  // Of a term that may not be the plan's, without the change.
  const Grid* value_of(const Term& term) {
    if (const auto known = plan_.index_.find(term.get()); known != plan_.index_.end())
      return value(known->second, false);
    const std::size_t first = operands_.size();
    for (const Term& in : term->in) operands_.push_back(in->op == Op::matrix ? nullptr : value_of(in));
    return kept(*term, term->op == Op::product ? term->in[0].get() : nullptr, first);
  }
  // From the operands from `first` on, which it takes away.
  const Grid* kept(const Node& node, const Node* matrix, std::size_t first) {
    const Operands in = Operands(operands_).subspan(first);
    made_.push_back(computed(node, matrix, in, plan_.scene_));
    constexpr std::size_t to_begin = 32;  // what a term costs whose numbers are few
    work_ += to_begin + made_.back().size() * (node.op == Op::product ? in[1]->D : 1);
    operands_.resize(first);
    return &made_.back();
  }

  // Step t of the body needs step t - 1 of it alone, so T rounds settle it.
  const Grid* looped(std::size_t k) {
    const std::size_t body = plan_.operands_[k][0], T = plan_.scene_.T;
    const Grid& start = *value(plan_.operands_[k][1], true);
    const Grid* made = nullptr;
    carried_ = &made_.emplace_back(carried_on(start, start, T));
    const std::vector<const Grid*> outside = std::move(memo_);  // what was known before the loop
    for (std::size_t t = 0; t < T; ++t) {
      memo_.assign(2 * plan_.terms_.size(), nullptr);
      made = value(body, true);
      // What reads the carried numbers from outside, if anything does, reads the settled ones.
      carried_ = &made_.emplace_back(carried_on(*made, start, T));
    }
    memo_ = outside;
    return made;
  }

  const Plan& plan_;
  const Change& change_;
  std::vector<char> touched_;
  bool loops_ = false;
  std::size_t work_ = 0;
  const Grid* carried_ = nullptr;
  std::vector<const Grid*> memo_;      // of each term without the change and with it
  std::vector<const Grid*> operands_;  // of the terms that are being computed
  std::deque<Grid> made_;
};

namespace {

// Of one term alone. What a leaf reads stands in the trace, wherever that is.
Plan::Needs needs_of(const Node& n) {
  using enum Plan::Needs;
  if (n.op == Op::moved) {
    const bool causal = n.read.order == Order::kept || n.read.order == Order::not_at_first ||
                        n.read.order == Order::first || n.read.order == Order::sum_so_far ||
                        n.read.order == Order::mean_so_far || n.read.order == Order::held;
    if (n.read.lag < 0 || !causal || n.read.rows == Rows::relaid || n.read.axes != Axes::own) return all;
    return n.read.rows == Rows::own ? example : batch;
  }
  if (n.op == Op::apply) return n.along == Along::steps ? all : n.along == Along::examples ? batch : example;
  if (n.op == Op::weights) {
    const AttentionConvention& c = *n.attention;
    if (c.mask_read != MaskRead::keys || c.heads != 1) return all;
    return c.axis == SoftmaxAxis::keys ? example : c.axis == SoftmaxAxis::batch ? batch : all;
  }
  return n.op == Op::split || n.op == Op::merge ? all : example;
}

}  // namespace

Plan::Needs Plan::needs(const Change& change) const {
  Needs most = needs_;
  const std::function<void(const Term&)> look = [&](const Term& t) {
    if (index_.count(t.get())) return;
    most = std::max(most, needs_of(*t));
    for (const Term& in : t->in) look(in);
  };
  for (const auto& [from, to] : change.terms) look(to);
  return most;
}

Plan::Plan(Term root, const Scene& scene) : scene_(scene) {
  list(root);
  for (const Term& t : terms_) {
    needs_ = std::max(needs_, needs_of(*t));
    operands_.emplace_back();
    for (const Term& in : t->in) operands_.back().push_back(index_.at(in.get()));
  }
  uses_[root.get()];
  values_.resize(terms_.size());
  looped_.assign(terms_.size(), false);
  const auto number_all = [&] {
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      const Node& n = *terms_[k];
      if (n.op == Op::matrix || n.op == Op::carried) continue;
      if (n.op == Op::loop) {
        values_[k] = values_[index_.at(n.in[0].get())];
        continue;
      }
      std::vector<const Grid*> in;
      for (std::size_t operand : operands_[k]) in.push_back(&values_[operand]);
      values_[k] = computed(n, n.op == Op::product ? n.in[0].get() : nullptr, in, scene_);
    }
  };
  std::size_t carried = terms_.size(), loop = carried;
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    if (terms_[k]->op == Op::carried) carried = k;
    if (terms_[k]->op == Op::loop) loop = k;
    looped_[k] = terms_[k]->op == Op::carried;
    for (const Term& in : terms_[k]->in) looped_[k] = looped_[k] || looped_[index_.at(in.get())];
  }
  if (loop == terms_.size() || carried == terms_.size()) {
    number_all();
    return;
  }
  const Term& start = terms_[loop]->in[1];
  const Grid from = evaluate(start, scene_);
  values_[carried] = carried_on(from, from, scene_.T);
  for (std::size_t t = 0; t < scene_.T; ++t) {
    number_all();
    values_[carried] = carried_on(values_[index_.at(terms_[loop]->in[0].get())], from, scene_.T);
  }
  number_all();
}

void Plan::list(const Term& term) {
  if (index_.count(term.get())) return;
  for (std::size_t k = 0; k < term->in.size(); ++k) {
    list(term->in[k]);
    uses_[term->in[k].get()].emplace_back(term.get(), k);
  }
  index_[term.get()] = terms_.size();
  terms_.push_back(term);
}

Grid Plan::changed(const Change& change, std::size_t* work) const {
  Evaluation evaluation(*this, change);
  Grid made = evaluation.run();
  if (work) *work += evaluation.work();
  return made;
}

Term Plan::with(const Change& change) const {
  std::unordered_map<const Node*, Term> made;
  for (const Term& term : terms_) {
    Node copy = *term;
    bool differs = false;
    for (std::size_t k = 0; k < copy.in.size(); ++k) {
      Term to = made.at(copy.in[k].get());
      if (change.user == term.get() && change.place == k) to = change.terms[0].second;
      differs = differs || to != copy.in[k];
      copy.in[k] = to;
    }
    Term result = differs ? std::make_shared<const Node>(std::move(copy)) : term;
    if (!change.user)
      for (const auto& [from, to] : change.terms)
        if (from == term.get()) result = to;
    made[term.get()] = result;
  }
  return made.at(root().get());
}

namespace {

// What flows back into an operand of this size: sums over the axes along which it was stretched.
Grid reduced(const Grid& g, const Grid& like) {
  if (g.B == like.B && g.T == like.T && g.N == like.N && g.D == like.D) return g;
  Grid out{like.B, like.T, like.N, like.D, Vec(like.size())};
  for (std::size_t b = 0; b < g.B; ++b)
    for (std::size_t t = 0; t < g.T; ++t)
      for (std::size_t n = 0; n < g.N; ++n)
        for (std::size_t k = 0; k < g.D; ++k)
          out.x[out.place(b, t, n) + (like.D > 1 ? k : 0)] += g.x[g.place(b, t, n) + k];
  return out;
}

double multiply_numbers(double a, double b) { return a * b; }

// The gradient that flows into each operand of a term; an empty one where nothing does.
std::vector<Grid> flows_of(const Node& n, const std::vector<const Grid*>& in, const Grid& y, const Grid& dy,
                           const Scene& s) {
  std::vector<Grid> dx(n.in.size());
  switch (n.op) {
    case Op::leaf:
    case Op::number:
    case Op::matrix:
      break;
    case Op::product: {
      const Matrix m = read_matrix(*n.in[0], s);
      const std::size_t rows = m.rows, cols = m.cols;
      const Grid& x = *in[1];
      dx[0] = {1, 1, rows, cols, Vec(rows * cols)};
      dx[1] = multiplied(transposed(m), dy);
      for (std::size_t p = 0; p < x.x.size() / cols; ++p)
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t k = 0; k < cols; ++k) dx[0].x[r * cols + k] += dy.x[p * rows + r] * x.x[p * cols + k];
      break;
    }
    case Op::sum:
      for (std::size_t k = 0; k < dx.size(); ++k) dx[k] = reduced(dy, *in[k]);
      break;
    case Op::times:
      for (std::size_t k = 0; k < dx.size(); ++k) {
        Grid g = dy;
        for (std::size_t j = 0; j < in.size(); ++j)
          if (j != k) g = combined(g, *in[j], multiply_numbers);
        dx[k] = reduced(g, *in[k]);
      }
      break;
    case Op::complement:
      dx[0] = dy;
      for (double& x : dx[0].x) x = -x;
      break;
    case Op::apply:
      if (!n.function->back) misfit("no slope is written for this function");
      dx[0] = dy;
      for (std::size_t p = 0; p < dy.x.size(); p += dy.D)
        n.function->back(&in[0]->x[p], &y.x[p], &dy.x[p], &dx[0].x[p], dy.D);
      break;
    case Op::dot:
      for (std::size_t k : {0, 1}) dx[k] = reduced(combined(dy, *in[1 - k], multiply_numbers), *in[k]);
      break;
    case Op::weights: {
      const AttentionConvention& c = *n.attention;
      if (c.axis != SoftmaxAxis::keys || c.normaliser != Normaliser::softmax) misfit("not a softmax over the keys");
      dx[0] = dy;
      for (std::size_t p = 0; p < dy.x.size(); p += dy.N) {
        softmax_back(nullptr, &y.x[p], &dy.x[p], &dx[0].x[p], dy.N);
        for (std::size_t k = 0; k < dy.N; ++k) dx[0].x[p + k] /= c.temperature;
      }
      break;
    }
    case Op::gather: {
      const Grid& x = *in[0];
      if (n.gather != Gather::sum && n.gather != Gather::first) misfit("no model gathers like this");
      dx[0] = {x.B, x.T, x.N, x.D, Vec(x.size())};
      for (std::size_t b = 0; b < x.B; ++b)
        for (std::size_t t = 0; t < x.T; ++t)
          for (std::size_t i = 0; i < (n.gather == Gather::sum ? x.N : 1); ++i)
            for (std::size_t k = 0; k < x.D; ++k) dx[0].x[x.place(b, t, i) + k] = dy.x[dy.place(b, t, 0) + k];
      break;
    }
    case Op::join: {
      std::size_t first = 0;
      for (std::size_t k = 0; k < dx.size(); ++k) {
        dx[k] = reduced(part_of({first, in[k]->D}, dy), *in[k]);
        first += in[k]->D;
      }
      break;
    }
    case Op::maxout: {
      const Grid& x = *in[0];
      if (n.pairing != Pairing::larger_neighbour) misfit("no model pairs like this");
      dx[0] = {x.B, x.T, x.N, x.D, Vec(x.size())};
      for (std::size_t k = 0; k < dy.x.size(); ++k) dx[0].x[x.x[2 * k] >= x.x[2 * k + 1] ? 2 * k : 2 * k + 1] = dy.x[k];
      break;
    }
    case Op::split:
      dx[0] = merge(dy, s.heads);
      break;
    case Op::merge:
      dx[0] = split(dy, s.heads);
      break;
    case Op::moved:
    case Op::carried:
    case Op::loop:
      misfit("no slope is written for what is moved or carried");
  }
  return dx;
}

}  // namespace

void Plan::backward(const Grid& d_root, const Flow& flow, Arrays& into, const Saved* saved) const {
  const auto read = [&](std::size_t term) -> const Grid& {
    if (!saved) return values_[term];
    const auto instead = saved->find(terms_[term].get());
    return instead == saved->end() ? values_[term] : instead->second;
  };
  std::vector<Grid> gradients(terms_.size());
  gradients.back() = d_root;
  const auto add_to = [](Grid& sum, Grid more) {
    if (sum.x.empty()) sum = std::move(more);
    else
      for (std::size_t k = 0; k < sum.x.size(); ++k) sum.x[k] += more.x[k];
  };
  for (std::size_t at = terms_.size(); at-- > 0;) {
    const Node& n = *terms_[at];
    Grid& dy = gradients[at];
    if (dy.x.empty()) continue;
    flow(n, all_uses, dy, dy);
    if (n.op == Op::leaf || n.op == Op::matrix) {
      const Array& a = get(*scene_.arrays, n.name);
      Array& sum = into[n.name];
      if (sum.data.empty()) sum = Array(a.shape);
      if (n.op == Op::matrix) {
        const std::size_t cols = a.shape.size() == 1 ? a.data.size() : a.dim(1);
        if (n.block.layout != Block::Layout::as_is) misfit("no model reads a matrix like this");
        for (std::size_t k = 0; k < dy.x.size(); ++k) sum.data[n.block.start * cols + k] += dy.x[k];
      } else if (n.lies == Lies::everywhere) {
        for (std::size_t p = 0; p < dy.x.size(); p += dy.D)
          for (std::size_t k = 0; k < dy.D; ++k) sum.data[n.block.start + k] += dy.x[p + k];
      } else {
        Grid all = dy;  // of every feature
        if (n.block.rows) {
          all.D = a.shape.back(), all.x.assign(dy.x.size() / dy.D * all.D, 0);
          for (std::size_t p = 0, to = n.block.start; p < dy.x.size(); p += dy.D, to += all.D)
            for (std::size_t k = 0; k < dy.D; ++k) all.x[to + k] = dy.x[p + k];
        }
        read_leaf_along(n, scene_, a,
                        [&](std::size_t to, std::size_t from, double w) { sum.data[from] += w * all.x[to]; });
      }
      continue;
    }
    std::vector<const Grid*> in;
    for (std::size_t operand : operands_[at]) in.push_back(&read(operand));
    std::vector<Grid> dx = flows_of(n, in, read(at), dy, scene_);
    for (std::size_t k = 0; k < dx.size(); ++k) {
      if (dx[k].x.empty()) continue;
      flow(n, k, dy, dx[k]);
      add_to(gradients[operands_[at][k]], std::move(dx[k]));
    }
  }
}

Grid Plan::flow_into(const Node& term, std::size_t place, const Grid& dy) const {
  const std::size_t at = index_.at(&term);
  std::vector<const Grid*> in;
  for (std::size_t operand : operands_[at]) in.push_back(&values_[operand]);
  return std::move(flows_of(term, in, values_[at], dy, scene_)[place]);
}

bool Plan::contains(const Node* term, const Node* part) const {
  return term == part ||
         std::any_of(term->in.begin(), term->in.end(), [&](const Term& in) { return contains(in.get(), part); });
}

std::vector<const Node*> Plan::owners(const Node* inner) const {
  if (!inner->label.empty() || uses_.at(inner).empty()) return {inner};
  std::vector<const Node*> all;
  for (const auto& [user, place] : uses_.at(inner))
    for (const Node* owner : owners(user))
      if (std::find(all.begin(), all.end(), owner) == all.end()) all.push_back(owner);
  return all;
}

const Term* Plan::loop() const {
  for (const Term& t : terms_)
    if (t->op == Op::loop) return &t;
  return nullptr;
}

Grid evaluate(const Term& term, const Scene& scene) {
  const Plan plan(term, scene);
  return plan.value(plan.root().get());
}

// ---- print

namespace {

std::string short_number(double x) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::general, 4).ptr;
  return std::string(text, end);
}

std::string at_step(int lag, int sign = -1) {
  if (lag == 0) return "t";
  return std::string("t") + (sign * lag > 0 ? "+" : "-") + std::to_string(std::abs(lag));
}

// The words of a printed formula.
const Said rows_read[] = {{},
                          {"next example", "下一个样本"},
                          {"previous example", "上一个样本"},
                          {"first example", "第一个样本"},
                          {"last example", "最后一个样本"},
                          {"mean example", "各样本的平均"},
                          {"(T, B) read as (B, T)", "(T, B) 读作 (B, T)"},
                          {"example in reverse order", "样本次序颠倒"}};
const Said heads_read[] = {{},
                           {"next head", "下一个头"},
                           {"previous head", "上一个头"},
                           {"first head", "第一个头"},
                           {"last head", "最后一个头"},
                           {"mean head", "各头的平均"},
                           {"(T, B) read as (B, T)", "(T, B) 读作 (B, T)"},
                           {"head in reverse order", "头的次序颠倒"}};
const Said axes_read[] = {{},
                          {"example i at position i", "位置 i 用样本 i 的"},
                          {"step i at position i", "位置 i 用第 i 步的"},
                          {"examples and positions exchanged", "样本与位置对调"},
                          {"steps and positions exchanged", "时间步与位置对调"},
                          {"examples and steps exchanged", "样本与时间步对调"}};
const Said orders_read[] = {{},
                            {"reversed", "反序"},
                            {"reversed within its length", "在各自长度内反序"},
                            {"first", "第一个"},
                            {"last", "最后一个"},
                            {"last real", "最后一个真实位置"},
                            {"mean", "平均"},
                            {"mean of the real", "真实位置的平均"},
                            {"sum so far", "到此为止的和"},
                            {"mean so far", "到此为止的平均"},
                            {"0 at the first step", "第一步为 0"},
                            {"the one at the end again beyond it", "越过末尾时仍取末尾那个"},
                            {}};
const Said rolled_ahead = {"one ahead, the last reads the first", "后一个，末尾读开头"};
const Said rolled_behind = {"one behind, the first reads the last", "前一个，开头读末尾"};
const Said rolled_round = {"rolled round the end", "首尾循环移位"};
const Said held_at_first = {"before the beginning the first one again", "开头之前仍取第一个"};
const Said read_as_buffer = {"buffer read as (in, out)", "缓冲区读作 (in, out)"};
const Said of_positions[] = {{"sum over i of ", "对 i 求和 "},
                             {"mean over i of ", "对 i 取平均 "},
                             {"mean over the real i of ", "对真实的 i 取平均 "},
                             {"largest over i of ", "对 i 取最大 "},
                             {"smallest over i of ", "对 i 取最小 "},
                             {"first over i of ", "取第一个 i 的 "},
                             {"last over i of ", "取最后一个 i 的 "},
                             {"1/sqrt(T_enc) of the sum over i of ", "1/sqrt(T_enc) 乘以对 i 求和 "}};
const Said of_pairs[] = {
    {"larger of each pair of ", "每对取较大者 "}, {"larger of the two halves of ", "前后两半取较大者 "},
    {"mean of each pair of ", "每对取平均 "},     {"smaller of each pair of ", "每对取较小者 "},
    {"first of each pair of ", "每对取第一个 "},  {"product of each pair of ", "每对取乘积 "},
    {"sum of each pair of ", "每对取和 "}};
const Said softmax_of = {"softmax over i of ", "对 i 取 softmax "};
const Said masked_by = {", masked by ", "，掩码 "};
const Said along_positions = {" over i", "（沿 i）"}, along_steps = {" over t", "（沿 t）"};
const Said along_batch = {" over the batch", "（沿批）"};

// onward: how far away, for what is rolled.
std::string whose(const Read& r, int onward = 0) {
  if (r.axes != Axes::own) return std::string("[") + axes_read[static_cast<std::size_t>(r.axes)].en + "]";
  std::string text = (r.of_heads ? heads_read : rows_read)[static_cast<std::size_t>(r.rows)].en;
  std::string order = orders_read[static_cast<std::size_t>(r.order)].en;
  if (r.order == Order::rolled) order = (onward > 0 ? rolled_ahead : onward < 0 ? rolled_behind : rolled_round).en;
  if (r.order == Order::held && onward < 0) order = held_at_first.en;
  if (!order.empty()) text += (text.empty() ? "" : ", ") + order;
  return text.empty() ? "" : "[" + text + "]";
}

std::string print_leaf(const Node& n) {
  if (n.lies == Lies::everywhere) return n.shown.empty() ? n.name : n.shown;
  std::string name = n.shown.empty() ? n.name : n.shown, index;
  if (name == "y_emb") name = "y";
  if (name == "htilde") name = "s~";
  if (name == "H") name = "h";
  if (n.lies == Lies::step) index = n.name == "y_emb" ? at_step(n.read.lag + 1) : at_step(n.read.lag);
  if (n.lies == Lies::position)
    index =
        n.read.shift ? "i" + std::string(n.read.shift > 0 ? "+" : "-") + std::to_string(std::abs(n.read.shift)) : "i";
  if (n.lies == Lies::pair) {
    index = at_step(n.read.lag) + ",i";
    if (n.read.shift) index += (n.read.shift > 0 ? "+" : "-") + std::to_string(std::abs(n.read.shift));
  }
  if (!index.empty()) name += index.size() > 1 ? "_{" + index + "}" : "_" + index;
  return name + whose(n.read, n.lies == Lies::position ? n.read.shift : -n.read.lag);
}

std::string bracketed(const Term& t) {
  if (t->label.empty() && (t->op == Op::split || t->op == Op::merge)) return bracketed(t->in[0]);
  const std::string text = print(t);
  const bool plain = !t->label.empty() || t->op == Op::leaf || t->op == Op::number || t->op == Op::matrix ||
                     t->op == Op::apply || t->op == Op::join || t->op == Op::carried || t->op == Op::weights;
  return plain ? text : "(" + text + ")";
}

}  // namespace

std::string print(const Term& term, bool whole) {
  const Node& n = *term;
  if (!n.label.empty() && !whole) return n.label;
  std::string text;
  const auto list = [&](const char* between, bool brackets) {
    std::string out;
    for (const Term& t : n.in) out += (out.empty() ? "" : between) + (brackets ? bracketed(t) : print(t));
    return out;
  };
  switch (n.op) {
    case Op::leaf:
      text = print_leaf(n);
      break;
    case Op::matrix:
      text = (n.shown.empty() ? n.name : n.shown) + (n.block.layout == Block::Layout::transposed ? "^T"
                                                     : n.block.layout == Block::Layout::relaid
                                                         ? "[" + std::string(read_as_buffer.en) + "]"
                                                         : "");
      break;
    case Op::number:
      text = n.shown.empty() ? short_number(n.number) : n.shown;
      break;
    case Op::product:
      text = print(n.in[0]) + " " + bracketed(n.in[1]);
      break;
    case Op::sum:
      text = list(" + ", false);
      for (std::size_t at = 0; (at = text.find("+ -", at)) != std::string::npos;) text.replace(at, 3, "- ");
      break;
    case Op::times:
      text = list(" * ", true);
      break;
    case Op::complement:
      text = "1 - " + bracketed(n.in[0]);
      break;
    case Op::apply:
      text = std::string(n.function->name) + "(" + print(n.in[0]) + ")";
      if (n.along != Along::features)
        text += (n.along == Along::positions ? along_positions
                 : n.along == Along::steps   ? along_steps
                                             : along_batch)
                    .en;
      break;
    case Op::dot:
      text = bracketed(n.in[0]) + " . " + bracketed(n.in[1]);
      break;
    case Op::weights:
      text = softmax_of.en + bracketed(n.in[0]) + (n.in.size() > 1 ? masked_by.en + print(n.in[1]) : "");
      break;
    case Op::gather: {
      const Order order = n.in[0]->op == Op::leaf ? n.in[0]->read.order : Order::kept;
      const bool averaged = order == Order::mean || order == Order::mean_of_real;
      if (n.gather == Gather::first && averaged) {  // the same at every position
        Node plain = *n.in[0];
        plain.read.order = Order::kept;
        text = of_positions[order == Order::mean ? 1 : 2].en + print_leaf(plain);
      } else if (n.gather == Gather::first && order != Order::kept) {
        text = print(n.in[0]);
      } else {
        text = of_positions[static_cast<std::size_t>(n.gather)].en + bracketed(n.in[0]);
      }
      break;
    }
    case Op::join:
      text = "[" + list("; ", false) + "]";
      break;
    case Op::maxout:
      text = of_pairs[static_cast<std::size_t>(n.pairing)].en + bracketed(n.in[0]);
      break;
    case Op::moved:
      if (!n.shown.empty()) text = n.shown;
      else if (n.in[0]->op == Op::carried && n.read.order == Order::kept)
        text = "c_{" + at_step(n.read.lag + 1) + "}" + whose(n.read);
      else
        text = bracketed(n.in[0]) + (n.read.lag ? "_{" + at_step(n.read.lag) + "}" : "") +
               (n.read.shift ? "_{i" + std::string(n.read.shift > 0 ? "+" : "") + std::to_string(n.read.shift) + "}"
                             : "") +
               whose(n.read);
      break;
    case Op::split:
    case Op::merge:
    case Op::loop:
      text = print(n.in[0], n.op == Op::loop);
      break;
    case Op::carried:
      text = n.name;
      break;
  }
  const bool says_it = n.op == Op::loop && n.in[0]->label == n.label;  // its body is called the same
  return whole && !n.label.empty() && !says_it ? n.label + " = " + text : text;
}

namespace {

// Where it stands between brackets, which hold nothing else but more of them.
void replace_in_brackets(std::string& text, const Said& word) {
  const std::string en = word.en;
  for (std::size_t at = 0; !en.empty() && (at = text.find(en, at)) != std::string::npos; ++at) {
    const bool opens = at > 0 && (text[at - 1] == '[' || (at > 1 && text.compare(at - 2, 2, ", ") == 0));
    const char next = at + en.size() < text.size() ? text[at + en.size()] : ' ';
    if (opens && (next == ']' || next == ',')) text.replace(at, en.size(), word.zh);
  }
}

void replace_all(std::string& text, const Said& word) {
  const std::string en = word.en, zh = word.zh;
  for (std::size_t at = 0; (at = text.find(en, at)) != std::string::npos; at += zh.size())
    text.replace(at, en.size(), zh);
}

}  // namespace

std::string printed_in_chinese(std::string text) {
  for (const Said& word : of_pairs) replace_all(text, word);
  // From behind: the last one ends as the first does.
  for (auto word = std::rbegin(of_positions); word != std::rend(of_positions); ++word) replace_all(text, *word);
  for (const Said* word : {&softmax_of, &masked_by, &along_batch, &along_positions, &along_steps})
    replace_all(text, *word);
  for (const Said* word : {&rolled_ahead, &rolled_behind, &rolled_round, &held_at_first, &read_as_buffer})
    replace_in_brackets(text, *word);
  for (const auto& words : {std::span<const Said>(rows_read), std::span<const Said>(heads_read)})
    for (const Said& word : words) replace_in_brackets(text, word);
  for (const Said& word : axes_read) replace_in_brackets(text, word);
  for (const Said& word : orders_read) replace_in_brackets(text, word);
  const std::string slope = "the slope of ";  // of a term, which ends where a Chinese sentence goes on
  for (std::size_t at = 0; (at = text.find(slope, at)) != std::string::npos;) {
    text.erase(at, slope.size());
    text.insert(std::min(text.find("，", at), text.size()), " 的导数");
  }
  return text;
}

}  // namespace gradus::diagnosis
