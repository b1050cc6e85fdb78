// Weights of a gated cell: one block of d rows a gate, stacked in an order that every framework chooses differently.
#pragma once

#include "nn/conventions/reference/vector.h"

namespace gradus::reference {

// none: no bias is added, even if there is one. one: b. two: b beside W x and b_u beside U h (cuDNN, PyTorch, ONNX).
enum class Biases { none, one, two };

// What stands in the bag for one cell: W (gates d, d_in), U (gates d, d), b (gates d), b_u (gates d).
struct CellWeights {
  const Array* W = nullptr;
  const Array* U = nullptr;
  const Array* b = nullptr;
  const Array* b_u = nullptr;
  std::size_t state_size() const { return U->dim(1); }
};

// Looks up W, U, b, b_u with the suffix appended ("", "_l1", "_reverse"); W and U must be there.
CellWeights cell_weights(const Arrays& arrays, const std::string& suffix = "");
CellWeights cell_weights(Arrays&& arrays, const std::string& suffix = "") = delete;  // it points into the bag

// Which products are read transposed, block by block; only square blocks can be.
enum class Transposed { none, input, recurrent, both };

// The preactivations of one gate: W x + b and U h + b_u, kept apart because the reset gate may stand between them.
struct Gates {
  const CellWeights& weights;
  const std::string& order;  // one letter a block, for example "rzn"
  Biases biases;
  Transposed transposed;

  Vec from_input(char gate, Row x) const;
  Vec from_state(char gate, Row h) const;
  Vec preactivation(char gate, Row x, Row h) const { return add(from_input(gate, x), from_state(gate, h)); }
};

}  // namespace gradus::reference
