// Planted mistakes in ops: each is refused by the check that its row names, and its correct twin is accepted. The
// mistakes are those that engines have really shipped; a check that lets one pass is worth nothing.
#include <array>
#include <memory>

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "autograd/pointwise.h"
#include "tensor/matmul.h"
#include "tests/tensor/check.h"
#include "tests/tensor/child.h"

namespace gradus::testing {
namespace {

using Leaves = std::vector<Var>;

Var vector_of(std::initializer_list<double> values) {
  return parameter(tensor(Shape{static_cast<std::int64_t>(values.size())}, values, f64));
}
Var matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return parameter(tensor(Shape{rows, columns}, Numbers(seed).many(rows * columns, -1.5, 1.5), f64));
}

// dy times a number, as a new tensor.
Tensor scaled(const Tensor& dy, double factor) {
  const Tensor f = expand_scalar(full(Shape{}, factor, dy.dtype()), dy.shape());
  return pointwise(
      "scaled", [](auto d, auto s) { return d * s; }, dy, f);
}
Tensor product(const Tensor& a, const Tensor& b) {
  return pointwise(
      "product", [](auto x, auto y) { return x * y; }, a, b);
}

// An op with a right forward and a choice between the right rule and a wrong one.
template <class Right, class Wrong>
Var either(bool wrong, const char* op, const Tensor& value, const Leaves& inputs, Right right_rule, Wrong wrong_rule) {
  return wrong ? record(op, value, inputs, wrong_rule) : record(op, value, inputs, right_rule);
}

// One planted mistake: f(leaves, wrong) with the wrong or the right rule.
struct Mutant {
  const char* name;
  GradientVerdict caught_as;
  std::function<Leaves()> leaves;
  std::function<Var(const Leaves&, bool wrong)> f;
};

Mutant mistake(const char* name, std::function<Leaves()> leaves, std::function<Var(const Leaves&, bool)> f,
               GradientVerdict caught_as = GradientVerdict::wrong) {
  return {name, caught_as, std::move(leaves), std::move(f)};
}

GradientReport checked(const Mutant& mutant, bool wrong) {
  const Leaves leaves = mutant.leaves();
  std::vector<CheckedInput> inputs;
  for (std::size_t k = 0; k < leaves.size(); ++k) inputs.push_back({"x" + std::to_string(k), leaves[k], ""});
  return check_gradient([&] { return mutant.f(leaves, wrong); }, inputs);
}

Tensor softmax_dx(const Tensor& y, const Tensor& dy, bool with_inner_sum) {
  Tensor dx = product(y, dy);
  if (!with_inner_sum) return dx;
  const Tensor inner = expand_new(sum(dx, Axis{1}), Axis{1}, y.shape()[1]);
  return pointwise(
      "dx", [](auto p, auto d, auto s) { return p * (d - s); }, y, dy, inner);
}

const auto two_vectors = [] { return Leaves{vector_of({0.7, -1.2, 2}), vector_of({1.5, 0.4, -0.8})}; };
const auto one_vector = [] { return Leaves{vector_of({0.7, -1.2, 2})}; };
const auto one_matrix = [] { return Leaves{matrix(3, 4, 5)}; };
const auto two_matrices = [] { return Leaves{matrix(3, 4, 5), matrix(4, 2, 6)}; };

std::vector<Mutant> make_mutants() {
  std::vector<Mutant> m;
  // ---- broadcast
  m.push_back(mistake(
      "broadcast: the gradient of a repeated bias is its first row, not the sum",
      [] {
        return Leaves{matrix(3, 4, 1), vector_of({0.1, 0.2, 0.3, 0.4})};
      },
      [](const Leaves& x, bool wrong) {
        const Tensor value = pointwise(
            "bias", [](auto a, auto b) { return a + b; }, x[0].value(), expand_new(x[1].value(), Axis{0}, 3));
        return either(
            wrong, "bias", value, x,
            [](const Tensor& dy, Inputs& in) {
              in.add(0, dy);
              in.add(1, sum(dy, Axis{0}));
            },
            [](const Tensor& dy, Inputs& in) {
              in.add(0, dy);
              in.add(1, select(dy, Axis{0}, 0));
            });
      }));
  m.push_back(mistake(
      "broadcast: the mean over the repeated axis instead of the sum",
      [] {
        return Leaves{vector_of({0.1, 0.2, 0.3, 0.4})};
      },
      [](const Leaves& x, bool wrong) {
        return either(
            wrong, "repeat", copy(expand_new(x[0].value(), Axis{0}, 3)), x,
            [](const Tensor& dy, Inputs& in) { in.add(0, sum(dy, Axis{0})); },
            [](const Tensor& dy, Inputs& in) { in.add(0, mean(dy, Axis{0})); });
      }));
  m.push_back(mistake(
      "broadcast: one element of an expanded number counted n times",
      [] { return Leaves{parameter(full(Shape{}, 2, f64))}; },
      [](const Leaves& x, bool wrong) {
        return either(
            wrong, "one of three", copy(x[0].value()), x, [](const Tensor& dy, Inputs& in) { in.add(0, dy); },
            [](const Tensor& dy, Inputs& in) { in.add(0, scaled(dy, 3)); });
      }));
  m.push_back(mistake(
      "broadcast: the sum is taken over the other axis of a square",
      [] {
        return Leaves{vector_of({0.1, 0.2, 0.3})};
      },
      [](const Leaves& x, bool wrong) {
        return either(
            wrong, "repeat", copy(expand_new(x[0].value(), Axis{0}, 3)), x,
            [](const Tensor& dy, Inputs& in) { in.add(0, sum(dy, Axis{0})); },
            [](const Tensor& dy, Inputs& in) { in.add(0, sum(dy, Axis{1})); });
      }));
  m.push_back(mistake(
      "broadcast: a number of an operand gets dy's first element",
      [] {
        return Leaves{parameter(full(Shape{}, 2, f64)), vector_of({1, 2, 3})};
      },
      [](const Leaves& x, bool wrong) {
        const Tensor value = product(expand_scalar(x[0].value(), Shape{3}), x[1].value());
        return either(
            wrong, "scale", value, x,
            [](const Tensor& dy, Inputs& in) {
              in.add(0, sum(product(dy, in.value(1))));
              in.add(1, product(dy, expand_scalar(in.value(0), Shape{3})));
            },
            [](const Tensor& dy, Inputs& in) {
              in.add(0, select(product(dy, in.value(1)), Axis{0}, 0));
              in.add(1, product(dy, expand_scalar(in.value(0), Shape{3})));
            });
      }));
  // ---- graph
  m.push_back(mistake("graph: overwrite instead of accumulate when an input is used twice", one_vector,
                      [](const Leaves& x, bool wrong) {
                        return either(
                            wrong, "x + x", scaled(x[0].value(), 2), {x[0], x[0]},
                            [](const Tensor& dy, Inputs& in) {
                              in.add(0, dy);
                              in.add(1, dy);
                            },
                            [](const Tensor& dy, Inputs& in) {
                              for (int k : {0, 1}) {
                                Tensor grad = in.grad(k);
                                copy_(grad, dy);
                              }
                            });
                      }));
  m.push_back(mistake(
      "graph: gather overwrites where a row occurs twice", [] { return Leaves{matrix(3, 2, 3)}; },
      [](const Leaves& x, bool wrong) {
        const std::array<std::int64_t, 4> ids{0, 2, 0, 1};
        Tensor rows = empty(Shape{4, 2}, f64);
        for (std::int64_t i = 0; i < 4; ++i) {
          Tensor row = select(rows, Axis{0}, i);
          copy_(row, select(x[0].value(), Axis{0}, ids[static_cast<std::size_t>(i)]));
        }
        auto rule = [ids](bool overwrite) {
          return [ids, overwrite](const Tensor& dy, Inputs& in) {
            const Tensor grad = in.grad(0);
            for (std::int64_t i = 0; i < 4; ++i) {
              Tensor row = select(grad, Axis{0}, ids[static_cast<std::size_t>(i)]);
              if (overwrite) copy_(row, select(dy, Axis{0}, i));
              else add_(row, select(dy, Axis{0}, i));
            }
          };
        };
        return record("gather", rows, x, rule(wrong));
      }));
  m.push_back(mistake(
      "graph: an op returns its value without the graph", one_vector,
      [](const Leaves& x, bool wrong) { return wrong ? mean(x[0]).detach() : mean(x[0]); },
      GradientVerdict::nothing_tested));
  m.push_back(mistake("graph: one of two inputs is cut off", two_vectors,
                      [](const Leaves& x, bool wrong) { return x[0] * (wrong ? x[1].detach() : x[1]); }));
  m.push_back(mistake(
      "graph: a declared weight is not used", two_vectors,
      [](const Leaves& x, bool wrong) { return tanh(wrong ? x[0] : x[0] * x[1]); }, GradientVerdict::nothing_tested));
  m.push_back(mistake("graph: parents swapped in a difference", two_vectors, [](const Leaves& x, bool wrong) {
    const Tensor value = pointwise(
        "minus", [](auto a, auto b) { return a - b; }, x[0].value(), x[1].value());
    auto rule = [](int plus, int minus) {
      return [plus, minus](const Tensor& dy, Inputs& in) {
        in.add(plus, dy);
        in.add(minus, scaled(dy, -1));
      };
    };
    return record("minus", value, x, wrong ? rule(1, 0) : rule(0, 1));
  }));
  m.push_back(mistake("graph: parents swapped in a product", two_vectors, [](const Leaves& x, bool wrong) {
    auto rule = [](int first) {
      return [first](const Tensor& dy, Inputs& in) {
        in.add(0, product(dy, in.value(first)));
        in.add(1, product(dy, in.value(1 - first)));
      };
    };
    return record("times", product(x[0].value(), x[1].value()), x, wrong ? rule(0) : rule(1));
  }));
  m.push_back(mistake("graph: the second parent is forgotten", two_vectors, [](const Leaves& x, bool wrong) {
    return either(
        wrong, "times", product(x[0].value(), x[1].value()), x,
        [](const Tensor& dy, Inputs& in) {
          in.add(0, product(dy, in.value(1)));
          in.add(1, product(dy, in.value(0)));
        },
        [](const Tensor& dy, Inputs& in) { in.add(0, product(dy, in.value(1))); });
  }));
  m.push_back(mistake(
      "graph: a dropout mask drawn anew in each call", [] { return Leaves{parameter(full(Shape{20}, 1, f64))}; },
      [](const Leaves& x, bool wrong) {
        static Generator going_on(1);
        Generator fixed(1);
        return dropout(x[0], 0.5, wrong ? going_on : fixed, true);
      },
      GradientVerdict::nondeterministic));
  // ---- contractions
  auto product_rule = [](auto left, auto right) {
    return [left, right](const Tensor& dy, Inputs& in) {
      left(dy, in);
      right(dy, in);
    };
  };
  static const auto right_left = [](const Tensor& dy, Inputs& in) { in.add(0, matmul(dy, transpose(in.value(1)))); };
  static const auto right_right = [](const Tensor& dy, Inputs& in) { in.add(1, matmul(transpose(in.value(0)), dy)); };
  m.push_back(mistake(
      "matmul: a transpose is missing in dA (square, so that the shapes fit)",
      [] {
        return Leaves{matrix(3, 3, 5), matrix(3, 3, 6)};
      },
      [product_rule](const Leaves& x, bool wrong) {
        return either(
            wrong, "matmul", matmul(x[0].value(), x[1].value()), x, product_rule(right_left, right_right),
            product_rule([](const Tensor& dy, Inputs& in) { in.add(0, matmul(dy, in.value(1))); }, right_right));
      }));
  m.push_back(mistake(
      "matmul: dB is transposed (square)",
      [] {
        return Leaves{matrix(3, 3, 5), matrix(3, 3, 6)};
      },
      [product_rule](const Leaves& x, bool wrong) {
        return either(wrong, "matmul", matmul(x[0].value(), x[1].value()), x, product_rule(right_left, right_right),
                      product_rule(right_left, [](const Tensor& dy, Inputs& in) {
                        in.add(1, transpose(matmul(transpose(in.value(0)), dy)));
                      }));
      }));
  m.push_back(mistake(
      "matmul: the order of the factors in dB is exchanged (square)",
      [] {
        return Leaves{matrix(3, 3, 5), matrix(3, 3, 6)};
      },
      [product_rule](const Leaves& x, bool wrong) {
        return either(wrong, "matmul", matmul(x[0].value(), x[1].value()), x, product_rule(right_left, right_right),
                      product_rule(right_left, [](const Tensor& dy, Inputs& in) {
                        in.add(1, matmul(dy, transpose(in.value(0))));
                      }));
      }));
  m.push_back(
      mistake("matmul: dA is divided by the number of rows", two_matrices, [product_rule](const Leaves& x, bool wrong) {
        return either(wrong, "matmul", matmul(x[0].value(), x[1].value()), x, product_rule(right_left, right_right),
                      product_rule([](const Tensor& dy,
                                      Inputs& in) { in.add(0, scaled(matmul(dy, transpose(in.value(1))), 1.0 / 3)); },
                                   right_right));
      }));
  m.push_back(mistake("mean: the gradient lacks 1/n", one_matrix, [](const Leaves& x, bool wrong) {
    auto rule = [](double n) {
      return [n](const Tensor& dy, Inputs& in) { in.add(0, scaled(expand_new(dy, Axis{1}, 4), 1 / n)); };
    };
    return record("mean", mean(x[0].value(), Axis{1}), x, wrong ? rule(1) : rule(4));
  }));
  m.push_back(mistake("mean: divided by the wrong axis", one_matrix, [](const Leaves& x, bool wrong) {
    auto rule = [](double n) {
      return [n](const Tensor& dy, Inputs& in) { in.add(0, scaled(expand_new(dy, Axis{1}, 4), 1 / n)); };
    };
    return record("mean", mean(x[0].value(), Axis{1}), x, wrong ? rule(3) : rule(4));
  }));
  m.push_back(mistake("sum: the gradient reaches the first position of the axis only", one_matrix,
                      [](const Leaves& x, bool wrong) {
                        return either(
                            wrong, "sum", sum(x[0].value(), Axis{0}), x,
                            [](const Tensor& dy, Inputs& in) { in.add(0, expand_new(dy, Axis{0}, 3)); },
                            [](const Tensor& dy, Inputs& in) {
                              const Tensor grad = in.grad(0);
                              Tensor row = select(grad, Axis{0}, 0);
                              add_(row, dy);
                            });
                      }));
  m.push_back(mistake("max: every element gets the gradient", one_vector, [](const Leaves& x, bool wrong) {
    auto rule = [](bool everywhere) {
      return [everywhere](const Tensor& dy, Inputs& in) {
        Tensor dx = zeros(Shape{3}, f64);
        if (everywhere) fill_(dx, dy.item());
        else dx.set({2}, dy.item());
        in.add(0, dx);
      };
    };
    return record("max", max(x[0].value(), Axis{0}), x, rule(wrong));
  }));
  m.push_back(
      mistake("max: the gradient goes to the position of the smallest", one_vector, [](const Leaves& x, bool wrong) {
        auto rule = [](std::int64_t place) {
          return [place](const Tensor& dy, Inputs& in) {
            Tensor dx = zeros(Shape{3}, f64);
            dx.set({place}, dy.item());
            in.add(0, dx);
          };
        };
        return record("max", max(x[0].value(), Axis{0}), x, rule(wrong ? 1 : 2));
      }));
  // ---- softmax and losses
  m.push_back(mistake("softmax: backward without the inner sum", one_matrix, [](const Leaves& x, bool wrong) {
    const Tensor y = softmax(x[0].value(), Axis{1});
    return record("softmax", y, x, [y, wrong](const Tensor& dy, Inputs& in) { in.add(0, softmax_dx(y, dy, !wrong)); });
  }));
  m.push_back(mistake("softmax: the plain mean instead of the weighted one (unseen by an all-ones seed)", one_matrix,
                      [](const Leaves& x, bool wrong) {
                        const Tensor y = softmax(x[0].value(), Axis{1});
                        return record("softmax", y, x, [y, wrong](const Tensor& dy, Inputs& in) {
                          if (!wrong) return in.add(0, softmax_dx(y, dy, true));
                          const Tensor inner = expand_new(mean(dy, Axis{1}), Axis{1}, 4);
                          in.add(0, pointwise(
                                        "dx", [](auto p, auto d, auto s) { return p * (d - s); }, y, dy, inner));
                        });
                      }));
  m.push_back(mistake(
      "softmax: forward over one axis, backward over the other", [] { return Leaves{matrix(3, 3, 5)}; },
      [](const Leaves& x, bool wrong) {
        const Tensor y = softmax(x[0].value(), Axis{1});
        return record("softmax", y, x, [y, wrong](const Tensor& dy, Inputs& in) {
          in.add(0, wrong ? transpose(softmax_dx(transpose(y), transpose(dy), true)) : softmax_dx(y, dy, true));
        });
      }));
  m.push_back(mistake(
      "softmax: the check's objective is a plain sum, so nothing is tested", one_matrix,
      [](const Leaves& x, bool wrong) {
        const Var y = softmax(x[0], Axis{1});
        return wrong ? sum(y) : y;
      },
      GradientVerdict::nothing_tested));
  auto entropy = [](const char* name, auto change) {
    return mistake(
        name, [] { return Leaves{matrix(4, 3, 8)}; },
        [change](const Leaves& x, bool wrong) {
          const Ids targets(Shape{4}, std::vector<std::int32_t>{2, 0, 1, 1});
          const Tensor p = softmax(x[0].value(), Axis{1});
          double loss = 0;
          for (std::int64_t i = 0; i < 4; ++i) loss -= std::log(p.at({i, targets[i]})) / 4;
          return record("cross_entropy", full(Shape{}, loss, f64), x,
                        [p, targets, wrong, change](const Tensor& dy, Inputs& in) {
                          Tensor dx = copy(p);
                          for (std::int64_t i = 0; i < 4; ++i) dx.set({i, targets[i]}, dx.at({i, targets[i]}) - 1);
                          dx = scaled(dx, dy.item() / 4);
                          in.add(0, wrong ? change(dx, p, targets) : dx);
                        });
        });
  };
  m.push_back(entropy("cross_entropy: the sign is turned",
                      [](const Tensor& dx, const Tensor&, const Ids&) { return scaled(dx, -1); }));
  m.push_back(entropy("cross_entropy: the gradient is not divided by the number of targets",
                      [](const Tensor& dx, const Tensor&, const Ids&) { return scaled(dx, 4); }));
  m.push_back(entropy("cross_entropy: divided by the vocabulary instead of the targets",
                      [](const Tensor& dx, const Tensor&, const Ids&) { return scaled(dx, 4.0 / 3); }));
  m.push_back(entropy("cross_entropy: the one-hot is missing",
                      [](const Tensor&, const Tensor& p, const Ids&) { return scaled(p, 0.25); }));
  m.push_back(
      entropy("cross_entropy: the target is off by one", [](const Tensor&, const Tensor& p, const Ids& targets) {
        Tensor dx = copy(p);
        for (std::int64_t i = 0; i < 4; ++i) {
          const std::int64_t target = (targets[i] + 1) % 3;
          dx.set({i, target}, dx.at({i, target}) - 1);
        }
        return scaled(dx, 0.25);
      }));
  m.push_back(mistake("mse: the factor 2 is missing", two_vectors, [](const Leaves& x, bool wrong) {
    auto rule = [](double factor) {
      return [factor](const Tensor& dy, Inputs& in) {
        const Tensor gap = pointwise(
            "gap", [](auto a, auto b) { return a - b; }, in.value(0), in.value(1));
        in.add(0, scaled(gap, factor * dy.item() / 3));
        in.add(1, scaled(gap, -factor * dy.item() / 3));
      };
    };
    return record("mse", mse(x[0].value(), x[1].value()).value(), x, wrong ? rule(1) : rule(2));
  }));
  m.push_back(
      mistake("dropout: the gradient is not scaled by 1 / (1 - p)", one_vector, [](const Leaves& x, bool wrong) {
        const Tensor factor = tensor(Shape{3}, {2, 0, 2}, f64), mask = tensor(Shape{3}, {1, 0, 1}, f64);
        return record("dropout", product(x[0].value(), factor), x, [factor, mask, wrong](const Tensor& dy, Inputs& in) {
          in.add(0, product(dy, wrong ? mask : factor));
        });
      }));
  m.push_back(
      mistake("dropout: the gradient flows through what was dropped", one_vector, [](const Leaves& x, bool wrong) {
        const Tensor factor = tensor(Shape{3}, {2, 0, 2}, f64);
        return record("dropout", product(x[0].value(), factor), x, [factor, wrong](const Tensor& dy, Inputs& in) {
          in.add(0, wrong ? scaled(dy, 2) : product(dy, factor));
        });
      }));
  // ---- views and index
  m.push_back(mistake(
      "narrow: the gradient lands one position too far",
      [] {
        return Leaves{vector_of({1, 2, 3, 4, 5})};
      },
      [](const Leaves& x, bool wrong) {
        return record("narrow", copy(narrow(x[0].value(), Axis{0}, 1, 3)), x, [wrong](const Tensor& dy, Inputs& in) {
          Tensor place = narrow(in.grad(0), Axis{0}, wrong ? 2 : 1, 3);
          add_(place, dy);
        });
      }));
  m.push_back(mistake(
      "narrow: the step is forgotten on the way back",
      [] {
        return Leaves{vector_of({1, 2, 3, 4, 5})};
      },
      [](const Leaves& x, bool wrong) {
        return record("narrow", copy(narrow(x[0].value(), Axis{0}, 0, 3, 2)), x, [wrong](const Tensor& dy, Inputs& in) {
          Tensor place = narrow(in.grad(0), Axis{0}, 0, 3, wrong ? 1 : 2);
          add_(place, dy);
        });
      }));
  m.push_back(
      mistake("transpose: the gradient is reshaped instead of transposed", one_matrix, [](const Leaves& x, bool wrong) {
        return record("transpose", copy(transpose(x[0].value())), x, [wrong](const Tensor& dy, Inputs& in) {
          in.add(0, wrong ? reshape(dy, Shape{3, 4}) : transpose(dy));
        });
      }));
  m.push_back(mistake("concat: the parts get each other's gradients", two_vectors, [](const Leaves& x, bool wrong) {
    const Tensor joined = concat({Var(x[0].value()), Var(x[1].value())}, Axis{0}).value();
    return record("concat", joined, x, [wrong](const Tensor& dy, Inputs& in) {
      in.add(wrong ? 1 : 0, narrow(dy, Axis{0}, 0, 3));
      in.add(wrong ? 0 : 1, narrow(dy, Axis{0}, 3, 3));
    });
  }));
  m.push_back(mistake("concat: every part gets the first piece", two_vectors, [](const Leaves& x, bool wrong) {
    const Tensor joined = concat({Var(x[0].value()), Var(x[1].value())}, Axis{0}).value();
    return record("concat", joined, x, [wrong](const Tensor& dy, Inputs& in) {
      in.add(0, narrow(dy, Axis{0}, 0, 3));
      in.add(1, narrow(dy, Axis{0}, wrong ? 0 : 3, 3));
    });
  }));
  m.push_back(mistake("where: both sides get the whole gradient", two_vectors, [](const Leaves& x, bool wrong) {
    const Tensor mask = tensor(Shape{3}, {1, 0, 1}, f64), rest = tensor(Shape{3}, {0, 1, 0}, f64);
    const Tensor value = pointwise(
        "where", [](auto c, auto a, auto b) { return c * a + (1 - c) * b; }, mask, x[0].value(), x[1].value());
    return record("where", value, x, [mask, rest, wrong](const Tensor& dy, Inputs& in) {
      in.add(0, wrong ? dy : product(dy, mask));
      in.add(1, wrong ? dy : product(dy, rest));
    });
  }));
  // ---- scalar formulas
  struct Scalar {
    const char* name;
    Tensor (*value)(const Tensor&);
    Tensor (*right)(const Tensor& x, const Tensor& y);  // the derivative, from input and result
    Tensor (*wrong)(const Tensor& x, const Tensor& y);
  };
  const auto positive = [] { return Leaves{vector_of({0.4, 1.3, 2.2})}; };
  for (const Scalar& s : {Scalar{"tanh: 1 - y instead of 1 - y^2",
                                 [](const Tensor&x) {
                                   return pointwise(
                                       "f", [](auto v) { return tanh(v); }, x);
                                 },
                                 [](const Tensor&, const Tensor&y) {
                                   return pointwise(
                                       "f", [](auto v) { return 1 - v * v; }, y);
                                 },
                                 [](const Tensor&, const Tensor&y) {
                                   return pointwise(
                                       "f", [](auto v) { return 1 - v; }, y);
                                 }},
                          Scalar{"tanh: the derivative takes x for y",
                                 [](const Tensor&x) {
                                   return pointwise(
                                       "f", [](auto v) { return tanh(v); }, x);
                                 },
                                 [](const Tensor&, const Tensor&y) {
                                   return pointwise(
                                       "f", [](auto v) { return 1 - v * v; }, y);
                                 },
                                 [](const Tensor&x, const Tensor&) {
                                   return pointwise(
                                       "f", [](auto v) { return 1 - v * v; }, x);
                                 }},
                          Scalar{"sigmoid: y instead of y (1 - y)",
                                 [](const Tensor&x) {
                                   return pointwise(
                                       "f", [](auto v) { return sigmoid(v); }, x);
                                 },
                                 [](const Tensor&, const Tensor&y) {
                                   return pointwise(
                                       "f", [](auto v) { return v * (1 - v); }, y);
                                 },
                                 [](const Tensor&, const Tensor&y) {
                                   return pointwise(
                                       "f", [](auto v) { return v; }, y);
                                 }},
                          Scalar{"square: x instead of 2 x, finite and not zero",
                                 [](const Tensor&x) {
                                   return pointwise(
                                       "f", [](auto v) { return v * v; }, x);
                                 },
                                 [](const Tensor&x, const Tensor&) {
                                   return pointwise(
                                       "f", [](auto v) { return 2 * v; }, x);
                                 },
                                 [](const Tensor&x, const Tensor&) {
                                   return pointwise(
                                       "f", [](auto v) { return v; }, x);
                                 }},
                          Scalar{"log: x instead of 1 / x",
                                 [](const Tensor&x) {
                                   return pointwise(
                                       "f", [](auto v) { return log(v); }, x);
                                 },
                                 [](const Tensor&x, const Tensor&) {
                                   return pointwise(
                                       "f", [](auto v) { return 1 / v; }, x);
                                 },
                                 [](const Tensor&x, const Tensor&) {
                                   return pointwise(
                                       "f", [](auto v) { return v; }, x);
                                 }},
                          Scalar{"sqrt: 1 / y instead of 1 / (2 y)",
                                 [](const Tensor&x) {
                                   return pointwise(
                                       "f", [](auto v) { return sqrt(v); }, x);
                                 },
                                 [](const Tensor&, const Tensor&y) {
                                   return pointwise(
                                       "f", [](auto v) { return 0.5 / v; }, y);
                                 },
                                 [](const Tensor&, const Tensor&y) {
                                   return pointwise(
                                       "f", [](auto v) { return 1 / v; }, y);
                                 }},
                          Scalar{"1 / x: the minus is missing",
                                 [](const Tensor&x) {
                                   return pointwise(
                                       "f", [](auto v) { return 1 / v; }, x);
                                 },
                                 [](const Tensor&, const Tensor&y) {
                                   return pointwise(
                                       "f", [](auto v) { return -(v * v); }, y);
                                 },
                                 [](const Tensor&, const Tensor&y) {
                                   return pointwise(
                                       "f", [](auto v) { return v * v; }, y);
                                 }}}) {
    m.push_back(mistake(s.name, positive, [s](const Leaves& x, bool wrong) {
      const Tensor y = s.value(x[0].value());
      return record("f", y, x, [s, y, wrong](const Tensor& dy, Inputs& in) {
        in.add(0, product(dy, wrong ? s.wrong(in.value(0), y) : s.right(in.value(0), y)));
      });
    }));
  }
  m.push_back(mistake(
      "relu: backward lets negative inputs through",
      [] {
        return Leaves{vector_of({0.7, -1.2, 2})};
      },
      [](const Leaves& x, bool wrong) {
        const Tensor y = pointwise(
            "relu", [](auto v) { return max(v, v * 0); }, x[0].value());
        const Tensor slope = tensor(Shape{3}, {1, 0, 1}, f64);
        return record("relu", y, x,
                      [slope, wrong](const Tensor& dy, Inputs& in) { in.add(0, wrong ? dy : product(dy, slope)); });
      }));
  // ---- numerics and the check itself
  m.push_back(mistake(
      "numerics: softmax without subtracting the maximum overflows",
      [] {
        return Leaves{vector_of({1000, 0.3, -0.2})};
      },
      [](const Leaves& x, bool wrong) {
        if (!wrong) return logsumexp(x[0], Axis{0}) + sum(tanh(x[0] * 0.01));
        const Var e = exp(x[0]);
        return sum(e) / sum(e);
      },
      GradientVerdict::not_finite));
  m.push_back(mistake(
      "numerics: a norm at exactly zero divides by zero",
      [] {
        return Leaves{vector_of({0, 0})};
      },
      [](const Leaves& x, bool wrong) {
        const Var squares = sum(square(x[0]));
        return x[0] / reshape(expand_scalar(wrong ? sqrt(squares) : sqrt(squares + 1.0), Shape{2}), Shape{2});
      },
      GradientVerdict::not_finite));
  m.push_back(mistake(
      "gradcheck: the point sits on a kink",
      [] {
        return Leaves{vector_of({0, 1})};
      },
      [](const Leaves& x, bool wrong) { return wrong ? relu(x[0]) : relu(x[0] + 1.0); }, GradientVerdict::kink));
  m.push_back(mistake(
      "gradcheck: a tie of maxima",
      [] {
        return Leaves{vector_of({2, 2, 1})};
      },
      [](const Leaves& x, bool wrong) {
        const Var shift = tensor(Shape{3}, {0.5, 0, 0}, f64);
        return max(wrong ? x[0] : x[0] + shift, Axis{0});
      },
      GradientVerdict::kink));
  m.push_back(
      mistake("gradcheck: a gradient of 1e-7 that is twice too large", one_vector, [](const Leaves& x, bool wrong) {
        return record("small", scaled(x[0].value(), 1e-7), x,
                      [wrong](const Tensor& dy, Inputs& in) { in.add(0, scaled(dy, wrong ? 2e-7 : 1e-7)); });
      }));
  m.push_back(mistake(
      "gradcheck: NaN as a gradient", one_vector,
      [](const Leaves& x, bool wrong) {
        return record("nan", copy(x[0].value()), x,
                      [wrong](const Tensor& dy, Inputs& in) { in.add(0, scaled(dy, wrong ? not_a_number : 1)); });
      },
      GradientVerdict::not_finite));
  m.push_back(mistake("gradcheck: random signs where a zero is expected", one_vector, [](const Leaves& x, bool wrong) {
    return record("half", scaled(x[0].value(), 1), x, [wrong](const Tensor& dy, Inputs& in) {
      Tensor dx = copy(dy);
      if (wrong) dx.set({1}, 0);
      in.add(0, dx);
    });
  }));
  return m;
}

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> list = make_mutants();
  return list;
}

