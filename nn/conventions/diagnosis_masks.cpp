// Masks that people give to a recurrent layer by mistake, and what else than keeping the state a masked step does by
// mistake, each held against what the layer has computed.
#include "nn/conventions/diagnosis_masks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "nn/conventions/diagnosis_stages.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

constexpr std::size_t least_numbers = 6;  // that must agree before anything is called by a name

struct OtherMask {
  const char* code;
  Said sentence;
  Said fix;
  std::function<bool(const Array& mask, std::size_t b, long t)> real;
};

bool is_real(const Array& mask, std::size_t b, long t) {
  const long last = static_cast<long>(mask.dim(1)) - 1;
  return mask.at({b, static_cast<std::size_t>(std::clamp(t, 0L, last))}) != 0;
}
std::size_t count(const Array& mask, std::size_t b) {
  std::size_t n = 0;
  for (double x : mask.row({b})) n += x != 0;
  return n;
}

const std::vector<OtherMask>& other_masks() {
  static const Said own = {"give the layer the mask of the same batch, true where a position is real",
                           "把同一批的掩码交给这一层，真实位置为 true"};
  static const std::vector<OtherMask> all = {
      {"RUN_READS_PADDING",
       {"the mask is ignored: the cell reads the padding like real positions, and its state changes there",
        "掩码被忽略：循环单元把填充当作真实位置来读，状态在那里也会改变"},
       own,
       [](const Array&, std::size_t, long) { return true; }},
      {"MASK_INVERTED",
       {"the mask is inverted: padding is read and real positions are skipped", "掩码反了：读了填充，跳过了真实位置"},
       own,
       [](const Array& m, std::size_t b, long t) { return !is_real(m, b, t); }},
      {"MASK_OFF_BY_ONE",
       {"the mask is one position too long: the padding next to the real positions is read as well",
        "掩码长了一个位置：紧挨真实位置的填充也被读入"},
       own,
       [](const Array& m, std::size_t b, long t) {
         return is_real(m, b, t - 1) || is_real(m, b, t) || is_real(m, b, t + 1);
       }},
      {"MASK_OFF_BY_ONE",
       {"the mask is one position short: the real position next to the padding is skipped",
        "掩码短了一个位置：紧挨填充的真实位置被跳过"},
       own,
       [](const Array& m, std::size_t b, long t) {
         return is_real(m, b, t - 1) && is_real(m, b, t) && is_real(m, b, t + 1);
       }},
      {"MASK_OFF_BY_ONE",
       {"every length is one too short: the last real position is skipped", "每个长度都短了一：最后一个真实位置被跳过"},
       {"pass the lengths themselves, not length - 1", "传入长度本身，不要减一"},
       [](const Array& m, std::size_t b, long t) {
         return t + 1 < static_cast<long>(count(m, b)) && is_real(m, b, 0) && is_real(m, b, t);
       }},
      {"MASK_OFF_BY_ONE",
       {"each position is masked by the mask of the position before it", "每个位置用的是前一个位置的掩码"},
       own,
       [](const Array& m, std::size_t b, long t) { return is_real(m, b, t - 1); }},
      {"MASK_OFF_BY_ONE",
       {"each position is masked by the mask of the position after it", "每个位置用的是后一个位置的掩码"},
       own,
       [](const Array& m, std::size_t b, long t) { return is_real(m, b, t + 1); }},
      {"MASK_OTHER_END",
       {"the mask is read as lengths: the first positions are taken for real, and the real ones do not stand there",
        "掩码被当作长度来读：把开头的位置当作真实位置，而真实位置并不在那里"},
       {"pad behind, or use the mask itself and not its sum", "在后面填充，或直接使用掩码而不是它的和"},
       [](const Array& m, std::size_t b, long t) { return t < static_cast<long>(count(m, b)); }},
      {"MASK_OTHER_END",
       {"the mask stands at the other end: the last positions are taken for real",
        "掩码放在了另一端：把末尾的位置当作真实位置"},
       own,
       [](const Array& m, std::size_t b, long t) { return t >= static_cast<long>(m.dim(1) - count(m, b)); }},
      {"MASK_OTHER_EXAMPLE",
       {"the mask belongs to the next example of the batch", "掩码属于批内的下一个样本"},
       own,
       [](const Array& m, std::size_t b, long t) { return is_real(m, (b + 1) % m.dim(0), t); }},
      {"MASK_OTHER_EXAMPLE",
       {"the mask belongs to the previous example of the batch", "掩码属于批内的前一个样本"},
       own,
       [](const Array& m, std::size_t b, long t) { return is_real(m, (b + m.dim(0) - 1) % m.dim(0), t); }},
      {"MASK_OTHER_EXAMPLE",
       {"every example has the mask of the first one", "每个样本都用第一个样本的掩码"},
       own,
       [](const Array& m, std::size_t, long t) { return is_real(m, 0, t); }},
      {"MASK_OTHER_EXAMPLE",
       {"the masks are sorted by length, longest first, the sequences are not", "掩码按长度从长到短排序，序列没有"},
       own,
       [](const Array& m, std::size_t b, long t) { return is_real(sorted_by_length(m, true), b, t); }},
  };
  return all;
}

