// Finds the fewest tensors to blame, and the change that mends them.
#include "tensor/doctor/doctor.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace gradus {
namespace {

using Row = Contract::Row;
using Length = Contract::Length;
using Term = Contract::Term;

// "d_emb + d_h" seen as what is open in it and how much that amounts to.
struct Sum {
  std::vector<std::pair<int, std::int64_t>> open;  // symbol, factor
  std::int64_t left;
  int row;
};

// A contract with the shapes that were found.
class Case {
 public:
  Case(const Contract& contract, const std::vector<Given>& given) : contract_(contract), given_(given) {
    for (const Given& g : given) shapes_.push_back(g.shape ? *g.shape : Shape{g.number});
    for (int i = 0; i < contract.rows(); ++i) {
      if (contract.row(i).name == "G" && given[at(i)].there()) gates_ = given[at(i)].number;
    }
  }

  bool there(int i) const { return given_[at(i)].there(); }
  bool grid(int i) const { return given_[at(i)].grid; }
  const Row& row(int i) const { return contract_.row(i); }
  const Contract& contract() const { return contract_; }
  const Shape& shape(int i) const { return shapes_[at(i)]; }
  void set_shape(int i, const Shape& shape) { shapes_[at(i)] = shape; }
  std::int64_t factor(const Term& term) const { return term.factor * (term.gates ? gates_ : 1); }
  std::int64_t gates() const { return gates_; }

  bool rank_fits(int i) const {
    const int more = shape(i).rank() - row(i).rank;
    return row(i).leading ? more >= 1 : more == 0;
  }

  // What the rows in `trusted` say about the symbols; nothing when they contradict each other.
  struct Solution {
    std::vector<std::int64_t> value;  // -1: open
    std::vector<int> told_by;         // the row that settled a symbol
    std::vector<Sum> sums;
  };
  std::optional<Solution> solve(const std::vector<bool>& trusted) const {
    Solution s{std::vector<std::int64_t>(symbols(), -1), std::vector<int>(symbols(), -1), {}};
    for (bool changed = true; changed;) {
      changed = false;
      s.sums.clear();
      for (int i = 0; i < contract_.rows(); ++i) {
        if (!there(i) || !trusted[at(i)]) continue;
        if (!rank_fits(i)) return std::nullopt;
        for (int axis = 0; axis < row(i).rank; ++axis) {
          const Sum sum = open_part(s, row(i).axes[at(axis)], length(i, axis), i);
          if (sum.open.empty()) {
            if (sum.left != 0) return std::nullopt;
          } else if (sum.open.size() == 1) {
            const auto [symbol, factor] = sum.open[0];
            const bool alone = row(i).axes[at(axis)].count == 1;
            if (sum.left % factor != 0 || sum.left < (alone ? 0 : factor)) return std::nullopt;
            s.value[at(symbol)] = sum.left / factor;
            s.told_by[at(symbol)] = i;
            changed = true;
          } else {
            for (const Sum& other : s.sums) {
              if (other.open == sum.open && other.left != sum.left) return std::nullopt;
            }
            s.sums.push_back(sum);
          }
        }
      }
    }
    return s;
  }

  // The length that an axis needs, or -1.
  std::int64_t needed(const Solution& s, const Length& length) const {
    const Sum sum = open_part(s, length, 0, -1);
    if (sum.open.empty()) return -sum.left;
    for (const Sum& known : s.sums) {
      if (known.open == sum.open) return known.left - sum.left;
    }
    return -1;
  }

  std::int64_t length(int i, int axis) const { return shape(i)[shape(i).rank() - row(i).rank + axis]; }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  std::size_t symbols() const { return at(contract_.symbols()); }
  Sum open_part(const Solution& s, const Length& length, std::int64_t total, int i) const {
    Sum sum{{}, total, i};
    for (int k = 0; k < length.count; ++k) {
      const Term& term = length.terms[at(k)];
      if (s.value[at(term.symbol)] < 0) sum.open.push_back({term.symbol, factor(term)});
      else sum.left -= s.value[at(term.symbol)] * factor(term);
    }
    std::sort(sum.open.begin(), sum.open.end());
    return sum;
  }

