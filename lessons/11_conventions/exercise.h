// Lesson 11, what you write: three questions to a decoder that somebody hands you, answered by probes alone.
// You write the bodies in exercise.cpp; this file stays as it is.
#pragma once

#include <string>

#include "nn/conventions/probes.h"

namespace gradus::lesson11 {

// What name_mistake may answer.
inline constexpr const char* keeps_its_claim = "KEEPS_ITS_CLAIM";       // nothing is wrong
inline constexpr const char* query_is_s_t = "ATTN_QUERY_POST_STEP";     // it asks with s_t; its cell gets c_{t-1}
inline constexpr const char* context_comes_late = "CELL_CONTEXT_LATE";  // it asks with s_{t-1}, as the paper does,
                                                                        // but its cell gets c_{t-1}
inline constexpr const char* padding_has_weight = "MASK_MISSING";       // padding is attended to
inline constexpr const char* this_input_cannot_tell = "CANNOT_TELL";    // a probe has nothing to go by

// Whether alpha_t depends on the input of its own step. influence is the matrix of probe_influence, (T_dec, T_dec):
// influence.at(t, k) is |d alpha_t / d y_k|, rows and columns counted from 0.
bool depends_on_own_input(const Matrix& influence);

// Where the context goes. states is the matrix of probe_context_route, (T_dec, T_enc): states.at(t, i) is
// |d s_t / d h_i| with s_0 held constant; row 0 belongs to s_1, the state after the first step.
ContextRoute route_of_context(const Matrix& states);

// The one mistake of a decoder that claims to be that of Bahdanau et al. 2014, by one of the five names above. Its
// readout and its GRU are its own business. inputs: a batch with padding, unless there is one encoder position only.
std::string name_mistake(const DecoderUnderTest& decoder, const DecoderInputs& inputs);

}  // namespace gradus::lesson11
