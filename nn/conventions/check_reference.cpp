// The tape's gradient against central differences of somebody else's forward.
#include "nn/conventions/check_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "nn/conventions/to_reference.h"

namespace gradus {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// Row-major position of element i.
std::vector<std::int64_t> position_of(const reference::Dims& shape, std::size_t i) {
  std::vector<std::int64_t> position(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    position[axis] = static_cast<std::int64_t>(i % shape[axis]);
    i /= shape[axis];
  }
  return position;
}

std::string place_text(const std::vector<std::int64_t>& position) {
  std::string text = "(";
  for (std::size_t i = 0; i < position.size(); ++i) text += (i ? ", " : "") + std::to_string(position[i]);
  return text + ")";
}

// sum of w * y over all outputs, and how big its terms are: that sets the rounding error of a difference of two sums.
struct Objective {
  const ReferenceForward& forward;
  const reference::Arrays& weights;
  double scale = 0;

  double operator()(const reference::Arrays& at) {
    const reference::Arrays outputs = forward(at);
    double total = 0;
    scale = 0;
    for (const auto& [name, w] : weights) {
      const reference::Vec& y = get(outputs, name).data;
      for (std::size_t i = 0; i < y.size(); ++i) {
        total += w.data[i] * y[i];
        scale += std::fabs(w.data[i] * y[i]);
      }
    }
    return total;
  }
};

struct Slope {
  double numeric = 0, floor = 0;
  bool kink = false;
};

// One partial derivative of the reference at `x`, an element of the bag `at`.
Slope slope(Objective& objective, const reference::Arrays& at, double& x, double middle) {
  Slope result;
  const double kept = x;
  double h = std::cbrt(epsilon) * std::max(1.0, std::fabs(kept));
  for (int attempt = 0; attempt < 3; ++attempt, h /= 16) {
    auto around = [&](double step) {  // values to the right and to the left
      x = kept + step;
      const double right = objective(at);
      x = kept - step;
      return std::pair(right, objective(at));
    };
    const auto [far_right, far_left] = around(h);
    const auto [near_right, near_left] = around(h / 2);
    x = kept;
    const double coarse = (far_right - far_left) / (2 * h), fine = (near_right - near_left) / h;
    result.numeric = (4 * fine - coarse) / 3;  // Richardson: the h^2 term cancels
    result.floor = 32 * epsilon * (objective.scale + std::fabs(middle)) / h;
    // A smooth function bends half as much over half a step; at a kink the slope jumps however small the step.
    const double bend = std::fabs(far_right - 2 * middle + far_left) / h;
    const double half_bend = std::fabs(near_right - 2 * middle + near_left) / (h / 2);
    result.kink =
        bend > 1e-3 * std::fabs(result.numeric) + 64 * result.floor && std::fabs(half_bend / bend - 0.5) > 0.25;
    if (!result.kink) break;
  }
  return result;
}

ValueEntry compare_output(const std::string& name, const reference::Array& ours, const reference::Array& theirs,
                          double tolerance, ReferenceVerdict& verdict) {
  ValueEntry entry;
  entry.name = name;
  if (ours.shape != theirs.shape) {
    entry.note =
        "has shape " + reference::to_string(ours.shape) + ", the reference's has " + reference::to_string(theirs.shape);
    verdict = ReferenceVerdict::wrong_shape;
    return entry;
  }
  double size = 1;
  for (double y : theirs.data) size = std::max(size, std::fabs(y));
  entry.error = -1;
  verdict = ReferenceVerdict::passed;
  for (std::size_t i = 0; i < ours.data.size(); ++i) {
    const double a = ours.data[i], b = theirs.data[i], error = std::fabs(a - b) / size;
    if (error <= entry.error) continue;  // NaN is not, so it is kept
    entry.position = position_of(ours.shape, i);
    entry.value = a;
    entry.reference = b;
    entry.error = error;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      verdict = ReferenceVerdict::not_finite;
      break;
    }
    if (!(error <= tolerance)) verdict = ReferenceVerdict::wrong_value;
  }
  entry.error = std::max(entry.error, 0.0);
  entry.passed = verdict == ReferenceVerdict::passed;
  return entry;
}

