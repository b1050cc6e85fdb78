// What every op of autograd/ops.h must do, checked for each row of the op table: one test case per op and check.
#include <cctype>
#include <deque>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "autograd/check_gradient.h"
#include "tests/autograd/op_table.h"

namespace gradus::testing {
namespace {

constexpr std::size_t row_count = 50;
constexpr Sizes with_zero[] = {{0, 3, 5, 4}, {2, 0, 5, 4}, {2, 3, 0, 4}, {2, 3, 5, 0}, {0, 0, 0, 0}};

std::string text_of(Sizes s) {
  return std::to_string(s.a) + " " + std::to_string(s.b) + " " + std::to_string(s.c) + " " + std::to_string(s.d);
}

std::vector<Var> leaves(const std::vector<Shape>& shapes, const std::vector<std::vector<double>>& values,
                        DType dtype = f64, Layout layout = Layout::contiguous) {
  std::vector<Var> result;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    result.push_back(parameter(laid_out(layout, shapes[k], values[k], dtype)));
  }
  return result;
}

std::vector<double> weights_for(const Shape& shape, std::uint64_t seed = 77) {
  Numbers numbers(seed);
  std::vector<double> weights;
  for (std::int64_t i = 0; i < shape.size(); ++i) {
    weights.push_back(numbers.between(0.5, 1.5) * (numbers.below(2) ? 1 : -1));
  }
  return weights;
}

// y weighted with fixed numbers, walked back.
void pull_back(const Var& y, Graph graph = Graph::free) {
  backward(y, tensor(y.shape(), weights_for(y.shape()), y.dtype()), graph);
}

std::vector<std::vector<double>> gradients(const std::vector<Var>& inputs) {
  std::vector<std::vector<double>> result;
  for (const Var& x : inputs) result.push_back(elements(x.grad()));
  return result;
}

std::vector<Plain<double>> plain_inputs(const std::vector<Shape>& shapes,
                                        const std::vector<std::vector<double>>& values) {
  std::vector<Plain<double>> result;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    result.push_back({Lengths(shapes[k].begin(), shapes[k].end()), values[k]});
  }
  return result;
}

template <class F> void for_each_sample(const OpRow& row, std::initializer_list<Sizes> sizes, F f) {
  for (int variant = 0; variant < row.variants; ++variant) {
    for (Sizes s : sizes) {
      const std::vector<Shape> shapes = row.shapes(s, variant);
      INFO(row.name, ", variant ", variant, ", sizes ", text_of(s));
      f(variant, shapes, sample_inputs(row, shapes, static_cast<std::uint64_t>(variant) + 1));
    }
  }
}

// ---- the checks

void values_match_reference(const OpRow& row) {
  for_each_sample(row, {different, equal, ones}, [&](int variant, const auto& shapes, const auto& values) {
    const Plain<double> want = row.on_numbers(plain_inputs(shapes, values), variant);
    for (DType dtype : {f64, f32}) {
      const Var y = row.apply(leaves(shapes, values, dtype), variant);
      CHECK(Lengths(y.shape().begin(), y.shape().end()) == want.shape);
      CHECK(y.dtype() == dtype);
      CHECK(near(elements(y.value()), want.data, dtype == f64 ? 1e-14 : 3e-6, 1e-15));
    }
  });
}

// Whether the reference does not move with input k: relu of one negative number, say.
bool is_flat(const OpRow& row, int variant, const std::vector<Shape>& shapes,
             const std::vector<std::vector<double>>& values, std::size_t moving) {
  std::vector<Plain<Jet>> jets;
  Numbers numbers(99);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    jets.push_back({Lengths(shapes[k].begin(), shapes[k].end()), {}});
    for (double value : values[k]) jets[k].data.push_back(Jet(value, k == moving ? numbers.between(1, 2) : 0));
  }
  for (const Jet& y : row.on_jets(jets, variant).data) {
    if (std::fabs(y.d) > 1e-12) return false;
  }
  return true;
}

void gradient_agrees_with_differences(const OpRow& row) {
  for_each_sample(row, {different, equal}, [&](int variant, const auto& shapes, const auto& values) {
    const std::vector<Var> x = leaves(shapes, values);
    std::vector<CheckedInput> checked;
    for (std::size_t k = 0; k < x.size(); ++k) {
      checked.push_back({"x" + std::to_string(k), x[k], is_flat(row, variant, shapes, values, k) ? "flat here" : ""});
    }
    const GradientReport report = check_gradient([&] { return row.apply(x, variant); }, checked);
    CHECK_MESSAGE(report.passed, report.text());
  });
}

