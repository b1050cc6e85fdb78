// The rules, where they apply, and the words for what they make.
#include "nn/conventions/grammar.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <tuple>

#include "nn/conventions/sizes.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

Term copied(const Term& term, const std::function<void(Node&)>& change) {
  Node n = *term;
  change(n);
  return std::make_shared<const Node>(std::move(n));
}

// A term around another one takes over its label, so that formulas still say what the result is called.
Term inside(const Term& term) {
  return term->label.empty() ? term : copied(term, [](Node& n) { n.label.clear(); });
}
Term outside(const Term& term, const Term& around) {
  return term->label.empty() ? around : labelled(term->label, around);
}

Term shown_as(const Term& term, const std::string& name) {
  return copied(term, [&](Node& n) { n.shown = name; });
}

bool is_vector(const Place& p) { return p.term->op != Op::matrix && p.term->op != Op::number; }
bool is_read(const Place& p) { return p.term->op == Op::leaf && p.term->lies != Lies::everywhere; }
bool is_parameter(const Place& p) { return p.term->op == Op::leaf && p.term->lies == Lies::everywhere; }

Term times(const Term& a, const Term& b) { return make(Op::times, {a, b}); }

// A formula cannot read what it is about to give.
bool can_be_read(const Place& p, const Node& n) {
  const Scene& scene = p.plan.scene();
  const auto is_made = [&](const std::string& name) { return name == scene.made || name == scene.made_too; };
  const bool state_of_memory = scene.made == "m" && n.name == "s";  // s_t is made of the memory that m holds
  if (scene.made == "s_0" && n.op == Op::leaf && (n.name == "s" || n.name == "m")) return false;
  if (n.op != Op::leaf || (!is_made(n.name) && !state_of_memory)) return &n != p.plan.root().get();
  const Order o = n.read.order;
  return n.read.lag > 0 && (o == Order::kept || o == Order::first || o == Order::sum_so_far ||
                            o == Order::mean_so_far || o == Order::not_at_first);
}

void read_otherwise(const Place& p, std::vector<Term>& out, const std::function<void(Read&)>& change) {
  const Term t = copied(p.term, [&](Node& n) { change(n.read); });
  if (can_be_read(p, *t)) out.push_back(t);
}

// What an encoder's states are sometimes put together to: their mean, the last of them, ...
void add_summaries(const Place& p, const Array& H, std::vector<Term>& found) {
  const std::size_t d = H.shape.back(), half = d / 2;
  std::vector<Block> blocks;
  if (p.value.D == d) blocks = {{}};
  if (p.value.D == half && d % 2 == 0 && p.plan.scene().made == "s_0") blocks = {{0, half}, {half, half}};
  for (const Block& block : blocks) {
    for (Order order : {Order::first, Order::last, Order::last_real, Order::mean, Order::mean_of_real}) {
      Node n{.op = Op::gather, .in = {leaf("H", Lies::position, {.order = order}, block)}, .gather = Gather::first};
      found.push_back(std::make_shared<const Node>(std::move(n)));
    }
    for (Gather gather : {Gather::sum, Gather::largest}) {
      Node n{.op = Op::gather, .in = {leaf("H", Lies::position, {}, block)}, .gather = gather};
      found.push_back(std::make_shared<const Node>(std::move(n)));
    }
  }
}

// Every other term of the same size that is there to be taken by mistake: what the formula reads, and what a paper
// gives a name.
std::vector<Term> others(const Place& p) {
  std::vector<Term> found;
  for (std::size_t k = 0; k < p.plan.terms().size(); ++k) {
    const Term& t = p.plan.terms()[k];
    const Grid& g = p.plan.value(k);
    const bool taken = (t->op == Op::leaf && t->lies != Lies::everywhere) || !t->label.empty() || t->op == Op::carried;
    if (!taken || t == p.term || !can_be_read(p, *t) || g.D != p.value.D || g.N != p.value.N ||
        (g.T != p.value.T && g.T != 1))
      continue;
    const bool in_loop =
        p.plan.loop() && p.term != *p.plan.loop() && p.plan.contains(p.plan.loop()->get(), p.term.get());
    const bool done =
        t->op == Op::loop && !in_loop && !p.plan.contains(t.get(), p.term.get());  // the memory, from outside
    if (t->op == Op::carried ? in_loop : done || !p.plan.carries(t.get())) found.push_back(t);
    if (t->op == Op::carried && !in_loop) {  // the memory of the step before, from outside
      const Term& loop = *p.plan.loop();
      found.push_back(shown_as(
          std::make_shared<const Node>(Node{.op = Op::moved, .in = {loop, loop->in[1]}, .read = {.lag = 1}}), t->name));
    }
  }
  for (const Term& t : p.plan.scene().beside)
    if (p.value.N == 1 && p.value.D == p.plan.scene().beside_size) found.push_back(t);
  if (p.plan.scene().scores && p.term->op == Op::leaf && p.term->lies == Lies::pair)
    found.push_back(p.plan.scene().scores);
  const std::pair<const char*, Lies> arrays[] = {
      {"s", Lies::step},      {"y_emb", Lies::step},  {"x", Lies::step},       {"c", Lies::step},
      {"htilde", Lies::step}, {"logits", Lies::step}, {"m", Lies::step},       {"cell_0", Lies::example},
      {"H", Lies::position},  {"query", Lies::step},  {"key", Lies::position}, {"value", Lies::position}};
  std::vector<std::string> texts;  // of those found, as far as they were needed
  for (const auto& [name, lies] : arrays) {
    const Array* a = find(*p.plan.scene().arrays, name);
    if (std::string(name) == "H" && a && p.value.N == 1) add_summaries(p, *a, found);
    const bool by_position = lies == Lies::position;
    if (!a || a->shape.back() != p.value.D || by_position != (p.value.N > 1)) continue;
    std::vector<Read> reads = {{}};
    if (lies == Lies::step) reads.push_back({.lag = 1});
    // A state before the first is s_0; who starts with a fed vector of zeros does not read it.
    if (std::string(name) == "s" || std::string(name) == "m") reads.push_back({.lag = 1, .order = Order::not_at_first});
    for (const Read& read : reads) {
      const Term t = leaf(name, lies, read);
      const bool same = p.term->op == Op::leaf && p.term->name == name;
      if (same || !can_be_read(p, *t)) continue;
      while (texts.size() < found.size()) texts.push_back(print(found[texts.size()]));
      if (std::find(texts.begin(), texts.end(), print(t)) == texts.end()) found.push_back(t);
    }
  }
  return found;
}

// What a program computes on the way and a paper gives no name: products, sums, and of a preactivation the part that is
// made of the input, or of the state, each with its bias.
std::vector<Term> unnamed(const Place& p) {
  std::vector<Term> found;
  const auto add = [&](const Term& t, const Grid& g) {
    const bool like = g.D == p.value.D && g.N == p.value.N && g.T == p.value.T && t != p.term;
    if (like && !p.plan.contains(t.get(), p.term.get()) && !p.plan.carries(t.get())) found.push_back(t);
  };
  for (std::size_t k = 0; k < p.plan.terms().size(); ++k) {
    const Term& t = p.plan.terms()[k];
    if (!t->label.empty() || !is_vector({p.plan, t, p.plan.value(k)}) || t->op == Op::leaf) continue;
    add(t, p.plan.value(k));
    if (t->role != "preactivation" || t->in.size() < 3 || p.plan.contains(t.get(), p.term.get())) continue;
    const Term& last = t->in.back();
    found.push_back(make(Op::sum, {t->in[0], t->in[2]}));
    if (t->in.size() == 4) found.push_back(make(Op::sum, {t->in[1], last}));
  }
  return found;
}

std::vector<Term> gates(const Place& p) {
  std::vector<Term> found;
  for (std::size_t k = 0; k < p.plan.terms().size(); ++k) {
    const Term& t = p.plan.terms()[k];
    if (t->role == "gate" && p.plan.value(k).D == p.value.D && p.value.N == 1 &&
        (is_read(p) || !p.plan.contains(t.get(), p.term.get())))
      found.push_back(t);
  }
  return found;
}

