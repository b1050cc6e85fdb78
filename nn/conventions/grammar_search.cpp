// Formulas that already agree are left alone; each of the others must be explained by one mistake.
#include "nn/conventions/grammar_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

namespace gradus::diagnosis {

using namespace reference;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t least_numbers = 6;  // that must agree before anything is called by a name
constexpr double far = 1e-2;              // from what is wanted: no agreement, whatever the rest may be

// The first steps of a formula. A mistake that differs there differs, and is not looked at any further.
class Glimpse {
 public:
  Glimpse(const Formula& formula, const std::shared_ptr<const Plan>& plan) : plan_(plan), formula_(formula) {
    const std::size_t T = formula.wanted.dim(1), B = formula.wanted.dim(0);
    for (double x : formula.wanted.data) size_ = std::isfinite(x) ? std::max(size_, std::fabs(x)) : infinite;
    if (formula.scene.heads > 1 || B * T < 4) return;
    for (const std::size_t rows : {std::size_t{1}, B})
      for (std::size_t steps = 1; steps < std::min<std::size_t>(T, 3); ++steps) {
        Scene scene = formula.scene;
        scene.B = rows, scene.T = steps, scene.whole = false;
        (rows == 1 ? example_ : batch_).push_back(std::make_unique<const Plan>(formula.term, scene));
      }
  }

  // At least so far is the whole from what is wanted; 0 where that cannot be said.
  double least(const Change& change, std::size_t& work) const {
    const Plan::Needs needs = plan_->needs(change);
    double most = 0;
    if (needs == Plan::Needs::all) return most;
    for (const auto& seen : needs == Plan::Needs::example ? example_ : batch_) {
      const std::optional<double> off = difference(seen->changed(change, &work), seen->scene());
      if (!off) return 0;
      most = std::max(most, *off);
      if (most >= far) break;
    }
    return most;
  }

 private:
  std::optional<double> difference(const Grid& got, const Scene& scene) const {
    const std::size_t T = formula_.wanted.dim(1), d = formula_.wanted.dim(2), features = got.D > 1 ? got.D : got.N;
    if ((got.B != scene.B && got.B != 1) || (got.T != scene.T && got.T != 1) || (got.D > 1 && got.N > 1) ||
        features != d)
      return std::nullopt;
    double most = 0;
    for (std::size_t b = 0; b < scene.B; ++b)
      for (std::size_t t = 0; t < scene.T; ++t) {
        if (!formula_.counts.empty() && formula_.counts[b * T + t] == 0) continue;
        for (std::size_t k = 0; k < d; ++k) {
          const double off = std::fabs(got.x[got.place(b, t, 0) + k] - formula_.wanted.data[(b * T + t) * d + k]);
          if (!std::isfinite(off)) return std::nullopt;
          most = std::max(most, off);
        }
      }
    return most / size_;
  }

  std::shared_ptr<const Plan> plan_;
  const Formula& formula_;
  std::vector<std::unique_ptr<const Plan>> example_, batch_;  // of one step, of two
  double size_ = 1e-300;
};

// Largest difference relative to the largest number, over the rows that count; `off` gets the differences.
double difference(const Grid& got, const Formula& f, const Array& wanted, Grid* off = nullptr) {
  const std::size_t B = wanted.dim(0), T = wanted.dim(1), d = wanted.dim(2), features = got.D > 1 ? got.D : got.N;
  if ((got.D > 1 && got.N > 1) || (features != d && features != 1)) return infinite;
  if ((got.B != B && got.B != 1) || (got.T != T && got.T != 1)) return infinite;
  double most = 0, size = 0;
  if (off) off->x.clear();
  for (std::size_t b = 0; b < B; ++b)
    for (std::size_t t = 0; t < T; ++t) {
      if (!f.counts.empty() && f.counts[b * T + t] == 0) continue;
      const double *have = &got.x[got.place(b, t, 0)], *want = &wanted.data[(b * T + t) * d];
      for (std::size_t k = 0; k < d; ++k) {
        const double x = have[features > 1 ? k : 0], y = want[k];
        if (off) off->x.push_back(x - y);
        if (std::isnan(x) && std::isnan(y)) continue;
        if (!std::isfinite(x) || !std::isfinite(y)) return infinite;
        most = std::max(most, std::fabs(x - y)), size = std::max(size, std::fabs(y));
      }
    }
  return most == 0 ? 0 : most / std::max(size, 1e-300);
}
double difference(const Grid& got, const Formula& f, Grid* off = nullptr) { return difference(got, f, f.wanted, off); }

// Of the term inside that the trace holds, too, after a change.
double difference_inside(const Plan& plan, const Change& change, const Formula& f) {
  if (f.inside.empty()) return 0;
  const Plan after(plan.with(change), plan.scene());
  for (const Plan* where : {&after, &plan})  // a change that no longer reads the memory leaves it as it was
    for (std::size_t k = 0; k < where->terms().size(); ++k)
      if (where->terms()[k]->label == f.inside) return difference(where->value(k), f, f.wanted_inside);
  return 0;
}

// A mistake that agrees, in one formula of one model.
struct Hit {
  std::size_t meant = 0;
  std::shared_ptr<const Plan> plan;
  Formula formula;
  Mistake mistake;
  double residual = 0;
  std::size_t order = 0;
};

class Search {
 public:
  Search(const std::vector<Meant>& meant, const std::function<std::vector<Formula>(const Model&, bool)>& formulas_of,
         const Judged& judged)
      : meant_(meant), formulas_of_(formulas_of), judged_(judged) {}

