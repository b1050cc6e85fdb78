// Lesson 08, what you write: four scores, and what turns scores into a context.
// You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include "nn/attention.h"

namespace gradus::lesson08 {

// e_i = query . k_i. query (B, d), keys (B, n, d) -> (B, n): one number for every key. Sizes that differ are refused.
Var dot_scores(const Var& query, const Var& keys);

// The same with a deviation that does not depend on d, when the numbers in query and keys have deviation 1.
Var scaled_scores(const Var& query, const Var& keys);

// The cosine of the angle between query and k_i: (B, d), (B, n, d) -> (B, n), between -1 and 1.
Var cosine_scores(const Var& query, const Var& keys);

// e_i = query . W_a h_i. query (B, d_s), H (B, n, d_h), W_a (d_s, d_h) -> (B, n).
Var general_scores(const Var& query, const Var& H, const Var& W_a);

// Weights and context: scores (B, n), values (B, n, d_v) -> {context (B, d_v), weights (B, n)}; the weights of each row
// of the batch have the sum 1.
Attended mix(const Var& scores, const Var& values);

}  // namespace gradus::lesson08
