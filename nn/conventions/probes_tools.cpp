// Reading Jacobians off the tape, and comparing runs.
#include "nn/conventions/probes_tools.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace gradus::probing {

Var fresh_leaf(const Var& x) { return parameter(copy(x.value())); }

DecoderInputs fresh_leaves(const DecoderInputs& inputs) {
  return {fresh_leaf(inputs.y_emb), fresh_leaf(inputs.H), inputs.mask, fresh_leaf(inputs.s_0)};
}

Probe guarded(const char* name, const std::function<Probe(Probe)>& ask) {
  Probe probe;
  probe.name = name;
  try {
    return ask(probe);
  } catch (const std::exception& error) {
    probe.passed = false;
    probe.sentence = Words("it threw: ", "它抛出了异常：") + Words(error.what(), error.what());
    return probe;
  }
}

Probe cannot_tell(Probe probe, const Words& why) {
  probe.passed = false;
  probe.can_tell = false;
  probe.sentence = Words("cannot tell: ", "无法判断：") + why;
  return probe;
}

void for_each_component(const Var& result, const std::vector<Var>& sinks,
                        const std::function<void(double weight)>& see) {
  if (!result.requires_grad()) return;
  const std::int64_t last = result.rank() - 1, count = result.shape()[static_cast<int>(last)];
  const bool exact = count <= 16;
  const std::int64_t directions = exact ? count : 8;
  Generator generator(1, "directions");
  for (std::int64_t k = 0; k < directions; ++k) {
    for (const Var& sink : sinks) sink.zero_grad();
    Tensor dy =
        exact ? zeros(result.shape(), result.dtype()) : random_normal(result.shape(), 0, 1, generator, result.dtype());
    if (exact) {
      Tensor one = narrow(dy, Axis{static_cast<int>(last)}, k, 1);
      fill_(one, 1);
      // Every other row of the batch with the other sign: a softmax over the batch sums to 1 there, so that the plain
      // sum over the batch would be constant and hide whatever moves the weights.
      for (std::int64_t row = 1; last > 0 && row < one.shape()[0]; row += 2) {
        Tensor other = select(one, Axis{0}, row);
        fill_(other, -1);
      }
    }
    backward(result, dy, Graph::keep);
    see(exact ? 1.0 : 1.0 / static_cast<double>(directions));
  }
}

double squares(const Var& x) {
  if (!x.requires_grad() || !x.has_grad()) return 0;
  double total = 0;
  for (double g : x.grad().to_vector()) total += g * g;
  return total;
}

double squares_at(const Var& x, Axis axis, std::int64_t index) {
  if (!x.requires_grad() || !x.has_grad()) return 0;
  double total = 0;
  for (double g : select(x.grad(), axis, index).to_vector()) total += g * g;
  return total;
}

Var flat(const DecoderRun& run) {
  std::vector<Var> parts;
  for (const auto& [name, y] : outputs_of(run)) parts.push_back(reshape(y, Shape{y.value().size()}));
  return concat(parts, Axis{0});
}

Tensor random_like(const Var& x, std::uint64_t seed) {
  Generator generator(seed, "random");
  return random_uniform(x.shape(), -1, 1, generator, x.dtype());
}

void clear(const DecoderUnderTest& decoder, const DecoderInputs& inputs) {
  zero_grad(decoder.parameters);
  for (const Var& input : {inputs.y_emb, inputs.H, inputs.s_0}) input.zero_grad();
}

double epsilon_of(DType dtype) {
  return dtype == f32 ? static_cast<double>(std::numeric_limits<float>::epsilon())
                      : std::numeric_limits<double>::epsilon();
}

double ulps_apart(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  const std::size_t width = a.rank() == 0 ? 1 : static_cast<std::size_t>(a.shape()[a.rank() - 1]);
  double worst = 0;
  for (std::size_t row = 0; width > 0 && row < x.size(); row += width) {
    double size = 1e-30, gap = 0;
    for (std::size_t i = row; i < row + width; ++i) {
      if (std::isnan(x[i]) && std::isnan(y[i])) continue;
      size = std::max(size, std::fabs(x[i]));
      gap = std::fabs(x[i] - y[i]) <= gap ? gap : std::fabs(x[i] - y[i]);
    }
    const double ulps = gap / (size * epsilon_of(a.dtype()));
    if (!(ulps <= worst)) worst = std::isnan(ulps) ? std::numeric_limits<double>::infinity() : ulps;
  }
  return worst;
}

bool bitwise_equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  return x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

Apart apart(const DecoderRun& a, const DecoderRun& b) {
  const Outputs x = outputs_of(a), y = outputs_of(b);
  Apart result;
  for (const auto& [name, value] : x) {
    const auto other = y.find(name);
    const double ulps =
        other == y.end() ? std::numeric_limits<double>::infinity() : ulps_apart(value.value(), other->second.value());
    const bool same = other != y.end() && bitwise_equal(value.value(), other->second.value());
    if (!same && (result.bitwise || ulps > result.ulps)) result.output = name;
    result.bitwise = result.bitwise && same;
    result.ulps = std::max(result.ulps, ulps);
  }
  return result;
}

DecoderRun first_row(const DecoderRun& run) {
  auto cut = [](const std::vector<Var>& steps) {
    std::vector<Var> rows;
    for (const Var& y : steps) rows.push_back(narrow(y, Axis{0}, 0, 1));
    return rows;
  };
  return {cut(run.states), cut(run.weights), cut(run.contexts), cut(run.attentional), cut(run.logits)};
}

std::vector<std::string> numbered(const std::string& letter, std::int64_t count, std::int64_t first) {
  std::vector<std::string> labels;
  for (std::int64_t k = 0; k < count; ++k) labels.push_back(letter + "_" + std::to_string(first + k));
  return labels;
}

double largest(const Matrix& matrix) {
  double top = 0;
  for (double value : matrix.values) top = std::max(top, std::fabs(value));
  return top;
}

bool real_at(const std::optional<Mask>& mask, std::int64_t row, std::int64_t position) {
  return !mask || mask->at(row, position) != 0;
}

bool has_choice(const DecoderInputs& inputs) {
  for (std::int64_t b = 0; b < inputs.H.size(Axis{0}); ++b) {
    std::int64_t real = 0;
    for (std::int64_t i = 0; i < inputs.H.size(Axis{1}); ++i) real += real_at(inputs.mask, b, i) ? 1 : 0;
    if (real > 1) return true;
  }
  return false;
}

bool settled(const Var& weights) {
  const std::vector<double> all = weights.value().to_vector();
  const auto width = static_cast<std::size_t>(weights.shape()[weights.rank() - 1]);
  for (std::size_t row = 0; width > 0 && row < all.size(); row += width) {
    int sure = 0;
    for (std::size_t i = row; i < row + width; ++i) {
      if (all[i] > 1e-30 && all[i] < 1 - 1e-6) return false;
      sure += all[i] >= 1 - 1e-6 ? 1 : 0;
    }
    if (sure != 1) return false;
  }
  return true;
}

}  // namespace gradus::probing
