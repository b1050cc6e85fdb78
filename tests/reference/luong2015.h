// Luong, Pham, Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation": global attention of
// sections 3 and 3.1 with the input feeding of section 3.3, written from its formulas. One sentence, no batch.
#pragma once

#include <functional>

#include "tests/reference/plain.h"

namespace gradus::paper::luong2015 {

// A recurrent state: a GRU has no c, an LSTM has both.
struct State {
  Vec h;  // (d_s)
  Vec c;  // (d_s) or empty
};

// The recurrent cell, left open by the formulas: input (d_x), state -> next state. A stack is one such
// function that keeps its lower layers to itself: the h it returns is the top one's.
using Cell = std::function<State(const Vec&, const State&)>;

enum class Score { dot, general, concat, location };

// Only what the chosen score and the run use has to be filled.
struct Decoder {
  Score score = Score::general;
  Mat W_a;  // general (d_s, d_h); concat (d_attn, d_s + d_h); location (longest source, d_s)
  Vec v_a;  // concat (d_attn)
  Mat W_c;  // (d_htilde, d_h + d_s): the context comes first
  Vec b_c;  // (d_htilde) or empty: the paper has none
  Mat W_s;  // (vocab, d_htilde); empty: no logits
  Vec b_s;  // (vocab) or empty: the paper has none
  bool input_feeding = true;
};

// Weights over the source, section 3.1: h_t (d_s), H (T_enc, d_h) -> (T_enc).
//   score(h_t, h_s) = h_t . h_s  |  h_t . W_a h_s  |  v_a . tanh(W_a [h_t; h_s])
//   a_t(s) = exp(score(h_t, h_s)) / sum_s' exp(score(h_t, h_s'))     (7)
//   location: a_t = softmax(W_a h_t)                                 (8)
// The location score looks at no h_s; for a sentence shorter than the rows of W_a only the first T_enc rows count.
inline Vec align(const Decoder& p, const Vec& h_t, const Mat& H) {
  Vec e(H.size());
  for (std::size_t s = 0; s < H.size(); ++s) {
    switch (p.score) {
      case Score::dot:
        e[s] = dot(h_t, H[s]);
        break;
      case Score::general:
        e[s] = dot(h_t, mul(p.W_a, H[s]));
        break;
      case Score::concat:
        e[s] = dot(p.v_a, tanh_of(mul(p.W_a, concat(h_t, H[s]))));
        break;
      case Score::location:
        e[s] = dot(p.W_a.at(s), h_t);
        break;
    }
  }
  return normalised_exp(e);
}

// h~_t = tanh(W_c [c_t; h_t])     (5): c (d_h), h (d_s) -> (d_htilde).
inline Vec attentional_vector(const Decoder& p, const Vec& c, const Vec& h) {
  return tanh_of(plus(mul(p.W_c, concat(c, h)), p.b_c));
}

// What one teacher-forced pass over a sentence gives; s has one row more, s[0] = s_0.
struct Run {
  Mat s;       // (T_dec + 1, d_s): h of the cell
  Mat alpha;   // (T_dec, T_enc)
  Mat c;       // (T_dec, d_h): contexts
  Mat htilde;  // (T_dec, d_htilde)
  Mat logits;  // (T_dec, vocab): W_s h~_t, whose softmax is (6)
};

// H (T_enc, d_h), s_0, y_emb (T_dec, d_emb). The cell moves FIRST and its NEW state is the query. With input feeding
// the cell reads [y_emb; h~_{t-1}], and h~_0 is htilde_0 (d_htilde), zeros when it is empty.
inline Run decode(const Decoder& p, const Cell& cell, const Mat& H, const State& s_0, const Mat& y_emb,
                  Vec htilde_0 = {}) {
  Run run;
  State state = s_0;
  Vec htilde = htilde_0.empty() ? Vec(p.W_c.size(), 0.0) : htilde_0;
  run.s.push_back(state.h);
  for (const Vec& y : y_emb) {
    state = cell(p.input_feeding ? concat(y, htilde) : y, state);
    run.s.push_back(state.h);
    run.alpha.push_back(align(p, state.h, H));
    run.c.push_back(weighted_sum(run.alpha.back(), H));
    htilde = attentional_vector(p, run.c.back(), state.h);
    run.htilde.push_back(htilde);
    if (!p.W_s.empty()) run.logits.push_back(plus(mul(p.W_s, htilde), p.b_s));
  }
  return run;
}

}  // namespace gradus::paper::luong2015
