// The programs, the mistakes, and what a proposed fix does.
#include "tests/nn/shape_mistakes.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "nn/decode.h"
#include "tests/tensor/check.h"

namespace gradus::testing {
namespace {

// ---- numbers

struct Draw {
  World& world;
  std::uint64_t seed = 1;
  void operator()(const std::string& name, const Shape& shape) {
    Numbers numbers(seed++);
    world.numbers[name] = tensor(shape, numbers.many(shape.size(), -1, 1), f64);
  }
};

Mask ragged(std::int64_t batch, std::int64_t length) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t b = 0; b < batch; ++b) lengths.push_back(std::max<std::int64_t>(1, length - b));
  return mask_from_lengths(lengths, length);
}

Var at(const World& w, const std::string& name) {
  const auto found = w.numbers.find(name);
  return found == w.numbers.end() ? Var() : Var(found->second, true);
}
std::optional<Mask> mask_of(const World& w) {
  const auto found = w.masks.find("mask");
  if (found == w.masks.end()) return std::nullopt;
  return found->second;
}
// Of the model that a world belongs to; it keeps the sizes it was made with, whatever happens to its tensors.
Sizes sizes_of(const World& w);

// ---- scores

Score score_of(ScoreKind kind, const World& w) {
  Score score;
  score.kind = kind;
  score.d_s = w.numbers.at("sizes").shape()[0];
  score.d_h = w.numbers.at("sizes").shape()[1];
  score.W_a = at(w, "W_a");
  score.U_a = at(w, "U_a");
  score.v_a = at(w, "v_a");
  return score;
}
bool is_plain(ScoreKind kind) {
  return kind != ScoreKind::additive && kind != ScoreKind::general && kind != ScoreKind::concat;
}

template <ScoreKind kind> World make_score(const Sizes& n) {
  World w;
  Draw draw{w};
  const std::int64_t d_s = is_plain(kind) ? n.d_h : n.d_s;
  const bool projected = kind == ScoreKind::additive || kind == ScoreKind::concat;
  w.numbers["sizes"] = zeros(Shape{d_s, n.d_h}, f64);
  draw(kind == ScoreKind::additive ? "s_prev" : "query", Shape{n.B, d_s});
  draw("H", Shape{n.B, n.T_enc, n.d_h});
  draw("keys", Shape{n.B, n.T_enc, projected ? n.d_attn : n.d_h});
  if (kind == ScoreKind::general) draw("W_a", Shape{d_s, n.d_h});
  if (kind == ScoreKind::additive) draw("W_a", Shape{n.d_attn, d_s});
  if (kind == ScoreKind::additive) draw("U_a", Shape{n.d_attn, n.d_h});
  if (kind == ScoreKind::concat) draw("W_a", Shape{n.d_attn, d_s + n.d_h});
  if (projected) draw("v_a", Shape{n.d_attn});
  return w;
}
template <ScoreKind kind> Tensor run_score(const World& w) {
  return score_of(kind, w)(at(w, kind == ScoreKind::additive ? "s_prev" : "query"), at(w, "keys")).value();
}
template <ScoreKind kind> Tensor run_keys(const World& w) { return score_of(kind, w).keys(at(w, "H")).value(); }

World make_attend(const Sizes& n) {
  World w;
  Draw draw{w};
  draw("scores", Shape{n.B, n.T_enc});
  draw("values", Shape{n.B, n.T_enc, n.d_h});
  w.masks["mask"] = ragged(n.B, n.T_enc);
  return w;
}
Tensor run_attend(const World& w) { return attend(at(w, "scores"), at(w, "values"), mask_of(w)).context.value(); }

// ---- cells

