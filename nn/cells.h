// Recurrent cells: what one step does with an input x (B, d_in) and the state before it.
//
// A step first multiplies the input with W for all gates at once (`project`, which can be done for a whole sequence in
// one product), then does what depends on the state (`step_projected`). An input of several parts, as in
// step({y_emb, context}, s_prev), is read as if they were joined.
#pragma once

#include "autograd/ops.h"
#include "nn/init.h"
#include "nn/module.h"

namespace gradus {

// Elman 1990: s_t = tanh(W x + U s_{t-1} + b).
struct Elman {
  Var W;  // (d_s, d_in)
  Var U;  // (d_s, d_s)
  Var b;  // (d_s)
  Elman() = default;
  Elman(std::int64_t d_in, std::int64_t d_s, Generator& generator);
  Var project(const VarList& x) const;                         // (..., d_in) -> (..., d_s)
  Var step_projected(const Var& Wx, const Var& s_prev) const;  // (B, d_s), (B, d_s) -> (B, d_s)
  Var step(const VarList& x, const Var& s_prev) const;         // (B, d_in), (B, d_s) -> (B, d_s)
  void visit(Visitor& v);
};

// A GRU differs from one paper and framework to the next in four ways, and all of them train:
//   reset   before: n = tanh(W_n x + U_n (r * s))   Cho et al. 2014 (v3), Bahdanau et al. 2014
//           after:  n = tanh(W_n x + r * (U_n s))   cuDNN, PyTorch
//   update  keeps:    s_t = z * s_{t-1} + (1 - z) * n   Cho et al. 2014, PyTorch
//           replaces: s_t = (1 - z) * s_{t-1} + z * n   Bahdanau et al. 2014, appendix
//   bias    none, one (with W x), or two (a second one with U s)
//   order   in which the gates are stacked in W, U and the biases
enum class GruReset { before, after };
enum class GruUpdate { keeps, replaces };
enum class GruBias { none, one, two };
enum class GruOrder { rzn, zrn };
struct GruOptions {
  GruReset reset = GruReset::before;
  GruUpdate update = GruUpdate::keeps;
  GruBias bias = GruBias::one;
  GruOrder order = GruOrder::rzn;
  bool operator==(const GruOptions&) const = default;
};
GruOptions cho2014();             // Cho et al. 2014, section 2.3
GruOptions bahdanau2014();        // Bahdanau et al. 2014, appendix A.1.1
GruOptions pytorch();             // torch.nn.GRU
GruOptions keras_reset_after();   // tf.keras.layers.GRU(reset_after=True)
GruOptions keras_reset_before();  // tf.keras.layers.GRU(reset_after=False)
GruOptions onnx_lbr0();           // ONNX GRU, linear_before_reset = 0
GruOptions onnx_lbr1();           // ONNX GRU, linear_before_reset = 1

struct Gru {
  GruOptions options;
  Var W;    // (3 d_s, d_in), gates stacked in options.order
  Var U;    // (3 d_s, d_s)
  Var b;    // (3 d_s), or nothing
  Var b_u;  // (3 d_s), or nothing: the bias that goes with U s
  Gru() = default;
  Gru(std::int64_t d_in, std::int64_t d_s, GruOptions options, Generator& generator);
  Var project(const VarList& x) const;                         // (..., d_in) -> (..., 3 d_s)
  Var step_projected(const Var& Wx, const Var& s_prev) const;  // (B, 3 d_s), (B, d_s) -> (B, d_s)
  Var step(const VarList& x, const Var& s_prev) const;         // (B, d_in), (B, d_s) -> (B, d_s)
  void visit(Visitor& v);
};

// Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000, no peepholes:
//   i, f, o = sigmoid(...), g = tanh(...);  c_t = f * c_{t-1} + i * g;  h_t = o * tanh(c_t)
// Gates are stacked as i, f, g, o (PyTorch, Keras). The bias of f starts at 1 (Jozefowicz et al. 2015), so that a fresh
// cell remembers.
struct LstmState {
  Var h, c;  // (B, d_s) each
};
struct Lstm {
  Var W;    // (4 d_s, d_in)
  Var U;    // (4 d_s, d_s)
  Var b;    // (4 d_s)
  Var b_u;  // (4 d_s), or nothing: PyTorch's second bias
  Lstm() = default;
  Lstm(std::int64_t d_in, std::int64_t d_s, Generator& generator, double forget_bias = 1);
  Var project(const VarList& x) const;  // (..., d_in) -> (..., 4 d_s)
  LstmState step_projected(const Var& Wx, const LstmState& previous) const;
  LstmState step(const VarList& x, const LstmState& previous) const;
  void visit(Visitor& v);
};

}  // namespace gradus