// The terms of a sum in two groups, the first of at least two.
void each_part(const Place& p, const std::function<void(const std::vector<Term>&, const std::vector<Term>&)>& visit) {
  constexpr std::size_t most_terms = 5;
  if (p.term->op != Op::sum || p.term->in.size() < 3 || p.term->in.size() > most_terms) return;
  for (std::size_t which = 1; which + 1 < (std::size_t{1} << p.term->in.size()); ++which) {
    std::vector<Term> some, rest;
    for (std::size_t k = 0; k < p.term->in.size(); ++k) (which >> k & 1 ? some : rest).push_back(p.term->in[k]);
    if (some.size() > 1) visit(some, rest);
  }
}

// factor * (W x + ...) as W (factor * x) + ...
std::vector<Term> moved_inwards(const Term& factor, const Term& onto) {
  if (onto->op == Op::product) return {make(Op::product, {onto->in[0], times(factor, onto->in[1])})};
  std::vector<Term> made;
  for (std::size_t k = 0; onto->op == Op::sum && onto->label.empty() && k < onto->in.size(); ++k) {
    std::vector<Term> terms = onto->in;
    terms[k] = times(factor, terms[k]);
    made.push_back(make(Op::sum, terms));
    if (onto->in[k]->op != Op::product) continue;
    terms[k] = make(Op::product, {onto->in[k]->in[0], times(factor, onto->in[k]->in[1])});
    made.push_back(make(Op::sum, terms));
  }
  return made;
}

// The factors of a term, or of what its matrix multiplies, each with the term that lacks it.
std::vector<std::pair<Term, Term>> without_factor(const Term& t) {
  std::vector<std::pair<Term, Term>> found;
  const bool inner = t->op == Op::product && t->in[1]->op == Op::times;
  const Term& product = inner ? t->in[1] : t;
  if (product->op != Op::times || product->in.size() != 2) return found;
  for (std::size_t k = 0; k < 2; ++k) {
    const Term& rest = product->in[1 - k];
    found.emplace_back(product->in[k], inner ? make(Op::product, {t->in[0], rest}) : rest);
  }
  return found;
}

// Whether what is made of a term is combined with others that have the positions' axis.
bool meets_positions(const Plan& plan, const Node* term) {
  const auto& uses = plan.uses(term);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const auto& use) { return plan.value(use.first).N > 1 || meets_positions(plan, use.first); });
}

std::vector<double> usual_factors(const Place& p) {
  const double d = static_cast<double>(p.value.D), n = static_cast<double>(std::max<std::size_t>(p.plan.scene().N, 1)),
               t = static_cast<double>(p.plan.scene().T), b = static_cast<double>(p.plan.scene().B);
  std::set<double> list = {-1, 2, .5};
  for (double size : {d, n, t, b})
    for (double k : {size, 1 / size, std::sqrt(size), 1 / std::sqrt(size)})
      if (size > 1) list.insert(k);
  return {list.begin(), list.end()};
}

