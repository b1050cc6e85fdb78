#include "nn/conventions/diagnosis_report.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "nn/conventions/diagnosis_gradients.h"
#include "nn/conventions/expression.h"
#include "nn/conventions/sizes.h"

namespace gradus::diagnosis {

using namespace reference;

Report::Report(Bench& bench) : bench_(bench) {
  verdict.claim = bench.claim ? bench.claim->name : "";
  verdict.notes.insert(verdict.notes.end(), bench.trace.notes.begin(), bench.trace.notes.end());
  if (bench.heads_are_guessed)
    verdict.notes.push_back({"the number of heads is not in the file: 1 is assumed; say \"heads\" in meta.json",
                             "文件没有给出头数：按 1 个头处理；请在 meta.json 里写明 \"heads\""});
}

void Report::follow(const Words& convention) {
  follows_en_.push_back(convention.en), follows_zh_.push_back(convention.zh);
}

void Report::nothing_is_open(const Group& group) {
  for (std::size_t i : group.fields) open_[i].clear();
}

void Report::list_what_is_open() {
  for (const auto& [i, options] : open_)
    if (!options.empty()) verdict.open.push_back({bench_.all[i].name, bench_.all[i].what, bench_.all[i].tell});
}

void Report::tell_by_gradients() {
  // Of what is open only choices without a mistake: one more mistake is not known by gradients that are wrong anyway.
  std::vector<std::pair<std::size_t, int>> others;
  for (const auto& [i, options] : open_)
    for (int k : options)
      if (bench_.option(i, k).level != Level::error && bench_.kept(i, k)) others.emplace_back(i, k);
  constexpr std::size_t most = 12;
  if (others.empty() || others.size() > most || !verdict.code().empty()) return;
  if (gradients_are_right(bench_.trace, bench_.model(), bench_.single)) return;
  for (const auto& [i, k] : others) {
    const int before = std::exchange(bench_.chosen[i], k);
    const bool right = gradients_are_right(bench_.trace, bench_.model(), bench_.single);
    if (!right) {
      bench_.chosen[i] = before;
      continue;
    }
    const Field& field = bench_.all[i];
    const auto is_of_it = [&](const Open& o) { return o.field == field.name; };
    verdict.open.erase(std::remove_if(verdict.open.begin(), verdict.open.end(), is_of_it), verdict.open.end());
    const std::string name = std::string(field.name) + "=";
    for (std::string& choice : verdict.choices)
      if (choice.rfind(name, 0) == 0) choice = name + bench_.option(i, k).id;
    const Words what = bench_.option(i, k).sentence;
    verdict.notes.push_back(
        {"the outputs leave this open, the gradients tell it: " + what.en, "只看输出无法判断，由梯度得知：" + what.zh});
    return;
  }
}

void Report::say_lower_starts_are_missing() {
  forward_differs = verdict.claim_is_open = true;
  verdict.notes.push_back(
      {"not checked: the decoder's cell, which has several layers; from zeros the lower ones do not give these states: "
       "dump where they start, s_0_l0 (cell_0_l0 of an LSTM)",
       "没有检查解码器的循环单元：它有多层，下面各层从零开始算不出这些状态；请另存它们的初始状态 s_0_l0（LSTM 还有 "
       "cell_0_l0）"});
}

void Report::say_padding_is_not_compared() {
  if (bench_.padding_is_other) padding = {{"outputs behind the end are not compared", "序列结束之后的输出不参与比较"}};
}

void Report::adopt(const Group& group, const Hypothesis& h) {
  for (std::size_t i : group.fields)
    if (bench_.chosen[i] <= 0 || h[i] > 0) bench_.chosen[i] = h[i];
  say(group, h, {bench_.codes(group, h)}, {});
  verdict.checked = true, forward_differs = true;
}

void Report::settle(const Group& group, std::vector<Scored> hits, const std::vector<Scored>& tried) {
  // The fewest deviations win; among those, agreement that is exact before agreement that is close.
  std::stable_sort(hits.begin(), hits.end(), [&](const Scored& a, const Scored& b) {
    const bool exact_a = a.residual < bench_.tolerance, exact_b = b.residual < bench_.tolerance;
    if (exact_a != exact_b) return exact_a;
    return bench_.trouble(group, a.hypothesis) < bench_.trouble(group, b.hypothesis);
  });
  const Scored& best = hits.front();
  for (std::size_t i : group.fields)  // what another group saw deviate stays, this one may not show it
    if (bench_.chosen[i] <= 0 || best.hypothesis[i] > 0) bench_.chosen[i] = best.hypothesis[i];
  verdict.checked = true;
  verdict.agreement = std::max(verdict.agreement, best.residual);
  for (const Scored& s : tried)
    if (s.residual >= bench_.apart) verdict.next = std::min(verdict.next, s.residual);

  // Everything that this input cannot tell from the winner.
  std::map<std::size_t, std::set<int>> open;
  const std::set<std::string> named = bench_.codes(group, best.hypothesis);
  std::set<std::set<std::string>> rivals = {named};
  for (const Scored& s : hits) {
    for (std::size_t i : group.fields)
      if (s.hypothesis[i] != best.hypothesis[i]) open[i].insert(s.hypothesis[i]);
    const std::set<std::string> rival = bench_.codes(group, s.hypothesis);
    if (rival.size() <= named.size()) rivals.insert(rival);  // the fewest mistakes win
  }
  // A set of mistakes that contains another agreeing set says nothing more: the rest of it is open.
  for (auto it = rivals.begin(); it != rivals.end();) {
    const bool contains_another = std::any_of(rivals.begin(), rivals.end(), [&](const std::set<std::string>& other) {
      return other != *it && std::includes(it->begin(), it->end(), other.begin(), other.end());
    });
    it = contains_another ? rivals.erase(it) : std::next(it);
  }
  for (std::size_t i : group.fields)
    for (std::size_t k = 0; k < bench_.all[i].options.size(); ++k) {
      if (static_cast<int>(k) == best.hypothesis[i] || best.hypothesis[i] < 0 || bench_.all[i].options[k].fitted)
        continue;
      Hypothesis other = best.hypothesis;
      other[i] = static_cast<int>(k);
      double r = bench_.residual(group, other);
      if (const auto model = r < bench_.apart ? bench_.build(group, other) : std::nullopt)
        r = bench_.residual(group, *model, bench_.given);  // what some examples leave open the others may tell
      if (r < bench_.apart) open[i].insert(static_cast<int>(k));
      else if (r < infinite) verdict.next = std::min(verdict.next, r);
    }
  say(group, best.hypothesis, rivals, open);
}

void Report::say(const Group& group, const Hypothesis& h, const std::set<std::set<std::string>>& rivals,
                 const std::map<std::size_t, std::set<int>>& open) {
  const Words where = bench_.where_of(group);
  // Where neither the query nor the keys show, the score itself was not seen.
  const bool score_unseen =
      std::any_of(open.begin(), open.end(),
                  [&](const auto& o) { return std::string("sees") == bench_.all[o.first].name; }) &&
      std::any_of(open.begin(), open.end(),
                  [&](const auto& o) { return std::string("query") == bench_.all[o.first].name; });
  std::vector<Finding> errors;
  for (std::size_t i : group.fields) {
    if (h[i] < 0) continue;
    const Option& o = bench_.option(i, h[i]);
    const bool unseen = padding && std::string("after_end") == bench_.all[i].name && o.level != Level::error;
    if (unseen) {
      follow(padding->what);
      continue;
    }
    verdict.choices.push_back(std::string(bench_.all[i].name) + "=" + o.id);
    const bool error = o.level == Level::error || !bench_.kept(i, h[i]);
    const bool undecided =
        (open.count(i) && o.level != Level::error) || (score_unseen && std::string("score") == bench_.all[i].name);
    // What the input leaves open is no description of the model, unless it is what the claim says.
    if (std::strlen(o.sentence.en) && o.level != Level::error && !error && !undecided) { follow(o.sentence); }
    // Which way z works is said among the conventions; it is news only where a claim prefers the other way.
    const bool noteworthy = std::string(bench_.all[i].name) != "update";
    const bool note = !error && *o.code && !undecided &&
                      (!bench_.preferred(i, h[i]) || (o.level == Level::benign && h[i] != 0 && noteworthy));
    if (!error && !note) continue;
    Finding f;
    f.code = o.code;
    f.error = error;
    f.kind = o.kind;
    if (o.kind == Kind::gru && std::holds_alternative<LstmConvention>(bench_.base.decoder.cell)) f.kind = Kind::lstm;
    f.where = where;
    f.sentence = sentence_of(o, i, error);
    if (o.fitted) say_the_number(group, h, bench_.all[i].name, f.sentence);
    f.used = o.used;
    f.paper = o.paper;
    if (error || std::string(bench_.all[i].name) != "readout") f.fix = o.fix;  // the formula says what the paper does
    f.test = o.test;
    errors.push_back(f);
  }
  if (rivals.size() > 1 && !rivals.begin()->empty()) name_rivals(errors, rivals, open);
  verdict.findings.insert(verdict.findings.end(), errors.begin(), errors.end());
  // A field may act in several groups: what one of them tells is not open.
  for (std::size_t i : group.fields) {
    const auto here = open.find(i);
    const std::set<int> options = here == open.end() ? std::set<int>{} : here->second;
    const auto [before, first] = open_.emplace(i, options);
    if (!first) std::erase_if(before->second, [&](int k) { return !options.count(k); });
  }
}

void Report::say_the_number(const Group& group, const Hypothesis& h, const std::string& field, Words& w) const {
  const auto model = bench_.build(group, h);
  if (!model || model->estimated.empty()) return;
  const double read = model->estimated[0], inverse = 1 / read;
  const bool small_divisor = field == "scale" && read < 1 && std::fabs(inverse - std::round(inverse)) < 1e-6;
  const double x = small_divisor ? inverse : read;
  const std::string text = print(number(x)),
                    size = as_size(x, bench_.given,
                                   bench_.trace.kind == TraceKind::multi_head ? bench_.base.heads.heads : 0,
                                   bench_.single ? 1e-4 : 1e-7);
  if (field == "scale") w.en += small_divisor ? ": multiplied by" : ": divided by";
  if (field == "scale") w.zh += small_divisor ? "：乘以" : "：除以";
  else w.zh += "：";
  w.en +=
      std::string(field == "scale" ? " " : ": ") + text + (size.empty() || small_divisor ? "" : ", which is " + size);
  w.zh += text + (size.empty() || small_divisor ? "" : "，即 " + size);
}

Words Report::sentence_of(const Option& o, std::size_t i, bool error) const {
  Words w = o.sentence;
  if (error && o.level != Level::error && bench_.claim) {
    const bool gru = std::holds_alternative<GruConvention>(bench_.base.decoder.cell);
    const Said& title = gru || !*bench_.claim->without_gru.en ? bench_.claim->title : bench_.claim->without_gru;
    w.en += "; the claim (" + std::string(title.en) + ") says otherwise";
    w.zh += "；与所声称的（" + std::string(title.zh) + "）不符";
  } else if (error && o.level != Level::error && std::string(bench_.all[i].name) == "gate_order") {
    w.en += " is how the numbers were computed; the names or meta.json say otherwise";
    w.zh += " 才与数值相符；名称或 meta.json 说的不同";
  }
  return w;
}

void Report::name_rivals(std::vector<Finding>& errors, const std::set<std::set<std::string>>& rivals,
                         const std::map<std::size_t, std::set<int>>& open) {
  // What all of them contain is certain and keeps its own finding.
  std::set<std::string> common = *rivals.begin();
  for (const std::set<std::string>& codes : rivals)
    std::erase_if(common, [&](const std::string& code) { return !codes.count(code); });
  std::vector<std::string> names;
  for (std::set<std::string> codes : rivals) {
    for (const std::string& code : common) codes.erase(code);
    std::string name;
    for (const std::string& code : codes) name += (name.empty() ? "" : "+") + code;
    if (!name.empty()) names.push_back(name);
  }
  if (names.size() < 2) return;
  Finding* first = nullptr;
  for (Finding& f : errors)
    if (f.error && !first && !common.count(f.code)) first = &f;
  if (!first) return;
  Finding all = *first;
  std::erase_if(errors, [&](const Finding& f) { return f.error && !common.count(f.code); });
  all.alias = names;
  all.code.clear();
  for (const std::string& name : names) all.code += (all.code.empty() ? "" : "|") + name;
  all.sentence = {"several mistakes give these same numbers", "有几种错误会得到同样的数值"};
  all.used = all.paper = all.test = "";
  all.fix = {"run it once more on an input that tells", "换一个可以区分的输入再运行一次"};
  for (const auto& [i, options] : open) {
    if (!all.tell.en.empty()) all.tell.en += "; ", all.tell.zh += "；";
    all.tell.en += bench_.all[i].tell.en;
    all.tell.zh += bench_.all[i].tell.zh;
  }
  errors.push_back(all);
}

namespace {

void join(Words& list, const Words& one) {
  list.en += (list.en.empty() ? "" : ", ") + one.en, list.zh += (list.zh.empty() ? "" : "、") + one.zh;
}

// "2 digits".
Words digits(double residual) {
  const int n = std::max(1, static_cast<int>(std::floor(-std::log10(residual))));
  const std::string text = std::to_string(n);
  return {text + (n == 1 ? " digit" : " digits"), text + " 位有效数字"};
}

}  // namespace

void Report::say_what_is_not_checked(const std::vector<Group>& groups) {
  if (bench_.trace.kind != TraceKind::decoder || groups.empty()) return;
  struct Needs {
    Stage stage;
    std::vector<const char*> arrays;
  };
  const Needs needs[] = {{Stage::cell, {"W", "U", "y_emb", "s"}},
                         {Stage::weights, {"alpha", "s"}},
                         {Stage::context, {"alpha", "c"}},
                         {Stage::readout, {"W_o", "logits"}}};
  Words list;
  for (const auto& [stage, arrays] : needs) {
    const auto has = [s = stage](const Group& g) { return std::count(g.stages.begin(), g.stages.end(), s) > 0; };
    if (std::any_of(groups.begin(), groups.end(), has)) continue;
    std::string missing;
    for (const char* name : arrays)
      if (!bench_.there(name)) missing += (missing.empty() ? "" : ", ") + std::string(name);
    if (missing.empty()) continue;
    join(list,
         {std::string(name_of(stage).en) + " needs " + missing, std::string(name_of(stage).zh) + "需要 " + missing});
    verdict.claim_is_open = verdict.claim_is_open || stage != Stage::readout;
  }
  if (list.en.empty()) return;
  verdict.notes.push_back({"not checked, as arrays are missing: " + list.en, "因缺少数组而没有检查：" + list.zh});
}

void Report::say_half(const Group& group, double residual) {
  join(half_where_, bench_.where_of(group));
  half_residual_ = std::max(half_residual_, residual);
}

void Report::agrees_to_few_digits(const Group& group, double residual) {
  named_unknown = forward_differs = true;
  verdict.checked = true;
  verdict.agreement = std::max(verdict.agreement, residual);
  const Words n = digits(residual);
  const bool half = residual > 1e-5;
  Finding f;
  f.code = "UNKNOWN";
  f.kind = Kind::numerics;
  f.where = bench_.where_of(group);
  f.sentence = {
      "the numbers agree with " + std::string(bench_.claim ? "the claimed convention" : "a known convention") + " to " +
          n.en + " only, and what is left looks like rounding, as " +
          (half ? "half precision (autocast, float16, bfloat16)" : "float32") +
          " leaves it: no mistake is named on such numbers",
      "数值与" + std::string(bench_.claim ? "所声称的" : "某个已知的") + "约定只有 " + n.zh +
          "一致，其余像是舍入误差，" + (half ? "如同半精度（autocast、float16、bfloat16）" : "如同 float32 ") +
          "所致：这样的数值不足以指出错误"};
  f.fix = half ? Words{"dump once more in float32, without autocast (model.float()), or in float64",
                       "请关闭 autocast，以 float32（model.float()）或 float64 重新导出"}
               : Words{"dump once more with all arrays computed in one precision, best float64",
                       "请以同一精度（最好是 float64）计算并重新导出所有数组"};
  f.test = "CHECK(check_reference(decoder, inputs, claimed).passed);";
  verdict.findings.push_back(f);
  nothing_is_open(group);
}

void Report::say_subject() {
  if (!bench_.trace.behind_the_end.empty()) padding = {bench_.trace.behind_the_end};
  const char* cell = std::holds_alternative<GruConvention>(bench_.base.decoder.cell)    ? "GRU"
                     : std::holds_alternative<LstmConvention>(bench_.base.decoder.cell) ? "LSTM"
                                                                                        : "Elman";
  if (bench_.trace.kind == TraceKind::decoder) {
    verdict.subject = {"decoder with attention", "带注意力的解码器"};
  } else if (bench_.trace.kind == TraceKind::multi_head) {
    verdict.subject = {
        "attention, " + std::to_string(bench_.base.heads.heads) + (bench_.base.heads.heads == 1 ? " head" : " heads"),
        "注意力，" + std::to_string(bench_.base.heads.heads) + " 个头"};
  } else {
    const std::string n = std::to_string(bench_.trace.layers);
    verdict.subject = {std::string(cell) + (bench_.trace.layers > 1 ? ", " + n + " layers" : "") +
                           (bench_.trace.directions > 1 ? ", both directions" : ""),
                       std::string(cell) + (bench_.trace.layers > 1 ? "，" + n + " 层" : "") +
                           (bench_.trace.directions > 1 ? "，双向" : "")};
  }
}

void Report::conclude() {
  verdict.tried += bench_.tried, verdict.work += bench_.work;
  // A query after the step leaves the cell nothing but the context before: one mistake, not two.
  if (verdict.find("ATTN_QUERY_POST_STEP") && verdict.find("ATTN_QUERY_POST_STEP")->error)
    std::erase_if(verdict.findings,
                  [](const Finding& f) { return f.code == "CELL_CONTEXT_LATE" || f.code == "INPUT_FEED_CONTEXT"; });
  // The library's name where the grammar has found the same.
  for (Finding& f : verdict.findings)
    if (f.code == "ATTN_SCORE_FUNCTION_OUTSIDE") {
      f.code = "ENERGY_TANH_OUTSIDE";
      f.sentence = {"the tanh stands around the score, outside v_a, and not around W_a q + U_a h_i",
                    "tanh 包在整个分数外面（v_a 之外），而没有包住 W_a q + U_a h_i"};
      f.fix = {"apply tanh first, then v_a", "先做 tanh，再乘 v_a"};
    }
  note_unused_context();
  if (bench_.single && half_where_.en.empty())
    verdict.notes.insert(verdict.notes.begin(),
                         {"the numbers are float32: agreement is judged at 1e-5, difference at 1e-3",
                          "数值为 float32：以 1e-5 判一致，以 1e-3 判不同"});
  if (!half_where_.en.empty()) {
    const Words n = digits(half_residual_);
    const std::string type = bench_.half == Half::float16 ? "float16" : "bfloat16";
    verdict.notes.push_back({half_where_.en + ": the numbers agree to " + n.en +
                                 " only, as arrays of half precision (" + type +
                                 ") leave it, and are judged so; to be told more, dump in float32 without autocast",
                             half_where_.zh + "：数值只有 " + n.zh + "一致，这是半精度（" + type +
                                 "）数组所能达到的，也按此判断；要更精确的结论，请关闭 autocast 以 float32 导出"});
    if (!bench_.trace.gradients.empty())
      verdict.notes.push_back({"gradients are not checked in half precision", "半精度下不检查梯度"});
    forward_differs = true;  // by its rounding, which differences for a gradient would show
  }
  std::stable_sort(verdict.findings.begin(), verdict.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.error > b.error; });
  for (const Open& o : verdict.open)
    for (const auto& [name, ids] : bench_.claim ? bench_.claim->keeps : FieldOptions{})
      verdict.claim_is_open = verdict.claim_is_open || o.field == name;
  for (std::size_t i = 0; i < follows_en_.size(); ++i) {
    verdict.follows.en += (i ? "; " : "") + follows_en_[i];
    verdict.follows.zh += (i ? "；" : "") + follows_zh_[i];
  }
  if (bench_.trace.kind == TraceKind::decoder && !bench_.claim) name_hybrid();
  for (const std::string& key : bench_.trace.meta.ignored)
    if (key != "made_with")
      verdict.notes.push_back({"meta.json: '" + key +
                                   "' is no key that is read here; these are claims, gate_order, "
                                   "layout, heads, linear_before_reset, topic",
                               "meta.json：没有用到 '" + key +
                                   "'；可用的键是 claims、gate_order、layout、heads、linear_before_reset、topic"});
  for (const std::string& name : bench_.trace.ignored) {
    if (name == "made_with") continue;
    verdict.notes.push_back({"'" + name + "' is no name that is read here", "没有用到名为 '" + name + "' 的数组"});
  }
}

