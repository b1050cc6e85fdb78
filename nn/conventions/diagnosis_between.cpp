// Each way makes another input of the next layer from what a layer has read and made.
#include "nn/conventions/diagnosis_between.h"

#include "nn/conventions/expression.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// Row (b, t) of the result is row (b', t') of `from`, {b', t'} = at(b, t); the first step's `first` (B, d) where t' < 0;
// zeros elsewhere.
Array taken(const Array& from, const std::function<std::pair<std::size_t, long>(std::size_t b, long t)>& at,
            const Array& first = {}) {
  Array out(from.shape);
  const long T = static_cast<long>(from.dim(1));
  for (std::size_t b = 0; b < from.dim(0); ++b)
    for (long t = 0; t < T; ++t) {
      const auto [row, step] = at(b, t);
      const std::size_t to = static_cast<std::size_t>(t);
      if (step >= 0 && step < T) out.set_row({b, to}, from.row({row, static_cast<std::size_t>(step)}));
      else if (step < 0 && !first.data.empty()) out.set_row({b, to}, first.row({row}));
    }
  return out;
}

Array first_of(const Array* states, std::size_t layer) {  // of (layers, B, d)
  if (!states) return {};
  const std::size_t n = states->dim(1) * states->dim(2);
  const auto from = states->data.begin() + static_cast<std::ptrdiff_t>(layer * n);
  return Array({states->dim(1), states->dim(2)}, Vec(from, from + static_cast<std::ptrdiff_t>(n)));
}

void apply_to(const Function& function, Array& a) {
  for (std::size_t k = 0; k < a.data.size(); k += a.dim(2)) function.apply(&a.data[k], a.dim(2));
}

}  // namespace

