// Every value that backward reads, with everything that may be read instead.
#include "nn/conventions/grammar_misread.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "nn/conventions/grammar.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

// Where the numbers of example b at step t come from; nothing: zeros.
struct Move {
  const char* code;
  Said whose;  // "of the step after"
  std::optional<std::pair<std::size_t, std::size_t>> (*from)(std::size_t b, std::size_t t, std::size_t B,
                                                             std::size_t T);
};
using Spot = std::optional<std::pair<std::size_t, std::size_t>>;
using S = std::size_t;

const std::vector<Move>& moves() {
  static const std::vector<Move> all = {
      {"OTHER_STEP",
       {"of the step after", "后一步的"},
       [](S b, S t, S, S T) -> Spot {
         return {{b, std::min(t + 1, T - 1)}};
       }},
      {"OTHER_STEP",
       {"of the step before", "前一步的"},
       [](S b, S t, S, S) -> Spot {
         return {{b, t ? t - 1 : 0}};
       }},
      {"OTHER_STEP",
       {"of the step after, 0 at the last", "后一步的（最后一步为 0）"},
       [](S b, S t, S, S T) {
         return t + 1 < T ? Spot{{b, t + 1}} : Spot();
       }},
      {"OTHER_STEP",
       {"of the step before, 0 at the first", "前一步的（第一步为 0）"},
       [](S b, S t, S, S) {
         return t ? Spot{{b, t - 1}} : Spot();
       }},
      {"OTHER_STEP",
       {"of the step as far from the other end", "从另一端数起的那一步的"},
       [](S b, S t, S, S T) -> Spot {
         return {{b, T - 1 - t}};
       }},
      {"FROZEN",
       {"of the first step", "第一步的"},
       [](S b, S, S, S) -> Spot {
         return {{b, 0}};
       }},
      {"FROZEN",
       {"of the last step", "最后一步的"},
       [](S b, S, S, S T) -> Spot {
         return {{b, T - 1}};
       }},
      {"OTHER_EXAMPLE",
       {"of the previous example (the first has its own)", "前一个样本的（第一个样本用自己的）"},
       [](S b, S t, S, S) -> Spot {
         return {{b ? b - 1 : 0, t}};
       }},
      {"OTHER_EXAMPLE",
       {"of the next example (the last has its own)", "后一个样本的（最后一个样本用自己的）"},
       [](S b, S t, S B, S) -> Spot {
         return {{std::min(b + 1, B - 1), t}};
       }},
      {"OTHER_EXAMPLE",
       {"of the previous example", "前一个样本的"},
       [](S b, S t, S B, S) -> Spot {
         return {{(b + B - 1) % B, t}};
       }},
      {"OTHER_EXAMPLE",
       {"of the next example", "后一个样本的"},
       [](S b, S t, S B, S) -> Spot {
         return {{(b + 1) % B, t}};
       }},
      {"OTHER_EXAMPLE",
       {"of the first example", "第一个样本的"},
       [](S, S t, S, S) -> Spot {
         return {{0, t}};
       }},
      {"OTHER_EXAMPLE",
       {"of the last example", "最后一个样本的"},
       [](S, S t, S B, S) -> Spot {
         return {{B - 1, t}};
       }},
  };
  return all;
}

// n numbers a place of (B, T); T may be one more than the steps that are moved, the first of which is `first`.
Vec moved(const Vec& x, S B, S T, const Move& move) {
  Vec y(x.size());
  const S n = x.size() / (B * T);
  for (S b = 0; b < B; ++b)
    for (S t = 0; t < T; ++t)
      if (const Spot from = move.from(b, t, B, T))
        std::copy_n(x.begin() + static_cast<std::ptrdiff_t>((from->first * T + from->second) * n), n,
                    y.begin() + static_cast<std::ptrdiff_t>((b * T + t) * n));
  return y;
}

// What a line "... if t > 0 else ..." reads wrongly in its first part alone.
Vec own_at_first(Vec x, const Grid& own) {
  const S n = own.size() / (own.B * own.T);
  for (S b = 0; b < own.B; ++b)
    std::copy_n(own.x.begin() + static_cast<std::ptrdiff_t>(b * own.T * n), n,
                x.begin() + static_cast<std::ptrdiff_t>(b * own.T * n));
  return x;
}

// With two steps the step before is the first one: such an input cannot tell, and no name is given.
bool is_another_kind(const Vec& x, S B, S T, const Move& move) {
  const Vec y = moved(x, B, T, move);
  return std::any_of(moves().begin(), moves().end(), [&](const Move& other) {
    return std::string(other.code) != move.code && moved(x, B, T, other) == y;
  });
}

// A value that backward reads, wherever in the formulas it stands.
struct Value {
  std::string name;
  Grid grid;
  std::vector<std::pair<S, const Node*>> places;
  bool read = false;  // not only there to be taken by mistake
};

bool is_read(const Plan& plan, const Node& n) {
  if (n.op == Op::apply) return true;
  for (const auto& [user, place] : plan.uses(&n))
    if (user->op == Op::times || user->op == Op::dot || (user->op == Op::product && place == 1)) return true;
  return false;
}

