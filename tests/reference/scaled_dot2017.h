// Vaswani et al. 2017, "Attention Is All You Need": scaled dot-product attention (equation 1) and multi-head attention
// (section 3.2.2), for one sentence.
#pragma once

#include "tests/reference/softmax.h"

namespace gradus::paper::scaled_dot2017 {

struct Result {
  Mat weights;  // (T_q, T_k)
  Mat output;   // (T_q, d_v)
};

// (1)  Attention(Q, K, V) = softmax(Q K' / sqrt(d_k)) V
// Q (T_q, d_k), K (T_k, d_k), V (T_k, d_v). allowed[q][k] false: weight exactly 0; empty: everything is allowed.
inline Result attention(const Mat& Q, const Mat& K, const Mat& V, const std::vector<std::vector<bool>>& allowed = {}) {
  need_equal(K.size(), V.size(), "scaled dot-product attention");
  Result out;
  for (std::size_t q = 0; q < Q.size(); ++q) {
    Vec e;
    for (const Vec& k : K) e.push_back(dot(Q[q], k) / std::sqrt(static_cast<double>(k.size())));
    out.weights.push_back(allowed.empty() ? softmax(e) : masked_softmax(e, allowed[q]));
    out.output.push_back(weighted_sum(out.weights.back(), V));
  }
  return out;
}

// Projections of all heads stacked by rows: head i reads rows i d_k .. (i + 1) d_k - 1 of W_q and W_k.
struct MultiHead {
  std::size_t heads = 1;
  Mat W_q, W_k, W_v;  // (heads d_k, d_model), (heads d_k, d_model), (heads d_v, d_model)
  Vec b_q, b_k, b_v;  // (heads d_k), (heads d_k), (heads d_v), or empty
  Mat W_o;            // (d_model, heads d_v)
  Vec b_o;            // (d_model) or empty
};

struct MultiHeadResult {
  std::vector<Mat> weights;  // one (T_q, T_k) a head
  Mat output;                // (T_q, d_model)
};

// MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O,  head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)
// query (T_q, d_model), memory (T_k, d_model).
inline MultiHeadResult multi_head(const MultiHead& p, const Mat& query, const Mat& memory,
                                  const std::vector<std::vector<bool>>& allowed = {}) {
  MultiHeadResult out;
  Mat joined(query.size());
  const std::size_t d_k = p.W_q.size() / p.heads, d_v = p.W_v.size() / p.heads;
  for (std::size_t head = 0; head < p.heads; ++head) {
    Mat Q, K, V;
    for (const Vec& x : query) Q.push_back(part(plus(mul(p.W_q, x), p.b_q), head * d_k, d_k));
    for (const Vec& x : memory) K.push_back(part(plus(mul(p.W_k, x), p.b_k), head * d_k, d_k));
    for (const Vec& x : memory) V.push_back(part(plus(mul(p.W_v, x), p.b_v), head * d_v, d_v));
    const Result r = attention(Q, K, V, allowed);
    out.weights.push_back(r.weights);
    for (std::size_t q = 0; q < query.size(); ++q) joined[q] = concat(joined[q], r.output[q]);
  }
  for (const Vec& x : joined) out.output.push_back(plus(mul(p.W_o, x), p.b_o));
  return out;
}

}  // namespace gradus::paper::scaled_dot2017
