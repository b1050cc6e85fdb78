// Stacks and runs.
#include "nn/recurrent.h"

#include <algorithm>

#include "autograd/pointwise.h"
#include "tensor/doctor/contract.h"

namespace gradus {
namespace {

// `fresh` in rows that are real at this position, `before` in the others. real: (B), 1 or 0.
Var advance(const Tensor& real, const Var& fresh, const Var& before) {
  return pointwise(
      "advance", [](auto r, auto a, auto b) { return choose(r, a, b); }, expand_new(real, Axis{1}, fresh.shape()[1]),
      fresh, before);
}

State advance(const Tensor& real, const State& fresh, const State& before) {
  State result{advance(real, static_cast<const Var&>(fresh), static_cast<const Var&>(before))};
  for (std::size_t k = 0; k < fresh.below.size(); ++k)
    result.below.push_back(advance(real, fresh.below[k], before.below[k]));
  for (std::size_t k = 0; k < fresh.memory.size(); ++k)
    result.memory.push_back(advance(real, fresh.memory[k], before.memory[k]));
  return result;
}

constexpr Contract run_shapes("",
                              "G  cell.W() (G d_s, d_in)  cell.U() (G d_s, d_s);"
                              "x (B, T, d_in)  mask (B, T)  s_0 (B, d_s)");

Tensor real_rows(const Mask& mask, std::int64_t t, DType dtype) {
  const Mask real = column(mask, t);
  return tensor(real.shape(), std::vector<double>(real.values().begin(), real.values().end()), dtype);
}

}  // namespace

Recurrent::Recurrent(CellKind cell_kind, std::int64_t d_in, std::int64_t d_s, std::int64_t layer_count,
                     GruOptions gru_options, Generator& generator)
    : kind(cell_kind) {
  if (layer_count < 1)
    throw ValueError("Recurrent: " + std::to_string(layer_count) + " layers; at least one is needed");
  for (std::int64_t k = 0; k < layer_count; ++k) {
    const std::int64_t d = k == 0 ? d_in : d_s;
    if (kind == CellKind::elman) elman.emplace_back(d, d_s, generator);
    if (kind == CellKind::gru) gru.emplace_back(d, d_s, gru_options, generator);
    if (kind == CellKind::lstm) lstm.emplace_back(d, d_s, generator);
  }
}

std::int64_t Recurrent::layers() const {
  return static_cast<std::int64_t>(std::max({elman.size(), gru.size(), lstm.size()}));
}

std::int64_t Recurrent::d_s() const { return U().shape()[1]; }

const Var& Recurrent::W() const { return gates() == 1 ? elman.at(0).W : gates() == 3 ? gru.at(0).W : lstm.at(0).W; }
const Var& Recurrent::U() const { return gates() == 1 ? elman.at(0).U : gates() == 3 ? gru.at(0).U : lstm.at(0).U; }

Var Recurrent::project(const VarList& x) const {
  if (kind == CellKind::elman) return elman[0].project(x);
  if (kind == CellKind::gru) return gru[0].project(x);
  return lstm[0].project(x);
}

State Recurrent::step_projected(const Var& Wx, const State& s_prev) const {
  State next;
  Var projected = Wx;
  const std::size_t count = static_cast<std::size_t>(layers());
  for (std::size_t k = 0; k < count; ++k) {
    const bool top = k + 1 == count;
    const Var& before = top ? static_cast<const Var&>(s_prev) : s_prev.below.at(k);
    Var h;
    if (kind == CellKind::lstm) {
      if (k > 0) projected = lstm[k].project(next.below.back());
      const LstmState after = lstm[k].step_projected(projected, {before, s_prev.memory.at(k)});
      next.memory.push_back(after.c);
      h = after.h;
    } else if (kind == CellKind::gru) {
      if (k > 0) projected = gru[k].project(next.below.back());
      h = gru[k].step_projected(projected, before);
    } else {
      if (k > 0) projected = elman[k].project(next.below.back());
      h = elman[k].step_projected(projected, before);
    }
    if (top) static_cast<Var&>(next) = h;  // the part of a State that is a Var
    else next.below.push_back(h);
  }
  return next;
}

State Recurrent::initial(std::int64_t batch, DType dtype) const { return initial(zeros(Shape{batch, d_s()}, dtype)); }

State Recurrent::initial(const Var& top) const {
  State state{top};
  for (std::int64_t k = 0; k + 1 < layers(); ++k) state.below.push_back(top);
  if (kind == CellKind::lstm) {
    for (std::int64_t k = 0; k < layers(); ++k) state.memory.push_back(zeros(top.shape(), top.dtype()));
  }
  return state;
}

void Recurrent::visit(Visitor& v) {
  v("elman", elman);
  v("gru", gru);
  v("lstm", lstm);
}

Run run(const Recurrent& cell, const Var& x, const State& initial, const std::optional<Mask>& mask,
        Direction direction) {
  run_shapes.check("run", {cell.gates(), cell.W(), cell.U(), x, mask, initial});
  const std::int64_t length = x.shape()[1];
  if (length == 0) throw ShapeError("run: the sequence is empty; leave empty sequences out of the batch");
  const Var projected = cell.project(x);  // (B, T, gates * d_s): one product for the whole sequence
  std::vector<Var> states(static_cast<std::size_t>(length));
  State state = initial;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t t = direction == Direction::forward ? i : length - 1 - i;
    State next = cell.step_projected(select(projected, Axis{1}, t), state);
    Var shown = next;  // what stands at this position: 0 where it is padding
    if (mask) {
      const Tensor real = real_rows(*mask, t, x.dtype());
      shown = advance(real, next, zeros(next.shape(), x.dtype()));
      next = advance(real, next, state);
    }
    states[static_cast<std::size_t>(t)] = shown;
    state = next;
  }
  return {stack_along(states, Axis{1}), state};
}

Bidirectional::Bidirectional(CellKind kind, std::int64_t d_in, std::int64_t d_s, GruOptions gru_options,
                             Generator& generator)
    : forward(kind, d_in, d_s, 1, gru_options, generator), backward(kind, d_in, d_s, 1, gru_options, generator) {}

Bidirectional::Encoded Bidirectional::operator()(const Var& x, const std::optional<Mask>& mask) const {
  run_shapes.check("run", {forward.gates(), forward.W(), forward.U(), x, mask, {}});
  const std::int64_t batch = x.size(Axis{0});
  const Run ahead = run(forward, x, forward.initial(batch, x.dtype()), mask, Direction::forward);
  const Run back = run(backward, x, backward.initial(batch, x.dtype()), mask, Direction::backward);
  return {concat({ahead.states, back.states}, Axis{2}), ahead.last, back.last};
}

void Bidirectional::visit(Visitor& v) {
  v("forward", forward);
  v("backward", backward);
}

}  // namespace gradus
