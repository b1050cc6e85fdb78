// The rows of the op table.
#include "tests/autograd/op_table.h"

namespace gradus::testing {
namespace {

using Vars = std::vector<Var>;
template <class S> using In = std::vector<Plain<S>>;

// Shapes of rank 0 to 4 from four lengths.
Shape of_rank(Sizes s, int rank) {
  const Shape shapes[] = {Shape{}, Shape{s.a}, Shape{s.a, s.b}, Shape{s.a, s.b, s.c}, Shape{s.a, s.b, s.c, s.d}};
  return shapes[rank];
}
Lengths lengths(const Shape& shape) { return Lengths(shape.begin(), shape.end()); }

// A fixed pattern of true and false for the position of an element.
bool pattern(std::size_t i) { return (i * 7 + i / 3) % 3 != 0; }
Mask pattern_mask(const Shape& shape, bool first_of_row_true = false) {
  Mask mask(shape);
  const std::int64_t row = shape.rank() > 0 ? shape[shape.rank() - 1] : 1;
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    mask[i] = pattern(static_cast<std::size_t>(i)) || (first_of_row_true && i % row == 0);
  }
  return mask;
}
// Ids that repeat: a table row is used several times, another one never.
Ids some_ids(const Shape& shape, std::int64_t vocab) {
  Ids ids(shape);
  for (std::int64_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((i * i + i / 2) % vocab);
  return ids;
}

template <class Apply, class Reference>
OpRow row(std::string name, std::string declared, std::string op, int variants, Domain domain,
          std::function<std::vector<Shape>(Sizes, int)> shapes, Apply apply, Reference reference) {
  return {std::move(name),
          std::move(declared),
          variants,
          domain,
          std::move(shapes),
          apply,
          [reference](const In<double>& in, int variant) { return reference(in, variant); },
          [reference](const In<Jet>& in, int variant) { return reference(in, variant); },
          std::move(op)};
}

// A pointwise op of one or two operands, on ranks 0 to 4.
template <class Apply, class F>
OpRow pointwise_row(std::string name, std::string declared, std::string op, Domain domain, Apply apply, F f) {
  return row(
      std::move(name), std::move(declared), std::move(op), 5, domain,
      [](Sizes s, int rank) { return std::vector<Shape>{of_rank(s, rank)}; },
      [apply](const Vars& in, int) { return apply(in[0]); },
      [f](const auto& in, int) { return elementwise(in, [&](std::size_t i) { return f(in[0].data[i]); }); });
}
template <class Apply, class F>
OpRow pointwise_pair(std::string name, std::string declared, std::string op, Domain domain, Apply apply, F f) {
  return row(
      std::move(name), std::move(declared), std::move(op), 5, domain,
      [](Sizes s, int rank) {
        return std::vector<Shape>{of_rank(s, rank), of_rank(s, rank)};
      },
      [apply](const Vars& in, int) { return apply(in[0], in[1]); },
      [f](const auto& in, int) {
        return elementwise(in, [&](std::size_t i) { return f(in[0].data[i], in[1].data[i]); });
      });
}

// An op along one axis: variants 0 to 2 are the axes of a rank 3 shape, 3 the axis of a vector, 4 and 5 those of a
// matrix.
struct AxisCase {
  Shape shape;
  int axis;
};
AxisCase axis_case(Sizes s, int variant) {
  if (variant < 3) return {Shape{s.a, s.b, s.c}, variant};
  if (variant == 3) return {Shape{s.c}, 0};
  return {Shape{s.b, s.d}, variant - 4};
}
int axis_of(int variant) { return axis_case(ones, variant).axis; }
template <class Apply, class Reference>
OpRow axis_row(std::string name, std::string declared, std::string op, Domain domain, Apply apply,
               Reference reference) {
  return row(
      std::move(name), std::move(declared), std::move(op), 6, domain,
      [](Sizes s, int v) { return std::vector<Shape>{axis_case(s, v).shape}; },
      [apply](const Vars& in, int v) { return apply(in[0], Axis{axis_of(v)}); },
      [reference](const auto& in, int v) { return reference(in[0], static_cast<std::size_t>(axis_of(v))); });
}

constexpr auto softmax_of = [](const auto& values) {
  auto e = values;
  for (auto& value : e) value = exp(value);
  const auto sum = total_of(e);
  for (auto& value : e) value = value / sum;
  return e;
};

std::vector<OpRow> make_table() {
  std::vector<OpRow> t;
  // ---- pointwise
  t.push_back(pointwise_pair(
      "add", "operator+(Var, Var)", "+", Domain::any, [](const Var& a, const Var& b) { return a + b; },
      [](auto a, auto b) { return a + b; }));
  t.push_back(pointwise_pair(
      "subtract", "operator-(Var, Var)", "-", Domain::any, [](const Var& a, const Var& b) { return a - b; },
      [](auto a, auto b) { return a - b; }));
  t.push_back(pointwise_pair(
      "multiply", "operator*(Var, Var)", "*", Domain::any, [](const Var& a, const Var& b) { return a * b; },
      [](auto a, auto b) { return a * b; }));
  t.push_back(pointwise_pair(
      "divide", "operator/(Var, Var)", "/", Domain::positive, [](const Var& a, const Var& b) { return a / b; },
      [](auto a, auto b) { return a / b; }));
  t.push_back(pointwise_row(
      "negate", "operator-(Var)", "neg", Domain::any, [](const Var& a) { return -a; }, [](auto a) { return -a; }));
  t.push_back(pointwise_row(
      "add a number", "operator+(Var, double)", "+", Domain::any, [](const Var& a) { return a + 1.5; },
      [](auto a) { return a + 1.5; }));
  t.push_back(pointwise_row(
      "subtract a number", "operator-(Var, double)", "-", Domain::any, [](const Var& a) { return a - 1.5; },
      [](auto a) { return a - 1.5; }));
  t.push_back(pointwise_row(
      "multiply by a number", "operator*(Var, double)", "*", Domain::any, [](const Var& a) { return a * -2.5; },
      [](auto a) { return a * -2.5; }));
  t.push_back(pointwise_row(
      "divide by a number", "operator/(Var, double)", "/", Domain::any, [](const Var& a) { return a / 4.0; },
      [](auto a) { return a / 4.0; }));
  t.push_back(pointwise_row(
      "add to a number", "operator+(double, Var)", "+", Domain::any, [](const Var& a) { return 1.5 + a; },
      [](auto a) { return 1.5 + a; }));
  t.push_back(pointwise_row(
      "subtract from a number", "operator-(double, Var)", "-", Domain::any, [](const Var& a) { return 1.5 - a; },
      [](auto a) { return 1.5 - a; }));
  t.push_back(pointwise_row(
      "number times", "operator*(double, Var)", "*", Domain::any, [](const Var& a) { return -2.5 * a; },
      [](auto a) { return -2.5 * a; }));
  t.push_back(pointwise_row(
      "divide a number", "operator/(double, Var)", "/", Domain::positive, [](const Var& a) { return 3.0 / a; },
      [](auto a) { return 3.0 / a; }));
  t.push_back(pointwise_row(
      "exp", "exp(Var)", "exp", Domain::any, [](const Var& a) { return exp(a); }, [](auto a) { return exp(a); }));
  t.push_back(pointwise_row(
      "log", "log(Var)", "log", Domain::positive, [](const Var& a) { return log(a); }, [](auto a) { return log(a); }));
  t.push_back(pointwise_row(
      "sqrt", "sqrt(Var)", "sqrt", Domain::positive, [](const Var& a) { return sqrt(a); },
      [](auto a) { return sqrt(a); }));
  t.push_back(pointwise_row(
      "square", "square(Var)", "square", Domain::off_zero, [](const Var& a) { return square(a); },
      [](auto a) { return a * a; }));
  t.push_back(pointwise_row(
      "tanh", "tanh(Var)", "tanh", Domain::any, [](const Var& a) { return tanh(a); }, [](auto a) { return tanh(a); }));
  t.push_back(pointwise_row(
      "sigmoid", "sigmoid(Var)", "sigmoid", Domain::any, [](const Var& a) { return sigmoid(a); },
      [](auto a) { return 1.0 / (1.0 + exp(-a)); }));
  t.push_back(pointwise_row(
      "relu", "relu(Var)", "relu", Domain::off_zero, [](const Var& a) { return relu(a); },
      [](auto a) { return a < decltype(a)(0.0) ? decltype(a)(0.0) : a; }));
  t.push_back(pointwise_row(
      "abs", "abs(Var)", "abs", Domain::off_zero, [](const Var& a) { return abs(a); }, [](auto a) { return abs(a); }));
  t.push_back(pointwise_pair(
      "max of two", "max(Var, Var)", "max", Domain::all_apart, [](const Var& a, const Var& b) { return max(a, b); },
      [](auto a, auto b) { return a < b ? b : a; }));
  t.push_back(row(
      "where", "where(Mask, Var, Var)", "where", 5, Domain::any,
      [](Sizes s, int rank) {
        return std::vector<Shape>{of_rank(s, rank), of_rank(s, rank)};
      },
      [](const Vars& in, int) { return where(pattern_mask(in[0].shape()), in[0], in[1]); },
      [](const auto& in, int) {
        return elementwise(in, [&](std::size_t i) { return pattern(i) ? in[0].data[i] : in[1].data[i]; });
      }));
  t.push_back(row(
      "dropout", "dropout(Var, double, Generator, bool)", "dropout", 5, Domain::any,
      [](Sizes s, int rank) { return std::vector<Shape>{of_rank(s, rank)}; },
      [](const Vars& in, int) {
        Generator generator(5, "dropout");
        return dropout(in[0], 0.3, generator, true);
      },
      [](const auto& in, int) {
        Generator generator(5, "dropout");
        return elementwise(
            in, [&](std::size_t i) { return generator.uniform() >= 0.3 ? in[0].data[i] / 0.7 : in[0].data[i] * 0.0; });
      }));
  // ---- views
  t.push_back(row(
      "reshape", "reshape(Var, Shape)", "reshape", 3, Domain::any,
      [](Sizes s, int) {
        return std::vector<Shape>{Shape{s.a, s.b, s.c}};
      },
      [](const Vars& in, int v) {
        const Shape s = in[0].shape();
        return reshape(in[0], v == 0   ? Shape{s.size()}
                              : v == 1 ? Shape{s[0] * s[1], s[2]}
                                       : Shape{s[2], s[0], 1, s[1]});
      },
      [](const auto& in, int v) {
        auto y = in[0];
        const Lengths s = y.shape;
        y.shape = v == 0 ? Lengths{count_of(s)} : v == 1 ? Lengths{s[0] * s[1], s[2]} : Lengths{s[2], s[0], 1, s[1]};
        return y;
      }));
  t.push_back(row(
      "transpose", "transpose(Var)", "transpose", 1, Domain::any,
      [](Sizes s, int) {
        return std::vector<Shape>{Shape{s.a, s.b}};
      },
      [](const Vars& in, int) { return transpose(in[0]); },
      [](const auto& in, int) {
        return looked_at(in[0], {in[0].shape[1], in[0].shape[0]}, [](const Lengths& i) { return Lengths{i[1], i[0]}; });
      }));
  t.push_back(row(
      "transpose of two axes", "transpose(Var, Axis, Axis)", "transpose", 3, Domain::any,
      [](Sizes s, int) {
        return std::vector<Shape>{Shape{s.a, s.b, s.c, s.d}};
      },
      [](const Vars& in, int v) { return transpose(in[0], Axis{v}, Axis{3 - v}); },
      [](const auto& in, int v) {
        const auto a = static_cast<std::size_t>(v), b = static_cast<std::size_t>(3 - v);
        Lengths shape = in[0].shape;
        std::swap(shape[a], shape[b]);
        return looked_at(in[0], shape, [&](Lengths i) {
          std::swap(i[a], i[b]);
          return i;
        });
      }));
  t.push_back(row(
      "narrow", "narrow(Var, Axis, int64_t, int64_t, int64_t)", "narrow", 6, Domain::any,
      [](Sizes s, int v) { return std::vector<Shape>{axis_case(s, v).shape}; },
      [](const Vars& in, int v) {  // every second from the second on; the first only where there are fewer than three
        const std::int64_t n = in[0].shape()[axis_of(v)];
        return n < 3 ? narrow(in[0], Axis{axis_of(v)}, 0, n < 1 ? 0 : 1)
                     : narrow(in[0], Axis{axis_of(v)}, 1, (n - 1) / 2, 2);
      },
      [](const auto& in, int v) {
        const auto axis = static_cast<std::size_t>(axis_of(v));
        const std::int64_t n = in[0].shape[axis];
        Lengths shape = in[0].shape;
        shape[axis] = n < 3 ? (n < 1 ? 0 : 1) : (n - 1) / 2;
        return looked_at(in[0], shape, [&](Lengths i) {
          if (n >= 3) i[axis] = 1 + 2 * i[axis];
          return i;
        });
      }));
  t.push_back(row(
      "select", "select(Var, Axis, int64_t)", "select", 6, Domain::any,
      [](Sizes s, int v) {
        AxisCase at = axis_case(s, v);
        if (at.shape[at.axis] == 0) at.shape[at.axis] = 1;  // nothing can be selected from nothing
        return std::vector<Shape>{at.shape};
      },
      [](const Vars& in, int v) { return select(in[0], Axis{axis_of(v)}, in[0].shape()[axis_of(v)] - 1); },
      [](const auto& in, int v) {
        const auto axis = static_cast<std::size_t>(axis_of(v));
        return looked_at(in[0], dropped(in[0].shape, axis), [&](Lengths i) {
          i.insert(i.begin() + static_cast<std::ptrdiff_t>(axis), in[0].shape[axis] - 1);
          return i;
        });
      }));
  t.push_back(row(
      "expand", "expand(Var, Axis, int64_t)", "expand", 6, Domain::any,
      [](Sizes s, int v) { return std::vector<Shape>{axis_case(s, v).shape.with(Axis{axis_of(v)}, 1)}; },
      [](const Vars& in, int v) { return expand(in[0], Axis{axis_of(v)}, 4); },
      [](const auto& in, int v) {
        const auto axis = static_cast<std::size_t>(axis_of(v));
        Lengths shape = in[0].shape;
        shape[axis] = 4;
        return looked_at(in[0], shape, [&](Lengths i) {
          i[axis] = 0;
          return i;
        });
      }));
  t.push_back(row(
      "expand_new", "expand_new(Var, Axis, int64_t)", "expand_new", 4, Domain::any,
      [](Sizes s, int) {
        return std::vector<Shape>{Shape{s.a, s.b, s.c}};
      },
      [](const Vars& in, int v) { return expand_new(in[0], Axis{v}, 4); },
      [](const auto& in, int v) {
        Lengths shape = in[0].shape;
        shape.insert(shape.begin() + v, 4);
        return looked_at(in[0], shape, [&](Lengths i) {
          i.erase(i.begin() + v);
          return i;
        });
      }));
  t.push_back(row(
      "expand_scalar", "expand_scalar(Var, Shape)", "expand_scalar", 5, Domain::any,
      [](Sizes, int) { return std::vector<Shape>{Shape{}}; },
      [](const Vars& in, int v) { return expand_scalar(in[0], of_rank(different, v)); },
      [](const auto& in, int v) {
        return looked_at(in[0], lengths(of_rank(different, v)), [](const Lengths&) { return Lengths{}; });
      }));
  // ---- contractions
  t.push_back(row(
      "matmul", "matmul(Var, Var)", "matmul", 3, Domain::any,
      [](Sizes s, int v) {
        if (v == 0) return std::vector<Shape>{Shape{s.a, s.b}, Shape{s.b, s.c}};
        if (v == 1) return std::vector<Shape>{Shape{s.d, s.a, s.b}, Shape{s.d, s.b, s.c}};
        return std::vector<Shape>{Shape{s.b, s.d, s.a, s.c}, Shape{s.b, s.d, s.c, s.b}};
      },
      [](const Vars& in, int) { return matmul(in[0], in[1]); },
      [](const auto& in, int) {
        const std::size_t last = in[0].shape.size() - 1;
        const std::int64_t inner = in[0].shape[last];
        auto y = in[0];
        y.shape[last] = in[1].shape[last];
        y.data.clear();
        each_index(y.shape, [&](const Lengths& index) {
          auto terms = y.data;
          terms.clear();
          for (std::int64_t k = 0; k < inner; ++k) {
            Lengths left = index, right = index;
            left[last] = k;
            right[last - 1] = k;
            terms.push_back(in[0].data[place_of(in[0].shape, left)] * in[1].data[place_of(in[1].shape, right)]);
          }
          y.data.push_back(total_of(terms));
        });
        return y;
      }));
  t.push_back(row(
      // Variants 4 and 5 have an input of two and three parts.
      "linear", "linear(VarList, Var, Var)", "linear", 6, Domain::any,
      [](Sizes s, int v) {
        if (v == 4) return std::vector<Shape>{Shape{s.a, s.c}, Shape{s.a, s.b}, Shape{s.d, s.c + s.b}};
        if (v == 5) {
          return std::vector<Shape>{Shape{s.a, s.b, s.c}, Shape{s.a, s.b, s.d}, Shape{s.a, s.b, s.c},
                                    Shape{s.d, s.c + s.d + s.c}, Shape{s.d}};
        }
        std::vector<Shape> all{v == 0 ? Shape{s.c} : v == 1 ? Shape{s.a, s.b, s.c} : Shape{s.a, s.c}, Shape{s.d, s.c}};
        if (v < 3) all.push_back(Shape{s.d});
        return all;
      },
      [](const Vars& in, int v) {
        const std::size_t parts = v < 4 ? 1 : v == 4 ? 2 : 3;
        const Vars x(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(parts));
        return linear(x, in[parts], in.size() == parts + 2 ? in[parts + 1] : Var());
      },
      [](const auto& in, int v) {
        const std::size_t parts = v < 4 ? 1 : v == 4 ? 2 : 3, last = in[0].shape.size() - 1;
        auto y = in[0];
        y.shape[last] = in[parts].shape[0];
        y.data.clear();
        each_index(y.shape, [&](const Lengths& index) {
          auto terms = y.data;
          terms.clear();
          std::int64_t column = 0;
          for (std::size_t part = 0; part < parts; ++part) {
            for (std::int64_t k = 0; k < in[part].shape[last]; ++k, ++column) {
              Lengths from = index;
              from[last] = k;
              terms.push_back(in[part].data[place_of(in[part].shape, from)] *
                              in[parts].data[place_of(in[parts].shape, {index[last], column})]);
            }
          }
          if (in.size() == parts + 2) terms.push_back(in[parts + 1].data[static_cast<std::size_t>(index[last])]);
          y.data.push_back(total_of(terms));
        });
        return y;
      }));
  t.push_back(row(
      "dot", "dot(Var, Var, Axis)", "dot", 6, Domain::any,
      [](Sizes s, int v) {
        const AxisCase at = axis_case(s, v);
        return std::vector<Shape>{at.shape, Shape{at.shape[at.axis]}};
      },
      [](const Vars& in, int v) { return dot(in[0], in[1], Axis{axis_of(v)}); },
      [](const auto& in, int v) {
        return reduced(in[0], static_cast<std::size_t>(axis_of(v)), [&](auto values) {
          for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i] * in[1].data[i];
          return total_of(values);
        });
      }));
  t.push_back(axis_row(
      "sum", "sum(Var, Axis)", "sum", Domain::any, [](const Var& x, Axis a) { return sum(x, a); },
      [](const auto& x, std::size_t axis) {
        return reduced(x, axis, [](const auto& values) { return total_of(values); });
      }));
  t.push_back(row(
      "sum of everything", "sum(Var)", "sum", 5, Domain::any,
      [](Sizes s, int rank) { return std::vector<Shape>{of_rank(s, rank)}; },
      [](const Vars& in, int) { return sum(in[0]); },
      [](const auto& in, int) {
        auto y = in[0];
        y.shape = {};
        y.data = {total_of(in[0].data)};
        return y;
      }));
  t.push_back(axis_row(
      "mean", "mean(Var, Axis)", "mean", Domain::any, [](const Var& x, Axis a) { return mean(x, a); },
      [](const auto& x, std::size_t axis) {
        return reduced(x, axis,
                       [](const auto& values) { return total_of(values) / static_cast<double>(values.size()); });
      }));
  t.push_back(row(
      "mean of everything", "mean(Var)", "mean", 5, Domain::any,
      [](Sizes s, int rank) { return std::vector<Shape>{of_rank(s, rank)}; },
      [](const Vars& in, int) { return mean(in[0]); },
      [](const auto& in, int) {
        auto y = in[0];
        y.shape = {};
        y.data = {total_of(in[0].data) / static_cast<double>(in[0].data.size())};
        return y;
      }));
  t.push_back(axis_row(
      "max", "max(Var, Axis)", "max", Domain::all_apart, [](const Var& x, Axis a) { return max(x, a); },
      [](const auto& x, std::size_t axis) {
        return reduced(x, axis, [](const auto& values) { return largest_of(values); });
      }));
  t.push_back(axis_row(
      "logsumexp", "logsumexp(Var, Axis)", "logsumexp", Domain::any,
      [](const Var& x, Axis a) { return logsumexp(x, a); },
      [](const auto& x, std::size_t axis) {
        return reduced(x, axis, [](const auto& values) { return log_sum_exp_of(values); });
      }));
  // ---- index
  t.push_back(row(
      "gather", "gather(Var, Ids)", "gather", 3, Domain::any,
      [](Sizes s, int) {
        return std::vector<Shape>{Shape{s.a, s.b}};
      },
      [](const Vars& in, int v) {
        const std::int64_t vocab = std::max<std::int64_t>(1, in[0].shape()[0]);
        const std::int64_t n = in[0].shape()[0] == 0 ? 0 : 7;
        return gather(in[0], some_ids(v == 0 ? Shape{n} : v == 1 ? Shape{n, 2} : Shape{2, n, 1}, vocab));
      },
      [](const auto& in, int v) {
        const std::int64_t n = in[0].shape[0] == 0 ? 0 : 7;
        const Ids ids = some_ids(v == 0   ? Shape{n}
                                 : v == 1 ? Shape{n, 2}
                                          : Shape{2, n, 1},
                                 std::max<std::int64_t>(1, in[0].shape[0]));
        auto y = in[0];
        y.shape = lengths(ids.shape());
        y.shape.push_back(in[0].shape[1]);
        y.data.clear();
        for (std::int64_t i = 0; i < ids.size(); ++i) {
          for (std::int64_t j = 0; j < in[0].shape[1]; ++j)
            y.data.push_back(in[0].data[place_of(in[0].shape, {ids[i], j})]);
        }
        return y;
      }));
  t.push_back(row(
      "concat", "concat(VarList, Axis)", "concat", 6, Domain::any,
      [](Sizes s, int v) {
        const AxisCase at = axis_case(s, v);
        return std::vector<Shape>{at.shape, at.shape.with(Axis{at.axis}, at.shape[at.axis] + 1), at.shape};
      },
      [](const Vars& in, int v) { return concat(in, Axis{axis_of(v)}); },
      [](const auto& in, int v) {
        const auto axis = static_cast<std::size_t>(axis_of(v));
        auto y = in[0];
        y.shape[axis] = in[0].shape[axis] + in[1].shape[axis] + in[2].shape[axis];
        y.data.clear();
        each_index(y.shape, [&](Lengths index) {
          std::size_t part = 0;
          while (index[axis] >= in[part].shape[axis]) index[axis] -= in[part++].shape[axis];
          y.data.push_back(in[part].data[place_of(in[part].shape, index)]);
        });
        return y;
      }));
  t.push_back(row(
      "stack_along", "stack_along(VarList, Axis)", "stack_along", 4, Domain::any,
      [](Sizes s, int) {
        return std::vector<Shape>(3, Shape{s.a, s.b, s.c});
      },
      [](const Vars& in, int v) { return stack_along(in, Axis{v}); },
      [](const auto& in, int v) {
        auto y = in[0];
        y.shape.insert(y.shape.begin() + v, 3);
        y.data.clear();
        each_index(y.shape, [&](Lengths index) {
          const auto part = static_cast<std::size_t>(index[static_cast<std::size_t>(v)]);
          index.erase(index.begin() + v);
          y.data.push_back(in[part].data[place_of(in[part].shape, index)]);
        });
        return y;
      }));
  // ---- softmax and losses
  t.push_back(axis_row(
      "softmax", "softmax(Var, Axis)", "softmax", Domain::any, [](const Var& x, Axis a) { return softmax(x, a); },
      [](const auto& x, std::size_t axis) {
        return row_by_row(x, axis, [](const auto& values, const Lengths&) { return softmax_of(values); });
      }));
  t.push_back(row(
      "softmax with a mask", "softmax(Var, Axis, Mask, EmptyRow)", "softmax", 4, Domain::any,
      [](Sizes s, int v) {
        const Shape shapes[] = {Shape{s.c}, Shape{s.b, s.c}, Shape{s.a, s.b, s.c}, Shape{s.a, s.b, s.d, s.c}};
        return std::vector<Shape>{shapes[v]};
      },
      [](const Vars& in, int) { return softmax(in[0], Axis{in[0].rank() - 1}, pattern_mask(in[0].shape(), true)); },
      [](const auto& in, int) {
        const std::size_t last = in[0].shape.size() - 1;
        return row_by_row(in[0], last, [&](auto values, const Lengths& rest) {
          auto e = values;
          for (std::size_t i = 0; i < values.size(); ++i) {
            Lengths index = rest;
            index.push_back(static_cast<std::int64_t>(i));
            e[i] = i == 0 || pattern(place_of(in[0].shape, index)) ? exp(values[i]) : values[i] * 0.0;
          }
          const auto sum = total_of(e);
          for (auto& value : e) value = value / sum;
          return e;
        });
      }));
  t.push_back(axis_row(
      "log_softmax", "log_softmax(Var, Axis)", "log_softmax", Domain::any,
      [](const Var& x, Axis a) { return log_softmax(x, a); },
      [](const auto& x, std::size_t axis) {
        return row_by_row(x, axis, [](auto values, const Lengths&) {
          const auto lse = log_sum_exp_of(values);
          for (auto& value : values) value = value - lse;
          return values;
        });
      }));
  const auto entropy = [](const auto& in, bool masked) {
    const std::int64_t vocab = in[0].shape.back();
    const std::int64_t n = count_of(in[0].shape) / std::max<std::int64_t>(1, vocab);
    const Ids targets = some_ids(Shape{n}, std::max<std::int64_t>(1, vocab));
    auto terms = in[0].data;
    terms.clear();
    for (std::int64_t i = 0; i < n; ++i) {
      if (masked && i != 0 && !pattern(static_cast<std::size_t>(i))) continue;
      auto first = in[0].data.begin() + i * vocab;
      auto values = in[0].data;
      values.assign(first, first + vocab);
      terms.push_back(log_sum_exp_of(values) - values[static_cast<std::size_t>(targets[i])]);
    }
    auto y = in[0];
    y.shape = {};
    y.data = {total_of(terms) / static_cast<double>(terms.size())};
    return y;
  };
  const auto logits_shape = [](Sizes s, int v) {
    return std::vector<Shape>{v == 0 ? Shape{s.b, s.c} : v == 1 ? Shape{s.a, s.b, s.c} : Shape{s.c, s.d}};
  };
  const auto targets_for = [](const Var& logits) {
    const Shape shape = logits.shape();
    const Shape rest = shape.without(Axis{shape.rank() - 1});
    return Ids(rest, some_ids(Shape{rest.size()}, std::max<std::int64_t>(1, shape[shape.rank() - 1])).values());
  };
  t.push_back(row(
      "cross_entropy", "cross_entropy(Var, Ids)", "cross_entropy", 3, Domain::any, logits_shape,
      [targets_for](const Vars& in, int) { return cross_entropy(in[0], targets_for(in[0])); },
      [entropy](const auto& in, int) { return entropy(in, false); }));
  t.push_back(row(
      "cross_entropy with a mask", "cross_entropy(Var, Ids, Mask)", "cross_entropy", 3, Domain::any, logits_shape,
      [targets_for](const Vars& in, int) {
        const Ids targets = targets_for(in[0]);
        Mask counts = pattern_mask(targets.shape());
        if (counts.size() > 0) counts[0] = 1;
        return cross_entropy(in[0], targets, counts);
      },
      [entropy](const auto& in, int) { return entropy(in, true); }));
  t.push_back(row(
      "mse", "mse(Var, Var)", "mean", 5, Domain::any,
      [](Sizes s, int rank) {
        return std::vector<Shape>{of_rank(s, rank), of_rank(s, rank)};
      },
      [](const Vars& in, int) { return mse(in[0], in[1]); },
      [](const auto& in, int) {
        auto y = in[0];
        for (std::size_t i = 0; i < y.data.size(); ++i) {
          const auto gap = in[0].data[i] - in[1].data[i];
          y.data[i] = gap * gap;
        }
        y.data = {total_of(y.data) / static_cast<double>(in[0].data.size())};
        y.shape = {};
        return y;
      }));
  for (OpRow& entry : t) {
    for (const char* name : {"mean", "mean of everything", "max", "logsumexp", "log_softmax", "cross_entropy",
                             "cross_entropy with a mask", "mse"}) {
      entry.refuses_empty = entry.refuses_empty || entry.name == name;
    }
    for (const char* name : {"mean of everything", "mse", "dot"}) {
      entry.is_composed = entry.is_composed || entry.name == name;
    }
  }
  return t;
}

}  // namespace