// Variants of a softmax over scores: single choices, or two at a time.
std::vector<AttentionConvention> other_weights(const Place& p, bool pairs) {
  using C = AttentionConvention;
  std::vector<std::function<void(C&)>> ways;
  const bool masked = p.term->in.size() > 1;
  for (SoftmaxAxis axis : {SoftmaxAxis::batch, SoftmaxAxis::queries, SoftmaxAxis::singleton,
                           SoftmaxAxis::keys_and_queries, SoftmaxAxis::batch_and_keys, SoftmaxAxis::all})
    if (p.plan.scene().whole) ways.push_back([axis](C& c) { c.axis = axis; });
  for (int k = 0; k <= static_cast<int>(Normaliser::exp_shifted_times_sum); ++k)
    if (k != static_cast<int>(Normaliser::unshifted_softmax))
      ways.push_back([k](C& c) { c.normaliser = static_cast<Normaliser>(k); });
  for (int k = 0; k <= static_cast<int>(MaskRead::shortest_first); ++k)
    ways.push_back([k](C& c) { c.mask_read = static_cast<MaskRead>(k); });
  for (double fill : {0.0, 1e-9, -1e-9, -1.0, -2.0, -5.0, -10.0, -50.0, -100.0, 1.0, 1e-6, -1e-6})
    if (masked) ways.push_back([fill](C& c) { c.mask_fill = fill; });
  for (double by : {-1.0, -2.0, -3.0, -4.0, -5.0, -10.0, -20.0, 1.0, 1e-9})
    if (masked) ways.push_back([by](C& c) { c.mask_use = MaskUse::lower, c.mask_fill = by; });
  // Behind the numbers, as the last that agrees is said: one so small that float32 loses it is no mask at all.
  for (MaskUse use : {MaskUse::multiply_before, MaskUse::multiply_after, MaskUse::multiply_after_renormalise,
                      MaskUse::add, MaskUse::ignore})
    if (masked) ways.push_back([use](C& c) { c.mask_use = use; });
  const double d = std::sqrt(static_cast<double>(p.plan.scene().N));
  for (double t : {d, 1 / d, 2.0, .5, -1.0}) ways.push_back([t](C& c) { c.temperature = t; });
  std::vector<C> made;
  for (std::size_t i = 0; i < ways.size(); ++i)
    for (std::size_t k = pairs ? 0 : i; pairs ? k < i : k <= i; ++k) {
      C c = *p.term->attention;
      ways[i](c);
      if (pairs) ways[k](c);
      made.push_back(c);
    }
  return made;
}

}  // namespace

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"MISSING",
       1,
       {"%o is missing", "缺少 %o"},
       [](const Place& p, std::vector<Term>& out) {
         if (is_vector(p)) out.push_back(outside(p.term, times(number(0), inside(p.term))));
       }},
      {"HALF_MISSING",
       2,
       {"%n stands where %o belongs: the product and the bias of one of the two vectors are missing",
        "%o 的位置上写成了 %n：缺少其中一个向量的乘积与偏置"},
       [](const Place& p, std::vector<Term>& out) {  // of W x + U s + b + b_u
         if (p.term->role != "preactivation" || p.term->in.size() != 4) return;
         for (std::size_t k : {0, 1}) out.push_back(copied(p.term, [k](Node& n) { n.in = {n.in[k], n.in[k + 2]}; }));
       }},
      {"TIME",
       2,
       {"%n is read where %o belongs: the time is wrong", "读了 %n，应读 %o：时刻不对"},
       [](const Place& p, std::vector<Term>& out) {
         if (!is_read(p) || (p.term->lies != Lies::step && p.term->lies != Lies::pair)) return;
         const bool state = p.term->name == "s" || p.term->name == "m";  // before the first they are the first anyway
         for (int by : {-2, -1, 1, 2}) {
           read_otherwise(p, out, [&](Read& r) { r.lag += by; });
           if (!state && p.term->read.order == Order::kept)
             read_otherwise(p, out, [&](Read& r) { r.lag += by, r.order = Order::held; });
         }
       }},
      {"FROZEN",
       3,
       {"%n is read at every step where %o belongs", "每一步都读 %n，应读 %o"},
       [](const Place& p, std::vector<Term>& out) {
         for (Order order : {Order::first, Order::last, Order::last_real})
           if (is_read(p) && p.term->lies != Lies::example) read_otherwise(p, out, [&](Read& r) { r.order = order; });
       }},
      {"OTHER_EXAMPLE",
       3,
       {"%n: numbers of other examples are read where %o of the own example belongs",
        "%n：读的是批中其他样本的数值，应读本样本的 %o"},
       [](const Place& p, std::vector<Term>& out) {
         for (Rows rows :
              {Rows::next, Rows::previous, Rows::first, Rows::last, Rows::mean, Rows::relaid, Rows::reversed})
           if (is_read(p)) read_otherwise(p, out, [&](Read& r) { r.rows = rows; });
       }},
      {"FIRST_STEP_ZERO",
       3,
       {"%n is used where %o belongs: at the first step it is 0", "用了 %n，应用 %o：第一步它是 0"},
       [](const Place& p, std::vector<Term>& out) {
         const bool along = is_read(p) && (p.term->lies == Lies::step || p.term->lies == Lies::pair);
         if (along) read_otherwise(p, out, [](Read& r) { r.order = Order::not_at_first; });
         if (is_read(p) || !is_vector(p) || is_parameter(p) || p.value.T == 1 || p.term->op == Op::carried) return;
         Node n{.op = Op::moved, .in = {inside(p.term)}, .read = {.order = Order::not_at_first}};
         out.push_back(outside(p.term, std::make_shared<const Node>(std::move(n))));
       }},
      {"ROLLED",
       4,
       {"%n is read where %o belongs", "读了 %n，应读 %o"},
       [](const Place& p, std::vector<Term>& out) {
         for (int by : {-1, 1})
           if (is_read(p) && (p.term->lies == Lies::position || p.term->lies == Lies::step))
             read_otherwise(p, out, [&](Read& r) {
               (p.term->lies == Lies::step ? r.lag : r.shift) += by, r.order = Order::rolled;
             });
       }},
      {"REVERSED",
       3,
       {"%o is read backwards: %n", "%o 被倒着读：%n"},
       [](const Place& p, std::vector<Term>& out) {
         for (Order order : {Order::reversed, Order::reversed_within_length})
           if (is_read(p) && p.term->lies != Lies::example) read_otherwise(p, out, [&](Read& r) { r.order = order; });
       }},
      {"SHIFTED",
       3,
       {"%n is read where %o belongs: the positions are off", "读了 %n，应读 %o：位置错开了"},
       [](const Place& p, std::vector<Term>& out) {
         for (int by : {-2, -1, 1, 2})
           if (is_read(p) && (p.term->lies == Lies::position || p.term->lies == Lies::pair))
             read_otherwise(p, out, [&](Read& r) { r.shift += by; });
       }},
      {"AVERAGED",
       4,
       {"%n, a mean or a sum over time or positions, is read where %o belongs",
        "读了 %n（沿时间或位置的平均或累加），应读 %o"},
       [](const Place& p, std::vector<Term>& out) {
         for (Order order : {Order::mean, Order::mean_of_real, Order::sum_so_far, Order::mean_so_far})
           if (is_read(p) && p.term->lies != Lies::example) read_otherwise(p, out, [&](Read& r) { r.order = order; });
         if (is_read(p) && p.term->lies == Lies::step)
           for (int by : {-1, 1}) {
             const Term other = copied(p.term, [&](Node& n) { n.read.lag += by; });
             if (can_be_read(p, *other)) out.push_back(times(number(.5), make(Op::sum, {p.term, other})));
           }
         if (p.term->label == "s_t")  // a step that goes half the way
           out.push_back(
               outside(p.term, times(number(.5), make(Op::sum, {inside(p.term), leaf("s", Lies::step, {.lag = 1})}))));
       }},
      {"OTHER_STEP",
       5,
       {"%n is used where %o belongs: another step's, position's or example's",
        "用了 %n，应用 %o：取自别的时刻、位置或样本"},
       [](const Place& p, std::vector<Term>& out) {
         const bool of_heads = p.plan.scene().heads > 1 && p.value.B > p.plan.scene().B;
         if ((is_read(p) && !of_heads) || !is_vector(p) || is_parameter(p) || p.value.T == 1) return;
         const auto add = [&](Read read) {
           Node n{.op = Op::moved, .in = {inside(p.term)}, .read = read};
           if (p.term->op == Op::carried) n.in.push_back((*p.plan.loop())->in[1]);
           out.push_back(outside(p.term, std::make_shared<const Node>(std::move(n))));
         };
         for (Rows rows : {Rows::next, Rows::previous, Rows::first, Rows::last, Rows::mean, Rows::reversed})
           if (of_heads) add({.rows = rows, .of_heads = true});
         if (is_read(p)) return;  // of an example's numbers other rules know
         for (int by : {-1, 1, 2}) add({.lag = by});
         for (int by : {-1, 1})
           if (p.term->op != Op::carried) add({.lag = by, .order = Order::held});
         for (int by : {-1, 1})
           if (p.value.N > 1) add({.shift = by});
         for (Rows rows : {Rows::next, Rows::previous, Rows::first, Rows::last, Rows::mean}) add({.rows = rows});
         for (Order order : {Order::first, Order::reversed, Order::mean, Order::sum_so_far, Order::mean_so_far})
           add({.order = order});
       }},
      {"OTHER_AXIS",
       4,
       {"%n is used where %o belongs: the index of one axis is taken for that of another one of the same size",
        "用了 %n，应用 %o：把一个轴的下标当成了另一个等长轴的下标"},
       [](const Place& p, std::vector<Term>& out) {
         const Grid& g = p.value;
         const std::size_t B = p.plan.scene().B, N = p.plan.scene().N;
         const bool usable = is_vector(p) && !is_parameter(p) && p.term->op != Op::carried && p.term->op != Op::loop;
         if (!usable || !p.plan.scene().whole || g.B != B || B < 2) return;
         const auto add = [&](Axes axes) {
           Node n{.op = Op::moved, .in = {inside(p.term)}, .read = {.axes = axes}};
           out.push_back(outside(p.term, std::make_shared<const Node>(std::move(n))));
         };
         if (g.N == 1 && B == N && meets_positions(p.plan, p.term.get())) add(Axes::example_for_position);
         if (g.N == 1 && g.T > 1 && g.T == N && meets_positions(p.plan, p.term.get())) add(Axes::step_for_position);
         if (g.N > 1 && g.N == B) add(Axes::examples_and_positions);
         if (g.N > 1 && g.N == g.T) add(Axes::steps_and_positions);
         if (g.T > 1 && g.T == B) add(Axes::examples_and_steps);
       }},
      {"OTHER_OPERAND",
       2,
       {"%n stands where %o belongs", "%o 的位置上写成了 %n"},
       [](const Place& p, std::vector<Term>& out) {
         if (!is_vector(p) || is_parameter(p)) return;
         for (const Term& t : others(p)) out.push_back(t);
         if (p.term->role != "gate") return;
         for (const Term& g : gates(p)) out.push_back(make(Op::complement, {g}));
       }},
      {"EXTRA_TERM",
       4,
       {"%n stands where %o belongs: one term too many", "%o 的位置上写成了 %n：多加了一项"},
       [](const Place& p, std::vector<Term>& out) {
         if (!is_vector(p) || is_parameter(p)) return;
         for (const Term& t : others(p)) {
           out.push_back(outside(p.term, make(Op::sum, {inside(p.term), t})));
           out.push_back(outside(p.term, make(Op::sum, {inside(p.term), times(number(-1), t)})));
           if (is_read(p)) out.push_back(make(Op::sum, {t, times(number(-1), p.term)}));
         }
         if (is_read(p) && p.term->lies == Lies::step)
           for (int by : {-1, 1}) {
             const Term other = copied(p.term, [&](Node& n) { n.read.lag += by; });
             if (can_be_read(p, *other)) out.push_back(make(Op::sum, {p.term, other}));
           }
       }},
      {"EXTRA_FACTOR",
       4,
       {"%n stands where %o belongs: one factor too many", "%o 的位置上写成了 %n：多乘了一项"},
       [](const Place& p, std::vector<Term>& out) {
         if (!is_vector(p) || is_parameter(p)) return;
         if (is_read(p))
           for (const Term& t : others(p)) out.push_back(times(p.term, t));
         for (const Term& g : gates(p)) {
           out.push_back(outside(p.term, times(g, inside(p.term))));
           out.push_back(outside(p.term, times(make(Op::complement, {g}), inside(p.term))));
         }
         if (p.value.N > 1 && find(*p.plan.scene().arrays, "mask"))
           out.push_back(outside(p.term, times(leaf("mask", Lies::position), inside(p.term))));
       }},
      {"SCALED",
       2,
       {"%n stands where %o belongs: a factor too many", "%o 的位置上写成了 %n：多了一个系数"},
       [](const Place& p, std::vector<Term>& out) {
         if (!is_vector(p)) return;
         for (double k : usual_factors(p)) out.push_back(outside(p.term, times(number(k), inside(p.term))));
       }},
      {"OFFSET",
       3,
       {"%n stands where %o belongs: a number is added", "%o 的位置上写成了 %n：多加了一个数"},
       [](const Place& p, std::vector<Term>& out) {
         for (double k : {1.0, -1.0})
           if (is_vector(p)) out.push_back(outside(p.term, make(Op::sum, {inside(p.term), number(k)})));
       }},
      {"COMPLEMENTED",
       1,
       {"%n stands where %o belongs", "%o 的位置上写成了 %n"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->role != "gate") return;
         out.push_back(outside(p.term, make(Op::complement, {inside(p.term)})));
         if (p.plan.uses(p.term.get()).size() > 1) out.push_back(make(Op::complement, {p.term}));  // at one of them
       }},
      {"COMPLEMENT_MISSING",
       1,
       {"%n stands where %o belongs", "%o 的位置上写成了 %n"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::complement) return;
         out.push_back(p.term->in[0]);
         out.push_back(make(Op::sum, {number(1), p.term->in[0]}));
       }},
      {"OTHER_FUNCTION",
       1,
       {"%n stands where %o belongs: the function is another one", "%o 的位置上写成了 %n：函数不同"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::apply) return;
         for (const Function& f : functions())
           if (&f != p.term->function) out.push_back(copied(p.term, [&](Node& n) { n.function = &f; }));
       }},
      {"FUNCTION_MISSING",
       1,
       {"the function around %n is missing: %o belongs there", "%n 外面缺少函数：应为 %o"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op == Op::apply) out.push_back(outside(p.term, p.term->in[0]));
       }},
      {"FUNCTION_INSIDE",
       2,
       {"%n stands where %o belongs: the function is at the wrong place", "%o 的位置上写成了 %n：函数放错了位置"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::apply || p.term->in[0]->op != Op::sum) return;
         const std::vector<Term>& terms = p.term->in[0]->in;
         for (std::size_t which = 1; which < (std::size_t{1} << terms.size()); ++which) {
           std::vector<Term> some, both;
           for (std::size_t k = 0; k < terms.size(); ++k) (which >> k & 1 ? both : some).push_back(terms[k]);
           std::vector<Term> each = some, together = some;
           for (const Term& t : both) each.push_back(apply(*p.term->function, t));
           together.push_back(apply(*p.term->function, make(Op::sum, both)));
           out.push_back(outside(p.term, make(Op::sum, each)));
           if (!some.empty()) out.push_back(outside(p.term, make(Op::sum, together)));
         }
       }},
      {"FUNCTION_OUTSIDE",
       2,
       {"%n stands where %o belongs: the function stands around the product",
        "%o 的位置上写成了 %n：函数包住了整个乘积"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::times && p.term->op != Op::product) return;
         for (std::size_t k = 0; k < p.term->in.size(); ++k) {
           const Term& factor = p.term->in[k];
           if (factor->op != Op::apply || factor->role == "gate") continue;
           const Term bare = copied(p.term, [&](Node& n) { n.in[k] = factor->in[0], n.label.clear(); });
           out.push_back(outside(p.term, apply(*factor->function, bare)));
         }
       }},
      {"EXTRA_FUNCTION",
       3,
       {"%n stands where %o belongs: a function too many", "%o 的位置上写成了 %n：多套了一个函数"},
       [](const Place& p, std::vector<Term>& out) {
         if (!is_vector(p)) return;
         for (const Function& f : functions()) out.push_back(outside(p.term, apply(f, inside(p.term))));
       }},
      {"EXTRA_FUNCTION",
       5,
       {"%n stands where %o belongs: a function too many", "%o 的位置上写成了 %n：多套了一个函数"},
       [](const Place& p, std::vector<Term>& out) {
         if (!is_vector(p) || is_parameter(p) || !p.plan.scene().whole || p.plan.carries(p.term.get())) return;
         const std::pair<Along, std::size_t> axes[] = {
             {Along::positions, p.value.N}, {Along::steps, p.value.T}, {Along::examples, p.value.B}};
         for (const auto& [along, count] : axes)
           for (const char* name : {"softmax", "unit", "layer_norm", "centred", "over_sum", "running_sum", "sorted"})
             if (count > 1)
               out.push_back(outside(p.term, copied(apply(function(name), inside(p.term)),
                                                    [along = along](Node& n) { n.along = along; })));
       }},
      {"PRODUCT_FOR_SUM",
       2,
       {"%n stands where %o belongs: multiplied instead of added", "%o 写成了 %n：加写成了乘"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::sum) return;
         out.push_back(copied(p.term, [](Node& n) { n.op = Op::times; }));
         for (std::size_t k = 1; k < p.term->in.size() && p.term->in.size() > 2; ++k) {
           std::vector<Term> rest = {times(p.term->in[0], p.term->in[k])};
           for (std::size_t j = 1; j < p.term->in.size(); ++j)
             if (j != k) rest.push_back(p.term->in[j]);
           out.push_back(outside(p.term, make(Op::sum, rest)));
         }
         each_part(p, [&](const std::vector<Term>& some, const std::vector<Term>& rest) {
           out.push_back(outside(p.term, times(make(Op::sum, some), rest.size() > 1 ? make(Op::sum, rest) : rest[0])));
         });
       }},
      {"PART_CHANGED",
       5,
       {"%n stands where %o belongs", "%o 写成了 %n"},
       [](const Place& p, std::vector<Term>& out) {
         each_part(p, [&](const std::vector<Term>& some, const std::vector<Term>& rest) {
           const auto with = [&](const Term& changed) {
             std::vector<Term> terms = {changed};
             terms.insert(terms.end(), rest.begin(), rest.end());
             out.push_back(outside(p.term, make(Op::sum, terms)));
           };
           const Term part = make(Op::sum, some);
           out.push_back(outside(p.term, rest.size() == 1 ? rest[0] : make(Op::sum, rest)));
           for (const char* name : {"tanh", "sigmoid", "relu", "softmax", "unit", "layer_norm"})
             with(apply(function(name), part));
           for (double k : {-1.0, 2.0, .5}) with(times(number(k), part));
           for (const Term& g : gates(p)) with(times(g, part));
         });
       },
       true},
      {"FACTOR_MOVED",
       3,
       {"%n stands where %o belongs: the factor acts at another place", "%o 写成了 %n：因子作用的位置不同"},
       [](const Place& p, std::vector<Term>& out) {
         const Term& t = p.term;
         if (t->op == Op::times && t->in.size() == 2)
           for (std::size_t k = 0; k < 2; ++k)
             for (const Term& inner : moved_inwards(t->in[k], t->in[1 - k])) out.push_back(outside(t, inner));
         if (t->op == Op::product && t->in[1]->op == Op::times && t->in[1]->in.size() == 2)
           for (std::size_t k = 0; k < 2; ++k)
             out.push_back(outside(t, times(t->in[1]->in[k], make(Op::product, {t->in[0], t->in[1]->in[1 - k]}))));
         if (t->op != Op::sum) return;
         for (std::size_t j = 0; j < t->in.size(); ++j)
           for (const auto& [factor, bare] : without_factor(t->in[j])) {
             std::vector<Term> terms = t->in;
             terms[j] = bare;
             out.push_back(outside(t, times(factor, make(Op::sum, terms))));
           }
       }},
      {"DISTANCE",
       3,
       {"%n stands where %o belongs: a distance for a product", "%o 写成了 %n：用距离代替了乘积"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::dot) return;
         const Term apart = make(Op::sum, {p.term->in[0], times(number(-1), p.term->in[1])});
         const Term square = make(Op::dot, {apart, apart});
         for (double k : {-1.0, 1.0, -.5}) out.push_back(outside(p.term, times(number(k), square)));
         out.push_back(outside(p.term, times(number(-1), apply(function("sqrt"), square))));
       }},
      {"SUM_FOR_PRODUCT",
       2,
       {"%n stands where %o belongs: added instead of multiplied", "%o 写成了 %n：乘写成了加"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op == Op::times) out.push_back(copied(p.term, [](Node& n) { n.op = Op::sum; }));
       }},
      {"FACTOR_MISSING",
       1,
       {"%n stands where %o belongs: a factor is missing", "%o 的位置上写成了 %n：缺少一个因子"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::times) return;
         for (std::size_t k = 0; k < p.term->in.size(); ++k) {
           std::vector<Term> rest = p.term->in;
           rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
           out.push_back(outside(p.term, rest.size() == 1 ? rest[0] : make(Op::times, rest)));
         }
       }},
      {"FACTOR_SQUARED",
       2,
       {"%n stands where %o belongs: a factor counts twice", "%o 写成了 %n：因子乘了两次"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::times) return;
         for (const Term& factor : p.term->in) {
           std::vector<Term> more = p.term->in;
           more.push_back(factor);
           out.push_back(outside(p.term, make(Op::times, more)));
         }
       }},
      {"TRANSPOSED",
       1,
       {"%n stands where %o belongs: the matrix is transposed", "%o 写成了 %n：矩阵被转置"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op == Op::matrix)
           out.push_back(copied(p.term, [](Node& n) { n.block.layout = Block::Layout::transposed; }));
       }},
      {"RELAID",
       2,
       {"%n: the buffer of %o was reshaped where it should have been transposed",
        "%n：%o 的缓冲区被 reshape，而不是转置"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op == Op::matrix)
           out.push_back(copied(p.term, [](Node& n) { n.block.layout = Block::Layout::relaid; }));
       }},
      {"OTHER_PARAMETER",
       2,
       {"%n stands where %o belongs", "%o 的位置上写成了 %n"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::matrix && !is_parameter(p)) return;
         for (const Term& t : p.plan.terms()) {
           const bool same_kind = t->op == p.term->op && t->lies == p.term->lies && t != p.term;
           if (!same_kind) continue;
           const auto rows = [&](const Term& m) {
             const Array& a = get(*p.plan.scene().arrays, m->name);
             return std::make_pair(m->block.rows ? m->block.rows : a.dim(0), a.data.size() / a.dim(0));
           };
           if (rows(t) == rows(p.term)) out.push_back(t);
         }
         // Parameters of the other direction, and any other of the same shape.
         const Array& own = get(*p.plan.scene().arrays, p.term->name);
         for (const auto& [name, a] : *p.plan.scene().arrays) {
           const bool parameter = name[0] == 'W' || name[0] == 'U' || name[0] == 'b' || name.rfind("v_", 0) == 0;
           if (!parameter || name == p.term->name || a.shape != own.shape) continue;
           const std::string as =
               p.term->shown.empty()
                   ? name
                   : p.term->shown + (name.find("_reverse") == name.npos ? "(forward)" : "(backward)");
           out.push_back(copied(p.term, [&as, other = name](Node& n) { n.name = other, n.shown = as; }));
         }
       }},
      {"MATRIX_MISSING",
       2,
       {"%n stands where %o belongs: the matrix is missing", "%o 写成了 %n：缺少矩阵"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op == Op::product && p.plan.value(p.term->in[1].get()).D == p.value.D)
           out.push_back(outside(p.term, p.term->in[1]));
       }},
      {"MATRIX_TWICE",
       3,
       {"%n stands where %o belongs: the matrix is applied twice", "%o 写成了 %n：矩阵乘了两次"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op == Op::product && p.plan.value(p.term->in[1].get()).D == p.value.D)
           out.push_back(outside(p.term, make(Op::product, {p.term->in[0], inside(p.term)})));
       }},
      {"JOINED_OTHERWISE",
       1,
       {"%n stands where %o belongs: joined in another order", "%o 写成了 %n：拼接顺序不同"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::join) return;
         std::vector<Term> order = p.term->in;
         std::sort(order.begin(), order.end());
         do
           if (order != p.term->in) out.push_back(copied(p.term, [&](Node& n) { n.in = order; }));
         while (std::next_permutation(order.begin(), order.end()));
       }},
      {"NORMALISED_OTHERWISE",
       3,
       {"the weights are made otherwise: %p", "权重的算法不同：%p"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::weights) return;
         for (const AttentionConvention& c : other_weights(p, false))
           out.push_back(
               copied(p.term, [&](Node& n) { n.attention = std::make_shared<const AttentionConvention>(c); }));
       }},
      {"NORMALISED_OTHERWISE",
       7,
       {"the weights are made otherwise: %p", "权重的算法不同：%p"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::weights) return;
         for (const AttentionConvention& c : other_weights(p, true))
           out.push_back(
               copied(p.term, [&](Node& n) { n.attention = std::make_shared<const AttentionConvention>(c); }));
       },
       true},
      {"GATHERED_OTHERWISE",
       1,
       {"%n stands where %o belongs: the positions are put together otherwise", "%o 写成了 %n：对各位置的归并方式不同"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::gather) return;
         for (int k = 0; k <= static_cast<int>(Gather::root); ++k)
           if (k != static_cast<int>(p.term->gather))
             out.push_back(copied(p.term, [&](Node& n) { n.gather = static_cast<Gather>(k); }));
       }},
      {"PAIRED_OTHERWISE",
       1,
       {"%n stands where %o belongs: the maxout pairs otherwise", "%o 写成了 %n：maxout 配对方式不同"},
       [](const Place& p, std::vector<Term>& out) {
         if (p.term->op != Op::maxout) return;
         for (int k = 1; k <= static_cast<int>(Pairing::sum); ++k)
           out.push_back(copied(p.term, [&](Node& n) { n.pairing = static_cast<Pairing>(k); }));
       }},
  };
  return all;
}

