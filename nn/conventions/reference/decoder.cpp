// The decoder loop: the order of cell and attention follows from what the cell reads.
#include "nn/conventions/reference/decoder.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace gradus::reference {

namespace {

std::string layer_suffix(std::size_t layer) { return layer == 0 ? "" : "_l" + std::to_string(layer); }

bool reads(const Parts& parts, What what) {
  return std::any_of(parts.begin(), parts.end(), [&](const Part& part) { return part.what == what; });
}

bool reads_now(const Parts& parts, What what) {
  return std::find(parts.begin(), parts.end(), Part{what, 0}) != parts.end();
}

Vec linear(const Arrays& given, const char* W, const char* b, Row x) {
  Vec y = matvec(get(given, W), x);
  const Array* bias = find(given, b);
  return bias ? add(std::move(y), bias->data) : y;
}

std::size_t last_real(const Array* mask, std::size_t b, std::size_t T) {
  std::size_t last = T - 1;
  while (mask && last > 0 && mask->at({b, last}) == 0) --last;
  return last;
}

std::size_t first_real(const Array* mask, std::size_t b, std::size_t T) {
  std::size_t first = 0;
  while (mask && first + 1 < T && mask->at({b, first}) == 0) ++first;
  return first;
}

Vec summary(InitialState initial, const Array& H, const Array* mask, std::size_t b) {
  const std::size_t T = H.dim(1), half = H.dim(2) / 2, last = last_real(mask, b, T), first = first_real(mask, b, T);
  const auto forward = [&](std::size_t i) { return copy(H.row({b, i}).first(half)); };
  const auto backward = [&](std::size_t i) { return copy(H.row({b, i}).subspan(half)); };
  if (initial == InitialState::backward_first) return backward(first);
  if (initial == InitialState::backward_last) return backward(last);
  if (initial == InitialState::forward_last) return forward(last);
  if (initial == InitialState::forward_first) return forward(first);
  if (initial == InitialState::both_ends) return join(forward(last), backward(first));
  const bool all = initial == InitialState::mean_of_all;
  Vec mean(H.dim(2));
  double count = 0;
  for (std::size_t i = 0; i < T; ++i)
    if (all || !mask || mask->at({b, i}) != 0) mean = add(std::move(mean), H.row({b, i})), ++count;
  return multiply(std::move(mean), Vec(H.dim(2), 1 / std::max(count, 1.)));
}

class Decoding {
 public:
  Decoding(const DecoderConvention& convention, const Arrays& given, const Decoding* still = nullptr,
           const Intervention& intervention = {})
      : is_(convention),
        given_(given),
        still_(still),
        intervention_(intervention),
        y_(get(given, "y_emb")),
        mask_(find(given, "mask")),
        B_(y_.dim(0)),
        T_(y_.dim(1)) {
    for (std::size_t l = 0; l < is_.layers; ++l) weights_.push_back(cell_weights(given_, layer_suffix(l)));
    if (is_.attends) values_ = attention_values(is_.attention, given_, get(given_, "H"));
    states_.push_back(initial_states());
  }

  Arrays run() {
    const bool waits = is_.attention.axis == SoftmaxAxis::queries || is_.attention.axis == SoftmaxAxis::all ||
                       is_.attention.axis == SoftmaxAxis::keys_and_queries;
    if (is_.attends && waits) {
      attend_to_all_steps_at_once();
    } else {
      const bool attention_first =
          reads_now(is_.cell_input, What::context) || reads_now(is_.cell_input, What::attentional);
      for (std::size_t t = 0; t < T_; ++t) {
        if (attention_first) attention(t, 1), attentional(t);
        cell(t);
        if (!attention_first) attention(t, 1), attentional(t);
      }
    }
    return outputs();
  }

 private:
  using Layers = std::vector<CellState>;