class Misreadings {
 public:
  using Name = std::function<std::string(const std::string&)>;
  Misreadings(const WholeModel& model, const Plans& plans, const Arrays& seeds, const Name& shown,
              const std::function<bool(const Misread&)>& visit)
      : model_(model), plans_(plans), seeds_(seeds), shown_(shown), visit_(visit) {
    for (S k = 0; k < plans.size(); ++k)
      for (const Term& t : plans[k]->terms()) {
        const Grid& g = plans[k]->value(t.get());
        if (g.T < 2 || g.T != model.scene.T || g.B != model.scene.B || t->op == Op::number) continue;
        const bool named = t->op == Op::leaf || !t->label.empty();
        const bool read = diagnosis::is_read(*plans[k], *t);
        if (!read && !named) continue;
        add(print(t), g, k, t.get(), read);
      }
  }

  void each() {
    each_seed() || not_turned_back() || last_step_left_out() || each_index_that_stands() || each_moved() ||
        each_other_value() || each_exchange() || each_block_order() || each_overwritten() || each_factor_too_many() ||
        each_last_share() || each_value_for_a_gradient();
  }

 private:
  void add(const std::string& name, const Grid& grid, S formula, const Node* node, bool read) {
    for (Value& v : values_)
      if (v.name == name && v.grid.size() == grid.size()) {
        v.read = v.read || read;
        return v.places.push_back({formula, node});
      }
    values_.push_back({name, grid, {{formula, node}}, read});
  }

  bool say(Misread m, const std::string& owner, const std::string& end) {
    m.code = "GRAD_" + owner + (owner.empty() ? "" : "_") + end;
    return visit_(m);
  }

  // The part of the model that a value belongs to; of an operand that several parts read, the model.
  std::string owner_of(const Value& v) const {
    std::set<std::string> parts;
    for (const auto& [k, node] : v.places) {
      const Plan& plan = *plans_[k];
      if (!node->label.empty() || plan.uses(node).empty()) parts.insert(part_code(plan, node));
      else
        for (const auto& [user, place] : plan.uses(node)) parts.insert(part_code(plan, user));
    }
    const std::string first = *parts.begin();
    return parts.size() == 1 ? first : first.substr(0, first.find('_'));
  }

  // Read wrongly wherever it is read; 1 - z is made of the z that is read.
  std::vector<Plan::Saved> instead(const Value& v, const Vec& x) const {
    std::vector<Plan::Saved> saved(plans_.size());
    for (const auto& [k, node] : v.places) {
      Grid g = v.grid;
      g.x = x;
      for (const auto& [user, place] : plans_[k]->uses(node))
        if (user->op == Op::complement) {
          Grid rest = g;
          for (double& y : rest.x) y = 1 - y;
          saved[k][user] = rest;
        }
      saved[k][node] = std::move(g);
    }
    return saved;
  }

  // The same at one of its uses alone: as the other factor, as what a matrix multiplied, or in its own slope.
  bool each_use(const Value& v, const Vec& x, const Words& what, const std::string& end) {
    std::vector<std::pair<S, std::pair<const Node*, S>>> uses;
    for (const auto& [k, node] : v.places) {
      if (node->op == Op::apply) uses.push_back({k, {node, 0}});
      for (const auto& [user, place] : plans_[k]->uses(node))
        if ((user->op == Op::times && user->in.size() == 2) || (user->op == Op::product && place == 1))
          uses.push_back({k, {user, place}});
    }
    if (uses.size() < 2) return false;
    for (const auto& [k, use] : uses) {
      const auto& [user, place] = use;
      const bool slope = user->op == Op::apply && place == 0 && user->function->back;
      const S changed = slope ? 0 : 1 - place;
      Misread m;
      m.by_step = true;
      const std::string into = print(std::make_shared<const Node>(*user), true);
      m.sentence = {"in the backward of " + into + ", " + what.en, "在 " + into + " 的反向中，" + what.zh};
      m.fix = right_value_;
      m.flow = [&x, k = k, user = user, changed, slope](S formula, const Node& term, S way, const Grid& dy, Grid& dx) {
        if (formula != k || &term != user || way != changed) return;
        if (slope) {
          for (S p = 0; p < x.size(); p += dy.D) user->function->back(&x[p], &x[p], &dy.x[p], &dx.x[p], dy.D);
        } else if (user->op == Op::times) {
          if (dx.size() == x.size() && dy.size() == x.size())
            for (S j = 0; j < x.size(); ++j) dx.x[j] = dy.x[j] * x[j];
        } else if (dx.D && dy.size() / std::max<S>(dx.N, 1) == x.size() / dx.D) {
          std::fill(dx.x.begin(), dx.x.end(), 0.0);
          for (S p = 0; p < x.size() / dx.D; ++p)
            for (S r = 0; r < dx.N; ++r)
              for (S j = 0; j < dx.D; ++j) dx.x[r * dx.D + j] += dy.x[p * dx.N + r] * x[p * dx.D + j];
        }
      };
      if (say(std::move(m), part_code(*plans_[k], user), end)) return true;
    }
    return false;
  }

