// The gated recurrent unit in all its conventions, and in the forms that people write by mistake.
#pragma once

#include "nn/conventions/reference/gates.h"

namespace gradus::reference {

// Where the reset gate acts: what stands beside W x in the candidate n.
//   before               U (r*h)           Cho et al. 2014, Bahdanau et al. 2014
//   after                r * (U h)         cuDNN, PyTorch
// and by mistake:
//   unused               U h
//   on_input             U h               and r * (W x) in place of W x
//   after_bias_outside   r * (U h) + b_u   b_u beside the gate instead of under it
//   by_update_gate       U (z*h)
//   after_by_update_gate z * (U h)
enum class GruReset { before, after, unused, on_input, after_bias_outside, by_update_gate, after_by_update_gate };

// The next h from the old one and the candidate n:
//   keeps            z h + (1-z) n       Cho et al. 2014, PyTorch
//   replaces         (1-z) h + z n       Bahdanau et al. 2014, appendix
// and by mistake:
//   unused           n
//   sum_new          z h + n
//   sum_old          h + (1-z) n
//   of_reset_state   z (r*h) + (1-z) n
//   by_reset_gate    r h + (1-r) n
enum class GruUpdate { keeps, replaces, unused, sum_new, sum_old, of_reset_state, by_reset_gate };

struct GruConvention {
  GruReset reset = GruReset::before;
  GruUpdate update = GruUpdate::keeps;
  Biases biases = Biases::one;
  std::string gate_order = "rzn";  // any order of the three letters
  Activation gate = Activation::sigmoid;
  Activation candidate = Activation::tanh;
  Transposed transposed = Transposed::none;
};

// x (d_in), h (d) -> the next h (d).
Vec gru_step(const GruConvention& convention, const CellWeights& weights, Row x, Row h);

// Papers: the formulas as printed, without biases. Frameworks: as documented, with their bias form and gate order.
GruConvention cho2014();
GruConvention bahdanau2014_gru();
GruConvention pytorch();
GruConvention keras_reset_after();
GruConvention keras_reset_before();
GruConvention onnx_lbr0();
GruConvention onnx_lbr1();

}  // namespace gradus::reference
