// Mask, normalise, sum.
#include "nn/conventions/reference/attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

namespace gradus::reference {

namespace {

bool nonzero(const Array* mask, std::size_t b, std::size_t i) {
  return !mask || (i < mask->dim(1) && mask->at({b, i}) != 0);
}

bool allowed(MaskRead read, const Array* mask, const Array* query_mask, std::size_t b, std::size_t query,
             std::size_t i) {
  switch (read) {
    case MaskRead::queries:
      return nonzero(query_mask ? query_mask : mask, b, query);
    case MaskRead::inverted:
      return mask && !nonzero(mask, b, i);
    case MaskRead::one_short:
      return mask ? nonzero(mask, b, i) && nonzero(mask, b, i + 1) : true;
    case MaskRead::one_long:
      return nonzero(mask, b, i) || (i > 0 && nonzero(mask, b, i - 1));
    case MaskRead::next_example:
      return !mask || nonzero(mask, (b + 1) % mask->dim(0), i);
    case MaskRead::previous_example:
      return !mask || nonzero(mask, (b + mask->dim(0) - 1) % mask->dim(0), i);
    case MaskRead::first_example:
      return nonzero(mask, 0, i);
    case MaskRead::causal:
      return nonzero(mask, b, i) && i <= query;
    case MaskRead::causal_too_long:
      return nonzero(mask, b, i) && i <= query + 1;
    case MaskRead::causal_reversed:
      return nonzero(mask, b, i) && i >= query;
    case MaskRead::first_step:
      return query > 0 || nonzero(mask, b, i);
    case MaskRead::later_steps:
      return query == 0 || nonzero(mask, b, i);
    case MaskRead::longest_first:
    case MaskRead::shortest_first:  // the mask has been sorted by then
    case MaskRead::keys:
      break;
  }
  return nonzero(mask, b, i);
}

Vec empty_group(EmptyRow policy, std::size_t n) {
  switch (policy) {
    case EmptyRow::zeros:
      return Vec(n, 0);
    case EmptyRow::nan:
      return Vec(n, std::nan(""));
    case EmptyRow::uniform:
      return Vec(n, 1 / static_cast<double>(n));
    case EmptyRow::error:
      break;
  }
  throw std::invalid_argument(
      "reference attention: every position is masked; give each row a real position or choose "
      "EmptyRow::zeros");
}

Vec divided(Vec x, double by) {
  for (double& v : x) v /= by;
  return x;
}

double sum_of(const Vec& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum;
}

Vec normalised(const AttentionConvention& c, Vec e) {
  const auto top = std::max_element(e.begin(), e.end());
  if (*top == -std::numeric_limits<double>::infinity()) return empty_group(c.empty_row, e.size());
  switch (c.normaliser) {
    case Normaliser::softmax_twice:
      return activate(Activation::softmax, activate(Activation::softmax, std::move(e)));
    case Normaliser::softmax_twice_masked: {
      Vec once = activate(Activation::softmax, e);
      for (std::size_t k = 0; k < e.size(); ++k)
        if (!std::isfinite(e[k])) once[k] = e[k];
      return activate(Activation::softmax, std::move(once));
    }
    case Normaliser::over_sum:
      return divided(e, sum_of(e));
    case Normaliser::over_max:
      return divided(e, *top);
    case Normaliser::softmax_plus_one: {
      double sum = 1;
      for (double& v : e) sum += v = std::exp(v);
      return divided(e, sum);
    }
    case Normaliser::over_absolute_sum: {
      for (double& v : e) v = std::isfinite(v) ? std::fabs(v) : 0;
      return divided(e, sum_of(e));
    }
    case Normaliser::sigmoid:
      return activate(Activation::sigmoid, std::move(e));
    case Normaliser::relu:
      return activate(Activation::relu, std::move(e));
    case Normaliser::identity:
      return e;
    case Normaliser::hardmax: {
      Vec one(e.size());
      one[static_cast<std::size_t>(top - e.begin())] = 1;
      return one;
    }
    case Normaliser::softmax_of_tanh:  // masked scores stay at -infinity
      for (double& v : e)
        if (std::isfinite(v)) v = std::tanh(v);
      break;
    case Normaliser::exp: {
      for (double& v : e) v = std::exp(v);
      return e;
    }
    case Normaliser::exp_shifted:
    case Normaliser::exp_shifted_times_sum: {
      const double most = *top;
      for (double& v : e) v = std::exp(v - most);
      return c.normaliser == Normaliser::exp_shifted ? e : divided(e, 1 / sum_of(e));
    }
    case Normaliser::log_softmax: {
      e = activate(Activation::softmax, std::move(e));
      for (double& v : e) v = v > 0 ? std::log(v) : 0;
      return e;
    }
    case Normaliser::unshifted_softmax: {
      for (double& v : e) v = std::exp(v);
      return divided(e, sum_of(e));
    }
    case Normaliser::softmax:
      break;
  }
  return activate(Activation::softmax, std::move(e));
}

// Two scores compete if this number is the same for both.
std::size_t group_of(const AttentionConvention& c, const Dims& shape, std::size_t b, std::size_t t, std::size_t i) {
  const std::size_t T_q = shape[1], T_enc = shape[2];
  const auto each_of = [&](std::size_t row) { return (row * T_q + t) * T_enc + i; };
  switch (c.axis) {
    case SoftmaxAxis::batch:
      return each_of(0);
    case SoftmaxAxis::queries:
      return b * T_enc + i;
    case SoftmaxAxis::singleton:
      return each_of(b);
    case SoftmaxAxis::keys_and_queries:
      return b;
    case SoftmaxAxis::batch_and_keys:
      return t;
    case SoftmaxAxis::all:
      return 0;
    case SoftmaxAxis::heads:
      return each_of(b / c.heads);
    case SoftmaxAxis::batch_of_head:
      return each_of(b % c.heads);
    case SoftmaxAxis::keys:
      break;
  }
  return b * T_q + t;
}

Array read_memory(MemoryRead read, const Array& H) {
  const std::size_t B = H.dim(0), T = H.dim(1);
  if (read == MemoryRead::own) return H;
  Array out(H.shape);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t i = 0; i < T; ++i) {
      if (read == MemoryRead::next_example) out.set_row({b, i}, H.row({(b + 1) % B, i}));
      if (read == MemoryRead::previous_example) out.set_row({b, i}, H.row({(b + B - 1) % B, i}));
      if (read == MemoryRead::first_example) out.set_row({b, i}, H.row({0, i}));
      if (read == MemoryRead::last_example) out.set_row({b, i}, H.row({B - 1, i}));
      if (read == MemoryRead::time_reversed) out.set_row({b, i}, H.row({b, T - 1 - i}));
      const std::size_t flat = b * T + i;  // place in the buffer whose rows lie in the order (T, B)
      if (read == MemoryRead::reshaped) out.set_row({b, i}, H.row({flat % B, flat / B}));
    }
  }
  return out;
}

}  // namespace

