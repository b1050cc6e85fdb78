#include "nn/conventions/diagnosis_unknown.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "nn/conventions/diagnosis_padding.h"
#include "nn/conventions/diagnosis_precision.h"
#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/diagnosis_weights_alone.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// From a state of zeros, mistakes in what a cell does with its state do not show at the first step.
bool first_step_tells(const Bench& bench) {
  const auto generic = [&](const char* name) {
    const Array* a = reference::find(bench.given, name);
    return a && std::all_of(a->data.begin(), a->data.end(), [](double x) { return x != 0; });
  };
  const bool remembers = std::holds_alternative<LstmConvention>(bench.base.decoder.cell);
  return bench.there("s") && generic("s_0") && (!remembers || generic("cell_0"));
}

// Of h, 0 behind the ends: those positions may hold anything.
Array at_real_positions(const Bench& bench, Array h) {
  Arrays states = {{"h", std::move(h)}};
  if (const Array* mask = reference::find(bench.given, "mask")) states["mask"] = *mask;
  return without_padding(states);
}

// One of two directions that agrees clears the gates, which both of them have.
std::optional<std::pair<Kind, Words>> half_that_agrees(Bench& bench, const Group& group,
                                                       const std::vector<Scored>& tried) {
  if (!bench.there("h")) return std::nullopt;
  const Array wanted = at_real_positions(bench, get(bench.given, "h"));
  const std::size_t d = wanted.dim(2);
  const auto half = [&](const Array& whole, std::size_t which) {
    Array part({whole.dim(0), whole.dim(1), d / 2});
    for (std::size_t r = 0; r < part.data.size(); ++r)
      part.data[r] = whole.data[r / (d / 2) * d + which * (d / 2) + r % (d / 2)];
    return part;
  };
  for (const Scored& s : tried) {
    std::optional<Array> got = bench.states_of(group, s.hypothesis);
    if (got && got->shape == wanted.shape) got = at_real_positions(bench, std::move(*got));
    for (std::size_t which = 0; got && got->shape == wanted.shape && which < 2; ++which)
      if (difference(half(*got, which), half(wanted, which)) < bench.tolerance)
        return {{Kind::convention,
                 which ? Words{"; the second half of h agrees, the first does not", "；h 的后一半相符，前一半不符"}
                       : Words{"; the first half of h agrees, the second does not", "；h 的前一半相符，后一半不符"}}};
  }
  return std::nullopt;
}

// Whether a hypothesis without mistakes gives h of all examples that have no padding, of a batch where others have some.
bool agrees_without_padding(Bench& bench, const Group& group, const std::vector<Scored>& tried) {
  const Array *h = reference::find(bench.given, "h"), *mask = reference::find(bench.given, "mask");
  if (!h || !mask) return false;
  const auto has_padding = [&](std::size_t b) {
    const Row real = mask->row({b});
    return std::find(real.begin(), real.end(), 0.0) != real.end();
  };
  std::vector<std::size_t> whole;
  for (std::size_t b = 0; b < h->dim(0); ++b)
    if (!has_padding(b)) whole.push_back(b);
  if (whole.empty() || whole.size() == h->dim(0)) return false;
  return std::any_of(tried.begin(), tried.end(), [&](const Scored& s) {
    const std::optional<Array> got = bench.states_of(group, s.hypothesis);
    if (!got || got->shape != h->shape) return false;
    for (std::size_t b : whole)
      for (std::size_t k = b * h->dim(1) * h->dim(2); k < (b + 1) * h->dim(1) * h->dim(2); ++k)
        if (!(std::fabs(got->data[k] - h->data[k]) < bench.tolerance)) return false;
    return true;
  });
}

// What of a recurrent run agrees although not all of it does; nothing where nothing is known to.
std::optional<std::pair<Kind, Words>> part_of_a_run_that_agrees(Bench& bench, const Group& group,
                                                                const std::vector<Scored>& tried) {
  std::optional<std::pair<Kind, Words>> seen;
  if (bench.trace.directions == 2 && bench.trace.layers == 1) seen = half_that_agrees(bench, group, tried);
  const auto add = [&](Kind kind, const Words& words) {
    if (!seen) seen = {kind, {}};
    seen->second.en += words.en, seen->second.zh += words.zh;
  };
  if (agrees_without_padding(bench, group, tried))
    add(Kind::mask, {"; examples without padding agree, shorter ones do not", "；没有填充的样本相符，较短的不符"});
  for (const char* name : {"h_n", "c_n"})
    if (bench.there(name) && bench.there("h") && bench.agrees_on(name, group, tried))
      add(Kind::convention, {std::string("; ") + name + " agrees", std::string("；") + name + " 相符"});
  return seen;
}

