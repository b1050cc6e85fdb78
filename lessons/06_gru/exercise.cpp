// Lesson 06: write three cells and a window. Four functions, a few lines each; exercise.h says what they get.
//
//   ./gradus check 06    what is right, and the first thing to mend
//   ./gradus watch 06    the same whenever you save
//   ./gradus hint 06     a nudge
//
// At hand: affine("name", x, W, b) multiplies the last axis with W' and adds b, which may be Var() for none
// (nn/layers.h); tanh, sigmoid, + - * (element by element), 1.0 - z, narrow(x, Axis{k}, start, length),
// select(x, Axis{k}, index), stack_along({..}, Axis{k}) (autograd/ops.h); x.detach() (autograd/var.h).
#include "lessons/06_gru/exercise.h"

namespace gradus::lesson06 {

// 1. Three terms and a tanh.
Var elman_step(const Var& x, const Var& s_prev, const Var& W, const Var& U, const Var& b) {
  (void)x, (void)s_prev, (void)W, (void)U, (void)b;  // goes away with your first line
  return Var();
}

// 2. Two gates, a candidate, a mixture. Where does the reset gate act, and what does z = 1 mean in this paper?
Var gru_step(const Var& x, const Var& s_prev, const GruParts& parts) {
  (void)x, (void)s_prev, (void)parts;
  return Var();
}

// 3. Four gates out of one product. Which of them get a sigmoid, and what is shown of c?
LstmState lstm_step(const Var& x, const LstmState& previous, const Var& W, const Var& U, const Var& b) {
  (void)x, (void)previous, (void)W, (void)U, (void)b;
  return LstmState();
}

// 4. Step after step over x. What may go on to the next window, and what may not?
Window read_window(const Var& x, const Var& s_0, const GruParts& parts) {
  (void)x, (void)s_0, (void)parts;
  return Window();
}

}  // namespace gradus::lesson06
