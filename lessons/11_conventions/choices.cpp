// Drawing conventions, and saying what they are.
#include "lessons/11_conventions/choices.h"

#include <algorithm>

namespace gradus::lesson11 {
namespace {

const std::vector<Claim> bahdanau = {Claim::bahdanau2014}, luong = {Claim::luong2015};
const std::vector<Claim> either = {Claim::bahdanau2014, Claim::luong2015};

std::string_view words_for_fault(Fault fault, Lang lang) {
  switch (fault) {
    case Fault::none:
      return "";
    case Fault::no_attention:
      return tr(lang, "no attention", "没有注意力");
    case Fault::context_unused:
      return tr(lang, "context read by nothing", "上下文无人读取");
    case Fault::location_score:
      return tr(lang, "score of the query alone", "打分只看查询");
    case Fault::energy_sigmoid:
      return tr(lang, "sigmoid in the score", "打分用 sigmoid");
    case Fault::score_over_sqrt_d:
      return tr(lang, "scores over sqrt(d_s)", "分数除以 sqrt(d_s)");
    case Fault::softmax_over_batch:
      return tr(lang, "softmax over the batch", "softmax 沿批次");
    case Fault::mask_missing:
      return tr(lang, "no mask", "没有掩码");
    case Fault::mask_before_softmax:
      return tr(lang, "scores times mask", "分数乘掩码");
    case Fault::mask_without_renorm:
      return tr(lang, "weights times mask", "权重乘掩码");
    case Fault::context_mean:
      return tr(lang, "context is the mean", "上下文是平均值");
    case Fault::context_tanh:
      return tr(lang, "tanh of the context", "上下文过 tanh");
    case Fault::reset_unused:
      return tr(lang, "reset gate unused", "重置门未用");
    case Fault::update_not_convex:
      return tr(lang, "s_t = z s_{t-1} + n", "s_t = z s_{t-1} + n");
    case Fault::vector_without_tanh:
      return tr(lang, "no tanh in s~", "s~ 没有 tanh");
    case Fault::vector_of_old_state:
      return tr(lang, "s~ of s_{t-1}", "s~ 用 s_{t-1}");
    case Fault::readout_of_old_context:
      return tr(lang, "readout of c_{t-1}", "输出读 c_{t-1}");
    case Fault::readout_of_old_vector:
      return tr(lang, "readout of s~_{t-1}", "输出读 s~_{t-1}");
    case Fault::logits_softmaxed:
      return tr(lang, "softmax of the logits", "logits 过 softmax");
  }
  return "";
}

template <Fault fault> void set_fault(Choices& c) { c.fault = fault; }

}  // namespace

Choices draw_right(Claim claim, Generator& generator) {
  Choices c;
  c.claim = claim;
  c.reset = generator.chance(0.5) ? GruReset::before : GruReset::after;
  c.update = generator.chance(0.5) ? GruUpdate::keeps : GruUpdate::replaces;
  if (claim == Claim::bahdanau2014) {
    c.readout_time = generator.chance(0.5) ? ReadoutTime::s_t : ReadoutTime::s_prev;
  } else {
    constexpr ScoreKind scores[] = {ScoreKind::dot, ScoreKind::general, ScoreKind::concat};
    c.score = scores[generator.below(3)];
    c.query = Query::s_t;
    c.vector = true;
    c.cell_reads = generator.chance(0.5) ? CellReads::vector_prev : CellReads::nothing;
  }
  return c;
}

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> table = {
      // ---- the order of computation
      {"ATTN_QUERY_POST_STEP", bahdanau, [](Choices& c) { c.query = Query::s_t, c.cell_reads = CellReads::c_prev; },
       "it asks with s_t, and the cell gets c_{t-1}", "查询是 s_t，循环单元得到的是 c_{t-1}"},
      {"ATTN_QUERY_PRE_STEP", luong, [](Choices& c) { c.query = Query::s_prev; }, "it asks with s_{t-1}",
       "查询是 s_{t-1}"},
      {"ATTN_QUERY_PRE_STEP+CELL_READS_CONTEXT", luong,
       [](Choices& c) { c.query = Query::s_prev, c.cell_reads = CellReads::c_t; },
       "it asks with s_{t-1}, and the cell reads c_t", "查询是 s_{t-1}，循环单元读 c_t"},
      {"ATTN_QUERY_INPUT", either,
       [](Choices& c) {
         c.query = Query::y_emb;
         if (c.score == ScoreKind::dot) c.score = ScoreKind::general;
       },
       "it asks with the word y_{t-1}, not with a state", "查询是词 y_{t-1}，而不是状态"},
      {"CELL_CONTEXT_LATE", bahdanau, [](Choices& c) { c.cell_reads = CellReads::c_prev; },
       "it asks with s_{t-1}, but the cell gets c_{t-1}", "查询是 s_{t-1}，但循环单元得到的是 c_{t-1}"},
      {"CONTEXT_NOT_IN_CELL", bahdanau, [](Choices& c) { c.cell_reads = CellReads::nothing; },
       "the cell gets no context; only the readout does", "循环单元得不到上下文，只有输出层得到"},
      {"INPUT_FEED_CONTEXT", luong, [](Choices& c) { c.cell_reads = CellReads::c_prev; },
       "c_{t-1} is fed to the cell instead of s~_{t-1}", "反馈给循环单元的是 c_{t-1}，而不是 s~_{t-1}"},
      {"CONTEXT_UNUSED", either, set_fault<Fault::no_attention>, "there is no attention at all", "根本没有注意力"},
      {"CONTEXT_UNUSED", bahdanau, set_fault<Fault::context_unused>, "the context is computed, and nothing reads it",
       "算出了上下文，却没有任何地方读它"},
      // ---- scores
      {"SCORE_DOT", bahdanau, [](Choices& c) { c.score = ScoreKind::dot; }, "the score is a dot product", "打分是点积"},
      {"SCORE_GENERAL", bahdanau, [](Choices& c) { c.score = ScoreKind::general; }, "the score is s . W_a h",
       "打分是 s . W_a h"},
      {"ENERGY_SIGMOID", luong, [](Choices& c) { c.score = ScoreKind::additive, c.fault = Fault::energy_sigmoid; },
       "a sigmoid stands where the score has its tanh", "打分里本该是 tanh 的地方是 sigmoid"},
      {"SCALE_OVER_SQRT_D", luong, [](Choices& c) { c.score = ScoreKind::general, c.fault = Fault::score_over_sqrt_d; },
       "scores are divided by sqrt(d_s)", "分数除以了 sqrt(d_s)"},
      {"ENERGY_SIGMOID", bahdanau, set_fault<Fault::energy_sigmoid>, "a sigmoid stands where the score has its tanh",
       "打分里本该是 tanh 的地方是 sigmoid"},
      {"ATTN_IGNORES_ENCODER", bahdanau, set_fault<Fault::location_score>,
       "the score never looks at the encoder states", "打分从不看编码器状态"},
      // ---- weights, masks, context
      {"SOFTMAX_AXIS_BATCH", either, set_fault<Fault::softmax_over_batch>, "the softmax runs over the batch",
       "softmax 沿批次做"},
      {"MASK_MISSING", either, set_fault<Fault::mask_missing>, "there is no mask", "没有掩码"},
      {"MASK_MULT_BEFORE_SOFTMAX", either, set_fault<Fault::mask_before_softmax>,
       "scores are multiplied by the mask, before the softmax", "softmax 之前用掩码去乘分数"},
      {"MASK_AFTER_NO_RENORM", either, set_fault<Fault::mask_without_renorm>,
       "weights are multiplied by the mask, after the softmax", "softmax 之后用掩码去乘权重"},
      {"CONTEXT_MEAN", either, set_fault<Fault::context_mean>, "the context is the plain mean of the encoder states",
       "上下文是编码器状态的普通平均"},
      {"CONTEXT_TANH", either, set_fault<Fault::context_tanh>, "there is a tanh around the context",
       "上下文外面套了 tanh"},
      // ---- cell, attentional vector, readout
      {"GRU_RESET_UNUSED", either, set_fault<Fault::reset_unused>, "the reset gate is not applied", "没有用上重置门"},
      {"GRU_UPDATE_NOT_CONVEX", either,
       [](Choices& c) { c.update = GruUpdate::keeps, c.fault = Fault::update_not_convex; }, "s_t = z s_{t-1} + n",
       "s_t = z s_{t-1} + n"},
      {"ATTN_VECTOR_NO_TANH", luong, set_fault<Fault::vector_without_tanh>, "s~ has no tanh", "s~ 没有 tanh"},
      {"ATTN_VECTOR_OLD_STATE", luong, set_fault<Fault::vector_of_old_state>, "s~ is made of s_{t-1}",
       "s~ 由 s_{t-1} 算出"},
      {"READOUT_CONTEXT_LATE", bahdanau, set_fault<Fault::readout_of_old_context>, "the readout reads c_{t-1}",
       "输出层读的是 c_{t-1}"},
      {"READOUT_HTILDE_LATE", luong, set_fault<Fault::readout_of_old_vector>, "the readout reads s~_{t-1}",
       "输出层读的是 s~_{t-1}"},
      {"LOGITS_SOFTMAXED", either, set_fault<Fault::logits_softmaxed>,
       "what is called logits has gone through a softmax", "所谓 logits 已经过了 softmax"},
  };
  return table;
}

