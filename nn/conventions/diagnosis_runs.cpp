#include "nn/conventions/diagnosis_runs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "nn/conventions/diagnosis_ends.h"
#include "nn/conventions/diagnosis_layers.h"
#include "nn/conventions/diagnosis_masks.h"
#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/expression.h"
#include "nn/conventions/sizes.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

bool over_the_padding(const Field& field, const Option& o) {
  return std::string("after_end") == field.name && std::string("run_on") == o.id;
}

Finding of_padding(const Bench& bench, const Group& group, const Words& what) {
  Finding f;
  f.code = "RUN_OUTPUT_BEHIND_END";
  f.error = false;
  f.kind = Kind::mask;
  f.where = bench.where_of(group);
  f.sentence = what;
  f.used = {"h behind the end = RNN(padding, h of the last real position)",
            "序列结束之后的 h = RNN(填充，最后一个真实位置的 h)"};
  f.paper = {"h behind the end: 0 (PyTorch's packed sequences) or the last state (Keras)",
             "序列结束之后的 h：0（PyTorch 的打包序列）或最后的状态（Keras）"};
  f.fix = {"nothing to fix as long as nobody reads them; t < length writes real positions only",
           "只要没有人读取就无需修改；用 t < length 则只写真实位置"};
  f.test = {"append padding: CHECK(outputs behind the end are 0);", "追加填充：CHECK(序列结束之后的输出为 0);"};
  return f;
}

// The entry of the tables, as a finding beside others.
Finding padding_is_read(const Bench& bench, const Group& group) {
  Finding f;
  f.where = bench.where_of(group);
  for (const Field& field : bench.all)
    for (const Option& o : field.options)
      if (over_the_padding(field, o)) {
        f.code = o.code, f.kind = o.kind, f.sentence = {o.sentence.en, o.sentence.zh};
        f.used = o.used, f.paper = o.paper, f.fix = {o.fix.en, o.fix.zh}, f.test = o.test;
      }
  return f;
}

bool ends_behind_the_padding(const Bench& bench, const Group& group, Model model) {
  model.run.after_end = model.both.after_end = AfterEnd::run_on;
  const Arrays made = stage_outputs(model, bench.given, {Stage::run});
  return group.outputs.size() > 1 && std::all_of(group.outputs.begin(), group.outputs.end(), [&](const auto& name) {
           return name == "h" || difference(get(made, name), get(bench.given, name)) < bench.tolerance;
         });
}

// What stands where final states belong, as one finding. Empty where that is not known, or nothing is wrong.
std::vector<Finding> other_final_states(const Bench& bench, const Group& group, const RunDetails& right) {
  std::vector<Finding> found;
  const bool ends = group.outputs.front() == "start";
  for (const std::string& output : group.outputs) {
    const bool is_right = !ends && difference(get(right.outputs, output), get(bench.given, output)) < bench.tolerance;
    if (output == "h" || is_right) continue;
    const auto more = explain_final_states(bench.given, right, output, bench.trace.directions, bench.tolerance);
    if (more.empty()) return {};
    for (const Finding& f : more) {
      const auto known = std::find_if(found.begin(), found.end(), [&](const Finding& g) { return g.code == f.code; });
      if (known == found.end()) {
        found.push_back(f);
        continue;
      }
      known->where = bench.where_of(group);
      known->sentence.en += "; " + f.sentence.en, known->sentence.zh += "；" + f.sentence.zh;
      known->used += "; " + f.used, known->paper += "; " + f.paper;
    }
  }
  return found;
}

// Whether the final states of a run whose outputs are explained are right, or what stands there is found, too.
bool final_states_too(const Bench& bench, const Group& group, const Hypothesis& hypothesis,
                      std::vector<Finding>& found) {
  const RunDetails right = run_details(*bench.build(group, hypothesis), bench.given);
  const bool all_right = std::all_of(group.outputs.begin(), group.outputs.end(), [&](const std::string& output) {
    return output == "h" || difference(get(right.outputs, output), get(bench.given, output)) < bench.tolerance;
  });
  const std::vector<Finding> more = all_right ? std::vector<Finding>() : other_final_states(bench, group, right);
  found.insert(found.end(), more.begin(), more.end());
  return all_right || !more.empty();
}