// ---- where rules apply

void each_mistake(const Plan& plan, bool deep, const std::function<bool(const Mistake&)>& visit) {
  std::map<std::string, std::vector<std::size_t>> alike;  // the terms that play one part, by number
  for (std::size_t k = 0; k < plan.terms().size(); ++k)
    if (const std::string& role = plan.terms()[k]->role; !role.empty()) alike[role].push_back(k);
  std::vector<std::vector<Term>> made(plan.terms().size());  // by the rule, of each term
  for (const Rule& rule : rules()) {
    if (rule.deep != deep) continue;
    for (std::size_t k = 0; k < plan.terms().size(); ++k) {
      const Term& term = plan.terms()[k];
      made[k].clear();
      rule.make({plan, term, plan.value(k)}, made[k]);
      for (const Term& to : made[k]) {
        const auto& uses = plan.uses(term.get());
        Mistake m{&rule, {{{term.get(), to}}, nullptr, 0}, term, to};
        if (!visit(m)) return;
        for (const auto& [user, at] : uses) {
          if (uses.size() < 2) break;
          m.change.user = user, m.change.place = at;
          if (!visit(m)) return;
        }
        // One gate alone reads something else in its joined input.
        for (const auto& [join, part] : uses) {
          const auto& users = plan.uses(join);
          if (join->op != Op::join || users.size() < 2) continue;
          Node other = *join;
          other.in[part] = to;
          m.change.terms = {{join, std::make_shared<const Node>(std::move(other))}};
          for (const auto& [user, at] : users) {
            m.change.user = user, m.change.place = at;
            if (!visit(m)) return;
          }
        }
      }
    }
    // The same in all terms that play one part: every gate, every U.
    for (const auto& [role, terms] : alike) {
      const std::vector<Term>& first = made[terms[0]];
      const auto same = [&](std::size_t k) { return made[k].size() == first.size(); };
      if (terms.size() < 2 || !std::all_of(terms.begin(), terms.end(), same)) continue;
      for (std::size_t v = 0; v < first.size(); ++v) {
        Mistake m{&rule, {}, plan.terms()[terms[0]], first[v], true};
        for (std::size_t k : terms) m.change.terms.emplace_back(plan.terms()[k].get(), made[k][v]);
        if (!visit(m)) return;
      }
    }
  }
}

