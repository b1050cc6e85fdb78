// How well a query fits each key: the scores e (B, T_q, T_enc) before any softmax.
#pragma once

#include "nn/conventions/reference/vector.h"

namespace gradus::reference {

// q (d_q) is the query, h (d_h) a key.
//   dot         q . h                                          d_q = d_h
//   scaled_dot  q . h / sqrt(d_q)                              (Vaswani et al. 2017)
//   cosine      q . h / (|q| |h|)
//   general     q . W_a h            W_a (d_q, d_h)            (Luong et al. 2015)
//   additive    v_a . tanh(W_a q + U_a h [+ b_a])              (Bahdanau et al. 2014)
//   concat      v_a . tanh(W_a [q; h] [+ b_a])                 (Luong et al. 2015)
//   mlp         v_a . tanh(W_a [q; h] + b_a) + b_v             a perceptron with one hidden layer and both biases
//   location    (W_a q)_i            W_a (>= T_enc, d_q)       (Luong et al. 2015); the keys play no part
// W_a and U_a have d_attn rows where nothing else is said; biases in [] are added when they are there.
enum class Score { dot, scaled_dot, cosine, general, additive, concat, mlp, location };

// by_score: 1/sqrt(d_q) for scaled_dot, 1 otherwise. The others replace it, rightly or wrongly, for any score.
enum class Scale { by_score, none, over_sqrt_d, over_d, times_sqrt_d, over_sqrt_length };
// Mistakes: the query or the keys are replaced by zeros.
enum class Sees { both, query_only, keys_only };
// What the energy's tanh stands around in the additive score: the sum, or by mistake each term alone, the query's term
// only, or the keys' term only.
enum class Bracket { sum, each, query_only, keys_only };
// Which norms the cosine divides by.
enum class CosineNorm { both, query_only, keys_only };

struct ScoreConvention {
  Score score = Score::additive;
  Scale scale = Scale::by_score;
  Activation energy = Activation::tanh;  // identity: the tanh is missing
  Sees sees = Sees::both;
  CosineNorm cosine_norm = CosineNorm::both;
  Activation operands = Activation::identity;    // mistake: tanh(q) and tanh(h) are compared, squashed before any W
  Activation projection = Activation::identity;  // mistake: q . tanh(W_a h) in the general score
  bool transpose_W_a = false;                    // read W_a^T, square only
  bool transpose_U_a = false;
  bool exchanged = false;  // W_a h + U_a q; W_a [h; q] (a benign order if training starts from it); h . W_a q
  bool product = false;    // mistake: tanh(W_a q * U_a h), a product where the paper adds
  Bracket bracket = Bracket::sum;
  bool v_dropped = false;  // the energies are summed instead of weighed by v_a
};

// queries (B, T_q, d_q), keys (B, T_enc, d_h) -> (B, T_q, T_enc). Reads W_a, U_a, v_a (d_attn), b_a (d_attn), b_v (1).
Array scores(const ScoreConvention& convention, const Arrays& arrays, const Array& queries, const Array& keys);

// The key that the score compares: U_a h for additive, W_a h for general, h otherwise.
Vec projected_key(const ScoreConvention& convention, const Arrays& arrays, Row h);

}  // namespace gradus::reference
