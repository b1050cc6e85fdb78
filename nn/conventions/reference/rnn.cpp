// Recurrent cells run over batches of sequences.
#include "nn/conventions/reference/rnn.h"

#include <algorithm>
#include <stdexcept>

namespace gradus::reference {

namespace {

CellState step(const GruConvention& gru, const CellWeights& weights, Row x, const CellState& state) {
  return {gru_step(gru, weights, x, state.h), {}};
}

CellState step(const LstmConvention& lstm, const CellWeights& weights, Row x, const CellState& state) {
  return lstm_step(lstm, weights, x, state);
}

CellState step(const ElmanConvention& elman, const CellWeights& weights, Row x, const CellState& state) {
  static const std::string only_block = "h";
  const Gates gates{weights, only_block, elman.biases, elman.transposed};
  return {activate(elman.activation, gates.preactivation('h', x, state.h)), {}};
}

Array swap_first_axes(const Array& x) {
  Array out({x.dim(1), x.dim(0), x.dim(2)});
  for (std::size_t i = 0; i < x.dim(0); ++i)
    for (std::size_t j = 0; j < x.dim(1); ++j) out.set_row({j, i}, x.row({i, j}));
  return out;
}

// The position that is read at the given step of a row with n real tokens out of T.
std::size_t position(Reading reading, std::size_t step, std::size_t n, std::size_t T) {
  if (reading == Reading::reversed_prefix) return step < n ? n - 1 - step : step;
  if (reading == Reading::reversed_row) return T - 1 - step;
  return step;
}

}  // namespace

CellState cell_step(const CellConvention& cell, const CellWeights& weights, Row x, const CellState& state) {
  return std::visit([&](const auto& convention) { return step(convention, weights, x, state); }, cell);
}

Run run_sequence(const CellConvention& cell, const RunConvention& run, const CellWeights& weights, const Array& x,
                 const std::vector<std::size_t>& lengths, const Array* h0, const Array* c0, const Still* still) {
  if (still && (run.over_the_batch || run.restarts))
    throw std::invalid_argument("reference run: a wrong backward is known for runs over time only");
  if (run.over_the_batch) {
    RunConvention over_time = run;
    over_time.over_the_batch = false;
    Run out = run_sequence(cell, over_time, weights, swap_first_axes(x), {}, h0, c0);
    out.h = swap_first_axes(out.h);
    return out;
  }
  const std::size_t B = x.dim(0), T = x.dim(1), d = weights.state_size();
  const std::size_t d_c = std::holds_alternative<LstmConvention>(cell) ? d : 0;
  Run out{Array({B, T, d}), Array({B, d}), Array({B, d_c}), Array({B, T, d_c})};
  for (std::size_t b = 0; b < B; ++b) {
    const std::size_t n = lengths.empty() ? T : lengths.at(b);
    if (n > T)
      throw std::invalid_argument("reference run: a length of " + std::to_string(n) + " in " + to_string(x.shape));
    const auto start = [&](const Array* h, const Array* c) {
      return CellState{h ? copy(h->row({b})) : Vec(d), c ? copy(c->row({b})) : Vec(d_c)};
    };
    CellState state = start(h0, c0), calm = still ? start(still->h0, still->c0) : CellState{};
    const CellState first = state;
    const bool over_row = run.outputs == Outputs::over_row || run.outputs == Outputs::over_row_read_on,
               reads_on = run.outputs == Outputs::over_row_read_on;
    const bool reads_all = run.after_end == AfterEnd::run_on || run.reading == Reading::reversed_row || reads_on;
    CellState end = state;
    for (std::size_t k = 0; k < T; ++k) {
      const std::size_t t = position(run.reading, k, n, T);
      if (still && (k < n || reads_all)) {
        const bool moves = still->intervention.moves(k, reads_all ? T : n);
        state = cell_step(cell, moves ? weights : *still->weights, x.row({b, t}),
                          still->intervention.cut == Cut::carry ? calm : state);
        calm = cell_step(cell, *still->weights, still->x->row({b, t}), calm);
      } else if (k < n || reads_all) {
        const CellState read = cell_step(cell, weights, x.row({b, t}), run.restarts ? first : state);
        state = run.real && run.real->at({b, t}) == 0 ? run.masked_step(state, read, first) : read;
      }
      if (k < n || !reads_on) end = state;
      const std::size_t place = run.outputs == Outputs::as_read         ? k
                                : over_row                              ? T - 1 - k
                                : run.outputs == Outputs::within_length ? (k < n ? n - 1 - k : k)
                                                                        : t;
      const bool real = (run.outputs == Outputs::over_row ? k : place) < n;
      if (!real && run.after_end == AfterEnd::zero) continue;
      out.h.set_row({b, place}, state.h);
      out.c.set_row({b, place}, state.c);
    }
    out.final_h.set_row({b}, end.h);
    out.final_c.set_row({b}, end.c);
  }
  return out;
}

}  // namespace gradus::reference
