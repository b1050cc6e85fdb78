// Bahdanau, Cho, Bengio 2014, "Neural Machine Translation by Jointly Learning to Align and Translate": the model of
// section 3 and of the appendix "Model architecture", written from its formulas. All vectors of one sentence, no batch.
#pragma once

#include <utility>

#include "tests/reference/plain.h"

namespace gradus::paper::bahdanau2014 {

// Gated unit of appendix A.1.1. C, C_r, C_z read the context and are empty in the encoder, which has none.
// The paper leaves the biases out, so each may be empty.
struct Gru {
  Mat W, W_z, W_r;  // (d_s, d_emb)
  Mat U, U_z, U_r;  // (d_s, d_s)
  Mat C, C_z, C_r;  // (d_s, d_h) or empty
  Vec b, b_z, b_r;  // (d_s) or empty
};

inline Vec gate_sum(const Mat& W, const Vec& y_emb, const Mat& U, const Vec& s, const Mat& C, const Vec& c,
                    const Vec& b) {
  Vec a = plus(mul(W, y_emb), mul(U, s));
  if (!C.empty()) a = plus(a, mul(C, c));
  return plus(a, b);
}

// y_emb (d_emb), s_prev (d_s), c (d_h) -> s_i (d_s). Reset BEFORE the product; z REPLACES the old state.
//   s_i  = (1 - z_i) * s_{i-1} + z_i * s~_i
//   s~_i = tanh(W e(y_{i-1}) + U [r_i * s_{i-1}] + C c_i)
//   z_i  = sigmoid(W_z e(y_{i-1}) + U_z s_{i-1} + C_z c_i)
//   r_i  = sigmoid(W_r e(y_{i-1}) + U_r s_{i-1} + C_r c_i)
inline Vec gru_step(const Gru& p, const Vec& y_emb, const Vec& s_prev, const Vec& c) {
  const Vec z = sigmoid_of(gate_sum(p.W_z, y_emb, p.U_z, s_prev, p.C_z, c, p.b_z));
  const Vec r = sigmoid_of(gate_sum(p.W_r, y_emb, p.U_r, s_prev, p.C_r, c, p.b_r));
  const Vec candidate = tanh_of(gate_sum(p.W, y_emb, p.U, times(r, s_prev), p.C, c, p.b));
  return blend(z, candidate, s_prev);
}

// Encoder, appendix A.2.1: x (T_enc, d_emb) -> annotations h_i = [forward h_i; backward h_i], (T_enc, 2 d).
// Both directions start from zero; the backward one reads the sentence from its end.
inline Mat annotations(const Gru& forward, const Gru& backward, const Mat& x) {
  const std::size_t T = x.size();
  Mat f(T), b(T), h(T);
  Vec state(forward.U.size(), 0.0);
  for (std::size_t i = 0; i < T; ++i) f[i] = state = gru_step(forward, x[i], state, {});
  state.assign(backward.U.size(), 0.0);
  for (std::size_t i = T; i-- > 0;) b[i] = state = gru_step(backward, x[i], state, {});
  for (std::size_t i = 0; i < T; ++i) h[i] = concat(f[i], b[i]);
  return h;
}

// s_0 = tanh(W_s h_1(backward)), appendix A.2.2: W_s (d_s, d), h_1(backward) (d), b_s (d_s) or empty -> (d_s).
inline Vec initial_state(const Mat& W_s, const Vec& h_1_backward, const Vec& b_s = {}) {
  return tanh_of(plus(mul(W_s, h_1_backward), b_s));
}

// Alignment model, appendix A.1.2.
struct Alignment {
  Mat W_a;  // (d_attn, d_s)
  Mat U_a;  // (d_attn, d_h)
  Vec v_a;  // (d_attn)
};

// e_ij = v_a . tanh(W_a s_{i-1} + U_a h_j): query (d_s), H (T_enc, d_h) -> (T_enc).
inline Vec energies(const Alignment& p, const Vec& query, const Mat& H) {
  Vec e(H.size());
  for (std::size_t j = 0; j < H.size(); ++j) e[j] = dot(p.v_a, tanh_of(plus(mul(p.W_a, query), mul(p.U_a, H[j]))));
  return e;
}

// Readout of appendix A.2.2 with maxout (l pairs).
struct Readout {
  Mat U_o;  // (2 l, d_s)
  Mat V_o;  // (2 l, d_emb)
  Mat C_o;  // (2 l, d_h)
  Mat W_o;  // (vocab, l)
  Vec b_o;  // (vocab) or empty: the paper has none
};

// t~_i = U_o s + V_o E y_{i-1} + C_o c_i;  t_i,j = max(t~_i,2j-1 , t~_i,2j);  p(y_i) ~ exp(y_i . W_o t_i).
// s (d_s), y_emb (d_emb), c (d_h) -> logits (vocab).
inline Vec readout(const Readout& p, const Vec& s, const Vec& y_emb, const Vec& c) {
  const Vec t2 = plus(plus(mul(p.U_o, s), mul(p.V_o, y_emb)), mul(p.C_o, c));
  if (t2.size() % 2 != 0) throw std::invalid_argument("maxout needs an even number of rows in U_o, V_o, C_o");
  Vec t(t2.size() / 2);
  for (std::size_t j = 0; j < t.size(); ++j) t[j] = std::max(t2[2 * j], t2[2 * j + 1]);
  return plus(mul(p.W_o, t), p.b_o);
}

// The state that the readout sees: section 3.1 writes g(y_{i-1}, s_i, c_i), the appendix writes U_o s_{i-1}.
enum class ReadoutTime { s_t, s_prev };

// What one teacher-forced pass over a sentence gives; s has one row more, s[0] = s_0.
struct Run {
  Mat s;       // (T_dec + 1, d_s)
  Mat e;       // (T_dec, T_enc)
  Mat alpha;   // (T_dec, T_enc)
  Mat c;       // (T_dec, d_h)
  Mat logits;  // (T_dec, vocab); empty when the readout has no weights
};

struct Decoder {
  Gru cell;
  Alignment align;
  Readout out;
  ReadoutTime readout_time = ReadoutTime::s_t;
};

// H (T_enc, d_h), s_0 (d_s), y_emb (T_dec, d_emb), where y_emb[t] is the embedding of y_{i-1}.
//   alpha_ij = exp(e_ij) / sum_k exp(e_ik)     (6)
//   c_i      = sum_j alpha_ij h_j              (5)
// The query is s_{i-1}: the state from BEFORE the step whose context it finds.
inline Run decode(const Decoder& p, const Mat& H, const Vec& s_0, const Mat& y_emb) {
  Run run;
  run.s.push_back(s_0);
  for (const Vec& y : y_emb) {
    const Vec s_prev = run.s.back();
    run.e.push_back(energies(p.align, s_prev, H));
    run.alpha.push_back(normalised_exp(run.e.back()));
    run.c.push_back(weighted_sum(run.alpha.back(), H));
    run.s.push_back(gru_step(p.cell, y, s_prev, run.c.back()));
    if (p.out.W_o.empty()) continue;
    const Vec& s = p.readout_time == ReadoutTime::s_t ? run.s.back() : s_prev;
    run.logits.push_back(readout(p.out, s, y, run.c.back()));
  }
  return run;
}

}  // namespace gradus::paper::bahdanau2014
