// The search: which stages can be checked, which hypotheses agree, and what to say about it.
#include "nn/conventions/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "nn/conventions/diagnosis_ends.h"
#include "nn/conventions/diagnosis_gradients.h"
#include "nn/conventions/diagnosis_layers.h"
#include "nn/conventions/diagnosis_masks.h"
#include "nn/conventions/diagnosis_padding.h"
#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/diagnosis_weights.h"
#include "nn/conventions/formulas.h"
#include "nn/conventions/grammar_search.h"
#include "nn/conventions/sizes.h"
#include "nn/conventions/trace_names.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// Stages that are found together because what lies between them is not in the trace.
struct Group {
  std::vector<Stage> stages;
  std::vector<std::string> outputs;  // compared with the trace
  std::vector<std::size_t> fields;   // indices into fields()
};

// One option a field, by index; -1: the field has no option here.
using Hypothesis = std::vector<int>;

struct Scored {
  Hypothesis hypothesis;
  double residual = infinite;
  double states = infinite;  // of h alone, in a run
};

// Sorted by a key that costs something.
template <class KeyOf> void sort_by(std::vector<Scored>& list, KeyOf key_of) {
  using Key = decltype(key_of(list[0]));
  std::vector<std::pair<Key, std::size_t>> order;
  for (std::size_t k = 0; k < list.size(); ++k) order.emplace_back(key_of(list[k]), k);
  std::sort(order.begin(), order.end());  // equal ones as they stood
  std::vector<Scored> sorted;
  for (const auto& [key, k] : order) sorted.push_back(std::move(list[k]));
  list = std::move(sorted);
}

// Largest difference relative to the largest number of the output, or to `scale`; NaN agrees with NaN only.
double difference(const Array& got, const Array& wanted, double scale = 0) {
  if (got.shape != wanted.shape) return infinite;
  double most = 0;
  for (std::size_t i = 0; i < wanted.data.size(); ++i) {
    const double a = got.data[i], b = wanted.data[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (a == b) continue;
      return infinite;
    }
    most = std::max(most, std::fabs(a - b));
    scale = std::max(scale, std::fabs(b));
  }
  if (most == 0) return 0;
  return most / std::max(scale, 1e-300);
}

// Trouble is what a hypothesis would have to admit: the fewest wins.
struct Trouble {
  std::size_t violations = 0, notes = 0;
  friend auto operator<=>(const Trouble&, const Trouble&) = default;
};

class Search {
 public:
  Search(const Trace& trace, const Options& options)
      : trace_(trace),
        options_(options),
        claim_(find_claim(claim_of_framework(claim_said(), trace.arrays, trace.meta.linear_before_reset))),
        all_(fields()) {
    verdict_.claim = claim_ ? claim_->name : "";
    if (const std::string& said = claim_said(); claim_ && said != claim_->name)
      verdict_.notes.push_back({"the claim " + said + " is taken for " + claim_->name,
                                "所声称的 " + said + " 按 " + claim_->name + " 处理"});
    verdict_.notes.insert(verdict_.notes.end(), trace.notes.begin(), trace.notes.end());
    single_ = trace.single || looks_single(trace.arrays);
    tolerance_ = single_ ? 1e-5 : 1e-9;
    apart_ = single_ ? 1e-3 : 1e-4;
    given_ = trace.arrays;
    set_base();
    padding_is_other_ = trace.kind == TraceKind::recurrent && holds_other_numbers(given_, trace.directions);
    judge_options();
  }

  Verdict run() {
    if (trace_.kind == TraceKind::formula) return diagnose_formula(trace_, verdict_.claim);
    say_subject();
    for (const Group& group : groups())
      if (!find_without_attention(group)) find(group);
    for (const auto& [i, options] : open_)
      if (!options.empty()) verdict_.open.push_back({all_[i].name, all_[i].what, all_[i].tell});
    if (trace_.kind == TraceKind::decoder) look_at_weights(), look_at_loss();
    conclude();
    if (options_.gradients && !trace_.gradients.empty() && !named_unknown_ && !forward_differs_) {
      Model model = base_;
      for (std::size_t i = 0; i < all_.size(); ++i)
        if (chosen_[i] >= 0) option(i, chosen_[i]).apply(model, given_);
      check_gradients(trace_, model, single_, verdict_);
    }
    return std::move(verdict_);
  }

 private:
  // Numbers that float32 holds exactly were computed in it, whatever the file says.
  static bool looks_single(const Arrays& arrays) {
    std::size_t fractions = 0;
    for (const auto& [name, a] : arrays)
      for (double x : a.data) {
        if (!std::isfinite(x)) continue;
        if (static_cast<double>(static_cast<float>(x)) != x) return false;
        fractions += x != std::floor(x);
      }
    return fractions > 8;
  }

  // ---- what is there

  const std::string& claim_said() const { return options_.claim.empty() ? trace_.meta.claims : options_.claim; }
  bool there(const char* name) const { return reference::find(given_, name) != nullptr; }

  // Whether the claim, the owner's gate order or the gates' names allow this option, and whether the claim prefers it.
  bool kept(std::size_t field, int k) const { return judged_[field][static_cast<std::size_t>(k)].kept; }
  bool preferred(std::size_t field, int k) const { return judged_[field][static_cast<std::size_t>(k)].preferred; }
  void judge_options() {
    static const FieldOptions none;
    for (const Field& field : all_) {
      judged_.emplace_back();
      for (const Option& o : field.options) {
        Judgement j{allowed(claim_ ? claim_->keeps : none, field.name, o.id),
                    allowed(claim_ ? claim_->prefers : none, field.name, o.id)};
        if (std::string(field.name) == "gate_order" && std::string(o.id) != "one") {
          const std::string& known = trace_.gates_by_name.empty() ? owner_order_ : trace_.gates_by_name;
          if (!known.empty()) j.kept = o.id == known;
        }
        judged_.back().push_back(j);
      }
    }
  }
  static bool allowed(const FieldOptions& lists, const std::string& field, const std::string& id) {
    for (const auto& [name, ids] : lists)
      if (field == name) return std::any_of(ids.begin(), ids.end(), [&](const char* one) { return id == one; });
    return true;
  }

  void set_base() {
    base_.decoder.layers = trace_.layers;
    base_.query_given = trace_.kind == TraceKind::decoder && there("query");
    base_.heads.heads = std::max<std::size_t>(trace_.meta.heads, 1);
    if (const Array* U = reference::find(given_, "U"); U && U->shape.size() == 2 && U->shape[1]) {
      const std::size_t gates = U->shape[0] / U->shape[1];
      if (gates == 3) base_.decoder.cell = GruConvention{};
      else if (gates == 4) base_.decoder.cell = LstmConvention{};
      else base_.decoder.cell = ElmanConvention{};
      owner_order_ = gate_letters(trace_.meta.gate_order, gates);
    }
    if (trace_.kind == TraceKind::multi_head) base_.decoder.attention.score.score = Score::scaled_dot;
    chosen_.assign(all_.size(), -1);
    if (!trace_.heads_known) count_heads();
  }

  // PyTorch averages the weights over the heads, so their number does not show: the first one that fits.
  void count_heads() {
    const std::size_t d = get(given_, "W_Q").dim(0);
    for (std::size_t heads = 1; heads <= d; ++heads)
      for (MaskRead read : {MaskRead::keys, MaskRead::causal}) {
        if (d % heads != 0) continue;
        Model model = base_;
        model.heads.heads = heads;
        model.decoder.attention.mask_read = read;
        const Group whole{{Stage::heads}, {there("output") ? "output" : "alpha"}, {}};
        if (!there(whole.outputs[0].c_str()) || !(residual(whole, model, given_) < tolerance_)) continue;
        base_.heads.heads = heads;
        return;
      }
    verdict_.notes.push_back({"the number of heads is not in the file: 1 is assumed; say \"heads\" in meta.json",
                              "文件没有给出头数：按 1 个头处理；请在 meta.json 里写明 \"heads\""});
  }

  void say_subject() {
    const char* cell = std::holds_alternative<GruConvention>(base_.decoder.cell)    ? "GRU"
                       : std::holds_alternative<LstmConvention>(base_.decoder.cell) ? "LSTM"
                                                                                    : "Elman";
    if (trace_.kind == TraceKind::decoder) {
      verdict_.subject = {"decoder with attention", "带注意力的解码器"};
    } else if (trace_.kind == TraceKind::multi_head) {
      verdict_.subject = {
          "attention, " + std::to_string(base_.heads.heads) + (base_.heads.heads == 1 ? " head" : " heads"),
          "注意力，" + std::to_string(base_.heads.heads) + " 个头"};
    } else {
      const std::string n = std::to_string(trace_.layers);
      verdict_.subject = {
          std::string(cell) + (trace_.layers > 1 ? ", " + n + " layers" : "") +
              (trace_.directions > 1 ? ", both directions" : ""),
          std::string(cell) + (trace_.layers > 1 ? "，" + n + " 层" : "") + (trace_.directions > 1 ? "，双向" : "")};
    }
    if (single_)
      verdict_.notes.push_back({"the numbers are float32: agreement is judged at 1e-5, difference at 1e-3",
                                "数值为 float32：以 1e-5 判一致，以 1e-3 判不同"});
  }

  std::vector<Group> groups() const {
    std::vector<Group> made;
    if (trace_.kind == TraceKind::multi_head) {
      Group g{{Stage::heads}, {}, {}};
      for (const char* name : {"alpha", "output"})
        if (there(name)) g.outputs.push_back(name);
      if (!g.outputs.empty()) made.push_back(g);
    } else if (trace_.kind == TraceKind::recurrent) {
      Group g{{Stage::run}, {}, {}};
      for (const char* name : {"h", "h_n", "c_n"})
        if (there(name)) g.outputs.push_back(name);
      if (!g.outputs.empty()) made.push_back(g);
      if (there("start") && trace_.directions == 2) made.push_back({{Stage::ends}, {"start"}, {}});
    } else {
      made = decoder_groups();
    }
    for (Group& g : made)
      for (std::size_t i = 0; i < all_.size(); ++i)
        for (Stage stage : g.stages)
          if (std::find(all_[i].stages.begin(), all_[i].stages.end(), stage) != all_[i].stages.end() &&
              std::find(g.fields.begin(), g.fields.end(), i) == g.fields.end())
            g.fields.push_back(i);
    return made;
  }

  std::vector<Group> decoder_groups() const {
    const bool states = there("s"), cell = there("W") && there("U") && there("y_emb") && (states || there("s_0"));
    std::map<Stage, bool> active;
    const bool queries = states || there("query") || cell;
    active[Stage::score] = active[Stage::weights] = queries || there("e");
    active[Stage::context] = active[Stage::weights] || there("alpha");
    active[Stage::cell] = cell;
    active[Stage::attentional] = there("W_c") && (states || cell);
    active[Stage::readout] = there("W_o") && (states || cell);
    if (!queries) active[Stage::score] = false;
    const Stage stages[] = {Stage::cell,    Stage::score,       Stage::weights,
                            Stage::context, Stage::attentional, Stage::readout};
    const std::map<Stage, std::vector<Stage>> readers = {
        {Stage::score, {Stage::weights}},
        {Stage::weights, {Stage::context}},
        {Stage::context, {Stage::cell, Stage::attentional, Stage::readout}},
        {Stage::cell, {Stage::score, Stage::attentional, Stage::readout}},
        {Stage::attentional, {Stage::cell, Stage::readout}},
        {Stage::readout, {}}};
    std::map<Stage, Stage> root;
    for (Stage s : stages) root[s] = s;
    const std::function<Stage(Stage)> top = [&](Stage s) { return root[s] == s ? s : top(root[s]); };
    for (Stage s : stages) {
      if (!active[s] || there(output_of(s))) continue;
      for (Stage reader : readers.at(s))
        if (active[reader]) root[top(reader)] = top(s);
    }
    std::vector<Group> made;
    for (Stage s : stages) {
      if (!active[s]) continue;
      auto same = std::find_if(made.begin(), made.end(), [&](const Group& g) { return top(g.stages[0]) == top(s); });
      if (same == made.end()) made.push_back({{s}, {}, {}}), same = made.end() - 1;
      else same->stages.push_back(s);
      if (there(output_of(s))) same->outputs.push_back(output_of(s));
    }
    for (Group& g : made)
      if (is_lstm(base_) && there("m") && std::count(g.outputs.begin(), g.outputs.end(), "s")) g.outputs.push_back("m");
    std::erase_if(made, [](const Group& g) { return g.outputs.empty(); });
    if (there("W_s") && there("s_0")) made.push_back({{Stage::start}, {"s_0"}, {}});
    return made;
  }

  // ---- hypotheses of a group