template <int gates> World make_cell(const Sizes& n) {
  World w;
  Draw draw{w};
  draw("W", Shape{gates * n.d_s, n.d_in});
  draw("U", Shape{gates * n.d_s, n.d_s});
  draw("b", Shape{gates * n.d_s});
  if (gates > 1) draw("b_u", Shape{gates * n.d_s});
  draw("x", Shape{n.B, n.d_in});
  draw("s_prev", Shape{n.B, n.d_s});
  if (gates == 4) draw("c_prev", Shape{n.B, n.d_s});
  return w;
}
template <class Cell> Cell cell_of(const World& w) {
  Cell cell;
  cell.W = at(w, "W");
  cell.U = at(w, "U");
  cell.b = at(w, "b");
  if constexpr (!std::is_same_v<Cell, Elman>) cell.b_u = at(w, "b_u");
  return cell;
}
Tensor run_elman(const World& w) { return cell_of<Elman>(w).step(at(w, "x"), at(w, "s_prev")).value(); }
Tensor run_gru(const World& w) {
  Gru cell = cell_of<Gru>(w);
  cell.options = pytorch();
  return cell.step(at(w, "x"), at(w, "s_prev")).value();
}
Tensor run_lstm(const World& w) {
  return cell_of<Lstm>(w).step(at(w, "x"), {at(w, "s_prev"), at(w, "c_prev")}).h.value();
}

World make_run(const Sizes& n) {
  World w = make_cell<3>(n);
  w.numbers["cell.W()"] = w.numbers.at("W");
  w.numbers["cell.U()"] = w.numbers.at("U");
  Draw draw{w, 50};
  draw("x", Shape{n.B, n.T_enc, n.d_in});
  draw("s_0", Shape{n.B, n.d_s});
  w.masks["mask"] = ragged(n.B, n.T_enc);
  return w;
}
Gru run_cell(const World& w) {
  Gru cell = cell_of<Gru>(w);
  cell.W = at(w, "cell.W()");
  cell.U = at(w, "cell.U()");
  return cell;
}
Tensor run_run(const World& w) {
  Recurrent cell;
  cell.gru.push_back(run_cell(w));
  return run(cell, at(w, "x"), State(at(w, "s_0")), mask_of(w)).states.value();
}
Tensor run_bidirectional(const World& w) {
  Bidirectional both;
  both.forward.gru.push_back(run_cell(w));
  both.backward.gru.push_back(run_cell(w));
  return both(at(w, "x"), mask_of(w)).H.value();
}

World make_linear(const Sizes& n) {
  World w;
  Draw draw{w};
  draw("W", Shape{n.vocab, n.d_in});
  draw("b", Shape{n.vocab});
  draw("x", Shape{n.B, n.T_dec, n.d_in});
  return w;
}
World make_bare_linear(const Sizes& n) {
  World w = make_linear(n);
  w.numbers.erase("b");
  w.numbers["x"] = zeros(Shape{n.B, n.d_in}, f64);
  return w;
}
Tensor run_linear(const World& w) {
  Linear layer;
  layer.W = at(w, "W");
  layer.b = at(w, "b");
  return layer(at(w, "x")).value();
}
World make_embedding(const Sizes& n) {
  World w;
  Draw{w}("E", Shape{n.vocab, n.d_emb});
  w.ids["ids"] = Ids(Shape{n.B, n.T_dec}, 1);
  return w;
}
Tensor run_embedding(const World& w) {
  Embedding table;
  table.E = at(w, "E");
  return table(w.ids.at("ids")).value();
}

// ---- decoders