void gradient_agrees_with_dual_numbers(const OpRow& row) {
  const int rounds = 64 / (3 * row.variants) + 1;
  for_each_sample(row, {different, equal, ones}, [&](int variant, const auto& shapes, const auto&) {
    for (int round = 0; round < rounds; ++round) {
      CAPTURE(round);
      const auto values = sample_inputs(row, shapes, static_cast<std::uint64_t>(100 * variant + round));
      Numbers numbers(static_cast<std::uint64_t>(round) + 500);
      std::vector<Plain<Jet>> jets;
      std::vector<std::vector<double>> direction;
      for (std::size_t k = 0; k < shapes.size(); ++k) {
        direction.push_back(numbers.many(shapes[k].size(), -1, 1));
        jets.push_back({Lengths(shapes[k].begin(), shapes[k].end()), {}});
        for (std::size_t i = 0; i < values[k].size(); ++i) jets[k].data.push_back(Jet(values[k][i], direction[k][i]));
      }
      const Plain<Jet> moved = row.on_jets(jets, variant);
      const std::vector<Var> x = leaves(shapes, values);
      const Var y = row.apply(x, variant);
      const std::vector<double> w = weights_for(y.shape());
      pull_back(y);
      double forward = 0, reverse = 0, scale = 0;  // <w, J v> = <J' w, v>
      for (std::size_t i = 0; i < w.size(); ++i) {
        forward += w[i] * moved.data[i].d;
        scale += std::fabs(w[i] * moved.data[i].d);
      }
      const auto grads = gradients(x);
      for (std::size_t k = 0; k < x.size(); ++k) {
        for (std::size_t i = 0; i < direction[k].size(); ++i) {
          reverse += grads[k][i] * direction[k][i];
          scale += std::fabs(grads[k][i] * direction[k][i]);
        }
      }
      CHECK(std::fabs(forward - reverse) <= 1e-13 * scale + 1e-15);
    }
  });
}

void f32_follows_f64(const OpRow& row) {
  for_each_sample(row, {different, equal, Sizes{2, 17, 33, 5}},
                  [&](int variant, const auto& shapes, const auto& values) {
                    std::vector<std::vector<double>> rounded = values;  // so that both start from the same numbers
                    for (auto& list : rounded) {
                      for (double& value : list) value = static_cast<double>(static_cast<float>(value));
                    }
                    const std::vector<Var> wide = leaves(shapes, rounded, f64), small = leaves(shapes, rounded, f32);
                    const Var y = row.apply(wide, variant), z = row.apply(small, variant);
                    CHECK(near(elements(z.value()), elements(y.value()), 1e-5));
                    pull_back(y);
                    pull_back(z);
                    for (std::size_t k = 0; k < wide.size(); ++k) {
                      CAPTURE(k);
                      CHECK(small[k].grad().dtype() == f32);
                      CHECK(near(elements(small[k].grad()), elements(wide[k].grad()), 1e-4));
                    }
                  });
}

void layouts_do_not_matter(const OpRow& row) {
  for_each_sample(row, {different, equal, Sizes{3, 2, 17, 2}},
                  [&](int variant, const auto& shapes, const auto& values) {
                    const std::vector<Var> dense = leaves(shapes, values);
                    const Var y = row.apply(dense, variant);
                    pull_back(y);
                    for (Layout layout : all_layouts) {
                      CAPTURE(name_of(layout));
                      const std::vector<Var> x = leaves(shapes, values, f64, layout);
                      const Var z = row.apply(x, variant);
                      CHECK(near(elements(z.value()), elements(y.value()), 1e-15));
                      pull_back(z);
                      for (std::size_t k = 0; k < x.size(); ++k) {
                        CAPTURE(k);
                        CHECK(x[k].grad().shape() == shapes[k]);
                        CHECK(near(elements(x[k].grad()), elements(dense[k].grad()), 1e-14));
                      }
                    }
                  });
}

