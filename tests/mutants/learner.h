// Decoders as a learner writes them: one loop made of small steps with plain ops, each of which can be got wrong. The
// right steps are written differently from the library's, so that they are twins of it and not copies.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "nn/conventions/probes.h"
#include "nn/conventions/to_reference.h"

namespace gradus::learner {

// Everything that a step may look at. At step 0 what was before is zero, and s_prev is s_0.
struct Now {
  std::int64_t t = 0;
  Var y_emb, H, s_0;  // (B, T_dec, d_emb), (B, T_enc, d_h), (B, d_s)
  std::optional<Mask> mask;
  Var y;            // (B, d_emb)
  Var s_prev, s_t;  // (B, d_s)
  Var query, scores, weights, weights_prev;
  Var c, c_prev, htilde, htilde_prev;  // (B, d_h), (B, d_c)
  Var x, features;                     // what the cell reads, what the readout reads

  std::int64_t B() const { return H.shape()[0]; }
  std::int64_t T_enc() const { return H.shape()[1]; }
};

// W x of each position: (B, T, d_in) -> (B, T, d_out).
inline Var project(const Var& x, const Var& W) {
  const Var rows = reshape(x, Shape{x.shape()[0] * x.shape()[1], x.shape()[2]});
  return reshape(matmul(rows, transpose(W)), Shape{x.shape()[0], x.shape()[1], W.shape()[0]});
}
inline Var linear(const Var& x, const Var& W) { return matmul(x, transpose(W)); }  // (B, d_in) -> (B, d_out)
inline Var block(const Var& x, std::int64_t k, std::int64_t d) { return narrow(x, Axis{1}, k * d, d); }
inline Var zero_like(const Var& x) { return Var(zeros(x.shape(), x.dtype())); }

struct Learner {
  Var W_a, U_a, v_a, W, U, W_c, W_o, b_o;
  std::vector<Parameter> more;  // parameters that only a wrong decoder has
  bool asks_before = true;      // Bahdanau: attention, then the cell. Luong: the cell, then attention.

  using Part = std::function<Var(const Learner&, const Now&)>;
  Part input, start, before, query, scores, weights, context, cell_input, cell, attentional, features, logits;

  std::int64_t d_s() const { return U.shape()[1]; }

  std::vector<Parameter> parameters() const {
    std::vector<Parameter> list;
    const std::pair<const char*, const Var*> all[] = {{"W_a", &W_a}, {"U_a", &U_a}, {"v_a", &v_a}, {"W", &W},
                                                      {"U", &U},     {"W_c", &W_c}, {"W_o", &W_o}, {"b_o", &b_o}};
    for (const auto& [name, var] : all) {
      if (var->defined()) list.push_back({name, *var});
    }
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }

  DecoderRun operator()(const DecoderInputs& inputs) const {
    Now now;
    now.y_emb = inputs.y_emb, now.H = inputs.H, now.s_0 = inputs.s_0, now.mask = inputs.mask;
    now.s_prev = start(*this, now);
    now.c_prev = Var(zeros(Shape{now.B(), now.H.shape()[2]}, f64));
    now.weights_prev = Var(zeros(Shape{now.B(), now.T_enc()}, f64));
    if (W_c.defined()) now.htilde_prev = Var(zeros(Shape{now.B(), W_c.shape()[0]}, f64));
    DecoderRun run;
    run.states.push_back(now.s_prev);
    for (now.t = 0; now.t < inputs.y_emb.shape()[1]; ++now.t) {
      now.y = input(*this, now);
      now.s_prev = before(*this, now);
      if (asks_before) attend(now);
      else now.c = now.c_prev;
      now.x = cell_input(*this, now);
      now.s_t = cell(*this, now);
      if (!asks_before) attend(now);
      if (W_c.defined()) now.htilde = attentional(*this, now);
      now.features = features(*this, now);
      run.states.push_back(now.s_t);
      run.weights.push_back(now.weights);
      run.contexts.push_back(now.c);
      if (now.htilde.defined()) run.attentional.push_back(now.htilde);
      run.logits.push_back(logits(*this, now));
      now.s_prev = now.s_t, now.c_prev = now.c, now.htilde_prev = now.htilde, now.weights_prev = now.weights;
    }
    return run;
  }