Array sorted_by_length(const Array& mask, bool longest_first) {
  std::vector<Vec> rows;
  for (std::size_t b = 0; b < mask.dim(0); ++b) rows.push_back(copy(mask.row({b})));
  const auto real = [](const Vec& row) {
    return std::count_if(row.begin(), row.end(), [](double x) { return x != 0; });
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Vec& a, const Vec& b) { return longest_first ? real(a) > real(b) : real(a) < real(b); });
  Array sorted(mask.shape);
  for (std::size_t b = 0; b < rows.size(); ++b) sorted.set_row({b}, rows[b]);
  return sorted;
}

Array attention_weights(const AttentionConvention& c, const Array& scores, const Array* mask, const Array* query_mask,
                        std::size_t first_query) {
  const std::size_t B = scores.dim(0), T_q = scores.dim(1), T_enc = scores.dim(2);
  const bool sorts = c.mask_read == MaskRead::longest_first || c.mask_read == MaskRead::shortest_first;
  Array sorted;
  if (mask && sorts) sorted = sorted_by_length(*mask, c.mask_read == MaskRead::longest_first), mask = &sorted;
  Array masked = scores, kept(scores.shape);
  std::vector<std::size_t> group(scores.data.size());
  for (std::size_t b = 0, flat = 0; b < B; ++b) {
    for (std::size_t t = 0; t < T_q; ++t) {
      for (std::size_t i = 0; i < T_enc; ++i, ++flat) {
        const bool ok = allowed(c.mask_read, mask, query_mask, b, first_query + t, i);
        double& e = masked.data[flat];
        if (c.mask_use == MaskUse::multiply_before && !ok) e = 0;
        if (c.mask_use == MaskUse::add && ok) e += 1;
        if (c.mask_use == MaskUse::lower && !ok) e += c.mask_fill;
        e /= c.temperature;
        if (c.mask_use == MaskUse::fill && !ok) e = c.mask_fill;
        kept.data[flat] = ok ? 1 : 0;
        group[flat] = group_of(c, scores.shape, b, t, i);
      }
    }
  }
  const bool after = c.mask_use == MaskUse::multiply_after || c.mask_use == MaskUse::multiply_after_renormalise;
  Array weights(scores.shape);
  std::vector<std::size_t> order(group.size());  // scores that compete stand side by side in it
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!std::is_sorted(group.begin(), group.end()))
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return group[x] < group[y]; });
  for (auto first = order.begin(); first != order.end();) {
    const auto end = std::find_if(first, order.end(), [&](std::size_t x) { return group[x] != group[*first]; });
    const std::span<const std::size_t> members(first, end);
    first = end;
    Vec e(members.size());
    for (std::size_t k = 0; k < e.size(); ++k) e[k] = masked.data[members[k]];
    Vec alpha = normalised(c, std::move(e));
    if (after)
      for (std::size_t k = 0; k < alpha.size(); ++k) alpha[k] *= kept.data[members[k]];
    if (c.mask_use == MaskUse::multiply_after_renormalise) {
      const double sum = sum_of(alpha);
      alpha = sum > 0 ? divided(alpha, sum) : empty_group(c.empty_row, alpha.size());
    }
    for (std::size_t k = 0; k < alpha.size(); ++k) weights.data[members[k]] = alpha[k];
  }
  return weights;
}

