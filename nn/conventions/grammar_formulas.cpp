// Trees of cells, attention, readouts and heads, and the scenes that they are evaluated on.
#include "nn/conventions/grammar_formulas.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "nn/conventions/diagnosis_stages.h"

namespace gradus::diagnosis {

using namespace reference;

namespace {

[[noreturn]] void no_tree() { throw std::invalid_argument("formula: no tree is written for this"); }

Term shown(const Term& term, const std::string& as) {
  Node n = *term;
  n.shown = as;
  return std::make_shared<const Node>(std::move(n));
}

const char* name_of(Activation f) {
  static const char* names[] = {"", "tanh", "sigmoid", "hard_sigmoid", "relu", "softmax"};
  return names[static_cast<std::size_t>(f)];
}
Term activated(Activation f, Term x, const std::string& role = "") {
  return f == Activation::identity ? x : apply(function(name_of(f)), std::move(x), role);
}

// What the decoder's stages and cells are written with.
class Writer {
 public:
  Writer(const Model& model, const Arrays& given) : model_(model), is_(model.decoder), given_(given) {}

  Term read(const std::string& name, Lies lies, Read as = {}) {
    const std::string key = name + " " + std::to_string(as.lag);
    Term& known = leaves_[key];
    if (!known) known = leaf(name, lies, as);
    return known;
  }

  Term state() { return read("s", Lies::step, {.lag = 1}); }

  // The cell of a whole model: an LSTM's memory first, in a formula of its own.
  void add_cell(const Term& x, const std::string& suffix, std::vector<std::pair<std::string, Term>>& formulas) {
    memory_apart_ = true;
    const Term s = cell(x, suffix);
    if (memory_) formulas.emplace_back("m", memory_);
    formulas.emplace_back("s", s);
  }

  // Gates, candidate and squashed memory of the cell, as far as they follow from what the trace holds.
  std::vector<Term> inner_terms() {
    if (is_.layers != 1) no_tree();
    memory_apart_ = true;
    std::vector<Term> inner, left = {cell(parts(is_.cell_input), "")};
    if (find(given_, "m")) inner.push_back(apply(function("tanh"), shown(read("m", Lies::step), "c")));
    while (!left.empty()) {
      const Term t = left.back();
      left.pop_back();
      if (t->op == Op::apply && !t->label.empty()) inner.push_back(t);
      left.insert(left.end(), t->in.begin(), t->in.end());
      if (memory_ && left.empty()) left = memory_->in, memory_ = nullptr;
    }
    std::vector<Term> each;
    for (const Term& t : inner)
      if (std::find(each.begin(), each.end(), t) == each.end()) each.push_back(t);
    return each;
  }

  // A step of the cell with the suffix of its parameters, on x and s_{t-1}.
  Term cell(const Term& x, const std::string& suffix) {
    x_ = x, suffix_ = suffix;
    if (const auto* gru = std::get_if<GruConvention>(&is_.cell)) return of(*gru);
    if (const auto* lstm = std::get_if<LstmConvention>(&is_.cell)) return of(*lstm);
    return of(std::get<ElmanConvention>(is_.cell));
  }

  Term score() {
    if (find(given_, "e")) return leaf("e", Lies::pair);
    return fresh_score();
  }
  Term fresh_score() {
    const ScoreConvention& c = is_.attention.score;
    const Term q = model_.query_given ? read("query", Lies::step) : parts(is_.query);
    const Term h = read("H", Lies::position);
    return labelled("e", scored(c, q, h, size_of_query()));
  }

  Term weights() {
    if (find(given_, "alpha")) return leaf("alpha", Lies::pair);
    return fresh_weights(score());
  }
  Term fresh_weights(const Term& e) {
    Node n{.op = Op::weights, .in = {e}};
    if (find(given_, "mask")) n.in.push_back(shown(leaf("mask", Lies::position), "mask"));
    n.attention = std::make_shared<const AttentionConvention>(is_.attention);
    return labelled("alpha", std::make_shared<const Node>(std::move(n)));
  }

