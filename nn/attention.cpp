// Scores and attend.
#include "nn/attention.h"

#include <cmath>

#include "autograd/kernels/additive_score.h"
#include "autograd/kernels/weighted_sum.h"
#include "autograd/pointwise.h"
#include "tensor/doctor/doctor.h"

namespace gradus {
namespace {

// Sum over d of a product of query and keys. q (B, d), k (B, T_enc, d).
Var dot_all(const Var& q, const Var& k) {
  return pointwise_sum(
      "dot score", [](auto query, auto key) { return query * key; }, Axis{2}, spread(q, Axis{1}, k.shape()[1]), k);
}

// x / |x| along the last axis.
Var unit(const Var& x) {
  const Axis last{x.rank() - 1};
  return x / expand_new(sqrt(sum(square(x), last)), last, x.size(last));
}

bool needs_equal_widths(ScoreKind kind) {
  return kind == ScoreKind::dot || kind == ScoreKind::cosine || kind == ScoreKind::scaled_dot;
}

// What fits together. d_s and d_h are the widths that the score was made for.
constexpr Contract dot_shapes("score", "d_s d_h; query (B, d_h)  H (B, T_enc, d_h)  keys (B, T_enc, d_h)");
constexpr Contract general_shapes("score",
                                  "d_s d_h  W_a (d_s, d_h);"
                                  "query (B, d_s)  H (B, T_enc, d_h)  keys (B, T_enc, d_h)");
constexpr Contract additive_shapes("score",
                                   "d_s d_h  W_a (d_attn, d_s)  U_a (d_attn, d_h)  v_a (d_attn);"
                                   "s_prev (B, d_s)  H (B, T_enc, d_h)  keys (B, T_enc, d_attn)");
constexpr Contract concat_shapes("score",
                                 "d_s d_h  W_a (d_attn, d_s + d_h)  v_a (d_attn);"
                                 "query (B, d_s)  H (B, T_enc, d_h)  keys (B, T_enc, d_attn)");
constexpr Contract attend_shapes("", "scores (B, T_enc)  values (B, T_enc, d_h)  mask (B, T_enc)");

// Any of query, H and keys may hold nothing.
void check(const Score& score, const Var& query, const Var& H, const Var& keys) {
  const auto& [kind, d_s, d_h, W_a, U_a, v_a] = score;
  const char* name = to_string(kind);
  if (kind == ScoreKind::additive) additive_shapes.check(name, {d_s, d_h, W_a, U_a, v_a, query, H, keys});
  else if (kind == ScoreKind::concat) concat_shapes.check(name, {d_s, d_h, W_a, v_a, query, H, keys});
  else if (kind == ScoreKind::general) general_shapes.check(name, {d_s, d_h, W_a, query, H, keys});
  else dot_shapes.check_dot(name, {d_s, d_h, query, H, keys});
}

}  // namespace

const char* to_string(ScoreKind kind) {
  switch (kind) {
    case ScoreKind::dot:
      return "dot";
    case ScoreKind::general:
      return "general";
    case ScoreKind::additive:
      return "additive";
    case ScoreKind::concat:
      return "concat";
    case ScoreKind::cosine:
      return "cosine";
    case ScoreKind::scaled_dot:
      return "scaled_dot";
  }
  return "";
}

Score::Score(ScoreKind score_kind, std::int64_t query_size, std::int64_t key_size, std::int64_t d_attn,
             Generator& generator)
    : kind(score_kind), d_s(query_size), d_h(key_size) {
  if (needs_equal_widths(kind) && d_s != d_h)
    throw ShapeError(examine_widths(to_string(kind), {"d_s", Shape{d_s}}, {"d_h", Shape{d_h}}));
  if (kind == ScoreKind::general) W_a = xavier(d_s, d_h, generator);
  if (kind == ScoreKind::additive) {
    W_a = xavier(d_attn, d_s, generator);
    U_a = xavier(d_attn, d_h, generator);
  }
  if (kind == ScoreKind::concat) W_a = xavier(d_attn, d_s + d_h, generator);
  if (kind == ScoreKind::additive || kind == ScoreKind::concat) {
    v_a = uniform(Shape{d_attn}, std::sqrt(3.0 / static_cast<double>(d_attn)), generator);
  }
}

Var Score::keys(const Var& H) const {
  check(*this, Var(), H, Var());
  if (kind == ScoreKind::additive) return linear(H, U_a, Var());
  if (kind == ScoreKind::concat) {  // W_a [s; h] = W_a[:, :d_s] s + W_a[:, d_s:] h: the second half is the key
    return linear(H, narrow(W_a, Axis{1}, d_s, W_a.shape()[1] - d_s), Var());
  }
  if (kind == ScoreKind::cosine) return unit(H);
  return H;
}

Var Score::operator()(const Var& query, const Var& keys) const {
  check(*this, query, Var(), keys);
  switch (kind) {
    case ScoreKind::additive:
      return additive_score(linear(query, W_a, Var()), keys, v_a);
    case ScoreKind::concat:
      return additive_score(linear(query, narrow(W_a, Axis{1}, 0, d_s), Var()), keys, v_a);
    case ScoreKind::general:
      return dot_all(matmul(query, W_a), keys);  // s . W_a h_i = (s W_a) . h_i
    case ScoreKind::cosine:
      return dot_all(unit(query), keys);
    case ScoreKind::scaled_dot:
      return dot_all(query, keys) / std::sqrt(static_cast<double>(query.shape()[1]));
    case ScoreKind::dot:
      break;
  }
  return dot_all(query, keys);
}

void Score::visit(Visitor& v) {
  v("W_a", W_a);
  v("U_a", U_a);
  v("v_a", v_a);
}

Attended attend(const Var& scores, const Var& values, const std::optional<Mask>& mask) {
  attend_shapes.check("attend", {scores, values, mask});
  const Var weights = mask ? softmax(scores, Axis{1}, *mask) : softmax(scores, Axis{1});
  const Var context = weighted_sum(weights, values);  // sum_i alpha_i h_i: (B, d_h)
  return {context, weights};
}

}  // namespace gradus
