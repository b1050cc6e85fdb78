// Probes (G3): questions to a layer that need no reference. What may influence what, what must change nothing, what
// must be exactly zero: each paper's order of computation answers them in its own way, and a layer that answers
// otherwise is not that paper's, however well its gradients agree with themselves.
//
//   Probe probe = probe_influence(under_test(decoder), inputs, QueryTime::s_prev);
//   std::puts(probe.picture().c_str());     // a matrix: does alpha_t depend on the input of its own step?
//
// Every probe says in a sentence what it saw. One that cannot tell on the input that it got (one encoder position, say,
// whose weight is always 1) has not passed, and says so.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/conventions/check_reference.h"
#include "tensor/doctor/said.h"

namespace gradus {

// Numbers with labels, to be looked at.
struct Matrix {
  std::vector<std::string> rows, columns;
  std::vector<double> values;  // row-major
  double at(std::size_t row, std::size_t column) const { return values.at(row * columns.size() + column); }
};

struct Probe {
  std::string name;  // stable: "influence", "intervention", ...
  bool passed = false;
  bool can_tell = true;  // false: this input cannot answer the question, so nothing has passed
  Words sentence;        // what was seen, and what should have been
  Words measured;        // what the matrix shows, in a few words
  Matrix matrix;
  // Verdict line, then the matrix with shades and numbers, plain text.
  std::string picture(int width = 80, Lang lang = Lang::en) const;
};

// When the decoder asks: with the state before the step (Bahdanau et al. 2014) or after it (Luong et al. 2015).
enum class QueryTime { s_prev, s_t };
// Where the context goes: into the cell of its own step (Bahdanau et al. 2014), into the cell of the next step (input
// feeding), or to the output only.
enum class ContextRoute { this_step, next_step, output_only };

// ---- order of computation

// |d alpha_t / d y_emb_k|, Frobenius norm over the batch: strictly below the diagonal when the query is s_{t-1}, with
// the diagonal when it is s_t, never above it.
Probe probe_influence(const DecoderUnderTest& decoder, const DecoderInputs& inputs, QueryTime expected);
// |d alpha_t / d (zero added to s_k right after the cell)|: which weights move when one state is touched. Unlike the
// influence of inputs it sees the state itself, also in a decoder whose score reads the input directly.
Probe probe_intervention(const DecoderUnderTest& decoder, const DecoderInputs& inputs, QueryTime expected);
// |d s_t / d h_i| with s_0 held constant: which context the cell consumed. s_1 depends on H only when c_1 enters its
// own step; s_2 also when something of step 1 is fed; without attention nothing does.
Probe probe_context_route(const DecoderUnderTest& decoder, const DecoderInputs& inputs, ContextRoute expected);
// |d s_t / d s~_k|: the attentional vector itself must be what is fed to the next step, or nothing of it when `fed` is
// false.
Probe probe_feeding(const DecoderUnderTest& decoder, const DecoderInputs& inputs, bool fed);
// |d logits_t / d h_i| with s_0 held constant, which is zero without attention, and not zero with it.
Probe probe_source(const DecoderUnderTest& decoder, const DecoderInputs& inputs, bool attends);

// ---- what must change nothing, or change along

// Encoder positions in another order: weights move with them, states, contexts and logits stay.
Probe probe_permutation(const DecoderUnderTest& decoder, const DecoderInputs& inputs);
// Other numbers at masked positions: every output bitwise the same (`measured` is then "bitwise"), their weight and
// their gradient exactly 0. A mask that is multiplied in after the softmax and normalised again is right but for
// rounding ("to rounding"), and passes with a hint. Cannot tell when nothing is masked.
Probe probe_padding_content(const DecoderUnderTest& decoder, const DecoderInputs& inputs);
// More masked positions behind: every output the same to 4 ulp of the largest number of its row (a row: the last axis).
Probe probe_padding_length(const DecoderUnderTest& decoder, const DecoderInputs& inputs);
// Other examples in the batch: row 0 bitwise the same when they change, and to 4 ulp when it is alone. Needs B > 1.
Probe probe_batch_neighbours(const DecoderUnderTest& decoder, const DecoderInputs& inputs);
// Two runs on the same input: bitwise equal.
Probe probe_determinism(const DecoderUnderTest& decoder, const DecoderInputs& inputs);

// ---- weights and contexts

// Weights (B, T_enc) that are not negative and sum to 1 over the encoder positions of each row.
Probe probe_weights_sum(const DecoderUnderTest& decoder, const DecoderInputs& inputs);
// Contexts inside the range of the encoder states, also when these are large, equal to them when all are equal, and
// equal to the sum of weights times encoder states.
Probe probe_convex_hull(const DecoderUnderTest& decoder, const DecoderInputs& inputs);
// The weights depend on the encoder states, on the decoder state, and on each parameter of the score (W_a, U_a, v_a).
Probe probe_scorer(const DecoderUnderTest& decoder, const DecoderInputs& inputs);

// ---- gradients

// Every registered parameter has a gradient that is not all zero, and every leaf on the tape is registered or an input.
Probe probe_parameters(const DecoderUnderTest& decoder, const DecoderInputs& inputs);
// The gradient of 2 u - 3 v as output gradient is 2 times that of u minus 3 times that of v.
Probe probe_linearity(const DecoderUnderTest& decoder, const DecoderInputs& inputs);
// A second forward and backward without zero_grad doubles every gradient (to rounding, since sums run in another
// order), and so does a second backward through the same graph.
Probe probe_two_backwards(const DecoderUnderTest& decoder, const DecoderInputs& inputs);

// All of the above that apply, in this order.
struct DecoderClaim {
  QueryTime query = QueryTime::s_prev;
  ContextRoute route = ContextRoute::this_step;
  bool feeds_attentional = false;
};
DecoderClaim claim_bahdanau2014();
DecoderClaim claim_luong2015(bool input_feeding = true);
std::vector<Probe> probe_all(const DecoderUnderTest& decoder, const DecoderInputs& inputs, const DecoderClaim& claim);

// ---- cells

// A GRU step and its input weight W, whose rows of the update gate start at z_row.
struct CellUnderTest {
  std::string name;
  std::function<Var(const Var& x, const Var& s_prev)> step;  // (B, d_in), (B, d_s) -> (B, d_s)
  Var W;                                                     // (3 d_s, d_in)
  std::int64_t d_s = 0, z_row = 0;
  GruUpdate update = GruUpdate::keeps;
};
CellUnderTest under_test(const Gru& gru);
// The update gate driven to the end that keeps the state must give s_t = s_{t-1} to 4 ulp (the latch is what lets a GRU
// remember), and driven to the other end must give a state that is new. W is restored.
Probe probe_latch(const CellUnderTest& cell, const Var& s_prev);

// ---- encoders

struct EncoderRun {
  Var H;                             // (B, T, 2 d_s): [forward; backward]
  Var forward_last, backward_first;  // (B, d_s)
};
struct EncoderUnderTest {
  std::string name;
  std::function<EncoderRun(const Var& x, const std::optional<Mask>& mask)> run;
};
EncoderUnderTest under_test(const Bidirectional& encoder);
// |d h_i / d x_k| of row 0, forward half above backward half: the first sees no later position, the second no earlier
// one, and both final states see every real position.
Probe probe_encoder_reach(const EncoderUnderTest& encoder, const Var& x, const std::optional<Mask>& mask);
// Padding content (bitwise), padding length (4 ulp), and the other rows of the batch (bitwise).
Probe probe_encoder_padding(const EncoderUnderTest& encoder, const Var& x, const std::optional<Mask>& mask);
Probe probe_encoder_neighbours(const EncoderUnderTest& encoder, const Var& x, const std::optional<Mask>& mask);

// ---- losses

using RegressionLoss = std::function<Var(const Var& prediction, const Var& target)>;
using TokenLoss = std::function<Var(const Var& logits, const Ids& targets, const Mask& counts)>;
// An exact fit has loss 0, and pairs in another order have the same loss. prediction and target as the loss takes them.
Probe probe_exact_fit(const RegressionLoss& loss, const Tensor& prediction, const Tensor& target);
// Logits that are sure and right have loss 0; a padded position changes nothing, whether its logits change or it is
// added; uniform logits give log V.
Probe probe_exact_fit(const TokenLoss& loss, std::int64_t vocab);

// ---- training

struct TrainingUnderTest {
  std::function<void(int steps)> train;
  std::function<void(const std::string&place)> save, restore;
  std::function<std::vector<double>()> numbers;  // all that training changes, and losses
};
// 2k steps at once, against k steps, save, a fresh start, restore, k steps: bitwise equal.
Probe probe_resume(const std::function<TrainingUnderTest()>& fresh, int steps, const std::string& place);

}  // namespace gradus