void each_forward_misread(const Plan& plan, const std::function<bool(const Mistake&)>& visit) {
  static const Rule other = {"OTHER_TERM", 6, {"%n stands where %o belongs", "%o 的位置上写成了 %n"}, nullptr},
                    exchanged = {"EXCHANGED",
                                 6,
                                 {"%o and %n are exchanged: each stands where the other belongs", "%o 与 %n 对调了"},
                                 nullptr};
  const std::vector<Term>& terms = plan.terms();
  const auto place = [&](std::size_t k) { return Place{plan, terms[k], plan.value(k)}; };
  const auto is_value = [&](std::size_t k) { return is_vector(place(k)) && !is_parameter(place(k)); };
  for (std::size_t k = 0; k < terms.size(); ++k) {
    if (!is_value(k)) continue;
    for (const Term& to : unnamed(place(k))) {
      Mistake m{&other, {{{terms[k].get(), to}}, nullptr, 0}, terms[k], to};
      if (!visit(m)) return;
      const auto& uses = plan.uses(terms[k].get());
      for (std::size_t i = 0; uses.size() > 1 && i < uses.size(); ++i) {
        m.change.user = uses[i].first, m.change.place = uses[i].second;
        if (!visit(m)) return;
      }
    }
  }
  for (std::size_t i = 0; i + 1 < terms.size(); ++i)  // the last one is the formula itself
    for (std::size_t k = 0; k < i; ++k) {
      const Grid &x = plan.value(i), &y = plan.value(k);
      if (!is_value(i) || !is_value(k) || x.D != y.D || x.N != y.N || x.T != y.T || x.D * x.N == 1) continue;
      const Term &a = terms[i], &b = terms[k];
      if (plan.contains(a.get(), b.get()) || plan.contains(b.get(), a.get())) continue;
      if (!visit({&exchanged, {{{a.get(), b}, {b.get(), a}}, nullptr, 0}, a, b})) return;
    }
}

