// The order of the search: which stages can be checked, which hypotheses agree, and what is tried where none does.
#include "nn/conventions/diagnosis.h"

#include <algorithm>
#include <cctype>
#include <new>
#include <stdexcept>

#include "nn/conventions/diagnosis_bench.h"
#include "nn/conventions/diagnosis_gradients.h"
#include "nn/conventions/diagnosis_groups.h"
#include "nn/conventions/diagnosis_holes.h"
#include "nn/conventions/diagnosis_precision.h"
#include "nn/conventions/diagnosis_report.h"
#include "nn/conventions/diagnosis_rows.h"
#include "nn/conventions/diagnosis_runs.h"
#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/diagnosis_terms.h"
#include "nn/conventions/diagnosis_unknown.h"
#include "nn/conventions/diagnosis_unwritten.h"
#include "nn/conventions/diagnosis_weights.h"
#include "nn/conventions/diagnosis_weights_alone.h"
#include "nn/conventions/formulas.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// A formula on the trace's own logits. Which targets are padding is known only if they are negative or y_mask says it.
void look_at_loss(const Bench& bench, Report& report) {
  if (!bench.there("logits") || !bench.there("targets") || !bench.there("loss")) return;
  Trace alone;
  alone.meta.topic = "cross_entropy", alone.single = bench.single;
  for (const char* name : {"logits", "targets", "loss"}) alone.arrays[name] = get(bench.given, name);
  if (bench.there("y_mask")) alone.arrays["mask"] = get(bench.given, "y_mask");
  const Verdict loss = diagnose_formula(alone, "");
  const Vec& targets = get(bench.given, "targets").data;
  const bool pads_known =
      bench.there("y_mask") || std::any_of(targets.begin(), targets.end(), [](double x) { return x < 0; });
  if (loss.find("UNKNOWN") && bench.half != Half::none) {
    report.verdict.notes.push_back({"the loss is not checked: its logits or itself are of half precision",
                                    "没有检查 loss：它自身或 logits 是半精度"});
    return;
  }
  if (loss.find("UNKNOWN") && !pads_known) {
    report.verdict.notes.push_back({"no known cross-entropy gives this loss; if some targets are padding, dump y_mask",
                                    "没有已知的交叉熵能得到这个 loss；若部分目标是填充，请另存 y_mask"});
    return;
  }
  report.verdict.findings.insert(report.verdict.findings.end(), loss.findings.begin(), loss.findings.end());
  report.verdict.open.insert(report.verdict.open.end(), loss.open.begin(), loss.open.end());
  report.verdict.choices.insert(report.verdict.choices.end(), loss.choices.begin(), loss.choices.end());
  if (loss.follows.empty()) return;
  report.follow({"the loss is the " + loss.follows.en, "损失" + loss.follows.zh});
}

// Where the file has a decoder's first state beside all of them, the steps must have started from it.
void look_at_the_start(const Bench& bench, Report& report) {
  for (const auto& [states, start] : {std::pair("s", "s_0"), std::pair("m", "cell_0")}) {
    if (!bench.there(states) || !bench.trace.read.count(start)) continue;
    const Array &all = get(bench.given, states), &wanted = get(bench.given, start);
    Array first(wanted.shape);
    for (std::size_t b = 0; b < wanted.dim(0); ++b) first.set_row({b}, all.row({b, 0}));
    // Another array is another one altogether; what is off by less may have been rounded, to half precision at worst.
    if (difference(first, wanted) < 0.05) continue;
    const bool zeros = std::all_of(first.data.begin(), first.data.end(), [](double x) { return x == 0; });
    const std::string s = states, s_0 = start;
    Finding f;
    f.code = "START_NOT_TAKEN", f.kind = Kind::data;
    f.where = {"the state before the first step (" + s + "[:, 0])", "第一步之前的状态（" + s + "[:, 0]）"};
    f.sentence = {"the steps start from " + s + "[:, 0], which is " + (zeros ? "0" : "another array than " + s_0) +
                      ": " + s_0 + " is never read",
                  "各步从 " + s + "[:, 0] 开始，它" + (zeros ? "是 0" : "不是 " + s_0) + "：从未读取 " + s_0};
    f.used = zeros ? Text(s + "[:, 0] = 0") : Text(s + "[:, 0] = other numbers", s + "[:, 0] = 别的数");
    f.paper = s + "[:, 0] = " + s_0;
    f.fix = {"put " + s_0 + " into " + s + "[:, 0] before the first step",
             "第一步之前把 " + s_0 + " 放进 " + s + "[:, 0]"};
    f.test = "CHECK(" + s + "[:, 0] == " + s_0 + ");";
    report.verdict.findings.push_back(f);
  }
}