Choices with_mistake(const Mistake& mistake, Choices c) {
  mistake.plant(c);
  for (std::size_t at = 0; at <= mistake.codes.size();) {
    const std::size_t end = std::min(mistake.codes.find('+', at), mistake.codes.size());
    c.codes.insert(mistake.codes.substr(at, end - at));
    at = end + 1;
  }
  return c;
}

std::vector<Choices> draw_twelve(std::uint64_t seed) {
  Generator generator(seed, "conventions");
  std::vector<Choices> twelve;
  const auto add = [&](const Choices& choices) {
    const auto same = [&](const Choices& other) { return words(other, Lang::en) == words(choices, Lang::en); };
    if (std::none_of(twelve.begin(), twelve.end(), same)) twelve.push_back(choices);
  };
  while (twelve.size() < 2) add(draw_right(Claim::bahdanau2014, generator));
  while (twelve.size() < 4) add(draw_right(Claim::luong2015, generator));
  std::vector<std::size_t> order;
  for (std::size_t i = 1; i < mistakes().size(); ++i) order.push_back(i);
  shuffle_(order, generator);
  order.insert(order.begin(), 0);  // the swap is always among them
  for (std::size_t i = 0; twelve.size() < 12; ++i) {
    const Mistake& mistake = mistakes()[order[i]];
    const auto whose = static_cast<std::size_t>(generator.below(static_cast<std::int64_t>(mistake.claims.size())));
    add(with_mistake(mistake, draw_right(mistake.claims[whose], generator)));
  }
  shuffle_(twelve, generator);
  return twelve;
}