// Newton's method on one number, the distance being a sum of squares.
void each_fitted_mistake(const Plan& plan, const std::function<double(const Change&, Grid&)>& distance,
                         const std::function<void(const Mistake&)>& visit) {
  struct Fitted {
    Rule rule;
    Term (*around)(const Term& x, double k);
    double (*start)(const Grid& value);
  };
  static const std::vector<Fitted> ways = {
      {{"SCALED", 5, {"%n stands where %o belongs: a factor too many", "%o 的位置上写成了 %n：多了一个系数"}, nullptr},
       [](const Term& x, double k) { return times(number(k), x); },
       [](const Grid&) { return 1.; }},
      {{"OFFSET", 6, {"%n stands where %o belongs: a number is added", "%o 的位置上写成了 %n：多加了一个数"}, nullptr},
       [](const Term& x, double k) {
         return make(Op::sum, {x, number(k)});
       },
       [](const Grid&) { return 0.; }},
      {{"CLIPPED", 6, {"%o is clipped to a range: %n", "%o 被裁剪到一个范围内：%n"}, nullptr},
       [](const Term& x, double k) { return times(number(k), apply(function("hard_tanh"), times(number(1 / k), x))); },
       [](const Grid& value) {
         double most = 0;
         for (double v : value.x) most = std::max(most, std::fabs(v));
         return .7 * most;
       }},
  };
  for (const Fitted& way : ways)
    for (std::size_t at = 0; at < plan.terms().size(); ++at) {
      const Term& term = plan.terms()[at];
      if (!is_vector({plan, term, plan.value(at)})) continue;
      const bool clip = way.rule.code == std::string("CLIPPED");
      if (clip && term->label.empty() && term->op != Op::sum) continue;  // what has a name, and preactivations
      const auto with = [&](double k) {
        const Term around = outside(term, way.around(inside(term), k));
        return Mistake{&way.rule, {{{term.get(), around}}, nullptr, 0}, term, around, false, k};
      };
      double k = way.start(plan.value(at));
      constexpr int rounds = 12;
      for (int round = 0; round < rounds; ++round) {
        const double h = 1e-6;
        Grid here, there;
        if (clip && !(k > h)) break;
        const double off = distance(with(k).change, here);
        if (!std::isfinite(off)) break;
        if (!std::isfinite(distance(with(k + h).change, there))) break;
        double gg = 0, gr = 0;
        for (std::size_t i = 0; i < here.x.size(); ++i) {
          const double g = (there.x[i] - here.x[i]) / h;
          gg += g * g, gr += g * here.x[i];
        }
        if (!(gg > 0)) break;
        k -= gr / gg;
        if (!std::isfinite(k) || std::fabs(k) > 1e4) break;
        if (std::fabs(gr / gg) > 1e-12 * std::max(1.0, std::fabs(k)) && round + 1 < rounds) continue;
        visit(with(k));
        break;
      }
    }
}

Scene other_numbers(const Scene& scene) {
  Scene other = scene;
  Arrays arrays = *scene.arrays;
  std::mt19937_64 draw(7);
  std::normal_distribution<double> normal;
  for (auto& [name, a] : arrays) {
    if (name == "mask" || name == "y_mask") continue;
    for (double& x : a.data) x = normal(draw);
  }
  if (auto alpha = arrays.find("alpha"); alpha != arrays.end())
    for (double& x : alpha->second.data) x = std::fabs(x);
  other.arrays = std::make_shared<const Arrays>(std::move(arrays));
  return other;
}

// ---- words

namespace {

struct Called {
  const char* label;
  const char* code;  // the beginning of a verdict's code
  Said what;
};
const Called& called(const Plan& plan, const Node* owner) {
  static const std::map<std::string, Called> gru = {{"r", {"r", "GRU_RESET_GATE", {"the reset gate r", "重置门 r"}}},
                                                    {"z", {"z", "GRU_UPDATE_GATE", {"the update gate z", "更新门 z"}}},
                                                    {"n", {"n", "GRU_CANDIDATE", {"the candidate n", "候选状态 n"}}},
                                                    {"s_t", {"s_t", "GRU_STATE", {"the new state s_t", "新状态 s_t"}}}};
  static const std::map<std::string, Called> lstm = {
      {"i", {"i", "LSTM_INPUT_GATE", {"the input gate i", "输入门 i"}}},
      {"f", {"f", "LSTM_FORGET_GATE", {"the forget gate f", "遗忘门 f"}}},
      {"g", {"g", "LSTM_CANDIDATE", {"the candidate g", "候选值 g"}}},
      {"o", {"o", "LSTM_OUTPUT_GATE", {"the output gate o", "输出门 o"}}},
      {"c_t", {"c_t", "LSTM_MEMORY", {"the memory c_t", "记忆 c_t"}}},
      {"s_t", {"s_t", "LSTM_STATE", {"the new state s_t", "新状态 s_t"}}}};
  static const std::map<std::string, Called> other = {
      {"s_t", {"s_t", "CELL_STATE", {"the new state s_t", "新状态 s_t"}}},
      {"e", {"e", "ATTN_SCORE", {"the score e", "分数 e"}}},
      {"alpha", {"alpha", "ATTN_WEIGHTS", {"the weights alpha", "权重 alpha"}}},
      {"c", {"c", "ATTN_CONTEXT", {"the context c", "上下文向量 c"}}},
      {"s~", {"s~", "ATTN_VECTOR", {"the attentional vector s~", "注意力向量 s~"}}},
      {"logits", {"logits", "READOUT", {"the readout", "输出层"}}},
      {"t~", {"t~", "READOUT_MAXOUT", {"the readout's t~", "输出层的 t~"}}},
      {"s_0", {"s_0", "START", {"the initial state s_0", "初始状态 s_0"}}},
      {"q", {"q", "HEADS_QUERY", {"the heads' queries", "各头的查询"}}},
      {"k", {"k", "HEADS_KEY", {"the heads' keys", "各头的键"}}},
      {"v", {"v", "HEADS_VALUE", {"the heads' values", "各头的值"}}},
      {"output", {"output", "HEADS_OUTPUT", {"the output of the heads", "多头的输出"}}}};
  static const Called nothing = {"", "FORMULA", {"the formula", "公式"}};
  const auto labels = [&](const char* label) {
    return std::any_of(plan.terms().begin(), plan.terms().end(), [&](const Term& t) { return t->label == label; });
  };
  for (const auto* table : {labels("z") ? &gru : labels("f") || labels("o") ? &lstm : &other, &other})
    if (const auto at = table->find(owner->label); at != table->end()) return at->second;
  return nothing;
}

// What a term is, in a code.
std::string slot(const Node& n, const std::string& owner) {
  static const std::map<std::string, const char*> reads = {
      {"s", "STATE"},  {"y_emb", "INPUT"}, {"x", "INPUT"},     {"c", "CONTEXT"},   {"htilde", "VECTOR"},
      {"m", "MEMORY"}, {"query", "QUERY"}, {"key", "KEY"},     {"value", "VALUE"}, {"alpha", "WEIGHTS"},
      {"e", "SCORES"}, {"mask", "MASK"},   {"cell_0", "START"}};
  static const std::map<std::string, const char*> labels = {
      {"r", "RESET_GATE"}, {"z", "UPDATE_GATE"}, {"n", "CANDIDATE"}, {"i", "INPUT_GATE"}, {"f", "FORGET_GATE"},
      {"g", "CANDIDATE"},  {"o", "OUTPUT_GATE"}, {"c_t", "MEMORY"},  {"e", "SCORES"},     {"alpha", "WEIGHTS"},
      {"c", "CONTEXT"},    {"s~", "VECTOR"},     {"t~", "SUM"}};
  if (n.op == Op::leaf && n.name == "H")
    return owner == "ATTN_CONTEXT" ? "VALUES" : owner == "START" ? "ENCODER" : "KEYS";
  if (n.op == Op::leaf) {
    if (n.lies == Lies::everywhere) return "BIAS";
    if (const auto at = reads.find(n.name); at != reads.end())
      return n.name == "s" && owner == "ATTN_SCORE" ? "QUERY" : at->second;
    return "OPERAND";
  }
  if (const auto at = labels.find(n.label); at != labels.end()) return at->second;
  switch (n.op) {
    case Op::matrix:
      return "MATRIX";
    case Op::product:
      return n.in[0]->role == "U" ? "STATE_TERM" : n.in[0]->role == "W" ? "INPUT_TERM" : "PRODUCT";
    case Op::carried:
      return "MEMORY";
    case Op::sum:
      return "SUM";
    case Op::times:
      return "FACTORS";
    case Op::join:
      return "JOIN";
    case Op::apply:
      return "ACTIVATION";
    default:
      return "TERM";
  }
}

std::string replaced_in(std::string text, const char* mark, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size())
    text.replace(at, std::strlen(mark), by);
  return text;
}