// Of the decoder whose tensors stand in `w`: made with the right sizes, then given these parameters.
template <class Model> Model model_of(const World& w, const DecoderOptions& options) {
  Generator generator(7, "shapes");
  const Sizes n = sizes_of(w);
  Model model = clone(Model({n.vocab, n.d_emb, n.d_s, n.d_h, n.d_attn}, options, generator), f64);
  model.bridge.W = at(w, "bridge.W");
  model.cell.gru[0].W = at(w, "cell.W()");
  model.cell.gru[0].U = at(w, "cell.U()");
  model.readout.W = at(w, "readout.W");
  if constexpr (requires { model.W_c; }) model.W_c = at(w, "W_c");
  return model;
}
Sizes sizes_of(const World& w) {
  const Shape& s = w.numbers.at("decoder sizes").shape();
  const Shape& t = w.numbers.at("decoder widths").shape();
  return {1, 1, 1, s[0], s[1], s[2], t[0], t[1], 1};
}
World decoder_world(const Sizes& n) {
  World w;
  w.numbers["decoder sizes"] = zeros(Shape{n.d_s, n.d_h, n.d_attn}, f64);
  w.numbers["decoder widths"] = zeros(Shape{n.d_emb, n.vocab}, f64);
  Draw draw{w, 80};
  draw("cell.U()", Shape{3 * n.d_s, n.d_s});
  draw("y_emb", Shape{n.B, n.d_emb});
  draw("s_prev", Shape{n.B, n.d_s});
  draw("H", Shape{n.B, n.T_enc, n.d_h});
  draw("keys", Shape{n.B, n.T_enc, n.d_attn});
  draw("values", Shape{n.B, n.T_enc, n.d_h});
  draw("bridge.W", Shape{n.d_s, n.d_h / 2});
  draw("h_1", Shape{n.B, n.d_h / 2});
  w.masks["mask"] = ragged(n.B, n.T_enc);
  return w;
}
World make_bahdanau(const Sizes& n) {
  World w = decoder_world(n);
  Draw draw{w, 100};
  draw("cell.W()", Shape{3 * n.d_s, n.d_emb + n.d_h});
  draw("readout.W", Shape{n.vocab, n.d_s + n.d_emb + n.d_h});
  return w;
}
World make_luong(const Sizes& n) {
  World w = decoder_world(n);
  Draw draw{w, 120};
  draw("cell.W()", Shape{3 * n.d_s, n.d_emb + n.d_s});
  draw("readout.W", Shape{n.vocab, n.d_s});
  draw("W_c", Shape{n.d_s, n.d_h + n.d_s});
  draw("s_prev.attentional", Shape{n.B, n.d_s});
  return w;
}
World make_plain(const Sizes& n) {
  World w = decoder_world(n);
  Draw draw{w, 140};
  draw("cell.W()", Shape{3 * n.d_s, n.d_emb});
  draw("readout.W", Shape{n.vocab, n.d_s + n.d_emb});
  draw("bridge.W", Shape{n.d_s, n.d_h});
  draw("summary", Shape{n.B, n.d_h});
  return w;
}
Tensor run_bahdanau(const World& w) {
  const auto model = model_of<BahdanauDecoder>(w, {});
  const State s_prev(at(w, "s_prev"));
  const Step step = model.step(at(w, "y_emb"), s_prev, {at(w, "keys"), at(w, "values"), mask_of(w)});
  return model.logits(model.features(step, at(w, "y_emb"), s_prev)).value();
}
Tensor run_luong(const World& w) {
  const auto model = model_of<LuongDecoder>(w, {.score = ScoreKind::concat});
  State s_prev(at(w, "s_prev"));
  s_prev.attentional = at(w, "s_prev.attentional");
  const Step step = model.step(at(w, "y_emb"), s_prev, {at(w, "keys"), at(w, "values"), mask_of(w)});
  return model.logits(model.features(step, at(w, "y_emb"), s_prev)).value();
}
Tensor run_plain(const World& w) {
  const auto model = model_of<PlainDecoder>(w, {});
  const State s_prev(at(w, "s_prev"));
  const Step step = model.step(at(w, "y_emb"), s_prev, {});
  return model.logits(model.features(step, at(w, "y_emb"), s_prev)).value();
}
Tensor run_remember(const World& w) {
  return model_of<BahdanauDecoder>(w, {}).remember(at(w, "H"), mask_of(w)).keys.value();
}
Tensor run_start(const World& w) { return model_of<BahdanauDecoder>(w, {}).start(at(w, "h_1")).value(); }
Tensor run_plain_start(const World& w) { return model_of<PlainDecoder>(w, {}).start(at(w, "summary")).value(); }

World make_teacher(const Sizes& n) {
  World w = make_bahdanau(n);
  Draw draw{w, 160};
  draw("y_emb", Shape{n.B, n.T_dec, n.d_emb});
  draw("s_0", Shape{n.B, n.d_s});
  return w;
}
Tensor run_teacher(const World& w) {
  const auto model = model_of<BahdanauDecoder>(w, {});
  return decode_teacher(model, at(w, "y_emb"), State(at(w, "s_0")), {at(w, "keys"), at(w, "values"), mask_of(w)})
      .logits.value();
}

// ---- losses