GradientEntry compare_leaf(const std::string& name, const std::string& zero_because, const reference::Array& analytic,
                           const reference::Array& numeric, const std::vector<Slope>& slopes, double tolerance) {
  GradientEntry entry;
  entry.name = name;
  entry.error = -1;
  double largest = 0, largest_floor = 0;
  for (std::size_t i = 0; i < analytic.data.size(); ++i) {
    const double a = analytic.data[i], n = numeric.data[i], floor = slopes[i].floor;
    const double size = std::fabs(a) + std::fabs(n), gap = std::fabs(a - n);
    const bool agrees = gap <= tolerance * size + floor;  // false for NaN
    const double error = agrees && gap <= floor ? 0 : gap / size;
    GradientVerdict verdict = GradientVerdict::passed;
    if (!std::isfinite(a) || !std::isfinite(n)) verdict = GradientVerdict::not_finite;
    else if (!agrees) verdict = slopes[i].kink ? GradientVerdict::kink : GradientVerdict::wrong;
    const bool first_failure = verdict != GradientVerdict::passed && entry.verdict == GradientVerdict::passed;
    const bool same_side = (verdict == GradientVerdict::passed) == (entry.verdict == GradientVerdict::passed);
    if (first_failure || (same_side && !(error <= entry.error))) {
      entry.verdict = verdict;
      entry.position = position_of(analytic.shape, i);
      entry.analytic = a;
      entry.numeric = n;
      entry.error = error;
    }
    largest = std::max({largest, std::fabs(a), std::fabs(n)});
    largest_floor = std::max(largest_floor, floor);
  }
  entry.error = std::max(entry.error, 0.0);
  if (entry.verdict != GradientVerdict::passed || analytic.data.empty()) return entry;
  const bool moves = largest > 4 * largest_floor;
  if (!moves && zero_because.empty()) {
    entry.verdict = GradientVerdict::nothing_tested;
    entry.note =
        "no element changes the reference's outputs: choose an input where it matters, or say why zero is "
        "right in zero_because";
  } else if (moves && !zero_because.empty()) {
    entry.verdict = GradientVerdict::not_zero;
    entry.note = "declared zero (" + zero_because + "), but it is not";
  } else if (!moves) {
    entry.note = "zero, as declared: " + zero_because;
  }
  return entry;
}

ReferenceReport refuse(ReferenceVerdict verdict, std::string note) {
  ReferenceReport report;
  report.verdict = verdict;
  report.note = std::move(note);
  return report;
}

// "W_a" given as a leaf is checked; given as a constant it only takes part.
struct Given {
  std::vector<CheckedInput> leaves;
  reference::Arrays constants;

  void add(const std::string& name, const Var& var) {
    if (var.requires_grad()) leaves.push_back({name, var});
    else constants[name] = to_reference(var.value());
  }
  void add(const std::vector<Parameter>& parameters) {
    for (const Parameter& p : parameters) add(p.name, p.var);
  }
  reference::Arrays with(const reference::Arrays& numbers) const {
    reference::Arrays all = numbers;
    all.insert(constants.begin(), constants.end());
    return all;
  }
};

// Columns first .. first + count - 1.
reference::Array columns(const reference::Array& matrix, std::size_t first, std::size_t count) {
  reference::Array out({matrix.dim(0), count});
  for (std::size_t r = 0; r < matrix.dim(0); ++r) out.set_row({r}, matrix.row({r}).subspan(first, count));
  return out;
}

// What the library holds in one piece and the reference in several: U_o, V_o, C_o; one s_0 for all layers.
reference::Arrays taken_apart(reference::Arrays arrays, std::size_t layers) {
  if (const reference::Array* all = find(arrays, "UVC_o")) {
    const std::size_t d_s = get(arrays, "s_0").dim(1), d_emb = get(arrays, "y_emb").dim(2),
                      d_h = get(arrays, "H").dim(2);
    arrays["U_o"] = columns(*all, 0, d_s);
    arrays["V_o"] = columns(*all, d_s, d_emb);
    arrays["C_o"] = columns(*all, d_s + d_emb, d_h);
  }
  for (std::size_t k = 1; k < layers; ++k) arrays.try_emplace("s_0_l" + std::to_string(k), get(arrays, "s_0"));
  return arrays;
}