std::vector<Between> all_between(const Trace& trace, std::size_t layer) {
  using To = std::pair<std::size_t, long>;
  const bool both = trace.directions > 1;
  const Array *h0 = find(trace.arrays, "h0"), *c0 = find(trace.arrays, "c0");
  std::vector<Between> ways;
  const auto add_way = [&](const char* code, const char* en, const char* zh, auto change, bool whole_batch = false) {
    ways.push_back({code, {en, zh}, change, whole_batch});
  };
  const auto of_memory = [&](const char* en, const char* zh, auto change, bool whole_batch = false) {
    ways.push_back({"LAYER_INPUT_MEMORY",
                    {en, zh},
                    [change](const Array&, const Array& memory, Array& h) {
                      if (memory.shape == h.shape) h = change(h, memory);
                    },
                    whole_batch,
                    whole_batch});
  };
  of_memory("the memory c", "记忆 c", [](const Array&, const Array& c) { return c; });
  of_memory("tanh(c), without the output gate,", "tanh(c)（没有乘输出门）", [](const Array&, Array c) {
    apply_to(function("tanh"), c);
    return c;
  });
  of_memory("h + c", "h + c", [](const Array& h, const Array& c) { return Array(h.shape, add(h.data, c.data)); });
  const auto before = [](std::size_t b, long t) { return To{b, t - 1}; };
  of_memory("c_{t-1}, zeros at the first step,", "c_{t-1}（第一步为零）",
            [before](const Array&, const Array& c) { return taken(c, before); });
  if (c0 && !both)
    of_memory(
        "c_{t-1}, c0 at the first step,", "c_{t-1}（第一步为 c0）",
        [before, first = first_of(c0, layer)](const Array&, const Array& c) { return taken(c, before, first); }, true);

  const auto other_rows = [&](const char* code, const char* en, const char* zh, auto at, const Array& first = {},
                              bool whole_batch = false) {
    ways.push_back({code,
                    {en, zh},
                    [at, first](const Array&, const Array&, Array& h) { h = taken(h, at(h), first); },
                    whole_batch,
                    !first.data.empty()});
  };
  const auto other_step = [&](const char* en, const char* zh, auto at, const Array& first = {}) {
    other_rows("LAYER_INPUT_OTHER_STEP", en, zh, at, first, !first.data.empty());
  };
  other_step("h_{t-1}", "h_{t-1}", [before](const Array&) { return before; });
  if (h0 && !both)
    other_step(
        "h_{t-1}, h0 at the first step,", "h_{t-1}（第一步为 h0）", [before](const Array&) { return before; },
        first_of(h0, layer));
  other_step("h_{t+1}", "h_{t+1}", [](const Array&) { return [](std::size_t b, long t) { return To{b, t + 1}; }; });
  other_step("h_1 at every step", "每一步都是 h_1", [](const Array&) {
    return [](std::size_t b, long) { return To{b, 0}; };
  });
  other_step("the last h at every step", "每一步都是最后的 h", [](const Array& h) {
    std::vector<long> last(h.dim(0), 0);  // behind the end the states are 0
    for (std::size_t b = 0; b < h.dim(0); ++b)
      for (std::size_t t = 0; t < h.dim(1); ++t)
        for (double x : h.row({b, t}))
          if (x != 0) last[b] = static_cast<long>(t);
    return [last](std::size_t b, long) { return To{b, last[b]}; };
  });
  other_rows("LAYER_INPUT_REVERSED", "h read backwards", "倒着读的 h", [](const Array& h) {
    return [T = static_cast<long>(h.dim(1))](std::size_t b, long t) { return To{b, T - 1 - t}; };
  });

  add_way("LAYER_SKIPPED", "its own input", "它自己的输入", [](const Array& in, const Array&, Array& h) {
    if (in.shape == h.shape) h = in;
  });
  add_way("LAYER_RESIDUAL", "h + the layer's own input", "h 与该层输入之和",
          [](const Array& in, const Array&, Array& h) {
            if (in.shape == h.shape) h.data = add(std::move(h.data), in.data);
          });
  if (layer > 0) {  // where the layer's own input is another one
    const Array& x = get(trace.arrays, "x");
    add_way(
        "LAYER_SKIPPED", "the network's input x", "网络的输入 x",
        [&x](const Array&, const Array&, Array& h) {
          if (x.shape == h.shape) h = x;
        },
        true);
    add_way(
        "LAYER_RESIDUAL", "h + the network's input x", "h 与网络输入 x 之和",
        [&x](const Array&, const Array&, Array& h) {
          if (x.shape == h.shape) h.data = add(std::move(h.data), x.data);
        },
        true);
  }

  const auto example = [&](const char* en, const char* zh, std::size_t (*of)(std::size_t b, std::size_t B)) {
    other_rows(
        "LAYER_INPUT_OTHER_EXAMPLE", en, zh,
        [of](const Array& h) { return [of, B = h.dim(0)](std::size_t b, long t) {
                                 return To{of(b, B), t};
                               }; }, {},
        true);
  };
  example("h of the next example", "下一个样本的 h", [](std::size_t b, std::size_t B) { return (b + 1) % B; });
  example("h of the previous example", "上一个样本的 h", [](std::size_t b, std::size_t B) { return (b + B - 1) % B; });
  example("h of the batch reversed", "批次颠倒后的 h", [](std::size_t b, std::size_t B) { return B - 1 - b; });
  example("h of the first example", "第一个样本的 h", [](std::size_t, std::size_t) { return std::size_t{0}; });

  // Of [forward; backward]: which direction stands in each half.
  const std::tuple<std::size_t, std::size_t, Words> halves[] = {{1, 0, {"[backward; forward]", "[反向；正向]"}},
                                                                {0, 0, {"[forward; forward]", "[正向；正向]"}},
                                                                {1, 1, {"[backward; backward]", "[反向；反向]"}}};
  for (const auto& [left, right, used] : halves)
    if (both)
      ways.push_back({"LAYER_INPUT_HALVES", used, [left = left, right = right](const Array&, const Array&, Array& h) {
                        const Vec own = h.data;
                        const std::size_t d = h.dim(2) / 2;
                        for (std::size_t k = 0; k < own.size(); ++k) {
                          const std::size_t half = k / d % 2;
                          h.data[k] = own[k - half * d + (half ? right : left) * d];
                        }
                      }});
  for (const double p : {.1, .2, .25, .3, .4, .5})
    for (const bool up : {true, false}) {
      const std::string keep = print(number(1 - p)), used = up ? "h / " + keep : keep + " h";
      ways.push_back({"LAYER_INPUT_SCALED",
                      {used + ", as if by a dropout,", used + "（像是 dropout 的缩放）"},
                      [k = up ? 1 / (1 - p) : 1 - p](const Array&, const Array&, Array& h) {
                        for (double& x : h.data) x *= k;
                      }});
    }
  for (const Function& f : functions()) {
    const std::string used = std::string(f.name) + "(h)";
    ways.push_back(
        {"LAYER_INPUT_FUNCTION", {used, used}, [&f](const Array&, const Array&, Array& h) { apply_to(f, h); }});
  }
  return ways;
}

}  // namespace gradus::diagnosis