World make_sequence_loss(const Sizes& n) {
  World w;
  Draw{w}("logits", Shape{n.B, n.T_dec, n.vocab});
  w.ids["targets"] = Ids(Shape{n.B, n.T_dec});
  for (std::int64_t i = 0; i < n.B * n.T_dec; ++i) w.ids["targets"][i] = static_cast<std::int32_t>(i % 2);
  w.masks["mask"] = ragged(n.B, n.T_dec);
  return w;
}
World make_loss(const Sizes& n) {
  World w;
  Draw{w}("logits", Shape{n.B, n.vocab});
  w.ids["targets"] = Ids(Shape{n.B}, 1);
  w.masks["mask"] = Mask(Shape{n.B}, std::uint8_t{1});
  return w;
}
Tensor run_loss(const World& w) {
  return cross_entropy(at(w, "logits"), w.ids.at("targets"), w.masks.at("mask")).value();
}
World make_mse(const Sizes& n) {
  World w;
  Draw draw{w};
  draw("prediction", Shape{n.B, n.d_in});
  draw("target", Shape{n.B, n.d_in});
  return w;
}
Tensor run_mse(const World& w) { return mse(at(w, "prediction"), at(w, "target")).value(); }

// ---- breaking and mending

std::vector<std::int64_t> lengths_of(const Shape& shape) { return {shape.begin(), shape.end()}; }
Shape shape_of(const std::vector<std::int64_t>& lengths) {
  Extents extents;
  for (std::int64_t length : lengths) extents.insert(extents.rank(), length);
  return Shape(extents);
}

// Tensors, ids and masks alike: element by element into a new shape. Where `from` does not say, entries repeat.
template <class T> std::vector<T> refill(const std::vector<T>& from, std::int64_t size) {
  std::vector<T> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = from[i % from.size()];
  return values;
}
template <class T> std::vector<T> swap_axes(const Shape& shape, const std::vector<T>& from, int a, int b) {
  Shape to = shape;
  std::swap(to[a], to[b]);
  std::vector<T> values;
  const Extents strides = shape.dense_strides();
  for_each_index(to, [&](std::vector<std::int64_t> index) {
    std::swap(index[static_cast<std::size_t>(a)], index[static_cast<std::size_t>(b)]);
    std::int64_t place = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) place += index[static_cast<std::size_t>(axis)] * strides[axis];
    values.push_back(from[static_cast<std::size_t>(place)]);
  });
  return values;
}

// One array of a world, whatever it holds.
template <class F> void visit(World& w, const std::string& name, F f) {
  if (const auto x = w.numbers.find(name); x != w.numbers.end()) {
    auto [shape, values] = f(x->second.shape(), x->second.to_vector());
    x->second = tensor(shape, values, f64);
  } else if (const auto m = w.masks.find(name); m != w.masks.end()) {
    auto [shape, values] = f(m->second.shape(), m->second.values());
    m->second = Mask(shape, values);
  } else {
    Ids& ids = w.ids.at(name);
    auto [shape, values] = f(ids.shape(), ids.values());
    ids = Ids(shape, values);
  }
}
void reshape_entry(World& w, const std::string& name, const Shape& to) {
  visit(w, name, [&](const Shape&, const auto& values) { return std::pair(to, refill(values, to.size())); });
}
void swap_entry(World& w, const std::string& name, int a, int b) {
  visit(w, name, [&](const Shape& shape, const auto& values) {
    Shape to = shape;
    std::swap(to[a], to[b]);
    return std::pair(to, swap_axes(shape, values, a, b));
  });
}
void copy_entry(World& to, const std::string& name, const World& from, const std::string& source) {
  if (from.numbers.count(source)) to.numbers[name] = from.numbers.at(source);
  else if (from.masks.count(source)) to.masks[name] = from.masks.at(source);
  else to.ids[name] = from.ids.at(source);
}

}  // namespace

Shape World::shape(const std::string& name) const {
  if (numbers.count(name)) return numbers.at(name).shape();
  return masks.count(name) ? masks.at(name).shape() : ids.at(name).shape();
}

