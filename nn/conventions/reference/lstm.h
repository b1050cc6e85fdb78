// The LSTM without peepholes (Gers et al. 2000), its framework layouts, and its usual mistakes.
#pragma once

#include "nn/conventions/reference/gates.h"

namespace gradus::reference {

// own: c = f c + i g. Conventions: coupled: f = 1 - i. Mistakes: unused: c + i g; complement: (1-f) c + i g;
// of_hidden: f h + i g.
enum class LstmForget { own, coupled, unused, complement, of_hidden };
// Which cell state the output gate opens; the old one is a mistake.
enum class LstmOutput { new_cell, old_cell };

struct LstmConvention {
  std::string gate_order = "ifgo";  // any order of the four letters; g is the candidate
  Biases biases = Biases::one;
  double forget_bias = 0;          // added to the forget preactivation at every step (TensorFlow 1: 1.0)
  std::string biased_gates = "f";  // the gates that get forget_bias; any others are a mistake
  LstmForget forget = LstmForget::own;
  LstmOutput output = LstmOutput::new_cell;
  Activation gate = Activation::sigmoid;
  Activation candidate = Activation::tanh;
  Activation output_activation = Activation::tanh;  // identity: h = o * c, a mistake of popular teaching code
  Activation memory = Activation::identity;  // tanh: c = tanh(f c + i g) is what the next step receives, a mistake
  Transposed transposed = Transposed::none;
  bool reads_memory = false;  // mistake: the gates read c where they should read h
  bool exchanges = false;     // mistake: (h, c) is unpacked as (c, h) after every step
};

struct CellState {
  Vec h;  // (d)
  Vec c;  // (d) for an LSTM, otherwise empty
};

CellState lstm_step(const LstmConvention& convention, const CellWeights& weights, Row x, const CellState& state);

LstmConvention pytorch_lstm();      // i f g o, two biases
LstmConvention keras_lstm();        // i f g o, one bias
LstmConvention onnx_lstm();         // i o f g, two biases
LstmConvention tensorflow1_lstm();  // i g f o, one bias, forget bias 1

}  // namespace gradus::reference
