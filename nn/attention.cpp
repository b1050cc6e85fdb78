// Scores and attend.
#include "nn/attention.h"

#include <cmath>

#include "autograd/pointwise.h"
#include "nn/layers.h"

namespace gradus {
namespace {

// v_a . tanh(q + k) over d_attn, without storing the (B, T_enc, d_attn) sums. q (B, d_attn), k (B, T_enc, d_attn).
Var additive(const Var& q, const Var& k, const Var& v_a) {
  const std::int64_t batch = k.shape()[0], length = k.shape()[1];
  return pointwise_sum(
      "additive score", [](auto query, auto key, auto v) { return v * tanh(query + key); }, Axis{2},
      expand_new(q, Axis{1}, length), k, expand_new(expand_new(v_a, Axis{0}, length), Axis{0}, batch));
}

// Sum over d of a product of query and keys. q (B, d), k (B, T_enc, d).
Var dot_all(const Var& q, const Var& k) {
  return pointwise_sum(
      "dot score", [](auto query, auto key) { return query * key; }, Axis{2}, expand_new(q, Axis{1}, k.shape()[1]), k);
}

// x / |x| along the last axis.
Var unit(const Var& x) {
  const Axis last{x.rank() - 1};
  return x / expand_new(sqrt(sum(square(x), last)), last, x.size(last));
}

void check_query(const Score& score, const Var& query, const Var& keys) {
  const std::string shapes = std::string("score (") + to_string(score.kind) + "): query " + to_string(query.shape()) +
                             ", keys " + to_string(keys.shape()) + ": ";
  if (query.rank() != 2 || keys.rank() != 3 || query.shape()[0] != keys.shape()[0]) {
    throw ShapeError(shapes + "they must be (B, d_s) and (B, T_enc, .) with the same B; keys come from score.keys(H)");
  }
  const bool plain =
      score.kind == ScoreKind::dot || score.kind == ScoreKind::cosine || score.kind == ScoreKind::scaled_dot;
  if (plain && query.shape()[1] != keys.shape()[2]) {
    throw ShapeError(shapes + "a dot product needs d_s = d_h, found " + std::to_string(query.shape()[1]) + " and " +
                     std::to_string(keys.shape()[2]) +
                     "; use the general score (W_a maps between them) or equal sizes");
  }
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

Score::Score(ScoreKind score_kind, std::int64_t query_size, std::int64_t d_h, std::int64_t d_attn, Generator& generator)
    : kind(score_kind), d_s(query_size) {
  const bool plain = kind == ScoreKind::dot || kind == ScoreKind::cosine || kind == ScoreKind::scaled_dot;
  if (plain && d_s != d_h) {
    throw ShapeError(std::string("score (") + to_string(kind) +
                     "): needs d_s = d_h, found d_s = " + std::to_string(d_s) + " and d_h = " + std::to_string(d_h) +
                     "; use the general score, or make them equal (a bidirectional encoder "
                     "doubles d_h: d_s = 2 d_hidden)");
  }
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
  if (kind == ScoreKind::additive) return affine("score.keys (U_a h_i)", H, U_a, Var());
  if (kind == ScoreKind::concat) {  // W_a [s; h] = W_a[:, :d_s] s + W_a[:, d_s:] h: the second half is the key
    return affine("score.keys (W_a h_i)", H, narrow(W_a, Axis{1}, d_s, W_a.shape()[1] - d_s), Var());
  }
  if (kind == ScoreKind::cosine) return unit(H);
  return H;
}

Var Score::operator()(const Var& query, const Var& keys) const {
  check_query(*this, query, keys);
  switch (kind) {
    case ScoreKind::additive:
      return additive(affine("score (W_a s)", query, W_a, Var()), keys, v_a);
    case ScoreKind::concat:
      return additive(affine("score (W_a s)", query, narrow(W_a, Axis{1}, 0, d_s), Var()), keys, v_a);
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
  if (scores.rank() != 2 || values.rank() != 3 || scores.shape() != values.shape().without(Axis{2})) {
    throw ShapeError("attend: scores are " + to_string(scores.shape()) + " and values " + to_string(values.shape()) +
                     "; they must be (B, T_enc) and (B, T_enc, d_h)");
  }
  const Var weights = mask ? softmax(scores, Axis{1}, *mask) : softmax(scores, Axis{1});
  const Var context = pointwise_sum(
      "context", [](auto alpha, auto h) { return alpha * h; }, Axis{1}, expand_new(weights, Axis{2}, values.shape()[2]),
      values);
  return {context, weights};
}

}  // namespace gradus
