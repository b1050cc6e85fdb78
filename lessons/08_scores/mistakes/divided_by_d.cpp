// SCALE_BY_D: d where its root belongs
#include "lessons/08_scores/exercise.h"

#include <cmath>

namespace gradus::lesson08 {

Var dot_scores(const Var& query, const Var& keys) {
  const Var everywhere = expand_new(query, Axis{1}, keys.size(Axis{1}));  // (B, n, d)
  return sum(everywhere * keys, Axis{2});
}

Var scaled_scores(const Var& query, const Var& keys) {
  return dot_scores(query, keys) / static_cast<double>(query.size(Axis{1}));
}

Var cosine_scores(const Var& query, const Var& keys) {
  const Var query_norm = sqrt(sum(square(query), Axis{1}));  // (B)
  const Var key_norms = sqrt(sum(square(keys), Axis{2}));    // (B, n)
  return dot_scores(query, keys) / (expand_new(query_norm, Axis{1}, keys.size(Axis{1})) * key_norms);
}

Var general_scores(const Var& query, const Var& H, const Var& W_a) {
  return dot_scores(matmul(query, W_a), H);  // one product for the query, not one for each state
}

Attended mix(const Var& scores, const Var& values) {
  const Var weights = softmax(scores, Axis{1});                                                   // (B, n)
  const Var context = sum(expand_new(weights, Axis{2}, values.size(Axis{2})) * values, Axis{1});  // (B, d_v)
  return {context, weights};
}

}  // namespace gradus::lesson08
