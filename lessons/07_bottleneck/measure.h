// What is measured of a trained model: on its own outputs against the right ones given, place by place, after a
// mistake, and with a better state than its encoder found.
#pragma once

#include <vector>

#include "lessons/07_bottleneck/copy_net.h"

namespace gradus::lesson07 {

// Share of right tokens at each of copy_lengths, on the same fresh sequences.
struct Accuracy {
  std::vector<double> greedy, forced;  // on its own outputs; with the right token before given
};
Accuracy measure(const CopyNet& net, std::int64_t sequences, std::uint64_t seed);

// Share of right tokens at each place of sequences of one length.
struct Places {
  std::vector<double> greedy, forced;
  // Share of right tokens where the token before was right, and where it was wrong.
  struct After {
    double right = 0, wrong = 0;
  };
  After greedy_after, forced_after;
};
inline constexpr std::int64_t places_length = 20;
Places measure_places(const CopyNet& net, std::int64_t sequences, std::uint64_t seed);

// Is it the state that cannot hold the sequence, or the encoder that does not find the right state? All weights stay as
// they are; s_0 alone, one for each of 32 sequences, is moved downhill for `steps` steps.
struct Stored {
  std::int64_t length = 0;
  double encoder = 0, best = 0;  // greedy accuracy from the encoder's s_0, and from the one that was searched
};
Stored search_state(const CopyNet& net, std::int64_t length, std::int64_t steps, std::uint64_t seed);

}  // namespace gradus::lesson07