  bool each_moved() {
    for (const Value& v : values_)
      for (const Move& move : moves()) {
        if (!v.read) continue;
        const Vec x = moved(v.grid.x, v.grid.B, v.grid.T, move);
        if (x == v.grid.x || is_another_kind(v.grid.x, v.grid.B, v.grid.T, move)) continue;
        Misread m;
        m.by_step = true;
        const Words what = {"the " + v.name + " that is read is that " + move.whose.en,
                            "读到的 " + v.name + " 是" + move.whose.zh};
        m.sentence = {"in the backward, " + what.en, "反向中" + what.zh};
        m.fix = right_value_;
        m.values = instead(v, x);
        const std::string end = std::string("VALUE_") + move.code;
        if (say(std::move(m), owner_of(v), end) || each_use(v, x, what, end)) return true;
        if (is_carried(v) && move.code == std::string("OTHER_EXAMPLE") &&
            but_own_at_first(v, own_at_first(x, v.grid), what, end))
          return true;
      }
    return false;
  }

  // What the step before has left: at the first step another array is read.
  static bool is_carried(const Value& v) {
    const Node& n = *v.places[0].second;
    return n.op == Op::leaf && n.read.lag > 0;
  }
  bool but_own_at_first(const Value& v, const Vec& x, const Words& what, const std::string& end) {
    if (x == v.grid.x) return false;
    const Words but = {what.en + ", but for the first step", what.zh + "（第一步除外）"};
    Misread m;
    m.by_step = true;
    m.sentence = {"in the backward, " + but.en, "反向中" + but.zh};
    m.fix = right_value_;
    m.values = instead(v, x);
    return say(std::move(m), owner_of(v), end) || each_use(v, x, but, end);
  }

  // Every value that may be taken for another: with the operands of functions, and other functions of them.
  std::vector<std::pair<std::string, Grid>> sources() const {
    std::vector<std::pair<std::string, Grid>> all;
    for (const Value& v : values_) all.emplace_back(v.name, v.grid);
    for (const auto& plan : plans_)
      for (const Term& t : plan->terms()) {
        if (t->op != Op::apply || t->along != Along::features) continue;
        const Grid& x = plan->value(t->in[0].get());
        if (x.T != model_.scene.T || x.T < 2) continue;
        all.emplace_back(print(t->in[0]), x);
        for (const char* name : {"sigmoid", "tanh", "relu"}) {
          if (t->function->name == std::string(name)) continue;
          Grid y = x;
          for (S p = 0; p < y.x.size(); p += y.D) function(name).apply(&y.x[p], y.D);
          all.emplace_back(std::string(name) + "(" + print(t->in[0]) + ")", y);
        }
      }
    return all;
  }

  // The gates' slopes, which a backward has at hand as well.
  std::vector<std::pair<std::string, Grid>> with_slopes(std::vector<std::pair<std::string, Grid>> all) const {
    for (S k = 0, n = all.size(); k < n; ++k) {
      const auto found =
          std::find_if(values_.begin(), values_.end(), [&](const Value& v) { return v.name == all[k].first; });
      if (found == values_.end() || found->places[0].second->op != Op::apply) continue;
      const Node& f = *found->places[0].second;
      if (!f.function->back || f.along != Along::features) continue;
      Grid slope = all[k].second;
      const Vec ones(slope.D, 1);
      for (S p = 0; p < slope.x.size(); p += slope.D)
        f.function->back(&all[k].second.x[p], &all[k].second.x[p], ones.data(), &slope.x[p], slope.D);
      all.emplace_back("the slope of " + all[k].first, slope);
    }
    return all;
  }

  bool each_other_value() {
    const auto all = with_slopes(sources());
    for (const Value& v : values_)
      for (const auto& [name, grid] : all) {
        if (!v.read || grid.size() != v.grid.size() || grid.D != v.grid.D || grid.x == v.grid.x) continue;
        Misread m;
        m.by_step = true;
        const Words what = {name + " is read where " + v.name + " belongs", "读了 " + name + "，应读 " + v.name};
        m.sentence = {"in the backward, " + what.en, "反向中" + what.zh};
        m.fix = right_value_;
        m.values = instead(v, grid.x);
        if (say(std::move(m), owner_of(v), "VALUE_OTHER") || each_use(v, grid.x, what, "VALUE_OTHER")) return true;
        if (is_carried(v) && but_own_at_first(v, own_at_first(grid.x, v.grid), what, "VALUE_OTHER")) return true;
      }
    return false;
  }

  bool each_exchange() {
    for (S i = 0; i < values_.size(); ++i)
      for (S k = 0; k < i; ++k) {
        const Value &a = values_[i], &b = values_[k];
        if (!a.read || !b.read || a.grid.size() != b.grid.size() || a.grid.D != b.grid.D) continue;
        Misread m;
        m.by_step = true;
        m.values = instead(a, b.grid.x);
        const auto other = instead(b, a.grid.x);
        for (S f = 0; f < other.size(); ++f)
          for (const auto& [node, g] : other[f]) m.values[f][node] = g;
        m.sentence = {"in the backward, " + b.name + " and " + a.name + " are exchanged wherever they are read",
                      "反向中 " + b.name + " 与 " + a.name + " 处处对调了"};
        m.fix = right_value_;
        const std::string one = owner_of(b), two = owner_of(a);
        if (say(std::move(m),
                one.substr(0, one.find('_')) == two.substr(0, two.find('_')) ? one.substr(0, one.find('_')) : "",
                "VALUES_EXCHANGED"))
          return true;
      }
    return false;
  }