 private:
  void attend(Now& now) const {
    now.query = query(*this, now);
    now.scores = scores(*this, now);
    now.weights = weights(*this, now);
    now.c = context(*this, now);
  }
};

// ---- the right steps

inline Var additive_scores(const Learner& l, const Now& n) {
  const Var q = expand_new(linear(n.query, l.W_a), Axis{1}, n.T_enc());  // (B, T_enc, d_attn)
  return dot(tanh(q + project(n.H, l.U_a)), l.v_a, Axis{2});
}
inline Var general_scores(const Learner& l, const Now& n) {  // s . W_a h_i
  return sum(expand_new(n.query, Axis{1}, n.T_enc()) * project(n.H, l.W_a), Axis{2});
}
inline Var softmax_weights(const Learner&, const Now& n) {
  return n.mask ? softmax(n.scores, Axis{1}, *n.mask) : softmax(n.scores, Axis{1});
}
inline Var weighted_sum(const Var& weights, const Var& values) {
  return sum(expand_new(weights, Axis{2}, values.shape()[2]) * values, Axis{1});
}

// Bahdanau et al. 2014, appendix: r, z, n; z takes the new state.
struct Gates {
  Var r, z, n;
};
inline Gates gru_gates(const Learner& l, const Now& now) {
  const std::int64_t d = l.d_s();
  const Var wx = linear(now.x, l.W), us = linear(now.s_prev, narrow(l.U, Axis{0}, 0, 2 * d));
  const Var r = sigmoid(block(wx, 0, d) + block(us, 0, d)), z = sigmoid(block(wx, 1, d) + block(us, 1, d));
  return {r, z, tanh(block(wx, 2, d) + linear(r * now.s_prev, narrow(l.U, Axis{0}, 2 * d, d)))};
}
inline Var gru(const Learner& l, const Now& now) {
  const Gates g = gru_gates(l, now);
  return (1.0 - g.z) * now.s_prev + g.z * g.n;
}

inline Var drawn(const Shape& shape, Generator& generator) {
  return parameter(random_uniform(shape, -0.8, 0.8, generator, f64));
}

inline Learner base(const DecoderSizes& n, std::uint64_t seed) {
  Generator g(seed, "learner");
  Learner l;
  l.U = drawn(Shape{3 * n.d_s, n.d_s}, g);
  l.b_o = drawn(Shape{n.vocab}, g);
  l.input = [](const Learner&, const Now& now) { return select(now.y_emb, Axis{1}, now.t); };
  l.start = [](const Learner&, const Now& now) { return now.s_0; };
  l.before = [](const Learner&, const Now& now) { return now.s_prev; };
  l.weights = softmax_weights;
  l.context = [](const Learner&, const Now& now) { return weighted_sum(now.weights, now.H); };
  l.cell = gru;
  l.logits = [](const Learner& me, const Now& now) {
    return linear(now.features, me.W_o) + expand_new(me.b_o, Axis{0}, now.B());
  };
  return l;
}

// Additive attention, GRU on [y; c_t], readout of [s_t; y; c_t].
inline Learner bahdanau(const DecoderSizes& n, std::uint64_t seed = 3) {
  Learner l = base(n, seed);
  Generator g(seed, "bahdanau");
  l.W_a = drawn(Shape{n.d_attn, n.d_s}, g);
  l.U_a = drawn(Shape{n.d_attn, n.d_h}, g);
  l.v_a = drawn(Shape{n.d_attn}, g);
  l.W = drawn(Shape{3 * n.d_s, n.d_emb + n.d_h}, g);
  l.W_o = drawn(Shape{n.vocab, n.d_s + n.d_emb + n.d_h}, g);
  l.asks_before = true;
  l.query = [](const Learner&, const Now& now) { return now.s_prev; };
  l.scores = additive_scores;
  l.cell_input = [](const Learner&, const Now& now) { return concat({now.y, now.c}, Axis{1}); };
  l.features = [](const Learner&, const Now& now) { return concat({now.s_t, now.y, now.c}, Axis{1}); };
  return l;
}

// General score, GRU on [y; s~_{t-1}], s~ = tanh(W_c [c; s]), readout of s~.
inline Learner luong(const DecoderSizes& n, std::uint64_t seed = 3) {
  Learner l = base(n, seed);
  Generator g(seed, "luong");
  l.W_a = drawn(Shape{n.d_s, n.d_h}, g);
  l.W = drawn(Shape{3 * n.d_s, n.d_emb + n.d_s}, g);
  l.W_c = drawn(Shape{n.d_s, n.d_h + n.d_s}, g);
  l.W_o = drawn(Shape{n.vocab, n.d_s}, g);
  l.asks_before = false;
  l.query = [](const Learner&, const Now& now) { return now.s_t; };
  l.scores = general_scores;
  l.cell_input = [](const Learner&, const Now& now) { return concat({now.y, now.htilde_prev}, Axis{1}); };
  l.attentional = [](const Learner& me, const Now& now) {
    return tanh(linear(concat({now.c, now.s_t}, Axis{1}), me.W_c));
  };
  l.features = [](const Learner&, const Now& now) { return now.htilde; };
  return l;
}

inline reference::DecoderConvention luong_convention() {
  reference::DecoderConvention convention = reference::luong2015(reference::Score::general, true);
  convention.cell = reference::bahdanau2014_gru();
  return convention;
}

inline DecoderUnderTest under_test(std::string name, const Learner& l) {
  return {std::move(name), [l](const DecoderInputs& inputs) { return l(inputs); }, l.parameters()};
}

}  // namespace gradus::learner
