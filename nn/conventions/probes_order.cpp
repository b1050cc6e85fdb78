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
std::string blind_spot(const DecoderUnderTest& decoder, const DecoderRun& run, const DecoderInputs& in) {
  for (const Parameter& p : decoder.parameters) {
    if ((p.name == "W_a" || p.name == "v_a") && norm(p.var.value()) == 0) {
      return p.name + " is zero, so the score listens to nothing yet; use other parameters";
    }
  }
  if (std::all_of(run.weights.begin(), run.weights.end(), settled)) {
    return "every weight is so sure of one position that nothing moves it; use a less certain input";
  }
  const std::vector<Var> states(run.states.begin() + 1, run.states.end());
  double reached = 0;
  for (const Var& s : states) {
    for_each_component(s, {in.y_emb}, [&](double) { reached += squares(in.y_emb); });
  }
  return reached > 0 ? "" : "no input moves the state: the update gate is saturated; use other parameters";
}

Probe judge_order(Probe probe, std::size_t shift, QueryTime expected, const std::vector<Var>& weights,
                  const std::string& own, const std::string& before) {
  const Reading seen = read_order(probe.matrix, shift, weights);
  if (largest(probe.matrix) == 0) {
    probe.sentence = probe.measured = "nothing that this decoder did before moves any weight, not even " + before;
    return probe;
  }
  if (seen.future) {
    probe.measured = "weights depend on a later step";
  } else if (seen.own) {
    probe.measured = "alpha_t depends on " + own + ": the query is the state after the step (s_t)";
  } else {
    probe.measured = "alpha_t depends on " + before + " and what was before, not on " + own +
                     ": the query is the state before the step (s_{t-1})";
  }
  const bool s_t = expected == QueryTime::s_t;
  probe.passed = !seen.future && (s_t ? seen.own_always : !seen.own && seen.before_always);
  probe.sentence = probe.measured;
  if (!probe.passed) {
    probe.sentence += s_t ? "; Luong et al. 2015 ask with s_t" : "; Bahdanau et al. 2014 ask with s_{t-1}";
  }
  return probe;
}

}  // namespace

Probe probe_influence(const DecoderUnderTest& decoder, const DecoderInputs& inputs, QueryTime expected) {
  return guarded("influence", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::int64_t T_dec = in.y_emb.size(Axis{1});
    if (run.weights.empty()) return cannot_tell(probe, "this decoder returns no weights");
    if (!has_choice(in)) return cannot_tell(probe, "with one encoder position its weight is always 1; use T_enc > 1");
    if (T_dec < 2) return cannot_tell(probe, "one decoder step has no step before; use T_dec > 1");
    probe.matrix = jacobian(run.weights, {in.y_emb}, numbered("alpha", T_dec), numbered("y", T_dec),
                            [&](std::size_t k) { return squares_at(in.y_emb, Axis{1}, static_cast<std::int64_t>(k)); });
    const std::string blind = blind_spot(decoder, run, in);
    clear(decoder, in);
    if (largest(probe.matrix) == 0 && !blind.empty()) return cannot_tell(probe, blind);
    return judge_order(probe, 0, expected, run.weights, "the input of its own step", "the input of the step before");
  });
}

Probe probe_intervention(const DecoderUnderTest& decoder, const DecoderInputs& inputs, QueryTime expected) {
  return guarded("intervention", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::int64_t T_dec = in.y_emb.size(Axis{1});
    if (run.weights.empty()) return cannot_tell(probe, "this decoder returns no weights");
    if (!has_choice(in)) return cannot_tell(probe, "with one encoder position its weight is always 1; use T_enc > 1");
    // The gradient that reaches the Var of s_k is the answer to a zero added right there.
    probe.matrix = jacobian(run.weights, run.states, numbered("alpha", T_dec), numbered("s", T_dec + 1, 0),
                            [&](std::size_t k) { return squares(run.states[k]); });
    const std::string blind = blind_spot(decoder, run, in);
    clear(decoder, in);
    if (largest(probe.matrix) == 0 && !blind.empty()) return cannot_tell(probe, blind);
    return judge_order(probe, 1, expected, run.weights, "s_t", "s_{t-1}");
  });
}

Probe probe_context_route(const DecoderUnderTest& decoder, const DecoderInputs& inputs, ContextRoute expected) {
  return guarded("context_route", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::int64_t T_dec = in.y_emb.size(Axis{1});
    if (T_dec < 2) return cannot_tell(probe, "one decoder step cannot show what is fed to the next; use T_dec > 1");
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
      return r == ContextRoute::this_step   ? "s_1 depends on the encoder states: the cell consumes the context of its "
                                              "own step (c_t)"
             : r == ContextRoute::next_step ? "s_1 does not depend on the encoder states, s_2 does: what the cell "
                                              "consumes comes from the step before"
                                            : "no state depends on the encoder states: the context goes to the output "
                                              "only, or nowhere";
    };
    probe.measured = words(route);
    probe.passed = route == expected;
    probe.sentence = probe.measured;
    if (!probe.passed) {
      probe.sentence += expected == ContextRoute::this_step   ? "; expected c_t in the cell of step t"
                        : expected == ContextRoute::next_step ? "; expected it to be fed to the next step"
                                                              : "; expected no context in the cell";
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
      probe.measured = probe.sentence = "there is no attentional vector";
      if (fed) probe.sentence += "; Luong et al. 2015 feed s~_{t-1} to the cell";
      return probe;
    }
    if (T_dec < 2) return cannot_tell(probe, "one decoder step feeds nothing; use T_dec > 1");
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
    probe.measured = wrong_time ? "a state depends on an attentional vector of its own step or later"
                     : all      ? "s_t depends on s~_{t-1}: the attentional vector is fed to the next step"
                     : any      ? "s~_{t-1} reaches some states and not others"
                                : "no state depends on any attentional vector: it is not what is fed";
    probe.sentence = probe.measured;
    if (!probe.passed) {
      probe.sentence += fed ? "; input feeding (Luong et al. 2015, section 3.3) feeds s~_{t-1}, not c_{t-1}"
                            : "; without input feeding nothing of it is fed";
    }
    return probe;
  });
}

Probe probe_source(const DecoderUnderTest& decoder, const DecoderInputs& inputs, bool attends) {
  return guarded("source", [&](Probe probe) {
    const DecoderInputs in = fresh_leaves(inputs);
    const DecoderRun run = decoder.run(in);
    const std::vector<Var>& results = run.logits.empty() ? run.contexts : run.logits;
    if (results.empty()) return cannot_tell(probe, "this decoder returns neither logits nor contexts");
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
    probe.measured = every_step ? "every step's " + letter + " depend on the encoder states, s_0 held constant"
                     : any      ? "some steps' " + letter + " depend on the encoder states and some do not"
                                : "with s_0 held constant, " + letter + " do not depend on the encoder states";
    probe.sentence = probe.measured;
    if (!probe.passed) {
      probe.sentence += attends ? "; with attention every step looks at the source"
                                : "; without attention s_0 is all that a decoder knows of the source";
    }
    return probe;
  });
}

}  // namespace gradus
