// Checks of a decoder that a learner wrote, for the lessons that have one.
#pragma once

#include "lessons/common/check.h"
#include "nn/conventions/to_reference.h"
#include "nn/conventions/trace.h"

namespace gradus::check {

// The self check (G1) of a whole run: weights, contexts and states against every parameter and input.
GradientReport check_self(const DecoderUnderTest& decoder, const DecoderInputs& inputs);

// A run as the diagnosis reads it. The cell is a GRU with gates stacked as r, z, n. `claim`: "bahdanau2014".
diagnosis::Trace trace_of(const DecoderUnderTest& decoder, const DecoderInputs& inputs, const std::string& claim);

}  // namespace gradus::check