  const Contract& contract_;
  const std::vector<Given>& given_;
  std::vector<Shape> shapes_;
  std::int64_t gates_ = 1;
};

// A change of one tensor, and the shape that it leads to.
struct Change {
  ShapeFix fix;
  Shape to;
};

Shape swapped(Shape shape, int a, int b) {
  std::swap(shape[a], shape[b]);
  return shape;
}

// Axes split or merged: everything in front of, or behind, a common run of axes.
bool regrouped(const Shape& from, const Shape& to) {
  if (from.rank() == to.rank() || from.size() != to.size() || from.size() == 0) return false;
  const Shape& small = from.rank() < to.rank() ? from : to;
  const Shape& large = from.rank() < to.rank() ? to : from;
  int axis = 0;  // every axis of the small one is the product of neighbours of the large one
  for (std::int64_t length : small) {
    std::int64_t product = 1;
    while (axis < large.rank() && product < length) product *= large[axis++];
    if (product != length) return false;
  }
  while (axis < large.rank() && large[axis] == 1) ++axis;
  return axis == large.rank();
}

// What could be done to row i without changing any number in it. `needs` may hold -1.
std::vector<Change> changes(const Case& found, int i, const Extents& needs) {
  std::vector<Change> list;
  const Shape& has = found.shape(i);
  const Row& row = found.row(i);
  const auto add = [&](FixKind kind, int a, int b, const Shape& to) { list.push_back({{kind, a, b, to, ""}, to}); };
  if (has.rank() == 2 && (row.leading || row.rank == 2)) add(FixKind::transpose, 0, 1, swapped(has, 0, 1));
  if (has.rank() == 3) {
    for (const auto& [a, b] : {std::pair{0, 1}, {1, 2}}) add(FixKind::swap_axes, a, b, swapped(has, a, b));
  }
  const bool batched = row.rank > 0 && found.contract().symbol(row.axes[0].terms[0].symbol) == "B";
  if ((has.rank() + 1 == row.rank && batched) || (row.leading && has.rank() == row.rank)) {
    add(FixKind::insert_axis, 0, 0, has.inserted(Axis{0}, 1));  // a batch of one
  }
  if (has.rank() > row.rank && !row.leading) {
    for (int a = has.rank() - 1; a >= 0; --a) {
      if (has[a] == 1 && has.rank() == row.rank + 1) add(FixKind::drop_axis, a, 0, has.without(Axis{a}));
    }
  }
  Extents whole = needs;  // at most one length that nobody tells follows from the number of elements
  const int last = needs.rank() - 1;
  if (has.rank() == last && last > 0 && whole[last] < 0) whole[last] = has[last - 1];  // (B T, d): d is its own
  std::int64_t told = 1;
  int open = 0;
  for (std::int64_t length : whole) length < 0 ? ++open : told *= length;
  for (int axis = 0; axis <= last && open == 1 && told > 0 && has.size() % told == 0; ++axis) {
    if (whole[axis] < 0) whole[axis] = has.size() / told, open = 0;
  }
  if (open == 0 && !row.leading && regrouped(has, Shape(whole))) add(FixKind::reshape, 0, 0, Shape(whole));
  return list;
}

// A set of tensors to blame.
struct Blame {
  std::vector<int> rows;  // the one to be named first
  std::vector<Change> change;
  Case::Solution solution;
  double cost = 0;
  bool mended = false;  // by changes that keep all numbers
};

class Doctor {
 public:
  Doctor(const Contract& contract, const std::vector<Given>& given) : found_(contract, given) {}

