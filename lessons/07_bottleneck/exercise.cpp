// Lesson 07: write an encoder-decoder's moving parts. Five functions, a few lines each; exercise.h says what they get.
//
//   ./gradus check 07    what is right, and the first thing to mend
//   ./gradus watch 07    the same whenever you save
//   ./gradus hint 07     a nudge
//
// At hand: ids.at(row, t), ids.shape()[0] and Ids(Shape{B, T}) (tensor/ids.h); select, narrow, concat, stack_along, gather,
// log_softmax, sum, where, reshape, expand_scalar (autograd/ops.h); affine("name", x, W, b) multiplies the last axis
// with W' and adds b (nn/layers.h); argmax(x.value(), Axis{k}) gives the place of the largest number (tensor/reduce.h).
#include "lessons/07_bottleneck/exercise.h"

namespace gradus::lesson07 {

// 1. The decoder is to say targets[t]. Which token is the one before, and which at t = 0?
Ids teacher_inputs(const Ids& targets, std::int32_t start) {
  (void)targets, (void)start;  // goes away with your first line
  return Ids();
}

// 2. Each run has read everything at ONE position. Which is it for the one, and which for the other?
Var summary(const Var& H) {
  (void)H;
  return Var();
}

// 3. A loop over the steps: embed the token before, step, keep what the readout reads.
Var teach(const State& s_0, const Ids& targets, const DecoderParts& parts) {
  (void)s_0, (void)targets, (void)parts;
  return Var();
}

// 4. The same loop without a teacher.
Ids write(const State& s_0, std::int64_t length, const DecoderParts& parts) {
  (void)s_0, (void)length, (void)parts;
  return Ids();
}

// 5. A mean over the real targets. Neither what the model says at a pad nor how many pads there are may matter.
Var sequence_loss(const Var& logits, const Ids& targets, const Mask& real) {
  (void)logits, (void)targets, (void)real;
  return Var();
}

}  // namespace gradus::lesson07