  std::vector<Layers> initial_states() const {
    std::vector<Layers> rows(B_);
    for (std::size_t b = 0; b < B_; ++b) {
      for (std::size_t l = 0; l < is_.layers; ++l) {
        const std::size_t d = weights_[l].state_size();
        const Array* memory = find(given_, "cell_0" + layer_suffix(l));
        CellState state{Vec(d), {}};
        if (std::holds_alternative<LstmConvention>(is_.cell)) state.c = memory ? copy(memory->row({b})) : Vec(d);
        if (is_.initial == InitialState::given) {
          state.h = copy(get(given_, "s_0" + layer_suffix(l)).row({b}));
        } else if (is_.initial != InitialState::zeros) {
          state.h = activate(is_.initial_activation,
                             linear(given_, "W_s", "b_s", summary(is_.initial, get(given_, "H"), mask_, b)));
        }
        rows[b].push_back(std::move(state));
      }
    }
    return rows;
  }

  // The softmax over decoder steps needs every query before the first weight.
  void attend_to_all_steps_at_once() {
    if (still_) throw std::invalid_argument("reference decoder: a wrong backward is known step by step only");
    if (reads(is_.cell_input, What::context) || reads(is_.cell_input, What::attentional)) {
      throw std::invalid_argument(
          "reference decoder: a softmax over decoder steps cannot feed the cell; take context "
          "and attentional vector out of cell_input");
    }
    for (std::size_t t = 0; t < T_; ++t) cell(t);
    attention(0, T_);
    for (std::size_t t = 0; t < T_; ++t) attentional(t);
  }

  Vec state_part(What what, const Layers& layers) const {
    if (what == What::cell_state) return layers.back().c;
    if (what == What::bottom_state) return layers.front().h;
    if (what == What::state) return layers.back().h;
    Vec y = layers.front().h;
    for (std::size_t l = 1; l < layers.size(); ++l)
      y = what == What::all_states ? join(std::move(y), layers[l].h) : add(std::move(y), layers[l].h);
    return what == What::all_states ? y : multiply(y, Vec(y.size(), 1 / static_cast<double>(layers.size())));
  }

  Vec part(Part p, std::size_t b, std::size_t t) const {
    const long at = static_cast<long>(t) - p.lag;
    const std::size_t step = static_cast<std::size_t>(std::max(at, 0L));
    switch (p.what) {
      case What::y_emb:
        return at < 0 || step >= T_ ? Vec(y_.dim(2)) : copy(y_.row({b, step}));
      case What::context:
        if (at < 0) return Vec(values_.dim(2));
        return copy(known(contexts_, step).row({b, 0}));
      case What::attentional:
        if (at < 0) return first_fed(b);
        return known(attentional_, step)[b];
      case What::first_input:
        return copy(y_.row({b, 0}));
      case What::before_tanh:
        if (at < 0) return Vec(get(given_, "W_c").dim(0));
        return linear(given_, "W_c", "b_c", parts(is_.attentional, b, step));
      default:
        return state_part(p.what, at < 0 ? states_[0][b] : known(states_, step + 1)[b]);
    }
  }

  Vec first_fed(std::size_t b) const {
    if (is_.first_fed == FirstFed::zeros) return Vec(get(given_, "W_c").dim(0));
    if (is_.first_fed == FirstFed::state) return state_part(What::state, states_[0][b]);
    if (const Array& H = get(given_, "H"); is_.first_fed == FirstFed::last_position)
      return copy(H.row({b, last_real(mask_, b, H.dim(1))}));
    Vec x;
    for (const Part& p : is_.attentional) x = join(std::move(x), part({p.what, p.lag + 1}, b, 0));
    return activate(is_.attentional_activation, linear(given_, "W_c", "b_c", x));
  }

  template <class T> const T& known(const std::vector<T>& steps, std::size_t step) const {
    if (step < steps.size()) return steps[step];
    throw std::invalid_argument(
        "reference decoder: the parts form a circle, one is read before it exists; with c_t in "
        "the cell the query must be s_{t-1}, with s_t in the query the cell takes c_{t-1}");
  }

  // Whether the reader, fed or query, takes this part without a gradient. s_0 is no output of the cell.
  bool is_cut(Part p, std::size_t t, Cut reader) const {
    const Cut cut = intervention_.cut;
    if (!still_ || p.what == What::y_emb || p.what == What::first_input) return false;
    const bool state = p.what != What::context && p.what != What::attentional && p.what != What::before_tanh;
    if (cut == Cut::context) return p.what == What::context;
    if (cut == Cut::states) return state && static_cast<long>(t) >= p.lag;
    return cut == reader && (cut == Cut::fed || cut == Cut::query);
  }
  bool carries_still() const { return still_ && intervention_.cut == Cut::carry; }
  // The run whose parameters the step uses.
  const Decoding& at_step(std::size_t t) const { return still_ && !intervention_.moves(t, T_) ? *still_ : *this; }

