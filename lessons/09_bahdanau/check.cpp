// What lesson 09's exercise must do, in the order in which it is mended.
#include "lessons/09_bahdanau/exercise.h"
#include "lessons/common/check_decoder.h"
#include "nn/conventions/diagnosis.h"

namespace gradus::lesson09 {
namespace {

using check::first_of;
using check::has_numbers;
using check::has_shape;
using check::Result;

// ---- what a variant changes (variants.md): sizes, and three choices

struct Choices {
  bool context_first = (check::variant() & 1) != 0, sigmoid = (check::variant() & 2) != 0,
       halved = (check::variant() & 4) != 0;
};

reference::DecoderConvention wanted() {
  const Choices choices;
  reference::DecoderConvention convention = reference::bahdanau2014();
  if (choices.context_first) convention.cell_input = {reference::c_t, reference::y_emb};
  if (choices.sigmoid) convention.attention.score.energy = reference::Activation::sigmoid;
  if (choices.halved) convention.attention.temperature = 2;
  return convention;
}

// Pairwise different, whatever the variant.
DecoderSizes drawn_sizes() {
  std::int64_t lengths[] = {3, 4, 5};
  std::int64_t d_h = 6;
  if (check::variant() > 0) {
    Generator generator(static_cast<std::uint64_t>(check::variant()), "sizes");
    for (std::int64_t i = 2; i > 0; --i) std::swap(lengths[i], lengths[generator.below(i + 1)]);
    d_h += 2 * generator.below(3);
  }
  return {.vocab = 7, .d_emb = lengths[0], .d_s = lengths[1], .d_h = d_h, .d_attn = lengths[2]};
}
const DecoderSizes& sizes() {
  static const DecoderSizes drawn = drawn_sizes();
  return drawn;
}

// ---- shapes, all sizes different

DecoderParts drawn_parts(std::uint64_t seed) {
  Generator generator(seed, "exercise");
  const BahdanauDecoder decoder = clone(BahdanauDecoder(sizes(), {}, generator), f64);
  randomize(parameters(decoder), 0.8, seed);
  return {decoder.score.W_a, decoder.score.U_a, decoder.score.v_a, decoder.cell};
}

Memory remember(const DecoderParts& parts, const Var& H, const std::optional<Mask>& mask) {
  return {additive_keys(H, parts.U_a), H, mask};
}

Result shapes() {
  const DecoderParts parts = drawn_parts(1);
  const DecoderInputs in = random_inputs(sizes(), {.B = 2, .T_dec = 3, .T_enc = 7}, false, 1);
  const std::int64_t B = 2, T_enc = 7;
  Step step;
  return first_of({
      {"additive_keys",
       [&] {
         return has_shape("keys", additive_keys(in.H, parts.U_a), {B, T_enc, sizes().d_attn}, "(B, T_enc, d_attn)");
       }},
      {"additive_score",
       [&] {
         const Var keys = additive_keys(in.H, parts.U_a);
         return has_shape("scores", additive_score(in.s_0, keys, parts.W_a, parts.v_a), {B, T_enc}, "(B, T_enc)");
       }},
      {"decoder_step",
       [&] {
         step = decoder_step(select(in.y_emb, Axis{1}, 0), in.s_0, remember(parts, in.H, in.mask), parts);
         return has_shape("weights", step.weights, {B, T_enc}, "(B, T_enc)");
       }},
      {"decoder_step",
       [&] {
         return has_shape("context", step.context, {B, sizes().d_h}, "(B, d_h)");
       }},
      {"decoder_step",
       [&] {
         return has_shape("s_t", step.s_t, {B, sizes().d_s}, "(B, d_s)");
       }},
  });
}

// ---- the step by hand of the note

Var numbers(const Shape& shape, const std::vector<double>& values) { return tensor(shape, values, f64); }

DecoderParts parts_by_hand() {
  DecoderParts parts{
      numbers({2, 2}, {0.6, -0.2, 0.1, 0.7}), numbers({2, 2}, {0.3, 0.5, -0.4, 0.2}), numbers({2}, {1, -0.8}), {}};
  Generator generator(1, "exercise");
  GruOptions options = bahdanau2014();
  options.bias = GruBias::none;
  parts.cell = Recurrent(CellKind::gru, 3, 2, 1, options, generator);
  parts.cell.gru[0].W =
      numbers({6, 3}, {0.4, 0.2, -0.1, -0.6, 0.1, 0.3, 0.7, -0.3, 0.2, -0.2, 0.5, 0.1, 0.5, 0.4, -0.6, 0.8, -0.2, 0.3});
  parts.cell.gru[0].U = numbers({6, 2}, {0.2, 0.1, 0, 0.3, 0.1, -0.3, 0.2, 0.4, 0.9, -0.7, 0.6, 0.2});
  return parts;
}

struct ByHand {
  std::vector<double> e_1{0.751164, 0.445792, -0.247761}, alpha_1{0.475031, 0.350026, 0.174942};
  std::vector<double> c_1{0.300089, 0.437498}, s_1{0.374796, 0.315559};
};

// The numbers of the note; of a variant, those of the reference.
ByHand expected_by_hand(const DecoderParts& parts, const Var& H, const Var& s_0, const Var& y_0) {
  if (check::variant() == 0) return {};
  const auto array = [](const Var& x) { return to_reference(x.value()); };
  const reference::Arrays out = reference::decode(wanted(), {{"H", array(H)},
                                                             {"s_0", array(s_0)},
                                                             {"y_emb", array(reshape(y_0, Shape{1, 1, 1}))},
                                                             {"W_a", array(parts.W_a)},
                                                             {"U_a", array(parts.U_a)},
                                                             {"v_a", array(parts.v_a)},
                                                             {"W", array(parts.cell.gru[0].W)},
                                                             {"U", array(parts.cell.gru[0].U)}});
  std::vector<double> e_1 = out.at("e").data;
  if (Choices().halved) {
    for (double& e : e_1) e /= 2;
  }
  return {e_1, out.at("alpha").data, out.at("c").data, {out.at("s").data[2], out.at("s").data[3]}};
}

Result step_by_hand() {
  constexpr double six_digits = 1e-6;
  const DecoderParts parts = parts_by_hand();
  const Var H = numbers({1, 3, 2}, {1, 0, 0, 1, -1, 0.5}), s_0 = numbers({1, 2}, {0.2, -0.1}),
            y_0 = numbers({1, 1}, {1});
  const std::vector<double> U_a_h{0.3, -0.4, 0.5, 0.2, -0.05, 0.5};
  const ByHand expected = expected_by_hand(parts, H, s_0, y_0);
  Step step;
  return first_of({
      {"additive_keys", [&] { return has_numbers("U_a h_i", additive_keys(H, parts.U_a), U_a_h, six_digits); }},
      {"additive_score",
       [&] {
         const Var scores = additive_score(s_0, numbers({1, 3, 2}, U_a_h), parts.W_a, parts.v_a);
         return has_numbers("e_1", scores, expected.e_1, six_digits);
       }},
      {"decoder_step",
       [&] {
         step = decoder_step(y_0, s_0, remember(parts, H, std::nullopt), parts);
         return has_numbers("alpha_1", step.weights, expected.alpha_1, six_digits);
       }},
      {"decoder_step", [&] { return has_numbers("c_1", step.context, expected.c_1, six_digits); }},
      {"decoder_step", [&] { return has_numbers("s_1", step.s_t, expected.s_1, six_digits); }},
  });
}

// ---- the three checks, and the name of what is wrong

struct Subject {
  explicit Subject(bool with_mask, std::uint64_t seed = 2)
      : inputs(random_inputs(sizes(), {.B = 3, .T_dec = 3, .T_enc = 5}, with_mask, seed)) {
    const DecoderParts parts = drawn_parts(seed);
    std::vector<Parameter> named{{"W_a", parts.W_a}, {"U_a", parts.U_a}, {"v_a", parts.v_a}};
    for (const Parameter& p : reference_parameters(parts.cell)) named.push_back(p);
    decoder = under_test(
        "yours",
        [parts](const Var& y_emb, const State& s_prev, const Memory& memory) {
          return decoder_step(y_emb, s_prev, memory, parts);
        },
        named, [parts](const Var& H, const std::optional<Mask>& mask) { return remember(parts, H, mask); });
  }
  DecoderInputs inputs;
  DecoderUnderTest decoder;
};

Result in_step(const std::function<Result()>& check) { return first_of({{"decoder_step", check}}); }

Result self_check() {
  const Subject mine(false);
  return in_step([&] { return check::passes(check::check_self(mine.decoder, mine.inputs)); });
}

Result reference_check() {
  const Subject mine(true);
  return in_step([&] { return check::passes(check_reference(mine.decoder, mine.inputs, wanted())); });
}

Result probes() {
  const Subject plain(false), padded(true);
  return in_step([&] {
    return first_of({
        {"", [&] { return check::passes(probe_influence(plain.decoder, plain.inputs, QueryTime::s_prev)); }},
        {"", [&] { return check::passes(probe_context_route(plain.decoder, plain.inputs, ContextRoute::this_step)); }},
        {"", [&] { return check::passes(probe_weights_sum(padded.decoder, padded.inputs)); }},
        {"", [&] { return check::passes(probe_padding_content(padded.decoder, padded.inputs)); }},
        {"", [&] { return check::passes(probe_batch_neighbours(padded.decoder, padded.inputs)); }},
    });
  });
}

// What a variant asks for is no finding.
bool asked_for(const diagnosis::Finding& finding) {
  const Choices choices;
  return (choices.context_first && finding.code == "CELL_INPUT_ORDER") ||
         (choices.sigmoid && finding.code == "ENERGY_SIGMOID") ||
         (choices.halved && finding.code.starts_with("SCALE_"));
}

Result diagnose() {
  const Subject mine(true);
  diagnosis::Verdict verdict = diagnosis::diagnose(check::trace_of(mine.decoder, mine.inputs, "bahdanau2014"));
  std::erase_if(verdict.findings, asked_for);
  return check::passes(verdict);
}

}  // namespace
}  // namespace gradus::lesson09

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson09;
  return {.lesson = "09_bahdanau",
          .taught = {"gradus::Score::", "gradus::BahdanauDecoder::", "vtable for gradus::BahdanauDecoder"},
          .parts = {{"shapes", {"every shape", "各个形状"}, "shapes", shapes},
                    {"numbers", {"the step by hand", "手算的那一步"}, "by-hand", step_by_hand},
                    {"self_check",
                     {"self check: backward against differences", "自检：反向传播与差分"},
                     "blind",
                     self_check},
                    {"reference_check",
                     {"reference check: against the paper", "参照检查：与论文对照"},
                     "formulas",
                     reference_check},
                    {"probes", {"probes: what may depend on what", "探针：谁可以依赖谁"}, "see", probes},
                    {"diagnosis", {"diagnosis: no known mistake", "诊断：没有已知的错误"}, "mistakes", diagnose}},
          .diagnose = diagnose};
}