// Whether a hypothesis without mistakes gives every step but the first, from the trace's own states.
bool agrees_after_first(const Bench& bench, const Group& group, const std::vector<Scored>& tried) {
  const auto later = [](const std::string& name, const Array& a) {
    const std::size_t first = name == "s" || name == "m" ? 2 : 1, T = a.dim(1), row = a.data.size() / a.dim(0) / T;
    Array cut({a.dim(0), T - first, row});
    for (std::size_t b = 0; b < a.dim(0); ++b)
      std::copy_n(a.data.begin() + static_cast<std::ptrdiff_t>((b * T + first) * row), (T - first) * row,
                  cut.data.begin() + static_cast<std::ptrdiff_t>(b * (T - first) * row));
    return cut;
  };
  if (!bench.there("s") || get(bench.given, "s").dim(1) < 3) return false;
  for (const Scored& s : tried) {
    const auto model = bench.trouble(group, s.hypothesis).violations ? std::nullopt : bench.build(group, s.hypothesis);
    if (!model) continue;
    try {
      const Arrays got = stage_outputs(*model, bench.given, group.stages);
      if (std::all_of(group.outputs.begin(), group.outputs.end(), [&](const std::string& name) {
            const Array *a = reference::find(got, name), &wanted = get(bench.given, name);
            return a && a->shape == wanted.shape && difference(later(name, *a), later(name, wanted)) < bench.tolerance;
          }))
        return true;
    } catch (const std::invalid_argument&) {
      continue;  // sizes that do not go with this hypothesis
    }
  }
  return false;
}

// Whether a hypothesis without mistakes gives the first step of the trace.
bool agrees_at_first(Bench& bench, const Group& group, const std::vector<Scored>& tried) {
  const Arrays whole = bench.seen;
  for (auto& [name, a] : bench.seen) {
    static const std::set<std::string> by_step = {"y_emb", "e", "alpha", "c", "htilde", "logits", "query", "y_mask"};
    const std::size_t keep = name == "s" || name == "m" ? 2 : by_step.count(name) ? 1 : 0;
    if (!keep || a.shape.size() < 2 || a.shape[1] <= keep) continue;
    Array cut = a;
    cut.shape[1] = keep;
    cut.data.clear();
    const std::size_t row = a.data.size() / a.shape[0], kept = row / a.shape[1] * keep;
    for (std::size_t b = 0; b < a.shape[0]; ++b)
      for (std::size_t k = 0; k < kept; ++k) cut.data.push_back(a.data[b * row + k]);
    a = cut;
  }
  bool agrees = false;
  for (const Scored& s : tried) {
    if (agrees || bench.trouble(group, s.hypothesis).violations) continue;
    if (const auto model = bench.build(group, s.hypothesis))
      agrees = bench.residual(group, *model, bench.seen) < bench.tolerance;
  }
  bench.seen = whole;
  return agrees;
}

std::pair<Kind, Words> kind_from_invariants(Bench& bench, const Group& group, const std::vector<Scored>& tried) {
  const auto in = [&](Stage s) { return std::find(group.stages.begin(), group.stages.end(), s) != group.stages.end(); };
  for (const std::string& name : group.outputs)
    for (double x : get(bench.given, name).data)
      if (!std::isfinite(x))
        return {Kind::numerics, {"; " + name + " holds NaN or infinities", "；" + name + " 含有 NaN 或无穷"}};
  if ((in(Stage::weights) || in(Stage::heads)) && bench.there("alpha")) {
    if (const auto seen = seen_in_weights(bench)) return *seen;
  }
  if (in(Stage::heads) && bench.there("alpha") && bench.there("output"))
    return {Kind::convention, bench.agrees_on("alpha", group, tried)
                                  ? Words{"; the weights agree, the output does not", "；权重相符，输出不符"}
                                  : Words{"; the weights disagree already", "；权重就已不符"}};
  // A first step that agrees clears the gates: what later steps are given is wrong.
  if (in(Stage::cell) && first_step_tells(bench) && agrees_at_first(bench, group, tried))
    return {Kind::convention,
            {"; the first step agrees, later ones do not: what a step hands on to the next is not what it should be",
             "；第一步相符，之后不符：某一步交给下一步的东西不对"}};
  if (bench.trace.kind == TraceKind::decoder && agrees_after_first(bench, group, tried))
    return {Kind::convention,
            {"; only the first step disagrees: what it is given in the place of a step before it is wrong",
             "；只有第一步不符：它得到的、代替前一步的东西不对"}};
  if (in(Stage::run) && group.outputs.size() > 1 && bench.agrees_on("h", group, tried))
    return {Kind::convention, {"; h agrees, the final states do not", "；h 相符，最终状态不符"}};
  if (in(Stage::run)) {
    if (const auto seen = part_of_a_run_that_agrees(bench, group, tried)) return *seen;
  }
  if (in(Stage::cell) || in(Stage::run)) {
    if (std::holds_alternative<LstmConvention>(bench.base.decoder.cell)) return {Kind::lstm, {}};
    if (std::holds_alternative<GruConvention>(bench.base.decoder.cell)) return {Kind::gru, {}};
  }
  return {Kind::convention, {}};
}