// Every option of the cell that could be wrong in one layer alone: mistakes, and choices other than the right one.
std::vector<OtherCell> other_cells(const Bench& bench, const Group& group, const Hypothesis& right) {
  std::vector<OtherCell> made;
  for (const bool free_ones : {false, true})
    for (std::size_t i : group.fields)
      for (std::size_t k = 0; k < bench.all[i].options.size(); ++k) {
        const Option& o = bench.all[i].options[k];
        if (Bench::free(o) != free_ones || static_cast<int>(k) == right[i] || !*o.code) continue;
        Hypothesis next = right;
        next[i] = static_cast<int>(k);
        if (const auto model = bench.build(group, next); model && model->edits.empty())
          made.push_back({&o, model->decoder.cell});
      }
  return made;
}

// `left` counts the models that may still be computed.
LayerCase layers_of(Bench& bench, Report& report, const Group& group, const Model& right, std::vector<OtherCell> cells,
                    std::size_t& left) {
  const auto agrees = [&bench, &report, &group, &left](const Model& other, const Arrays& first) {
    if (left == 0) return false;
    --left, ++bench.tried;
    double r = bench.residual(group, other, first);
    if (r < bench.tolerance && &first != &bench.given) r = bench.residual(group, other, bench.given);
    if (r < bench.tolerance) report.verdict.agreement = std::max(report.verdict.agreement, r);
    else report.verdict.next = std::min(report.verdict.next, r);
    return r < bench.tolerance;
  };
  return {
      bench.trace, right, std::move(cells),
      [&bench, agrees](const Model& other) { return agrees(other, bench.first.empty() ? bench.given : bench.first); },
      [&bench, agrees](const Model& other) { return agrees(other, bench.given); }};
}

// What the first layer ends with, where the trace has it: nothing between layers changes that.
bool lowest_layer_ends_right(Bench& bench, const Group& group, const Model& model) {
  if (!bench.there("h_n")) return true;
  const Arrays& few = bench.first.empty() ? bench.given : bench.first;
  bench.work += bench.work_of(group, few);
  try {
    const Array made = get(stage_outputs(model, few, group.stages), "h_n"), &wanted = get(few, "h_n");
    for (std::size_t k = 0; k < bench.trace.directions * wanted.dim(1) * wanted.dim(2); ++k)
      if (!(std::fabs(made.data[k] - wanted.data[k]) < bench.tolerance)) return false;
    return made.shape == wanted.shape;
  } catch (const std::invalid_argument&) {
    return false;  // sizes that do not go with this model
  }
}

}  // namespace

std::vector<Scored> beside_read_padding(Bench& bench, const Group& group, const std::vector<Scored>& free_ones,
                                        std::size_t most_attempts) {
  std::vector<Scored> made;
  if (!bench.padding_is_other) return made;  // else such a run would show behind the end
  const auto list = bench.deviations(group);
  for (const auto& [field, k] : list)
    for (const Scored& s : free_ones) {
      if (!over_the_padding(bench.all[field], bench.option(field, k)) || bench.trouble(group, s.hypothesis).violations)
        continue;
      for (const auto& [other, n] : list) {
        if (bench.attempts >= most_attempts || other == field) continue;
        Hypothesis next = s.hypothesis;
        next[field] = k, next[other] = n;
        const double r = bench.residual_at_once(group, next);
        if (r < infinite) made.push_back({next, r});
      }
    }
  return made;
}

