// The choices at work.
#include "lessons/11_conventions/decoder.h"

#include <cmath>

namespace gradus::lesson11 {
namespace {

std::int64_t beside_the_word(const Choices& c, const DecoderSizes& n) {
  if (c.fault == Fault::no_attention || c.fault == Fault::context_unused) return 0;
  return c.cell_reads == CellReads::nothing ? 0 : c.cell_reads == CellReads::vector_prev ? n.d_s : n.d_h;
}

std::int64_t width_of_features(const Choices& c, const DecoderSizes& n) {
  if (c.vector && c.fault != Fault::no_attention) return n.d_s;
  const bool without = c.fault == Fault::no_attention || c.fault == Fault::context_unused;
  return n.d_s + n.d_emb + (without ? 0 : n.d_h);
}

Tensor as_numbers(const Mask& mask, DType dtype) {
  return tensor(mask.shape(), std::vector<double>(mask.values().begin(), mask.values().end()), dtype);
}

Var zero_like(const Var& x) { return Var(zeros(x.shape(), x.dtype())); }

}  // namespace

DrawnDecoder::DrawnDecoder(const Choices& drawn, const DecoderSizes& n, std::int64_t T_enc, Generator& generator)
    : choices(drawn),
      bridge(n.d_h / 2, n.d_s, generator, false),
      cell(n.d_emb + beside_the_word(drawn, n), n.d_s, {drawn.reset, drawn.update, GruBias::one}, generator),
      readout(width_of_features(drawn, n), n.vocab, generator) {
  if (choices.fault == Fault::no_attention) return;
  const std::int64_t d_query = choices.query == Query::y_emb ? n.d_emb : n.d_s;
  if (choices.fault == Fault::location_score) W_l = xavier(T_enc, d_query, generator);
  else score = Score(choices.score, d_query, n.d_h, n.d_attn, generator);
  if (choices.vector) W_c = xavier(n.d_s, n.d_h + n.d_s, generator);
}

Memory DrawnDecoder::remember(const Var& H, const std::optional<Mask>& mask) const {
  const bool unscored = choices.fault == Fault::no_attention || choices.fault == Fault::location_score;
  return {unscored ? H : score.keys(H), H, mask};
}

State DrawnDecoder::start(const Var& h_1) const {
  State s_0(tanh(bridge(h_1)));
  s_0.attentional = zero_like(s_0);
  return s_0;
}

Step DrawnDecoder::step(const Var& y_emb, const State& s_prev, const Memory& memory) const {
  if (choices.fault == Fault::no_attention) return {next_state(y_emb, s_prev), Var(), Var()};
  const Var c_prev = s_prev.context.defined() ? s_prev.context : zero_like(select(memory.values, Axis{1}, 0));
  const bool asks_first = choices.query != Query::s_t;
  Attended now;
  if (asks_first) now = look(choices.query == Query::y_emb ? y_emb : s_prev, memory);

  std::vector<Var> input{y_emb};
  if (choices.fault != Fault::context_unused) {
    if (choices.cell_reads == CellReads::c_t) input.push_back(now.context);
    if (choices.cell_reads == CellReads::c_prev) input.push_back(c_prev);
    if (choices.cell_reads == CellReads::vector_prev) input.push_back(s_prev.attentional);
  }
  State s_t = next_state(concat(input, Axis{1}), s_prev);  // (B, d_s)
  if (!asks_first) now = look(s_t, memory);

  if (choices.vector) {
    const Var& s = choices.fault == Fault::vector_of_old_state ? s_prev : s_t;
    const Var mixed = affine("W_c [c; s]", concat({now.context, s}, Axis{1}), W_c, Var());
    s_t.attentional = choices.fault == Fault::vector_without_tanh ? mixed : tanh(mixed);
  }
  s_t.context = now.context;
  return {s_t, now.context, now.weights, s_t.attentional};
}

Attended DrawnDecoder::look(const Var& query, const Memory& memory) const {
  const Var alpha = weights(scores(query, memory), memory.mask);  // (B, T_enc)
  const Var& H = memory.values;                                   // (B, T_enc, d_h)
  Var used = alpha;
  if (choices.fault == Fault::context_mean) used = weights(zero_like(alpha), memory.mask);
  const Var context = sum(expand_new(used, Axis{2}, H.shape()[2]) * H, Axis{1});
  return {choices.fault == Fault::context_tanh ? tanh(context) : context, alpha};
}

Var DrawnDecoder::scores(const Var& query, const Memory& memory) const {
  const std::int64_t T_enc = memory.values.shape()[1];
  switch (choices.fault) {
    case Fault::location_score:
      return matmul(query, transpose(narrow(W_l, Axis{0}, 0, T_enc)));
    case Fault::energy_sigmoid:
      return dot(sigmoid(expand_new(matmul(query, transpose(score.W_a)), Axis{1}, T_enc) + memory.keys), score.v_a,
                 Axis{2});
    case Fault::score_over_sqrt_d:
      return score(query, memory.keys) / std::sqrt(static_cast<double>(query.shape()[1]));
    default:
      return score(query, memory.keys);
  }
}

Var DrawnDecoder::weights(const Var& e, const std::optional<Mask>& mask) const {
  if (choices.fault == Fault::softmax_over_batch) {
    const Var far_below(full(e.shape(), -1e9, e.dtype()));
    return softmax(mask ? where(*mask, e, far_below) : e, Axis{0});
  }
  if (!mask || choices.fault == Fault::mask_missing) return softmax(e, Axis{1});
  if (choices.fault == Fault::mask_before_softmax) return softmax(e * Var(as_numbers(*mask, e.dtype())), Axis{1});
  if (choices.fault == Fault::mask_without_renorm) return softmax(e, Axis{1}) * Var(as_numbers(*mask, e.dtype()));
  return softmax(e, Axis{1}, *mask);
}

State DrawnDecoder::next_state(const Var& x, const State& s_prev) const {
  if (choices.fault != Fault::reset_unused && choices.fault != Fault::update_not_convex) {
    return State(cell.step(x, s_prev));
  }
  const std::int64_t d = s_prev.shape()[1];
  const auto gate = [&](const Var& all, std::int64_t k) { return narrow(all, Axis{1}, k * d, d); };
  const auto rows = [&](std::int64_t k) { return transpose(narrow(cell.U, Axis{0}, k * d, d)); };
  const Var wx = cell.project(x), us = matmul(s_prev, transpose(cell.U));  // (B, 3 d_s): r, z, n
  const Var z = sigmoid(gate(wx, 1) + gate(us, 1));
  if (choices.fault == Fault::reset_unused) {
    const Var n = tanh(gate(wx, 2) + gate(us, 2));
    return State(choices.update == GruUpdate::keeps ? z * s_prev + (1.0 - z) * n : (1.0 - z) * s_prev + z * n);
  }
  const Var r = sigmoid(gate(wx, 0) + gate(us, 0));
  const Var reset = choices.reset == GruReset::before ? matmul(r * s_prev, rows(2)) : r * gate(us, 2);
  return State(z * s_prev + tanh(gate(wx, 2) + reset));
}

Var DrawnDecoder::features(const Step& step, const Var& y_emb, const State& s_prev) const {
  if (choices.vector && choices.fault != Fault::no_attention) {
    return choices.fault == Fault::readout_of_old_vector ? s_prev.attentional : step.attentional;
  }
  const Var& s = choices.readout_time == ReadoutTime::s_t ? step.s_t : s_prev;
  if (choices.fault == Fault::no_attention || choices.fault == Fault::context_unused)
    return concat({s, y_emb}, Axis{1});
  Var context = step.context;
  if (choices.fault == Fault::readout_of_old_context) {
    context = s_prev.context.defined() ? s_prev.context : zero_like(step.context);
  }
  return concat({s, y_emb, context}, Axis{1});
}

Var DrawnDecoder::logits(const Var& features) const {
  const Var y = readout(features);
  return choices.fault == Fault::logits_softmaxed ? softmax(y, Axis{y.rank() - 1}) : y;
}

void DrawnDecoder::visit(Visitor& v) {
  v("bridge", bridge);
  v("score", score);
  v("W_l", W_l);
  v("cell", cell);
  v("W_c", W_c);
  v("readout", readout);
}

std::vector<Parameter> reference_parameters(const DrawnDecoder& decoder) {
  std::vector<Parameter> list;
  const std::pair<const char*, Var> all[] = {
      {"W_a", decoder.W_l.defined() ? decoder.W_l : decoder.score.W_a},
      {"U_a", decoder.score.U_a},
      {"v_a", decoder.score.v_a},
      {"W", decoder.cell.W},
      {"U", decoder.cell.U},
      {"b", decoder.cell.b},
      {"W_c", decoder.W_c},
      {"W_o", decoder.readout.W},
      {"b_o", decoder.readout.b},
  };
  for (const auto& [name, var] : all) {
    if (var.defined()) list.push_back({name, var});
  }
  return list;
}

DecoderUnderTest under_test(const DrawnDecoder& decoder) {
  return gradus::under_test("decoder", decoder, reference_parameters(decoder));
}

}  // namespace gradus::lesson11