// One way to get a Var of a wanted shape and content as a view of a parameter.
struct ThroughView {
  const char* name;
  std::function<bool(const Shape&)> fits;
  std::function<Tensor(const Tensor&)> stored;        // what the parameter holds, given the wanted content
  std::function<Var(const Var&, const Shape&)> look;  // from the parameter to the wanted shape
  std::function<Tensor(const Tensor&, const Shape&)> look_at_gradient;
};

std::vector<ThroughView> ways() {
  auto last = [](const Shape& s) { return Axis{s.rank() - 1}; };
  auto padded = [](const Tensor& x, Axis axis, std::int64_t before, std::int64_t after, std::int64_t step) {
    Tensor big = full(x.shape().with(axis, before + x.shape()[axis] * step + after), 0.7, x.dtype());
    Tensor place = narrow(big, axis, before, x.shape()[axis], step);
    copy_(place, x);
    return big;
  };
  std::vector<ThroughView> list;
  list.push_back({"transposed", [](const Shape& s) { return s.rank() >= 2; },
                  [last](const Tensor& x) { return copy(transpose(x, Axis{0}, last(x.shape()))); },
                  [last](const Var& p, const Shape& s) { return transpose(p, Axis{0}, last(s)); },
                  [last](const Tensor& g, const Shape& s) { return transpose(g, Axis{0}, last(s)); }});
  list.push_back({"sliced with step", [](const Shape& s) { return s.rank() >= 1; },
                  [=](const Tensor& x) { return padded(x, last(x.shape()), 1, 2, 2); },
                  [last](const Var& p, const Shape& s) { return narrow(p, last(s), 1, s[s.rank() - 1], 2); },
                  [last](const Tensor& g, const Shape& s) { return narrow(g, last(s), 1, s[s.rank() - 1], 2); }});
  list.push_back({"offset", [](const Shape& s) { return s.rank() >= 1; },
                  [=](const Tensor& x) { return padded(x, Axis{0}, 2, 1, 1); },
                  [](const Var& p, const Shape& s) { return narrow(p, Axis{0}, 2, s[0]); },
                  [](const Tensor& g, const Shape& s) { return narrow(g, Axis{0}, 2, s[0]); }});
  list.push_back({"reshaped", [](const Shape&) { return true; },
                  [](const Tensor& x) { return reshape(copy(x), Shape{x.size()}); },
                  [](const Var& p, const Shape& s) { return reshape(p, s); },
                  [](const Tensor& g, const Shape& s) { return reshape(g, s); }});
  list.push_back({"selected", [](const Shape& s) { return s.rank() < 5; },
                  [](const Tensor& x) {
                    Tensor big = full(x.shape().inserted(Axis{0}, 3), 0.7, x.dtype());
                    Tensor place = select(big, Axis{0}, 1);
                    copy_(place, x);
                    return big;
                  },
                  [](const Var& p, const Shape&) { return select(p, Axis{0}, 1); },
                  [](const Tensor& g, const Shape&) { return select(g, Axis{0}, 1); }});
  return list;
}

double total_size(const std::vector<double>& values) {
  double total = 0;
  for (double value : values) total += std::fabs(value);
  return total;
}

void gradient_passes_views(const OpRow& row) {
  for (const ThroughView& way : ways()) {
    for_each_sample(row, {different, equal}, [&](int variant, const auto& shapes, const auto& values) {
      const std::vector<Var> dense = leaves(shapes, values);
      const Var want = row.apply(dense, variant);
      pull_back(want);
      for (bool held : {false, true}) {
        INFO(std::string(way.name), std::string(held ? ", view held by the caller" : ", view not held"));
        std::vector<Var> parameters, views;
        for (std::size_t k = 0; k < shapes.size(); ++k) {
          if (!way.fits(shapes[k])) return;
          parameters.push_back(parameter(way.stored(dense[k].value())));
          views.push_back(way.look(parameters[k], shapes[k]));
        }
        const Var y = row.apply(views, variant);
        if (!held) views.clear();
        CHECK(near(elements(y.value()), elements(want.value()), 1e-15));
        pull_back(y);
        for (std::size_t k = 0; k < shapes.size(); ++k) {
          CAPTURE(k);
          const Tensor grad = parameters[k].grad();
          CHECK(near(elements(way.look_at_gradient(grad, shapes[k])), elements(dense[k].grad()), 1e-14));
          CHECK(near(total_size(elements(grad)), total_size(elements(dense[k].grad())), 1e-12, 1e-300));
        }
      }
    });
  }
}

