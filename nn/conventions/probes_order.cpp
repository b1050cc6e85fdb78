// In which order a decoder computes, read off what depends on what.
#include <algorithm>
#include <cmath>

#include "nn/conventions/probes_tools.h"
#include "tensor/reduce.h"

namespace gradus {

using namespace probing;

namespace {

// Entry (t, k) = |d results[t] / d sink k|, where `entry` reads the squares at sink k after each backward.
Matrix jacobian(const std::vector<Var>& results, const std::vector<Var>& sinks, std::vector<std::string> rows,
                std::vector<std::string> columns, const std::function<double(std::size_t k)>& entry) {
  Matrix matrix{std::move(rows), std::move(columns), {}};
  for (const Var& result : results) {
    std::vector<double> row(matrix.columns.size(), 0);
    for_each_component(result, sinks, [&](double weight) {
      for (std::size_t k = 0; k < row.size(); ++k) row[k] += weight * entry(k);
    });
    for (double total : row) matrix.values.push_back(std::sqrt(total));
  }
  return matrix;
}

// What a matrix of weights (row t = alpha_{t+1}) says about the query. `own` is the column of step t's own state or
// input in row t; columns before it belong to the past, columns after it to the future.
struct Reading {
  bool own = false, own_always = true, before_always = true, future = false;
};
Reading read_order(const Matrix& matrix, std::size_t shift, const std::vector<Var>& weights) {
  Reading reading;
  for (std::size_t t = 0; t < matrix.rows.size(); ++t) {
    const bool may_rest = settled(weights[t]);
    for (std::size_t k = 0; k < matrix.columns.size(); ++k) {
      const bool moves = matrix.at(t, k) != 0;  // what is not connected is exactly 0, however small the rest
      if (k == t + shift) {
        reading.own = reading.own || moves;
        reading.own_always = reading.own_always && (moves || may_rest);
      }
      if (k + 1 == t + shift) reading.before_always = reading.before_always && (moves || may_rest);
      if (k > t + shift) reading.future = reading.future || moves;
    }
  }
  return reading;
}

// Why weights that nothing moves may be this input's fault and not the decoder's: states that no input moves, or a
// score whose parameters are zero. Empty when there is no such excuse.
Words blind_spot(const DecoderUnderTest& decoder, const DecoderRun& run, const DecoderInputs& in) {
  for (const Parameter& p : decoder.parameters) {
    if ((p.name == "W_a" || p.name == "v_a") && norm(p.var.value()) == 0) {
      return {p.name + " is zero, so the score listens to nothing yet; use other parameters",
              p.name + " 为零，打分还什么都不听；请换别的参数"};
    }
  }
  if (std::all_of(run.weights.begin(), run.weights.end(), settled)) {
    return {"every weight is so sure of one position that nothing moves it; use a less certain input",
            "每个权重都完全确定在一个位置上，什么都动不了它；请换一个不那么确定的输入"};
  }
  const std::vector<Var> states(run.states.begin() + 1, run.states.end());
  double reached = 0;
  for (const Var& s : states) {
    for_each_component(s, {in.y_emb}, [&](double) { reached += squares(in.y_emb); });
  }
  if (reached > 0) return {};
  return {"no input moves the state: the update gate is saturated; use other parameters",
          "没有输入能改变状态：更新门已饱和；请换别的参数"};
}

Probe judge_order(Probe probe, std::size_t shift, QueryTime expected, const std::vector<Var>& weights, const Words& own,
                  const Words& before) {
  const Reading seen = read_order(probe.matrix, shift, weights);
  if (largest(probe.matrix) == 0) {
    probe.sentence = probe.measured = Words("nothing that this decoder did before moves any weight, not even ",
                                            "此前所做的一切都动不了任何权重，就连这也不行：") +
                                      before;
    return probe;
  }
  if (seen.future) {
    probe.measured = {"weights depend on a later step", "权重依赖后面的步"};
  } else if (seen.own) {
    probe.measured = {"alpha_t depends on " + own.en + ": the query is the state after the step (s_t)",
                      "alpha_t 依赖" + own.zh + "：查询是这一步之后的状态（s_t）"};
  } else {
    probe.measured = {"alpha_t depends on " + before.en + " and what was before, not on " + own.en +
                          ": the query is the state before the step (s_{t-1})",
                      "alpha_t 依赖" + before.zh + "及更早的，不依赖" + own.zh + "：查询是这一步之前的状态（s_{t-1}）"};
  }
  const bool s_t = expected == QueryTime::s_t;
  probe.passed = !seen.future && (s_t ? seen.own_always : !seen.own && seen.before_always);
  probe.sentence = probe.measured;
  if (!probe.passed) {
    probe.sentence += s_t ? Words("; Luong et al. 2015 ask with s_t", "；Luong 等 2015 的查询是 s_t")
                          : Words("; Bahdanau et al. 2014 ask with s_{t-1}", "；Bahdanau 等 2014 的查询是 s_{t-1}");
  }
  return probe;
}

}  // namespace

Probe probe_influence(const DecoderUnderTest& decoder, const DecoderInputs& inputs, QueryTime expected) {
  return guarded("influence", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::int64_t T_dec = in.y_emb.size(Axis{1});
    if (run.weights.empty())
      return cannot_tell(probe, Words("this decoder returns no weights", "这个解码器不返回权重"));
    if (!has_choice(in))
      return cannot_tell(probe, Words("with one encoder position its weight is always 1; use T_enc > 1",
                                      "只有一个编码器位置时权重总是 1；请用 T_enc > 1"));
    if (T_dec < 2)
      return cannot_tell(probe, Words("one decoder step has no step before; use T_dec > 1",
                                      "只有一个解码步，没有上一步；请用 T_dec > 1"));
    probe.matrix = jacobian(run.weights, {in.y_emb}, numbered("alpha", T_dec), numbered("y", T_dec),
                            [&](std::size_t k) { return squares_at(in.y_emb, Axis{1}, static_cast<std::int64_t>(k)); });
    const Words blind = blind_spot(decoder, run, in);
    clear(decoder, in);
    if (largest(probe.matrix) == 0 && !blind.empty()) return cannot_tell(probe, blind);
    return judge_order(probe, 0, expected, run.weights, {"the input of its own step", "本步的输入"},
                       {"the input of the step before", "上一步的输入"});
  });
}