  // A loop over the steps whose index stands still: everything is read there, and the inputs' gradients are put there.
  bool each_index_that_stands() {
    const S B = model_.scene.B, T = model_.scene.T;
    if (!reference::find(*model_.scene.arrays, "x") || T < 3) return false;
    for (const bool at_last : {true, false})
      for (const bool overwrites : {true, false}) {
        const Move& still = *std::find_if(moves().begin(), moves().end(), [&](const Move& m) {
          return m.whose.en == std::string(at_last ? "of the last step" : "of the first step");
        });
        Misread m;
        m.sentence = {
            std::string("backward stands at the ") + (at_last ? "last" : "first") +
                " step: every one of its steps reads the values saved there, and writes there",
            std::string("反向一直停在") + (at_last ? "最后" : "第") + "一步：每一步都读取那里保存的值，也写到那里"};
        m.fix = {"let t run from the last step to the first", "让 t 从最后一步走到第一步"};
        for (const auto& plan : plans_) {
          Plan::Saved saved;
          for (const Term& t : plan->terms()) {
            Grid g = plan->value(t.get());
            if (g.B != B || g.T != T) continue;
            g.x = moved(g.x, B, T, still);
            saved[t.get()] = std::move(g);
          }
          m.values.push_back(std::move(saved));
        }
        m.seeds = [&still](Arrays& seeds) {
          for (auto& [name, g] : seeds)
            if (g.shape.size() == 3 && name != "h_n" && name != "c_n")
              g.data = moved(g.data, g.dim(0), g.dim(1), still);
        };
        m.result = [at_last, overwrites, B, T](Arrays& gradients) {
          const auto found = gradients.find("x");
          if (found == gradients.end() || found->second.shape.size() != 3) return;
          const Array was = found->second;
          Array& x = found->second = Array(was.shape);
          for (S b = 0; b < B; ++b) {
            Vec sum = copy(was.row({b, 0}));
            for (S t = 1; t < T && !overwrites; ++t) sum = reference::add(sum, was.row({b, t}));
            x.set_row({b, at_last ? T - 1 : 0}, sum);
          }
        };
        if (say(std::move(m), "", "STEP_FROZEN")) return true;
      }
    return false;
  }

  // The backward direction's gradient of its inputs lies in the order in which it reads them: put down as it is, or turned
  // over the whole axis, padding included.
  bool not_turned_back() {
    if (model_.direction == 0) return false;
    for (const bool whole_axis : {false, true}) {
      Misread m;
      m.sentence = whole_axis
                       ? Words{"the backward direction's gradient of its inputs is turned over the whole axis, padding "
                               "included: in a short sentence it lies at other positions",
                               "反向方向对输入的梯度按整行（含填充）翻转：短句的梯度落到了别的位置"}
                       : Words{"the backward direction's gradient of its inputs is not turned back: it lies in the order "
                               "in which that direction reads",
                               "反向方向对输入的梯度没有翻转回来：仍按该方向的读取顺序存放"};
      m.fix = {"turn it over the real positions again, as its inputs were: dx[b, length - 1 - t] for step t",
               "像它的输入那样，只在真实位置内翻转：第 t 步的梯度放到 dx[b, length - 1 - t]"};
      m.result = [this, whole_axis](Arrays& gradients) {
        const auto found = gradients.find("x");
        if (found == gradients.end() || found->second.shape.size() != 3) return;
        const Array was = found->second;
        const S T = was.dim(1);
        for (S b = 0; b < was.dim(0); ++b)
          for (S t = 0; t < T; ++t) {
            const S position = read_at(1, t, model_.scene.lengths[b]);
            found->second.set_row({b, t}, was.row({b, whole_axis ? T - 1 - position : position}));
          }
      };
      if (say(std::move(m), "", whole_axis ? "TURNED_OVER_PADDING" : "NOT_TURNED_BACK")) return true;
    }
    return false;
  }

  // What the loss gives an output, added at another step, or not at all.
  bool each_seed() {
    for (const auto& [name, g] : seeds_) {
      if (seeds_.size() > 1) {
        Misread m;
        m.sentence = {"the loss's own gradient of " + name + " is not added: backward starts from the others alone",
                      "没有加上损失对 " + name + " 的梯度：反向只从其余输出开始"};
        m.fix = {"add grad_" + name + " where " + name + " is given out", "在给出 " + name + " 处加上 grad_" + name};
        m.seeds = [name = name](Arrays& seeds) { std::fill(seeds[name].data.begin(), seeds[name].data.end(), 0.0); };
        if (say(std::move(m), "", "LOSS_DROPPED")) return true;
      }
      if (g.shape.size() != 3 || name == "s" || name == "m") continue;
      if (name == "h_n" || name == "c_n") {
        if (each_seed_of_another_example(name, g)) return true;
        continue;
      }
      if (g.dim(1) < 2) continue;
      for (const bool at_last : {true, false}) {
        Misread m;
        const std::string step = at_last ? "last" : "first";
        m.sentence = {"the loss of the " + step + " step is not counted: its gradient of " + name + " is not added",
                      std::string(at_last ? "最后" : "第") + "一步的损失没有算入：没有加上它对 " + name + " 的梯度"};
        m.fix = {"let t run over all steps", "让 t 遍历所有步"};
        m.seeds = [name = name, at_last](Arrays& seeds) {
          Array& a = seeds[name];
          for (S b = 0; b < a.dim(0); ++b) a.set_row({b, at_last ? a.dim(1) - 1 : 0}, Vec(a.dim(2)));
        };
        if (say(std::move(m), "", "LOSS_STEP_DROPPED")) return true;
      }
      for (const Move& move : moves()) {
        const Vec x = moved(g.data, g.dim(0), g.dim(1), move);
        if (x == g.data || is_another_kind(g.data, g.dim(0), g.dim(1), move)) continue;
        Misread m;
        m.sentence = {"the gradient of " + name + " that is added at a step is that " + move.whose.en,
                      "每一步加上的 " + name + " 的梯度是" + move.whose.zh};
        m.fix = {"add grad_" + name + "[b, t] at step t of example b",
                 "在样本 b 的第 t 步加上 grad_" + name + "[b, t]"};
        m.seeds = [x, name = name](Arrays& seeds) { seeds[name].data = x; };
        if (say(std::move(m), "", std::string("LOSS_") + move.code)) return true;
      }
    }
    return false;
  }