  Term context() { return labelled("c", make(Op::gather, {make(Op::times, {weights(), read("H", Lies::position)})})); }
  Term vector() {
    if (is_.attentional.empty()) no_tree();
    return labelled("s~", activated(is_.attentional_activation, linear("W_c", "b_c", parts(is_.attentional))));
  }

  Term readout() {
    if (model_.logits_activation != Activation::identity || model_.logits_are_logarithms) no_tree();
    if (is_.readout_form == Readout::linear) return labelled("logits", linear("W_o", "b_o", parts(is_.readout)));
    if (is_.readout_form != Readout::maxout) no_tree();
    std::vector<Term> terms;
    for (const Part& p : is_.readout) {
      const char* name = p.what == What::y_emb ? "V_o" : p.what == What::context ? "C_o" : "U_o";
      terms.push_back(make(Op::product, {matrix(name), part(p)}));
    }
    return labelled("logits", linear("W_o", "b_o", make(Op::maxout, {labelled("t~", make(Op::sum, terms))})));
  }

  Term start() {
    if (const Array* mask = find(given_, "mask"))  // trees read the ends of sequences that begin at position 0
      for (std::size_t k = 0; k < mask->data.size(); ++k)
        if (mask->data[k] != 0 && k % mask->dim(1) && mask->data[k - 1] == 0) no_tree();
    const std::size_t d = get(given_, "H").dim(2), half = d / 2;
    const auto end = [&](Order order, std::size_t first, std::size_t n) {
      Node g{
          .op = Op::gather, .in = {leaf("H", Lies::position, {.order = order}, {first, n})}, .gather = Gather::first};
      return std::make_shared<const Node>(std::move(g));
    };
    Term x;
    if (is_.initial == InitialState::backward_first) x = end(Order::first, half, d - half);
    else if (is_.initial == InitialState::forward_last) x = end(Order::last_real, 0, half);
    else if (is_.initial == InitialState::forward_first) x = end(Order::first, 0, half);
    else if (is_.initial == InitialState::both_ends)
      x = make(Op::join, {end(Order::last_real, 0, half), end(Order::first, half, d - half)});
    else if (is_.initial == InitialState::mean) x = end(Order::mean_of_real, 0, 0);
    else if (is_.initial == InitialState::mean_of_all) x = end(Order::mean, 0, 0);
    else no_tree();
    return labelled("s_0", activated(is_.initial_activation, linear("W_s", "b_s", x)));
  }

  Term scored(const ScoreConvention& c, const Term& q, const Term& h, std::size_t d_q) {
    const auto times_W_a = [](const Term& x) { return make(Op::product, {matrix("W_a"), x}); };
    const auto energy = [&](std::vector<Term> terms) {
      if (find(given_, "b_a")) terms.push_back(leaf("b_a", Lies::everywhere));
      const Term inside = terms.size() == 1 ? terms[0] : make(Op::sum, std::move(terms));
      const Term e = make(Op::product, {matrix("v_a"), activated(c.energy, inside)});
      return find(given_, "b_v") ? make(Op::sum, {e, leaf("b_v", Lies::everywhere)}) : e;
    };
    Term e;
    switch (c.score) {
      case Score::additive:
        e = energy({times_W_a(q), make(Op::product, {matrix("U_a"), h})});
        break;
      case Score::concat:
      case Score::mlp:
        e = energy({times_W_a(make(Op::join, c.exchanged ? std::vector<Term>{h, q} : std::vector<Term>{q, h}))});
        break;
      case Score::general:
        e = c.exchanged ? make(Op::dot, {h, times_W_a(q)}) : make(Op::dot, {q, times_W_a(h)});
        break;
      case Score::cosine:
        e = make(Op::dot, {apply(function("unit"), q), apply(function("unit"), h)});
        break;
      case Score::dot:
      case Score::scaled_dot:
        e = make(Op::dot, {q, h});
        break;
      case Score::location:
        no_tree();
    }
    const bool scaled = c.scale == Scale::over_sqrt_d || (c.score == Score::scaled_dot && c.scale == Scale::by_score);
    if (scaled) e = make(Op::times, {shown(number(1 / std::sqrt(static_cast<double>(d_q))), "1/sqrt(d)"), e});
    return e;
  }

