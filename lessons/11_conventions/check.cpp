// What lesson 11's exercise must do, in the order in which it is mended.
#include "lessons/common/check.h"

#include "lessons/11_conventions/decoder.h"
#include "lessons/11_conventions/exercise.h"

namespace gradus::lesson11 {
namespace {

using check::first_of;
using check::holds;
using check::Result;

// ---- matrices written by hand

Matrix matrix(std::size_t rows, std::size_t columns, std::vector<double> values) {
  return {std::vector<std::string>(rows, "row"), std::vector<std::string>(columns, "column"), std::move(values)};
}

std::string yes_or_no(bool yes) { return yes ? "true" : "false"; }

// Still as in the starter: one answer to all questions is none.
Result not_yet(const std::string& name) {
  return holds(false, check::not_written,
               {name + " gives all inputs here the same answer, as the starter does: this is a place to fill",
                name + " 对这里的所有输入给出同一个答案，和开始时一样：这里要由你来写"});
}

Result own_input(const Matrix& influence, bool expected, const std::string& code, const Words& why) {
  const bool got = depends_on_own_input(influence);
  return holds(got == expected, code, why, yes_or_no(expected), yes_or_no(got));
}

Result influence_by_hand() {
  const Matrix strictly_lower = matrix(3, 3, {0, 0, 0, .2, 0, 0, .1, .3, 0});
  const Matrix with_diagonal = matrix(3, 3, {.4, 0, 0, .2, .3, 0, .1, .3, .2});
  const Matrix later = matrix(3, 3, {0, 0, 0, .2, 0, 0, .1, .3, .2});
  const Matrix tiny = matrix(3, 3, {0, 0, 0, .2, 1e-11, 0, .1, .3, 2e-12});
  return first_of({
      {"depends_on_own_input",
       [&] {
         const bool constant = !depends_on_own_input(strictly_lower) && !depends_on_own_input(with_diagonal) &&
                               !depends_on_own_input(tiny);
         return constant ? not_yet("depends_on_own_input") : std::nullopt;
       }},
      {"depends_on_own_input",
       [&] {
         return own_input(with_diagonal, true, "DIAGONAL_MISREAD",
                          {"every step's weights depend on that step's own input here, and you say they do not",
                           "这里每一步的权重都依赖该步自己的输入，而你说不依赖"});
       }},
      {"depends_on_own_input",
       [&] {
         return own_input(strictly_lower, false, "DIAGONAL_MISREAD",
                          {"only inputs of earlier steps have any influence here; entry (t, k) with k < t is the past",
                           "这里只有更早各步的输入有影响；k < t 的 (t, k) 属于过去"});
       }},
      {"depends_on_own_input",
       [&] {
         return own_input(
             later, true, "DIAGONAL_MISREAD",
             {"the last step's weights depend on that step's own input here, which is in the last row: look at "
              "every step",
              "这里最后一步的权重依赖该步自己的输入，它在最后一行：每一步都要看"});
       }},
      {"depends_on_own_input",
       [&] {
         return own_input(tiny, true, "TINY_IS_NOT_ZERO",
                          {"what is not connected is exactly 0; a tiny number is a connection, from weights that are "
                           "nearly sure of themselves",
                           "没有连接的恰好是 0；很小的数也是连接，它来自几乎已经确定的权重"});
       }},
  });
}

Result route(const Matrix& states, ContextRoute expected, const Words& why) {
  const auto word = [](ContextRoute r) {
    return std::string(r == ContextRoute::this_step   ? "this_step"
                       : r == ContextRoute::next_step ? "next_step"
                                                      : "output_only");
  };
  const ContextRoute got = route_of_context(states);
  return holds(got == expected, "ROUTE_MISREAD", why, word(expected), word(got));
}

Result route_by_hand() {
  return first_of({
      {"route_of_context",
       [&] {
         const bool constant = route_of_context(matrix(3, 2, {0, 0, .2, 0, .4, .1})) == ContextRoute::this_step &&
                               route_of_context(matrix(3, 2, {0, 0, 0, 0, 0, 0})) == ContextRoute::this_step;
         return constant ? not_yet("route_of_context") : std::nullopt;
       }},
      {"route_of_context",
       [&] {
         return route(matrix(3, 2, {.1, .3, .2, .2, .4, .1}), ContextRoute::this_step,
                      {"s_1 depends on H although s_0 is constant: the first step has already read its own context",
                       "s_0 是常数，s_1 却依赖 H：第一步已经读了本步的上下文"});
       }},
      {"route_of_context",
       [&] {
         return route(matrix(3, 2, {0, 0, .2, 0, .4, .1}), ContextRoute::next_step,
                      {"s_1 does not depend on H, s_2 does: what the second step read was made in the first",
                       "s_1 不依赖 H，s_2 依赖：第二步读到的东西是第一步算出来的"});
       }},
      {"route_of_context",
       [&] {
         return route(matrix(3, 2, {0, 0, 0, 0, 0, 0}), ContextRoute::output_only,
                      {"no state depends on H: whatever the context is for, the cell does not get it",
                       "没有任何状态依赖 H：不管上下文作何用，循环单元都没有得到它"});
       }},
      {"route_of_context",
       [&] {
         return route(matrix(3, 2, {0, 1e-13, .2, .2, .4, .1}), ContextRoute::this_step,
                      {"a tiny entry in the row of s_1 is a connection; only an exact 0 is none",
                       "s_1 那一行里很小的数也是连接；恰好为 0 才没有连接"});
       }},
  });
}

// ---- real decoders, drawn anew for every question

constexpr DecoderSizes sizes{.vocab = 7, .d_emb = 3, .d_s = 4, .d_h = 6, .d_attn = 5};

std::string answer_to(const char* code, std::uint64_t seed, std::int64_t T_enc) {
  Generator generator(seed, "exercise");
  Choices choices = draw_right(Claim::bahdanau2014, generator);
  for (const Mistake& m : mistakes()) {
    if (m.codes == code) choices = with_mistake(m, choices);
  }
  const DrawnDecoder decoder = clone(DrawnDecoder(choices, sizes, T_enc, generator), f64);
  randomize(parameters(decoder), 0.8, seed);
  return name_mistake(under_test(decoder), random_inputs(sizes, {.B = 3, .T_dec = 4, .T_enc = T_enc}, T_enc > 1, seed));
}

Result named(const char* code, const char* expected, const std::string& when_wrong, const Words& why) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::string got = answer_to(code, seed, 5);
    if (Result wrong = holds(got == expected, got.empty() ? check::not_written : when_wrong, why, expected, got)) {
      return wrong;
    }
  }
  return std::nullopt;
}