  // Of final states, (layers * directions, B, d).
  bool each_seed_of_another_example(const std::string& name, const Array& g) {
    const S B = g.dim(1), n = g.dim(2);
    for (const Move& move : moves()) {
      if (move.code != std::string("OTHER_EXAMPLE")) continue;
      Vec x;
      for (S at = 0; at < g.data.size(); at += B * n) {
        const auto slice = g.data.begin() + static_cast<std::ptrdiff_t>(at);
        const Vec y = moved({slice, slice + static_cast<std::ptrdiff_t>(B * n)}, B, 1, move);
        x.insert(x.end(), y.begin(), y.end());
      }
      if (x == g.data) continue;
      Misread m;
      m.sentence = {"the gradient of " + name + " that backward starts from is that " + move.whose.en,
                    "反向开始时用的 " + name + " 的梯度是" + move.whose.zh};
      m.fix = {"start example b from grad_" + name + "[:, b]", "样本 b 从 grad_" + name + "[:, b] 开始"};
      m.seeds = [x, name](Arrays& seeds) { seeds[name].data = x; };
      if (say(std::move(m), "", "LOSS_OTHER_EXAMPLE")) return true;
    }
    return false;
  }

  // A loop that ends one step early: what comes from behind the last step reaches the one before it as it is.
  bool last_step_left_out() {
    if (!reference::find(*model_.scene.arrays, "x") || model_.scene.T < 2) return false;
    Misread m;
    m.sentence = {
        "backward leaves the last step out: it begins at the step before, and what flows into the last "
        "state is taken for that one's",
        "反向漏掉了最后一步：它从倒数第二步开始，把流入最后状态的梯度当作那一步的"};
    m.fix = {"let t run from the last step to the first", "让 t 从最后一步走到第一步"};
    m.steps_left_out = 1;
    return say(std::move(m), "", "STEP_LEFT_OUT");
  }

  // The gradients of the gates' preactivations stacked in another order than the gates.
  bool each_block_order() {
    struct Block {
      S formula;
      const Node* product;
      std::string name;
      S slot;
    };
    std::vector<Block> blocks;
    S gates = 0;
    std::map<S, std::string> letters;
    for (S k = 0; k < plans_.size(); ++k)
      for (const Term& t : plans_[k]->terms()) {
        if (t->op != Op::product || t->in[0]->op != Op::matrix || t->in[0]->block.rows == 0) continue;
        const Node& w = *t->in[0];
        blocks.push_back({k, t.get(), w.name, w.block.start / w.block.rows});
        gates = std::max(gates, blocks.back().slot + 1);
        letters[blocks.back().slot] = w.shown.substr(w.shown.find('_') + 1);
      }
    constexpr S most_gates = 4;
    if (gates < 3 || gates > most_gates || letters.size() != gates) return false;
    std::vector<S> from(gates);
    for (S k = 0; k < gates; ++k) from[k] = k;
    const auto is = [](const std::string& name, char letter) { return !name.empty() && name[0] == letter; };
    while (std::next_permutation(from.begin(), from.end()))
      for (const std::string which : {"WU", "W", "U"}) {
        const auto taken = [which, is](const std::string& name) {
          if (name == "b" || name.rfind("b_reverse", 0) == 0) return which.find('W') != which.npos;
          if (is(name, 'b')) return which.find('U') != which.npos;
          return (is(name, 'W') || is(name, 'U')) && which.find(name[0]) != which.npos;
        };
        std::string order, own;
        std::vector<S> slot_of(gates);  // the slot that a gate's gradient is put into
        for (S k = 0; k < gates; ++k) {
          order += (k ? ", " : "") + letters[from[k]], own += (k ? ", " : "") + letters[k];
          slot_of[from[k]] = k;
        }
        const char *w = which == "W" ? "W" : "U", *b = which == "W" ? "b" : "b_u";
        const bool all_of_them = which == "WU";
        const std::string of = all_of_them ? "all parameters of the cell" : shown_(w) + " and " + shown_(b);
        const std::string of_zh = all_of_them ? "单元的所有参数" : shown_(w) + " 和 " + shown_(b);
        Misread m;
        m.sentence = {
            "the gates' gradients are stacked in the order " + order + " where " + own + " belongs, for " + of,
            "各门的梯度按 " + order + " 的顺序堆叠，应为 " + own + "（" + of_zh + "）"};
        m.fix = {"stack the gates' gradients in the order of the gates", "按门的顺序堆叠各门的梯度"};
        m.flow = [this, blocks, taken, slot_of](S formula, const Node& term, S place, const Grid& dy, Grid& dx) {
          for (const Block& block : blocks) {
            if (block.formula != formula || block.product != &term || place != 1 || !taken(block.name)) continue;
            const Array& all = get(*model_.scene.arrays, block.name);
            const S rows = dy.D, cols = dx.D, first = slot_of[block.slot] * rows;
            for (S p = 0; p < dy.size() / rows; ++p)
              for (S j = 0; j < cols; ++j) {
                double sum = 0;
                for (S r = 0; r < rows; ++r) sum += all.data[(first + r) * cols + j] * dy.x[p * rows + r];
                dx.x[p * cols + j] = sum;
              }
          }
        };
        m.result = [taken, from, gates](Arrays& gradients) {
          for (auto& [name, a] : gradients) {
            if (!taken(name) || a.shape.empty() || a.dim(0) % gates) continue;
            const Array was = a;
            const S n = a.data.size() / gates;
            for (S k = 0; k < a.data.size(); ++k) a.data[k] = was.data[from[k / n] * n + k % n];
          }
        };
        if (say(std::move(m), "", "BLOCKS_EXCHANGED")) return true;
      }
    return false;
  }

