// What the probes have in common: fresh leaves, Jacobian norms read off the tape, comparisons. Not for learners.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/conventions/probes.h"
#include "tensor/random.h"

namespace gradus::probing {

// The same numbers as leaves of their own, so that nothing of the caller's is touched.
Var fresh_leaf(const Var& x);
DecoderInputs fresh_leaves(const DecoderInputs& inputs);

// `ask` answered, or a failed probe that says which error was thrown.
Probe guarded(const char* name, const std::function<Probe(Probe)>& ask);
Probe cannot_tell(Probe probe, const Words& why);

// Gradients of one result, one component after the other (all rows of the batch at once): `see` is called after each.
// Exact up to 16 components; beyond, 8 random directions whose squares estimate the same sum. `weight` is what to
// multiply squares with. Every node in `sinks` has its gradient cleared before.
void for_each_component(const Var& result, const std::vector<Var>& sinks,
                        const std::function<void(double weight)>& see);

// Sum of squares of the gradient of x at position `index` of `axis`; 0 where nothing arrived.
double squares_at(const Var& x, Axis axis, std::int64_t index);
double squares(const Var& x);

// All outputs of a run as one vector, so that one cotangent can go through all of them.
Var flat(const DecoderRun& run);
Tensor random_like(const Var& x, std::uint64_t seed);
// Parameters and the leaves of inputs: gradients of all of them are cleared.
void clear(const DecoderUnderTest& decoder, const DecoderInputs& inputs);

// Largest |a - b|, in units of the dtype's epsilon times the largest |a| of the same row (last axis) or 1e-30.
// Infinite when shapes differ or a number is not finite in one of them only.
double ulps_apart(const Tensor& a, const Tensor& b);
bool bitwise_equal(const Tensor& a, const Tensor& b);
// The worst of all outputs of two runs, by name.
struct Apart {
  std::string output;
  double ulps = 0;
  bool bitwise = true;
};
Apart apart(const DecoderRun& a, const DecoderRun& b);
// The first row of every output.
DecoderRun first_row(const DecoderRun& run);

std::vector<std::string> numbered(const std::string& letter, std::int64_t count, std::int64_t first = 1);
double largest(const Matrix& matrix);
double epsilon_of(DType dtype);
bool real_at(const std::optional<Mask>& mask, std::int64_t row, std::int64_t position);
// Whether some row has two positions between which weights could move.
bool has_choice(const DecoderInputs& inputs);

// Weights (B, T_enc) so sure of one position that in their precision nothing moves them any more.
bool settled(const Var& weights);

}  // namespace gradus::probing