  Explained run() {
    std::set<std::size_t> levels;
    for (const Meant& m : meant_) levels.insert(m.violations);
    for (int round = 0; round <= (judged_.deep ? 1 : 0); ++round)
      for (std::size_t level : levels)
        if (search(level, round == 1)) return out_;
    return out_;
  }

 private:
  bool spent() const { return out_.work >= judged_.most; }

  // Models with so many violations of the claim: the hits of each failing output, of the models where fewest fail.
  bool search(std::size_t violations, bool fitted) {
    if (out_.work > 0 && spent()) return false;
    struct Tried {
      std::size_t meant;
      std::vector<Formula> formulas;
      std::vector<std::shared_ptr<const Plan>> plans;
      std::vector<std::size_t> failing;
    };
    std::vector<Tried> tried;
    std::vector<Vec> seen;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = 0; i < meant_.size(); ++i) {
      if (meant_[i].violations != violations) continue;
      Tried t{i, {}, {}, {}};
      Vec values;
      try {
        t.formulas = formulas_of_(meant_[i].model, false);
        for (std::size_t k = 0; k < t.formulas.size(); ++k) {
          t.plans.push_back(std::make_shared<const Plan>(t.formulas[k].term, t.formulas[k].scene));
          const Grid& root = t.plans.back()->value(t.plans.back()->root().get());
          values.insert(values.end(), root.x.begin(), root.x.end());
          const double r = std::max(difference(root, t.formulas[k]), difference_inside(*t.plans[k], {}, t.formulas[k]));
          if (!(r < judged_.tolerance)) t.failing.push_back(k);
        }
      } catch (const std::invalid_argument&) { continue; }
      out_.nothing_to_explain = out_.nothing_to_explain || (t.failing.empty() && !t.formulas.empty());
      if (t.failing.empty() || std::find(seen.begin(), seen.end(), values) != seen.end()) continue;
      seen.push_back(values);
      fewest = std::min(fewest, t.failing.size());
      tried.push_back(std::move(t));
    }
    // Every failing output of one model must have its mistake.
    std::map<std::size_t, std::vector<std::vector<Hit>>> hits;  // by number of the model
    for (const Tried& t : tried) {
      if (t.failing.size() != fewest) continue;
      std::vector<std::vector<Hit>> of_all;
      for (std::size_t k : t.failing) {
        of_all.push_back(hits_of(t.meant, t.formulas[k], t.plans[k], fitted));
        if (of_all.back().empty()) break;
      }
      if (!of_all.back().empty()) hits[t.meant] = of_all;
    }
    if (hits.empty()) return false;
    const std::size_t outputs = hits.begin()->second.size();
    std::size_t best = hits.begin()->first;
    std::vector<Finding> findings;
    for (std::size_t k = 0; k < outputs; ++k) {
      std::vector<Hit> all;
      for (const auto& [model, lists] : hits)
        if (lists.size() > k) all.insert(all.end(), lists[k].begin(), lists[k].end());
      const std::optional<Finding> f = named(all, best);
      if (!f) return false;
      const auto known =
          std::find_if(findings.begin(), findings.end(), [&](const Finding& g) { return g.code == f->code; });
      if (known == findings.end()) findings.push_back(*f);
    }
    out_.findings = findings;
    out_.id = meant_[best].id;
    return true;
  }

  std::vector<Hit> hits_of(std::size_t meant, const Formula& formula, const std::shared_ptr<const Plan>& plan,
                           bool fitted) {
    std::vector<Hit> hits;
    if (spent()) return hits;
    const std::size_t rows =
        formula.counts.empty()
            ? formula.wanted.dim(0) * formula.wanted.dim(1)
            : static_cast<std::size_t>(std::count(formula.counts.begin(), formula.counts.end(), 1.0));
    if (rows * formula.wanted.dim(2) < least_numbers) return hits;
    const auto take = [&](const Mistake& m, double r) {
      if (r < judged_.apart) r = std::max(r, difference_inside(*plan, m.change, formula));
      if (r < judged_.apart) hits.push_back({meant, plan, formula, m, r, out_.tried});
      else out_.next = std::min(out_.next, r);
    };
    const Glimpse glimpse(formula, plan);
    if (fitted) {
      const auto distance = [&](const Change& change, Grid& off) {
        if (spent()) return infinite;
        ++out_.tried;
        return difference(plan->changed(change, &out_.work), formula, &off);
      };
      // A fitted number brings any formula a little nearer: it must explain far more than it leaves over.
      const double unchanged = difference(plan->value(plan->root().get()), formula);
      each_fitted_mistake(*plan, distance, [&](const Mistake& m) {
        const double r = difference(plan->changed(m.change), formula);
        if (1e3 * r < unchanged) take(m, r);
      });
    } else {
      const auto visit = [&](const Mistake& m) {
        if (spent()) return false;
        ++out_.tried;
        try {
          const double least = glimpse.least(m.change, out_.work);
          if (least >= far) {
            out_.next = std::min(out_.next, least);
            return true;
          }
          take(m, difference(plan->changed(m.change, &out_.work), formula));
        } catch (const std::invalid_argument&) {
          // sizes that do not go together
        }
        return true;
      };
      if (judged_.misread) each_forward_misread(*plan, visit);
      else each_mistake(*plan, judged_.deep, visit);
    }
    if (std::none_of(hits.begin(), hits.end(), [&](const Hit& h) { return h.residual < judged_.tolerance; }))
      hits.clear();
    if (!formula.scene.whole) std::erase_if(hits, [&](const Hit& h) { return !agrees_on_all(h); });
    return hits;
  }