void Report::note_unused_context() {
  if (bench_.trace.kind != TraceKind::decoder || !chose("input=none") || bench_.there("W_c")) return;
  if (!chose("readout=s") && !chose("readout=s,y")) return;
  std::erase_if(verdict.findings, [](const Finding& f) {
    return f.code == "CONTEXT_NOT_IN_CELL" || f.code == "READOUT_WITHOUT_CONTEXT";
  });
  const Option* none = find_option("input", "none");
  std::erase(follows_en_, none->sentence.en), std::erase(follows_zh_, none->sentence.zh);
  const bool computed = bench_.there("alpha") || bench_.there("c") || bench_.there("W_a") || bench_.there("v_a");
  Finding f;
  f.code = "CONTEXT_UNUSED";
  f.error = bench_.claim &&
            (std::string(bench_.claim->name) == "bahdanau2014" || std::string(bench_.claim->name) == "luong2015");
  f.where = {"the decoder's cell (s), the readout (logits)", "解码器循环单元 (s)、输出 (logits)"};
  f.sentence = computed ? Words(
                              "weights are computed, and no context reaches the cell or the readout: in effect "
                              "there is no attention",
                              "算出了权重，但上下文既没有进入循环单元，也没有进入输出：等于没有注意力")
                        : Words("there is no attention: neither the cell nor the readout reads a context",
                                "没有注意力：循环单元与输出都不读上下文");
  f.used = {"s_t = RNN(y_{t-1}, s_{t-1}), logits_t from s_t alone",
            "s_t = RNN(y_{t-1}, s_{t-1})，logits_t 只由 s_t 得到"};
  f.paper = bench_.claim && std::string(bench_.claim->name) == "luong2015"
                ? "s~_t = tanh(W_c [c_t; s_t]), logits = W_o s~_t (Luong et al. 2015, section 3)"
                : "s_t = RNN([y_{t-1}; c_t], s_{t-1}) (Bahdanau et al. 2014, section 3.1)";
  f.fix = {"compute c_t = sum of alpha_{t,i} h_i and join it to the cell's input (Bahdanau) or to s~ (Luong)",
           "计算 c_t = sum alpha_{t,i} h_i，并拼进循环单元的输入（Bahdanau）或 s~（Luong）"};
  f.test = "CHECK(probe_source(decoder, inputs, true).passed);";
  verdict.findings.push_back(f);
}