void expanded_inputs_get_the_sum(const OpRow& row) {
  if (row.domain == Domain::all_apart) return;  // stretched numbers are equal, so these rows would sit on their kinks
  for_each_sample(row, {different, equal}, [&](int variant, const auto& shapes, const auto& values) {
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      for (int axis = 0; axis < shapes[k].rank(); ++axis) {
        for (bool held : {false, true}) {
          INFO("input ", k, " stretched along axis ", axis, std::string(held ? ", held" : ", not held"));
          const std::vector<Var> dense = leaves(shapes, values);
          const Tensor small = copy(narrow(dense[k].value(), Axis{axis}, 0, 1));
          std::vector<Var> x = dense, copies = dense;
          const Var p = parameter(small);
          x[k] = expand(p, Axis{axis}, shapes[k][axis]);
          copies[k] = parameter(copy(x[k].value()));
          const Var want = row.apply(copies, variant);
          pull_back(want);
          const std::vector<double> others =
              k == 0 && x.size() > 1 ? elements(dense[1].grad()) : elements(dense[0].grad());
          for (const Var& leaf : dense) leaf.zero_grad();
          const Var y = row.apply(x, variant);
          if (!held) x.clear();
          CHECK(near(elements(y.value()), elements(want.value()), 1e-14));
          pull_back(y);
          const Tensor summed = sum(copies[k].grad(), Axis{axis});
          CHECK(p.grad().shape() == small.shape());
          CHECK(near(elements(p.grad()), elements(summed), 1e-13));
          CHECK(
              near(k == 0 && dense.size() > 1 ? elements(dense[1].grad()) : elements(dense[0].grad()), others, 1e-14));
        }
      }
    }
  });
}

void the_same_input_twice_gets_both_shares(const OpRow& row) {
  for_each_sample(row, {different, equal, ones}, [&](int variant, const auto& shapes, const auto& values) {
    if (shapes.size() == 1) {  // the op twice on one leaf: a diamond
      const std::vector<Var> x = leaves(shapes, values);
      pull_back(row.apply(x, variant));
      const std::vector<double> once = elements(x[0].grad());
      x[0].zero_grad();
      {
        Var both;
        { both = row.apply(x, variant) + row.apply(x, variant); }
        pull_back(both);
      }
      std::vector<double> twice = once;
      for (double& value : twice) value *= 2;
      CHECK(near(elements(x[0].grad()), twice, 1e-14));
      return;
    }
    for (std::size_t k = 1; k < shapes.size(); ++k) {
      if (shapes[k] != shapes[0]) continue;
      std::vector<std::vector<double>> repeated = values;
      repeated[k] = values[0];
      const std::vector<Var> apart = leaves(shapes, repeated);
      pull_back(row.apply(apart, variant));
      std::vector<double> want = elements(apart[0].grad());
      const std::vector<double> second = elements(apart[k].grad());
      for (std::size_t i = 0; i < want.size(); ++i) want[i] += second[i];
      std::vector<Var> x = leaves(shapes, values);
      x[k] = x[0];
      pull_back(row.apply(x, variant));
      CHECK(near(elements(x[0].grad()), want, 1e-14));
    }
  });
}

void an_operand_and_a_view_of_it_get_both_shares(const OpRow& row) {
  for_each_sample(row, {equal}, [&](int variant, const auto& shapes, const auto& values) {
    if (shapes.size() < 2 || shapes[0] != shapes[1] || shapes[0].rank() < 2) return;
    auto turned = [](const Var& x) { return transpose(x, Axis{0}, Axis{1}); };
    for (bool view_first : {false, true}) {
      for (bool held : {false, true}) {
        INFO(std::string(view_first ? "view first" : "view second"), std::string(held ? ", held" : ", not held"));
        const Var p = parameter(tensor(shapes[0], values[0], f64));
        std::vector<Var> x(shapes.size(), p);
        x[view_first ? 0 : 1] = turned(p);
        for (std::size_t k = 2; k < x.size(); ++k) {
          if (shapes[k] != shapes[0]) x[k] = parameter(tensor(shapes[k], values[k], f64));
        }
        std::vector<Var> apart;
        for (const Var& v : x) apart.push_back(parameter(copy(v.value())));
        pull_back(row.apply(apart, variant));
        Tensor want = zeros(shapes[0], f64);
        for (std::size_t k = 0; k < apart.size(); ++k) {
          const bool is_view = k == (view_first ? 0u : 1u);
          if (shapes[k] != shapes[0]) continue;
          add_(want, is_view ? transpose(apart[k].grad(), Axis{0}, Axis{1}) : apart[k].grad());
        }
        const Var y = row.apply(x, variant);
        if (!held) x.clear();
        pull_back(y);
        CHECK(near(elements(p.grad()), elements(want), 1e-14));
      }
    }
  });
}