// What the weights do otherwise than the paper's, and what they should do, in words.
std::pair<Words, Words> about_weights(const AttentionConvention& c, const AttentionConvention& right) {
  static const Said axes[] = {{"keys", "键"},
                              {"the batch", "批次"},
                              {"the decoder steps", "解码步"},
                              {"each number alone", "单个数"},
                              {"keys and decoder steps together", "键与解码步一起"},
                              {"batch and keys together", "批次与键一起"},
                              {"everything", "全部"},
                              {"the heads", "头"},
                              {"the batch", "批次"}};
  static const Said normalisers[] = {{"softmax", "softmax"},
                                     {"softmax", "softmax"},
                                     {"softmax twice", "两次 softmax"},
                                     {"division by the sum", "除以和"},
                                     {"division by the largest", "除以最大值"},
                                     {"sigmoid", "sigmoid"},
                                     {"relu", "relu"},
                                     {"nothing at all", "没有归一化"},
                                     {"1 for the largest", "最大者取 1"},
                                     {"exp without a division", "exp 而不相除"},
                                     {"log softmax", "log softmax"},
                                     {"softmax of tanh", "tanh 的 softmax"},
                                     {"softmax twice, masked both times,", "两次都带掩码的 softmax "},
                                     {"exp(e) over 1 plus the sum of them", "exp(e) 除以 1 与其和"},
                                     {"division of |e| by their sum", "|e| 除以其和"},
                                     {"exp(e - max e) without a division", "exp(e - max e) 而不相除"},
                                     {"exp(e - max e) times their sum", "exp(e - max e) 乘以其和"}};
  static const Said reads[] = {{"the keys' mask", "键的掩码"},
                               {"the queries' mask", "查询的掩码"},
                               {"the mask inverted", "取反的掩码"},
                               {"a mask one position too short", "少一个位置的掩码"},
                               {"a mask one position too long", "多一个位置的掩码"},
                               {"the next example's mask", "下一个样本的掩码"},
                               {"a causal mask", "因果掩码"},
                               {"the previous example's mask", "上一个样本的掩码"},
                               {"the first example's mask", "第一个样本的掩码"},
                               {"the mask at all steps but the first", "除第一步外各步的掩码"},
                               {"the mask at the first step only", "仅第一步的掩码"},
                               {"a causal mask that shows the next position", "多露出一个位置的因果掩码"},
                               {"a causal mask the wrong way round", "方向相反的因果掩码"},
                               {"masks sorted longest first", "按长度降序排列的掩码"},
                               {"masks sorted shortest first", "按长度升序排列的掩码"}};
  static const Said uses[] = {
      {"filled with -infinity", "填 -∞"},
      {"never applied", "从未使用"},
      {"multiplied into the scores before the softmax", "在 softmax 之前乘到分数上"},
      {"multiplied into the weights, which are not normalised again", "乘到权重上而没有重新归一化"},
      {"multiplied into the weights", "乘到权重上"},
      {"added to the scores", "加到分数上"}};
  Words w, mend;
  const auto join = [](Words& to, const std::string& en, const std::string& zh) {
    to.en += (to.en.empty() ? "" : ", ") + en, to.zh += (to.zh.empty() ? "" : "，") + zh;
  };
  const auto say = [&](const std::string& en, const std::string& zh) { join(w, en, zh); };
  const auto named = [](const auto& table, auto value) { return table[static_cast<std::size_t>(value)]; };
  const auto text = [](double x) { return print(number(x)); };
  if (c.axis != right.axis) {
    say(std::string("along ") + named(axes, c.axis).en, std::string("沿") + named(axes, c.axis).zh);
    join(mend, std::string("along ") + named(axes, right.axis).en, std::string("沿") + named(axes, right.axis).zh);
  }
  if (c.normaliser != right.normaliser) {
    say(std::string(named(normalisers, c.normaliser).en) + " for softmax",
        std::string("以") + named(normalisers, c.normaliser).zh + "代替 softmax");
    join(mend, "with softmax", "用 softmax");
  }
  if (c.mask_read != right.mask_read) {
    say(std::string("with ") + named(reads, c.mask_read).en, std::string("用了") + named(reads, c.mask_read).zh);
    join(mend, std::string("with ") + named(reads, right.mask_read).en,
         std::string("用") + named(reads, right.mask_read).zh);
  }
  if (c.mask_use == MaskUse::lower && c.mask_fill > 0)
    say("the mask adds " + text(c.mask_fill) + " to the scores of padding",
        "掩码给填充位置的分数加上 " + text(c.mask_fill));
  else if (c.mask_use == MaskUse::lower)
    say("the mask only lowers the scores of padding, by " + text(-c.mask_fill),
        "掩码只把填充位置的分数降低 " + text(-c.mask_fill));
  else if (c.mask_use != right.mask_use)
    say(std::string("the mask is ") + named(uses, c.mask_use).en, std::string("掩码") + named(uses, c.mask_use).zh);
  if (c.mask_use != MaskUse::lower && c.mask_fill != right.mask_fill)
    say("masked scores are " + text(c.mask_fill) + " where -infinity belongs",
        "被遮住的分数取 " + text(c.mask_fill) + "，应为 -∞");
  if (c.mask_use != right.mask_use || c.mask_fill != right.mask_fill)
    join(mend, "with masked scores at -infinity", "被遮住的分数取 -∞");
  if (c.temperature != right.temperature) {
    say("scores are divided by " + text(c.temperature), "分数除以 " + text(c.temperature));
    join(mend, "with the scores as they are", "分数照原样用");
  }
  return {w, mend};
}

// A code of one deviation of the weights, as the library of single entries calls its kind.
std::string weights_code(const AttentionConvention& c, const AttentionConvention& right) {
  static const std::map<MaskUse, const char*> used = {{MaskUse::fill, "MASK_USE"},
                                                      {MaskUse::ignore, "MASK_MISSING"},
                                                      {MaskUse::multiply_before, "MASK_MULT_BEFORE_SOFTMAX"},
                                                      {MaskUse::multiply_after, "MASK_AFTER_NO_RENORM"},
                                                      {MaskUse::multiply_after_renormalise, "MASK_USE"},
                                                      {MaskUse::add, "MASK_ADDED"},
                                                      {MaskUse::lower, "MASK_FINITE_FILL"}};
  std::string code;
  const auto add = [&](const char* part) { code += std::string(code.empty() ? "" : "+") + part; };
  if (c.axis != right.axis) add("SOFTMAX_AXIS");
  if (c.normaliser != right.normaliser) add("WEIGHTS_NORMALISER");
  if (c.mask_read != right.mask_read) add("MASK_OTHER");
  if (c.mask_use != right.mask_use) add(used.at(c.mask_use));
  if (c.mask_fill != right.mask_fill && c.mask_use != MaskUse::lower) add("MASK_FINITE_FILL");
  if (c.temperature != right.temperature) add("SCALE_OTHER");
  return code;
}