// A trace without weights, contexts or parameters of a score may come from a decoder without attention, or show nothing
// of it. Then nothing between the encoder states and the outputs has to be searched.
bool find_without_attention(Bench& bench, Report& report, const Group& group) {
  const auto has_stage = [&](Stage s) {
    return std::find(group.stages.begin(), group.stages.end(), s) != group.stages.end();
  };
  if (bench.trace.kind != TraceKind::decoder || !has_stage(Stage::context)) return false;
  for (const char* name : {"e", "alpha", "c", "htilde", "W_a", "U_a", "v_a", "W_c"})
    if (bench.there(name)) return false;
  Group bare{{}, group.outputs, {}};
  for (Stage stage : {Stage::cell, Stage::readout})
    if (has_stage(stage)) bare.stages.push_back(stage);
  if (bare.stages.empty()) return false;
  bare.fields = fields_of(bench, bare.stages);
  bench.choose_what_is_seen();
  std::vector<Scored> scored;
  for (const Hypothesis& h : bench.combinations(bare)) scored.push_back({h, bench.residual(bare, h)});
  const std::vector<Scored> hits = bench.matching(bare, scored);
  if (hits.empty()) return false;
  report.settle(bare, hits, scored);
  return true;
}

// A decoder of several layers, all but the top one of which start from states that are not in the file.
bool lower_starts_are_missing(const Bench& bench, const Group& group) {
  const bool cell = std::find(group.stages.begin(), group.stages.end(), Stage::cell) != group.stages.end();
  return cell && bench.trace.kind == TraceKind::decoder && bench.trace.layers > 1 && !bench.there("s_0_l0");
}

