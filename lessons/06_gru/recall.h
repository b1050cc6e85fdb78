// Delayed recall: digits, then a question mark: which was the FIRST? Nothing but memory over a distance.
#pragma once

#include <functional>
#include <vector>

#include "nn/layers.h"
#include "nn/recurrent.h"

namespace gradus::lesson06 {

inline constexpr std::int64_t symbols = 8;  // chance level 12.5 %
inline constexpr std::int32_t question = 8;
inline constexpr std::int64_t farthest = 50;

// The symbol at position 1, the question mark `distance` positions later, other symbols between.
struct RecallBatch {
  Ids tokens;   // (B, distance + 1)
  Ids symbols;  // (B)
};
RecallBatch recall_batch(std::int64_t batch, std::int64_t distance, Generator& generator);

struct RecallNet {
  Embedding embedding;  // (9, d_emb)
  Recurrent cell;
  Linear readout;  // of the state after the question mark: (B, d_s) -> (B, symbols)
  RecallNet() = default;
  RecallNet(CellKind kind, Generator& generator, double forget_bias = 1);  // of an LSTM
  Var logits(const Ids& tokens) const;                                     // (B, T) -> (B, symbols)
  void visit(Visitor& v);
};

// Growing: trains on distances from 1 to a longest one that starts at 5 and grows by one whenever the running accuracy
// is above 95 %, up to `farthest`. Not growing: at distance `farthest` from the first step on. `after` sees every step
// and stops by returning false.
struct RecallTraining {
  RecallNet net;
  std::int64_t step = 0, longest = 5;
  double loss = 0, accuracy = 0;     // running means over about ten batches
  std::vector<double> reached = {};  // longest after each step
};
RecallTraining train_recall(CellKind kind, bool growing, std::int64_t steps, std::uint64_t seed,
                            const std::function<bool(const RecallTraining&)>& after, double forget_bias = 1);

// Share of right answers over fresh sequences of that distance.
double recall_accuracy(const RecallNet& net, std::int64_t distance, std::int64_t sequences, std::uint64_t seed);

// How much of the old state a trained GRU keeps at each step of sequences of distance `farthest`: mean over the
// units, and over the three units that keep most at that step.
struct Kept {
  std::vector<double> all, steadiest;
};
Kept kept_over_time(const RecallNet& net, std::uint64_t seed);

}  // namespace gradus::lesson06