Array weights_along(SoftmaxSlope slope, double temperature, const Array& still_weights, const Array& still_scores,
                    const Array& scores) {
  Array weights = still_weights;
  for (std::size_t k = 0; k < weights.data.size(); ++k) {
    const double alpha = still_weights.data[k], moved = (scores.data[k] - still_scores.data[k]) / temperature;
    if (alpha == 0) continue;  // masked
    weights.data[k] += moved * (slope == SoftmaxSlope::diagonal  ? alpha * (1 - alpha)
                                : slope == SoftmaxSlope::weights ? alpha
                                                                 : 1);
  }
  return weights;
}

Array attention_values(const AttentionConvention& c, const Arrays& arrays, const Array& H) {
  const Array values = read_memory(c.values, H);
  if (!c.values_are_projected_keys) return values;
  Array out;
  for (std::size_t b = 0; b < H.dim(0); ++b) {
    for (std::size_t i = 0; i < H.dim(1); ++i) {
      const Vec projected = projected_key(c.score, arrays, values.row({b, i}));
      if (out.shape.empty()) out = Array({H.dim(0), H.dim(1), projected.size()});
      out.set_row({b, i}, projected);
    }
  }
  return out;
}

Array contexts(const AttentionConvention& c, const Array& weights, const Array& values, const Array* mask) {
  const std::size_t B = weights.dim(0), T_q = weights.dim(1), T_enc = weights.dim(2), d_v = values.dim(2);
  Array out({B, T_q, d_v});
  for (std::size_t b = 0; b < B; ++b) {
    std::size_t real = 0, last = 0;
    for (std::size_t i = 0; i < T_enc; ++i)
      if (nonzero(mask, b, i)) ++real, last = i;
    for (std::size_t t = 0; t < T_q; ++t) {
      Vec context(d_v);
      const Row given = weights.row({b, t});
      const auto largest = static_cast<std::size_t>(std::max_element(given.begin(), given.end()) - given.begin());
      for (std::size_t i = 0; i < T_enc; ++i) {
        double weight = weights.at({b, t, i});
        if (c.context_sum == ContextSum::uniform) weight = nonzero(mask, b, i) ? 1 / static_cast<double>(real) : 0;
        if (c.context_sum == ContextSum::first) weight = i == 0;
        if (c.context_sum == ContextSum::last) weight = i == last;
        if (c.context_sum == ContextSum::largest) weight = i == largest;
        if (c.context_sum == ContextSum::all_but_first && i == 0) weight = 0;
        if (c.context_sum == ContextSum::all_but_last && i + 1 == T_enc) weight = 0;
        if (c.context_sum == ContextSum::over_length) weight /= static_cast<double>(T_enc);
        const std::size_t place = i + static_cast<std::size_t>(c.value_shift);  // a negative place wraps out of range
        if (weight == 0 || place >= T_enc) continue;
        const Row value = values.row({b, place});
        for (std::size_t j = 0; j < d_v; ++j) context[j] += weight * value[j];
      }
      out.set_row({b, t}, activate(c.context_activation, std::move(context)));
    }
  }
  return out;
}

Attended attend(const AttentionConvention& c, const Arrays& arrays, const Array& queries, const Array& H,
                const Array* mask, const Array* query_mask, std::size_t first_query) {
  Attended out;
  out.scores = scores(c.score, arrays, queries, read_memory(c.keys, H));
  out.weights = attention_weights(c, out.scores, mask, query_mask, first_query);
  out.context = contexts(c, out.weights, attention_values(c, arrays, H), mask);
  return out;
}

}  // namespace gradus::reference