void find(Bench& bench, Report& report, Terms& terms, const Group& group) {
  bench.choose_what_is_seen();
  bench.misfits = 0;
  bench.ended_early = false;
  const std::size_t before = bench.tried;
  const std::size_t budget = bench.budget_for(group, bench.seen),
                    most_attempts = bench.attempts + 2 * bench.options.most;
  // By how much of the claim they break: where some agree, those that break more of it are not looked at.
  std::map<std::size_t, std::vector<Scored>> by_violations;
  for (const Hypothesis& h : bench.combinations(group))
    by_violations[bench.trouble(group, h).violations].push_back({h, infinite});
  std::vector<Scored> level0, hits;
  for (auto& [violations, models] : by_violations) {
    constexpr std::size_t many = 4000;
    if (violations > 1 && level0.size() > many) break;
    for (Scored& s : models) s.residual = bench.residual_at_once(group, s.hypothesis);
    level0.insert(level0.end(), models.begin(), models.end());
    if (hits = bench.matching(group, level0); !hits.empty()) break;
  }
  const auto list = bench.deviations(group);
  std::vector<Scored> tried = level0;
  std::vector<Scored> level1;
  for (auto& [violations, models] : by_violations) {
    if (!hits.empty()) break;
    // Beside one mistake, what was meant comes closer than most: if there are very many, the rest is not looked at.
    std::stable_sort(models.begin(), models.end(),
                     [](const Scored& x, const Scored& y) { return x.residual < y.residual; });
    for (const Scored& s : models)
      for (const auto& [field, k] : list) {
        if (level1.size() >= budget || bench.attempts >= most_attempts) {
          bench.ended_early = true;
          break;
        }
        Hypothesis next = s.hypothesis;
        next[field] = k;
        const double r = bench.residual_at_once(group, next);
        if (r < infinite) level1.push_back({next, r, bench.states});
      }
    hits = bench.matching(group, level1);
  }
  // Reading on over the padding harms nothing where no final state is.
  if (!level1.empty() && !hits.empty() && !holds_final_states(bench) &&
      right_but_behind_the_end(bench, report, group, level0))
    return find(bench, report, terms, group);
  tried.insert(tried.end(), level1.begin(), level1.end());
  if (hits.empty() && bench.holes) return unknown(bench, report, group, tried);
  if (hits.empty() && found_in_half_precision(bench, report, group, level0, level1)) return;
  if (hits.empty()) {
    const std::vector<Scored> over_padding = beside_read_padding(bench, group, level0, most_attempts);
    hits = bench.matching(group, over_padding);
    tried.insert(tried.end(), over_padding.begin(), over_padding.end());
    if (!hits.empty() && !holds_final_states(bench))
      if (auto without = found_without_padding(bench, report, group, tried); !without.empty())
        hits = std::move(without);
  }
  for (const auto* some : {&level0, &level1})
    if (hits.empty() && explained_by_final_states(bench, report, group, *some)) return;
  if (hits.empty() && explained_by_one_layer(bench, report, group, level0)) return;
  if (hits.empty() && explained_between_layers(bench, report, group, level1)) return;
  if (hits.empty() && explained_by_mask(bench, report, group, level0)) return;
  if (hits.empty() && right_but_behind_the_end(bench, report, group, level0)) return find(bench, report, terms, group);
  if (hits.empty()) hits = found_without_padding(bench, report, group, tried);
  if (hits.empty() && outputs_are_right(bench, group, level0)) return unknown(bench, report, group, tried);
  if (hits.empty() && explained_by_outputs(bench, report, group, level0)) return;
  if (hits.empty() && explained_by_weights(bench, report, group, level0)) return;
  if (hits.empty() && explained_by_rows(bench, report, group, level0)) return;
  if (hits.empty() && explained_by_blocks(bench, report, group, level0)) return;
  terms.right_inside = false;
  if (hits.empty() && terms.explained(group, level0, {.plain = true, .claim_kept = true})) return;
  if (hits.empty() && terms.right_inside && bench.trace.kind == TraceKind::recurrent)
    return unknown(bench, report, group, tried);
  if (hits.empty()) {
    std::vector<Scored> level2;
    constexpr std::size_t most_work = 10'000'000;
    const std::size_t until = bench.work + most_work / bench.searches;
    // The most plausible combinations first: what the claim keeps, then what already comes close.
    std::vector<Scored> order = level0;
    sort_by(order, [&](const Scored& a) { return bench.trouble(group, a.hypothesis); });
    const auto spent = [&] { return bench.work >= until || bench.attempts >= most_attempts; };
    for (const Scored& base : order)
      for (std::size_t p = 0; p < list.size() && !spent(); ++p)
        for (std::size_t q = 0; q < p && !spent(); ++q) {
          if (list[p].first == list[q].first) continue;
          Hypothesis next = base.hypothesis;
          next[list[p].first] = list[p].second;
          next[list[q].first] = list[q].second;
          const double r = bench.residual_at_once(group, next);
          if (r < infinite) level2.push_back({next, r});
        }
    bench.ended_early = bench.ended_early || spent();
    hits = bench.matching(group, level2);
    tried.insert(tried.end(), level2.begin(), level2.end());
  }
  // A model that breaks the claim is a second mistake beside the one that the grammar finds.
  for (const Terms::Searched& searched :
       {Terms::Searched{.plain = false, .claim_kept = true}, Terms::Searched{true, false}})
    if (hits.empty() && terms.explained(group, level0, searched)) return;
  if (hits.empty() && terms.explained_beside_another(group, level1)) return;
  if (hits.empty() && terms.explained(group, level0, {.plain = false, .claim_kept = false})) return;
  if (hits.empty() && terms.explained(group, level0, {.misread = true})) return;
  if (hits.empty()) {
    if (lower_starts_are_missing(bench, group)) report.say_lower_starts_are_missing();
    else if (bench.misfits == bench.tried - before) nothing_fits(bench, report, group);
    else unknown(bench, report, group, tried);
    return;
  }
  report.settle(group, hits, tried);
}

// Outputs whose stage no group compares, of those where models differ in what they read and in which order.
std::set<std::string> guessed_outputs(const Bench& bench, const std::vector<Group>& groups) {
  std::set<std::string> names;
  if (bench.trace.kind == TraceKind::multi_head && !bench.there("output")) names.insert("output");
  if (bench.trace.kind != TraceKind::decoder) return names;
  for (Stage stage : {Stage::cell, Stage::attentional, Stage::readout})
    if (std::none_of(groups.begin(), groups.end(),
                     [&](const Group& g) { return std::count(g.stages.begin(), g.stages.end(), stage) > 0; }))
      names.insert(output_of(stage));
  return names;
}