void empty_inputs_work_or_are_refused_by_name(const OpRow& row) {
  for (Sizes s : with_zero) {
    for (int variant = 0; variant < row.variants; ++variant) {
      const std::vector<Shape> shapes = row.shapes(s, variant);
      INFO("variant ", variant, ", sizes ", text_of(s));
      const auto values = sample_inputs(row, shapes, 1);
      const std::vector<Var> x = leaves(shapes, values);
      Var y;
      try {
        y = row.apply(x, variant);
      } catch (const Error& error) {
        const std::string text = error.what();
        CAPTURE(text);
        CHECK(row.refuses_empty);
        CHECK(opens_with(text, row.op));
        continue;
      }
      const Plain<double> want = row.on_numbers(plain_inputs(shapes, values), variant);
      CHECK(Lengths(y.shape().begin(), y.shape().end()) == want.shape);
      CHECK(near(elements(y.value()), want.data, 1e-14));
      pull_back(y);
      for (std::size_t k = 0; k < x.size(); ++k) CHECK(x[k].grad().shape() == shapes[k]);
    }
  }
}

void nothing_stays_behind(const OpRow& row) {
  const std::int64_t nodes = live_nodes(), buffers = live_buffers();
  for_each_sample(row, {different}, [&](int variant, const auto& shapes, const auto& values) {
    { const Var y = row.apply(leaves(shapes, values), variant); }
    { pull_back(row.apply(leaves(shapes, values), variant)); }
    {
      const std::vector<Var> x = leaves(shapes, values);
      const Var y = row.apply(x, variant);
      pull_back(y, Graph::keep);
      pull_back(y, Graph::keep);
    }
    CHECK(live_nodes() == nodes);
    CHECK(live_buffers() == buffers);
  });
}

void backward_frees_the_graph(const OpRow& row) {
  for_each_sample(row, {different}, [&](int variant, const auto& shapes, const auto& values) {
    const std::vector<Var> x = leaves(shapes, values);
    const std::int64_t nodes = live_nodes();
    const Var y = row.apply(x, variant);
    pull_back(y);
    CHECK(live_nodes() == nodes + 1);  // y itself, which is still held
  });
}

void constants_get_nothing_and_change_nothing(const OpRow& row) {
  for_each_sample(row, {different, equal}, [&](int variant, const auto& shapes, const auto& values) {
    const std::vector<Var> all = leaves(shapes, values);
    pull_back(row.apply(all, variant));
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      CAPTURE(k);
      std::vector<Var> x;
      for (std::size_t j = 0; j < shapes.size(); ++j) x.push_back(Var(tensor(shapes[j], values[j], f64), j == k));
      const Var y = row.apply(x, variant);
      CHECK(y.requires_grad());
      pull_back(y);
      CHECK(near(elements(x[k].grad()), elements(all[k].grad()), 1e-15));
      for (std::size_t j = 0; j < x.size(); ++j) {
        if (j != k) CHECK_FALSE(x[j].has_grad());
      }
    }
    std::vector<Var> constants;
    for (std::size_t j = 0; j < shapes.size(); ++j) constants.push_back(Var(tensor(shapes[j], values[j], f64)));
    CHECK_FALSE(row.apply(constants, variant).requires_grad());
  });
}

void nothing_is_recorded_under_no_grad(const OpRow& row) {
  for_each_sample(row, {different}, [&](int variant, const auto& shapes, const auto& values) {
    const std::vector<Var> x = leaves(shapes, values);
    const Var recorded = row.apply(x, variant);
    const NoGrad no_grad;
    const std::int64_t nodes = live_nodes();
    const Var y = row.apply(x, variant);
    CHECK_FALSE(y.requires_grad());
    CHECK(live_nodes() == nodes + 1);
    CHECK(same(elements(y.value()), elements(recorded.value())));
  });
}