// What a masked step makes of the state, instead of keeping it.
struct OtherStep {
  const char* code;
  Said sentence;
  Line used;
  RunConvention::MaskedStep step;
  bool reads_zeros = false;  // x is multiplied by the mask
};

const std::vector<OtherStep>& other_steps() {
  using State = CellState;
  static const auto zeros = [](const Vec& v) { return Vec(v.size()); };
  static const std::vector<OtherStep> all = {
      {"MASKED_STEP_CLEARS",
       {"a masked step sets the state to zero: what was read before it is lost",
        "被遮住的一步把状态置零：之前读到的内容都丢失了"},
       {"s_t = 0 at padding", "填充处 s_t = 0"},
       [](const State& before, const State&, const State&) {
         return State{zeros(before.h), zeros(before.c)};
       }},
      {"MASKED_STEP_RESTARTS",
       {"a masked step starts the run anew from the initial state: what was read before it is lost",
        "被遮住的一步让循环从初始状态重新开始：之前读到的内容都丢失了"},
       "s_t = s_0 at padding",
       [](const State&, const State&, const State& first) { return first; }},
      {"MASKED_STEP_READS_ZEROS",
       {"the input is multiplied by the mask, the state is not kept: at a masked step the cell reads zeros and goes on",
        "只是把输入乘以掩码，状态没有保持：在被遮住的一步，循环单元读到零并继续运行"},
       {"s_t = RNN(0, s_{t-1}) at padding", "填充处 s_t = RNN(0, s_{t-1})"},
       [](const State&, const State& read, const State&) { return read; },
       true},
      {"MASKED_STEP_CLEARS",
       {"a masked step sets h to zero and keeps the memory c alone", "被遮住的一步把 h 置零，只保持了记忆 c"},
       "h_t = 0, c_t = c_{t-1} at padding",
       [](const State& before, const State&, const State&) {
         return State{zeros(before.h), before.c};
       }},
      {"MASKED_STEP_CLEARS",
       {"a masked step sets h to zero, and the memory c goes on reading", "被遮住的一步把 h 置零，记忆 c 还在继续读入"},
       "h_t = 0, c_t of the cell at padding",
       [](const State& before, const State& read, const State&) {
         return State{zeros(before.h), read.c};
       }},
      {"MASKED_STEP_CLEARS",
       {"a masked step sets the memory c to zero and keeps h alone", "被遮住的一步把记忆 c 置零，只保持了 h"},
       {"h_t = h_{t-1}, c_t = 0 at padding", "填充处 h_t = h_{t-1}，c_t = 0"},
       [](const State& before, const State&, const State&) {
         return State{before.h, zeros(before.c)};
       }},
      {"MASKED_STEP_KEEPS_HALF",
       {"a masked step keeps h, but the memory c goes on reading", "被遮住的一步保持了 h，但记忆 c 还在继续读入"},
       "h_t = h_{t-1}, c_t of the cell at padding",
       [](const State& before, const State& read, const State&) {
         return State{before.h, read.c};
       }},
      {"MASKED_STEP_KEEPS_HALF",
       {"a masked step keeps the memory c, but h goes on reading", "被遮住的一步保持了记忆 c，但 h 还在继续读入"},
       "h_t of the cell, c_t = c_{t-1} at padding",
       [](const State& before, const State& read, const State&) {
         return State{read.h, before.c};
       }},
  };
  return all;
}

// How h stands to what the model gives under the other mask, over the positions that this one calls real.
struct Compared {
  bool everywhere = true, where_both_are_real = true, zero_elsewhere = true;
  std::size_t numbers = 0, both = 0;  // compared, and those of them where both are real
};
Compared compare(const Array& got, const Arrays& arrays, double tolerance) {
  const Array &h = get(arrays, "h"), &mask = get(arrays, "mask"), &real = get(arrays, "real");
  Compared c;
  const std::size_t width = h.dim(2);
  for (std::size_t p = 0; p < mask.data.size(); ++p) {
    if (mask.data[p] == 0) continue;
    for (std::size_t k = p * width; k < (p + 1) * width; ++k) {
      const bool same = std::fabs(got.data[k] - h.data[k]) < tolerance;
      c.everywhere = c.everywhere && same;
      ++c.numbers, c.both += real.data[p] != 0;
      if (real.data[p] != 0) c.where_both_are_real = c.where_both_are_real && same;
      else c.zero_elsewhere = c.zero_elsewhere && h.data[k] == 0;
    }
  }
  return c;
}