  Vec one_part(Part p, std::size_t b, std::size_t t, Cut reader) const {
    return (is_cut(p, t, reader) ? *still_ : *this).part(p, b, t);
  }

  Vec parts(const Parts& list, std::size_t b, std::size_t t, Cut reader = Cut::none) const {
    Vec x;
    for (const Part& p : list) x = join(std::move(x), one_part(p, b, t, reader));
    return x;
  }

  void attention(std::size_t first, std::size_t count) {
    if (!is_.attends) return;
    Array queries;
    for (std::size_t b = 0; b < B_; ++b) {
      for (std::size_t t = 0; t < count; ++t) {
        const Vec query = parts(is_.query, b, first + t, Cut::query);
        if (queries.shape.empty()) queries = Array({B_, count, query.size()});
        queries.set_row({b, t}, query);
      }
    }
    const Arrays& bag = at_step(first).given_;
    const Array& H = get(bag, "H");
    const auto as_cut = [&](Cut cut) -> const Array& {
      return still_ && intervention_.cut == cut ? get(still_->given_, "H") : H;
    };
    Attended all = attend(is_.attention, bag, queries, as_cut(Cut::keys), mask_, find(given_, "y_mask"), first);
    if (still_ && intervention_.cut != Cut::none)
      all.context = contexts(is_.attention, intervention_.cut == Cut::weights ? still_->alphas_[first] : all.weights,
                             attention_values(is_.attention, bag, as_cut(Cut::values)), mask_);
    if (still_ && intervention_.softmax != SoftmaxSlope::right) {
      all.weights = weights_along(intervention_.softmax, is_.attention.temperature, still_->alphas_[first],
                                  still_->scores_[first], all.scores);
      all.context = contexts(is_.attention, all.weights, attention_values(is_.attention, bag, H), mask_);
    }
    for (std::size_t t = 0; t < count; ++t) {
      scores_.push_back(step_of(all.scores, t));
      alphas_.push_back(step_of(all.weights, t));
      contexts_.push_back(step_of(all.context, t));
    }
  }

  Array step_of(const Array& all, std::size_t t) const {
    Array one({B_, 1, all.dim(2)});
    for (std::size_t b = 0; b < B_; ++b) one.set_row({b, 0}, all.row({b, t}));
    return one;
  }

  void attentional(std::size_t t) {
    if (is_.attentional.empty() || !find(given_, "W_c")) return;
    std::vector<Vec> rows;
    for (std::size_t b = 0; b < B_; ++b) {
      rows.push_back(
          activate(is_.attentional_activation, linear(at_step(t).given_, "W_c", "b_c", parts(is_.attentional, b, t))));
    }
    attentional_.push_back(std::move(rows));
  }

  void cell(std::size_t t) {
    const std::vector<std::vector<Layers>>& known = (carries_still() ? *still_ : *this).states_;
    std::vector<Layers> next = is_.carry == Carry::initial ? known[0] : known[t];
    for (std::size_t b = 0; b < B_; ++b) {
      if (t > 0 && (is_.carry == Carry::attentional || is_.carry == Carry::context))
        next[b].back().h =
            (carries_still() ? *still_ : *this).part(is_.carry == Carry::context ? c_prev : htilde_prev, b, t);
      Vec x = parts(is_.cell_input, b, t, Cut::fed);
      for (std::size_t l = 0; l < is_.layers; ++l) {
        next[b][l] = cell_step(is_.cell, at_step(t).weights_[l], x, next[b][l]);
        x = next[b][l].h;
      }
    }
    states_.push_back(std::move(next));
  }