  std::optional<Model> build(const Group& group, const Hypothesis& h) const {
    Model model = base_;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool own = std::find(group.fields.begin(), group.fields.end(), i) != group.fields.end();
      const int option = own ? h[i] : chosen_[i];
      if (option < 0) continue;
      try {
        if (!all_[i].options[static_cast<std::size_t>(option)].apply(model, given_)) return std::nullopt;
      } catch (const std::invalid_argument&) {
        return std::nullopt;  // the option asks for an array that is not there or has another shape
      }
    }
    return model;
  }

  double residual(const Group& group, const Hypothesis& h) {
    ++attempts_;
    const std::optional<Model> model = build(group, h);
    if (!model) return infinite;
    ++verdict_.tried;
    return residual(group, *model, whole_batch(*model) ? given_ : seen_);
  }

  // Of one of very many: what differs at the first steps of one example is not looked at any further.
  double residual_at_once(const Group& group, const Hypothesis& h) {
    constexpr double far = 1e-2;
    if (first_.empty()) return residual(group, h);
    ++attempts_;
    const std::optional<Model> model = build(group, h);
    if (!model) return infinite;
    ++verdict_.tried;
    if (whole_batch(*model)) return residual(group, *model, given_);
    const double r = residual(group, *model, first_);
    return r >= far ? r : residual(group, *model, seen_);
  }

  double residual(const Group& group, const Model& model, const Arrays& on) {
    verdict_.work += work_of(group, on);
    states_ = infinite;
    try {
      const Arrays got = stage_outputs(model, on, group.stages);
      double most = 0;
      for (const std::string& name : group.outputs) {
        const Array* a = reference::find(got, name);
        const double r = a ? difference(*a, get(on, name), scale_of(name)) : infinite;
        if (name == "h") states_ = r;
        most = std::max(most, r);
      }
      return most;
    } catch (const std::invalid_argument&) {
      ++misfits_;
      return infinite;  // shapes that do not go with this hypothesis, or an array that is not there
    }
  }

  // The largest number of an array of the trace.
  double scale_of(const std::string& name) {
    double& scale = scales_[name];
    if (scale == 0)
      for (double x : get(given_, name).data)
        if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
    return scale;
  }

  // Hypotheses that mix examples or steps must see all of them.
  static bool whole_batch(const Model& m) {
    const AttentionConvention& a = m.decoder.attention;
    const auto elsewhere = [](MemoryRead read) { return read != MemoryRead::own && read != MemoryRead::time_reversed; };
    return (a.axis != SoftmaxAxis::keys && a.axis != SoftmaxAxis::singleton) || elsewhere(a.keys) ||
           elsewhere(a.values) || a.mask_read == MaskRead::next_example || a.mask_read == MaskRead::previous_example ||
           a.mask_read == MaskRead::longest_first || a.mask_read == MaskRead::shortest_first ||
           elsewhere(m.query_read) || m.first_state >= FirstState::next_example || !m.dropped.shape.empty() ||
           m.run.over_the_batch || m.both.merge == Merge::reshaped || m.both.merge == Merge::reshaped_example ||
           m.heads.mask == HeadMask::tiled;
  }

  // A large decoder is searched on a few rows and steps; what agrees there is checked on all of it.
  void choose_what_is_seen() {
    seen_ = given_;
    first_.clear();
    if (trace_.kind == TraceKind::recurrent) {
      const Array& x = get(given_, "x");
      const std::size_t B = x.dim(0), row = telling_row();
      if (B > 1) first_ = part_of_run({row});
      if (B > 2 && B * x.dim(1) > 30) seen_ = part_of_run({row, row ? 0 : B - 1});
    }
    if (trace_.kind != TraceKind::decoder || !there("s")) return;
    const Array& s = get(given_, "s");
    const std::size_t B = s.dim(0), T = s.dim(1) - 1;
    if (B * T > 2) first_ = part_of_decoder({0}, std::min<std::size_t>(T, 2));
    if (B * T <= 12) return;
    std::vector<std::size_t> rows = {0};
    if (const Array* mask = reference::find(given_, "mask")) {
      std::size_t shortest = 0, least = std::numeric_limits<std::size_t>::max();
      for (std::size_t b = 0; b < B; ++b) {
        std::size_t n = 0;
        for (double x : mask->row({b})) n += x != 0;
        if (n < least) least = n, shortest = b;
      }
      if (shortest) rows.push_back(shortest);
    }
    if (rows.size() == 1 && B > 1) rows.push_back(B - 1);
    seen_ = part_of_decoder(rows, std::min<std::size_t>(T, 4));
  }

  Arrays part_of_decoder(const std::vector<std::size_t>& rows, std::size_t steps) const {
    static const std::set<std::string> by_step = {"e", "alpha", "c", "htilde", "logits", "query", "y_mask"};
    static const std::set<std::string> by_row = {"H", "mask", "s_0", "cell_0", "y_emb"};  // inputs of later steps, too
    Arrays part = given_;
    for (auto& [name, a] : part) {
      const bool state = name == "s" || name == "m";
      if (!by_step.count(name) && !by_row.count(name) && !state) continue;
      Array cut;
      cut.shape = a.shape;
      cut.shape[0] = rows.size();
      const std::size_t per_row = a.data.size() / a.shape[0];
      std::size_t kept = per_row;
      if (!by_row.count(name)) {
        cut.shape[1] = steps + (state ? 1 : 0);
        kept = per_row / a.shape[1] * cut.shape[1];
      }
      for (std::size_t b : rows) {
        const auto start = a.data.begin() + static_cast<std::ptrdiff_t>(b * per_row);
        cut.data.insert(cut.data.end(), start, start + static_cast<std::ptrdiff_t>(kept));
      }
      a = cut;
    }
    return part;
  }

  // The example of a run that is longest among those with padding, or else the first.
  std::size_t telling_row() const {
    std::size_t row = 0, longest = 0;
    const Array* mask = reference::find(given_, "mask");
    for (std::size_t b = 0; mask && b < mask->dim(0); ++b) {
      std::size_t n = 0;
      for (double x : mask->row({b})) n += x != 0;
      if (n < mask->dim(1) && n > longest) longest = n, row = b;
    }
    return row;
  }

  Arrays part_of_run(const std::vector<std::size_t>& rows) const {
    const std::size_t B = get(given_, "x").dim(0);
    static const std::set<std::string> by_row = {"x", "h", "mask", "start"}, by_layer = {"h0", "c0", "h_n", "c_n"};
    Arrays part = given_;
    for (auto& [name, a] : part) {
      const bool layers = by_layer.count(name) != 0;
      if (!by_row.count(name) && !layers) continue;
      const std::size_t outer = layers ? a.dim(0) : 1, n = a.data.size() / (outer * B);
      Array cut;
      cut.shape = a.shape, cut.shape[layers ? 1 : 0] = rows.size();
      for (std::size_t k = 0; k < outer; ++k)
        for (std::size_t row : rows) {
          const auto from = a.data.begin() + static_cast<std::ptrdiff_t>((k * B + row) * n);
          cut.data.insert(cut.data.end(), from, from + static_cast<std::ptrdiff_t>(n));
        }
      a = cut;
    }
    return part;
  }

  bool free(const Option& o) const { return o.level != Level::error && !o.rare; }

  Trouble trouble(const Group& group, const Hypothesis& h) const {
    Trouble t;
    for (std::size_t i : group.fields) {
      if (h[i] < 0) continue;
      const Option& o = option(i, h[i]);
      if (o.level == Level::error || !kept(i, h[i])) ++t.violations;
      if (!preferred(i, h[i])) ++t.notes;
      else if (h[i] != 0 && o.level == Level::benign) ++t.notes;
    }
    return t;
  }

  const Option& option(std::size_t field, int i) const { return all_[field].options[static_cast<std::size_t>(i)]; }

  // All combinations of the options that are free to choose, in the order of the tables.
  std::vector<Hypothesis> combinations(const Group& group) const {
    std::vector<Hypothesis> made = {Hypothesis(all_.size(), -1)};
    for (std::size_t i : group.fields) {
      std::vector<Hypothesis> more;
      for (const Hypothesis& h : made) {
        bool any = false;
        for (std::size_t k = 0; k < all_[i].options.size(); ++k) {
          if (!free(all_[i].options[k])) continue;
          Hypothesis next = h;
          next[i] = static_cast<int>(k);
          if (!partly(group, next)) continue;
          more.push_back(std::move(next));
          any = true;
        }
        if (!any) more.push_back(h);
      }
      made = std::move(more);
      if (made.size() > options_.most) made.resize(options_.most);
    }
    return made;
  }

  // Whether the options chosen so far can stand together.
  bool partly(const Group& group, const Hypothesis& h) const { return build(group, h).has_value(); }

  // Deviations: one option of one field that is not free.
  std::vector<std::pair<std::size_t, int>> deviations(const Group& group) const {
    std::vector<std::pair<std::size_t, int>> list;
    for (std::size_t i : group.fields)
      for (std::size_t k = 0; k < all_[i].options.size(); ++k)
        if (!free(all_[i].options[k])) list.emplace_back(i, static_cast<int>(k));
    return list;
  }

  // ---- the search itself

  // A trace without weights, contexts or parameters of a score may come from a decoder without attention. Then nothing
  // between the encoder states and the outputs has to be searched.
  bool find_without_attention(const Group& group) {
    const auto has_stage = [&](Stage s) {
      return std::find(group.stages.begin(), group.stages.end(), s) != group.stages.end();
    };
    if (trace_.kind != TraceKind::decoder || !has_stage(Stage::context) || !has_stage(Stage::cell)) return false;
    for (const char* name : {"e", "alpha", "c", "htilde", "W_a", "U_a", "v_a", "W_c"})
      if (there(name)) return false;
    Group bare{{Stage::cell}, group.outputs, {}};
    if (has_stage(Stage::readout)) bare.stages.push_back(Stage::readout);
    for (std::size_t i : group.fields)
      for (Stage stage : bare.stages)
        if (std::find(all_[i].stages.begin(), all_[i].stages.end(), stage) != all_[i].stages.end() &&
            std::find(bare.fields.begin(), bare.fields.end(), i) == bare.fields.end())
          bare.fields.push_back(i);
    choose_what_is_seen();
    std::vector<Scored> scored;
    for (const Hypothesis& h : combinations(bare)) scored.push_back({h, residual(bare, h)});
    const std::vector<Scored> hits = matching(bare, scored);
    if (hits.empty()) return false;
    settle(bare, hits, scored, 0);
    return true;
  }

  void find(const Group& group) {
    choose_what_is_seen();
    misfits_ = 0;
    const std::size_t before = verdict_.tried;
    const std::size_t budget = budget_for(group, seen_), most_attempts = attempts_ + 2 * options_.most;
    // By how much of the claim they break: where some agree, those that break more of it are not looked at.
    std::map<std::size_t, std::vector<Scored>> by_violations;
    for (const Hypothesis& h : combinations(group))
      by_violations[trouble(group, h).violations].push_back({h, infinite});
    std::vector<Scored> level0, hits;
    for (auto& [violations, models] : by_violations) {
      constexpr std::size_t many = 4000;
      if (violations > 1 && level0.size() > many) break;
      for (Scored& s : models) s.residual = residual_at_once(group, s.hypothesis);
      level0.insert(level0.end(), models.begin(), models.end());
      if (hits = matching(group, level0); !hits.empty()) break;
    }
    const auto list = deviations(group);
    std::vector<Scored> tried = level0;
    int level = 0;
    std::vector<Scored> level1;
    for (auto& [violations, models] : by_violations) {
      if (!hits.empty()) break;
      level = 1;
      // Beside one mistake, what was meant comes closer than most: if there are very many, the rest is not looked at.
      std::stable_sort(models.begin(), models.end(),
                       [](const Scored& x, const Scored& y) { return x.residual < y.residual; });
      for (const Scored& s : models)
        for (const auto& [field, k] : list) {
          if (level1.size() >= budget || attempts_ >= most_attempts) break;
          Hypothesis next = s.hypothesis;
          next[field] = k;
          const double r = residual_at_once(group, next);
          if (r < infinite) level1.push_back({next, r, states_});
        }
      hits = matching(group, level1);
    }
    if (level) tried.insert(tried.end(), level1.begin(), level1.end());
    if (hits.empty()) {
      const std::vector<Scored> over_padding = beside_read_padding(group, level0, most_attempts);
      hits = matching(group, over_padding);
      if (!hits.empty()) level = 2;
      tried.insert(tried.end(), over_padding.begin(), over_padding.end());
    }
    for (const auto* some : {&level0, &level1})
      if (hits.empty() && explained_by_final_states(group, *some)) return;
    if (hits.empty() && explained_by_one_layer(group, level0)) return;
    if (hits.empty() && explained_between_layers(group, level1)) return;
    if (hits.empty() && explained_by_mask(group, level0)) return;
    if (hits.empty() && right_but_behind_the_end(group, level0)) return find(group);
    if (hits.empty()) hits = found_without_padding(group, tried);
    if (hits.empty() && outputs_are_right(group, level0)) return unknown(group, tried);
    if (hits.empty() && explained_by_outputs(group, level0)) return;
    if (hits.empty() && explained_by_weights(group, level0)) return;
    if (hits.empty() && explained_by_rows(group, level0)) return;
    if (hits.empty() && explained_by_blocks(group, level0)) return;
    right_inside_ = false;
    if (hits.empty() && explained(group, level0, {.plain = true, .claim_kept = true})) return;
    if (hits.empty() && right_inside_ && trace_.kind == TraceKind::recurrent) return unknown(group, tried);
    if (hits.empty()) {
      level = 2;
      std::vector<Scored> level2;
      const std::size_t most_pairs = budget_for(group, first_.empty() ? seen_ : first_);
      // The most plausible combinations first: what the claim keeps, then what already comes close.
      std::vector<Scored> order = level0;
      sort_by(order, [&](const Scored& a) { return trouble(group, a.hypothesis); });
      for (const Scored& base : order)
        for (std::size_t p = 0; p < list.size(); ++p)
          for (std::size_t q = 0; q < p; ++q) {
            if (list[p].first == list[q].first || level2.size() >= most_pairs || attempts_ >= most_attempts) continue;
            Hypothesis next = base.hypothesis;
            next[list[p].first] = list[p].second;
            next[list[q].first] = list[q].second;
            const double r = residual_at_once(group, next);
            if (r < infinite) level2.push_back({next, r});
          }
      hits = matching(group, level2);
      tried.insert(tried.end(), level2.begin(), level2.end());
    }
    // A model that breaks the claim is a second mistake beside the one that the grammar finds.
    for (const Searched& searched : {Searched{.plain = false, .claim_kept = true}, Searched{true, false}})
      if (hits.empty() && explained(group, level0, searched)) return;
    if (hits.empty() && explained_beside_another(group, level1)) return;
    if (hits.empty() && explained(group, level0, {.plain = false, .claim_kept = false})) return;
    if (hits.empty()) {
      if (misfits_ == verdict_.tried - before) nothing_fits(group);
      else unknown(group, tried);
      return;
    }
    settle(group, hits, tried, level);
  }

  // This hypothesis without mistakes is what was meant, and what was found beside it is said apart.
  void adopt(const Group& group, const Hypothesis& h) {
    for (std::size_t i : group.fields)
      if (chosen_[i] <= 0 || h[i] > 0) chosen_[i] = h[i];
    report(group, h, {codes(group, h)}, {}, 1);
    verdict_.checked = true, forward_differs_ = true;
  }

  // With the plain rules of the grammar or the deep ones, from models that keep the claim or from those that do not.
  struct Searched {
    bool plain = true, claim_kept = true;
  };

  // A mistake that no entry lists, where the formula of some right model has one term that goes wrong in a known way.
  bool explained(const Group& group, const std::vector<Scored>& free_ones, const Searched& searched) {
    std::vector<Meant> meant;
    for (std::size_t k = 0; k < free_ones.size(); ++k) {
      const std::optional<Model> model = build(group, free_ones[k].hypothesis);
      if (!model) continue;
      const Trouble t = trouble(group, free_ones[k].hypothesis);
      if ((t.violations == 0) == searched.claim_kept) meant.push_back({k, *model, t.violations, t.notes});
    }
    std::stable_sort(meant.begin(), meant.end(), [](const Meant& a, const Meant& b) {
      return std::pair(a.violations, a.notes) < std::pair(b.violations, b.notes);
    });
    // One mistake that gives a state and its memory; then one of each.
    for (const bool apart : {false, true}) {
      if (apart && !std::count(group.outputs.begin(), group.outputs.end(), "m")) break;
      const auto formulas = [&](const Model& model, bool whole) {
        return formulas_of(group, model, given_, whole, apart);
      };
      const Judged judged{tolerance_, apart_, !searched.plain, std::min(most_at_once, left_)};
      if (take(group, explain(meant, formulas, judged), free_ones)) return true;
    }
    return false;
  }

  std::vector<Formula> formulas_of(const Group& group, const Model& model, const Arrays& on, bool whole,
                                   bool memory_apart = false) const {
    if (trace_.kind == TraceKind::multi_head) return head_formulas(model, on);
    if (trace_.kind == TraceKind::recurrent) return run_formulas(model, on);
    std::vector<Formula> made;
    for (Stage stage : group.stages) {
      if (!there(output_of(stage))) continue;
      if (memory_apart && stage == Stage::cell)
        for (MemoryAs memory : {MemoryAs::output, MemoryAs::read})
          made.push_back(decoder_formula(model, on, stage, whole, memory));
      else made.push_back(decoder_formula(model, on, stage, whole));
    }
    return made;
  }

  // A right run, whatever stands behind the end: from now on nothing stands there.
  bool right_but_behind_the_end(const Group& group, const std::vector<Scored>& free_ones) {
    if (!padding_is_other_ || group.outputs.front() != "h") return false;
    for (const Scored& s : free_ones) {
      const std::optional<Array> states = states_of(group, s.hypothesis);
      if (!states || !agrees_at_real_positions(given_, *states, tolerance_)) continue;
      padding_ = behind_the_end(given_, *build(group, s.hypothesis), trace_.directions, tolerance_);
      forget_padding();
      if (padding_->read_on) verdict_.findings.push_back(of_padding(group));
      return true;
    }
    return false;
  }

  Finding of_padding(const Group& group) const {
    Finding f;
    f.code = "RUN_OUTPUT_BEHIND_END";
    f.error = false;
    f.kind = Kind::mask;
    f.where = where_of(group);
    f.sentence = padding_->what;
    f.used = "h behind the end = RNN(padding, h of the last real position)";
    f.paper = "h behind the end: 0 (PyTorch's packed sequences) or the last state (Keras)";
    f.fix = {"nothing to fix as long as nobody reads them; t < length writes real positions only",
             "只要没有人读取就无需修改；用 t < length 则只写真实位置"};
    f.test = "append padding: CHECK(outputs behind the end are 0);";
    return f;
  }

  // A hypothesis with one mistake that agrees at all real positions. Not where the cell runs on with this mistake: that
  // is a second one.
  std::vector<Scored> found_without_padding(const Group& group, std::vector<Scored>& tried) {
    if (!padding_is_other_ || group.outputs.front() != "h") return {};
    const Arrays whole = given_;
    say_padding_is_not_compared();
    forget_padding();
    for (Scored& s : tried) s.residual = residual(group, s.hypothesis);
    std::vector<Scored> hits = matching(group, tried);
    const bool read_on = std::any_of(hits.begin(), hits.end(), [&](const Scored& s) {
      auto model = build(group, s.hypothesis);
      model->run.after_end = model->both.after_end = AfterEnd::run_on;
      return residual(group, *model, whole) < tolerance_;
    });
    if (!hits.empty() && !read_on) return hits;
    given_ = whole;
    padding_.reset();
    padding_is_other_ = true;
    scales_.clear();
    choose_what_is_seen();
    return {};
  }

  // Of what compares real positions only.
  void say_padding_is_not_compared() {
    if (padding_is_other_) padding_ = {{"outputs behind the end are not compared", "序列结束之后的输出不参与比较"}};
  }

  void forget_padding() {
    given_["h"] = without_padding(given_);
    padding_is_other_ = false;
    scales_.clear();
    choose_what_is_seen();
  }

  // The run's h by a hypothesis without mistakes; nothing where it has some, or where sizes do not go with it.
  std::optional<Array> states_of(const Group& group, const Hypothesis& hypothesis) {
    const auto model = trouble(group, hypothesis).violations ? std::nullopt : build(group, hypothesis);
    if (!model) return std::nullopt;
    try {
      return get(stage_outputs(*model, given_, group.stages), "h");
    } catch (const std::invalid_argument&) { return std::nullopt; }
  }

  // A run whose states are right inside, and whose outputs are changed on their way out.
  bool explained_by_outputs(const Group& group, const std::vector<Scored>& free_ones) {
    if (trace_.kind != TraceKind::recurrent || !there("h")) return false;
    const Array &wanted = get(given_, "h"), *mask = reference::find(given_, "mask");
    const std::size_t B = wanted.dim(0), T = wanted.dim(1), parts = trace_.directions, d = wanted.dim(2) / parts;
    constexpr std::size_t least_numbers = 6;
    if (wanted.data.size() < parts * least_numbers || d == 0) return false;
    struct Way {
      const char* code;
      std::string used, used_zh;
      std::function<Vec(const Array& h, std::size_t b, std::size_t t, std::size_t first)> row;
    };
    const auto own = [d](const Array& h, std::size_t b, std::size_t t, std::size_t first) {
      return copy(h.row({b, t}).subspan(first, d));
    };
    for (const Scored& s : free_ones) {
      const std::optional<Array> states = states_of(group, s.hypothesis);
      if (!states || states->shape != wanted.shape) continue;
      const Array& h = *states;
      std::vector<Way> ways = {{"", "h_t", "h_t", own}};
      for (const Function& f : functions())
        ways.push_back({"RUN_OUTPUT_FUNCTION", std::string(f.name) + "(h_t)", std::string(f.name) + "(h_t)",
                        [&f, own](const Array& of, std::size_t b, std::size_t t, std::size_t first) {
                          Vec y = own(of, b, t, first);
                          f.apply(y.data(), y.size());
                          return y;
                        }});
      for (const long by : {-1L, 1L})
        ways.push_back({"RUN_OUTPUT_OTHER_STEP", by < 0 ? "h_{t-1}" : "h_{t+1}", by < 0 ? "h_{t-1}" : "h_{t+1}",
                        [by, T, d, own](const Array& of, std::size_t b, std::size_t t, std::size_t first) {
                          const long at = static_cast<long>(t) + by;
                          return at < 0 || at >= static_cast<long>(T) ? Vec(d)
                                                                      : own(of, b, static_cast<std::size_t>(at), first);
                        }});
      if (const Array* h0 = reference::find(given_, "h0"); h0 && h0->dim(0) == parts)
        ways.push_back({"RUN_OUTPUT_OTHER_STEP", "h_{t-1}, h0 at the first step", "h_{t-1}（第一步是 h0）",
                        [h0, d, own](const Array& of, std::size_t b, std::size_t t, std::size_t first) {
                          return t ? own(of, b, t - 1, first) : copy(h0->row({first / d, b}));
                        }});
      if (const Array& x = get(given_, "x"); x.dim(2) == d)
        ways.push_back({"RUN_OUTPUT_RESIDUAL", "h_t + x_t", "h_t + x_t",
                        [&x, own](const Array& of, std::size_t b, std::size_t t, std::size_t first) {
                          return add(own(of, b, t, first), x.row({b, t}));
                        }});
      // How far a part is from k times what a way makes of it; k is fitted for the plain way alone.
      const auto distance = [&](const Way& way, std::size_t part, double& k) {
        Vec made, want;
        for (std::size_t b = 0; b < B; ++b)
          for (std::size_t t = 0; t < T; ++t) {
            if (mask && mask->at({b, t}) == 0) continue;
            const Vec y = way.row(h, b, t, part * d), z = own(wanted, b, t, part * d);
            made.insert(made.end(), y.begin(), y.end()), want.insert(want.end(), z.begin(), z.end());
          }
        const double square = dot(made, made);
        if (made.size() < least_numbers || !(square > 0)) return infinite;
        k = std::string(way.code).empty() ? dot(made, want) / square : 1;
        double most = 0, size = 1e-300;
        for (std::size_t i = 0; i < made.size(); ++i)
          most = std::max(most, std::fabs(k * made[i] - want[i])), size = std::max(size, std::fabs(want[i]));
        return most / size;
      };
      std::vector<Finding> found;
      double agreement = 0;
      for (std::size_t part = 0; part < parts; ++part) {
        const auto way = std::find_if(ways.begin(), ways.end(), [&](const Way& w) {
          double k = 1;
          const double r = distance(w, part, k);
          if (r < tolerance_) agreement = std::max(agreement, r);
          else verdict_.next = std::min(verdict_.next, r);
          ++verdict_.tried;
          return r < tolerance_;
        });
        if (way == ways.end()) {
          found.clear();
          break;
        }
        double k = 1;
        distance(*way, part, k);
        const bool plain = std::string(way->code).empty();
        if (plain && std::fabs(k - 1) < 10 * tolerance_) continue;
        const bool round = std::fabs(k - .5) < 1e-6 || std::fabs(k - 2) < 1e-6;
        const std::string factor = print(number(k)), size = round ? "" : as_size(k, given_, 0, single_ ? 1e-4 : 1e-7);
        const std::string used = plain ? factor + " h_t" : way->used;
        const Words whose = parts == 1 ? Words{"", ""}
                            : part     ? Words{" of the backward direction", "反向的"}
                                       : Words{" of the forward direction", "正向的"};
        Finding f;
        f.code = plain ? "RUN_OUTPUT_SCALED" : way->code;
        f.where = where_of(group);
        f.sentence = {"the states are right inside; what is handed out" + whose.en + " is " + used +
                          (size.empty() || !plain ? "" : " (" + factor + " is " + size + ")") + ", where h_t belongs",
                      "内部的状态是对的；交出的" + whose.zh + "输出是 " + used + "，应为 h_t"};
        f.used = "output_t = " + used;
        f.paper = "output_t = h_t";
        f.fix = {"hand out h_t as the cell gives it", "原样交出循环单元给出的 h_t"};
        f.test = "CHECK(check_reference(cell, inputs, claimed).passed);";
        found.push_back(f);
      }
      if (found.empty()) continue;
      say_padding_is_not_compared();
      adopt(group, s.hypothesis);
      verdict_.findings.insert(verdict_.findings.end(), found.begin(), found.end());
      verdict_.agreement = std::max(verdict_.agreement, agreement);
      return true;
    }
    return false;
  }

  bool ends_behind_the_padding(const Group& group, Model model) {
    model.run.after_end = model.both.after_end = AfterEnd::run_on;
    const Arrays made = stage_outputs(model, given_, {Stage::run});
    return group.outputs.size() > 1 && std::all_of(group.outputs.begin(), group.outputs.end(), [&](const auto& name) {
             return name == "h" || difference(get(made, name), get(given_, name)) < tolerance_;
           });
  }

  // The entry of the tables, as a finding beside others.
  Finding padding_is_read(const Group& group) const {
    Finding f;
    f.where = where_of(group);
    for (const Field& field : all_)
      for (const Option& o : field.options)
        if (over_the_padding(field, o)) {
          f.code = o.code, f.kind = o.kind, f.sentence = {o.sentence.en, o.sentence.zh};
          f.used = o.used, f.paper = o.paper, f.fix = {o.fix.en, o.fix.zh}, f.test = o.test;
        }
    return f;
  }
  static bool over_the_padding(const Field& field, const Option& o) {
    return std::string("after_end") == field.name && std::string("run_on") == o.id;
  }

  // What stands where final states belong, as one finding. Empty where that is not known, or nothing is wrong.
  std::vector<Finding> other_final_states(const Group& group, const RunDetails& right) const {
    std::vector<Finding> found;
    const bool ends = group.outputs.front() == "start";
    for (const std::string& output : group.outputs) {
      const bool is_right = !ends && difference(get(right.outputs, output), get(given_, output)) < tolerance_;
      if (output == "h" || is_right) continue;
      const auto more = explain_final_states(given_, right, output, trace_.directions, tolerance_);
      if (more.empty()) return {};
      for (const Finding& f : more) {
        const auto known = std::find_if(found.begin(), found.end(), [&](const Finding& g) { return g.code == f.code; });
        if (known == found.end()) {
          found.push_back(f);
          continue;
        }
        known->where = where_of(group);
        known->sentence.en += "; " + f.sentence.en, known->sentence.zh += "；" + f.sentence.zh;
        known->used += "; " + f.used, known->paper += "; " + f.paper;
      }
    }
    return found;
  }

  // A run over the padding shows in h everywhere, so that another mistake beside it is tried together with it.
  std::vector<Scored> beside_read_padding(const Group& group, const std::vector<Scored>& free_ones,
                                          std::size_t most_attempts) {
    std::vector<Scored> made;
    if (trace_.kind != TraceKind::recurrent || !there("h") || !there("mask")) return made;
    const auto list = deviations(group);
    for (const auto& [field, k] : list)
      for (const Scored& s : free_ones) {
        if (!over_the_padding(all_[field], option(field, k)) || trouble(group, s.hypothesis).violations) continue;
        for (const auto& [other, n] : list) {
          if (attempts_ >= most_attempts || other == field) continue;
          Hypothesis next = s.hypothesis;
          next[field] = k, next[other] = n;
          const double r = residual_at_once(group, next);
          if (r < infinite) made.push_back({next, r});
        }
      }
    return made;
  }

  // A run whose outputs agree, with the mistake of the hypothesis if it has one, and whose final states, or what a decoder
  // takes of them, are other numbers.
  bool explained_by_final_states(const Group& group, const std::vector<Scored>& some) {
    if (trace_.kind != TraceKind::recurrent) return false;
    const bool ends = group.outputs.front() == "start";
    if (!ends && !there("h")) return false;
    for (const Scored& s : some) {
      const bool looked_at = trouble(group, s.hypothesis).violations == 0 || s.states < tolerance_;
      const auto model = looked_at ? build(group, s.hypothesis) : std::nullopt;
      if (!model || model->run.after_end == AfterEnd::run_on) continue;
      RunDetails right;
      try {
        right = run_details(*model, given_);
      } catch (const std::invalid_argument&) {
        continue;  // sizes that do not go with this hypothesis
      }
      const Arrays& made = right.outputs;
      if (there("h") && !(difference(get(made, "h"), get(given_, "h")) < tolerance_)) continue;
      std::vector<Finding> found;
      if (!ends && there("mask") && ends_behind_the_padding(group, *model)) {
        found.push_back(padding_is_read(group));
      } else {
        found = other_final_states(group, right);
      }
      if (found.empty()) continue;
      adopt(group, s.hypothesis);
      verdict_.findings.insert(verdict_.findings.end(), found.begin(), found.end());
      return true;
    }
    return false;
  }

  // A run whose cell is right, and that was told of the padding otherwise than the trace says.
  bool explained_by_mask(const Group& group, const std::vector<Scored>& free_ones) {
    if (trace_.kind != TraceKind::recurrent || group.outputs.front() == "start") return false;
    for (const Scored& s : free_ones) {
      const auto model = trouble(group, s.hypothesis).violations ? std::nullopt : build(group, s.hypothesis);
      const auto found = model ? explain_by_another_mask(trace_, *model, tolerance_, verdict_.tried) : std::nullopt;
      if (!found) continue;
      adopt(group, s.hypothesis);
      verdict_.findings.push_back(*found);
      return true;
    }
    return false;
  }

  // Weights that are made otherwise from right scores, or scores that know the weights of earlier steps.
  bool explained_by_weights(const Group& group, const std::vector<Scored>& free_ones) {
    const bool alone = std::all_of(group.stages.begin(), group.stages.end(),
                                   [](Stage s) { return s == Stage::score || s == Stage::weights; });
    if (trace_.kind != TraceKind::decoder || !alone || !there("alpha")) return false;
    std::size_t left = budget_for(group, given_);
    for (const Scored& s : free_ones) {
      const auto model = trouble(group, s.hypothesis).violations ? std::nullopt : build(group, s.hypothesis);
      if (!model || left < 2) continue;
      left -= 2, ++verdict_.tried, verdict_.work += 2 * work_of(group, given_);
      const auto found = explain_weights(trace_, *model, given_, group.outputs.front() == "e", tolerance_);
      if (!found) continue;
      adopt(group, s.hypothesis);
      verdict_.findings.push_back(*found);
      return true;
    }
    return false;
  }

  // Several layers or directions of which one goes wrong: its cell, its weights, what it starts from, or what it hands on.
  bool explained_by_one_layer(const Group& group, const std::vector<Scored>& free_ones) {
    const bool several = trace_.layers > 1 || trace_.directions > 1;
    if (trace_.kind != TraceKind::recurrent || !several || group.outputs.front() == "start") return false;
    std::size_t left = budget_for(group, seen_);
    for (const Scored& s : free_ones) {
      const auto model = trouble(group, s.hypothesis).violations ? std::nullopt : build(group, s.hypothesis);
      if (!model) continue;
      if (const auto found = explain_layer(layers_of(group, *model, other_cells(group, s.hypothesis), left))) {
        adopt(group, s.hypothesis);
        verdict_.findings.push_back(*found);
        return true;
      }
    }
    return false;
  }

  // With a mistake that all layers have, one layer hands on something else than h.
  bool explained_between_layers(const Group& group, const std::vector<Scored>& with_one) {
    if (trace_.kind != TraceKind::recurrent || trace_.layers < 2 || group.outputs.front() == "start") return false;
    std::size_t left = budget_for(group, first_.empty() ? given_ : first_);
    for (const Scored& s : with_one) {
      const auto model = trouble(group, s.hypothesis).violations > 1 ? std::nullopt : build(group, s.hypothesis);
      if (!model || whole_batch(*model) || !lowest_layer_ends_right(group, *model)) continue;
      const auto found = explain_between_layers(layers_of(group, *model, {}, left));
      if (!found) continue;
      adopt(group, s.hypothesis);
      verdict_.findings.push_back(*found);
      return true;
    }
    return false;
  }

  // What the first layer ends with, where the trace has it: nothing between layers changes that.
  bool lowest_layer_ends_right(const Group& group, const Model& model) {
    if (!there("h_n")) return true;
    const Arrays& few = first_.empty() ? given_ : first_;
    verdict_.work += work_of(group, few);
    try {
      const Array made = get(stage_outputs(model, few, group.stages), "h_n"), &wanted = get(few, "h_n");
      for (std::size_t k = 0; k < trace_.directions * wanted.dim(1) * wanted.dim(2); ++k)
        if (!(std::fabs(made.data[k] - wanted.data[k]) < tolerance_)) return false;
      return made.shape == wanted.shape;
    } catch (const std::invalid_argument&) {
      return false;  // sizes that do not go with this model
    }
  }

  // `left` counts the models that may still be computed.
  LayerCase layers_of(const Group& group, const Model& right, std::vector<OtherCell> cells, std::size_t& left) {
    const auto agrees = [this, &group, &left](const Model& other, const Arrays& first) {
      if (left == 0) return false;
      --left, ++verdict_.tried;
      double r = residual(group, other, first);
      if (r < tolerance_ && &first != &given_) r = residual(group, other, given_);
      if (r < tolerance_) verdict_.agreement = std::max(verdict_.agreement, r);
      else verdict_.next = std::min(verdict_.next, r);
      return r < tolerance_;
    };
    return {trace_, right, std::move(cells),
            [this, agrees](const Model& other) { return agrees(other, first_.empty() ? given_ : first_); },
            [this, agrees](const Model& other) { return agrees(other, given_); }};
  }

  // Every option of the cell that could be wrong in one layer alone: mistakes, and choices other than the right one.
  std::vector<OtherCell> other_cells(const Group& group, const Hypothesis& right) const {
    std::vector<OtherCell> made;
    for (const bool free_ones : {false, true})
      for (std::size_t i : group.fields)
        for (std::size_t k = 0; k < all_[i].options.size(); ++k) {
          const Option& o = all_[i].options[k];
          if (free(o) != free_ones || static_cast<int>(k) == right[i] || !*o.code) continue;
          Hypothesis next = right;
          next[i] = static_cast<int>(k);
          if (const auto model = build(group, next); model && model->edits.empty())
            made.push_back({&o, model->decoder.cell});
        }
    return made;
  }

  // Whether h of a run agrees, so that only its final states are wrong.
  bool outputs_are_right(const Group& group, const std::vector<Scored>& free_ones) {
    return trace_.kind == TraceKind::recurrent && group.outputs.size() > 1 && there("h") &&
           agrees_on("h", group, free_ones);
  }

  // Stacked parameters whose blocks are in another order of gates than the others'.
  bool explained_by_blocks(const Group& group, const std::vector<Scored>& free_ones) {
    const bool cell = std::any_of(group.stages.begin(), group.stages.end(),
                                  [](Stage s) { return s == Stage::cell || s == Stage::run; });
    const Array* U = reference::find(given_, "U");
    if (!cell || !U || U->shape.size() != 2 || trace_.layers > 1 || !trace_.gates_by_name.empty()) return false;
    const std::size_t d = U->shape[1], gates = U->shape[0] / d;
    std::size_t left = budget_for(group, seen_);
    if (gates < 3) return false;
    std::vector<std::size_t> own(gates);
    for (std::size_t k = 0; k < gates; ++k) own[k] = k;
    for (const Scored& s : free_ones) {
      const auto model = trouble(group, s.hypothesis).violations ? std::nullopt : build(group, s.hypothesis);
      if (!model) continue;
      const std::string letters = gate_order_of(*model);
      for (const std::vector<const char*>& names : std::vector<std::vector<const char*>>{
               {"b", "b_u"}, {"b"}, {"b_u"}, {"U"}, {"W"}, {"U", "b_u"}, {"W", "b"}}) {
        std::string which;
        for (const char* name : names)
          if (there(name)) which += (which.empty() ? "" : ", ") + std::string(name);
        if (!std::all_of(names.begin(), names.end(), [&](const char* name) { return there(name); })) continue;
        std::vector<std::size_t> from = own;
        while (std::next_permutation(from.begin(), from.end())) {
          if (left == 0) return false;
          --left, ++verdict_.tried;
          Model other = *model;
          other.edits.push_back([names, from, d](Arrays& a) {
            for (const char* name : names)
              for (const char* direction : {"", "_reverse"})
                if (const auto found = a.find(name + std::string(direction)); found != a.end()) {
                  const Array was = found->second;
                  const std::size_t n = d * was.data.size() / was.dim(0);  // numbers of a block
                  for (std::size_t k = 0; k < was.data.size(); ++k)
                    found->second.data[k] = was.data[from[k / n] * n + k % n];
                }
          });
          double r = residual(group, other, first_.empty() ? seen_ : first_);
          if (r < tolerance_) r = residual(group, other, given_);
          else verdict_.next = std::min(verdict_.next, r);
          if (!(r < tolerance_)) continue;
          adopt(group, s.hypothesis);
          std::string read(gates, '?');  // the gate whose place a block has in the file
          for (std::size_t k = 0; k < gates; ++k) read[from[k]] = letters[k];
          verdict_.findings.push_back(of_blocks(group, which, commas(read), commas(letters)));
          verdict_.agreement = std::max(verdict_.agreement, r);
          return true;
        }
      }
    }
    return false;
  }

  static std::string commas(const std::string& letters) {
    std::string text;
    for (char c : letters) text += std::string(text.empty() ? "" : ", ") + c;
    return text;
  }

  static std::string gate_order_of(const Model& model) {
    if (const auto* gru = std::get_if<GruConvention>(&model.decoder.cell)) return gru->gate_order;
    if (const auto* lstm = std::get_if<LstmConvention>(&model.decoder.cell)) return lstm->gate_order;
    return "h";
  }

  Finding of_blocks(const Group& group, const std::string& which, const std::string& read,
                    const std::string& right) const {
    Finding f;
    f.code = "GATE_ORDER_DIFFERS";
    f.kind = is_lstm(base_) ? Kind::lstm : Kind::gru;
    f.where = where_of(group);
    f.sentence = {"the blocks of " + which + " are read in the order " + read +
                      ", those of the other parameters in the order " + right,
                  which + " 的各块按 " + read + " 的顺序读取，其余参数按 " + right + " 的顺序"};
    f.used = which + ": gates " + read;
    f.paper = which + ": gates " + right + ", as of all stacked parameters";
    f.fix = {"reorder the blocks of all parameters alike when you load them", "载入时把所有参数的块按同一顺序重排"};
    f.test = "saturate one block of the bias at a time (+20, -20): CHECK(it plays the role that its name says);";
    return f;
  }

  // Whichever rows of the batch are read: for each row b the row whose numbers give what b has.
  bool explained_by_rows(const Group& group, const std::vector<Scored>& free_ones) {
    struct Source {
      const char* code;
      Said what;
      std::vector<const char*> names;
    };
    static const std::vector<Source> sources = {
        {"MEMORY_OTHER_EXAMPLE", {"the memory and its mask", "记忆与它的掩码"}, {"H", "mask"}},
        {"MEMORY_OTHER_EXAMPLE", {"the memory", "记忆"}, {"H"}},
        {"MASK_OTHER_EXAMPLE", {"the mask", "掩码"}, {"mask"}},
        {"INPUT_OTHER_EXAMPLE", {"the decoder's input", "解码器的输入"}, {"y_emb"}},
        {"STATE_OTHER_EXAMPLE", {"the decoder's state", "解码器的状态"}, {"s", "m", "s_0", "cell_0", "query"}}};
    constexpr std::size_t most_rows = 32, least_numbers = 3;
    if (trace_.kind != TraceKind::decoder || group.stages.front() == Stage::start) return false;
    const std::size_t B = get(given_, group.outputs.front()).dim(0);
    std::size_t left = budget_for(group, seen_);
    if (B < 2 || B > most_rows || get(given_, group.outputs.front()).data.size() < least_numbers * B) return false;
    for (const Source& source : sources)
      for (const Scored& s : free_ones) {
        const bool reads =
            std::any_of(source.names.begin(), source.names.end(), [&](const char* name) { return there(name); });
        const auto model =
            !reads || trouble(group, s.hypothesis).violations ? std::nullopt : build(group, s.hypothesis);
        if (!model || left < B) continue;
        left -= B;
        std::vector<std::size_t> from(B, B);
        double agreement = 0;
        for (std::size_t other = 0; other < B; ++other) {
          Arrays on = given_;
          for (const char* name : source.names)
            if (const Array* a = reference::find(given_, name)) on[name] = all_rows_like(*a, other);
          try {
            const Arrays got = stage_outputs(*model, on, group.stages);
            ++verdict_.tried, verdict_.work += work_of(group, on);
            for (std::size_t b = 0; b < B; ++b) {
              const double r = row_difference(group, got, b);
              if (!(r < tolerance_) || (from[b] < B && other != b)) continue;
              from[b] = other, agreement = std::max(agreement, r);
            }
          } catch (const std::invalid_argument&) {
            break;  // sizes that do not go with this hypothesis
          }
        }
        bool own = true;
        for (std::size_t b = 0; b < B; ++b) own = own && from[b] == b;
        if (own || std::count(from.begin(), from.end(), B)) continue;
        adopt(group, s.hypothesis);
        if (!verdict_.find(source.code)) verdict_.findings.push_back(of_rows(group, source.code, source.what, from));
        verdict_.agreement = std::max(verdict_.agreement, agreement);
        return true;
      }
    return false;
  }

  static Array all_rows_like(const Array& a, std::size_t row) {
    Array out = a;
    const std::size_t n = a.data.size() / a.dim(0);
    for (std::size_t k = 0; k < out.data.size(); ++k) out.data[k] = a.data[row * n + k % n];
    return out;
  }

  // Of row b alone, relative to the largest number of each output; infinite where a number is none.
  double row_difference(const Group& group, const Arrays& got, std::size_t b) const {
    double most = 0;
    for (const std::string& name : group.outputs) {
      const Array *made = reference::find(got, name), &wanted = get(given_, name);
      if (!made || made->shape != wanted.shape) return infinite;
      const std::size_t n = wanted.data.size() / wanted.dim(0);
      double size = 1e-300;
      for (double x : wanted.data) size = std::max(size, std::fabs(x));
      for (std::size_t k = b * n; k < (b + 1) * n; ++k) {
        const double off = std::fabs(made->data[k] - wanted.data[k]);
        if (!std::isfinite(off)) return infinite;
        most = std::max(most, off / size);
      }
    }
    return most;
  }

  Finding of_rows(const Group& group, const char* code, const Said& what, const std::vector<std::size_t>& from) const {
    std::string rows, rows_zh;
    for (std::size_t b = 0; b < from.size(); ++b) {
      rows += (b ? ", " : "") + std::to_string(b) + " from " + std::to_string(from[b]);
      rows_zh +=
          (b ? "，" : "") + std::string("第 ") + std::to_string(b) + " 行取第 " + std::to_string(from[b]) + " 行";
    }
    Finding f;
    f.code = code;
    f.kind = Kind::axis;
    f.where = where_of(group);
    f.sentence = {"numbers of another row of the batch are read, of " + std::string(what.en) + ": row " + rows,
                  std::string(what.zh) + "取自批内的另一行：" + rows_zh};
    if (const char* how = repeated(from)) {
      const bool tiled = std::string(how) == "tiled";
      f.sentence.en +=
          tiled ? "; each sentence stands there once a beam, and it was tiled (0, 1, 2, 0, 1, 2) where the "
                  "rows are interleaved (0, 0, 1, 1, 2, 2): repeat for repeat_interleave"
                : "; each sentence stands there once a beam, and it was interleaved (0, 0, 1, 1, 2, 2) where "
                  "the rows are tiled (0, 1, 2, 0, 1, 2): repeat_interleave for repeat";
      f.sentence.zh += tiled ? "；每个句子按束重复：应逐行重复（0, 0, 1, 1, 2, 2），却整体平铺（0, 1, 2, 0, 1, 2），"
                               "即把 repeat_interleave 写成了 repeat"
                             : "；每个句子按束重复：应整体平铺（0, 1, 2, 0, 1, 2），却逐行重复（0, 0, 1, 1, 2, 2），"
                               "即把 repeat 写成了 repeat_interleave";
    }
    f.used = "row b reads " + std::string(what.en) + " of row b'";
    f.paper = "row b reads its own";
    f.fix = {"repeat, sort and index all arrays of the batch in one and the same order",
             "批内所有数组按同一顺序重复、排序和索引"};
    f.test = "run row 1 alone: CHECK(row 1 is unchanged);";
    return f;
  }

  // How sentences that the batch holds several times were repeated by mistake: "tiled", "interleaved", or nullptr.
  const char* repeated(const std::vector<std::size_t>& from) const {
    if (!there("H")) return nullptr;
    const Array& H = get(given_, "H");
    const std::size_t B = from.size(), n = H.data.size() / H.dim(0);
    const auto equal = [&](std::size_t a, std::size_t b) {
      const auto row = [&](std::size_t k) { return H.data.begin() + static_cast<std::ptrdiff_t>(k * n); };
      return std::equal(row(a), row(a + 1), row(b));
    };
    for (std::size_t beams = 2; beams < B; ++beams) {
      const std::size_t sentences = B / beams;
      if (B % beams || sentences < 2) continue;
      bool in_turn = true, in_blocks = true;  // the order of the file, and the other one read
      for (std::size_t b = 0; b < B; ++b) {
        const std::size_t block = b / beams, turn = b % sentences;
        in_blocks = in_blocks && equal(b, block * beams) && equal(from[b], turn * beams);
        in_turn = in_turn && equal(b, turn) && equal(from[b], block);
      }
      if (in_blocks) return "tiled";
      if (in_turn) return "interleaved";
    }
    return nullptr;
  }

  // Two mistakes, one of them of the library: choices that are rare first, then what comes closest by itself.
  bool explained_beside_another(const Group& group, std::vector<Scored> with_one) {
    const auto is_choice = [&](const Scored& s) {
      return std::any_of(group.fields.begin(), group.fields.end(),
                         [&](std::size_t i) { return s.hypothesis[i] >= 0 && option(i, s.hypothesis[i]).rare; });
    };
    sort_by(with_one, [&](const Scored& a) {
      return std::make_tuple(trouble(group, a.hypothesis).violations, !is_choice(a), a.residual);
    });
    constexpr std::size_t most_models = 8;
    std::vector<Meant> meant;
    for (std::size_t k = 0; k < with_one.size() && meant.size() < most_models; ++k) {
      const std::optional<Model> model = build(group, with_one[k].hypothesis);
      if (!model || !model->edits.empty() || !formulas_give_what_the_model_gives(group, *model)) continue;
      meant.push_back({k, *model, 0, meant.size()});
    }
    const auto formulas = [&](const Model& model, bool whole) { return formulas_of(group, model, given_, whole); };
    return take(group, explain(meant, formulas, {tolerance_, apart_, false, std::min(most_at_once / 2, left_)}),
                with_one);
  }

  // Trees are not written for every mistake of the library.
  bool formulas_give_what_the_model_gives(const Group& group, const Model& model) const {
    try {
      const Arrays made = stage_outputs(model, given_, group.stages);
      Arrays on = given_;
      for (const std::string& name : group.outputs)
        if (const Array* a = reference::find(made, name)) on[name] = *a;
      // A run's states come from the run; a decoder's stages read those of the trace.
      const bool alone = trace_.kind != TraceKind::decoder;
      const std::vector<Formula> formulas = formulas_of(group, model, alone ? on : given_, true),
                                 wanted = formulas_of(group, model, on, true);
      for (std::size_t k = 0; k < formulas.size(); ++k) {
        const Grid got = evaluate(formulas[k].term, formulas[k].scene);
        const Vec& want = wanted[k].wanted.data;
        if (got.x.size() != want.size()) return false;
        for (std::size_t i = 0; i < want.size(); ++i) {
          const bool counts = wanted[k].counts.empty() || wanted[k].counts[i / wanted[k].wanted.dim(2)] != 0;
          if (counts && !(std::fabs(got.x[i] - want[i]) < 1e-9 * std::max(1.0, std::fabs(want[i])))) return false;
        }
      }
      return !formulas.empty();
    } catch (const std::invalid_argument&) { return false; }
  }

  bool take(const Group& group, const Explained& found, const std::vector<Scored>& models) {
    verdict_.tried += found.tried, verdict_.work += found.work;
    right_inside_ = right_inside_ || found.nothing_to_explain;
    left_ -= std::min(left_, found.work);
    if (found.findings.empty()) return false;
    const Hypothesis& h = models[found.id].hypothesis;
    say_padding_is_not_compared();
    adopt(group, h);
    for (const Finding& f : found.findings)  // what a run does wrong shows in what a decoder takes of it, too
      if (std::none_of(verdict_.findings.begin(), verdict_.findings.end(),
                       [&](const Finding& g) { return g.code == f.code && g.sentence.en == f.sentence.en; }))
        verdict_.findings.push_back(f);
    verdict_.agreement = std::max(verdict_.agreement, found.agreement);
    verdict_.next = std::min(verdict_.next, found.next);
    if (trace_.kind == TraceKind::recurrent) look_at_final_states();
    return true;
  }

  // Beside a cell that is explained: whether h_n of one layer is what h holds at the end that it belongs to.
  void look_at_final_states() {
    if (!there("h") || !there("h_n") || trace_.layers > 1) return;
    const Array &h = get(given_, "h"), &h_n = get(given_, "h_n"), *mask = reference::find(given_, "mask");
    const std::size_t B = h.dim(0), T = h.dim(1), d = h_n.dim(2);
    if (h.dim(2) != d * trace_.directions) return;
    Arrays ends = {{"h", h}, {"h_n", Array(h_n.shape)}};
    bool right = true, full_are_right = true, some_full = false;
    for (std::size_t b = 0; b < B; ++b) {
      std::size_t n = 0;
      for (std::size_t t = 0; t < T; ++t) n += !mask || mask->at({b, t}) != 0;
      for (std::size_t k = 0; k < trace_.directions && n; ++k) {
        const Vec own = copy(h.row({b, k ? 0 : n - 1}).subspan(k * d, d));
        ends["h_n"].set_row({k, b}, own);
        bool same = true;
        for (std::size_t j = 0; j < d; ++j) same = same && std::fabs(own[j] - h_n.at({k, b, j})) < tolerance_;
        right = right && same, some_full = some_full || n == T, full_are_right = full_are_right && (same || n < T);
      }
    }
    if (right) return;
    auto found = explain_final_states(given_, {ends, {}, {}}, "h_n", trace_.directions, tolerance_);
    if (found.empty() && some_full && full_are_right) {
      Finding f;
      f.code = "RUN_READS_PADDING", f.kind = Kind::mask;
      f.where = {"the final states (h_n)", "最后的状态 (h_n)"};
      f.sentence = {
          "h_n is right where a sequence has the full length and differs where it is shorter: it is read at the "
          "last column, behind the end",
          "长度占满的序列 h_n 正确，较短的不对：它取自最后一列，已经在结尾之后"};
      f.used = "h_n = the state after the last column";
      f.paper = "h_n = the state after the last real input";
      f.fix = {"take each sequence's state at its own length", "按每个序列自己的长度取状态"};
      f.test = "append two padded positions: CHECK(h_n is unchanged);";
      found.push_back(f);
    }
    verdict_.findings.insert(verdict_.findings.end(), found.begin(), found.end());
  }

  // What one evaluation costs, in numbers computed, products counted as often as they multiply.
  std::size_t work_of(const Group& group, const Arrays& on) const {
    const auto steps_if = [&](Stage stage, const char* name) {
      const Array* a = reference::find(on, name);
      const bool here = std::find(group.stages.begin(), group.stages.end(), stage) != group.stages.end();
      return here && a && a->shape.size() > 1 ? a->dim(0) * a->dim(1) : 0;
    };
    const std::size_t cells = steps_if(Stage::run, "x") + steps_if(Stage::cell, "y_emb"),
                      scores = steps_if(Stage::score, "y_emb"), vectors = steps_if(Stage::attentional, "y_emb"),
                      readouts = steps_if(Stage::readout, "y_emb");
    static const std::set<std::string> of_cells = {"W", "U", "W_l", "U_l", "W_r", "U_r"};  // W_l0, W_reverse, ...
    std::size_t work = 200;
    for (const auto& [name, a] : on) {
      const std::size_t times = of_cells.count(name.substr(0, 3)) ? cells
                                : name == "H" || name == "W_a"    ? scores
                                : name == "W_c"                   ? vectors
                                : name == "W_o"                   ? readouts
                                                                  : 0;
      work += a.data.size() * (1 + times);
    }
    return work;
  }

  // A number of evaluations that stays well under a second, from the sizes alone so that every machine answers alike.
  std::size_t budget_for(const Group& group, const Arrays& on) const {
    constexpr std::size_t most_work = 40'000'000;
    return std::clamp<std::size_t>(most_work / work_of(group, on), 2000, options_.most);
  }

  // The hypotheses that agree on the whole trace, with those that come too close to be told from them; empty if none
  // agrees.
  std::vector<Scored> matching(const Group& group, const std::vector<Scored>& scored) {
    double best = infinite;
    for (const Scored& s : scored) best = std::min(best, s.residual);
    if (!(best < tolerance_)) return {};
    std::vector<Scored> hits;
    bool agrees = false;
    for (const Scored& s : scored) {
      if (!(s.residual < apart_)) continue;
      Scored full = s;
      if (const auto model = build(group, s.hypothesis)) full.residual = residual(group, *model, given_);
      agrees = agrees || full.residual < tolerance_;
      if (full.residual < apart_) hits.push_back(full);
    }
    if (!agrees) return {};
    const auto fitted = [&](const Scored& s) {
      return std::any_of(group.fields.begin(), group.fields.end(),
                         [&](std::size_t i) { return s.hypothesis[i] >= 0 && option(i, s.hypothesis[i]).fitted; });
    };
    if (std::any_of(hits.begin(), hits.end(), [&](const Scored& s) { return s.residual < tolerance_ && !fitted(s); }))
      std::erase_if(hits, fitted);
    return hits;
  }

  // Codes of what deviates: errors of the table, and choices that the claim rules out.
  std::set<std::string> codes(const Group& group, const Hypothesis& h) const {
    std::set<std::string> out;
    for (std::size_t i : group.fields) {
      if (h[i] < 0) continue;
      const Option& o = option(i, h[i]);
      if (o.level == Level::error || !kept(i, h[i])) out.insert(o.code);
    }
    return out;
  }

  void settle(const Group& group, std::vector<Scored> hits, const std::vector<Scored>& tried, int level) {
    // The fewest deviations win; among those, agreement that is exact before agreement that is close.
    std::stable_sort(hits.begin(), hits.end(), [&](const Scored& a, const Scored& b) {
      const bool exact_a = a.residual < tolerance_, exact_b = b.residual < tolerance_;
      if (exact_a != exact_b) return exact_a;
      return trouble(group, a.hypothesis) < trouble(group, b.hypothesis);
    });
    const Scored& best = hits.front();
    for (std::size_t i : group.fields)  // what another group saw deviate stays, this one may not show it
      if (chosen_[i] <= 0 || best.hypothesis[i] > 0) chosen_[i] = best.hypothesis[i];
    verdict_.checked = true;
    verdict_.agreement = std::max(verdict_.agreement, best.residual);
    for (const Scored& s : tried)
      if (s.residual >= apart_) verdict_.next = std::min(verdict_.next, s.residual);

    // Everything that this input cannot tell from the winner.
    std::map<std::size_t, std::set<int>> open;
    const std::set<std::string> named = codes(group, best.hypothesis);
    std::set<std::set<std::string>> rivals = {named};
    for (const Scored& s : hits) {
      for (std::size_t i : group.fields)
        if (s.hypothesis[i] != best.hypothesis[i]) open[i].insert(s.hypothesis[i]);
      const std::set<std::string> rival = codes(group, s.hypothesis);
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
      for (std::size_t k = 0; k < all_[i].options.size(); ++k) {
        if (static_cast<int>(k) == best.hypothesis[i] || best.hypothesis[i] < 0 || all_[i].options[k].fitted) continue;
        Hypothesis other = best.hypothesis;
        other[i] = static_cast<int>(k);
        const double r = residual(group, other);
        if (r < apart_) open[i].insert(static_cast<int>(k));
        else if (r < infinite) verdict_.next = std::min(verdict_.next, r);
      }
    report(group, best.hypothesis, rivals, open, level);
  }

  std::string name_of_choice(std::size_t i, int k) const { return std::string(all_[i].name) + "=" + option(i, k).id; }

  void report(const Group& group, const Hypothesis& h, const std::set<std::set<std::string>>& rivals,
              const std::map<std::size_t, std::set<int>>& open, int level) {
    (void)level;
    const Words where = where_of(group);
    // Where neither the query nor the keys show, the score itself was not seen.
    const bool score_unseen = std::any_of(open.begin(), open.end(),
                                          [&](const auto& o) { return std::string("sees") == all_[o.first].name; }) &&
                              std::any_of(open.begin(), open.end(),
                                          [&](const auto& o) { return std::string("query") == all_[o.first].name; });
    std::vector<Finding> errors;
    for (std::size_t i : group.fields) {
      if (h[i] < 0) continue;
      const Option& o = option(i, h[i]);
      const bool unseen = padding_ && std::string("after_end") == all_[i].name && o.level != Level::error;
      if (unseen) {
        follows_en_.push_back(padding_->what.en), follows_zh_.push_back(padding_->what.zh);
        continue;
      }
      verdict_.choices.push_back(name_of_choice(i, h[i]));
      const bool error = o.level == Level::error || !kept(i, h[i]);
      const bool undecided =
          (open.count(i) && o.level != Level::error) || (score_unseen && std::string("score") == all_[i].name);
      // What the input leaves open is no description of the model, unless it is what the claim says.
      if (std::strlen(o.sentence.en) && o.level != Level::error && !error && !undecided) {
        follows_en_.push_back(o.sentence.en);
        follows_zh_.push_back(o.sentence.zh);
      }
      const bool note = !error && *o.code && !undecided &&
                        (!preferred(i, h[i]) || (o.level == Level::benign && h[i] != 0 && noteworthy(i)));
      if (!error && !note) continue;
      Finding f;
      f.code = o.code;
      f.error = error;
      f.kind = o.kind;
      if (o.kind == Kind::gru && std::holds_alternative<LstmConvention>(base_.decoder.cell)) f.kind = Kind::lstm;
      f.where = where;
      f.sentence = sentence_of(o, i, error);
      if (o.fitted) say_the_number(group, h, all_[i].name, f.sentence);
      f.used = o.used;
      f.paper = o.paper;
      f.fix = o.fix;
      f.test = o.test;
      errors.push_back(f);
    }
    if (rivals.size() > 1 && !rivals.begin()->empty()) name_rivals(errors, rivals, open);
    verdict_.findings.insert(verdict_.findings.end(), errors.begin(), errors.end());
    // A field may act in several groups: what one of them tells is not open.
    for (std::size_t i : group.fields) {
      const auto here = open.find(i);
      const std::set<int> options = here == open.end() ? std::set<int>{} : here->second;
      const auto [before, first] = open_.emplace(i, options);
      if (!first) std::erase_if(before->second, [&](int k) { return !options.count(k); });
    }
  }

  // Which way z works is said among the conventions; it is news only where a claim prefers the other way.
  bool noteworthy(std::size_t i) const { return std::string(all_[i].name) != "update"; }

  // A number that was read off the trace, by the size that it is.
  void say_the_number(const Group& group, const Hypothesis& h, const std::string& field, Words& w) const {
    const auto model = build(group, h);
    if (!model || model->estimated.empty()) return;
    const double read = model->estimated[0], inverse = 1 / read;
    const bool small_divisor = field == "scale" && read < 1 && std::fabs(inverse - std::round(inverse)) < 1e-6;
    const double x = small_divisor ? inverse : read;
    const std::string text = print(number(x)),
                      size = as_size(x, given_, trace_.kind == TraceKind::multi_head ? base_.heads.heads : 0,
                                     single_ ? 1e-4 : 1e-7);
    if (field == "scale") w.en += small_divisor ? ": multiplied by" : ": divided by";
    if (field == "scale") w.zh += small_divisor ? "：乘以" : "：除以";
    else w.zh += "：";
    w.en +=
        std::string(field == "scale" ? " " : ": ") + text + (size.empty() || small_divisor ? "" : ", which is " + size);
    w.zh += text + (size.empty() || small_divisor ? "" : "，即 " + size);
  }

  Words sentence_of(const Option& o, std::size_t i, bool error) const {
    Words w = o.sentence;
    if (error && o.level != Level::error && claim_) {
      w.en += "; the claim (" + std::string(claim_->title.en) + ") says otherwise";
      w.zh += "；与所声称的（" + std::string(claim_->title.zh) + "）不符";
    } else if (error && o.level != Level::error && std::string(all_[i].name) == "gate_order") {
      w.en += " is how the numbers were computed; the names or meta.json say otherwise";
      w.zh += " 才与数值相符；名称或 meta.json 说的不同";
    }
    return w;
  }

  // Several sets of codes agree: the finding carries all their names.
  void name_rivals(std::vector<Finding>& errors, const std::set<std::set<std::string>>& rivals,
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
      all.tell.en += all_[i].tell.en;
      all.tell.zh += all_[i].tell.zh;
    }
    errors.push_back(all);
  }

  Words where_of(const Group& group) const {
    Words w;
    for (Stage stage : group.stages) {
      const Said name = name_of(stage);
      if (!there(output_of(stage)) && group.stages.size() > 1) continue;
      w.en += (w.en.empty() ? "" : ", ") + std::string(name.en);
      w.zh += (w.zh.empty() ? "" : "、") + std::string(name.zh);
    }
    return w;
  }

  // ---- nothing agrees: the kind at least

  // No combination of the arrays has the sizes that the parameters of this stage need.
  void nothing_fits(const Group& group) {
    const Words where = where_of(group);
    const bool reads_input = std::any_of(group.stages.begin(), group.stages.end(), [](Stage s) {
      return s == Stage::cell || s == Stage::attentional || s == Stage::readout;
    });
    if (trace_.kind == TraceKind::decoder && reads_input && !there("y_emb")) {
      verdict_.notes.push_back({where.en + " cannot be checked: y_emb (B, T_dec, d_emb) is missing",
                                where.zh + " 无法核对：缺少 y_emb (B, T_dec, d_emb)"});
      return;
    }
    verdict_.checked = true;
    named_unknown_ = true;
    Finding f;
    f.code = "UNKNOWN";
    f.kind = Kind::shape;
    f.where = where;
    f.sentence = {"no way of joining the given arrays has the sizes that the parameters need",
                  "给出的数组无论怎样拼接，都与参数的尺寸不符"};
    f.fix = {"compare the shapes of the parameters with what they multiply", "核对参数与其所乘向量的形状"};
    f.test = "CHECK(W.shape() == Shape{d_out, d_in});";
    verdict_.findings.push_back(f);
  }

  void unknown(const Group& group, const std::vector<Scored>& tried) {
    double best = infinite;
    for (const Scored& s : tried) best = std::min(best, s.residual);
    named_unknown_ = true;
    verdict_.checked = true;
    verdict_.agreement = std::max(verdict_.agreement, best);
    Finding f;
    f.code = "UNKNOWN";
    f.where = where_of(group);
    const auto [kind, seen] = kind_from_invariants(group, tried);
    f.kind = kind;
    f.sentence = {"no known convention or mistake gives these numbers" + seen.en,
                  "没有已知的约定或错误能得到这些数值" + seen.zh};
    f.fix = {"compare " + f.where.en + " with the formula of the paper, term by term",
             "逐项对照论文公式检查" + f.where.zh};
    f.test = "CHECK(check_reference(decoder, inputs, claimed).passed);";
    verdict_.findings.push_back(f);
    for (std::size_t i : group.fields) open_[i].clear();  // what fits nowhere is no fault of the input
  }

  std::pair<Kind, Words> kind_from_invariants(const Group& group, const std::vector<Scored>& tried) {
    const auto in = [&](Stage s) {
      return std::find(group.stages.begin(), group.stages.end(), s) != group.stages.end();
    };
    for (const std::string& name : group.outputs)
      for (double x : get(given_, name).data)
        if (!std::isfinite(x))
          return {Kind::numerics, {"; " + name + " holds NaN or infinities", "；" + name + " 含有 NaN 或无穷"}};
    if ((in(Stage::weights) || in(Stage::heads)) && there("alpha")) {
      if (const auto seen = seen_in_weights()) return *seen;
    }
    if (in(Stage::heads) && there("alpha") && there("output"))
      return {Kind::convention, agrees_on("alpha", group, tried)
                                    ? Words{"; the weights agree, the output does not", "；权重相符，输出不符"}
                                    : Words{"; the weights disagree already", "；权重就已不符"}};
    // A first step that agrees clears the gates: what later steps are given is wrong.
    if (in(Stage::cell) && first_step_tells() && agrees_at_first(group, tried))
      return {Kind::convention,
              {"; the first step agrees, later ones do not: what a step hands on to the next is not what it should be",
               "；第一步相符，之后不符：某一步交给下一步的东西不对"}};
    if (trace_.kind == TraceKind::decoder && agrees_after_first(group, tried))
      return {Kind::convention,
              {"; only the first step disagrees: what it is given in the place of a step before it is wrong",
               "；只有第一步不符：它得到的、代替前一步的东西不对"}};
    if (in(Stage::run) && trace_.directions == 2 && trace_.layers == 1) {
      if (const auto seen = half_that_agrees(group, tried)) return *seen;
    }
    if (in(Stage::cell) || in(Stage::run)) {
      if (std::holds_alternative<LstmConvention>(base_.decoder.cell)) return {Kind::lstm, {}};
      if (std::holds_alternative<GruConvention>(base_.decoder.cell)) return {Kind::gru, {}};
    }
    return {Kind::convention, {}};
  }

  // Whether a hypothesis without mistakes gives one of a group's outputs.
  bool agrees_on(const char* output, const Group& group, const std::vector<Scored>& tried) {
    Group alone = group;
    alone.outputs = {output};
    return std::any_of(tried.begin(), tried.end(), [&](const Scored& s) {
      const auto model = trouble(group, s.hypothesis).violations ? std::nullopt : build(group, s.hypothesis);
      return model && residual(alone, *model, given_) < tolerance_;
    });
  }

  // From a state of zeros, mistakes in what a cell does with its state do not show at the first step.
  bool first_step_tells() const {
    const auto generic = [&](const char* name) {
      const Array* a = reference::find(given_, name);
      return a && std::all_of(a->data.begin(), a->data.end(), [](double x) { return x != 0; });
    };
    const bool remembers = std::holds_alternative<LstmConvention>(base_.decoder.cell);
    return there("s") && generic("s_0") && (!remembers || generic("cell_0"));
  }

  // One of two directions that agrees clears the gates, which both of them have.
  std::optional<std::pair<Kind, Words>> half_that_agrees(const Group& group, const std::vector<Scored>& tried) {
    if (!there("h")) return std::nullopt;
    const Array& wanted = get(given_, "h");
    const std::size_t d = wanted.dim(2);
    const auto half = [&](const Array& whole, std::size_t which) {
      Array part({whole.dim(0), whole.dim(1), d / 2});
      for (std::size_t r = 0; r < part.data.size(); ++r)
        part.data[r] = whole.data[r / (d / 2) * d + which * (d / 2) + r % (d / 2)];
      return part;
    };
    for (const Scored& s : tried) {
      const std::optional<Array> got = states_of(group, s.hypothesis);
      for (std::size_t which = 0; got && got->shape == wanted.shape && which < 2; ++which)
        if (difference(half(*got, which), half(wanted, which)) < tolerance_)
          return {{Kind::convention,
                   which ? Words{"; the second half of h agrees, the first does not", "；h 的后一半相符，前一半不符"}
                         : Words{"; the first half of h agrees, the second does not", "；h 的前一半相符，后一半不符"}}};
    }
    return std::nullopt;
  }

  // Whether a hypothesis without mistakes gives every step but the first, from the trace's own states.
  bool agrees_after_first(const Group& group, const std::vector<Scored>& tried) const {
    const auto later = [](const std::string& name, const Array& a) {
      const std::size_t first = name == "s" || name == "m" ? 2 : 1, T = a.dim(1), row = a.data.size() / a.dim(0) / T;
      Array cut({a.dim(0), T - first, row});
      for (std::size_t b = 0; b < a.dim(0); ++b)
        std::copy_n(a.data.begin() + static_cast<std::ptrdiff_t>((b * T + first) * row), (T - first) * row,
                    cut.data.begin() + static_cast<std::ptrdiff_t>(b * (T - first) * row));
      return cut;
    };
    if (!there("s") || get(given_, "s").dim(1) < 3) return false;
    for (const Scored& s : tried) {
      const auto model = trouble(group, s.hypothesis).violations ? std::nullopt : build(group, s.hypothesis);
      if (!model) continue;
      try {
        const Arrays got = stage_outputs(*model, given_, group.stages);
        if (std::all_of(group.outputs.begin(), group.outputs.end(), [&](const std::string& name) {
              const Array *a = reference::find(got, name), &wanted = get(given_, name);
              return a && a->shape == wanted.shape && difference(later(name, *a), later(name, wanted)) < tolerance_;
            }))
          return true;
      } catch (const std::invalid_argument&) {
        continue;  // sizes that do not go with this hypothesis
      }
    }
    return false;
  }

  // Whether a hypothesis without mistakes gives the first step of the trace.
  bool agrees_at_first(const Group& group, const std::vector<Scored>& tried) {
    const Arrays whole = seen_;
    for (auto& [name, a] : seen_) {
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
      if (agrees || trouble(group, s.hypothesis).violations) continue;
      if (const auto model = build(group, s.hypothesis)) agrees = residual(group, *model, seen_) < tolerance_;
    }
    seen_ = whole;
    return agrees;
  }

  // What the sums of the weights, (B, T, T_enc) or (B, heads, T, T_enc), say without any hypothesis.
  std::optional<std::pair<Kind, Words>> seen_in_weights() const {
    const Array& alpha = get(given_, "alpha");
    const Dims& shape = alpha.shape;
    const double eps = single_ ? 1e-4 : 1e-8;
    const std::size_t B = shape[0], T = shape[shape.size() - 2], n = shape.back(), all = alpha.data.size();
    if (all == 0) return std::nullopt;
    // Along axes other than the last a sum of 0 is one of masked weights.
    const auto sums_to_one = [&](std::size_t axis) {
      std::size_t stride = 1;
      for (std::size_t k = axis + 1; k < shape.size(); ++k) stride *= shape[k];
      for (std::size_t first = 0; first < all; ++first) {
        if (first / stride % shape[axis]) continue;
        double sum = 0;
        for (std::size_t k = 0; k < shape[axis]; ++k) sum += alpha.data[first + k * stride];
        if (!(std::fabs(sum - 1) < eps || (sum == 0 && stride > 1))) return false;
      }
      return true;
    };
    const bool by_keys = sums_to_one(shape.size() - 1), by_batch = sums_to_one(0),
               by_steps = sums_to_one(shape.size() - 2);
    // Over all axes but one.
    const auto jointly_one = [&](std::size_t kept) {
      std::size_t stride = 1;
      for (std::size_t k = kept + 1; k < shape.size(); ++k) stride *= shape[k];
      Vec sums(shape[kept]);
      for (std::size_t k = 0; k < all; ++k) sums[k / stride % shape[kept]] += alpha.data[k];
      return std::all_of(sums.begin(), sums.end(), [&](double sum) { return std::fabs(sum - 1) < eps; });
    };
    bool ones = true;
    double padded = 0;
    std::set<std::size_t> leaking;  // steps at which padding gets weight
    const Array* mask = reference::find(given_, "mask");
    if (mask && mask->shape != Dims{B, n}) mask = nullptr;
    for (std::size_t k = 0; k < all; ++k) {
      const double x = alpha.data[k];
      if (mask && mask->at({k / (all / B), k % n}) == 0) {
        padded = std::max(padded, std::fabs(x));
        if (std::fabs(x) > eps) leaking.insert(k / n % T + 1);
      } else ones = ones && std::fabs(x - 1) < eps;
    }
    if (!by_keys && ones && n > 1) return {{Kind::axis, {"; every weight is 1", "；每个权重都是 1"}}};
    if (!by_keys && shape.size() == 4 && sums_to_one(1) && shape[1] > 1)
      return {{Kind::axis, {"; the weights sum to 1 over the heads", "；权重沿头维求和为 1"}}};
    if (!by_keys && by_batch && B > 1)
      return {{Kind::axis, {"; the weights sum to 1 over the batch", "；权重沿批次求和为 1"}}};
    if (!by_keys && by_steps && T > 1)
      return {{Kind::axis, {"; the weights sum to 1 over the decoder steps", "；权重沿解码步求和为 1"}}};
    if (!by_keys && jointly_one(shape.size() - 2) && B > 1)
      return {{Kind::axis, {"; the weights of a step sum to 1 over the whole batch", "；每一步的权重对整批求和为 1"}}};
    if (!by_keys && jointly_one(0) && T > 1)
      return {{Kind::axis,
               {"; the weights of an example sum to 1 over all its steps", "；每个样本的权重对它的所有步求和为 1"}}};
    if (padded > eps) {
      Words seen = {"; padding gets weight", "；填充得到了权重"};
      if (leaking.size() < T) {
        std::string steps;
        for (std::size_t t : leaking) steps += (steps.empty() ? "" : ", ") + std::to_string(t);
        seen.en += leaking.size() == 1 ? " at step " + steps + " only" : " at steps " + steps + " only";
        seen.zh += "，只在第 " + steps + " 步";
      }
      return {{Kind::mask, seen}};
    }
    if (!by_keys)
      return {{Kind::convention, {"; the weights do not sum to 1 along any axis", "；权重沿任何轴求和都不为 1"}}};
    return std::nullopt;
  }

  // A trace with weights but nothing to compute them from is judged by what the weights must be.
  void look_at_weights() {
    const bool queries = there("s") || there("query");
    if (!there("s") && !queries)
      verdict_.open.push_back(
          {"query",
           fields_named("query").what,
           {"the decoder's states s (B, T_dec + 1, d_s): the query time cannot be told without states of two steps",
            "解码器状态 s (B, T_dec + 1, d_s)：没有两步的状态就无法判断查询的时间"}});
    if ((!there("mask") || !has_padding()) && !verdict_.leaves_open("mask")) {
      const Field& mask = fields_named("mask");
      verdict_.open.push_back({"mask", mask.what, mask.tell});
    }
    if (!there("alpha") || queries) return;
    verdict_.checked = true;
    const auto seen = seen_in_weights();
    if (!seen) {
      follows_en_.push_back("the weights sum to 1 over the encoder positions and padding gets none");
      follows_zh_.push_back("权重沿编码器位置求和为 1，填充没有权重");
      return;
    }
    Finding f;
    f.kind = seen->first;
    f.where = name_of(Stage::weights);
    f.sentence = {"the weights alone say" + seen->second.en, "仅从权重就能看出" + seen->second.zh};
    const std::string text = seen->second.en;
    if (text.find("every weight") != std::string::npos) f.code = "SOFTMAX_AXIS_SINGLETON";
    else if (text.find("batch") != std::string::npos) f.code = "SOFTMAX_AXIS_BATCH";
    else if (text.find("decoder steps") != std::string::npos) f.code = "SOFTMAX_AXIS_QUERIES";
    else f.code = "UNKNOWN";
    if (f.kind == Kind::mask) {
      f.code = "MASK_FINITE_FILL|MASK_MISSING|MASK_MULT_BEFORE_SOFTMAX";
      f.alias = {"MASK_FINITE_FILL", "MASK_MISSING", "MASK_MULT_BEFORE_SOFTMAX"};
      f.tell = {"the same trace with s and the score's parameters", "带上 s 与打分参数的同一份数据"};
    }
    if (f.code == "UNKNOWN") named_unknown_ = true;
    if (f.code.rfind("SOFTMAX_AXIS", 0) == 0) {
      const char* id = f.code == "SOFTMAX_AXIS_SINGLETON" ? "singleton"
                       : f.code == "SOFTMAX_AXIS_BATCH"   ? "batch"
                                                          : "queries";
      const Option* o = find_option("axis", id);
      f.used = o->used, f.paper = o->paper, f.fix = o->fix, f.test = o->test;
    }
    verdict_.findings.push_back(f);
  }

  // A formula on the trace's own logits. Which targets are padding is known only if they are negative or y_mask says it.
  void look_at_loss() {
    if (!there("logits") || !there("targets") || !there("loss")) return;
    Trace alone;
    alone.meta.topic = "cross_entropy", alone.single = single_;
    for (const char* name : {"logits", "targets", "loss"}) alone.arrays[name] = get(given_, name);
    if (there("y_mask")) alone.arrays["mask"] = get(given_, "y_mask");
    const Verdict loss = diagnose_formula(alone, "");
    const Vec& targets = get(given_, "targets").data;
    const bool pads_known =
        there("y_mask") || std::any_of(targets.begin(), targets.end(), [](double x) { return x < 0; });
    if (loss.find("UNKNOWN") && !pads_known) {
      verdict_.notes.push_back({"no known cross-entropy gives this loss; if some targets are padding, dump y_mask",
                                "没有已知的交叉熵能得到这个 loss；若部分目标是填充，请另存 y_mask"});
      return;
    }
    verdict_.findings.insert(verdict_.findings.end(), loss.findings.begin(), loss.findings.end());
    verdict_.open.insert(verdict_.open.end(), loss.open.begin(), loss.open.end());
    verdict_.choices.insert(verdict_.choices.end(), loss.choices.begin(), loss.choices.end());
    if (loss.follows.empty()) return;
    follows_en_.push_back("the loss is the " + loss.follows.en);
    follows_zh_.push_back("损失" + loss.follows.zh);
  }

  bool has_padding() const {
    const Array* mask = reference::find(given_, "mask");
    return mask && std::any_of(mask->data.begin(), mask->data.end(), [](double x) { return x == 0; });
  }

  const Field& fields_named(const std::string& name) const {
    return *std::find_if(all_.begin(), all_.end(), [&](const Field& f) { return name == f.name; });
  }

  // ---- the whole

  void conclude() {
    // A query after the step leaves the cell nothing but the context before: one mistake, not two.
    if (verdict_.find("ATTN_QUERY_POST_STEP") && verdict_.find("ATTN_QUERY_POST_STEP")->error)
      std::erase_if(verdict_.findings,
                    [](const Finding& f) { return f.code == "CELL_CONTEXT_LATE" || f.code == "INPUT_FEED_CONTEXT"; });
    // The library's name where the grammar has found the same.
    for (Finding& f : verdict_.findings)
      if (f.code == "ATTN_SCORE_FUNCTION_OUTSIDE") {
        f.code = "ENERGY_TANH_OUTSIDE";
        f.sentence = {"the tanh stands around the score, outside v_a, and not around W_a q + U_a h_i",
                      "tanh 包在整个分数外面（v_a 之外），而没有包住 W_a q + U_a h_i"};
        f.fix = {"apply tanh first, then v_a", "先做 tanh，再乘 v_a"};
      }
    note_unused_context();
    std::stable_sort(verdict_.findings.begin(), verdict_.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.error > b.error; });
    for (const Open& o : verdict_.open)
      for (const auto& [name, ids] : claim_ ? claim_->keeps : FieldOptions{})
        verdict_.claim_is_open = verdict_.claim_is_open || o.field == name;
    for (std::size_t i = 0; i < follows_en_.size(); ++i) {
      verdict_.follows.en += (i ? "; " : "") + follows_en_[i];
      verdict_.follows.zh += (i ? "；" : "") + follows_zh_[i];
    }
    if (trace_.kind == TraceKind::decoder && !claim_) name_hybrid();
    for (const std::string& key : trace_.meta.ignored)
      if (key != "made_with")
        verdict_.notes.push_back({"meta.json: '" + key +
                                      "' is no key that is read here; these are claims, gate_order, "
                                      "layout, heads, linear_before_reset, topic",
                                  "meta.json：没有用到 '" + key +
                                      "'；可用的键是 claims、gate_order、layout、heads、linear_before_reset、topic"});
    for (const std::string& name : trace_.ignored) {
      if (name == "made_with") continue;
      verdict_.notes.push_back({"'" + name + "' is no name that is read here", "没有用到名为 '" + name + "' 的数组"});
    }
  }

  // A context that neither the cell nor the readout reads is no attention, whatever is computed: one mistake, not two.
  void note_unused_context() {
    if (trace_.kind != TraceKind::decoder || !chose("input=none") || there("W_c")) return;
    if (!chose("readout=s") && !chose("readout=s,y")) return;
    std::erase_if(verdict_.findings, [](const Finding& f) {
      return f.code == "CONTEXT_NOT_IN_CELL" || f.code == "READOUT_WITHOUT_CONTEXT";
    });
    const Option* none = find_option("input", "none");
    std::erase(follows_en_, none->sentence.en), std::erase(follows_zh_, none->sentence.zh);
    const bool computed = there("alpha") || there("c") || there("W_a") || there("v_a");
    Finding f;
    f.code = "CONTEXT_UNUSED";
    f.error = claim_ && (std::string(claim_->name) == "bahdanau2014" || std::string(claim_->name) == "luong2015");
    f.where = {"the decoder's cell (s), the readout (logits)", "解码器循环单元 (s)、输出 (logits)"};
    f.sentence = computed ? Words(
                                "weights are computed, and no context reaches the cell or the readout: in effect "
                                "there is no attention",
                                "算出了权重，但上下文既没有进入循环单元，也没有进入输出：等于没有注意力")
                          : Words("there is no attention: neither the cell nor the readout reads a context",
                                  "没有注意力：循环单元与输出都不读上下文");
    f.used = "s_t = RNN(y_{t-1}, s_{t-1}), logits_t from s_t alone";
    f.paper = claim_ && std::string(claim_->name) == "luong2015"
                  ? "s~_t = tanh(W_c [c_t; s_t]), logits = W_o s~_t (Luong et al. 2015, section 3)"
                  : "s_t = RNN([y_{t-1}; c_t], s_{t-1}) (Bahdanau et al. 2014, section 3.1)";
    f.fix = {"compute c_t = sum of alpha_{t,i} h_i and join it to the cell's input (Bahdanau) or to s~ (Luong)",
             "计算 c_t = sum alpha_{t,i} h_i，并拼进循环单元的输入（Bahdanau）或 s~（Luong）"};
    f.test = "CHECK(probe_source(decoder, inputs, true).passed);";
    verdict_.findings.push_back(f);
  }

  bool chose(const char* choice) const {
    return std::find(verdict_.choices.begin(), verdict_.choices.end(), choice) != verdict_.choices.end();
  }

  // Without a claim, a decoder that no paper describes is called what it is.
  void name_hybrid() {
    const bool prev = chose("query=s_prev"), now = chose("query=s_t");
    const bool additive = chose("score=additive"),
               luong = chose("score=dot") || chose("score=general") || chose("score=concat") || chose("score=location");
    const bool early = chose("input=c_t");
    if (verdict_.find("CONTEXT_UNUSED")) return;
    if (prev && additive && early)
      verdict_.notes.push_back({"this is the decoder of Bahdanau et al. 2014", "这是 Bahdanau 2014 的解码器"});
    else if (now && luong && !early)
      verdict_.notes.push_back({"this is the decoder of Luong et al. 2015", "这是 Luong 2015 的解码器"});
    else if (prev || now)
      verdict_.notes.push_back({std::string("a hybrid: ") +
                                    (luong      ? "Luong's"
                                     : additive ? "Bahdanau's"
                                                : "another") +
                                    " score queried with " +
                                    (prev ? "s_{t-1}, as Bahdanau does" : "s_t, as Luong does"),
                                std::string("混合：") +
                                    (luong      ? "Luong 的"
                                     : additive ? "Bahdanau 的"
                                                : "其他") +
                                    "打分，查询却是 " + (prev ? "s_{t-1}（Bahdanau 的做法）" : "s_t（Luong 的做法）")});
  }

  const Trace& trace_;
  const Options& options_;
  const Claim* claim_;
  const std::vector<Field>& all_;
  Verdict verdict_;
  Model base_;
  Arrays given_, seen_, first_;  // the trace, some of it, and less than that
  std::map<std::string, double> scales_;
  std::string owner_order_;
  struct Judgement {
    bool kept = true, preferred = true;
  };
  std::vector<std::vector<Judgement>> judged_;  // of each option of each field
  Hypothesis chosen_;
  std::map<std::size_t, std::set<int>> open_;  // field -> options that no group tells from the chosen one
  bool single_ = false, named_unknown_ = false;
  // What h holds behind the end where that is neither 0 nor the last state, and whether it still stands in given_.
  std::optional<BehindTheEnd> padding_;
  bool padding_is_other_ = false;
  bool right_inside_ = false;     // a model that keeps the claim gives what the formulas are about: all real positions
  bool forward_differs_ = false;  // in a way that the model of the gradients does not have
  std::size_t misfits_ = 0, attempts_ = 0;
  double states_ = infinite;  // how far h was in the residual computed last
  // Numbers that the grammar may compute for one of its searches, and for all that are still to come.
  static constexpr std::size_t most_at_once = 100'000'000;
  std::size_t left_ = 160'000'000;
  double tolerance_ = 1e-9, apart_ = 1e-4;
  std::vector<std::string> follows_en_, follows_zh_;
};

}  // namespace

Verdict diagnose(const Trace& trace, const Options& options) { return Search(trace, options).run(); }

Answer diagnose_file(const std::string& path, const std::string& claim, Lang lang, bool json) {
  try {
    Options options;
    options.claim = claim;
    const Verdict verdict = diagnose(read_trace(path), options);
    return {json ? verdict.json() : verdict.text(lang), verdict.exit_status()};
  } catch (const std::bad_alloc&) {
    return {"diagnosis: " + path + " needs more memory than there is; dump a smaller batch\n", 3};
  } catch (const std::exception& error) { return {std::string(error.what()) + "\n", 3}; }
}

}  // namespace gradus::diagnosis