// Whether a context may be part of what this parameter multiplies, by the sizes.
bool may_read_a_context(const Bench& bench, const char* parameter) {
  const Array* W = reference::find(bench.given, parameter);
  const Array *H = reference::find(bench.given, "H"), *y = reference::find(bench.given, "y_emb"),
              *s = reference::find(bench.given, "s");
  if (!W || W->shape.size() != 2 || !H) return false;
  const std::size_t d_h = H->shape.back(), d_y = y ? y->shape.back() : 0, d_s = s ? s->shape.back() : 0;
  for (std::size_t others : {std::size_t{0}, d_y, d_s, d_y + d_s})
    if (W->dim(1) == d_h + others) return true;
  return false;
}

// Without parameters a score can only be a dot product. Where that does not fit, they may just not have been dumped: no
// mistake shows.
bool left_without_its_score(const Bench& bench, Report& report, const Group& group) {
  if (bench.trace.kind != TraceKind::decoder || bench.holes ||
      std::find(group.stages.begin(), group.stages.end(), Stage::score) == group.stages.end())
    return false;
  for (const char* name : {"W_a", "U_a", "v_a"})
    if (bench.there(name)) return false;
  const bool shown = bench.there("e") || bench.there("alpha") || bench.there("c") || bench.there("htilde");
  if (!shown && !may_read_a_context(bench, "W") && !may_read_a_context(bench, "W_o")) return false;
  const Words where = bench.where_of(group);
  const bool gradients = !bench.trace.gradients.empty();
  report.verdict.notes.push_back({"not checked: " + where.en + (gradients ? " and the gradients" : "") +
                                      "; no dot product gives these numbers, and the parameters of another score "
                                      "(W_a, U_a, v_a) are missing",
                                  "没有检查" + where.zh + (gradients ? "和梯度" : "") +
                                      "：点积得不到这些数值，而其他打分函数的参数（W_a、U_a、v_a）缺失"});
  report.verdict.claim_is_open = true;
  report.forward_is_open = true;
  report.nothing_is_open(group);
  return true;
}

}  // namespace

void unknown(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& tried) {
  if (differs_by_rounding(bench, report, group, tried)) return;
  if (left_without_its_score(bench, report, group)) return;
  double best = infinite;
  for (const Scored& s : tried) best = std::min(best, s.residual);
  report.named_unknown = true;
  report.verdict.checked = true;
  report.verdict.agreement = std::max(report.verdict.agreement, best);
  Finding f;
  f.code = "UNKNOWN";
  f.where = bench.where_of(group);
  const auto [kind, seen] = kind_from_invariants(bench, group, tried);
  f.kind = kind;
  if (group.stages[0] == Stage::run && group.outputs.size() > 1 && bench.agrees_on("h", group, tried))
    f.where = {"the final states (h_n, c_n)", "最终状态（h_n、c_n）"};
  f.sentence = {"no known convention or mistake gives these numbers" + seen.en,
                "没有已知的约定或错误能得到这些数值" + seen.zh};
  f.fix = {"compare " + f.where.en + " with the formula of the paper, term by term",
           "逐项对照论文公式检查" + f.where.zh};
  f.test = "CHECK(check_reference(decoder, inputs, claimed).passed);";
  report.verdict.findings.push_back(f);
  const Words limit = {
      "the search reached its limit: some pairs of mistakes, or mistakes in single terms, were not tried",
      "搜索达到了上限：有些成对的错误，或单个项中的错误，没有试过"};
  const auto said = [&](const Words& note) { return note.en == limit.en; };
  if (bench.ended_early && std::none_of(report.verdict.notes.begin(), report.verdict.notes.end(), said))
    report.verdict.notes.push_back(limit);
  report.nothing_is_open(group);  // what fits nowhere is no fault of the input
}

void nothing_fits(const Bench& bench, Report& report, const Group& group) {
  if (left_without_its_score(bench, report, group)) return;
  const Words where = bench.where_of(group);
  const bool reads_input = std::any_of(group.stages.begin(), group.stages.end(), [](Stage s) {
    return s == Stage::cell || s == Stage::attentional || s == Stage::readout;
  });
  if (bench.trace.kind == TraceKind::decoder && reads_input && !bench.there("y_emb")) {
    report.verdict.notes.push_back({where.en + " cannot be checked: y_emb (B, T_dec, d_emb) is missing",
                                    where.zh + " 无法核对：缺少 y_emb (B, T_dec, d_emb)"});
    return;
  }
  report.verdict.checked = true;
  report.named_unknown = true;
  Finding f;
  f.code = "UNKNOWN";
  f.kind = Kind::shape;
  f.where = where;
  f.sentence = {"no way of joining the given arrays has the sizes that the parameters need",
                "给出的数组无论怎样拼接，都与参数的尺寸不符"};
  f.fix = {"compare the shapes of the parameters with what they multiply", "核对参数与其所乘向量的形状"};
  f.test = "CHECK(W.shape() == Shape{d_out, d_in});";
  report.verdict.findings.push_back(f);
}

}  // namespace gradus::diagnosis
