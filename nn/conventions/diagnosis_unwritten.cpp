// Each kind of gap is cut out of the trace; whether the rest is explained is for the search to say.
#include "nn/conventions/diagnosis_unwritten.h"

#include <algorithm>

namespace gradus::diagnosis {

using namespace reference;

namespace {

// What a decoder gives, one number or row a step; states have one step more.
constexpr const char* outputs[] = {"s", "m", "e", "alpha", "c", "htilde", "logits"};

bool is_zero(Row x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return v == 0; });
}

std::vector<std::string> never_written(const Trace& trace) {
  std::vector<std::string> names;
  for (const char* name : outputs)
    if (const Array* a = find(trace.arrays, name); a && std::string(name) != "s" && is_zero(a->data))
      names.emplace_back(name);
  return names;
}

bool last_step_is_zero(const Trace& trace) {
  bool some = false;
  for (const char* name : outputs)
    if (const Array* a = find(trace.arrays, name); a && a->shape.size() == 3) {
      if (a->dim(1) < 3) return false;
      for (std::size_t b = 0; b < a->dim(0); ++b)
        if (!is_zero(a->row({b, a->dim(1) - 1})) || is_zero(a->row({b, a->dim(1) - 2}))) return false;
      some = true;
    }
  return some;
}

// Axis 1 without its last place.
Array one_step_less(const Array& a) {
  Dims shape = a.shape;
  --shape[1];
  Array less(shape);
  const std::size_t row = a.data.size() / a.dim(0), kept = less.data.size() / a.dim(0);
  for (std::size_t b = 0; b < a.dim(0); ++b)
    std::copy_n(a.data.begin() + static_cast<std::ptrdiff_t>(b * row), kept,
                less.data.begin() + static_cast<std::ptrdiff_t>(b * kept));
  return less;
}

Finding finding(const char* code, const std::string& what) {
  Finding f;
  f.code = code, f.kind = Kind::graph;
  f.where = {what, what};
  f.used = "0", f.paper = "what the step computes";
  f.test = "CHECK(every step of every output differs from 0);";
  return f;
}

}  // namespace

std::vector<Unwritten> without_the_unwritten(const Trace& trace) {
  std::vector<Unwritten> found;
  if (trace.kind != TraceKind::decoder) return found;
  if (const auto names = never_written(trace); !names.empty()) {
    Unwritten u{trace, {}};
    std::string list;
    for (const std::string& name : names) {
      u.rest.arrays.erase(name), u.rest.gradients.erase(name);
      list += (list.empty() ? "" : ", ") + name;
    }
    u.finding = finding("OUTPUT_NEVER_WRITTEN", list);
    u.finding.sentence = {list +
                              " is 0 everywhere: it was made and never written. What the other outputs hold was "
                              "computed from other numbers",
                          list + " 处处为 0：数组建好后从未写入。其余输出用的是别的数值"};
    u.finding.fix = {"write each step's " + list + " into the array that is dumped",
                     "把每一步的 " + list + " 写进要保存的数组"};
    found.push_back(std::move(u));
  }
  if (last_step_is_zero(trace)) {
    Unwritten u{trace, finding("LAST_STEP_MISSING", "the last step of every output")};
    for (auto& [name, a] : u.rest.arrays) {
      const bool along = std::find(std::begin(outputs), std::end(outputs), name) != std::end(outputs) ||
                         name == "y_emb" || name == "query" || name == "targets" || name == "y_mask";
      if (along && a.shape.size() > 1) a = one_step_less(a);
    }
    u.rest.gradients.clear();
    u.finding.where.zh = "所有输出的最后一步";
    u.finding.sentence = {"the last step is not computed: every output is 0 there",
                          "最后一步没有计算：所有输出在那里都是 0"};
    u.finding.fix = {"let t run over all T_dec steps", "让 t 遍历全部 T_dec 步"};
    found.push_back(std::move(u));
  }
  return found;
}

}  // namespace gradus::diagnosis