Probe probe_intervention(const DecoderUnderTest& decoder, const DecoderInputs& inputs, QueryTime expected) {
  return guarded("intervention", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::int64_t T_dec = in.y_emb.size(Axis{1});
    if (run.weights.empty())
      return cannot_tell(probe, Words("this decoder returns no weights", "这个解码器不返回权重"));
    if (!has_choice(in))
      return cannot_tell(probe, Words("with one encoder position its weight is always 1; use T_enc > 1",
                                      "只有一个编码器位置时权重总是 1；请用 T_enc > 1"));
    // The gradient that reaches the Var of s_k is the answer to a zero added right there.
    probe.matrix = jacobian(run.weights, run.states, numbered("alpha", T_dec), numbered("s", T_dec + 1, 0),
                            [&](std::size_t k) { return squares(run.states[k]); });
    const Words blind = blind_spot(decoder, run, in);
    clear(decoder, in);
    if (largest(probe.matrix) == 0 && !blind.empty()) return cannot_tell(probe, blind);
    return judge_order(probe, 1, expected, run.weights, {"s_t", " s_t "}, {"s_{t-1}", " s_{t-1} "});
  });
}

Probe probe_context_route(const DecoderUnderTest& decoder, const DecoderInputs& inputs, ContextRoute expected) {
  return guarded("context_route", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::int64_t T_dec = in.y_emb.size(Axis{1});
    if (T_dec < 2)
      return cannot_tell(probe, Words("one decoder step cannot show what is fed to the next; use T_dec > 1",
                                      "只有一个解码步，看不出什么传给下一步；请用 T_dec > 1"));
    const std::vector<Var> states(run.states.begin() + 1, run.states.end());
    probe.matrix = jacobian(states, {in.H}, numbered("s", T_dec), numbered("h", in.H.size(Axis{1})),
                            [&](std::size_t i) { return squares_at(in.H, Axis{1}, static_cast<std::int64_t>(i)); });
    clear(decoder, in);
    bool first = false, later = false;
    for (std::size_t t = 0; t < probe.matrix.rows.size(); ++t) {
      for (std::size_t i = 0; i < probe.matrix.columns.size(); ++i) {
        (t == 0 ? first : later) = (t == 0 ? first : later) || probe.matrix.at(t, i) != 0;
      }
    }
    const ContextRoute route = first   ? ContextRoute::this_step
                               : later ? ContextRoute::next_step
                                       : ContextRoute::output_only;
    auto words = [](ContextRoute r) {
      return r == ContextRoute::this_step
                 ? Words("s_1 depends on the encoder states: the cell consumes the context of its own step (c_t)",
                         "s_1 依赖编码器隐藏状态：循环单元读本步的上下文（c_t）")
             : r == ContextRoute::next_step
                 ? Words(
                       "s_1 does not depend on the encoder states, s_2 does: what the cell consumes comes from the "
                       "step before",
                       "s_1 不依赖编码器隐藏状态，s_2 依赖：循环单元读到的东西来自上一步")
                 : Words("no state depends on the encoder states: the context goes to the output only, or nowhere",
                         "没有状态依赖编码器隐藏状态：上下文只去了输出，或者哪里也没去");
    };
    probe.measured = words(route);
    probe.passed = route == expected;
    probe.sentence = probe.measured;
    if (!probe.passed) {
      probe.sentence += expected == ContextRoute::this_step
                            ? Words("; expected c_t in the cell of step t", "；第 t 步的循环单元应当读 c_t")
                        : expected == ContextRoute::next_step
                            ? Words("; expected it to be fed to the next step", "；应当传给下一步")
                            : Words("; expected no context in the cell", "；循环单元里不应有上下文");
    }
    return probe;
  });
}