  Blame search() {
    std::vector<int> suspects, certain;
    for (int i = 0; i < rows(); ++i) {
      if (!found_.there(i) || found_.row(i).number) continue;
      (found_.rank_fits(i) ? suspects : certain).push_back(i);
    }
    for (std::size_t more = 0; more <= suspects.size(); ++more) {
      blames_.clear();
      std::vector<int> rows = certain;
      choose(suspects, 0, more, rows);
      if (!blames_.empty()) break;
    }
    std::stable_sort(blames_.begin(), blames_.end(), [](const Blame& a, const Blame& b) { return a.cost < b.cost; });
    return blames_.front();
  }
  const std::vector<Blame>& blames() const { return blames_; }
  Case& found() { return found_; }

  // The lengths that row i needs. An axis whose letter stands nowhere else keeps its own length.
  Extents needs(const Case::Solution& solution, int i, bool keep_own) const {
    Extents result;
    const Row& row = found_.row(i);
    for (int axis = 0; axis < row.rank; ++axis) {
      std::int64_t length = found_.needed(solution, row.axes[static_cast<std::size_t>(axis)]);
      if (length < 0 && keep_own && found_.rank_fits(i) && row.axes[static_cast<std::size_t>(axis)].count == 1)
        length = found_.length(i, axis);
      result.insert(axis, length);
    }
    return result;
  }

 private:
  int rows() const { return found_.contract().rows(); }

  void choose(const std::vector<int>& suspects, std::size_t from, std::size_t more, std::vector<int>& rows) {
    if (more == 0) {
      consider(rows);
      return;
    }
    for (std::size_t k = from; k + more <= suspects.size(); ++k) {
      rows.push_back(suspects[k]);
      choose(suspects, k + 1, more - 1, rows);
      rows.pop_back();
    }
  }

  void consider(const std::vector<int>& blamed) {
    if (blamed.empty()) return;
    std::vector<bool> trusted(static_cast<std::size_t>(rows()), true);
    for (int i : blamed) trusted[static_cast<std::size_t>(i)] = false;
    const auto solution = found_.solve(trusted);
    if (!solution) return;
    Blame blame{blamed, {}, *solution, 0, false};
    if (mend(blame)) {
      for (const Change& change : blame.change) blame.cost += change.fix.kind == FixKind::reshape ? 1.2 : 1;
    } else {
      blame.change.clear();
      for (int i : blamed) blame.change.push_back(remake(blame.solution, i, blame.cost));
      certain_first(blame);
    }
    // What was passed in before what the layer was made with; then few axes, which say less, before many.
    // What was passed in is likelier to be wrong than what the layer was made with. Many axes are easily exchanged, and
    // few of them say little about lengths.
    for (int i : blame.rows) {
      const double axes = 0.2 * found_.row(i).rank;
      blame.cost += (found_.row(i).parameter ? 0.5 : 0) + (blame.mended ? -axes : axes) - 0.01 * i;
    }
    blames_.push_back(std::move(blame));
  }

  // Looks for changes of the blamed tensors that keep every number and make all fit.
  bool mend(Blame& blame) {
    const std::size_t n = blame.rows.size();
    if (n > 3) return false;
    const std::vector<bool> all(static_cast<std::size_t>(rows()), true);
    if (n == 2 && exchange(blame, blame.rows[1])) return true;
    std::vector<std::vector<Change>> choices;
    for (int i : blame.rows) choices.push_back(changes(found_, i, needs(blame.solution, i, true)));
    Case tried = found_;
    std::function<bool(std::size_t)> pick = [&](std::size_t k) {
      if (k == n) return tried.solve(all).has_value();
      for (const Change& change : choices[k]) {
        tried.set_shape(blame.rows[k], change.to);
        blame.change.push_back(change);
        if (pick(k + 1)) return true;
        blame.change.pop_back();
      }
      return false;
    };
    if (pick(0)) return blame.mended = true;
    for (int other = 0; n == 1 && other < rows(); ++other) {  // with one whose lengths nobody else tells
      if (other != blame.rows[0] && found_.there(other) && !found_.row(other).number && exchange(blame, other))
        return true;
    }
    return false;
  }