Finding of_mask(const char* code, const Said& sentence, const Said& fix, const Line& used) {
  Finding f;
  f.code = code, f.kind = Kind::mask;
  f.where = {"the recurrent run (h)", "循环层 (h)"};
  f.sentence = sentence;
  f.used = used;
  f.paper = {"s_t = RNN(x_t, s_{t-1}) at real positions, s_t = s_{t-1} at padding",
             "真实位置上 s_t = RNN(x_t, s_{t-1})，填充处 s_t = s_{t-1}"};
  f.fix = fix;
  f.test = {"append two padded positions: CHECK(h at the real positions is unchanged);",
            "追加两个填充位置：CHECK(真实位置上的 h 不变);"};
  return f;
}

bool same(const Array& made, const Array* wanted, double tolerance) {
  return !wanted ||
         (made.shape == wanted->shape && std::equal(made.data.begin(), made.data.end(), wanted->data.begin(),
                                                    [&](double x, double y) { return std::fabs(x - y) < tolerance; }));
}

}  // namespace

std::optional<Finding> explain_by_another_mask(const Trace& trace, const Model& right, double tolerance,
                                               std::size_t& tried) {
  const Arrays& padded = trace.as_padded.empty() ? trace.arrays : trace.as_padded;
  const Array *own = find(padded, "mask"), *h = find(padded, "h"), *h_n = find(trace.arrays, "h_n"),
              *c_n = find(trace.arrays, "c_n");
  if (!own || !h) return std::nullopt;
  // How the outputs of a model stand to the trace's; nothing where its final states are others.
  const auto compared = [&](const Model& model, const Arrays& arrays) -> std::optional<Compared> {
    try {
      ++tried;
      const Arrays got = stage_outputs(model, arrays, {Stage::run});
      if ((h_n && !same(get(got, "h_n"), h_n, tolerance)) || (c_n && !same(get(got, "c_n"), c_n, tolerance)))
        return std::nullopt;
      return compare(get(got, "h"), arrays, tolerance);
    } catch (const std::invalid_argument&) {
      return std::nullopt;  // sizes that do not go with this model
    }
  };
  for (const OtherMask& other : other_masks()) {
    Array mask = *own;
    for (std::size_t b = 0; b < mask.dim(0); ++b)
      for (std::size_t t = 0; t < mask.dim(1); ++t) mask.at({b, t}) = other.real(*own, b, static_cast<long>(t)) ? 1 : 0;
    if (mask.data == own->data) continue;
    const Arrays arrays = under_another_mask(trace, mask);
    // What a layer hands to the next may be set to 0 where the trace's own mask says padding.
    for (const bool zeros_between : {false, true}) {
      if (zeros_between && trace.layers < 2) continue;
      Model model = right;
      if (zeros_between)
        model.after_layer = [&real = get(arrays, "real")](std::size_t, const Array&, const Array&, Array& out) {
          for (std::size_t p = 0; p < real.data.size(); ++p)
            for (std::size_t k = 0; k < out.dim(2) && real.data[p] == 0; ++k) out.data[p * out.dim(2) + k] = 0;
        };
      const auto c = compared(model, arrays);
      if (c && ((c->everywhere && c->numbers >= least_numbers) ||
                (c->where_both_are_real && c->zero_elsewhere && c->both >= least_numbers)))
        return of_mask(other.code, other.sentence, other.fix,
                       {"s_t = RNN(x_t, s_{t-1}) where this wrong mask is true",
                        "这个错误的掩码为 true 处 s_t = RNN(x_t, s_{t-1})"});
    }
  }
  Array read_everywhere = *own;
  std::fill(read_everywhere.data.begin(), read_everywhere.data.end(), 1.0);
  if (read_everywhere.data == own->data) return std::nullopt;
  const Arrays arrays = under_another_mask(trace, read_everywhere);
  Model keeping = right;
  keeping.run.real = &get(arrays, "real");
  keeping.run.masked_step = [](const CellState& before, const CellState&, const CellState&) { return before; };
  if (const auto c = compared(keeping, arrays); c && c->where_both_are_real) return std::nullopt;
  for (const OtherStep& other : other_steps()) {
    Model model = right;
    Arrays read = arrays;
    model.run.real = &get(arrays, "real"), model.run.masked_step = other.step;
    for (std::size_t p = 0; p < own->data.size() && other.reads_zeros; ++p)
      if (Array& x = read.at("x"); own->data[p] == 0) std::fill_n(&x.data[p * x.dim(2)], x.dim(2), 0.0);
    const auto c = compared(model, read);
    if (c && c->where_both_are_real && c->both >= least_numbers)  // what is handed out at a masked step is free
      return of_mask(other.code, other.sentence,
                     {"keep h (and c) where the mask is 0: h = mask * h_new + (1 - mask) * h",
                      "掩码为 0 处保持 h（和 c）：h = mask * h_new + (1 - mask) * h"},
                     other.used);
  }
  return std::nullopt;
}

}  // namespace gradus::diagnosis
