// Sizes that the checks of decoders are run on: pairwise different, and all of them equal, where silent mistakes hide.
#pragma once

#include "nn/conventions/to_reference.h"

namespace gradus::testing {

struct DecoderCase {
  const char* name;
  DecoderSizes decoder;
  DecoderExtent extent;
};
const DecoderCase different{"different", {8, 1, 4, 6, 7}, {2, 3, 5}};
const DecoderCase equal{"equal", {3, 3, 3, 3, 3}, {3, 3, 3}};
const DecoderCase same_states{"d_s = d_h", {8, 1, 4, 4, 7}, {2, 3, 5}};

// Whether a score needs d_s = d_h.
inline bool needs_same_states(ScoreKind kind) {
  return kind == ScoreKind::dot || kind == ScoreKind::cosine || kind == ScoreKind::scaled_dot;
}

}  // namespace gradus::testing