  // Whether all fits once the first one blamed and `other` have changed places.
  bool exchange(Blame& blame, int other) {
    const int first = blame.rows[0];
    if (found_.grid(first) != found_.grid(other)) return false;
    Case tried = found_;
    tried.set_shape(first, found_.shape(other));
    tried.set_shape(other, found_.shape(first));
    if (!tried.solve(std::vector<bool>(static_cast<std::size_t>(rows()), true))) return false;
    const auto to = [&](int row) {
      return Change{{FixKind::exchange, 0, 0, found_.shape(row), std::string(found_.row(row).name)}, found_.shape(row)};
    };
    blame.change = {to(other)};
    if (blame.rows.size() == 2) blame.change.push_back(to(first));
    return blame.mended = true;
  }

  // No rearrangement helps: the tensor has the shape of another one, or has to be made with other lengths.
  Change remake(const Case::Solution& solution, int i, double& cost) {
    const Extents wanted = needs(solution, i, true);
    Change change{{FixKind::resize, 0, 0, {}, ""}, {}};
    if (std::all_of(wanted.begin(), wanted.end(), [](std::int64_t n) { return n >= 0; }) && !found_.row(i).leading)
      change.fix.to = change.to = Shape(wanted);
    cost += 3;
    if (!found_.rank_fits(i)) {
      cost += 1;
    } else {
      for (int axis = 0; axis < wanted.rank(); ++axis) cost += wanted[axis] != found_.length(i, axis) ? 1 : 0;
    }
    if (const int other = twin(solution, i); other >= 0) {
      change.fix.kind = FixKind::pass_other;
      change.fix.other = found_.row(other).name;
      cost -= 2.5;
    }
    return change;
  }

  // Another input of the contract whose shape this one has, or -1.
  int twin(const Case::Solution& solution, int i) const {
    if (found_.row(i).parameter || found_.row(i).leading) return -1;
    for (int other = 0; other < rows(); ++other) {
      const Row& row = found_.row(other);
      if (other == i || (found_.there(other) && found_.grid(other) != found_.grid(i)) || row.parameter || row.number ||
          row.leading || row.rank != found_.shape(i).rank())
        continue;
      const Extents wanted = needs(solution, other, false), own = needs(solution, i, true);
      bool same = true, told = false;
      for (int axis = 0; axis < row.rank; ++axis) {
        const std::int64_t has = found_.shape(i)[axis];
        same = same && (wanted[axis] == has || wanted[axis] < 0);
        told = told || (wanted[axis] == has && (own.rank() != row.rank || own[axis] != has));
      }
      if (same && told) return other;
    }
    return -1;
  }

  // A tensor whose number of axes is wrong is the surest finding.
  void certain_first(Blame& blame) {
    for (std::size_t k = 1; k < blame.rows.size(); ++k) {
      if (found_.rank_fits(blame.rows[k]) || !found_.rank_fits(blame.rows[0])) continue;
      std::swap(blame.rows[0], blame.rows[k]);
      std::swap(blame.change[0], blame.change[k]);
    }
  }

