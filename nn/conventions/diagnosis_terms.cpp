#include "nn/conventions/diagnosis_terms.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "nn/conventions/diagnosis_runs.h"
#include "nn/conventions/diagnosis_stages.h"
#include "nn/conventions/grammar_formulas.h"

namespace gradus::diagnosis {

using namespace reference;

bool Terms::explained(const Group& group, const std::vector<Scored>& free_ones, const Searched& searched) {
  bench_.ended_early = bench_.ended_early || left_ == 0;
  const bool first = searched.plain && searched.claim_kept && !searched.misread;  // says whether all is right inside
  if (left_ == 0 && !first && !searched.misread) return false;
  std::vector<Meant> meant;
  for (std::size_t k = 0; k < free_ones.size(); ++k) {
    const Trouble t = bench_.trouble(group, free_ones[k].hypothesis);
    if ((t.violations == 0) != searched.claim_kept) continue;
    if (const std::optional<Model> model = bench_.build(group, free_ones[k].hypothesis))
      meant.push_back({k, *model, t.violations, t.notes});
  }
  std::stable_sort(meant.begin(), meant.end(), [](const Meant& a, const Meant& b) {
    return std::pair(a.violations, a.notes) < std::pair(b.violations, b.notes);
  });
  // One mistake that gives a state and its memory; then one of each.
  for (const bool apart : {false, true}) {
    if (apart && !std::count(group.outputs.begin(), group.outputs.end(), "m")) break;
    const auto formulas = [&](const Model& model, bool whole) {
      return formulas_of(group, model, bench_.given, whole, apart);
    };
    const std::size_t most = searched.misread ? most_misread / bench_.searches : std::min(most_at_once, left_);
    const Judged judged{bench_.tolerance, bench_.apart, !searched.plain, searched.misread, most};
    const Explained found = explain(meant, formulas, judged);
    bench_.ended_early = bench_.ended_early || found.work >= most;
    if (take(group, found, free_ones)) return true;
  }
  return false;
}

bool Terms::explained_beside_another(const Group& group, std::vector<Scored> with_one) {
  const auto is_choice = [&](const Scored& s) {
    return std::any_of(group.fields.begin(), group.fields.end(),
                       [&](std::size_t i) { return s.hypothesis[i] >= 0 && bench_.option(i, s.hypothesis[i]).rare; });
  };
  if (left_ == 0) return false;
  sort_by(with_one, [&](const Scored& a) {
    return std::make_tuple(bench_.trouble(group, a.hypothesis).violations, !is_choice(a), a.residual);
  });
  constexpr std::size_t most_models = 8;
  std::vector<Meant> meant;
  for (std::size_t k = 0; k < with_one.size() && meant.size() < most_models; ++k) {
    const std::optional<Model> model = bench_.build(group, with_one[k].hypothesis);
    if (!model || !model->edits.empty() || !formulas_give_what_the_model_gives(group, *model)) continue;
    meant.push_back({k, *model, 0, meant.size()});
  }
  const auto formulas = [&](const Model& model, bool whole) { return formulas_of(group, model, bench_.given, whole); };
  return take(
      group,
      explain(meant, formulas,
              {bench_.tolerance, bench_.apart, false, false, std::min(most_at_once / 2 / bench_.searches, left_)}),
      with_one);
}

bool Terms::take(const Group& group, const Explained& found, const std::vector<Scored>& models) {
  bench_.tried += found.tried, bench_.work += found.work;
  right_inside = right_inside || found.nothing_to_explain;
  left_ -= std::min(left_, found.work);
  if (found.findings.empty()) return false;
  const Hypothesis& h = models[found.id].hypothesis;
  report_.say_padding_is_not_compared();
  report_.adopt(group, h);
  for (const Finding& f : found.findings)  // what a run does wrong shows in what a decoder takes of it, too
    if (std::none_of(report_.verdict.findings.begin(), report_.verdict.findings.end(),
                     [&](const Finding& g) { return g.code == f.code && g.sentence.en == f.sentence.en; }))
      report_.verdict.findings.push_back(f);
  report_.verdict.agreement = std::max(report_.verdict.agreement, found.agreement);
  report_.verdict.next = std::min(report_.verdict.next, found.next);
  if (bench_.trace.kind == TraceKind::recurrent) look_at_final_states(bench_, report_);
  return true;
}

std::vector<Formula> Terms::formulas_of(const Group& group, const Model& model, const Arrays& on, bool whole,
                                        bool memory_apart) const {
  if (bench_.trace.kind == TraceKind::multi_head) return head_formulas(model, on);
  if (bench_.trace.kind == TraceKind::recurrent) return run_formulas(model, on);
  std::vector<Formula> made;
  for (Stage stage : group.stages) {
    if (!bench_.there(output_of(stage))) continue;
    if (memory_apart && stage == Stage::cell)
      for (MemoryAs memory : {MemoryAs::output, MemoryAs::read})
        made.push_back(decoder_formula(model, on, stage, whole, memory));
    else made.push_back(decoder_formula(model, on, stage, whole));
  }
  return made;
}

bool Terms::formulas_give_what_the_model_gives(const Group& group, const Model& model) const {
  try {
    const Arrays made = stage_outputs(model, bench_.given, group.stages);
    Arrays on = bench_.given;
    for (const std::string& name : group.outputs)
      if (const Array* a = reference::find(made, name)) on[name] = *a;
    // A run's states come from the run; a decoder's stages read those of the trace.
    const bool alone = bench_.trace.kind != TraceKind::decoder;
    const std::vector<Formula> formulas = formulas_of(group, model, alone ? on : bench_.given, true),
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

}  // namespace gradus::diagnosis