const std::vector<OpRow>& op_table() {
  static const std::vector<OpRow> table = make_table();
  return table;
}

std::vector<std::vector<double>> sample_inputs(const OpRow& row, const std::vector<Shape>& shapes, std::uint64_t seed) {
  Numbers numbers(seed);
  std::vector<std::vector<double>> inputs;
  std::int64_t total = 0;
  for (const Shape& shape : shapes) total += shape.size();
  std::vector<double> apart(static_cast<std::size_t>(total));
  for (std::size_t i = 0; i < apart.size(); ++i) {
    apart[i] = 0.04 * (static_cast<double>(i) - static_cast<double>(total) / 2) + numbers.between(0, 0.02);
  }
  for (std::size_t i = apart.size(); i > 1; --i) {
    std::swap(apart[i - 1], apart[static_cast<std::size_t>(numbers.below(static_cast<std::int64_t>(i)))]);
  }
  std::size_t next = 0;
  for (const Shape& shape : shapes) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < shape.size(); ++i) {
      switch (row.domain) {
        case Domain::any:
          values.push_back(numbers.between(-2, 2));
          break;
        case Domain::positive:
          values.push_back(numbers.between(0.3, 2.5));
          break;
        case Domain::off_zero:
          values.push_back(numbers.between(0.1, 2) * (numbers.below(2) ? 1 : -1));
          break;
        case Domain::all_apart:
          values.push_back(apart[next++]);
          break;
      }
    }
    inputs.push_back(values);
  }
  return inputs;
}

}  // namespace gradus::testing