bool explained_by_final_states(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& some) {
  if (bench.trace.kind != TraceKind::recurrent) return false;
  const bool ends = group.outputs.front() == "start";
  if (!ends && !bench.there("h")) return false;
  for (const Scored& s : some) {
    const bool looked_at = bench.trouble(group, s.hypothesis).violations == 0 || s.states < bench.tolerance;
    const auto model = looked_at ? bench.build(group, s.hypothesis) : std::nullopt;
    if (!model || model->run.after_end == AfterEnd::run_on) continue;
    RunDetails right;
    try {
      right = run_details(*model, bench.given);
    } catch (const std::invalid_argument&) {
      continue;  // sizes that do not go with this hypothesis
    }
    const Arrays& made = right.outputs;
    if (bench.there("h") && !(difference(get(made, "h"), get(bench.given, "h")) < bench.tolerance)) continue;
    std::vector<Finding> found;
    if (!ends && bench.there("mask") && ends_behind_the_padding(bench, group, *model)) {
      found.push_back(padding_is_read(bench, group));
    } else {
      found = other_final_states(bench, group, right);
    }
    if (found.empty()) continue;
    report.adopt(group, s.hypothesis);
    report.verdict.findings.insert(report.verdict.findings.end(), found.begin(), found.end());
    return true;
  }
  return false;
}

bool explained_by_one_layer(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones) {
  const bool several = bench.trace.layers > 1 || bench.trace.directions > 1;
  if (bench.trace.kind != TraceKind::recurrent || !several || group.outputs.front() == "start") return false;
  std::size_t left = bench.budget_for(group, bench.seen);
  for (const Scored& s : free_ones) {
    const auto model = bench.trouble(group, s.hypothesis).violations ? std::nullopt : bench.build(group, s.hypothesis);
    if (!model) continue;
    if (const auto found =
            explain_layer(layers_of(bench, report, group, *model, other_cells(bench, group, s.hypothesis), left))) {
      report.adopt(group, s.hypothesis);
      report.verdict.findings.push_back(*found);
      return true;
    }
  }
  return false;
}

bool explained_between_layers(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& with_one) {
  if (bench.trace.kind != TraceKind::recurrent || bench.trace.layers < 2 || group.outputs.front() == "start")
    return false;
  std::size_t left = bench.budget_for(group, bench.first.empty() ? bench.given : bench.first);
  for (const Scored& s : with_one) {
    const auto model =
        bench.trouble(group, s.hypothesis).violations > 1 ? std::nullopt : bench.build(group, s.hypothesis);
    if (!model || Bench::whole_batch(*model) || !lowest_layer_ends_right(bench, group, *model)) continue;
    const auto found = explain_between_layers(layers_of(bench, report, group, *model, {}, left));
    if (!found) continue;
    report.adopt(group, s.hypothesis);
    report.verdict.findings.push_back(*found);
    return true;
  }
  return false;
}

bool explained_by_mask(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones) {
  if (bench.trace.kind != TraceKind::recurrent || group.outputs.front() == "start") return false;
  for (const Scored& s : free_ones) {
    const auto model = bench.trouble(group, s.hypothesis).violations ? std::nullopt : bench.build(group, s.hypothesis);
    const auto found =
        model ? explain_by_another_mask(bench.trace, *model, bench.tolerance, bench.tried) : std::nullopt;
    if (!found) continue;
    report.adopt(group, s.hypothesis);
    report.verdict.findings.push_back(*found);
    return true;
  }
  return false;
}

bool right_but_behind_the_end(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones) {
  if (!bench.padding_is_other || group.outputs.front() != "h") return false;
  for (const Scored& s : free_ones) {
    const std::optional<Array> states = bench.states_of(group, s.hypothesis);
    if (!states || !agrees_at_real_positions(bench.given, *states, bench.tolerance)) continue;
    report.padding =
        behind_the_end(bench.given, *bench.build(group, s.hypothesis), bench.trace.directions, bench.tolerance);
    bench.forget_padding();
    if (report.padding->read_on) report.verdict.findings.push_back(of_padding(bench, group, report.padding->what));
    return true;
  }
  return false;
}

bool holds_final_states(const Bench& bench) { return bench.there("h_n") || bench.there("c_n") || bench.there("start"); }