  Term linear(const std::string& W, const std::string& b, const Term& x) {
    const Term y = make(Op::product, {matrix(W), x});
    return find(given_, b) ? make(Op::sum, {y, leaf(b, Lies::everywhere)}) : y;
  }

  Term parts(const Parts& list) {
    std::vector<Term> terms;
    for (const Part& p : list) terms.push_back(part(p));
    if (terms.empty()) no_tree();
    return terms.size() == 1 ? terms[0] : make(Op::join, terms);
  }

 private:
  Term part(Part p) {
    switch (p.what) {
      case What::y_emb:
        return read("y_emb", Lies::step, {.lag = p.lag});
      case What::state:
        return read("s", Lies::step, {.lag = p.lag});
      case What::context:
        if (find(given_, "c")) return read("c", Lies::step, {.lag = p.lag});
        return at_lag(context_once(), p.lag);
      case What::attentional:
        if (p.lag > 0 && is_.first_fed != FirstFed::zeros) no_tree();
        if (find(given_, "htilde")) return read("htilde", Lies::step, {.lag = p.lag});
        return at_lag(vector(), p.lag);
      default:
        no_tree();
    }
  }
  Term context_once() {
    if (!context_) context_ = context();
    return context_;
  }
  static Term at_lag(const Term& x, int lag) {
    if (lag == 0) return x;
    return std::make_shared<const Node>(Node{.op = Op::moved, .in = {x}, .read = {.lag = lag}});
  }

  std::size_t size_of_query() const {
    if (const Array* q = find(given_, model_.query_given ? "query" : "s")) return q->dim(2);
    return 1;
  }

  // ---- cells

  bool biased(const char* name) const { return find(given_, name + suffix_) != nullptr; }

  Block block_of(char gate) const {
    const std::size_t d = get(given_, "U" + suffix_).dim(1), place = order_.find(gate);
    if (place == std::string::npos) no_tree();
    return {place * d, d};
  }
  Term from(const char* name, char gate, const Term& x) const {
    return make(Op::product, {shown(matrix(name + suffix_, block_of(gate), name), std::string(name) + "_" + gate), x});
  }
  Term bias(const char* name, char gate) const {
    Node n = *leaf(name + suffix_, Lies::everywhere, {}, block_of(gate));
    n.role = name, n.shown = (std::string(name) == "b" ? "b_" : "b_u") + std::string(1, gate);
    return std::make_shared<const Node>(std::move(n));
  }
  Term preactivation(char gate, const Term& h) const {
    std::vector<Term> terms = {from("W", gate, x_), from("U", gate, h)};
    if (biased("b")) terms.push_back(bias("b", gate));
    if (biased("b_u")) terms.push_back(bias("b_u", gate));
    return std::make_shared<const Node>(Node{.op = Op::sum, .in = std::move(terms), .role = "preactivation"});
  }
  Term gate(Activation f, char letter, const Term& h) const {
    return labelled(std::string(1, letter), activated(f, preactivation(letter, h), "gate"));
  }