  Case found_;
  std::vector<Blame> blames_;
};

// "3 d_s", or "3 * d_s" as C++.
std::string spelled(const Contract& contract, const Length& length, std::int64_t gates, bool code) {
  std::string text;
  for (int k = 0; k < length.count; ++k) {
    const Term& term = length.terms[static_cast<std::size_t>(k)];
    const std::int64_t factor = term.factor * (term.gates ? gates : 1);
    if (k > 0) text += " + ";
    if (factor != 1) text += std::to_string(factor) + (code ? " * " : " ");
    text += contract.symbol(term.symbol);
  }
  return text;
}

std::string symbols_of(const Case& found, int i, bool code) {
  const Row& row = found.row(i);
  std::string text = row.leading && !code ? "..." : "";
  for (int axis = 0; axis < row.rank; ++axis) {
    if (!text.empty()) text += ", ";
    text += spelled(found.contract(), row.axes[static_cast<std::size_t>(axis)], found.gates(), code);
  }
  return text;
}

std::string test_line(const Case& found, int i) {
  const Row& row = found.row(i);
  std::string name(row.name);
  if (row.parameter && !found.contract().owner().empty()) name = std::string(found.contract().owner()) + "." + name;
  if (row.leading)
    return "CHECK(" + name + ".size(Axis{" + name + ".rank() - 1}) == " + symbols_of(found, i, true) + ");";
  return "CHECK(" + name + ".shape() == Shape{" + symbols_of(found, i, true) + "});";
}

// One tensor for each letter that row i needs, those that say it plainest first.
std::vector<ShapeReport::Source> sources(const Case& found, const Blame& blame, int i) {
  std::vector<int> chosen;
  const auto trusted = [&](int k) {
    return k != i && found.there(k) && found.row(k).name != "G" &&
           std::find(blame.rows.begin(), blame.rows.end(), k) == blame.rows.end();
  };
  const auto use = [&](int k) {
    if (k >= 0 && trusted(k) && std::find(chosen.begin(), chosen.end(), k) == chosen.end()) chosen.push_back(k);
  };
  const auto says = [&](int k, int symbol) {  // 1: alone on an axis
    for (int axis = 0; axis < found.row(k).rank; ++axis) {
      const Length& length = found.row(k).axes[static_cast<std::size_t>(axis)];
      if (length.count == 1 && length.terms[0].symbol == symbol) return true;
    }
    return false;
  };
  const Row& row = found.row(i);
  for (int axis = 0; axis < row.rank; ++axis) {
    const Length& length = row.axes[static_cast<std::size_t>(axis)];
    for (int t = 0; t < length.count; ++t) {
      const int symbol = length.terms[static_cast<std::size_t>(t)].symbol;
      if (std::any_of(chosen.begin(), chosen.end(), [&](int k) { return says(k, symbol); })) continue;
      int best = -1;
      for (int k = 0; k < found.contract().rows(); ++k) {  // tensors before numbers, few axes before many
        if (!trusted(k) || !says(k, symbol)) continue;
        const auto weight = [&](int r) { return (found.row(r).number ? 10 : 0) + 2 * found.row(r).rank; };
        if (best < 0 || weight(k) < weight(best)) best = k;
      }
      use(best >= 0 ? best : blame.solution.told_by[static_cast<std::size_t>(symbol)]);
      for (const Sum& sum : blame.solution.sums) {
        if (best < 0 && std::any_of(sum.open.begin(), sum.open.end(), [&](auto& o) { return o.first == symbol; }))
          use(sum.row);
      }
    }
  }
  std::vector<ShapeReport::Source> list;
  for (int k : chosen) {
    list.push_back(
        {std::string(found.row(k).name), "(" + symbols_of(found, k, false) + ")", found.shape(k), found.row(k).number});
  }
  return list;
}

// "d_h" where d_emb + d_h is needed and the tensor has d_emb; "*" where 3 d_s is needed and it has d_s.
std::string forgotten_terms(const Case& found, const Blame& blame, int i) {
  const Row& row = found.row(i);
  for (int axis = 0; axis < row.rank && found.rank_fits(i); ++axis) {
    const Length& length = row.axes[static_cast<std::size_t>(axis)];
    const std::int64_t has = found.length(i, axis), needed = found.needed(blame.solution, length);
    if (has == needed) continue;
    if (length.count == 1 && found.factor(length.terms[0]) > 1 && has * found.factor(length.terms[0]) == needed)
      return "*";
    for (unsigned some = 1; some + 1 < (1u << length.count); ++some) {  // every selection of the terms
      Length kept, missing;
      for (int k = 0; k < length.count; ++k) {
        Length& part = some & (1u << k) ? kept : missing;
        part.terms[static_cast<std::size_t>(part.count++)] = length.terms[static_cast<std::size_t>(k)];
      }
      if (found.needed(blame.solution, kept) == has) return spelled(found.contract(), missing, found.gates(), false);
    }
  }
  return "";
}

struct Examined {
  ShapeReport report;
  double cost;
};

Examined examine_one(const Contract& contract, const char* where, const std::vector<Given>& given) {
  Doctor doctor(contract, given);
  const Blame blame = doctor.search();
  Case& found = doctor.found();
  const int i = blame.rows[0];
  const Row& row = found.row(i);
  ShapeReport report;
  report.where = where;
  report.tensor = row.name;
  report.has = found.shape(i);
  report.symbols = "(" + symbols_of(found, i, false) + ")";
  report.needs = doctor.needs(blame.solution, i, true);
  if (blame.mended && !row.leading) report.needs = blame.change[0].to;
  report.from = sources(found, blame, i);
  report.fix = blame.change[0].fix;
  report.parameter = row.parameter;
  report.grid = found.grid(i);
  report.test = test_line(found, i);
  for (std::size_t k = 1; k < blame.rows.size(); ++k) {
    const ShapeFix& other = blame.change[k].fix;
    if (other.kind == report.fix.kind && other.a == report.fix.a && other.b == report.fix.b)
      report.also.push_back(std::string(found.row(blame.rows[k]).name));
  }
  if (report.fix.kind == FixKind::resize) report.forgotten = forgotten_terms(found, blame, i);
  for (const Blame& other : doctor.blames()) {  // as few to blame: nothing but likelihood decides
    if (other.rows.size() == 1 && blame.rows.size() == 1 && other.rows[0] != i && report.instead.empty())
      report.instead = found.row(other.rows[0]).name;
  }
  return {report, blame.cost + static_cast<double>(blame.rows.size()) * 10};
}

}  // namespace