  // The gradient of a product, or of the sum that it is part of, overwritten by what flows into one factor: what is made
  // of it afterwards has the other factor too many.
  bool each_overwritten() {
    for (S k = 0; k < plans_.size(); ++k)
      for (const Term& t : plans_[k]->terms()) {
        if (t->op != Op::times || t->in.size() != 2) continue;
        const auto& uses = plans_[k]->uses(t.get());
        const Node* sum = uses.size() == 1 && uses[0].first->op == Op::sum ? uses[0].first : nullptr;
        for (S into = 0; into < 2; ++into)
          for (const bool all : {true, false}) {
            if (all && !sum) continue;
            const Vec& factor = plans_[k]->value(t->in[1 - into].get()).x;
            const std::string of = print(all ? std::make_shared<const Node>(*sum) : t), child = print(t->in[into]);
            Misread m;
            m.sentence = {"in the backward, the gradient of " + of + " is overwritten by what flows into " + child +
                              ", before the rest is made of it",
                          "反向中 " + of + " 的梯度被流入 " + child + " 的部分覆盖，其余部分由被覆盖后的值算出"};
            m.fix = {"give what flows into " + child + " a name of its own", "给流入 " + child + " 的梯度另起一个变量"};
            m.flow = [&factor, k, sum, all, into, product = t.get(), own = all ? uses[0].second : 0](
                         S formula, const Node& term, S place, const Grid&, Grid& dx) {
              const bool beside = all && &term == sum && place != own && place != Plan::all_uses;
              const bool other = &term == product && place == 1 - into;
              if (formula != k || (!beside && !other) || dx.size() != factor.size()) return;
              for (S j = 0; j < factor.size(); ++j) dx.x[j] *= factor[j];
            };
            const Node* at = all ? sum : t.get();
            if (say(std::move(m), part_code(*plans_[k], at), "OVERWRITTEN")) return true;
          }
      }
    return false;
  }

  // The gradient of a sum of products overwritten late: a single way of the others has a factor too many. Of a gate that
  // is read as 1 - z as well, the factor is the difference of what they multiply.
  bool each_factor_too_many() {
    for (S k = 0; k < plans_.size(); ++k)
      for (const Term& sum : plans_[k]->terms()) {
        if (sum->op != Op::sum) continue;
        struct Flow {
          const Node* product;
          S place;
        };
        std::vector<Flow> flows;
        for (const Term& t : sum->in)
          for (S place = 0; t->op == Op::times && t->in.size() == 2 && place < 2; ++place)
            flows.push_back({t.get(), place});
        for (const Flow& from : flows) {
          Vec factor = plans_[k]->value(from.product->in[1 - from.place].get()).x;
          const std::string child = print(from.product->in[from.place]);
          for (const Flow& other : flows) {  // z and 1 - z
            const Node& rest = *other.product->in[other.place];
            if (rest.op != Op::complement || rest.in[0] != from.product->in[from.place]) continue;
            const Vec& minus = plans_[k]->value(other.product->in[1 - other.place].get()).x;
            for (S j = 0; j < factor.size() && minus.size() == factor.size(); ++j) factor[j] -= minus[j];
          }
          for (const Flow& into : flows) {
            if (into.product == from.product && into.place == from.place) continue;
            const std::string hit = print(into.product->in[into.place]);
            Misread m;
            m.sentence = {"in the backward, the gradient of " + print(sum) + " is overwritten by what flows into " +
                              child + ", and what flows into " + hit + " is made of that",
                          "反向中 " + print(sum) + " 的梯度被流入 " + child + " 的部分覆盖，流入 " + hit +
                              " 的部分由被覆盖后的值算出"};
            m.fix = {"give what flows into " + child + " a name of its own", "给流入 " + child + " 的梯度另起一个变量"};
            m.flow = [factor, k, into](S formula, const Node& term, S place, const Grid&, Grid& dx) {
              if (formula != k || &term != into.product || place != into.place || dx.size() != factor.size()) return;
              for (S j = 0; j < factor.size(); ++j) dx.x[j] *= factor[j];
            };
            if (say(std::move(m), part_code(*plans_[k], sum.get()), "OVERWRITTEN")) return true;
          }
        }
      }
    return false;
  }

