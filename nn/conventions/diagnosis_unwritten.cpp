// Each kind of gap is cut out of the trace; whether the rest is explained is for the search to say.
#include "nn/conventions/diagnosis_unwritten.h"

#include <algorithm>
#include <optional>

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

// Arrays that are 0 at every step but one, or at the last or the first step alone: a step wrote to another's place.
enum class Place { one_step, before, behind };
std::optional<Place> written_elsewhere(const Array& a) {
  const std::size_t T = a.shape.size() == 3 ? a.dim(1) : 0;
  if (T < 3) return std::nullopt;
  std::vector<bool> zero(T, true);
  for (std::size_t b = 0; b < a.dim(0); ++b)
    for (std::size_t t = 0; t < T; ++t) zero[t] = zero[t] && is_zero(a.row({b, t}));
  const auto zeros = static_cast<std::size_t>(std::count(zero.begin(), zero.end(), true));
  if (zeros + 1 == T) return Place::one_step;
  if (zeros == 1 && zero.back()) return Place::before;
  if (zeros == 1 && zero.front()) return Place::behind;
  return std::nullopt;
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

// The first places of axis 1.
Array first_steps(const Array& a, std::size_t count) {
  Dims shape = a.shape;
  shape[1] = count;
  Array less(shape);
  const std::size_t row = a.data.size() / a.dim(0), kept = less.data.size() / a.dim(0);
  for (std::size_t b = 0; b < a.dim(0); ++b)
    std::copy_n(a.data.begin() + static_cast<std::ptrdiff_t>(b * row), kept,
                less.data.begin() + static_cast<std::ptrdiff_t>(b * kept));
  return less;
}

// Every array with an axis of steps, cut to the first kept(a) of them. Gradients are of the whole and go.
void cut(Trace& trace, std::size_t (*kept)(const Array& a)) {
  for (auto& [name, a] : trace.arrays) {
    const bool along = std::find(std::begin(outputs), std::end(outputs), name) != std::end(outputs) ||
                       name == "y_emb" || name == "query" || name == "targets" || name == "y_mask";
    if (along && a.shape.size() > 1) a = first_steps(a, kept(a));
  }
  trace.gradients.clear();
}

// A state that stands where the one before it was read.
bool written_back(const Trace& trace) {
  const Array *s = find(trace.arrays, "s"), *s_0 = find(trace.arrays, "s_0");
  if (!s || !s_0 || find(trace.arrays, "m") || s->dim(1) < 3) return false;
  bool differs = false, last_is_zero = true;
  for (std::size_t b = 0; b < s->dim(0); ++b) {
    differs = differs || copy(s->row({b, 0})) != copy(s_0->row({b}));
    last_is_zero = last_is_zero && is_zero(s->row({b, s->dim(1) - 1}));
  }
  return differs && last_is_zero;
}

Finding finding(const char* code, const std::string& what) {
  Finding f;
  f.code = code, f.kind = Kind::graph;
  f.where = {what, what};
  f.used = "0", f.paper = {"what the step computes", "该步算出的值"};
  f.test = {"CHECK(every step of every output differs from 0);", "CHECK(每个输出的每一步都不为 0);"};
  return f;
}

}  // namespace

std::vector<Unwritten> without_the_unwritten(const Trace& trace) {
  std::vector<Unwritten> found;
  if (trace.kind != TraceKind::decoder && trace.kind != TraceKind::multi_head) return found;
  if (last_step_is_zero(trace)) {
    Unwritten u{trace, finding("LAST_STEP_MISSING", "the last step of every output")};
    cut(u.rest, [](const Array& a) { return a.dim(1) - 1; });
    u.finding.where.zh = "所有输出的最后一步";
    u.finding.sentence = {"the last step is not computed: every output is 0 there",
                          "最后一步没有计算：所有输出在那里都是 0"};
    u.finding.fix = {"let t run over all T_dec steps", "让 t 遍历全部 T_dec 步"};
    found.push_back(std::move(u));
  }
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
  for (const char* name : outputs) {
    const Array* a = find(trace.arrays, name);
    const bool state = std::string(name) == "s" || std::string(name) == "m";
    const auto place = a && !state ? written_elsewhere(*a) : std::nullopt;
    if (!place) continue;
    Unwritten u{trace, finding("OUTPUT_WRITTEN_ELSEWHERE", name)};
    u.rest.arrays.erase(name), u.rest.gradients.erase(name);
    const std::string c = name;
    const Words where =
        *place == Place::one_step ? Words{"at every step but one, to which each step writes", "除一步外处处"}
        : *place == Place::before
            ? Words{"at the last step, as where each step writes to the place of the one before", "在最后一步"}
            : Words{"at the first step, as where each step writes to the place of the one behind", "在第一步"};
    const Words why = *place == Place::one_step ? Words{"", "：每一步都写到了那里"}
                      : *place == Place::before ? Words{"", "：像是每一步都写到了前一步的位置"}
                                                : Words{"", "：像是每一步都写到了后一步的位置"};
    u.finding.sentence = {c + " is 0 " + where.en + ". What the other outputs hold was computed from other numbers",
                          c + " " + where.zh + "为 0" + why.zh + "。其余输出用的是别的数值"};
    u.finding.used = c + Text{"[:, another t] = what step t computes", "[:, 另一个 t] = 第 t 步算出的值"},
    u.finding.paper = c + Text{"[:, t] = what step t computes", "[:, t] = 第 t 步算出的值"};
    u.finding.fix = {"write what step t computes to " + c + "[:, t]", "把第 t 步算出的值写进 " + c + "[:, t]"};
    found.push_back(std::move(u));
  }
  if (written_back(trace)) {
    Unwritten u{trace, finding("STATE_WRITTEN_BACK", "s")};
    const Array &s = get(trace.arrays, "s"), &s_0 = get(trace.arrays, "s_0");
    Array states({s.dim(0), 2, s.dim(2)});
    for (std::size_t b = 0; b < s.dim(0); ++b)
      states.set_row({b, 0}, s_0.row({b})), states.set_row({b, 1}, s.row({b, 0}));
    cut(u.rest, [](const Array&) { return std::size_t{1}; });
    u.rest.arrays["s"] = states;
    u.finding.sentence = {
        "s[:, 0] is the state after the first step, not s_0, and s[:, T_dec] is 0: each step writes its state to the "
        "place that it read, and the next one reads 0",
        "s[:, 0] 是第一步之后的状态而不是 s_0，s[:, T_dec] 是 0：每一步都把状态写回它读取的位置，下一步读到的是 0"};
    u.finding.used = {"s[:, t] = the state after step t", "s[:, t] = 第 t 步之后的状态"},
    u.finding.paper = {"s[:, t + 1] = the state after step t", "s[:, t + 1] = 第 t 步之后的状态"};
    u.finding.fix = {"write the state after step t to s[:, t + 1]", "把第 t 步之后的状态写进 s[:, t + 1]"};
    found.push_back(std::move(u));
  }
  return found;
}

}  // namespace gradus::diagnosis
