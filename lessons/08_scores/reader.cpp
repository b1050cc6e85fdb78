// The model, its training and its measurement.
#include "lessons/08_scores/reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lessons/08_scores/parts.h"
#include "nn/optimizer.h"

namespace gradus::lesson08 {

namespace {
constexpr std::int64_t d_v = 16, batch = 64;
constexpr double rate = 1e-2;
constexpr double infinity = std::numeric_limits<double>::infinity();
}  // namespace

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {{"equal weights", "权重相等"}, std::nullopt, 16, 16},
      {{"dot", "dot"}, ScoreKind::dot, 16, 16},
      {{"dot, small start", "dot（小初值）"}, ScoreKind::dot, 16, 16, 1, 0.25},
      {{"scaled dot", "scaled dot"}, ScoreKind::scaled_dot, 16, 16},
      {{"cosine", "cosine"}, ScoreKind::cosine, 16, 16},
      {{"cosine / 0.25", "cosine / 0.25"}, ScoreKind::cosine, 16, 16, 0.25},
      {{"general, small start", "general（小初值）"}, ScoreKind::general, 16, 24, 1, 0.25},
  };
  return all;
}

Reader::Reader(const Variant& chosen, Generator& generator)
    : variant(chosen),
      query_table(words, chosen.d_s, generator),
      key_table(words, chosen.d_h, generator),
      value_table(digits, d_v, generator),
      readout(d_v, digits, generator) {
  if (variant.kind) score = Score(*variant.kind, variant.d_s, variant.d_h, 0, generator);
  query_table.E = parameter((query_table.E * variant.start).value());
}

Read Reader::operator()(const Lookups& lookups) const {
  const Var query = query_table(lookups.query);    // (B, d_s)
  const Var H = key_table(lookups.keys);           // (B, n, d_h): what is scored
  const Var values = value_table(lookups.values);  // (B, n, d_v): what is mixed
  const Var scores = variant.kind ? taught_parts().scores(*variant.kind, query, H, score.W_a) / variant.temperature
                                  : Var(zeros(lookups.keys.shape()));  // (B, n)
  const auto [context, weights] = taught_parts().mix(scores, values);  // (B, d_v), (B, n)
  return {scores, weights, context, readout(context)};
}

void Reader::visit(Visitor& v) {
  if (variant.kind) {
    v("query_table", query_table);
    v("key_table", key_table);
  }
  v("value_table", value_table);
  v("score", score);
  v("readout", readout);
}

Skill measure(const Reader& reader, std::int64_t pairs, std::int64_t lookups, std::uint64_t seed) {
  const NoGrad nothing_is_recorded;
  Generator fresh(seed, "fresh");
  const Lookups asked = draw_lookups(lookups, pairs, fresh);
  const Read read = reader(asked);
  const Ids answers = argmax(read.logits.value(), Axis{1});
  std::vector<double> asked_for(words, 0), right(words, 0);
  Skill skill;
  for (std::int64_t b = 0; b < lookups; ++b) {
    const auto word = static_cast<std::size_t>(asked.query[b]);
    ++asked_for[word];
    right[word] += answers[b] == asked.answer[b];
    for (std::int64_t i = 0; i < pairs; ++i) {
      if (asked.keys.at(b, i) == asked.query[b]) skill.weight += read.weights.value().at({b, i});
    }
  }
  for (std::size_t w = 0; w < asked_for.size(); ++w) {
    skill.accuracy += right[w];
    skill.lost += 2 * right[w] < asked_for[w];
  }
  skill.accuracy /= static_cast<double>(lookups);
  skill.weight /= static_cast<double>(lookups);
  skill.deviation = norm(read.scores.value()) / std::sqrt(static_cast<double>(read.scores.value().size()));
  return skill;
}

std::vector<double> leads(const Reader& reader) {
  const NoGrad nothing_is_recorded;
  Lookups all{Ids(Shape{words, words}), Ids(Shape{words, words}), Ids(Shape{words}), Ids(Shape{words})};
  for (std::int32_t asked = 0; asked < words; ++asked) {
    all.query[asked] = asked;
    for (std::int32_t key = 0; key < words; ++key) all.keys.at(asked, key) = key;
  }
  const Tensor scores = reader(all).scores.value();  // (16, 16)
  std::vector<double> result;
  for (std::int64_t asked = 0; asked < words; ++asked) {
    double best = -infinity;
    for (std::int64_t key = 0; key < words; ++key) {
      if (key != asked) best = std::max(best, scores.at({asked, key}));
    }
    result.push_back(scores.at({asked, asked}) - best);
  }
  return result;
}

void train(Reader& reader, std::int64_t steps, std::uint64_t seed,
           const std::function<bool(std::int64_t, double)>& after) {
  Generator data(seed, "data");
  const std::vector<Parameter> learned = parameters(reader);
  Adam adam(learned, {.rate = rate});
  for (std::int64_t step = 1; step <= steps; ++step) {
    const Lookups lookups = draw_lookups(batch, pairs_in_training, data);
    const Var loss = cross_entropy(reader(lookups).logits, lookups.answer);
    zero_grad(learned);
    backward(loss);
    adam.options.rate = rate * cosine_decay(step - 1, steps, 0.05);
    adam.step();
    if (!after(step, loss.item())) return;
  }
}

}  // namespace gradus::lesson08