void leaves_accumulate_and_the_rest_does_not(const OpRow& row) {
  for_each_sample(row, {different}, [&](int variant, const auto& shapes, const auto& values) {
    const std::vector<Var> x = leaves(shapes, values);
    std::vector<Var> inner;  // between leaf and op, and held
    for (const Var& leaf : x) inner.push_back(leaf * 1.0);
    const Var y = row.apply(inner, variant);
    pull_back(y, Graph::keep);
    const auto once = gradients(x), inner_once = gradients(inner);
    pull_back(y, Graph::keep);
    for (std::size_t k = 0; k < x.size(); ++k) {
      std::vector<double> twice = once[k];
      for (double& value : twice) value *= 2;
      CHECK(near(elements(x[k].grad()), twice, 1e-15));
      CHECK(near(elements(inner[k].grad()), inner_once[k], 1e-15));
    }
  });
}

void a_used_up_graph_is_named(const OpRow& row) {
  for_each_sample(row, {different}, [&](int variant, const auto& shapes, const auto& values) {
    const Var y = row.apply(leaves(shapes, values), variant);
    pull_back(y);
    const std::string text = message_of<GraphError>([&] { pull_back(y); });
    CHECK(opens_with(text, "backward: '" + row.op + "' (node "));
    CHECK(contains(text, "was used up by an earlier backward"));
    CHECK(contains(text, "Graph::keep"));
  });
}

void overwriting_an_input_is_refused_or_harmless(const OpRow& row) {
  for_each_sample(row, {different}, [&](int variant, const auto& shapes, const auto& values) {
    const std::vector<Var> clean = leaves(shapes, values);
    pull_back(row.apply(clean, variant));
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      for (bool write_result : {false, true}) {
        INFO("input ", k, std::string(write_result ? ", writing to the result" : ", writing to the input"));
        const std::vector<Var> x = leaves(shapes, values);
        const Var y = row.apply(x, variant);
        Tensor target = write_result ? y.value() : x[k].value();
        fill_(target, 0.123);
        std::string text;
        try {
          pull_back(y);
        } catch (const GraphError& error) { text = error.what(); }
        if (!text.empty()) {
          CHECK(opens_with(text, "backward of '"));
          CHECK(contains(text, "was changed in place"));
          if (!row.is_composed) CHECK(contains(text, "'" + row.op + "'"));
        } else {
          for (std::size_t j = 0; j < x.size(); ++j)
            CHECK(near(elements(x[j].grad()), elements(clean[j].grad()), 1e-15));
        }
      }
    }
  });
}

void dtypes_are_never_mixed(const OpRow& row) {
  for_each_sample(row, {different}, [&](int variant, const auto& shapes, const auto& values) {
    if (shapes.size() < 2) return;
    std::vector<Var> x = leaves(shapes, values);
    x[1] = parameter(tensor(shapes[1], values[1], f32));
    const std::string text = message_of<DTypeError>([&] { row.apply(x, variant); });
    CAPTURE(text);
    CHECK((opens_with(text, row.op + ": f64 meets f32") || opens_with(text, row.name + ": f64 meets f32")));
  });
}

void nan_in_gives_nan_out(const OpRow& row) {
  for_each_sample(row, {different}, [&](int variant, const auto& shapes, const auto& values) {
    for (DType dtype : {f32, f64}) {
      std::vector<std::vector<double>> bad = values;
      for (auto& list : bad) std::fill(list.begin(), list.end(), not_a_number);
      const Var y = row.apply(leaves(shapes, bad, dtype), variant);
      std::size_t poisoned = 0;
      for (double value : elements(y.value())) poisoned += std::isnan(value);
      CHECK(poisoned > 0);
      if (row.name != "softmax with a mask") CHECK(poisoned == static_cast<std::size_t>(y.value().size()));
    }
  });
}

void gradients_have_the_shape_of_their_values(const OpRow& row) {
  for_each_sample(row, {different, equal, ones}, [&](int variant, const auto& shapes, const auto& values) {
    const std::vector<Var> x = leaves(shapes, values, f64, Layout::transposed);
    pull_back(row.apply(x, variant));
    for (std::size_t k = 0; k < x.size(); ++k) {
      CHECK(x[k].grad().shape() == shapes[k]);
      CHECK(x[k].grad().dtype() == f64);
      CHECK(x[k].grad().buffer().get() != x[k].value().buffer().get());
    }
  });
}