const std::vector<Program>& programs() {
  static const std::vector<Program> all{
      {"dot", make_score<ScoreKind::dot>, run_score<ScoreKind::dot>},
      {"cosine", make_score<ScoreKind::cosine>, run_score<ScoreKind::cosine>},
      {"scaled dot", make_score<ScoreKind::scaled_dot>, run_score<ScoreKind::scaled_dot>},
      {"general", make_score<ScoreKind::general>, run_score<ScoreKind::general>},
      {"additive", make_score<ScoreKind::additive>, run_score<ScoreKind::additive>},
      {"concat", make_score<ScoreKind::concat>, run_score<ScoreKind::concat>},
      {"dot keys", make_score<ScoreKind::dot>, run_keys<ScoreKind::dot>},
      {"general keys", make_score<ScoreKind::general>, run_keys<ScoreKind::general>},
      {"additive keys", make_score<ScoreKind::additive>, run_keys<ScoreKind::additive>},
      {"concat keys", make_score<ScoreKind::concat>, run_keys<ScoreKind::concat>},
      {"attend", make_attend, run_attend},
      {"Elman", make_cell<1>, run_elman},
      {"GRU", make_cell<3>, run_gru},
      {"LSTM", make_cell<4>, run_lstm},
      {"run", make_run, run_run},
      {"bidirectional", make_run, run_bidirectional},
      {"Linear", make_linear, run_linear},
      {"Linear without bias", make_bare_linear, run_linear},
      {"Embedding", make_embedding, run_embedding},
      {"Bahdanau", make_bahdanau, run_bahdanau},
      {"Bahdanau remember", make_bahdanau, run_remember},
      {"Bahdanau start", make_bahdanau, run_start},
      {"Luong", make_luong, run_luong},
      {"plain", make_plain, run_plain},
      {"plain start", make_plain, run_plain_start},
      {"teacher", make_teacher, run_teacher},
      {"sequence loss", make_sequence_loss, run_loss},
      {"loss", make_loss, run_loss},
      {"mse", make_mse, run_mse},
  };
  return all;
}

const Program& program(const std::string& name) {
  for (const Program& p : programs()) {
    if (p.name == name) return p;
  }
  throw std::logic_error("no program " + name);
}

