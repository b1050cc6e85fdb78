// Names and options carried over; no arithmetic.
#include "nn/conventions/to_reference.h"

#include <memory>
#include <utility>

namespace gradus {
namespace {

void add_if_there(std::vector<Parameter>& list, const std::string& name, const Var& var) {
  if (var.defined()) list.push_back({name, var});
}

void append(std::vector<Parameter>& list, std::vector<Parameter> more) {
  for (Parameter& parameter : more) list.push_back(std::move(parameter));
}

// s_0 as the state of every layer, with what a decoder of the library expects beside it.
State initial_state(const Decoder& decoder, const Var& s_0) {
  const auto* bahdanau = dynamic_cast<const BahdanauDecoder*>(&decoder);
  const auto* luong = dynamic_cast<const LuongDecoder*>(&decoder);
  const auto* plain = dynamic_cast<const PlainDecoder*>(&decoder);
  State state{s_0};
  if (bahdanau) state = bahdanau->cell.initial(s_0);
  if (luong) state = luong->cell.initial(s_0);
  if (plain) state = plain->cell.initial(s_0);
  state.attentional = zeros(s_0.shape(), s_0.dtype());
  return state;
}

void note_step(DecoderRun& run, const Step& step) {
  run.states.push_back(step.s_t);
  if (step.weights.defined()) run.weights.push_back(step.weights);
  if (step.context.defined()) run.contexts.push_back(step.context);
  if (step.attentional.defined()) run.attentional.push_back(step.attentional);
}

DecoderRun run_decoder(const Decoder& decoder, const DecoderInputs& inputs) {
  const Memory memory = decoder.remember(inputs.H, inputs.mask);
  State s_prev = initial_state(decoder, inputs.s_0);
  DecoderRun run;
  run.states.push_back(s_prev);
  for (std::int64_t t = 0; t < inputs.y_emb.size(Axis{1}); ++t) {
    const Var y_t = select(inputs.y_emb, Axis{1}, t);
    const Step step = decoder.step(y_t, s_prev, memory);
    note_step(run, step);
    run.logits.push_back(decoder.logits(decoder.features(step, y_t, s_prev)));
    s_prev = step.s_t;
  }
  return run;
}

template <class Kind> DecoderUnderTest copied(std::string name, const Kind& decoder) {
  auto kept = std::make_shared<const Kind>(decoder);
  return {std::move(name), [kept](const DecoderInputs& inputs) { return run_decoder(*kept, inputs); },
          reference_parameters(decoder)};
}

}  // namespace

reference::Array to_reference(const Tensor& x) {
  reference::Dims dims;
  for (std::int64_t length : x.shape()) dims.push_back(static_cast<std::size_t>(length));
  return reference::Array(dims, x.to_vector());
}

reference::Array to_reference(const Mask& mask) {
  reference::Dims dims;
  for (std::int64_t length : mask.shape()) dims.push_back(static_cast<std::size_t>(length));
  return reference::Array(dims, reference::Vec(mask.values().begin(), mask.values().end()));
}

Tensor to_tensor(const reference::Array& x, DType dtype) {
  Extents lengths;
  for (std::size_t d : x.shape) lengths.insert(lengths.rank(), static_cast<std::int64_t>(d));
  return tensor(Shape(lengths), x.data, dtype);
}

std::vector<std::size_t> lengths_of(const Mask& mask) {
  std::vector<std::size_t> lengths;
  for (std::int64_t b = 0; b < mask.shape()[0]; ++b) {
    std::int64_t real = 0, last = 0;
    for (std::int64_t t = 0; t < mask.shape()[1]; ++t) {
      if (mask.at(b, t)) ++real, last = t + 1;
    }
    if (real != last) {
      throw ValueError("lengths_of: row " + std::to_string(b) +
                       " of the mask has a gap; a recurrent layer needs the real positions first");
    }
    lengths.push_back(static_cast<std::size_t>(real));
  }
  return lengths;
}

reference::GruConvention to_reference(const GruOptions& options) {
  reference::GruConvention convention;
  convention.reset = options.reset == GruReset::before ? reference::GruReset::before : reference::GruReset::after;
  convention.update = options.update == GruUpdate::keeps ? reference::GruUpdate::keeps : reference::GruUpdate::replaces;
  convention.biases = options.bias == GruBias::none  ? reference::Biases::none
                      : options.bias == GruBias::one ? reference::Biases::one
                                                     : reference::Biases::two;
  convention.gate_order = options.order == GruOrder::rzn ? "rzn" : "zrn";
  return convention;
}

reference::LstmConvention to_reference(const Lstm& lstm) {
  return lstm.b_u.defined() ? reference::pytorch_lstm() : reference::keras_lstm();
}

reference::Score to_reference(ScoreKind kind) {
  switch (kind) {
    case ScoreKind::dot:
      return reference::Score::dot;
    case ScoreKind::general:
      return reference::Score::general;
    case ScoreKind::concat:
      return reference::Score::concat;
    case ScoreKind::cosine:
      return reference::Score::cosine;
    case ScoreKind::scaled_dot:
      return reference::Score::scaled_dot;
    case ScoreKind::additive:
      break;
  }
  return reference::Score::additive;
}

reference::CellConvention cell_convention(const Recurrent& cell) {
  if (cell.kind == CellKind::elman) return reference::ElmanConvention{};
  if (cell.kind == CellKind::lstm) return to_reference(cell.lstm.at(0));
  return to_reference(cell.gru.at(0).options);
}

reference::DecoderConvention convention_of(const BahdanauDecoder& decoder) {
  using namespace reference;
  DecoderConvention convention = reference::bahdanau2014();
  convention.cell = cell_convention(decoder.cell);
  convention.layers = static_cast<std::size_t>(decoder.cell.layers());
  convention.attention.score.score = to_reference(decoder.options.score);
  const Part state = decoder.options.readout_time == ReadoutTime::s_t ? s_t : s_prev;
  convention.readout = {state, y_emb, c_t};
  if (decoder.options.maxout) convention.readout_form = Readout::maxout;
  return convention;
}

reference::DecoderConvention convention_of(const LuongDecoder& decoder) {
  reference::DecoderConvention convention =
      reference::luong2015(to_reference(decoder.options.score), decoder.options.input_feeding);
  convention.cell = cell_convention(decoder.cell);
  convention.layers = static_cast<std::size_t>(decoder.cell.layers());
  return convention;
}

reference::DecoderConvention convention_of(const PlainDecoder& decoder) {
  reference::DecoderConvention convention = reference::none();
  convention.cell = cell_convention(decoder.cell);
  convention.layers = static_cast<std::size_t>(decoder.cell.layers());
  convention.readout = {reference::s_t, reference::y_emb};
  return convention;
}

std::vector<Parameter> reference_parameters(const Recurrent& cell, const std::string& suffix) {
  std::vector<Parameter> list;
  for (std::size_t k = 0; k < static_cast<std::size_t>(cell.layers()); ++k) {
    const std::string end = (k == 0 ? "" : "_l" + std::to_string(k)) + suffix;
    auto add = [&](const Var& W, const Var& U, const Var& b, const Var& b_u) {
      add_if_there(list, "W" + end, W);
      add_if_there(list, "U" + end, U);
      add_if_there(list, "b" + end, b);
      add_if_there(list, "b_u" + end, b_u);
    };
    if (cell.kind == CellKind::elman) add(cell.elman[k].W, cell.elman[k].U, cell.elman[k].b, Var());
    if (cell.kind == CellKind::gru) add(cell.gru[k].W, cell.gru[k].U, cell.gru[k].b, cell.gru[k].b_u);
    if (cell.kind == CellKind::lstm) add(cell.lstm[k].W, cell.lstm[k].U, cell.lstm[k].b, cell.lstm[k].b_u);
  }
  return list;
}

std::vector<Parameter> reference_parameters(const Score& score) {
  std::vector<Parameter> list;
  add_if_there(list, "W_a", score.W_a);
  add_if_there(list, "U_a", score.U_a);
  add_if_there(list, "v_a", score.v_a);
  return list;
}

std::vector<Parameter> reference_parameters(const BahdanauDecoder& decoder) {
  std::vector<Parameter> list = reference_parameters(decoder.score);
  append(list, reference_parameters(decoder.cell));
  if (decoder.options.maxout) add_if_there(list, "UVC_o", decoder.maxout.W);
  add_if_there(list, "W_o", decoder.readout.W);
  add_if_there(list, "b_o", decoder.readout.b);
  return list;
}

std::vector<Parameter> reference_parameters(const LuongDecoder& decoder) {
  std::vector<Parameter> list = reference_parameters(decoder.score);
  append(list, reference_parameters(decoder.cell));
  add_if_there(list, "W_c", decoder.W_c);
  add_if_there(list, "W_o", decoder.readout.W);
  add_if_there(list, "b_o", decoder.readout.b);
  return list;
}

std::vector<Parameter> reference_parameters(const PlainDecoder& decoder) {
  std::vector<Parameter> list = reference_parameters(decoder.cell);
  add_if_there(list, "W_o", decoder.readout.W);
  add_if_there(list, "b_o", decoder.readout.b);
  return list;
}

DecoderUnderTest under_test(const BahdanauDecoder& decoder) { return copied("BahdanauDecoder", decoder); }
DecoderUnderTest under_test(const LuongDecoder& decoder) { return copied("LuongDecoder", decoder); }
DecoderUnderTest under_test(const PlainDecoder& decoder) { return copied("PlainDecoder", decoder); }

DecoderUnderTest under_test(std::string name, const Decoder& decoder, std::vector<Parameter> parameters) {
  return {std::move(name), [&decoder](const DecoderInputs& inputs) { return run_decoder(decoder, inputs); },
          std::move(parameters)};
}

DecoderUnderTest under_test(std::string name, StepFunction step, std::vector<Parameter> parameters,
                            RememberFunction remember) {
  auto run = [step = std::move(step), remember = std::move(remember)](const DecoderInputs& inputs) {
    const Memory memory = remember ? remember(inputs.H, inputs.mask) : Memory{inputs.H, inputs.H, inputs.mask};
    State s_prev{inputs.s_0};
    s_prev.attentional = zeros(inputs.s_0.shape(), inputs.s_0.dtype());
    DecoderRun result;
    result.states.push_back(s_prev);
    for (std::int64_t t = 0; t < inputs.y_emb.size(Axis{1}); ++t) {
      const Step done = step(select(inputs.y_emb, Axis{1}, t), s_prev, memory);
      note_step(result, done);
      s_prev = done.s_t;
    }
    return result;
  };
  return {std::move(name), std::move(run), std::move(parameters)};
}

DecoderInputs random_inputs(const DecoderSizes& sizes, const DecoderExtent& extent, bool with_mask, std::uint64_t seed,
                            DType dtype) {
  Generator generator(seed, "check inputs");
  auto leaf = [&](const Shape& shape) { return parameter(random_uniform(shape, -1, 1, generator, dtype)); };
  DecoderInputs inputs;
  inputs.y_emb = leaf(Shape{extent.B, extent.T_dec, sizes.d_emb});
  inputs.H = leaf(Shape{extent.B, extent.T_enc, sizes.d_h});
  inputs.s_0 = leaf(Shape{extent.B, sizes.d_s});
  if (with_mask) {
    std::vector<std::int64_t> lengths;
    for (std::int64_t b = 0; b < extent.B; ++b) lengths.push_back(std::max<std::int64_t>(1, extent.T_enc - b));
    inputs.mask = mask_from_lengths(lengths, extent.T_enc);
  }
  return inputs;
}

void randomize(const std::vector<Parameter>& parameters, double bound, std::uint64_t seed) {
  Generator generator(seed, "check parameters");
  for (const Parameter& p : parameters) {
    copy_(p.var.mutable_value(), random_uniform(p.var.shape(), -bound, bound, generator, p.var.dtype()));
  }
}

}  // namespace gradus