ShapeReport examine(const Contract& contract, const char* where, const std::vector<Given>& given) {
  return examine_one(contract, where, given).report;
}

ShapeReport examine_nearest(const std::vector<const Contract*>& contracts, const char* where,
                            const std::vector<Given>& given) {
  std::optional<Examined> best;
  for (const Contract* contract : contracts) {
    Examined next = examine_one(*contract, where, given);
    if (!best || next.cost < best->cost) best = std::move(next);
  }
  return best->report;
}

ShapeReport examine_dot(const Contract& contract, const char* where, const std::vector<Given>& given) {
  const ShapeReport report = examine(contract, where, given);
  if (report.fix.kind != FixKind::resize && report.fix.kind != FixKind::pass_other) return report;
  const auto wide = [&](const char* name) -> std::optional<Wide> {
    const int i = contract.find(name);
    const Given& g = given[static_cast<std::size_t>(i)];
    if (!g.there() || (g.shape && g.shape->rank() != contract.row(i).rank)) return std::nullopt;
    return Wide{name, g.shape ? *g.shape : Shape{g.number}};
  };
  const auto query = wide("query") ? wide("query") : wide("d_s");
  const auto keys = wide("keys") ? wide("keys") : wide("H") ? wide("H") : wide("d_h");
  if (!query || !keys || query->shape[query->shape.rank() - 1] == keys->shape[keys->shape.rank() - 1]) return report;
  return examine_widths(where, *query, *keys);
}