Verdict judge(const Trace& trace, const Options& options) {
  Bench bench(trace, options);
  Report report(bench);
  if (trace.kind == TraceKind::formula) return diagnose_formula(trace, report.verdict.claim);
  report.say_subject();
  Terms terms(bench, report);
  const std::vector<Group> groups = groups_of(bench);
  for (const Group& group : groups)
    if (!find_without_attention(bench, report, group)) find(bench, report, terms, group);
  report.list_what_is_open();
  report.say_what_is_not_checked(groups);
  if (trace.kind == TraceKind::decoder)
    look_at_the_start(bench, report), look_at_weights(bench, report), look_at_loss(bench, report);
  report.conclude();
  if (options.gradients && !trace.gradients.empty() && !report.named_unknown && !report.forward_differs &&
      !report.forward_is_open) {
    report.tell_by_gradients();
    check_gradients(trace, bench.model(), bench.single, guessed_outputs(bench, groups), report.verdict);
  }
  return std::move(report.verdict);
}

// Of two verdicts on one trace the one that has less to say against it; what has no name weighs most.
std::size_t weight(const Verdict& v) {
  std::size_t sum = 0;
  for (const Finding& f : v.findings) sum += !f.error ? 0 : f.code == "UNKNOWN" ? 10 : 1;
  return sum;
}

// Where neither the weights nor the owner says how many heads there are, a mistake may be known by the right number
// alone: each that divides the width of W_Q is tried, until one leaves nothing without a name.
Verdict with_other_heads(const Trace& trace, const Options& options, Verdict verdict) {
  const std::vector<std::size_t> possible = Bench::possible_heads(get(trace.arrays, "W_Q").dim(0));
  Options among = options;
  among.searches = possible.size();
  for (std::size_t heads : possible) {
    if (heads == 1 || !verdict.find("UNKNOWN")) continue;
    Trace other = trace;
    other.meta.heads = heads, other.heads_known = true;
    Verdict v = judge(other, among);
    v.tried += verdict.tried, v.work += verdict.work;
    const std::string n = std::to_string(heads);
    v.notes.push_back({"the number of heads is not in the file: with " + n + " the numbers are explained",
                       "文件中没有头数：按 " + n + " 个头能够解释这些数值"});
    if (v.find("UNKNOWN")) verdict.tried = v.tried, verdict.work = v.work;
    else verdict = std::move(v);
  }
  return verdict;
}

Verdict diagnosed(const Trace& trace, const Options& options) {
  Verdict verdict = judge(trace, options);
  if (verdict.exit_status() != 1) return verdict;
  const bool unknown = verdict.find("UNKNOWN");  // some mistakes are known by the NaN that they make
  if (const std::optional<Holes> holes = unknown ? find_holes(trace) : std::nullopt) {
    Verdict rest = judge(holes->rest, options);
    rest.findings.insert(rest.findings.begin(), holes->first);
    rest.notes.push_back({holes->aside.en + ", because of such numbers; all else is said of the rest",
                          "因含非有限数，" + holes->aside.zh + "；其余结论针对剩下的部分"});
    rest.checked = true, rest.agreement = infinite;
    return rest;
  }
  if (unknown && !trace.heads_known && trace.meta.heads == 1) verdict = with_other_heads(trace, options, verdict);
  for (const Unwritten& gap : without_the_unwritten(trace)) {
    Verdict rest = judge(gap.rest, options);
    if (!rest.checked || weight(rest) + 1 >= weight(verdict)) continue;
    rest.findings.insert(rest.findings.begin(), gap.finding);
    rest.tried += verdict.tried, rest.work += verdict.work;
    const bool explains_all = weight(rest) <= 1;  // what was not written, and nothing else
    verdict = std::move(rest);
    if (explains_all) break;
  }
  return verdict;
}

// Whether a parameter stands in a formula: alone, or the rows of one gate of it, as U_n of U and b_un of b_u.
bool stands_in(const std::string& text, const std::string& name) {
  const auto part_of_word = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; ++at) {
    if (at > 0 && part_of_word(at - 1)) continue;
    if (name == "b" && (at < 2 || text.compare(at - 2, 2, "+ ") != 0) && !part_of_word(at + 1)) continue;  // example b
    std::size_t end = at + name.size();
    if (!part_of_word(end)) return true;
    if (text[end] == '_') ++end;
    if (std::string("rznifgo").find(text[end]) != std::string::npos && !part_of_word(end + 1)) return true;
  }
  return false;
}

