// Random programs: a seed grows a graph of up to 40 ops with reuse, views that are held or not, stretched and empty
// axes. Value and gradient of each are compared with the plain reference run on jets: <w, J v> = <J' w, v>.
// GRADUS_PROGRAMS=100000 in the environment runs more of them than the default.
#include <cstdlib>

#include "autograd/ops.h"
#include "autograd/pointwise.h"
#include "tests/autograd/plain.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

struct Entry {
  Var var;
  Plain<Jet> plain;
};

Lengths lengths(const Shape& shape) { return Lengths(shape.begin(), shape.end()); }

class Program {
 public:
  explicit Program(std::uint64_t seed) : numbers_(seed) {
    const std::int64_t leaf_count = 1 + numbers_.below(3);
    for (std::int64_t i = 0; i < leaf_count; ++i) add_leaf(random_shape());
    const std::int64_t op_count = 1 + numbers_.below(40);
    for (std::int64_t i = 0; i < op_count; ++i) add_op();
  }

  // What is wrong with value or gradient; empty when nothing is.
  std::string verdict() {
    for (const Entry& entry : entries_) {
      if (lengths(entry.var.shape()) != entry.plain.shape) return "shape of a value";
      const std::vector<double> values = elements(entry.var.value());
      std::vector<double> want;
      for (const Jet& jet : entry.plain.data) want.push_back(jet.v);
      if (!near(values, want, 1e-11, 1e-13)) return "a value";
    }
    // The loss: several entries, weighted with random numbers.
    double forward = 0, scale = 1e-3;
    Var loss;
    const std::int64_t roots = 1 + numbers_.below(3);
    for (std::int64_t i = 0; i < roots; ++i) {
      const Entry& root = i == 0 ? entries_.back() : entries_[pick()];
      const std::vector<double> w = numbers_.many(root.var.value().size(), -1, 1);
      for (std::size_t j = 0; j < w.size(); ++j) {
        forward += w[j] * root.plain.data[j].d;
        scale += std::fabs(w[j] * root.plain.data[j].d);
      }
      const Var part = sum(root.var * Var(tensor(root.var.shape(), w, f64)));
      loss = loss.defined() ? loss + part : part;
    }
    if (!loss.requires_grad()) return "";
    // Some of the handles are dropped before the walk, so that some views are held and others are not.
    for (Entry& entry : entries_) {
      if (numbers_.below(4) > 0) entry.var = Var();
    }
    const bool twice = numbers_.below(4) == 0;
    backward(loss, twice ? Graph::keep : Graph::free);
    if (twice) backward(loss);
    double reverse = 0;
    for (std::size_t k = 0; k < leaves_.size(); ++k) {
      const std::vector<double> gradient = elements(leaves_[k].grad());
      for (std::size_t j = 0; j < gradient.size(); ++j) {
        reverse += gradient[j] * directions_[k][j] / (twice ? 2 : 1);
        scale += std::fabs(gradient[j] * directions_[k][j]);
      }
    }
    if (!(std::fabs(forward - reverse) <= 1e-10 * scale)) {
      return "a gradient: forward " + std::to_string(forward) + ", reverse " + std::to_string(reverse);
    }
    return "";
  }

  const std::string& text() const { return text_; }

 private:
  Shape random_shape() {
    Extents shape;
    const std::int64_t rank = numbers_.below(2) ? 2 : numbers_.below(4), common = 1 + numbers_.below(4);
    for (std::int64_t i = 0; i < rank; ++i) {  // often square, where an operand and its transpose may meet
      const std::int64_t other = numbers_.below(40) == 0 ? 0 : 1 + numbers_.below(4);
      shape.insert(static_cast<int>(i), numbers_.below(2) ? common : other);
    }
    return Shape(shape);
  }

  void add_leaf(const Shape& shape) {
    const std::vector<double> values = numbers_.many(shape.size(), -1.5, 1.5);
    directions_.push_back(numbers_.many(shape.size(), -1, 1));
    leaves_.push_back(parameter(laid_out(all_layouts[numbers_.below(6)], shape, values, f64)));
    Plain<Jet> plain{lengths(shape), {}};
    for (std::size_t i = 0; i < values.size(); ++i) plain.data.push_back(Jet(values[i], directions_.back()[i]));
    add("leaf " + to_string(shape), leaves_.back(), plain);
  }

  void add(const std::string& what, const Var& var, Plain<Jet> plain) {
    text_ += "  v" + std::to_string(entries_.size()) + " = " + what + "\n";
    entries_.push_back({var, std::move(plain)});
  }

  // Often one of the last, so that programs grow deep.
  std::size_t pick() {
    const auto count = static_cast<std::int64_t>(entries_.size());
    const std::int64_t first = numbers_.below(2) ? std::max<std::int64_t>(0, count - 3) : 0;
    return static_cast<std::size_t>(first + numbers_.below(count - first));
  }

  // An entry of that shape: one that exists, or the entry itself.
  std::size_t pick_like(std::size_t k) {
    for (int i = 0; i < 8; ++i) {
      const std::size_t other = pick();
      if (entries_[other].plain.shape == entries_[k].plain.shape) return other;
    }
    return k;
  }