std::vector<std::size_t> lengths_or_full(const std::optional<Mask>& mask) {
  return mask ? lengths_of(*mask) : std::vector<std::size_t>();
}

}  // namespace

const char* to_string(ReferenceVerdict verdict) {
  switch (verdict) {
    case ReferenceVerdict::passed:
      return "PASSED";
    case ReferenceVerdict::unusable:
      return "REF_UNUSABLE";
    case ReferenceVerdict::missing_output:
      return "REF_MISSING_OUTPUT";
    case ReferenceVerdict::wrong_shape:
      return "REF_WRONG_SHAPE";
    case ReferenceVerdict::not_finite:
      return "REF_NOT_FINITE";
    case ReferenceVerdict::wrong_value:
      return "REF_WRONG_VALUE";
    case ReferenceVerdict::wrong_gradient:
      return "REF_WRONG_GRADIENT";
  }
  return "";
}

ReferenceReport check_reference(const std::function<Outputs()>& under_test, const std::vector<CheckedInput>& leaves,
                                const ReferenceForward& reference_forward, const ReferenceOptions& options) {
  reference::Arrays at;
  for (const CheckedInput& leaf : leaves) {
    if (!leaf.leaf.requires_grad() || !leaf.leaf.node()->inputs.empty()) {
      return refuse(ReferenceVerdict::unusable,
                    leaf.name + " is not a leaf that takes a gradient: make it with parameter(...)");
    }
    if (leaf.leaf.dtype() != f64) {
      return refuse(ReferenceVerdict::unusable,
                    leaf.name + " is f32, too coarse to compare: check clone(model, f64) instead");
    }
    at[leaf.name] = to_reference(leaf.leaf.value());
    leaf.leaf.zero_grad();
  }
  const Outputs ours = under_test();
  reference::Arrays theirs;
  try {
    theirs = reference_forward(at);
  } catch (const std::invalid_argument& error) {
    return refuse(ReferenceVerdict::unusable,
                  std::string("the reference needs parameters of other shapes or names: ") + error.what());
  }
  if (ours.empty()) return refuse(ReferenceVerdict::missing_output, "what is tested returned no output");

  ReferenceReport report;
  auto blame = [&](ReferenceVerdict verdict) {
    if (verdict == ReferenceVerdict::passed) return;
    if (report.verdict == ReferenceVerdict::passed || verdict < report.verdict) report.verdict = verdict;
  };
  bool comparable = true;
  for (const auto& [name, y] : ours) {
    const reference::Array* same = find(theirs, name);
    if (!same) {
      std::string names;
      for (const auto& [other, value] : theirs) names += (names.empty() ? "" : ", ") + other;
      return refuse(ReferenceVerdict::missing_output, "the reference has no output '" + name + "'; it has: " + names);
    }
    ReferenceVerdict verdict = ReferenceVerdict::passed;
    report.outputs.push_back(compare_output(name, to_reference(y.value()), *same, options.value_tolerance, verdict));
    blame(verdict);
    if (verdict == ReferenceVerdict::wrong_shape || verdict == ReferenceVerdict::not_finite) comparable = false;
  }
  if (!comparable) return report;

  // Both sides get the same random weights, drawn per name so that one more output changes nothing for the others.
  reference::Arrays weights;
  Var loss;
  for (const auto& [name, y] : ours) {
    Generator generator(options.seed, "cotangent " + name);
    reference::Array w(to_reference(y.value()).shape);
    for (double& weight : w.data) weight = generator.uniform(0.5, 1.5) * (generator.chance(0.5) ? 1 : -1);
    const Var term = sum(y * Var(to_tensor(w)));
    loss = loss.defined() ? loss + term : term;
    weights[name] = std::move(w);
  }
  if (loss.requires_grad()) backward(loss);

  Objective objective{reference_forward, weights};
  const double middle = objective(at);
  for (const CheckedInput& leaf : leaves) {
    reference::Array& numbers = at.at(leaf.name);
    const reference::Array analytic = to_reference(leaf.leaf.grad());
    leaf.leaf.zero_grad();
    reference::Array numeric(numbers.shape);
    std::vector<Slope> slopes;
    for (std::size_t i = 0; i < numbers.data.size(); ++i) {
      slopes.push_back(slope(objective, at, numbers.data[i], middle));
      numeric.data[i] = slopes.back().numeric;
    }
    const auto declared = options.zero_because.find(leaf.name);
    const std::string& reason = declared == options.zero_because.end() ? leaf.zero_because : declared->second;
    report.leaves.push_back(compare_leaf(leaf.name, reason, analytic, numeric, slopes, options.gradient_tolerance));
    if (report.leaves.back().verdict != GradientVerdict::passed) blame(ReferenceVerdict::wrong_gradient);
    report.analytic[leaf.name] = analytic;
    report.numeric[leaf.name] = std::move(numeric);
  }
  report.passed = report.verdict == ReferenceVerdict::passed;
  return report;
}