void gradient_is_linear_in_dy(const OpRow& row) {
  for_each_sample(row, {different}, [&](int variant, const auto& shapes, const auto& values) {
    const std::vector<Var> x = leaves(shapes, values);
    const Var y = row.apply(x, variant);
    auto pull = [&](double factor, std::uint64_t seed) {
      std::vector<double> w = weights_for(y.shape(), seed);
      for (double& value : w) value *= factor;
      for (const Var& leaf : x) leaf.zero_grad();
      backward(y, tensor(y.shape(), w, f64), Graph::keep);
      return gradients(x);
    };
    const auto a = pull(1, 1), b = pull(1, 2), scaled = pull(-3, 1);
    std::vector<double> both = weights_for(y.shape(), 1);
    const std::vector<double> second = weights_for(y.shape(), 2);
    for (std::size_t i = 0; i < both.size(); ++i) both[i] += second[i];
    for (const Var& leaf : x) leaf.zero_grad();
    backward(y, tensor(y.shape(), both, f64), Graph::keep);
    const auto added = gradients(x);
    for (std::size_t k = 0; k < x.size(); ++k) {
      std::vector<double> want = a[k], tripled = a[k];
      for (std::size_t i = 0; i < want.size(); ++i) {
        want[i] += b[k][i];
        tripled[i] *= -3;
      }
      CHECK(near(added[k], want, 1e-13));
      CHECK(near(scaled[k], tripled, 1e-14));
    }
  });
}

void repeats_bit_for_bit(const OpRow& row) {
  for_each_sample(row, {Sizes{3, 5, 37, 4}}, [&](int variant, const auto& shapes, const auto& values) {
    std::vector<std::vector<double>> first;
    for (int round = 0; round < 3; ++round) {
      const std::vector<Var> x = leaves(shapes, values, f32);
      const Var y = row.apply(x, variant);
      pull_back(y);
      std::vector<std::vector<double>> all = gradients(x);
      all.push_back(elements(y.value()));
      if (round == 0) first = all;
      CHECK(all == first);
    }
  });
}

// ---- registration

struct Check {
  const char* name;
  void (*run)(const OpRow&);
};
constexpr Check checks[] = {
    {"values match the plain reference", values_match_reference},
    {"gradient agrees with central differences", gradient_agrees_with_differences},
    {"gradient agrees with dual numbers", gradient_agrees_with_dual_numbers},
    {"f32 follows f64", f32_follows_f64},
    {"layouts do not matter", layouts_do_not_matter},
    {"gradient passes views", gradient_passes_views},
    {"expanded inputs get the sum", expanded_inputs_get_the_sum},
    {"the same input twice gets both shares", the_same_input_twice_gets_both_shares},
    {"an operand and a view of it both get their share", an_operand_and_a_view_of_it_get_both_shares},
    {"empty inputs work or are refused by name", empty_inputs_work_or_are_refused_by_name},
    {"nothing stays behind", nothing_stays_behind},
    {"backward frees the graph", backward_frees_the_graph},
    {"constants get nothing and change nothing", constants_get_nothing_and_change_nothing},
    {"nothing is recorded under NoGrad", nothing_is_recorded_under_no_grad},
    {"leaves accumulate and the rest does not", leaves_accumulate_and_the_rest_does_not},
    {"a used up graph is named", a_used_up_graph_is_named},
    {"overwriting a saved value is refused or harmless", overwriting_an_input_is_refused_or_harmless},
    {"dtypes are never mixed", dtypes_are_never_mixed},
    {"NaN in gives NaN out", nan_in_gives_nan_out},
    {"gradients have the shape of their values", gradients_have_the_shape_of_their_values},
    {"gradient is linear in dy", gradient_is_linear_in_dy},
    {"repeats bit for bit", repeats_bit_for_bit},
};
constexpr std::size_t check_count = std::size(checks);

