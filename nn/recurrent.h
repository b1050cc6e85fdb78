// Cells over time: stacks of layers, runs over a sequence, both directions.
#pragma once

#include <optional>

#include "nn/cells.h"
#include "tensor/ids.h"

namespace gradus {

// The state of a recurrent stack between two steps. It is the hidden state h of the top layer (B, d_s), which is what
// attention asks with and the readout reads, and carries along what else the stack keeps.
struct State : Var {
  std::vector<Var> below;   // h of the layers under the top one, bottom first
  std::vector<Var> memory;  // c of every layer, bottom first; LSTM only
  Var attentional;          // Luong's s~_{t-1} (B, d_c) when it is fed to the next step
  Var context;              // c_{t-1} (B, d_h) in a decoder that feeds it to the next step
  State() = default;
  State(Var top) : Var(std::move(top)) {}
};

enum class CellKind { elman, gru, lstm };

// One or more layers of one kind of cell; layer k + 1 reads the h of layer k.
struct Recurrent {
  CellKind kind = CellKind::gru;
  std::vector<Elman> elman;  // one of the three lists is used
  std::vector<Gru> gru;
  std::vector<Lstm> lstm;
  Recurrent() = default;
  Recurrent(CellKind kind, std::int64_t d_in, std::int64_t d_s, std::int64_t layers, GruOptions gru_options,
            Generator& generator);
  std::int64_t layers() const;
  std::int64_t d_s() const;
  std::int64_t gates() const { return kind == CellKind::elman ? 1 : kind == CellKind::gru ? 3 : 4; }
  const Var& W() const;                 // of the bottom layer: (gates * d_s, d_in)
  const Var& U() const;                 // (gates * d_s, d_s)
  Var project(const VarList& x) const;  // bottom layer: (..., d_in) -> (..., gates * d_s)
  State step_projected(const Var& Wx, const State& s_prev) const;
  State step(const VarList& x, const State& s_prev) const { return step_projected(project(x), s_prev); }
  State initial(std::int64_t batch, DType dtype) const;  // zeros
  State initial(const Var& top) const;                   // (B, d_s) as h of every layer; memories are zero
  void visit(Visitor& v);
};

// What a run over a sequence leaves behind.
struct Run {
  Var states;  // (B, T, d_s): h of the top layer after each step; 0 at padding
  State last;  // the state after each row's last real position
};

enum class Direction { forward, backward };

// Runs over x (B, T, d_in). With a mask (B, T; true = real) padding changes nothing: the state is carried through it,
// so a backward run starts at each row's last real position. States stand at the position of their input in both
// directions.
Run run(const Recurrent& cell, const Var& x, const State& initial, const std::optional<Mask>& mask = std::nullopt,
        Direction direction = Direction::forward);

// Two runs side by side (Schuster & Paliwal 1997): h_i = [forward_i; backward_i].
struct Bidirectional {
  Recurrent forward, backward;
  Bidirectional() = default;
  Bidirectional(CellKind kind, std::int64_t d_in, std::int64_t d_s, GruOptions gru_options, Generator& generator);
  struct Encoded {
    Var H;                             // (B, T, 2 d_s)
    Var forward_last, backward_first;  // (B, d_s): after the last real position; after reading back to position 1
  };
  Encoded operator()(const Var& x, const std::optional<Mask>& mask = std::nullopt) const;
  void visit(Visitor& v);
};

}  // namespace gradus