Probe probe_feeding(const DecoderUnderTest& decoder, const DecoderInputs& inputs, bool fed) {
  return guarded("feeding", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::int64_t T_dec = in.y_emb.size(Axis{1});
    if (run.attentional.empty()) {
      probe.passed = !fed;
      probe.measured = probe.sentence = {"there is no attentional vector", "没有注意力向量"};
      if (fed)
        probe.sentence += {"; Luong et al. 2015 feed s~_{t-1} to the cell", "；Luong 等 2015 把 s~_{t-1} 传给循环单元"};
      return probe;
    }
    if (T_dec < 2)
      return cannot_tell(probe, Words("one decoder step feeds nothing; use T_dec > 1",
                                      "只有一个解码步，没有东西可传；请用 T_dec > 1"));
    const std::vector<Var> states(run.states.begin() + 1, run.states.end());
    probe.matrix = jacobian(states, run.attentional, numbered("s", T_dec), numbered("s~", T_dec),
                            [&](std::size_t k) { return squares(run.attentional[k]); });
    clear(decoder, in);
    bool all = true, any = false, wrong_time = false;
    for (std::size_t t = 0; t < probe.matrix.rows.size(); ++t) {
      for (std::size_t k = 0; k < probe.matrix.columns.size(); ++k) {
        const bool moves = probe.matrix.at(t, k) != 0;
        any = any || moves;
        if (k + 1 == t) all = all && moves;
        if (k >= t) wrong_time = wrong_time || moves;
      }
    }
    probe.passed = !wrong_time && (fed ? all : !any);
    probe.measured =
        wrong_time ? Words("a state depends on an attentional vector of its own step or later",
                           "有状态依赖本步或更晚的注意力向量")
        : all      ? Words("s_t depends on s~_{t-1}: the attentional vector is fed to the next step",
                           "s_t 依赖 s~_{t-1}：注意力向量传给了下一步")
        : any ? Words("s~_{t-1} reaches some states and not others", "s~_{t-1} 到达了一些状态，没有到达另一些")
              : Words("no state depends on any attentional vector: it is not what is fed",
                      "没有状态依赖任何注意力向量：传下去的不是它");
    probe.sentence = probe.measured;
    if (!probe.passed) {
      probe.sentence += fed ? Words("; input feeding (Luong et al. 2015, section 3.3) feeds s~_{t-1}, not c_{t-1}",
                                    "；输入馈送（Luong 等 2015，3.3 节）传的是 s~_{t-1}，不是 c_{t-1}")
                            : Words("; without input feeding nothing of it is fed", "；没有输入馈送时什么也不传");
    }
    return probe;
  });
}

Probe probe_source(const DecoderUnderTest& decoder, const DecoderInputs& inputs, bool attends) {
  return guarded("source", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::vector<Var>& results = run.logits.empty() ? run.contexts : run.logits;
    if (results.empty())
      return cannot_tell(probe, Words("this decoder returns neither logits nor contexts",
                                      "这个解码器既不返回 logits，也不返回上下文"));
    const auto T_dec = static_cast<std::int64_t>(results.size());
    const std::string letter = run.logits.empty() ? "c" : "logits";
    probe.matrix = jacobian(results, {in.H}, numbered(letter, T_dec), numbered("h", in.H.size(Axis{1})),
                            [&](std::size_t i) { return squares_at(in.H, Axis{1}, static_cast<std::int64_t>(i)); });
    clear(decoder, in);
    bool every_step = true, any = false;
    for (std::size_t t = 0; t < probe.matrix.rows.size(); ++t) {
      bool here = false;
      for (std::size_t i = 0; i < probe.matrix.columns.size(); ++i) here = here || probe.matrix.at(t, i) != 0;
      any = any || here;
      every_step = every_step && here;
    }
    probe.passed = attends ? every_step : !any;
    probe.measured = every_step ? Words("every step's " + letter + " depend on the encoder states, s_0 held constant",
                                        "把 s_0 当作常数，每一步的 " + letter + " 都依赖编码器隐藏状态")
                     : any      ? Words("some steps' " + letter + " depend on the encoder states and some do not",
                                        "有些步的 " + letter + " 依赖编码器隐藏状态，有些不依赖")
                                : Words("with s_0 held constant, " + letter + " do not depend on the encoder states",
                                        "把 s_0 当作常数，" + letter + " 不依赖编码器隐藏状态");
    probe.sentence = probe.measured;
    if (!probe.passed) {
      probe.sentence += attends
                            ? Words("; with attention every step looks at the source", "；有注意力时，每一步都看源序列")
                            : Words("; without attention s_0 is all that a decoder knows of the source",
                                    "；没有注意力时，解码器对源序列的了解只有 s_0");
    }
    return probe;
  });
}

}  // namespace gradus