std::vector<Scored> found_without_padding(Bench& bench, Report& report, const Group& group,
                                          std::vector<Scored>& tried) {
  if (!bench.padding_is_other || group.outputs.front() != "h") return {};
  const Arrays whole = bench.given;
  report.say_padding_is_not_compared();
  bench.forget_padding();
  for (Scored& s : tried) s.residual = bench.residual(group, s.hypothesis);
  std::vector<Scored> hits = bench.matching(group, tried);
  const bool read_on = std::any_of(hits.begin(), hits.end(), [&](const Scored& s) {
    auto model = bench.build(group, s.hypothesis);
    model->run.after_end = model->both.after_end = AfterEnd::run_on;
    return bench.residual(group, *model, whole) < bench.tolerance;
  });
  if (!hits.empty() && read_on && !holds_final_states(bench))
    report.verdict.findings.push_back(
        of_padding(bench, group,
                   {"behind the end stand outputs of a cell that reads on over the padding; whether a final state "
                    "depends on it does not show: the trace holds none",
                    "序列结束之后还有循环单元继续读填充而得的输出；最终状态是否受影响看不出来：轨迹中没有最终状态"}));
  if (!hits.empty() && (!read_on || !holds_final_states(bench))) return hits;
  report.padding.reset();
  bench.padding_is_other = true;
  bench.compare_again(whole);
  return {};
}

bool outputs_are_right(Bench& bench, const Group& group, const std::vector<Scored>& free_ones) {
  return bench.trace.kind == TraceKind::recurrent && group.outputs.size() > 1 && bench.there("h") &&
         bench.agrees_on("h", group, free_ones);
}

