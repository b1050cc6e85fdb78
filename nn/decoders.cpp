// The three decoders.
#include "nn/decoders.h"

#include "tensor/doctor/contract.h"

namespace gradus {
namespace {

// What fits together, in the letters of docs/notation.md. Besides: G is the number of gates of the cell, d_k the width
// of the keys, d_1 that of what start() reads, l half of what the maxout's matrix gives. A row whose tensor a decoder
// does not have is left out: of Luong's two cell.W() the second belongs to input feeding.
constexpr Contract bahdanau_shapes("decoder",
                                   "G  d_s d_h  cell.W() (G d_s, d_emb + d_h)  cell.U() (G d_s, d_s)"
                                   "maxout.W (2 l, d_s + d_emb + d_h)  readout.W (vocab, d_s + d_emb + d_h);"
                                   "y_emb (B, d_emb)  s_prev (B, d_s)  H (B, T_enc, d_h)"
                                   "keys (B, T_enc, d_k)  values (B, T_enc, d_h)  mask (B, T_enc)");
constexpr Contract luong_shapes(
    "decoder",
    "G  d_s d_h  cell.W() (G d_s, d_emb)  cell.W() (G d_s, d_emb + d_c)  cell.U() (G d_s, d_s)"
    "W_c (d_c, d_h + d_s)  readout.W (vocab, d_c);"
    "y_emb (B, d_emb)  s_prev (B, d_s)  s_prev.attentional (B, d_c)  H (B, T_enc, d_h)"
    "keys (B, T_enc, d_k)  values (B, T_enc, d_h)  mask (B, T_enc)");
constexpr Contract plain_shapes("decoder",
                                "G  cell.W() (G d_s, d_emb)  cell.U() (G d_s, d_s)  readout.W (vocab, d_s + d_emb);"
                                "y_emb (B, d_emb)  s_prev (B, d_s)");
// h_1 is the encoder's backward state at position 1; a decoder without attention starts from a summary.
constexpr Contract start_shapes("decoder",
                                "G  bridge.W (d_s, d_1)  cell.U() (G d_s, d_s); h_1 (B, d_1)  summary (B, d_1)");

// Either H, or what a step is made from.
void check_shapes(const BahdanauDecoder& d, const Var& y_emb, const State& s_prev, const Memory& memory,
                  const Var& H = Var()) {
  const Var& readout = d.options.maxout ? Var() : d.readout.W;
  bahdanau_shapes.check("BahdanauDecoder",
                        {d.cell.gates(), d.score.d_s, d.score.d_h, d.cell.W(), d.cell.U(), d.maxout.W, readout, y_emb,
                         s_prev, H, memory.keys, memory.values, memory.mask});
}

void check_shapes(const LuongDecoder& d, const Var& y_emb, const State& s_prev, const Memory& memory,
                  const Var& H = Var()) {
  const bool feeds = d.options.input_feeding;
  luong_shapes.check("LuongDecoder", {d.cell.gates(), d.score.d_s, d.score.d_h, feeds ? Var() : d.cell.W(),
                                      feeds ? d.cell.W() : Var(), d.cell.U(), d.W_c, d.readout.W, y_emb, s_prev,
                                      s_prev.attentional, H, memory.keys, memory.values, memory.mask});
}

}  // namespace

// ---- Bahdanau et al. 2014

BahdanauDecoder::BahdanauDecoder(const DecoderSizes& n, const DecoderOptions& decoder_options, Generator& generator)
    : options(decoder_options),
      bridge(n.d_h / 2, n.d_s, generator, false),
      score(options.score, n.d_s, n.d_h, n.d_attn, generator),
      cell(options.cell, n.d_emb + n.d_h, n.d_s, options.layers, options.gru, generator),
      readout(options.maxout ? n.d_s : n.d_s + n.d_emb + n.d_h, n.vocab, generator),
      maxout(options.maxout ? Linear(n.d_s + n.d_emb + n.d_h, 2 * n.d_s, generator, false) : Linear()) {}

Memory BahdanauDecoder::remember(const Var& H, const std::optional<Mask>& mask) const {
  check_shapes(*this, Var(), State(), {Var(), Var(), mask}, H);
  return {score.keys(H), H, mask};
}

// Appendix A.2.2: s_0 = tanh(W_s h_1(backward)).
State BahdanauDecoder::start(const Var& h_1) const {
  start_shapes.check("BahdanauDecoder", {cell.gates(), bridge.W, cell.U(), h_1, {}});
  return cell.initial(tanh(bridge(h_1)));
}

// Section 3.1: the query is the state BEFORE the step.
Step BahdanauDecoder::step(const Var& y_emb, const State& s_prev, const Memory& memory) const {
  check_shapes(*this, y_emb, s_prev, memory);
  auto [context, weights] = attend(score(s_prev, memory.keys), memory.values, memory.mask);  // (B, d_h), (B, T_enc)
  State s_t = cell.step({y_emb, context}, s_prev);                                           // (B, d_s)
  return {s_t, context, weights};
}

Var BahdanauDecoder::features(const Step& step, const Var& y_emb, const State& s_prev) const {
  const Var& s = options.readout_time == ReadoutTime::s_t ? step.s_t : s_prev;
  return concat({s, y_emb, step.context}, Axis{1});
}

// Appendix A.2.2: t_i = max of each pair of U_o s + V_o y + C_o c, then W_o t; or W_o [s; y; c] + b_o.
Var BahdanauDecoder::logits(const Var& features) const {
  return readout(options.maxout ? maxout_pairs(maxout(features)) : features);
}

void BahdanauDecoder::visit(Visitor& v) {
  v("bridge", bridge);
  v("score", score);
  v("cell", cell);
  v("maxout", maxout);
  v("readout", readout);
}

// ---- Luong et al. 2015

LuongDecoder::LuongDecoder(const DecoderSizes& n, const DecoderOptions& decoder_options, Generator& generator)
    : options(decoder_options),
      bridge(n.d_h / 2, n.d_s, generator, false),
      score(options.score, n.d_s, n.d_h, n.d_attn, generator),
      cell(options.cell, options.input_feeding ? n.d_emb + n.d_s : n.d_emb, n.d_s, options.layers, options.gru,
           generator),
      W_c(xavier(n.d_s, n.d_h + n.d_s, generator)),
      readout(n.d_s, n.vocab, generator) {}

Memory LuongDecoder::remember(const Var& H, const std::optional<Mask>& mask) const {
  check_shapes(*this, Var(), State(), {Var(), Var(), mask}, H);
  return {score.keys(H), H, mask};
}

State LuongDecoder::start(const Var& h_1) const {
  start_shapes.check("LuongDecoder", {cell.gates(), bridge.W, cell.U(), h_1, {}});
  State s_0 = cell.initial(tanh(bridge(h_1)));
  s_0.attentional = zeros(s_0.shape(), s_0.dtype());
  return s_0;
}

// Section 3: the query is the state AFTER the step. Section 3.3: s~_{t-1} is fed to the step with its input.
Step LuongDecoder::step(const Var& y_emb, const State& s_prev, const Memory& memory) const {
  check_shapes(*this, y_emb, s_prev, memory);
  State s_t = options.input_feeding ? cell.step({y_emb, s_prev.attentional}, s_prev) : cell.step(y_emb, s_prev);
  auto [context, weights] = attend(score(s_t, memory.keys), memory.values, memory.mask);  // (B, d_h), (B, T_enc)
  Var attentional = tanh(linear({context, s_t}, W_c, Var()));                             // s~_t (B, d_s), eq. 5
  s_t.attentional = attentional;
  return {s_t, context, weights, attentional};
}

Var LuongDecoder::features(const Step& step, const Var&, const State&) const { return step.attentional; }

Var LuongDecoder::logits(const Var& features) const { return readout(features); }

void LuongDecoder::visit(Visitor& v) {
  v("bridge", bridge);
  v("score", score);
  v("cell", cell);
  v("W_c", W_c);
  v("readout", readout);
}

// ---- without attention

PlainDecoder::PlainDecoder(const DecoderSizes& n, const DecoderOptions& decoder_options, Generator& generator)
    : options(decoder_options),
      bridge(n.d_h, n.d_s, generator, false),
      cell(options.cell, n.d_emb, n.d_s, options.layers, options.gru, generator),
      readout(n.d_s + n.d_emb, n.vocab, generator) {}

Memory PlainDecoder::remember(const Var&, const std::optional<Mask>&) const { return {}; }

State PlainDecoder::start(const Var& summary) const {
  start_shapes.check("PlainDecoder", {cell.gates(), bridge.W, cell.U(), {}, summary});
  return cell.initial(tanh(bridge(summary)));
}

Step PlainDecoder::step(const Var& y_emb, const State& s_prev, const Memory&) const {
  plain_shapes.check("PlainDecoder", {cell.gates(), cell.W(), cell.U(), readout.W, y_emb, s_prev});
  return {cell.step(y_emb, s_prev), Var(), Var()};
}

Var PlainDecoder::features(const Step& step, const Var& y_emb, const State&) const {
  return concat({step.s_t, y_emb}, Axis{1});
}

Var PlainDecoder::logits(const Var& features) const { return readout(features); }

void PlainDecoder::visit(Visitor& v) {
  v("bridge", bridge);
  v("cell", cell);
  v("readout", readout);
}

Var maxout_pairs(const Var& x) {
  const int last = x.rank() - 1;
  const Shape pairs = x.shape().with(Axis{last}, x.shape()[last] / 2).inserted(Axis{last + 1}, 2);
  return max(reshape(x, pairs), Axis{last + 1});
}

}  // namespace gradus