  Vec logits(std::size_t b, std::size_t t) const {
    const Arrays& bag = at_step(t).given_;
    if (is_.readout_form == Readout::linear) return linear(bag, "W_o", "b_o", parts(is_.readout, b, t));
    Vec sum;
    for (const Part& p : is_.readout) {
      const char* name = p.what == What::y_emb ? "V_o" : p.what == What::context ? "C_o" : "U_o";
      const Vec term = matvec(get(bag, name), one_part(p, b, t, Cut::none));
      sum = sum.empty() ? term : add(std::move(sum), term);
    }
    Vec larger(sum.size() / 2);
    for (std::size_t k = 0; k < larger.size(); ++k) {
      const bool halves = is_.readout_form == Readout::maxout_halves;
      larger[k] = halves ? std::max(sum[k], sum[k + larger.size()]) : std::max(sum[2 * k], sum[2 * k + 1]);
    }
    return linear(bag, "W_o", "b_o", larger);
  }

  // (B, steps, d) from one row a step and example.
  template <class RowOf> Array stacked(std::size_t steps, RowOf row_of) const {
    Array out;
    for (std::size_t b = 0; b < B_; ++b) {
      for (std::size_t t = 0; t < steps; ++t) {
        const Vec row = row_of(b, t);
        if (out.shape.empty()) out = Array({B_, steps, row.size()});
        out.set_row({b, t}, row);
      }
    }
    return out;
  }

  Arrays outputs() const {
    Arrays out;
    out["s"] = stacked(T_ + 1, [&](std::size_t b, std::size_t t) { return states_[t][b].back().h; });
    if (std::holds_alternative<LstmConvention>(is_.cell)) {
      out["m"] = stacked(T_ + 1, [&](std::size_t b, std::size_t t) { return states_[t][b].back().c; });
    }
    if (is_.attends) {
      out["e"] = stacked(T_, [&](std::size_t b, std::size_t t) { return copy(scores_[t].row({b, 0})); });
      out["alpha"] = stacked(T_, [&](std::size_t b, std::size_t t) { return copy(alphas_[t].row({b, 0})); });
      out["c"] = stacked(T_, [&](std::size_t b, std::size_t t) { return copy(contexts_[t].row({b, 0})); });
    }
    if (!attentional_.empty()) {
      out["htilde"] = stacked(T_, [&](std::size_t b, std::size_t t) { return attentional_[t][b]; });
    }
    if (find(given_, "W_o")) out["logits"] = stacked(T_, [&](std::size_t b, std::size_t t) { return logits(b, t); });
    return out;
  }

  const DecoderConvention& is_;
  const Arrays& given_;
  const Decoding* still_;  // the same decoder with parameters that no difference moves, nullptr for a plain forward
  const Intervention intervention_;
  const Array& y_;
  const Array* mask_;
  std::size_t B_, T_;
  std::vector<CellWeights> weights_;
  Array values_;
  std::vector<std::vector<Layers>> states_;        // [step][row][layer], states_[0] is s_0
  std::vector<Array> scores_, alphas_, contexts_;  // [step], (B, 1, ...)
  std::vector<std::vector<Vec>> attentional_;      // [step][row]
};

}  // namespace

Arrays decode(const DecoderConvention& convention, const Arrays& given) { return Decoding(convention, given).run(); }

Arrays decode(const DecoderConvention& convention, const Arrays& given, const Arrays& still,
              const Intervention& intervention) {
  Decoding calm(convention, still);
  calm.run();
  return Decoding(convention, given, &calm, intervention).run();
}

DecoderConvention bahdanau2014() {
  DecoderConvention convention;
  convention.cell = bahdanau2014_gru();
  return convention;
}

DecoderConvention bahdanau2014_maxout() {
  DecoderConvention convention = bahdanau2014();
  convention.readout = {s_prev, y_emb, c_t};
  convention.readout_form = Readout::maxout;
  return convention;
}

DecoderConvention luong2015(Score score, bool input_feeding) {
  DecoderConvention convention;
  convention.cell = LstmConvention{};
  convention.attention.score.score = score;
  convention.query = {s_t};
  convention.cell_input = input_feeding ? Parts{y_emb, htilde_prev} : Parts{y_emb};
  convention.attentional = {c_t, s_t};
  convention.readout = {htilde};
  return convention;
}

DecoderConvention none() {
  DecoderConvention convention;
  convention.attends = false;
  convention.cell_input = {y_emb};
  convention.readout = {s_t};
  return convention;
}

}  // namespace gradus::reference