  void add_op() {
    const std::size_t k = pick();
    const Entry x = entries_[k];
    const std::string name = "v" + std::to_string(k);
    const int rank = x.var.rank();
    const auto axis = static_cast<int>(rank > 0 ? numbers_.below(rank) : 0);
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t length = rank > 0 ? x.var.shape()[axis] : 0;
    const std::string at = name + ", Axis{" + std::to_string(axis) + "}";
    switch (numbers_.below(20)) {
      case 0:
        return add("tanh(" + name + ")", tanh(x.var), each(x.plain, [](Jet v) { return tanh(v); }));
      case 1:
        return add("sigmoid(" + name + ")", sigmoid(x.var), each(x.plain, [](Jet v) { return 1.0 / (1.0 + exp(-v)); }));
      case 2:
        return add("-" + name, -x.var, each(x.plain, [](Jet v) { return -v; }));
      case 3:
        return add("exp(tanh(" + name + "))", exp(tanh(x.var)), each(x.plain, [](Jet v) { return exp(tanh(v)); }));
      case 4:
      case 5:
      case 6: {
        const std::size_t j = pick_like(k);
        const Entry y = entries_[j];
        const std::string both = name + ", v" + std::to_string(j);
        switch (numbers_.below(4)) {
          case 0:
            return add("add " + both, x.var + y.var, pair(x.plain, y.plain, [](Jet p, Jet q) { return p + q; }));
          case 1:
            return add("subtract " + both, x.var - y.var, pair(x.plain, y.plain, [](Jet p, Jet q) { return p - q; }));
          case 2:
            return add("tanh(multiply " + both + ")", tanh(x.var * y.var),
                       pair(x.plain, y.plain, [](Jet p, Jet q) { return tanh(p * q); }));
          default:
            return add(
                "gate " + both,
                pointwise(
                    "gate", [](auto p, auto q) { return sigmoid(p) * q + (1 - sigmoid(p)) * tanh(q); }, x.var, y.var),
                pair(x.plain, y.plain, [](Jet p, Jet q) {
                  const Jet z = 1.0 / (1.0 + exp(-p));
                  return z * q + (1.0 - z) * tanh(q);
                }));
        }
      }
      case 7:
      case 8: {
        if (rank < 2) return;
        const auto other = static_cast<int>(numbers_.below(rank));
        Lengths shape = x.plain.shape;
        std::swap(shape[a], shape[static_cast<std::size_t>(other)]);
        return add("transpose(" + at + ", Axis{" + std::to_string(other) + "})",
                   transpose(x.var, Axis{axis}, Axis{other}), looked_at(x.plain, shape, [&](Lengths i) {
                     std::swap(i[a], i[static_cast<std::size_t>(other)]);
                     return i;
                   }));
      }
      case 9: {
        if (rank == 0 || length == 0) return;
        const std::int64_t start = numbers_.below(length), step = 1 + numbers_.below(2);
        const std::int64_t count = 1 + numbers_.below((length - start - 1) / step + 1);
        Lengths shape = x.plain.shape;
        shape[a] = count;
        return add("narrow(" + at + ", " + std::to_string(start) + ", " + std::to_string(count) + ", " +
                       std::to_string(step) + ")",
                   narrow(x.var, Axis{axis}, start, count, step), looked_at(x.plain, shape, [&](Lengths i) {
                     i[a] = start + step * i[a];
                     return i;
                   }));
      }
      case 10: {
        if (rank == 0 || length == 0) return;
        const std::int64_t index = numbers_.below(length);
        return add("select(" + at + ", " + std::to_string(index) + ")", select(x.var, Axis{axis}, index),
                   looked_at(x.plain, dropped(x.plain.shape, a), [&](Lengths i) {
                     i.insert(i.begin() + axis, index);
                     return i;
                   }));
      }
      case 11: {
        if (rank >= 4) return;
        const std::int64_t n = 1 + numbers_.below(3);
        const auto where = static_cast<int>(numbers_.below(rank + 1));
        Lengths shape = x.plain.shape;
        shape.insert(shape.begin() + where, n);
        return add("expand_new(" + name + ", Axis{" + std::to_string(where) + "}, " + std::to_string(n) + ")",
                   expand_new(x.var, Axis{where}, n), looked_at(x.plain, shape, [&](Lengths i) {
                     i.erase(i.begin() + where);
                     return i;
                   }));
      }
      case 12: {
        if (rank == 0 || length != 1) return;
        Lengths shape = x.plain.shape;
        shape[a] = 3;
        return add("expand(" + at + ", 3)", expand(x.var, Axis{axis}, 3), looked_at(x.plain, shape, [&](Lengths i) {
                     i[a] = 0;
                     return i;
                   }));
      }
      case 13: {
        const std::int64_t size = x.var.value().size();
        const Shape shape = size % 2 == 0 && numbers_.below(2) ? Shape{size / 2, 2} : Shape{size};
        Plain<Jet> plain = x.plain;
        plain.shape = lengths(shape);
        return add("reshape(" + name + ", " + to_string(shape) + ")", reshape(x.var, shape), plain);
      }
      case 14:
        if (rank == 0) return;
        if (numbers_.below(2) && length > 0) {
          return add("mean(" + at + ")", mean(x.var, Axis{axis}), reduced(x.plain, a, [](const std::vector<Jet>& row) {
                       return total_of(row) / static_cast<double>(row.size());
                     }));
        }
        return add("tanh(sum(" + at + "))", tanh(sum(x.var, Axis{axis})),
                   reduced(x.plain, a, [](const std::vector<Jet>& row) { return tanh(total_of(row)); }));
      case 15:
        if (rank == 0 || length == 0) return;
        return add("softmax(" + at + ")", softmax(x.var, Axis{axis}),
                   row_by_row(x.plain, a, [](std::vector<Jet> row, const Lengths&) {
                     const Jet lse = log_sum_exp_of(row);
                     for (Jet& value : row) value = exp(value - lse);
                     return row;
                   }));
      case 16:
      case 17: {
        if (rank != 2) return;
        const std::size_t j = pick();
        const Entry y = entries_[j];
        if (y.var.rank() != 2) return;
        // The second operand turned where that fits: often x x'.
        const bool turned = y.plain.shape[0] != x.plain.shape[1];
        const std::int64_t inner = x.plain.shape[1];
        if (y.plain.shape[turned ? 1 : 0] != inner) return;
        Plain<Jet> plain{{x.plain.shape[0], y.plain.shape[turned ? 0 : 1]}, {}};
        each_index(plain.shape, [&](const Lengths& i) {
          Jet total;
          for (std::int64_t s = 0; s < inner; ++s) {
            total = total + x.plain.data[place_of(x.plain.shape, {i[0], s})] *
                                y.plain.data[place_of(y.plain.shape, turned ? Lengths{i[1], s} : Lengths{s, i[1]})];
          }
          plain.data.push_back(tanh(total));
        });
        return add("tanh(matmul(" + name + ", v" + std::to_string(j) + (turned ? "'" : "") + "))",
                   tanh(matmul(x.var, turned ? transpose(y.var) : y.var)), plain);
      }
      case 18: {
        if (rank == 0) return;
        const std::size_t j = pick_like(k);
        const Entry y = entries_[j];
        Lengths shape = x.plain.shape;
        shape[a] += y.plain.shape[a];
        Plain<Jet> plain{shape, {}};
        each_index(shape, [&](Lengths i) {
          const bool second = i[a] >= length;
          if (second) i[a] -= length;
          plain.data.push_back((second ? y : x).plain.data[place_of(x.plain.shape, i)]);
        });
        return add("concat(" + at + ", v" + std::to_string(j) + ")", concat({x.var, y.var}, Axis{axis}), plain);
      }
      default: {
        if (rank != 2 || x.plain.shape[0] == 0) return;
        Ids ids(Shape{3});
        for (std::int64_t i = 0; i < 3; ++i) ids[i] = static_cast<std::int32_t>(numbers_.below(x.plain.shape[0]));
        return add("gather(" + name + ")", gather(x.var, ids),
                   looked_at(x.plain, {3, x.plain.shape[1]}, [&](const Lengths& i) {
                     return Lengths{ids[i[0]], i[1]};
                   }));
      }
    }
  }