std::string title(Claim claim) { return claim == Claim::bahdanau2014 ? "Bahdanau 2014" : "Luong 2015"; }
const char* name(Claim claim) { return claim == Claim::bahdanau2014 ? "bahdanau2014" : "luong2015"; }

std::string words(const Choices& c, Lang lang) {
  std::vector<std::string> parts;
  if (c.fault != Fault::no_attention) {
    const char* query = c.query == Query::s_prev ? "s_{t-1}" : c.query == Query::s_t ? "s_t" : "y_{t-1}";
    const char* score = c.fault == Fault::location_score ? "location" : to_string(c.score);
    const bool unread = c.fault == Fault::context_unused || c.cell_reads == CellReads::nothing;
    const char* beside = unread                              ? "]"
                         : c.cell_reads == CellReads::c_t    ? "; c_t]"
                         : c.cell_reads == CellReads::c_prev ? "; c_{t-1}]"
                                                             : "; s~_{t-1}]";
    parts.push_back(score + std::string(tr(lang, " score", " 打分")));
    parts.push_back(std::string(tr(lang, "query ", "查询 ")) + query);
    parts.push_back(std::string(tr(lang, "cell reads [y", "循环单元读 [y")) + beside);
  }
  if (!c.vector && c.readout_time == ReadoutTime::s_prev) {
    parts.emplace_back(tr(lang, "readout of s_{t-1}", "输出读 s_{t-1}"));
  }
  if (c.fault != Fault::reset_unused) {
    parts.emplace_back(c.reset == GruReset::before ? tr(lang, "reset before", "重置在前")
                                                   : tr(lang, "reset after", "重置在后"));
  }
  if (c.fault != Fault::update_not_convex) {
    parts.emplace_back(c.update == GruUpdate::keeps ? tr(lang, "z keeps", "z 保留") : tr(lang, "z replaces", "z 替换"));
  }
  if (c.fault != Fault::none) parts.emplace_back(words_for_fault(c.fault, lang));
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : std::string(tr(lang, ", ", "，"))) + part;
  return out;
}

