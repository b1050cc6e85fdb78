// What lesson 07's exercise must do, in the order in which it is mended.
#include "lessons/common/check.h"

#include <cmath>

#include "lessons/07_bottleneck/exercise.h"
#include "nn/conventions/to_reference.h"

namespace gradus::lesson07 {
namespace {

using check::first_of;
using check::has_numbers;
using check::has_shape;
using check::holds;
using check::Result;

// ---- a decoder whose parameters are all drawn, all sizes different

constexpr std::int32_t start = 7;
constexpr DecoderSizes sizes{.vocab = 7, .d_emb = 3, .d_s = 4, .d_h = 6, .d_attn = 5};

struct Subject {
  PlainDecoder decoder;
  Embedding target;
  DecoderParts parts;
  State s_0;    // (2, 4), takes a gradient
  Ids targets;  // (2, 5)
  Subject() {
    Generator generator(2, "exercise");
    decoder = clone(PlainDecoder(sizes, {}, generator), f64);
    target = clone(Embedding(sizes.vocab + 1, sizes.d_emb, generator), f64);
    randomize(parameters(decoder), 1.2, 3);
    randomize(parameters(target), 1.5, 4);
    parts = {target.E, decoder.cell, decoder.readout.W, decoder.readout.b, start};
    s_0 = State(parameter(random_inputs(sizes, {.B = 2, .T_dec = 5, .T_enc = 5}, false, 5).s_0.value()));
    targets = Ids(Shape{2, 5}, std::vector<std::int32_t>{3, 1, 4, 1, 5, 2, 6, 0, 5, 3});
  }
};

std::string text_of(const Ids& ids, std::int64_t row) {
  std::string text;
  for (std::int64_t t = 0; t < ids.shape()[1]; ++t) text += (t > 0 ? " " : "") + std::to_string(ids.at(row, t));
  return text;
}

// Tokens have the shape asked for.
Result tokens_like(const Words& what, const Ids& got, const Shape& shape) {
  if (got.size() == 0)
    return holds(false, check::not_written,
                 {"nothing is returned yet for " + what.en + ": this is a place to fill",
                  what.zh + "还没有返回：这里要由你来写"});
  return holds(got.shape() == shape, check::wrong_shape,
               {what.en + " has another shape than (B, T)", what.zh + "的形状不是 (B, T)"}, to_string(shape),
               to_string(got.shape()));
}

// ---- parts

Result shapes() {
  const Subject my;
  return first_of({
      {"teacher_inputs",
       [&] {
         return tokens_like({"the decoder's input", "解码器的输入"}, teacher_inputs(my.targets, start), {2, 5});
       }},
      {"summary",
       [&] {
         return has_shape("summary", summary(zeros(Shape{2, 5, 6}, f64)), {2, 6}, "(B, 2 d)");
       }},
      {"teach",
       [&] {
         return has_shape("logits", teach(my.s_0, my.targets, my.parts), {2, 5, 7}, "(B, T, vocab)");
       }},
      {"write",
       [&] {
         return tokens_like({"what is written", "写出的词"}, write(my.s_0, 6, my.parts), {2, 6});
       }},
      {"sequence_loss",
       [&] {
         return has_shape({"loss", "损失"}, sequence_loss(zeros(Shape{2, 5, 7}, f64), my.targets, Mask(Shape{2, 5}, 1)),
                          {}, "one number");
       }},
  });
}

Result shift() {
  const Subject my;
  const Ids got = teacher_inputs(my.targets, start);
  const auto is = [&](auto&& token) {
    for (std::int64_t row = 0; row < 2; ++row)
      for (std::int64_t t = 0; t < 5; ++t)
        if (got.at(row, t) != token(row, t)) return false;
    return true;
  };
  const std::string expected = "7 3 1 4 1", found = text_of(got, 0);
  const auto y = [&](std::int64_t row, std::int64_t t) { return my.targets.at(row, t); };
  return first_of(
      {{"teacher_inputs", [&]() -> Result {
          if (is([&](auto row, auto t) { return t == 0 ? start : y(row, t - 1); })) return std::nullopt;
          if (is(y))
            return holds(
                false, "TF_SHIFT_MISSING",
                {"the decoder reads the token that it is to say: the loss will fall to 0, and it will learn to repeat",
                 "解码器读到的正是它该说的词：损失会降到 0，学会的只是重复"},
                expected, found);
          if (got.at(0, 0) == y(0, 1) && got.at(1, 0) == y(1, 1))
            return holds(
                false, "TF_SHIFT_LEFT",
                {"the decoder reads the token after the one that it is to say", "解码器读到的是它该说的词的后一个"},
                expected, found);
          if (got.at(0, 0) == y(0, 0) && got.at(0, 1) == y(0, 0))
            return holds(false, "TF_START_MISSING",
                         {"before the first token stands the start token; the first target is not known yet",
                          "第一个词之前是起始符；第一个目标词还不知道"},
                         expected, found);
          return holds(false, check::wrong_numbers, {"these are not the tokens before", "这不是各自的前一个词"},
                       expected, found);
        }}});
}

Result both_ends() {
  // The example of the note: x = (1, 2, 3), h = tanh(0.5 x + 0.8 h) from both ends.
  const Var H = tensor(Shape{1, 3, 2}, {0.4621, 0.8485, 0.8786, 0.9384, 0.9759, 0.9051}, f64);
  return first_of({{"summary", [&]() -> Result {
                      const std::vector<double> got = summary(H).value().to_vector();
                      if (got == std::vector<double>{0.9759, 0.9051})
                        return holds(
                            false, "BIDIR_FINAL_WRONG_END",
                            {"the backward half at the last position has read one token; it ends at position 1",
                             "反向的那一半在最后一个位置只读了一个词；它在位置 1 才读完"},
                            "(0.9759, 0.8485)", "(0.9759, 0.9051)");
                      return has_numbers("summary", got, {0.9759, 0.8485});
                    }}});
}

Result taught() {
  const Subject my;
  Ids previous(my.targets.shape());
  for (std::int64_t row = 0; row < 2; ++row)
    for (std::int64_t t = 0; t < 5; ++t) previous.at(row, t) = t == 0 ? start : my.targets.at(row, t - 1);
  const Var expected = decode_teacher(my.decoder, my.target(previous), my.s_0, {}).logits;
  return first_of(
      {{"teach", [&]() -> Result {
          const Var got = teach(my.s_0, my.targets, my.parts);
          if (const Result wrong = has_numbers("logits", got, expected)) {
            // Does the second step depend on what was read at the first?
            Ids other = my.targets;
            other.at(0, 0) = (other.at(0, 0) + 1) % 7;
            const auto last = [](const Var& logits) {
              return select(select(logits, Axis{0}, 0), Axis{0}, 4).value().to_vector();
            };
            if (last(teach(my.s_0, other, my.parts)) == last(got))
              return holds(false, "STATE_NOT_CARRIED",
                           {"the last logits do not change with the first token: each step starts from the same state",
                            "改掉第一个词，最后一步的 logits 也不变：每一步都从同一个状态开始"});
            if (!has_numbers("", got, decode_teacher(my.decoder, my.target(my.targets), my.s_0, {}).logits))
              return holds(false, "TF_SHIFT_MISSING",
                           {"these are the logits of a decoder that reads what it is to say: the tokens before, of "
                            "teacher_inputs, have to go in",
                            "这是直接读取待预测词的解码器的 logits；读入的应当是 teacher_inputs 给出的前一个词"});
            return wrong;
          }
          if (!got.requires_grad())
            return holds(false, "GRAPH_CUT",
                         {"the numbers are right, and no gradient will reach s_0: nothing was recorded",
                          "数值正确，但没有梯度会传到 s_0：什么也没有记录下来"});
          const Var s_0 = my.s_0;
          return check::passes(check_gradient([&] { return teach(State(s_0), my.targets, my.parts); }, {{"s_0", s_0}}));
        }}});
}

Result written() {
  const Subject my;
  const auto from = [&](const State& s_0) -> Result {
    const Ids expected = decode_greedy(my.decoder, my.target, s_0, {}, start, 6).tokens;
    const Ids got = write(s_0, 6, my.parts);
    if (got == expected) return std::nullopt;
    const std::int64_t row = text_of(got, 0) == text_of(expected, 0) ? 1 : 0;
    NoGrad no_grad;
    const Ids only_start(Shape{2, 6}, start);  // the same loop that reads the start token at every step
    if (got == argmax(decode_teacher(my.decoder, my.target(only_start), s_0, {}).logits.value(), Axis{2}))
      return holds(false, "GREEDY_NOT_FED_BACK",
                   {"the token that was written is not the next input: the start token is read at every step",
                    "写出的词没有作为下一步的输入：每一步读的都是起始符"},
                   text_of(expected, row), text_of(got, row));
    for (std::int32_t first = 0; first < start; ++first) {
      if (got != decode_greedy(my.decoder, my.target, s_0, {}, first, 6).tokens) continue;
      return holds(false, "START_TOKEN_WRONG",
                   {"what is written is what follows another first token: the loop has to begin with parts.start",
                    "写出的是以另一个词开头的结果：循环应当从 parts.start 开始"},
                   text_of(expected, row), text_of(got, row));
    }
    return holds(false, check::wrong_numbers,
                 {"these are not the most probable tokens, fed back one after the other",
                  "这不是每步取最可能的词再喂回去的结果"},
                 text_of(expected, row), text_of(got, row));
  };
  return first_of({{"write", [&]() -> Result {
                      // Several states: from some of them another first token leads to the same words.
                      for (const std::uint64_t seed : {5, 6, 7, 8, 9, 10, 11, 12}) {
                        const DecoderInputs in = random_inputs(sizes, {.B = 2, .T_dec = 5, .T_enc = 5}, false, seed);
                        if (Result wrong = from(State(in.s_0 * 2.0))) return wrong;
                      }
                      return std::nullopt;
                    }}});
}

Result loss() {
  const Subject my;
  const Var logits = teach(my.s_0, my.targets, my.parts).detach();
  Mask real(Shape{2, 5}, 1);
  real.at(1, 3) = real.at(1, 4) = 0;
  const double expected = cross_entropy(logits, my.targets, real).item();
  return first_of({{"sequence_loss", [&]() -> Result {
                      const double got = sequence_loss(logits, my.targets, real).item();
                      const Result wrong = has_numbers({"loss", "损失"}, std::vector<double>{got}, {expected});
                      if (wrong && std::fabs(got - expected * 8 / 10) < 1e-9)
                        return holds(
                            false, "LOSS_DENOM_PADS",
                            {"two pads of ten positions are in the denominator: the loss falls when padding is added",
                             "十个位置里的两个填充也算进了分母：加了填充，损失就会变小"},
                            std::to_string(expected), std::to_string(got));
                      if (wrong && std::fabs(got - cross_entropy(logits, my.targets).item()) < 1e-9)
                        return holds(false, "LOSS_COUNTS_PADS",
                                     {"what the model says at a pad is scored as well", "模型在填充处说什么也被计分了"},
                                     std::to_string(expected), std::to_string(got));
                      return wrong;
                    }}});
}

}  // namespace
}  // namespace gradus::lesson07

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson07;
  return {.lesson = "07_bottleneck",
          .taught = {"gradus::decode_teacher", "gradus::decode_greedy", "gradus::cross_entropy",
                     "gradus::PlainDecoder::", "vtable for gradus::PlainDecoder"},
          .parts = {{"shapes", {"every shape", "各个形状"}, "shapes", shapes},
                    {"shift", {"the decoder's inputs under a teacher", "教师强制下解码器的输入"}, "forcing", shift},
                    {"summary", {"both ends of the encoder", "编码器的两端"}, "mistakes", both_ends},
                    {"teach", {"logits, and their gradient at s_0", "logits 以及它对 s_0 的梯度"}, "forcing", taught},
                    {"write", {"what is written without a teacher", "没有教师时写出的词"}, "forcing", written},
                    {"loss", {"a loss that does not see padding", "看不见填充的损失"}, "mistakes", loss}}};
}