  template <class F> static Plain<Jet> each(const Plain<Jet>& x, F f) {
    Plain<Jet> y = x;
    for (Jet& value : y.data) value = f(value);
    return y;
  }
  template <class F> static Plain<Jet> pair(const Plain<Jet>& x, const Plain<Jet>& y, F f) {
    Plain<Jet> z = x;
    for (std::size_t i = 0; i < z.data.size(); ++i) z.data[i] = f(x.data[i], y.data[i]);
    return z;
  }

  Numbers numbers_;
  std::vector<Entry> entries_;
  std::vector<Var> leaves_;
  std::vector<std::vector<double>> directions_;
  std::string text_;
};

std::uint64_t program_count() {
  const char* wanted = std::getenv("GRADUS_PROGRAMS");
  return wanted ? std::strtoull(wanted, nullptr, 10) : 20'000;
}

}  // namespace

TEST_SUITE_BEGIN("random programs");

TEST_CASE("values and gradients agree with the plain reference on jets") {
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= program_count() && failures < 3; ++seed) {
    Program program(seed);
    const std::string wrong = program.verdict();
    if (wrong.empty()) continue;
    ++failures;
    FAIL_CHECK("seed ", seed, ": ", wrong, "\n", program.text());
  }
}
TEST_CASE("random programs leave nothing behind") {
  const std::int64_t nodes = live_nodes(), buffers = live_buffers();
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Program program(seed);
    program.verdict();
  }
  CHECK(live_nodes() == nodes);
  CHECK(live_buffers() == buffers);
}

TEST_SUITE_END();

}  // namespace gradus::testing