constexpr std::size_t mutant_count = 56;

template <std::size_t index> void is_refused() {
  const Mutant& mutant = mutants()[index];
  const GradientReport report = checked(mutant, true);
  CHECK_FALSE(report.passed);
  CHECK_MESSAGE(report.verdict == mutant.caught_as, "wanted ", std::string(to_string(mutant.caught_as)), ", got ",
                report.text());
}
template <std::size_t index> void twin_is_accepted() {
  const GradientReport report = checked(mutants()[index], false);
  CHECK_MESSAGE(report.passed, report.text());
}

// One test case a mistake and one a twin, named after the mistake and the code that must catch it.
template <std::size_t... index> int register_mutants(std::index_sequence<index...>) {
  static std::vector<std::string> names(2 * mutant_count);
  auto add = [](void (*refused)(), void (*accepted)(), std::size_t i) {
    if (i >= mutants().size()) return;
    names[2 * i] = std::string(mutants()[i].name) + " -> " + to_string(mutants()[i].caught_as);
    names[2 * i + 1] = std::string(mutants()[i].name) + " (correct twin) -> PASSED";
    doctest::detail::TestSuite suite;
    for (std::size_t twin : {0u, 1u}) {
      doctest::detail::regTest(doctest::detail::TestCase(twin ? accepted : refused, __FILE__,
                                                         static_cast<unsigned>(10'000 + 2 * i + twin),
                                                         suite * "planted mistakes") *
                               names[2 * i + twin].c_str());
    }
  };
  (add(is_refused<index>, twin_is_accepted<index>, index), ...);
  return 0;
}
const int registered = register_mutants(std::make_index_sequence<mutant_count>{});

}  // namespace