  Term of(const GruConvention& c) {
    order_ = c.gate_order;
    const Term h = state(), r = gate(c.gate, 'r', h), z = gate(c.gate, 'z', h);
    Term inside;
    if (c.reset == GruReset::before) {
      inside = preactivation('n', make(Op::times, {r, h}));
    } else if (c.reset == GruReset::after) {
      Term recurrent = from("U", 'n', h);
      if (biased("b_u")) recurrent = make(Op::sum, {recurrent, bias("b_u", 'n')});
      std::vector<Term> terms = {from("W", 'n', x_), make(Op::times, {r, recurrent})};
      if (biased("b")) terms.push_back(bias("b", 'n'));
      inside = make(Op::sum, terms);
    } else {
      no_tree();
    }
    const Term n = labelled("n", activated(c.candidate, inside));
    const Term not_z = make(Op::complement, {z});
    const bool keeps = c.update == GruUpdate::keeps;
    return labelled("s_t",
                    make(Op::sum, {make(Op::times, {keeps ? z : not_z, h}), make(Op::times, {keeps ? not_z : z, n})}));
  }

  Term of(const LstmConvention& c) {
    if (c.biased_gates != "f") no_tree();
    order_ = c.gate_order;
    const Term h = state(), i = gate(c.gate, 'i', h), o = gate(c.gate, 'o', h);
    Term f = gate(c.gate, 'f', h);
    if (c.forget_bias != 0)
      f = labelled("f", activated(c.gate, make(Op::sum, {preactivation('f', h), number(c.forget_bias)}), "gate"));
    const Term g = labelled("g", activated(c.candidate, preactivation('g', h)));
    const bool given = find(given_, "m") != nullptr;
    const Term old = given ? shown(read("m", Lies::step, {.lag = 1}), "c")
                           : std::make_shared<const Node>(Node{.op = Op::carried, .name = "c_{t-1}"});
    if (memory_apart_) {
      memory_ = labelled("c_t", make(Op::sum, {make(Op::times, {f, old}), make(Op::times, {i, g})}));
      return labelled("s_t", make(Op::times, {o, activated(c.output_activation, shown(read("m", Lies::step), "c"))}));
    }
    Term memory = labelled("c_t", make(Op::sum, {make(Op::times, {f, old}), make(Op::times, {i, g})}));
    if (!given) memory = labelled("c_t", make(Op::loop, {memory, shown(leaf("cell_0", Lies::example), "c_0")}));
    return labelled("s_t", make(Op::times, {o, activated(c.output_activation, memory)}));
  }

  Term of(const ElmanConvention& c) {
    order_ = "h";
    return labelled("s_t", activated(c.activation, preactivation('h', state())));
  }