std::string ReferenceReport::text() const {
  std::string out = std::string("reference check: ") + to_string(verdict);
  if (!note.empty()) out += ": " + note;
  std::string wrong_outputs, wrong_leaves;
  for (const ValueEntry& y : outputs) {
    if (!y.passed) wrong_outputs += (wrong_outputs.empty() ? "" : ", ") + y.name;
  }
  for (const GradientEntry& leaf : leaves) {
    if (leaf.verdict != GradientVerdict::passed) wrong_leaves += (wrong_leaves.empty() ? "" : ", ") + leaf.name;
  }
  if (!wrong_outputs.empty()) out += ": not the reference's: " + wrong_outputs;
  if (!wrong_leaves.empty()) out += (wrong_outputs.empty() ? ": gradients of " : "; gradients of ") + wrong_leaves;
  out += "\n";
  if (!outputs.empty()) out += "  output         worst at              value      reference        error\n";
  for (const ValueEntry& y : outputs) {
    out += fmt::format("  {:<14} {:<12} {:>14.6g} {:>14.6g} {:>12.1e}  {}\n", y.name, place_text(y.position), y.value,
                       y.reference, y.error, y.passed ? "PASSED" : "DIFFERS");
    if (!y.note.empty()) out += "                 " + y.note + "\n";
  }
  if (!leaves.empty()) out += "  gradient of    worst at           analytic        numeric        error\n";
  for (const GradientEntry& leaf : leaves) {
    out += fmt::format("  {:<14} {:<12} {:>14.6g} {:>14.6g} {:>12.1e}  {}\n", leaf.name, place_text(leaf.position),
                       leaf.analytic, leaf.numeric, leaf.error, to_string(leaf.verdict));
    if (!leaf.note.empty()) out += "                 " + leaf.note + "\n";
  }
  return out;
}

Outputs outputs_of(const DecoderRun& run) {
  Outputs outputs;
  auto add = [&](const char* name, const std::vector<Var>& steps) {
    if (!steps.empty()) outputs[name] = stack_along(steps, Axis{1});
  };
  add("s", run.states);
  add("alpha", run.weights);
  add("c", run.contexts);
  add("htilde", run.attentional);
  add("logits", run.logits);
  return outputs;
}

ReferenceReport check_reference(const DecoderUnderTest& decoder, const DecoderInputs& inputs,
                                const reference::DecoderConvention& convention, const ReferenceOptions& options) {
  Given given;
  given.add(decoder.parameters);
  given.add("y_emb", inputs.y_emb);
  given.add("s_0", inputs.s_0);
  if (convention.attends) given.add("H", inputs.H);
  if (inputs.mask) given.constants["mask"] = to_reference(*inputs.mask);
  return check_reference([&] { return outputs_of(decoder.run(inputs)); }, given.leaves,
                         [&](const reference::Arrays& numbers) {
                           return reference::decode(convention, taken_apart(given.with(numbers), convention.layers));
                         },
                         options);
}