std::set<std::string> told(const Choices& c) {
  std::set<std::string> out;
  if (c.fault != Fault::no_attention) {
    const bool location = c.fault == Fault::location_score;
    out.insert(std::string("score=") + (location ? "location" : to_string(c.score)));
    out.insert(c.query == Query::s_prev ? "query=s_prev" : c.query == Query::s_t ? "query=s_t" : "query=input");
  }
  const bool unread = c.fault == Fault::no_attention || c.fault == Fault::context_unused;
  out.insert(unread || c.cell_reads == CellReads::nothing ? "input=none"
             : c.cell_reads == CellReads::c_t             ? "input=c_t"
             : c.cell_reads == CellReads::vector_prev     ? "input=feeding"
             : c.vector                                   ? "input=feeds_context"
                                                          : "input=c_prev");
  out.insert(c.fault == Fault::reset_unused ? "reset=unused"
             : c.reset == GruReset::before  ? "reset=before"
                                            : "reset=after");
  out.insert(c.fault == Fault::update_not_convex ? "update=sum_new"
             : c.update == GruUpdate::keeps      ? "update=keeps"
                                                 : "update=replaces");
  if (!c.vector && c.readout_time == ReadoutTime::s_prev) out.insert("readout_time=s_prev");
  return out;
}

Foretold foretell(const Choices& c) {
  Foretold f;
  const bool unread = c.fault == Fault::context_unused || c.fault == Fault::no_attention;
  f.attends = c.fault != Fault::no_attention;
  f.diagonal = f.attends && c.query != Query::s_prev;
  f.below = f.attends && c.query != Query::y_emb;
  f.route = unread || c.cell_reads == CellReads::nothing ? ContextRoute::output_only
            : c.cell_reads == CellReads::c_t             ? ContextRoute::this_step
                                                         : ContextRoute::next_step;
  f.sees_source = !unread;
  f.sums_to_one =
      c.fault != Fault::softmax_over_batch && c.fault != Fault::mask_without_renorm && c.fault != Fault::no_attention;
  f.pads_unseen =
      c.fault != Fault::mask_missing && c.fault != Fault::mask_before_softmax && c.fault != Fault::mask_without_renorm;
  f.in_hull = !f.pads_unseen || (f.sums_to_one && c.fault != Fault::context_mean && c.fault != Fault::context_tanh);
  return f;
}

}  // namespace gradus::lesson11
