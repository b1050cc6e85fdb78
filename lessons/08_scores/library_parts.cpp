// The taught parts as the library has them.
#include "lessons/08_scores/parts.h"

namespace gradus::lesson08 {
namespace {

Var scores(ScoreKind kind, const Var& query, const Var& H, const Var& W_a) {
  Score score;
  score.kind = kind;
  score.d_s = query.size(Axis{1});
  score.W_a = W_a;
  return score(query, score.keys(H));
}

}  // namespace

const Parts& taught_parts() {
  static const Parts parts{
      {"the library's", "库里的"}, scores, [](const Var& e, const Var& values) { return attend(e, values); }};
  return parts;
}

}  // namespace gradus::lesson08
