// From the library's layers to the references': numbers, parameter names, conventions.
#pragma once

#include <string>
#include <vector>

#include "nn/conventions/check_reference.h"
#include "nn/conventions/reference/bidirectional.h"
#include "nn/conventions/trace.h"
#include "nn/decode.h"

namespace gradus {

// ---- numbers

// Row-major doubles, whatever the layout and dtype.
reference::Array to_reference(const Tensor& x);
reference::Array to_reference(const Mask& mask);  // 1 and 0
Tensor to_tensor(const reference::Array& x, DType dtype = f64);
// How many positions of each row of a (B, T) mask are real. Throws ValueError unless they come first.
std::vector<std::size_t> lengths_of(const Mask& mask);

// ---- conventions

reference::GruConvention to_reference(const GruOptions& options);
reference::LstmConvention to_reference(const Lstm& lstm);
reference::Score to_reference(ScoreKind kind);
reference::CellConvention cell_convention(const Recurrent& cell);
// What the decoder claims to compute, with its own options.
reference::DecoderConvention convention_of(const BahdanauDecoder& decoder);
reference::DecoderConvention convention_of(const LuongDecoder& decoder);
reference::DecoderConvention convention_of(const PlainDecoder& decoder);

// ---- parameters under the reference's names (W, U, b, b_u, W_a, U_a, v_a, W_c, W_o, b_o)

std::vector<Parameter> reference_parameters(const Recurrent& cell, const std::string& suffix = "");
std::vector<Parameter> reference_parameters(const Score& score);
std::vector<Parameter> reference_parameters(const BahdanauDecoder& decoder);
std::vector<Parameter> reference_parameters(const LuongDecoder& decoder);
std::vector<Parameter> reference_parameters(const PlainDecoder& decoder);

// ---- decoders as functions. The decoder is copied (its parameters are shared), except where it is given as Decoder&:
// then it must outlive the result.

DecoderUnderTest under_test(const BahdanauDecoder& decoder);
DecoderUnderTest under_test(const LuongDecoder& decoder);
DecoderUnderTest under_test(const PlainDecoder& decoder);
// Any class with a step of its own: a learner's, or a wrong one.
DecoderUnderTest under_test(std::string name, const Decoder& decoder, std::vector<Parameter> parameters);
// A step alone. `remember` makes the memory from H and the mask; without one, keys and values are H. There are no
// logits.
using StepFunction = std::function<Step(const Var& y_emb, const State& s_prev, const Memory& memory)>;
using RememberFunction = std::function<Memory(const Var& H, const std::optional<Mask>& mask)>;
DecoderUnderTest under_test(std::string name, StepFunction step, std::vector<Parameter> parameters,
                            RememberFunction remember = {});

// What a run leaves behind, as if it had been dumped to a file and read again: parameters, inputs, states, weights,
// contexts, logits. `meta` says what the owner knows: the claim, the gate order.
diagnosis::Trace trace_of(const DecoderUnderTest& decoder, const DecoderInputs& inputs, const diagnosis::Meta& meta);

// Random inputs for a check, all of them leaves that take a gradient: numbers of order 1, row 0 full, the other rows
// shorter when `with_mask`.
struct DecoderExtent {
  std::int64_t B = 2, T_dec = 3, T_enc = 4;
};
DecoderInputs random_inputs(const DecoderSizes& sizes, const DecoderExtent& extent, bool with_mask, std::uint64_t seed,
                            DType dtype = f64);
// Draws every parameter anew, uniform in +-bound: biases that start at zero and tidy initial values hide mistakes.
void randomize(const std::vector<Parameter>& parameters, double bound, std::uint64_t seed);

}  // namespace gradus