const std::vector<Mistake>& mistakes() {
  using enum Break;
  using enum FixKind;
  static const std::vector<Mistake> all{
      // scores
      {"additive", "W_a", transposed, "(d_attn, d_s)", transpose},
      {"additive", "W_a", longer_last, "(d_attn, d_s)", resize},
      {"additive", "W_a", longer_first, "(d_attn, d_s)", resize},
      {"additive", "W_a", exchanged, "(d_attn, d_s)", exchange, "U_a"},
      {"additive", "U_a", transposed, "(d_attn, d_h)", transpose},
      {"additive", "U_a", longer_last, "(d_attn, d_h)", resize},
      {"additive", "v_a", one_in_front, "(d_attn)", drop_axis},
      {"additive", "v_a", one_behind, "(d_attn)", drop_axis},
      {"additive", "v_a", longer_last, "(d_attn)", resize},
      {"additive", "s_prev", transposed, "(B, d_s)", transpose},
      {"additive", "s_prev", first_row, "(B, d_s)", resize},
      {"additive", "s_prev", one_in_front, "(B, d_s)", drop_axis},
      {"additive", "s_prev", longer_last, "(B, d_s)", resize},
      {"additive", "s_prev", longer_first, "(B, d_s)", resize},
      {"additive", "keys", swapped_01, "(B, T_enc, d_attn)", swap_axes},
      {"additive", "keys", swapped_12, "(B, T_enc, d_attn)", swap_axes},
      {"additive", "keys", other_instead, "(B, T_enc, d_attn)", pass_other, "H"},
      {"additive", "keys", merged, "(B, T_enc, d_attn)", reshape},
      {"additive keys", "U_a", transposed, "(d_attn, d_h)", transpose},
      {"additive keys", "U_a", longer_last, "(d_attn, d_h)", resize},
      {"additive keys", "H", swapped_12, "(B, T_enc, d_h)", swap_axes},
      {"additive keys", "H", shorter_last, "(B, T_enc, d_h)", resize},
      {"additive keys", "H", first_row, "(B, T_enc, d_h)", insert_axis},
      {"concat", "W_a", transposed, "(d_attn, d_s + d_h)", transpose},
      {"concat", "W_a", made_as, "(d_attn, d_s + d_h)", resize, "",
       [](const Sizes& n) {
         return Shape{n.d_attn, n.d_s};
       }},
      {"concat", "query", longer_last, "(B, d_s)", resize},
      {"concat", "v_a", one_in_front, "(d_attn)", drop_axis},
      {"concat keys", "H", swapped_12, "(B, T_enc, d_h)", swap_axes},
      {"general", "W_a", transposed, "(d_s, d_h)", transpose},
      {"general", "W_a", longer_last, "(d_s, d_h)", resize},
      {"general", "query", transposed, "(B, d_s)", transpose},
      {"general", "keys", swapped_01, "(B, T_enc, d_h)", swap_axes},
      {"general keys", "H", swapped_12, "(B, T_enc, d_h)", swap_axes},
      {"dot", "query", transposed, "(B, d_h)", transpose},
      {"dot", "keys", swapped_01, "(B, T_enc, d_h)", swap_axes},
      {"dot", "keys", swapped_12, "(B, T_enc, d_h)", swap_axes},
      {"dot", "query", longer_first, "(B, d_h)", resize},
      {"cosine", "query", one_in_front, "(B, d_h)", drop_axis},
      {"scaled dot", "keys", swapped_12, "(B, T_enc, d_h)", swap_axes},
      {"dot keys", "H", swapped_12, "(B, T_enc, d_h)", swap_axes},
      // weights, context, masks
      {"attend", "scores", one_behind, "(B, T_enc)", drop_axis},
      {"attend", "scores", transposed, "(B, T_enc)", transpose},
      {"attend", "scores", first_row, "(B, T_enc)", resize},
      {"attend", "values", swapped_01, "(B, T_enc, d_h)", swap_axes},
      {"attend", "values", swapped_12, "(B, T_enc, d_h)", swap_axes},
      {"attend", "values", merged, "(B, T_enc, d_h)", reshape},
      {"attend", "mask", transposed, "(B, T_enc)", transpose},
      {"attend", "mask", longer_last, "(B, T_enc)", resize},
      {"attend", "mask", shorter_last, "(B, T_enc)", resize},
      {"attend", "mask", first_row, "(B, T_enc)", resize},
      {"attend", "mask", one_behind, "(B, T_enc)", drop_axis},
      // cells and runs
      {"Elman", "W", transposed, "(d_s, d_in)", transpose},
      {"Elman", "x", longer_last, "(B, d_in)", resize},
      {"GRU", "W", transposed, "(3 d_s, d_in)", transpose},
      {"GRU", "U", transposed, "(3 d_s, d_s)", transpose},
      {"GRU", "U", made_as, "(3 d_s, d_s)", resize, "",
       [](const Sizes& n) {
         return Shape{n.d_s, n.d_s};
       }},
      {"GRU", "b", made_as, "(3 d_s)", resize, "", [](const Sizes& n) { return Shape{n.d_s}; }},
      {"GRU", "b_u", one_in_front, "(3 d_s)", drop_axis},
      {"GRU", "x", transposed, "(B, d_in)", transpose},
      {"GRU", "x", one_in_front, "(B, d_in)", drop_axis},
      {"GRU", "s_prev", transposed, "(B, d_s)", transpose},
      {"GRU", "s_prev", first_row, "(B, d_s)", resize},
      {"GRU", "s_prev", longer_last, "(B, d_s)", resize},
      {"LSTM", "U", transposed, "(4 d_s, d_s)", transpose},
      {"LSTM", "W", made_as, "(4 d_s, d_in)", resize, "",
       [](const Sizes& n) {
         return Shape{3 * n.d_s, n.d_in};
       }},
      {"LSTM", "c_prev", transposed, "(B, d_s)", transpose},
      {"LSTM", "c_prev", longer_last, "(B, d_s)", resize},
      {"LSTM", "c_prev", one_in_front, "(B, d_s)", drop_axis},
      {"run", "x", swapped_01, "(B, T, d_in)", swap_axes},
      {"run", "x", swapped_12, "(B, T, d_in)", swap_axes},
      {"run", "x", merged, "(B, T, d_in)", reshape},
      {"run", "mask", transposed, "(B, T)", transpose},
      {"run", "mask", longer_last, "(B, T)", resize},
      {"run", "s_0", transposed, "(B, d_s)", transpose},
      {"run", "s_0", one_in_front, "(B, d_s)", drop_axis},
      {"run", "cell.W()", transposed, "(3 d_s, d_in)", transpose},
      {"bidirectional", "mask", longer_last, "(B, T)", resize},
      {"bidirectional", "x", swapped_01, "(B, T, d_in)", swap_axes},
      // other layers
      {"Linear", "W", transposed, "(d_out, d_in)", transpose},
      {"Linear", "b", one_behind, "(d_out)", drop_axis},
      {"Linear", "b", longer_last, "(d_out)", resize},
      {"Linear", "x", swapped_12, "(..., d_in)", swap_axes},
      {"Linear", "x", longer_last, "(..., d_in)", resize},
      {"Linear without bias", "W", transposed, "(d_out, d_in)", transpose},
      {"Linear without bias", "x", transposed, "(..., d_in)", transpose},
      {"Linear without bias", "x", first_row, "(..., d_in)", insert_axis},
      {"Embedding", "E", one_in_front, "(vocab, d_emb)", drop_axis},
      // decoders
      {"Bahdanau", "y_emb", transposed, "(B, d_emb)", transpose},
      {"Bahdanau", "y_emb", first_row, "(B, d_emb)", resize},
      {"Bahdanau", "y_emb", made_as, "(B, d_emb)", resize, "",
       [](const Sizes& n) {
         return Shape{n.B, n.d_emb + n.d_h};
       }},
      {"Bahdanau", "s_prev", transposed, "(B, d_s)", transpose},
      {"Bahdanau", "s_prev", longer_last, "(B, d_s)", resize},
      {"Bahdanau", "values", other_instead, "(B, T_enc, d_h)", pass_other, "keys"},
      {"Bahdanau", "values", swapped_01, "(B, T_enc, d_h)", swap_axes},
      {"Bahdanau", "values", exchanged, "(B, T_enc, d_h)", exchange, "keys"},
      {"Bahdanau", "keys", swapped_01, "(B, T_enc, d_k)", swap_axes},
      {"Bahdanau", "mask", transposed, "(B, T_enc)", transpose},
      {"Bahdanau", "mask", made_as, "(B, T_enc)", resize, "",
       [](const Sizes& n) {
         return Shape{n.B, n.T_dec};
       }},
      {"Bahdanau", "cell.W()", made_as, "(3 d_s, d_emb + d_h)", resize, "",
       [](const Sizes& n) {
         return Shape{3 * n.d_s, n.d_emb};
       }},
      {"Bahdanau", "cell.W()", transposed, "(3 d_s, d_emb + d_h)", transpose},
      {"Bahdanau", "cell.U()", transposed, "(3 d_s, d_s)", transpose},
      {"Bahdanau", "readout.W", transposed, "(vocab, d_s + d_emb + d_h)", transpose},
      {"Bahdanau", "readout.W", made_as, "(vocab, d_s + d_emb + d_h)", resize, "",
       [](const Sizes& n) {
         return Shape{n.vocab, n.d_s};
       }},
      {"Bahdanau remember", "H", swapped_01, "(B, T_enc, d_h)", swap_axes},
      {"Bahdanau remember", "H", swapped_12, "(B, T_enc, d_h)", swap_axes},
      {"Bahdanau remember", "mask", longer_last, "(B, T_enc)", resize},
      {"Bahdanau start", "h_1", transposed, "(B, d_1)", transpose},
      {"Bahdanau start", "h_1", made_as, "(B, d_1)", resize, "",
       [](const Sizes& n) {
         return Shape{n.B, n.d_h};
       }},
      {"Bahdanau start", "bridge.W", transposed, "(d_s, d_1)", transpose},
      {"Luong", "W_c", transposed, "(d_c, d_h + d_s)", transpose},
      {"Luong", "W_c", made_as, "(d_c, d_h + d_s)", resize, "",
       [](const Sizes& n) {
         return Shape{n.d_s, n.d_h};
       }},
      {"Luong", "cell.W()", made_as, "(3 d_s, d_emb + d_c)", resize, "",
       [](const Sizes& n) {
         return Shape{3 * n.d_s, n.d_emb};
       }},
      {"Luong", "s_prev.attentional", transposed, "(B, d_c)", transpose},
      {"Luong", "y_emb", longer_last, "(B, d_emb)", resize},
      {"Luong", "readout.W", transposed, "(vocab, d_c)", transpose},
      {"plain", "y_emb", transposed, "(B, d_emb)", transpose},
      {"plain", "cell.W()", transposed, "(3 d_s, d_emb)", transpose},
      {"plain start", "summary", transposed, "(B, d_1)", transpose},
      {"teacher", "y_emb", swapped_01, "(B, T_dec, d_emb)", swap_axes},
      {"teacher", "y_emb", merged, "(B, T_dec, d_emb)", reshape},
      {"teacher", "s_0", transposed, "(B, d_s)", transpose},
      // losses
      {"sequence loss", "logits", swapped_12, "(B, T_dec, vocab)", swap_axes},
      {"sequence loss", "logits", swapped_01, "(B, T_dec, vocab)", swap_axes},
      {"sequence loss", "logits", merged, "(B, T_dec, vocab)", reshape},
      {"sequence loss", "targets", longer_last, "(B, T_dec)", resize},
      {"sequence loss", "targets", transposed, "(B, T_dec)", transpose},
      {"sequence loss", "targets", merged, "(B, T_dec)", reshape},
      {"sequence loss", "mask", transposed, "(B, T_dec)", transpose},
      {"sequence loss", "mask", longer_last, "(B, T_dec)", resize},
      {"loss", "logits", transposed, "(B, vocab)", transpose},
      {"loss", "targets", one_behind, "(B)", drop_axis},
      {"loss", "targets", longer_last, "(B)", resize},
      {"mse", "target", transposed, "(B, d_out)", transpose},
      {"mse", "target", one_behind, "(B, d_out)", drop_axis},
  };
  return all;
}

