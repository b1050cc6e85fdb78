// The taught parts as the learner wrote them in work/06_gru/exercise.cpp.
#include "lessons/06_gru/parts.h"

namespace gradus::lesson06 {
namespace {

// The three gates of a GRU out of its stacked matrices. The lesson's GRUs have no biases: those are zeros.
GruParts parts_of(const Gru& gru) {
  const std::int64_t d_s = gru.U.size(Axis{1});
  const Var none(zeros(Shape{d_s}, gru.U.dtype()));
  const auto gate = [&](const Var& stacked, std::int64_t k) { return narrow(stacked, Axis{0}, k * d_s, d_s); };
  return {gate(gru.W, 0), gate(gru.U, 0), none, gate(gru.W, 1), gate(gru.U, 1), none,
          gate(gru.W, 2), gate(gru.U, 2), none};
}

State step(const Recurrent& cell, const Var& x, const State& s_prev) {
  if (cell.kind == CellKind::elman) return elman_step(x, s_prev, cell.elman[0].W, cell.elman[0].U, cell.elman[0].b);
  if (cell.kind == CellKind::gru) return gru_step(x, s_prev, parts_of(cell.gru[0]));
  const auto [h, c] = lstm_step(x, {s_prev, s_prev.memory[0]}, cell.lstm[0].W, cell.lstm[0].U, cell.lstm[0].b);
  State next(h);
  next.memory = {c};
  return next;
}

Var read(const Recurrent& cell, const Var& x) {
  State s = cell.initial(x.size(Axis{0}), x.dtype());
  if (cell.kind == CellKind::gru) {
    const GruParts parts = parts_of(cell.gru[0]);  // once, not at every step
    for (std::int64_t t = 0; t < x.size(Axis{1}); ++t) s = gru_step(select(x, Axis{1}, t), s, parts);
    return s;
  }
  for (std::int64_t t = 0; t < x.size(Axis{1}); ++t) s = step(cell, select(x, Axis{1}, t), s);
  return s;
}

Window window(const Recurrent& gru, const Var& x, const Var& s_0) { return read_window(x, s_0, parts_of(gru.gru[0])); }

}  // namespace

const Parts& taught_parts() {
  static const Parts parts{{"yours", "你写的"}, step, read, window};
  return parts;
}

}  // namespace gradus::lesson06
