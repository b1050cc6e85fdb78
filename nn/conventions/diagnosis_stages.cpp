// Stages of decoders on given intermediate values; recurrent runs and heads whole.
#include "nn/conventions/diagnosis_stages.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace gradus::diagnosis {

using namespace reference;

namespace {

[[noreturn]] void misfit(const std::string& text) { throw std::invalid_argument("diagnosis: " + text); }

Vec log_softmax(Vec x) {
  double top = x.empty() ? 0 : *std::max_element(x.begin(), x.end()), sum = 0;
  for (double v : x) sum += std::exp(v - top);
  for (double& v : x) v -= top + std::log(sum);
  return x;
}

Vec finished(const Model& model, Vec logits) {
  logits = activate(model.logits_activation, std::move(logits));
  return model.logits_are_logarithms ? log_softmax(std::move(logits)) : logits;
}

Vec linear(const Arrays& given, const char* W, const char* b, Row x) {
  Vec y = matvec(get(given, W), x);
  const Array* bias = find(given, b);
  return bias ? add(std::move(y), bias->data) : y;
}

bool contains(const std::vector<Stage>& stages, Stage stage) {
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

class Stages {
 public:
  Stages(const Model& model, const Arrays& given) : model_(model), is_(model.decoder), given_(given) {
    const Array* y = find(given, "y_emb");
    const Array* s = find(given, "s");
    for (const char* name : {"alpha", "c", "e", "htilde", "logits", "query"})
      if (const Array* a = find(given, name); a && !y) y = a;
    if (y) B_ = y->dim(0), T_ = y->dim(1);
    if (s) B_ = s->dim(0), T_ = s->dim(1) - 1;
  }

  Arrays run(const std::vector<Stage>& stages) {
    if (contains(stages, Stage::start)) made_["s_0"] = start();
    const bool memory = reads(is_.query, What::cell_state) && !find(given_, "m");
    const bool lower = reads(is_.query, What::bottom_state) || reads(is_.query, What::mean_state) ||
                       reads(is_.query, What::all_states) || reads(is_.attentional, What::bottom_state);
    if ((memory || lower) && !contains(stages, Stage::cell)) cell();  // these need what only the cell knows
    if (contains(stages, Stage::score)) made_["e"] = score();
    if (contains(stages, Stage::weights)) made_["alpha"] = weights();
    if (contains(stages, Stage::context)) made_["c"] = context();
    if (contains(stages, Stage::attentional)) made_["htilde"] = attentional();
    if (contains(stages, Stage::cell)) {
      made_["s"] = cell();
      if (const Array* m = find(inner_, "m")) made_["m"] = *m;
    }
    if (contains(stages, Stage::readout)) made_["logits"] = readout();
    return std::move(made_);
  }

 private:
  static bool reads(const Parts& parts, What what) {
    return std::any_of(parts.begin(), parts.end(), [&](const Part& p) { return p.what == what; });
  }

  // The trace's value, or what was computed before.
  const Array& use(const std::string& name) const {
    if (const Array* a = find(given_, name)) return *a;
    if (const Array* a = find(made_, name)) return *a;
    if (const Array* a = find(inner_, name)) return *a;
    misfit("there is no " + name);
  }

  // Row t - lag of a sequence; `before` stands for the steps before the first.
  Vec step_of(const std::string& name, std::size_t b, long at) const {
    const Array& a = use(name);
    if (at < 0 || at >= static_cast<long>(a.dim(1))) return Vec(a.dim(2));
    return copy(a.row({b, static_cast<std::size_t>(at)}));
  }

  Vec part(Part p, std::size_t b, std::size_t t) const {
    const long at = static_cast<long>(t) - p.lag;
    switch (p.what) {
      case What::y_emb:
        return step_of("y_emb", b, at);
      case What::context:
        return step_of("c", b, at);
      case What::attentional:
        return at < 0 && is_.first_fed != FirstFed::zeros ? first_fed(b) : step_of("htilde", b, at);
      case What::first_input:
        return step_of("y_emb", b, 0);
      case What::before_tanh:
        if (at < 0) return Vec(get(given_, "W_c").dim(0));
        return linear(given_, "W_c", "b_c", parts(joined(), b, static_cast<std::size_t>(at)));
      case What::state:
        return step_of("s", b, std::max(at + 1, 0L));
      case What::cell_state:
        return step_of("m", b, std::max(at + 1, 0L));
      case What::bottom_state:
      case What::mean_state:
      case What::all_states:
        break;
    }
    Vec y;
    const double layers = static_cast<double>(is_.layers);
    for (std::size_t l = 0; l < is_.layers; ++l) {
      const Vec h = step_of("layer " + std::to_string(l), b, std::max(at + 1, 0L));
      if (p.what == What::bottom_state) return h;
      if (y.empty()) y = h;
      else y = p.what == What::all_states ? join(std::move(y), h) : add(std::move(y), h);
    }
    return p.what == What::all_states ? y : multiply(y, Vec(y.size(), 1 / layers));
  }

  Vec first_fed(std::size_t b) const {
    if (is_.first_fed == FirstFed::state) return step_of("s", b, 0);
    if (is_.first_fed == FirstFed::last_position) {
      const Array &H = get(given_, "H"), *mask = find(given_, "mask");
      long last = static_cast<long>(H.dim(1)) - 1;
      while (mask && last > 0 && mask->at({b, static_cast<std::size_t>(last)}) == 0) --last;
      return step_of("H", b, last);
    }
    Parts before = joined();
    for (Part& p : before) ++p.lag;
    return activate(is_.attentional_activation, linear(given_, "W_c", "b_c", parts(before, b, 0)));
  }

  Vec parts(const Parts& list, std::size_t b, std::size_t t, bool added = false) const {
    Vec x;
    for (const Part& p : list) {
      Vec more = part(p, b, t);
      x = added && !x.empty() ? add(std::move(x), more) : join(std::move(x), more);
    }
    return x;
  }

  // Where the attentional vector is not looked at yet, what the paper joins.
  Parts joined() const { return is_.attentional.empty() ? Parts{c_t, s_t} : is_.attentional; }

  template <class RowOf> Array stacked(std::size_t steps, RowOf row_of) const {
    Array out;
    for (std::size_t b = 0; b < B_; ++b)
      for (std::size_t t = 0; t < steps; ++t) {
        const Vec row = row_of(b, t);
        if (out.shape.empty()) out = Array({B_, steps, row.size()});
        out.set_row({b, t}, row);
      }
    return out;
  }

  Array score() {
    Array queries = model_.query_given
                        ? use("query")
                        : stacked(T_, [&](std::size_t b, std::size_t t) { return parts(is_.query, b, t); });
    if (model_.query_read != MemoryRead::own) {
      AttentionConvention elsewhere;
      elsewhere.values = model_.query_read;
      queries = attention_values(elsewhere, {}, queries);
    }
    Arrays parameters;
    for (const char* name : {"W_a", "U_a", "v_a", "b_a", "b_a_query", "b_v"})
      if (const Array* a = find(given_, name)) parameters[name] = *a;
    if (model_.keys_are_projected_twice) {
      const Array& U = get(given_, "U_a");
      Array twice(U.shape);
      for (std::size_t r = 0; r < U.dim(0); ++r)
        for (std::size_t c = 0; c < U.dim(1); ++c)
          for (std::size_t k = 0; k < U.dim(1); ++k) twice.at({r, c}) += U.at({r, k}) * U.at({k, c});
      parameters["U_a"] = twice;
    }
    const Array& H = get(given_, "H");
    Array keys = H;
    if (is_.attention.keys != MemoryRead::own) {
      AttentionConvention as_values = is_.attention;
      as_values.values = is_.attention.keys;
      as_values.values_are_projected_keys = false;
      keys = attention_values(as_values, parameters, H);
    }
    return scores(is_.attention.score, parameters, queries, keys);
  }

  Array weights() const {
    Array alpha = attention_weights(is_.attention, use("e"), find(given_, "mask"), find(given_, "y_mask"));
    if (model_.dropped.shape == alpha.shape) alpha.data = multiply(std::move(alpha.data), model_.dropped.data);
    return alpha;
  }

  Array context() {
    const Array values = attention_values(is_.attention, given_, get(given_, "H"));
    Array alpha = use("alpha");
    if (model_.weighing == Model::Weighing::scores) alpha = find(given_, "e") ? use("e") : score();
    if (model_.weighing == Model::Weighing::unmasked)
      alpha = attention_weights(is_.attention, find(given_, "e") ? use("e") : score(), nullptr);
    if (model_.weights_of_the_step_before) {
      const Array now = alpha;
      for (std::size_t b = 0; b < now.dim(0); ++b)
        for (std::size_t t = 0; t < now.dim(1); ++t)
          alpha.set_row({b, t}, t ? now.row({b, t - 1}) : Row(Vec(now.dim(2))));
    }
    Array c = contexts(is_.attention, alpha, values, find(given_, "mask"));
    for (double& x : c.data) x *= model_.context_factor;
    for (std::size_t b = 0; model_.contexts_add_up && b < c.dim(0); ++b)
      for (std::size_t t = 1; t < c.dim(1); ++t) c.set_row({b, t}, add(copy(c.row({b, t})), c.row({b, t - 1})));
    return c;
  }

  Array attentional() const {
    return stacked(T_, [&](std::size_t b, std::size_t t) {
      return activate(is_.attentional_activation,
                      linear(given_, "W_c", "b_c", parts(is_.attentional, b, t, model_.vector_is_added)));
    });
  }

  // The new state of each step from the given state before it. Only an LSTM's memory and lower layers run on by
  // themselves.
  Array cell() {
    std::vector<CellWeights> layers;
    for (std::size_t l = 0; l < is_.layers; ++l)
      layers.push_back(cell_weights(given_, l ? "_l" + std::to_string(l) : ""));
    const Array& s = get(given_, "s");
    const bool lstm = std::holds_alternative<LstmConvention>(is_.cell);
    const Array* memory = find(given_, "m");
    Array out = s, m = s;
    std::vector<Array> lower(is_.layers, Array(s.shape));
    for (std::size_t b = 0; b < B_; ++b) {
      std::vector<CellState> state(is_.layers);
      for (std::size_t l = 0; l < is_.layers; ++l) {
        const std::string suffix = l + 1 == is_.layers ? "" : "_l" + std::to_string(l);
        const std::size_t d = layers[l].state_size();
        const Array* c0 = find(given_, "cell_0" + suffix);
        const Array* h0 = find(given_, "s_0" + suffix);
        state[l].h = l + 1 == is_.layers ? copy(s.row({b, 0})) : h0 ? copy(h0->row({b})) : Vec(d);
        if (lstm) state[l].c = c0 ? copy(c0->row({b})) : Vec(d);
        if (lstm && memory && l + 1 == is_.layers) state[l].c = copy(memory->row({b, 0}));
        lower[l].set_row({b, 0}, state[l].h);
      }
      if (lstm) m.set_row({b, 0}, state.back().c);
      const std::vector<CellState> first = state;
      const bool other_start = model_.first_state != FirstState::own;
      for (std::size_t t = 0; t < T_; ++t) {
        if (other_start && t == 0) {
          for (std::size_t l = 0; l < is_.layers; ++l) state[l] = other_first_state(l, b, first[l]);
        } else if (is_.carry == Carry::initial) state = first;
        else if (t > 0 && (is_.carry == Carry::attentional || is_.carry == Carry::context))
          state.back().h = part(is_.carry == Carry::context ? c_prev : htilde_prev, b, t);
        else state.back().h = copy(s.row({b, t}));
        if (lstm && memory && !(other_start && t == 0))
          state.back().c = copy(memory->row({b, is_.carry == Carry::initial ? 0 : t}));
        if (lstm && model_.memory_not_carried) state.back().c = first.back().c;
        Vec x = parts(is_.cell_input, b, t, model_.input_is_added);
        for (std::size_t l = 0; l < is_.layers; ++l) {
          state[l] = cell_step(is_.cell, layers[l], x, state[l]);
          if (model_.cell_is_residual && l + 1 == is_.layers) state[l].h = add(std::move(state[l].h), s.row({b, t}));
          x = state[l].h;
          lower[l].set_row({b, t + 1}, l + 1 == is_.layers ? Row(s.row({b, t + 1})) : Row(state[l].h));
        }
        out.set_row({b, t + 1}, state.back().h);
        if (lstm) m.set_row({b, t + 1}, state.back().c);
      }
    }
    if (lstm) inner_["m"] = m;
    for (std::size_t l = 0; l < is_.layers; ++l) inner_["layer " + std::to_string(l)] = lower[l];
    return out;
  }

  // Layer by layer, with the state of zeros where nothing is given.
  CellState other_first_state(std::size_t l, std::size_t b, const CellState& own) const {
    const Array& s = get(given_, "s");
    const std::string suffix = l + 1 == is_.layers ? "" : "_l" + std::to_string(l);
    Array h({B_, own.h.size()}), c({B_, own.c.size()});
    const Array *h0 = find(given_, "s_0" + suffix), *c0 = find(given_, "cell_0" + suffix);
    for (std::size_t k = 0; k < B_; ++k) {
      if (l + 1 == is_.layers) h.set_row({k}, s.row({k, 0}));
      else if (h0) h.set_row({k}, h0->row({k}));
      if (c0 && !own.c.empty()) c.set_row({k}, c0->row({k}));
      else if (const Array* m = find(given_, "m"); m && !own.c.empty() && l + 1 == is_.layers)
        c.set_row({k}, m->row({k, 0}));
    }
    start_otherwise(model_.first_state, 1, h, c);
    return {copy(h.row({b})), own.c.empty() ? Vec() : copy(c.row({b}))};
  }

  Array readout() const {
    return stacked(T_, [&](std::size_t b, std::size_t t) {
      if (is_.readout_form == Readout::linear)
        return finished(model_, linear(given_, "W_o", "b_o", parts(is_.readout, b, t, model_.readout_is_added)));
      Vec sum;
      for (const Part& p : is_.readout) {
        const char* name = p.what == What::y_emb ? "V_o" : p.what == What::context ? "C_o" : "U_o";
        const Vec term = matvec(get(given_, name), part(p, b, t));
        sum = sum.empty() ? term : add(std::move(sum), term);
      }
      Vec larger(sum.size() / 2);
      for (std::size_t k = 0; k < larger.size(); ++k)
        larger[k] = is_.readout_form == Readout::maxout_halves ? std::max(sum[k], sum[k + larger.size()])
                                                               : std::max(sum[2 * k], sum[2 * k + 1]);
      return finished(model_, linear(given_, "W_o", "b_o", larger));
    });
  }

  Array start() const {
    DecoderConvention alone = is_;
    alone.attends = false;
    alone.attentional.clear();
    alone.layers = 1;
    Arrays bag = {{"H", get(given_, "H")}, {"W_s", get(given_, "W_s")}};
    for (const char* name : {"b_s", "mask", "U", "W"})
      if (const Array* a = find(given_, name)) bag[name] = *a;
    const std::size_t B = bag.at("H").dim(0), d = bag.at("W_s").dim(0);
    bag["y_emb"] = Array({B, 0, 1});
    if (!bag.count("U")) bag["U"] = Array({d, d}), bag["W"] = Array({d, 1}), alone.cell = ElmanConvention{};
    const Array s = get(decode(alone, bag), "s");
    return Array({B, d}, s.data);
  }

  const Model& model_;
  const DecoderConvention& is_;
  const Arrays& given_;
  std::size_t B_ = 0, T_ = 0;
  Arrays made_, inner_;
};

std::vector<std::size_t> lengths_of(const Arrays& given, std::size_t B) {
  const Array* mask = find(given, "mask");
  std::vector<std::size_t> lengths;
  if (!mask) return lengths;
  for (std::size_t b = 0; b < B; ++b) {
    std::size_t n = 0;
    for (double x : mask->row({b})) n += x != 0;
    lengths.push_back(n);
  }
  return lengths;
}

// (layers * directions, B, d), one slice as (B, d).
Array slice(const Array& states, std::size_t i) {
  const std::size_t n = states.dim(1) * states.dim(2);
  const auto start = states.data.begin() + static_cast<std::ptrdiff_t>(i * n);
  return Array({states.dim(1), states.dim(2)}, {start, start + static_cast<std::ptrdiff_t>(n)});
}

const Array* given_or_made(const Array& state) { return state.data.empty() ? nullptr : &state; }

Arrays recurrent(const Model& model, const Arrays& given, const Arrays* still = nullptr,
                 const Intervention& intervention = {}, RunDetails* details = nullptr) {
  const std::vector<std::size_t> lengths = lengths_of(given, get(given, "x").dim(0));
  const bool both = find(given, "U_reverse") != nullptr;
  const Array *h0 = find(given, "h0"), *c0 = find(given, "c0");
  const Array *still_h0 = still ? find(*still, "h0") : nullptr, *still_c0 = still ? find(*still, "c0") : nullptr;
  Array x = get(given, "x"), still_x = still ? get(*still, "x") : Array();
  std::vector<Array> finals, memories;
  for (std::size_t l = 0; l < model.decoder.layers; ++l) {
    const CellConvention& cell = model.cells.empty() ? model.decoder.cell : model.cells.at(l);
    const bool is_lstm = std::holds_alternative<LstmConvention>(cell);
    const std::string suffix = l ? "_l" + std::to_string(l) : "";
    std::vector<Run> runs, still_runs;
    for (std::size_t k = 0; k < (both ? 2u : 1u); ++k) {
      RunConvention run = model.run;
      if (k) run.reading = model.both.backward, run.outputs = model.both.backward_outputs;
      const std::size_t i = l * (both ? 2 : 1) + k;
      Array h, c;
      const BackwardStart from = k ? model.both.start : BackwardStart::own;
      const std::size_t start = from == BackwardStart::forward_start ? i - 1 : i;
      const bool continues = from == BackwardStart::forward_final;
      if (h0) h = slice(*h0, start);
      if (c0) c = slice(*c0, start);
      if (continues) h = runs[0].final_h, c = runs[0].final_c;
      if (from == BackwardStart::forward_memory) c = runs[0].final_c;
      if (model.other_start) model.other_start(i, {h0, c0, finals, memories}, h, c);
      const std::string cell_name = suffix + (k ? "_reverse" : "");
      Still beside;
      CellWeights weights;
      Array calm_h, calm_c;
      if (still) {
        weights = cell_weights(*still, cell_name);
        if (still_h0) calm_h = slice(*still_h0, start);
        if (still_c0) calm_c = slice(*still_c0, start);
        if (continues) calm_h = still_runs[0].final_h, calm_c = still_runs[0].final_c;
        beside = {&weights, &still_x, given_or_made(calm_h), given_or_made(calm_c), intervention};
        still_runs.push_back(run_sequence(cell, run, weights, still_x, lengths, beside.h0, beside.c0));
      }
      runs.push_back(run_sequence(cell, run, cell_weights(given, cell_name), x, lengths, given_or_made(h),
                                  given_or_made(c), still ? &beside : nullptr));
      finals.push_back(runs.back().final_h);
      memories.push_back(runs.back().final_c);
    }
    const auto merged = [&](const std::vector<Run>& of, Array Run::*part = &Run::h) {
      if (!both) return of[0].*part;
      Array stack = of[0].*part;
      stack.shape.insert(stack.shape.begin(), 2);
      stack.data.insert(stack.data.end(), (of[1].*part).data.begin(), (of[1].*part).data.end());
      return merge_directions(model.both.merge, stack);
    };
    Array made = merged(runs);
    if (model.after_layer) model.after_layer(l, x, is_lstm ? merged(runs, &Run::c) : Array(), made);
    x = std::move(made);
    if (still) still_x = merged(still_runs);
    for (const Run& run : runs)
      if (details) {
        details->states.push_back(run.h);
        if (is_lstm) details->memories.push_back(run.c);
      }
  }
  Arrays out;
  out["h"] = x;
  Array h_n({finals.size(), finals[0].dim(0), finals[0].dim(1)}), c_n = h_n;
  for (std::size_t i = 0; i < finals.size(); ++i) {
    std::copy(finals[i].data.begin(), finals[i].data.end(),
              h_n.data.begin() + static_cast<std::ptrdiff_t>(i * finals[i].data.size()));
    if (!memories[i].data.empty())
      std::copy(memories[i].data.begin(), memories[i].data.end(),
                c_n.data.begin() + static_cast<std::ptrdiff_t>(i * memories[i].data.size()));
  }
  out["h_n"] = h_n;
  if (std::holds_alternative<LstmConvention>(model.decoder.cell)) out["c_n"] = c_n;
  return out;
}

// What a decoder takes from the encoder: both ends, or some slice of h_n.
Array decoder_start(const Model& model, const Arrays& given) {
  const Arrays out = recurrent(model, given);
  if (model.both.final_state == FinalState::both_ends) return stacked_final(model.stacked, get(out, "h_n"));
  const Array& h = get(out, "h");
  const std::vector<std::size_t> lengths = lengths_of(given, h.dim(0));
  Array rows({h.dim(0), h.dim(2)});
  for (std::size_t b = 0; b < h.dim(0); ++b) {
    const std::size_t n = lengths.empty() ? h.dim(1) : lengths[b];
    if (n) rows.set_row({b}, h.row({b, model.both.final_state == FinalState::last_position ? n - 1 : 0}));
  }
  return rows;
}

Arrays heads(const Model& model, const Arrays& given, const Arrays* still = nullptr,
             SoftmaxSlope slope = SoftmaxSlope::right) {
  if (model.weights_of_the_step_before || model.context_factor != 1 || model.weighing != Model::Weighing::weights ||
      model.contexts_add_up)
    misfit("heads have no such variant");
  MultiHeadConvention convention = model.heads;
  convention.attention = model.decoder.attention;
  convention.attention.empty_row = model.decoder.attention.empty_row;
  const Array &query = get(given, "query"), &key = get(given, "key"), &value = get(given, "value");
  const Array* mask = find(given, "mask");
  Arrays out;
  if (find(given, "W_Q")) {
    MultiHead calm;
    if (still)
      calm = multi_head_attention(convention, *still, get(*still, "query"), get(*still, "key"), get(*still, "value"),
                                  mask);
    const MultiHead made =
        multi_head_attention(convention, given, query, key, value, mask, still ? &calm : nullptr, slope);
    out["output"] = made.output;
    out["alpha"] = made.weights;
  } else {
    const Array e = scores(convention.attention.score, given, query, key);
    out["alpha"] = attention_weights(convention.attention, e, mask);
    if (still) {
      const Array calm = scores(convention.attention.score, *still, get(*still, "query"), get(*still, "key"));
      out["alpha"] = weights_along(slope, convention.attention.temperature,
                                   attention_weights(convention.attention, calm, mask), calm, e);
    }
    out["output"] = contexts(convention.attention, out["alpha"], value, mask);
  }
  const Array* alpha = find(given, "alpha");
  Array& w = out["alpha"];
  if (alpha && alpha->shape.size() == 3 && w.shape.size() == 4) {  // averaged over the heads
    Array mean({w.dim(0), w.dim(2), w.dim(3)});
    const std::size_t n = w.dim(2) * w.dim(3), h = w.dim(1);
    for (std::size_t b = 0; b < w.dim(0); ++b)
      for (std::size_t k = 0; k < h; ++k)
        for (std::size_t i = 0; i < n; ++i)
          mean.data[b * n + i] += w.data[(b * h + k) * n + i] / static_cast<double>(h);
    w = mean;
  } else if (alpha && alpha->shape.size() == 4 && w.shape.size() == 3) {
    w.shape.insert(w.shape.begin() + 1, 1);
  }
  return out;
}

Arrays edited(const Model& model, const Arrays& given) {
  Arrays changed = given;
  for (const auto& edit : model.edits) edit(changed);
  return changed;
}

// A trace calls the top layer's start s_0 and those below it s_0_l0, s_0_l1; the reference counts all of them from the
// lowest. A lower layer of which the trace has no start begins with zeros.
Arrays with_starts_from_the_lowest(Arrays arrays, std::size_t layers) {
  if (layers == 1) return arrays;
  const auto of = [](const char* start, std::size_t layer) { return start + ("_l" + std::to_string(layer)); };
  for (const char* start : {"s_0", "cell_0"}) {
    auto top = arrays.extract(start), lowest = arrays.extract(of(start, 0));
    if (top) top.key() = of(start, layers - 1), arrays.insert(std::move(top));
    if (lowest) lowest.key() = start, arrays.insert(std::move(lowest));
  }
  const std::size_t B = get(arrays, "y_emb").dim(0);
  for (std::size_t l = 0; l + 1 < layers; ++l)
    arrays.try_emplace(l ? of("s_0", l) : "s_0",
                       Dims{B, cell_weights(arrays, l ? "_l" + std::to_string(l) : "").state_size()});
  return arrays;
}

Arrays decoded(const Model& model, const Arrays& given, const Arrays* still = nullptr,
               const Intervention& intervention = {}) {
  const std::size_t layers = model.decoder.layers;
  const Arrays own = with_starts_from_the_lowest(given, layers);
  Arrays out = still ? decode(model.decoder, own, with_starts_from_the_lowest(*still, layers), intervention)
                     : decode(model.decoder, own);
  if (auto logits = out.find("logits");
      logits != out.end() && (model.logits_are_logarithms || model.logits_activation != Activation::identity))
    for (std::size_t b = 0; b < logits->second.dim(0); ++b)
      for (std::size_t t = 0; t < logits->second.dim(1); ++t)
        logits->second.set_row({b, t}, finished(model, copy(logits->second.row({b, t}))));
  return out;
}

// What the whole model starts from instead, if the model says so.
Arrays with_first_state(TraceKind kind, const Model& model, Arrays given) {
  const bool run = kind == TraceKind::recurrent;
  Array none;
  const auto h = given.find(run ? "h0" : "s_0");
  auto c = given.find(run ? "c0" : "cell_0");
  if (h == given.end()) misfit("there is no initial state");
  if (c == given.end() && std::holds_alternative<LstmConvention>(model.decoder.cell))
    c = given.emplace(run ? "c0" : "cell_0", Array(h->second.shape)).first;
  start_otherwise(model.first_state, find(given, "U_reverse") ? 2 : 1, h->second, c == given.end() ? none : c->second);
  return given;
}
Model from_its_own(const Model& model) {
  Model own = model;
  own.first_state = FirstState::own;
  return own;
}

// Hypotheses that the free-running reference does not have.
bool stage_by_stage(const Model& m) {
  return m.weights_of_the_step_before || m.context_factor != 1 || m.keys_are_projected_twice ||
         m.query_read != MemoryRead::own || m.weighing != Model::Weighing::weights || m.memory_not_carried ||
         m.contexts_add_up || m.cell_is_residual || m.input_is_added || m.vector_is_added || m.readout_is_added ||
         !m.dropped.shape.empty();
}

}  // namespace

RunDetails run_details(const Model& model, const Arrays& given) {
  if (!model.edits.empty()) {
    Model plain = model;
    plain.edits.clear();
    return run_details(plain, edited(model, given));
  }
  if (model.first_state != FirstState::own)
    return run_details(from_its_own(model), with_first_state(TraceKind::recurrent, model, given));
  RunDetails details;
  details.outputs = recurrent(model, given, nullptr, {}, &details);
  return details;
}

const char* output_of(Stage stage) {
  static const char* names[] = {"e", "alpha", "c", "s", "htilde", "logits", "s_0", "h", "output", "start"};
  return names[static_cast<std::size_t>(stage)];
}

Arrays stage_outputs(const Model& model, const Arrays& given, const std::vector<Stage>& stages) {
  if (!model.edits.empty()) {
    Model plain = model;
    plain.edits.clear();
    return stage_outputs(plain, edited(model, given), stages);
  }
  const bool runs = contains(stages, Stage::run), from_inputs = !find(given, "s") && contains(stages, Stage::cell);
  if (model.first_state != FirstState::own && (runs || from_inputs))
    return stage_outputs(from_its_own(model),
                         with_first_state(runs ? TraceKind::recurrent : TraceKind::decoder, model, given), stages);
  if (runs) {
    Arrays out = recurrent(model, given);
    if (contains(stages, Stage::ends)) out["start"] = decoder_start(model, given);
    return out;
  }
  if (contains(stages, Stage::ends)) return {{"start", decoder_start(model, given)}};
  if (contains(stages, Stage::heads)) return heads(model, given);
  if (from_inputs) {
    if (stage_by_stage(model) || model.query_given) misfit("this hypothesis needs the decoder's states");
    return decoded(model, given);
  }
  return Stages(model, given).run(stages);
}

namespace {

Arrays whole(TraceKind kind, const Model& model, const Arrays& given, const Arrays* still,
             const Intervention& intervention) {
  if (!model.edits.empty()) {
    Model plain = model;
    plain.edits.clear();
    const Arrays calm = still ? edited(model, *still) : Arrays();
    return whole(kind, plain, edited(model, given), still ? &calm : nullptr, intervention);
  }
  if (model.first_state != FirstState::own && kind != TraceKind::multi_head) {
    const Arrays calm = still ? with_first_state(kind, model, *still) : Arrays();
    return whole(kind, from_its_own(model), with_first_state(kind, model, given), still ? &calm : nullptr,
                 intervention);
  }
  if (kind == TraceKind::recurrent) {
    if (intervention.softmax != SoftmaxSlope::right) misfit("a cell has no softmax");
    return recurrent(model, given, still, intervention);
  }
  if (kind == TraceKind::multi_head) {
    if (still && intervention.softmax == SoftmaxSlope::right) misfit("heads have no steps");
    return heads(model, given, still, intervention.softmax);
  }
  if (stage_by_stage(model)) misfit("this hypothesis runs stage by stage only");
  if (model.decoder.layers > 1 && model.decoder.initial != InitialState::given)
    misfit("which layers start from the bridge is not known");
  if (model.query_given && !find(given, "y_emb")) {
    if (still) misfit("attention alone has no steps");
    return stage_outputs(model, given, {Stage::score, Stage::weights, Stage::context});
  }
  return decoded(model, given, still, intervention);
}

}  // namespace

Arrays whole_forward(TraceKind kind, const Model& model, const Arrays& given) {
  return whole(kind, model, given, nullptr, {});
}

Arrays whole_forward(TraceKind kind, const Model& model, const Arrays& given, const Arrays& still,
                     const Intervention& intervention) {
  return whole(kind, model, given, &still, intervention);
}

}  // namespace gradus::diagnosis