// The steps of a backward direction are counted as it reads them; a reader counts positions.
void say_positions(Finding& f) {
  for (Words* words : {&f.sentence, static_cast<Words*>(&f.used), static_cast<Words*>(&f.paper), &f.fix})
    for (const bool zh : {false, true}) {
      std::string& text = zh ? words->zh : words->en;
      text = replaced_in(text, "[last real]", zh ? "[位置 1，它最后读到的]" : "[position 1, the last that it reads]");
      text = replaced_in(text, "[first]",
                         zh ? "[最后一个真实位置，它最先读到的]" : "[the last real position, the first that it reads]");
    }
  if (f.used.en.find("x_{t") == std::string::npos) return;
  f.sentence.en += "; t counts the steps of this direction, from the last real position on";
  f.sentence.zh += "；t 按这个方向的读取顺序计数，从最后一个真实位置开始";
}

// The size of the model that a factor is.
std::string size_in(const Node& replacement, const Scene& scene) {
  if (replacement.op != Op::times || replacement.in[0]->op != Op::number) return "";
  const double k = replacement.in[0]->number;
  return k == 2 || k == .5 || k == 1 ? "" : as_size(k, *scene.arrays, scene.heads, 1e-6);
}

}  // namespace

std::optional<Finding> finding_of(const Mistake& m, const Formula& formula, const Plan& plan) {
  Finding f;
  const bool everywhere = !m.change.user;
  const Node* start = everywhere ? m.replaced.get() : m.change.user;
  // A named term that is changed as a whole is its own owner; where another takes its place, the user is.
  const bool renamed = !m.replaced->label.empty() && m.replacement->label != m.replaced->label;
  std::vector<const Node*> owners;
  if (everywhere && renamed) {
    for (const auto& [user, place] : plan.uses(start))
      for (const Node* owner : plan.owners(user)) owners.push_back(owner);
  }
  if (owners.empty()) owners = plan.owners(start);  // what nothing else uses is the formula itself
  for (const auto& [from, to] : m.change.terms)
    for (const Node* owner : plan.owners(m.alike ? from : owners[0])) owners.push_back(owner);
  std::sort(owners.begin(), owners.end(), [&](const Node* a, const Node* b) { return a->label < b->label; });
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
  const Node* owner = owners[0];
  const Called& what = called(plan, owner);
  Words where = {std::string("in ") + what.what.en, std::string("在") + what.what.zh + "中"};
  if (owners.size() > 1) {
    Words list(owners[0]->label, owners[0]->label);
    for (std::size_t k = 1; k < owners.size(); ++k) {
      const std::string& one = owners[k]->label;
      list += {(k + 1 < owners.size() ? ", " : " and ") + one, "、" + one};
    }
    where = {"in each of " + list.en, "在 " + list.zh + " 中"};
  }
  if (!formula.part.en.empty()) where.en += " of " + formula.part.en, where.zh = formula.part.zh + "：" + where.zh;
  // What all of them have in common is said without the gate's letter.
  const auto text_of = [&](const Term& t) {
    if (m.alike && t->op == Op::apply) return std::string(t->function->name);
    const bool own = owner == m.replaced.get() && t->label == owner->label;
    std::string text = print(t, own && t->op != Op::leaf);
    const std::string letter = m.alike && !m.replaced->shown.empty() ? m.replaced->shown : "";
    if (const std::size_t at = letter.empty() ? text.npos : text.find(letter); at != text.npos)
      text.replace(at, letter.size(), m.replaced->role);
    return text;
  };
  const std::string old_text = text_of(m.replaced);
  std::string new_text = text_of(m.replacement);
  if (new_text == old_text) new_text = print(inside(m.replacement));  // under the same name
  const bool several = owners.size() > 1, itself = owner == m.replaced.get() && !several;
  Words part, mend;
  f.kind = Kind::convention;
  std::string owner_code = what.code;
  if (owner_code.rfind("GRU", 0) == 0) f.kind = Kind::gru;
  if (owner_code.rfind("LSTM", 0) == 0) f.kind = Kind::lstm;
  if (several) owner_code = f.kind == Kind::gru ? "GRU" : f.kind == Kind::lstm ? "LSTM" : "DECODER";
  if (m.replaced->op == Op::weights && m.replacement->attention) {
    std::tie(part, mend) = about_weights(*m.replacement->attention, *m.replaced->attention);
    f.code = weights_code(*m.replacement->attention, *m.replaced->attention);
    f.kind = f.code.rfind("MASK", 0) == 0 ? Kind::mask : f.code.rfind("SOFTMAX_AXIS", 0) == 0 ? Kind::axis : f.kind;
  } else {
    f.code = owner_code + "_" + (itself ? "" : slot(*m.replaced, owner_code) + "_") + m.rule->code;
  }
  for (auto* side : {&f.sentence.en, &f.sentence.zh}) {
    const bool zh = side == &f.sentence.zh;
    std::string text = m.rule->sentence.in(zh ? Lang::zh : Lang::en);
    if (itself && m.rule->code == std::string("MISSING"))
      text = zh ? "%o 从未写入：" + owner->label + " 是 0" : "%o is never written: " + owner->label + " is 0";
    text = replaced_in(text, "%o", old_text), text = replaced_in(text, "%n", new_text);
    text = replaced_in(text, "%p", zh ? part.zh : part.en);
    *side = (zh ? where.zh + "，" : where.en + ", ") + text;
  }
  if (m.rule->code == std::string("OTHER_AXIS")) f.kind = Kind::axis;
  if (f.code.find("_MASK_") != f.code.npos) f.kind = Kind::mask;
  const std::string size = size_in(*m.replacement, plan.scene());
  if (m.rule->code == std::string("SCALED") && !size.empty())
    f.sentence.en += ", " + size, f.sentence.zh += "，即 " + size;
  f.where = name_of(formula.stage);
  if (!formula.part.en.empty()) f.where.en += ", " + formula.part.en, f.where.zh += "，" + formula.part.zh;
  f.paper = print(std::make_shared<const Node>(*owner), true);
  const Plan after(plan.with(m.change), plan.scene());
  for (const Term& t : after.terms())
    if (t->label == owner->label) f.used = print(t, true);
  if (part.en.empty() && (new_text == old_text || f.used.en == f.paper.en)) return std::nullopt;
  if (f.used.en == f.paper.en) f.used = f.paper = "";  // of weights, whose formula does not say how they are made
  f.fix = {"write " + old_text + " there, not " + new_text, "那里应写 " + old_text + "，而不是 " + new_text};
  if (!mend.empty()) f.fix = {"write " + old_text + " there, " + mend.en, "那里应写 " + old_text + "，" + mend.zh};
  if (const Axes axes = m.replacement->read.axes; axes == Axes::example_for_position || axes == Axes::step_for_position)
    f.fix = {
        "insert the axis of the positions behind that of the examples before " + old_text + " is added: x[:, None, :]",
        "在与各位置的数相加之前，在样本轴之后为 " + old_text + " 插入位置轴：x[:, None, :]"};
  if (formula.part.en == std::string("the backward direction")) say_positions(f);
  printed_in_chinese(f);
  f.test = formula.stage == Stage::run || formula.stage == Stage::cell
               ? "CHECK(check_reference(cell, inputs, claimed).passed);"
               : "CHECK(check_reference(decoder, inputs, claimed).passed);";
  return f;
}

void printed_in_chinese(Finding& f) {
  for (Words* words : {&f.sentence, static_cast<Words*>(&f.used), static_cast<Words*>(&f.paper), &f.fix})
    words->zh = printed_in_chinese(std::move(words->zh));
}

std::string part_code(const Plan& plan, const Node* term) { return called(plan, plan.owners(term)[0]).code; }
Words part_words(const Plan& plan, const Node* term) { return called(plan, plan.owners(term)[0]).what; }
std::string slot_code(const Node& term, const std::string& part) { return slot(term, part); }

}  // namespace gradus::diagnosis
