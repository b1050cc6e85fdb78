#include "nn/conventions/diagnosis_bench.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string_view>

#include "nn/conventions/diagnosis_holes.h"
#include "nn/conventions/diagnosis_padding.h"
#include "nn/conventions/diagnosis_parts.h"
#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/trace_names.h"

namespace gradus::diagnosis {

using namespace reference;

double difference(const Array& got, const Array& wanted, double scale) {
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

Bench::Bench(const Trace& its_trace, const Options& its_options)
    : trace(its_trace),
      options(its_options),
      claim(find_claim(its_options.claim)),
      all(fields()),
      given(its_trace.arrays),
      single(its_trace.single || looks_single(its_trace.arrays)),
      half(looks_half(its_trace.arrays)),
      searches(its_options.searches) {
  tolerance = single ? 1e-5 : 1e-9;
  apart = single ? 1e-3 : 1e-4;
  holes = has_holes(trace);
  set_base();
  padding_is_other = trace.kind == TraceKind::recurrent && holds_other_numbers(given, trace.directions);
  judge_options();
}

bool Bench::looks_single(const Arrays& arrays) {
  std::size_t fractions = 0;
  for (const auto& [name, a] : arrays)
    for (double x : a.data) {
      if (!std::isfinite(x)) continue;
      if (static_cast<double>(static_cast<float>(x)) != x) return false;
      fractions += x != std::floor(x);
    }
  return fractions > 8;
}

Half Bench::looks_half(const Arrays& arrays) {
  const auto holds = [](double x, int bits) {  // in a fraction of so many bits
    int exponent = 0;
    const double fraction = std::ldexp(std::frexp(x, &exponent), bits);
    return fraction == std::floor(fraction);
  };
  Half coarsest = Half::none;
  for (const Half half : {Half::float16, Half::bfloat16})
    for (const auto& [name, a] : arrays) {
      const int bits = half == Half::float16 ? 11 : 8;
      std::set<double> telling;  // other numbers, such as 0.5 or 3, are as good in every type
      const bool all = std::all_of(a.data.begin(), a.data.end(), [&](double x) {
        if (x != std::floor(x) && !holds(x, 4)) telling.insert(x);
        return std::isfinite(x) && holds(x, bits);
      });
      constexpr std::size_t enough = 4;
      if (all && telling.size() >= enough) coarsest = half;
    }
  return coarsest;
}

void Bench::judge_options() {
  static const FieldOptions none;
  for (const Field& field : all) {
    judged_.emplace_back();
    for (const Option& o : field.options) {
      Judgement j{allowed(claim ? claim->keeps : none, field.name, o.id),
                  allowed(claim ? claim->prefers : none, field.name, o.id)};
      const auto is_named = [&](const auto& list) { return list.first == std::string(field.name); };
      if (o.by_claim_alone) j.kept = j.kept && claim && std::any_of(claim->keeps.begin(), claim->keeps.end(), is_named);
      if (std::string(field.name) == "gate_order" && std::string(o.id) != "one") {
        const std::string& known = trace.gates_by_name.empty() ? owner_order_ : trace.gates_by_name;
        if (!known.empty()) j.kept = o.id == known;
      }
      judged_.back().push_back(j);
    }
  }
}

bool Bench::allowed(const FieldOptions& lists, const std::string& field, const std::string& id) {
  for (const auto& [name, ids] : lists)
    if (field == name) return std::any_of(ids.begin(), ids.end(), [&](const char* one) { return id == one; });
  return true;
}

void Bench::set_base() {
  base.decoder.layers = trace.layers;
  base.query_given = trace.kind == TraceKind::decoder && there("query");
  base.heads.heads = std::max<std::size_t>(trace.meta.heads, 1);
  if (const Array* U = reference::find(given, "U"); U && U->shape.size() == 2 && U->shape[1]) {
    const std::size_t gates = U->shape[0] / U->shape[1];
    if (gates == 3) base.decoder.cell = GruConvention{};
    else if (gates == 4) base.decoder.cell = LstmConvention{};
    else base.decoder.cell = ElmanConvention{};
    owner_order_ = gate_letters(trace.meta.gate_order, gates);
  }
  if (trace.kind == TraceKind::multi_head) base.decoder.attention.score.score = Score::scaled_dot;
  chosen.assign(all.size(), -1);
  if (!trace.heads_known) count_heads();
}

void Bench::count_heads() {
  const std::size_t d = get(given, "W_Q").dim(0);
  for (std::size_t heads : possible_heads(d))
    for (MaskRead read : {MaskRead::keys, MaskRead::causal}) {
      Model model = base;
      model.heads.heads = heads;
      model.decoder.attention.mask_read = read;
      const Group whole{{Stage::heads}, {there("output") ? "output" : "alpha"}, {}};
      if (!there(whole.outputs[0].c_str()) || !(residual(whole, model, given) < tolerance)) continue;
      base.heads.heads = heads;
      return;
    }
  heads_are_guessed = true;
  searches = possible_heads(d).size();
}

std::vector<std::size_t> Bench::possible_heads(std::size_t d) {
  std::vector<std::size_t> divisors;
  for (std::size_t heads = 1; heads <= d; ++heads)
    if (d % heads == 0) divisors.push_back(heads);
  return divisors;
}

bool Bench::has_padding() const {
  const Array* mask = reference::find(given, "mask");
  return mask && std::any_of(mask->data.begin(), mask->data.end(), [](double x) { return x == 0; });
}

std::optional<Model> Bench::build(const Group& group, const Hypothesis& h) const {
  Model model = base;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int option = std::binary_search(group.fields.begin(), group.fields.end(), i) ? h[i] : chosen[i];
    if (option >= 0 && !apply(i, option, model)) return std::nullopt;
  }
  return model;
}

Model Bench::model() const {
  Model model = base;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (chosen[i] >= 0) option(i, chosen[i]).apply(model, given);
  return model;
}

bool Bench::apply(std::size_t field, int i, Model& model) const {
  try {
    return option(field, i).apply(model, given);
  } catch (const std::invalid_argument&) {
    return false;  // the option asks for an array that is not there or has another shape
  }
}

double Bench::residual(const Group& group, const Hypothesis& h) {
  ++attempts;
  const std::optional<Model> model = build(group, h);
  if (!model) return infinite;
  ++tried;
  return residual(group, *model, whole_batch(*model) ? given : seen);
}

double Bench::residual_at_once(const Group& group, const Hypothesis& h) {
  constexpr double far = 1e-2;
  if (first.empty()) return residual(group, h);
  ++attempts;
  const std::optional<Model> model = build(group, h);
  if (!model) return infinite;
  ++tried;
  if (whole_batch(*model)) {
    const double r = first_of_all.empty() || whole_time(*model) ? 0 : residual(group, *model, first_of_all);
    return r >= far ? r : residual(group, *model, given);
  }
  const double r = residual(group, *model, first);
  return r >= far ? r : residual(group, *model, seen);
}

double Bench::residual(const Group& group, const Model& model, const Arrays& on) {
  work += work_of(group, on);
  states = infinite;
  try {
    const Arrays got = stage_outputs(model, on, group.stages);
    double most = 0;
    for (const std::string& name : group.outputs) {
      const Array* a = reference::find(got, name);
      const double r = a ? difference(*a, get(on, name), scale_of(name)) : infinite;
      if (name == "h") states = r;
      most = std::max(most, r);
    }
    return most;
  } catch (const std::invalid_argument&) {
    ++misfits;
    return infinite;  // shapes that do not go with this hypothesis, or an array that is not there
  }
}

double Bench::scale_of(const std::string& name) {
  double& scale = scales_[name];
  if (scale == 0)
    for (double x : get(given, name).data)
      if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
  return scale;
}

bool Bench::whole_batch(const Model& m) {
  const AttentionConvention& a = m.decoder.attention;
  const auto elsewhere = [](MemoryRead read) { return read != MemoryRead::own && read != MemoryRead::time_reversed; };
  return (a.axis != SoftmaxAxis::keys && a.axis != SoftmaxAxis::singleton) || elsewhere(a.keys) ||
         elsewhere(a.values) || a.mask_read == MaskRead::next_example || a.mask_read == MaskRead::previous_example ||
         a.mask_read == MaskRead::longest_first || a.mask_read == MaskRead::shortest_first || elsewhere(m.query_read) ||
         m.first_state >= FirstState::next_example || !m.dropped.shape.empty() || m.run.over_the_batch ||
         m.both.merge == Merge::reshaped || m.both.merge == Merge::reshaped_example || m.heads.mask == HeadMask::tiled;
}

bool Bench::whole_time(const Model& m) {
  const SoftmaxAxis axis = m.decoder.attention.axis;
  return axis == SoftmaxAxis::queries || axis == SoftmaxAxis::keys_and_queries || axis == SoftmaxAxis::all ||
         m.query_read != MemoryRead::own || !m.dropped.shape.empty();
}

void Bench::choose_what_is_seen() {
  seen = given;
  first.clear();
  first_of_all.clear();
  if (trace.kind == TraceKind::recurrent) {
    const Array& x = get(given, "x");
    const std::size_t B = x.dim(0), row = telling_row(given);
    if (B > 1) first = part_of_run(given, {row});
    if (B > 2 && B * x.dim(1) > 30) seen = part_of_run(given, {row, row ? 0 : B - 1});
  }
  if (trace.kind == TraceKind::multi_head && get(given, "query").dim(0) > 1) first = part_of_heads(given, 0);
  if (trace.kind != TraceKind::decoder || !there("s")) return;
  const Array& s = get(given, "s");
  const std::size_t B = s.dim(0), T = s.dim(1) - 1;
  if (B * T > 2) first = part_of_decoder(given, {0}, std::min<std::size_t>(T, 2));
  std::vector<std::size_t> every_row(B);
  for (std::size_t b = 0; b < B; ++b) every_row[b] = b;
  if (T > 4) first_of_all = part_of_decoder(given, every_row, 2);
  if (B * T <= 12) return;
  std::vector<std::size_t> rows = {0};
  if (const Array* mask = reference::find(given, "mask")) {
    std::size_t shortest = 0, least = std::numeric_limits<std::size_t>::max();
    for (std::size_t b = 0; b < B; ++b) {
      std::size_t n = 0;
      for (double x : mask->row({b})) n += x != 0;
      if (n < least) least = n, shortest = b;
    }
    if (shortest) rows.push_back(shortest);
  }
  if (rows.size() == 1 && B > 1) rows.push_back(B - 1);
  seen = part_of_decoder(given, rows, std::min<std::size_t>(T, 4));
}

Trouble Bench::trouble(const Group& group, const Hypothesis& h) const {
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

std::vector<Hypothesis> Bench::combinations(const Group& group) const {
  std::vector<Hypothesis> list;
  const auto in_group = [&](std::size_t i) { return std::binary_search(group.fields.begin(), group.fields.end(), i); };
  std::vector<std::size_t> order;  // the group's fields, and those for which another group has chosen
  for (std::size_t i = 0; i < all.size(); ++i)
    if (in_group(i) || chosen[i] >= 0) order.push_back(i);
  // Whether what is chosen in the fields behind this place goes with the model.
  const auto stands = [&](std::size_t at, const Model& model) {
    std::optional<Model> whole;
    while (++at < order.size())
      if (const std::size_t i = order[at]; !in_group(i) && !apply(i, chosen[i], whole ? *whole : whole.emplace(model)))
        return false;
    return true;
  };
  // One model a place, kept for its memory: an option is applied once to all hypotheses that begin alike.
  std::vector<Model> begun(order.size() + 1, base);
  Hypothesis h(all.size(), -1);
  const std::function<void(std::size_t)> go_on = [&](std::size_t at) {
    if (list.size() == options.most) return;
    if (at == order.size()) return list.push_back(h);
    const std::size_t i = order[at];
    Model& next = begun[at + 1];
    bool any = false;
    for (int k = 0; in_group(i) && k < static_cast<int>(all[i].options.size()); ++k) {
      if (!free(option(i, k))) continue;
      next = begun[at];
      if (!apply(i, k, next) || !stands(at, next)) continue;
      any = true, h[i] = k;
      go_on(at + 1);
    }
    h[i] = -1;
    if (any) return;
    next = begun[at];
    if (in_group(i) || apply(i, chosen[i], next)) go_on(at + 1);
  };
  go_on(0);
  return list;
}

std::vector<std::pair<std::size_t, int>> Bench::deviations(const Group& group) const {
  std::vector<std::pair<std::size_t, int>> list;
  for (std::size_t i : group.fields)
    for (std::size_t k = 0; k < all[i].options.size(); ++k)
      if (!free(all[i].options[k])) list.emplace_back(i, static_cast<int>(k));
  return list;
}

std::optional<Array> Bench::states_of(const Group& group, const Hypothesis& hypothesis) {
  const auto model = trouble(group, hypothesis).violations ? std::nullopt : build(group, hypothesis);
  if (!model) return std::nullopt;
  try {
    return get(stage_outputs(*model, given, group.stages), "h");
  } catch (const std::invalid_argument&) { return std::nullopt; }
}

bool Bench::agrees_on(const char* output, const Group& group, const std::vector<Scored>& some) {
  Group alone = group;
  alone.outputs = {output};
  return std::any_of(some.begin(), some.end(), [&](const Scored& s) {
    const auto model = trouble(group, s.hypothesis).violations ? std::nullopt : build(group, s.hypothesis);
    return model && residual(alone, *model, given) < tolerance;
  });
}

std::size_t Bench::work_of(const Group& group, const Arrays& on) const {
  const auto steps_if = [&](Stage stage, const char* name) {
    const Array* a = reference::find(on, name);
    const bool here = std::find(group.stages.begin(), group.stages.end(), stage) != group.stages.end();
    return here && a && a->shape.size() > 1 ? a->dim(0) * a->dim(1) : 0;
  };
  const std::size_t cells = steps_if(Stage::run, "x") + steps_if(Stage::cell, "y_emb"),
                    scores = steps_if(Stage::score, "y_emb"), vectors = steps_if(Stage::attentional, "y_emb"),
                    readouts = steps_if(Stage::readout, "y_emb");
  const auto of_cells = [](std::string_view name) {  // W, U_l0, W_reverse, ...
    const std::string_view rest = name.substr(std::min<std::size_t>(name.size(), 1), 2);
    return (name[0] == 'W' || name[0] == 'U') && (rest.empty() || rest == "_l" || rest == "_r");
  };
  std::size_t numbers = 200;
  for (const auto& [name, a] : on) {
    const std::size_t times = of_cells(name)                 ? cells
                              : name == "H" || name == "W_a" ? scores
                              : name == "W_c"                ? vectors
                              : name == "W_o"                ? readouts
                                                             : 0;
    numbers += a.data.size() * (1 + times);
    constexpr std::size_t of_a_function = 10;  // an exp or a tanh beside a product
    if (name[0] == 'U' && of_cells(name) && !a.shape.empty()) numbers += of_a_function * cells * a.dim(0);
  }
  return numbers;
}

std::size_t Bench::budget_for(const Group& group, const Arrays& on) const {
  constexpr std::size_t most_work = 26'000'000;
  return std::clamp<std::size_t>(most_work / work_of(group, on), 2000, options.most);
}

std::vector<Scored> Bench::matching(const Group& group, const std::vector<Scored>& scored) {
  double best = infinite;
  for (const Scored& s : scored) best = std::min(best, s.residual);
  if (!(best < tolerance)) return {};
  std::vector<Scored> hits;
  bool agrees = false;
  for (const Scored& s : scored) {
    if (!(s.residual < apart)) continue;
    Scored full = s;
    if (const auto model = build(group, s.hypothesis)) full.residual = residual(group, *model, given);
    agrees = agrees || full.residual < tolerance;
    if (full.residual < apart) hits.push_back(full);
  }
  if (!agrees) return {};
  const auto fitted = [&](const Scored& s) {
    return std::any_of(group.fields.begin(), group.fields.end(),
                       [&](std::size_t i) { return s.hypothesis[i] >= 0 && option(i, s.hypothesis[i]).fitted; });
  };
  if (std::any_of(hits.begin(), hits.end(), [&](const Scored& s) { return s.residual < tolerance && !fitted(s); }))
    std::erase_if(hits, fitted);
  // A number that is read off the trace brings any model a little nearer: it must explain far more than it leaves over.
  std::erase_if(hits, [&](const Scored& s) {
    if (!fitted(s)) return false;
    Hypothesis without = s.hypothesis;
    for (std::size_t i : group.fields)
      if (without[i] >= 0 && option(i, without[i]).fitted) without[i] = 0;
    const auto model = build(group, without);
    return model && residual(group, *model, given) < 1e3 * s.residual;
  });
  if (std::none_of(hits.begin(), hits.end(), [&](const Scored& s) { return s.residual < tolerance; })) hits.clear();
  return hits;
}

std::set<std::string> Bench::codes(const Group& group, const Hypothesis& h) const {
  std::set<std::string> out;
  for (std::size_t i : group.fields) {
    if (h[i] < 0) continue;
    const Option& o = option(i, h[i]);
    if (o.level == Level::error || !kept(i, h[i])) out.insert(o.code);
  }
  return out;
}

Words Bench::where_of(const Group& group) const {
  Words w;
  for (Stage stage : group.stages) {
    const Said name = name_of(stage);
    if (!there(output_of(stage)) && group.stages.size() > 1) continue;
    w.en += (w.en.empty() ? "" : ", ") + std::string(name.en);
    w.zh += (w.zh.empty() ? "" : "、") + std::string(name.zh);
  }
  return w;
}

const Field& Bench::fields_named(const std::string& name) const {
  return *std::find_if(all.begin(), all.end(), [&](const Field& f) { return name == f.name; });
}

void Bench::compare_again(const Arrays& on) {
  given = on;
  scales_.clear();
  choose_what_is_seen();
}

void Bench::forget_padding() {
  padding_is_other = false;
  Arrays without = given;
  without["h"] = without_padding(given);
  compare_again(without);
}

}  // namespace gradus::diagnosis
