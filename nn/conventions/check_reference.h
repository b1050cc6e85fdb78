// The reference check (G2): value and gradient of a layer against a reference forward written from the paper.
//
//   DecoderUnderTest mine = under_test(decoder);
//   ReferenceReport report = check_reference(mine, inputs, reference::bahdanau2014());
//   CHECK_MESSAGE(report.passed, report.text());
//
// The self check (G1) compares a layer with itself: the gradient of a wrong formula is right for that formula. Here the
// other side is somebody else's forward, plain loops that share no line with the library, and its central differences,
// which no backward pass had a hand in. A decoder that asks with s_t where the paper says s_{t-1} agrees with itself to
// ten digits, and with the paper not even to two.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "autograd/check_gradient.h"
#include "nn/attention.h"
#include "nn/conventions/reference/decoder.h"
#include "nn/recurrent.h"

namespace gradus {

struct ReferenceOptions {
  double value_tolerance = 1e-10;  // of |value - reference|, relative to the largest number of that output or to 1
  double gradient_tolerance =
      1e-6;                // of |analytic - numeric| / (|analytic| + |numeric|), beyond what rounding explains
  std::uint64_t seed = 1;  // of the cotangent: every output is weighted with fixed random numbers
  // Gradients that are zero by theory, by name, each with its reason: they must be zero on both sides.
  std::map<std::string, std::string> zero_because = {};
};

// The first that applies, in this order.
enum class ReferenceVerdict { passed, unusable, missing_output, wrong_shape, not_finite, wrong_value, wrong_gradient };
// Stable codes: "PASSED", "REF_UNUSABLE", "REF_MISSING_OUTPUT", "REF_WRONG_SHAPE", "REF_NOT_FINITE", "REF_WRONG_VALUE",
// "REF_WRONG_GRADIENT". Unusable: leaves that cannot be compared, or whose names and shapes the reference cannot take.
const char* to_string(ReferenceVerdict verdict);

struct ValueEntry {  // the worst place of one output
  std::string name;
  bool passed = false;
  std::vector<std::int64_t> position;
  double value = 0, reference = 0, error = 0;  // error: |value - reference| / max(1, largest |reference|)
  std::string note;
};

struct ReferenceReport {
  bool passed = false;
  ReferenceVerdict verdict = ReferenceVerdict::passed;
  std::string note;
  std::vector<ValueEntry> outputs;    // sorted by name
  std::vector<GradientEntry> leaves;  // in the order given; `numeric` is the reference's central difference
  // Both gradients of every leaf in full, row-major under the leaf's name, of the same random sum of all outputs.
  reference::Arrays analytic, numeric;
  std::string text() const;  // a verdict line, then two small tables
};

using Outputs = std::map<std::string, Var>;
using ReferenceForward = std::function<reference::Arrays(const reference::Arrays&)>;

// `under_test` computes its outputs anew from the leaves. `leaves` are named as in the reference's arrays and may lie
// in memory in any layout; each must be an f64 leaf that takes a gradient, and its gradient is zero afterwards.
// `reference_forward` gets the leaves' numbers (anything else that it needs, a mask say, it brings itself) and returns
// at least the outputs that `under_test` returns, by the same names. Steps: cbrt(machine epsilon) * max(1, |x|), with
// one Richardson extrapolation; at a kink the step is shortened before it is believed.
ReferenceReport check_reference(const std::function<Outputs()>& under_test, const std::vector<CheckedInput>& leaves,
                                const ReferenceForward& reference_forward, const ReferenceOptions& options = {});

// ---- decoders, given as functions: the library's, a learner's, and wrong ones

struct DecoderInputs {
  Var y_emb;                      // (B, T_dec, d_emb): y_emb[:, t] is consumed at step t
  Var H;                          // (B, T_enc, d_h)
  std::optional<Mask> mask = {};  // (B, T_enc): true = real
  Var s_0;                        // (B, d_s), of every layer
};

// What a decoder did, step by step, so that a probe can ask for the gradient at each step's state. Lists that a decoder
// has nothing for stay empty.
struct DecoderRun {
  std::vector<Var> states;   // T_dec + 1 times (B, d_s): s_0 first, then exactly the Vars that the decoder went on with
  std::vector<Var> weights;  // T_dec times (B, T_enc): alpha_t
  std::vector<Var> contexts;     // T_dec times (B, d_h): c_t
  std::vector<Var> attentional;  // T_dec times (B, d_c): s~_t
  std::vector<Var> logits;       // T_dec times (B, vocab)
};

struct DecoderUnderTest {
  std::string name;
  std::function<DecoderRun(const DecoderInputs&)> run;
  // Named as in reference/decoder.h: W, U, b, b_u of the cell (layer k > 0 with "_lk"), W_a, U_a, v_a, W_c, W_o, b_o;
  // "UVC_o" is U_o, V_o and C_o side by side.
  std::vector<Parameter> parameters;
};

// The run's lists as outputs under the reference's names, stacked over time: s (B, T_dec + 1, d_s), alpha, c, htilde,
// logits.
Outputs outputs_of(const DecoderRun& run);

// The whole decoder with teacher forcing, for every parameter, y_emb, H and s_0. Parameters and inputs must be f64.
ReferenceReport check_reference(const DecoderUnderTest& decoder, const DecoderInputs& inputs,
                                const reference::DecoderConvention& convention, const ReferenceOptions& options = {});

// ---- layers of the library against the convention that they claim

// One layer of cells over a sequence x (B, T, d_in), either direction: outputs h (B, T, d_s) and final_h (B, d_s).
ReferenceReport check_reference(const Recurrent& cell, const Var& x, const State& initial,
                                const std::optional<Mask>& mask, Direction direction,
                                const ReferenceOptions& options = {});
// query (B, d_s), H (B, T_enc, d_h): outputs e, alpha (B, 1, T_enc) and c (B, 1, d_h).
ReferenceReport check_reference(const Score& score, const Var& query, const Var& H, const std::optional<Mask>& mask,
                                const ReferenceOptions& options = {});
// Outputs H (B, T, 2 d_s) and final (B, 2 d_s) = [forward_last; backward_first].
ReferenceReport check_reference(const Bidirectional& encoder, const Var& x, const std::optional<Mask>& mask,
                                const ReferenceOptions& options = {});

}  // namespace gradus