  bool agrees_on_all(const Hit& h) {
    for (const Formula& f : formulas_of_(meant_[h.meant].model, true))
      if (f.output == h.formula.output) {
        const Plan after(h.plan->with(h.mistake.change), f.scene);
        const double r = difference(after.value(after.root().get()), f);
        return std::max(r, difference_inside(after, {}, f)) < judged_.tolerance;
      }
    return false;
  }

  // The plainest of what agrees; several names where they are different formulas that only these numbers cannot tell.
  std::optional<Finding> named(std::vector<Hit>& hits, std::size_t& best) {
    const auto key = [&](const Hit& h) {
      return std::make_tuple(!(h.residual < judged_.tolerance), h.mistake.rule->plainness, meant_[h.meant].notes,
                             h.mistake.change.user != nullptr, h.mistake.alike, h.meant,
                             std::numeric_limits<std::size_t>::max() - h.order);  // the outermost term
    };
    std::sort(hits.begin(), hits.end(), [&](const Hit& a, const Hit& b) { return key(a) < key(b); });
    constexpr std::size_t most_compared = 40;
    if (hits.size() > most_compared) hits.resize(most_compared);
    struct Different {
      Finding finding;
      const Hit* hit;
      Grid values;
    };
    std::vector<Different> different;
    for (const Hit& h : hits) {
      const std::optional<Finding> said = finding_of(h.mistake, h.formula, *h.plan);
      if (!said) continue;
      Grid elsewhere;
      try {
        elsewhere = evaluate(h.plan->with(h.mistake.change), other_numbers(h.formula.scene));
      } catch (const std::invalid_argument&) { continue; }
      if (std::none_of(different.begin(), different.end(),
                       [&](const Different& d) { return same(d.values, elsewhere); }))
        different.push_back({*said, &h, std::move(elsewhere)});
    }
    if (different.empty()) return std::nullopt;
    Finding f = different[0].finding;
    std::vector<std::string> names = {f.code};
    // A term that gives zero stands beside many others that happen to be zero on this input.
    if (different[0].hit->mistake.rule->code == std::string("MISSING"))
      different.erase(different.begin() + 1, different.end());
    for (const Different& d : different)
      if (std::find(names.begin(), names.end(), d.finding.code) == names.end()) names.push_back(d.finding.code);
    constexpr std::size_t most_names = 3;
    if (names.size() > most_names) return std::nullopt;
    best = different[0].hit->meant;
    out_.agreement = std::max(out_.agreement, different[0].hit->residual);
    if (names.size() > 1) {
      f.alias = names;
      f.code.clear();
      for (const std::string& name : names) f.code += (f.code.empty() ? "" : "|") + name;
      f.sentence.en = "several mistakes give these same numbers; the plainest: " + f.sentence.en;
      f.sentence.zh = "有几种错误会得到同样的数值；最简单的一种：" + f.sentence.zh;
      f.tell = {"an input without zeros and repeated numbers, with several examples and steps",
                "不含零与重复数值、多个样本与多步的输入"};
    }
    return f;
  }

  static bool same(const Grid& a, const Grid& b) {
    if (a.x.size() != b.x.size()) return false;
    double most = 0, size = 1e-300;
    for (std::size_t k = 0; k < a.x.size(); ++k) {
      if (std::isnan(a.x[k]) && std::isnan(b.x[k])) continue;
      most = std::max(most, std::fabs(a.x[k] - b.x[k])), size = std::max(size, std::fabs(a.x[k]));
    }
    return most <= 1e-9 * size;
  }

  const std::vector<Meant>& meant_;
  const std::function<std::vector<Formula>(const Model&, bool)>& formulas_of_;
  const Judged& judged_;
  Explained out_;
};

}  // namespace

Explained explain(const std::vector<Meant>& meant,
                  const std::function<std::vector<Formula>(const Model&, bool)>& formulas_of, const Judged& judged) {
  return Search(meant, formulas_of, judged).run();
}

}  // namespace gradus::diagnosis