bool explained_by_outputs(Bench& bench, Report& report, const Group& group, const std::vector<Scored>& free_ones) {
  if (bench.trace.kind != TraceKind::recurrent || !bench.there("h")) return false;
  const Array &wanted = get(bench.given, "h"), *mask = reference::find(bench.given, "mask");
  const std::size_t B = wanted.dim(0), T = wanted.dim(1), parts = bench.trace.directions, d = wanted.dim(2) / parts;
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
    const std::optional<Array> states = bench.states_of(group, s.hypothesis);
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
    const auto real = [mask, T](std::size_t b) {
      std::size_t n = mask ? 0 : T;
      for (std::size_t t = 0; mask && t < T; ++t) n += mask->at({b, t}) != 0;
      return n;
    };
    const auto take = [&](const char* code, const char* used, const char* used_zh,
                          auto from) {  // from(t, n, b): (b, t)
      ways.push_back({code, used, used_zh, [=](const Array& of, std::size_t b, std::size_t t, std::size_t first) {
                        const std::optional<std::pair<std::size_t, std::size_t>> at = from(t, real(b), b);
                        return at ? own(of, at->first, at->second, first) : Vec(d);
                      }});
    };
    using Spot = std::optional<std::pair<std::size_t, std::size_t>>;
    using S = std::size_t;
    take("RUN_OUTPUT_POSITION_LEFT_OUT", "h_t, but 0 at the last real position", "h_t，但最后一个真实位置是 0",
         [](S t, S n, S b) {
           return t + 1 < n ? Spot({b, t}) : Spot();
         });
    take("RUN_OUTPUT_POSITION_LEFT_OUT", "h_t, but 0 at position 1", "h_t，但位置 1 是 0", [](S t, S, S b) {
      return t ? Spot({b, t}) : Spot();
    });
    take("RUN_OUTPUT_OTHER_STEP", "h_{t+1}, 0 at the last real position", "h_{t+1}（最后一个真实位置是 0）",
         [](S t, S n, S b) {
           return t + 1 < n ? Spot({b, t + 1}) : Spot();
         });
    take("RUN_OUTPUT_OTHER_STEP", "h_{t+1}, 0 at the last real position unless that is position 1",
         "h_{t+1}（最后一个真实位置是 0，位置 1 除外）", [](S t, S n, S b) {
           return t + 1 < n ? Spot({b, t + 1}) : t ? Spot() : Spot({b, t});
         });
    take("RUN_OUTPUT_OTHER_STEP", "h_{t+1}, at the last real position its own", "h_{t+1}（最后一个真实位置是自己的）",
         [](S t, S n, S b) {
           return Spot({b, std::min(t + 1, n - 1)});
         });
    take("RUN_OUTPUT_OTHER_STEP", "h_{t+1}, which behind the end of a sequence is 0; at the last position its own",
         "h_{t+1}（序列结束之后它是 0；最后位置是自己的）", [T](S t, S n, S b) {
           return t + 1 < n ? Spot({b, t + 1}) : n == T ? Spot({b, t}) : Spot();
         });
    take("RUN_OUTPUT_OTHER_STEP", "h_{t-1}, at position 1 its own", "h_{t-1}（位置 1 是自己的）", [](S t, S, S b) {
      return Spot({b, t ? t - 1 : 0});
    });
    take("RUN_OUTPUT_ONE_POSITION", "0 everywhere but at position 1, where every step writes: the last h stands there",
         "除位置 1 外都是 0：每一步都写到那里，留下的是最后的 h", [](S t, S n, S b) {
           return t ? Spot() : Spot({b, n - 1});
         });
    take("RUN_OUTPUT_ONE_POSITION", "0 everywhere but at position 1", "除位置 1 外都是 0", [](S t, S, S b) {
      return t ? Spot() : Spot({b, 0});
    });
    take("RUN_OUTPUT_OTHER_EXAMPLE", "h_t of the next example", "下一个样本的 h_t", [B](S t, S, S b) {
      return Spot({(b + 1) % B, t});
    });
    take("RUN_OUTPUT_OTHER_EXAMPLE", "h_t of the previous example", "上一个样本的 h_t", [B](S t, S, S b) {
      return Spot({(b + B - 1) % B, t});
    });
    take("RUN_OUTPUT_OTHER_EXAMPLE", "h_t of the first example", "第一个样本的 h_t", [](S t, S, S) {
      return Spot({0, t});
    });
    take("RUN_OUTPUT_ONE_EXAMPLE", "0 but in row 0, to which every example is written: the last one's h_t stands there",
         "除第 0 行外都是 0：每个样本都写到那里，留下的是最后一个的 h_t", [B, real](S t, S, S b) {
           for (S last = B; b == 0 && last-- > 0;)
             if (t < real(last)) return Spot({last, t});
           return Spot();
         });
    for (const long by : {-1L, 1L})
      ways.push_back({"RUN_OUTPUT_OTHER_STEP", by < 0 ? "h_{t-1}" : "h_{t+1}", by < 0 ? "h_{t-1}" : "h_{t+1}",
                      [by, T, d, own](const Array& of, std::size_t b, std::size_t t, std::size_t first) {
                        const long at = static_cast<long>(t) + by;
                        return at < 0 || at >= static_cast<long>(T) ? Vec(d)
                                                                    : own(of, b, static_cast<std::size_t>(at), first);
                      }});
    if (const Array* h0 = reference::find(bench.given, "h0"); h0 && h0->dim(0) == parts)
      ways.push_back({"RUN_OUTPUT_OTHER_STEP", "h_{t-1}, h0 at the first step", "h_{t-1}（第一步是 h0）",
                      [h0, d, own](const Array& of, std::size_t b, std::size_t t, std::size_t first) {
                        return t ? own(of, b, t - 1, first) : copy(h0->row({first / d, b}));
                      }});
    if (const Array& x = get(bench.given, "x"); x.dim(2) == d)
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
        if (r < bench.tolerance) agreement = std::max(agreement, r);
        else report.verdict.next = std::min(report.verdict.next, r);
        ++bench.tried;
        return r < bench.tolerance;
      });
      if (way == ways.end()) {
        found.clear();
        break;
      }
      double k = 1;
      const double left_over = distance(*way, part, k);
      const bool plain = std::string(way->code).empty();
      // A fitted factor explains a little of any noise.
      if (plain && std::fabs(k - 1) < std::max(10 * bench.tolerance, 1e3 * left_over)) continue;
      const bool round = std::fabs(k - .5) < 1e-6 || std::fabs(k - 2) < 1e-6;
      const std::string factor = print(number(k)),
                        size = round ? "" : as_size(k, bench.given, 0, bench.single ? 1e-4 : 1e-7);
      const std::string used = plain ? factor + " h_t" : way->used;
      const Words whose = parts == 1 ? Words{"", ""}
                          : part     ? Words{" of the backward direction", "反向的"}
                                     : Words{" of the forward direction", "正向的"};
      Finding f;
      f.code = plain ? "RUN_OUTPUT_SCALED" : way->code;
      f.where = bench.where_of(group);
      f.sentence = {"the states are right inside; what is handed out" + whose.en + " is " + used +
                        (size.empty() || !plain ? "" : " (" + factor + " is " + size + ")") + ", where h_t belongs",
                    "内部的状态是对的；交出的" + whose.zh + "输出是 " + (plain ? used : way->used_zh) + "，应为 h_t"};
      f.used = {"output_t = " + used, "output_t = " + (plain ? used : way->used_zh)};
      f.paper = "output_t = h_t";
      f.fix = {"hand out h_t as the cell gives it", "原样交出循环单元给出的 h_t"};
      f.test = "CHECK(check_reference(cell, inputs, claimed).passed);";
      found.push_back(f);
    }
    if (found.empty() || !final_states_too(bench, group, s.hypothesis, found)) continue;
    report.say_padding_is_not_compared();
    report.adopt(group, s.hypothesis);
    report.verdict.findings.insert(report.verdict.findings.end(), found.begin(), found.end());
    report.verdict.agreement = std::max(report.verdict.agreement, agreement);
    return true;
  }
  return false;
}

