// What lesson 09's exercise must do, in the order in which it is mended.
#include <algorithm>
#include <cmath>

#include "lessons/09_bahdanau/exercise.h"
#include "lessons/common/check_decoder.h"
#include "nn/conventions/diagnosis.h"

namespace gradus::lesson09 {
namespace {

using check::Failure;
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

// Pairwise different, whatever the variant, and different from the extent: a size must not pass for another.
constexpr DecoderExtent extent{.B = 3, .T_dec = 4, .T_enc = 8};
DecoderSizes drawn_sizes() {
  std::int64_t lengths[] = {5, 6, 7};
  std::int64_t d_h = 10;
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

Tensor random_like(const Var& x) {
  Generator generator(7, "exercise");
  return random_uniform(x.shape(), -1, 1, generator, f64);
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
  const DecoderInputs in = random_inputs(sizes(), extent, false, 1);
  const std::int64_t B = extent.B, T_enc = extent.T_enc;
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

// The right step around the learner's keys and score.
Step step_of_the_course(const Var& y_emb, const State& s_prev, const Memory& memory, const DecoderParts& parts) {
  const auto [context, weights] =
      attend(additive_score(s_prev, memory.keys, parts.W_a, parts.v_a), memory.values, memory.mask);
  const std::vector<Var> order =
      Choices().context_first ? std::vector<Var>{context, y_emb} : std::vector<Var>{y_emb, context};
  return {parts.cell.step(concat(order, Axis{1}), s_prev), context, weights};
}

struct Subject {
  explicit Subject(bool with_mask, std::uint64_t seed = 2, decltype(&decoder_step) step = decoder_step)
      : inputs(random_inputs(sizes(), extent, with_mask, seed)) {
    const DecoderParts parts = drawn_parts(seed);
    std::vector<Parameter> named{{"W_a", parts.W_a}, {"U_a", parts.U_a}, {"v_a", parts.v_a}};
    for (const Parameter& p : reference_parameters(parts.cell)) named.push_back(p);
    decoder = under_test(
        "yours",
        [parts, step](const Var& y_emb, const State& s_prev, const Memory& memory) {
          return step(y_emb, s_prev, memory, parts);
        },
        named, [parts](const Var& H, const std::optional<Mask>& mask) { return remember(parts, H, mask); });
  }
  DecoderInputs inputs;
  DecoderUnderTest decoder;
};

Result in_step(const std::function<Result()>& check) { return first_of({{"decoder_step", check}}); }

// Whether `y` moves with the leaf `x` although no gradient goes from it to x: somewhere on the way the numbers were
// copied and the tape was left behind.
bool cut_off(const std::function<Var()>& y, const Var& x) {
  const Var before = y();
  x.zero_grad();
  if (before.requires_grad()) backward(sum(before * Var(random_like(before))));
  const std::vector<double> gradient = x.grad().to_vector();
  x.zero_grad();
  if (std::any_of(gradient.begin(), gradient.end(), [](double g) { return g != 0; })) return false;
  const Tensor kept = copy(x.value());
  copy_(x.mutable_value(), random_like(x));
  const bool moves = y().value().to_vector() != before.value().to_vector();
  copy_(x.mutable_value(), kept);
  return moves;
}

Result nothing_is_cut_off() {
  const DecoderParts parts = drawn_parts(2);
  const DecoderInputs in = random_inputs(sizes(), extent, false, 2);
  const Var keys = parameter(random_like(additive_keys(in.H, parts.U_a)));
  const auto score = [&] { return additive_score(in.s_0, keys, parts.W_a, parts.v_a); };
  const auto step = [&] {
    return decoder_step(select(in.y_emb, Axis{1}, 0), in.s_0, remember(parts, in.H, std::nullopt), parts);
  };
  struct Way {
    const char *place, *from, *to;
    std::function<Var()> y;
    Var x;
  };
  std::vector<Way> ways{
      {"additive_keys", "H", "keys", [&] { return additive_keys(in.H, parts.U_a); }, in.H},
      {"additive_keys", "U_a", "keys", [&] { return additive_keys(in.H, parts.U_a); }, parts.U_a},
      {"additive_score", "query", "scores", score, in.s_0},
      {"additive_score", "keys", "scores", score, keys},
      {"additive_score", "W_a", "scores", score, parts.W_a},
      {"additive_score", "v_a", "scores", score, parts.v_a},
      {"decoder_step", "s_prev", "weights", [&] { return step().weights; }, in.s_0},
      {"decoder_step", "H", "weights", [&] { return step().weights; }, in.H},
      {"decoder_step", "s_prev", "context", [&] { return step().context; }, in.s_0},
      {"decoder_step", "H", "context", [&] { return step().context; }, in.H},
      {"decoder_step", "s_prev", "s_t", [&]() -> Var { return step().s_t; }, in.s_0},
      {"decoder_step", "H", "s_t", [&]() -> Var { return step().s_t; }, in.H},
      {"decoder_step", "y_emb", "s_t", [&]() -> Var { return step().s_t; }, in.y_emb},
  };
  for (const Way& way : ways) {
    if (!cut_off(way.y, way.x)) continue;
    Failure failure;
    failure.code = "GRAPH_DROPPED";
    failure.place = way.place;
    const std::string from = way.from, to = way.to;
    failure.why = {
        "a change of " + from + " reaches " + to + ", yet no gradient comes back: the tape is cut in between",
        from + " 的变化传得到 " + to + "，梯度却传不回来：中间断开了计算图"};
    failure.fix = {
        "go on with the Var itself: Var(x.value()) has x's numbers and no tape, and so has all under a NoGrad",
        "直接用 Var 本身往下算；Var(x.value()) 只有 x 的数值，不在计算图上，NoGrad 之下的结果也一样"};
    return failure;
  }
  return std::nullopt;
}

Result self_check() {
  const Subject mine(false);
  Result failure = in_step([&] { return check::passes(check::check_self(mine.decoder, mine.inputs)); });
  if (!failure || failure->code == to_string(GradientVerdict::nondeterministic)) return failure;
  if (Result cut = nothing_is_cut_off()) {
    cut->expected = failure->expected;
    cut->got = failure->got;
    return cut;
  }
  return failure;
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

// A known option of the library's tables, told in words of this lesson where it has better ones.
Failure known(const char* field, const char* id, const char* place, Words why = {}) {
  const diagnosis::Option& option = *diagnosis::find_option(field, id);
  Failure failure;
  failure.code = option.code;
  failure.place = place;
  failure.why = why.en.empty() ? Words{option.sentence.en, option.sentence.zh} : std::move(why);
  failure.used = option.used;
  failure.paper = option.paper;
  failure.fix = {option.fix.en, option.fix.zh};
  failure.test = option.test;
  return failure;
}

bool same(const Var& a, const Var& b) { return !check::has_numbers("", a, b, 1e-9); }

Var energy(const Var& x) { return Choices().sigmoid ? sigmoid(x) : tanh(x); }

// The score, written out so that its parts can be put together wrongly.
struct Score {
  Var q, keys, v_a;  // (B, T_enc, d_attn) twice, (d_attn)
  Score(const Var& query, const Var& projected, const DecoderParts& parts)
      : q(expand_new(affine("query", query, parts.W_a, Var()), Axis{1}, projected.size(Axis{1}))),
        keys(projected),
        v_a(parts.v_a) {}
  Var of(const Var& x) const { return dot(x, v_a, Axis{2}) * (Choices().halved ? 0.5 : 1.0); }
  Var right() const { return of(energy(q + keys)); }
};

// What the scores equal instead: alone they show more than the weights do.
Result name_the_score() {
  const DecoderParts parts = drawn_parts(2);
  const DecoderInputs in = random_inputs(sizes(), extent, false, 2);
  const Score score(in.s_0, affine("keys", in.H, parts.U_a, Var()), parts);
  const Var got = additive_score(in.s_0, score.keys, parts.W_a, parts.v_a);
  if (same(got, score.right())) return std::nullopt;
  if (same(got, softmax(score.right(), Axis{1}))) {
    Failure failure = known("normaliser", "twice", "additive_score",
                            {"additive_score returns softmax(e), weights, where the scores e themselves are asked for",
                             "additive_score 返回的是 softmax(e)，即权重，而这里要的是分数 e 本身"});
    failure.used = "e_i = softmax(v_a . tanh(W_a s + U_a h_i))";
    failure.paper = "e_i = v_a . tanh(W_a s + U_a h_i)";
    failure.fix = {"return the scores; attend takes their softmax, once, with the mask",
                   "返回分数；softmax 由 attend 来做，只做一次，并且带掩码"};
    failure.test = {};
    return failure;
  }
  if (same(got, energy(score.of(score.q + score.keys)))) {
    Failure failure = known("energy", "tanh_outside", "additive_score",
                            {"the tanh stands around the whole score instead of inside, before v_a",
                             "tanh 套在整个分数外面，没有放在里面、v_a 之前"});
    failure.used = "e_i = tanh(v_a . (W_a s + U_a h_i))";
    failure.paper = "e_i = v_a . tanh(W_a s + U_a h_i)";
    failure.fix = {"tanh first, then the dot product with v_a", "先做 tanh，再与 v_a 做点积"};
    return failure;
  }
  if (same(got, score.of(energy(score.q) + energy(score.keys)))) return known("v_a", "separate", "additive_score");
  if (same(got, score.of(energy(score.q) + score.keys))) return known("v_a", "query_only", "additive_score");
  if (same(got, score.of(score.q + energy(score.keys)))) return known("v_a", "keys_only", "additive_score");
  return std::nullopt;
}

// What the results of a step equal instead. Without a mask, so that a forgotten one hides nothing.
Result name_the_step() {
  const DecoderParts parts = drawn_parts(2);
  const DecoderInputs in = random_inputs(sizes(), extent, false, 2);
  const Var y = select(in.y_emb, Axis{1}, 0), keys = affine("keys", in.H, parts.U_a, Var());
  const auto asked_by = [&](const Var& query) { return attend(Score(query, keys, parts).right(), in.H); };
  const auto after = [&](const Var& context) {
    return parts.cell.step(
        concat(Choices().context_first ? std::vector<Var>{context, y} : std::vector<Var>{y, context}, Axis{1}), in.s_0);
  };
  const Step got = decoder_step(y, in.s_0, {keys, in.H, std::nullopt}, parts);
  const auto swapped = [](Words why) {
    Failure failure = known("query", "s_t", "decoder_step", std::move(why));
    failure.used = "e_{t,i} = score(s_t, h_i)";
    failure.fix = {"attend once, with s_prev, before the cell: it reads that c_t, and c_t and its weights are returned",
                   "在循环单元之前用 s_prev 做一次注意力：循环单元读这个 c_t，返回的也是这个 c_t 及其权重"};
    return failure;
  };
  const Attended right = asked_by(in.s_0);
  if (same(got.weights, Score(in.s_0, keys, parts).right())) {
    Failure failure;
    failure.code = "WEIGHTS_ARE_SCORES";
    failure.place = "decoder_step";
    failure.why = {"the weights that you return are exactly the scores e, before any softmax",
                   "返回的权重恰好就是分数 e，还没有做 softmax"};
    failure.used = "alpha_i = e_i";
    failure.paper = "alpha_i = exp(e_i) / sum_j exp(e_j)";
    failure.fix = {"return the weights that attend gives", "返回 attend 给出的权重"};
    return failure;
  }
  if (same(got.s_t, in.s_0)) {
    Failure failure;
    failure.code = "CELL_STATE_OLD";
    failure.place = "decoder_step";
    failure.why = {"the state that you return is exactly s_{t-1}", "返回的状态恰好就是 s_{t-1}"};
    failure.used = "s_t = s_{t-1}";
    failure.paper = "s_t = RNN([y_{t-1}; c_t], s_{t-1})";
    failure.fix = {"return the state that the cell gives", "返回循环单元给出的状态"};
    return failure;
  }
  if (!same(got.weights, right.weights)) {
    if (same(got.weights, softmax(right.weights, Axis{1})))
      return known("normaliser", "twice", "decoder_step",
                   {"attend takes the softmax of what it is given, and here that is weights already",
                    "attend 会对传入的数做 softmax，而这里传入的已经是权重"});
    if (same(got.weights, asked_by(got.s_t).weights))
      return swapped({"the weights are those that s_t asks for, the state after the step",
                      "这些权重是用 s_t，即该步之后的状态查询得到的"});
    const Var mean = sum(in.H, Axis{1}) * (1.0 / static_cast<double>(extent.T_enc));
    for (const Var& stand_in : {Var(mean * 0.0), mean}) {
      if (same(got.weights, asked_by(after(stand_in)).weights))
        return swapped({"the cell has run once before the weights, without c_t, and its result is the query",
                        "在求权重之前，循环单元已在没有 c_t 的情况下运行了一次，查询就是它的结果"});
    }
    return std::nullopt;
  }
  if (same(got.context, right.context)) return std::nullopt;
  if (same(got.context, asked_by(got.s_t).context))
    return swapped({"the context that you return is mixed with what s_t asks for; the cell read another one",
                    "返回的上下文是用 s_t 查询后混合出来的，不是循环单元读过的那个"});
  if (same(got.context, tanh(right.context))) return known("squash", "tanh", "decoder_step");
  return std::nullopt;
}

bool score_is_right() {
  const DecoderParts parts = drawn_parts(2);
  const DecoderInputs in = random_inputs(sizes(), extent, false, 2);
  const Score score(in.s_0, affine("keys", in.H, parts.U_a, Var()), parts);
  return same(additive_score(in.s_0, score.keys, parts.W_a, parts.v_a), score.right());
}

bool is_finite() {
  const Subject mine(true);
  const DecoderParts parts = drawn_parts(2);
  const Step step = decoder_step(select(mine.inputs.y_emb, Axis{1}, 0), mine.inputs.s_0,
                                 remember(parts, mine.inputs.H, mine.inputs.mask), parts);
  for (const Var& x : {step.weights, step.context, Var(step.s_t)}) {
    for (const double number : x.value().to_vector()) {
      if (!std::isfinite(number)) return false;
    }
  }
  return true;
}

Result diagnose() {
  // A wrong score comes first: then the step around it is ours, so that its own mistakes wait for their turn.
  bool in_the_score = false;
  try {
    if (!is_finite()) return std::nullopt;  // such numbers fit every formula
    if (Result named = name_the_score()) return named;
    in_the_score = !score_is_right();
    Result named = in_the_score ? std::nullopt : name_the_step();
    if (named) return named;
  } catch (const Error&) {}  // what is thrown is the business of the parts
  diagnosis::Verdict verdict;
  for (const std::uint64_t seed : {2, 3, 4}) {  // other numbers, where some leave the choice between two names
    const Subject mine(true, seed, in_the_score ? step_of_the_course : decoder_step);
    verdict = diagnosis::diagnose(check::trace_of(mine.decoder, mine.inputs, "bahdanau2014"));
    std::erase_if(verdict.findings, asked_for);
    if (verdict.findings.empty() || verdict.findings.front().alias.size() < 2) break;
  }
  for (diagnosis::Finding& finding : verdict.findings) {
    if (finding.code == "SOFTMAX_AXIS_BATCH") {  // a step of this lesson has no axis for the decoder's steps
      finding.fix = {"softmax over the encoder positions, softmax(e, Axis{1}) of e (B, T_enc), as attend does",
                     "沿编码器位置做 softmax：e 是 (B, T_enc)，用 softmax(e, Axis{1})，attend 就是这样做的"};
      finding.test = "CHECK(sum(step.weights, Axis{1}) == 1);";
    }
    if (finding.code == "MASK_MISSING") {
      finding.fix = {"hand memory.mask to attend: attend(scores, memory.values, memory.mask)",
                     "把 memory.mask 交给 attend：attend(scores, memory.values, memory.mask)"};
    }
  }
  Result found = check::passes(verdict);
  if (found && in_the_score) found->place = "additive_score";
  return found;
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
          .diagnose = [](const std::string&) { return diagnose(); }};
}