ShapeReport examine_widths(const char* where, const Wide& query, const Wide& keys) {
  const auto source = [](const Wide& wide) {
    const int rank = wide.shape.rank();
    const char* symbols[] = {"(d_h)", "(B, d_h)", "(B, T_enc, d_h)"};
    return ShapeReport::Source{wide.name, symbols[rank - 1], wide.shape, rank == 1};
  };
  ShapeReport report;
  report.where = where;
  report.tensor = query.name;
  report.has = query.shape;
  report.number = query.shape.rank() == 1;
  report.symbols = report.number ? "d_s = d_h" : "(B, d_s = d_h)";
  const int last = query.shape.rank() - 1;
  report.needs = query.shape.with(Axis{last}, keys.shape[keys.shape.rank() - 1]);
  report.from.push_back(source(keys));
  report.fix = {FixKind::equal_widths, 0, 0, Shape(report.needs), ""};
  report.test = report.number ? "CHECK(d_s == d_h);" : "CHECK(query.size(Axis{1}) == d_h);";
  return report;
}

ShapeReport examine_same(const char* where, const Shape& prediction, const Shape& target) {
  static constexpr Contract by_rank[] = {
      {"", "prediction (B)  target (B)"},
      {"", "prediction (B, d_out)  target (B, d_out)"},
      {"", "prediction (B, T_dec, d_out)  target (B, T_dec, d_out)"},
  };
  std::vector<Given> given(2);
  given[0].shape = &prediction;
  given[1].shape = &target;
  return examine(by_rank[prediction.rank() - 1], where, given);
}

ShapeReport examine_product(const Shape& left, const Shape& right) {
  ShapeReport report;
  report.where = "left * right";
  report.tensor = "right";
  report.has = right;
  report.symbols = "left";
  report.needs = left;
  report.from.push_back({"left", "", left, false});
  report.test = "CHECK(right.shape() == left.shape());";
  report.fix.to = left;
  std::string& call = report.fix.other;
  const auto rows = [](const std::string& name, const Shape& shape) {  // a stack of rows as one matrix
    if (shape.rank() == 2) return name;
    const std::int64_t last = shape[shape.rank() - 1];
    return "reshape(" + name + ", Shape{" + std::to_string(shape.size() / last) + ", " + std::to_string(last) + "})";
  };
  const int m = left.rank(), n = right.rank();
  // A query (B, d) beside keys (B, T, d): an axis is missing, and whoever wants it repeated has to say so.
  if (m + 1 == n || n + 1 == m) {
    const Shape &small = m < n ? left : right, &large = m < n ? right : left;
    for (int axis = 1; axis + 1 < large.rank() && call.empty(); ++axis) {
      if (large.without(Axis{axis}) != small) continue;
      report.fix.kind = FixKind::repeat;
      call = std::string("expand_new(") + (m < n ? "left" : "right") + ", Axis{" + std::to_string(axis) + "}, " +
             std::to_string(large[axis]) + ")";
      return report;
    }
  }
  if (m >= 2 && n >= 2 && left.size() > 0 && right.size() > 0) {
    const bool matrices = m == 2 && n == 2;
    if (matrices && left[1] == right[0]) call = "matmul(left, right)";
    else if (m == 2 && right[n - 1] == left[1]) call = "matmul(" + rows("right", right) + ", transpose(left))";
    else if (n == 2 && left[m - 1] == right[1]) call = "matmul(" + rows("left", left) + ", transpose(right))";
    else if (m == 2 && right[n - 1] == left[0]) call = "matmul(" + rows("right", right) + ", left)";
    else if (n == 2 && left[m - 1] == right[0]) call = "matmul(" + rows("left", left) + ", right)";
    else if (matrices && left[0] == right[0]) call = "matmul(transpose(left), right)";
  } else if (m == 1 || n == 1) {
    const Shape& x = m == 1 ? right : left;
    const Shape& v = m == 1 ? left : right;
    for (int axis = x.rank() - 1; axis >= 0 && v.rank() == 1 && call.empty(); --axis) {
      if (x[axis] == v[0])
        call = std::string(m == 1 ? "dot(right, left" : "dot(left, right") + ", Axis{" + std::to_string(axis) + "})";
    }
  }
  if (!call.empty()) report.fix.kind = FixKind::multiply;
  return report;
}

}  // namespace gradus