Result strangers() {
  return first_of({
      {"name_mistake",
       [] {
         return named(
             "", keeps_its_claim, "FALSE_ALARM",
             {"a decoder with nothing wrong was accused; where its reset gate acts and which state its readout "
              "reads is its own business",
              "冤枉了一个没有错误的解码器；重置门在哪里起作用、输出读哪个状态，都随它"});
       }},
      {"name_mistake",
       [] {
         return named(
             query_is_s_t, query_is_s_t, "SWAP_MISNAMED",
             {"this one asks with s_t. Its cell gets c_{t-1} because it cannot get anything newer: that is the "
              "same mistake, not another",
              "它的查询是 s_t。循环单元得到 c_{t-1}，是因为此时没有更新的上下文：这是同一个错误，不是另一个"});
       }},
      {"name_mistake",
       [] {
         return named(context_comes_late, context_comes_late, "LATE_CONTEXT_MISNAMED",
                      {"this one asks with s_{t-1}, as it should; but the context of a step reaches the cell in the "
                       "next step only",
                       "它的查询是 s_{t-1}，这没有错；但一步的上下文要到下一步才进入循环单元"});
       }},
      {"name_mistake",
       [] {
         return named(padding_has_weight, padding_has_weight, "MASK_MISSED",
                      {"this one computes everything in the right order and attends to padding",
                       "它的计算顺序都对，但给了填充权重"});
       }},
      {"name_mistake",
       [] {
         const std::string got = answer_to(query_is_s_t, 1, 1);
         return holds(got == this_input_cannot_tell, got.empty() ? check::not_written : "BLIND_INPUT_JUDGED",
                      {"there is one encoder position, so its weight is 1 whoever asks: a probe that cannot tell has "
                       "not passed, and has not failed either",
                       "只有一个编码器位置时，用什么作查询，权重都是 1：无法判断的探针既没有通过，也没有不通过"},
                      this_input_cannot_tell, got);
       }},
  });
}

}  // namespace
}  // namespace gradus::lesson11

gradus::check::Check gradus::check::lesson_check() {
  using namespace gradus::lesson11;
  return {.lesson = "11_conventions",
          .taught = {"gradus::diagnosis::", "gradus::check_reference(", "gradus::trace_of("},
          .parts = {{"influence", {"the influence matrix", "影响矩阵"}, "influence", influence_by_hand},
                    {"route", {"the route of the context", "上下文的去向"}, "route", route_by_hand},
                    {"strangers", {"five strangers' decoders", "五个陌生的解码器"}, "exercise", strangers}}};
}