  const Model& model_;
  const DecoderConvention& is_;
  const Arrays& given_;
  std::map<std::string, Term> leaves_;
  Term x_, context_, memory_;
  bool memory_apart_ = false;
  std::string suffix_, order_;
};

std::vector<std::size_t> lengths_of(const Array* mask) {
  std::vector<std::size_t> lengths;
  if (!mask || mask->shape.size() != 2) return lengths;
  for (std::size_t b = 0; b < mask->dim(0); ++b) {
    const Row row = mask->row({b});
    lengths.push_back(static_cast<std::size_t>(std::count_if(row.begin(), row.end(), [](double x) { return x != 0; })));
  }
  return lengths;
}

// An LSTM's memory starts from zeros where nothing else is said.
Arrays with_memory(const Arrays& given, std::size_t B, std::size_t d) {
  Arrays all = given;
  if (!all.count("cell_0")) all["cell_0"] = Array({B, d});
  return all;
}

}  // namespace

Formula decoder_formula(const Model& model, const Arrays& given, Stage stage, bool whole, MemoryAs memory) {
  Writer write(model, given);
  Formula f;
  f.stage = stage;
  f.output = memory == MemoryAs::output ? "m" : output_of(stage);
  const Array& wanted = get(given, f.output);
  switch (stage) {
    case Stage::score:
      f.term = write.fresh_score();
      break;
    case Stage::weights:
      f.term = write.fresh_weights(write.score());
      break;
    case Stage::context:
      f.term = write.context();
      break;
    case Stage::cell:
      if (model.decoder.layers != 1) no_tree();
      if (memory == MemoryAs::inside) {
        f.term = write.cell(write.parts(model.decoder.cell_input), "");
      } else {
        std::vector<std::pair<std::string, Term>> both;
        write.add_cell(write.parts(model.decoder.cell_input), "", both);
        f.term = memory == MemoryAs::output ? both.front().second : both.back().second;
      }
      break;
    case Stage::attentional:
      f.term = write.vector();
      break;
    case Stage::readout:
      f.term = write.readout();
      break;
    case Stage::start:
      f.term = write.start();
      break;
    default:
      no_tree();
  }
  const std::size_t B = wanted.dim(0);
  const Array* s = find(given, "s");
  f.scene.arrays = std::make_shared<const Arrays>(s ? with_memory(given, B, s->dim(2)) : given);
  f.scene.B = B, f.scene.made = f.output;
  f.scene.T = stage == Stage::start ? 1 : wanted.dim(1) - (stage == Stage::cell ? 1 : 0);
  f.scene.lengths = lengths_of(find(given, "mask"));
  if (const Array* H = find(given, "H")) f.scene.N = H->dim(1);
  // A large trace is looked at in a few of its rows and steps.
  std::size_t size = wanted.data.size() / B / std::max<std::size_t>(wanted.shape.size() > 2 ? wanted.dim(1) : 1, 1);
  if (stage == Stage::score || stage == Stage::weights) size *= find(given, "v_a") ? get(given, "v_a").data.size() : 8;
  if (stage == Stage::context) size *= f.scene.N;
  const std::size_t most = std::max<std::size_t>(1, 6000 / std::max<std::size_t>(size, 1));
  if (!whole && B * f.scene.T > most) {
    f.scene.T = std::min<std::size_t>(f.scene.T, std::max<std::size_t>(2, most / B));
    f.scene.B = std::clamp<std::size_t>(most / f.scene.T, 1, B);
    f.scene.whole = false;
  }
  const std::size_t steps = stage == Stage::start ? 1 : wanted.dim(1), first = stage == Stage::cell ? 1 : 0;
  const std::size_t d = wanted.data.size() / (B * steps);
  const auto part_of = [&](const Array& all) {
    Array part({f.scene.B, f.scene.T, d});
    for (std::size_t b = 0; b < f.scene.B; ++b)
      for (std::size_t t = 0; t < f.scene.T; ++t)
        std::copy_n(all.data.begin() + static_cast<std::ptrdiff_t>((b * steps + t + first) * d), d,
                    part.data.begin() + static_cast<std::ptrdiff_t>((b * f.scene.T + t) * d));
    return part;
  };
  f.wanted = part_of(wanted);
  if (stage != Stage::cell && stage != Stage::start && find(given, "U") && find(given, "W") && find(given, "y_emb") &&
      s) {
    try {
      Writer cell_of(model, given);
      f.scene.beside = cell_of.inner_terms(), f.scene.beside_size = s->dim(2);
    } catch (const std::invalid_argument&) {
      // a cell that no trees are written for
    }
  }
  if (const Array* m = find(given, "m"); m && stage == Stage::cell && memory == MemoryAs::inside && is_lstm(model))
    f.inside = "c_t", f.wanted_inside = part_of(*m), f.scene.made_too = "m";
  return f;
}

std::vector<std::size_t> lengths_or_full(const Arrays& given, std::size_t B, std::size_t T) {
  std::vector<std::size_t> lengths = lengths_of(find(given, "mask"));
  if (lengths.empty()) lengths.assign(B, T);
  return lengths;
}

namespace {

// One direction of one layer; number counts them as h_n does.
struct RunPlace {
  std::size_t number = 0, direction = 0;
};

// Inputs and states of one run in the order in which it reads them. x (B, T, d_in) is what its layer reads, h holds its
// states from feature `first` on.
Scene scene_of_run(const Arrays& given, const Array& x, const Array& h, std::size_t first, RunPlace at,
                   const std::vector<std::size_t>& lengths) {
  const std::size_t B = x.dim(0), T = x.dim(1), d = get(given, "U").dim(1), k = at.direction;
  Arrays arrays = given;
  const auto start = [&](const char* name) {
    Array from({B, d});
    if (const Array* a = find(given, name))
      std::copy_n(a->data.begin() + static_cast<std::ptrdiff_t>(at.number * B * d), B * d, from.data.begin());
    return from;
  };
  const Array h0 = start("h0");
  Array seen({B, T, x.dim(2)}), s({B, T + 1, d});
  for (std::size_t b = 0; b < B; ++b) {
    s.set_row({b, 0}, h0.row({b}));
    for (std::size_t t = 0; t < T; ++t) {
      const std::size_t from = read_at(k, t, lengths[b]);
      seen.set_row({b, t}, x.row({b, from}));
      s.set_row({b, t + 1}, h.row({b, from}).subspan(first, d));
    }
  }
  arrays.erase("c");  // an LSTM's own memory: read in the place of what makes it, it would explain any mistake
  arrays["x"] = seen, arrays["s"] = s, arrays["cell_0"] = start("c0");
  Scene scene;
  scene.arrays = std::make_shared<const Arrays>(std::move(arrays));
  scene.B = B, scene.T = T, scene.lengths = lengths, scene.made = "s";
  return scene;
}

}  // namespace

std::vector<Formula> run_formulas(const Model& model, const Arrays& given) {
  const Array& h = get(given, "h");
  const Array& x = get(given, "x");
  const bool both = find(given, "U_reverse") != nullptr;
  const std::size_t B = x.dim(0), T = x.dim(1), d = get(given, "U").dim(1);
  if (model.decoder.layers != 1 || h.dim(2) != d * (both ? 2 : 1) || model.both.merge != Merge::concat) no_tree();
  const std::vector<std::size_t> lengths = lengths_or_full(given, B, T);
  std::vector<Formula> made;
  for (std::size_t k = 0; k < (both ? 2u : 1u); ++k) {
    Formula f;
    f.stage = Stage::run, f.output = "h";
    if (both) f.part = k ? Words{"the backward direction", "反向"} : Words{"the forward direction", "正向"};
    f.scene = scene_of_run(given, x, h, k * d, {k, k}, lengths);
    const Array& s = f.scene.arrays->at("s");
    f.wanted = Array({B, T, d});
    for (std::size_t b = 0; b < B; ++b)
      for (std::size_t t = 0; t < T; ++t) {
        f.wanted.set_row({b, t}, s.row({b, t + 1}));
        f.counts.push_back(t < lengths[b]);
      }
    Writer write(model, *f.scene.arrays);
    f.term = write.cell(write.read("x", Lies::step), k ? "_reverse" : "");
    made.push_back(std::move(f));
  }
  return made;
}

std::vector<Formula> head_formulas(const Model& model, const Arrays& given) {
  const Array &query = get(given, "query"), &key = get(given, "key");
  const std::size_t heads = model.heads.heads, B = query.dim(0), T = query.dim(1);
  const bool projected = find(given, "W_Q") != nullptr;
  const Array *alpha = find(given, "alpha"), *output = find(given, "output");
  if (model.heads.split != HeadSplit::by_feature || model.heads.merge != HeadSplit::by_feature) no_tree();
  Writer write(model, given);
  const auto side = [&](const char* name, const char* letter, Lies lies) {
    const Term x = leaf(name, lies);
    if (!projected) return x;
    return labelled(std::string(1, static_cast<char>(letter[0] + 32)),
                    make(Op::split, {write.linear(std::string("W_") + letter, std::string("b_") + letter, x)}));
  };
  const Term q = side("query", "Q", Lies::step), k = side("key", "K", Lies::position),
             v = side("value", "V", Lies::position);
  const std::size_t d_k = projected ? get(given, "W_Q").dim(0) / heads : query.dim(2);
  const Term scores = labelled("e", write.scored(model.decoder.attention.score, q, k, d_k));
  const Term weights = write.fresh_weights(scores);
  Arrays arrays = given;
  const bool each_head = alpha && alpha->data.size() == B * heads * T * key.dim(1);
  if (each_head) arrays["alpha"] = Array({B * heads, T, key.dim(1)}, alpha->data);
  const auto scene = std::make_shared<const Arrays>(std::move(arrays));
  std::vector<Formula> made;
  const auto add = [&](const char* name, Term term, const Array& wanted) {
    Formula f;
    f.stage = Stage::heads, f.output = name, f.term = std::move(term);
    f.scene.made = name, f.scene.arrays = scene, f.scene.B = B, f.scene.T = T, f.scene.N = key.dim(1),
    f.scene.heads = heads;
    f.scene.lengths = lengths_of(find(given, "mask"));
    f.wanted = wanted;
    made.push_back(std::move(f));
  };
  if (each_head) add("alpha", weights, scene->at("alpha"));
  if (output) {
    const Term seen = each_head ? leaf("alpha", Lies::pair) : weights;
    Term c = labelled("c", make(Op::gather, {make(Op::times, {seen, v})}));
    if (projected) c = make(Op::merge, {c});
    add("output", labelled("output", projected ? write.linear("W_O", "b_O", c) : c), *output);
    if (each_head) made.back().scene.scores = scores;
  }
  return made;
}

namespace {

// The memory before the first step and after each one.
Array memories_of(const Plan& run) {
  const Grid& memory = run.value(run.loop()->get());
  const Array& start = run.scene().arrays->at("cell_0");
  const std::size_t B = run.scene().B, T = run.scene().T, d = start.dim(1);
  Array m({B, T + 1, d});
  for (std::size_t b = 0; b < B; ++b) {
    m.set_row({b, 0}, start.row({b}));
    for (std::size_t t = 0; t < T; ++t) m.set_row({b, t + 1}, Row(&memory.x[memory.place(b, t, 0)], d));
  }
  return m;
}

// Whether the formula gives the states that the scene holds, at real positions.
bool gives_its_states(const Plan& run) {
  const Array& s = run.scene().arrays->at("s");
  const Grid& made = run.value(run.root().get());
  for (std::size_t b = 0; b < made.B; ++b)
    for (std::size_t t = 0; t < run.scene().lengths[b]; ++t)
      for (std::size_t j = 0; j < made.D; ++j)
        if (!(std::fabs(made.x[made.place(b, t, 0) + j] - s.at({b, t + 1, j})) < 1e-9)) return false;
  return true;
}

// Every direction of every layer, from the lowest on. What a layer reads is what the convention makes of the one below.
std::vector<WholeModel> whole_runs(const Model& model, const Arrays& given, const Array& h) {
  const bool both = find(given, "U_reverse") != nullptr;
  const std::size_t d = get(given, "U").dim(1), directions = both ? 2 : 1, layers = model.decoder.layers;
  if (h.dim(2) != d * directions || model.both.merge != Merge::concat || model.after_layer) no_tree();
  Array x = get(given, "x");
  const std::size_t B = x.dim(0), T = x.dim(1);
  const std::vector<std::size_t> lengths = lengths_or_full(given, B, T);
  const std::vector<Array> states = layers > 1 ? run_details(model, given).states : std::vector<Array>();
  std::vector<WholeModel> all;
  for (std::size_t l = 0; l < layers; ++l) {
    Model of_layer = model;
    if (!model.cells.empty()) of_layer.decoder.cell = model.cells.at(l);
    Array next({B, T, directions * d});
    for (std::size_t k = 0; k < directions; ++k) {
      WholeModel whole;
      whole.layer = l, whole.direction = k;
      const RunPlace at{l * directions + k, k};
      whole.scene = states.empty() ? scene_of_run(given, x, h, k * d, at, lengths)
                                   : scene_of_run(given, x, states.at(at.number), 0, at, lengths);
      const std::string suffix = (l ? "_l" + std::to_string(l) : "") + (k ? "_reverse" : "");
      Writer once(of_layer, *whole.scene.arrays);
      const Plan run(once.cell(once.read("x", Lies::step), suffix), whole.scene);
      if (layers > 1 && !gives_its_states(run)) no_tree();
      if (std::holds_alternative<LstmConvention>(of_layer.decoder.cell)) {
        Arrays with_memory = *whole.scene.arrays;
        with_memory["m"] = memories_of(run);
        whole.scene.arrays = std::make_shared<const Arrays>(std::move(with_memory));
      }
      Writer write(of_layer, *whole.scene.arrays);
      write.add_cell(write.read("x", Lies::step), suffix, whole.formulas);
      all.push_back(std::move(whole));
      for (std::size_t p = 0; p < B * T && !states.empty(); ++p)
        std::copy_n(states[at.number].data.begin() + static_cast<std::ptrdiff_t>(p * d), d,
                    next.data.begin() + static_cast<std::ptrdiff_t>((p * directions + k) * d));
    }
    x = std::move(next);
  }
  return all;
}

// (B, heads, T_q, T_k), where the trace holds their mean.
Array weights_of_each_head(const Model& model, Arrays given) {
  given.erase("alpha");
  for (const Formula& f : head_formulas(model, given)) {
    const Plan plan(f.term, f.scene);
    for (const Term& t : plan.terms())
      if (t->op == Op::weights) {
        const Grid& w = plan.value(t.get());
        return Array({f.scene.B, f.scene.heads, w.T, w.N}, w.x);
      }
  }
  no_tree();
}

}  // namespace

std::vector<WholeModel> whole_models(TraceKind kind, const Model& model, const Arrays& given, const Arrays& made) {
  std::vector<WholeModel> all;
  if (kind == TraceKind::multi_head) {
    Arrays together = given;
    for (const auto& [name, a] : made) together[name] = a;
    if (const Array* mean = find(together, "alpha"); mean && mean->shape.size() == 3 && model.heads.heads > 1)
      together["alpha"] = weights_of_each_head(model, together);
    WholeModel whole;
    for (const Formula& f : head_formulas(model, together))
      whole.formulas.emplace_back(f.output, f.term), whole.scene = f.scene;
    all.push_back(whole);
  } else if (kind == TraceKind::recurrent) {
    return whole_runs(model, given, get(made, "h"));
  } else {
    if (model.decoder.layers != 1) no_tree();
    Arrays together = given;
    for (const auto& [name, a] : made) together[name] = a;
    WholeModel whole;
    const bool attention_alone = model.query_given && !find(given, "y_emb");
    const Array& alpha = get(made, "alpha");
    whole.scene.B = alpha.dim(0), whole.scene.T = alpha.dim(1), whole.scene.N = get(given, "H").dim(1);
    whole.scene.lengths = lengths_of(find(given, "mask"));
    Writer write(model, together);
    const auto cell = [&] { write.add_cell(write.parts(model.decoder.cell_input), "", whole.formulas); };
    const auto attend = [&] {
      whole.formulas.emplace_back("e", write.fresh_score());
      whole.formulas.emplace_back("alpha", write.fresh_weights(write.score()));
      whole.formulas.emplace_back("c", write.context());
    };
    const bool before = std::none_of(model.decoder.query.begin(), model.decoder.query.end(),
                                     [](const Part& p) { return p.what == What::state && p.lag == 0; });
    if (model.decoder.initial != InitialState::given) whole.formulas.emplace_back("s_0", write.start());
    if (before || attention_alone) attend();
    if (!attention_alone) cell();
    if (!before && !attention_alone) attend();
    if (!model.decoder.attentional.empty()) whole.formulas.emplace_back("htilde", write.vector());
    if (find(given, "W_o")) whole.formulas.emplace_back("logits", write.readout());
    whole.scene.arrays = std::make_shared<const Arrays>(std::move(together));
    all.push_back(std::move(whole));
  }
  return all;
}

}  // namespace gradus::diagnosis
