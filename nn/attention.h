// Attention: score the keys with a query, turn scores into weights, mix the values.
#pragma once

#include <optional>

#include "autograd/ops.h"
#include "nn/init.h"
#include "nn/module.h"

namespace gradus {

// e_{t,i} for a query s (B, d_s) and encoder states h_i, rows of H (B, T_enc, d_h):
//   dot         s . h_i                    d_s must equal d_h                  Luong et al. 2015, section 3.1
//   general     s . W_a h_i                W_a (d_s, d_h)                      Luong et al. 2015
//   additive    v_a . tanh(W_a s + U_a h_i)  W_a (d_attn, d_s), U_a (d_attn, d_h), v_a (d_attn)  Bahdanau et al. 2014
//   concat      v_a . tanh(W_a [s; h_i])   W_a (d_attn, d_s + d_h), v_a (d_attn)     Luong et al. 2015
//   cosine      s . h_i / (|s| |h_i|)      d_s must equal d_h
//   scaled_dot  s . h_i / sqrt(d_h)        d_s must equal d_h                  Vaswani et al. 2017, eq. 1
enum class ScoreKind { dot, general, additive, concat, cosine, scaled_dot };
const char* to_string(ScoreKind kind);

struct Score {
  ScoreKind kind = ScoreKind::additive;
  std::int64_t d_s = 0;  // width of the query: where concat's W_a is split
  std::int64_t d_h = 0;  // width of the encoder states
  Var W_a, U_a, v_a;     // those that the kind has
  Score() = default;
  // Throws ShapeError for a kind that needs d_s = d_h when they differ. d_attn is used by additive and concat only.
  Score(ScoreKind kind, std::int64_t d_s, std::int64_t d_h, std::int64_t d_attn, Generator& generator);
  // The part of the score that does not depend on the query, (B, T_enc, .): computed once per sequence.
  Var keys(const Var& H) const;
  // query (B, d_s), keys from keys(H) -> scores (B, T_enc).
  Var operator()(const Var& query, const Var& keys) const;
  void visit(Visitor& v);
};

// What a decoder looks at: computed once per source sequence.
struct Memory {
  Var keys;                  // (B, T_enc, .): what is scored
  Var values;                // (B, T_enc, d_h): what is mixed
  std::optional<Mask> mask;  // (B, T_enc): true = real; nothing: all are
};

struct Attended {
  Var context;  // (B, d_h)
  Var weights;  // (B, T_enc): sum to 1; exactly 0 at masked positions
};

// weights = softmax of scores (B, T_enc) over the encoder positions; context = sum_i weights_i values_i.
// Throws ShapeError; ValueError for a row whose mask allows nothing.
Attended attend(const Var& scores, const Var& values, const std::optional<Mask>& mask = std::nullopt);

}  // namespace gradus