  // One step of one example is all that is left of a parameter's gradient: = in the loops, where += belongs.
  bool each_last_share() {
    std::set<std::string> names;
    for (const auto& plan : plans_)
      for (const Term& t : plan->terms())
        if (t->op == Op::matrix || (t->op == Op::leaf && t->lies == Lies::everywhere)) names.insert(t->name);
    const S B = model_.scene.B, T = model_.scene.T;
    for (const std::string& name : names)
      for (const bool last_example : {true, false})
        for (const bool first_step : {true, false}) {
          if (B < 2 || T < 2) continue;
          const S at = (last_example ? B - 1 : 0) * T + (first_step ? 0 : T - 1);
          Misread m;
          const std::string example = last_example ? "last" : "first", step = first_step ? "first" : "last";
          m.sentence = {"the gradient of " + shown_(name) + " is the share of the " + step + " step of the " + example +
                            " example alone: every step overwrites it",
                        shown_(name) + " 的梯度只剩" + (last_example ? "最后一个" : "第一个") + "样本" +
                            (first_step ? "第一步" : "最后一步") + "的贡献：每一步都覆盖了它"};
          m.fix = {"add to the gradient at every use: +=, not =", "每次使用都要累加梯度：用 += 而不是 ="};
          m.flow = [this, name, at, B, T](S formula, const Node& term, S place, const Grid& dy, Grid& dx) {
            if (place == Plan::all_uses || place >= term.in.size() || term.in[place]->name != name) return;
            if (dy.size() % (B * T) || dy.B != B || dy.T != T) return;
            const S rows = dy.size() / (B * T);  // of all positions
            if (term.op == Op::product && place == 0 && rows % dx.N == 0) {
              const Grid& x = plans_[formula]->value(term.in[1].get());
              if (x.size() != B * T * (rows / dx.N) * dx.D) return;
              std::fill(dx.x.begin(), dx.x.end(), 0.0);
              for (S p = at * rows / dx.N; p < (at + 1) * rows / dx.N; ++p)
                for (S r = 0; r < dx.N; ++r)
                  for (S j = 0; j < dx.D; ++j) dx.x[r * dx.D + j] += dy.x[p * dx.N + r] * x.x[p * dx.D + j];
            } else if (term.op == Op::sum && dx.size() == rows) {
              std::copy_n(dy.x.begin() + static_cast<std::ptrdiff_t>(at * rows), rows, dx.x.begin());
            }
          };
          if (say(std::move(m), "", "OVERWRITE")) return true;
        }
    return false;
  }

  // A value, or a gate's slope, where a gradient belongs.
  bool each_value_for_a_gradient() {
    const auto all = with_slopes(sources());
    for (S k = 0; k < plans_.size(); ++k)
      for (const Term& t : plans_[k]->terms())
        for (S place = 0; place < t->in.size(); ++place) {
          if (t->op != Op::times && t->op != Op::apply) continue;
          for (const auto& [name, grid] : all) {
            if (grid.size() != plans_[k]->value(t->in[place].get()).size()) continue;
            const std::string of = print(t), child = print(t->in[place]);
            Misread m;
            m.by_step = true;
            m.sentence = {"in the backward, " + name + ", a value, stands where the gradient that flows from " + of +
                              " into " + child + " belongs",
                          "反向中，从 " + of + " 流入 " + child + " 的梯度处写成了数值 " + name};
            m.fix = {"multiply by the gradient of " + of, "要乘上 " + of + " 的梯度"};
            m.flow = [&x = grid.x, k, node = t.get(), place](S formula, const Node& term, S way, const Grid& dy,
                                                             Grid& dx) {
              if (formula != k || &term != node || way != place || dy.size() != x.size()) return;
              for (S p = 0; p < x.size(); p += dy.D)  // where nothing flows, as behind an end, nothing is made
                if (std::any_of(&dy.x[p], &dy.x[p] + dy.D, [](double y) { return y != 0; }))
                  std::copy_n(&x[p], dy.D, &dx.x[p]);
            };
            const Grid* x = &grid;
            const std::string part = part_code(*plans_[k], t.get());
            if (say(m, part, "VALUE_FOR_GRADIENT")) return true;
            // The same, and the slope or the other factor is there.
            m.flow = [this, x, k, node = t.get(), place](S formula, const Node& term, S way, const Grid& dy, Grid& dx) {
              if (formula == k && &term == node && way == place) put_for_gradient(k, *node, place, *x, dy, dx);
            };
            m.sentence = {"in the backward, " + name + ", a value, stands where the gradient of " + of +
                              " belongs, in what flows into " + child,
                          "反向中，流入 " + child + " 的部分把 " + of + " 的梯度写成了数值 " + name};
            if (say(std::move(m), part, "VALUE_FOR_GRADIENT")) return true;
          }
        }
    return each_value_for_a_gates_gradient(all);
  }

