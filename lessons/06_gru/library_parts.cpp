// The taught parts as the library has them.
#include "lessons/06_gru/parts.h"

namespace gradus::lesson06 {
namespace {

State step(const Recurrent& cell, const Var& x, const State& s_prev) { return cell.step(x, s_prev); }

Var read(const Recurrent& cell, const Var& x) { return run(cell, x, cell.initial(x.size(Axis{0}), x.dtype())).last; }

Window window(const Recurrent& gru, const Var& x, const Var& s_0) {
  const Run result = run(gru, x, State(s_0));    // states (B, T, d_s)
  return {result.states, result.last.detach()};  // the numbers go on to the next window, their history does not
}

}  // namespace

const Parts& taught_parts() {
  static const Parts parts{{"the library's", "库里的"}, step, read, window};
  return parts;
}

}  // namespace gradus::lesson06
