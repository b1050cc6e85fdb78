// The model of this lesson: a query, keys and values out of three tables, one of the scores, and a readout.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lessons/08_scores/lookup.h"
#include "nn/attention.h"
#include "nn/layers.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson08 {

struct Variant {
  Words name;
  std::optional<ScoreKind> kind;  // nothing: equal weights, whatever is asked
  std::int64_t d_s, d_h;          // of the query and of the keys
  double temperature = 1;         // scores are divided by it
  double start = 1;               // the first values of the query table are multiplied by it
};
const std::vector<Variant>& variants();

struct Read {
  Var scores;            // (B, n)
  Var weights, context;  // (B, n), (B, d_v)
  Var logits;            // (B, 10)
};

struct Reader {
  Variant variant;
  Embedding query_table;  // (16, d_s): words as they are asked for
  Embedding key_table;    // (16, d_h): the same words as they stand in the pairs
  Embedding value_table;  // (10, d_v): digits
  Score score;
  Linear readout;  // d_v -> 10 digits
  Reader() = default;
  Reader(const Variant& variant, Generator& generator);
  Read operator()(const Lookups& lookups) const;
  void visit(Visitor& v);
};

struct Skill {
  double accuracy = 0;   // share of right answers
  double weight = 0;     // mean weight of the pair that was asked for
  double deviation = 0;  // of the scores
  int lost = 0;          // words of the 16 that are answered right less than half of the time
};
Skill measure(const Reader& reader, std::int64_t pairs, std::int64_t lookups, std::uint64_t seed);

// For every question word: the score of its own key less the best score of another, among all 16.
std::vector<double> leads(const Reader& reader);

// Adam on the answers alone: nothing tells the model where to look. `after` sees each step and its loss, and ends the
// training by returning false.
void train(Reader& reader, std::int64_t steps, std::uint64_t seed,
           const std::function<bool(std::int64_t step, double loss)>& after);

}  // namespace gradus::lesson08
