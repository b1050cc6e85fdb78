#include "nn/conventions/diagnosis_holes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "nn/conventions/diagnosis_parts.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// The outputs in the order in which a step makes them, and the axes of their examples and steps.
struct Output {
  const char* name;
  std::size_t example_axis = 0;
  bool steps = true;
  std::size_t before = 0;  // steps that stand before the first: s_0
};

std::vector<Output> outputs_of(TraceKind kind) {
  if (kind == TraceKind::decoder)
    return {{"e"}, {"alpha"}, {"c"}, {"s", 0, true, 1}, {"m", 0, true, 1}, {"htilde"}, {"logits"}};
  if (kind == TraceKind::recurrent) return {{"h"}, {"h_n", 1, false}, {"c_n", 1, false}, {"start", 0, false}};
  if (kind == TraceKind::multi_head) return {{"alpha", 0, false}, {"output", 0, false}};
  return {};
}

constexpr std::size_t no_step = std::numeric_limits<std::size_t>::max();

struct Hole {
  std::size_t step = 0, output = 0, flat = 0;  // step: 0 is before the first one
  std::vector<std::size_t> index;
};

std::vector<std::size_t> index_of(const Array& a, std::size_t flat) {
  std::vector<std::size_t> index(a.shape.size());
  for (std::size_t k = index.size(); k-- > 0; flat /= a.shape[k]) index[k] = flat % a.shape[k];
  return index;
}

// Of all outputs, in their order.
std::vector<Hole> all_holes(const Trace& trace, const std::vector<Output>& outputs) {
  const Array* mask = find(trace.arrays, "mask");
  std::vector<Hole> all;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Array* a = find(trace.arrays, outputs[k].name);
    const std::string name = outputs[k].name;
    for (std::size_t flat = 0; a && flat < a->data.size(); ++flat) {
      if (std::isfinite(a->data[flat])) continue;
      Hole hole{0, k, flat, index_of(*a, flat)};
      const bool by_position = (name == "e" || name == "h") && mask && a->shape.size() == 3;
      if (by_position && mask->at({hole.index[0], hole.index[name == "e" ? 2 : 1]}) == 0) continue;
      hole.step = outputs[k].steps ? hole.index[1] + 1 - outputs[k].before : no_step;
      all.push_back(std::move(hole));
    }
  }
  return all;
}

Finding finding_of(const Output& output, const Array& a, const Hole& hole) {
  const double x = a.data[hole.flat];
  std::string place = output.name + std::string("[");
  for (std::size_t k = 0; k < hole.index.size(); ++k) place += (k ? ", " : "") + std::to_string(hole.index[k]);
  place += "]";
  const std::string step = std::to_string(hole.step);
  Finding f;
  f.code = "UNKNOWN";
  f.kind = Kind::numerics;
  f.where = {output.name, output.name};
  f.sentence = {
      place + " is " + (std::isnan(x) ? "NaN" : "an infinity") + (output.steps ? ", at step " + step : std::string()) +
          ": the first of all numbers that are not finite; what is computed from it is not to blame",
      place + (std::isnan(x) ? " 是 NaN" : " 是无穷") + (output.steps ? "（第 " + step + " 步）" : std::string()) +
          "：它是最早出现的非有限数；由它算出的其他数值不是原因"};
  f.fix = {
      "such numbers come from the softmax of a row whose positions are all masked, from exp of a large number, "
      "from log 0, or from a division by a length or norm of 0: print what goes into " +
          std::string(output.name) + " there",
      "这样的数来自整行都被掩码的 softmax、过大的数取 exp、log 0，或除以为 0 的长度或范数：请打印此处 " +
          std::string(output.name) + " 的输入"};
  f.test = "CHECK(isfinite(" + std::string(output.name) + "));";
  return f;
}

}  // namespace

bool has_holes(const Trace& trace) { return !all_holes(trace, outputs_of(trace.kind)).empty(); }

std::optional<Holes> find_holes(const Trace& trace) {
  const std::vector<Output> outputs = outputs_of(trace.kind);
  const std::vector<Hole> all = all_holes(trace, outputs);
  if (all.empty()) return std::nullopt;
  std::set<std::size_t> examples;  // that have some
  std::size_t least_step = no_step;
  for (const Hole& hole : all)
    examples.insert(hole.index[outputs[hole.output].example_axis]), least_step = std::min(least_step, hole.step);
  const Output& one = outputs[all[0].output];
  const std::size_t B = get(trace.arrays, one.name).dim(one.example_axis);
  const Hole& first = *std::min_element(all.begin(), all.end(), [](const Hole& x, const Hole& y) {
    return std::tie(x.step, x.output, x.flat) < std::tie(y.step, y.output, y.flat);
  });
  Holes holes{finding_of(outputs[first.output], get(trace.arrays, outputs[first.output].name), first), {}, trace};
  Arrays& rest = holes.rest.arrays;
  holes.rest.gradients.clear(), holes.rest.as_padded.clear();
  std::vector<std::size_t> rows;
  for (std::size_t b = 0; b < B; ++b)
    if (!examples.count(b)) rows.push_back(b);
  const bool decoder = trace.kind == TraceKind::decoder;
  const auto list = [](const auto& some) {
    std::string text;
    for (std::size_t b : some) text += (text.empty() ? "" : ", ") + std::to_string(b);
    return text;
  };
  if (decoder || trace.kind == TraceKind::recurrent)
    for (const char* name : {"loss", "targets"}) rest.erase(name);  // over all examples and steps
  if (!rows.empty() && decoder) {
    const Array* s = find(rest, "s");
    std::size_t steps = s ? s->dim(1) - 1 : 0;
    for (const Output& output : outputs)
      if (const Array* a = find(rest, output.name)) steps = a->dim(1) - output.before;
    rest = part_of_decoder(rest, rows, steps);
  } else if (!rows.empty() && trace.kind == TraceKind::recurrent) {
    rest = part_of_run(rest, rows);
  } else if (decoder && least_step > 1) {
    rows.resize(B);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    rest = part_of_decoder(rest, rows, least_step - 1);
    const std::string from = std::to_string(least_step);
    holes.aside = {"the steps from " + from + " on are left aside", "第 " + from + " 步及以后不参与检查"};
    return holes;
  } else {
    std::string names;
    std::set<std::string> spoiled;
    for (const Hole& hole : all) spoiled.insert(outputs[hole.output].name);
    for (const std::string& name : spoiled) {
      if (const Array& a = get(rest, name); name == "s" && least_step > 0) {
        Array start({a.dim(0), a.dim(2)});
        for (std::size_t b = 0; b < a.dim(0); ++b) start.set_row({b}, a.row({b, 0}));
        rest.emplace("s_0", start);
      }
      names += (names.empty() ? "" : ", ") + name;
      rest.erase(name);
    }
    const std::string is = spoiled.size() == 1 ? " is" : " are";
    holes.aside = {names + is + " left aside", names + " 不参与检查"};
    return holes;
  }
  holes.aside = {(examples.size() == 1 ? "example " + list(examples) + " is" : "examples " + list(examples) + " are") +
                     " left aside",
                 "样本 " + list(examples) + " 不参与检查"};
  return holes;
}

}  // namespace gradus::diagnosis