// What the formulas call W is weight_ih_l0 in a file of PyTorch's.
void say_the_names(const Trace& trace, Verdict& verdict) {
  std::string en, zh;
  for (const auto& [name, file] : trace.read) {
    const bool backward = name.find("_reverse") != name.npos;
    const bool parameter = name[0] == 'W' || name[0] == 'U' || name[0] == 'b' || name[0] == 'v';
    const auto is_in = [n = name.substr(0, name.find("_reverse")), backward](const Finding& f) {
      const bool of_backward = f.sentence.en.find("backward direction") != f.sentence.en.npos;
      return f.error && of_backward == backward &&
             (stands_in(f.sentence.en, n) || stands_in(f.used.en, n) || stands_in(f.paper.en, n) ||
              stands_in(f.fix.en, n));
    };
    if (!parameter || name == file || std::none_of(verdict.findings.begin(), verdict.findings.end(), is_in)) continue;
    const std::string shown = name.substr(0, name.find("_reverse"));  // as the formulas of that direction call it
    en += (en.empty() ? "" : ", ") + shown + " is " + file;
    zh += (zh.empty() ? "" : "，") + shown + " 即 " + file;
  }
  if (!en.empty()) verdict.notes.push_back({"in the file " + en, "文件中 " + zh});
}

// Options are shared by all kinds of trace, and their tests speak of a decoder.
void say_what_is_tested(TraceKind kind, Verdict& verdict) {
  const std::string any = "check_reference(decoder", what = kind == TraceKind::recurrent ? "check_reference(cell"
                                                            : kind == TraceKind::multi_head
                                                                ? "check_reference(attention"
                                                                : any;
  for (Finding& f : verdict.findings)
    for (std::string* test : {&f.test.en, &f.test.zh})
      if (const std::size_t at = test->find(any); at != test->npos) test->replace(at, any.size(), what);
}

// Arrays of which no shape tells how they lie are read the other way round, too: what explains more is meant.
Verdict read_either_way(const Trace& trace, const Options& options) {
  Verdict verdict = diagnosed(trace, options);
  for (const auto& [name, turned] : trace.turned) {
    if (verdict.exit_status() != 1) break;
    Trace other = trace;
    other.arrays[name] = turned;
    Verdict v = diagnosed(other, options);
    v.tried += verdict.tried, v.work += verdict.work;
    if (weight(v) >= weight(verdict)) continue;
    verdict = std::move(v);
    verdict.notes.push_back({name +
                                 " is read with its axes the other way round: there are as many examples as steps, and "
                                 "so the numbers are explained",
                             "样本数与步数相同，" + name + " 按交换两轴读取：这样才能解释这些数值"});
  }
  return verdict;
}

}  // namespace

Verdict diagnose(const Trace& trace, const Options& options) {
  const std::string said = options.claim.empty() ? trace.meta.claims : options.claim;
  const std::vector<std::string> meant = claims_of_framework(said, trace.arrays, trace.meta.linear_before_reset);
  Options first = options;
  first.claim = meant[0];
  Verdict verdict = read_either_way(trace, first);
  for (std::size_t k = 1; k < meant.size() && weight(verdict); ++k) {
    Options other = options;
    other.claim = meant[k];
    Verdict v = read_either_way(trace, other);
    v.tried += verdict.tried, v.work += verdict.work;
    if (weight(v) < weight(verdict)) verdict = std::move(v);
  }
  // Which of a framework's kinds of reset gate is meant is no question where there is none.
  if (verdict.claim != said && has_gru(trace.arrays)) {
    verdict.notes.insert(verdict.notes.begin(), {"the claim " + said + " is taken for " + verdict.claim,
                                                 "所声称的 " + said + " 按 " + verdict.claim + " 处理"});
  } else {
    verdict.claim = said;
  }
  say_the_names(trace, verdict);
  say_what_is_tested(trace.kind, verdict);
  return verdict;
}

Answer diagnose_file(const std::string& path, const std::string& claim, Lang lang, bool json) {
  try {
    Options options;
    options.claim = claim;
    const Verdict verdict = diagnose(read_trace(path), options);
    return {json ? verdict.json() : verdict.text(lang), verdict.exit_status()};
  } catch (const std::bad_alloc&) {
    const Words what("diagnosis: " + path + " needs more memory than there is; dump a smaller batch",
                     path + " 需要的内存超出现有的；请导出更小的批");
    return {what.in(lang) + "\n", 3};
  } catch (const std::exception& error) {
    return {(lang == Lang::zh ? error_in_chinese(error.what()) : error.what()) + "\n", 3};
  }
}

}  // namespace gradus::diagnosis