bool Report::chose(const char* choice) const {
  return std::find(verdict.choices.begin(), verdict.choices.end(), choice) != verdict.choices.end();
}

void Report::name_hybrid() {
  const bool prev = chose("query=s_prev"), now = chose("query=s_t");
  const bool additive = chose("score=additive"),
             luong = chose("score=dot") || chose("score=general") || chose("score=concat") || chose("score=location");
  const bool early = chose("input=c_t");
  if (verdict.find("CONTEXT_UNUSED")) return;
  if (prev && additive && early)
    verdict.notes.push_back({"this is the decoder of Bahdanau et al. 2014", "这是 Bahdanau 2014 的解码器"});
  else if (now && luong && !early)
    verdict.notes.push_back({"this is the decoder of Luong et al. 2015", "这是 Luong 2015 的解码器"});
  else if ((prev && additive) || (now && luong)) {
    const bool known = std::any_of(verdict.choices.begin(), verdict.choices.end(),
                                   [](const std::string& choice) { return choice.starts_with("input="); });
    const std::string whose = prev ? "Bahdanau" : "Luong";
    if (known)
      verdict.notes.push_back(
          {"a hybrid: " + whose + "'s score and query, but the cell " + (early ? "reads" : "does not read") +
               " the context of its own step",
           "混合：打分与查询同 " + whose + "，但循环单元" + (early ? "读" : "不读") + "本步的上下文"});
  } else if (prev || now)
    verdict.notes.push_back({std::string("a hybrid: ") +
                                 (luong      ? "Luong's"
                                  : additive ? "Bahdanau's"
                                             : "another") +
                                 " score queried with " + (prev ? "s_{t-1}, as Bahdanau does" : "s_t, as Luong does"),
                             std::string("混合：") +
                                 (luong      ? "Luong 的"
                                  : additive ? "Bahdanau 的"
                                             : "其他") +
                                 "打分，查询却是 " + (prev ? "s_{t-1}（Bahdanau 的做法）" : "s_t（Luong 的做法）")});
}

}  // namespace gradus::diagnosis