void make(const Mistake& m, World& w, const Sizes& sizes) {
  const std::string name = m.tensor;
  std::vector<std::int64_t> lengths = lengths_of(w.shape(name));
  switch (m.how) {
    case Break::transposed:
    case Break::swapped_01:
      return swap_entry(w, name, 0, 1);
    case Break::swapped_12:
      return swap_entry(w, name, 1, 2);
    case Break::exchanged: {
      const World before = w;
      copy_entry(w, name, before, m.other);
      return copy_entry(w, m.other, before, name);
    }
    case Break::other_instead:
      return copy_entry(w, name, w, m.other);
    case Break::made_as:
      return reshape_entry(w, name, m.shape(sizes));
    case Break::first_row:
      lengths.erase(lengths.begin());
      break;
    case Break::one_in_front:
      lengths.insert(lengths.begin(), 1);
      break;
    case Break::one_behind:
      lengths.push_back(1);
      break;
    case Break::longer_first:
      ++lengths.front();
      break;
    case Break::longer_last:
      ++lengths.back();
      break;
    case Break::shorter_last:
      --lengths.back();
      break;
    case Break::merged:
      lengths[1] *= lengths[0];
      lengths.erase(lengths.begin());
      break;
  }
  reshape_entry(w, name, shape_of(lengths));
}

void apply(const ShapeReport& report, World& world, const World& right) {
  std::vector<std::string> names = report.also;
  names.insert(names.begin(), report.tensor);
  const ShapeFix& fix = report.fix;
  if (fix.kind == FixKind::exchange) {
    const World before = world;
    copy_entry(world, report.tensor, before, fix.other);
    return copy_entry(world, fix.other, before, report.tensor);
  }
  for (const std::string& name : names) {
    switch (fix.kind) {
      case FixKind::transpose:
        swap_entry(world, name, 0, 1);
        break;
      case FixKind::swap_axes:
        swap_entry(world, name, fix.a, fix.b);
        break;
      case FixKind::insert_axis:
      case FixKind::drop_axis:
      case FixKind::reshape:
        if (name == report.tensor) reshape_entry(world, name, fix.to);
        break;
      default:
        copy_entry(world, name, right, name);
    }
  }
}

}  // namespace gradus::testing