  void put_for_gradient(S k, const Node& term, S place, const Grid& x, const Grid& dy, Grid& dx) const {
    if (dy.size() != x.size() || dx.size() != x.size()) return;
    for (S p = 0; p < x.size(); p += dy.D) {
      if (std::all_of(&dy.x[p], &dy.x[p] + dy.D, [](double d) { return d == 0; })) continue;
      if (term.op == Op::apply) {
        const Grid &in = plans_[k]->value(term.in[0].get()), &out = plans_[k]->value(&term);
        if (term.function->back) term.function->back(&in.x[p], &out.x[p], &x.x[p], &dx.x[p], dy.D);
        continue;
      }
      for (S j = p; j < p + dy.D; ++j) {
        dx.x[j] = x.x[j];
        for (S i = 0; i < term.in.size(); ++i)
          if (const Grid& other = plans_[k]->value(term.in[i].get()); i != place && other.size() == x.size())
            dx.x[j] *= other.x[j];
      }
    }
  }

  // z multiplies one state and 1 - z the other: its gradient is dy times their difference, and one mistake in it is in
  // both of its ways.
  bool each_value_for_a_gates_gradient(const std::vector<std::pair<std::string, Grid>>& all) {
    for (S k = 0; k < plans_.size(); ++k)
      for (const Term& t : plans_[k]->terms()) {
        if (t->op != Op::complement) continue;
        const Node* gate = t->in[0].get();
        std::vector<std::pair<const Node*, S>> ways;
        for (const Node* factor : {gate, static_cast<const Node*>(t.get())})
          for (const auto& use : plans_[k]->uses(factor))
            if (use.first->op == Op::times && use.first->in.size() == 2) ways.push_back(use);
        if (ways.size() != 2) continue;
        const std::string name = gate->label, part = part_code(*plans_[k], gate);
        Misread alone;
        alone.by_step = true;
        alone.sentence = {"in the backward of " + name + ", the difference of the two states is missing as a factor",
                          "在 " + name + " 的反向中，缺少因子：两个状态之差"};
        const Words right_factor = {
            "the gradient of " + name + " is d_h times the difference of what it and 1 - it multiply",
            name + " 的梯度是 d_h 乘以它与 1 减它所乘的两项之差"};
        alone.fix = right_factor;
        alone.flow = [k, ways, owner = gate](S formula, const Node& term, S way, const Grid& dy, Grid& dx) {
          for (const auto& [node, place] : ways)
            if (formula == k && &term == node && way == place && dx.size() == dy.size()) {
              const bool own = node->in[place].get() == owner;
              for (S j = 0; j < dx.size(); ++j) dx.x[j] = own ? dy.x[j] : 0;
            }
        };
        if (say(std::move(alone), part, "FACTOR_MISSING")) return true;
        auto factors = all;
        factors.emplace_back(print(t), plans_[k]->value(t.get()));
        for (const auto& [what, grid] : factors) {
          if (grid.size() != plans_[k]->value(gate).size()) continue;
          Misread m;
          m.by_step = true;
          m.sentence = {"in the backward of " + name + ", the gradient of the new state is multiplied by " + what +
                            ", where the difference of the two states belongs",
                        "在 " + name + " 的反向中，新状态的梯度乘了 " + what + "，应乘两个状态之差"};
          m.fix = right_factor;
          m.flow = [k, ways, owner = gate, &x = grid](S formula, const Node& term, S way, const Grid& dy, Grid& dx) {
            for (const auto& [node, place] : ways)
              if (formula == k && &term == node && way == place && dx.size() == dy.size() && dx.size() == x.size()) {
                const bool own = node->in[place].get() == owner;
                for (S j = 0; j < dx.size(); ++j) dx.x[j] = own ? dy.x[j] * x.x[j] : 0;
              }
          };
          if (say(std::move(m), part, "FACTOR_OTHER_OPERAND")) return true;
        }
        for (const auto& [what, grid] : all) {
          if (grid.size() != plans_[k]->value(gate).size()) continue;
          Misread m;
          m.by_step = true;
          m.sentence = {"in the backward of " + name + ", " + what +
                            ", a value, stands where the gradient of the new "
                            "state belongs",
                        "在 " + name + " 的反向中，新状态的梯度处写成了数值 " + what};
          m.fix = {"multiply by the gradient of the new state", "要乘上新状态的梯度"};
          m.flow = [this, k, ways, &x = grid](S formula, const Node& term, S way, const Grid& dy, Grid& dx) {
            for (const auto& [node, place] : ways)
              if (formula == k && &term == node && way == place) put_for_gradient(k, *node, place, x, dy, dx);
          };
          if (say(std::move(m), part, "VALUE_FOR_GRADIENT")) return true;
        }
      }
    return false;
  }

  const Words right_value_ = {"read in backward what the forward saved for the same step, example and variable",
                              "反向应读取前向为同一步、同一样本、同一变量保存的值"};
  const WholeModel& model_;
  const Plans& plans_;
  const Arrays& seeds_;
  const Name& shown_;
  const std::function<bool(const Misread&)>& visit_;
  std::vector<Value> values_;
};

}  // namespace

void each_misread(const WholeModel& model, const Plans& plans, const Arrays& seeds,
                  const std::function<std::string(const std::string&)>& shown,
                  const std::function<bool(const Misread&)>& visit) {
  Misreadings(model, plans, seeds, shown, visit).each();
}

}  // namespace gradus::diagnosis