void look_at_final_states(const Bench& bench, Report& report) {
  if (!bench.there("h") || !bench.there("h_n") || bench.trace.layers > 1) return;
  const Array &h = get(bench.given, "h"), &h_n = get(bench.given, "h_n"), *mask = reference::find(bench.given, "mask");
  const std::size_t B = h.dim(0), T = h.dim(1), d = h_n.dim(2);
  if (h.dim(2) != d * bench.trace.directions) return;
  Arrays ends = {{"h", h}, {"h_n", Array(h_n.shape)}};
  bool right = true, full_are_right = true, some_full = false;
  for (std::size_t b = 0; b < B; ++b) {
    std::size_t n = 0;
    for (std::size_t t = 0; t < T; ++t) n += !mask || mask->at({b, t}) != 0;
    for (std::size_t k = 0; k < bench.trace.directions && n; ++k) {
      const Vec own = copy(h.row({b, k ? 0 : n - 1}).subspan(k * d, d));
      ends["h_n"].set_row({k, b}, own);
      bool same = true;
      for (std::size_t j = 0; j < d; ++j) same = same && std::fabs(own[j] - h_n.at({k, b, j})) < bench.tolerance;
      right = right && same, some_full = some_full || n == T, full_are_right = full_are_right && (same || n < T);
    }
  }
  if (right) return;
  auto found = explain_final_states(bench.given, {ends, {}, {}}, "h_n", bench.trace.directions, bench.tolerance);
  if (found.empty() && some_full && full_are_right) {
    Finding f;
    f.code = "RUN_READS_PADDING", f.kind = Kind::mask;
    f.where = {"the final states (h_n)", "最后的状态 (h_n)"};
    f.sentence = {
        "h_n is right where a sequence has the full length and differs where it is shorter: it is read at the "
        "last column, behind the end",
        "长度占满的序列 h_n 正确，较短的不对：它取自最后一列，已经在结尾之后"};
    f.used = {"h_n = the state after the last column", "h_n = 最后一列之后的状态"};
    f.paper = {"h_n = the state after the last real input", "h_n = 最后一个真实输入之后的状态"};
    f.fix = {"take each sequence's state at its own length", "按每个序列自己的长度取状态"};
    f.test = {"append two padded positions: CHECK(h_n is unchanged);", "追加两个填充位置：CHECK(h_n 不变);"};
    found.push_back(f);
  }
  report.verdict.findings.insert(report.verdict.findings.end(), found.begin(), found.end());
}

}  // namespace gradus::diagnosis
