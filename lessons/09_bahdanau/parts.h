// The parts of the model that this lesson teaches. The program is linked with the library's (library_parts.cpp) or,
// under ./gradus run 09 --mine, with those that the learner wrote (mine_parts.cpp).
#pragma once

#include <functional>

#include "lessons/09_bahdanau/exercise.h"
#include "tensor/doctor/said.h"

namespace gradus::lesson09 {

struct Parts {
  Said whose;  // "the library's"
  std::function<Var(const Var& H, const Var& U_a)> additive_keys;
  std::function<Step(const Var& y_emb, const State& s_prev, const Memory& memory, const DecoderParts& parts)>
      decoder_step;
};

const Parts& taught_parts();

// Bahdanau's decoder, made of taught_parts.
struct TaughtDecoder : BahdanauDecoder {
  using BahdanauDecoder::BahdanauDecoder;
  Memory remember(const Var& H, const std::optional<Mask>& mask) const override {
    return {taught_parts().additive_keys(H, score.U_a), H, mask};
  }
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override {
    return taught_parts().decoder_step(y_emb, s_prev, memory, {score.W_a, score.U_a, score.v_a, cell});
  }
};

}  // namespace gradus::lesson09
