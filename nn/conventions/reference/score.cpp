// Scores, one query and one key at a time.
#include "nn/conventions/reference/score.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace gradus::reference {

namespace {

Vec product(const Array& W, Row x, bool transpose) { return transpose ? matvec_transposed(W, x) : matvec(W, x); }

Vec times_W_a(const ScoreConvention& c, const Arrays& arrays, Row x) {
  return product(get(arrays, "W_a"), x, c.transpose_W_a);
}

Vec times_U_a(const ScoreConvention& c, const Arrays& arrays, Row x) {
  return product(get(arrays, "U_a"), x, c.transpose_U_a);
}

Vec projected_query(const ScoreConvention& c, const Arrays& arrays, Row q) {
  if (c.score == Score::additive) return c.exchanged ? times_U_a(c, arrays, q) : times_W_a(c, arrays, q);
  if (c.score == Score::location || (c.score == Score::general && c.exchanged)) return times_W_a(c, arrays, q);
  return copy(q);
}

// v_a . f(x) for the three scores with an energy.
double weighed(const ScoreConvention& c, const Arrays& arrays, Vec x) {
  x = activate(c.energy, std::move(x));
  return c.v_dropped ? dot(x, Vec(x.size(), 1.0)) : dot(x, get(arrays, "v_a").data);
}

// And b_v, where the layer that holds v_a has a bias.
double weighed_energy(const ScoreConvention& c, const Arrays& arrays, Vec x) {
  const double e = weighed(c, arrays, std::move(x));
  const Array* b_v = find(arrays, "b_v");
  return b_v ? e + b_v->data.at(0) : e;
}

Vec with_bias(const ScoreConvention& c, const Arrays& arrays, Vec x) {
  return c.score == Score::mlp || find(arrays, "b_a") ? add(std::move(x), get(arrays, "b_a").data) : x;
}

// The terms of the additive score one by one, each inside or outside the tanh; b_a goes with the keys, but for the part
// of it that is known to stand beside the query.
double energy_by_terms(const ScoreConvention& c, const Arrays& arrays, Row q, Row h) {
  ScoreConvention outside = c;
  outside.energy = Activation::identity;
  Vec query = copy(q), key = with_bias(c, arrays, copy(h));
  if (const Array* own = find(arrays, "b_a_query")) {
    query = add(std::move(query), own->data);
    for (std::size_t k = 0; k < key.size(); ++k) key[k] -= own->data[k];
  }
  return weighed(c.bracket == Bracket::keys_only ? outside : c, arrays, std::move(query)) +
         weighed_energy(c.bracket == Bracket::query_only ? outside : c, arrays, std::move(key));
}

double cosine(CosineNorm by, Row q, Row h) {
  double length = 1;
  if (by != CosineNorm::keys_only) length *= norm(q);
  if (by != CosineNorm::query_only) length *= norm(h);
  return dot(q, h) / std::max(length, 1e-8);
}

// q and h as projected above; position is the key's place in the row.
double compare(const ScoreConvention& c, const Arrays& arrays, Row q, Row h, std::size_t position) {
  switch (c.score) {
    case Score::cosine:
      return cosine(c.cosine_norm, q, h);
    case Score::additive:
      if (c.bracket != Bracket::sum) return energy_by_terms(c, arrays, q, h);
      return weighed_energy(c, arrays, with_bias(c, arrays, c.product ? multiply(copy(q), h) : add(copy(q), h)));
    case Score::concat:
    case Score::mlp:
      return weighed_energy(
          c, arrays, with_bias(c, arrays, times_W_a(c, arrays, c.exchanged ? join(copy(h), q) : join(copy(q), h))));
    case Score::location:
      if (position >= q.size())
        throw std::invalid_argument("reference location score: W_a has too few rows, " + std::to_string(q.size()));
      return q[position];
    case Score::dot:
    case Score::scaled_dot:
    case Score::general:
      break;
  }
  return dot(q, h);
}

double factor(const ScoreConvention& c, std::size_t d, std::size_t length) {
  const double size = static_cast<double>(d);
  switch (c.scale) {
    case Scale::by_score:
      return c.score == Score::scaled_dot ? 1 / std::sqrt(size) : 1;
    case Scale::over_sqrt_d:
      return 1 / std::sqrt(size);
    case Scale::over_d:
      return 1 / size;
    case Scale::times_sqrt_d:
      return std::sqrt(size);
    case Scale::over_sqrt_length:
      return 1 / std::sqrt(static_cast<double>(length));
    case Scale::none:
      break;
  }
  return 1;
}

}  // namespace

Vec projected_key(const ScoreConvention& c, const Arrays& arrays, Row h) {
  if (c.score == Score::additive) return c.exchanged ? times_W_a(c, arrays, h) : times_U_a(c, arrays, h);
  if (c.score == Score::general && !c.exchanged) return times_W_a(c, arrays, h);
  return copy(h);
}

Array scores(const ScoreConvention& c, const Arrays& arrays, const Array& queries, const Array& keys) {
  const std::size_t B = queries.dim(0), T_q = queries.dim(1), T_enc = keys.dim(1), d_q = queries.dim(2);
  Array e({B, T_q, T_enc});
  for (std::size_t b = 0; b < B; ++b) {
    std::vector<Vec> projected;
    for (std::size_t i = 0; i < T_enc; ++i) {
      const Vec h = activate(c.operands, copy(keys.row({b, i})));
      const Vec k = projected_key(c, arrays, c.sees == Sees::query_only ? Vec(h.size()) : h);
      projected.push_back(c.score == Score::general ? activate(c.projection, k) : k);
    }
    for (std::size_t t = 0; t < T_q; ++t) {
      const Vec seen = c.sees == Sees::keys_only ? Vec(d_q) : activate(c.operands, copy(queries.row({b, t})));
      const Vec q = projected_query(c, arrays, seen);
      for (std::size_t i = 0; i < T_enc; ++i)
        e.at({b, t, i}) = factor(c, d_q, T_enc) * compare(c, arrays, q, projected[i], i);
    }
  }
  return e;
}

}  // namespace gradus::reference