ReferenceReport check_reference(const Recurrent& cell, const Var& x, const State& initial,
                                const std::optional<Mask>& mask, Direction direction, const ReferenceOptions& options) {
  if (cell.layers() != 1) {
    return refuse(ReferenceVerdict::unusable, "a stack of " + std::to_string(cell.layers()) +
                                                  " layers: check one layer at a time, or the stack in a decoder");
  }
  Given given;
  given.add(reference_parameters(cell));
  given.add("x", x);
  given.add("s_0", initial);
  if (!initial.memory.empty()) given.add("c_0", initial.memory[0]);
  const reference::CellConvention convention = cell_convention(cell);
  reference::RunConvention running;
  if (direction == Direction::backward) running.reading = reference::Reading::reversed_prefix;
  const std::vector<std::size_t> lengths = lengths_or_full(mask);
  return check_reference(
      [&]() -> Outputs {
        const Run done = run(cell, x, initial, mask, direction);
        return {{"h", done.states}, {"final_h", done.last}};
      },
      given.leaves,
      [&](const reference::Arrays& numbers) -> reference::Arrays {
        const reference::Arrays all = given.with(numbers);
        const reference::Run done = run_sequence(convention, running, reference::cell_weights(all), get(all, "x"),
                                                 lengths, &get(all, "s_0"), find(all, "c_0"));
        return {{"h", done.h}, {"final_h", done.final_h}};
      },
      options);
}

ReferenceReport check_reference(const Score& score, const Var& query, const Var& H, const std::optional<Mask>& mask,
                                const ReferenceOptions& options) {
  Given given;
  given.add(reference_parameters(score));
  given.add("query", query);
  given.add("H", H);
  reference::AttentionConvention convention;
  convention.score.score = to_reference(score.kind);
  const reference::Array real = mask ? to_reference(*mask) : reference::Array();
  return check_reference(
      [&]() -> Outputs {
        const Var e = score(query, score.keys(H));
        const Attended attended = attend(e, H, mask);
        return {{"e", stack_along({e}, Axis{1})},
                {"alpha", stack_along({attended.weights}, Axis{1})},
                {"c", stack_along({attended.context}, Axis{1})}};
      },
      given.leaves,
      [&](const reference::Arrays& numbers) -> reference::Arrays {
        const reference::Arrays all = given.with(numbers);
        reference::Array queries = get(all, "query");
        queries.shape.insert(queries.shape.begin() + 1, 1);
        const reference::Attended attended = attend(convention, all, queries, get(all, "H"), mask ? &real : nullptr);
        return {{"e", attended.scores}, {"alpha", attended.weights}, {"c", attended.context}};
      },
      options);
}

ReferenceReport check_reference(const Bidirectional& encoder, const Var& x, const std::optional<Mask>& mask,
                                const ReferenceOptions& options) {
  Given given;
  given.add(reference_parameters(encoder.forward));
  given.add(reference_parameters(encoder.backward, "_reverse"));
  given.add("x", x);
  const reference::CellConvention convention = cell_convention(encoder.forward);
  const std::vector<std::size_t> lengths = lengths_or_full(mask);
  return check_reference(
      [&]() -> Outputs {
        const Bidirectional::Encoded encoded = encoder(x, mask);
        return {{"H", encoded.H}, {"final", concat({encoded.forward_last, encoded.backward_first}, Axis{1})}};
      },
      given.leaves,
      [&](const reference::Arrays& numbers) -> reference::Arrays {
        const reference::Arrays all = given.with(numbers);
        const reference::Bidirectional encoded = run_bidirectional(convention, {}, all, get(all, "x"), lengths);
        return {{"H", encoded.h}, {"final", encoded.final_h}};
      },
      options);
}

}  // namespace gradus