// Rows with one input have nothing to mix or to look at twice.
bool applies(const Check& check, const OpRow& row) {
  const std::size_t inputs = row.shapes(equal, 0).size();
  if (check.run == dtypes_are_never_mixed) return inputs > 1;
  if (check.run == an_operand_and_a_view_of_it_get_both_shares) {
    bool some = false;
    for (int variant = 0; variant < row.variants; ++variant) {
      const std::vector<Shape> shapes = row.shapes(equal, variant);
      some = some || (shapes.size() > 1 && shapes[0] == shapes[1] && shapes[0].rank() > 1);
    }
    return some;
  }
  if (check.run == expanded_inputs_get_the_sum) return row.domain != Domain::all_apart && row.name != "expand_scalar";
  return true;
}

template <std::size_t check, std::size_t index> void run_one() { checks[check].run(op_table()[index]); }

// doctest's TEST_CASE registers one function under one name; here each pair of op and check gets a name of its own.
template <std::size_t check, std::size_t... index> void register_rows(std::index_sequence<index...>) {
  static std::deque<std::string> names;
  auto add = [](void (*function)(), std::size_t i) {
    if (i >= op_table().size() || !applies(checks[check], op_table()[i])) return;
    names.push_back(op_table()[i].name + ": " + checks[check].name);
    doctest::detail::TestSuite suite;
    doctest::detail::regTest(
        doctest::detail::TestCase(function, __FILE__, static_cast<unsigned>(1000 * i + check), suite * "op") *
        names.back().c_str());
  };
  (add(run_one<check, index>, index), ...);
}
template <std::size_t... check> int register_all(std::index_sequence<check...>) {
  (register_rows<check>(std::make_index_sequence<row_count>{}), ...);
  return 0;
}
const int registered = register_all(std::make_index_sequence<check_count>{});

// "Var tanh(const Var& x);" becomes "tanh(Var)".
std::string signature(const std::string& declaration) {
  const std::size_t open = declaration.find('(');
  std::string name = declaration.substr(4, open - 4);
  std::string text = name + "(";
  std::stringstream parameters(declaration.substr(open + 1, declaration.rfind(')') - open - 1));
  std::string part;
  bool first = true;
  while (std::getline(parameters, part, ',')) {
    part = part.substr(0, part.find('='));
    for (const char* noise : {"const ", "std::", "&"}) {
      for (std::size_t at; (at = part.find(noise)) != std::string::npos;) part.erase(at, std::string(noise).size());
    }
    std::stringstream words(part);
    std::string type;
    words >> type;
    text += (first ? "" : ", ") + type;
    first = false;
  }
  return text + ")";
}

}  // namespace

TEST_SUITE_BEGIN("op table");

TEST_CASE("every function that autograd/ops.h declares has exactly one row") {
  std::ifstream file(std::string(GRADUS_SOURCE_ROOT) + "/autograd/ops.h");
  REQUIRE(file.good());
  std::set<std::string> declared, rows;
  std::string line, statement;
  while (std::getline(file, line)) {
    line = line.substr(0, line.find("//"));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (statement.empty() && line.rfind("Var ", 0) != 0) continue;
    statement += (statement.empty() ? "" : " ") + line;
    if (statement.empty() || statement.back() != ';') continue;
    declared.insert(signature(statement));
    statement.clear();
  }
  for (const OpRow& row : op_table()) {
    CHECK_MESSAGE(rows.insert(row.declared).second, row.declared, " has two rows");
  }
  for (const std::string& name : declared) CHECK_MESSAGE(rows.count(name) == 1, name, " has no row");
  for (const std::string& name : rows) CHECK_MESSAGE(declared.count(name) == 1, name, " is not declared");
  CHECK(declared.size() > 40);
}

TEST_CASE("every row is registered with every check") {
  CHECK(op_table().size() == row_count);
  CHECK(registered == 0);
}

TEST_CASE("every row covers at least 64 samples of its gradient") {
  for (const OpRow& row : op_table()) CHECK((64 / (3 * row.variants) + 1) * 3 * row.variants >= 64);
}

TEST_CASE("the table covers ranks 0 to 4") {
  std::set<int> ranks;
  for (const OpRow& row : op_table()) {
    for (int variant = 0; variant < row.variants; ++variant) {
      for (const Shape& shape : row.shapes(different, variant)) ranks.insert(shape.rank());
    }
  }
  CHECK(ranks == std::set<int>{0, 1, 2, 3, 4});
}

TEST_SUITE_END();

}  // namespace gradus::testing