TEST_SUITE_BEGIN("planted mistakes that a self check cannot see");

TEST_CASE("every planted mistake is registered") {
  CHECK(mutants().size() == mutant_count);
  CHECK(registered == 0);
}
TEST_CASE("MAX_TIE_MASS: every winner of a tie takes the whole gradient -> the mass of dx is not that of dy") {
  const Var x = vector_of({2, 2, 1});
  const auto mass = [&](bool wrong) {
    x.zero_grad();
    const Var y = wrong ? record("max", max(x.value(), Axis{0}), {x},
                                 [](const Tensor& dy, Inputs& in) {
                                   in.add(0, tensor(Shape{3}, {dy.item(), dy.item(), 0}, f64));
                                 })
                        : max(x, Axis{0});
    backward(y);
    return sum(x.grad()).item();
  };
  CHECK(mass(false) == 1);
  CHECK(mass(true) == 2);
}
TEST_CASE("UNBROADCAST_MISSING: a gradient of the result's shape -> refused as a shape, on the node itself") {
  const Var b = vector_of({1, 2, 3});
  const Var y =
      record("bias", copy(expand_new(b.value(), Axis{0}, 2)), {b}, [](const Tensor& dy, Inputs& in) { in.add(0, dy); });
  CHECK(contains(message_of<ShapeError>([&] { backward(sum(y)); }), "shapes (3) and (2, 3) differ"));
}
TEST_CASE("UNBROADCAST_RANK: a prepended axis that is kept -> refused as a shape") {
  const Var a = vector_of({1});
  const Var y = record("scale", copy(expand_new(a.value(), Axis{0}, 2)), {a},
                       [](const Tensor& dy, Inputs& in) { in.add(0, expand_new(sum(dy, Axis{0}), Axis{0}, 1)); });
  CHECK_THROWS_AS(backward(sum(y)), ShapeError);
}
TEST_CASE("INPLACE_AFTER_SAVE: y = exp(x), then y doubled in place -> the op is named; a copy is fine") {
  const Var x = vector_of({0.5});
  const auto with_result_saved = [](const Var& v) {
    const Tensor y = pointwise(
        "exp", [](auto a) { return exp(a); }, v.value());
    return record("exp", y, {v}, [](const Tensor& dy, Inputs& in) { in.add(0, product(dy, in.result())); });
  };
  const Var y = with_result_saved(x);
  Tensor buffer = y.value();
  add_(buffer, copy(buffer));
  CHECK(opens_with(message_of<GraphError>([&] { backward(sum(y)); }), "backward of 'exp': its result"));
  const Var z = with_result_saved(x);
  backward(sum(z * 2.0));
  CHECK(std::fabs(x.grad().item() - 3.2974) < 5e-5);
}
TEST_CASE("ZERO_GRAD_MISSING: two steps on (w - 1)^2 -> 2.2800 with zero_grad, 1.8800 without") {
  for (bool forget : {false, true}) {
    const Var w = parameter(full(Shape{}, 3, f64));
    for (int i = 0; i < 2; ++i) {
      if (!forget) w.zero_grad();
      backward(square(w - 1.0));
      fill_(w.mutable_value(), w.item() - 0.1 * w.grad().item());
    }
    CHECK(near(w.item(), forget ? 1.88 : 2.28, 1e-12));
  }
}
TEST_CASE("TIED_WEIGHT_SPLIT: two copies of a shared weight each get a part of its gradient") {
  const Var w = parameter(full(Shape{}, 2, f64));
  backward(3.0 * w + w * w);
  CHECK(w.grad().item() == 7);
  const Var a = parameter(full(Shape{}, 2, f64)), b = parameter(full(Shape{}, 2, f64));
  backward(3.0 * a + b * b);
  CHECK(a.grad().item() == 3);
  CHECK(b.grad().item() == 4);
}
TEST_CASE("GC_SELF_CONSISTENT: the gradient of a wrong function passes -> the self check cannot see it") {
  const Var x = vector_of({0.7, -1.2, 2});
  const GradientReport report = check_gradient([&] { return x * x * x; }, {{"x", x}});  // x^2 was meant
  CHECK(report.passed);
}
TEST_CASE("GC_FLOAT32: a right gradient checked in f32 -> refused for its precision") {
  const Var x = parameter(tensor(Shape{2}, {0.7, 0.1}, f32));
  CHECK(check_gradient([&] { return x * 0.37; }, {{"x", x}}).verdict == GradientVerdict::float32);
}
TEST_CASE("GRAPH_LEAK: nodes in existence return to where they were") {
  const std::int64_t before = live_nodes();
  {
    const Var a = vector_of({1}), b = vector_of({2});
    const Var c = a + b;
  }
  CHECK(live_nodes() == before);
}
// A tape as it is first written: each node owns its input, so the last one that goes takes all others down with it, one
// call deeper each.
struct Link {
  std::unique_ptr<Link> input;
};
TEST_CASE("DTOR_RECURSION: a chain of 10^6 nodes is freed on a stack of 1 MiB, where one call a node does not fit") {
  const auto freed = [](bool recursive) {
    return in_child([recursive] {
      const rlimit small{1 << 20, 1 << 20};
      if (setrlimit(RLIMIT_STACK, &small) != 0) return false;
      std::unique_ptr<Link> last;
      Var y = vector_of({1});
      for (int i = 0; i < 1'000'000; ++i) {
        if (recursive) last = std::make_unique<Link>(Link{std::move(last)});
        else y = -y;
      }
      return true;
    });
  };
  CHECK(freed(true) == 128 + SIGSEGV);
  CHECK(freed(false) == 0);
}
TEST_CASE("LOSS_OUTER_BROADCAST: (N, 1) against (N) -> refused, where a table of N x N would hide it") {
  CHECK_THROWS_AS(mse(parameter(zeros(Shape{3, 1}, f64)), Var(zeros(Shape{3}, f64))), ShapeError);
}
TEST_CASE("DOUBLE_SOFTMAX: probabilities fed to a loss of logits -> the loss cannot fall below log(1 + (V - 1) / e)") {
  const Var logits = parameter(tensor(Shape{1, 4}, {1000, 0, 0, 0}, f64));
  const Ids target(Shape{1}, 0);
  CHECK(cross_entropy(logits, target).item() == 0);
  CHECK(near(cross_entropy(softmax(logits, Axis{1}), target).item(), std::log(1 + 3 / std::exp(1.0)), 1e-14));
}

TEST_SUITE_END();

}  // namespace gradus::testing
