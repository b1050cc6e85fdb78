// The mistake that this lesson is about, built on purpose: a decoder that calls itself Bahdanau's and asks with s_t.
#pragma once

#include "nn/decoders.h"

namespace gradus::lesson09 {

// Runs the cell first, on y_{t-1} and the context of the step before, and attends afterwards with the new state: many
// published programs do this under Bahdanau's name. It trains, and its gradients agree with themselves.
struct SwappedDecoder : BahdanauDecoder {
  using BahdanauDecoder::BahdanauDecoder;
  Step step(const Var& y_emb, const State& s_prev, const Memory& memory) const override {
    const Var c_prev = s_prev.context.defined() ? s_prev.context : Var(no_context(memory));  // c_{t-1}, c_0 = 0
    State s_t = cell.step(concat({y_emb, c_prev}, Axis{1}), s_prev);                         // (B, d_s)
    auto [context, weights] = attend(score(s_t, memory.keys), memory.values, memory.mask);   // the query is s_t
    s_t.context = context;  // the state carries the context to the next step
    return {s_t, context, weights};
  }

 private:
  static Tensor no_context(const Memory& memory) {
    return zeros(memory.values.shape().without(Axis{1}), memory.values.dtype());
  }
};

}  // namespace gradus::lesson09
