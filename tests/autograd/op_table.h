// One row per function that autograd/ops.h declares: how to call it, where it is smooth, and its plain reference. Every
// check in op_checks_test.cpp runs over all rows; a function without a row fails the test that reads the header.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "tests/autograd/plain.h"
#include "tests/tensor/check.h"

namespace gradus::testing {

// The lengths that the shapes of a row are made from; pairwise different, all equal, ones, or with a zero.
struct Sizes {
  std::int64_t a, b, c, d;
};
inline constexpr Sizes different{2, 3, 5, 4}, equal{3, 3, 3, 3}, ones{1, 1, 1, 1};

// Where the inputs are drawn from, away from points where the op is not smooth.
enum class Domain {
  any,        // [-2, 2]
  positive,   // [0.3, 2.5]
  off_zero,   // |x| in [0.1, 2]
  all_apart,  // every two numbers differ by 0.02 at least
};

struct OpRow {
  std::string name;
  std::string declared;  // "tanh(Var)", as the header declares it
  int variants;          // ranks, axes or batch ranks that the row covers
  Domain domain;
  std::function<std::vector<Shape>(Sizes, int variant)> shapes;
  std::function<Var(const std::vector<Var>&, int variant)> apply;
  std::function<Plain<double>(const std::vector<Plain<double>>&, int variant)> on_numbers;
  std::function<Plain<Jet>(const std::vector<Plain<Jet>>&, int variant)> on_jets;
  std::string op;              // how the node is named on the tape
  bool refuses_empty = false;  // has no answer for an empty axis or batch
  bool is_composed = false;    // records more than one node
};

const std::vector<OpRow>& op_table();

// Inputs of a row as row-major numbers: the same for the same seed.
std::vector<std::vector<double>> sample_inputs(const OpRow& row, const std::vector<Shape>& shapes, std::uint64_t seed);

}  // namespace gradus::testing
